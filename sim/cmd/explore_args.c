/* explore_args.c - see explore_args.h. */
#include "cmd/explore_args.h"

#include "base/suggest.h"
#include "base/units.h"
#include "cmd/cmd.h"

#include <string.h>
#include <unistd.h>

/* clang-format off */
const char cmd_explore_help[] =
    "\n"
    "  --scheme A,B           search these schemes (default: every scheme)\n"
    "  --worker COMMAND       search this lock program, unmodified: 'python3 my_lock.py' (see\n"
    "                         sim/docs/WORKERS.md); with --search exhaustive it is asked once for\n"
    "                         whatever it may meet, with random, pct or bounded it is run\n"
    "  --wait TIME, --depends F, --no-cache, --no-extend   as for `picklock test`\n"
    "  --fault F,G            search under these faults: none, one fault, or several at once as\n"
    "                         in stall+crash (default: none, then each fault alone;\n"
    "                         `picklock list faults` explains them)\n"
    "  --frontier             find, for each property, the smallest sets of up to two faults that\n"
    "                         violate it, among all faults or those that --fault names; with two\n"
    "                         faults a search ends at 500000 states, or at --states\n"
    "  --section WHAT         what a critical section does: none; write (it writes the guarded\n"
    "                         resource: judges fence-order); counter (it adds one to the guarded\n"
    "                         counter: judges no-lost-update). Default: none, then searches of\n"
    "                         their own for these two (fence-order only where there are fences;\n"
    "                         of a worker that is asked: for that alone)\n"
    "  --search HOW           exhaustive (default), or, if that is too large, random (runs of\n"
    "                         several strategies in turn) or pct (only runs with stalls). The\n"
    "                         latter two never say \"safe\"; what they find is minimized. Of a\n"
    "                         worker also bounded (all runs with at most 3 faults and\n"
    "                         preemptions, in order)\n"
    "  --runs N               most random runs (default 10000; a search also ends when\n"
    "                         1000 runs in a row reached no new state; of a worker 1000)\n"
    "  --clients N            clients, 1 to 6 (default 3; 2 for schemes that need a quorum)\n"
    "  --rounds N             attempts of each client, 1 to 7 (default 2); one that is refused\n"
    "                         with no trace is not counted\n"
    "  --servers N            servers, 1 to 7 (default 1; for schemes that need a quorum\n"
    "                         3, then 5)\n"
    "  --lease-ticks N        length of a lease, 1 to 8 ticks (default 2; 3 where a timer counts\n"
    "                         thirds of it)\n"
    "  --budget TIME          time for the whole matrix; what is not decided by then is unknown\n"
    "  --states N             maximum number of states of a search\n"
    "  --memory N             maximum memory of a search in MB (default 2000). A search that\n"
    "                         reaches a limit tries fewer clients and rounds, then random runs,\n"
    "                         and says so\n"
    "  --learn                of a worker of several servers, what no way to the end of an\n"
    "                         operation tells apart is taken for the same: far fewer states,\n"
    "                         and a verdict up to the model that was learned so\n"
    "  --model FILE           write that model as a graph, for dot(1)\n"
    "  --no-reductions        visit every state, also those that differ only in clients' names\n"
    "  --full-states          keep whole states, not fingerprints: none is omitted\n"
    "  --seed N               seed of random runs and fingerprints (default 0)\n"
    "  --jobs N               searches at a time (default: one a core); the result is the same\n"
    "  --witness              print each witness: its choices, what they lead to, and a\n"
    "                         space-time diagram\n"
    "  --confirm              replay each witness on real Redis, too\n"
    "  --redis-server PATH    program of the servers for --confirm\n"
    FAIL_ON_HELP("never")
    "  --shard K/N            search only part K of N of the cells (with --frontier: of the\n"
    "                         schemes); `picklock report` merges the folders of all parts\n"
    "  --out DIR              make a run folder in DIR: results in every format, and each witness\n"
    "                         as a schedule (for `picklock replay`) and as a history\n"
    "  --baseline FILE, --update-baseline, --progress HOW   as for `picklock run`; with a\n"
    "                         baseline --fail-on is bug, where nothing else is said\n"
    REPORT_HELP;
/* clang-format on */

enum fail explore_args_check_faults(const char *text, struct failure *failure)
{
    const char *item = text;
    while (item) {
        size_t length = strcspn(item, ",+");
        if (!length)
            return failure_set(failure, FAIL_INPUT,
                               "--fault '%s' has an empty item; without faults is --fault none",
                               text);
        item = item[length] ? item + length + 1 : NULL;
    }
    return FAIL_NONE;
}

static enum fail read_section(const char *text, enum section *section, struct failure *failure)
{
    if (!text || section_read(text, section))
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT, "--section wants none, write or counter, not '%s'",
                       text);
}

static enum fail read_search(struct explore_args *args, struct failure *failure)
{
    const char *names[SEARCH_COUNT];
    for (int i = 0; i < SEARCH_COUNT; i++)
        names[i] = explore_search_name((enum explore_search)i);
    if (args->search_name && !explore_search_read(args->search_name, &args->search)) {
        char suggestion[SUGGEST_BYTES];
        const char *nearest = suggest_nearest(args->search_name, names, SEARCH_COUNT);
        return failure_set(failure, FAIL_INPUT,
                           "--search wants exhaustive, random, pct or bounded, not '%s'%s",
                           args->search_name, suggest_words(nearest, "", suggestion));
    }
    bool is_random = args->search != SEARCH_EXHAUSTIVE;
    if (args->runs > 0 && !is_random)
        return failure_set(failure, FAIL_INPUT, "--runs goes with --search random or pct");
    if (args->minimal && is_random)
        return failure_set(failure, FAIL_INPUT,
                           "--frontier needs --search exhaustive: a random search never proves "
                           "that a property holds");
    return FAIL_NONE;
}

