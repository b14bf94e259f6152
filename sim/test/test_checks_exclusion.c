/* test_checks.c - every property: a history in which it fires, and one in which it must stay
 * silent. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

/* --- mutual-exclusion, lease-exclusion, release-own: the expired-lease double delete --- */

/* A stalls past its lease; B gets the lock; A's DEL removes B's key; C gets it. Numbers as in the
 * house's own example: B at 312.4 for 300 ms, A's DEL at 330.2, C at 331. */
static struct story *double_delete(void)
{
    struct story *story = story_new(&expiring, 1, 300);
    at(story, 0.8);
    acquires(story, A);
    at(story, 312.2);
    acquires(story, B);
    at(story, 330);
    deletes(story, A, 1);
    at(story, 330.8);
    acquires(story, C);
    ends(story);
    return story;
}

static void an_unlock_bug_is_told_from_the_overrun_that_triggered_it(void **state)
{
    struct story *story = double_delete();
    const struct finding *mutual = &story->findings[PROPERTY_MUTUAL_EXCLUSION];
    const struct finding *lease = &story->findings[PROPERTY_LEASE_EXCLUSION];
    const struct finding *own = &story->findings[PROPERTY_RELEASE_OWN];
    (void)state;
    /* (A,B) is an overrun, (B,C) is not: the first that is somebody's fault is shown. */
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 2, CAUSE_UNLOCK_BUG);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNLOCK_BUG);
    assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
    assert_int_equal(story->counters.overruns, 1);
    assert_int_equal(story->counters.foreign_releases, 1);
    assert_says(lease, "B got the lock at 312.4 ms (SET lock 2001 NX PX 300) for 300.0 ms. "
                       "It cannot have expired before 612.4 ms.");
    assert_says(lease, "C got it too at 331.0 ms");
    assert_says(lease, "A sent DEL lock, executed at 330.2 ms: it removed B's lock; "
                       "A's own lease had ended at 300.8 ms.");
    assert_says(lease, "(B,C): Unlock bug in A, triggered by A's overrun.");
    assert_says(mutual, "(B,C): Unlock bug in A, triggered by A's overrun.");
    assert_says(own, "Unlock bug in A, triggered by A's overrun.");
    assert_holds(story, PROPERTY_EXTEND_OWN);
    assert_holds(story, PROPERTY_TRUTHFUL);
    assert_holds(story, PROPERTY_FRESH_GRANT);
    story_free(story);
}

static void an_overrun_alone_is_nobodys_fault(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 312);
    acquires(story, B);
    releases(story, A, 0);
    releases(story, B, 1);
    ends(story);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
    assert_int_equal(cause_blame(story->findings[PROPERTY_MUTUAL_EXCLUSION].cause), BLAME_NOBODY);
    assert_says(&story->findings[PROPERTY_MUTUAL_EXCLUSION], "(A,B): Overrun in A.");
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    assert_holds(story, PROPERTY_RELEASE_OWN);
    assert_holds(story, PROPERTY_TRUTHFUL); /* "not mine" was so */
    story_free(story);
}

static void taking_turns_is_silent(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    for (int i = 0; i < 20; i++) {
        acquires(story, i % 3);
        is_refused(story, (i + 1) % 3);
        releases(story, i % 3, 1);
    }
    ends(story);
    assert_silent(story);
    assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    assert_int_equal(story->counters.operations, 60);
    assert_int_equal(story->counters.grants, 20);
    assert_int_equal(story->counters.refusals, 20);
    assert_int_equal(story->counters.contended, 20);
    story_free(story);
}

static void replies_that_cross_do_not_turn_a_pair_round(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    /* A is granted, its key is removed by C's blind DEL, B is granted; B is told first. */
    calls(story, C, OP_ACQUIRE);
    sends(story, C, 0, OP_ACQUIRE, set(story, C));
    returns(story, C, OP_ACQUIRE, RESULT_FAILED);
    is_granted(story, A);
    deletes(story, C, 1);
    is_granted(story, B);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNLOCK_BUG);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(A,B): Unlock bug in C");
    story_free(story);
}

static void a_hold_ends_at_the_call_of_its_release(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    struct command compare;
    (void)state;
    acquires(story, A);
    compare = command(VERB_COMPARE_DELETE, token(story, A), 0);
    calls(story, A, OP_RELEASE);
    executes(story, A, OP_RELEASE, compare, INTEGER(1));
    acquires(story, B); /* before A hears that it has released */
    returns(story, A, OP_RELEASE, RESULT_RELEASED);
    ends(story);
    assert_silent(story);
    assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
    story_free(story);
}

