/* replies.h - what servers were seen to reply to one client's typed commands, of its last attempts:
 * what it hears is the reply of one of them. Copies and commands that are sent again have several,
 * and a reply that was lost is never heard. */
#ifndef PICKLOCK_CHECKS_REPLIES_H
#define PICKLOCK_CHECKS_REPLIES_H

#include "history/event.h"

enum { REPLIES_KEPT = 16 }; /* more than an attempt of ours has different ones */

struct replies {
    int count, next;
    int forgotten; /* the last attempt of which it does not have all any more */
    struct replied {
        int attempt, server;
        struct command command;
        struct reply reply;
    } kept[REPLIES_KEPT]; /* a ring */
};

/* Takes an EXECUTE. */
void replies_note(struct replies *replies, const struct event *event);

/* Can what is heard be so? Not where such a command of that attempt was executed, and never that
 * very one with that reply; nor where none was, unless it is on the lock key: of these coverage.c
 * asks whether they were executed at all. An error may have been said by whoever is between. */
bool replies_explain(const struct replies *replies, const struct event *event);

#endif
