/* runner.c - see runner.h. Ties a world, the interpreter, the history and the checks together;
 * judges nothing itself. */
#include "run/runner.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/units.h"
#include "history/history.h"
#include "run/walk.h"
#include "scenario/interpreter.h"
#include "worker/crowd.h"
#include "world/simulated.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One run under way: where its events go. */
struct recording {
    struct history_head head;
    struct history_writer *writer; /* NULL: no file */
    struct checks *checks;
    struct schedule *schedule;
    int64_t last_us;
    bool is_unsupported;
};

static void recording_take(void *context, const struct event *event)
{
    struct recording *recording = context;
    recording->last_us = event->time_us;
    if (event->kind == EVENT_RETURN && event->result == RESULT_UNSUPPORTED)
        recording->is_unsupported = true;
    checks_event(recording->checks, event);
    if (recording->writer) {
        struct event_sink file = history_writer_sink(recording->writer);
        file.take(file.context, event);
    }
}

static void recording_choice(void *context, const struct choice *choice)
{
    struct recording *recording = context;
    schedule_add(recording->schedule, choice);
}

static struct event_sink recording_sink(struct recording *recording)
{
    return (struct event_sink){.take = recording_take, .context = recording};
}

static void recording_close(struct recording *recording)
{
    if (recording->writer)
        history_writer_abandon(recording->writer);
    if (recording->checks)
        checks_free(recording->checks);
    if (recording->schedule)
        schedule_free(recording->schedule);
}

/* Are its clients a user's processes? */
static bool is_worker(const struct runner *runner, const struct scheme *scheme)
{
    return runner->worker && scheme == &runner->worker->scheme;
}

/* "histories/NAME-SCHEME.jsonl" in the run folder; makes the folder in between. */
static char *part_path(const struct runner *runner, const char *kind, const char *name,
                       const char *scheme, const char *ending)
{
    char *folder = memory_format("%s/%s", runner->folder, kind);
    if (mkdir(folder, 0777) && errno != EEXIST) {
        /* The file that goes there cannot be opened then: that failure names the path. */
    }
    free(folder);
    if (runner->round > 1)
        return memory_format("%s/%s-%s-%d.%s", kind, name, scheme, runner->round, ending);
    return memory_format("%s/%s-%s.%s", kind, name, scheme, ending);
}

static enum fail recording_open(struct recording *recording, const struct runner *runner,
                                const struct scheme *scheme, struct result_row *row,
                                struct failure *failure)
{
    /* Of a worker only its history tells, here as in `picklock check`. */
    recording->checks = is_worker(runner, scheme) ? checks_new_for(&recording->head, NULL)
                                                  : checks_new(&recording->head);
    if (!runner->folder)
        return FAIL_NONE;
    row->history = part_path(runner, "histories", row->subject, row->scheme, "jsonl");
    char *path = memory_format("%s/%s", runner->folder, row->history);
    enum fail fail = history_writer_new(&recording->writer, path, &recording->head, failure);
    free(path);
    return fail;
}

static enum fail save_files(struct recording *recording, const struct runner *runner,
                            struct result_row *row, struct failure *failure)
{
    if (recording->writer) {
        struct history_writer *writer = recording->writer;
        recording->writer = NULL;
        if (history_writer_close(writer, failure))
            return failure->code;
    }
    if (!runner->folder || !recording->schedule)
        return FAIL_NONE;
    row->schedule = part_path(runner, "schedules", row->subject, row->scheme, "schedule");
    char *path = memory_format("%s/%s", runner->folder, row->schedule);
    enum fail fail = schedule_write(recording->schedule, path, failure);
    free(path);
    return fail;
}

/* Files are whole, or their failure ends the program: a report must not point at half a history.
 * The verdict stands without them. */
static enum fail recording_save(struct recording *recording, const struct runner *runner,
                                struct result_row *row, struct failure *failure)
{
    enum fail fail = save_files(recording, runner, row, failure);
    if (fail) {
        free(row->history);
        free(row->schedule);
        row->history = row->schedule = NULL;
    }
    return fail;
}

static struct history_head head_of(const struct runner *runner, const struct run *run,
                                   const char *scenario)
{
    struct history_head head = run_head(run, runner->world == WORLD_SIM ? "sim" : "redis");
    snprintf(head.scenario, sizeof head.scenario, "%s", scenario);
    if (runner->world == WORLD_REDIS) {
        snprintf(head.server_version, sizeof head.server_version, "%s",
                 live_server_version(runner->live));
        head.clock_error_us = live_clock_error_us(runner->live);
    }
    if (is_worker(runner, run->scheme))
        walk_describe(&runner->worker->program, &head);
    return head;
}

/* What a directed run is told to do: a scenario's steps, or a schedule's choices. */
struct script {
    const struct scenario *scenario; /* or */
    const struct schedule *schedule;
    const char *path; /* of the schedule */
};

