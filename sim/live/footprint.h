/* footprint.h - what a program run leaves on a server that is not ours, and that it goes away.
 *
 *     picklock:<16 hex digits>:run          the mark: alive while it is there; it is renewed, and
 * expires by itself picklock:<16 hex digits>:<n>:<key>    the keys of lock n: lock, fence, counter,
 * list, resource
 *
 * A run's own connection bears its name, so that others see at once whether it lives. What guards a
 * critical section is given an expiry with each write (command_encode_expiring), and renewed; the
 * lock key is not: whether it has one is the scheme's business, and is judged. No other key is ever
 * touched. */
#ifndef PICKLOCK_LIVE_FOOTPRINT_H
#define PICKLOCK_LIVE_FOOTPRINT_H

#include "live/control.h"

#include <stdbool.h>

enum {
    FOOTPRINT_RUN_MAX = 17,    /* 16 hex digits */
    FOOTPRINT_MARK_MS = 30000, /* how long the mark outlives its last renewal */
    FOOTPRINT_RENEW_MS = 5000,
    FOOTPRINT_FIRST_MS = 500,
    FOOTPRINT_KEYS_S = 24 * 3600 /* the longest run */
};

/* "picklock:<run>:" for the run's number: prefix of at least KEY_PREFIX_MAX bytes. */
void footprint_prefix(unsigned long long number, char *prefix);

/* Names the connection and sets the mark. Before the first key. prefix as above, borrowed. */
enum fail footprint_mark(redisContext *control, const char *prefix, struct failure *failure);

/* Renews the mark, and the expiry of what locks 0 .. locks-1 guard. */
enum fail footprint_renew(redisContext *control, const char *prefix, int locks,
                          struct failure *failure);

/* Deletes the keys of locks 0 .. locks-1. */
enum fail footprint_clear(redisContext *control, const char *prefix, int locks,
                          struct failure *failure);

/* Deletes the mark: the run is over. */
enum fail footprint_leave(redisContext *control, const char *prefix, struct failure *failure);

/* --- what earlier runs have left --- */

enum left_by {
    LEFT_BY_DEAD,    /* nobody bears its name, and its mark is gone */
    LEFT_BY_ALIVE,   /* somebody bears its name */
    LEFT_BY_RECENT,  /* nobody bears its name, but the mark has not expired yet */
    LEFT_BY_UNNAMED, /* a mark, and names cannot be seen here: may be alive */
    LEFT_BY_FORGER,  /* a mark such as no run sets: it stays too long, or says something else */
};

struct leftover {
    char run[FOOTPRINT_RUN_MAX];
    int64_t keys; /* its mark is none */
    enum left_by by;
    bool is_removed;
};

/* All of them in the selected database; the caller frees *rows. */
enum fail footprint_find(redisContext *control, struct leftover **rows, int *count,
                         struct failure *failure);

/* Deletes the keys of those that are dead, and of the one that is named (may be NULL) where it is
 * not alive; sets is_removed. */
enum fail footprint_remove(redisContext *control, struct leftover *rows, int count,
                           const char *named, struct failure *failure);

#endif
