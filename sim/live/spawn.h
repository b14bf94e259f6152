/* spawn.h - a child process that serves us: in a session of its own, and gone when we are. */
#ifndef PICKLOCK_LIVE_SPAWN_H
#define PICKLOCK_LIVE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct spawn_options {
    const char *log;   /* what it says goes there */
    const char *shim;  /* the clock shim to preload, NULL: none */
    const char *page;  /* the files of its clock page, */
    const char *reads; /* and of its reads, NULL: none */
};

/* Forks and runs arguments[0], looked up on the PATH; all borrowed. Its process id; -1 with the
 * errno in *error when the program could not be run at all. The kernel kills it when the calling
 * thread, which is the main one, ends. */
int spawn(const struct spawn_options *options, char *const *arguments, int *error);

/* As read(2) of a pipe to which that child, what it leads, or its child (0: none) is about to
 * write, and which both may hold open: should somebody have stopped one, it goes on. Never EINTR.
 */
ssize_t spawn_read(int from, int child, int grandchild, void *bytes, size_t size);

/* Waits for a child that is about to end: its status, as of waitpid(2). One that somebody has
 * stopped goes on; one that has not ended after SPAWN_END_S is killed. */
enum { SPAWN_END_S = 5 };
int spawn_await_end(int pid);

#endif