static enum fail world_open(struct world **world, const struct runner *runner,
                            const struct run *run, struct failure *failure)
{
    if (is_worker(runner, run->scheme))
        return world_worker_new(world, &runner->worker->program, run, failure);
    if (runner->world == WORLD_REDIS)
        return world_live_new(world, runner->live, run, failure);
    *world = world_simulated_new(run);
    return FAIL_NONE;
}

/* Runs the script in a world. FAIL_UNKNOWN: it diverged. FAIL_NOT_APPLICABLE: the scheme cannot
 * follow it. */
static enum fail drive(const struct script *script, const struct run *run, struct world *world,
                       struct recording *recording, struct failure *failure)
{
    struct choice_sink choices = {.take = recording_choice, .context = recording};
    enum fail fail;
    if (script->scenario)
        fail = interpreter_run(script->scenario, run->scheme, world, choices, failure);
    else
        fail = schedule_apply(script->schedule, script->path, world, failure);
    int64_t end_us = world->ops->now_us(world);
    if (end_us > recording->last_us)
        recording->last_us = end_us;
    return fail;
}

/* Does a run that ended so have a row? */
static bool has_row(enum fail fail)
{
    return fail == FAIL_NONE || fail == FAIL_UNKNOWN || fail == FAIL_NOT_APPLICABLE;
}

/* A worker that was ready once, and now ends, or says what is no answer, spoils this run alone:
 * what it did until then is judged. */
static bool is_workers_end(const struct runner *runner, const struct scheme *scheme, enum fail fail)
{
    return fail == FAIL_INPUT && is_worker(runner, scheme) && runner->worker->program.is_known;
}

/* A clock that did not keep ours explains whatever else has come: it is told instead. */
static enum fail compare_clocks(const struct runner *runner, enum fail fail,
                                struct failure *failure)
{
    struct failure clock;
    if (runner->world != WORLD_REDIS || !live_compare_clocks(runner->live, &clock))
        return fail;
    *failure = clock;
    return clock.code;
}

/* A scheme without fencing tokens promises nothing about their order: its stale write is judged
 * where the scenario states what it wants of it. A schedule may be the witness of just that. */
static void drop_unpromised(struct finding *findings, const struct scheme *scheme,
                            const struct expectation *expectation)
{
    if (scheme->mints_fence || (expectation && expectation->is_expected[PROPERTY_FENCE_ORDER]))
        return;
    findings[PROPERTY_FENCE_ORDER] = (struct finding){.verdict = VERDICT_NOT_APPLICABLE};
}

/* One directed run from start to judged row; *is_judged: it came there, even if its files did not.
 */
static enum fail direct_row(struct runner *runner, const struct script *script, struct run *run,
                            struct results *results, struct result_row *row, bool *is_judged,
                            struct failure *failure)
{
    int64_t began_us = monotonic_us();
    struct recording recording = {0};
    struct finding findings[PROPERTY_COUNT];
    struct world *world;
    run->sink = recording_sink(&recording);
    /* The world first: which server it is stands in the head of the history. */
    if (world_open(&world, runner, run, failure)) {
        if (failure->code == FAIL_UNKNOWN || is_workers_end(runner, run->scheme, failure->code))
            result_judge(row, findings, &(struct judging){.error = failure->text});
        else if (failure->code == FAIL_NOT_APPLICABLE)
            result_set_not_applicable(row, failure->text);
        else
            return failure->code;
        return FAIL_NONE;
    }
    recording.head = head_of(runner, run, row->subject);
    recording.schedule = schedule_new(run);
    if (is_worker(runner, run->scheme)) {
        recording.schedule->worker = memory_text(runner->worker->program.command);
        recording.schedule->wait_us = runner->worker->program.wait_us;
    }
    enum fail fail = recording_open(&recording, runner, run->scheme, row, failure);
    if (!fail)
        fail = drive(script, run, world, &recording, failure);
    const bool is_cut_short = is_workers_end(runner, run->scheme, fail);
    fail = is_cut_short ? FAIL_NONE : fail;
    if (has_row(fail))
        fail = compare_clocks(runner, fail, failure);
    world->ops->free(world);
    if (!has_row(fail)) {
        recording_close(&recording);
        return fail;
    }
    checks_finish(recording.checks, recording.last_us, findings, NULL);
    const struct expectation *expectation =
        script->scenario ? scenario_expects(script->scenario, run->scheme) : NULL;
    if (script->scenario)
        drop_unpromised(findings, run->scheme, expectation);
    const struct judging judging = {
        .expectation = expectation,
        .is_unsupported = recording.is_unsupported,
        .error = fail == FAIL_UNKNOWN ? failure->text : NULL,
        .interrupted = is_cut_short ? failure->text : NULL,
        .not_applicable = fail == FAIL_NOT_APPLICABLE ? failure->text : NULL,
        .fail_on = fail_on_for(runner->fail_on, run->scheme, FAIL_ON_BUG)};
    result_judge(row, findings, &judging);
    *is_judged = true;
    row->elapsed_us = monotonic_us() - began_us;
    if (runner->world == WORLD_REDIS)
        snprintf(results->server_version, sizeof results->server_version, "%s",
                 recording.head.server_version);
    fail = recording_save(&recording, runner, row, failure);
    recording_close(&recording);
    return fail;
}

