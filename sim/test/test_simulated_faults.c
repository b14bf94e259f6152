/* test_simulated_faults.c - the directed simulated world: what each fault does, in whole event
 * sequences. */
/* before cmocka.h, which has a macro named like our enum fail */
#include "world/client.h"
#include "world/simulated.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/stage.h"

static void lost_request_is_resent(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-px-cad", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, about(CHOICE_LOSE_REQUEST, 0, VERB_SET_NX_PX, 0));
    assert_int_equal(messages(&stage, 0, all), 1);
    assert_int_equal(all[0].state, MESSAGE_VOID);
    refuses(&stage, about(CHOICE_ARRIVE, 0, VERB_SET_NX_PX, 0), "request on its way");
    does(&stage, about(CHOICE_RESEND, 0, VERB_SET_NX_PX, 0));
    refuses(&stage, about(CHOICE_RESEND, 0, VERB_SET_NX_PX, 0), "a lost command");
    round_trip(&stage, 0, VERB_SET_NX_PX, 0);
    saw(&stage, "A call acquire 1\nA send SET to 0\nA fault lose-request 0 0\nA fault resend 0 0\n"
                "A send SET to 0\nA execute SET at 0 for acquire 1 -> OK\nA hear SET from 0 -> OK\n"
                "A return acquire 1 granted\n");
    stage_close(&stage);
}

static void lost_reply_leaves_the_key(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_SET_NX_PX, 0));
    refuses(&stage, about(CHOICE_LOSE_REQUEST, 0, VERB_SET_NX_PX, 0), "request on its way");
    does(&stage, about(CHOICE_LOSE_REPLY, 0, VERB_SET_NX_PX, 0));
    refuses(&stage, about(CHOICE_HEAR, 0, VERB_SET_NX_PX, 0), "reply on its way");
    forget(&stage);
    does(&stage, about(CHOICE_RESEND, 0, VERB_SET_NX_PX, 0));
    round_trip(&stage, 0, VERB_SET_NX_PX, 0);
    saw(&stage, "A fault resend 0 0\nA send SET to 0\nA execute SET at 0 for acquire 1 -> nil\n"
                "A hear SET from 0 -> nil\nA return acquire 1 refused\n");
    stage_close(&stage);
}

static void late_request_executes_for_nobody(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-px-cad", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, about(CHOICE_GIVE_UP, 0, VERB_SET_NX_PX, 0));
    assert_true(view(&stage, 0).phase != PHASE_HOLDING);
    assert_true(messages(&stage, 0, all) >= 1);
    assert_true(all[0].is_abandoned);
    assert_int_equal(all[0].state, MESSAGE_REQUEST);
    refuses(&stage, about(CHOICE_GIVE_UP, 0, VERB_SET_NX_PX, 0), "waits for");
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_SET_NX_PX, 0));
    assert_int_equal(view(&stage, 0).phase == PHASE_HOLDING, 0);
    refuses(&stage, about(CHOICE_HEAR, 0, VERB_SET_NX_PX, 0), "reply on its way");
    forget(&stage);
    acquires(&stage, 1);
    assert_int_equal(view(&stage, 1).last, RESULT_REFUSED); /* the late SET took the lock */
    stage_close(&stage);
}

static void give_up_on_a_void_is_a_lost_connection(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-ex-del", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, about(CHOICE_LOSE_REQUEST, 0, VERB_SET_NX_EX, 0));
    does(&stage, about(CHOICE_GIVE_UP, 0, VERB_SET_NX_EX, 0));
    assert_int_equal(messages(&stage, 0, all), 0);
    assert_int_equal(view(&stage, 0).phase, PHASE_IDLE);
    assert_int_equal(view(&stage, 0).last, RESULT_FAILED);
    stage_close(&stage);
}

static void verbs_go_by_their_name(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-ex-del", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    round_trip(&stage, 0, VERB_SET_NX_PX, 0); /* "A's SET", though it was sent as SET NX EX */
    assert_int_equal(view(&stage, 0).phase, PHASE_HOLDING);
    stage_close(&stage);
}

