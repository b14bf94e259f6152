/* watch.c - `picklock watch`: a verdict on the locks of a program that runs by itself, without any
 * code. */
#include "cmd/cmd.h"
#include "cmd/heartbeat.h"
#include "cmd/output.h"
#include "cmd/secrets.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/report.h"
#include "report/text.h"
#include "run/judge_history.h"
#include "watch/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* clang-format off */
const char cmd_watch_help[] =
    "\n"
    "  --key GLOB             the keys of your locks, as in KEYS: 'lock:*'\n"
    "  --fence-key GLOB       the keys that hold the newest fence that something has accepted: a\n"
    "                         whole number, or a hash with one in its field 'fence'; a write that\n"
    "                         makes it smaller is stale\n"
    "  --redis URL            the server (default: a private redis-server, which ends with this)\n"
    "  --redis-server PATH    the program of the private one (default: redis-server on the PATH)\n"
    "  --listen ADDR          where clients connect to: host:port, port or unix:PATH (default\n"
    "                         127.0.0.1:0, any free port)\n"
    FAIL_ON_HELP_ALWAYS("bug")
    OUTPUT_HELP
    "\n"
    "With a COMMAND (your tests): it is run, with the proxy's address in REDIS_URL and in\n"
    "PICKLOCK_PROXY_URL, and watched until it ends. The exit status is 1 for a violation, else\n"
    "that of the command where it failed, else 2 where nothing can be concluded, else 0.\n"
    "A signal goes to the command, and then all that it has started ends. What it leaves\n"
    "behind when it ends by itself stays.\n"
    "Without: the address is printed, and what connects there is watched until\n"
    "SIGINT or SIGTERM. SIGUSR1 prints what was seen so far, on stderr.\n"
    "\n"
    "Whose a command is follows from the token in it. A plain DEL has none: over the\n"
    "connection of the grant, or one that has sent the token, it is the owner's release; over\n"
    "another one of its process it is unknown who, and so is the verdict; of a process that was\n"
    "refused the lock it is a bug, also where the lock was handed over to it, unless it has\n"
    "sent the token.\n";
/* clang-format on */

struct watch_cmd {
    const char *key, *fence_key, *redis, *redis_server, *listen, *fail_on_text;
    enum fail_on fail_on;
    struct output output;
    char *const *command; /* NULL: none */
    char *program;        /* what the history calls it */
    struct watch_outcome outcome;
};

static void say_notice(void *context, const char *words)
{
    (void)context;
    cmd_say("%s", words);
}

static enum fail print_address(void *context, const char *address, struct failure *failure)
{
    const struct watch_cmd *cmd = context;
    const char *login = strrchr(address, '@');
    /* A login goes to the command alone. */
    const char *shown = login ? login + 1 : strstr(address, "://") + 3;
    if (cmd->command) {
        cmd_say("watches %s at redis://%s", cmd->key, shown);
        return FAIL_NONE;
    }
    if (output_takes_stdout(&cmd->output)) {
        char *line = memory_format("redis://%s", shown), *clean = text_clean(line);
        heartbeat_message("", clean);
        free(line);
        free(clean);
        return FAIL_NONE;
    }
    text_format(stdout, TEXT_PLAIN, "redis://%s\n", shown);
    if (fflush(stdout) == 0)
        return FAIL_NONE;
    return failure_set(failure, FAIL_INTERNAL, "the address cannot be printed: %s",
                       strerror(errno));
}

