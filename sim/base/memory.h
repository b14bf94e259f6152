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

/* A list or table that grows to many megabytes: count things instead of old_count, what is added
 * zeroed. Takes old (NULL with 0: a new one); where it lies changes. Once large it is moved by its
 * pages and not copied, so that growing needs no memory for both, and huge pages are asked for. */
void *memory_extend(void *old, size_t old_count, size_t count, size_t size);

/* Frees what memory_extend() made last with that count and size. NULL does nothing. */
void memory_drop(void *old, size_t count, size_t size);

/* Zeroed pages of their own, all there at once: dropped, they go back to the system at once, where
 * free() may keep them. NULL is dropped for nothing. */
void *memory_piece(size_t bytes);
void memory_piece_drop(void *piece, size_t bytes);

/* What memory_new() and malloc() have made so far is put into huge pages, where the system has
 * them: thousands of clients that are looked at in turns are found the faster. A wish; addresses
 * stay. */
void memory_use_huge_pages(void);

/* A copy of text (borrowed). The caller frees. */
char *memory_text(const char *text);
/* The same of so many bytes; behind them is a NUL. */
char *memory_bytes(const char *bytes, size_t length);

/* A formatted text of any length. The caller frees. */
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