static void crash_takes_what_was_not_executed(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-px-cad", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    plain(&stage, CHOICE_CRASH, 0);
    assert_int_equal(messages(&stage, 0, all), 0);
    assert_int_equal(view(&stage, 0).phase, PHASE_DEAD);
    saw(&stage, "A call acquire 1\nA send SET to 0\nA fault crash -1 0\n");
    refuses(&stage, (struct choice){.kind = CHOICE_CRASH, .client = 0}, "dead already");
    refuses(&stage, (struct choice){.kind = CHOICE_ACQUIRE, .client = 0}, "A is dead, not idle");
    plain(&stage, CHOICE_ACQUIRE, 1);
    does(&stage, about(CHOICE_ARRIVE, 1, VERB_SET_NX_PX, 0));
    plain(&stage, CHOICE_CRASH, 1); /* executed: stays so */
    acquires(&stage, 2);
    assert_int_equal(view(&stage, 2).last, RESULT_REFUSED);
    passes(&stage, LEASE_US + 1000);
    acquires(&stage, 2);
    assert_int_equal(view(&stage, 2).last, RESULT_GRANTED);
    stage_close(&stage);
}

static void restart_forgets_and_breaks(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-px-cad", 1);
    acquires(&stage, 0);
    plain(&stage, CHOICE_ACQUIRE, 1);
    forget(&stage);
    does(&stage, of_server(CHOICE_RESTART, 0, 0));
    saw(&stage, "- fault restart-empty 0 0\n");
    assert_int_equal(messages(&stage, 1, all), 1);
    assert_int_equal(all[0].state, MESSAGE_VOID);
    does(&stage, about(CHOICE_RESEND, 1, VERB_SET_NX_PX, 0));
    round_trip(&stage, 1, VERB_SET_NX_PX, 0);
    assert_int_equal(view(&stage, 1).phase, PHASE_HOLDING);
    assert_int_equal(view(&stage, 0).phase, PHASE_HOLDING);
    stage_close(&stage);
}

static void restart_with_its_keys_breaks_and_forgets_nothing(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-px-cad", 1);
    acquires(&stage, 0);
    plain(&stage, CHOICE_ACQUIRE, 1);
    does(&stage, of_server(CHOICE_RESTART_AOF, 0, 0));
    assert_int_equal(messages(&stage, 1, all), 1);
    assert_int_equal(all[0].state, MESSAGE_VOID);
    does(&stage, about(CHOICE_RESEND, 1, VERB_SET_NX_PX, 0));
    round_trip(&stage, 1, VERB_SET_NX_PX, 0);
    assert_int_equal(view(&stage, 1).last, RESULT_REFUSED);
    stage_close(&stage);
}

static void an_old_snapshot_lacks_what_is_new_and_has_what_was_deleted(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    refuses(&stage, of_server(CHOICE_RESTART_OLD, 0, 0), "has saved nothing");
    does(&stage, of_server(CHOICE_SAVE, 0, 0));
    acquires(&stage, 0);
    does(&stage, of_server(CHOICE_RESTART_OLD, 0, 0));
    acquires(&stage, 1); /* the key of the other is gone */
    assert_int_equal(view(&stage, 1).last, RESULT_GRANTED);
    does(&stage, of_server(CHOICE_SAVE, 0, 0));
    plain(&stage, CHOICE_RELEASE, 1);
    round_trip(&stage, 1, VERB_COMPARE_DELETE, 0);
    does(&stage, of_server(CHOICE_RESTART_OLD, 0, 0));
    acquires(&stage, 2); /* and this one is there again */
    assert_int_equal(view(&stage, 2).last, RESULT_REFUSED);
    does(&stage, of_server(CHOICE_RESTART, 0, 0));
    refuses(&stage, of_server(CHOICE_RESTART_OLD, 0, 0), "has saved nothing");
    stage_close(&stage);
}

static void a_stopped_server_does_nothing_until_it_goes_on(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    acquires(&stage, 0);
    plain(&stage, CHOICE_ACQUIRE, 1);
    does(&stage, of_server(CHOICE_STOP, 0, 0));
    refuses(&stage, about(CHOICE_ARRIVE, 1, VERB_SET_NX_PX, 0), "server 1");
    refuses(&stage, of_server(CHOICE_STOP, 0, 0), "out of reach already");
    refuses(&stage, of_server(CHOICE_FLUSH_ALL, 0, 0), "server 1 is stopped");
    does(&stage, of_server(CHOICE_REACH, 0, 0));
    round_trip(&stage, 1, VERB_SET_NX_PX, 0);
    assert_int_equal(view(&stage, 1).last, RESULT_REFUSED);
    stage_close(&stage);
}

