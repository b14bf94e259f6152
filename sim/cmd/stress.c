/* stress.c - `picklock stress`: many clients, random faults, the figures. */
#include "cmd/cmd.h"
#include "cmd/heartbeat.h"
#include "cmd/output.h"
#include "cmd/stress_show.h"

#include "base/memory.h"
#include "base/units.h"
#include "proxy/carrier.h"
#include "report/text.h"
#include "worker/crowd.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t rate_not_said = UINT32_MAX;

enum { PIECE_MB_MAX = 1000000 };
enum { CLIENTS = 50, WORKERS = 10 }; /* where nothing is said */

struct options {
    struct stress_options stress;
    struct worker_scheme program;
    struct distribution think; /* from_us -1: not said */
    const char *scheme, *shard, *duration;
    struct run_choices choices;
    int64_t clients, locks, servers, seed, piece_mb, proxy_processes;
    int no_faults, keep_history, until_violation, is_direct, is_near, is_cluster;
    struct output output;
};

/* The option of the first that is asked for and is done by the proxy, or to the process; NULL:
 * none. */
static const char *first_strike(const struct stress_options *stress, bool wants_proxy)
{
    for (int i = SERVER_STRIKE_NONE + 1; i < SERVER_STRIKE_COUNT; i++)
        if (server_strike_rows[i].wants_proxy == wants_proxy &&
            server_strike_ppm(stress, (enum server_strike)i))
            return server_strike_rows[i].option;
    return NULL;
}

/* A worker has clocks and a patience of its own; and its servers are ours. */
static enum fail check_worker(const struct options *options, struct failure *failure)
{
    const struct {
        const char *name;
        bool is_given;
    } others[] = {{"--scheme", options->scheme},
                  {"--drift", options->stress.drift_ppm},
                  {"--server-drift", options->stress.server_drift_ppm},
                  {"--timeout", options->stress.timeout_us},
                  {"--hold", options->stress.hold.from_us || options->stress.hold.to_us},
                  {"--pause-after-grant", options->stress.pause_after_grant_ppm},
                  {"--stall-in-release", options->stress.stall_in_release_ppm},
                  {"--delay-past-lease", options->stress.delay_past_lease_ppm},
                  {"--redis", options->choices.redis},
                  {"--direct", options->is_direct},
                  {"--unix-sockets", options->is_near},
                  {"--proxy-processes", options->proxy_processes},
                  {"--cluster", options->is_cluster},
                  {"--shard", options->shard}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].is_given)
            return failure_set(failure, FAIL_INPUT, "%s does not go with --worker", others[i].name);
    const char *option = first_strike(&options->stress, false);
    if (option)
        return failure_set(failure, FAIL_INPUT, "%s does not go with --worker", option);
    if (options->clients > CROWD_CLIENTS_MAX)
        return failure_set(failure, FAIL_INPUT, "--clients: of workers there are at most %d",
                           CROWD_CLIENTS_MAX);
    if (options->locks > CROWD_LOCKS_MAX)
        return failure_set(failure, FAIL_INPUT, "--locks: of workers there are at most %d",
                           CROWD_LOCKS_MAX);
    return FAIL_NONE;
}

static bool is_said(uint32_t ppm)
{
    return ppm && ppm != rate_not_said;
}

/* Without the proxy nobody can strike on the way, and only a server of ours tells its order. */
static enum fail check_direct(struct options *options, struct failure *failure)
{
    struct stress_options *stress = &options->stress;
    const struct {
        const char *name;
        bool is_given;
    } others[] = {{"--delay", is_said(stress->delay_ppm)},
                  {"--lose-reply", is_said(stress->lose_reply_ppm)},
                  {"--lose-request", is_said(stress->lose_request_ppm)},
                  {"--delay-past-lease", stress->delay_past_lease_ppm},
                  {"--unix-sockets", options->is_near},
                  {"--proxy-processes", options->proxy_processes},
                  {"--redis", options->choices.redis},
                  {"--real-time", options->choices.real_time}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].is_given)
            return failure_set(failure, FAIL_INPUT,
                               "%s wants the proxy: it does not go with --direct", others[i].name);
    const char *option = first_strike(stress, true);
    if (option)
        return failure_set(failure, FAIL_INPUT, "%s wants the proxy: it does not go with --direct",
                           option);
    stress->is_direct = true;
    stress->delay_ppm = stress->lose_reply_ppm = stress->lose_request_ppm = 0;
    return FAIL_NONE;
}

