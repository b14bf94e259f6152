/* test_eager_replies.c - each condition of eager reply delivery (reduce/eager_replies.h) matters:
 * for each there is a scheme that is heard wrongly without it. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/probe.h"

/* One client; what is asked of servers is answered in any order. */
static struct explore_options options_for(const struct scheme *scheme, int servers, int fault)
{
    struct explore_options options = probe_options(scheme, (enum fault)fault, NOTHING);
    options.clients = 1;
    options.servers = servers;
    return options;
}

static void expect_seen(void (*step)(void *state, const struct lease *lease,
                                     const struct moment *in, struct outbox *out),
                        int servers, int fault)
{
    const struct scheme scheme = probe_scheme("probe", step);
    const struct explore_options options = options_for(&scheme, servers, fault);
    probe_is_seen(&options, REDUCE_EAGER);
}

enum step { START, ASKED, HELD, RELEASED, ASKED_AGAIN };

/* --- nothing else may come between two replies --- */

/* Looks at its count when its timer rings, at once. */
static void by_timer(void *state, const struct lease *lease, const struct moment *in,
                     struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    out_sleep(out, 0);
    while (self->heard < lease->servers) {
        AWAIT(self, ASKED);
        if (in->kind == MOMENT_WAKE)
            self->before = self->heard;
        else
            probe_count(self, lease, in);
    }
    probe_end(self->before == 1, out);
    SCRIPT_END(self);
}

static void a_timer_that_is_due_comes_between_two_replies(void **state)
{
    (void)state;
    expect_seen(by_timer, 3, NONE);
}

/* Asks while it holds the lock, and looks at its count when it is to release. */
static void by_release(void *state, const struct lease *lease, const struct moment *in,
                       struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    out_granted(out);
    probe_ask(self, VERB_GET, lease, out);
    do {
        AWAIT(self, HELD);
        if (in->kind != MOMENT_RELEASE)
            probe_count(self, lease, in);
    } while (in->kind != MOMENT_RELEASE);
    probe_end(self->heard == 1, out);
    SCRIPT_END(self);
}

static void a_release_comes_between_two_replies(void **state)
{
    (void)state;
    expect_seen(by_release, 3, NONE);
}

/* --- a reply that is not only counted --- */

/* Asks anew, on the other connection, at the second of three replies: one server, or all. */
static int asked_anew;

static void at_majority(void *state, const struct lease *lease, const struct moment *in,
                        struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    while (self->heard < 3) {
        AWAIT(self, ASKED);
        self->heard++;
        if (self->heard == 2)
            for (int server = 0; server < asked_anew; server++)
                out_send(out, LANE_RENEW, server, (struct command){.verb = VERB_GET});
        self->yes += in->verb == VERB_GET && moment_is_nil(in);
    }
    while (self->heard < 3 + asked_anew) {
        AWAIT(self, ASKED_AGAIN);
        self->heard++;
        self->yes += in->verb == VERB_GET && moment_is_nil(in);
    }
    probe_end(self->yes > 0, out);
    SCRIPT_END(self);
}

static void a_reply_at_which_something_is_sent_is_heard_at_once(void **state)
{
    (void)state;
    for (asked_anew = 1; asked_anew <= 3; asked_anew++)
        expect_seen(at_majority, 3, NONE);
}

/* The same, and the timer is set instead. */
static void at_majority_sleeps(void *state, const struct lease *lease, const struct moment *in,
                               struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    while (self->heard < 3) {
        AWAIT(self, ASKED);
        if (in->kind == MOMENT_WAKE)
            self->before = self->heard;
        else if (++self->heard == 2)
            out_sleep(out, 0);
    }
    probe_end(self->before == 2, out);
    SCRIPT_END(self);
}

static void a_reply_at_which_a_timer_is_set_is_heard_at_once(void **state)
{
    (void)state;
    expect_seen(at_majority_sleeps, 3, NONE);
}

/* The same, and it is granted. */
static void at_majority_granted(void *state, const struct lease *lease, const struct moment *in,
                                struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    while (self->heard < 2) {
        AWAIT(self, ASKED);
        self->heard++;
    }
    out_granted(out);
    while (in->kind != MOMENT_RELEASE) {
        AWAIT(self, HELD);
        self->heard += in->kind != MOMENT_RELEASE;
    }
    probe_end(self->heard == 2, out);
    SCRIPT_END(self);
}

static void a_reply_that_grants_is_heard_at_once(void **state)
{
    (void)state;
    expect_seen(at_majority_granted, 3, NONE);
}

/* --- a reply that counts for more when it comes first --- */

static void by_first(void *state, const struct lease *lease, const struct moment *in,
                     struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED);
    if (self->heard == 0)
        self->before = in->server;
    if (probe_has_more(self, lease))
        return;
    probe_end(self->before == 1, out);
    SCRIPT_END(self);
}

static void the_first_reply_is_any_server_s(void **state)
{
    (void)state;
    expect_seen(by_first, 3, NONE);
}

/* Two replies may change places; a reply and a time-out may not. */
static void by_timeout(void *state, const struct lease *lease, const struct moment *in,
                       struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED);
    if (in->kind == MOMENT_TIMEOUT)
        self->before = self->heard;
    if (probe_has_more(self, lease))
        return;
    probe_end(self->before == 1, out);
    SCRIPT_END(self);
}

static void a_late_reply_may_be_given_up_between_two_others(void **state)
{
    (void)state;
    expect_seen(by_timeout, 3, FAULT_LATE_REPLY);
}

/* --- a reply that is not the same at another time --- */

