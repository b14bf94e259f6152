/* test_partial_order_conditions.c - what the partial-order reduction (reduce/partial_order.h)
 * counts or strikes early is so later, too; and a scheme that is not as it promises is searched in
 * every order. Schemes and faults of the table: test_partial_order.c. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/reduce/partial_order.h"

#include "test/probe.h"

/* --- what one client sees --- */

enum step { START, ASKED, ASKED_AGAIN, HELD };

static struct {
    enum verb verbs[2]; /* asked of all, one after the other; twice the same: once */
    int yes, lost;      /* what it looks for at the end */
    int before;         /* and of what was asked first; 0: anything */
} wanted;

static void by_counts(void *state, const struct lease *lease, const struct moment *in,
                      struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, wanted.verbs[0], lease, out);
    AWAIT(self, ASKED);
    if (probe_waits(self, lease, in))
        return;
    if (wanted.verbs[1] != wanted.verbs[0]) {
        probe_ask(self, wanted.verbs[1], lease, out);
        AWAIT(self, ASKED_AGAIN);
        if (probe_waits(self, lease, in))
            return;
    }
    probe_end(self->yes == wanted.yes && self->lost == wanted.lost &&
                  (!wanted.before || self->before == wanted.before),
              out);
    SCRIPT_END(self);
}

static void expect_counts(enum verb first, enum verb second, int yes, int lost, enum fault one,
                          enum fault other)
{
    const struct scheme scheme = probe_scheme("probe", by_counts);
    struct explore_options options = probe_options(&scheme, one, other);
    wanted.verbs[0] = first;
    wanted.verbs[1] = second;
    wanted.yes = yes;
    wanted.lost = lost;
    assert_true(partial_order_suits(&options));
    probe_is_seen(&options, REDUCE_ALL);
}

/* Replies that could be lost are unheard until none can be any more; then all but the last one are
 * counted. */
static void the_last_reply_decides(void **state)
{
    (void)state;
    expect_counts(VERB_SET_NX_PX, VERB_SET_NX_PX, 2, 1, FAULT_LOSE_REPLY, NOTHING);
    expect_counts(VERB_SET_NX_PX, VERB_SET_NX_PX, 2, 1, FAULT_RESTART, NOTHING);
}

/* One client, which sets its key at all, and then asks for it. */
static void expect_counts_alone(int servers, int before, int yes, enum fault one, enum fault other)
{
    const struct scheme scheme = probe_scheme("probe", by_counts);
    struct explore_options options = probe_options(&scheme, one, other);
    options.clients = 1;
    options.servers = servers;
    wanted.verbs[0] = VERB_SET_NX_PX;
    wanted.verbs[1] = VERB_GET;
    wanted.before = before;
    wanted.yes = yes;
    wanted.lost = 0;
    probe_is_seen(&options, REDUCE_ALL);
    wanted.before = 0;
}

/* A failover breaks the connection on which a reply is, and keeps the key. */
static void a_reply_may_be_lost_by_a_failover(void **state)
{
    (void)state;
    expect_counts_alone(3, 21, 3, FAULT_FAILOVER, NOTHING);
}

/* Its key goes, and its reply was heard; so another one was the last. */
static void a_reply_may_be_heard_before_a_failover(void **state)
{
    (void)state;
    expect_counts_alone(3, 30, 2, FAULT_FAILOVER, NOTHING);
}

/* The same where the last end is that of a request that was lost. */
static void a_request_may_be_given_up_after_a_restart(void **state)
{
    (void)state;
    expect_counts_alone(2, 11, 0, FAULT_RESTART, FAULT_LOSE_REQUEST);
}

/* Where one is lost, and two more may be. */
static void all_replies_may_be_lost(void **state)
{
    const struct scheme scheme = probe_scheme("probe", by_counts);
    struct explore_options options = probe_options(&scheme, FAULT_LOSE_REPLY, FAULT_LOSE_REQUEST);
    (void)state;
    options.budget[FAULT_LOSE_REPLY]++;
    options.clients = 1;
    wanted.verbs[0] = wanted.verbs[1] = VERB_SET_NX_PX;
    wanted.yes = 0;
    wanted.lost = 3;
    probe_is_seen(&options, REDUCE_ALL);
    options.budget[FAULT_LOSE_REQUEST] = 0;
    options.budget[FAULT_LOSE_REPLY] = 3;
    probe_is_seen(&options, REDUCE_ALL);
}

static void a_request_is_lost_before_others_are_executed(void **state)
{
    (void)state;
    expect_counts(VERB_SET_NX_PX, VERB_SET_NX_PX, 2, 1, FAULT_LOSE_REQUEST, NOTHING);
    expect_counts(VERB_COMPARE_EXPIRE, VERB_COMPARE_EXPIRE, 0, 1, FAULT_LATE_REQUEST, NOTHING);
}

