/* differential_server.h - a private redis-server on a unix socket whose wall clock stands still
 * until we move it.
 *
 * For differential.c alone, which is why it holds functions: test programs are one source file
 * each. Talks with hiredis, blocking; never opens a TCP port. The server dies with this process and
 * leaves no file behind. */
#ifndef PICKLOCK_TEST_DIFFERENTIAL_SERVER_H
#define PICKLOCK_TEST_DIFFERENTIAL_SERVER_H

#include "base/fail.h"
#include "live/clock.h"
#include "redis/command.h"
#include "test/differential_draw.h"

#include <errno.h>
#include <hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SERVER_PATH_MAX = 128, START_TRIES = 5000, REQUESTS_MAX = 4 };

struct compared_server {
    const char *program;
    char folder[64];
    char socket[SERVER_PATH_MAX], page[SERVER_PATH_MAX], shim[SERVER_PATH_MAX],
        data[SERVER_PATH_MAX], log[SERVER_PATH_MAX];
    struct clock_page *clock;
    pid_t pid;
    redisContext *control;              /* probes and switches; always allowed in */
    redisContext *clients[CONNECTIONS]; /* what is compared goes over these */
    char version[32];
};

static enum fail server_lost(redisContext *context, struct failure *failure)
{
    return failure_set(failure, FAIL_UNAVAILABLE, "redis-server: %s",
                       context && context->err ? context->errstr : "connection lost");
}

static void server_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static enum fail server_connect(const struct compared_server *server, redisContext **context,
                                struct failure *failure)
{
    if (*context)
        redisFree(*context);
    *context = redisConnectUnix(server->socket);
    return *context && !(*context)->err ? FAIL_NONE : server_lost(*context, failure);
}

/* One command on the control connection; the reply must not be an error. Its text, if it has one,
 * goes to text (may be NULL). */
static enum fail server_control(struct compared_server *server, char *text, size_t size,
                                struct failure *failure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(server->control, format, arguments);
    va_end(arguments);
    if (!reply)
        return server_lost(server->control, failure);
    enum fail fail = FAIL_NONE;
    if (reply->type == REDIS_REPLY_ERROR)
        fail = failure_set(failure, FAIL_UNAVAILABLE, "redis-server, %s: %s", format, reply->str);
    else if (text)
        snprintf(text, size, "%s", reply->str ? reply->str : "");
    freeReplyObject(reply);
    return fail;
}

static void server_child(const struct compared_server *server, const char *program,
                         const char *shim)
{
    struct failure failure = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (clock_preload(shim, server->page, NULL, &failure) == FAIL_NONE)
        execlp(program, program, "--port", "0", "--unixsocket", server->socket, "--dir",
               server->data, "--appendonly", "no", "--save", "3600 1000000000",
               "--stop-writes-on-bgsave-error", "no", "--hz", "500", "--logfile", server->log,
               "--daemonize", "no", "--jemalloc-bg-thread", "no", (char *)NULL);
    fprintf(stderr, "%s: %s\n", program, strerror(errno));
    _exit(FAIL_UNAVAILABLE);
}

/* Waits until it answers, or has ended. */
static enum fail server_await(struct compared_server *server, struct failure *failure)
{
    for (int i = 0; i < START_TRIES; i++) {
        int status = 0;
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            server->pid = 0;
            return failure_set(failure, FAIL_UNAVAILABLE, "redis-server ended at its start");
        }
        if (server_connect(server, &server->control, failure) == FAIL_NONE)
            return server_control(server, NULL, 0, failure, "PING");
        server_pause();
    }
    return failure_wrap(failure, "redis-server does not answer");
}

/* A save that fails, once and for all: its folder is gone. From then on the switch
 * stop-writes-on-bgsave-error decides whether writes are refused with -MISCONF. The server looks
 * for the end of a save in its cron, which therefore runs often until then. */
static enum fail server_break_saves(struct compared_server *server, struct failure *failure)
{
    char info[4096];
    if (rmdir(server->data) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", server->data, strerror(errno));
    enum fail fail = server_control(server, NULL, 0, failure, "BGSAVE");
    for (int i = 0; fail == FAIL_NONE && i < START_TRIES; i++) {
        fail = server_control(server, info, sizeof info, failure, "INFO persistence");
        if (fail == FAIL_NONE && strstr(info, "rdb_last_bgsave_status:err"))
            return server_control(server, NULL, 0, failure, "CONFIG SET hz 10");
        server_pause();
    }
    return fail ? fail : failure_set(failure, FAIL_UNAVAILABLE, "a save did not fail");
}

static enum fail server_read_version(struct compared_server *server, struct failure *failure)
{
    char info[8192];
    enum fail fail = server_control(server, info, sizeof info, failure, "INFO server");
    const char *at = fail == FAIL_NONE ? strstr(info, "redis_version:") : NULL;
    if (at)
        sscanf(at, "redis_version:%31[0-9.]", server->version);
    return fail;
}

static enum fail server_reconnect(struct compared_server *server, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; fail == FAIL_NONE && i < CONNECTIONS; i++)
        fail = server_connect(server, &server->clients[i], failure);
    return fail;
}

