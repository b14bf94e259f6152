/* worker_replays.h - one replay after another with a user's worker. Each client that its choices
 * name has a new process, which was asked for nothing before; who does nothing in it may have one
 * that was reset, as the servers are (worker/session.h). One way is replayed once (replay_memo.h).
 * From the main thread only. */
#ifndef PICKLOCK_RUN_WORKER_REPLAYS_H
#define PICKLOCK_RUN_WORKER_REPLAYS_H

#include "explore/result/cell.h"
#include "worker/worker_world.h"

struct worker_replays;

/* program is kept. Nothing runs before the first replay. */
struct worker_replays *worker_replays_new(struct worker_program *program);
void worker_replays_free(struct worker_replays *replays); /* NULL is fine */
/* Of what runs for them nothing does any more, until the next replay. */
void worker_replays_rest(struct worker_replays *replays);

/* From now on the history of each replay is kept in that folder (made here), under names of its
 * own, until they are freed. What cannot be written is not kept. */
void worker_replays_record(struct worker_replays *replays, const char *folder);
/* In a child that has just been forked: under names that differ from its parent's, who removes
 * them. */
void worker_replays_begin_child(struct worker_replays *replays);

/* Gives the history of that replay a second name; false: it was not kept, or cannot have one. */
bool worker_replays_link(const struct worker_replays *replays, const struct run *run,
                         const struct explore_finding *way, const char *path);

/* The world of confirm(): one replay at a time. head (kept) as of walk_head(). */
struct confirm_world worker_replays_world(struct worker_replays *replays,
                                          const struct history_head *head);

/* cell_finish() in that world, which is the caller's to go on with. */
struct cell_world {
    struct run run;
    struct history_head head;
    struct confirm_world world; /* keeps both */
};
void worker_replays_finish(struct worker_replays *replays, struct cell *cell,
                           struct cell_world *in);

/* What was replayed. */
struct replay_memo *worker_replays_memo(const struct worker_replays *replays);

/* That somebody went past the proxy in one of them; no code: nobody did, as far as is known. */
const struct failure *worker_replays_past(const struct worker_replays *replays);
/* Another process has found that; past: as above. */
void worker_replays_note_past(struct worker_replays *replays, const struct failure *past);

#endif
