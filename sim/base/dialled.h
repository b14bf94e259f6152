/* dialled.h - does a connect() dial, or does it ask how the dial before it went? For whoever
 * answers a worker's calls: the library in it (shim/), or the supervisor beside it (calls/).
 *
 * A program that does not block may call connect() once more to hear the outcome, as Ruby does:
 * that is no other connection. Source: connect(2), poll(2). */
#ifndef PICKLOCK_BASE_DIALLED_H
#define PICKLOCK_BASE_DIALLED_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A socket without a connection is hung up, and has no error; one whose dial was refused has, until
 * it was told. Not by poll(), which answers in the worker's time. */
static inline bool dialled_already(int descriptor)
{
    struct pollfd row = {.fd = descriptor};
    const struct timespec now = {0};
    return syscall(SYS_ppoll, &row, 1, &now, NULL, (size_t)0) >= 0 && row.revents != POLLHUP;
}

#endif
