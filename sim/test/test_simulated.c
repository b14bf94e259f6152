/* test_simulated.c - the directed simulated world: whole event sequences without faults, what is
 * not possible, and what it refuses. */
/* before cmocka.h, which has a macro named like our enum fail */
#include "world/client.h"
#include "world/simulated.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/stage.h"

static void acquire_and_release(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    acquires(&stage, 0);
    saw(&stage, "A call acquire 1\nA send SET to 0\nA execute SET at 0 for acquire 1 -> OK\n"
                "A hear SET from 0 -> OK\nA return acquire 1 granted\n");
    assert_int_equal(view(&stage, 0).phase, PHASE_HOLDING);
    acquires(&stage, 1);
    saw(&stage, "B call acquire 1\nB send SET to 0\nB execute SET at 0 for acquire 1 -> nil\n"
                "B hear SET from 0 -> nil\nB return acquire 1 refused\n");
    assert_int_equal(view(&stage, 1).phase, PHASE_IDLE);
    assert_int_equal(view(&stage, 1).last, RESULT_REFUSED);
    releases(&stage, 0, VERB_COMPARE_DELETE);
    saw(&stage, "A call release 1\nA send compare-and-delete to 0\n"
                "A execute compare-and-delete at 0 for release 1 -> 1\n"
                "A hear compare-and-delete from 0 -> 1\nA return release 1 released\n");
    acquires(&stage, 1);
    assert_int_equal(view(&stage, 1).last, RESULT_GRANTED);
    stage_close(&stage);
}

static void every_choice_takes_its_time(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    assert_int_equal(stage.world->ops->now_us(stage.world), 0);
    acquires(&stage, 0);
    assert_int_equal(stage.world->ops->now_us(stage.world), 3 * CHOICE_TAKES_US);
    passes(&stage, 1234);
    assert_int_equal(stage.world->ops->now_us(stage.world), 3 * CHOICE_TAKES_US + 1234);
    stage_close(&stage);
}

static void lease_ends_at_the_server(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    acquires(&stage, 0);
    passes(&stage, LEASE_US - 10000);
    acquires(&stage, 1);
    assert_int_equal(view(&stage, 1).last, RESULT_REFUSED);
    passes(&stage, 11000);
    acquires(&stage, 1);
    assert_int_equal(view(&stage, 1).last, RESULT_GRANTED);
    assert_int_equal(view(&stage, 0).phase, PHASE_HOLDING); /* A has not been told */
    forget(&stage);
    releases(&stage, 0, VERB_COMPARE_DELETE);
    saw(&stage, "A call release 1\nA send compare-and-delete to 0\n"
                "A execute compare-and-delete at 0 for release 1 -> 0\n"
                "A hear compare-and-delete from 0 -> 0\nA return release 1 not-mine\n");
    stage_close(&stage);
}

static void sections_read_and_write(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    refuses(&stage, (struct choice){.kind = CHOICE_WRITE, .client = 0}, "A is idle, not holding");
    acquires(&stage, 0);
    forget(&stage);
    plain(&stage, CHOICE_READ_COUNTER, 0);
    assert_true(view(&stage, 0).is_accessing);
    refuses(&stage, (struct choice){.kind = CHOICE_RELEASE, .client = 0}, "still waits");
    round_trip(&stage, 0, VERB_GET, SERVER_ONE);
    plain(&stage, CHOICE_WRITE_COUNTER, 0);
    round_trip(&stage, 0, VERB_SET, SERVER_ONE);
    plain(&stage, CHOICE_READ_COUNTER, 0);
    round_trip(&stage, 0, VERB_GET, SERVER_ONE);
    saw(&stage, "A call access 1\nA send GET to 0\nA execute GET at 0 for access 1 -> nil\n"
                "A hear GET from 0 -> nil\nA return access 1 done\n"
                "A call access 1\nA send SET to 0\nA execute SET at 0 for access 1 -> OK\n"
                "A hear SET from 0 -> OK\nA return access 1 done\n"
                "A call access 1\nA send GET to 0\nA execute GET at 0 for access 1 -> 1\n"
                "A hear GET from 0 -> 1\nA return access 1 done\n");
    stage_close(&stage);
}

static void fence_is_enforced(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "fenced", 1);
    for (int i = 0; i < 2; i++) {
        plain(&stage, CHOICE_ACQUIRE, i);
        round_trip(&stage, i, VERB_SET_MINT, SERVER_ONE);
        passes(&stage, LEASE_US + 1000);
    }
    plain(&stage, CHOICE_WRITE, 1);
    round_trip(&stage, 1, VERB_FENCED_SET, SERVER_ONE);
    assert_int_equal(view(&stage, 1).last, RESULT_DONE);
    plain(&stage, CHOICE_WRITE, 0);
    round_trip(&stage, 0, VERB_FENCED_SET, SERVER_ONE);
    assert_int_equal(view(&stage, 0).last, RESULT_STALE);
    stage_close(&stage);
}

