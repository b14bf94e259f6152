/* infile.h - files that are read from their start to their end.
 *
 * Read are regular files, and pipes that somebody holds open: `<(...)` and `| picklock check
 * /dev/stdin`. A folder, a device, a socket, or a named pipe, which waits for a writer that may
 * never come, is refused: nothing hangs, and nothing is read without end. */
#ifndef PICKLOCK_BASE_INFILE_H
#define PICKLOCK_BASE_INFILE_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* *file: the caller closes; its descriptor is closed on exec. FAIL_INPUT: it is not there, may not
 * be read, or is none of the above. path is borrowed. */
enum fail infile_open(const char *path, FILE **file, struct failure *failure);

/* All of it, at most bytes_max: *bytes has a 0 behind it, the caller frees; untouched on failure.
 * FAIL_INPUT: as above, or it is larger. */
enum fail infile_read(const char *path, size_t bytes_max, char **bytes, size_t *size,
                      struct failure *failure);

/* FAIL_INPUT when it could not be opened, for those who have to leave that to others. */
enum fail infile_check(const char *path, struct failure *failure);

/* What it begins with, cut to room bytes with the 0 behind it. Nothing, where it cannot be read
 * again: what was read of a pipe is gone. */
void infile_beginning(const char *path, char *text, size_t room);

/* Can it be read only once? */
bool infile_is_pipe(const char *path);

#endif
