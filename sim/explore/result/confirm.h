/* confirm.h - a witness replayed, in the simulated world or in another one, and judged by checks/.
 *
 * The explorer's own judge only leads the search: what counts is what checks/ says of the replay,
 * and it names the cause. */
#ifndef PICKLOCK_EXPLORE_RESULT_CONFIRM_H
#define PICKLOCK_EXPLORE_RESULT_CONFIRM_H

#include "explore/result/replay_memo.h"

/* Writes replays down, so that none is made again for its history. */
struct replay_recorder {
    /* NULL: it cannot, now. *sink hears every event, numbered. Several go on at once. */
    void *(*begin)(void *context, const struct history_head *head, struct event_sink *sink);
    /* What begin() returned; returns its file (memory's), NULL: none. */
    char *(*end)(void *context, void *record, enum fail fail);
    void *context;
};

/* How to make a world; run's sink is set. open NULL: the simulated one. acting, bit a client: those
 * that the choices name; the others do nothing, and all that they might send stays on its way. */
struct confirm_world {
    enum fail (*open)(void *context, const struct run *run, unsigned acting, struct world **world,
                      struct failure *failure);
    void (*ended)(void *context, enum fail fail); /* the world is freed; NULL: nobody asks */
    void *context;
    int64_t clock_error_us;             /* as in history_head */
    const struct history_head *foreign; /* the clients are a program's: only its history tells of
                                           them, and this is its head. NULL: a scheme's */
    const struct event_sink *also; /* hears every event, numbered, as the checks do; NULL: nobody */
    struct replay_memo *memo; /* what was replayed before is not again, if nobody else hears it;
                                 NULL: it is */
    const struct replay_recorder *recorder; /* what is replayed for the memo; NULL: nobody writes */
    /* PROPERTY_COUNT ways of the same run, of which those that are violated will be asked for, too:
     * where the memo serves, one that goes on behind another is replayed, and either is judged when
     * its choices are over. NULL: none. */
    const struct explore_finding *wanted;
    bool *lacks_command; /* out: the server did not know a command; NULL: nobody asks */
};

/* The run that a witness of this search belongs to; names (EXPLORE_CLIENTS_MAX of them) are kept by
 * it. */
struct run confirm_run(const struct explore_options *options, const struct explore_outcome *outcome,
                       char (*names)[NAME_MAX_BYTES]);

/* Those that its choices name, bit a client. */
unsigned confirm_acting_clients(const struct explore_finding *way);

/* Replays the choices of a finding and fills findings[PROPERTY_COUNT]. world NULL: the simulated
 * one. FAIL_UNKNOWN: the world did not follow, with why; whatever open() failed with. */
enum fail confirm(const struct run *run, const struct explore_finding *finding,
                  const struct confirm_world *world, struct finding *findings,
                  struct failure *failure);

#endif
