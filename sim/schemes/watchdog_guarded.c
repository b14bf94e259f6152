/* watchdog_guarded.c - the watchdog repaired: it knows when its lease ends, and says so.
 * Follows: watchdog.c, with each of its faults put right. The own lease is counted from the call of
 * the last acquire or renewal that succeeded, never from its answer. A renewal is waited for no
 * longer than that. At its end at the latest the holder is told of the loss, and at once when a
 * renewal answers "not yours". The timer is stopped before the release is sent. */
#include "schemes/parts.h"

struct watchdog_guarded {
    int64_t at;          /* enum step */
    int64_t asked_us;    /* own clock at the call of the acquire or renewal under way */
    int64_t ends_us;     /* own clock at the end of the lease */
    int64_t is_renewing; /* 1: a renewal is out and not answered */
};

static const enum scheme_field fields[] = {FIELD_STEP, FIELD_TIME, FIELD_TIME, FIELD_COUNT};
FIELDS_FIT(struct watchdog_guarded, fields);

enum step { START, ASKED, CLEANED, HELD, COMPARED };

/* Rings at the next third of the lease, or at its end when that comes first. */
static void guarded_sleep(const struct watchdog_guarded *self, const struct lease *lease,
                          const struct moment *in, struct outbox *out)
{
    int64_t third_us = lease->ttl_us / 3 > 0 ? lease->ttl_us / 3 : 1;
    int64_t left_us = self->ends_us - in->now_us;
    out_sleep(out, left_us < third_us ? left_us : third_us);
}

/* One moment of the renewing thread. False: the lock is lost. */
static bool guarded_renew(struct watchdog_guarded *self, const struct lease *lease,
                          const struct moment *in, struct outbox *out)
{
    bool is_answer = moment_ends(in, VERB_COMPARE_EXPIRE);
    if (is_answer) {
        self->is_renewing = 0;
        if (moment_is_integer(in, 0))
            return false;
        if (moment_is_integer(in, 1))
            self->ends_us = self->asked_us + lease->ttl_us;
    }
    if (in->now_us >= self->ends_us)
        return false;
    if (in->kind == MOMENT_WAKE && self->is_renewing == 0) {
        /* Script: when the key holds my token, set its expiry to the whole ttl again. */
        out_compare_and_expire(out, LANE_RENEW, SERVER_ONE, lease);
        self->is_renewing = 1;
        self->asked_us = in->now_us;
    }
    if (in->kind == MOMENT_WAKE || moment_is_integer(in, 1))
        guarded_sleep(self, lease, in, out);
    return true; /* after an error or a lost connection the timer still runs: tried again at the
                    next third */
}

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct watchdog_guarded *self = state;

    SCRIPT(self);

    /* SET key token NX PX ttl; the lease counts from here. An answer to an earlier attempt's
     * renewal is none of this one's. */
    self->asked_us = in->now_us;
    self->ends_us = in->now_us + lease->ttl_us;
    out_set_nx_px(out, SERVER_ONE, lease);
    do {
        AWAIT(self, ASKED);
    } while (!moment_ends(in, VERB_SET_NX_PX));
    if (!moment_is_ok(in)) {
        out_no_set(out, in);
        SCRIPT_RETURN(self);
    }

    /* Answered too late: nothing of the lease is left for sure. Give back what may still be there.
     */
    if (in->now_us >= self->ends_us) {
        out_compare_and_delete(out, SERVER_ONE, lease);
        do {
            AWAIT(self, CLEANED);
        } while (!moment_ends(in, VERB_COMPARE_DELETE));
        out_failed(out);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    guarded_sleep(self, lease, in, out);
    for (;;) {
        AWAIT(self, HELD);
        if (in->kind == MOMENT_RELEASE)
            break;
        if (!guarded_renew(self, lease, in, out)) {
            out_sleep(out, SLEEP_NEVER);
            out_lost(out);
            SCRIPT_RETURN(self);
        }
    }

    /* First the timer, then the script: when the key holds my token, delete it. */
    out_sleep(out, SLEEP_NEVER);
    out_compare_and_delete(out, SERVER_ONE, lease);
    do {
        AWAIT(self, COMPARED);
    } while (!moment_ends(in, VERB_COMPARE_DELETE));
    out_compared(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_watchdog_guarded = {
    .name = "watchdog-guarded",
    .summary =
        "watchdog with an end: its holder is told of a loss, its timer stops before the release",
    .source = "Redisson documentation, lockWatchdogTimeout; Gray and Cheriton 1989, Leases",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .promises_expiry = true,
    .promises_notice = true,
    .promises_token = true,
};
