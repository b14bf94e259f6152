/* runner_stress.c - a stress run, see runner.h: of a scheme (live/stress.h) or of a worker
 * (worker/crowd.h), with its figures, and what was asked for and never came. */
#include "base/memory.h"
#include "base/units.h"
#include "base/usage.h"
#include "run/recording.h"
#include "run/stress_reasons.h"
#include "run/walk.h"
#include "worker/crowd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char (*client_names(int clients))[NAME_MAX_BYTES]
{
    char(*names)[NAME_MAX_BYTES] = memory_new((size_t)clients, NAME_MAX_BYTES);
    for (int i = 0; i < clients; i++)
        snprintf(names[i], NAME_MAX_BYTES, "c%d", i + 1);
    return names;
}

static void fill_figures(struct stress_figures *figures, const struct stress_outcome *outcome,
                         const struct counters *counters)
{
    figures->clients = outcome->clients;
    figures->operations = counters->operations;
    figures->grants = counters->grants;
    figures->refusals = counters->refusals;
    figures->errors = counters->errors;
    figures->overruns = counters->overruns;
    figures->foreign_releases = counters->foreign_releases;
    figures->lost_updates = counters->lost_updates;
    figures->faults = counters->faults;
    memcpy(figures->struck, counters->struck, sizeof figures->struck);
    figures->faults_in_hold = counters->faults_in_hold;
    figures->contended = counters->contended;
    figures->latency_us = outcome->latency_us;
    figures->injected_wait_us = outcome->injected_wait_us;
    if (outcome->elapsed_us > 0)
        figures->operations_per_second = counters->operations * 1000000 / outcome->elapsed_us;
}

/* --- what is said while it runs --- */

struct watcher {
    struct recording *recording;
    enum fail_on fail_on;
    int64_t lease_us;
    void (*progress)(void *context, const struct stress_progress *progress);
    void *context;
    struct finding proved[PROPERTY_COUNT]; /* what was violated by the last proved() */
    int64_t proved_events;                 /* so many had come by then */
};

/* "unlock-bug 12, overrun 3": the gravest first, as causes.def has them. Owned, NULL: none. */
static char *violations_so_far(const struct checks *checks)
{
    const unsigned violated = checks_violated(checks);
    int64_t counts[CAUSE_COUNT] = {0};
    char *words = NULL;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct finding *finding = checks_so_far(checks, (enum property)i);
        counts[finding->cause] += violated >> i & 1 ? finding->count : 0;
    }
    for (int i = 0; i < CAUSE_COUNT; i++) {
        if (!counts[i])
            continue;
        char *longer = memory_format("%s%s%s %" PRId64, words ? words : "", words ? ", " : "",
                                     cause_name((enum cause)i), counts[i]);
        free(words);
        words = longer;
    }
    return words;
}

/* Of all that has come so far. */
static const struct checks *settled_checks(const struct watcher *watcher)
{
    recording_settle(watcher->recording);
    return watcher->recording->checks;
}

static void tell_progress(void *context, const struct stress_progress *progress)
{
    const struct watcher *watcher = context;
    struct stress_progress told = *progress;
    const struct checks *checks = settled_checks(watcher);
    char *violations = violations_so_far(checks);
    told.violations = violations;
    told.holders = checks_holders(checks);
    told.faults = checks_struck(checks);
    const struct ungranted_time *ungranted = &watcher->recording->ungranted.now;
    if (ungranted_is_long(ungranted, watcher->lease_us)) {
        told.ungranted = ungranted->attempts;
        told.ungranted_since_us = ungranted->from_us;
    }
    watcher->progress(watcher->context, &told);
    free(violations);
}

/* A violation that counts as a failure. */
static bool has_failed(void *context)
{
    const struct watcher *watcher = context;
    const struct checks *checks = settled_checks(watcher);
    const unsigned violated = checks_violated(checks);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (violated >> i & 1 &&
            fail_on_counts(watcher->fail_on, checks_so_far(checks, (enum property)i)->blames))
            return true;
    return false;
}

