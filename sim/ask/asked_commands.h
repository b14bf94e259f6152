/* asked_commands.h - commands that can be asked once: their answer, and what they do, follows from
 * their words, the keys, what is left of these, and the scripts that the server knows.
 *
 * Not of them: what waits, or hears what others publish; what goes by the server's clock as such
 * (TIME, EXPIREAT), by chance (SPOP), or by an order that the server makes up (KEYS, SMEMBERS). */
#ifndef PICKLOCK_ASK_ASKED_COMMANDS_H
#define PICKLOCK_ASK_ASKED_COMMANDS_H

#include "base/fail.h"
#include "worker/wire_words.h"

#include <hiredis/hiredis.h>

/* Before it is sent. FAIL_UNKNOWN: its name, or an option (PXAT), is none of those. */
enum fail asked_commands_check(const struct wire_words *words, struct failure *failure);

/* The server itself counts what it executes, scripts' and transactions' own commands with it: from
 * here on ... */
enum fail asked_commands_begin(redisContext *control, struct failure *failure);
/* ... to here. FAIL_UNKNOWN: it has executed one that is none of those. */
enum fail asked_commands_end(redisContext *control, struct failure *failure);

#endif