/* Notes when it heard the first one, or the second. */
static int noted;

static void by_time(void *state, const struct lease *lease, const struct moment *in,
                    struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED);
    if (self->heard == noted)
        self->seen_us = in->now_us;
    if (probe_has_more(self, lease))
        return;
    probe_end(self->seen_us != in->now_us, out);
    SCRIPT_END(self);
}

static void time_may_pass_between_two_replies(void **state)
{
    (void)state;
    for (noted = 0; noted <= 1; noted++)
        expect_seen(by_time, 3, FAULT_STALL);
}

/* Counts what is answered by a clock that is right, and by one that is ahead; or not the first of
 * them. */
static int clock_from;

static void by_clock_ahead(void *state, const struct lease *lease, const struct moment *in,
                           struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    self->seen_us = in->now_us;
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED);
    self->yes += self->heard >= clock_from && in->now_us >= self->seen_us + lease->ttl_us;
    if (probe_has_more(self, lease))
        return;
    probe_end(self->yes == 1, out);
    SCRIPT_END(self);
}

static void by_clock_behind(void *state, const struct lease *lease, const struct moment *in,
                            struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    self->seen_us = in->now_us;
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED);
    self->yes += self->heard >= clock_from && in->now_us < self->seen_us;
    if (probe_has_more(self, lease))
        return;
    probe_end(self->yes == 1, out);
    SCRIPT_END(self);
}

/* Not after a tick, but after a lease a reply is another one. */
static void much_time_may_pass_between_two_replies(void **state)
{
    (void)state;
    for (clock_from = 0; clock_from <= 1; clock_from++)
        expect_seen(by_clock_ahead, 3, FAULT_STALL);
}

static void a_clock_may_jump_ahead_between_two_replies(void **state)
{
    (void)state;
    for (clock_from = 0; clock_from <= 1; clock_from++)
        expect_seen(by_clock_ahead, 3, FAULT_CLIENT_CLOCK);
}

static void a_clock_may_jump_back_between_two_replies(void **state)
{
    (void)state;
    for (clock_from = 0; clock_from <= 1; clock_from++)
        expect_seen(by_clock_behind, 3, FAULT_CLIENT_CLOCK);
}

/* Looks at the clock when all have ended. */
static void by_last(void *state, const struct lease *lease, const struct moment *in,
                    struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    self->seen_us = in->now_us;
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    AWAIT(self, ASKED);
    if (probe_waits(self, lease, in))
        return;
    probe_end(self->seen_us != in->now_us && self->yes == lease->servers, out);
    SCRIPT_END(self);
}

static void what_is_late_holds_nobody_up(void **state)
{
    (void)state;
    expect_seen(by_last, 3, FAULT_LATE_REQUEST);
    expect_seen(by_last, 3, FAULT_LATE_REPLY);
}

static void what_was_given_up_is_not_waited_for(void **state)
{
    (void)state;
    expect_seen(by_timeout, 4, FAULT_LATE_REQUEST);
}

/* --- a reply with which others are lost --- */

/* Two requests to one server, on one connection. */
static void in_a_pipeline(void *state, const struct lease *lease, const struct moment *in,
                          struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    out_set_nx_px(out, SERVER_ONE, lease);
    out_get(out, SERVER_ONE);
    while (self->heard < 2) {
        AWAIT(self, ASKED);
        probe_count(self, lease, in);
    }
    probe_end(self->lost == 1, out);
    SCRIPT_END(self);
}

static void a_reply_is_heard_before_the_one_behind_it_is_lost(void **state)
{
    (void)state;
    expect_seen(in_a_pipeline, 1, FAULT_LOSE_REQUEST);
}

/* A server that breaks its connections takes all that is unheard with it. */
static void by_break(void *state, const struct lease *lease, const struct moment *in,
                     struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    probe_ask(self, VERB_SET_NX_PX, lease, out);
    out_send(out, LANE_RENEW, SERVER_ONE, (struct command){.verb = VERB_GET});
    while (self->heard <= lease->servers) {
        AWAIT(self, ASKED);
        probe_count(self, lease, in);
    }
    probe_end(self->lost == 1, out);
    SCRIPT_END(self);
}

static void a_reply_is_heard_before_its_server_breaks_all_connections(void **state)
{
    (void)state;
    expect_seen(by_break, 1, FAULT_RESTART);
    expect_seen(by_break, 1, FAULT_FAILOVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_that_is_due_comes_between_two_replies),
        cmocka_unit_test(a_release_comes_between_two_replies),
        cmocka_unit_test(a_reply_at_which_something_is_sent_is_heard_at_once),
        cmocka_unit_test(a_reply_at_which_a_timer_is_set_is_heard_at_once),
        cmocka_unit_test(a_reply_that_grants_is_heard_at_once),
        cmocka_unit_test(the_first_reply_is_any_server_s),
        cmocka_unit_test(a_late_reply_may_be_given_up_between_two_others),
        cmocka_unit_test(time_may_pass_between_two_replies),
        cmocka_unit_test(much_time_may_pass_between_two_replies),
        cmocka_unit_test(a_clock_may_jump_ahead_between_two_replies),
        cmocka_unit_test(a_clock_may_jump_back_between_two_replies),
        cmocka_unit_test(what_is_late_holds_nobody_up),
        cmocka_unit_test(what_was_given_up_is_not_waited_for),
        cmocka_unit_test(a_reply_is_heard_before_the_one_behind_it_is_lost),
        cmocka_unit_test(a_reply_is_heard_before_its_server_breaks_all_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
