/* process.c - see process.h: start, check, kill. Whether it is ready is in process_ready.c. Source:
 * the redis.conf of redis-server 7.0. */
#include "live/process.h"

#include "live/control.h"
#include "live/spawn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORT_TRIES = 20 };

struct url process_url(const struct process *process)
{
    struct url url = {.host = "127.0.0.1", .port = process->port};
    (void)snprintf(url.shown, sizeof url.shown, "127.0.0.1:%d", process->port);
    return url;
}

/* A port that is free now. Somebody may take it before the server does: the server says so, and we
 * try the next. */
int process_free_port(void)
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

/* --- its log --- */

void process_log_path(const struct process *process, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/log", process->folder);
}

/* The end of the log; and whether it says that the port was taken. */
static bool log_end(const struct process *process, char *text, size_t size)
{
    char path[PROCESS_PATH_MAX + 8];
    process_log_path(process, path, sizeof path);
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
    return strstr(text, PROCESS_PORT_TAKEN) != NULL;
}

static enum fail how_it_ended(struct process *process, int status, struct failure *failure)
{
    const bool is_killed = WIFSIGNALED(status); /* then its log does not say why */
    char text[600], how[64];
    (void)log_end(process, text, sizeof text);
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        text[--length] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    if (is_killed)
        (void)snprintf(how, sizeof how, "was killed by signal %d", WTERMSIG(status));
    else
        (void)snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(status));
    return failure_set(failure, FAIL_UNAVAILABLE, "redis-server %s%s%s", how,
                       *line && !is_killed ? "; its last output: " : "", is_killed ? "" : line);
}

static void forget(struct process *process)
{
    process->strangers = process_strangers(process);
    control_shut(process->control);
    clock_page_shut(process->clock);
    read_log_shut(process->reads);
    free(process->settings);
    process->control = NULL;
    process->clock = NULL;
    process->reads = NULL;
    process->settings = NULL;
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

/* Our child: the system tells of a change when it has happened. */
static enum fail signal_and_wait(struct process *process, int number, int change,
                                 struct failure *failure)
{
    int status = 0, pid = 0;
    if (kill(process->pid, number) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "redis-server cannot be sent signal %d: %s",
                           number, strerror(errno));
    do
        pid = waitpid(process->pid, &status, change);
    while (pid < 0 && errno == EINTR);
    if (pid == process->pid && (change == WUNTRACED ? WIFSTOPPED(status) : WIFCONTINUED(status)))
        return FAIL_NONE;
    forget(process);
    return how_it_ended(process, status, failure);
}

enum fail process_stop(struct process *process, struct failure *failure)
{
    enum fail fail = process_check(process, failure);
    if (!fail)
        fail = signal_and_wait(process, SIGSTOP, WUNTRACED, failure);
    process->is_stopped = !fail;
    return fail;
}

enum fail process_go_on(struct process *process, struct failure *failure)
{
    if (!process->is_stopped)
        return FAIL_NONE;
    process->is_stopped = false;
    return signal_and_wait(process, SIGCONT, WCONTINUED, failure);
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

/* --- start --- */

/* Keeps nothing but what a full synchronisation of a replica writes for a moment. Without a disk in
 * between, the primary starts a new replica's stream only at its next acknowledgement, up to a
 * second later. hz: so often it looks whether what it writes to the disk is written.
 * jemalloc-bg-thread: that thread sleeps until an instant that it derives from a clock which stands
 * still, long ago: it would never sleep, and take a whole processor. */
static const char settings[] = "bind 127.0.0.1\n"
                               "save \"\"\n"
                               "daemonize no\n"
                               "tcp-backlog 4096\n"
                               "maxclients 20000\n"
                               "hz 500\n"
                               "jemalloc-bg-thread no\n"
                               "repl-diskless-sync no\n"
                               "repl-timeout 1000000000\n"
                               "maxmemory-policy " PROCESS_POLICY "\n"
                               "notify-keyspace-events " PROCESS_EVENTS "\n"
                               "lfu-log-factor 0\n"
                               "lfu-decay-time 0\n";

/* A node that says nothing is never taken for dead: what becomes of its slots we say. Before 7.0 no
 * port can be named, and the server ends with that. */
static const char cluster_settings[] = "cluster-enabled yes\n"
                                       "cluster-port %d\n"
                                       "cluster-node-timeout 1000000000\n"
                                       "cluster-require-full-coverage no\n";

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

static enum fail write_settings(const struct process *process, bool has_aof, const char *path,
                                struct failure *failure)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", path, fail_of_temporary(errno));
    (void)fprintf(file, "%sappendonly %s\nport %d\ndir ", settings, has_aof ? "yes" : "no",
                  process->port);
    put_quoted(file, process->folder);
    if (process->bus_port)
        (void)fprintf(file, cluster_settings, process->bus_port);
    bool is_written = !ferror(file);
    if (fclose(file) == 0 && is_written)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", path, fail_of_temporary(errno));
}

/* What it shares with the library preloaded into it. */
struct shared_paths {
    char page[PROCESS_PATH_MAX + 8], reads[PROCESS_PATH_MAX + 8];
};

static enum fail share(struct process *process, struct shared_paths *paths, struct failure *failure)
{
    (void)snprintf(paths->page, sizeof paths->page, "%s/clock", process->folder);
    (void)snprintf(paths->reads, sizeof paths->reads, "%s/reads", process->folder);
    (void)unlink(paths->page);
    (void)unlink(paths->reads);
    if (clock_page_open(&process->clock, paths->page, failure))
        return FAIL_UNAVAILABLE;
    clock_freeze_at(process->clock, CLOCK_EPOCH_US);
    /* No room for it: then nobody knows in which order it reads. */
    if (read_log_open(&process->reads, paths->reads, NULL))
        process->reads = NULL;
    return FAIL_NONE;
}

static enum fail begin_at(struct process *process, const struct process_options *options, int port,
                          struct failure *failure)
{
    char conf[PROCESS_PATH_MAX + 8], log[PROCESS_PATH_MAX + 8];
    struct shared_paths paths;
    const char *program = options->program ? options->program : "redis-server";
    process->port = port;
    (void)snprintf(conf, sizeof conf, "%s/conf", process->folder);
    process_log_path(process, log, sizeof log);
    if (write_settings(process, options->has_aof, conf, failure) ||
        (options->shim && share(process, &paths, failure)))
        return FAIL_UNAVAILABLE;
    const char *const arguments[] = {program, conf, NULL};
    const struct spawn_options child = {.log = log,
                                        .shim = options->shim,
                                        .page = paths.page,
                                        .reads = process->reads ? paths.reads : NULL};
    int error;
    (void)unlink(log);
    process->pid = spawn(&child, (char *const *)(uintptr_t)arguments, &error);
    if (process->pid > 0)
        return FAIL_NONE;
    forget(process);
    return failure_set(failure, FAIL_UNAVAILABLE, "it cannot be run: %s%s", strerror(error),
                       error == ENOENT && !options->program
                           ? " (install it, or name one with --redis-server PATH)"
                           : "");
}

enum fail process_begin(struct process *process, const struct process_options *options,
                        struct failure *failure)
{
    memset(process, 0, sizeof *process);
    (void)snprintf(process->folder, sizeof process->folder, "%s", options->folder);
    if (mkdir(process->folder, 0700) != 0 && errno != EEXIST)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", process->folder,
                           fail_of_temporary(errno));
    int port = options->port ? options->port : process_free_port();
    process->bus_port = options->is_clustered ? process_free_port() : 0;
    if (port == 0 || (options->is_clustered && process->bus_port == 0))
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "no free port on 127.0.0.1 for a redis-server");
    return begin_at(process, options, port, failure);
}

