/* suggest.h - "did you mean": the nearest of the words that would have been right. */
#ifndef PICKLOCK_BASE_SUGGEST_H
#define PICKLOCK_BASE_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

/* The candidate nearest to word (edit distance with transpositions, case ignored), or NULL when
 * none is near enough to be a likely slip. All borrowed; the result is one of the candidates. */
const char *suggest_nearest(const char *word, const char *const *candidates, size_t count);

/* "; did you mean 'SET'?", or otherwise where nearest is NULL or "". Borrows; result is words. */
enum { SUGGEST_BYTES = 320 };
const char *suggest_words(const char *nearest, const char *otherwise, char words[SUGGEST_BYTES]);

/* Is it the right word with one letter wrong, missing, too many, or changed for its neighbour, or
 * in other letters, small or capital? */
bool suggest_is_slip(const char *word, const char *right);

/* The name of those, of three letters or more, that word is a slip of; NULL: none. What is near to
 * nothing is somebody's own, and is left alone. */
const char *suggest_slip(const char *word, const char *const *names, size_t count);

#endif
