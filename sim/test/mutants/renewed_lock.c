/* renewed_lock.c - SET NX PX, renewed at every third of the lease by a thread of its own, which
 * knows when the lease ends and tells of a loss: a watchdog, as it should be. Follows:
 * schemes/watchdog_guarded.c. */
#include "test/mutants/mutants.h"

struct renewed_lock {
    int64_t at;          /* enum step */
    int64_t asked_us;    /* own clock at the call of the acquire or renewal under way */
    int64_t ends_us;     /* own clock at the end of the lease */
    int64_t is_renewing; /* 1: a renewal is out and not answered */
    int64_t is_ticking;  /* 1: the thread runs */
};

static const enum scheme_field fields[] = {FIELD_STEP, FIELD_TIME, FIELD_TIME, FIELD_COUNT,
                                           FIELD_COUNT};
FIELDS_FIT(struct renewed_lock, fields);

enum step { START, ASKED, CLEANED, HELD, COMPARED, FORGOTTEN };

/* Rings at the next third of the lease, or at its end when that comes first. */
static void renewed_sleep(const struct renewed_lock *self, const struct lease *lease,
                          const struct moment *in, struct outbox *out)
{
    int64_t third_us = lease->ttl_us / 3 > 0 ? lease->ttl_us / 3 : 1;
    int64_t left_us = self->ends_us - in->now_us;
    out_sleep(out, left_us < third_us ? left_us : third_us);
}

/* Script: when the key holds my token, set its expiry to the whole ttl again. */
static void renewed_extend(enum planted planted, const struct lease *lease, struct outbox *out)
{
    if (MUTANT(renewal_by_pexpire))
        out_send(out, LANE_RENEW, SERVER_ONE,
                 (struct command){.verb = VERB_PEXPIRE, .ttl_us = lease->ttl_us});
    else
        out_compare_and_expire(out, LANE_RENEW, SERVER_ONE, lease);
}

static bool is_renewals_end(const struct moment *in)
{
    return moment_ends(in, VERB_COMPARE_EXPIRE) || moment_ends(in, VERB_PEXPIRE);
}

/* One moment of the renewing thread. False: the lock is lost. */
static bool renewed_tick(struct renewed_lock *self, enum planted planted, const struct lease *lease,
                         const struct moment *in, struct outbox *out)
{
    if (is_renewals_end(in)) {
        bool is_renewed =
            MUTANT(renewal_answer_ignored) ? in->kind == MOMENT_REPLY : moment_is_integer(in, 1);
        if (MUTANT(errors_taken_as_renewed))
            is_renewed = !moment_is_integer(in, 0);
        self->is_renewing = 0;
        if (is_renewed)
            self->ends_us = self->asked_us + lease->ttl_us;
        else if (moment_is_integer(in, 0))
            return false;
    }
    if (in->now_us >= self->ends_us)
        return false;
    if (in->kind != MOMENT_WAKE)
        return true;
    if (self->is_renewing == 0) {
        renewed_extend(planted, lease, out);
        self->is_renewing = 1;
        self->asked_us = in->now_us;
    }
    if (!MUTANT(timer_rings_once))
        renewed_sleep(self, lease, in, out);
    return true;
}

static void run(struct renewed_lock *self, enum planted planted, const struct lease *lease,
                const struct moment *in, struct outbox *out)
{
    SCRIPT(self);

    /* SET key token NX PX ttl; the lease counts from here. */
    self->asked_us = in->now_us;
    self->ends_us = in->now_us + lease->ttl_us;
    out_set_nx_px(out, SERVER_ONE, lease);
    do {
        AWAIT(self, ASKED);
    } while (!moment_ends(in, VERB_SET_NX_PX));
    if (moment_is_nil(in)) {
        out_refused(out);
        SCRIPT_RETURN(self);
    }
    if (!moment_is_ok(in) || in->now_us >= self->ends_us) {
        out_compare_and_delete(out, SERVER_ONE, lease);
        do {
            AWAIT(self, CLEANED);
        } while (!moment_ends(in, VERB_COMPARE_DELETE));
        out_failed(out);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    self->is_ticking = 1;
    renewed_sleep(self, lease, in, out);
    for (;;) {
        AWAIT(self, HELD);
        if (in->kind == MOMENT_RELEASE)
            break;
        if (!renewed_tick(self, planted, lease, in, out)) {
            out_sleep(out, SLEEP_NEVER);
            out_lost(out);
            SCRIPT_RETURN(self);
        }
    }

    /* First the timer, then the script: when the key holds my token, delete it. */
    if (!MUTANT(timer_outlives_release)) {
        out_sleep(out, SLEEP_NEVER);
        self->is_ticking = 0;
    }
    out_compare_and_delete(out, SERVER_ONE, lease);
    do {
        AWAIT(self, COMPARED);
        if (self->is_ticking)
            self->is_ticking = renewed_tick(self, planted, lease, in, out);
    } while (!moment_ends(in, VERB_COMPARE_DELETE));
    out_compared(out, in);
    while (self->is_ticking) {
        AWAIT(self, FORGOTTEN);
        self->is_ticking = renewed_tick(self, planted, lease, in, out);
    }

    SCRIPT_END(self);
}

#define RENEWED_LOCK(id)                                                                           \
    MUTANT_STEP(id, run)                                                                           \
    const struct scheme scheme_##id = {                                                            \
        .name = #id,                                                                               \
        .summary = "SET token NX PX, renewed every third of it; compare-and-delete",               \
        .source = "sim/test/mutants/renewed_lock.c",                                               \
        .step = step_##id,                                                                         \
        FIELDS_OF(fields),                                                                         \
        .token = TOKEN_UNIQUE,                                                                     \
        .unit_us = UNIT_MILLISECOND_US,                                                            \
        .promises_expiry = true,                                                                   \
        .promises_notice = true,                                                                   \
        .promises_token = true,                                                                    \
    };

RENEWED_LOCK(renewed_lock)
RENEWED_LOCK(timer_rings_once)
RENEWED_LOCK(renewal_by_pexpire)
RENEWED_LOCK(renewal_answer_ignored)
RENEWED_LOCK(errors_taken_as_renewed)
RENEWED_LOCK(timer_outlives_release)