/* --- vacuity --- */

static void what_could_not_be_found_is_unknown(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    ends(story);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        assert_true(story->findings[i].verdict == VERDICT_UNKNOWN ||
                    story->findings[i].verdict == VERDICT_NOT_APPLICABLE);
    assert_verdict(story, PROPERTY_RELEASE_OWN, VERDICT_UNKNOWN);
    story_free(story);

    story = story_new(&expiring, 1, 300);
    acquires(story, A);
    releases(story, A, 1);
    ends(story);
    assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, VERDICT_UNKNOWN);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION],
                "nobody's request for a lock reached a server while");
    assert_holds(story, PROPERTY_RELEASE_OWN);
    story_free(story);

    story = story_new(&expiring, 1, 300);
    calls(story, A, OP_ACQUIRE);
    returns(story, A, OP_ACQUIRE, RESULT_FAILED);
    calls(story, B, OP_ACQUIRE);
    returns(story, B, OP_ACQUIRE, RESULT_FAILED);
    ends(story);
    assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, VERDICT_UNKNOWN);
    assert_says(&story->findings[PROPERTY_MUTUAL_EXCLUSION], "no acquire was granted");
    assert_int_equal(story->counters.errors, 2);
    story_free(story);
}

/* A has the lock, and B asks for it: what of B's request was seen? */
static struct story *asks_for_what_is_had(struct command *asked)
{
    struct story *story = story_undirected(&expiring, 1, 300);
    acquires(story, A);
    calls(story, B, OP_ACQUIRE);
    *asked = set(story, B);
    sends(story, B, 0, OP_ACQUIRE, *asked);
    return story;
}

static void a_request_that_reached_no_server_is_no_contention(void **state)
{
    struct command asked;
    struct story *story = asks_for_what_is_had(&asked);
    (void)state;
    strikes_command(story, "lose-request", B, OP_ACQUIRE, asked);
    returns(story, B, OP_ACQUIRE, RESULT_FAILED);
    releases(story, A, 1);
    ends(story);
    assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, VERDICT_UNKNOWN);
    assert_verdict(story, PROPERTY_LEASE_EXCLUSION, VERDICT_UNKNOWN);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "the run showed no contention");
    assert_holds(story, PROPERTY_RELEASE_OWN);
    story_free(story);

    story = asks_for_what_is_had(&asked);
    executes(story, B, OP_ACQUIRE, asked, NIL);
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    story_free(story);

    /* A server that answers with an error executes nothing, and was asked. */
    story = asks_for_what_is_had(&asked);
    hears(story, B, 0, OP_ACQUIRE, asked, (struct reply){.kind = REPLY_ERROR, .error = ERROR_OOM});
    returns(story, B, OP_ACQUIRE, RESULT_FAILED);
    ends(story);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    story_free(story);
}

static void what_does_not_apply_is_not_said_to_hold(void **state)
{
    static const enum property rows[] = {PROPERTY_ALWAYS_EXPIRES, PROPERTY_NO_ORPHAN,
                                         PROPERTY_FRESH_GRANT,    PROPERTY_LOSS_NOTICE,
                                         PROPERTY_FENCE_ORDER,    PROPERTY_NO_LOST_UPDATE};
    struct story *story = story_new(&everlasting, 1, 300);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(1));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    deletes(story, A, 1);
    ends(story);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct finding *finding = &story->findings[rows[i]];
        assert_int_equal(finding->verdict, VERDICT_NOT_APPLICABLE);
        assert_int_equal(finding->witness_lines, 1);
    }
    assert_int_not_equal(story->findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_NOT_APPLICABLE);
    story_free(story);
}

/* --- extend-own --- */

static void a_loser_that_cuts_the_expiry_is_a_foreign_extend(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    struct command multi = command(VERB_MULTI_SETNX_EXPIRE, 7, 50);
    (void)state;
    acquires(story, A);
    at(story, 10);
    calls(story, B, OP_ACQUIRE);
    executes(story, B, OP_ACQUIRE, multi, PAIR(0, 1));
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    at(story, 70);
    acquires(story, C); /* at 60 A's key was gone, 240 ms early */
    ends(story);
    assert_violated(story, PROPERTY_EXTEND_OWN, 1, CAUSE_FOREIGN_EXTEND);
    assert_says(&story->findings[PROPERTY_EXTEND_OWN], "it changed the expiry of A's lock");
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_FOREIGN_EXTEND);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "B sent multi-setnx-expire");
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "So it expired at 60.1 ms.");
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(A,C): Foreign extend in B.");
    story_free(story);
}

