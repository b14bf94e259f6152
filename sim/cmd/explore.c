/* explore.c - `picklock explore`: every interleaving up to a bound, the matrix scheme x faults, the
 * shortest witnesses. */
#include "cmd/cmd.h"
#include "cmd/explore_crew.h"
#include "cmd/explore_frontier.h"
#include "cmd/explore_print.h"
#include "cmd/output.h"

#include "base/memory.h"
#include "live/live.h"
#include "report/report.h"
#include "scenario/schedule.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "\n"
    "  --scheme A,B           default: every scheme\n"
    "  --fault F,G            columns: none, a fault, or several at once as stall+crash\n"
    "                         (default: none, and every fault by itself)\n"
    "  --frontier             for each property the smallest sets of up to two faults that\n"
    "                         break it: of all faults, or of those that --fault names; for two\n"
    "                         at once at most 500000 states a cell, or what --states says\n"
    "  --clients N            1 to 6 (default 3; 2 for schemes that need a quorum)\n"
    "  --rounds N             attempts of each client, 1 to 7 (default 2); a clean refusal is "
    "free\n"
    "  --servers N            1 to 7 (default 1; 3 for schemes that need a quorum)\n"
    "  --lease-ticks N        1 to 8 (default 2, or 3 where a timer counts thirds of it)\n"
    "  --budget TIME          of the whole matrix; what is not done by then is unknown\n"
    "  --states N             at most so many states a cell\n"
    "  --memory N             at most so many MB a cell (default 2000)\n"
    "  --no-reductions        every state, not one for all that differ in who is who\n"
    "  --full-states          keep whole states: nothing is lost to equal fingerprints\n"
    "  --seed N               of the fingerprints\n"
    "  --jobs N               cells at a time (default: one a core); the result is the same\n"
    "  --witness              print each witness: its choices, and what they come to\n"
    "  --confirm              replay each witness on real Redis, too\n"
    "  --redis-server PATH    for --confirm\n"
    "  --out DIR              write each witness as a schedule, for `picklock replay`\n"
    "  --json FILE            one row a scheme, fault and property; - is stdout\n";

struct explore_args {
    const char *scheme, *fault, *redis_server, *out, *json;
    int64_t clients, rounds, servers, lease_ticks, budget_us, states, memory_mb, seed, jobs;
    int frontier, no_reductions, full_states, witness, confirm, wants_help, operands;
};

static enum fail parse(int argc, char **argv, struct explore_args *args, struct failure *failure)
{
    const int64_t day_us = 24 * INT64_C(3600000000);
    const struct option_row rows[] = {
        {"--scheme", OPTION_TEXT, &args->scheme, 0, 0},
        {"--fault", OPTION_TEXT, &args->fault, 0, 0},
        {"--frontier", OPTION_FLAG, &args->frontier, 0, 0},
        {"--clients", OPTION_NUMBER, &args->clients, 1, EXPLORE_CLIENTS_MAX},
        {"--rounds", OPTION_NUMBER, &args->rounds, 1, EXPLORE_ROUNDS_MAX},
        {"--servers", OPTION_NUMBER, &args->servers, 1, SERVERS_MAX},
        {"--lease-ticks", OPTION_NUMBER, &args->lease_ticks, 1, 8},
        {"--budget", OPTION_DURATION, &args->budget_us, 1000, day_us},
        {"--states", OPTION_NUMBER, &args->states, 1, INT32_MAX},
        {"--memory", OPTION_NUMBER, &args->memory_mb, 1, 1 << 20},
        {"--seed", OPTION_NUMBER, &args->seed, 0, 0},
        {"--jobs", OPTION_NUMBER, &args->jobs, 1, 256},
        {"--no-reductions", OPTION_FLAG, &args->no_reductions, 0, 0},
        {"--full-states", OPTION_FLAG, &args->full_states, 0, 0},
        {"--witness", OPTION_FLAG, &args->witness, 0, 0},
        {"--confirm", OPTION_FLAG, &args->confirm, 0, 0},
        {"--redis-server", OPTION_TEXT, &args->redis_server, 0, 0},
        {"--out", OPTION_TEXT, &args->out, 0, 0},
        {"--json", OPTION_TEXT, &args->json, 0, 0},
    };
    enum fail fail = options_parse(argc, argv, rows, sizeof rows / sizeof *rows, &args->operands,
                                   &args->wants_help, failure);
    if (!fail && !args->wants_help && args->operands > 0)
        return failure_set(failure, FAIL_INPUT, "explore takes no operand: %s", argv[1]);
    return fail;
}

