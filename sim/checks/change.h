/* change.h - what a command's reply proves about the lock key, and what the command did to it.
 *
 * A reply says whether the key was there before; so that a history needs no model to be replayed,
 * and a ledger can see where the server knew something that the history does not. Source: the
 * columns effect, compares and expiry of redis/commands.def. */
#ifndef PICKLOCK_CHECKS_CHANGE_H
#define PICKLOCK_CHECKS_CHANGE_H

#include "history/effect.h"

enum change_kind {
    CHANGE_NONE,
    CHANGE_WRITE,        /* the key holds the command's value now */
    CHANGE_WRITE_IF_NEW, /* the same, if there was none: a script or transaction that failed half
                            way */
    CHANGE_SWAP,         /* written over whatever was there, and whoever sent it must judge */
    CHANGE_EXPIRY,       /* its expiry is another one */
    CHANGE_DELETE,
};

struct change {
    enum change_kind kind;
    enum before before;
    bool has_value; /* the reply (or the comparison) says which value it had before */
    int64_t value;
    bool is_unlike; /* a comparison failed: it was absent, or not `value` */
    bool has_ttl;   /* WRITE, EXPIRY: the key expires ttl_us later */
    int64_t ttl_us;
};

struct change change_read(const struct command *command, const struct reply *reply);

#endif
