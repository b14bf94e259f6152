/* command_wire.h - a row of commands.def as command.c and command_wire.c share it; nobody else
 * includes it.
 *
 * A row's wire text is words with one space between; a word that begins with % stands for what
 * wire_part says; a word ";" ends a request. Source: the Redis command reference. */
#ifndef PICKLOCK_REDIS_COMMAND_WIRE_H
#define PICKLOCK_REDIS_COMMAND_WIRE_H

#include "base/bits.h"
#include "redis/command.h"

enum wire_part {
    WIRE_KEY = 'k',          /* prefix + name of command.key */
    WIRE_FENCE_KEY = 'f',    /* prefix + "fence" */
    WIRE_VALUE = 'v',        /* command.value */
    WIRE_NUMBER = 'n',       /* command.number */
    WIRE_SECONDS = 's',      /* command.ttl_us in seconds */
    WIRE_MILLISECONDS = 'm', /* command.ttl_us in milliseconds */
    WIRE_SCRIPT = 'b',       /* the row's script */
    WIRE_SHA = 'h',          /* the row's SHA1 of a script */
    WIRE_EXPIRY = 'x',       /* of command_encode_expiring(), in seconds */
};

enum { WIRE_TEXT_MAX = 128 };

/* Which replies a command may have: others mean that it was not our server that answered. */
#define ANSWERS(BIT)                                                                               \
    BIT(ANSWER_NIL)                                                                                \
    BIT(ANSWER_OK)                                                                                 \
    BIT(ANSWER_INTEGER)                                                                            \
    BIT(ANSWER_VALUE)                                                                              \
    BIT(ANSWER_TRANSACTION)                                                                        \
    BIT(ANSWER_SHA) /* the SHA1 of the row's script: it stands for OK */
BITS(answer, ANSWERS);

struct lua {
    const char *sha; /* NULL: no command goes by it */
    const char *text;
};

/* A row of commands.def, without what only the model knows, or only people. */
struct verb_row {
    const char *id, *name;
    const char *wire;
    const struct lua *script;
    const char *guarded, *shown;
    int answers; /* enum answer, or-ed */
    enum effect effect;
    enum compares compares;
    enum expiry expiry;
};

/* Static; never NULL for values of the enum. */
const struct verb_row *verb_row(enum verb verb);

#endif
