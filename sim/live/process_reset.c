/* process_reset.c - a server between two runs: nothing of the one may be met in the next. See
 * process.h.
 *
 * First what every run leaves is taken back, and the server is asked what else there is; only where
 * it tells of more, that is taken back, and all is compared. What no command of ours takes back is
 * only compared: settings and users (process_settings.c). Source: redis-server 7.0, CLIENT KILL,
 * INFO. */
#include "base/bits.h"
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
static const char *const empties[] = {"CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub",
                                      "FLUSHALL"};
enum { EMPTIES = sizeof empties / sizeof *empties };
static const char *const leaves_replication[] = {"REPLICAOF NO ONE", "CLIENT KILL TYPE slave"};
static const char *const forgets_scripts[] = {"SCRIPT FLUSH"};
static const char *const sets_back[] = {
    "CONFIG SET maxmemory 0",
    ("CONFIG SET maxmemory-policy " PROCESS_POLICY),
    ("CONFIG SET notify-keyspace-events " PROCESS_EVENTS),
};

/* What may be left, and what takes it back. */
#define ROW(commands) commands, sizeof(commands) / sizeof *(commands)
#define LEFT_BITS(BIT)                                                                             \
    BIT(LEFT_REPLICATION)                                                                          \
    BIT(LEFT_SCRIPTS)                                                                              \
    BIT(LEFT_SETTINGS)                                                                             \
    BIT(LEFT_REST) /* that goes by itself, or not at all */
BITS(left_bit, LEFT_BITS);
static const struct {
    enum left_bit left;
    const char *const *commands;
    size_t count;
} rows[] = {
    {LEFT_REPLICATION, ROW(leaves_replication)},
    {LEFT_SCRIPTS, ROW(forgets_scripts)},
    {LEFT_SETTINGS, ROW(sets_back)},
};
#undef ROW

static enum fail answered_ok(struct process *process, const char *what, struct failure *failure)
{
    redisReply *reply = control_answer(process->control, what, failure);
    if (!reply)
        return FAIL_UNAVAILABLE;
    freeReplyObject(reply);
    return FAIL_NONE;
}

/* What this version does not tell may be left. */
static unsigned left_of(const char *info, int replicas)
{
    struct failure what;
    unsigned left = 0;
    char role[16];
    control_field(info, "role", role, sizeof role);
    if (strcmp(role, "master") != 0 || told(info, "connected_slaves", -1) != replicas)
        left |= LEFT_REPLICATION;
    if (told(info, "number_of_cached_scripts", -1))
        left |= LEFT_SCRIPTS;
    if (prove_empty(info, "master", &what) || has_company(info, OWN_CLIENTS, replicas))
        left |= LEFT_REST;
    return left;
}

/* What do INFO and the calls tell? Both were appended. */
static enum fail look(struct process *process, int replicas, unsigned *left,
                      struct failure *failure)
{
    redisReply *info = control_answer(process->control, "INFO", failure);
    if (!info)
        return FAIL_UNAVAILABLE;
    *left = left_of(info->type == REDIS_REPLY_STRING ? info->str : "", replicas);
    freeReplyObject(info);
    bool is_untouched = false;
    enum fail fail = process_look_at_calls(process, &is_untouched, failure);
    *left |= is_untouched ? 0 : LEFT_SETTINGS;
    return fail;
}

static enum fail take_back(struct process *process, unsigned left, struct failure *failure)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; left & rows[i].left && j < rows[i].count; j++)
            control_append(process->control, rows[i].commands[j]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; left & rows[i].left && j < rows[i].count; j++)
            if (answered_ok(process, rows[i].commands[j], failure))
                return FAIL_UNAVAILABLE;
    return left & LEFT_SETTINGS ? process_prove_settings(process, failure) : FAIL_NONE;
}

static enum fail reset(struct process *process, int replicas, struct failure *failure)
{
    unsigned left = 0;
    for (int i = 0; i < EMPTIES; i++)
        control_append(process->control, empties[i]);
    control_append(process->control, "INFO");
    process_append_calls(process);
    for (int i = 0; i < EMPTIES; i++)
        if (answered_ok(process, empties[i], failure))
            return FAIL_UNAVAILABLE;
    enum fail fail = look(process, replicas, &left, failure);
    if (!fail && left)
        fail = take_back(process, left, failure);
    if (fail || !left)
        return fail;
    control_append(process->control, "INFO");
    return prove_blank(process, "master", OWN_CLIENTS, replicas, failure);
}

enum fail process_reset(struct process *process, bool keeps_replica, struct failure *failure)
{
    enum fail fail = reset(process, keeps_replica ? 1 : 0, failure);
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
