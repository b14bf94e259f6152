/* places.h - where results go: each to a place of its own, none over what is read. One rule for
 * every command. Paths are compared by the file that they lead to, whatever way. */
#ifndef PICKLOCK_CMD_PLACES_H
#define PICKLOCK_CMD_PLACES_H

#include "base/fail.h"

#include <stdbool.h>

/* Where a result goes. Borrowed. */
struct result_place {
    const char *option; /* that names it: "--json" */
    const char *path;   /* NULL: nothing goes there; "-": stdout */
    bool is_kept; /* what stands there is not removed before: it is added to, or written at once */
};

enum { INPUT_TEXTS = 7 };

/* What a command reads. Borrowed. */
struct inputs {
    char *const *paths; /* "-": stdin */
    int count;
    const char *words[INPUT_TEXTS]; /* texts with words that may be files, between blanks and commas
                                       (schemes, the command of a worker); or NULL */
};

/* Removes what earlier runs left where these results go. From then on what stands there is the
 * result of this command, or nothing does, whatever ends it. FAIL_INPUT, and nothing is removed:
 * two go to one place, one is what is read, or it cannot be removed. */
enum fail places_clear(const struct result_place *places, int count, const struct inputs *inputs,
                       struct failure *failure);

#endif
