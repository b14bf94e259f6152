/* watch.c - see watch.h: the server, the proxy and the command, from their beginning to their end.
 */
#include "watch/watch.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/units.h"
#include "live/control.h"
#include "live/folder.h"
#include "live/process.h"
#include "watch/watched_command.h"
#include "watch/internal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TICK_MS = 20,
    LEAVE_US = 500000, /* connections that outlive the command are waited for so long */
    OBEY_US = 4000000, /* a command that was told of our signal, and goes on, is killed behind it */
    STATUS_SIGNALLED = 128,
};

struct watch_run {
    struct watched_run watching;
    const struct watch_options *options;
    uv_loop_t loop;
    uv_timer_t tick, next_turn;
    uv_signal_t asked;              /* SIGUSR1: what was seen so far */
    struct watched_command command; /* until it has ended */
    bool is_ending, is_closed;
    int64_t ended_us; /* the command; 0: not yet */
    int told;         /* the signal that the command was told of ... */
    int64_t told_us;  /* ... and when */
    pid_t parent;
    struct folder folder;
    bool has_folder;
    struct process process;
    struct url url;
    char address[3 * URL_PART_MAX]; /* of the proxy, as a URL */
};

/* --- the server --- */

/* With the library that tells in which order it reads, where it takes it: then time passes for it
 * as for everybody. */
static enum fail start_private(struct watch_run *run, const char *path, struct failure *failure)
{
    char link[PROCESS_PATH_MAX];
    struct process_options options = {.program = run->options->redis_server, .folder = path};
    struct failure refused;
    if (!clock_shim_link(run->folder.path, link, sizeof link, &refused)) {
        options.shim = link;
        if (!process_start(&run->process, &options, &refused)) {
            clock_let_run(run->process.clock);
            if (run->process.reads)
                run->watching.reads = reads_new(run->process.reads);
            run->watching.outcome->is_ordered = run->process.reads != NULL;
            return FAIL_NONE;
        }
    }
    options.shim = NULL;
    return process_start(&run->process, &options, failure);
}

static enum fail start_server(struct watch_run *run, struct proxy_address *upstream,
                              struct failure *failure)
{
    char path[PROCESS_PATH_MAX];
    if (run->options->url) {
        if (url_read(run->options->url, &run->url, failure))
            return FAIL_INPUT;
    } else {
        if (folder_open(&run->folder, failure))
            return failure->code;
        run->has_folder = true;
        (void)snprintf(path, sizeof path, "%s/server", run->folder.path);
        if (start_private(run, path, failure))
            return failure->code;
        run->url = process_url(&run->process);
    }
    *upstream = (struct proxy_address){.port = run->url.port};
    (void)snprintf(upstream->host, sizeof upstream->host, "%s", run->url.host);
    (void)snprintf(upstream->path, sizeof upstream->path, "%s", run->url.path);
    return watching_connect(&run->watching, &run->url, !run->options->url, failure);
}

static void stop_server(struct watch_run *run)
{
    process_kill(&run->process);
    if (run->has_folder)
        folder_shut(&run->folder);
}

/* --- the command --- */

/* The first one counts. */
static void stopped_by(struct watch_run *run, const char *whom, int number)
{
    struct watch_outcome *outcome = run->watching.outcome;
    const char *name = sigabbrev_np(number);
    if (!outcome->stopped)
        outcome->stopped = name ? memory_format("%s was ended by SIG%s", whom, name)
                                : memory_format("%s was ended by signal %d", whom, number);
}

static void look_at_command(struct watch_run *run)
{
    int status;
    if (!run->command.pid || !watched_command_has_ended(&run->command, &status))
        return;
    run->watching.outcome->status = status < 0 ? STATUS_SIGNALLED - status : status;
    if (status < 0) /* what it had still to do nobody saw */
        stopped_by(run, "the command", -status);
    watched_command_close(&run->command, *run->options->stop != 0);
    run->ended_us = monotonic_us();
}

static enum fail start_command(struct watch_run *run, struct failure *failure)
{
    if (watched_command_start(&run->command, run->options->command, run->address,
                              run->options->is_stdout_taken, failure))
        return failure->code;
    peers_know(&run->watching.peers, run->command.pid);
    return FAIL_NONE;
}

/* --- the end --- */

static void close_handles(struct watch_run *run)
{
    uv_close((uv_handle_t *)&run->tick, NULL);
    uv_close((uv_handle_t *)&run->next_turn, NULL);
    uv_close((uv_handle_t *)&run->asked, NULL);
}

static void on_proxy_closed(void *context)
{
    struct watch_run *run = context;
    run->is_closed = true;
    close_handles(run);
}

static void end(struct watch_run *run)
{
    if (run->is_ending)
        return;
    run->is_ending = true;
    proxy_close(run->watching.proxy, on_proxy_closed, run);
}

/* The command is told of our signal, and waited for; without one the signal is the end. It may have
 * ended by then: of the same signal, where a terminal sends it to all. */
static void on_stop(struct watch_run *run)
{
    const int number = *run->options->stop;
    if (!run->options->command) {
        end(run);
        return;
    }
    stopped_by(run, "it", number);
    if (run->command.pid && run->told != number) {
        run->told = number;
        run->told_us = monotonic_us();
        (void)kill(run->command.pid, number);
        (void)kill(run->command.pid, SIGCONT); /* one that is stopped hears of it, too */
    } else if (run->command.pid && run->told && monotonic_us() - run->told_us > OBEY_US) {
        (void)kill(run->command.pid, SIGKILL);
    }
}

