/* can.h - what a command can do to a key that it names, with the answer that it got.
 *
 * What befell the key and is none of that was done by somebody else: past the proxy, or by a script
 * that does not name the key. */
#ifndef PICKLOCK_WATCH_CAN_H
#define PICKLOCK_WATCH_CAN_H

#include "base/bits.h"
#include "history/effect.h"
#include "history/event.h"
#include "watch/scripts.h"
#include "watch/words.h"

#define CAN_BITS(BIT)                                                                              \
    BIT(CAN_EXPIRE) /* it changes when the key ends */                                             \
    BIT(CAN_DELETE)                                                                                \
    BIT(CAN_WRITE) /* it makes the key, or gives it another value */
BITS(can_bit, CAN_BITS);

struct command_said {
    const char *name; /* in upper case; borrowed, as all */
    const struct request_words *words;
    const struct reply *reply;       /* NULL: not known */
    enum script_kind script;         /* of a script; and ... */
    const struct known_script *text; /* ... its text; NULL: it was not seen */
    int64_t window_us; /* a key that lives no longer may have ended before it was seen */
};
unsigned command_can(const struct command_said *said);
/* How long the key is to live, where the answer says that the command has set that; clock_us: the
 * server's clock then. 0: it does not say so, or the key may have ended before it was seen. */
int64_t command_gave_us(const struct command_said *said, int64_t clock_us);
bool can_have_done(unsigned can, enum did did);

#endif
