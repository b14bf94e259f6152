/* watchdog.c - set-nx-px-cad with a background renewal at every third of the lease, written without
 * thought of failure. Follows: Redisson documentation, lockWatchdogTimeout, with bugs of other
 * libraries: a renewal waits for its answer for ever, so one lost in silence stops all; an answer
 * "not yours" is ignored, the holder is never told; the timer is stopped only when the release has
 * been answered, so a release that fails leaves a dead lock renewed for ever. Renewals have a
 * connection of their own (LANE_RENEW), as a second thread has. It promises notice: whoever is sold
 * a lock that renews itself counts on it. */
#include "schemes/parts.h"

struct watchdog {
    int64_t at;          /* enum step */
    int64_t is_renewing; /* 1: a renewal is out and not answered */
};

static const enum scheme_field fields[] = {FIELD_STEP, FIELD_COUNT};
FIELDS_FIT(struct watchdog, fields);

enum step { START, ASKED, HELD, COMPARED, FORGOTTEN };

static void watchdog_sleep(const struct lease *lease, struct outbox *out)
{
    int64_t third_us = lease->ttl_us / 3;
    out_sleep(out, third_us > 0 ? third_us : 1);
}

/* The renewing thread: every third of the lease, whatever else goes on. */
static void watchdog_renew(struct watchdog *self, const struct lease *lease,
                           const struct moment *in, struct outbox *out)
{
    if (in->kind == MOMENT_WAKE && self->is_renewing == 0) {
        /* Script: when the key holds my token, set its expiry to the whole ttl again. */
        out_compare_and_expire(out, LANE_RENEW, SERVER_ONE, lease);
        self->is_renewing = 1;
    } else if (moment_ends(in, VERB_COMPARE_EXPIRE) && in->kind != MOMENT_TIMEOUT) {
        /* What it says is not looked at. Of time-outs this code knows nothing: it goes on waiting.
         */
        self->is_renewing = 0;
        watchdog_sleep(lease, out);
    }
}

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct watchdog *self = state;

    SCRIPT(self);

    /* SET key token NX PX ttl. An answer to an earlier attempt's renewal is none of this one's. */
    out_set_nx_px(out, SERVER_ONE, lease);
    do {
        AWAIT(self, ASKED);
    } while (!moment_ends(in, VERB_SET_NX_PX));
    if (!moment_is_ok(in)) {
        out_no_set(out, in);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    watchdog_sleep(lease, out);
    for (;;) {
        AWAIT(self, HELD);
        if (in->kind == MOMENT_RELEASE)
            break;
        watchdog_renew(self, lease, in, out);
    }

    /* Script: when the key holds my token, delete it. The timer runs on until that is answered. */
    out_compare_and_delete(out, SERVER_ONE, lease);
    for (;;) {
        AWAIT(self, COMPARED);
        if (moment_ends(in, VERB_COMPARE_DELETE))
            break;
        watchdog_renew(self, lease, in, out);
    }
    out_compared(out, in);
    if (moment_is_reply(in, REPLY_INTEGER)) {
        out_sleep(out, SLEEP_NEVER);
        SCRIPT_RETURN(self);
    }

    /* The release failed, and with it the line that stops the timer. */
    for (;;) {
        AWAIT(self, FORGOTTEN);
        watchdog_renew(self, lease, in, out);
    }

    SCRIPT_END(self);
}

const struct scheme scheme_watchdog = {
    .name = "watchdog",
    .summary = "SET token NX PX, renewed every third of it; released by compare-and-delete",
    .source = "Redisson documentation, lockWatchdogTimeout",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .promises_notice = true,
    .promises_token = true,
    .weakness =
        "a renewal can hang, or outlive a failed release; the holder is never told of a loss",
};
