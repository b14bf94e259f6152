/* worker_findings.c - see worker_findings.h. Shrinking is delta debugging (Zeller and Hildebrandt,
 * "Simplifying and isolating failure-inducing input", 2002): parts are left out, and the rest is
 * run by the same rules, so that what stays is a schedule that the cell allows. */
#include "run/worker_findings.h"

#include "base/memory.h"
#include "checks/finding.h"

#include <stdlib.h>
#include <string.h>

/* The moves once more. FAIL_UNKNOWN: as walk_make(). */
static enum fail run_again(struct worker_cell *it, const struct worker_violation *violation,
                           enum property property, bool is_fresh, struct worker_walk *walk,
                           struct failure *failure)
{
    struct replay_picker replay;
    struct walk_maker walker = it->walker;
    walker.state = NULL;
    walker.known = ~(1u << property);
    walker.is_patient = true;
    replay_begin(&replay, violation->moves, violation->count);
    return walk_make(&walker, &replay.picker, is_fresh, walk, failure);
}

/* --- shrinking --- */

static void leave_out(const struct worker_violation *from, int at, int size,
                      struct worker_violation *to)
{
    *to = *from;
    to->count = from->count - size;
    memmove(&to->moves[at], &from->moves[at + size],
            (size_t)(from->count - at - size) * sizeof *to->moves);
}

/* Tries it; true: it violates the same by the same cause, and is kept, as it really went. */
static bool try_out(struct worker_cell *it, struct worker_violation *best,
                    const struct worker_violation *candidate, enum property property,
                    enum fail *fail, struct failure *failure)
{
    struct worker_walk walk;
    *fail = run_again(it, candidate, property, false, &walk, failure);
    worker_cell_tell(it);
    bool is_better = !*fail && walk_has(&walk, property, best->cause) &&
                     walk.faults <= best->faults && walk.count < best->count;
    if (is_better) {
        best->count = walk.count;
        best->waits = walk.waits;
        best->faults = walk.faults;
        memcpy(best->moves, walk.moves, sizeof best->moves);
    }
    if (*fail == FAIL_UNKNOWN)
        *fail = FAIL_NONE; /* a candidate that cannot be judged is none */
    walk_close(&walk);
    return is_better;
}

static enum fail shrink(struct worker_cell *it, struct worker_violation *best,
                        enum property property, struct failure *failure)
{
    struct worker_violation *candidate = memory_new(1, sizeof *candidate);
    enum fail fail = FAIL_NONE;
    int runs = 0;
    for (int size = best->count / 2; size > 0 && !fail;) {
        bool is_any = false;
        for (int at = 0; at + size <= best->count && !fail;) {
            if (runs++ == WORKER_SEARCH_SHRINKING || explore_is_stopped(&it->cell->options))
                goto enough;
            leave_out(best, at, size, candidate);
            if (try_out(it, best, candidate, property, &fail, failure))
                is_any = true;
            else
                at += size;
        }
        if (!is_any || size > 1)
            size = size > 1 ? size / 2 : 0;
    }
enough:
    free(candidate);
    return fail;
}

/* --- in new processes --- */

struct confirmation {
    int tried, seen;
    char *error; /* why the first that did not come again did not; NULL: it was judged otherwise */
    struct finding finding; /* of the last that was seen */
};

static enum fail replay_fresh(struct worker_cell *it, const struct worker_violation *violation,
                              enum property property, struct confirmation *confirmation,
                              struct failure *failure)
{
    struct worker_walk walk;
    enum fail fail = run_again(it, violation, property, true, &walk, failure);
    worker_cell_tell(it);
    confirmation->tried++;
    if (fail == FAIL_UNKNOWN && !confirmation->error)
        confirmation->error = memory_text(failure->text);
    if (!fail && walk.count == violation->count && walk_has(&walk, property, violation->cause)) {
        confirmation->seen++;
        confirmation->finding = walk.findings[property];
    }
    walk_close(&walk);
    return fail == FAIL_UNKNOWN ? FAIL_NONE : fail;
}

/* Steps are counted as the explorer counts them: that somebody begins to stand still is one. */
static int events_of(const struct worker_violation *violation)
{
    int events = 0;
    for (int i = 0; i < violation->count + violation->waits; i++)
        events += violation->moves[i].kind != MOVE_GO_ON;
    return events;
}

static void put_down(struct worker_cell *it, const struct worker_violation *violation,
                     enum property property, struct confirmation *confirmation)
{
    struct explore_finding *finding = &it->cell->outcome.findings[property];
    struct cell_witness *witness = &it->cell->witnesses[property];
    struct finding *found = &confirmation->finding;
    struct worker_walk *walk = memory_new(1, sizeof *walk);
    finding_say(found, "In new processes it came again %d of %d times.", confirmation->seen,
                confirmation->tried);
    walk->count = violation->count;
    walk->waits = violation->waits;
    memcpy(walk->moves, violation->moves, sizeof walk->moves);
    finding->verdict = VERDICT_VIOLATED;
    finding->choices = walk_choices(walk, &finding->choices_count);
    finding->faults = violation->faults;
    finding->events = events_of(violation);
    finding->run = violation->run;
    free(walk);
    witness->is_confirmed = true;
    cell_witness_say(witness, found);
}

static void doubt(struct worker_cell *it, const struct worker_violation *violation,
                  enum property property, const struct confirmation *confirmation)
{
    char *words = memory_format(
        "run %llu showed it (%s), but in new processes it came again %d of %d times%s%s",
        (unsigned long long)violation->run, cause_name(violation->cause), confirmation->seen,
        confirmation->tried, confirmation->error ? ": " : "",
        confirmation->error ? confirmation->error : "");
    it->cell->witnesses[property].error = words;
}

static enum fail confirm_one(struct worker_cell *it, struct worker_violation *violation,
                             enum property property, struct failure *failure)
{
    struct confirmation *confirmation = memory_new(1, sizeof *confirmation);
    enum fail fail = shrink(it, violation, property, failure);
    while (!fail && confirmation->tried < WORKER_SEARCH_CONFIRMATIONS &&
           !explore_is_stopped(&it->cell->options) && confirmation->seen == confirmation->tried)
        fail = replay_fresh(it, violation, property, confirmation, failure);
    if (!fail && confirmation->seen == WORKER_SEARCH_CONFIRMATIONS)
        put_down(it, violation, property, confirmation);
    else if (!fail)
        doubt(it, violation, property, confirmation);
    free(confirmation->error);
    free(confirmation);
    return fail;
}

enum fail worker_findings_confirm(struct worker_cell *it, struct failure *failure)
{
    const struct explore_options *options = &it->cell->options;
    enum fail fail = FAIL_NONE;
    bool has_found = false;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        has_found |= it->best[i].is_there;
    if (has_found && options->watch)
        options->watch(options->watch_context,
                       &(struct explore_progress){.depth = -1, .confirms = true});
    for (int i = 0; i < PROPERTY_COUNT && !fail; i++)
        if (it->best[i].is_there)
            fail = confirm_one(it, &it->best[i], (enum property)i, failure);
    return fail;
}