static void a_reply_is_lost_when_all_requests_are_executed(void **state)
{
    (void)state;
    expect_counts(VERB_COMPARE_EXPIRE, VERB_COMPARE_EXPIRE, 0, 1, FAULT_LATE_REPLY, NOTHING);
    expect_counts(VERB_COMPARE_EXPIRE, VERB_COMPARE_EXPIRE, 0, 1, FAULT_LOSE_REPLY, NOTHING);
}

/* One server was out of reach before it was asked, the other one's answer was lost, and time
 * passed. */
static void by_silence(void *state, const struct lease *lease, const struct moment *in,
                       struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_GET, lease, out);
    AWAIT(self, ASKED);
    if (probe_waits(self, lease, in))
        return;
    self->seen_us = in->now_us;
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED_AGAIN);
    if (probe_waits(self, lease, in))
        return;
    probe_end(self->before == 1 && self->lost == 2 && in->now_us > self->seen_us, out);
    SCRIPT_END(self);
}

/* What a server does that is out of reach may come after time has passed: no strike waits for it.
 */
static void a_reply_is_lost_while_another_server_is_silent(void **state)
{
    const struct scheme scheme = probe_scheme("by-silence", by_silence);
    struct explore_options options = probe_options(&scheme, FAULT_SILENT_SERVER, FAULT_LOSE_REPLY);
    (void)state;
    options.clients = 1;
    options.servers = 2;
    probe_is_seen(&options, REDUCE_ALL);
}

/* A request was lost after time had passed since it was sent. */
static void by_late_loss(void *state, const struct lease *lease, const struct moment *in,
                         struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    self->seen_us = in->now_us;
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED);
    if (in->kind == MOMENT_LOST && in->now_us > self->seen_us)
        self->odd = 1;
    if (probe_waits(self, lease, in))
        return;
    probe_end(self->odd == 1 && self->yes == 1, out);
    SCRIPT_END(self);
}

/* What waits for a server out of reach may be struck after others were answered. */
static void a_request_is_lost_while_its_server_is_silent(void **state)
{
    const struct scheme scheme = probe_scheme("by-late-loss", by_late_loss);
    struct explore_options options =
        probe_options(&scheme, FAULT_SILENT_SERVER, FAULT_LOSE_REQUEST);
    (void)state;
    options.clients = 1;
    options.servers = 2;
    probe_is_seen(&options, REDUCE_ALL);
    /* And what is late. */
    options.budget[FAULT_SILENT_SERVER] = 0;
    options.budget[FAULT_LATE_REQUEST] = 1;
    probe_is_seen(&options, REDUCE_ALL);
}

/* Its first request to one server is lost; then one key is set and the other is refused, and then
 * both are set. */
static void by_refusal(void *state, const struct lease *lease, const struct moment *in,
                       struct outbox *out)
{
    static const enum verb verbs[] = {VERB_DEL, VERB_SET_NX_PX, VERB_SET_NX_PX};
    struct probe *self = state;

    SCRIPT(self);
    for (; self->read < 3; self->read++) {
        probe_ask(self, verbs[self->read], lease, out);
        AWAIT(self, ASKED);
        if (probe_waits(self, lease, in))
            return;
        if (self->read == 0)
            self->odd = self->lost;
    }
    probe_end(self->odd == 1 && self->before == 10 && self->yes == 2, out);
    SCRIPT_END(self);
}

/* What waited for a silent server may be refused when it is back, which is after others were
 * executed. */
static void a_request_is_refused_when_its_server_is_back(void **state)
{
    const struct scheme scheme = probe_scheme("by-refusal", by_refusal);
    struct explore_options options =
        probe_options(&scheme, FAULT_SILENT_SERVER, FAULT_ANSWER_ERROR);
    (void)state;
    options.clients = 1;
    options.servers = 2;
    probe_is_seen(&options, REDUCE_ALL);
}

/* It gets all servers but one, and, half a lease later, that one, too: whose key was there was
 * older than its own ones, and alone. */
static void by_age(void *state, const struct lease *lease, const struct moment *in,
                   struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED);
    if (probe_waits(self, lease, in))
        return;
    out_sleep(out, lease->ttl_us / 2);
    while (in->kind != MOMENT_WAKE)
        AWAIT(self, HELD);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED_AGAIN);
    if (probe_waits(self, lease, in))
        return;
    probe_end(self->before == 20 && self->yes == 1, out);
    SCRIPT_END(self);
}

/* A client dies when one of its requests was executed, and before the others were. */
static void a_client_crashes_between_two_of_its_requests(void **state)
{
    const struct scheme scheme = probe_scheme("by-age", by_age);
    const struct explore_options options = probe_options(&scheme, FAULT_CRASH, NOTHING);
    (void)state;
    assert_true(partial_order_suits(&options));
    probe_is_seen(&options, REDUCE_ALL);
}

/* One of two is granted by some servers, and refused by others. */
static void servers_are_asked_in_different_orders(void **state)
{
    (void)state;
    expect_counts(VERB_SET_NX_PX, VERB_SET_NX_PX, 1, 0, FAULT_STALL, NOTHING);
    expect_counts(VERB_SET_NX_PX, VERB_SET_NX_PX, 2, 0, NOTHING, NOTHING);
    expect_counts(VERB_SET_NX_PX, VERB_DEL, 2, 0, NOTHING, NOTHING);
    expect_counts(VERB_SET_NX_PX, VERB_GET, 1, 0, FAULT_LATE_REPLY, NOTHING);
}

