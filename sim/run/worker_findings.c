/* worker_findings.c - see worker_findings.h. Shrinking is delta debugging (Zeller and Hildebrandt,
 * "Simplifying and isolating failure-inducing input", 2002): parts are left out, and the rest is
 * run by the same rules, so that what stays is a schedule that the cell allows. */
#include "run/worker_findings.h"

#include "base/memory.h"
#include "checks/finding.h"

#include <stdlib.h>
#include <string.h>

static bool is_stopped(const struct hunt *hunt)
{
    const struct explore_options *options = &hunt->cell->options;
    return options->stop && *options->stop;
}

/* The moves once more. FAIL_UNKNOWN: as walk_make(). */
static enum fail run_again(struct hunt *hunt, const struct catch *catch, enum property property,
                           bool is_fresh, struct worker_walk *walk, struct failure *failure)
{
    struct replay_picker replay;
    struct walk_maker walker = hunt->walker;
    walker.state = NULL;
    walker.known = ~(1u << property);
    replay_begin(&replay, catch->moves, catch->count);
    return walk_make(&walker, &replay.picker, is_fresh, walk, failure);
}

/* --- shrinking --- */

static void leave_out(const struct catch *from, int at, int size, struct catch *to)
{
    *to = *from;
    to->count = from->count - size;
    memmove(&to->moves[at], &from->moves[at + size],
            (size_t)(from->count - at - size) * sizeof *to->moves);
}

/* Tries it; true: it violates the same by the same cause, and is kept, as it really went. */
static bool try_out(struct hunt *hunt, struct catch *best, const struct catch *candidate,
                    enum property property, enum fail *fail, struct failure *failure)
{
    struct worker_walk walk;
    *fail = run_again(hunt, candidate, property, false, &walk, failure);
    bool is_better = !*fail && walk_has(&walk, property, best->cause) &&
                     walk.faults <= best->faults && walk.count < best->count;
    if (is_better) {
        best->count = walk.count;
        best->faults = walk.faults;
        memcpy(best->moves, walk.moves, sizeof best->moves);
    }
    if (*fail == FAIL_UNKNOWN)
        *fail = FAIL_NONE; /* a candidate that cannot be judged is none */
    walk_close(&walk);
    return is_better;
}

static enum fail shrink(struct hunt *hunt, struct catch *best, enum property property,
                        struct failure *failure)
{
    struct catch *candidate = memory_new(1, sizeof *candidate);
    enum fail fail = FAIL_NONE;
    int runs = 0;
    for (int size = best->count / 2; size > 0 && !fail;) {
        bool is_any = false;
        for (int at = 0; at + size <= best->count && !fail;) {
            if (runs++ == WORKER_SEARCH_SHRINKING || is_stopped(hunt))
                goto enough;
            leave_out(best, at, size, candidate);
            if (try_out(hunt, best, candidate, property, &fail, failure))
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
    char
        *trouble; /* why the first that did not come again did not; NULL: it was judged otherwise */
    struct finding finding; /* of the last that was seen */
};

static enum fail replay_fresh(struct hunt *hunt, const struct catch *catch, enum property property,
                              struct confirmation *confirmation, struct failure *failure)
{
    struct worker_walk walk;
    enum fail fail = run_again(hunt, catch, property, true, &walk, failure);
    confirmation->tried++;
    if (fail == FAIL_UNKNOWN && !confirmation->trouble)
        confirmation->trouble = memory_text(failure->text);
    if (!fail && walk.count == catch->count && walk_has(&walk, property, catch->cause)) {
        confirmation->seen++;
        confirmation->finding = walk.findings[property];
    }
    walk_close(&walk);
    return fail == FAIL_UNKNOWN ? FAIL_NONE : fail;
}

static void put_down(struct hunt *hunt, const struct catch *catch, enum property property,
                     struct confirmation *confirmation)
{
    struct explore_finding *finding = &hunt->cell->outcome.findings[property];
    struct cell_witness *witness = &hunt->cell->witnesses[property];
    struct finding *found = &confirmation->finding;
    struct worker_walk *walk = memory_new(1, sizeof *walk);
    finding_say(found, "In new processes it came again %d of %d times.", confirmation->seen,
                confirmation->tried);
    walk->count = catch->count;
    memcpy(walk->moves, catch->moves, sizeof walk->moves);
    finding->verdict = VERDICT_VIOLATED;
    finding->choices = walk_choices(walk, &finding->choices_count);
    finding->faults = catch->faults;
    finding->events = finding->choices_count;
    finding->run = catch->run;
    free(walk);
    witness->is_confirmed = true;
    witness->cause = found->cause;
    witness->first_index = found->first_index;
    witness->lines = found->witness_lines;
    witness->text = memory_new((size_t)found->witness_lines + 1, sizeof *witness->text);
    memcpy(witness->text, found->witness, (size_t)found->witness_lines * sizeof *witness->text);
}

static void doubt(struct hunt *hunt, const struct catch *catch, enum property property,
                  const struct confirmation *confirmation)
{
    char *words = memory_format(
        "run %llu showed it (%s), but in new processes it came again %d of %d times%s%s",
        (unsigned long long)catch->run, cause_name(catch->cause), confirmation->seen,
        confirmation->tried, confirmation->trouble ? ": " : "",
        confirmation->trouble ? confirmation->trouble : "");
    hunt->cell->witnesses[property].error = words;
}

static enum fail confirm_one(struct hunt *hunt, struct catch *catch, enum property property,
                             struct failure *failure)
{
    struct confirmation *confirmation = memory_new(1, sizeof *confirmation);
    enum fail fail = shrink(hunt, catch, property, failure);
    while (!fail && confirmation->tried < WORKER_SEARCH_CONFIRMATIONS && !is_stopped(hunt) &&
           confirmation->seen == confirmation->tried)
        fail = replay_fresh(hunt, catch, property, confirmation, failure);
    if (!fail && confirmation->seen == WORKER_SEARCH_CONFIRMATIONS)
        put_down(hunt, catch, property, confirmation);
    else if (!fail)
        doubt(hunt, catch, property, confirmation);
    free(confirmation->trouble);
    free(confirmation);
    return fail;
}

enum fail worker_findings_confirm(struct hunt *hunt, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < PROPERTY_COUNT && !fail; i++)
        if (hunt->best[i].is_there)
            fail = confirm_one(hunt, &hunt->best[i], (enum property)i, failure);
    return fail;
}
