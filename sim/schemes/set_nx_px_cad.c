/* set_nx_px_cad.c - "SET key token NX PX ttl", released by compare-and-delete.
 * Follows: Redis documentation, SET, and Distributed locks with Redis, single instance. A lease can
 * still be outlived: only a fence at the resource helps against that. */
#include "schemes/set_nx_px_cad.h"

enum step { START, ASKED, HELD, COMPARED };

void set_nx_px_cad_step(void *state, const struct lease *lease, const struct moment *in,
                        struct outbox *out)
{
    struct set_nx_px_cad *self = state;

    SCRIPT(self);

    /* SET key token NX PX ttl */
    out_set_nx_px(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    if (!moment_is_ok(in)) {
        out_no_set(out, in);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    AWAIT(self, HELD);

    /* Script: when the key holds my token, delete it. One step at the server, no gap. */
    out_compare_and_delete(out, SERVER_ONE, lease);
    AWAIT(self, COMPARED);
    out_compared(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_set_nx_px_cad = {
    .name = "set-nx-px-cad",
    .summary = "SET token NX PX; released by a script that compares and deletes",
    .source = "Redis documentation, SET, the pattern with a script; Redis documentation, "
              "Distributed locks with Redis, single instance",
    .step = set_nx_px_cad_step,
    FIELDS_OF(set_nx_px_cad_fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .promises_expiry = true,
    .promises_token = true,
};
