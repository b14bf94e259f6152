/* test_live_stress_cluster.c - the free run on the masters of a Redis Cluster, while the slot of
 * the lock moves from one to the other: the order is known, a lock that relies on a script breaks,
 * and one that does not survives. */
#include "test/stress_summary.h"

#include "live/control.h"

#include <inttypes.h>

/* Ends the run after so many moves, or when so many have begun. */
static int64_t until_moved, until_begun;
/* Begun, the new owner is told that nothing moves to it: it sends clients back. */
static bool is_sabotaged;

static void spoil_move(int row)
{
    char key[LOCK_KEY_MAX], prefix[KEY_PREFIX_MAX];
    struct failure why;
    redisContext *control = servers_control(&live->servers, row);
    live_cluster_prefix(live, 0, prefix);
    (void)snprintf(key, sizeof key, "%slock", prefix);
    const int64_t slot = control_integer(control, &why, "CLUSTER KEYSLOT %s", key);
    assert_true(slot >= 0);
    assert_int_equal(control_do(control, &why, "CLUSTER SETSLOT %" PRId64 " STABLE", slot), 0);
}

static void take(void *context, const struct event *event)
{
    struct summary *of = context;
    summary_take(of, event);
    /* Who has been sent on too often is told so. */
    if (is_sabotaged && event->kind == EVENT_EXECUTE && event->reply.kind == REPLY_ERROR)
        of->stop = SIGTERM;
    if (event->kind != EVENT_FAULT)
        return;
    if (event->fault == FAULT_SLOT_BEGIN && is_sabotaged)
        spoil_move(event->server);
    if (event->fault == FAULT_SLOT_END && of->faults[CHOICE_SLOT_END] == until_moved)
        of->stop = SIGTERM;
    if (event->fault == FAULT_SLOT_BEGIN && of->faults[CHOICE_SLOT_BEGIN] == until_begun)
        of->stop = SIGTERM;
}

/* Quick moves, and a minute at most. */
static struct stress_options on_cluster(const char *scheme, int64_t moves)
{
    struct stress_options options = options_of(scheme);
    options.sink.take = take;
    options.is_cluster = true;
    options.servers = CLUSTER_MASTERS;
    options.duration_us = 60 * (int64_t)SECOND_US;
    options.slot_move_ppm = 20000;
    options.slot_move_us = 10000;
    until_moved = moves;
    until_begun = 0;
    is_sabotaged = false;
    return options;
}

static void expect_moved(const struct stress_outcome *outcome)
{
    assert_int_equal(outcome->doubt.code, FAIL_NONE);
    assert_true(outcome->struck[STRUCK_SLOT_MOVE] >= until_moved);
    assert_int_equal(outcome->struck[STRUCK_SLOT_MOVE], summary.faults[CHOICE_SLOT_END]);
    assert_true(summary.faults[CHOICE_SLOT_KEYS] >= summary.faults[CHOICE_SLOT_END]);
    assert_true(outcome->moved > 0 && outcome->asked > 0);
}

/* Every command is answered as one server would that had executed them all in the order that is
 * told, whichever master it was; and the counter goes on where the slot goes. */
static void the_order_is_known_while_a_slot_moves(void **state)
{
    (void)state;
    for (int is_direct = 0; is_direct < 2; is_direct++) {
        struct stress_options options = on_cluster("set-nx-px-cad", 6);
        struct stress_outcome outcome;
        struct model model;
        model_init(&model, 1000);
        summary.model = &model;
        options.clients = 40;
        options.is_direct = is_direct;
        runs(&options, &outcome);
        expect_moved(&outcome);
        assert_true(summary.sections > 0);
        assert_int_equal(summary.counter, summary.sections);
    }
}

static bool has_orphan(void *context)
{
    (void)context;
    return checks_violated(summary.checks) >> PROPERTY_NO_ORPHAN & 1;
}

/* Its release names a script that the new owner does not know. */
static void a_script_that_does_not_move_leaves_keys_behind(void **state)
{
    (void)state;
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    struct stress_options options = on_cluster("set-nx-px-evalsha", INT64_MAX);
    options.lease_us = scheme_lease_us(options.scheme, 100000);
    options.is_enough = has_orphan;
    checks_agree(&options, findings, &counters);
    assert_int_equal(findings[PROPERTY_NO_ORPHAN].verdict, VERDICT_VIOLATED);
    assert_true(summary.faults[CHOICE_SLOT_KEYS] > 0);
    options.slot_move_ppm = 0;
    options.duration_us = SECOND_US / 4;
    checks_agree(&options, findings, &counters);
    assert_int_equal(findings[PROPERTY_NO_ORPHAN].verdict, VERDICT_HOLDS);
}

/* Leases end at the new owner when they would have at the old one; messages are lost, holders stall
 * and die meanwhile. */
