/* explore_args.c - see explore_args.h. */
#include "cmd/explore_args.h"

#include "base/suggest.h"

#include <string.h>
#include <unistd.h>

const char explore_help[] =
    "\n"
    "  --scheme A,B           default: every scheme\n"
    "  --fault F,G            columns: none, a fault, or several at once as stall+crash\n"
    "                         (default: none, and every fault by itself; `picklock list faults`\n"
    "                         says what they are)\n"
    "  --frontier             for each property the smallest sets of up to two faults that\n"
    "                         break it: of all faults, or of those that --fault names; for two\n"
    "                         at once at most 500000 states a cell, or what --states says\n"
    "  --section WHAT         what a critical section does, in every search: none; write the\n"
    "                         guarded resource, which judges fence-order; or counter: read it,\n"
    "                         write it back plus one, which judges no-lost-update (default: none,\n"
    "                         and further searches for those two; fence-order for schemes with\n"
    "                         fences only)\n"
    "  --search HOW           exhaustive (default), or, for what is too large: random (runs of "
    "several\n"
    "                         policies in turn) or pct (only runs with stalls); these never say\n"
    "                         \"holds\", and what they find is made as short as can be\n"
    "  --runs N               of a random search: at most so many (default 10000; and it ends\n"
    "                         when 1000 in a row brought no new state)\n"
    "  --clients N            1 to 6 (default 3; 2 for schemes that need a quorum)\n"
    "  --rounds N             attempts of each client, 1 to 7 (default 2); a clean refusal is "
    "free\n"
    "  --servers N            1 to 7 (default 1; for schemes that need a quorum 3, and once\n"
    "                         more 5)\n"
    "  --lease-ticks N        1 to 8 (default 2, or 3 where a timer counts thirds of it)\n"
    "  --budget TIME          of the whole matrix; what is not done by then is unknown\n"
    "  --states N             at most so many states a search\n"
    "  --memory N             at most so many MB a search (default 2000); a search that reaches "
    "one\n"
    "                         of these limits tries fewer clients and rounds, and random runs, "
    "and\n"
    "                         says so\n"
    "  --no-reductions        every state, not one for all that differ in who is who\n"
    "  --full-states          keep whole states: nothing is lost to equal fingerprints\n"
    "  --seed N               of a random search, and of the fingerprints (default 0)\n"
    "  --jobs N               searches at a time (default: one a core); the result is the same\n"
    "  --witness              print each witness: its choices, what they come to, and a "
    "space-time\n"
    "                         diagram\n"
    "  --confirm              replay each witness on real Redis, too\n"
    "  --redis-server PATH    for --confirm\n" FAIL_ON_HELP(
        "never, of a scheme from a file scheme") "  --shard K/N            only the cells that "
                                                 "fall to shard K of N (with --frontier: the\n"
                                                 "                         schemes); `picklock "
                                                 "report` puts the folders of all shards together\n"
                                                 "  --out DIR              make a run folder "
                                                 "there: the results in every format, each witness "
                                                 "as\n"
                                                 "                         a schedule, for "
                                                 "`picklock replay`, and as a history\n"
                                                 "  --json FILE            one row a scheme, fault "
                                                 "and property; - is stdout, and nothing else\n"
                                                 "                         goes there\n"
                                                 "  --markdown FILE, --junit FILE, --html FILE   "
                                                 "further copies\n";

/* An empty variable of a script must not ask for nothing. */
static enum fail check_faults(const char *text, struct failure *failure)
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
        const char *near = suggest_nearest(args->search_name, names, SEARCH_COUNT);
        return failure_set(failure, FAIL_INPUT,
                           "--search wants exhaustive, random or pct, not \"%s\"%s%s%s",
                           args->search_name, near ? ": did you mean \"" : "", near ? near : "",
                           near ? "\"?" : "");
    }
    bool is_random = args->search != SEARCH_EXHAUSTIVE;
    if (args->runs > 0 && !is_random)
        return failure_set(failure, FAIL_INPUT, "--runs goes with --search random or pct");
    if (args->minimal && is_random)
        return failure_set(failure, FAIL_INPUT,
                           "--frontier says what holds, and a random search cannot: it wants "
                           "--search exhaustive");
    return FAIL_NONE;
}

enum fail explore_args_parse(int argc, char **argv, struct explore_args *args,
                             struct failure *failure)
{
    const int64_t day_us = 24 * INT64_C(3600000000);
    const char *shard = NULL, *fail_on = NULL, *section = NULL;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const struct option_row rows[] = {
        {"--scheme", OPTION_TEXT, &args->scheme, 0, 0},
        {"--fault", OPTION_TEXT, &args->fault, 0, 0},
        {"--frontier", OPTION_FLAG, &args->minimal, 0, 0},
        {"--section", OPTION_TEXT, &section, 0, 0},
        {"--search", OPTION_TEXT, &args->search_name, 0, 0},
        {"--runs", OPTION_NUMBER, &args->runs, 1, INT32_MAX},
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
        {"--shard", OPTION_TEXT, &shard, 0, 0},
        {"--fail-on", OPTION_TEXT, &fail_on, 0, 0},
        OUTPUT_ROWS(args->output),
    };
    *args = (struct explore_args){.memory_mb = 2000, .jobs = cores > 0 ? cores : 1};
    enum fail fail = options_parse(argc, argv, rows, sizeof rows / sizeof *rows, &args->operands,
                                   &args->wants_help, failure);
    args->output.is_folder_optional = true;
    if (!fail && !args->wants_help && args->operands > 0)
        return failure_set(failure, FAIL_INPUT, "explore takes no operand: %s", argv[1]);
    if (!fail)
        fail = fail_on_read(fail_on, &args->fail_on, failure);
    if (!fail)
        fail = read_section(section, &args->section, failure);
    if (!fail)
        fail = read_search(args, failure);
    if (!fail)
        fail = check_faults(args->fault, failure);
    if (!fail)
        fail = output_check(&args->output, failure);
    args->has_section = section != NULL;
    return fail ? fail : shard_read(shard, &args->shard, failure);
}
