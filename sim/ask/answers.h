/* answers.h - all that was asked, as bytes: written behind a run, read before the next one.
 *
 * What comes from a file is looked at whole before anything of it is taken: every number in it is
 * one of its own table. Bytes are read by the program that wrote them, and no other (the key of the
 * file says which it was, see cache.h). Private to this folder. */
#ifndef PICKLOCK_ASK_ANSWERS_H
#define PICKLOCK_ASK_ANSWERS_H

#include "ask/asking_state.h"

struct answer_bytes {
    char *bytes; /* owned: free() */
    size_t used, size;
};

void answers_print(const struct asking *asking, struct answer_bytes *out);

/* Into an asking that has been asked nothing yet; false: they are damaged, and nothing of it can be
 * used but asking_free(). */
bool answers_read(struct asking *asking, const char *bytes, size_t size);

#endif
