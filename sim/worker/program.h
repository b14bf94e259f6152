/* program.h - what kind of program a file is: how its time can be steered. Private to this folder.
 */
#ifndef PICKLOCK_WORKER_PROGRAM_H
#define PICKLOCK_WORKER_PROGRAM_H

#include <stdbool.h>

/* Was the file compiled by Go? False, too, for what cannot be read. */
bool program_is_go(const char *path);

/* Does that word of a command line (a path, or a name on PATH) name a program that would not wait
 * through the C library: one without an interpreter for its libraries, or of Go? */
bool program_lacks_library(const char *word);

#endif
