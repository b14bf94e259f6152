/* test_checks_progress.c - progress: histories in which nobody gets the lock, or somebody waits for
 * nothing, and those in which it must stay silent. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

/* --- nobody gets the lock --- */

static void losers_that_keep_a_dead_lock_alive_are_stuck(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    struct command multi = command(VERB_MULTI_SETNX_EXPIRE, 7, 300);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, multi, PAIR(1, 1));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    crashes(story, A);
    for (int ms = 200; ms <= 800; ms += 200) {
        at(story, ms);
        calls(story, B, OP_ACQUIRE);
        executes(story, B, OP_ACQUIRE, multi, PAIR(0, 1));
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    }
    ends(story);
    assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK); /* two leases end at 600 */
    assert_says(&story->findings[PROPERTY_PROGRESS], "The last to change it was B");
    assert_violated(story, PROPERTY_EXTEND_OWN, 4, CAUSE_FOREIGN_EXTEND);
    story_free(story);
}

static void an_acquire_that_tries_for_ever_is_stuck(void **state)
{
    struct story *story = story_new(&everlasting, 1, 300);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(1));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    crashes(story, A);
    calls(story, B, OP_ACQUIRE);
    for (int ms = 100; ms <= 1000; ms += 100) {
        at(story, ms);
        executes(story, B, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(0));
        happens(story, (struct event){.kind = EVENT_WAKE, .client = B, .server = -1});
    }
    ends(story);
    assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
    assert_says(&story->findings[PROPERTY_PROGRESS], "B was still waiting");
    story_free(story);
}

/* A key of 670 ms behind a lease of 300: one round alone begins behind two leases, and is refused.
 */
static void one_refusal_behind_the_bound_is_enough_for_who_tries_on(void **state)
{
    (void)state;
    for (int refused_ms = 560; refused_ms <= 640; refused_ms += 80) {
        struct story *story = story_new(&expiring, 1, 300);
        calls(story, A, OP_ACQUIRE);
        executes(story, A, OP_ACQUIRE, command(VERB_SET_NX_PX, 1, 670), OK);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        crashes(story, A);
        at(story, 550);
        calls(story, B, OP_ACQUIRE);
        at(story, refused_ms);
        executes(story, B, OP_ACQUIRE, set(story, B), NIL);
        at(story, 660);
        happens(story, (struct event){.kind = EVENT_WAKE, .client = B, .server = -1});
        ends(story);
        if (refused_ms > 600)
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
        else
            assert_holds(story, PROPERTY_PROGRESS);
        story_free(story);
    }
}

static void a_refusal_within_the_bound_is_progress(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    crashes(story, A);
    at(story, 200);
    is_refused(story, B);
    at(story, 302);
    acquires(story, B);
    at(story, 900); /* B still believes: slow, not stuck */
    calls(story, C, OP_ACQUIRE);
    executes(story, C, OP_ACQUIRE, set(story, C), NIL);
    returns(story, C, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    assert_holds(story, PROPERTY_PROGRESS);
    story_free(story);
}

/* --- what is a sign of life, and what is not --- */

/* The answer to A's SETNX is lost: the key stands, and nobody knows of it. */
static void leaves_a_key(struct story *story)
{
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(1));
    strikes(story, "lose-reply", A, 0, 0);
    returns(story, A, OP_ACQUIRE, RESULT_FAILED);
}

static void finds_it_taken(struct story *story, int client, enum result result)
{
    calls(story, client, OP_ACQUIRE);
    executes(story, client, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(0));
    returns(story, client, OP_ACQUIRE, result);
}

/* Before and behind its request. */
static void the_crash_of_one_who_had_nothing_is_no_sign_of_life(void **state)
{
    (void)state;
    for (int is_sent = 0; is_sent < 2; is_sent++) {
        struct story *story = story_new(&everlasting, 1, 300);
        leaves_a_key(story);
        for (int ms = 200; ms <= 1000; ms += 200) {
            at(story, ms - 50);
            calls(story, C, OP_ACQUIRE);
            if (is_sent)
                executes(story, C, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(0));
            crashes(story, C);
            at(story, ms);
            finds_it_taken(story, B, RESULT_REFUSED);
        }
        ends(story);
        assert_violated(story, PROPERTY_PROGRESS, 4, CAUSE_STUCK); /* a lease ends at 300 */
        assert_says(&story->findings[PROPERTY_PROGRESS], "never expires");
        story_free(story);
    }
}

