/* runs_ahead.c - see runs_ahead.h.
 *
 *     parent   ask: terms, from .. to ------> child
 *              begin a run <-- claims, in memory that both have --> begin a run
 *              hear: what it showed <-------- child
 *
 * Each time that it is asked there is a new round; a run's claim says of which round it is, so the
 * child begins none of a round that is over, and what it told of one is known. */
#include "run/runs_ahead.h"

#include "base/memory.h"
#include "live/processor.h"
#include "run/child.h"
#include "run/worker_search.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What it is told: to rest, if there is no run. */
struct asked_runs {
    unsigned round;
    uint64_t first, end;
    int processor;                 /* that its parent uses */
    struct worker_program program; /* as it is known by now */
    struct run run;
    struct search_terms terms;
};

/* What it says. */
struct told_run {
    unsigned round;
    bool is_returned; /* it could not make it */
    struct search_run run;
};

struct runs_ahead {
    struct child_process child;
    struct worker_program *program;
    atomic_uint *claims; /* by number within its slice */
    unsigned round;      /* in hand */
    bool is_returned[SEARCH_SLICE_RUNS];
    struct told_run heard;
};

/* Of a run of that round. */
static unsigned free_claim(unsigned round)
{
    return 2 * round;
}

static bool claim(const struct runs_ahead *it, unsigned round, uint64_t number)
{
    unsigned expected = free_claim(round);
    return atomic_compare_exchange_strong(&it->claims[number % SEARCH_SLICE_RUNS], &expected,
                                          expected + 1);
}

bool runs_ahead_is_only_ours(uint64_t number)
{
    return number % WORKER_SEARCH_AUDIT_EVERY == 0;
}

/* --- the child --- */

enum { FAILURES_MAX = 3 }; /* behind so many it is better without it */

struct maker {
    struct runs_ahead *ahead;
    struct search_crew crew;
    struct asked_runs asked;
    struct told_run told;
    int avoided;   /* its parent's processor */
    bool is_ready; /* the crew */
    int failures;
};

static bool is_stopped(const struct maker *it)
{
    const volatile int *stop = it->ahead->program->stop;
    return stop && *stop;
}

/* Before a run is begun: its parent may wait for that. */
static bool make_ready(struct maker *it)
{
    struct failure failure;
    struct world *world;
    it->is_ready &= it->crew.kept && kept_workers_suit(it->crew.kept, &it->asked.run);
    if (search_crew_suit(&it->crew, &it->asked.run, &failure))
        return false;
    if (!it->is_ready &&
        !kept_workers_world(it->crew.kept, &world, &it->crew.run, FRESH_NOBODY, &failure)) {
        world->ops->free(world);
        it->is_ready = true;
    }
    return it->is_ready;
}

/* False: there is nobody to tell. */
static bool make_run(struct maker *it, uint64_t number)
{
    struct worker_walk walk;
    struct failure failure;
    struct told_run *told = &it->told;
    told->round = it->asked.round;
    told->is_returned =
        search_run_make(&it->asked.terms, number, NULL, &walk, &told->run, &failure) != FAIL_NONE;
    walk_close(&walk);
    it->failures += told->is_returned;
    it->is_ready = !told->is_returned;
    const size_t size =
        told->is_returned ? offsetof(struct search_run, states) : search_run_size(&told->run);
    return child_say(&it->ahead->child, told, offsetof(struct told_run, run) + size, CHILD_WAITS);
}

/* False: there is nothing more to do. */
static bool make_runs(struct maker *it)
{
    struct asked_runs *asked = &it->asked;
    if (asked->first == asked->end || asked->processor != it->avoided) {
        search_crew_rest(&it->crew);
        it->is_ready = false;
    }
    if (asked->first == asked->end)
        return true;
    if (asked->processor != it->avoided)
        processor_avoid(asked->processor);
    it->avoided = asked->processor;
    *it->ahead->program = asked->program;
    asked->terms.walker.program = it->ahead->program;
    asked->terms.walker.run = &it->crew.run;
    for (uint64_t i = asked->first; i < asked->end && !is_stopped(it); i++) {
        if (runs_ahead_is_only_ours(i))
            continue;
        if (!make_ready(it) && ++it->failures)
            return it->failures < FAILURES_MAX;
        asked->terms.walker.kept = it->crew.kept;
        if (claim(it->ahead, asked->round, i) && !make_run(it, i))
            return false;
    }
    return it->failures < FAILURES_MAX;
}

