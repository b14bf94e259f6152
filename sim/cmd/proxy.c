/* proxy.c - `picklock proxy`: the fault proxy on its own. */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include "proxy/standalone.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
const char cmd_proxy_help[] =
    "\n"
    "  --listen ADDR          host:port, port or unix:PATH (default 127.0.0.1:0, any free port)\n"
    "  --upstream ADDR        the server (default 127.0.0.1:6379)\n"
    "  --rules FILE           what to do with which command (format: sim/proxy/README.md)\n"
    "  --log FILE             write a JSON line for each event; - is stderr. Passwords are not\n"
    "                         written\n"
    "  --seed N               seed of the chances in the rules (default 1)\n"
    "\n"
    "Prints the port that it listens on, then serves until SIGINT, SIGTERM, SIGHUP, or the end of\n"
    "its parent.\n";
/* clang-format on */

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
    int operands;
    const struct option_row rows[] = {{"--listen", OPTION_TEXT, &options.listen, 0, 0},
                                      {"--upstream", OPTION_TEXT, &options.upstream, 0, 0},
                                      {"--rules", OPTION_TEXT, &options.rules, 0, 0},
                                      {"--log", OPTION_TEXT, &options.log, 0, 0},
                                      {"--seed", OPTION_NUMBER, &seed, 0, 0}};
    if (options_parse(argc, argv, rows, 5, &operands, &failure))
        return cmd_failed(&failure);
    if (operands)
        return cmd_refuse("proxy takes options only, not '%s'", argv[1]);
    options.seed = (uint64_t)seed;
    options.context = (void *)(uintptr_t)options.listen;
    return standalone_run(&options, &failure) ? cmd_failed(&failure) : FAIL_NONE;
}
