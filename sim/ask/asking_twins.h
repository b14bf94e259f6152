/* asking_twins.h - two histories side by side: are they gone on from alike? Private to this folder.
 */
#ifndef PICKLOCK_ASK_ASKING_TWINS_H
#define PICKLOCK_ASK_ASKING_TWINS_H

#include "ask/asking_state.h"

/* Two workers that are told the same. */
struct twins {
    struct asking *asking;
    uint32_t node, fresh;
    struct kept kept[SERVERS_MAX]; /* at the servers that they are told of */
    uint32_t asked[SERVERS_MAX];   /* the command that a server has yet to answer; 0: none */
    int32_t jumped;                /* ticks, by the wall clock, before the next operation */
    int32_t elapsed;               /* time that passes before the next operation, as an edge's */
    int32_t passed[2];             /* for each of them, since the last moment that counts */
    bool repeats[2];     /* what that one hears of another's token is the one heard before */
    bool is_first_lost;  /* the connection to the first server breaks behind each first command */
    const uint8_t *name; /* what the fresh one calls the server that the other one calls so; NULL:
                            the same */
    bool have_differed;
    uint32_t apart[2]; /* have_differed: behind what each of them did */
};

/* Both are told; *told: what they did, alike. FAIL_UNKNOWN: they did not (have_differed), or could
 * not be asked; so do all of these. */
enum fail twins_tell(struct twins *pair, const struct history_edge *what,
                     struct remembered_step *told, struct failure *failure);

/* The operation under way to its end, as the servers answer; *told: its last step. */
enum fail twins_end_operation(struct twins *pair, struct remembered_step *told,
                              struct failure *failure);
/* The whole of one. */
enum fail twins_operate(struct twins *pair, enum happening begins, struct remembered_step *told,
                        struct failure *failure);
/* What it holds is extended; *holds: it has it still. */
enum fail twins_extend(struct twins *pair, struct remembered_step *told, bool *holds,
                       struct failure *failure);

/* The operation under way, or a next acquire, to its end, and what is held then released.
 * operation: that it was asked for last; extends: what it holds it extends before. */
enum fail twins_go_on(struct twins *pair, bool holds, enum happening operation, bool extends,
                      struct failure *failure);

/* They went on otherwise: does each of them, in another process, do so again? One that does not is
 * no matter of attempts. Returns what failed. */
enum fail twins_ask_again(const struct twins *pair, struct failure *failure);

/* All servers are so. */
void twins_set_servers(struct twins *pair, struct kept kept);
/* The keys when another one has the lock, as a new worker takes it where nothing is: those of *one.
 * Of a worker without tokens what it writes itself is what another one would have written. */
enum fail twins_hold(struct asking *asking, struct twins *one, struct failure *failure);

#endif