/* A, B and C give up on a SET each, which comes when they have asked again: every key is younger
 * than its lease, and then the lock is free. */
static void late_grants_one_after_the_other_are_progress(void **state)
{
    struct story *story = story_new(&expiring, 1, 500);
    (void)state;
    for (int client = A; client <= C; client++) {
        at(story, 510 * client);
        calls(story, client, OP_ACQUIRE);
        struct command late = set(story, client);
        int attempt = story->attempts[client];
        strikes(story, "give-up", client, 0, 0);
        returns(story, client, OP_ACQUIRE, RESULT_FAILED);
        calls(story, client, OP_ACQUIRE);
        happens(story, (struct event){.kind = EVENT_EXECUTE,
                                      .client = client,
                                      .attempt = attempt,
                                      .command = late,
                                      .reply = OK});
        executes(story, client, OP_ACQUIRE, set(story, client), NIL);
        returns(story, client, OP_ACQUIRE, RESULT_REFUSED);
    }
    at(story, 1500);
    is_refused(story, D);
    at(story, 1600);
    acquires(story, D);
    ends(story);
    assert_holds(story, PROPERTY_PROGRESS);
    story_free(story);
}

/* A grant buys one lease: a time to live in milliseconds where seconds were meant does not. */
static void a_key_that_lives_far_longer_than_its_lease_is_stuck(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_SET_NX_PX, token(story, A), 300000), OK);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    crashes(story, A);
    at(story, 550);
    is_refused(story, B);
    at(story, 650);
    is_refused(story, B);
    ends(story);
    assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
    story_free(story);
}

/* A's holder asks for more time and dies. What it had sent counts when it comes; what its timer
 * sends when it believes no more does not. */
static void renews(struct story *story, int client, bool is_sent_now)
{
    struct command renewal = command(VERB_COMPARE_EXPIRE, token(story, client), 300);
    if (is_sent_now)
        sends(story, client, 0, OP_EXTEND, renewal);
    executes(story, client, OP_EXTEND, renewal, INTEGER(1));
}

static void a_late_renewal_is_progress(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 100);
    sends(story, A, 0, OP_EXTEND, command(VERB_COMPARE_EXPIRE, token(story, A), 300));
    sends(story, A, 0, OP_EXTEND, command(VERB_COMPARE_EXPIRE, token(story, A), 300));
    calls(story, A, OP_RELEASE);
    strikes(story, "lose-request", A, 0, 0);
    returns(story, A, OP_RELEASE, RESULT_FAILED);
    at(story, 290);
    renews(story, A, false);
    at(story, 580);
    renews(story, A, false); /* until 880 */
    at(story, 860);
    is_refused(story, B);
    ends(story);
    assert_holds(story, PROPERTY_PROGRESS);
    story_free(story);
}

static void a_timer_that_outlives_the_release_keeps_the_lock_stuck(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 100);
    calls(story, A, OP_RELEASE);
    strikes(story, "lose-request", A, 0, 0);
    returns(story, A, OP_RELEASE, RESULT_FAILED);
    for (int ms = 200; ms <= 800; ms += 200) {
        at(story, ms);
        renews(story, A, true);
        is_refused(story, B);
    }
    ends(story);
    assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK); /* two leases end at 700 */
    story_free(story);
}

/* The server's answer was given some time between from and time: only the first is certain. Nobody
 * else writes to the key: it is A's, which lives too long. */
static void a_refusal_that_was_seen_late_is_judged_by_when_it_may_have_been_given(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct story *story = story_new(&expiring, 1, 300);
        story->head.is_closed = true;
        (void)story_begin(story, &expiring);
        acquires(story, A);
        crashes(story, A);
        calls(story, B, OP_ACQUIRE);
        struct event event = {.kind = EVENT_EXECUTE,
                              .index = story->index++,
                              .client = B,
                              .attempt = story->attempts[B],
                              .from_us = is_late ? 200000 : 699000,
                              .time_us = 700000,
                              .command = set(story, B),
                              .reply = NIL};
        checks_event(story->checks, &event);
        at(story, 701);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (is_late)
            assert_holds(story, PROPERTY_PROGRESS);
        else
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
        story_free(story);
    }
}

