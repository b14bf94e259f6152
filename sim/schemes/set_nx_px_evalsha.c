/* set_nx_px_evalsha.c - "SET key token NX PX ttl", released by a script that is asked for by its
 * SHA1. Follows: Redis documentation, Scripting with Lua, on EVALSHA and the script cache. It
 * loads its script before it asks for the lock, and takes it for granted from then on. But servers
 * forget: after a restart, a failover or SCRIPT FLUSH the release is answered NOSCRIPT, and the key
 * stays until its lease ends. */
#include "schemes/parts.h"

struct set_nx_px_evalsha {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct set_nx_px_evalsha, fields);

enum step { START, LOADED, ASKED, HELD, COMPARED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct set_nx_px_evalsha *self = state;

    SCRIPT(self);

    /* SCRIPT LOAD: when the key holds my token, delete it. */
    out_send(out, LANE_MAIN, SERVER_ONE, (struct command){.verb = VERB_SCRIPT_LOAD});
    AWAIT(self, LOADED);
    if (!moment_is_ok(in)) {
        out_no_answer(out, in);
        SCRIPT_RETURN(self);
    }

    /* SET key token NX PX ttl */
    out_set_nx_px(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    if (!moment_is_ok(in)) {
        out_no_set(out, in);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    AWAIT(self, HELD);

    /* EVALSHA: the script that was loaded. */
    out_compare_and_delete_by_sha(out, SERVER_ONE, lease);
    AWAIT(self, COMPARED);
    out_compared(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_set_nx_px_evalsha = {
    .name = "set-nx-px-evalsha",
    .summary =
        "SCRIPT LOAD, SET token NX PX; released by EVALSHA of a script that compares and deletes",
    .source = "Redis documentation, Scripting with Lua, on EVALSHA",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .promises_token = true,
    .needs_script = true,
    .weakness = "a server that has forgotten the script answers NOSCRIPT, and the key stays",
};
