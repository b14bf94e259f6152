/* set_nx_px_evalsha_eval.c - "SET key token NX PX ttl", released by EVALSHA, and by EVAL where that
 * is answered NOSCRIPT. Follows: Redis documentation, Scripting with Lua, on EVALSHA and the
 * script cache; client libraries do so by themselves. EVAL puts the script into the cache as well.
 */
#include "schemes/parts.h"

struct set_nx_px_evalsha_eval {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct set_nx_px_evalsha_eval, fields);

enum step { START, ASKED, HELD, COMPARED_BY_SHA, COMPARED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct set_nx_px_evalsha_eval *self = state;

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

    /* EVALSHA: when the key holds my token, delete it. */
    out_compare_and_delete_by_sha(out, SERVER_ONE, lease);
    AWAIT(self, COMPARED_BY_SHA);

    /* NOSCRIPT: nothing was done. The same script, whole. */
    if (moment_is_error(in, ERROR_NOSCRIPT)) {
        out_compare_and_delete(out, SERVER_ONE, lease);
        AWAIT(self, COMPARED);
    }
    out_compared(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_set_nx_px_evalsha_eval = {
    .name = "set-nx-px-evalsha-eval",
    .summary = "SET token NX PX; released by EVALSHA, or by EVAL where the server has forgotten "
               "the script",
    .source = "Redis documentation, Scripting with Lua, on EVALSHA",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .promises_expiry = true,
    .promises_token = true,
    .needs_script = true,
};
