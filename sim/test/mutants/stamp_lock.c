/* stamp_lock.c - SETNX of an expiry stamp, a dead one taken over by GETSET; released by DEL while
 * the own stamp lasts. Follows: schemes/stamp_getset.c, with a nil understood
 * and the clock read again before the GETSET. It is as right as stamps can be: what is left (the
 * gap before the DEL, the loser's stamp) is in the idea. */
#include "test/mutants/mutants.h"

struct stamp_lock {
    int64_t at;    /* enum step */
    int64_t stamp; /* what this attempt writes: now + ttl + 1, in units */
};

static const enum scheme_field fields[] = {FIELD_STEP, FIELD_STAMP};
FIELDS_FIT(struct stamp_lock, fields);

enum step { START, ASKED, READ, SWAPPED, HELD, DELETED };

/* now > stamp in the key */
static bool stamp_is_past(enum planted planted, const struct lease *lease, int64_t stamp,
                          const struct moment *in)
{
    int64_t now = stamp_now(lease, in->now_us);
    if (MUTANT(past_too_early))
        return now >= stamp;
    return now > stamp;
}

static bool stamp_is_mine(const struct stamp_lock *self, enum planted planted,
                          const struct lease *lease, const struct moment *in)
{
    int64_t now = stamp_now(lease, in->now_us);
    if (MUTANT(mine_too_long))
        return now <= self->stamp;
    return now < self->stamp;
}

static void run(struct stamp_lock *self, enum planted planted, const struct lease *lease,
                const struct moment *in, struct outbox *out)
{
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

        /* GET key: past? Gone is as good as held: somebody had it. */
        out_get(out, SERVER_ONE);
        AWAIT(self, READ);
        if (MUTANT(nil_is_a_number) && moment_is_nil(in)) {
            out_crashed(out);
            SCRIPT_RETURN(self);
        }
        if (moment_is_nil(in) || (moment_is_reply(in, REPLY_VALUE) &&
                                  !stamp_is_past(planted, lease, in->reply.value, in))) {
            out_refused(out);
            SCRIPT_RETURN(self);
        }
        if (!moment_is_reply(in, REPLY_VALUE)) {
            out_no_answer(out, in);
            SCRIPT_RETURN(self);
        }

        /* GETSET key now + ttl + 1: who gets the dead stamp back, or nothing, has won. */
        self->stamp = stamp_of(lease, in->now_us);
        out_getset(out, SERVER_ONE, self->stamp);
        AWAIT(self, SWAPPED);
        if (!moment_is_nil(in) && !moment_is_reply(in, REPLY_VALUE)) {
            out_no_answer(out, in);
            SCRIPT_RETURN(self);
        }
        if (!MUTANT(swap_answer_ignored) && !moment_is_nil(in) &&
            !stamp_is_past(planted, lease, in->reply.value, in)) {
            out_refused(out);
            SCRIPT_RETURN(self);
        }
    }
    out_granted(out);
    AWAIT(self, HELD);

    if (!stamp_is_mine(self, planted, lease, in)) {
        out_released(out);
        SCRIPT_RETURN(self);
    }
    out_del(out, SERVER_ONE);
    AWAIT(self, DELETED);
    out_deleted(out, in);

    SCRIPT_END(self);
}

#define STAMP_LOCK(id)                                                                             \
    MUTANT_STEP(id, run)                                                                           \
    const struct scheme scheme_##id = {                                                            \
        .name = #id,                                                                               \
        .summary = "SETNX stamp, GETSET over a dead one; DEL while the own stamp lasts",           \
        .source = "sim/test/mutants/stamp_lock.c",                                                 \
        .step = step_##id,                                                                         \
        FIELDS_OF(fields),                                                                         \
        .token = TOKEN_FIXED,                                                                      \
        .unit_us = UNIT_SECOND_US,                                                                 \
        .uses_client_clock = true,                                                                 \
    };

STAMP_LOCK(stamp_lock)
STAMP_LOCK(nil_is_a_number)
STAMP_LOCK(swap_answer_ignored)
STAMP_LOCK(past_too_early)
STAMP_LOCK(mine_too_long)
