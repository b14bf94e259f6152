/* watch.c - see watch.h: the server, the proxy and the command, from their beginning to their end.
 */
#include "watch/watch.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "live/folder.h"
#include "live/process.h"
#include "live/sweeper.h"
#include "watch/internal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

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
    uv_signal_t asked; /* SIGUSR1: what was seen so far */
    uv_process_t child;
    struct sweeper guard; /* ends the command should we be killed */
    bool has_child, is_ending, is_closed;
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

static void on_child_closed(uv_handle_t *handle)
{
    ((struct watch_run *)handle->data)->has_child = false;
}

enum { HAS_ENDED = 1 };

static void end_command(const void *pid, int told)
{
    if (told != HAS_ENDED)
        (void)kill(*(const pid_t *)pid, SIGKILL);
}

static void on_exit_of_child(uv_process_t *child, int64_t status, int number)
{
    struct watch_run *run = child->data;
    run->watching.outcome->status = number ? STATUS_SIGNALLED + number : (int)status;
    run->ended_us = monotonic_us();
    if (run->guard.pid)
        sweeper_tell(&run->guard, HAS_ENDED);
    sweeper_end(&run->guard);
    uv_close((uv_handle_t *)child, on_child_closed);
}

/* Ours, with the proxy's address; the caller frees both parts. */
static char **environment(const struct watch_run *run, char *given[2])
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **made = memory_new(count + 3, sizeof *made);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "REDIS_URL=", 10) != 0 &&
            strncmp(environ[i], "PICKLOCK_PROXY_URL=", 19) != 0)
            made[kept++] = environ[i];
    made[kept++] = given[0] = memory_format("REDIS_URL=%s", run->address);
    made[kept] = given[1] = memory_format("PICKLOCK_PROXY_URL=%s", run->address);
    return made;
}

static enum fail start_command(struct watch_run *run, struct failure *failure)
{
    uv_stdio_container_t streams[3];
    char *given[2];
    for (int i = 0; i < 3; i++)
        streams[i] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = i};
    if (run->options->is_stdout_taken)
        streams[STDOUT_FILENO].data.fd = STDERR_FILENO;
    char **variables = environment(run, given);
    const uv_process_options_t options = {.exit_cb = on_exit_of_child,
                                          .file = run->options->command[0],
                                          .args = (char **)(uintptr_t)run->options->command,
                                          .env = variables,
                                          .stdio_count = 3,
                                          .stdio = streams};
    run->child.data = run;
    const int error = uv_spawn(&run->loop, &run->child, &options);
    run->has_child = true;
    free(given[0]);
    free(given[1]);
    free(variables);
    if (!error) {
        const pid_t pid = uv_process_get_pid(&run->child);
        peers_know(&run->watching.peers, pid);
        if (sweeper_start(&run->guard, end_command, &pid, failure))
            (void)uv_process_kill(&run->child, SIGKILL);
        return run->guard.pid ? FAIL_NONE : failure->code;
    }
    uv_close((uv_handle_t *)&run->child, on_child_closed);
    return failure_set(failure, FAIL_UNAVAILABLE, "%s cannot be run: %s", run->options->command[0],
                       uv_strerror(error));
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

/* The command is told of our signal, and waited for; without one the signal is the end. */
static void on_stop(struct watch_run *run)
{
    const int number = *run->options->stop;
    if (!run->options->command) {
        end(run);
    } else if (run->told != number && !run->ended_us) {
        run->told = number;
        run->told_us = monotonic_us();
        run->watching.outcome->was_stopped = true;
        (void)uv_process_kill(&run->child, number);
        (void)uv_process_kill(&run->child, SIGCONT); /* one that is stopped hears of it, too */
    } else if (run->told && !run->ended_us && monotonic_us() - run->told_us > OBEY_US) {
        (void)uv_process_kill(&run->child, SIGKILL);
    }
}

static void on_asked(uv_signal_t *asked, int number)
{
    const struct watch_run *run = asked->data;
    const struct watch_outcome *seen = run->watching.outcome;
    const char *why = seen->missed ? seen->missed : seen->open;
    char *words = memory_format(
        "%" PRId64 " connections, %" PRId64 " open; %" PRId64 " commands that name a watched key; "
        "%" PRId64 " grants, %" PRId64 " refusals, %" PRId64 " releases%s%s",
        seen->connections, run->watching.links, seen->looked_at, seen->grants, seen->refusals,
        seen->releases, why ? "; unknown: " : "", why ? why : "");
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
                "%lld connections outlived the command by %.1f s: what they did later was "
                "not seen",
                (long long)run->watching.links, LEAVE_US / 1e6);
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
                   proxy_port(run->watching.proxy), run->url.database);
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
        set_address(run);
        (void)uv_timer_start(&run->tick, on_tick, TICK_MS, TICK_MS);
        fail = run->options->ready(run->options->context, run->address, failure);
        if (!fail && run->options->command)
            fail = start_command(run, failure);
        if (fail)
            end(run);
    }
    (void)uv_run(&run->loop, UV_RUN_DEFAULT);
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
    enum fail fail = watching_open(watching, options, outcome, failure);
    if (!fail) {
        fail = start_server(run, &upstream, failure);
        if (!fail)
            fail = serve(run, &upstream, failure);
        fail = watching_close(watching, fail, failure);
    }
    stop_server(run);
    free(run);
    return fail;
}
