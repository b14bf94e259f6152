/* set_nx_px_wait.c - "SET key token NX PX ttl", then "WAIT 1 1": granted where a replica has
 * acknowledged the key, else it is given back. Released by compare-and-delete.
 * Follows: Redis documentation, WAIT. A failover to that replica does not lose the lock. Weak where
 * the key is lost otherwise (a primary that comes back empty empties its replica, too), and where a
 * library sends WAIT again over a new connection: there nothing was written, and the server says
 * so by answering with all replicas. */
#include "schemes/parts.h"

struct set_nx_px_wait {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct set_nx_px_wait, fields);

enum step { START, ASKED, WAITED, GIVEN_BACK, HELD, COMPARED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct set_nx_px_wait *self = state;

    SCRIPT(self);

    /* SET key token NX PX ttl */
    out_set_nx_px(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    if (!moment_is_ok(in)) {
        out_no_set(out, in);
        SCRIPT_RETURN(self);
    }

    /* "blocks the current client until all the previous write commands are successfully transferred
     * and acknowledged by at least the number of replicas you specify", for a millisecond */
    out_send(out, LANE_MAIN, SERVER_ONE, (struct command){.verb = VERB_WAIT});
    AWAIT(self, WAITED);
    if (!moment_is_reply(in, REPLY_INTEGER) || in->reply.value < 1) {
        out_compare_and_delete(out, SERVER_ONE, lease);
        AWAIT(self, GIVEN_BACK);
        out_failed(out);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    AWAIT(self, HELD);

    /* Script: when the key holds my token, delete it. */
    out_compare_and_delete(out, SERVER_ONE, lease);
    AWAIT(self, COMPARED);
    out_compared(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_set_nx_px_wait = {
    .name = "set-nx-px-wait",
    .summary = "SET token NX PX, then WAIT for a replica; given back where none has it",
    .source = "Redis documentation, WAIT",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .promises_expiry = true,
    .promises_token = true,
    .needs_replica = true,
};