static int64_t now_us(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_MONOTONIC, &now);
    assert(failed == 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* --- cells --- */

static void init_cell(struct cell *cell, const struct explore_args *args,
                      const struct scheme *scheme, int64_t deadline_us)
{
    cell_init(cell, scheme);
    struct explore_options *options = &cell->options;
    if (args->clients)
        options->clients = (int)args->clients;
    if (args->rounds)
        options->rounds = (int)args->rounds;
    if (args->servers)
        options->servers = (int)args->servers;
    options->lease_ticks = (int)args->lease_ticks;
    options->states_max = (uint64_t)args->states;
    options->bytes_max = (uint64_t)args->memory_mb * 1000000;
    options->hash_seed = (uint64_t)args->seed;
    options->has_full_states = args->full_states;
    options->reductions = args->no_reductions ? 0 : REDUCE_ALL;
    options->now_us = now_us;
    options->deadline_us = deadline_us;
}

static enum fail add_cell(struct cells *cells, const struct explore_args *args,
                          const struct scheme *scheme, const char *faults, int64_t deadline_us,
                          struct failure *failure)
{
    cells->rows = memory_resize(cells->rows, (size_t)cells->count + 1, sizeof *cells->rows);
    struct cell *cell = &cells->rows[cells->count++];
    init_cell(cell, args, scheme, deadline_us);
    return cell_add_faults(cell, faults, failure);
}

/* The columns that were asked for, or none and every fault alone. */
static enum fail add_row(struct cells *cells, const struct explore_args *args,
                         const struct scheme *scheme, int64_t deadline_us, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    if (!args->fault) {
        fail = add_cell(cells, args, scheme, "none", deadline_us, failure);
        for (int i = 0; i < FAULT_COUNT && !fail; i++)
            fail = add_cell(cells, args, scheme, fault_name((enum fault)i), deadline_us, failure);
        return fail;
    }
    char *names = memory_text(args->fault), *rest = names;
    for (char *name = strtok_r(names, ",", &rest); name && !fail; name = strtok_r(NULL, ",", &rest))
        fail = add_cell(cells, args, scheme, name, deadline_us, failure);
    free(names);
    return fail;
}

/* The matrix: cells side by side, all at once. */
static enum fail fill_matrix(struct cells *cells, const struct explore_args *args,
                             const struct scheme_list *wanted, int64_t deadline_us,
                             struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < wanted->count && !fail; i++)
        fail = add_row(cells, args, wanted->rows[i], deadline_us, failure);
    struct cell **all = memory_new((size_t)cells->count + 1, sizeof *all);
    for (int i = 0; i < cells->count; i++)
        all[i] = &cells->rows[i];
    if (!fail)
        fail = explore_crew_run(all, cells->count, (int)args->jobs, failure);
    free(all);
    return fail;
}

/* --- the frontier --- */

/* Faults to choose from: those that were named, or all. */
static enum fail read_faults(const char *text, unsigned *faults, struct failure *failure)
{
    struct cell cell;
    cell_init(&cell, schemes[0]);
    *faults = text ? 0 : (1u << FAULT_COUNT) - 1;
    if (text && strchr(text, '+'))
        return failure_set(failure, FAIL_INPUT,
                           "--frontier makes the pairs itself: --fault wants "
                           "faults by themselves, as in stall,crash");
    char *names = memory_text(text ? text : ""), *rest = names;
    enum fail fail = FAIL_NONE;
    for (char *name = strtok_r(names, ",", &rest); name && !fail; name = strtok_r(NULL, ",", &rest))
        fail = cell_add_faults(&cell, name, failure);
    free(names);
    for (int i = 0; i < FAULT_COUNT; i++)
        *faults |= (unsigned)(cell.options.budget[i] > 0) << i;
    return fail;
}

/* The cells of the walks become cells like those of the matrix; who borrows them for printing
 * closes nothing. */