/* Its masters are ours, three, and one server to clients; their clocks stand still together while
 * keys move. */
static enum fail check_cluster(struct options *options, struct failure *failure)
{
    const struct {
        const char *name;
        bool is_given;
    } others[] = {{"--servers", options->servers},
                  {"--redis", options->choices.redis},
                  {"--real-time", options->choices.real_time},
                  {"--server-drift", options->stress.server_drift_ppm}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].is_given)
            return failure_set(failure, FAIL_INPUT, "%s does not go with --cluster",
                               others[i].name);
    options->stress.is_cluster = true;
    options->servers = MASTERS;
    return FAIL_NONE;
}

/* A time, or 0, for which there is no unit: no end of its own. */
static enum fail read_duration(struct options *options, struct failure *failure)
{
    int64_t *duration_us = &options->stress.duration_us;
    if (!strcmp(options->duration, "0")) {
        *duration_us = 0;
        return FAIL_NONE;
    }
    if (units_read_duration(options->duration, duration_us, failure))
        return failure_wrap(failure, "--duration");
    if (*duration_us < 1000 || *duration_us > DAY_US)
        return failure_set(failure, FAIL_INPUT,
                           "--duration wants 1ms to 24h, or 0 for no end, not '%s'",
                           options->duration);
    return FAIL_NONE;
}

