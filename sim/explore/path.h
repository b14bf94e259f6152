/* path.h - a schedule while it is worked on: steps by name, so that they can be made again in
 * another order, or without some of them.
 *
 * A deed says who does what, and to which message, in the words of a schedule: a message is the
 * oldest of its client, server and verb, and waited for or not. Paths are walked where nothing is
 * reduced: a client keeps its place from the first step to the last. */
#ifndef PICKLOCK_EXPLORE_PATH_H
#define PICKLOCK_EXPLORE_PATH_H

#include "explore/steps.h"

struct deed {
    enum move_kind kind;
    int client, server; /* -1: none */
    int fault;          /* enum fault of MOVE_STRIKE, which it costs, and of MOVE_FOLLOW */
    int ticks;          /* that a clock jumps by it */
    bool is_late;       /* nobody waits for that message: given up on, or a copy */
    int verb;           /* enum verb of the message that it is about, or NO_VERB */
};

enum { NO_VERB = -1 };

/* A step from the state before it. */
struct deed deed_of(const struct space *space, const uint32_t *before,
                    const struct step_taken *step);

struct path {
    struct deed *deeds;
    int count, size;
};

/* Copies: the source is borrowed. */
void path_add(struct path *path, const struct deed *deed);
void path_copy(struct path *to, const struct path *from);
void path_close(struct path *path);
int path_faults(const struct path *path);

/* Fewer faults, or as many and fewer events. */
bool path_is_shorter(const struct path *path, const struct path *than);

static inline bool deed_is_fault(const struct deed *deed)
{
    return deed->kind == MOVE_STRIKE;
}

/* Who does it: clients first, then servers, then time. */
enum { ACTOR_TIME = EXPLORE_CLIENTS_MAX + SERVERS_MAX, ACTORS };
int deed_actor(const struct deed *deed);

/* Where paths are walked: the whole space of some options, and the state in hand. */
struct stage {
    struct explore_options options;
    struct space space;
    struct stepper stepper;
    uint32_t words[WORDS_MAX];
    struct step_taken *steps; /* all that can follow it */
    int count, size;
};

/* The stage keeps itself by address: it stays where it is until stage_close. */
void stage_init(struct stage *stage, const struct explore_options *options);
void stage_close(struct stage *stage);
void stage_start(struct stage *stage);
void stage_go(struct stage *stage, const uint32_t *words);
/* The step by which the state in hand does that, or NULL: it cannot. */
const struct step_taken *stage_find(const struct stage *stage, const struct deed *deed);

/* Makes the deeds one after the other, from the state in hand, until one violates the property, and
 * lets out what cannot be done. Adds to made those that were; false when none violated it. */
bool path_walk(struct stage *stage, const struct deed *deeds, int count, enum property property,
               struct path *made);

/* From the start, with nothing left out: is every deed possible, and the last one the first to
 * violate the property? */
bool path_follows(struct stage *stage, const struct path *path, enum property property);

/* As a schedule: fills choices (the caller frees), faults and events. The path must be one that
 * follows. */
void path_print(struct stage *stage, const struct path *path, struct explore_finding *finding);

#endif