static void a_server_that_holds_writes_answers_reads(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-ex-get-del", 1);
    acquires(&stage, 0);
    plain(&stage, CHOICE_RELEASE, 0);
    does(&stage, of_server(CHOICE_PAUSE_WRITES, 0, 0));
    refuses(&stage, of_server(CHOICE_PAUSE_WRITES, 0, 0), "server 1 holds writes");
    refuses(&stage, of_server(CHOICE_FLUSH_ALL, 0, 0), "server 1 holds writes");
    round_trip(&stage, 0, VERB_GET, 0);
    refuses(&stage, about(CHOICE_ARRIVE, 0, VERB_DEL, 0),
            "server 1 holds writes, and DEL may write");
    does(&stage, about(CHOICE_GIVE_UP, 0, VERB_DEL, 0)); /* its connection ends, and it with it */
    assert_int_equal(messages(&stage, 0, all), 0);
    does(&stage, of_server(CHOICE_REACH, 0, 0));
    acquires(&stage, 1);
    assert_int_equal(view(&stage, 1).last, RESULT_REFUSED);
    stage_close(&stage);
}

static void a_flush_forgets_and_breaks_nothing(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    acquires(&stage, 0);
    plain(&stage, CHOICE_ACQUIRE, 1);
    does(&stage, of_server(CHOICE_FLUSH_ALL, 0, 0));
    round_trip(&stage, 1, VERB_SET_NX_PX, 0);
    assert_int_equal(view(&stage, 1).phase, PHASE_HOLDING);
    stage_close(&stage);
}

static void ended_connections_lose_what_is_on_them(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-px-cad", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_SET_NX_PX, 0));
    does(&stage, of_server(CHOICE_CLIENT_KILL, 0, 0));
    assert_int_equal(messages(&stage, 0, all), 1);
    assert_int_equal(all[0].state, MESSAGE_VOID);
    acquires(&stage, 1); /* the key is there, of which its client does not know */
    assert_int_equal(view(&stage, 1).last, RESULT_REFUSED);
    does(&stage, of_server(CHOICE_SILENCE, 0, 0));
    refuses(&stage, of_server(CHOICE_CLIENT_KILL, 0, 0), "out of reach");
    does(&stage, of_server(CHOICE_REACH, 0, 0));
    stage_close(&stage);
}

static void failover_loses_what_the_replica_did_not_hear(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    does(&stage, of_server(CHOICE_CUT_REPLICA, 0, 0));
    refuses(&stage, of_server(CHOICE_CUT_REPLICA, 0, 0), "no replica in step");
    acquires(&stage, 0);
    does(&stage, of_server(CHOICE_FAILOVER, 0, 0));
    acquires(&stage, 1);
    assert_int_equal(view(&stage, 1).last, RESULT_GRANTED);
    refuses(&stage, of_server(CHOICE_FAILOVER, 0, 0), "no replica to promote");
    stage_close(&stage);
}

static void failover_to_a_replica_in_step_loses_nothing(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    acquires(&stage, 0);
    does(&stage, of_server(CHOICE_FAILOVER, 0, 0));
    acquires(&stage, 1);
    assert_int_equal(view(&stage, 1).last, RESULT_REFUSED);
    stage_close(&stage);
}

static void eviction_removes_the_lock_only(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    refuses(&stage, of_server(CHOICE_EVICT, 0, 0), "no lock key");
    acquires(&stage, 0);
    does(&stage, of_server(CHOICE_EVICT, 0, 0));
    acquires(&stage, 1);
    assert_int_equal(view(&stage, 1).last, RESULT_GRANTED);
    stage_close(&stage);
}

static void server_clock_ends_leases(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    acquires(&stage, 0);
    does(&stage, of_server(CHOICE_SERVER_CLOCK, 0, LEASE_US + 1000));
    acquires(&stage, 1);
    assert_int_equal(view(&stage, 1).last, RESULT_GRANTED);
    does(&stage, of_server(CHOICE_SERVER_CLOCK, 0, -LEASE_US - 1000));
    passes(&stage, LEASE_US + 1000); /* B's lease counts from the clock that was ahead */
    acquires(&stage, 2);
    assert_int_equal(view(&stage, 2).last, RESULT_REFUSED);
    stage_close(&stage);
}

