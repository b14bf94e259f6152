/* cluster.h - the first three servers of a program run as a Redis Cluster: three masters, without
 * replicas, that share all slots.
 *
 * The slot of one key moves between them, or is lost with its master; which key that is (borrowed)
 * the caller says. Nothing is taken for done that was not asked: the nodes that live must agree
 * about the slot, and its keys are counted. FAIL_UNKNOWN: it is not so, and what is so instead;
 * FAIL_UNAVAILABLE: a node does not answer, or refuses. Source: redis-server 7.0, cluster.c, and
 * the commands CLUSTER and MIGRATE. */
#ifndef PICKLOCK_LIVE_CLUSTER_H
#define PICKLOCK_LIVE_CLUSTER_H

#include "live/servers.h"

enum { CLUSTER_MASTERS = 3 };

/* New processes in the rows 0 .. 2, which form a cluster; the slot of key is row 0's. The clock is
 * at world time 0. FAIL_NOT_APPLICABLE: the server behind a URL is left as it is. */
enum fail cluster_prepare(struct servers *servers, const char *key, struct failure *failure);

/* Whose the slot is, as all nodes that live say. */
enum fail cluster_owner(struct servers *servers, const char *key, int *row,
                        struct failure *failure);

/* The slot begins to move to row (CLUSTER SETSLOT IMPORTING, MIGRATING): keys that are there stay
 * for now, others come to be at row. */
enum fail cluster_begin_move(struct servers *servers, const char *key, int row,
                             struct failure *failure);

/* MIGRATE of all keys of the slot; moved: so many. Clocks that run stand still meanwhile, so what
 * is left of a lease is the same at row, to the millisecond. */
enum fail cluster_move_keys(struct servers *servers, const char *key, int row, int64_t *moved,
                            struct failure *failure);

/* Which keys are still where they were when the move ends: none; or some, which the old owner then
 * deletes, and row has none. */
enum slot_remains { NONE_LEFT_BEHIND, KEYS_LEFT_BEHIND };

/* From here on the slot is row's (CLUSTER SETSLOT NODE), and all nodes know. */
enum fail cluster_end_move(struct servers *servers, const char *key, int row,
                           enum slot_remains left, struct failure *failure);

/* The slot's owner is killed with SIGKILL, and its slot given to row by force, without its keys:
 * what an operator does whose master does not come back. */
enum fail cluster_take_slot(struct servers *servers, const char *key, int row,
                            struct failure *failure);

/* --- redirections: what an error reply tells a client --- */

/* A command is sent on so often at most. */
enum { FOLLOWS_MAX = 5 };

enum redirect_kind { REDIRECT_NONE, REDIRECT_MOVED, REDIRECT_ASK };

/* "MOVED 15495 127.0.0.1:6379", "ASK ..". *row: the server at that address; -1: none of ours. */
enum redirect_kind cluster_read_redirect(const struct servers *servers, const char *text, int *row);

/* What key holds, when no client is left: wherever it is, also while its slot moves. Freed with
 * freeReplyObject(); NULL: why not. */
redisReply *cluster_get(struct servers *servers, const char *key, struct failure *failure);

#endif
