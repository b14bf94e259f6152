/* station.h - what wire.c and station.c share: the two halves of a wire. */
#ifndef PICKLOCK_LIVE_STATION_H
#define PICKLOCK_LIVE_STATION_H

#include "live/wire.h"

/* Frees the wire when nobody holds it any more. */
void wire_let_go(struct wire *wire);

/* Tells the owner, once, that the connection ended by itself. */
void wire_broke(struct wire *wire);

/* Frees the wire's first calls that are over, and that nobody waits for. */
void calls_leave(struct wire *wire);

#endif
