/* sentinel.c - a private server's primary is killed with SIGKILL, and a redis-sentinel, which has
 * learned of its replica by then, notices that by itself and promotes it. See servers.h.
 *
 * The sentinel decides nothing but who takes over: it is shown no clock of a server's, and world
 * time stands still meanwhile. By its own clock it waits; where clocks are ours that one runs
 * faster, so that it waits less. Source: redis-server 7.0, sentinel.c. */
#include "live/servers.h"

#include "base/monotonic.h"
#include "live/control.h"
#include "live/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GROUP "lock" /* what it calls the primary and its replica */

enum {
    WAIT_S = 30,
    LOOK_MS = 5,
    DOWN_MS = 1000, /* a primary that has said nothing for so long is down, by its clock */
    RETRY_MS = 30000,
    GAINS_US = 7000000,
    SECOND_US = 1000000
};

/* --- the process --- */

static enum fail write_settings(const struct process *sentinel, int primary_port, const char *path,
                                struct failure *failure)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", path, fail_of_temporary(errno));
    (void)fprintf(file,
                  "port %d\nbind 127.0.0.1\nsentinel monitor " GROUP " 127.0.0.1 %d 1\n"
                  "sentinel down-after-milliseconds " GROUP " %d\n",
                  sentinel->port, primary_port, DOWN_MS);
    const bool is_written = !ferror(file);
    if (fclose(file) == 0 && is_written)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", path, fail_of_temporary(errno));
}

static enum fail open_clock(struct process *sentinel, const char *path, struct failure *failure)
{
    struct timespec real;
    if (clock_page_open(&sentinel->clock, path, failure))
        return FAIL_UNAVAILABLE;
    (void)clock_gettime(CLOCK_REALTIME, &real);
    clock_set_rate(sentinel->clock, GAINS_US, (int64_t)real.tv_sec * SECOND_US);
    return FAIL_NONE;
}

static enum fail start(struct servers *servers, struct process *sentinel, int primary_port,
                       struct read_log **dials, struct failure *failure)
{
    const bool has_page = servers->steering != REAL_TIME;
    const char *program = servers->program ? servers->program : "redis-server";
    char conf[PROCESS_PATH_MAX + 8], log[PROCESS_PATH_MAX + 8], page[PROCESS_PATH_MAX + 8];
    char reads[PROCESS_PATH_MAX + 8];
    int error = 0;
    if (spares_folder(servers, sentinel->folder, failure))
        return FAIL_UNAVAILABLE;
    (void)snprintf(conf, sizeof conf, "%s/conf", sentinel->folder);
    (void)snprintf(page, sizeof page, "%s/clock", sentinel->folder);
    (void)snprintf(reads, sizeof reads, "%s/reads", sentinel->folder);
    process_log_path(sentinel, log, sizeof log);
    sentinel->port = process_free_port();
    if (write_settings(sentinel, primary_port, conf, failure) ||
        (has_page && open_clock(sentinel, page, failure)))
        return FAIL_UNAVAILABLE;
    if (has_page && !read_log_open(dials, reads, NULL))
        atomic_store(&(*dials)->tells_dials, 1);
    const char *const arguments[] = {program, conf, "--sentinel", NULL};
    const struct spawn_options child = {.log = log,
                                        .shim = has_page ? servers->shim : NULL,
                                        .page = page,
                                        .reads = *dials ? reads : NULL};
    const int pid = spawn(&child, (char *const *)(uintptr_t)arguments, &error);
    if (pid < 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "it cannot be run: %s", strerror(error));
    sentinel->pid = pid;
    return FAIL_NONE;
}

/* --- waiting: the replica's feed flows through our loop, and a sentinel wakes nobody --- */

struct vigil {
    struct servers *servers;
    struct process *sentinel;
    const struct process *replica;
    struct read_log *dials; /* its connections; NULL: it does not tell of them */
    uint32_t noted;         /* so many of them the servers were told of */
};

