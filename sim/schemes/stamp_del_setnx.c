/* stamp_del_setnx.c - SETNX of an expiry stamp, a dead one taken over by DEL and SETNX; released by
 * a plain DEL. Follows: Redis documentation, SETNX, which warns of it. Two clients that read the
 * same dead stamp both take over: the second one's DEL removes the first one's new lock. The source
 * gives it in words, not in code, and says nothing of a GET that finds no key; so nothing trips
 * over nil here. It is taken as "no dead stamp seen": refused, try again. The weakness shown is the
 * source's, not one of ours. */
#include "schemes/parts.h"

struct stamp_del_setnx {
    int64_t at;    /* enum step */
    int64_t stamp; /* what this attempt writes: its clock at the start + ttl + 1, in units */
};

static const enum scheme_field fields[] = {FIELD_STEP, FIELD_STAMP};
FIELDS_FIT(struct stamp_del_setnx, fields);

enum step { START, ASKED, READ, CLEARED, ASKED_AGAIN, HELD, DELETED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct stamp_del_setnx *self = state;

    SCRIPT(self);

    /* SETNX key now + ttl + 1 */
    self->stamp = stamp_of(lease, in->now_us);
    out_setnx(out, SERVER_ONE, self->stamp);
    AWAIT(self, ASKED);
    if (!moment_is_integer(in, 1)) {
        if (!moment_is_integer(in, 0)) {
            out_no_answer(out, in);
            SCRIPT_RETURN(self);
        }

        /* GET key: is the stamp in it past? */
        out_get(out, SERVER_ONE);
        AWAIT(self, READ);
        if (!moment_is_nil(in) && !moment_is_reply(in, REPLY_VALUE)) {
            out_no_answer(out, in);
            SCRIPT_RETURN(self);
        }
        if (moment_is_nil(in) || in->reply.value >= stamp_now(lease, in->now_us)) {
            out_refused(out);
            SCRIPT_RETURN(self);
        }

        /* DEL key: the dead one, it believes. */
        out_del(out, SERVER_ONE);
        AWAIT(self, CLEARED);
        if (!moment_is_reply(in, REPLY_INTEGER)) {
            out_no_answer(out, in);
            SCRIPT_RETURN(self);
        }

        /* SETNX key now + ttl + 1 */
        self->stamp = stamp_of(lease, in->now_us);
        out_setnx(out, SERVER_ONE, self->stamp);
        AWAIT(self, ASKED_AGAIN);
        if (!moment_is_integer(in, 1)) {
            out_no_setnx(out, in);
            SCRIPT_RETURN(self);
        }
    }
    out_granted(out);
    AWAIT(self, HELD);

    /* DEL key, whoever it belongs to. */
    out_del(out, SERVER_ONE);
    AWAIT(self, DELETED);
    out_deleted(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_stamp_del_setnx = {
    .name = "stamp-del-setnx",
    .summary = "SETNX stamp, DEL and SETNX over a dead one; released by DEL",
    .source = "Redis documentation, SETNX, the race that it warns of",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_FIXED,
    .unit_us = UNIT_SECOND_US,
    .is_naive = true,
    .uses_client_clock = true,
    .weakness = "two clients that read one dead stamp both take the lock",
};
