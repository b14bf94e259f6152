/* fenced.c - the lock and a fencing token in one script; released by compare-and-delete.
 * Follows: Kleppmann 2016. The token grows with every grant because it is minted in the step that
 * grants; the resource refuses a smaller one, which makes an overrun harmless. */
#include "schemes/parts.h"

struct fenced {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct fenced, fields);

enum step { START, ASKED, HELD, COMPARED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct fenced *self = state;

    SCRIPT(self);

    /* Script: SET key token NX PX ttl; when that was OK, INCR fence and return it. */
    out_send(
        out, LANE_MAIN, SERVER_ONE,
        (struct command){.verb = VERB_SET_MINT, .value = lease->token, .ttl_us = lease->ttl_us});
    AWAIT(self, ASKED);
    if (!moment_is_reply(in, REPLY_INTEGER) || in->reply.value <= 0) {
        if (moment_is_nil(in) || moment_is_integer(in, 0))
            out_refused(out);
        else
            out_no_answer(out, in);
        SCRIPT_RETURN(self);
    }
    out_granted_with_fence(out, in->reply.value);
    AWAIT(self, HELD);

    /* Script: when the key holds my token, delete it. The fence stays, and goes on growing. */
    out_compare_and_delete(out, SERVER_ONE, lease);
    AWAIT(self, COMPARED);
    out_compared(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_fenced = {
    .name = "fenced",
    .summary = "a script: SET token NX PX and INCR of the fence; released by compare-and-delete",
    .source =
        "Kleppmann 2016, How to do distributed locking; Burrows 2006, The Chubby lock service",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .promises_expiry = true,
    .promises_token = true,
    .mints_fence = true,
};