/* --- who connects --- */

enum fail process_dial(struct process *process, redisContext **control, struct failure *failure)
{
    const struct url url = process_url(process);
    const enum fail fail = control_open(control, &url, failure);
    process_note_dial(process, control_own_port(*control));
    return fail;
}

void process_note_dial(struct process *process, int from)
{
    if (process->reads && from)
        (void)atomic_fetch_sub(read_log_strangers(process->reads, from), 1);
}

/* It has accepted that one, which we have told of: unless the library that counts is not in it. */
static bool knows_our_control(const struct process *process)
{
    const int port = control_own_port(process->control);
    return process->reads && port && atomic_load(read_log_strangers(process->reads, port)) >= 0;
}

static int64_t count_more(union port_counts *ports)
{
    int64_t count = 0;
    for (int i = 0; i < READ_LOG_AT_ONCE; i++) {
        const int more = atomic_load(&ports->each[i]);
        count += more > 0 ? more : 0;
    }
    return count;
}

/* Before it is ready nobody is told where it is; who has found it makes it unfit. */
int64_t process_strangers(const struct process *process)
{
    int64_t count = 0;
    if (!process->pid || !process->control)
        return process->strangers;
    if (!process->tells_peers)
        return -1;
    union port_counts *const ports = process->reads->strangers;
    for (int i = 0; i < READ_LOG_PORTS / READ_LOG_AT_ONCE; i++)
        if (atomic_load_explicit(&ports[i].all, memory_order_relaxed))
            count += count_more(&ports[i]);
    return count;
}

/* What comes of a dial that we tell of only makes fewer of them. */
bool process_has_only_ours(struct process *process)
{
    if (!process->pid || !process->reads)
        return false;
    const uint32_t accepted = atomic_load(&process->reads->accepted);
    if (process->is_alone && accepted == process->alone_at)
        return true;
    process->is_alone = process_strangers(process) == 0;
    process->alone_at = accepted;
    return process->is_alone;
}

static enum fail become_ready(struct process *process, struct failure *failure)
{
    if (process_await_ready(process, failure) ||
        (process->clock && process_prove_steered(process, failure)))
        return FAIL_UNAVAILABLE;
    process->tells_peers = knows_our_control(process);
    if (process_strangers(process) > 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "port %d: " PROCESS_NOT_ALONE, process->port);
    return process_note_settings(process, failure);
}

enum fail process_finish(struct process *process, struct failure *failure)
{
    if (process->control)
        return FAIL_NONE;
    const enum fail fail = become_ready(process, failure);
    if (!fail)
        return FAIL_NONE;
    /* No worker was told of it, so that none was there, whether it tells who connects or not. */
    control_shut(process->control);
    process->control = NULL;
    return fail;
}

enum fail process_start(struct process *process, const struct process_options *options,
                        struct failure *failure)
{
    struct failure local, *why = failure ? failure : &local;
    for (int i = 0; i < PORT_TRIES; i++) {
        char text[600];
        struct process_options again = *options;
        again.port = i == 0 ? options->port : 0;
        if (!process_begin(process, &again, why) && !process_finish(process, why))
            return FAIL_NONE;
        bool was_taken = log_end(process, text, sizeof text) ||
                         strstr(why->text, PROCESS_PORT_TAKEN) ||
                         strstr(why->text, PROCESS_NOT_ALONE);
        process_kill(process);
        if (!was_taken)
            return failure_wrap(why, "%s", options->program ? options->program : "redis-server");
    }
    return failure_set(failure, FAIL_UNAVAILABLE,
                       "redis-server found every port taken that was tried (%d of them)",
                       PORT_TRIES);
}