static void ones_own_renewal_is_no_foreign_extend(void **state)
{
    struct story *story = story_whole(&noticing, 1, 300);
    struct command renew;
    (void)state;
    acquires(story, A);
    renew = command(VERB_COMPARE_EXPIRE, token(story, A), 300);
    at(story, 200);
    sends(story, A, 0, OP_EXTEND, renew);
    executes(story, A, OP_EXTEND, renew, INTEGER(1));
    hears(story, A, 0, OP_EXTEND, renew, INTEGER(1));
    at(story, 400);
    is_refused(story, B);
    releases(story, A, 1);
    acquires(story, B);
    ends(story);
    assert_silent(story);
    assert_holds(story, PROPERTY_EXTEND_OWN);
    assert_holds(story, PROPERTY_LOSS_NOTICE);
    story_free(story);
}

static void a_renewal_moves_the_own_lease_on(void **state)
{
    struct story *story = story_whole(&noticing, 1, 300);
    struct command renew;
    (void)state;
    acquires(story, A);
    renew = command(VERB_COMPARE_EXPIRE, token(story, A), 300);
    at(story, 200);
    sends(story, A, 0, OP_EXTEND, renew);
    executes(story, A, OP_EXTEND, renew, INTEGER(1));
    at(story, 400); /* past the first lease, within the second */
    strikes(story, "restart-empty", -1, 0, 0);
    acquires(story, B);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_LOST_GRANT);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "restarted empty at 400.0 ms");
    story_free(story);
}

/* --- fresh-grant --- */

static void a_grant_that_is_told_late_is_a_late_grant(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    is_granted(story, A);
    at(story, 310);
    acquires(story, B);
    at(story, 350);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_FRESH_GRANT, 1, CAUSE_LATE_GRANT);
    assert_says(&story->findings[PROPERTY_FRESH_GRANT], "its lease ends at 300.0 ms");
    assert_says(&story->findings[PROPERTY_FRESH_GRANT], "50.0 ms after the end of that lease");
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_LATE_GRANT);
    assert_says(&story->findings[PROPERTY_MUTUAL_EXCLUSION], "(A,B): Late grant in A.");
    assert_holds(story, PROPERTY_LEASE_EXCLUSION); /* A's cut hold is empty */
    story_free(story);
}

static void a_grant_with_a_little_lease_left_is_fresh(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    is_granted(story, A);
    at(story, 299.9);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_holds(story, PROPERTY_FRESH_GRANT);
    story_free(story);
}

/* --- loss-notice --- */

static void a_holder_that_is_not_told_of_its_loss_fires(void **state)
{
    struct story *story = story_whole(&noticing, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 320);
    acquires(story, B);
    releases(story, B, 1);
    at(story, 400);
    releases(story, A, 0);
    ends(story);
    assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
    assert_says(&story->findings[PROPERTY_LOSS_NOTICE], "Its own lease ended at 300.0 ms.");
    assert_says(&story->findings[PROPERTY_LOSS_NOTICE], "A believed to hold it until 400.0 ms.");
    story_free(story);

    story = story_whole(&noticing, 1, 300); /* nobody looked, and the history ends */
    acquires(story, A);
    at(story, 1000);
    ends(story);
    assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
    story_free(story);
}

/* A is granted a lease of 300 ms and told of its loss then; the key goes between 300.2 and 301.2
 * ms. */
static struct story *is_noticed_at(double ms)
{
    struct story *story = story_whole(&noticing, 1, 300);
    acquires(story, A);
    at(story, ms);
    happens(story, (struct event){.kind = EVENT_NOTICE, .client = A, .server = -1});
    at(story, 350);
    acquires(story, B);
    releases(story, B, 1);
    ends(story);
    return story;
}

static void a_notice_is_in_time_until_a_twentieth_of_the_lease_has_passed(void **state)
{
    struct story *story = is_noticed_at(314.9);
    (void)state;
    assert_holds(story, PROPERTY_LOSS_NOTICE);
    assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
    story_free(story);
    story = is_noticed_at(315.1);
    assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
    assert_says(&story->findings[PROPERTY_LOSS_NOTICE], "had run out at the server by 315.1 ms");
    story_free(story);
}

