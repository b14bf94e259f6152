/* textfile.h - a whole text file in memory, refused when it cannot be one.
 *
 * What base/infile.h refuses, a binary file or one larger than its kind can be is FAIL_INPUT with
 * one clear sentence. */
#ifndef PICKLOCK_SCENARIO_TEXTFILE_H
#define PICKLOCK_SCENARIO_TEXTFILE_H

#include "base/fail.h"

#include <stddef.h>

/* *bytes: the file with a final 0, the caller frees; untouched on failure. */
enum fail textfile_read(const char *path, size_t bytes_max, char **bytes, size_t *size,
                        struct failure *failure);

/* FAIL_INPUT with "path:line:column: ..." when bytes hold a 0 or are not UTF-8. */
enum fail textfile_check(const char *path, const char *bytes, size_t size, struct failure *failure);

#endif
