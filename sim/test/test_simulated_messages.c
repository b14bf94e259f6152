/* test_simulated_messages.c - messages of the simulated world: their order on a connection, one
 * that is left, a copy, a refusal; and what there is to wait for. */
/* before cmocka.h, which has a macro named like our enum fail */
#include "world/simulated.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/stage.h"

/* A scheme that sends two requests at once on one connection, which none of the table does. */
static void two_at_once(void *state, const struct lease *lease, const struct moment *in,
                        struct outbox *out)
{
    (void)state;
    if (in->kind == MOMENT_START) {
        out_set_nx_px(out, SERVER_ONE, lease);
        out_get(out, SERVER_ONE);
    }
}

static const enum scheme_field step_only[] = {FIELD_STEP};
static const struct scheme pipelining = {.name = "pipelining",
                                         .summary = "two at once",
                                         .source = "this test",
                                         .step = two_at_once,
                                         .fields = step_only,
                                         .fields_count = 1,
                                         .unit_us = 1000};

static void a_connection_keeps_its_order(void **state)
{
    (void)state;
    struct stage stage;
    assert_true(scheme_named("pipelining") || scheme_add(&pipelining));
    stage_open(&stage, "pipelining", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    refuses(&stage, about(CHOICE_ARRIVE, 0, VERB_GET, 0), "SET to server 1 comes before it");
    refuses(&stage, refusal(VERB_GET, ERROR_LOADING), "SET to server 1 comes before it");
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_SET_NX_PX, 0));
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_GET, 0));
    refuses(&stage, about(CHOICE_HEAR, 0, VERB_GET, 0), "SET to server 1 comes before it");
    does(&stage, about(CHOICE_HEAR, 0, VERB_SET_NX_PX, 0));
    does(&stage, about(CHOICE_HEAR, 0, VERB_GET, 0));
    stage_close(&stage);
}

/* Both requests are on the connection that is left, and keep their order there. */
static void a_connection_that_was_left_keeps_its_order(void **state)
{
    (void)state;
    struct stage stage;
    assert_true(scheme_named("pipelining") || scheme_add(&pipelining));
    stage_open(&stage, "pipelining", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, about(CHOICE_GIVE_UP, 0, VERB_GET, 0));
    refuses(&stage, about(CHOICE_ARRIVE_LATE, 0, VERB_GET, 0), "SET to server 1 comes before it");
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_SET_NX_PX, 0));
    does(&stage, about(CHOICE_ARRIVE_LATE, 0, VERB_GET, 0));
    does(&stage, about(CHOICE_HEAR, 0, VERB_SET_NX_PX, 0));
    stage_close(&stage);
}

/* A client that timed out goes on with a new connection. */
static void what_was_given_up_blocks_nothing(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-px-cad", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, about(CHOICE_GIVE_UP, 0, VERB_SET_NX_PX, 0));
    plain(&stage, CHOICE_ACQUIRE, 0);
    assert_int_equal(messages(&stage, 0, all), 2);
    forget(&stage);
    round_trip(&stage, 0, VERB_SET_NX_PX, 0); /* the one that it waits for */
    assert_int_equal(view(&stage, 0).phase, PHASE_HOLDING);
    assert_int_equal(messages(&stage, 0, all), 1);
    assert_true(all[0].is_abandoned);
    does(&stage, about(CHOICE_ARRIVE_LATE, 0, VERB_SET_NX_PX, 0));
    saw(&stage, "A execute SET at 0 for acquire 2 -> OK\nA hear SET from 0 -> OK\n"
                "A return acquire 2 granted\nA execute SET at 0 for acquire 1 -> nil\n");
    refuses(&stage, about(CHOICE_ARRIVE_LATE, 0, VERB_SET_NX_PX, 0), "a late request on its way");
    stage_close(&stage);
}

/* The WATCH stays with the transaction that was given up on, and is not the new connection's. */
static void a_watch_stays_with_its_connection(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "watch-multi-del", 1);
    acquires(&stage, 0);
    plain(&stage, CHOICE_RELEASE, 0);
    round_trip(&stage, 0, VERB_WATCH, 0);
    round_trip(&stage, 0, VERB_GET, 0);
    does(&stage, about(CHOICE_DUPLICATE, 0, VERB_MULTI_DEL, 0));
    does(&stage, about(CHOICE_GIVE_UP, 0, VERB_MULTI_DEL, 0));
    passes(&stage, stage.run.lease_us + 1000);
    acquires(&stage, 1);
    forget(&stage);
    /* Oldest first: the transaction itself is aborted, its copy has nothing to abort it. */
    does(&stage, about(CHOICE_ARRIVE_LATE, 0, VERB_MULTI_DEL, 0));
    does(&stage, about(CHOICE_ARRIVE_LATE, 0, VERB_MULTI_DEL, 0));
    saw(&stage, "A execute multi-del at 0 for release 1 -> nil\n"
                "A execute multi-del at 0 for release 1 -> [1, 1]\n");
    stage_close(&stage);
}

