/* launch.c - see launch.h. Sources: execve(2), prctl(2), PR_SET_PDEATHSIG; ld.so(8), LD_PRELOAD;
 * node(1), NODE_OPTIONS. */
#include "worker/launch.h"

#include "live/processor.h"
#include "worker/calls/calls.h"
#include "worker/program.h"
#include "worker/runtime.h"
#include "worker/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

static int put_before(const char *name, const char *folder, const char *sub)
{
    char path[TIME_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, sub);
    return prepend(name, path);
}

/* Go: one goroutine at a time, put aside only where it waits, and no rounds of its collector before
 * there is something to collect. What the user set stays. */
static int environment_of_go(void)
{
    const char *old = getenv("GODEBUG");
    char debug[TIME_PATH_MAX];
    (void)snprintf(debug, sizeof debug, "%s%sasyncpreemptoff=1", old ? old : "",
                   old && *old ? "," : "");
    return setenv("GODEBUG", debug, 1) | setenv("GOMAXPROCS", "1", 1) | setenv("GOGC", "off", 0) |
           setenv("GOMEMLIMIT", "256MiB", 0);
}

/* Node.js loads the module that tells its program's reads of the clock before all else, also behind
 * a wrapper. */
static int environment_of_node(const char *folder)
{
    char path[2 * TIME_PATH_MAX], options[2 * sizeof path];
    size_t used = 0;
    for (const char *at = folder; *at && used < sizeof path - 3; at++) {
        if (*at == '"' || *at == '\\')
            path[used++] = '\\';
        path[used++] = *at;
    }
    path[used] = '\0';
    const char *old = getenv("NODE_OPTIONS");
    const int size =
        snprintf(options, sizeof options, "--require \"%s/node/picklock-clocks.js\"%s%s", path,
                 old && *old ? " " : "", old ? old : "");
    return size < 0 || size >= (int)sizeof options ? -1 : setenv("NODE_OPTIONS", options, 1);
}

/* What makes a run the same each time: hashes, and no rings of the kernel beside the calls that are
 * steered. No address of a server but the one that it is given. Who may connect to nothing else
 * needs no certificates, and Node.js reads those for as long as all else takes that it does to
 * begin. */
static int child_environment(const struct worker_options *options, const char *page,
                             bool is_answered)
{
    static const char *const dropped[] = {"PICKLOCK_REDIS_URL", "REDIS_URL"};
    int error = 0;
    if (is_answered)
        error = environment_of_go();
    else if (options->shim)
        error = prepend("LD_PRELOAD", options->shim) | setenv(TIME_VARIABLE, page, 1);
    if (options->shim)
        error |= setenv("PYTHONHASHSEED", "0", 1) | setenv("UV_USE_IO_URING", "0", 1) |
                 unsetenv("NODE_EXTRA_CA_CERTS") | environment_of_node(options->helpers);
    error |= put_before("PYTHONPATH", options->helpers, "python") |
             put_before("NODE_PATH", options->helpers, "node") |
             put_before("RUBYLIB", options->helpers, "ruby");
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
    bool is_answered; /* its calls are, from outside */
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
    else if (child_environment(child->options, child->page, child->is_answered))
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

/* What its calls cannot be answered for, and the setting that forbids it. */
static enum fail not_answered(const char *program, int error, struct failure *failure)
{
    static const char lead[] = "has no C library that could be told the time, so its system calls "
                               "are answered from outside; but here";
    if (error & CALLS_NO_FILTER)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%s %s no filter of them can be set, seccomp(SECCOMP_SET_MODE_FILTER): "
                           "%s. It needs Linux 5.6 on x86-64, and a container that permits it "
                           "(docker run --security-opt seccomp=unconfined)",
                           program, lead, strerror(error & ~CALLS_NO_FILTER));
    return failure_set(failure, FAIL_UNAVAILABLE,
                       "%s %s nobody may look into another process of his own: %s. The setting is "
                       "kernel.yama.ptrace_scope (sysctl; at most 1), and in a container "
                       "--cap-add=SYS_PTRACE or --security-opt seccomp=unconfined",
                       program, lead, strerror(error & ~CALLS_NO_ACCESS));
}

/* The first folder on the way to that program that is not there; 0: all are. Its size in program.
 */
static size_t missing_folder(const char *program)
{
    char folder[256];
    for (const char *at = strchr(program + 1, '/'); at; at = strchr(at + 1, '/')) {
        const size_t size = (size_t)(at - program);
        if (size >= sizeof folder)
            break;
        (void)snprintf(folder, sizeof folder, "%.*s", (int)size, program);
        if (access(folder, F_OK) != 0)
            return size;
    }
    return 0;
}

/* Why there is no such file: a virtual environment, say, that nobody has made. */
static void not_there(const char *program, char *words, size_t size)
{
    const char *package = runtime_package(program);
    const size_t folder = missing_folder(program);
    struct stat link;
    if (folder)
        (void)snprintf(words, size, ": there is no folder %.*s", (int)folder, program);
    else if (access(program, F_OK) == 0)
        (void)snprintf(words, size, ": it is here, but not what its first line says that runs it");
    else if (lstat(program, &link) == 0)
        (void)snprintf(words, size, ": it is a link to what is not here");
    else if (package)
        (void)snprintf(words, size, " (the Debian package %s has it)", package);
}

static enum fail not_run(const char *program, int error, struct failure *failure)
{
    if (error & (CALLS_NO_FILTER | CALLS_NO_ACCESS))
        return not_answered(program, error, failure);
    if (error == EACCES && access(program, R_OK) == 0)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%s cannot be run: it is not executable; name what runs it, as in "
                           "'python3 %s', or chmod +x",
                           program, program);
    if (error == ENOENT && !strchr(program, '/') && access(program, R_OK) == 0)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%s cannot be run: it is here, but not on the PATH; name what runs it, "
                           "as in 'python3 %s', or ./%s",
                           program, program, program);
    const char *assigned = strchr(program, '=');
    if (error == ENOENT && assigned && (size_t)(assigned - program) == strcspn(program, "=/"))
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%s cannot be run: no shell reads the command; set the environment "
                           "before picklock, or begin the command with env: 'env %s ..'",
                           program, program);
    char more[256] = "";
    if (error == ENOENT)
        not_there(program, more, sizeof more);
    return failure_set(failure, FAIL_UNAVAILABLE, "%s cannot be run: %s%s", program,
                       strerror(error), more);
}

enum fail launch(struct launched *launched, char *const *words,
                 const struct worker_options *options, const char *page, struct failure *failure)
{
    struct pipes pipes;
    const int parent = (int)getpid();
    const bool is_answered = options->shim && program_lacks_library(words[0]);
    int error = open_all(&pipes) ? 0 : errno, pid = 0;
    int supervisor = error ? -1 : fork();
    if (supervisor == 0) {
        processor_begin_child();
        struct launching child = {.words = words,
                                  .options = options,
                                  .page = page,
                                  .is_answered = is_answered,
                                  .pipes = &pipes};
        supervisor_run(&(struct supervised){.parent = parent,
                                            .tell = pipes.tell[1],
                                            .page = is_answered ? page : NULL,
                                            .begin = child_run,
                                            .context = &child});
    }
    if (supervisor < 0) {
        error = error ? error : errno;
        shut_all(&pipes);
        return failure_set(failure, FAIL_UNAVAILABLE, "no process can be started: %s",
                           strerror(error));
    }
    (void)close(pipes.tell[1]);
    pipes.tell[1] = 0;
    error = supervisor_await_begin(supervisor, pipes.tell[0], &pid);
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
