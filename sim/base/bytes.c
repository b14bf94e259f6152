/* bytes.c - see bytes.h. */
#include "base/bytes.h"

#include "base/memory.h"

#include <string.h>

void bytes_add(struct bytes *to, const void *bytes, size_t length)
{
    to->at = memory_resize(to->at, to->length + length + 1, 1);
    if (length)
        memcpy(to->at + to->length, bytes, length);
    to->length += length;
}
