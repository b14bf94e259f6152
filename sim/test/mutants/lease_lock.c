/* lease_lock.c - SET NX PX, a look at the clock, compare-and-delete: one server, as it should be.
 * Follows: Redis documentation, "Distributed locks with Redis", single instance. What was answered
 * too late, or not at all, is given back before "failed" is told. */
#include "test/mutants/mutants.h"

struct lease_lock {
    int64_t at;       /* enum step */
    int64_t asked_us; /* own clock when the server was asked: the lease counts from here */
};

static const enum scheme_field fields[] = {FIELD_STEP, FIELD_TIME};
FIELDS_FIT(struct lease_lock, fields);

enum step { START, SEEN, ASKED, CLEANED, HELD, COMPARED };

/* SET key token NX PX ttl */
static void lease_ask(enum planted planted, const struct lease *lease, struct outbox *out)
{
    struct lease own = *lease;
    if (MUTANT(another_token))
        own.token += 1000;
    if (MUTANT(ttl_too_short))
        own.ttl_us /= 2;
    if (MUTANT(expiry_forgotten))
        out_setnx(out, SERVER_ONE, lease->token);
    else
        out_set_nx_px(out, SERVER_ONE, &own);
}

/* Script: when the key holds my token, delete it. */
static void lease_give_back(enum planted planted, const struct lease *lease, struct outbox *out)
{
    struct lease own = *lease;
    if (MUTANT(another_token))
        own.token += 1000;
    if (MUTANT(release_by_del))
        out_del(out, SERVER_ONE);
    else
        out_compare_and_delete(out, SERVER_ONE, &own);
}

static bool lease_is_refused(enum planted planted, const struct moment *in)
{
    bool is_set = moment_is_ok(in) || moment_is_integer(in, 1);
    if (MUTANT(error_is_refusal))
        return !is_set;
    if (MUTANT(lost_is_refusal) && in->kind == MOMENT_LOST)
        return true;
    return moment_is_nil(in) || moment_is_integer(in, 0);
}

static bool lease_is_valid(const struct lease_lock *self, enum planted planted,
                           const struct lease *lease, const struct moment *in)
{
    bool is_set = moment_is_ok(in) || moment_is_integer(in, 1);
    if (MUTANT(validity_unchecked))
        return is_set;
    if (MUTANT(validity_other_side))
        return is_set && self->asked_us > in->now_us - lease->ttl_us;
    return is_set && in->now_us - self->asked_us < lease->ttl_us;
}

static void run(struct lease_lock *self, enum planted planted, const struct lease *lease,
                const struct moment *in, struct outbox *out)
{
    SCRIPT(self);

    self->asked_us = in->now_us;
    if (MUTANT(harmless_read)) {
        out_get(out, SERVER_ONE);
        AWAIT(self, SEEN);
    }
    lease_ask(planted, lease, out);
    AWAIT(self, ASKED);
    if (lease_is_refused(planted, in)) {
        out_refused(out);
        SCRIPT_RETURN(self);
    }
    if (!lease_is_valid(self, planted, lease, in)) {
        if (!MUTANT(late_key_left)) {
            lease_give_back(planted, lease, out);
            AWAIT(self, CLEANED);
        }
        out_failed(out);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    AWAIT(self, HELD);

    if (!MUTANT(release_sends_nothing))
        lease_give_back(planted, lease, out);
    AWAIT(self, COMPARED);
    out_compared(out, in);

    SCRIPT_END(self);
}

#define LEASE_LOCK(id)                                                                             \
    MUTANT_STEP(id, run)                                                                           \
    const struct scheme scheme_##id = {                                                            \
        .name = #id,                                                                               \
        .summary = "SET token NX PX, believed while it is valid; compare-and-delete",              \
        .source = "sim/test/mutants/lease_lock.c",                                                 \
        .step = step_##id,                                                                         \
        FIELDS_OF(fields),                                                                         \
        .token = TOKEN_UNIQUE,                                                                     \
        .unit_us = UNIT_MILLISECOND_US,                                                            \
        .promises_expiry = true,                                                                   \
        .promises_token = true,                                                                    \
    };

LEASE_LOCK(lease_lock)
LEASE_LOCK(release_by_del)
LEASE_LOCK(expiry_forgotten)
LEASE_LOCK(ttl_too_short)
LEASE_LOCK(late_key_left)
LEASE_LOCK(release_sends_nothing)
LEASE_LOCK(validity_unchecked)
LEASE_LOCK(error_is_refusal)
LEASE_LOCK(lost_is_refusal)
LEASE_LOCK(another_token)
LEASE_LOCK(harmless_read)
LEASE_LOCK(validity_other_side)
