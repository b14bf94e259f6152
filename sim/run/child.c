/* child.c - see child.h. */
#include "run/child.h"

#include "live/processor.h"
#include "live/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Signals of a terminal are for its parent, who ends it. */
static _Noreturn void child_run(const char *name, int parent, child_work *work, void *context)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    (void)setsid();
    (void)prctl(PR_SET_NAME, name);
    work(context);
    _exit(0);
}

bool child_start(struct child_process *it, const char *name, child_work *work, void *context)
{
    int ends[2], parent = (int)getpid();
    *it = (struct child_process){.socket = -1};
    if (!processor_has_others() || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    (void)fflush(stdout); /* once is enough, should the child run out of memory */
    const int pid = (int)fork();
    if (pid == 0) {
        (void)close(ends[0]);
        it->socket = ends[1];
        child_run(name, parent, work, context);
    }
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return false;
    }
    *it = (struct child_process){.pid = pid, .socket = ends[0]};
    return true;
}

void child_kill(struct child_process *it)
{
    if (!it->pid)
        return;
    (void)shutdown(it->socket, SHUT_RDWR);
    (void)kill(it->pid, SIGTERM);
    (void)spawn_await_end(it->pid);
    it->pid = 0;
}

void child_end(struct child_process *it)
{
    child_kill(it);
    if (it->socket >= 0)
        (void)close(it->socket);
    it->socket = -1;
}

bool child_say(const struct child_process *it, const void *bytes, size_t size, enum child_wait wait)
{
    const int flags = MSG_NOSIGNAL | (wait == CHILD_DOES_NOT_WAIT ? MSG_DONTWAIT : 0);
    ssize_t sent;
    do
        sent = send(it->socket, bytes, size, flags);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)size;
}

size_t child_heed(const struct child_process *it, void *bytes, size_t size,
                  const volatile int *stop)
{
    ssize_t got = -1;
    errno = EINTR;
    while (got < 0 && errno == EINTR && !(stop && *stop))
        got = recv(it->socket, bytes, size, 0);
    return got > 0 ? (size_t)got : 0;
}

bool child_has_news(const struct child_process *it, int within_ms)
{
    struct pollfd ready = {.fd = it->socket, .events = POLLIN};
    return poll(&ready, 1, within_ms) > 0;
}

size_t child_hear(struct child_process *it, void *bytes, size_t size, int within_ms)
{
    if (!it->pid)
        return 0;
    if (!child_has_news(it, within_ms)) {
        if (within_ms >= CHILD_LOOK_MS)
            (void)kill(it->pid, SIGCONT);
        return 0;
    }
    const ssize_t got = recv(it->socket, bytes, size, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (got <= 0)
        child_kill(it);
    return got > 0 ? (size_t)got : 0;
}
