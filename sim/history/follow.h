/* follow.h - a file that somebody else still writes, read as it grows.
 *
 * What is read from it waits at the file's end for more. It ends for good, as any file does, when
 * somebody says so, or where nothing more can come: the file was cut, or removed, or another one
 * has taken its name; or its pipe has no writer any more. Which of these it was is told. */
#ifndef PICKLOCK_HISTORY_FOLLOW_H
#define PICKLOCK_HISTORY_FOLLOW_H

#include "base/fail.h"

#include <stdio.h>

struct follow {
    const volatile int *stop;         /* not 0: it ends here; borrowed */
    void (*caught_up)(void *context); /* all that is there was read; NULL: nobody asks */
    void *context;
    const char *ended; /* why nothing more came, as a sentence without its full stop; NULL: it has
                          not ended by itself. Filled in */
};

/* *file: the caller closes it, and keeps follow until then; path is kept, too. FAIL_INPUT as
 * infile_open(). */
enum fail follow_open(struct follow *follow, const char *path, FILE **file,
                      struct failure *failure);

#endif