/* A clock that is an hour ahead sees every stamp as past. */
static void client_clock_is_its_own(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "stamp-getset", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    round_trip(&stage, 0, VERB_SETNX, 0);
    assert_int_equal(view(&stage, 0).phase, PHASE_HOLDING);
    does(&stage,
         (struct choice){
             .kind = CHOICE_CLIENT_CLOCK, .client = 1, .server = -1, .amount_us = 3600000000});
    plain(&stage, CHOICE_ACQUIRE, 1);
    round_trip(&stage, 1, VERB_SETNX, 0);
    round_trip(&stage, 1, VERB_GET, 0);
    round_trip(&stage, 1, VERB_GETSET, 0);
    assert_int_equal(view(&stage, 1).phase, PHASE_HOLDING);
    stage_close(&stage);
}

/* Who sends a script whole does not notice; who names it by its SHA1 does. */
static void a_flush_of_scripts_is_noticed_by_some(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        enum choice_kind fault;
        enum result result;
    } rows[] = {
        {"set-nx-px-evalsha", CHOICE_FLUSH_SCRIPTS, RESULT_FAILED},
        {"set-nx-px-evalsha", CHOICE_TIME, RESULT_RELEASED},
        {"set-nx-px-evalsha-eval", CHOICE_FLUSH_SCRIPTS, RESULT_RELEASED},
        {"set-nx-px-cad", CHOICE_FLUSH_SCRIPTS, RESULT_RELEASED},
        {"set-nx-px-evalsha", CHOICE_FAILOVER, RESULT_FAILED}, /* replicas have none */
        {"set-nx-px-evalsha-eval", CHOICE_FAILOVER, RESULT_RELEASED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stage stage;
        struct message all[MESSAGES_MAX];
        stage_open(&stage, rows[i].scheme, 1);
        plain(&stage, CHOICE_ACQUIRE, 0);
        while (messages(&stage, 0, all))
            round_trip(&stage, 0, all[0].command.verb, 0);
        if (rows[i].fault == CHOICE_TIME)
            passes(&stage, 1000);
        else
            does(&stage, of_server(rows[i].fault, 0, 0));
        plain(&stage, CHOICE_RELEASE, 0);
        while (messages(&stage, 0, all))
            round_trip(&stage, 0, all[0].command.verb, 0);
        assert_int_equal(view(&stage, 0).last, rows[i].result);
        stage_close(&stage);
    }
}

/* Nothing passes, and nothing is forgotten; what was given up on meanwhile never comes. */
static void a_silent_server_goes_on_with_its_keys(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-px-cad", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    round_trip(&stage, 0, VERB_SET_NX_PX, 0);
    does(&stage, of_server(CHOICE_SILENCE, 0, 0));
    plain(&stage, CHOICE_RELEASE, 0);
    refuses(&stage, about(CHOICE_ARRIVE, 0, VERB_COMPARE_DELETE, 0), "server 1 is silent");
    refuses(&stage, of_server(CHOICE_REFUSE, 0, 0), "out of reach already");
    does(&stage, about(CHOICE_GIVE_UP, 0, VERB_COMPARE_DELETE, 0));
    assert_int_equal(view(&stage, 0).last, RESULT_FAILED);
    does(&stage, of_server(CHOICE_REACH, 0, 0));
    refuses(&stage, of_server(CHOICE_REACH, 0, 0), "within reach");
    assert_int_equal(messages(&stage, 0, all), 0);
    plain(&stage, CHOICE_ACQUIRE, 1);
    round_trip(&stage, 1, VERB_SET_NX_PX, 0);
    assert_int_equal(view(&stage, 1).last, RESULT_REFUSED); /* A's key is there */
    stage_close(&stage);
}

