/* shell.h - words of a command line that somebody copies into a shell. */
#ifndef PICKLOCK_BASE_SHELL_H
#define PICKLOCK_BASE_SHELL_H

/* The word as it is where a shell takes it for one word, else in quotes. Borrows; the caller frees.
 */
char *shell_word(const char *word);

#endif
