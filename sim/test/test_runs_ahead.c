/* Tests of runs that a child makes beside a search (run/runs_ahead.h): what it made is what its
 * parent makes; and a search finds the same with it, without it, and where it was killed or
 * stopped. */
#include "run/runs_ahead.h"

#include "live/processor.h"
#include "run/cell_result.h"
#include "run/worker_search.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A lock that whoever releases deletes. */
static void program_init(struct worker_scheme *worker)
{
    *worker = (struct worker_scheme){.program.command =
                                         "/usr/bin/python3 sim/test/scheme_worker.py set-nx-ex-del",
                                     .scheme = {.name = "set-nx-ex-del", .unit_us = 1000}};
}

/* --- a slice --- */

struct beside_slice {
    struct worker_scheme worker;
    struct runs_ahead *ahead;
    struct search_crew crew;
    struct search_terms terms;
    struct run run;
};

static void searched_init(struct beside_slice *it, enum fault fault)
{
    struct failure failure;
    struct worker_walk walk;
    struct search_run *made = calloc(1, sizeof *made);
    memset(it, 0, sizeof *it);
    program_init(&it->worker);
    it->ahead = runs_ahead_start(&it->worker.program);
    assert_non_null(it->ahead);
    it->run = (struct run){.scheme = &it->worker.scheme,
                           .clients = 2,
                           .servers = 1,
                           .names = cell_clients,
                           .lease_us = WORKER_SEARCH_LEASE_US,
                           .seed = 1};
    it->crew.program = &it->worker.program;
    assert_int_equal(search_crew_suit(&it->crew, &it->run, &failure), FAIL_NONE);
    it->terms = (struct search_terms){
        .walker = {.kept = it->crew.kept,
                   .program = &it->worker.program,
                   .run = &it->crew.run,
                   .bounds = {.rounds = 1, .spare = 2, .ticks = MOVES_TIMES_MAX},
                   .is_patient = true},
        .search = SEARCH_RANDOM,
        .seed = 3,
        .length = 24,
        .faults = 1};
    it->terms.walker.budget[fault] = 1;
    assert_int_equal(search_run_make(&it->terms, 0, NULL, &walk, made, &failure), FAIL_NONE);
    walk_close(&walk);
    free(made);
}

static void searched_close(struct beside_slice *it)
{
    const int pid = runs_ahead_pid(it->ahead);
    search_crew_rest(&it->crew);
    runs_ahead_end(it->ahead);
    if (pid)
        assert_int_equal(kill(pid, 0), -1);
}

static bool is_same_run(struct beside_slice *it, const struct search_run *told)
{
    struct failure failure;
    struct worker_walk walk;
    struct search_run *made = calloc(1, sizeof *made);
    assert_int_equal(search_run_make(&it->terms, told->number, NULL, &walk, made, &failure),
                     FAIL_NONE);
    walk_close(&walk);
    bool is_same =
        made->states_count == told->states_count && made->faults == told->faults &&
        made->count == told->count && made->waits == told->waits &&
        memcmp(made->found, told->found, sizeof made->found) == 0 &&
        memcmp(made->states, told->states, (size_t)made->states_count * sizeof *made->states) == 0;
    const int moves = search_run_has_violated(made) ? made->count + made->waits : 0;
    for (int i = 0; i < moves && is_same; i++)
        is_same = move_is_same(&made->moves[i], &told->moves[i]);
    free(made);
    return is_same;
}

static const struct search_run *await(struct beside_slice *it)
{
    const struct search_run *told;
    do
        told = runs_ahead_hear(it->ahead, 1000);
    while (!told && runs_ahead_pid(it->ahead));
    assert_non_null(told);
    return told;
}

/* Of the first slice all but the one that is only its parent's. */
static void what_a_child_makes_is_what_its_parent_makes(void **state)
{
    struct beside_slice it;
    unsigned told = 0;
    bool has_violated = false;
    (void)state;
    if (!processor_has_others())
        skip();
    searched_init(&it, FAULT_SLOW_WORK);
    runs_ahead_ask(it.ahead, &it.terms, &it.crew, 0, SEARCH_SLICE_RUNS);
    for (int i = 1; i < SEARCH_SLICE_RUNS; i++) {
        const struct search_run *run = await(&it);
        told |= 1u << run->number;
        has_violated |= search_run_has_violated(run);
        assert_true(is_same_run(&it, run));
    }
    assert_int_equal(told, (1u << SEARCH_SLICE_RUNS) - 2);
    assert_true(has_violated);
    assert_true(runs_ahead_begin(it.ahead, 0));
    assert_false(runs_ahead_begin(it.ahead, 1));
    searched_close(&it);
}

/* Nor is what was asked for before. */
static void what_its_parent_has_begun_is_not_the_childs(void **state)
{
    struct beside_slice it;
    (void)state;
    if (!processor_has_others())
        skip();
    searched_init(&it, FAULT_SLOW_WORK);
    (void)kill(runs_ahead_pid(it.ahead), SIGSTOP);
    runs_ahead_ask(it.ahead, &it.terms, &it.crew, 1, SEARCH_SLICE_RUNS);
    runs_ahead_ask(it.ahead, &it.terms, &it.crew, 8, 10);
    assert_true(runs_ahead_begin(it.ahead, 8));
    (void)kill(runs_ahead_pid(it.ahead), SIGCONT);
    assert_int_equal(await(&it)->number, 9);
    assert_null(runs_ahead_hear(it.ahead, 0));
    assert_false(runs_ahead_begin(it.ahead, 9));
    searched_close(&it);
}

