/* set_nx_ex_del.c - "SET key 1 NX EX ttl", released by a plain DEL.
 * Follows: Redis documentation, SET, the first pattern. A holder that outlived its lease deletes
 * the lock of the next one.
 */
#include "schemes/parts.h"

struct set_nx_ex_del {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct set_nx_ex_del, fields);

enum step { START, ASKED, HELD, DELETED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct set_nx_ex_del *self = state;

    SCRIPT(self);

    /* SET key 1 NX EX ttl */
    out_set_nx_ex(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    if (!moment_is_ok(in)) {
        out_no_set(out, in);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    AWAIT(self, HELD);

    /* DEL key, whoever it belongs to. */
    out_del(out, SERVER_ONE);
    AWAIT(self, DELETED);
    out_deleted(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_set_nx_ex_del = {
    .name = "set-nx-ex-del",
    .summary = "SET 1 NX EX; released by DEL",
    .source = "Redis documentation, SET, the first pattern",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_FIXED,
    .unit_us = UNIT_SECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .weakness = "a late DEL removes the next holder's lock",
};
