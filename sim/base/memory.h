/* memory.h - memory that is there, or the end: running out prints one line and exits with 70.
 * The one place below cmd/ that may exit (fail.h says why). */
#ifndef PICKLOCK_BASE_MEMORY_H
#define PICKLOCK_BASE_MEMORY_H

#include <stddef.h>

/* Zeroed memory for count things of size bytes each; count * size may not overflow. The caller
 * frees. */
void *memory_new(size_t count, size_t size);

/* Like realloc() to count things of size bytes; what is added is not zeroed. Takes old. */
void *memory_resize(void *old, size_t count, size_t size);

/* A copy of text (borrowed). The caller frees. */
char *memory_text(const char *text);

/* A formatted text of any length. The caller frees. */
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
