/* worker_world.h - a directed world whose clients are somebody's processes, on steered
 * redis-servers.
 *
 * Behind scenario/world.h: the rules are the core's (world/core.h), here are its clients and its
 * backend. A step of a worker is all that it does until it is at rest; its commands are opaque, and
 * what they did is told by their effects on the lock's key. A new world has new processes. */
#ifndef PICKLOCK_WORKER_WORKER_WORLD_H
#define PICKLOCK_WORKER_WORKER_WORLD_H

#include "worker/protocol.h"
#include "world/core.h"

/* What is run, and what is known of it once a world was made. */
struct worker_program {
    const char *command;      /* of a worker; borrowed */
    const char *redis_server; /* NULL: the one on the PATH */
    int64_t wait_us;          /* as in session.h */
    bool skips_extend;        /* no search asks it to extend, whatever it promises */
    const volatile int *stop; /* of the session; may be NULL */
    bool is_known;            /* the rest is */
    unsigned promises;        /* bit enum worker_promise */
    char library[PROTOCOL_TEXT_MAX];
    char server_version[32];
};

/* run and program are kept. FAIL_NOT_APPLICABLE: more clients than there can be. FAIL_INPUT,
 * FAIL_UNAVAILABLE: the worker cannot be used, and why. Freed by ops->free. */
enum fail world_worker_new(struct world **world, struct worker_program *program,
                           const struct run *run, struct failure *failure);

/* What runs in such a world, for whoever looks at more than a world shows: the bytes of commands.
 */
struct session *world_worker_session(const struct world *world);
/* Did it end because somebody changed the lock's key past the proxy? */
bool world_worker_is_past(const struct world *world);
/* When it has come to its end: has nobody gone past the proxy? FAIL_UNKNOWN: somebody did. */
enum fail world_worker_check_past(const struct world *world, struct failure *failure);

/* Processes and servers that are used by one world after another: each is made with those of the
 * one before it, reset (session.h). */
struct kept_workers;

/* Nothing runs yet. program is kept; run (copied, but for its names) says how many, and what lease;
 * FAIL_NOT_APPLICABLE as above. */
enum fail kept_workers_new(struct kept_workers **kept, struct worker_program *program,
                           const struct run *run, struct failure *failure);
/* The world before it is freed by then. run (kept) has another sink than that above, at most.
 * fresh, bit a client: its process is new. FAIL_UNKNOWN: a worker cannot be reset, and why. Behind
 * any failure, here or of the world, all begins anew with the next world. */
enum { FRESH_NOBODY = 0 };
enum fail kept_workers_world(struct kept_workers *kept, struct world **world, const struct run *run,
                             unsigned fresh, struct failure *failure);
/* Behind a world's end: has nobody gone past the proxy? FAIL_UNKNOWN: somebody did. */
enum fail kept_workers_check_past(struct kept_workers *kept, struct failure *failure);
/* Can a world of that run be one of them? */
bool kept_workers_suit(const struct kept_workers *kept, const struct run *run);
/* Nothing of what runs is used any more: what it did cannot be trusted. */
void kept_workers_drop(struct kept_workers *kept);
void kept_workers_free(struct kept_workers *kept); /* NULL is fine */

/* Can workers do that at all? FAIL_NOT_APPLICABLE: why not. */
enum fail worker_can(enum choice_kind kind, struct failure *failure);

/* Of a history's head: what it promises, bit enum promise. */
unsigned worker_program_promises(const struct worker_program *program);

/* Does a search ask it to extend, once in each hold? */
static inline bool worker_program_is_told_to_extend(const struct worker_program *program)
{
    return program->promises >> WORKER_PROMISES_EXTENDS & 1 && !program->skips_extend;
}

/* Does a search cancel an acquire of it, where that may wait? */
static inline bool worker_program_is_cancelled(const struct worker_program *program)
{
    return program->promises >> WORKER_PROMISES_CANCELS & 1 && program->wait_us > 0;
}

#endif
