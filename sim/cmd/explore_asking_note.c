/* explore_asking_note.c - see explore_asking_note.h. */
#include "cmd/explore_asking_note.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is the same to be said of both? */
static bool is_same_doubt(const struct cell *one, const struct cell *other)
{
    return one->doubt && other->doubt && one->doubted == other->doubted &&
           one->is_run == other->is_run && strcmp(one->doubt, other->doubt) == 0;
}

static bool is_told_before(const struct cells *cells, int at)
{
    for (int i = 0; i < at; i++)
        if (is_same_doubt(&cells->rows[i], &cells->rows[at]))
            return true;
    return false;
}

/* "no fault", or "no fault, and 11 more cells": of which its doubt is said; the caller frees. */
static char *doubted_words(const struct cells *cells, int at)
{
    int more = 0;
    for (int i = at + 1; i < cells->count; i++)
        more += is_same_doubt(&cells->rows[i], &cells->rows[at]);
    return more ? memory_format("%s, and %d more cell%s", view_faults(cells->rows[at].faults), more,
                                units_plural(more))
                : memory_text(view_faults(cells->rows[at].faults));
}

/* What merging histories rests on; the caller frees. */
static char *classes_words(const struct asking_figures *figures)
{
    if (figures->learned_ways)
        return memory_format(
            "; all holds up to the learned model: %" PRIu64
            " classes of histories, in each of which it goes on alike on k = %d ways "
            "to the end of its operation and the release behind it: servers that have "
            "nothing, another's lock, its own, or differ in that, a first command that is "
            "lost%s (%" PRIu64 " joined one so); %" PRIu64
            " walks through the model found no difference",
            figures->classes, figures->learned_ways,
            figures->learned_ways > LEARNED_WAYS ? ", and, in the cells that break idle ones, for "
                                                   "each server that its idle connection breaks"
                                                 : "",
            figures->joined, figures->walks);
    if (figures->classes)
        return memory_format("; the order of what different servers say is the same to "
                             "it: %" PRIu64 " classes of histories, %" PRIu64
                             " that joined one were each asked to go on beside its "
                             "first, on two ways to the end, %" PRIu64 " stayed apart",
                             figures->classes, figures->joined, figures->apart);
    return memory_text("");
}

/* Attempts that were asked for one behind the other; the caller frees. */
static char *sequences_words(const struct asking_sequences *asked)
{
    char *left =
        asked->left ? memory_format(", but for %" PRIu64 " of %" PRIu64, asked->left, asked->orders)
                    : memory_text("");
    char *words = asked->sequences
                      ? memory_format("; %" PRIu64 " sequence%s of attempts %s asked for whole, "
                                      "with each order of up to three ends%s",
                                      asked->sequences, units_plural((int64_t)asked->sequences),
                                      asked->sequences == 1 ? "was" : "were", left)
                      : memory_text("");
    free(left);
    return words;
}

/* Walks that were replayed; the caller frees. */
static char *walks_words(const struct asking_replayed *replayed)
{
    const uint64_t all = replayed->same + replayed->other;
    char *other = replayed->other ? memory_format("%" PRIu64 " as answered, %" PRIu64 " not",
                                                  replayed->same, replayed->other)
                                  : memory_text(all == 1 ? "as answered" : "all as answered");
    char *lost = replayed->lost ? memory_format("; %" PRIu64 " more were not followed to their end",
                                                replayed->lost)
                                : memory_text("");
    char *words = all || replayed->lost
                      ? memory_format("; %" PRIu64 " walk%s replayed with the workers, %s%s", all,
                                      all == 1 ? " was" : "s were", other, lost)
                      : memory_text("");
    free(other);
    free(lost);
    return words;
}

/* Which reads of the monotonic clock count, where not all of them are the program's; the caller
 * frees. */
static char *clock_words(const struct asking_figures *figures)
{
    if (figures->untold)
        return memory_format("; each read of its monotonic clock counts, those that Node.js makes "
                             "for itself, too (%s)",
                             figures->untold);
    return memory_text(figures->has_idle_reads
                           ? "; of the reads of its monotonic clock those that its program makes "
                             "count, and not those of Node.js itself"
                           : "");
}

static const char *const extend_words[] = {
    [EXTEND_IS_NO_PROMISE] = "",
    [EXTEND_IS_ASKED] = "", /* its bounds say so */
    [EXTEND_IS_SKIPPED] = " It is not asked to extend (--no-extend).",
};

