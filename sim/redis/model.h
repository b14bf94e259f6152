/* model.h - the model of a server: what a redis-server does with the typed commands, clock
 * included.
 *
 * Executes the commands of commands.def over the few keys of one lock. Time is what the caller
 * says, in whatever unit the caller keeps (microseconds, or the explorer's ticks): the model only
 * adds and compares. No malloc, no I/O, no clock: a struct that can be copied with memcpy. Held to
 * redis-server by a differential test. Source: Redis command reference (SET, EXPIRE, GETSET, WATCH,
 * transactions, EVAL), redis-server 7.0.15. */
#ifndef PICKLOCK_REDIS_MODEL_H
#define PICKLOCK_REDIS_MODEL_H

#include "redis/command.h"

#include <stdint.h>

#define MODEL_NO_EXPIRY INT64_MAX

enum model_type { MODEL_ABSENT, MODEL_STRING, MODEL_LIST };

struct model_key {
    enum model_type type;
    int64_t value; /* MODEL_STRING: what it holds; MODEL_LIST: its length */
    int64_t
        expire_us; /* absolute; MODEL_NO_EXPIRY: none. Gone when now > expire_us, as in Redis 7 */
    uint32_t version; /* grows with every change, expiry included: what WATCH compares */
};

/* A replica, in step until its link is cut. */
enum model_replica { MODEL_NO_REPLICA, MODEL_REPLICA_IN_STEP, MODEL_REPLICA_CUT };

struct model {
    struct model_key keys[KEY_COUNT];
    int64_t granule_us; /* expiry counts whole granules: 1000 for a real server (it keeps ms) */
    enum reply_error
        refuses; /* ERROR_NONE, or what every (for OOM: every growing) command is answered */
    bool has_delex, has_delifeq; /* what newer servers know */
    bool knows_script; /* compare-and-delete is in the script cache: it was loaded, or has been run
                          whole */
    enum model_replica replica; /* WAIT: who acknowledges */
};

/* A client connection's own state at the server. */
struct model_watch {
    bool active;
    uint32_t version[KEY_COUNT]; /* of the watched keys; UINT32_MAX: not watched */
    bool is_behind; /* its last command was executed when the replica was cut off: WAIT tells */
};

/* An empty server that refuses nothing, knows neither DELEX nor DELIFEQ, and has no replica.
 * granule_us > 0. */
void model_init(struct model *model, int64_t granule_us);

/* Executes one command at time now_us. watch is the connection's, changed by WATCH, UNWATCH and
 * transactions. No value may be VALUE_NIL. When time goes back, a key that a command has seen
 * expired stays gone. Fences are told apart below 2^53 only: a real server mints them in Lua, whose
 * numbers are doubles. WAIT is answered at once, as if its millisecond were over. */
struct reply model_execute(struct model *model, struct model_watch *watch,
                           const struct command *command, int64_t now_us);

/* The reply of a server that refuses the command with that error, whatever its reason, and executes
 * nothing. MULTI is let in where a real server lets it in: then EXEC fails, and ends the watch. */
struct reply model_refuse(struct model_watch *watch, const struct command *command,
                          enum reply_error error);

/* Does CLIENT PAUSE .. WRITE hold it? Every script counts as one that writes, and of a transaction
 * the commands that are queued. */
bool model_may_write(enum verb verb);

/* Deletes what has expired by now_us (a real server may do so later; nobody can see the
 * difference). */
void model_expire(struct model *model, int64_t now_us);

/* What PTTL answers, in the unit of time: -2 absent, -1 no expiry. */
int64_t model_ttl(const struct model *model, enum key key, int64_t now_us);

/* Faults of a server: it comes back without its keys; it drops one key; its keys are those of a
 * replica that was cut off earlier, or of a snapshot. All three keep refuses and what commands the
 * server knows; watched keys count as changed. Scripts are neither saved nor replicated: a restart
 * and a failover empty their cache, and so does SCRIPT FLUSH. */
void model_restart_empty(struct model *model);
void model_flush_keys(struct model *model); /* FLUSHALL: scripts stay */
void model_evict(struct model *model, enum key key);
void model_flush_scripts(struct model *model);
void model_failover(struct model *primary, const struct model *lagging_replica);

#endif
