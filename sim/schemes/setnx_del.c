/* setnx_del.c - SETNX, released by a plain DEL; the key never expires.
 * Follows: Redis documentation, SETNX, without the time in the key. A holder that dies locks
 * everybody out for ever. */
#include "schemes/parts.h"

struct setnx_del {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct setnx_del, fields);

enum step { START, ASKED, HELD, DELETED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct setnx_del *self = state;

    SCRIPT(self);

    /* SETNX key value: 1 is mine, 0 is somebody else's. */
    out_setnx(out, SERVER_ONE, lease->token);
    AWAIT(self, ASKED);
    if (!moment_is_integer(in, 1)) {
        out_no_setnx(out, in);
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

const struct scheme scheme_setnx_del = {
    .name = "setnx-del",
    .summary = "SETNX; released by DEL",
    .source = "Redis documentation, SETNX, as often retold, without the time in the key",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_FIXED,
    .unit_us = UNIT_SECOND_US,
    .is_naive = true,
    .weakness = "no expiry: a holder that dies locks everybody out for ever",
};