/* --- a request sent twice --- */

static void the_copy_goes_by_itself(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-ex-del", 1);
    acquires(&stage, 0);
    plain(&stage, CHOICE_RELEASE, 0);
    forget(&stage);
    does(&stage, about(CHOICE_DUPLICATE, 0, VERB_DEL, 0));
    assert_int_equal(messages(&stage, 0, all), 2);
    assert_false(all[0].is_abandoned);
    assert_true(all[1].is_abandoned);
    round_trip(&stage, 0, VERB_DEL, 0); /* the original first */
    acquires(&stage, 1);
    does(&stage, about(CHOICE_ARRIVE_LATE, 0, VERB_DEL, 0));
    assert_int_equal(messages(&stage, 0, all), 0);
    saw(&stage, "A fault duplicate 0 0\n"
                "A execute DEL at 0 for release 1 -> 1\nA hear DEL from 0 -> 1\n"
                "A return release 1 released\n"
                "B call acquire 1\nB send SET to 0\nB execute SET at 0 for acquire 1 -> OK\n"
                "B hear SET from 0 -> OK\nB return acquire 1 granted\n"
                "A execute DEL at 0 for release 1 -> 1\n");
    stage_close(&stage);
}

static void the_copy_may_come_first(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "set-nx-px-cad", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, about(CHOICE_DUPLICATE, 0, VERB_SET_NX_PX, 0));
    does(&stage, about(CHOICE_ARRIVE_LATE, 0, VERB_SET_NX_PX, 0));
    refuses(&stage, about(CHOICE_HEAR, 0, VERB_SET_NX_PX, 0), "a reply on its way");
    round_trip(&stage, 0, VERB_SET_NX_PX, 0);
    assert_int_equal(view(&stage, 0).last, RESULT_REFUSED); /* by its own copy */
    stage_close(&stage);
}

static void the_copy_is_lost(void **state)
{
    (void)state;
    struct stage stage;
    struct message all[MESSAGES_MAX];
    stage_open(&stage, "set-nx-ex-del", 1);
    refuses(&stage, about(CHOICE_DUPLICATE, 0, VERB_SET_NX_EX, 0), "a request on its way");
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, about(CHOICE_DUPLICATE, 0, VERB_SET_NX_EX, 0));
    does(&stage, about(CHOICE_ARRIVE, 0, VERB_SET_NX_EX, 0));
    does(&stage, about(CHOICE_LOSE_REQUEST, 0, VERB_SET_NX_EX, 0));
    assert_int_equal(messages(&stage, 0, all), 1);
    does(&stage, about(CHOICE_HEAR, 0, VERB_SET_NX_EX, 0)); /* another connection: not broken */
    assert_int_equal(view(&stage, 0).phase, PHASE_HOLDING);
    plain(&stage, CHOICE_RELEASE, 0);
    does(&stage, about(CHOICE_DUPLICATE, 0, VERB_DEL, 0));
    does(&stage, of_server(CHOICE_RESTART, 0, 0)); /* takes the copy along */
    assert_int_equal(messages(&stage, 0, all), 1);
    assert_int_equal(all[0].state, MESSAGE_VOID);
    stage_close(&stage);
}

/* --- a request answered with an error --- */

static void a_refused_request_is_not_executed(void **state)
{
    (void)state;
    struct stage stage;
    stage_open(&stage, "setnx-expire-del", 1);
    plain(&stage, CHOICE_ACQUIRE, 0);
    round_trip(&stage, 0, VERB_SETNX, 0);
    forget(&stage);
    does(&stage, refusal(VERB_EXPIRE, ERROR_OOM));
    refuses(&stage, about(CHOICE_ARRIVE, 0, VERB_EXPIRE, 0), "a request on its way");
    does(&stage, about(CHOICE_HEAR, 0, VERB_EXPIRE, 0));
    saw(&stage, "A fault answer-error 0 0 -OOM\nA hear EXPIRE from 0 -> -OOM\n"
                "A return acquire 1 failed\n");
    passes(&stage, 10 * stage.run.lease_us);
    plain(&stage, CHOICE_ACQUIRE, 1);
    round_trip(&stage, 1, VERB_SETNX, 0);
    assert_int_equal(view(&stage, 1).last, RESULT_REFUSED); /* no EXPIRE, no end */
    stage_close(&stage);
}

