/* runner.c - directed runs, see runner.h. Ties a world, the interpreter, the history and the checks
 * together; judges nothing itself. */
#include "run/runner.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "run/recording.h"
#include "run/replayed.h"
#include "scenario/interpreter.h"
#include "world/simulated.h"

#include <stdio.h>
#include <stdlib.h>

/* What a directed run is told to do: a scenario's steps, or a schedule's choices. */
struct script {
    const struct scenario *scenario; /* or */
    const struct schedule *schedule;
    const char *path;          /* of the schedule */
    struct followed *followed; /* how it was followed, with a lock that is the user's */
};

/* Was it kept of a lock that may have changed since? Those of the table do not. */
static bool is_followed(const struct script *script, const struct scheme *scheme)
{
    return script->schedule && scheme_is_plugin(scheme);
}

/* A schedule, with the lock that it is of, or with one that may have changed since. */
static enum fail apply(const struct script *script, const struct run *run, struct world *world,
                       struct choice_sink choices, struct failure *failure)
{
    const struct schedule *schedule = script->schedule;
    if (!is_followed(script, run->scheme)) {
        enum fail fail = schedule_apply(schedule, script->path, world, failure);
        for (int i = 0; i < schedule->choices_count && !fail; i++)
            choices.take(choices.context, &schedule->choices[i]);
        return fail;
    }
    struct failure why;
    enum fail fail =
        schedule_follow(schedule, script->path, world, choices, script->followed, &why);
    if (fail == FAIL_UNKNOWN)
        return failure_set(failure, fail,
                           "%s; where the lock was changed, search again (picklock test), and keep "
                           "what that finds",
                           why.text);
    if (fail)
        *failure = why;
    return fail;
}

static enum fail world_open(struct world **world, const struct runner *runner,
                            const struct run *run, struct failure *failure)
{
    if (runner_is_worker(runner, run->scheme))
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
    struct choice_sink choices = recording_choices(recording);
    enum fail fail;
    if (script->scenario)
        fail = interpreter_run(script->scenario, run->scheme, world, choices, failure);
    else
        fail = apply(script, run, world, choices, failure);
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
    return fail == FAIL_INPUT && runner_is_worker(runner, scheme) &&
           runner->worker->program.is_known;
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

/* Nor does anything count of a worker that went past the proxy. Where that is known already, it is
 * known of more than a connection. */
static enum fail compare_connections(const struct runner *runner, const struct run *run,
                                     const struct world *world, enum fail fail,
                                     struct failure *failure)
{
    struct failure past;
    if (fail == FAIL_UNKNOWN || !runner_is_worker(runner, run->scheme) ||
        !world_worker_check_past(world, &past))
        return fail;
    *failure = past;
    return past.code;
}

/* A scheme without fencing tokens promises nothing about their order: its stale write is judged
 * where the scenario states what it wants of it. A schedule may be the witness of just that. Of a
 * worker the checks know what it promises. */
static void drop_unpromised(struct finding *findings, const struct runner *runner,
                            const struct scheme *scheme, const struct expectation *expectation)
{
    if (runner_is_worker(runner, scheme) || scheme->mints_fence ||
        (expectation && expectation->is_expected[PROPERTY_FENCE_ORDER]))
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
    struct counters counters;
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
    recording.head = recording_head(runner, run, row->subject);
    recording.schedule = schedule_new(run);
    if (runner_is_worker(runner, run->scheme)) {
        recording.schedule->worker = memory_text(runner->worker->program.command);
        recording.schedule->wait_us = runner->worker->program.wait_us;
    }
    enum fail fail = recording_open(&recording, runner, run->scheme, row, failure);
    if (!fail)
        fail = drive(script, run, world, &recording, failure);
    const bool is_cut_short = is_workers_end(runner, run->scheme, fail) ||
                              (fail == FAIL_UNKNOWN && is_followed(script, run->scheme));
    fail = is_cut_short ? FAIL_NONE : fail;
    if (has_row(fail))
        fail = compare_clocks(runner, fail, failure);
    if (has_row(fail))
        fail = compare_connections(runner, run, world, fail, failure);
    world->ops->free(world);
    if (!has_row(fail)) {
        recording_close(&recording);
        return fail;
    }
    checks_finish(recording.checks, recording.last_us, findings, &counters);
    const struct expectation *expectation =
        script->scenario ? scenario_expects(script->scenario, run->scheme) : NULL;
    if (script->scenario)
        drop_unpromised(findings, runner, run->scheme, expectation);
    const struct judging judging = {
        .expectation = expectation,
        .is_unsupported = counters.unsupported > 0,
        .error = fail == FAIL_UNKNOWN ? failure->text : NULL,
        .interrupted = is_cut_short ? failure->text : NULL,
        .gap = checks_gap(recording.checks),
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
    else if (runner_is_worker(runner, run->scheme))
        worker_scheme_note_promises(&runner->worker->program, results);
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

bool runner_fits_cluster(const struct runner *runner, const struct scheme *scheme,
                         struct failure *failure)
{
    const char *why =
        runner_is_worker(runner, scheme)
            ? "a worker's own client would have to follow MOVED and ASK, and is not shown a cluster"
        : scheme->needs_quorum  ? "a cluster is one server to its clients: it has no quorum"
        : scheme->needs_replica ? "the masters of a cluster have no replicas here"
                                : NULL;
    if (why)
        (void)failure_set(failure, FAIL_NOT_APPLICABLE, "%s", why);
    return !why;
}

enum fail runner_scenario(struct runner *runner, const struct scenario *scenario,
                          const struct scheme *scheme, struct results *results,
                          struct failure *failure)
{
    struct result_row *row = scenario_row(results, scenario, scheme);
    struct script script = {.scenario = scenario};
    if (runner_suits(runner, scenario, failure) ||
        (runner_is_worker(runner, scheme) && suits_worker(scenario, failure))) {
        result_set_not_applicable(row, failure->text);
        return FAIL_NONE;
    }
    if (scenario->is_cluster && !runner_fits_cluster(runner, scheme, failure)) {
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
                      .is_cluster = scenario->is_cluster,
                      .has_replica = scenario->has_replica || scheme->needs_replica};
    return direct(runner, &script, &run, results, row, failure);
}

enum fail runner_schedule(struct runner *runner, const struct schedule *schedule, const char *path,
                          struct results *results, struct failure *failure)
{
    struct result_row *row = results_add(results);
    struct followed followed = {0};
    struct script script = {.schedule = schedule, .path = path, .followed = &followed};
    struct run run = {.scheme = schedule->scheme,
                      .clients = schedule->clients,
                      .servers = schedule->servers,
                      .names = (char(*)[NAME_MAX_BYTES])(uintptr_t)schedule->names,
                      .lease_us = schedule->lease_us,
                      .seed = schedule->seed,
                      .same_token = schedule->same_token,
                      .has_replica = schedule->has_replica,
                      .is_cluster = schedule->is_cluster,
                      .has_delex = schedule->has_delex};
    if (runner_is_worker(runner, schedule->scheme))
        runner->worker->program.wait_us = schedule->wait_us;
    result_name_row(row, "replay", schedule->scheme);
    enum fail fail = direct(runner, &script, &run, results, row, failure);
    char *words = NULL;
    if (!fail && is_followed(&script, run.scheme)) {
        replayed_judge(row, schedule);
        words = replayed_words(row, schedule, path, &followed);
    }
    if (!fail && !words)
        words = replayed_again(row, schedule, path);
    if (words)
        results_note(results, words);
    followed_close(&followed);
    return fail;
}