/* A row that did not come to its end is none: it would look as if it held. */
static enum fail direct(struct runner *runner, const struct script *script, struct run *run,
                        struct results *results, struct result_row *row, struct failure *failure)
{
    bool is_judged = false;
    enum fail fail = direct_row(runner, script, run, results, row, &is_judged, failure);
    if (fail && !is_judged)
        results_drop_last(results);
    return fail;
}

/* A row of the scenario with the scheme: names and story. */
static struct result_row *scenario_row(struct results *results, const struct scenario *scenario,
                                       const struct scheme *scheme)
{
    struct result_row *row = results_add(results);
    result_name_row(row, scenario->name, scheme);
    row->path = memory_text(scenario->path);
    row->story = memory_text(scenario->story ? scenario->story : "");
    row->source = memory_text(scenario->source);
    return row;
}

void runner_skip(const struct scenario *scenario, const struct scheme *scheme, const char *reason,
                 struct results *results)
{
    result_set_not_applicable(scenario_row(results, scenario, scheme), reason);
}

enum fail runner_suits(const struct runner *runner, const struct scenario *scenario,
                       struct failure *failure)
{
    if (runner->world != WORLD_REDIS)
        return FAIL_NONE;
    enum fail fail = live_suits(runner->live, scenario->servers, scenario->has_replica, failure);
    for (int i = 0; !fail && i < scenario->steps_count; i++) {
        enum choice_kind kind = step_choice(scenario->steps[i].kind);
        if (kind != CHOICE_COUNT)
            fail = live_can(runner->live, kind, failure);
    }
    return fail;
}

static enum fail suits_worker(const struct scenario *scenario, struct failure *failure)
{
    for (int i = 0; i < scenario->steps_count; i++) {
        const enum choice_kind kind = step_choice(scenario->steps[i].kind);
        if (kind != CHOICE_COUNT && worker_can(kind, failure))
            return failure->code;
    }
    return FAIL_NONE;
}

enum fail runner_scenario(struct runner *runner, const struct scenario *scenario,
                          const struct scheme *scheme, struct results *results,
                          struct failure *failure)
{
    struct result_row *row = scenario_row(results, scenario, scheme);
    struct script script = {.scenario = scenario};
    if (runner_suits(runner, scenario, failure) ||
        (is_worker(runner, scheme) && suits_worker(scenario, failure))) {
        result_set_not_applicable(row, failure->text);
        return FAIL_NONE;
    }
    struct run run = {.scheme = scheme,
                      .clients = scenario->clients,
                      .servers = scenario->servers,
                      .names = (char(*)[NAME_MAX_BYTES])(uintptr_t)scenario->names,
                      .lease_us = scheme_lease_us(scheme, scenario->lease_us),
                      .seed = runner->seed,
                      .same_token = scenario->same_token,
                      .has_replica = scenario->has_replica};
    return direct(runner, &script, &run, results, row, failure);
}

enum fail runner_schedule(struct runner *runner, const struct schedule *schedule, const char *path,
                          struct results *results, struct failure *failure)
{
    struct result_row *row = results_add(results);
    struct script script = {.schedule = schedule, .path = path};
    struct run run = {.scheme = schedule->scheme,
                      .clients = schedule->clients,
                      .servers = schedule->servers,
                      .names = (char(*)[NAME_MAX_BYTES])(uintptr_t)schedule->names,
                      .lease_us = schedule->lease_us,
                      .seed = schedule->seed,
                      .same_token = schedule->same_token,
                      .has_replica = schedule->has_replica,
                      .has_delex = schedule->has_delex};
    if (is_worker(runner, schedule->scheme))
        runner->worker->program.wait_us = schedule->wait_us;
    result_name_row(row, "replay", schedule->scheme);
    return direct(runner, &script, &run, results, row, failure);
}

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
    figures->faults_in_hold = counters->faults_in_hold;
    figures->contended = counters->contended;
    figures->latency_us = outcome->latency_us;
    if (outcome->elapsed_us > 0)
        figures->operations_per_second = counters->operations * 1000000 / outcome->elapsed_us;
}