/* MULTI is let in, so the failed EXEC ends the watch: the next one is not aborted by it. */
static void a_refused_transaction_ends_the_watch(void **state)
{
    (void)state;
    static const enum reply_error errors[] = {ERROR_LOADING, ERROR_NOAUTH};
    for (int i = 0; i < 2; i++) {
        struct stage stage;
        stage_open(&stage, "watch-multi-del", 1);
        acquires(&stage, 0);
        plain(&stage, CHOICE_RELEASE, 0);
        round_trip(&stage, 0, VERB_WATCH, 0);
        round_trip(&stage, 0, VERB_GET, 0);
        does(&stage, refusal(VERB_MULTI_DEL, errors[i]));
        does(&stage, about(CHOICE_HEAR, 0, VERB_MULTI_DEL, 0));
        assert_int_equal(view(&stage, 0).last, RESULT_FAILED);
        passes(&stage, stage.run.lease_us + 1000);
        acquires(&stage, 0);
        plain(&stage, CHOICE_RELEASE, 0);
        round_trip(&stage, 0, VERB_WATCH, 0);
        round_trip(&stage, 0, VERB_GET, 0);
        round_trip(&stage, 0, VERB_MULTI_DEL, 0);
        assert_int_equal(view(&stage, 0).last, i == 0 ? RESULT_RELEASED : RESULT_NOT_MINE);
        stage_close(&stage);
    }
}

/* --- nothing to wait for --- */

/* Its release does nothing. When a connection breaks it rests, and then does nothing, either. */
static void waits(void *state, const struct lease *lease, const struct moment *in,
                  struct outbox *out)
{
    int64_t *answers = state;
    if (in->kind == MOMENT_START)
        out_set_nx_px(out, SERVER_ONE, lease);
    if (in->kind == MOMENT_LOST)
        out_sleep(out, 1000);
    if (in->kind == MOMENT_REPLY && ++*answers == 1)
        out_granted(out);
}

static void stage_open_waiting(struct stage *stage)
{
    static const struct scheme waiting = {
        .name = "waiting", .step = waits, .fields = step_only, .fields_count = 1, .unit_us = 1000};
    assert_true(scheme_named("waiting") || scheme_add(&waiting));
    stage_open(stage, "waiting", 1);
}

static void an_operation_without_anything_to_wait_for_is_stranded(void **state)
{
    (void)state;
    struct stage stage;
    stage_open_waiting(&stage);
    acquires(&stage, 0);
    forget(&stage);
    plain(&stage, CHOICE_RELEASE, 0);
    saw(&stage, "A call release 1\nA strand release 1\n");
    plain(&stage, CHOICE_CRASH, 0);
    saw(&stage, "A fault crash -1 0\n");
    stage_close(&stage);
}

/* A lost request that has not been noticed, then a timer: something will come. */
static void while_something_can_come_nobody_is_stranded(void **state)
{
    (void)state;
    struct stage stage;
    stage_open_waiting(&stage);
    plain(&stage, CHOICE_ACQUIRE, 0);
    does(&stage, about(CHOICE_LOSE_REQUEST, 0, VERB_SET_NX_PX, 0));
    passes(&stage, 10 * LEASE_US);
    does(&stage, about(CHOICE_GIVE_UP, 0, VERB_SET_NX_PX, 0));
    passes(&stage, 10 * LEASE_US);
    assert_null(strstr(stage.trace, "strand"));
    forget(&stage);
    plain(&stage, CHOICE_WAKE, 0);
    saw(&stage, "A wake\nA strand acquire 1\n");
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_keeps_its_order),
        cmocka_unit_test(a_connection_that_was_left_keeps_its_order),
        cmocka_unit_test(what_was_given_up_blocks_nothing),
        cmocka_unit_test(a_watch_stays_with_its_connection),
        cmocka_unit_test(the_copy_goes_by_itself),
        cmocka_unit_test(the_copy_may_come_first),
        cmocka_unit_test(the_copy_is_lost),
        cmocka_unit_test(a_refused_request_is_not_executed),
        cmocka_unit_test(a_refused_transaction_ends_the_watch),
        cmocka_unit_test(an_operation_without_anything_to_wait_for_is_stranded),
        cmocka_unit_test(while_something_can_come_nobody_is_stranded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