/* --- what is not as it promises --- */

static void expect_every_order(const struct scheme *scheme, int servers, enum fault fault)
{
    struct explore_options options = probe_options(scheme, fault, NOTHING);
    struct explore_outcome each, some;
    options.servers = servers;
    options.reductions = REDUCE_ALL & ~(unsigned)REDUCE_ORDER;
    run(&options, &each);
    options.reductions = REDUCE_ALL;
    assert_true(partial_order_suits(&options));
    run(&options, &some);
    assert_int_equal(some.states, each.states);
    assert_int_equal(differences("every order", &options, &each, &some), 0);
    explore_outcome_free(&each);
    explore_outcome_free(&some);
}

/* Acts at once, while it waits for all. */
static void by_timer(void *state, const struct lease *lease, const struct moment *in,
                     struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    out_sleep(out, 0);
    while (in->kind != MOMENT_WAKE) {
        AWAIT(self, ASKED);
        self->heard += in->kind != MOMENT_WAKE;
    }
    AWAIT(self, ASKED_AGAIN);
    if (probe_has_more(self, lease))
        return;
    out_failed(out);
    SCRIPT_END(self);
}

/* Sends anew where a connection is lost, or a request is late. */
static void by_loss(void *state, const struct lease *lease, const struct moment *in,
                    struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    while (self->heard < lease->servers + self->lost) {
        AWAIT(self, ASKED);
        self->heard++;
        if (in->kind == MOMENT_LOST || in->kind == MOMENT_TIMEOUT) {
            self->lost++;
            out_get(out, in->server);
        }
    }
    out_failed(out);
    SCRIPT_END(self);
}

static void who_acts_while_he_waits_is_searched_in_every_order(void **state)
{
    struct scheme scheme = probe_scheme("by-timer", by_timer);
    (void)state;
    expect_every_order(&scheme, 3, NOTHING);
    scheme = probe_scheme("by-loss", by_loss);
    expect_every_order(&scheme, 2, FAULT_LOSE_REQUEST);
    expect_every_order(&scheme, 2, FAULT_LATE_REQUEST);
}

/* Asks all servers while it holds the lock. */
static void while_holding(void *state, const struct lease *lease, const struct moment *in,
                          struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    out_granted(out);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    while (in->kind != MOMENT_RELEASE)
        AWAIT(self, HELD);
    out_released(out);
    SCRIPT_END(self);
}

static void who_asks_while_he_holds_is_searched_in_every_order(void **state)
{
    const struct scheme scheme = probe_scheme("while-holding", while_holding);
    (void)state;
    expect_every_order(&scheme, 3, NOTHING);
}

/* Writes what it has read. */
static void by_copy(void *state, const struct lease *lease, const struct moment *in,
                    struct outbox *out)
{
    struct probe *self = state;
    struct lease others = *lease;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED);
    if (probe_has_more(self, lease))
        return;
    probe_ask(self, VERB_GET, lease, out);
    AWAIT(self, ASKED_AGAIN);
    if (moment_is_reply(in, REPLY_VALUE))
        self->read = in->reply.value;
    if (probe_has_more(self, lease))
        return;
    others.token = self->read;
    probe_ask(self, VERB_SET_NX_PX, &others, out);
    AWAIT(self, HELD);
    if (probe_has_more(self, lease))
        return;
    out_failed(out);
    SCRIPT_END(self);
}

static void who_writes_another_s_token_is_searched_in_every_order(void **state)
{
    const struct scheme scheme = probe_scheme("by-copy", by_copy);
    (void)state;
    expect_every_order(&scheme, 3, NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_reply_decides),
        cmocka_unit_test(a_reply_may_be_lost_by_a_failover),
        cmocka_unit_test(a_reply_may_be_heard_before_a_failover),
        cmocka_unit_test(a_request_may_be_given_up_after_a_restart),
        cmocka_unit_test(all_replies_may_be_lost),
        cmocka_unit_test(a_request_is_lost_before_others_are_executed),
        cmocka_unit_test(a_reply_is_lost_when_all_requests_are_executed),
        cmocka_unit_test(a_reply_is_lost_while_another_server_is_silent),
        cmocka_unit_test(a_request_is_lost_while_its_server_is_silent),
        cmocka_unit_test(a_request_is_refused_when_its_server_is_back),
        cmocka_unit_test(a_client_crashes_between_two_of_its_requests),
        cmocka_unit_test(servers_are_asked_in_different_orders),
        cmocka_unit_test(who_acts_while_he_waits_is_searched_in_every_order),
        cmocka_unit_test(who_asks_while_he_holds_is_searched_in_every_order),
        cmocka_unit_test(who_writes_another_s_token_is_searched_in_every_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
