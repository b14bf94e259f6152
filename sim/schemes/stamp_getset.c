/* stamp_getset.c - SETNX of an expiry stamp, a dead one taken over by GETSET; released by DEL while
 * the own stamp lasts. Follows: Redis documentation, SETNX; Lamb 2010; bugs of retellings included:
 * the clock is read once an attempt, so that whoever stalls before its GETSET stores an old stamp
 * over a newer one; seconds are whole; nil is put through int(); the release checks the own stamp
 * and deletes in two steps. */
#include "schemes/stamp_getset.h"

enum stamp_getset_step { START, ASKED, READ, SWAPPED, HELD, DELETED };

/* "now > stamp in the key", with the clock as it was read at the start of the attempt. */
static bool stamp_is_past(const struct stamp_getset *self, const struct lease *lease, int64_t stamp)
{
    int64_t now = self->stamp - lease->ttl_us / lease->unit_us - 1;
    return stamp < now;
}

static bool stamp_allows_delete(const struct stamp_getset *self, enum stamp_check check,
                                const struct lease *lease, const struct moment *in)
{
    int64_t now = stamp_now(lease, in->now_us);
    return check == DELETE_BEFORE_STAMP ? now < self->stamp : now > self->stamp;
}

void stamp_getset_run(struct stamp_getset *self, enum stamp_check check, const struct lease *lease,
                      const struct moment *in, struct outbox *out)
{
    SCRIPT(self);

    /* now = int(time()); SETNX key now + ttl + 1 */
    self->stamp = stamp_of(lease, in->now_us);
    out_setnx(out, SERVER_ONE, self->stamp);
    AWAIT(self, ASKED);
    if (!moment_is_integer(in, 1)) {
        if (!moment_is_integer(in, 0)) {
            out_no_answer(out, in);
            SCRIPT_RETURN(self);
        }

        /* now > int(GET key)? */
        out_get(out, SERVER_ONE);
        AWAIT(self, READ);
        if (moment_is_nil(in)) {
            out_crashed(out); /* int(None): released or taken between the SETNX and the GET */
            SCRIPT_RETURN(self);
        }
        if (!moment_is_reply(in, REPLY_VALUE)) {
            out_no_answer(out, in);
            SCRIPT_RETURN(self);
        }
        if (!stamp_is_past(self, lease, in->reply.value)) {
            out_refused(out); /* "sleep and try again" is the driver's */
            SCRIPT_RETURN(self);
        }

        /* now > int(GETSET key stamp)? Who gets the dead stamp back has won; the loser has
         * overwritten the winner's. */
        out_getset(out, SERVER_ONE, self->stamp);
        AWAIT(self, SWAPPED);
        if (moment_is_nil(in)) {
            out_crashed(out); /* int(None) again, with the own stamp left in the key */
            SCRIPT_RETURN(self);
        }
        if (!moment_is_reply(in, REPLY_VALUE)) {
            out_no_answer(out, in);
            SCRIPT_RETURN(self);
        }
        if (!stamp_is_past(self, lease, in->reply.value)) {
            out_refused(out);
            SCRIPT_RETURN(self);
        }
    }
    out_granted(out);
    AWAIT(self, HELD);

    /* now = int(time()); when the check of the own stamp says so, DEL key; else leave it alone. */
    if (!stamp_allows_delete(self, check, lease, in)) {
        out_released(out);
        SCRIPT_RETURN(self);
    }
    out_del(out, SERVER_ONE);
    AWAIT(self, DELETED);
    out_deleted(out, in);

    SCRIPT_END(self);
}

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    stamp_getset_run(state, DELETE_BEFORE_STAMP, lease, in, out);
}

const struct scheme scheme_stamp_getset = {
    .name = "stamp-getset",
    .summary = "SETNX stamp, GETSET over a dead one; released by DEL while the own stamp lasts",
    .source = "Redis documentation, SETNX, \"Handling deadlocks\"; Lamb 2010, Distributing locking "
              "with Python and Redis",
    .step = step,
    FIELDS_OF(stamp_getset_fields),
    .token = TOKEN_FIXED,
    .unit_us = UNIT_SECOND_US,
    .is_naive = true,
    .uses_client_clock = true,
    .weakness =
        "a loser overwrites the winner's stamp; the check before DEL is a step of its own; clocks "
        "must agree",
};