/* Somebody whom the history does not know keeps the key; or A's has no end. */
static void a_key_of_somebody_unknown_is_nobodys_fault(void **state)
{
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        struct story *story = story_new(&everlasting, 1, 300);
        if (is_known)
            leaves_a_key(story);
        at(story, 1000);
        finds_it_taken(story, B, RESULT_REFUSED);
        ends(story);
        if (is_known)
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
        else
            assert_verdict(story, PROPERTY_PROGRESS, VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* --- what random runs of both statements have shown --- */

enum excuse {
    NO_EXCUSE,
    WAITS_FOR_ITS_ANSWER,
    ENDED_LATE,
    DIED_LATE,
    RELEASED_LATE,
    DELETED,
    EXCUSES
};

/* A was given the lock, and is not told so at once; B is refused more than two leases after the
 * grant, but not after whatever A does then. */
static void a_refusal_is_judged_by_how_the_owner_stands(void **state)
{
    (void)state;
    for (int excuse = NO_EXCUSE; excuse < EXCUSES; excuse++) {
        struct story *story = story_new(&everlasting, 1, 300);
        struct command setnx = command(VERB_SETNX, 1, 0),
                       compare = command(VERB_COMPARE_DELETE, 1, 0);
        calls(story, A, OP_ACQUIRE);
        sends(story, A, 0, OP_ACQUIRE, setnx);
        executes(story, A, OP_ACQUIRE, setnx, INTEGER(1));
        if (excuse == NO_EXCUSE)
            returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        if (excuse == RELEASED_LATE) {
            returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
            calls(story, A, OP_RELEASE);
            sends(story, A, 0, OP_RELEASE, compare);
        }
        at(story, 800);
        calls(story, B, OP_ACQUIRE);
        executes(story, B, OP_ACQUIRE, setnx, INTEGER(0));
        if (excuse == ENDED_LATE)
            returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        if (excuse == DIED_LATE)
            crashes(story, A);
        if (excuse == RELEASED_LATE)
            returns(story, A, OP_RELEASE, RESULT_FAILED);
        if (excuse == DELETED)
            executes(story, A, OP_ACQUIRE, compare, INTEGER(1));
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (excuse == NO_EXCUSE)
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
        else
            assert_holds(story, PROPERTY_PROGRESS);
        story_free(story);
    }
}

/* "Refused" on no server's word, since the request was lost, and on the word of one that forgot the
 * key meanwhile. */
static void who_was_not_refused_by_a_key_is_not_locked_out(void **state)
{
    (void)state;
    for (int forgets = 0; forgets < 2; forgets++) {
        struct story *story = story_new(&expiring, 1, 300);
        at(story, 2000);
        calls(story, A, OP_ACQUIRE);
        sends(story, A, 0, OP_ACQUIRE, set(story, A));
        if (forgets) {
            executes(story, A, OP_ACQUIRE, set(story, A), NIL);
            strikes(story, "evict", -1, 0, 0);
        } else {
            strikes_command(story, "lose-request", A, OP_ACQUIRE, set(story, A));
        }
        returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        assert_holds(story, PROPERTY_PROGRESS);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losers_that_keep_a_dead_lock_alive_are_stuck),
        cmocka_unit_test(an_acquire_that_tries_for_ever_is_stuck),
        cmocka_unit_test(one_refusal_behind_the_bound_is_enough_for_who_tries_on),
        cmocka_unit_test(a_refusal_within_the_bound_is_progress),
        cmocka_unit_test(the_crash_of_one_who_had_nothing_is_no_sign_of_life),
        cmocka_unit_test(late_grants_one_after_the_other_are_progress),
        cmocka_unit_test(a_key_that_lives_far_longer_than_its_lease_is_stuck),
        cmocka_unit_test(a_late_renewal_is_progress),
        cmocka_unit_test(a_timer_that_outlives_the_release_keeps_the_lock_stuck),
        cmocka_unit_test(a_refusal_that_was_seen_late_is_judged_by_when_it_may_have_been_given),
        cmocka_unit_test(a_key_of_somebody_unknown_is_nobodys_fault),
        cmocka_unit_test(a_refusal_is_judged_by_how_the_owner_stands),
        cmocka_unit_test(who_was_not_refused_by_a_key_is_not_locked_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
