/* spawn.c - see spawn.h. Source: prctl(2), PR_SET_PDEATHSIG. */
#include "live/spawn.h"

#include "live/clock.h"
#include "live/processor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the child, between fork and exec --- */

static void child_streams(const char *log)
{
    int in = open("/dev/null", O_RDONLY);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in >= 0)
        (void)dup2(in, STDIN_FILENO);
    if (out >= 0) {
        (void)dup2(out, STDOUT_FILENO);
        (void)dup2(out, STDERR_FILENO);
    }
}

/* Ends with the errno of the step that failed in the pipe; a good exec closes the pipe. */
static _Noreturn void child_run(const struct spawn_options *options, char *const *arguments,
                                int parent, int tell)
{
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    processor_begin_child();
    /* The parent may have gone before the line above: then nobody would kill us. */
    if (getppid() != parent)
        _exit(0);
    (void)setsid(); /* Ctrl-C at the terminal is for picklock, which ends its servers itself */
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    child_streams(options->log);
    int error = 0;
    if (options->shim && clock_preload(options->shim, options->page, options->reads, NULL))
        error = ENOMEM;
    if (!error) {
        (void)execvp(arguments[0], arguments);
        error = errno;
    }
    ssize_t told = write(tell, &error, sizeof error);
    (void)told;
    _exit(127);
}

enum { LOOK_MS = 100 };

static void let_go_on(int child)
{
    if (child) {
        (void)kill(child, SIGCONT);
        (void)kill(-child, SIGCONT); /* once it leads a session */
    }
}

ssize_t spawn_read(int from, int child, int grandchild, void *bytes, size_t size)
{
    struct pollfd ready = {.fd = from, .events = POLLIN};
    ssize_t got;
    do {
        while (poll(&ready, 1, LOOK_MS) <= 0) {
            let_go_on(child);
            let_go_on(grandchild);
        }
        got = read(from, bytes, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

int spawn_await_end(int pid)
{
    int status = 0;
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    bool has_ended = ended.fd < 0; /* before Linux 5.3: as long as it takes */
    for (int i = 0; !has_ended && i < SPAWN_END_S * 1000 / LOOK_MS; i++) {
        has_ended = poll(&ended, 1, LOOK_MS) > 0;
        if (!has_ended)
            (void)kill(pid, SIGCONT);
    }
    if (!has_ended)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (ended.fd >= 0)
        (void)close(ended.fd);
    return status;
}

int spawn(const struct spawn_options *options, char *const *arguments, int *error)
{
    int ends[2], parent = (int)getpid();
    *error = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        *error = errno;
        return -1;
    }
    int pid = fork();
    if (pid == 0)
        child_run(options, arguments, parent, ends[1]);
    *error = pid < 0 ? errno : 0;
    (void)close(ends[1]);
    if (pid > 0)
        (void)spawn_read(ends[0], pid, 0, error, sizeof *error);
    (void)close(ends[0]);
    if (pid > 0 && *error) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return -1;
    }
    return pid;
}