/* What is on its way is lost, and what is sent is so at once, for as long as it lasts. */
static void a_server_that_refuses_connections_has_none(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-px-cad", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, of_server(CHOICE_REFUSE, 0, 0));
    plain(&stage, CHOICE_ACQUIRE, 1);
    for (int client = 0; client < 2; client++) {
        assert_int_equal(messages(&stage, client, all), 1);
        assert_int_equal(all[0].state, MESSAGE_VOID);
        does(&stage, about(CHOICE_GIVE_UP, client, VERB_SET_NX_PX, 0));
        assert_int_equal(view(&stage, client).last, RESULT_FAILED);
    }
    does(&stage, of_server(CHOICE_REACH, 0, 0));
    plain(&stage, CHOICE_ACQUIRE, 0);
    round_trip(&stage, 0, VERB_SET_NX_PX, 0);
    assert_int_equal(view(&stage, 0).last, RESULT_GRANTED);
    stage_close(&stage);
}

/* A clock that runs twice as fast ends a key in half the time, and one that is told again, as told.
 */
static void a_servers_clock_may_run_fast(void **state)
{
    (void)state;
    static const struct {
        int64_t gains_us, passed_us;
        enum result result;
    } rows[] = {{1000000, 140000, RESULT_REFUSED},
                {1000000, 151000, RESULT_GRANTED},
                {-500000, 590000, RESULT_REFUSED},
                {-500000, 603000, RESULT_GRANTED}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stage stage;
        stage_open(&stage, "set-nx-px-cad", 1);
        does(&stage, of_server(CHOICE_SERVER_DRIFT, 0, rows[i].gains_us));
        plain(&stage, CHOICE_ACQUIRE, 0);
        round_trip(&stage, 0, VERB_SET_NX_PX, 0);
        passes(&stage, rows[i].passed_us);
        plain(&stage, CHOICE_ACQUIRE, 1);
        round_trip(&stage, 1, VERB_SET_NX_PX, 0);
        assert_int_equal(view(&stage, 1).last, rows[i].result);
        stage_close(&stage);
    }
}

/* A timer goes with its client's clock, also one that is under way. */
static void a_clients_clock_may_run_slow(void **state)
{
    (void)state;
    struct stage stage;
    struct choice slow = {
        .kind = CHOICE_CLIENT_DRIFT, .client = 0, .server = -1, .amount_us = -500000};
    stage_open(&stage, "watchdog", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    round_trip(&stage, 0, VERB_SET_NX_PX, 0);
    int64_t due_us = view(&stage, 0).wake_us;
    int64_t now_us = stage.world->ops->now_us(stage.world);
    does(&stage, slow);
    assert_int_equal(view(&stage, 0).wake_us, now_us + 2 * (due_us - now_us));
    slow.amount_us = 0;
    now_us = stage.world->ops->now_us(stage.world);
    due_us = view(&stage, 0).wake_us;
    does(&stage, slow); /* right again, from here on */
    assert_true(view(&stage, 0).wake_us - (now_us + (due_us - now_us) / 2) <= 1);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_request_is_resent),
        cmocka_unit_test(lost_reply_leaves_the_key),
        cmocka_unit_test(late_request_executes_for_nobody),
        cmocka_unit_test(give_up_on_a_void_is_a_lost_connection),
        cmocka_unit_test(verbs_go_by_their_name),
        cmocka_unit_test(crash_takes_what_was_not_executed),
        cmocka_unit_test(restart_forgets_and_breaks),
        cmocka_unit_test(restart_with_its_keys_breaks_and_forgets_nothing),
        cmocka_unit_test(an_old_snapshot_lacks_what_is_new_and_has_what_was_deleted),
        cmocka_unit_test(a_stopped_server_does_nothing_until_it_goes_on),
        cmocka_unit_test(a_server_that_holds_writes_answers_reads),
        cmocka_unit_test(a_flush_forgets_and_breaks_nothing),
        cmocka_unit_test(ended_connections_lose_what_is_on_them),
        cmocka_unit_test(failover_loses_what_the_replica_did_not_hear),
        cmocka_unit_test(failover_to_a_replica_in_step_loses_nothing),
        cmocka_unit_test(eviction_removes_the_lock_only),
        cmocka_unit_test(server_clock_ends_leases),
        cmocka_unit_test(client_clock_is_its_own),
        cmocka_unit_test(a_flush_of_scripts_is_noticed_by_some),
        cmocka_unit_test(a_servers_clock_may_run_fast),
        cmocka_unit_test(a_clients_clock_may_run_slow),
        cmocka_unit_test(a_silent_server_goes_on_with_its_keys),
        cmocka_unit_test(a_server_that_refuses_connections_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