/* A's lease ends at 300 ms. Who is paused from 250 to 450 ms can be told of it at 450 ms at the
 * earliest. */
static struct story *is_paused_and_ends_at(int paused, double ms)
{
    struct story *story = story_whole(&noticing, 1, 300);
    acquires(story, A);
    at(story, 250);
    strikes(story, "pause", paused, -1, 200);
    at(story, 350);
    acquires(story, B);
    releases(story, B, 1);
    at(story, ms);
    releases(story, A, 0);
    ends(story);
    return story;
}

static void a_paused_client_can_be_told_nothing_until_it_wakes(void **state)
{
    struct story *story = is_paused_and_ends_at(A, 455);
    (void)state;
    assert_holds(story, PROPERTY_LOSS_NOTICE);
    story_free(story);
    story = is_paused_and_ends_at(A, 480); /* awake for longer than is forgiven */
    assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
    story_free(story);
    story = is_paused_and_ends_at(B, 455); /* another one's pause excuses nobody */
    assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
    story_free(story);
}

/* A's lease ends at 300 ms, its timer was due at due_ms, and rings at 400 ms: the machine was busy.
 */
static struct story *is_woken_late(int client, int64_t due_ms, double told_ms)
{
    struct story *story = story_whole(&noticing, 1, 300);
    acquires(story, A);
    at(story, 350);
    acquires(story, B);
    releases(story, B, 1);
    at(story, 400);
    happens(story, (struct event){.kind = EVENT_WAKE,
                                  .client = client,
                                  .server = -1,
                                  .amount_us = (400 - due_ms) * 1000});
    at(story, told_ms);
    happens(story, (struct event){.kind = EVENT_NOTICE, .client = A, .server = -1});
    ends(story);
    return story;
}

static void a_timer_that_the_machine_held_up_is_not_the_schemes_fault(void **state)
{
    struct story *story = is_woken_late(A, 300, 401);
    (void)state;
    assert_holds(story, PROPERTY_LOSS_NOTICE);
    story_free(story);
    story = is_woken_late(A, 300, 420); /* and then it took its time */
    assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
    story_free(story);
    story = is_woken_late(A, 390, 401); /* set for a time that is too late */
    assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
    story_free(story);
    story = is_woken_late(A, 400, 401); /* in time, as far as the machine goes */
    assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
    story_free(story);
    story = is_woken_late(B, 300, 401); /* another one's timer */
    assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
    story_free(story);
}

static void who_still_has_the_key_has_lost_nothing(void **state)
{
    struct story *story = story_whole(&noticing, 1, 300);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    at(story, 200); /* the SET was slow: the key outlives the lease that counts from the call */
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    at(story, 400);
    releases(story, A, 1);
    ends(story);
    assert_holds(story, PROPERTY_LOSS_NOTICE);
    story_free(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unlock_bug_is_told_from_the_overrun_that_triggered_it),
        cmocka_unit_test(an_overrun_alone_is_nobodys_fault),
        cmocka_unit_test(taking_turns_is_silent),
        cmocka_unit_test(replies_that_cross_do_not_turn_a_pair_round),
        cmocka_unit_test(a_hold_ends_at_the_call_of_its_release),
        cmocka_unit_test(what_could_not_be_found_is_unknown),
        cmocka_unit_test(a_request_that_reached_no_server_is_no_contention),
        cmocka_unit_test(what_does_not_apply_is_not_said_to_hold),
        cmocka_unit_test(a_loser_that_cuts_the_expiry_is_a_foreign_extend),
        cmocka_unit_test(ones_own_renewal_is_no_foreign_extend),
        cmocka_unit_test(a_renewal_moves_the_own_lease_on),
        cmocka_unit_test(a_grant_that_is_told_late_is_a_late_grant),
        cmocka_unit_test(a_grant_with_a_little_lease_left_is_fresh),
        cmocka_unit_test(a_holder_that_is_not_told_of_its_loss_fires),
        cmocka_unit_test(a_notice_is_in_time_until_a_twentieth_of_the_lease_has_passed),
        cmocka_unit_test(a_paused_client_can_be_told_nothing_until_it_wakes),
        cmocka_unit_test(a_timer_that_the_machine_held_up_is_not_the_schemes_fault),
        cmocka_unit_test(who_still_has_the_key_has_lost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
