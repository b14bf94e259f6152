/* foreign_code.h - what a scheme from a file can do to the program that runs it: end it, crash, or
 * never return. Each is told with the name of its file, and no verdict comes of it. */
#ifndef PICKLOCK_CMD_FOREIGN_CODE_H
#define PICKLOCK_CMD_FOREIGN_CODE_H

#include <stdbool.h>

/* Once, before any is loaded. False: it cannot be watched. */
bool foreign_code_watch(void);

/* A command has come to its end: whatever ends the program now is ours. */
void foreign_code_is_over(void);

/* From a signal handler: the user wants the end. A step that does not return within a second more
 * ends the program, as nothing else would. */
void foreign_code_hurry(void);

#endif
