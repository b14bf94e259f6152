/* series.h - a stress run over its time, for plots: what happened in each part of it, and how long
 * waits and holds were. Constant memory: where there would be too many parts, two become one. */
#ifndef PICKLOCK_RUN_SERIES_H
#define PICKLOCK_RUN_SERIES_H

#include "checks/checks.h"

enum {
    SERIES_PARTS_MAX = 60,
    SERIES_STEPS = 40, /* of lengths: step i has 2^i us and more, less than 2^(i + 1); 12 days */
};

struct series_part {
#define PART(name, member) int64_t member;
#include "run/series.def"
#undef PART
};

/* All zero: not recorded. Flat: freed with what it is in. */
struct series {
    int64_t part_us; /* length of each part; the last one may be cut short */
    int parts_count;
    struct series_part parts[SERIES_PARTS_MAX];
    int64_t memory_kb[SERIES_PARTS_MAX]; /* of picklock, the most that was seen in each part; all 0:
                                            not known */
    int64_t holders[SERIES_PARTS_MAX]; /* the most clients that held a lock at a time in each part,
                                          as they believed */
    int64_t held_us[SERIES_PARTS_MAX]; /* how long they held, all together */
    int64_t waits[SERIES_STEPS];       /* acquire calls, granted or not, by their length */
    int64_t holds[SERIES_STEPS];       /* from a grant to the call of its release */
};

/* Somebody held a lock, and it is known when: older programs did not tell it. */
bool series_has_holds(const struct series *series);
/* Which step a length belongs to. */
int series_step(int64_t us);

struct series_recorder;

/* checks (borrowed until it is freed): whose findings are counted. */
struct series_recorder *series_recorder_new(int clients, const struct checks *checks);
/* Behind the checks, each event in order. */
void series_event(struct series_recorder *recorder, const struct event *event);
/* What it has recorded up to now. */
void series_fill(struct series_recorder *recorder, struct series *series);
void series_recorder_free(struct series_recorder *recorder); /* NULL is fine */

#endif
