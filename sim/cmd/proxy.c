/* proxy.c - `picklock proxy`: the fault proxy on its own. */
#include "cmd/cmd.h"
#include "cmd/output.h"

#include "base/memory.h"
#include "base/outfile.h"
#include "base/units.h"
#include "proxy/standalone.h"
#include "proxy/status.h"
#include "toxiproxy/serve.h"
#include "watch/proxied.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char cmd_proxy_help[] =
    "\n"
    "  --listen ADDR          host:port, port or unix:PATH (default 127.0.0.1:0, any free port)\n"
    "  --upstream ADDR        the server (default 127.0.0.1:6379)\n"
    "                         (rediss://HOST:PORT speaks TLS to it)\n"
    "  --tls-ca FILE          certificates to trust, PEM (default: those of this machine)\n"
    "  --tls-cert FILE        our certificate and its chain, PEM, if the server asks for one\n"
    "  --tls-key FILE         its key, PEM, without a passphrase\n"
    "  --tls-server-name N    the name in the server's certificate (default: the host)\n"
    "  --tls-skip-verify      trust whoever answers\n"
    "  --rules FILE           what to do with which command (format: sim/proxy/README.md)\n"
    "  --config FILE          several listeners, each with its rules, instead of these three\n"
    "  --log FILE             write a JSON line for each event; - is stderr. Passwords are not\n"
    "                         written\n"
    "  --history FILE         write what happens to the locks of --key, for picklock check (and\n"
    "                         check --follow) as it happens; of tokens only digests are written\n"
    "  --key GLOB             with --history: the keys of your locks, as in 'lock:*'\n"
    "  --seed N               seed of the chances in the rules (default 1)\n"
    "  --control PATH         a unix socket that tells counters to --status\n"
    "  --status PATH          print the counters of the proxy that runs with --control PATH, as\n"
    "                         JSON, and end\n"
    "\n"
    "Or, instead of all but the seed, as clients of Toxiproxy want it:\n"
    "  --toxiproxy-api ADDR   be steered over HTTP, as in 127.0.0.1:8474; sim/toxiproxy/README.md\n"
    "  --toxiproxy-config F   begin with the proxies of this JSON file\n"
    "  --any-host             let its proxies listen on other addresses than loopback's\n"
    "\n"
    "Prints the port that it listens on (--config: a line a listener, behind its name), then\n"
    "serves until SIGINT, SIGTERM, or the end of its parent. SIGHUP reads --rules or --config\n"
    "anew, and the files of --tls-...; what is wrong with them is told, and changes nothing.\n"
    "Without any of them it is an end, too.\n"
    "SIGUSR1 prints what it has relayed so far, on stderr.\n";
/* clang-format on */

static enum fail print_address(void *context, const char *name, const char *listen, int port,
                               struct failure *failure)
{
    (void)context;
    printf("%s%s", name, *name ? " " : "");
    if (port)
        printf("%d\n", port);
    else
        printf("%s\n", listen);
    if (fflush(stdout) == 0)
        return FAIL_NONE;
    return failure_set(failure, FAIL_INTERNAL,
                       "the address that it listens on cannot be printed: %s", strerror(errno));
}

static enum fail print_port(void *context, int port, struct failure *failure)
{
    return print_address(context, "", "", port, failure);
}

static void print_notice(void *context, const char *words)
{
    (void)context;
    cmd_say("%s", words);
}

static enum fail serve_toxiproxy(const struct toxiproxy_options *wanted,
                                 const struct standalone_options *plain, struct failure *failure)
{
    struct toxiproxy_options options = *wanted;
    if (plain->listen || plain->upstream || plain->rules || plain->log)
        return failure_set(failure, FAIL_INPUT,
                           "--toxiproxy-api takes no --listen, --upstream, --rules or --log: its "
                           "clients say what listens and dials");
    options.seed = plain->seed;
    options.ready = print_port;
    options.notice = print_notice;
    return toxiproxy_serve(&options, failure);
}

struct history_wanted {
    const char *path, *key;
};

