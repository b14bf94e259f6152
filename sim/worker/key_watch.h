/* key_watch.h - the lock's key at one server, over a run: what each execution did to it, and
 * whether anybody else did something.
 *
 * All that workers send stops at the proxy, and is executed while this looks. So between two
 * executions the key can only expire, or be lost by a fault of ours: anything else came past the
 * proxy, and then nobody can be blamed for what follows. The server itself says which writes there
 * were (keyspace notifications), so one that leaves the key as it was is seen, too. Where nobody
 * but us has come to the server, it need not be looked at before: key_watch_reckon(). */
#ifndef PICKLOCK_WORKER_KEY_WATCH_H
#define PICKLOCK_WORKER_KEY_WATCH_H

#include "worker/look.h"

/* For now_us: time is real, so what a key still has to live is not held against it: that somebody
 * else wrote is told by the server alone. */
#define KEY_WATCH_REAL_TIME INT64_MIN

struct servers;

struct key_watch {
    struct servers *servers; /* borrowed: are told of its connections; NULL: nobody is */
    redisContext *events;    /* NULL: not opened yet */
    bool has_expired;        /* the key, since key_watch_before() */
    bool is_past;            /* somebody changed the key past the proxy: key_watch_before() */
    bool is_known;           /* how the key was left: */
    char name[LOOK_KEY_MAX];
    struct key_state last;
    int64_t last_us; /* by the clock that it is told of */
};

/* Before an execution: the key as it stands. control: the server's, borrowed. FAIL_UNKNOWN:
 * somebody changed it since the last one. */
enum fail key_watch_before(struct key_watch *watch, redisContext *control,
                           const struct lock_key *key, int64_t now_us, struct key_state *state,
                           struct failure *failure);

/* The same, without a look where the state follows from how the key was left: nobody else has come
 * to the server since, and its clock (clock_us here: that of the server) has not reached the end of
 * the key. */
enum fail key_watch_reckon(struct key_watch *watch, redisContext *control,
                           const struct lock_key *key, int64_t clock_us, struct key_state *state,
                           struct failure *failure);

/* Behind it: the key as it stands, and *writes: bits enum look_write. */
enum fail key_watch_behind(struct key_watch *watch, redisContext *control,
                           const struct lock_key *key, int64_t now_us, struct key_state *state,
                           unsigned *writes, struct failure *failure);

/* Behind an execution in real time: what passed between the two looks by itself (time; the end of a
 * lease) is taken out of them. FAIL_UNKNOWN: what the command did cannot be told from it. */
enum fail key_watch_level(const struct key_watch *watch, unsigned writes, bool is_refused,
                          struct key_state *before, struct key_state *behind,
                          struct failure *failure);

/* A fault has struck the server, its keys or its clock: what it left is looked at anew. */
void key_watch_forget(struct key_watch *watch);

#endif
