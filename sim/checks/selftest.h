/* selftest.h - random small histories of a lock, right and wrong ones, judged in two or three ways
 * that must agree: by the engine of answers.h, by trying every placement, and by the witness, which
 * is shown what the server did.
 *
 * A function of its seed alone. */
#ifndef PICKLOCK_CHECKS_SELFTEST_H
#define PICKLOCK_CHECKS_SELFTEST_H

#include "checks/answers.h"
#include "checks/placements.h"

enum { SELFTEST_EVENTS = 16, SELFTEST_TEXT = 2048 };

struct selftest_history {
    int64_t lease;             /* 0: none */
    enum placements_lock lock; /* but of one that is owned, there is one */
    int locks;
    int count;
    struct event events[SELFTEST_EVENTS];
};

struct selftest {
    uint64_t seed;
    struct answers_rules planted; /* rules that are not those of a lock, to see that they are found
                                     out; the lease is the history's */
    int64_t histories;            /* judged so far */
    int64_t contradictory;        /* that no lock explains */
    int64_t lenient; /* of these: taken by the engine, which says that it was lenient */
    int64_t disagreements;
    struct selftest_history smallest; /* of the first disagreement, shrunk */
    bool engine_contradicts;          /* on that one; the placements say the other */
};

struct selftest_room;

struct selftest_room *selftest_new(void);
void selftest_free(struct selftest_room *room);

/* Judges so many more histories of the seed, or fewer: up to the first disagreement. */
void selftest_go(struct selftest_room *room, struct selftest *selftest, int64_t histories);

/* History number of that seed. */
void selftest_draw(uint64_t seed, int64_t number, struct selftest_history *history);

/* For people: a line an event. text: SELFTEST_TEXT bytes. Returns text. */
const char *selftest_print(const struct selftest_history *history, char *text);

#endif