/* "unix:/path" and "host:port" as a URL; the caller frees. */
static enum fail url_of(const char *upstream, char **url, struct failure *failure)
{
    struct proxy_address address;
    if (proxy_address_read(upstream, &address, failure))
        return failure_wrap(failure, "--upstream");
    if (address.is_tls)
        return failure_set(failure, FAIL_INPUT,
                           "--history asks the server itself, without TLS: let a second picklock "
                           "proxy --upstream %s stand between, and be the upstream here",
                           upstream);
    *url = address.path[0] ? memory_format("unix://%s", address.path)
           : strchr(address.host, ':')
               ? memory_format("redis://[%s]:%d", address.host, address.port)
               : memory_format("redis://%s:%d", address.host[0] ? address.host : "127.0.0.1",
                               address.port);
    return FAIL_NONE;
}

/* What the history rests on; FAIL_UNKNOWN where it is not whole. */
static enum fail tell_history(const struct history_wanted *wanted,
                              const struct watch_outcome *outcome, struct failure *failure)
{
    const char *why = watch_outcome_unknown(outcome);
    cmd_say("%s: %" PRId64 " command%s that name a key like %s, one at a time; %" PRId64
            " grant%s, %" PRId64 " refusal%s, %" PRId64 " release%s",
            wanted->path, outcome->looked_at, units_plural(outcome->looked_at), wanted->key,
            outcome->grants, units_plural(outcome->grants), outcome->refusals,
            units_plural(outcome->refusals), outcome->releases, units_plural(outcome->releases));
    for (int i = 0; i < outcome->notes_count; i++)
        cmd_say("%s", outcome->notes[i]);
    return why ? failure_set(failure, FAIL_UNKNOWN, "%s: unknown: %s", wanted->path, why)
               : FAIL_NONE;
}

static enum fail serve_history(struct standalone_options *options,
                               const struct history_wanted *wanted, struct failure *failure)
{
    struct watch_outcome outcome = {0};
    struct watched_proxy *watched = NULL;
    char *url = NULL;
    if (url_of(options->upstream, &url, failure))
        return failure->code;
    const struct watch_options watching = {.pattern = wanted->key,
                                           .url = url,
                                           .history = wanted->path,
                                           .program = "clients",
                                           .notice = print_notice,
                                           .hides_values = true};
    enum fail fail = watched_proxy_new(&watched, &watching, &outcome, failure);
    if (!fail) {
        struct failure of_history = {0};
        options->observer = watched_proxy_observer(watched);
        fail = standalone_run(options, failure);
        enum fail other = watched_proxy_close(watched, &of_history);
        if (!other)
            other = tell_history(wanted, &outcome, &of_history);
        if (fail && of_history.text[0]) /* two have failed, and one of them ends us */
            cmd_say("%s", of_history.text);
        else if (!fail && other) {
            *failure = of_history;
            fail = other;
        }
    }
    watch_outcome_free(&outcome);
    free(url);
    return fail;
}

static enum fail serve_plain(struct standalone_options *options,
                             const struct history_wanted *history, struct failure *failure)
{
    if (options->config)
        return standalone_run(options, failure);
    if (!options->listen)
        options->listen = "127.0.0.1:0";
    if (!options->upstream)
        options->upstream = "127.0.0.1:6379";
    return history->path ? serve_history(options, history, failure)
                         : standalone_run(options, failure);
}

static int print_status(const char *path, struct failure *failure)
{
    char *text;
    if (status_ask(path, &text, failure))
        return cmd_failed(failure);
    printf("%s\n", text);
    free(text);
    return FAIL_NONE;
}

/* FAIL_INPUT: why not was told. */
static int check_tls(const struct standalone_options *options, const char *toxiproxy_api)
{
    const struct tls_options *tls = &options->tls;
    const bool is_said =
        tls->ca_file || tls->certificate || tls->key || tls->server_name || tls->skips_verification;
    const bool is_spoken =
        options->config || (options->upstream && !strncmp(options->upstream, "rediss://", 9));
    if (is_said && (toxiproxy_api || !is_spoken))
        return cmd_refuse(
            "--tls-... options need --upstream rediss://HOST:PORT, or a --config with one");
    if (!tls->certificate != !tls->key)
        return cmd_refuse("--tls-cert and --tls-key go together");
    if (tls->skips_verification && (tls->ca_file || tls->server_name))
        return cmd_refuse(
            "--tls-skip-verify looks at no certificate: no --tls-ca, no --tls-server-name");
    if (tls->skips_verification)
        cmd_say("warning: --tls-skip-verify: whoever answers in the server's place is trusted");
    return FAIL_NONE;
}