static void on_asked(uv_signal_t *asked, int number)
{
    const struct watch_run *run = asked->data;
    const struct watch_outcome *seen = run->watching.outcome;
    const char *why = seen->missed ? seen->missed : seen->open;
    char *words = memory_format(
        "%" PRId64 " connection%s, %" PRId64 " open; %" PRId64
        " command%s that name a watched key; "
        "%" PRId64 " grant%s, %" PRId64 " refusal%s, %" PRId64 " release%s%s%s",
        seen->connections, units_plural(seen->connections), run->watching.links, seen->looked_at,
        units_plural(seen->looked_at), seen->grants, units_plural(seen->grants), seen->refusals,
        units_plural(seen->refusals), seen->releases, units_plural(seen->releases),
        why ? "; unknown: " : "", why ? why : "");
    (void)number;
    run->options->notice(run->options->context, words);
    free(words);
}

static void on_tick(uv_timer_t *timer)
{
    struct watch_run *run = timer->data;
    struct failure failure;
    watching_tick(&run->watching);
    if (run->watching.reads)
        (void)reads_look(run->watching.reads); /* before the ring runs over */
    if (*run->options->stop)
        on_stop(run);
    look_at_command(run);
    if (!run->options->command && getppid() != run->parent)
        end(run);
    if (run->process.pid && process_check(&run->process, &failure)) {
        watching_missed(&run->watching, "the server has ended: %s", failure.text);
        if (run->watching.reads)
            reads_end(run->watching.reads);
        if (!run->options->command)
            end(run);
    }
    if (run->ended_us && run->watching.links == 0) {
        end(run);
    } else if (run->ended_us && monotonic_us() - run->ended_us > LEAVE_US) {
        if (!run->is_ending)
            watching_note(
                &run->watching,
                "%lld connection%s outlived the command by %.1f s: what came over them later was "
                "not seen",
                (long long)run->watching.links, units_plural(run->watching.links), LEAVE_US / 1e6);
        end(run);
    }
}

/* --- all --- */

/* "redis://user:password@" of what was given, for the same login through the proxy. */
static void set_address(struct watch_run *run)
{
    const char *given = run->options->url, *login = "";
    const char *at = given ? strrchr(given, '@') : NULL;
    int length = 0;
    if (at && run->url.has_login) {
        login = strstr(given, "://") + 3;
        length = (int)(at + 1 - login);
    }
    (void)snprintf(run->address, sizeof run->address, "redis://%.*s127.0.0.1:%d/%d", length, login,
                   run->watching.port, run->url.database);
}

static enum fail serve(struct watch_run *run, const struct proxy_address *upstream,
                       struct failure *failure)
{
    struct proxy_address listen;
    struct proxy_hooks hooks;
    struct watched_run *watching = &run->watching;
    watched_hooks(watching, &hooks);
    if (proxy_address_read(run->options->listen, &listen, failure))
        return failure_wrap(failure, "--listen");
    if (uv_loop_init(&run->loop) < 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "no event loop: out of file descriptors?");
    int error = uv_timer_init(&run->loop, &run->tick) | uv_timer_init(&run->loop, &run->next_turn) |
                uv_signal_init(&run->loop, &run->asked) |
                uv_signal_start(&run->asked, on_asked, SIGUSR1);
    run->tick.data = run->asked.data = run;
    run->next_turn.data = watching;
    watching->next_turn = &run->next_turn;
    enum fail fail =
        error ? failure_set(failure, FAIL_UNAVAILABLE, "no timers, or no signals")
              : proxy_new(&watching->proxy, &run->loop, &listen, upstream, &hooks, failure);
    if (fail) {
        close_handles(run);
    } else {
        watching->port = proxy_port(watching->proxy);
        set_address(run);
        (void)uv_timer_start(&run->tick, on_tick, TICK_MS, TICK_MS);
        fail = run->options->ready(run->options->context, run->address, failure);
        if (!fail && run->options->command)
            fail = start_command(run, failure);
        if (fail)
            end(run);
    }
    (void)uv_run(&run->loop, UV_RUN_DEFAULT);
    if (run->options->command && *run->options->stop) /* it came between two looks */
        stopped_by(run, "it", *run->options->stop);
    error = uv_loop_close(&run->loop);
    if (error && !fail)
        fail = failure_set(failure, FAIL_INTERNAL, "the event loop does not end");
    return fail;
}

enum fail watch_run(const struct watch_options *options, struct watch_outcome *outcome,
                    struct failure *failure)
{
    struct watch_run *run = memory_new(1, sizeof *run);
    struct watched_run *watching = &run->watching;
    struct proxy_address upstream;
    run->options = options;
    run->parent = getppid();
    if (options->command) /* without one a signal is the end that it was to have */
        control_heed(options->stop);
    enum fail fail = watching_open(watching, options, outcome, failure);
    if (!fail) {
        fail = history_writer_show(watching->writer, failure);
        if (!fail)
            fail = start_server(run, &upstream, failure);
        if (!fail)
            fail = serve(run, &upstream, failure);
        fail = watching_close(watching, fail, failure);
    }
    watched_command_close(&run->command, true);
    stop_server(run);
    control_heed(NULL);
    free(run);
    return fail;
}