static void timers_ring_when_chosen(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "watchdog", 1);
    refuses(&stage, (struct choice){.kind = CHOICE_WAKE, .client = 0}, "A has no timer");
    acquires(&stage, 0);
    int64_t wake_us = view(&stage, 0).wake_us, now_us = stage.world->ops->now_us(stage.world);
    assert_true(wake_us > now_us && wake_us < now_us + LEASE_US);
    refuses(&stage, (struct choice){.kind = CHOICE_WAKE, .client = 0}, "due in");
    passes(&stage, wake_us - now_us);
    forget(&stage);
    plain(&stage, CHOICE_WAKE, 0);
    round_trip(&stage, 0, VERB_COMPARE_EXPIRE, SERVER_ONE);
    saw(&stage, "A wake\nA send compare-and-expire to 0\n"
                "A execute compare-and-expire at 0 for extend 1 -> 1\n"
                "A hear compare-and-expire from 0 -> 1\n");
    stage_close(&stage);
}

static void redlock_needs_a_majority(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "redlock", 3);
    plain(&stage, CHOICE_ACQUIRE, 0);
    assert_int_equal(messages(&stage, 0, all), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(all[i].server, i);
    round_trip(&stage, 0, VERB_SET_NX_PX, 2);
    assert_int_equal(view(&stage, 0).phase, PHASE_ACQUIRING);
    round_trip(&stage, 0, VERB_SET_NX_PX, 0);
    round_trip(&stage, 0, VERB_SET_NX_PX, 1);
    assert_int_equal(view(&stage, 0).phase, PHASE_HOLDING);
    stage_close(&stage);
}

static void tokens_are_drawn_as_said(void **state)
{
    (void)state;
    struct run run = {.scheme = scheme_named("set-nx-px-cad"), .clients = 3, .seed = 7};
    int64_t first = client_token(&run, 0, 1);
    assert_true(first >= INT64_C(1) << 40 && first < INT64_C(1) << 62);
    assert_int_equal(first, client_token(&run, 0, 1));
    assert_int_not_equal(first, client_token(&run, 1, 1));
    assert_int_not_equal(first, client_token(&run, 0, 2));
    run.scheme = scheme_named("set-nx-px-cad-weak-token");
    run.same_token = 3;
    if (run.scheme->token == TOKEN_WEAK) {
        assert_int_equal(client_token(&run, 0, 1), client_token(&run, 1, 2));
        assert_int_not_equal(client_token(&run, 0, 1), client_token(&run, 2, 1));
        assert_in_range(client_token(&run, 2, 1), 1, 100000);
    } else {
        assert_true(client_token(&run, 0, 1) == VALUE_EMPTY);
    }
}

/* --- order, and what is not possible --- */

static void refuses_what_is_not_possible(void **state)
{
    (void)state;
    struct stage stage;
    struct failure failure = {0};
    stage_open(&stage, "set-nx-px-cad", 1);
    refuses(&stage, (struct choice){.kind = CHOICE_RELEASE, .client = 0}, "A is idle, not holding");
    refuses(&stage, (struct choice){.kind = CHOICE_ACQUIRE, .client = 9}, "no client 10");
    refuses(&stage, of_server(CHOICE_RESTART, 4, 0), "no server 5");
    refuses(&stage, about(CHOICE_ARRIVE, 1, VERB_DEL, 0), "B has no DEL at server 1");
    refuses(&stage, of_server(CHOICE_TIME, -1, 0), "forwards");
    plain(&stage, CHOICE_ACQUIRE, 0);
    refuses(&stage, (struct choice){.kind = CHOICE_ACQUIRE, .client = 0}, "A is acquiring");
    assert_int_equal(stage.world->ops->can(stage.world, CHOICE_FAILOVER, &failure), FAIL_NONE);
    stage_close(&stage);
    stage_open(&stage, "set-nx-px-cad", 1);
    stage.run.has_replica = false;
    assert_int_equal(stage.world->ops->can(stage.world, CHOICE_FAILOVER, &failure), FAIL_UNKNOWN);
    assert_non_null(strstr(failure.text, "no replicas"));
    assert_int_equal(stage.world->ops->can(stage.world, CHOICE_EVICT, &failure), FAIL_NONE);
    stage_close(&stage);
}

/* An attempt that is over is not resumed by what still comes for it. */
static void late_reply_of_an_earlier_attempt(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "watchdog", 1);
    acquires(&stage, 0);
    passes(&stage, LEASE_US / 2);
    plain(&stage, CHOICE_WAKE, 0);
    releases(&stage, 0, VERB_COMPARE_DELETE);
    assert_int_equal(view(&stage, 0).phase, PHASE_IDLE);
    plain(&stage, CHOICE_ACQUIRE, 0);
    forget(&stage);
    round_trip(&stage, 0, VERB_COMPARE_EXPIRE, SERVER_ONE);
    saw(&stage, "A execute compare-and-expire at 0 for extend 1 -> 0\n"
                "A hear compare-and-expire from 0 -> 0\n");
    assert_int_equal(view(&stage, 0).phase, PHASE_ACQUIRING);
    round_trip(&stage, 0, VERB_SET_NX_PX, SERVER_ONE);
    assert_int_equal(view(&stage, 0).phase, PHASE_HOLDING);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acquire_and_release),
        cmocka_unit_test(every_choice_takes_its_time),
        cmocka_unit_test(lease_ends_at_the_server),
        cmocka_unit_test(sections_read_and_write),
        cmocka_unit_test(fence_is_enforced),
        cmocka_unit_test(timers_ring_when_chosen),
        cmocka_unit_test(redlock_needs_a_majority),
        cmocka_unit_test(tokens_are_drawn_as_said),
        cmocka_unit_test(refuses_what_is_not_possible),
        cmocka_unit_test(late_reply_of_an_earlier_attempt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
