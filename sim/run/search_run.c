/* search_run.c - see search_run.h. */
#include "run/search_run.h"

#include "run/pickers.h"

#include <stddef.h>
#include <string.h>

/* --- its choices --- */

struct run_pickers {
    struct uniform_picker uniform;
    struct pct_picker pct;
};

static struct picker *draw_picker(const struct search_terms *terms, uint64_t number,
                                  struct run_pickers *pickers)
{
    const struct random random = {.seed = terms->seed, .stream = number};
    if (terms->search == SEARCH_PCT || number / SEARCH_SLICE_RUNS % 2 == 1) {
        pct_begin(&pickers->pct, random, terms->length, terms->faults);
        return &pickers->pct.picker;
    }
    uniform_begin(&pickers->uniform, random);
    return &pickers->uniform.picker;
}

/* --- what it showed --- */

static void note_state(void *context, uint64_t fingerprint)
{
    struct search_run *run = context;
    run->states[run->states_count++] = fingerprint;
}

static void note_walk(struct search_run *run, const struct worker_walk *walk)
{
    run->faults = walk->faults;
    run->count = walk->count;
    run->waits = walk->waits;
    memcpy(run->moves, walk->moves, sizeof run->moves);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        run->found[i].verdict = walk->findings[i].verdict;
        run->found[i].cause = walk->findings[i].cause;
    }
}

bool search_run_has_violated(const struct search_run *run)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (run->found[i].verdict == VERDICT_VIOLATED)
            return true;
    return false;
}

size_t search_run_size(const struct search_run *run)
{
    const int moves = search_run_has_violated(run) ? run->count + run->waits : 0;
    return offsetof(struct search_run, moves) + (size_t)moves * sizeof *run->moves;
}

enum fail search_run_make(const struct search_terms *terms, uint64_t number, struct picker *picker,
                          struct worker_walk *walk, struct search_run *run, struct failure *failure)
{
    struct run_pickers pickers;
    struct walk_maker walker = terms->walker;
    walker.state = note_state;
    walker.context = run;
    run->number = number;
    run->states_count = 0;
    const enum fail fail = walk_make(
        &walker, picker ? picker : draw_picker(terms, number, &pickers), false, walk, failure);
    if (!fail)
        note_walk(run, walk);
    return fail;
}

/* --- who makes it --- */

enum fail search_crew_suit(struct search_crew *crew, const struct run *run, struct failure *failure)
{
    if (crew->kept && kept_workers_suit(crew->kept, run))
        return FAIL_NONE;
    search_crew_rest(crew);
    crew->run = *run;
    return kept_workers_new(&crew->kept, crew->program, &crew->run, failure);
}

void search_crew_rest(struct search_crew *crew)
{
    kept_workers_free(crew->kept);
    crew->kept = NULL;
}
