/* process_ready.c - is the server that was started there, is it ours, does it follow its clock? See
 * process.h. Source: inotify(7), pidfd_open(2). */
#include "base/monotonic.h"
#include "live/control.h"
#include "live/process.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    READY_SECONDS = 20,
    HURRIED_SECONDS = 2, /* when picklock was told to end */
    LOOK_MS = 50,        /* a server that writes no log is looked at so often */
    GARBAGE_US = 1000000,
    PROBE_US = 200000,
    VERSION_MAJOR = 6,
    VERSION_MINOR = 2
};

static enum fail check_version(struct process *process, const char *info, struct failure *failure)
{
    char pid[16], mode[16];
    int major = 0, minor = 0;
    control_field(info, "process_id", pid, sizeof pid);
    if (atoi(pid) != process->pid && getsid(atoi(pid)) == process->pid)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "it starts a server beside itself; a wrapper must end in \"exec "
                           "redis-server\", so that what is killed is the server");
    if (atoi(pid) != process->pid)
        return failure_set(failure, FAIL_UNAVAILABLE, "port %d: " PROCESS_PORT_TAKEN,
                           process->port);
    control_field(info, "redis_mode", mode, sizeof mode);
    if (*mode && strcmp(mode, process->bus_port ? "cluster" : "standalone") != 0)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "it runs in %s mode, and picklock needs a server of its own", mode);
    control_field(info, "redis_version", process->version, sizeof process->version);
    if (sscanf(process->version, "%d.%d", &major, &minor) != 2)
        return failure_set(failure, FAIL_UNAVAILABLE, "it does not tell a Redis version");
    if (major > VERSION_MAJOR || (major == VERSION_MAJOR && minor >= VERSION_MINOR))
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNAVAILABLE,
                       "it is version %s, and picklock needs %d.%d or newer", process->version,
                       VERSION_MAJOR, VERSION_MINOR);
}

/* One try: is it there, and is it ours? FAIL_UNKNOWN: not yet, and why not. */
static enum fail is_ready(struct process *process, bool *is_garbage, struct failure *failure)
{
    if (process_dial(process, &process->control, failure))
        return FAIL_UNKNOWN;
    /* Somebody else may sit on the port and say nothing: then ours has died meanwhile. */
    (void)redisSetTimeout(process->control, (struct timeval){.tv_usec = PROBE_US});
    redisReply *info = control_ask(process->control, failure, "INFO");
    (void)redisSetTimeout(process->control, (struct timeval){.tv_sec = CONTROL_SECONDS});
    if (!info) {
        *is_garbage = control_is_garbage(process->control);
        control_shut(process->control);
        process->control = NULL;
        return FAIL_UNKNOWN;
    }
    char loading[4];
    enum fail fail = info->type == REDIS_REPLY_STRING
                         ? check_version(process, info->str, failure)
                         : failure_set(failure, FAIL_UNAVAILABLE, "it answers INFO with no text");
    control_field(info->type == REDIS_REPLY_STRING ? info->str : "", "loading", loading,
                  sizeof loading);
    freeReplyObject(info);
    if (!fail && loading[0] == '1') {
        control_shut(process->control);
        process->control = NULL;
        return failure_set(failure, FAIL_UNKNOWN, "it is still loading its data");
    }
    return fail;
}

/* What happens when it gets on, or ends: it writes to its log, and its process becomes readable.
 * Where the system has no such event (-1) the next look comes by time. */
struct watch {
    struct pollfd said, ended;
};

static void watch_open(struct watch *watch, const struct process *process)
{
    char log[PROCESS_PATH_MAX + 8];
    process_log_path(process, log, sizeof log);
    *watch = (struct watch){.said = {.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)},
                            .ended = {.fd = (int)syscall(SYS_pidfd_open, process->pid, 0)}};
    watch->said.events = watch->ended.events = POLLIN;
    if (watch->said.fd >= 0)
        (void)inotify_add_watch(watch->said.fd, log, IN_MODIFY);
}

