/* process.c - see process.h. Source: prctl(2), PR_SET_PDEATHSIG; the redis.conf of
 * redis-server 7.0. */
#include "live/process.h"

#include "base/monotonic.h"
#include "live/control.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    READY_SECONDS = 20,
    GARBAGE_US = 1000000,
    PROBE_US = 200000,
    PORT_TRIES = 20,
    VERSION_MAJOR = 6,
    VERSION_MINOR = 2
};

#define TAKEN "Address already in use"

struct url process_url(const struct process *process)
{
    struct url url = {.host = "127.0.0.1", .port = process->port};
    (void)snprintf(url.shown, sizeof url.shown, "127.0.0.1:%d", process->port);
    return url;
}

/* A port that is free now. Somebody may take it before the server does: the server says so, and we
 * try the next. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int port = 0;
    if (listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 &&
        getsockname(listener, (struct sockaddr *)&address, &size) == 0)
        port = ntohs(address.sin_port);
    if (listener >= 0)
        (void)close(listener);
    return port;
}

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
static _Noreturn void child_run(const struct process_options *options, char *const *arguments,
                                const char *log, int parent, int tell)
{
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent may have gone before the line above: then nobody would kill us. */
    if (getppid() != parent)
        _exit(0);
    (void)setsid(); /* Ctrl-C at the terminal is for picklock, which ends its servers itself */
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    child_streams(log);
    int error = 0;
    if (options->shim && clock_preload(options->shim, options->page, NULL))
        error = ENOMEM;
    if (!error) {
        (void)execvp(arguments[0], arguments);
        error = errno;
    }
    ssize_t told = write(tell, &error, sizeof error);
    (void)told;
    _exit(127);
}

/* Forks and runs; *error is the errno when the program could not be run at all. */
static int spawn(const struct process_options *options, char *const *arguments, const char *log,
                 int *error)
{
    int ends[2], parent = (int)getpid();
    *error = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        *error = errno;
        return -1;
    }
    int pid = fork();
    if (pid == 0)
        child_run(options, arguments, log, parent, ends[1]);
    *error = pid < 0 ? errno : 0;
    (void)close(ends[1]);
    ssize_t got;
    do
        got = pid < 0 ? 0 : read(ends[0], error, sizeof *error);
    while (got < 0 && errno == EINTR);
    (void)close(ends[0]);
    if (pid > 0 && *error) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return -1;
    }
    return pid;
}

/* --- its log --- */

static void log_path(const struct process *process, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/log", process->folder);
}

/* The end of the log; and whether it says that the port was taken. */
static bool log_end(const struct process *process, char *text, size_t size)
{
    char path[PROCESS_PATH_MAX + 8];
    log_path(process, path, sizeof path);
    text[0] = '\0';
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    struct stat status;
    if (fstat(descriptor, &status) == 0 && status.st_size > (off_t)size - 1)
        (void)lseek(descriptor, status.st_size - (off_t)size + 1, SEEK_SET);
    ssize_t got = read(descriptor, text, size - 1);
    (void)close(descriptor);
    text[got > 0 ? got : 0] = '\0';
    return strstr(text, TAKEN) != NULL;
}

static enum fail how_it_ended(struct process *process, int status, struct failure *failure)
{
    char text[600], how[64];
    (void)log_end(process, text, sizeof text);
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        text[--length] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    if (WIFSIGNALED(status))
        (void)snprintf(how, sizeof how, "was killed by signal %d", WTERMSIG(status));
    else
        (void)snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(status));
    return failure_set(failure, FAIL_UNAVAILABLE, "redis-server %s%s%s", how,
                       *line ? "; its last output: " : "", line);
}

static void forget(struct process *process)
{
    control_shut(process->control);
    process->control = NULL;
    process->pid = 0;
}

enum fail process_check(struct process *process, struct failure *failure)
{
    int status;
    if (!process->pid)
        return failure_set(failure, FAIL_UNAVAILABLE, "redis-server is not running");
    if (waitpid(process->pid, &status, WNOHANG) != process->pid)
        return FAIL_NONE;
    forget(process);
    return how_it_ended(process, status, failure);
}

void process_kill(struct process *process)
{
    if (!process->pid)
        return;
    /* It leads a session: a server that a wrapper has started beside itself goes, too. */
    (void)kill(-process->pid, SIGKILL);
    (void)kill(process->pid, SIGKILL);
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    forget(process);
}

/* --- ready --- */

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
        return failure_set(failure, FAIL_UNAVAILABLE, "port %d: " TAKEN, process->port);
    control_field(info, "redis_mode", mode, sizeof mode);
    if (*mode && strcmp(mode, "standalone") != 0)
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
    const struct url url = process_url(process);
    if (control_open(&process->control, &url, failure))
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

static enum fail wait_until_ready(struct process *process, struct failure *failure)
{
    int64_t limit_us = monotonic_us() + (int64_t)READY_SECONDS * 1000000;
    int64_t garbage_us = INT64_MAX;
    const struct timespec between = {.tv_nsec = 1000000};
    for (;;) {
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
        if (monotonic_us() > limit_us)
            return failure_set(failure, FAIL_UNAVAILABLE, "it was not ready within %d s: %s",
                               READY_SECONDS, why.text);
        (void)nanosleep(&between, NULL);
    }
}

