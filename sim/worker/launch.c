/* launch.c - see launch.h. Sources: execve(2), prctl(2), PR_SET_PDEATHSIG; ld.so(8), LD_PRELOAD. */
#include "worker/launch.h"

#include "worker/runtime.h"
#include "worker/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Puts value in front of what the variable says already, so that what the user set stays. */
static int prepend(const char *name, const char *value)
{
    char text[2 * TIME_PATH_MAX];
    const char *old = getenv(name);
    if (!old || !*old)
        return setenv(name, value, 1);
    int size = snprintf(text, sizeof text, "%s:%s", value, old);
    return size < 0 || size >= (int)sizeof text ? -1 : setenv(name, text, 1);
}

/* What makes a run the same each time: hashes, and no rings of the kernel beside the calls that are
 * steered. No address of a server but the one that it is given. */
static int child_environment(const struct worker_options *options, const char *page)
{
    static const char *const dropped[] = {"PICKLOCK_REDIS_URL", "REDIS_URL"};
    char path[TIME_PATH_MAX];
    int error = prepend("LD_PRELOAD", options->shim) | setenv(TIME_VARIABLE, page, 1) |
                setenv("PYTHONHASHSEED", "0", 1) | setenv("UV_USE_IO_URING", "0", 1);
    (void)snprintf(path, sizeof path, "%s/python", options->helpers);
    error |= prepend("PYTHONPATH", path);
    (void)snprintf(path, sizeof path, "%s/node", options->helpers);
    error |= prepend("NODE_PATH", path);
    (void)snprintf(path, sizeof path, "%s/ruby", options->helpers);
    error |= prepend("RUBYLIB", path);
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        error |= unsetenv(dropped[i]);
    return error;
}

struct pipes {
    int in[2], out[2], err[2], tell[2];
};

struct launching {
    char *const *words;
    const struct worker_options *options;
    const char *page;
    const struct pipes *pipes;
};

/* Ends with the negative errno of the step that failed in the pipe; a good exec closes the pipe. */
static void child_run(void *context)
{
    const struct launching *child = context;
    const struct pipes *pipes = child->pipes;
    sigset_t none;
    (void)setsid();
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    int error = 0;
    if (dup2(pipes->in[0], STDIN_FILENO) < 0 || dup2(pipes->out[1], STDOUT_FILENO) < 0 ||
        dup2(pipes->err[1], STDERR_FILENO) < 0)
        error = errno;
    else if (child_environment(child->options, child->page))
        error = ENOMEM;
    if (!error) {
        (void)execvp(child->words[0], child->words);
        error = errno;
    }
    error = -error;
    ssize_t told = write(pipes->tell[1], &error, sizeof error);
    (void)told;
}

static void shut(const int ends[2])
{
    if (ends[0])
        (void)close(ends[0]);
    if (ends[1])
        (void)close(ends[1]);
}

static void shut_all(const struct pipes *pipes)
{
    shut(pipes->in);
    shut(pipes->out);
    shut(pipes->err);
    shut(pipes->tell);
}

static bool open_all(struct pipes *pipes)
{
    *pipes = (struct pipes){0};
    return pipe2(pipes->in, O_CLOEXEC) == 0 && pipe2(pipes->out, O_CLOEXEC) == 0 &&
           pipe2(pipes->err, O_CLOEXEC) == 0 && pipe2(pipes->tell, O_CLOEXEC) == 0;
}

static enum fail not_run(const char *program, int error, struct failure *failure)
{
    const char *package = error == ENOENT ? runtime_package(program) : NULL;
    return failure_set(failure, FAIL_UNAVAILABLE, "%s cannot be run: %s%s%s%s", program,
                       strerror(error), package ? " (the Debian package " : "",
                       package ? package : "", package ? " has it)" : "");
}

/* Two things are told, in either order: the worker's number, and the errno if it cannot be run. */
static int wait_for_exec(int supervisor, int tell, int *worker)
{
    int error = 0, told = 0;
    ssize_t got;
    *worker = 0;
    while ((got = read(tell, &told, sizeof told)) > 0 || (got < 0 && errno == EINTR)) {
        if (got != (ssize_t)sizeof told)
            continue;
        *worker = told > 0 ? told : *worker;
        error = told > 0 ? error : -told;
    }
    if (!error && *worker)
        return 0;
    while (waitpid(supervisor, NULL, 0) < 0 && errno == EINTR)
        ;
    return error ? error : ECHILD;
}

enum fail launch(struct launched *launched, char *const *words,
                 const struct worker_options *options, const char *page, struct failure *failure)
{
    struct pipes pipes;
    const int parent = (int)getpid();
    int error = open_all(&pipes) ? 0 : errno, pid = 0;
    int supervisor = error ? -1 : fork();
    if (supervisor == 0) {
        struct launching child = {
            .words = words, .options = options, .page = page, .pipes = &pipes};
        supervisor_run(parent, pipes.tell[1], child_run, &child);
    }
    if (supervisor < 0) {
        error = error ? error : errno;
        shut_all(&pipes);
        return failure_set(failure, FAIL_UNAVAILABLE, "no process can be started: %s",
                           strerror(error));
    }
    (void)close(pipes.tell[1]);
    pipes.tell[1] = 0;
    error = wait_for_exec(supervisor, pipes.tell[0], &pid);
    if (error) {
        shut_all(&pipes);
        return not_run(words[0], error, failure);
    }
    *launched = (struct launched){.pid = pid,
                                  .supervisor = supervisor,
                                  .in = pipes.in[1],
                                  .out = pipes.out[0],
                                  .err = pipes.err[0]};
    pipes.in[1] = pipes.out[0] = pipes.err[0] = 0;
    shut_all(&pipes);
    const int ends[] = {launched->in, launched->out, launched->err};
    for (int i = 0; i < 3; i++)
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    return FAIL_NONE;
}