/* "it was interrupted after 0.7s of 10s" */
static char *cut_short(const struct stress_options *options, const struct stress_outcome *outcome)
{
    char ran[UNITS_TEXT_MAX], wanted[UNITS_TEXT_MAX];
    return memory_format("it was interrupted after %s of %s",
                         units_print_duration(outcome->elapsed_us / 1000 * 1000, ran),
                         units_print_duration(options->duration_us, wanted));
}

static bool wants_faults(const struct stress_options *options)
{
    return options->server_drift_ppm || options->silence_ppm || options->refuse_ppm ||
           options->drift_ppm || options->pause_ppm || options->delay_ppm ||
           options->lose_reply_ppm || options->lose_request_ppm || options->crash_ppm;
}

/* What was asked for, and never came: nothing says how the scheme would have stood it. */
static const char *never_struck(const struct stress_options *options,
                                const struct stress_outcome *outcome)
{
    const int64_t *struck = outcome->struck;
    if (options->silence_ppm && !struck[STRUCK_SILENCE])
        return "no server fell silent: a longer run, or a higher rate, may find something";
    if (options->refuse_ppm && !struck[STRUCK_REFUSAL])
        return "no server refused connections: a longer run, or a higher rate, may find something";
    if (options->drift_ppm && !struck[STRUCK_CLIENT_DRIFT])
        return "no client's clock drifted: a higher rate, or another seed, may find something";
    if (options->server_drift_ppm && !struck[STRUCK_SERVER_DRIFT])
        return "no server's clock drifted: a higher rate, or another seed, may find something";
    return NULL;
}

static const char one_at_a_time[] =
    "The servers do not tell in which order they read, so one command at a time was with each of "
    "them: the order in which they executed is known, and concurrency was given for it.";

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
    recording->head.clock_error_us = CROWD_CLOCK_ERROR_US;
    enum fail fail = recording_open(recording, runner, options->scheme, row, failure);
    if (!fail)
        fail = crowd_run(crowd, outcome, failure);
    crowd_free(crowd);
    return fail;
}

static enum fail stress_scheme(struct runner *runner, struct stress_options *options,
                               struct recording *recording, struct result_row *row,
                               struct stress_outcome *outcome, struct failure *failure)
{
    enum fail fail = recording_open(recording, runner, options->scheme, row, failure);
    return fail ? fail : live_stress(runner->live, options, outcome, failure);
}

enum fail runner_stress(struct runner *runner, struct stress_options *options,
                        struct results *results, struct failure *failure)
{
    struct result_row *row = results_add(results);
    struct recording recording = {0};
    struct stress_outcome outcome = {0};
    result_name_row(row, "stress", options->scheme);
    row->stress = memory_new(1, sizeof *row->stress);
    if (live_suits(runner->live, options->servers, false, failure)) {
        result_set_not_applicable(row, failure->text);
        return FAIL_NONE;
    }
    options->lease_us = scheme_lease_us(options->scheme, options->lease_us);
    const struct run run = {.scheme = options->scheme,
                            .clients = options->clients,
                            .servers = options->servers,
                            .names = client_names(options->clients),
                            .lease_us = options->lease_us,
                            .seed = runner->seed};
    recording.head = head_of(runner, &run, "stress");
    recording.head.locks = options->locks;
    options->sink = recording_sink(&recording);
    enum fail fail = is_worker(runner, options->scheme)
                         ? stress_worker(runner, options, &recording, row, &outcome, failure)
                         : stress_scheme(runner, options, &recording, row, &outcome, failure);
    bool is_judged = !fail;
    if (!fail) {
        struct finding findings[PROPERTY_COUNT];
        struct counters counters;
        checks_finish(recording.checks, recording.last_us, findings, &counters);
        const char *unstruck = never_struck(options, &outcome);
        char *interrupted = outcome.was_stopped ? cut_short(options, &outcome) : NULL;
        result_judge(
            row, findings,
            &(struct judging){
                .is_unsupported = recording.is_unsupported,
                .interrupted = interrupted,
                .error = outcome.doubt.code ? outcome.doubt.text : NULL,
                .vacuity = unstruck ? unstruck : result_vacuity(&counters, wants_faults(options)),
                .fail_on = fail_on_for(runner->fail_on, options->scheme, FAIL_ON_BUG)});
        free(interrupted);
        fill_figures(row->stress, &outcome, &counters);
        if (outcome.was_one_at_a_time)
            results_note(results, memory_format("%s", one_at_a_time));
        row->elapsed_us = outcome.elapsed_us;
        snprintf(results->server_version, sizeof results->server_version, "%s",
                 is_worker(runner, options->scheme) ? runner->worker->program.server_version
                                                    : live_server_version(runner->live));
        fail = recording_save(&recording, runner, row, failure);
    }
    recording_close(&recording);
    free(recording.head.names);
    if (!is_judged)
        results_drop_last(results);
    return fail;
}