int cmd_proxy(int argc, char **argv)
{
    struct failure failure = {0};
    struct standalone_options options = {.ready = print_address, .notice = print_notice};
    struct toxiproxy_options toxiproxy = {0};
    struct history_wanted history = {0};
    const char *status = NULL;
    int64_t seed = 1;
    int operands;
    const struct option_row rows[] = {
        OPTION_TEXT("--listen", &options.listen),
        OPTION_TEXT("--upstream", &options.upstream),
        OPTION_TEXT("--rules", &options.rules),
        OPTION_TEXT("--log", &options.log),
        OPTION_TEXT("--config", &options.config),
        OPTION_TEXT("--control", &options.control),
        OPTION_TEXT("--status", &status),
        OPTION_TEXT("--history", &history.path),
        OPTION_TEXT("--key", &history.key),
        OPTION_NUMBER("--seed", &seed, 0, 0),
        OPTION_TEXT("--toxiproxy-api", &toxiproxy.api),
        OPTION_TEXT("--toxiproxy-config", &toxiproxy.config),
        OPTION_TEXT("--tls-ca", &options.tls.ca_file),
        OPTION_TEXT("--tls-cert", &options.tls.certificate),
        OPTION_TEXT("--tls-key", &options.tls.key),
        OPTION_TEXT("--tls-server-name", &options.tls.server_name),
        OPTION_FLAG("--tls-skip-verify", &options.tls.skips_verification),
        OPTION_FLAG("--any-host", &toxiproxy.takes_any_host),
    };
    if (options_parse(argc, argv, rows, sizeof rows / sizeof *rows, &operands, &failure))
        return cmd_failed(&failure);
    if (operands)
        return cmd_refuse("proxy takes options only, not '%s'", argv[1]);
    options.seed = (uint64_t)seed;
    if (status)
        return print_status(status, &failure);
    if (options.config && (options.listen || options.upstream || options.rules || history.path))
        return cmd_refuse("--config says what listens and dials, and by which rules: no --listen, "
                          "--upstream, --rules or --history");
    if (options.control && toxiproxy.api)
        return cmd_refuse("--control tells of rules; Toxiproxy's interface tells of its own");
    if ((toxiproxy.config || toxiproxy.takes_any_host) && !toxiproxy.api)
        return cmd_refuse("--toxiproxy-config and --any-host need --toxiproxy-api");
    if (!history.path != !history.key || (history.path && toxiproxy.api))
        return cmd_refuse("--history FILE and --key GLOB go together, without --toxiproxy-api");
    if (history.path && outfile_is_same(history.path, "-"))
        return cmd_refuse("--history %s: stdout tells what it listens on, and takes no history",
                          history.path);
    if (check_tls(&options, toxiproxy.api))
        return FAIL_INPUT;
    const struct result_place places[] = {
        {.option = "--history", .path = history.path, .is_kept = true},
        {.option = "--log",
         .path = options.log && strcmp(options.log, "-") ? options.log : NULL,
         .is_kept = true},
        {.option = "--control", .path = options.control, .is_kept = true}};
    const struct inputs inputs = {.words = {options.rules, options.config, toxiproxy.config,
                                            options.tls.ca_file, options.tls.certificate,
                                            options.tls.key}};
    if (places_clear(places, sizeof places / sizeof *places, &inputs, &failure))
        return cmd_failed(&failure);
    enum fail fail = toxiproxy.api ? serve_toxiproxy(&toxiproxy, &options, &failure)
                                   : serve_plain(&options, &history, &failure);
    return fail ? cmd_failed(&failure) : FAIL_NONE;
}
