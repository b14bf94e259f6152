/* setnx_expire_del.c - SETNX, then EXPIRE as a second command; released by a plain DEL.
 * Follows: Carlson 2013, section 6.2.5, without its repair; redis-py 2.10, Lock. A crash between
 * the two leaves a key that never ends; the DEL asks nobody. */
#include "schemes/parts.h"

struct setnx_expire_del {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct setnx_expire_del, fields);

enum step { START, ASKED, EXPIRY_SET, HELD, DELETED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct setnx_expire_del *self = state;

    SCRIPT(self);

    /* SETNX key 1 */
    out_setnx(out, SERVER_ONE, lease->token);
    AWAIT(self, ASKED);
    if (!moment_is_integer(in, 1)) {
        out_no_setnx(out, in);
        SCRIPT_RETURN(self);
    }

    /* EXPIRE key 10, only by the winner. Its number is not looked at; an error ends the attempt,
     * and the key stays as it is. */
    out_expire(out, SERVER_ONE, lease->ttl_us);
    AWAIT(self, EXPIRY_SET);
    if (!moment_is_reply(in, REPLY_INTEGER)) {
        out_no_answer(out, in);
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

const struct scheme scheme_setnx_expire_del = {
    .name = "setnx-expire-del",
    .summary = "SETNX, then EXPIRE; released by DEL",
    .source =
        "Carlson 2013, section 6.2.5, as often retold, without the repair; redis-py 2.10, Lock",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_FIXED,
    .unit_us = UNIT_SECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .weakness =
        "a crash between SETNX and EXPIRE leaves a lock for ever; DEL removes anybody's lock",
};
