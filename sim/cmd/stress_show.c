/* stress_show.c - what `picklock stress` says on stderr: the rates before a run, and its live line.
 */
#include "cmd/stress_show.h"

#include "base/memory.h"
#include "base/units.h"
#include "cmd/heartbeat.h"
#include "report/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* ", nobody granted a lock since 1.2 s (812 attempts)"; "": that would say nothing. Owned. */
static char *ungranted_words(const struct stress_progress *progress)
{
    char since[UNITS_TEXT_MAX];
    if (!progress->ungranted)
        return memory_text("");
    return memory_format(", nobody granted a lock since %s (%" PRId64 " attempt%s)",
                         units_print_rounded(progress->ungranted_since_us, since),
                         progress->ungranted, units_plural(progress->ungranted));
}

/* What matters most stands first: a terminal shows as many parts as fit. */
static void show_line(const char *what, const struct stress_progress *progress)
{
    char p99[UNITS_TEXT_MAX];
    char *ungranted = ungranted_words(progress);
    char *line = memory_format(
        "%s: %" PRId64 " s, %s%s%s, %" PRId64 " operation%s, %" PRId64 " hold%s, p99 %s, %" PRId64
        " grant%s, %" PRId64 " fault%s%s",
        what, progress->elapsed_us / 1000000, progress->violations ? "violated: " : "",
        progress->violations ? progress->violations : "nothing violated", ungranted,
        progress->operations, units_plural(progress->operations), progress->holders,
        progress->holders == 1 ? "s" : "", units_print_ms(progress->p99_us, p99), progress->grants,
        units_plural(progress->grants), progress->faults, units_plural(progress->faults),
        progress->is_healing ? " and no more" : "");
    if (!text_can_draw(stderr) && !heartbeat_has_words())
        text_format(stderr, TEXT_PLAIN, "%s\n", line);
    heartbeat_say("%s", line);
    free(line);
    free(ungranted);
}

/* A line that is written over on a terminal; elsewhere one at the first second, when it is known
 * that clients work, and then the heartbeat's; with --progress json one a second. */
void stress_show_progress(void *context, const struct stress_progress *progress)
{
    if (heartbeat_is_in_words()) {
        show_line(context, progress);
        return;
    }
    struct heartbeat_figures figures = HEARTBEAT_FIGURES;
    figures.what = context;
    figures.operations = progress->operations;
    figures.grants = progress->grants;
    figures.holders = progress->holders;
    figures.ungranted = progress->ungranted;
    figures.faults = progress->faults;
    figures.p99_us = progress->p99_us;
    figures.violations = progress->violations ? progress->violations : "";
    heartbeat_tell(&figures);
}

enum { RATES_ALWAYS = 5 }; /* those that have a usual rate */

/* us 0: it has no length. */
static void print_rate(FILE *file, uint32_t ppm, int64_t us, const char *what)
{
    char length[UNITS_TEXT_MAX];
    fprintf(file, "; %u.%02u%% %s", ppm / 10000, ppm / 100 % 100, what);
    if (us)
        fprintf(file, " (about %s)", units_print_duration(us, length));
}

/* "1s (500ms, rounded up to units of 1s)"; owned. */
static char *lease_words(const struct stress_options *stress)
{
    char lease[UNITS_TEXT_MAX], asked[UNITS_TEXT_MAX], unit[UNITS_TEXT_MAX];
    const int64_t lease_us = scheme_lease_us(stress->scheme, stress->lease_us);
    (void)units_print_duration(lease_us, lease);
    if (lease_us == stress->lease_us)
        return memory_text(lease);
    return memory_format("%s (%s, rounded up to units of %s)", lease,
                         units_print_duration(stress->lease_us, asked),
                         units_print_duration(stress->scheme->unit_us, unit));
}

/* What a run is about to suffer, with its seed: the figures mean nothing without. */
void stress_show_rates(const struct stress_options *stress)
{
    const struct {
        uint32_t ppm;
        int64_t us; /* 0: no length */
        const char *what;
    } rates[] = {{stress->pause_ppm, stress->pause_us, "of sections stall"},
                 {stress->delay_ppm, stress->delay_us, "of commands are late"},
                 {stress->lose_reply_ppm, 0, "of replies are lost"},
                 {stress->lose_request_ppm, 0, "of requests are lost"},
                 {stress->crash_ppm, 0, "of operations crash"},
                 {stress->pause_after_grant_ppm, stress->pause_us, "of grants stall their client"},
                 {stress->stall_in_release_ppm, stress->pause_us, "of releases stall within"},
                 {stress->delay_past_lease_ppm, 0, "of commands are late by a lease to two"},
                 {stress->drift_ppm, 0, "of clocks drift"},
                 {stress->server_drift_ppm, 0, "of servers' clocks drift"}};
    char *lease = lease_words(stress);
    char *text = NULL;
    size_t size;
    FILE *made = open_memstream(&text, &size);
    if (!made) {
        free(lease);
        return;
    }
    fprintf(made, "%s: %d client%s, %d lock%s, lease %s, seed %" PRIu64, stress->scheme->name,
            stress->clients, units_plural(stress->clients), stress->locks,
            units_plural(stress->locks), lease, stress->seed);
    free(lease);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (i < RATES_ALWAYS || rates[i].ppm)
            print_rate(made, rates[i].ppm, rates[i].us, rates[i].what);
    for (int i = SERVER_STRIKE_NONE + 1; i < SERVER_STRIKE_COUNT; i++)
        if (server_strike_ppm(stress, (enum server_strike)i))
            print_rate(made, server_strike_ppm(stress, (enum server_strike)i),
                       server_strike_us(stress, (enum server_strike)i),
                       server_strike_rows[i].rates);
    (void)fclose(made);
    /* Who reads it from a pipe takes a line for a step. */
    text_print_wrapped(stderr, text, 0, text_columns(stderr) ? text_room(stderr) : INT_MAX);
    free(text);
}