/* What the clocks were proved for stands, whatever comes: a run may be in doubt later. */
static void keep_proved(void *context)
{
    struct watcher *watcher = context;
    const struct checks *checks = settled_checks(watcher);
    struct history_writer *writer = watcher->recording->writer;
    const unsigned violated = checks_violated(checks);
    watcher->proved_events = watcher->recording->events;
    if (writer)
        history_writer_prove(writer);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (!(violated >> i & 1))
            continue;
        watcher->proved[i] = *checks_so_far(checks, (enum property)i);
        watcher->proved[i].verdict = VERDICT_VIOLATED;
    }
}

static void watch_it(struct watcher *watcher, struct stress_options *options)
{
    options->proved = keep_proved;
    options->proved_context = watcher;
    watcher->progress = options->progress;
    watcher->context = options->progress_context;
    if (options->progress) {
        options->progress = tell_progress;
        options->progress_context = watcher;
    }
    if (options->until_violation) {
        options->is_enough = has_failed;
        options->is_enough_context = watcher;
    }
}

static void note_early_end(struct results *results, const struct stress_options *options,
                           const struct stress_outcome *outcome)
{
    char ran[UNITS_TEXT_MAX];
    if (outcome->has_seen_enough)
        results_note(results, memory_format("The stress run of %s ended behind its first "
                                            "violation, after %s, as it was told to.",
                                            options->scheme->name, stress_elapsed(outcome, ran)));
    else if (!options->duration_us && !outcome->was_stopped && !outcome->ended.code)
        results_note(results, memory_format("The stress run of %s had no time of its own: it was "
                                            "stopped after %s.",
                                            options->scheme->name, stress_elapsed(outcome, ran)));
}

static void note_doubt(struct results *results, const struct stress_options *options,
                       const struct stress_outcome *outcome, const struct result_row *row)
{
    if (outcome->doubt.code && row->verdict == VERDICT_VIOLATED)
        results_note(results, memory_format("What the stress run of %s is said to violate it did "
                                            "before it came into doubt: %s. What came behind that "
                                            "counts for nothing.",
                                            options->scheme->name, outcome->doubt.text));
}

static void note_healing(struct results *results, const struct stress_options *options,
                         const struct stress_outcome *outcome)
{
    char healed[UNITS_TEXT_MAX];
    const bool was_cut_short = outcome->was_stopped || outcome->has_seen_enough;
    if (!was_cut_short && outcome->healed_of && !outcome->unhealed)
        results_note(
            results,
            memory_format("Behind the faults of %s clients asked on for %s: %d of "
                          "%d lock%s that they asked for %s granted again.",
                          options->scheme->name, units_print_duration(options->heal_us, healed),
                          outcome->healed_of, outcome->healed_of, units_plural(outcome->healed_of),
                          outcome->healed_of == 1 ? "was" : "were"));
}

/* That is no violation: all that a lock promises it may keep. */
static void note_ungranted(struct results *results, const struct stress_options *options,
                           const struct stress_figures *figures, const struct ungranted_time *time)
{
    char since[UNITS_TEXT_MAX], lasted[UNITS_TEXT_MAX];
    if (!figures->contended || !ungranted_is_long(time, options->lease_us))
        return;
    results_note(
        results,
        memory_format("Nobody had a lock of %s, nor was granted one, for %s from %s on: %" PRId64
                      " attempt%s ended without. That violates nothing. Fewer clients, or a longer "
                      "--think or --timeout, show whether they were in each other's way.",
                      options->scheme->name,
                      units_print_rounded(time->until_us - time->from_us, lasted),
                      time->from_us ? units_print_rounded(time->from_us, since) : "its beginning",
                      time->attempts, units_plural(time->attempts)));
}

static const char one_at_a_time[] =
    "Each server was given one command at a time, so that the order in which it executed them is "
    "known: this server does not tell it. Two commands were never on their way to it together.";

static const char direct[] =
    "Clients talked to the servers directly, without the proxy: no fault of the network could "
    "strike. The order of execution is the one in which the servers read.";

static const char near_proxy[] = "Clients reached the proxy by unix sockets, not over TCP: the "
                                 "same faults, at less CPU a command.";

static void note_cluster(struct results *results, const struct stress_options *options,
                         const struct stress_outcome *outcome)
{
    const int64_t moves = outcome->struck[STRUCK_SLOT_MOVE];
    results_note(results,
                 memory_format("%s ran on the three masters of a Redis Cluster, which are one "
                               "server to its clients. Slots of locks moved to another master "
                               "%" PRId64 " time%s; clients followed MOVED %" PRId64
                               " time%s and ASK %" PRId64 " time%s.",
                               options->scheme->name, moves, units_plural(moves), outcome->moved,
                               units_plural(outcome->moved), outcome->asked,
                               units_plural(outcome->asked)));
}