typedef enum fail look_at_sentinel(const struct vigil *vigil, bool *is_so, struct failure *failure);

static void look_again(uv_timer_t *timer)
{
    (void)timer;
}

static enum fail wait_until(const struct vigil *vigil, look_at_sentinel *look, const char *what,
                            struct failure *failure)
{
    const int64_t limit_us = monotonic_us() + (int64_t)WAIT_S * SECOND_US;
    bool is_so = false;
    (void)uv_timer_start(vigil->servers->tick, look_again, LOOK_MS, LOOK_MS);
    enum fail fail = look(vigil, &is_so, failure);
    while (!fail && !is_so) {
        (void)uv_run(vigil->servers->loop, UV_RUN_ONCE);
        servers_meanwhile(vigil->servers);
        fail = process_check(vigil->sentinel, failure);
        if (!fail)
            fail = look(vigil, &is_so, failure);
        if (!fail && !is_so && monotonic_us() > limit_us)
            fail = failure_set(failure, FAIL_UNKNOWN, "it has not %s after %d s", what, WAIT_S);
    }
    (void)uv_timer_stop(vigil->servers->tick);
    return fail;
}

/* Does it answer, and is it the one that we started? */
static enum fail is_ready(const struct vigil *vigil, bool *is_so, struct failure *failure)
{
    struct process *sentinel = vigil->sentinel;
    const struct url url = process_url(sentinel);
    struct failure not_yet;
    char mode[16] = "", pid[16] = "";
    if (control_open(&sentinel->control, &url, &not_yet))
        return FAIL_NONE;
    redisReply *info = control_ask(sentinel->control, failure, "INFO server");
    if (!info)
        return FAIL_UNAVAILABLE;
    if (info->type == REDIS_REPLY_STRING) {
        control_field(info->str, "redis_mode", mode, sizeof mode);
        control_field(info->str, "process_id", pid, sizeof pid);
    }
    freeReplyObject(info);
    *is_so = strcmp(mode, "sentinel") == 0 && atoi(pid) == sentinel->pid;
    return *is_so ? FAIL_NONE
                  : failure_set(failure, FAIL_UNKNOWN, "at its port %d answers somebody else",
                                sentinel->port);
}

/* A field of an answer that is a list of names and values; "": it has none. */
static const char *field_of(const redisReply *row, const char *name)
{
    for (size_t i = 0; row->type == REDIS_REPLY_ARRAY && i + 1 < row->elements; i += 2)
        if (row->element[i]->str && row->element[i + 1]->str &&
            strcmp(row->element[i]->str, name) == 0)
            return row->element[i + 1]->str;
    return "";
}

/* Our replica, and no other, in good health as the sentinel sees it: then it may be promoted. */
static enum fail knows_replica(const struct vigil *vigil, bool *is_so, struct failure *failure)
{
    redisReply *rows = control_ask(vigil->sentinel->control, failure, "SENTINEL REPLICAS " GROUP);
    if (!rows)
        return FAIL_UNAVAILABLE;
    if (rows->type == REDIS_REPLY_ARRAY && rows->elements == 1) {
        const redisReply *row = rows->element[0];
        *is_so = atoi(field_of(row, "port")) == vigil->replica->port &&
                 strcmp(field_of(row, "flags"), "slave") == 0 &&
                 strcmp(field_of(row, "master-link-status"), "ok") == 0;
    }
    freeReplyObject(rows);
    return FAIL_NONE;
}

/* "who is master?" */
static enum fail names_replica(const struct vigil *vigil, bool *is_so, struct failure *failure)
{
    redisReply *address =
        control_ask(vigil->sentinel->control, failure, "SENTINEL GET-MASTER-ADDR-BY-NAME " GROUP);
    if (!address)
        return FAIL_UNAVAILABLE;
    *is_so = address->type == REDIS_REPLY_ARRAY && address->elements == 2 &&
             address->element[1]->str && atoi(address->element[1]->str) == vigil->replica->port;
    freeReplyObject(address);
    return FAIL_NONE;
}

