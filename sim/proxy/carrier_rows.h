/* carrier_rows.h - what we and a process that holds sockets for us (carrier.h) say to each other.
 *
 * Two channels: sockets go over one, a message each, behind their id; rows over the other. A row
 * about a socket that has not come yet waits for it. Both ends are of one program on one machine.
 */
#ifndef PICKLOCK_PROXY_CARRIER_ROWS_H
#define PICKLOCK_PROXY_CARRIER_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum carrier_row_kind {
    /* to the process */
    ROW_READ,   /* may read so many bytes more: value */
    ROW_SEND,   /* writes the bytes behind the row, and says only that it cannot */
    ROW_WRITE,  /* so, and tells when all before is written, too; one at a time */
    ROW_FINISH, /* FIN behind what was written */
    ROW_CLOSE,  /* closes it; value 1: the peer sees RST */
    ROW_ASK,    /* of no socket: is to be answered */
    /* from it */
    ROW_CAME,   /* the bytes behind the row were read */
    ROW_ENDED,  /* so was its end; value: errno, 0 is FIN */
    ROW_WROTE,  /* to ROW_WRITE: the kernel has it; value: errno, 0 is fine. To ROW_SEND: errno */
    ROW_CLOSED, /* the last row about it: its id is free */
    ROW_ANSWER, /* to ROW_ASK: all before it has been heard */
};

struct carrier_row {
    uint32_t kind, id;
    uint32_t value; /* of SEND, WRITE and CAME how many bytes follow */
};

enum {
    CARRIED_READ_MAX = 16 * 1024, /* of one socket, read and not taken here */
    CARRIED_SENT_MAX = 4 * 1024,  /* so much is sent before it is asked whether that is written */
};

/* Takes what came over the channel: in (below) keeps of a row what has not all come, and take is
 * called for each whole one, with the bytes behind it (borrowed). */
struct block;
typedef void take_row(void *context, const struct carrier_row *row, const char *bytes);
void carrier_rows_take(struct block *in, const char *bytes, size_t length, take_row *take,
                       void *context);

/* The whole life of the process: it ends with these channels' other ends, or with that status: it
 * may not have one more socket open. */
enum { CARRIER_NO_ROOM = 3 };
_Noreturn void carrier_run(int rows, int sockets);

#endif
