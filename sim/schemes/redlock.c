/* redlock.c - the token on a majority of independent servers within the validity time; released on
 * all of them. Follows: Redis documentation, Distributed locks with Redis, the Redlock algorithm.
 * Assumes that servers do not forget a key and that clocks run at nearly
 * one speed; a restart without persistence or a clock jump breaks that assumption, not the steps.
 */
#include "schemes/parts.h"

struct redlock {
    int64_t at;          /* enum step */
    int64_t asked_us;    /* own clock when the first server was asked */
    int64_t heard;       /* servers that answered, timed out or broke the connection */
    int64_t yes;         /* servers that said OK, or 1 */
    int64_t no;          /* servers that said nil, or 0 */
    int64_t unsupported; /* servers that cannot do it */
};

static const enum scheme_field fields[] = {FIELD_STEP,  FIELD_TIME,  FIELD_COUNT,
                                           FIELD_COUNT, FIELD_COUNT, FIELD_COUNT};
FIELDS_FIT(struct redlock, fields);

enum step { START, ASKED, CLEANED, HELD, COMPARED };

static bool redlock_is_majority(const struct lease *lease, int64_t servers)
{
    return servers > lease->servers / 2;
}

static void redlock_start_count(struct redlock *self)
{
    self->asked_us = self->heard = self->yes = self->no = self->unsupported = 0;
}

/* Counts that make no difference any more are cleared: states that cannot be told apart are equal.
 */
static void redlock_keep_answer(struct redlock *self, const struct lease *lease)
{
    self->no = self->no >= lease->servers - lease->servers / 2;
    self->unsupported = self->unsupported > 0;
    self->asked_us = self->heard = self->yes = 0;
}

static void redlock_count(struct redlock *self, const struct moment *in)
{
    self->heard++;
    if (moment_is_ok(in) || moment_is_integer(in, 1))
        self->yes++;
    else if (moment_is_nil(in) || moment_is_integer(in, 0))
        self->no++;
    else if (moment_is_unsupported(in))
        self->unsupported++;
}

static void redlock_delete_on_all(const struct lease *lease, struct outbox *out)
{
    for (int server = 0; server < lease->servers; server++)
        out_compare_and_delete(out, server, lease);
}

/* validity = ttl - time elapsed - clock drift, with drift = 1 % of the ttl and two of its units (2
 * ms). */
static bool redlock_is_valid(const struct redlock *self, const struct lease *lease, int64_t now_us)
{
    int64_t drift_us = lease->ttl_us / 100 + 2 * lease->unit_us;
    return lease->ttl_us - (now_us - self->asked_us) - drift_us > 0;
}

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct redlock *self = state;

    SCRIPT(self);

    /* Step 1: the current time. Step 2: SET key token NX PX ttl on all servers, with a time-out
     * each. */
    self->asked_us = in->now_us;
    for (int server = 0; server < lease->servers; server++)
        out_set_nx_px(out, server, lease);
    while (self->heard < lease->servers) {
        AWAIT(self, ASKED);
        redlock_count(self, in);
    }

    /* Step 3: acquired only by a majority, in less time than the lease is valid. Step 4: what is
     * left is the validity. Step 5: else unlock all servers, those too that seem not to have been
     * locked. */
    if (!redlock_is_majority(lease, self->yes) || !redlock_is_valid(self, lease, in->now_us)) {
        redlock_delete_on_all(lease, out);
        redlock_keep_answer(self, lease);
        while (self->heard < lease->servers) {
            AWAIT(self, CLEANED);
            self->heard++;
        }
        /* Refused is the word only where so many servers said that the key was there that no
         * majority was left. A server that did not answer may have said OK: a failure, as a
         * majority that came too late. */
        if (self->no > 0)
            out_refused(out);
        else if (self->unsupported > 0)
            out_unsupported(out);
        else
            out_failed(out);
        SCRIPT_RETURN(self);
    }
    redlock_start_count(self);
    out_granted(out);
    AWAIT(self, HELD);

    /* Release: compare-and-delete on all servers, believed to be locked or not. */
    redlock_delete_on_all(lease, out);
    while (self->heard < lease->servers) {
        AWAIT(self, COMPARED);
        redlock_count(self, in);
    }
    if (redlock_is_majority(lease, self->yes))
        out_released(out);
    else if (redlock_is_majority(lease, self->no))
        out_not_mine(out);
    else if (self->unsupported > 0)
        out_unsupported(out);
    else
        out_failed(out);

    SCRIPT_END(self);
}

const struct scheme scheme_redlock = {
    .name = "redlock",
    .summary = "SET token NX PX on a majority within the validity time; compare-and-delete on all",
    .source =
        "Redis documentation, Distributed locks with Redis; Sanfilippo 2016, Is Redlock safe?",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .promises_expiry = true,
    .promises_token = true,
    .needs_quorum = true,
    .is_even_handed = true,
    .waits_for_all = true,
};
