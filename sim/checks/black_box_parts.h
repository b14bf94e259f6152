/* black_box_parts.h - what black_box.c, black_box_holds.c and black_box_answers.c share. Nobody
 * else includes it. */
#ifndef PICKLOCK_CHECKS_BLACK_BOX_PARTS_H
#define PICKLOCK_CHECKS_BLACK_BOX_PARTS_H

#include "checks/answers.h"
#include "checks/black_box.h"
#include "checks/sure.h"
#include "checks/told_fences.h"

struct box_lock {
    int64_t asked;       /* attempts that have begun */
    int open;            /* attempts that may hold it, or come to hold it */
    struct sure last[2]; /* when the last one of those ended; of two clients, the latest first */
    struct sure held[2]; /* when the last certain hold ended; the same */
};

struct black_box {
    const struct ledger *ledger;
    bool may_renew;   /* a lease may end later than anybody says */
    int64_t least_us; /* of a lease; where each grant has its own, nobody saw how long: 0 */
    struct finding findings[PROPERTY_COUNT];
    struct box_lock *locks;
    struct told_fences *fences;
    struct answers_engine *answers; /* NULL: clients judge stamps, and no lock is like that */
    int64_t lost_us; /* when a server last lost keys, or its clock was moved, by a fault that is
                        told; NEVER_US: it was not */
    int64_t overlap_index;   /* of the last grant that two certain holds are told of; NO_INDEX */
    unsigned contradictions; /* enum contradiction: what no lock can have answered */
    struct box_client {
        bool is_open;           /* its last attempt is one of those */
        struct renewed renewed; /* since it was granted the lock */
    } clients[];
};

/* It may be so, or not: the first reason is kept, as long as nothing is violated. True: it is the
 * first, and the caller says what happened. */
bool box_doubt(struct black_box *box, enum property property);
/* As finding_hit(); a doubt that was said before it is gone. */
bool box_hit(struct black_box *box, enum property property, enum cause cause, int64_t index);
/* That client's acquire, and that it was told "granted". */
void box_say_called(const struct black_box *box, int client, const char *also,
                    struct finding *finding);

/* Until when its key is there for certain; from when on its lease is over for certain. NEVER_US:
 * for ever; nobody knows. */
int64_t box_certain_end_us(const struct black_box *box, int client);
int64_t box_last_end_us(const struct black_box *box, int client);
/* At that time, whatever the clocks disagree by. */
bool box_is_certain(const struct black_box *box, int client, int64_t time_us);
bool box_is_over(const struct black_box *box, int client, int64_t time_us);

/* It has never asked for a lock. */
bool box_is_without(const struct black_box *box, const struct event *event);

/* black_box_holds.c: a client begins to believe that it has the lock; it asks for its lease anew.
 */
void box_held(struct black_box *box, const struct fact *fact);
void box_renewed(struct black_box *box, const struct event *event);

/* black_box_answers.c: a call or a return. */
void box_answered(struct black_box *box, const struct event *event);

#endif
