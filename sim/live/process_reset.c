/* process_reset.c - a server between two runs: nothing of the one may be met in the next. See
 * process.h.
 *
 * What is not taken back by a command of its own is only compared: settings and users as they were
 * when the server was ready. Source: redis-server 7.0, CLIENT KILL, INFO, CONFIG GET. */
#include "base/memory.h"
#include "base/monotonic.h"
#include "live/control.h"
#include "live/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GONE_US = 1000000,   /* connections that were ended are counted until the server's next turn */
    OWN_CLIENTS = 1,     /* that of our control */
    REPLICA_CLIENTS = 2, /* and its primary's */
};

/* --- settings --- */

/* All of its text, a line an element. */
static void print_texts(FILE *file, const redisReply *reply)
{
    for (size_t i = 0; i < reply->elements; i++)
        if (reply->element[i]->str)
            (void)fprintf(file, "%s\n", reply->element[i]->str);
}

/* The answers to "CONFIG GET *" and "ACL LIST", which were appended; the caller frees the text. */
static char *answered_settings(struct process *process, struct failure *failure)
{
    char *text = NULL;
    size_t size;
    redisReply *config = control_answer(process->control, "CONFIG", failure);
    redisReply *users = config ? control_answer(process->control, "ACL", failure) : NULL;
    FILE *file = users ? open_memstream(&text, &size) : NULL;
    if (file) {
        print_texts(file, config);
        print_texts(file, users);
        (void)fclose(file);
    }
    if (users && !text)
        failure_set(failure, FAIL_UNAVAILABLE, "no memory for its settings");
    if (config)
        freeReplyObject(config);
    if (users)
        freeReplyObject(users);
    return text;
}

static void append_settings(struct process *process)
{
    control_append(process->control, "CONFIG GET *");
    control_append(process->control, "ACL LIST");
}

enum fail process_note_settings(struct process *process, struct failure *failure)
{
    append_settings(process);
    free(process->settings);
    process->settings = answered_settings(process, failure);
    return process->settings ? FAIL_NONE : FAIL_UNAVAILABLE;
}

static enum fail prove_settings(struct process *process, struct failure *failure)
{
    char *settings = answered_settings(process, failure);
    if (!settings)
        return FAIL_UNAVAILABLE;
    bool is_same = strcmp(settings, process->settings) == 0;
    free(settings);
    return is_same ? FAIL_NONE
                   : failure_set(failure, FAIL_UNKNOWN, "its settings or users were changed");
}

/* --- what INFO tells --- */

/* A number that this version does not tell is as it was. */
static int64_t told(const char *info, const char *field, int64_t untold)
{
    char value[24];
    control_field(info, field, value, sizeof value);
    return *value ? atoll(value) : untold;
}

/* Leftovers that no waiting takes away. */
static enum fail prove_empty(const char *info, const char *role, struct failure *failure)
{
    char is_role[16];
    control_field(info, "role", is_role, sizeof is_role);
    if (strcmp(is_role, role) != 0)
        return failure_set(failure, FAIL_UNKNOWN, "its role is %s", is_role);
    if (strstr(info, "\ndb"))
        return failure_set(failure, FAIL_UNKNOWN, "it still has keys");
    if (told(info, "number_of_cached_scripts", 0) || told(info, "number_of_functions", 0))
        return failure_set(failure, FAIL_UNKNOWN, "it still knows scripts");
    return FAIL_NONE;
}

static bool has_company(const char *info, int clients, int replicas)
{
    return told(info, "connected_clients", clients) != clients ||
           told(info, "connected_slaves", replicas) != replicas;
}

/* INFO was appended once. A connection that was ended may be counted until the server's next turn,
 * which comes before the next answer. */
static enum fail prove_blank(struct process *process, const char *role, int clients, int replicas,
                             struct failure *failure)
{
    const int64_t limit_us = monotonic_us() + GONE_US;
    for (;;) {
        redisReply *info = control_answer(process->control, "INFO", failure);
        if (!info)
            return FAIL_UNAVAILABLE;
        const char *text = info->type == REDIS_REPLY_STRING ? info->str : "";
        enum fail fail = prove_empty(text, role, failure);
        bool is_alone = !has_company(text, clients, replicas);
        freeReplyObject(info);
        if (fail || is_alone)
            return fail;
        if (monotonic_us() > limit_us)
            return failure_set(failure, FAIL_UNKNOWN, "it still has other connections");
        control_append(process->control, "INFO");
    }
}

/* --- the state of one that has just started --- */

/* Connections first: what they have sent is executed before the keys go. */
static const char *const resets[] = {
    "CLIENT KILL TYPE normal",
    "CLIENT KILL TYPE pubsub",
    "FLUSHALL",
    "SCRIPT FLUSH",
    "CONFIG SET maxmemory 0",
    ("CONFIG SET maxmemory-policy " PROCESS_POLICY),
};

static const char *const leaves_replication[] = {"REPLICAOF NO ONE", "CLIENT KILL TYPE slave"};

enum {
    RESETS = sizeof resets / sizeof *resets,
    LEAVES = sizeof leaves_replication / sizeof *leaves_replication
};

static enum fail answered_ok(struct process *process, const char *what, struct failure *failure)
{
    redisReply *reply = control_answer(process->control, what, failure);
    if (!reply)
        return FAIL_UNAVAILABLE;
    freeReplyObject(reply);
    return FAIL_NONE;
}

static enum fail take_back(struct process *process, bool keeps_replica, struct failure *failure)
{
    for (int i = 0; !keeps_replica && i < LEAVES; i++)
        control_append(process->control, leaves_replication[i]);
    for (int i = 0; i < RESETS; i++)
        control_append(process->control, resets[i]);
    /* What a world of workers listens to (key_watch.c). */
    control_append(process->control, "CONFIG SET notify-keyspace-events %s", "");
    for (int i = 0; !keeps_replica && i < LEAVES; i++)
        if (answered_ok(process, leaves_replication[i], failure))
            return FAIL_UNAVAILABLE;
    for (int i = 0; i < RESETS; i++)
        if (answered_ok(process, resets[i], failure))
            return FAIL_UNAVAILABLE;
    return answered_ok(process, "CONFIG SET notify-keyspace-events", failure);
}

static enum fail reset(struct process *process, bool keeps_replica, struct failure *failure)
{
    if (take_back(process, keeps_replica, failure) ||
        (process->clock && process_prove_clock(process, failure)))
        return FAIL_UNAVAILABLE;
    append_settings(process);
    enum fail fail = prove_settings(process, failure);
    if (fail)
        return fail;
    control_append(process->control, "INFO");
    return prove_blank(process, "master", OWN_CLIENTS, keeps_replica ? 1 : 0, failure);
}

enum fail process_reset(struct process *process, bool keeps_replica, struct failure *failure)
{
    enum fail fail = reset(process, keeps_replica, failure);
    /* It answers, and refuses: that is left of a run, too. */
    bool answers = process->control && !process->control->err;
    return fail && answers ? FAIL_UNKNOWN : fail;
}

enum fail process_prove_blank_replica(struct process *process, struct failure *failure)
{
    if (process->clock && process_prove_clock(process, failure))
        return FAIL_UNAVAILABLE;
    control_append(process->control, "INFO");
    return prove_blank(process, "slave", REPLICA_CLIENTS, 0, failure);
}
