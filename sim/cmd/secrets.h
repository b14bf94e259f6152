/* secrets.h - a server's URL may hold a password: it is read, and shown nowhere.
 *
 * Neither the process list, nor a report, nor a failure's text shows what stands before the @. */
#ifndef PICKLOCK_CMD_SECRETS_H
#define PICKLOCK_CMD_SECRETS_H

/* A URL given here is not in the process list even for a moment. Input only: no child inherits it.
 */
#define SECRETS_VARIABLE "PICKLOCK_REDIS_URL"

/* Blots out the user and password of every URL in argv (which is changed: it is the process title),
 * and takes SECRETS_VARIABLE out of the environment; both are copied first. Call before anything
 * reads argv or forks: the copies live until the program ends. */
void secrets_hide(int argc, char **argv);

/* The text as it was given, for an argument (or a part of one) that secrets_hide() has blotted out;
 * others come back as they are. */
const char *secrets_reveal(const char *argument);

/* The URL of SECRETS_VARIABLE, to be used instead of an option; NULL: none. Reports then say so. */
const char *secrets_environment(void);

/* That URL blotted out, once secrets_environment() was asked for it; else NULL. */
const char *secrets_environment_shown(void);

#endif
