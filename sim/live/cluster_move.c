/* cluster_move.c - see cluster.h: a slot moves, with its keys or without them, or is taken from a
 * master that is dead. */
#include "live/cluster_parts.h"
#include "live/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MIGRATE_MS = 5000, KEYS_MAX = 100 };

static int64_t count_keys(struct servers *servers, int row, int64_t slot, struct failure *failure)
{
    return control_integer(node_of(servers, row)->control, failure,
                           "CLUSTER COUNTKEYSINSLOT %" PRId64, slot);
}

/* --- a slot moves --- */

/* A move: from the one whose the slot is, to another one that lives. */
struct slot_move {
    int64_t slot;
    int from, to;
};

static enum fail read_move(struct servers *servers, const char *key, int to, struct slot_move *move,
                           struct failure *failure)
{
    enum fail fail = cluster_owner(servers, key, &move->from, failure);
    if (fail)
        return fail;
    move->to = to;
    if (to == move->from || to >= CLUSTER_MASTERS || servers->rows[to].is_dead)
        return failure_set(failure, FAIL_UNKNOWN,
                           to == move->from ? "the slot is server %d's already"
                                            : "server %d is no master of the cluster",
                           to + 1);
    move->slot = cluster_slot(servers, move->from, key, failure);
    return move->slot < 0 ? of_node(move->from, failure) : FAIL_NONE;
}

/* "[15495->-ID]" stands in the row of the node itself. */
static enum fail prove_begun(struct servers *servers, int row, const char *mark,
                             struct failure *failure)
{
    redisReply *nodes = control_ask(node_of(servers, row)->control, failure, "CLUSTER NODES");
    if (!nodes)
        return of_node(row, failure);
    const bool is_marked = nodes->type == REDIS_REPLY_STRING && strstr(nodes->str, mark) != NULL;
    freeReplyObject(nodes);
    return is_marked
               ? FAIL_NONE
               : failure_set(failure, FAIL_UNKNOWN,
                             "server %d does not say that its slot moves (%s)", row + 1, mark);
}

enum fail cluster_begin_move(struct servers *servers, const char *key, int row,
                             struct failure *failure)
{
    struct slot_move move;
    char out[72], in[72];
    enum fail fail = read_move(servers, key, row, &move, failure);
    if (fail)
        return fail;
    if (servers->cluster.importer >= 0)
        return failure_set(failure, FAIL_UNKNOWN, "the slot moves to server %d already",
                           servers->cluster.importer + 1);
    if (control_do(node_of(servers, row)->control, failure,
                   "CLUSTER SETSLOT %" PRId64 " IMPORTING %s", move.slot,
                   servers->cluster.ids[move.from]))
        return of_node(row, failure);
    if (control_do(node_of(servers, move.from)->control, failure,
                   "CLUSTER SETSLOT %" PRId64 " MIGRATING %s", move.slot,
                   servers->cluster.ids[row]))
        return of_node(move.from, failure);
    (void)snprintf(out, sizeof out, "[%" PRId64 "->-%s]", move.slot, servers->cluster.ids[row]);
    (void)snprintf(in, sizeof in, "[%" PRId64 "-<-%s]", move.slot, servers->cluster.ids[move.from]);
    fail = prove_begun(servers, move.from, out, failure);
    if (!fail)
        fail = prove_begun(servers, row, in, failure);
    if (!fail)
        servers->cluster.importer = row;
    return fail;
}

/* The move that has begun, and whose end it is about. */
static enum fail read_begun(struct servers *servers, const char *key, int row,
                            struct slot_move *move, struct failure *failure)
{
    if (servers->cluster.importer != row)
        return failure_set(failure, FAIL_UNKNOWN, "the slot has not begun to move to server %d",
                           row + 1);
    return read_move(servers, key, row, move, failure);
}

/* moved counts it, unless its time has come: then it goes nowhere. */
static enum fail migrate(struct servers *servers, const struct slot_move *move, redisReply *key,
                         int64_t *moved, struct failure *failure)
{
    redisReply *reply =
        control_ask(node_of(servers, move->from)->control, failure, "MIGRATE 127.0.0.1 %d %s 0 %d",
                    node_of(servers, move->to)->port, key->str, MIGRATE_MS);
    if (!reply)
        return of_node(move->from, failure);
    const bool has_moved = reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0;
    freeReplyObject(reply);
    if (!has_moved)
        key->str[0] = '\0';
    *moved += has_moved;
    return FAIL_NONE;
}

static redisReply *keys_of(struct servers *servers, int row, int64_t slot, struct failure *failure)
{
    redisReply *keys = control_ask(node_of(servers, row)->control, failure,
                                   "CLUSTER GETKEYSINSLOT %" PRId64 " %d", slot, KEYS_MAX);
    if (keys && keys->type == REDIS_REPLY_ARRAY)
        return keys;
    if (keys)
        (void)failure_set(failure, FAIL_UNAVAILABLE, "it does not name the keys of a slot");
    freeReplyObject(keys);
    (void)of_node(row, failure);
    return NULL;
}

