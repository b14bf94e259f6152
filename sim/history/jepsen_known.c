/* jepsen_known.c - see jepsen_known.h. */
#include "history/jepsen_known.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { A_BYTE = 8 / KNOWN_BITS_WIDTH };

void jepsen_known_note(struct jepsen_known *known, int64_t number, unsigned bits)
{
    const int64_t at = number / A_BYTE;
    if (at >= known->size) {
        int64_t size = 2 * at + 64;
        known->bytes = memory_resize(known->bytes, (size_t)size, 1);
        memset(known->bytes + known->size, 0, (size_t)(size - known->size));
        known->size = size;
    }
    known->bytes[at] |= (uint8_t)(bits << number % A_BYTE * KNOWN_BITS_WIDTH);
}

bool jepsen_known_has(const struct jepsen_known *known, int64_t number, enum known_bit bit)
{
    const int64_t at = number / A_BYTE;
    const unsigned shift = (unsigned)(number % A_BYTE * KNOWN_BITS_WIDTH);
    return at < known->size && ((unsigned)known->bytes[at] >> shift & (unsigned)bit) != 0;
}

void jepsen_known_close(struct jepsen_known *known)
{
    free(known->bytes);
}
