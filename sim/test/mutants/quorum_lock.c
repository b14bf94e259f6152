/* quorum_lock.c - the token on a majority of servers within the validity time: Redlock, as it
 * should be. Follows: Redis documentation, "Distributed locks with Redis", the Redlock algorithm;
 * schemes/redlock.c. */
#include "test/mutants/mutants.h"

struct quorum_lock {
    int64_t at;       /* enum step */
    int64_t asked_us; /* own clock when the first server was asked */
    int64_t heard;    /* servers that answered, timed out or broke the connection */
    int64_t yes;      /* servers that said OK, or 1 */
    int64_t no;       /* servers that said nil, or 0 */
    int64_t locked;   /* bit a server: it said OK; unlocked_not_released only */
};

static const enum scheme_field fields[] = {FIELD_STEP,  FIELD_TIME,  FIELD_COUNT,
                                           FIELD_COUNT, FIELD_COUNT, FIELD_COUNT};
FIELDS_FIT(struct quorum_lock, fields);

enum step { START, ASKED, CLEANED, HELD, COMPARED };

static bool quorum_is_majority(enum planted planted, const struct lease *lease, int64_t servers)
{
    if (MUTANT(quorum_off_by_one))
        return servers >= lease->servers / 2;
    return servers >= lease->servers / 2 + 1;
}

/* validity = ttl - time elapsed - clock drift, of 1 % of the ttl and two of its units. */
static bool quorum_is_valid(const struct quorum_lock *self, enum planted planted,
                            const struct lease *lease, const struct moment *in)
{
    int64_t drift_us = lease->ttl_us / 100 + 2 * lease->unit_us;
    if (MUTANT(quorum_validity_unchecked))
        return true;
    return lease->ttl_us - (in->now_us - self->asked_us) - drift_us > 0;
}

static void quorum_count(struct quorum_lock *self, enum planted planted, const struct moment *in)
{
    self->heard++;
    if (MUTANT(unlocked_not_released) && moment_is_ok(in))
        self->locked |= 1 << in->server;
    if (moment_is_ok(in) || moment_is_integer(in, 1))
        self->yes++;
    else if (moment_is_nil(in) || moment_is_integer(in, 0))
        self->no++;
}

/* "unlock all the instances, even those that it believes it was not able to lock" */
static void quorum_give_back(struct quorum_lock *self, enum planted planted,
                             const struct lease *lease, struct outbox *out)
{
    self->heard = 0;
    for (int i = 0; i < lease->servers; i++) {
        int server = MUTANT(last_server_first) ? lease->servers - 1 - i : i;
        if (MUTANT(unlocked_not_released) && !(self->locked >> server & 1))
            self->heard++;
        else
            out_compare_and_delete(out, server, lease);
    }
}

static void run(struct quorum_lock *self, enum planted planted, const struct lease *lease,
                const struct moment *in, struct outbox *out)
{
    SCRIPT(self);

    self->asked_us = in->now_us;
    for (int server = 0; server < lease->servers; server++)
        out_set_nx_px(out, server, lease);
    while (self->heard < lease->servers) {
        AWAIT(self, ASKED);
        quorum_count(self, planted, in);
    }
    if (!quorum_is_majority(planted, lease, self->yes) ||
        !quorum_is_valid(self, planted, lease, in)) {
        if (!MUTANT(minority_left))
            quorum_give_back(self, planted, lease, out);
        while (self->heard < lease->servers) {
            AWAIT(self, CLEANED);
            self->heard++;
        }
        if (!quorum_is_majority(planted, lease, self->yes) && self->no > 0)
            out_refused(out);
        else
            out_failed(out);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    AWAIT(self, HELD);

    self->yes = self->no = 0;
    quorum_give_back(self, planted, lease, out);
    while (self->heard < lease->servers) {
        AWAIT(self, COMPARED);
        quorum_count(self, planted, in);
    }
    if (quorum_is_majority(planted, lease, self->yes))
        out_released(out);
    else if (quorum_is_majority(planted, lease, self->no))
        out_not_mine(out);
    else
        out_failed(out);

    SCRIPT_END(self);
}

#define QUORUM_LOCK(id)                                                                            \
    MUTANT_STEP(id, run)                                                                           \
    const struct scheme scheme_##id = {                                                            \
        .name = #id,                                                                               \
        .summary = "SET token NX PX on a majority within its validity; compare-and-delete on all", \
        .source = "sim/test/mutants/quorum_lock.c",                                                \
        .step = step_##id,                                                                         \
        FIELDS_OF(fields),                                                                         \
        .token = TOKEN_UNIQUE,                                                                     \
        .unit_us = UNIT_MILLISECOND_US,                                                            \
        .promises_expiry = true,                                                                   \
        .promises_token = true,                                                                    \
        .needs_quorum = true,                                                                      \
        .is_even_handed = PLANTED_##id != PLANTED_unlocked_not_released,                           \
        .waits_for_all = true,                                                                     \
    };

QUORUM_LOCK(quorum_lock)
QUORUM_LOCK(quorum_off_by_one)
QUORUM_LOCK(minority_left)
QUORUM_LOCK(quorum_validity_unchecked)
QUORUM_LOCK(unlocked_not_released)
QUORUM_LOCK(last_server_first)
