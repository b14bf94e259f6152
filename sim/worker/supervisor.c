/* supervisor.c - see supervisor.h. Sources: prctl(2), PR_SET_CHILD_SUBREAPER and PR_SET_PDEATHSIG;
 * proc(5), /proc/PID/task/TID/children; sigwaitinfo(2). */
#include "worker/supervisor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN_BYTES = 4096, PATH_BYTES = 96 };

/* The process ids of the children of a thread, as a text; "" where nobody says it. */
static void read_children(int process, int thread, char text[CHILDREN_BYTES])
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", process, thread);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = descriptor < 0 ? 0 : read(descriptor, text, CHILDREN_BYTES - 1);
    text[got > 0 ? got : 0] = '\0';
    if (descriptor >= 0)
        (void)close(descriptor);
}

/* --- in the supervisor --- */

static void kill_children(void)
{
    char text[CHILDREN_BYTES], *rest = text;
    read_children((int)getpid(), (int)getpid(), text);
    for (long child; (child = strtol(rest, &rest, 10)) > 0;)
        (void)kill((pid_t)child, SIGKILL);
}

/* Who dies leaves its children to us: until there are none. */
static void kill_all(int worker)
{
    for (;;) {
        (void)kill(-worker, SIGKILL); /* it leads a session */
        (void)kill(worker, SIGKILL);
        kill_children();
        if (waitpid(-1, NULL, 0) < 0 && errno != EINTR)
            return;
    }
}

static _Noreturn void end_like(int status)
{
    if (WIFSIGNALED(status)) {
        sigset_t all;
        (void)prctl(PR_SET_DUMPABLE, 0);
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)sigemptyset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        (void)kill(getpid(), WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

/* Until the worker has ended: how; or -1: we are told to end. */
static int wait_for_end(int worker, const sigset_t *waited)
{
    for (;;) {
        int status = 0, ended;
        while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
            if (ended == worker)
                return status;
        if (sigwaitinfo(waited, NULL) == SIGTERM)
            return -1;
    }
}

_Noreturn void supervisor_run(int parent, int tell, void (*begin)(void *context), void *context)
{
    sigset_t all;
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0);
    const int supervisor = (int)getpid();
    int worker = fork();
    if (worker == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != supervisor)
            _exit(0);
        begin(context);
        _exit(127);
    }
    worker = worker < 0 ? -errno : worker;
    const ssize_t told = write(tell, &worker, sizeof worker);
    (void)told;
    if (worker <= 0)
        _exit(127);
    (void)close_range(0, ~0U, 0); /* what we hold open nobody else could shut */
    const int status = wait_for_end(worker, &all);
    kill_all(worker);
    end_like(status < 0 ? SIGKILL : status);
}

/* --- in picklock --- */

bool supervisor_has_more(int supervisor, int worker)
{
    char path[PATH_BYTES], text[CHILDREN_BYTES], *rest = text;
    int others = 0;
    read_children(supervisor, supervisor, text);
    for (long child; (child = strtol(rest, &rest, 10)) > 0;)
        others += child != worker;
    (void)snprintf(path, sizeof path, "/proc/%d/task", worker);
    DIR *threads = opendir(path);
    for (const struct dirent *entry; threads && (entry = readdir(threads));) {
        const int thread = (int)strtol(entry->d_name, NULL, 10);
        if (!thread)
            continue;
        read_children(worker, thread, text);
        others += text[0] != '\0';
    }
    if (threads)
        (void)closedir(threads);
    return others > 0;
}

bool supervisor_has_lost(int worker)
{
    char path[PATH_BYTES], text[CHILDREN_BYTES];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", worker);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = descriptor < 0 ? 0 : read(descriptor, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    if (descriptor >= 0)
        (void)close(descriptor);
    /* "123 (name) Z ...": a name may have anything in it, blanks and brackets too. */
    const char *state = strrchr(text, ')');
    return !state || state[2] == 'Z' || state[2] == 'X';
}