static const char stands_words[] = " But the worker did not answer alike then, or could not be "
                                   "asked on: what was not found broken "
                                   "so is as the first search has it.";

static void note_again(struct results *results, const struct explore_asking *asking)
{
    char finer[48] = "";
    if (asking->finer)
        (void)snprintf(finer, sizeof finer, ", and with a lease of %d ticks",
                       asking->lease_ticks + asking->finer);
    if (asking->executions_again)
        results_note(results,
                     memory_format("Asked again, with waits that add up to whole ticks instead of "
                                   "each being rounded up to some%s, in %" PRIu64
                                   " execution%s, for what hangs on how long a wait is: %d %s "
                                   "decided so. A wait of less takes no time then, as a message.%s",
                                   finer, asking->executions_again,
                                   units_plural((int64_t)asking->executions_again),
                                   asking->cells_again,
                                   asking->cells_again == 1 ? "cell was" : "cells were",
                                   asking->stands ? stands_words : ""));
}

void explore_asking_note(struct results *results, const struct explore_asking *asking,
                         const struct cells *cells)
{
    const struct asking_figures *figures = &asking->figures;
    char *far = figures->far_ticks ? memory_format("; no timer of %d ticks and more rings in time",
                                                   figures->far_ticks)
                                   : memory_text("");
    char *far_key = figures->far_key_ticks
                        ? memory_format("; no key that lives %d ticks, or more, expires in time",
                                        figures->far_key_ticks)
                        : memory_text("");
    char *timed =
        figures->timed_ends
            ? memory_format(", and, while a timer of it runs, what it does behind "
                            "another one (asked %" PRIu64 " time%s)",
                            figures->timed_ends, units_plural((int64_t)figures->timed_ends))
            : memory_text("");
    char *classes = classes_words(figures);
    char *walks = walks_words(&figures->replayed);
    char *sequences = sequences_words(&figures->sequences);
    char *clock = clock_words(figures);
    if (figures->executions)
        results_note(
            results,
            memory_format(
                "Decided by asking once: %" PRIu64 " executions of the worker, %" PRIu64
                " local histories, %" PRIu64 " questions to the server; %" PRIu64
                " answer%s asked for again, those of the worker in fresh "
                "processes%s%s. Assumed: the worker is deterministic, and all clients are alike "
                "(asked for each kind of answer)%s; what it does "
                "behind an attempt is what a new one does (asked %" PRIu64
                " time%s, refusals in a row up to %d)%s; time goes in ticks, %d to a lease, and "
                "what is so between them alone, "
                "as "
                "just before a lease ends, is not tried%s%s%s%s%s.%s%s%s",
                figures->executions, figures->histories, figures->questions, figures->audited,
                figures->audited == 1 ? " was" : "s were", sequences, walks,
                figures->draws_tokens ? "; no token is drawn twice by chance" : "", figures->ends,
                units_plural((int64_t)figures->ends), figures->refusals, timed, asking->lease_ticks,
                far, far_key, clock,
                figures->is_even_handed
                    ? "; it treats its servers alike (asked with them in other places)"
                    : "",
                classes, extend_words[asking->extend],
                asking->could_be_cancelled
                    ? " Its acquires are not cancelled: --search random does that."
                    : "",
                asking->skips_fence ? " The order of its fences is not judged with this --section."
                                    : ""));
    note_again(results, asking);
    free(far);
    free(far_key);
    free(timed);
    free(classes);
    free(walks);
    free(sequences);
    free(clock);
    if (figures->kept)
        results_note(results,
                     memory_format("%" PRIu64 " of these answers were kept from an earlier "
                                   "run (--no-cache asks for all of them).",
                                   figures->kept));
    if (asking->kept_words[0])
        results_note(results, memory_format("Of answers that are kept: %s.", asking->kept_words));
    for (int i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->rows[i];
        if (!cell->doubt || is_told_before(cells, i) ||
            strcmp(cell->doubt, explore_end_words(END_STOPPED)) == 0) /* which its row says */
            continue;
        char *which = doubted_words(cells, i);
        results_note(results,
                     memory_format("%s: %s%s", which,
                                   cell->doubted ? "its fences are in doubt: "
                                   : cell->is_run
                                       ? "searched by running, since it was not decided by asking: "
                                       : "unknown, because ",
                                   cell->doubt));
        free(which);
    }
}