static void note_how_it_ran(struct results *results, const struct stress_options *options,
                            const struct stress_outcome *outcome, const struct result_row *row,
                            const struct ungranted *ungranted)
{
    const bool has_grants = row->stress->grants > 0;
    char *silent = has_grants ? NULL : stress_unanswered(outcome); /* else a verdict tells of it */
    note_early_end(results, options, outcome);
    if (silent)
        results_note(results, memory_format("%s.", silent));
    free(silent);
    note_doubt(results, options, outcome, row);
    note_healing(results, options, outcome);
    note_ungranted(results, options, row->stress, &ungranted->longest);
    if (outcome->was_one_at_a_time)
        results_note(results, memory_text(one_at_a_time));
    if (options->is_cluster)
        note_cluster(results, options, outcome);
    if (options->is_direct)
        results_note(results, memory_text(direct));
    if (outcome->proxy_processes)
        results_note(results,
                     memory_format("%d process%s of their own held the proxy's ends of the "
                                   "connections of %s: what was done on the way, and in which "
                                   "order, was decided in one.",
                                   outcome->proxy_processes,
                                   outcome->proxy_processes == 1 ? "" : "es",
                                   options->scheme->name));
    if (options->is_near)
        results_note(results, memory_text(near_proxy));
}

/* --- a run --- */

/* A worker's processes begin before its history does: what it promises stands in its head. */
static enum fail stress_worker(struct runner *runner, struct stress_options *options,
                               struct recording *recording, struct result_row *row,
                               struct stress_outcome *outcome, struct failure *failure)
{
    struct worker_program *program = &runner->worker->program;
    struct crowd *crowd;
    if (crowd_new(&crowd, program, options, failure))
        return failure->code;
    walk_describe(program, &recording->head);
    recording->head.has_all_commands = false; /* nobody keeps it from another server */
    recording->head.clock_error_us = CROWD_CLOCK_ERROR_US;
    enum fail fail = recording_open(recording, runner, options->scheme, row, failure);
    recording->series = series_recorder_new(options->clients, recording->checks);
    if (!fail)
        fail = crowd_run(crowd, outcome, failure);
    crowd_free(crowd);
    return fail;
}

/* Then what was found keeps its status where a later run finds no server any more. */
static bool has_run_before(const struct results *results)
{
    for (int i = 0; i < results->rows_count - 1; i++)
        if (results->rows[i].verdict != VERDICT_NOT_APPLICABLE)
            return true;
    return false;
}

static enum fail stress_scheme(struct runner *runner, struct stress_options *options,
                               struct recording *recording, struct results *results,
                               struct stress_outcome *outcome, struct failure *failure)
{
    struct result_row *row = &results->rows[results->rows_count - 1];
    if (live_learn_version(runner->live, options->locks, failure))
        return failure->code;
    snprintf(recording->head.server_version, sizeof recording->head.server_version, "%s",
             live_server_version(runner->live));
    recording->head.is_closed = live_has_own_servers(runner->live);
    enum fail fail = recording_open(recording, runner, options->scheme, row, failure);
    recording->series = series_recorder_new(options->clients, recording->checks);
    if (fail)
        return fail;
    recording_begin_thread(recording);
    options->sink = recording_sink(recording);
    fail = live_stress(runner->live, options, outcome, failure);
    recording_settle(recording);
    if (fail != FAIL_UNAVAILABLE || recording->events || !has_run_before(results))
        return fail;
    (void)failure_set(&outcome->ended, FAIL_UNKNOWN, "it could not begin: %s", failure->text);
    outcome->doubt = outcome->ended;
    return FAIL_NONE;
}

/* Of a run in doubt: only what was violated before stands. Why that is so is said of all. */
static void take_back(struct finding *findings, const struct finding *proved)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (findings[i].verdict == VERDICT_NOT_APPLICABLE)
            continue;
        findings[i] = proved[i];
        if (proved[i].verdict == VERDICT_VIOLATED)
            continue;
        findings[i].verdict = VERDICT_UNKNOWN;
        findings[i].first_index = -1;
    }
}