/* --- steered --- */

enum fail process_prove_clock(struct process *process, const struct clock_page *clock,
                              struct failure *failure)
{
    int64_t now_us = 0;
    if (control_time_us(process->control, &now_us, failure))
        return FAIL_UNAVAILABLE;
    if (now_us == clock_says_us(clock))
        return FAIL_NONE;
    return failure_set(
        failure, FAIL_UNAVAILABLE,
        "its clock cannot be steered: it is %" PRId64
        " us away from what it was set to. The library "
        "preloaded for that (LD_PRELOAD) is dropped by a wrapper that unsets it, and by a program "
        "with "
        "file capabilities, set-user-id, statically linked or from a snap; name another with "
        "--redis-server, or let leases run out in real time with --real-time",
        now_us - clock_says_us(clock));
}

/* Twice, around a step of the clock: once could be an accident. */
static enum fail prove_steered(struct process *process, struct clock_page *clock,
                               struct failure *failure)
{
    if (process_prove_clock(process, clock, failure))
        return FAIL_UNAVAILABLE;
    clock_advance(clock, 1);
    enum fail fail = process_prove_clock(process, clock, failure);
    clock_advance(clock, -1);
    return fail;
}

/* --- start --- */

/* Keeps nothing but what a full synchronisation of a replica writes for a moment. Without a disk in
 * between, the primary starts a new replica's stream only at its next acknowledgement, up to a
 * second later. */
static const char settings[] = "bind 127.0.0.1\n"
                               "save \"\"\n"
                               "appendonly no\n"
                               "jemalloc-bg-thread no\n" /* waits for instants: with a clock that
                                                             stands still it would spin */
                               "daemonize no\n"
                               "tcp-backlog 4096\n"
                               "maxclients 20000\n"
                               "hz 100\n"
                               "repl-diskless-sync no\n"
                               "repl-timeout 1000000000\n"
                               "maxmemory-policy volatile-lfu\n"
                               "lfu-log-factor 0\n"
                               "lfu-decay-time 0\n";

/* A text of the configuration, quoted as its reader wants it, whatever stands in a path. */
static void put_quoted(FILE *file, const char *text)
{
    (void)fputc('"', file);
    for (; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        bool is_plain = byte > ' ' && byte <= '~' && byte != '"' && byte != '\\';
        (void)fprintf(file, is_plain ? "%c" : "\\x%02x", byte);
    }
    (void)fputs("\"\n", file);
}

static enum fail write_settings(const struct process *process, const char *path,
                                struct failure *failure)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", path, strerror(errno));
    (void)fprintf(file, "%sport %d\ndir ", settings, process->port);
    put_quoted(file, process->folder);
    bool is_written = !ferror(file);
    if (fclose(file) == 0 && is_written)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", path, strerror(errno));
}

static enum fail start_at(struct process *process, const struct process_options *options, int port,
                          struct failure *failure)
{
    char conf[PROCESS_PATH_MAX + 8], log[PROCESS_PATH_MAX + 8];
    const char *program = options->program ? options->program : "redis-server";
    process->port = port;
    (void)snprintf(conf, sizeof conf, "%s/conf", process->folder);
    log_path(process, log, sizeof log);
    if (write_settings(process, conf, failure))
        return FAIL_UNAVAILABLE;
    const char *const arguments[] = {program, conf, NULL};
    int error;
    (void)unlink(log);
    process->pid = spawn(options, (char *const *)(uintptr_t)arguments, log, &error);
    if (process->pid > 0)
        return wait_until_ready(process, failure);
    process->pid = 0;
    return failure_set(failure, FAIL_UNAVAILABLE, "it cannot be run: %s%s", strerror(error),
                       error == ENOENT && !options->program
                           ? " (install it, or name one with --redis-server PATH)"
                           : "");
}

enum fail process_start(struct process *process, const struct process_options *options,
                        struct failure *failure)
{
    struct failure local, *why = failure ? failure : &local;
    memset(process, 0, sizeof *process);
    (void)snprintf(process->folder, sizeof process->folder, "%s", options->folder);
    if (mkdir(process->folder, 0700) != 0 && errno != EEXIST)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", process->folder, strerror(errno));
    for (int i = 0; i < PORT_TRIES; i++) {
        char text[600];
        int port = i == 0 && options->port ? options->port : free_port();
        if (port == 0)
            return failure_set(failure, FAIL_UNAVAILABLE,
                               "no free port on 127.0.0.1 for a redis-server");
        if (!start_at(process, options, port, why) &&
            (!options->clock || !prove_steered(process, options->clock, why)))
            return FAIL_NONE;
        bool was_taken = log_end(process, text, sizeof text) || strstr(why->text, TAKEN);
        process_kill(process);
        if (!was_taken)
            return failure_wrap(why, "%s", options->program ? options->program : "redis-server");
    }
    return failure_set(failure, FAIL_UNAVAILABLE,
                       "redis-server found every port taken that was tried (%d of them)",
                       PORT_TRIES);
}
