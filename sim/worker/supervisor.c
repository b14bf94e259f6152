/* supervisor.c - see supervisor.h. Sources: prctl(2), PR_SET_CHILD_SUBREAPER and PR_SET_PDEATHSIG;
 * proc(5), /proc/PID/task/TID/children; sigwaitinfo(2). */
#include "worker/supervisor.h"

#include "live/spawn.h"
#include "worker/calls/calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

bool supervisor_is_to_end(int number, int parent)
{
    return number == SIGTERM || (number == SIGCONT && getppid() != parent);
}

static void tell(int to, int what)
{
    const ssize_t told = write(to, &what, sizeof what);
    (void)told;
}

/* Until a command has ended, which is told, and is waited for by nobody before all has. May what it
 * left behind stay? */
static bool wait_for_order(int command, int parent, const sigset_t *waited)
{
    bool has_ended = false;
    for (;;) {
        siginfo_t ended = {0};
        while (!has_ended && waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               ended.si_pid) {
            has_ended = ended.si_pid == command;
            if (has_ended)
                tell(0, ended.si_code == CLD_EXITED ? ended.si_status : -ended.si_status);
            else
                (void)waitpid(ended.si_pid, NULL, 0);
            ended.si_pid = 0;
        }
        const int number = sigwaitinfo(waited, NULL);
        if (number == SUPERVISOR_LEAVE && has_ended)
            return true;
        if (supervisor_is_to_end(number, parent))
            return false;
    }
}

/* A group of its own: no terminal's signal reaches it. At a terminal in picklock's session, so that
 * a shell that is the command can stop and go on as any shell of that session. Elsewhere not: the
 * command's parent would be all that connects picklock's group with the session, and as it ends the
 * kernel hangs up on that whole group where anybody in it is stopped. */
static void leave_group(void)
{
    const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0) {
        (void)setsid();
        return;
    }
    (void)close(terminal);
    (void)setpgid(0, 0);
}

static _Noreturn void run_command(const struct supervised *supervised, int command,
                                  const sigset_t *waited)
{
    leave_group();
    (void)dup2(supervised->ended, 0);
    (void)close_range(1, ~0U, 0);
    if (!wait_for_order(command, supervised->parent, waited))
        kill_all(command);
    _exit(0);
}

/* Until the worker has ended: how; or -1: we are to end. */
static int wait_for_end(int worker, int parent, const sigset_t *waited)
{
    for (;;) {
        int status = 0, ended;
        while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
            if (ended == worker)
                return status;
        if (supervisor_is_to_end(sigwaitinfo(waited, NULL), parent))
            return -1;
    }
}

static _Noreturn void run_worker(const struct supervised *supervised, int supervisor, int socket)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor)
        _exit(0);
    const int error = supervised->page ? calls_give(socket) : 0;
    if (error)
        tell(supervised->tell, -error);
    else
        supervised->begin(supervised->context);
    _exit(127);
}

/* Nothing else of picklock's stays open: nobody else could shut it. */
static void keep_only(int *socket, int *to)
{
    const int high = fcntl(*to, F_DUPFD, 3);
    (void)dup2(*socket, 0);
    (void)dup2(high, 1);
    (void)close_range(2, ~0U, 0);
    *socket = 0;
    *to = 1;
}

/* As wait_for_end(), and answers its calls until then. */
static int answer_calls(const struct supervised *supervised, int worker, int socket,
                        const sigset_t *waited)
{
    int to = supervised->tell, error;
    keep_only(&socket, &to);
    struct calls *calls = calls_take(worker, socket, supervised->page, &error);
    if (error != ECHILD) /* which has said why itself */
        tell(to, error ? -error : worker);
    (void)close(to);
    (void)close(socket);
    return error ? -1 : calls_serve(calls, supervised->parent, waited);
}

_Noreturn void supervisor_run(const struct supervised *supervised)
{
    sigset_t all;
    int ends[2] = {-1, -1};
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    if (!supervised->is_command)
        (void)setsid();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT);
    if (getppid() != supervised->parent)
        _exit(0);
    const int supervisor = (int)getpid();
    const bool is_open =
        !supervised->page || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
    int worker = is_open ? fork() : -1;
    if (worker == 0)
        run_worker(supervised, supervisor, ends[1]);
    if (worker < 0 || !supervised->page)
        tell(supervised->tell, worker < 0 ? -errno : worker);
    if (worker < 0)
        _exit(127);
    if (supervised->is_command)
        run_command(supervised, worker, &all);
    if (!supervised->page)
        (void)close_range(0, ~0U, 0);
    else
        (void)close(ends[1]);
    const int status = supervised->page ? answer_calls(supervised, worker, ends[0], &all)
                                        : wait_for_end(worker, supervised->parent, &all);
    kill_all(worker);
    end_like(status < 0 ? SIGKILL : status);
}

/* --- in picklock --- */

/* Two things are told, in either order: the worker's number, and the errno if it cannot be run. */
int supervisor_await_begin(int supervisor, int tell, int *worker)
{
    int error = 0, told = 0;
    ssize_t got;
    *worker = 0;
    while ((got = spawn_read(tell, supervisor, *worker, &told, sizeof told)) > 0) {
        if (got != (ssize_t)sizeof told)
            continue;
        *worker = told > 0 ? told : *worker;
        error = told > 0 ? error : -told;
    }
    if (!error && *worker)
        return 0;
    (void)kill(supervisor, SIGTERM); /* that of a command asks what is to be */
    (void)spawn_await_end(supervisor);
    return error ? error : ECHILD;
}

/* The first child of that thread but for that one, and for those that have ended; 0: none. */
static int find_child(int process, int thread, int but, bool is_alive)
{
    char text[CHILDREN_BYTES], *rest = text;
    int child = 0;
    read_children(process, thread, text);
    do
        child = (int)strtol(rest, &rest, 10);
    while (child && (child == but || (is_alive && supervisor_has_lost(child))));
    return child;
}

int supervisor_find_more(int supervisor, int worker, bool is_alive)
{
    char path[PATH_BYTES];
    int more = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", worker);
    DIR *threads = opendir(path);
    for (const struct dirent *entry; threads && !more && (entry = readdir(threads));) {
        const int thread = (int)strtol(entry->d_name, NULL, 10);
        if (thread)
            more = find_child(worker, thread, worker, is_alive);
    }
    if (threads)
        (void)closedir(threads);
    return more ? more : find_child(supervisor, supervisor, worker, is_alive);
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