/* The verdicts of what was recorded, and its figures. What its history says of them is in it before
 * it is saved; FAIL_..: it is not, and nothing is as it was to be. */
static enum fail judge(struct result_row *row, struct recording *recording,
                       const struct runner *runner, const struct stress_options *options,
                       const struct stress_outcome *outcome, const struct watcher *watcher,
                       struct failure *failure)
{
    struct finding findings[PROPERTY_COUNT];
    struct counters counters;
    checks_finish(recording->checks, recording->last_us, findings, &counters);
    struct stress_reasons reasons =
        stress_reasons_find(options, outcome, &counters, recording->has_executed);
    reasons.proved = watcher->proved_events;
    stress_reasons_say(&reasons, &recording->end);
    const enum fail fail = recording_save(recording, runner, row, failure);
    char *lost = fail ? memory_format("its history is not whole: %s", failure->text) : NULL;
    const char *doubt = reasons.doubt ? reasons.doubt : reasons.unhealed;
    if (doubt)
        take_back(findings, reasons.doubt ? watcher->proved : findings);
    result_judge(row, findings,
                 &(struct judging){.is_unsupported = counters.unsupported > 0,
                                   .interrupted = lost    ? lost
                                                  : doubt ? doubt
                                                          : reasons.interrupted,
                                   .gap = result_gap(findings, recording->checks),
                                   .vacuity = reasons.vacuity,
                                   .fail_on = watcher->fail_on});
    free(lost);
    stress_reasons_free(&reasons);
    fill_figures(row->stress, outcome, &counters);
    series_fill(recording->series, &row->stress->series);
    row->elapsed_us = outcome->elapsed_us;
    return fail;
}

enum fail runner_stress(struct runner *runner, struct stress_options *options,
                        struct results *results, struct failure *failure)
{
    struct result_row *row = results_add(results);
    struct recording recording = {0};
    struct stress_outcome outcome = {0};
    const bool is_worker = runner_is_worker(runner, options->scheme);
    result_name_row(row, "stress", options->scheme);
    row->stress = memory_new(1, sizeof *row->stress);
    if (live_suits(runner->live, options->servers, false, failure) ||
        (options->is_cluster && !runner_fits_cluster(runner, options->scheme, failure))) {
        result_set_not_applicable(row, failure->text);
        return FAIL_NONE;
    }
    options->lease_us = scheme_lease_us(options->scheme, options->lease_us);
    const struct run run = {.scheme = options->scheme,
                            .clients = options->clients,
                            .servers = options->servers,
                            .names = client_names(options->clients),
                            .lease_us = options->lease_us,
                            .seed = runner->seed,
                            .is_cluster = options->is_cluster};
    recording.head = recording_head(runner, &run, "stress");
    recording.head.is_directed = false; /* who asks when, chance says */
    recording.head.locks = options->locks;
    recording.head.is_streamed = true; /* it cannot be made again: what there is of it stays */
    options->sink = recording_sink(&recording);
    struct watcher *watcher = memory_new(1, sizeof *watcher);
    watcher->recording = &recording;
    watcher->lease_us = options->lease_us;
    watcher->fail_on = fail_on_for(runner->fail_on, options->scheme, FAIL_ON_BUG);
    watch_it(watcher, options);
    const int64_t began_us = usage_cpu_us();
    enum fail fail = is_worker
                         ? stress_worker(runner, options, &recording, row, &outcome, failure)
                         : stress_scheme(runner, options, &recording, results, &outcome, failure);
    if (fail) {
        results_drop_last(results);
    } else {
        fail = judge(row, &recording, runner, options, &outcome, watcher, failure);
        row->stress->cpu_us = usage_cpu_us() - began_us + outcome.proxy_processes_cpu_us;
        note_how_it_ran(results, options, &outcome, row, &recording.ungranted);
        if (is_worker)
            worker_scheme_note_promises(&runner->worker->program, results);
        if (!fail && outcome.ended.code) {
            *failure = outcome.ended;
            fail = FAIL_UNKNOWN;
        }
        snprintf(results->server_version, sizeof results->server_version, "%s",
                 is_worker ? runner->worker->program.server_version
                           : live_server_version(runner->live));
    }
    recording_close(&recording);
    free(watcher);
    free(recording.head.names);
    return fail;
}
