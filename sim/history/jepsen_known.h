/* jepsen_known.h - what the first pass over a Jepsen history finds out of its operations, for the
 * second: which failed, and which did not happen. These are left out, since an acquire that did
 * not happen ends nobody's lock. Private to this folder. */
#ifndef PICKLOCK_HISTORY_JEPSEN_KNOWN_H
#define PICKLOCK_HISTORY_JEPSEN_KNOWN_H

#include "base/bits.h"

#include <stdbool.h>
#include <stdint.h>

#define KNOWN_BITS(BIT) BIT(KNOWN_FAILED) BIT(KNOWN_VOID)
BITS(known_bit, KNOWN_BITS);

/* Two bits an operation, counted from 0. Zeroed: nothing is known. Owns its bytes. */
struct jepsen_known {
    uint8_t *bytes;
    int64_t size;
};

/* bits: enum known_bit. */
void jepsen_known_note(struct jepsen_known *known, int64_t number, unsigned bits);
bool jepsen_known_has(const struct jepsen_known *known, int64_t number, enum known_bit bit);
void jepsen_known_close(struct jepsen_known *known);

#endif