static bool has_key(const redisReply *keys, const char *key)
{
    for (size_t i = 0; i < keys->elements; i++)
        if (strcmp(keys->element[i]->str, key) == 0)
            return true;
    return false;
}

/* All are gone here, and those that moved are there. */
static enum fail prove_migrated(struct servers *servers, const struct slot_move *move,
                                const redisReply *keys, int64_t moved, struct failure *failure)
{
    int64_t there = 0;
    const int64_t left = count_keys(servers, move->from, move->slot, failure);
    redisReply *arrived = left < 0 ? NULL : keys_of(servers, move->to, move->slot, failure);
    if (!arrived)
        return failure_wrap(failure, "the cluster");
    for (size_t i = 0; i < keys->elements; i++)
        there += keys->element[i]->str[0] && has_key(arrived, keys->element[i]->str);
    freeReplyObject(arrived);
    if (left == 0 && there == moved)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "%" PRId64 " keys were to move, and the old owner has %" PRId64
                       " keys of the slot, the new one %" PRId64 " of these",
                       moved, left, there);
}

enum fail cluster_move_keys(struct servers *servers, const char *key, int row, int64_t *moved,
                            struct failure *failure)
{
    struct slot_move move;
    *moved = 0;
    if (read_begun(servers, key, row, &move, failure))
        return failure->code;
    cluster_stop_clocks(servers);
    redisReply *keys = keys_of(servers, move.from, move.slot, failure);
    enum fail fail = keys ? FAIL_NONE : FAIL_UNAVAILABLE;
    for (size_t i = 0; !fail && i < keys->elements; i++)
        fail = migrate(servers, &move, keys->element[i], moved, failure);
    if (!fail)
        fail = prove_migrated(servers, &move, keys, *moved, failure);
    cluster_let_clocks_run(servers);
    freeReplyObject(keys);
    return fail;
}

static enum fail give_slot(struct servers *servers, int teller, int64_t slot, int row,
                           struct failure *failure)
{
    return control_do(node_of(servers, teller)->control, failure,
                      "CLUSTER SETSLOT %" PRId64 " NODE %s", slot, servers->cluster.ids[row])
               ? of_node(teller, failure)
               : FAIL_NONE;
}

/* Some at the old owner and none at the new one: else it cannot be told what the end costs. */
static enum fail look_at_left(struct servers *servers, const struct slot_move *move,
                              enum slot_remains left, struct failure *failure)
{
    const int64_t here = count_keys(servers, move->from, move->slot, failure);
    const int64_t there = here < 0 ? here : count_keys(servers, move->to, move->slot, failure);
    if (there < 0)
        return failure_wrap(failure, "the cluster");
    if (left == NONE_LEFT_BEHIND ? here == 0 : here > 0 && there == 0)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "the slot was to be moved %s, and the old owner has %" PRId64
                       " of its keys, the new one %" PRId64,
                       left == NONE_LEFT_BEHIND ? "whole" : "without its keys", here, there);
}

static enum fail prove_none(struct servers *servers, int row, int64_t slot, struct failure *failure)
{
    const int64_t keys = count_keys(servers, row, slot, failure);
    if (keys < 0)
        return of_node(row, failure);
    return keys == 0 ? FAIL_NONE
                     : failure_set(failure, FAIL_UNKNOWN,
                                   "server %d has %" PRId64 " keys of the slot, and all should be "
                                   "gone",
                                   row + 1, keys);
}

enum fail cluster_end_move(struct servers *servers, const char *key, int row,
                           enum slot_remains left, struct failure *failure)
{
    struct slot_move move;
    enum fail fail = read_begun(servers, key, row, &move, failure);
    if (!fail)
        fail = look_at_left(servers, &move, left, failure);
    if (!fail)
        fail = give_slot(servers, row, move.slot, row, failure);
    if (!fail && left == NONE_LEFT_BEHIND)
        fail = give_slot(servers, move.from, move.slot, row, failure);
    if (!fail)
        fail = cluster_wait_for_owner(servers, key, row, failure);
    if (!fail)
        fail = prove_none(servers, move.from, move.slot, failure);
    if (!fail)
        servers->cluster.importer = -1;
    return fail;
}

enum fail cluster_take_slot(struct servers *servers, const char *key, int row,
                            struct failure *failure)
{
    struct slot_move move;
    if (servers->cluster.importer >= 0)
        return failure_set(failure, FAIL_UNKNOWN, "the slot moves to server %d already",
                           servers->cluster.importer + 1);
    enum fail fail = read_move(servers, key, row, &move, failure);
    if (!fail)
        fail = prove_none(servers, row, move.slot, failure);
    if (fail)
        return fail;
    process_kill(node_of(servers, move.from));
    servers->rows[move.from].is_dead = true;
    for (int teller = 0; teller < CLUSTER_MASTERS && !fail; teller++)
        if (teller != move.from)
            fail = give_slot(servers, teller, move.slot, row, failure);
    if (!fail && control_do(node_of(servers, row)->control, failure, "CLUSTER BUMPEPOCH"))
        fail = of_node(row, failure);
    if (!fail)
        fail = cluster_wait_for_owner(servers, key, row, failure);
    return fail ? fail : prove_none(servers, row, move.slot, failure);
}