/* --- whose connections are its own --- */

/* All that the servers have accepted of it: it stands still, or they do. */
static void note_dials(struct vigil *vigil)
{
    struct servers *servers = vigil->servers;
    const uint32_t told = vigil->dials ? atomic_load(&vigil->dials->dialled) : 0;
    servers->is_untold |= !vigil->dials || told > READ_LOG_DIALS;
    for (; vigil->noted < told && vigil->noted < READ_LOG_DIALS; vigil->noted++) {
        const struct read_dial *dial = &vigil->dials->dials[vigil->noted];
        servers_note_dial(servers, dial->to, dial->from);
    }
}

/* First it stands still: then all of whose connections it has accepted were told of. */
static enum fail kill_primary(struct vigil *vigil, struct process *primary, struct failure *failure)
{
    if (process_stop(primary, failure))
        return FAIL_UNAVAILABLE;
    note_dials(vigil);
    servers_end_process(vigil->servers, primary);
    return FAIL_NONE;
}

/* --- the failover --- */

/* A sentinel that was not given the processor for a while does nothing for longer (its "tilt"):
 * here nobody is to wait for that. Servers before 7.0 have no such command, and wait. */
static void set_patience(redisContext *control)
{
    struct failure ignored;
    (void)control_do(control, &ignored, "SENTINEL DEBUG tilt-trigger 1000000 tilt-period 1");
}

/* It may have found the replica slow just then: it tries again, after twice this time. Not before:
 * it would correct a replica whose primary is, as it sees it, a proxy. */
static enum fail let_retry(redisContext *control, struct failure *failure)
{
    return control_do(control, failure, "SENTINEL SET " GROUP " failover-timeout %d", RETRY_MS);
}

static enum fail promote(struct vigil *vigil, int number, struct failure *failure)
{
    struct process *primary = &vigil->servers->rows[number].process;
    bool knows_it_already = false;
    enum fail fail = wait_until(vigil, is_ready, "answered", failure);
    if (fail)
        return fail;
    set_patience(vigil->sentinel->control);
    fail = wait_until(vigil, knows_replica, "found the replica", failure);
    if (!fail)
        fail = names_replica(vigil, &knows_it_already, failure);
    if (!fail && knows_it_already)
        fail = failure_set(failure, FAIL_UNKNOWN, "it promoted before the primary was killed");
    if (!fail)
        fail = servers_before_promotion(vigil->servers, number, failure);
    if (fail)
        return fail;
    if (kill_primary(vigil, primary, failure) || let_retry(vigil->sentinel->control, failure))
        return FAIL_UNAVAILABLE;
    return wait_until(vigil, names_replica, "promoted the replica", failure);
}

/* With the promotion a sentinel ends all connections of the server, ours among them. */
static enum fail connect_anew(struct process *process, struct failure *failure)
{
    control_shut(process->control);
    process->control = NULL;
    return process_dial(process, &process->control, failure);
}

/* A row whose primary was killed, and nobody promoted, is dead: the next run has a new process. */
enum fail servers_failover_by_sentinel(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    struct process sentinel = {0};
    struct vigil vigil = {.servers = servers, .sentinel = &sentinel, .replica = &server->replica};
    enum fail fail = start(servers, &sentinel, server->process.port, &vigil.dials, failure);
    if (!fail)
        fail = promote(&vigil, number, failure);
    process_kill(&sentinel);
    note_dials(&vigil);
    read_log_shut(vigil.dials);
    server->is_dead = !server->process.pid && fail;
    if (fail)
        return failure_wrap(failure, "the sentinel of server %d", number + 1);
    if (connect_anew(&server->replica, failure))
        return failure_wrap(failure, "replica of server %d", number + 1);
    return servers_seat_replica(servers, number, failure);
}
