/* fenced_late_incr.c - a fencing token fetched by a second command, after the lock.
 * Follows: Kleppmann 2016 badly: it is what a fence becomes when it is added to a lock instead of
 * minted with it. A holder that stalls before its INCR comes back with a larger token than the
 * holder after it. */
#include "schemes/parts.h"

struct fenced_late_incr {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct fenced_late_incr, fields);

enum step { START, ASKED, MINTED, HELD, COMPARED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct fenced_late_incr *self = state;

    SCRIPT(self);

    /* SET key token NX PX ttl */
    out_set_nx_px(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    if (!moment_is_ok(in)) {
        out_no_set(out, in);
        SCRIPT_RETURN(self);
    }

    /* INCR fence: whoever comes last gets the largest number, be its lock gone or not. */
    out_send(out, LANE_MAIN, SERVER_ONE, (struct command){.verb = VERB_INCR, .key = KEY_FENCE});
    AWAIT(self, MINTED);
    if (!moment_is_reply(in, REPLY_INTEGER)) {
        out_no_answer(out, in);
        SCRIPT_RETURN(self);
    }
    out_granted_with_fence(out, in->reply.value);
    AWAIT(self, HELD);

    /* Script: when the key holds my token, delete it. */
    out_compare_and_delete(out, SERVER_ONE, lease);
    AWAIT(self, COMPARED);
    out_compared(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_fenced_late_incr = {
    .name = "fenced-late-incr",
    .summary = "SET token NX PX, then INCR of the fence; released by compare-and-delete",
    .source =
        "Kleppmann 2016, How to do distributed locking, with the token fetched behind the lock",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .promises_token = true,
    .mints_fence = true,
    .weakness = "a stale holder can fetch a larger fencing token than its successor",
};