static void a_safe_lock_survives_slots_that_move(void **state)
{
    (void)state;
    struct finding findings[PROPERTY_COUNT];
    struct counters counters = {0};
    struct stress_options options = on_cluster("set-nx-px-cad", 6);
    options.lease_us = scheme_lease_us(options.scheme, 100000);
    options.timeout_us = 50000;
    options.locks = 3;
    options.pause_ppm = 100000;
    options.pause_us = options.lease_us * 3 / 2;
    options.delay_ppm = options.lose_reply_ppm = options.lose_request_ppm = options.crash_ppm =
        5000;
    options.delay_us = 20000;
    checks_agree(&options, findings, &counters);
    expect_no_blame(findings);
    assert_int_equal(findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_HOLDS);
    assert_true(counters.grants > 0 && summary.faults[CHOICE_SLOT_END] >= until_moved);
}

static bool has_moved(void *context)
{
    (void)context;
    return summary.faults[CHOICE_SLOT_END] > 0;
}

/* A move that has begun comes to its end where no fault is drawn any more, however long it was to
 * last. */
static void a_run_that_heals_leaves_no_slot_between_two_masters(void **state)
{
    (void)state;
    struct stress_options options = on_cluster("set-nx-px-cad", 1);
    struct stress_outcome outcome;
    options.slot_move_us = 600 * (int64_t)SECOND_US;
    options.heal_us = options.duration_us;
    options.duration_us = 0; /* until it is stopped: a move has begun */
    options.is_enough = has_moved;
    until_begun = 1;
    runs(&options, &outcome);
    assert_int_equal(outcome.doubt.code, FAIL_NONE);
    assert_int_equal(summary.faults[CHOICE_SLOT_BEGIN], 1);
    assert_int_equal(outcome.struck[STRUCK_SLOT_MOVE], 1);
}

/* Sent to and fro, a client gives up, and nothing is concluded. */
static void who_is_sent_on_too_often_leaves_the_run_unknown(void **state)
{
    (void)state;
    struct stress_options options = on_cluster("set-nx-px-cad", 1);
    struct stress_outcome outcome;
    options.slot_move_us = 600 * (int64_t)SECOND_US;
    is_sabotaged = true;
    runs(&options, &outcome);
    assert_int_equal(outcome.doubt.code, FAIL_UNKNOWN);
    assert_non_null(strstr(outcome.doubt.text, "from master to master too often"));
}

/* To the millisecond, on clocks that run. */
static void a_lease_ends_where_the_slot_went_when_it_would_have(void **state)
{
    (void)state;
    static const char key[] = "{picklock}lock";
    struct servers *servers = &live->servers;
    struct failure why;
    int64_t moved;
    assert_int_equal(cluster_prepare(servers, key, &why), FAIL_NONE);
    redisContext *from = servers_control(servers, 0), *to = servers_control(servers, 1);
    assert_int_equal(control_do(from, &why, "SET %s 1 PX 100000", key), FAIL_NONE);
    const int64_t ends_ms = control_integer(from, &why, "PEXPIRETIME %s", key);
    assert_int_equal(cluster_begin_move(servers, key, 1, &why), FAIL_NONE);
    assert_int_equal(cluster_move_keys(servers, key, 1, &moved, &why), FAIL_NONE);
    assert_int_equal(cluster_end_move(servers, key, 1, NONE_LEFT_BEHIND, &why), FAIL_NONE);
    assert_int_equal(moved, 1);
    assert_int_equal(control_integer(to, &why, "PEXPIRETIME %s", key), ends_ms);
}

static void what_does_not_fit_is_refused_by_name(void **state)
{
    (void)state;
    struct failure why;
    struct stress_options options = on_cluster("set-nx-px-cad", 1);
    assert_int_equal(stress_can(live, &options, &why), FAIL_NONE);
    options.is_cluster = false;
    assert_int_equal(stress_can(live, &options, &why), FAIL_NOT_APPLICABLE);
    assert_string_equal(why.text, "--slot-move: there is no slot that could move: it wants "
                                  "--cluster");
    options = on_cluster("set-nx-px-cad", 1);
    options.silence_ppm = 1;
    assert_int_equal(stress_can(live, &options, &why), FAIL_NOT_APPLICABLE);
    assert_string_equal(why.text, "--silence: of a cluster only the slot is struck");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_known_while_a_slot_moves),
        cmocka_unit_test(a_script_that_does_not_move_leaves_keys_behind),
        cmocka_unit_test(a_safe_lock_survives_slots_that_move),
        cmocka_unit_test(a_run_that_heals_leaves_no_slot_between_two_masters),
        cmocka_unit_test(who_is_sent_on_too_often_leaves_the_run_unknown),
        cmocka_unit_test(a_lease_ends_where_the_slot_went_when_it_would_have),
        cmocka_unit_test(what_does_not_fit_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
