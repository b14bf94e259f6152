/* carrier_start.c - the life of the processes that hold sockets. See carrier.h. */
#include "proxy/carrier_parts.h"

#include "base/memory.h"
#include "base/units.h"
#include "proxy/carrier_rows.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    DESCRIPTORS_OF_CARRIER = 32, /* its channels, its events, and what it cannot help */
    STREAMS = 3,
    HOW_MAX = 100,
};

int64_t carrier_room(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= DESCRIPTORS_OF_CARRIER)
        return 0;
    const rlim_t files = limit.rlim_cur > INT32_MAX ? INT32_MAX : limit.rlim_cur;
    return ((int64_t)files - DESCRIPTORS_OF_CARRIER) / 2;
}

static int apart(int fd, int from)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, from);
    return copy < 0 ? fd : copy;
}

/* Signals of a terminal are for us, who end it. */
static _Noreturn void child(int parent, int rows, int sockets)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0); /* it went before the line above */
    (void)setsid();
    (void)prctl(PR_SET_NAME, "picklock-proxy");
    const int nowhere = open("/dev/null", O_RDWR);
    rows = apart(rows, STREAMS + 2);
    sockets = apart(sockets, STREAMS + 2);
    for (int i = 0; nowhere >= 0 && i < STREAMS; i++)
        (void)dup2(nowhere, i);
    (void)dup2(rows, STREAMS);
    (void)dup2(sockets, STREAMS + 1);
    (void)close_range(STREAMS + 2, ~0U, 0);
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_IGN);
    if (send(STREAMS + 1, "", 1, MSG_NOSIGNAL) != 1) /* has nothing of its maker's open any more */
        _exit(1);
    carrier_run(STREAMS, STREAMS + 1);
}

/* NULL: yes; else why not. */
static const char *not_begun(const struct carriers *carriers, int sockets)
{
    struct pollfd first = {.fd = sockets, .events = POLLIN};
    char byte;
    for (int silent = 0; silent < carriers_patience(carriers); silent++)
        if (poll(&first, 1, carriers->tick_ms) > 0)
            return recv(sockets, &byte, 1, MSG_DONTWAIT) == 1 ? NULL : "it ended at once";
    return "it did not begin in time";
}

static void bury(int pid, struct rusage *used)
{
    (void)kill(pid, SIGKILL); /* it may have been stopped */
    while (wait4(pid, NULL, 0, used) < 0 && errno == EINTR)
        ;
}

static enum fail start(struct carriers *carriers, struct carrier *carrier, struct failure *failure)
{
    int rows[2], sockets[2];
    const int parent = (int)getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, rows) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "socketpair: %s", strerror(errno));
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        const int error = errno;
        (void)close(rows[0]);
        (void)close(rows[1]);
        return failure_set(failure, FAIL_UNAVAILABLE, "socketpair: %s", strerror(error));
    }
    carrier->pid = (int)fork();
    const int error = errno;
    if (carrier->pid == 0)
        child(parent, rows[1], sockets[1]);
    (void)close(rows[1]);
    (void)close(sockets[1]);
    const char *why = carrier->pid < 0 ? strerror(error) : not_begun(carriers, sockets[0]);
    if (why) {
        (void)close(rows[0]);
        (void)close(sockets[0]);
        if (carrier->pid > 0)
            bury(carrier->pid, NULL);
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "no process to hold connections of the proxy: %s", why);
    }
    carrier->carriers = carriers;
    carrier->rows = rows[0];
    carrier->sockets = sockets[0];
    int broken = uv_poll_init(carriers->loop, &carrier->poll, carrier->rows);
    assert(!broken);
    broken = uv_poll_init(carriers->loop, &carrier->room, carrier->sockets);
    assert(!broken);
    carrier->poll.data = carrier->room.data = carrier;
    carriers->handles += 2;
    carriers->count++;
    carrier_poll_for(carrier, UV_READABLE);
    uv_unref((uv_handle_t *)&carrier->poll);
    uv_unref((uv_handle_t *)&carrier->room);
    return FAIL_NONE;
}

