/* glob.h - key patterns as redis-server matches them: * ? [abc] [^a-c] and \ before any of these.
 */
#ifndef PICKLOCK_PROXY_GLOB_H
#define PICKLOCK_PROXY_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Does the whole of text match? Both borrowed; neither needs a final 0. */
bool glob_matches(const char *pattern, size_t pattern_length, const char *text, size_t length);

/* What every text that matches begins with: written to text, which has room for the pattern.
 * Returns its length. */
size_t glob_beginning(const char *pattern, size_t pattern_length, char *text);

#endif