static void take_cells(struct cells *cells, const struct frontier *frontier)
{
    cells->rows = memory_resize(cells->rows, (size_t)(cells->count + frontier->count) + 1,
                                sizeof *cells->rows);
    for (int i = 0; i < frontier->count; i++)
        cells->rows[cells->count++] = frontier->rows[i];
}

static enum fail fill_frontiers(struct cells *cells, struct frontier *frontiers,
                                const struct explore_args *args, const struct scheme_list *wanted,
                                int64_t deadline_us, struct failure *failure)
{
    unsigned faults;
    if (read_faults(args->fault, &faults, failure))
        return failure->code;
    for (int i = 0; i < wanted->count; i++) {
        struct cell start;
        init_cell(&start, args, wanted->rows[i], deadline_us);
        frontier_init(&frontiers[i], &start, faults);
    }
    enum fail fail = explore_frontier_run(frontiers, wanted->count, (int)args->jobs, failure);
    for (int i = 0; i < wanted->count; i++)
        take_cells(cells, &frontiers[i]);
    return fail;
}

/* --- witnesses: to files, and on real Redis --- */

static char actor_names[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES] = {"A", "B", "C", "D", "E", "F"};

static enum fail write_schedule(const struct cell *cell, enum property property, const char *out,
                                struct failure *failure)
{
    const struct explore_finding *finding = &cell->outcome.findings[property];
    struct run run = confirm_run(&cell->options, &cell->outcome, actor_names);
    struct schedule *schedule = schedule_new(&run);
    for (int i = 0; i < finding->choices_count; i++)
        schedule_add(schedule, &finding->choices[i]);
    char *path = memory_format("%s/%s-%s-%s.schedule", out, cell->options.scheme->name,
                               cell->faults, property_name(property));
    enum fail fail = schedule_write(schedule, path, failure);
    free(path);
    schedule_free(schedule);
    return fail;
}

static enum fail open_live(void *context, const struct run *run, struct world **world,
                           struct failure *failure)
{
    return world_live_new(world, context, run, failure);
}

/* A witness that real Redis does not follow is told, and counted; a server that is not there ends
 * the program. */
static enum fail confirm_one(struct cells *cells, int at, enum property property, struct live *live,
                             struct finding *findings, int *unconfirmed, struct failure *failure)
{
    const struct cell *cell = &cells->rows[at];
    const struct confirm_world world = {
        .open = open_live, .context = live, .clock_error_us = live_clock_error_us(live)};
    struct run run = confirm_run(&cell->options, &cell->outcome, actor_names);
    enum fail fail = confirm(&run, &cell->outcome.findings[property], &world, findings, failure);
    if (fail && fail != FAIL_UNKNOWN)
        return fail;
    bool is_seen = !fail && findings[property].verdict == VERDICT_VIOLATED;
    cells->on_redis[at][property] = is_seen;
    if (is_seen)
        return FAIL_NONE;
    (*unconfirmed)++;
    fprintf(stderr, "picklock: not confirmed: %s, %s, %s: %s\n", cell->options.scheme->name,
            cell->faults, property_name(property),
            fail ? failure->text : "the checks do not see it on real Redis");
    return FAIL_NONE;
}

static enum fail confirm_all(struct cells *cells, const struct explore_args *args, int *unconfirmed,
                             struct failure *failure)
{
    const struct live_options options = {.redis_server = args->redis_server, .steering = STEERED};
    struct live *live = NULL;
    enum fail fail = live_new(&live, &options, failure);
    struct finding *findings = memory_new(PROPERTY_COUNT, sizeof *findings);
    for (int i = 0; i < cells->count && !fail && !cmd_stop; i++)
        for (int p = 0; p < PROPERTY_COUNT && !fail && !cmd_stop; p++)
            if (cells->rows[i].outcome.findings[p].verdict == VERDICT_VIOLATED)
                fail =
                    confirm_one(cells, i, (enum property)p, live, findings, unconfirmed, failure);
    free(findings);
    live_free(live);
    return fail;
}

static enum fail write_all(const struct cells *cells, const char *out, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < cells->count && !fail; i++)
        for (int p = 0; p < PROPERTY_COUNT && !fail; p++)
            if (cells->rows[i].outcome.findings[p].verdict == VERDICT_VIOLATED)
                fail = write_schedule(&cells->rows[i], (enum property)p, out, failure);
    return fail;
}

/* --- the command --- */

