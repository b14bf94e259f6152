/* command_wire.h - the table that says how each command travels; shared by command.c and
 * command_wire.c only.
 *
 * A row's wire text is words with one space between; a word that begins with % stands for what
 * wire_part says; a word ";" ends a request. Source: the Redis command reference. */
#ifndef PICKLOCK_REDIS_COMMAND_WIRE_H
#define PICKLOCK_REDIS_COMMAND_WIRE_H

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

/* How the command is shown to people: its wire text, or a name of ours and the arguments. Static.
 */
const char *wire_shown(enum verb verb);

#endif
