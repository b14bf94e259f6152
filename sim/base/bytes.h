/* bytes.h - bytes that grow at their end. */
#ifndef PICKLOCK_BASE_BYTES_H
#define PICKLOCK_BASE_BYTES_H

#include <stddef.h>

/* Begins as {0}. The owner frees at. */
struct bytes {
    char *at; /* NULL as long as nothing was added */
    size_t length;
};

/* Copies what is borrowed behind what is there; with length 0 bytes may be NULL, and at is there
 * behind that, too. */
void bytes_add(struct bytes *to, const void *bytes, size_t length);

#endif
