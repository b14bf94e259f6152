/* follow.h - a file that somebody else still writes, read as it grows.
 *
 * What is read from it waits at the file's end for more. It ends for good, as any file does, when
 * somebody says so, or where nothing more can come: the file was cut, or removed, or another one
 * has taken its name; or its pipe has no writer any more. Which of these it was is told. */
#ifndef PICKLOCK_HISTORY_FOLLOW_H
#define PICKLOCK_HISTORY_FOLLOW_H

#include "base/fail.h"

#include <stdbool.h>
#include <sys/types.h>

struct follow {
    const volatile int *stop;         /* not 0: it ends here; borrowed */
    void (*caught_up)(void *context); /* all that is there was read; NULL: nobody asks */
    void *context;
    const char *ended; /* why nothing more came, as a sentence without its full stop; NULL: it has
                          not ended by itself. Filled in */

    /* Its own: */
    const char *path;
    int descriptor;
    int changes; /* inotify, or -1: none is to be had */
    off_t position;
    off_t last; /* where it ends since somebody said so; below 0: nobody has */
    bool is_pipe;
};

/* Of an open file; the descriptor and its path are borrowed until the end. */
void follow_start(struct follow *follow, const char *path, int descriptor);
/* As read(2), but that it waits for at least a byte: 0 is the end. */
ssize_t follow_read(struct follow *follow, char *bytes, size_t size);
/* The same, and waits for nothing: 0: no more is there now. */
ssize_t follow_read_now(struct follow *follow, char *bytes, size_t size);
void follow_end(struct follow *follow);

#endif
