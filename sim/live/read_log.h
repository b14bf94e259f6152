/* read_log.h - in which order a redis-server reads: a shared ring that it writes itself.
 *
 * A redis-server executes what it has read from a connection before it reads from the next one
 * (without I/O threads). So the order of its reads is the order of execution, however many commands
 * are on their way at once. The library preloaded into it (reads_shim.c) writes a row for each
 * connection that it accepts and for each read; we read the rows (read_order.h). Beside the ring
 * stands from which ports connections came, for who asks whether all of them are ours.
 *
 * One writer, the server's main thread, and one reader. Source: redis 7.0, networking.c,
 * readQueryFromClient(). */
#ifndef PICKLOCK_LIVE_READ_LOG_H
#define PICKLOCK_LIVE_READ_LOG_H

#include <stdatomic.h>
#include <stdint.h>

/* The environment variable that names the file of the ring. */
#define READS_VARIABLE "PICKLOCK_READS"

enum { READ_LOG_ROWS = 1 << 15, READ_LOG_PORTS = 1 << 16, READ_LOG_DIALS = 1 << 12 };

struct read_row {
    uint32_t connection; /* of the server's, from 1 in the order of acceptance */
    uint16_t port;       /* of its other end; 0: no TCP */
    uint16_t is_accept;  /* no read: it was accepted */
    int64_t bytes;
    int64_t time_us; /* CLOCK_MONOTONIC behind the read, before anything of it is executed */
};

/* A connection on loopback that it began, told of before the other end can accept it. */
struct read_dial {
    uint16_t to, from; /* ports */
};

/* Of four ports at once, so that those without any are passed over quickly. */
enum { READ_LOG_AT_ONCE = 4 };
union port_counts {
    _Atomic int16_t each[READ_LOG_AT_ONCE];
    _Atomic uint64_t all;
};

struct read_log {
    _Atomic uint64_t written; /* rows so far; the newest READ_LOG_ROWS are there */
    struct read_row rows[READ_LOG_ROWS];
    /* Connections that it has accepted from that port (0: no TCP), less those that we have begun
     * from there: above 0, it has had one that is none of ours (process.h). */
    union port_counts strangers[READ_LOG_PORTS / READ_LOG_AT_ONCE];
    _Atomic uint32_t accepted;    /* goes up behind each that is counted there */
    _Atomic uint32_t tells_dials; /* set by us, before it starts: */
    _Atomic uint32_t dialled;     /* so many so far, of which the first READ_LOG_DIALS are there */
    struct read_dial dials[READ_LOG_DIALS];
};

static inline _Atomic int16_t *read_log_strangers(struct read_log *log, int port)
{
    return &log->strangers[port / READ_LOG_AT_ONCE].each[port % READ_LOG_AT_ONCE];
}

#ifndef CLOCK_SHIM

#include "base/fail.h"

/* Makes the file path (borrowed; must not exist yet) and maps it. FAIL_UNAVAILABLE: why not. */
enum fail read_log_open(struct read_log **log, const char *path, struct failure *failure);

/* Unmaps it; the file stays until its folder goes. Takes log (may be NULL). */
void read_log_shut(struct read_log *log);

#endif
#endif