/* As people would type it, as much as a history's head has room for. */
static char *program_name(char *const *command)
{
    char *name = memory_text(command ? command[0] : "clients");
    for (int i = 1; command && command[i]; i++) {
        char *longer = memory_format("%s %s", name, command[i]);
        free(name);
        name = longer;
    }
    for (char *at = name; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    if (strlen(name) >= NAME_MAX_BYTES)
        (void)strcpy(name + NAME_MAX_BYTES - 4, "...");
    return name;
}

/* Of the commands that name a lock; where there are none, there is no order either. */
static void add_order(const struct watch_outcome *seen, struct results *results)
{
    const int64_t others = seen->looked_at - (seen->is_ordered ? seen->evident : 0);
    if (seen->is_ordered && seen->evident)
        results_note(
            results,
            memory_format(
                "Order: %" PRId64
                " of them (SET NX, SETNX, the usual script of a release: the answer says what they "
                "did) travelled at once, in the order in which the server was seen to read.",
                seen->evident));
    else if (others && !seen->is_ordered)
        results_note(results, memory_text("Order: the server does not tell in which order it "
                                          "executes, so it was bought with concurrency."));
    if (others)
        results_note(
            results,
            memory_format("%s went to the server one at a time, and the key was looked at "
                          "before and behind each, so what it did is exact; one of them stood "
                          "behind others for at most %.1f ms. What names no such key passed.",
                          others == seen->looked_at ? "They" : "The others",
                          (double)seen->waited_us / 1000));
}

/* is_found: the verdict says of one that it removed another's. */
static void add_plain_deletes(const struct watch_outcome *seen, bool is_found,
                              struct results *results)
{
    if (seen->plain_deletes)
        results_note(results,
                     memory_format("%" PRId64 " of the releases %s a plain DEL, which removes "
                                   "whoever's lock is there: %s. `picklock test` looks for what "
                                   "else can happen.",
                                   seen->plain_deletes, seen->plain_deletes == 1 ? "was" : "were",
                                   is_found
                                       ? "the verdict says of a release that it removed another's"
                                   : seen->doubtful_releases
                                       ? "whether one of them removed another's is not known"
                                       : "that none of them removed another's was luck, or "
                                         "timing"));
}

/* What the verdict rests on, and what it cost. */
static void add_notes(const struct watch_cmd *cmd, const struct result_row *row,
                      struct results *results)
{
    const struct watch_outcome *seen = &cmd->outcome;
    bool is_found = false;
    for (int i = 0; i < row->properties_count; i++)
        is_found |= row->properties[i].property == PROPERTY_RELEASE_OWN &&
                    row->properties[i].verdict == VERDICT_VIOLATED;
    results_note(results, memory_format("Watched: %" PRId64 " connection%s, %" PRId64
                                        " command%s that name a key like %s; %" PRId64
                                        " grant%s, %" PRId64 " refusal%s, %" PRId64 " release%s.",
                                        seen->connections, units_plural(seen->connections),
                                        seen->looked_at, units_plural(seen->looked_at), cmd->key,
                                        seen->grants, units_plural(seen->grants), seen->refusals,
                                        units_plural(seen->refusals), seen->releases,
                                        units_plural(seen->releases)));
    add_order(seen, results);
    if (seen->plain)
        results_note(results,
                     memory_format("%" PRId64 " time%s a key like %s was written or deleted "
                                   "that had not been granted as a lock: nobody is blamed.",
                                   seen->plain, units_plural(seen->plain), cmd->key));
    if (seen->rewrites)
        results_note(results,
                     memory_format("%" PRId64
                                   " time%s a script, a transaction or SET XX gave a lock another "
                                   "value and named no token, so unknown who sent it: it counts "
                                   "as its holder's renewal.",
                                   seen->rewrites, units_plural(seen->rewrites)));
    add_plain_deletes(seen, is_found, results);
    if (cmd->fence_key)
        results_note(results,
                     memory_format("%" PRId64 " write%s changed a fence in a key like %s; %" PRId64
                                   " began it anew with a smaller one.",
                                   seen->fenced, units_plural(seen->fenced), cmd->fence_key,
                                   seen->fences_back));
    for (int i = 0; i < seen->notes_count; i++)
        results_note(results, memory_text(seen->notes[i]));
}

/* By what the history says, as `picklock check` does. cut: why it has no end; NULL: it has one. */
static enum fail judge(struct watch_cmd *cmd, const char *history, const char *cut,
                       struct results *results, bool *is_unknown, struct failure *failure)
{
    struct history_judged judged;
    char *path = memory_format("%s/%s", cmd->output.folder, history);
    const struct history_judging judging = {
        .path = path, .fail_on = cmd->fail_on, .interrupted = cut};
    enum fail fail = judge_history(&judging, results, &judged, failure);
    free(path);
    if (fail)
        return fail;
    struct result_row *row = &results->rows[results->rows_count - 1];
    row->history = memory_text(history);
    *is_unknown = row->error || judged.gap;
    free(judged.gap);
    add_notes(cmd, row, results);
    if (!cmd->outcome.grants)
        results_note(results, memory_format("No key like %s was granted as a lock: nothing was "
                                            "judged.",
                                            cmd->key));
    return FAIL_NONE;
}

static enum fail run(struct watch_cmd *cmd, struct results *results, bool *is_unknown,
                     struct failure *failure)
{
    static const char history[] = "histories/watch.jsonl";
    char *folder = memory_format("%s/histories", cmd->output.folder);
    if (mkdir(folder, 0777) && errno != EEXIST) {
        /* The file that goes there cannot be opened then: that failure names the path. */
    }
    free(folder);
    char *path = memory_format("%s/%s", cmd->output.folder, history);
    const struct watch_options options = {.pattern = cmd->key,
                                          .fences = cmd->fence_key,
                                          .hides_values = true,
                                          .url = secrets_reveal(cmd->redis),
                                          .redis_server = cmd->redis_server,
                                          .listen = cmd->listen,
                                          .command = cmd->command,
                                          .is_stdout_taken = output_takes_stdout(&cmd->output),
                                          .history = path,
                                          .program = cmd->program,
                                          .stop = &cmd_stop,
                                          .ready = print_address,
                                          .notice = say_notice,
                                          .context = cmd};
    enum fail fail = watch_run(&options, &cmd->outcome, failure);
    free(path);
    if (!fail) {
        fail = judge(cmd, history, NULL, results, is_unknown, failure);
        if (!fail && cmd->outcome.stopped && cmd_stop)
            results_interrupt(results, cmd_stop_name(), "run", 0, 1);
        return fail;
    }
    struct failure also;
    if (cmd->outcome.is_cut) /* what was seen by then is told; the failure is that it is cut */
        (void)judge(cmd, history, failure->text, results, is_unknown, &also);
    return fail;
}

/* A violation goes before what the command says, and that before what cannot be concluded. */
static int status_of(const struct watch_cmd *cmd, const struct results *results, bool is_unknown)
{
    const enum fail status = results_status(results);
    if (status != FAIL_NONE && status != FAIL_UNKNOWN)
        return (int)status;
    if (cmd->outcome.status)
        return cmd->outcome.status;
    return is_unknown ? FAIL_UNKNOWN : (int)status;
}

/* Where no report in words has said why. */
static void say_unknown(const struct watch_cmd *cmd, const struct results *results)
{
    const struct result_row *row = &results->rows[results->rows_count - 1];
    if (result_standing(row) == STANDING_UNKNOWN && !output_takes_stdout(&cmd->output))
        return;
    char *words =
        memory_format("picklock: unknown: %s", row->error ? row->error : "as the report says");
    text_print_wrapped(stderr, words, 0, text_columns(stderr) ? text_room(stderr) : INT_MAX);
    free(words);
}

static int watch(struct watch_cmd *cmd)
{
    struct failure failure = {0};
    struct results results = {.world = "redis"};
    cmd_catch_signals();
    cmd->program = program_name(cmd->command);
    bool is_unknown = true;
    enum fail fail = output_open(&cmd->output, &results, &failure);
    if (!fail)
        fail = run(cmd, &results, &is_unknown, &failure);
    int status;
    if (fail) {
        status = (int)output_end(&cmd->output, &results, fail, &failure);
    } else if (output_close(&cmd->output, &results, &failure)) {
        status = cmd_failed(&failure);
    } else {
        status = status_of(cmd, &results, is_unknown);
        if (is_unknown)
            say_unknown(cmd, &results);
    }
    free(cmd->output.folder);
    results_free(&results);
    watch_outcome_free(&cmd->outcome);
    free(cmd->program);
    return status;
}

int cmd_watch(int argc, char **argv)
{
    struct failure failure = {0};
    struct watch_cmd cmd = {.listen = "127.0.0.1:0"};
    int operands;
    const struct option_row rows[] = {OPTION_TEXT("--key", &cmd.key),
                                      OPTION_TEXT("--fence-key", &cmd.fence_key),
                                      OPTION_TEXT("--redis", &cmd.redis),
                                      OPTION_TEXT("--redis-server", &cmd.redis_server),
                                      OPTION_TEXT("--listen", &cmd.listen),
                                      OPTION_TEXT("--fail-on", &cmd.fail_on_text),
                                      OUTPUT_ROWS(cmd.output)};
    if (options_parse(argc, argv, rows, sizeof rows / sizeof rows[0], &operands, &failure) ||
        output_check(&cmd.output, NULL, &(struct inputs){argv + 1, operands, {NULL}}, &failure) ||
        fail_on_read(cmd.fail_on_text, &cmd.fail_on, &failure))
        return cmd_failed(&failure);
    if (!cmd.key || !*cmd.key)
        return cmd_refuse("watch wants the keys of your locks: --key 'lock:*'");
    if (cmd.fence_key && !*cmd.fence_key)
        return cmd_refuse("--fence-key wants the keys that hold fences: 'data:*:fence'");
    if (cmd.redis && cmd.redis_server)
        return cmd_refuse("--redis and --redis-server exclude each other");
    if (operands) {
        argv[operands + 1] = NULL;
        cmd.command = argv + 1;
    }
    return watch(&cmd);
}
