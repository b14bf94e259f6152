/* naming.h - which message a choice means. One rule for both worlds, the interpreter and the
 * explorer.
 *
 * A choice names a message by client, server and the name of its command. It means the oldest such
 * message that is as the choice wants it (a request, a reply, void); one that the client waits for
 * comes before those that it does not. */
#ifndef PICKLOCK_SCENARIO_NAMING_H
#define PICKLOCK_SCENARIO_NAMING_H

#include "scenario/world.h"

/* The place among the client's messages, oldest first, of the one that the choice means; -1: there
 * is none. */
int naming_find(const struct choice *choice, const struct message *messages, int count);

/* As naming_find(), with the complaint that there is none; name: the client's. */
int naming_find_or_say(const struct choice *choice, const struct message *messages, int count,
                       const char *name, struct failure *failure);

/* Is that message, whatever its name, one that the choice could mean: of its server, and as it
 * wants it? */
bool naming_suits(const struct choice *choice, const struct message *message);

/* The choice of that kind about the message. */
struct choice naming_choice(enum choice_kind kind, const struct message *message);

/* Is the choice about a message? */
bool naming_is_about_message(enum choice_kind kind);

/* The name of a message's command: "SET" is every form of it, a foreign program's own or a typed
 * one. */
const char *naming_command(const struct message *message);
bool naming_is_command(const struct message *message, const char *name);
/* A command of that name changes no key, whoever sends it. */
bool naming_only_reads(const char *name);
/* What it is to do to the lock. Of a foreign program's command it is guessed: it does what the
 * operation is for, where it names the lock's key, unless its name is that of a command that only
 * reads. */
enum effect naming_effect(const struct message *message);

#endif