/* A witness that does not replay is a defect of picklock; what was not finished is unknown. */
static enum fail sum_up(const struct cells *cells, int unconfirmed, struct failure *failure)
{
    bool is_unknown = false;
    for (int i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->rows[i];
        is_unknown |= cell->outcome.end != END_COMPLETE && cell->outcome.end != END_UNSUPPORTED;
        for (int p = 0; p < PROPERTY_COUNT; p++)
            unconfirmed += cell->witnesses[p].trouble != NULL;
    }
    if (unconfirmed)
        return failure_set(failure, FAIL_INTERNAL,
                           "%d witnesses did not reproduce: a defect of picklock", unconfirmed);
    return is_unknown ? failure_set(failure, FAIL_UNKNOWN, "not every cell was searched to its end")
                      : FAIL_NONE;
}

static enum fail show(const struct cells *cells, const struct frontier *frontiers, int count,
                      const struct explore_args *args, struct failure *failure)
{
    bool is_json_alone = args->json && strcmp(args->json, "-") == 0;
    if (!is_json_alone && args->frontier)
        explore_frontier_print(stdout, frontiers, count);
    else if (!is_json_alone)
        explore_print_matrix(stdout, cells);
    if (!is_json_alone && args->witness)
        explore_print_witnesses(stdout, cells);
    return args->json ? explore_print_json(args->json, cells, failure) : FAIL_NONE;
}

/* --out and --confirm. */
static enum fail use_witnesses(struct cells *cells, const struct explore_args *args,
                               int *unconfirmed, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    cells->on_redis = memory_new((size_t)cells->count + 1, sizeof *cells->on_redis);
    memset(cells->on_redis, 0xff, (size_t)cells->count * sizeof *cells->on_redis);
    if (args->out)
        fail = report_folder_make(args->out, failure);
    if (!fail && args->out)
        fail = write_all(cells, args->out, failure);
    if (!fail && args->confirm)
        fail = confirm_all(cells, args, unconfirmed, failure);
    return fail;
}

static enum fail explore_and_print(const struct scheme_list *wanted,
                                   const struct explore_args *args, struct failure *failure)
{
    struct cells cells = {0};
    int unconfirmed = 0;
    int64_t deadline_us = args->budget_us ? now_us() + args->budget_us : 0;
    struct frontier *frontiers = memory_new((size_t)wanted->count, sizeof *frontiers);
    enum fail fail = args->frontier
                         ? fill_frontiers(&cells, frontiers, args, wanted, deadline_us, failure)
                         : fill_matrix(&cells, args, wanted, deadline_us, failure);
    if (!fail)
        fail = use_witnesses(&cells, args, &unconfirmed, failure);
    if (!fail)
        fail = show(&cells, frontiers, wanted->count, args, failure);
    if (!fail)
        fail = sum_up(&cells, unconfirmed, failure);
    for (int i = 0; i < cells.count; i++)
        cell_close(&cells.rows[i]);
    for (int i = 0; i < wanted->count; i++)
        free(frontiers[i].rows);
    free(frontiers);
    free(cells.rows);
    free(cells.on_redis);
    return fail;
}

/* Those that were named, or every scheme of the table. */
static enum fail read_schemes(const char *text, struct scheme_list *wanted, struct failure *failure)
{
    enum fail fail = scheme_list_read(text, wanted, failure);
    if (fail || wanted->count > 0)
        return fail;
    wanted->rows = memory_resize(wanted->rows, (size_t)schemes_count, sizeof *wanted->rows);
    for (int i = 0; i < schemes_count; i++)
        wanted->rows[wanted->count++] = schemes[i];
    return FAIL_NONE;
}

int cmd_explore(int argc, char **argv)
{
    struct failure failure = {0};
    struct scheme_list wanted = {0};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct explore_args args = {.memory_mb = 2000, .jobs = cores > 0 ? cores : 1};
    if (parse(argc, argv, &args, &failure))
        return cmd_failed(&failure);
    if (args.wants_help)
        return cmd_help("explore", help);
    cmd_catch_signals();
    enum fail fail = read_schemes(args.scheme, &wanted, &failure);
    if (!fail)
        fail = explore_and_print(&wanted, &args, &failure);
    free(wanted.rows);
    return fail ? cmd_failed(&failure) : FAIL_NONE;
}
