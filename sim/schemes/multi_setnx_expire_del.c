/* multi_setnx_expire_del.c - SETNX and EXPIRE in one transaction; released by a plain DEL.
 * Follows: Redis documentation, Transactions, as often retold. The EXPIRE of the transaction runs
 * for losers too: it lengthens or cuts the lock of whoever holds it. */
#include "schemes/parts.h"

struct multi_setnx_expire_del {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct multi_setnx_expire_del, fields);

enum step { START, ASKED, HELD, DELETED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct multi_setnx_expire_del *self = state;

    SCRIPT(self);

    /* MULTI; SETNX key value; EXPIRE key ttl; EXEC: the first answer decides, the second is not
     * looked at. */
    out_send(out, LANE_MAIN, SERVER_ONE,
             (struct command){
                 .verb = VERB_MULTI_SETNX_EXPIRE, .value = lease->token, .ttl_us = lease->ttl_us});
    AWAIT(self, ASKED);
    if (!moment_is_reply(in, REPLY_TRANSACTION)) {
        out_no_answer(out, in);
        SCRIPT_RETURN(self);
    }
    if (in->reply.value != 1) {
        out_refused(out);
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

const struct scheme scheme_multi_setnx_expire_del = {
    .name = "multi-setnx-expire-del",
    .summary = "MULTI, SETNX, EXPIRE, EXEC; released by DEL",
    .source = "Redis documentation, Transactions, as often retold",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_FIXED,
    .unit_us = UNIT_SECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .weakness = "every loser sets the holder's expiry anew; DEL removes anybody's lock",
};
