/* server.c - `picklock server`: a private redis-server whose clock somebody else's test moves. */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include "base/units.h"
#include "live/folder.h"
#include "live/process.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
const char cmd_server_help[] =
    "\n"
    "  --redis-server PATH    program of the server (default: redis-server on the PATH)\n"
    "\n"
    "Starts a private redis-server on a free port of 127.0.0.1 and prints its URL. Its clock\n"
    "stands still, and is moved by lines on standard input:\n"
    "\n"
    "  advance TIME           the clock goes on by so much: 10s, 250ms\n"
    "  reset                  no keys, no scripts, default settings, no connections;\n"
    "                         the time stays\n"
    "\n"
    "Each is answered by a line: `ok TIME`, in microseconds since the start, when the server's\n"
    "clock says so, too; else `error` and why. The server ends with standard input, with a\n"
    "signal, and with this program, whatever ends it; where it ends by itself, so does this\n"
    "program, and says so.\n";
/* clang-format on */

enum { LINE_BYTES = 200, LOOK_MS = 200 };

struct private_server {
    struct folder folder;
    struct process process;
};

static enum fail start(struct private_server *server, const char *program, struct failure *failure)
{
    char link[PROCESS_PATH_MAX], folder[PROCESS_PATH_MAX];
    if (folder_open(&server->folder, failure))
        return failure->code;
    snprintf(folder, sizeof folder, "%s/server", server->folder.path);
    if (clock_shim_link(server->folder.path, link, sizeof link, failure))
        return failure->code;
    return process_start(
        &server->process,
        &(struct process_options){.program = program, .folder = folder, .shim = link}, failure);
}

/* Both directions keep what is in the answer true: the clock is asked before it is told. */
static enum fail obey(struct private_server *server, char *line, struct failure *failure)
{
    char *rest = line, *word = strsep(&rest, " ");
    int64_t us;
    if (!strcmp(word, "reset") && !rest)
        return process_reset(&server->process, false, failure);
    if (strcmp(word, "advance") != 0 || !rest)
        return failure_set(failure, FAIL_INPUT, "wants 'advance TIME' or 'reset', not '%.60s'",
                           word);
    if (units_read_duration(rest, &us, failure))
        return failure->code;
    if (us < 0)
        return failure_set(failure, FAIL_INPUT, "time goes on, not back: '%.60s'", rest);
    clock_advance(server->process.clock, us);
    return process_prove_clock(&server->process, failure);
}

static void answer(const struct private_server *server, enum fail fail,
                   const struct failure *failure)
{
    if (fail)
        printf("error %s\n", failure->text);
    else
        printf("ok %" PRId64 "\n", clock_says_us(server->process.clock) - CLOCK_EPOCH_US);
}

/* Until there is a line, or the end of them, or a signal has come; a server that dies meanwhile is
 * a failure. */
static enum fail wait_for_line(struct private_server *server, struct failure *failure)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    while (!cmd_stop && poll(&in, 1, LOOK_MS) <= 0)
        if (process_check(&server->process, failure))
            return failure->code;
    return FAIL_NONE;
}

/* FAIL_NONE at the end of input, or when a signal has come. */
static enum fail serve(struct private_server *server, struct failure *failure)
{
    char line[LINE_BYTES];
    setvbuf(stdin, NULL, _IONBF, 0); /* what is read ahead nobody waits for */
    printf("redis://127.0.0.1:%d\n", server->process.port);
    while (fflush(stdout) == 0 && !cmd_stop) {
        if (wait_for_line(server, failure))
            return failure->code;
        if (cmd_stop || !fgets(line, sizeof line, stdin))
            break;
        size_t size = strcspn(line, "\n");
        bool is_whole = line[size] == '\n';
        line[size] = '\0';
        if (!is_whole)
            return failure_set(failure, FAIL_INPUT, "standard input: a line is cut, or too long");
        struct failure said;
        if (process_check(&server->process, failure))
            return failure->code;
        enum fail fail = obey(server, line, &said);
        answer(server, fail, &said);
    }
    return FAIL_NONE;
}

int cmd_server(int argc, char **argv)
{
    struct private_server server = {0};
    struct failure failure = {0};
    const char *program = NULL;
    const struct option_row rows[] = {OPTION_TEXT("--redis-server", &program)};
    int operands;
    if (options_parse(argc, argv, rows, 1, &operands, &failure))
        return cmd_failed(&failure);
    if (operands)
        return cmd_refuse("server takes options only, not '%s'", argv[1]);
    cmd_catch_signals();
    enum fail fail = start(&server, program, &failure);
    if (!fail)
        fail = serve(&server, &failure);
    process_kill(&server.process);
    if (*server.folder.path)
        folder_shut(&server.folder);
    return fail ? cmd_failed(&failure) : FAIL_NONE;
}
