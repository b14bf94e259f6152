/* sure.h - until when somebody has surely held a lock, and whether that is another one than who
 * asks (of the clients with the latest ends the first two are enough); and until when a lease that
 * was renewed can last. Private to this folder. */
#ifndef PICKLOCK_CHECKS_SURE_H
#define PICKLOCK_CHECKS_SURE_H

#include "history/event.h"

#include <stdint.h>

/* Of two clients, the latest first. {NOBODY, INT64_MIN}: none yet. */
struct sure {
    int client;
    int64_t until_us;
};

void sure_note(struct sure ends[2], int client, int64_t time_us);
/* The latest end of anybody but that client. */
int64_t sure_of_others(const struct sure ends[2], int client);

/* Until when what a client has renewed may last, whoever promises to renew or not. */
struct renewed {
    int64_t until_us;  /* INT64_MIN: it has renewed nothing; NEVER_US: it has asked for more, and is
                          not answered */
    int64_t before_us; /* until_us before that */
};
static const struct renewed renewed_nothing = {.until_us = INT64_MIN, .before_us = INT64_MIN};
/* The call or the return of a renewal. */
void renewed_note(struct renewed *renewed, const struct event *event, int64_t lease_us);

#endif
