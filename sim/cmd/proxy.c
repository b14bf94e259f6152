/* proxy.c - `picklock proxy`: the fault proxy on its own. */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include "proxy/standalone.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "\n"
    "  --listen ADDR          127.0.0.1:0 (any free port) if not said; host:port, port, unix:PATH\n"
    "  --upstream ADDR        the server, 127.0.0.1:6379 if not said\n"
    "  --rules FILE           what to do to which command; sim/proxy/README.md tells the form\n"
    "  --log FILE             JSON Lines, an event a line; - is stderr. No password is written\n"
    "  --seed N               of the rules' chances (default 1)\n"
    "\n"
    "Prints the port that it listens on, one line, and serves until SIGINT, SIGTERM, SIGHUP, or "
    "the\n"
    "end of its parent.\n";

static enum fail print_port(void *context, int port, struct failure *failure)
{
    const char *listen = context;
    if (port)
        printf("%d\n", port);
    else
        printf("%s\n", listen);
    if (fflush(stdout) == 0)
        return FAIL_NONE;
    return failure_set(failure, FAIL_INTERNAL,
                       "the address that it listens on cannot be printed: %s", strerror(errno));
}

static void print_notice(void *context, const char *words)
{
    (void)context;
    cmd_say("%s", words);
}

int cmd_proxy(int argc, char **argv)
{
    struct failure failure = {0};
    struct standalone_options options = {.listen = "127.0.0.1:0",
                                         .upstream = "127.0.0.1:6379",
                                         .ready = print_port,
                                         .notice = print_notice};
    int64_t seed = 1;
    int operands, wants_help = 0;
    const struct option_row rows[] = {{"--listen", OPTION_TEXT, &options.listen, 0, 0},
                                      {"--upstream", OPTION_TEXT, &options.upstream, 0, 0},
                                      {"--rules", OPTION_TEXT, &options.rules, 0, 0},
                                      {"--log", OPTION_TEXT, &options.log, 0, 0},
                                      {"--seed", OPTION_NUMBER, &seed, 0, 0}};
    if (options_parse(argc, argv, rows, 5, &operands, &wants_help, &failure))
        return cmd_failed(&failure);
    if (wants_help)
        return cmd_help("proxy", help);
    if (operands) {
        failure_set(&failure, FAIL_INPUT, "proxy takes options only, not '%s'", argv[1]);
        return cmd_failed(&failure);
    }
    options.seed = (uint64_t)seed;
    options.context = (void *)(uintptr_t)options.listen;
    return standalone_run(&options, &failure) ? cmd_failed(&failure) : FAIL_NONE;
}