static void watch_await(struct watch *watch)
{
    char events[1024];
    struct pollfd both[2] = {watch->said, watch->ended};
    (void)poll(both, 2, LOOK_MS);
    while (watch->said.fd >= 0 && read(watch->said.fd, events, sizeof events) > 0)
        ; /* one look for all that was written so far */
}

static void watch_shut(const struct watch *watch)
{
    if (watch->said.fd >= 0)
        (void)close(watch->said.fd);
    if (watch->ended.fd >= 0)
        (void)close(watch->ended.fd);
}

static const volatile int *heeded;

void process_heed(const volatile int *stop)
{
    heeded = stop;
}

static enum fail look_until_ready(struct process *process, struct watch *watch,
                                  struct failure *failure)
{
    const int64_t began_us = monotonic_us();
    const int64_t limit_us = began_us + (int64_t)READY_SECONDS * 1000000;
    const int64_t hurried_us = began_us + (int64_t)HURRIED_SECONDS * 1000000;
    int64_t garbage_us = INT64_MAX;
    for (;; watch_await(watch)) {
        struct failure why = {0};
        bool is_garbage = false;
        if (process_check(process, failure))
            return FAIL_UNAVAILABLE;
        enum fail fail = is_ready(process, &is_garbage, &why);
        if (fail != FAIL_UNKNOWN)
            return fail ? failure_set(failure, fail, "%s", why.text) : FAIL_NONE;
        /* Ours may still find that somebody else has the port: then it ends, and says so. */
        if (is_garbage && garbage_us == INT64_MAX)
            garbage_us = monotonic_us() + GARBAGE_US;
        if (monotonic_us() > garbage_us)
            return failure_set(failure, FAIL_UNAVAILABLE, "%s", why.text);
        if (heeded && *heeded && monotonic_us() > hurried_us)
            return failure_set(failure, FAIL_UNAVAILABLE,
                               "it was not ready before picklock was told to end: %s", why.text);
        if (monotonic_us() > limit_us)
            return failure_set(failure, FAIL_UNAVAILABLE, "it was not ready within %d s: %s",
                               READY_SECONDS, why.text);
    }
}

enum fail process_await_ready(struct process *process, struct failure *failure)
{
    struct watch watch;
    watch_open(&watch, process); /* before the first look, so that nothing is missed */
    enum fail fail = look_until_ready(process, &watch, failure);
    watch_shut(&watch);
    return fail;
}

/* --- steered --- */

static int64_t real_us(void)
{
    struct timespec real;
    (void)clock_gettime(CLOCK_REALTIME, &real);
    return (int64_t)real.tv_sec * 1000000 + real.tv_nsec / 1000;
}

enum fail process_prove_clock(struct process *process, struct failure *failure)
{
    const bool runs = atomic_load(&process->clock->mode) == CLOCK_RUNS;
    const int64_t before_us = clock_runs_us(process->clock, real_us());
    int64_t now_us = 0;
    if (control_time_us(process->control, &now_us, failure))
        return FAIL_UNAVAILABLE;
    if (runs ? now_us >= before_us && now_us <= clock_runs_us(process->clock, real_us())
             : now_us == clock_says_us(process->clock))
        return FAIL_NONE;
    return failure_set(
        failure, FAIL_UNAVAILABLE,
        "its clock cannot be steered: it is %" PRId64
        " us away from what it was set to. The library "
        "preloaded for that (LD_PRELOAD) is dropped by a wrapper that unsets it, and by a program "
        "with "
        "file capabilities, set-user-id, statically linked or from a snap; name another with "
        "--redis-server, or let leases run out in real time with --real-time",
        now_us - clock_says_us(process->clock));
}

/* Twice, around a step of the clock: once could be an accident. */
enum fail process_prove_steered(struct process *process, struct failure *failure)
{
    if (process_prove_clock(process, failure))
        return FAIL_UNAVAILABLE;
    clock_advance(process->clock, 1);
    enum fail fail = process_prove_clock(process, failure);
    clock_advance(process->clock, -1);
    return fail;
}