static enum fail parse(int argc, char **argv, struct options *options, struct failure *failure)
{
    struct stress_options *stress = &options->stress;
    const struct option_row rows[] = {
        OPTION_TEXT("--scheme", &options->scheme),
        OPTION_TEXT("--worker", &options->choices.worker),
        OPTION_NUMBER("--clients", &options->clients, 1, CLIENTS_MAX),
        OPTION_NUMBER("--locks", &options->locks, 1, LOCKS_MAX),
        OPTION_NUMBER("--servers", &options->servers, 1, SERVERS_MAX),
        OPTION_TEXT("--duration", &options->duration),
        OPTION_FLAG("--until-violation", &options->until_violation),
        OPTION_DURATION("--heal", &stress->heal_us, 0, DAY_US),
        OPTION_RATE("--pause-after-grant", &stress->pause_after_grant_ppm),
        OPTION_RATE("--stall-in-release", &stress->stall_in_release_ppm),
        OPTION_RATE("--delay-past-lease", &stress->delay_past_lease_ppm),
        OPTION_DURATION("--lease", &stress->lease_us, 1000, HOUR_US),
        OPTION_RATE("--pause", &stress->pause_ppm),
        OPTION_DURATION("--pause-time", &stress->pause_us, 1, HOUR_US),
        OPTION_RATE("--delay", &stress->delay_ppm),
        OPTION_DURATION("--delay-time", &stress->delay_us, 1, HOUR_US),
        OPTION_RATE("--lose-reply", &stress->lose_reply_ppm),
        OPTION_RATE("--lose-request", &stress->lose_request_ppm),
        OPTION_RATE("--crash", &stress->crash_ppm),
#define SERVER_STRIKE(id, field, option, by, choice, help, rates, never)                           \
    OPTION_RATE(option, &stress->field##_ppm),
#define SERVER_OUTAGE(id, field, option, by, choice, help, rates, never)                           \
    OPTION_RATE(option, &stress->field##_ppm),                                                     \
        OPTION_DURATION(option "-time", &stress->field##_us, 1, HOUR_US),
#include "live/server_strikes.def"
#undef SERVER_STRIKE
#undef SERVER_OUTAGE
        OPTION_RATE("--drift", &stress->drift_ppm),
        OPTION_RATE("--server-drift", &stress->server_drift_ppm),
        OPTION_FLAG("--no-faults", &options->no_faults),
        OPTION_FLAG("--direct", &options->is_direct),
        OPTION_FLAG("--unix-sockets", &options->is_near),
        OPTION_NUMBER("--proxy-processes", &options->proxy_processes, 1, CARRIERS_MAX),
        OPTION_FLAG("--cluster", &options->is_cluster),
        OPTION_FLAG("--real-time", &options->choices.real_time),
        OPTION_DURATION("--timeout", &stress->timeout_us, 1000, HOUR_US),
        OPTION_LENGTHS("--think", &options->think, HOUR_US),
        OPTION_LENGTHS("--hold", &stress->hold, HOUR_US),
        OPTION_NUMBER("--seed", &options->seed, 0, INT64_MAX),
        OPTION_TEXT("--shard", &options->shard),
        OPTION_FLAG("--history", &options->keep_history),
        OPTION_NUMBER("--history-rotate", &options->piece_mb, 1, PIECE_MB_MAX),
        OPTION_TEXT("--fail-on", &options->choices.fail_on),
        OPTION_TEXT("--redis", &options->choices.redis),
        OPTION_TEXT("--redis-server", &options->choices.redis_server),
        OUTPUT_ROWS(options->output),
    };
    int operands;
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, failure))
        return failure->code;
    if (operands)
        return failure_set(failure, FAIL_INPUT, "stress takes no operand: '%s'", argv[1]);
    stress->until_violation = options->until_violation;
    stress->is_near = options->is_near;
    stress->proxy_processes = (int)options->proxy_processes;
    if (options->duration && read_duration(options, failure))
        return FAIL_INPUT;
    if (options->choices.worker && check_worker(options, failure))
        return FAIL_INPUT;
    if (options->is_direct && check_direct(options, failure))
        return FAIL_INPUT;
    if (options->is_cluster && check_cluster(options, failure))
        return FAIL_INPUT;
    if (options->is_near && stress->refuse_ppm) /* only a port can refuse */
        return failure_set(failure, FAIL_INPUT, "--refuse does not go with --unix-sockets");
    if (options->piece_mb && !options->keep_history)
        return failure_set(failure, FAIL_INPUT, "--history-rotate goes with --history");
    return output_check(&options->output, NULL,
                        &(struct inputs){.words = {options->scheme, options->choices.worker}},
                        failure);
}

/* What was said stands, whether faults are left out otherwise or not. */
static void fill_rates(struct stress_options *stress, bool has_no_faults)
{
    const struct {
        uint32_t *rate;
        uint32_t usual;
    } rates[] = {{&stress->pause_ppm, 10000},
                 {&stress->delay_ppm, 1000},
                 {&stress->lose_reply_ppm, 500},
                 {&stress->lose_request_ppm, 500},
                 {&stress->crash_ppm, 500}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (*rates[i].rate == rate_not_said)
            *rates[i].rate = has_no_faults ? 0 : rates[i].usual;
}

/* The options of one scheme: defaults that depend on its lease. */
static struct stress_options stress_for(const struct options *options, const struct scheme *scheme)
{
    struct stress_options stress = options->stress;
    int64_t lease_us = scheme_lease_us(scheme, stress.lease_us);
    int64_t *const lengths[] = {
#define SERVER_STRIKE(...)
#define SERVER_OUTAGE(id, field, ...) &stress.field##_us,
#include "live/server_strikes.def"
#undef SERVER_STRIKE
#undef SERVER_OUTAGE
    };
    const int64_t usual = options->choices.worker ? WORKERS : CLIENTS;
    const int64_t clients = options->clients ? options->clients : usual;
    stress.scheme = scheme;
    stress.clients = (int)clients;
    stress.locks = (int)options->locks;
    stress.servers = options->servers ? (int)options->servers : scheme->needs_quorum ? 5 : 1;
    stress.seed = (uint64_t)options->seed;
    if (!stress.pause_us)
        stress.pause_us = lease_us * 3 / 2;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (!*lengths[i])
            *lengths[i] = lease_us;
    if (!stress.delay_us)
        stress.delay_us = lease_us / 2;
    /* Clients that poll faster than a server answers would only measure the queue in front of it.
     */
    const bool has_think = options->think.from_us >= 0;
    stress.think = has_think ? options->think
                             : distribution_about(clients * (options->choices.worker ? 1000 : 200));
    if (!stress.locks)
        stress.locks = 1 + ((int)clients - 1) / 25;
    if (!stress.timeout_us)
        stress.timeout_us = lease_us / 4;
    fill_rates(&stress, options->no_faults);
    stress.stop = &cmd_stop;
    return stress;
}

/* How a signal cut the last run short; owned, NULL: none did. */
static char *cut_by_signal(const struct results *results, const struct stress_options *stress)
{
    const struct result_row *row = &results->rows[results->rows_count - 1];
    char ran[UNITS_TEXT_MAX], asked[UNITS_TEXT_MAX];
    const int64_t wanted_us = stress->duration_us + stress->heal_us;
    if (!stress_is_cut_short(stress, row->elapsed_us))
        return NULL;
    return memory_format("%s, %s after %s of %s", cmd_stop_name(), row->scheme,
                         units_print_duration(row->elapsed_us / 1000 * 1000, ran),
                         stress->duration_us ? units_print_duration(wanted_us, asked) : "no end");
}

/* Of a run that was cut short, as *cut says (owned; NULL: it was not), the figures count, and that
 * it was: it is not one of those done. */
static enum fail stress_one(const struct options *options, struct runner *runner,
                            const struct scheme *scheme, struct results *results, char **cut,
                            struct failure *failure)
{
    struct stress_options stress = stress_for(options, scheme);
    const int rows = results->rows_count;
    if (heartbeat_is_in_words())
        stress_show_rates(&stress);
    stress.progress = stress_show_progress;
    stress.progress_context = (void *)(uintptr_t)scheme->name;
    heartbeat_begin();
    const enum fail fail = runner_stress(runner, &stress, results, failure);
    heartbeat_end();
    if (fail == FAIL_UNKNOWN && results->rows_count > rows) {
        *cut = memory_format("%s: %s", scheme->name, failure->text);
        return FAIL_NONE;
    }
    *cut = fail ? NULL : cut_by_signal(results, &stress);
    return fail;
}

/* "set-nx-ex-del 1s, set-nx-px-cad 500ms", where they are not all the same. */
static void note_leases(const struct scheme_list *asked, int64_t lease_us, struct results *results)
{
    char *all = NULL;
    bool is_one = true;
    for (int i = 0; i < asked->count; i++) {
        char text[UNITS_TEXT_MAX];
        const int64_t its_us = scheme_lease_us(asked->rows[i], lease_us);
        is_one &= its_us == scheme_lease_us(asked->rows[0], lease_us);
        char *longer = memory_format("%s%s%s %s", all ? all : "", all ? ", " : "",
                                     asked->rows[i]->name, units_print_duration(its_us, text));
        free(all);
        all = longer;
    }
    if (!is_one)
        results_note(results,
                     memory_format("Leases differ, as each is rounded up to its scheme's unit: %s. "
                                   "Stalls, delays and time-outs are as much longer. A --lease of "
                                   "whole seconds is the same for all.",
                                   all));
    free(all);
}

/* One that is cut short keeps no other from its run. */
static enum fail stress_all(const struct options *options, struct runner *runner,
                            const struct scheme_list *schemes_asked, struct results *results,
                            struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    char *first_cut = NULL;
    int done = 0;
    results->whole = schemes_asked->count;
    note_leases(schemes_asked, options->stress.lease_us, results);
    for (int i = 0; !fail && !cmd_stop && i < schemes_asked->count; i++) {
        char *cut;
        if (!shard_has(&results->shard, i))
            continue;
        fail = stress_one(options, runner, schemes_asked->rows[i], results, &cut, failure);
        done += !fail && !cut; /* one that failed may have its row, with what it found */
        if (first_cut)
            free(cut);
        else
            first_cut = cut;
    }
    int64_t wanted = shard_size(&results->shard, results->whole);
    if (done < wanted)
        results_interrupt(results,
                          fail        ? failure->text
                          : first_cut ? first_cut
                                      : cmd_stop_name(),
                          "run", done, wanted);
    free(first_cut);
    return fail;
}

/* The worker is a scheme like others, from here on. */
static enum fail add_worker(struct options *options, struct runner *runner,
                            struct scheme_list *asked, struct failure *failure)
{
    const struct run_choices *choices = &options->choices;
    if (!choices->worker)
        return FAIL_NONE;
    if (worker_scheme_init(&options->program, choices->worker, choices->redis_server, failure))
        return FAIL_INPUT;
    runner->worker = &options->program;
    asked->rows = memory_resize(asked->rows, 1, sizeof *asked->rows);
    asked->rows[asked->count++] = &options->program.scheme;
    return FAIL_NONE;
}

static enum fail stress_and_report(struct options *options, struct scheme_list *asked,
                                   struct failure *failure)
{
    struct results results = {.seed = (uint64_t)options->seed, .world = "redis"};
    struct runner runner = {.seed = (uint64_t)options->seed};
    struct live_options live;
    const bool has_library = !options->choices.real_time && !options->choices.worker;
    options->choices.real_time = 1; /* in any case */
    if (run_choices_read(&options->choices, &runner, &live, failure) ||
        shard_read(options->shard, &results.shard, failure) ||
        add_worker(options, &runner, asked, failure))
        return (enum fail)cmd_failed(failure);
    /* Our own servers tell in which order they read; somebody else's cannot be made to drift, and
     * says so. */
    if ((!live.url && has_library) || options->stress.server_drift_ppm)
        live.steering = BENT_TIME;
    enum fail fail = live_new(&runner.live, &live, failure);
    if (!fail && stress_can(runner.live, &options->stress, failure))
        fail = failure->code = FAIL_INPUT; /* it was asked for by name */
    if (!fail)
        fail = output_open(&options->output, &results, failure);
    runner.folder = options->keep_history ? options->output.folder : NULL;
    runner.piece_bytes = options->piece_mb * 1000000;
    if (!fail)
        fail = stress_all(options, &runner, asked, &results, failure);
    live_free(runner.live);
    fail = output_end(&options->output, &results, fail, failure);
    results_free(&results);
    return fail;
}

/* The second of two would never run. */
static enum fail check_endless(const struct options *options, const struct scheme_list *asked,
                               struct failure *failure)
{
    if (options->stress.duration_us || asked->count <= 1)
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT, "--duration 0 wants one --scheme, not %d",
                       asked->count);
}

int cmd_stress(int argc, char **argv)
{
    struct options options = {.stress = {.duration_us = 10000000,
                                         .lease_us = 500000,
                                         .pause_ppm = rate_not_said,
                                         .delay_ppm = rate_not_said,
                                         .lose_reply_ppm = rate_not_said,
                                         .lose_request_ppm = rate_not_said,
                                         .crash_ppm = rate_not_said},
                              .think = {.from_us = -1},
                              .seed = 1};
    struct scheme_list asked = {0};
    struct failure failure = {0};
    if (parse(argc, argv, &options, &failure))
        return cmd_failed(&failure);
    if (!options.choices.worker && !options.scheme)
        options.scheme = "set-nx-ex-del,set-nx-px-cad";
    if (scheme_list_read(options.scheme, &asked, &failure) ||
        check_endless(&options, &asked, &failure)) {
        free(asked.rows);
        return cmd_failed(&failure);
    }
    cmd_catch_signals();
    enum fail status = stress_and_report(&options, &asked, &failure);
    free(asked.rows);
    return (int)status;
}
