/* carrier_rows.h - what we and a process that holds sockets for us (carrier.h) say to each other.
 *
 * Two channels: sockets go over one, a message each, behind their id; rows over the other. A row
 * about a socket that has not come yet waits for it. Both ends are of one program on one machine.
 */
#ifndef PICKLOCK_PROXY_CARRIER_ROWS_H
#define PICKLOCK_PROXY_CARRIER_ROWS_H

#include <stdint.h>

enum carrier_row_kind {
    /* to the process */
    ROW_READ,   /* may read once more */
    ROW_WRITE,  /* writes the bytes behind the row, all of them; not before the last is done */
    ROW_FINISH, /* FIN behind what was written */
    ROW_CLOSE,  /* closes it; value 1: the peer sees RST */
    ROW_ASK,    /* of no socket: is to be answered */
    /* from it */
    ROW_CAME,   /* the bytes behind the row were read, with the one ROW_READ */
    ROW_ENDED,  /* so was its end; value: errno, 0 is FIN */
    ROW_WROTE,  /* what ROW_WRITE said is with the kernel; value: errno, 0 is fine */
    ROW_CLOSED, /* the last row about it: its id is free */
    ROW_ANSWER, /* to ROW_ASK: all before it has been heard */
};

struct carrier_row {
    uint32_t kind, id;
    uint32_t value; /* of WRITE and CAME how many bytes follow */
};

enum { CARRIED_READ_MAX = 16 * 1024 }; /* one read */

/* The whole life of the process: it ends with these channels' other ends, or with that status: it
 * may not have one more socket open. */
enum { CARRIER_NO_ROOM = 3 };
_Noreturn void carrier_run(int rows, int sockets);

#endif