static void kill_child(int pid)
{
    siginfo_t ended;
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
}

static void what_it_was_killed_in_is_its_parents(void **state)
{
    struct beside_slice it;
    (void)state;
    if (!processor_has_others())
        skip();
    searched_init(&it, FAULT_SLOW_WORK);
    runs_ahead_ask(it.ahead, &it.terms, &it.crew, 1, 3);
    while (runs_ahead_begin(it.ahead, 1)) /* one of both has it by now */
        runs_ahead_ask(it.ahead, &it.terms, &it.crew, 1, 3);
    kill_child(runs_ahead_pid(it.ahead));
    while (runs_ahead_pid(it.ahead))
        (void)runs_ahead_hear(it.ahead, 1000);
    assert_true(runs_ahead_begin(it.ahead, 1));
    assert_true(runs_ahead_begin(it.ahead, 2));
    searched_close(&it);
}

/* --- a whole cell --- */

enum { RUNS = 210, SEED = 3 };

struct helped_cell {
    struct worker_search *search;
    int runs, strike_at, number; /* the signal that strikes the child by then */
    int helped;                  /* runs while the child had processes of its own */
};

static bool has_processes(int pid)
{
    char path[64];
    int child = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *children = fopen(path, "re");
    if (children) {
        (void)!fscanf(children, "%d", &child);
        (void)fclose(children);
    }
    return child > 0;
}

static void look(void *context, const struct explore_progress *progress)
{
    struct helped_cell *told = context;
    const int child = worker_search_child(told->search);
    (void)progress;
    told->runs++;
    told->helped += child && has_processes(child);
    if (child && told->helped == told->strike_at)
        (void)kill(child, told->number);
}

/* The run of what is found, and how it is found, are part of it. */
static void search(const char *faults, struct helped_cell *told, struct cell *cell)
{
    static struct worker_scheme worker;
    struct failure failure;
    program_init(&worker);
    told->search = worker_search_new(&worker, cell_clients);
    cell_init(cell, &worker.scheme);
    cell->options.clients = 2;
    cell->options.rounds = 1;
    cell->options.search = SEARCH_RANDOM;
    cell->options.seed = SEED;
    cell->options.runs_max = RUNS;
    cell->options.watch = look;
    cell->options.watch_context = told;
    assert_int_equal(cell_add_faults(cell, faults, &failure), FAIL_NONE);
    assert_int_equal(worker_search_cell(told->search, cell, &failure), FAIL_NONE);
    assert_null(cell->doubt);
    worker_search_free(told->search);
}

static void search_alone(const char *faults, struct cell *cell)
{
    struct helped_cell told = {0};
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    search(faults, &told, cell);
    assert_int_equal(told.helped, 0);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void same_cell(const struct cell *one, const struct cell *other)
{
    const struct explore_outcome *first = &one->outcome, *second = &other->outcome;
    assert_int_equal(first->runs, RUNS);
    assert_int_equal(first->runs, second->runs);
    assert_int_equal(first->states, second->states);
    assert_int_equal(first->transitions, second->transitions);
    assert_int_equal(first->new_per_1000, second->new_per_1000);
    assert_int_equal(first->end, second->end);
    assert_int_equal(one->ignored, other->ignored);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct explore_finding *finding = &first->findings[i], *same = &second->findings[i];
        assert_int_equal(finding->verdict, same->verdict);
        assert_int_equal(finding->run, same->run);
        assert_int_equal(finding->faults, same->faults);
        assert_int_equal(finding->choices_count, same->choices_count);
    }
}

static void a_search_finds_the_same(void **state)
{
    static const struct {
        const char *faults;
        int strike_at, number;
        bool has_found;
    } rows[] = {{"none", 20, SIGKILL, false},
                {"none", 20, SIGSTOP, false},
                {"late-request", 30, SIGKILL, true}};
    (void)state;
    if (!processor_has_others())
        skip();
    struct cell alone;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct helped_cell told = {.strike_at = rows[i].strike_at, .number = rows[i].number};
        struct cell cell;
        bool has_found = false;
        if (i == 0 || strcmp(rows[i].faults, rows[i - 1].faults) != 0) {
            if (i)
                cell_close(&alone);
            search_alone(rows[i].faults, &alone);
        }
        search(rows[i].faults, &told, &cell);
        assert_true(told.helped >= rows[i].strike_at);
        same_cell(&cell, &alone);
        for (int p = 0; p < PROPERTY_COUNT; p++)
            has_found |= cell.outcome.findings[p].verdict == VERDICT_VIOLATED;
        assert_int_equal(has_found, rows[i].has_found);
        cell_close(&cell);
    }
    cell_close(&alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_child_makes_is_what_its_parent_makes),
        cmocka_unit_test(what_its_parent_has_begun_is_not_the_childs),
        cmocka_unit_test(what_it_was_killed_in_is_its_parents),
        cmocka_unit_test(a_search_finds_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
