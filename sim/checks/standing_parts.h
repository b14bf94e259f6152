/* standing_parts.h - what standing.c and standing_owner.c share. Nobody else includes it. */
#ifndef PICKLOCK_CHECKS_STANDING_PARTS_H
#define PICKLOCK_CHECKS_STANDING_PARTS_H

#include "checks/standing.h"

static inline int64_t later(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* Adds it, unless another one is as good; drops those that it is as good as. */
void ways_add(struct ways *ways, const struct lock_way *way);

/* What was used of that client and is not answered: bits USED_*. */
unsigned standing_used(const struct lock_way *way, int client);
/* False: there is no room for it. */
bool standing_use(struct lock_way *way, int client, unsigned how);

/* The client's from that time on, or from when the lock is free. Who is not told of it may give it
 * back at once. */
void standing_own(const struct lock_answers *lock, struct lock_way *way, int client,
                  int64_t since_us);
/* Its owner is told in time that it was granted it: it lasts. */
void standing_tell(const struct lock_answers *lock, struct lock_way *way);
void standing_lengthen(const struct lock_answers *lock, struct lock_way *way, int64_t since_us);

/* To the next ways: those in which, by now, the client has got the lock after that way; has got it
 * and lost it by itself; has got it and released it; is refused (its acquire). */
void standing_give(struct lock_answers *lock, const struct lock_way *way, int client);
void standing_give_until_expired(struct lock_answers *lock, const struct lock_way *way, int client);
void standing_give_back(struct lock_answers *lock, const struct lock_way *way, int client);
void standing_refuse(struct lock_answers *lock, const struct lock_way *way, int client);
/* Its refusal follows from that way as it is. */
bool standing_explains(const struct lock_answers *lock, const struct lock_way *way, int client);

/* The ownership has ended by itself by now, where it can have. */
void standing_expire(struct lock_answers *lock, struct ways *ways, const struct lock_way *way);

#endif