static void work(void *context)
{
    struct runs_ahead *ahead = context;
    struct maker *it = memory_new(1, sizeof *it);
    it->ahead = ahead;
    it->avoided = NO_PROCESSOR;
    it->crew.program = ahead->program;
    while (child_heed(&ahead->child, &it->asked, sizeof it->asked, ahead->program->stop) ==
               sizeof it->asked &&
           make_runs(it))
        ;
    search_crew_rest(&it->crew);
}

/* --- its parent --- */

struct runs_ahead *runs_ahead_start(struct worker_program *program)
{
    struct runs_ahead *it = memory_new(1, sizeof *it);
    it->program = program;
    it->claims = mmap(NULL, SEARCH_SLICE_RUNS * sizeof *it->claims, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (it->claims != MAP_FAILED && child_start(&it->child, "runs-ahead", work, it))
        return it;
    if (it->claims != MAP_FAILED)
        (void)munmap(it->claims, SEARCH_SLICE_RUNS * sizeof *it->claims);
    free(it);
    return NULL;
}

void runs_ahead_end(struct runs_ahead *ahead)
{
    if (!ahead)
        return;
    child_end(&ahead->child);
    (void)munmap(ahead->claims, SEARCH_SLICE_RUNS * sizeof *ahead->claims);
    free(ahead);
}

static bool tell(const struct runs_ahead *it, const struct asked_runs *asked)
{
    return it->child.pid && child_say(&it->child, asked, sizeof *asked, CHILD_DOES_NOT_WAIT);
}

void runs_ahead_rest(struct runs_ahead *ahead)
{
    struct asked_runs none;
    if (!ahead)
        return;
    memset(&none, 0, sizeof none);
    (void)tell(ahead, &none);
}

void runs_ahead_ask(struct runs_ahead *ahead, const struct search_terms *terms,
                    const struct search_crew *crew, uint64_t first, uint64_t end)
{
    struct asked_runs asked;
    if (!ahead)
        return;
    ahead->round++;
    memset(ahead->is_returned, 0, sizeof ahead->is_returned);
    for (uint64_t i = first; i < end; i++)
        atomic_store(&ahead->claims[i % SEARCH_SLICE_RUNS], free_claim(ahead->round));
    memset(&asked, 0, sizeof asked);
    asked = (struct asked_runs){.round = ahead->round,
                                .first = first,
                                .end = end,
                                .processor = processor_shared(),
                                .program = *crew->program,
                                .run = crew->run,
                                .terms = *terms};
    if (tell(ahead, &asked))
        processor_stay();
}

/* What it has begun, and will not tell of. */
static bool is_returned(const struct runs_ahead *ahead, uint64_t number)
{
    return !ahead->child.pid || ahead->is_returned[number % SEARCH_SLICE_RUNS];
}

bool runs_ahead_begin(struct runs_ahead *ahead, uint64_t number)
{
    return !ahead || claim(ahead, ahead->round, number) || is_returned(ahead, number);
}

const struct search_run *runs_ahead_hear(struct runs_ahead *ahead, int within_ms)
{
    size_t size;
    struct told_run *heard = ahead ? &ahead->heard : NULL;
    while (ahead && (size = child_hear(&ahead->child, heard, sizeof *heard, within_ms)) > 0) {
        if (heard->round != ahead->round)
            continue;
        if (!heard->is_returned)
            return &heard->run;
        ahead->is_returned[heard->run.number % SEARCH_SLICE_RUNS] = true;
    }
    return NULL;
}

int runs_ahead_pid(const struct runs_ahead *ahead)
{
    return ahead ? ahead->child.pid : 0;
}
