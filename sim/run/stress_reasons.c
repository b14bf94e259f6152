/* stress_reasons.c - see stress_reasons.h: what was asked for and never came, and what came
 * between.
 */
#include "run/stress_reasons.h"

#include "base/memory.h"
#include "base/units.h"
#include "run/result.h"

#include <stdio.h>
#include <stdlib.h>

/* How long it ran, to the millisecond. */
const char *stress_elapsed(const struct stress_outcome *outcome, char text[UNITS_TEXT_MAX])
{
    return units_print_duration(outcome->elapsed_us / 1000 * 1000, text);
}

/* "it was interrupted after 0.7s of 10s"; NULL: it was not. Owned. */
static char *cut_short(const struct stress_options *options, const struct stress_outcome *outcome)
{
    if (!outcome->was_stopped)
        return NULL;
    char ran[UNITS_TEXT_MAX], wanted[UNITS_TEXT_MAX];
    const int64_t wanted_us = options->duration_us ? options->duration_us + options->heal_us : 0;
    return memory_format("it was interrupted after %s of %s", stress_elapsed(outcome, ran),
                         wanted_us ? units_print_duration(wanted_us, wanted) : "no end");
}

static bool wants_faults(const struct stress_options *options)
{
    for (int i = SERVER_STRIKE_NONE + 1; i < SERVER_STRIKE_COUNT; i++)
        if (server_strike_ppm(options, (enum server_strike)i))
            return true;
    return options->server_drift_ppm || options->drift_ppm || options->pause_ppm ||
           options->delay_ppm || options->pause_after_grant_ppm || options->stall_in_release_ppm ||
           options->delay_past_lease_ppm || options->lose_reply_ppm || options->lose_request_ppm ||
           options->crash_ppm;
}

/* What was asked for, and never came: nothing says how the scheme would have stood it. */
static const char *never_struck(const struct stress_options *options,
                                const struct stress_outcome *outcome)
{
    const int64_t *struck = outcome->struck;
    for (int i = SERVER_STRIKE_NONE + 1; i < SERVER_STRIKE_COUNT; i++)
        if (server_strike_ppm(options, (enum server_strike)i) &&
            !struck[server_strike_rows[i].struck])
            return server_strike_rows[i].never;
    if (options->drift_ppm && !struck[STRUCK_CLIENT_DRIFT])
        return "no client's clock drifted: a higher rate, or another seed, may find something";
    if (options->server_drift_ppm && !struck[STRUCK_SERVER_DRIFT])
        return "no server's clock drifted: a higher rate, or another seed, may find something";
    if (options->pause_after_grant_ppm && !struck[STRUCK_AFTER_GRANT])
        return "no client stalled right after a grant: a longer run may find something";
    if (options->stall_in_release_ppm && !struck[STRUCK_IN_RELEASE])
        return "no client stalled between two commands of a release: this scheme's may have one "
               "only, or a longer run may find something";
    if (options->delay_past_lease_ppm && !struck[STRUCK_PAST_LEASE])
        return "no command was late by a lease: a longer run may find something";
    return NULL;
}

/* Whoever was granted a lock, and no server that we see executed anything. */
static const char past_us[] =
    "it was granted the lock, and sent no command to the servers that it was given: what goes past "
    "them is not seen, and no fault of the network strikes it. Use the addresses of init as they "
    "are (\"servers\")";

/* Why nothing could have been found; NULL: it could. */
static const char *vacuity_of(const struct stress_options *options,
                              const struct stress_outcome *outcome, const struct counters *counters)
{
    const char *unstruck = never_struck(options, outcome);
    return unstruck ? unstruck : result_vacuity(counters, wants_faults(options));
}

char *stress_unanswered(const struct stress_outcome *outcome)
{
    char text[UNITS_TEXT_MAX];
    if (!outcome->unanswered.workers)
        return NULL;
    return memory_format(
        "%d of %d worker%s did not answer any more in the end: c%d, asked to %s the lock, had not "
        "for %s. `picklock test --once` shows what one waits for",
        outcome->unanswered.workers, outcome->clients, units_plural(outcome->clients),
        outcome->unanswered.first + 1, outcome->unanswered.op == OP_ACQUIRE ? "acquire" : "release",
        units_print_duration(outcome->unanswered.for_us / 1000 * 1000, text));
}

/* vacuity_of(), or that nobody answered any more: who acquires may wait for long, but a release
 * that nobody answers has ended the run before. Owned. */
static char *vacuity_told(const struct stress_options *options,
                          const struct stress_outcome *outcome, const struct counters *counters,
                          bool has_executed)
{
    if (counters->grants && !has_executed)
        return memory_text(past_us);
    const char *vacuity = vacuity_of(options, outcome, counters);
    const bool has_ended =
        outcome->unanswered.workers == outcome->clients && outcome->unanswered.op == OP_RELEASE;
    char *silent = vacuity || has_ended ? stress_unanswered(outcome) : NULL;
    return silent ? silent : vacuity ? memory_text(vacuity) : NULL;
}

/* Faults had ended, and still: why a scheme is not decided that did not get over them. NULL: it
 * did, or was not asked to. Owned. */
static char *not_healed(const struct stress_options *options, const struct stress_outcome *outcome)
{
    if (!options->heal_us || outcome->was_stopped || outcome->has_seen_enough)
        return NULL;
    if (!outcome->healed_of)
        return memory_format("nobody asked for a lock early enough while the run healed: --heal "
                             "wants more than %d leases",
                             PATIENCE_LEASES + 1);
    if (!outcome->unhealed)
        return NULL;
    return memory_format("faults had ended, and %d of %d lock%s that %s asked for then %s "
                         "granted to nobody",
                         outcome->unhealed, outcome->healed_of, units_plural(outcome->healed_of),
                         outcome->healed_of == 1 ? "was" : "were",
                         outcome->unhealed == 1 ? "was" : "were");
}

/* --- what its history says of that --- */

/* ASCII, as much as there is room for. */
static void copy(char text[HISTORY_WHY_MAX], const char *reason)
{
    size_t length = 0;
    for (; reason && reason[length] && length < HISTORY_WHY_MAX - 1; length++)
        text[length] = (unsigned char)reason[length] < 0x80 ? reason[length] : '?';
    text[length] = '\0';
}

void stress_reasons_say(const struct stress_reasons *reasons, struct history_doubts *end)
{
    const char *why = reasons->doubt      ? reasons->doubt
                      : reasons->unhealed ? reasons->unhealed
                                          : reasons->interrupted;
    copy(end->incomplete, why);
    copy(end->vacuous, reasons->vacuity);
    end->is_partly_proved = reasons->doubt != NULL;
    end->proved = reasons->proved;
}

struct stress_reasons stress_reasons_find(const struct stress_options *options,
                                          const struct stress_outcome *outcome,
                                          const struct counters *counters, bool has_executed)
{
    return (struct stress_reasons){
        .interrupted = cut_short(options, outcome),
        .vacuity = vacuity_told(options, outcome, counters, has_executed),
        .unhealed = not_healed(options, outcome),
        .doubt = outcome->doubt.code ? outcome->doubt.text : NULL,
    };
}

void stress_reasons_free(struct stress_reasons *reasons)
{
    free(reasons->interrupted);
    free(reasons->vacuity);
    free(reasons->unhealed);
}