/* A process without keys, whose saves fail, and the connections to it. */
static enum fail server_launch(struct compared_server *server, const char *shim,
                               struct failure *failure)
{
    if (mkdir(server->data, 0700) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", server->data, strerror(errno));
    server->pid = fork();
    if (server->pid < 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "fork: %s", strerror(errno));
    if (server->pid == 0)
        server_child(server, server->program, shim);
    enum fail fail = server_await(server, failure);
    if (fail == FAIL_NONE)
        fail = server_break_saves(server, failure);
    return fail ? fail : server_reconnect(server, failure);
}

static enum fail server_start(struct compared_server *server, const char *program,
                              struct failure *failure)
{
    char shim[CLOCK_PATH_MAX];
    enum fail fail = clock_shim_find(shim, failure);
    if (fail != FAIL_NONE)
        return fail;
    snprintf(server->folder, sizeof server->folder, "/tmp/picklock-differential-XXXXXX");
    if (!mkdtemp(server->folder))
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", server->folder, strerror(errno));
    snprintf(server->socket, sizeof server->socket, "%s/socket", server->folder);
    snprintf(server->page, sizeof server->page, "%s/clock", server->folder);
    /* LD_PRELOAD splits at blanks and colons, which may stand where the shim lies. */
    snprintf(server->shim, sizeof server->shim, "%s/clock.so", server->folder);
    if (symlink(shim, server->shim) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", server->shim, strerror(errno));
    snprintf(server->data, sizeof server->data, "%s/data", server->folder);
    snprintf(server->log, sizeof server->log, "%s/log", server->folder);
    fail = clock_page_open(&server->clock, server->page, failure);
    if (fail != FAIL_NONE)
        return fail;
    clock_freeze_at(server->clock, CLOCK_EPOCH_US);
    server->program = program;
    fail = server_launch(server, server->shim, failure);
    return fail ? fail : server_read_version(server, failure);
}

/* Also after a start that failed half way. */
static void server_stop(struct compared_server *server)
{
    for (int i = 0; i < CONNECTIONS; i++)
        if (server->clients[i])
            redisFree(server->clients[i]);
    if (server->control)
        redisFree(server->control);
    if (server->pid > 0) {
        kill(server->pid, SIGKILL);
        waitpid(server->pid, NULL, 0);
    }
    clock_page_shut(server->clock);
    if (server->folder[0] == '\0')
        return;
    unlink(server->shim);
    unlink(server->socket);
    unlink(server->page);
    unlink(server->log);
    rmdir(server->data);
    rmdir(server->folder);
}

/* What refuses, switched on or off on the real server. LOADING cannot be switched. */
static enum fail server_refuse(struct compared_server *server, enum reply_error refuses,
                               struct failure *failure)
{
    bool is_full = refuses == ERROR_OOM, is_replica = refuses == ERROR_READONLY;
    bool is_disk_bad = refuses == ERROR_MISCONF, wants_password = refuses == ERROR_NOAUTH;
    enum fail fail =
        server_control(server, NULL, 0, failure, "CONFIG SET maxmemory %d", is_full ? 1 : 0);
    if (fail == FAIL_NONE)
        fail = server_control(server, NULL, 0, failure, "REPLICAOF %s %s",
                              is_replica ? "127.0.0.1" : "NO", is_replica ? "1" : "ONE");
    if (fail == FAIL_NONE)
        fail = server_control(server, NULL, 0, failure,
                              "CONFIG SET stop-writes-on-bgsave-error %s requirepass %s",
                              is_disk_bad ? "yes" : "no", wants_password ? "secret" : "");
    /* A connection that was let in stays in: only new ones are asked for the password. */
    if (fail == FAIL_NONE && wants_password)
        fail = server_reconnect(server, failure);
    return fail;
}

/* Killed, and started again: without keys, and with connections of its own. It refuses what it
 * refused. */
static enum fail server_restart(struct compared_server *server, enum reply_error refuses,
                                struct failure *failure)
{
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    unlink(server->socket);
    enum fail fail = server_launch(server, server->shim, failure);
    return fail || refuses == ERROR_NONE ? fail : server_refuse(server, refuses, failure);
}

/* Memory pressure as a policy has it, for one command. */
static enum fail server_evict(struct compared_server *server, bool spares_lasting,
                              struct failure *failure)
{
    enum fail fail =
        server_control(server, NULL, 0, failure, "CONFIG SET maxmemory-policy %s maxmemory 1",
                       spares_lasting ? "volatile-random" : "allkeys-random");
    if (fail == FAIL_NONE)
        fail = server_control(server, NULL, 0, failure, "PING");
    if (fail == FAIL_NONE)
        fail = server_control(server, NULL, 0, failure,
                              "CONFIG SET maxmemory 0 maxmemory-policy noeviction");
    return fail;
}

#endif