/* What is about the explorer's own states is nothing to who runs a program. */
static enum fail check_worker(const struct explore_args *args, struct failure *failure)
{
    const bool is_run = args->search != SEARCH_EXHAUSTIVE;
    const struct {
        const char *name;
        bool is_given;
    } others[] = {{"--scheme", args->scheme},
                  {"--lease-ticks", is_run && args->lease_ticks},
                  {"--states", is_run && args->states},
                  {"--no-reductions", is_run && args->no_reductions},
                  {"--full-states", is_run && args->full_states},
                  {"--runs", !is_run && args->runs},
                  {"--confirm", args->confirm},
                  {"--depends", is_run && args->depends},
                  {"--no-cache", is_run && args->no_cache},
                  {"--learn", is_run && args->learn}};
    if (!args->worker && (args->depends || args->no_cache || args->no_extend))
        return failure_set(failure, FAIL_INPUT, "%s goes with --worker",
                           args->depends    ? "--depends"
                           : args->no_cache ? "--no-cache"
                                            : "--no-extend");
    if (args->model && !args->learn)
        return failure_set(failure, FAIL_INPUT, "--model goes with --learn");
    if (!args->worker && args->learn)
        return failure_set(failure, FAIL_INPUT, "--learn goes with --worker");
    if (!args->worker)
        return args->search != SEARCH_BOUNDED
                   ? FAIL_NONE
                   : failure_set(failure, FAIL_INPUT, "--search bounded goes with --worker");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].is_given)
            return failure_set(failure, FAIL_INPUT, "%s does not go with --worker", others[i].name);
    return FAIL_NONE;
}

enum fail explore_args_parse(int argc, char **argv, struct explore_args *args,
                             struct failure *failure)
{
    const char *shard = NULL, *fail_on = NULL, *section = NULL;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const struct option_row rows[] = {
        OPTION_TEXT("--scheme", &args->scheme),
        OPTION_TEXT("--worker", &args->worker),
        OPTION_TEXT("--depends", &args->depends),
        OPTION_FLAG("--no-cache", &args->no_cache),
        OPTION_FLAG("--no-extend", &args->no_extend),
        OPTION_DURATION("--wait", &args->wait_us, 0, WAIT_MAX_US),
        OPTION_TEXT("--fault", &args->fault),
        OPTION_FLAG("--frontier", &args->minimal),
        OPTION_TEXT("--section", &section),
        OPTION_TEXT("--search", &args->search_name),
        OPTION_NUMBER("--runs", &args->runs, 1, INT32_MAX),
        OPTION_NUMBER("--clients", &args->clients, 1, EXPLORE_CLIENTS_MAX),
        OPTION_NUMBER("--rounds", &args->rounds, 1, EXPLORE_ROUNDS_MAX),
        OPTION_NUMBER("--servers", &args->servers, 1, SERVERS_MAX),
        OPTION_NUMBER("--lease-ticks", &args->lease_ticks, 1, EXPLORE_LEASE_TICKS_MAX),
        OPTION_DURATION("--budget", &args->budget_us, 1000, DAY_US),
        OPTION_NUMBER("--states", &args->states, 1, INT32_MAX),
        OPTION_NUMBER("--memory", &args->memory_mb, 1, 1 << 20),
        OPTION_NUMBER("--seed", &args->seed, 0, 0),
        OPTION_NUMBER("--jobs", &args->jobs, 1, 256),
        OPTION_FLAG("--no-reductions", &args->no_reductions),
        OPTION_FLAG("--learn", &args->learn),
        OPTION_TEXT("--model", &args->model),
        OPTION_FLAG("--full-states", &args->full_states),
        OPTION_FLAG("--witness", &args->witness),
        OPTION_FLAG("--confirm", &args->confirm),
        OPTION_TEXT("--redis-server", &args->redis_server),
        OPTION_TEXT("--shard", &shard),
        OPTION_TEXT("--fail-on", &fail_on),
        OUTPUT_ROWS(args->output),
    };
    *args = (struct explore_args){.memory_mb = 2000, .jobs = cores > 0 ? cores : 1};
    int operands;
    enum fail fail =
        options_parse(argc, argv, rows, sizeof rows / sizeof *rows, &operands, failure);
    args->output.is_folder_optional = true;
    if (!fail && operands > 0)
        return failure_set(failure, FAIL_INPUT, "explore takes no operand: %s", argv[1]);
    if (!fail)
        fail = fail_on_read(fail_on, &args->fail_on, failure);
    if (!fail)
        fail = read_section(section, &args->section, failure);
    if (!fail)
        fail = read_search(args, failure);
    if (!fail)
        fail = check_worker(args, failure);
    if (!fail)
        fail = explore_args_check_faults(args->fault, failure);
    if (!fail)
        fail = output_check(
            &args->output, &(struct result_place){.option = "--model", .path = args->model},
            &(struct inputs){.words = {args->scheme, args->worker, args->depends}}, failure);
    args->has_section = section != NULL;
    return fail ? fail : shard_read(shard, &args->shard, failure);
}
