/* program.h - which file a program is, and of what kind: how its time can be steered. */
#ifndef PICKLOCK_WORKER_PROGRAM_H
#define PICKLOCK_WORKER_PROGRAM_H

#include <stdbool.h>

/* Was the file compiled by Go? False, too, for what cannot be read. */
bool program_is_go(const char *path);

/* The file that execvp() would take for the word (which is borrowed, and may be the answer). */
enum { PROGRAM_PATH_MAX = 4096 };
const char *program_find(const char *word, char path[PROGRAM_PATH_MAX]);

/* Does that word of a command line (a path, or a name on PATH) name a program that would not wait
 * through the C library: one without an interpreter for its libraries, or of Go? */
bool program_lacks_library(const char *word);

#endif