enum fail carriers_start(struct carriers **made, uv_loop_t *loop, int processes,
                         const volatile int *stop, struct failure *failure)
{
    struct carriers *carriers = memory_new(1, sizeof *carriers);
    assert(processes > 0 && processes <= CARRIERS_MAX);
    carriers->loop = loop;
    carriers->stop = stop;
    carriers->tick_ms = CARRIER_TICK_MS;
    carriers->flush.data = carriers->idle.data = carriers->tick.data = carriers;
    (void)uv_prepare_init(loop, &carriers->flush);
    (void)uv_prepare_start(&carriers->flush, carriers_flush);
    (void)uv_idle_init(loop, &carriers->idle);
    (void)uv_timer_init(loop, &carriers->tick);
    (void)uv_timer_start(&carriers->tick, carriers_ask, CARRIER_TICK_MS, CARRIER_TICK_MS);
    uv_unref((uv_handle_t *)&carriers->flush);
    uv_unref((uv_handle_t *)&carriers->tick);
    carriers->handles = 3;
    *made = carriers;
    for (int i = 0; i < processes; i++)
        if (start(carriers, &carriers->rows[i], failure)) {
            (void)carriers_stop(carriers);
            *made = NULL;
            return failure->code;
        }
    return FAIL_NONE;
}

int64_t carriers_room(const struct carriers *carriers)
{
    return carriers->count * carrier_room();
}

int64_t carriers_held(const struct carriers *carriers)
{
    int64_t held = 0;
    for (int i = 0; i < carriers->count; i++)
        held += carriers->rows[i].held -
                (int64_t)(block_length(&carriers->rows[i].unsent) / sizeof(struct unsent_socket));
    return held;
}

int64_t carriers_used(const struct carriers *carriers)
{
    int64_t used = 0;
    for (int i = 0; i < carriers->count; i++)
        used += carriers->rows[i].used;
    return used;
}

bool carriers_are_empty(const struct carriers *carriers)
{
    return carriers_used(carriers) == 0;
}

/* It stays to be waited for; its channels end just before it does. */
static const char *how_it_ended(const struct carrier *carrier, char words[HOW_MAX])
{
    siginfo_t ended = {0};
    while (waitid(P_PID, (id_t)carrier->pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    if (ended.si_code != CLD_EXITED)
        (void)snprintf(words, HOW_MAX, "killed by signal %d", ended.si_status);
    else if (ended.si_status == CARRIER_NO_ROOM)
        (void)snprintf(words, HOW_MAX,
                       "it could not take one more socket: raise the limit of open "
                       "files (ulimit -n)");
    else if (ended.si_status == FAIL_INTERNAL)
        (void)snprintf(words, HOW_MAX, "it was out of memory");
    else
        (void)snprintf(words, HOW_MAX, "status %d", ended.si_status);
    return words;
}

static enum fail tell_end(const struct carrier *carrier, struct failure *failure)
{
    char words[HOW_MAX], silent[UNITS_TEXT_MAX];
    if (!carrier->has_gone_silent)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "a process that held connections of the proxy has ended (process %d: "
                           "%s)",
                           carrier->pid, how_it_ended(carrier, words));
    units_print_duration((int64_t)carrier->silent * carrier->carriers->tick_ms * 1000, silent);
    return failure_set(failure, FAIL_UNAVAILABLE,
                       "a process that held connections of the proxy did not answer for %s "
                       "(process %d: was it stopped?)",
                       silent, carrier->pid);
}

enum fail carriers_check(const struct carriers *carriers, struct failure *failure)
{
    for (int i = 0; i < carriers->count; i++)
        if (carriers->rows[i].has_ended)
            return tell_end(&carriers->rows[i], failure);
    return FAIL_NONE;
}

static void closed(uv_handle_t *handle)
{
    struct carriers *carriers = handle->data;
    if (handle->type == UV_POLL)
        carriers = ((struct carrier *)handle->data)->carriers;
    if (--carriers->handles == 0)
        free(carriers);
}

/* What it has used of a processor. */
static int64_t end(struct carrier *carrier)
{
    struct rusage used = {0};
    assert(!carrier->held);
    if (!carrier->has_ended)
        carrier_lost(carrier);
    (void)close(carrier->sockets);
    (void)close(carrier->rows);
    bury(carrier->pid, &used); /* it holds nothing any more */
    block_free(&carrier->in);
    block_free(&carrier->out);
    free(carrier->carried);
    free(carrier->free);
    uv_close((uv_handle_t *)&carrier->poll, closed);
    uv_close((uv_handle_t *)&carrier->room, closed);
    return (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
           used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

int64_t carriers_stop(struct carriers *carriers)
{
    int64_t cpu_us = 0;
    if (!carriers)
        return 0;
    for (int i = 0; i < carriers->count; i++)
        cpu_us += end(&carriers->rows[i]);
    uv_close((uv_handle_t *)&carriers->flush, closed);
    uv_close((uv_handle_t *)&carriers->idle, closed);
    uv_close((uv_handle_t *)&carriers->tick, closed);
    return cpu_us;
}
