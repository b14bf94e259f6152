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
    assert_int_equal(story->tally.overruns, 1);
    assert_int_equal(story->tally.foreign_releases, 1);
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
    assert_int_equal(story->tally.operations, 60);
    assert_int_equal(story->tally.grants, 20);
    assert_int_equal(story->tally.refusals, 20);
    assert_int_equal(story->tally.contended, 20);
    story_free(story);
}

static void replies_that_cross_do_not_turn_a_pair_round(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    /* A is granted, its key is removed by C's blind DEL, B is granted; B is told first. */
    calls(story, C, OP_ACQUIRE);
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
        assert_int_equal(story->findings[i].verdict, VERDICT_UNKNOWN);
    story_free(story);

    story = story_new(&expiring, 1, 300);
    acquires(story, A);
    releases(story, A, 1);
    ends(story);
    assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, VERDICT_UNKNOWN);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "only one client ever tried");
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
    assert_int_equal(story->tally.errors, 2);
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
        assert_false(finding->applies);
        assert_int_equal(finding->verdict, VERDICT_UNKNOWN);
        assert_int_equal(finding->witness_lines, 1);
    }
    assert_true(story->findings[PROPERTY_RELEASE_OWN].applies);
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
    struct story *story = story_new(&noticing, 1, 300);
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
    struct story *story = story_new(&noticing, 1, 300);
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

/* --- always-expires --- */

static void a_crash_between_setnx_and_expire_leaves_no_expiry(void **state)
{
    struct story *story = story_new(&expiring, 1, 1000);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(1));
    crashes(story, A);
    at(story, 1100);
    calls(story, B, OP_ACQUIRE);
    executes(story, B, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(0));
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    assert_violated(story, PROPERTY_ALWAYS_EXPIRES, 1, CAUSE_NO_EXPIRY);
    assert_says(&story->findings[PROPERTY_ALWAYS_EXPIRES], "It crashed, and the key has no time");
    assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
    assert_says(&story->findings[PROPERTY_PROGRESS], "its writer has crashed");
    story_free(story);
}

static void between_setnx_and_expire_is_not_yet_too_late(void **state)
{
    struct story *story = story_new(&expiring, 1, 1000);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(1));
    is_refused(story, B); /* a return, but not A's */
    executes(story, A, OP_ACQUIRE, command(VERB_EXPIRE, 0, 1000), INTEGER(1));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    calls(story, C, OP_ACQUIRE); /* the history stops in the middle of its acquire */
    ends(story);
    assert_holds(story, PROPERTY_ALWAYS_EXPIRES);
    story_free(story);
}

static void a_lost_expire_is_seen_at_the_return_and_once(void **state)
{
    struct story *story = story_new(&expiring, 1, 1000);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(1));
    returns(story, A, OP_ACQUIRE, RESULT_FAILED);
    calls(story, A, OP_RELEASE);
    returns(story, A, OP_RELEASE, RESULT_FAILED);
    at(story, 5000);
    ends(story);
    assert_violated(story, PROPERTY_ALWAYS_EXPIRES, 1, CAUSE_NO_EXPIRY);
    assert_int_equal(story->findings[PROPERTY_ALWAYS_EXPIRES].first_index, 2);
    story_free(story);
}

/* --- no-orphan, truthful: a resent SET NX --- */

static struct story *resent_set(bool cleans_up)
{
    struct story *story = story_new(&expiring, 1, 300);
    is_granted(story, A);
    strikes(story, "lose-reply", A, 0, 0);
    strikes(story, "resend", A, 0, 0);
    executes(story, A, OP_ACQUIRE, set(story, A), NIL);
    if (cleans_up)
        executes(story, A, OP_ACQUIRE, command(VERB_COMPARE_DELETE, token(story, A), 0),
                 INTEGER(1));
    returns(story, A, OP_ACQUIRE, cleans_up ? RESULT_FAILED : RESULT_REFUSED);
    at(story, 100);
    if (!cleans_up)
        is_refused(story, B);
    at(story, 400);
    acquires(story, B);
    releases(story, B, 1);
    ends(story);
    return story;
}

static void a_resent_set_leaves_an_orphan_and_is_told_an_untruth(void **state)
{
    struct story *story = resent_set(false);
    (void)state;
    assert_violated(story, PROPERTY_NO_ORPHAN, 1, CAUSE_LEFTOVER);
    assert_says(&story->findings[PROPERTY_NO_ORPHAN], "A's acquire returned \"refused\"");
    assert_says(&story->findings[PROPERTY_NO_ORPHAN], "It stayed until it expired.");
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    assert_says(&story->findings[PROPERTY_TRUTHFUL], "A was told \"refused\"");
    story_free(story);
}

static void an_acquire_that_cleans_up_leaves_no_orphan(void **state)
{
    struct story *story = resent_set(true);
    (void)state;
    assert_silent(story); /* "failed" is no untruth */
    assert_holds(story, PROPERTY_NO_ORPHAN);
    assert_holds(story, PROPERTY_TRUTHFUL);
    story_free(story);
}

static void refused_because_of_ones_own_key_is_an_untruth_cleaned_up_or_not(void **state)
{
    struct story *story = story_new(&majority, 1, 300);
    (void)state;
    is_granted(story, A);
    executes(story, A, OP_ACQUIRE, set(story, A), NIL);
    executes(story, A, OP_ACQUIRE, command(VERB_COMPARE_DELETE, token(story, A), 0), INTEGER(1));
    returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    assert_says(&story->findings[PROPERTY_TRUTHFUL], "A removed it itself");
    assert_holds(story, PROPERTY_NO_ORPHAN);
    story_free(story);
}

static void a_set_that_comes_after_its_acquire_is_an_orphan(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    sends(story, A, 0, OP_ACQUIRE, set(story, A));
    strikes(story, "give-up", A, 0, 0);
    returns(story, A, OP_ACQUIRE, RESULT_FAILED);
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    ends(story);
    assert_violated(story, PROPERTY_NO_ORPHAN, 1, CAUSE_LEFTOVER);
    assert_says(&story->findings[PROPERTY_NO_ORPHAN], "still there at the end");
    story_free(story);
}

static void a_late_release_takes_the_orphan_away(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    calls(story, A, OP_RELEASE);
    strikes(story, "give-up", A, 0, 0);
    returns(story, A, OP_RELEASE, RESULT_FAILED);
    executes(story, A, OP_RELEASE, command(VERB_COMPARE_DELETE, token(story, A), 0), INTEGER(1));
    at(story, 1000);
    ends(story);
    assert_holds(story, PROPERTY_NO_ORPHAN);
    story_free(story);
}

static void a_resent_compare_and_delete_is_an_untruth_only(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    struct command compare;
    (void)state;
    acquires(story, A);
    compare = command(VERB_COMPARE_DELETE, token(story, A), 0);
    calls(story, A, OP_RELEASE);
    executes(story, A, OP_RELEASE, compare, INTEGER(1));
    acquires(story, B);
    executes(story, A, OP_RELEASE, compare, INTEGER(0));
    returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
    releases(story, B, 1);
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    assert_says(&story->findings[PROPERTY_TRUTHFUL], "A removed it itself");
    story->findings[PROPERTY_TRUTHFUL].applies = false;
    assert_silent(story);
    story_free(story);
}

static void refused_though_free_is_an_untruth(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    assert_says(&story->findings[PROPERTY_TRUTHFUL], "Nobody held the lock");
    story_free(story);

    story = story_new(&expiring, 1, 300); /* somebody had it for a moment of the call */
    calls(story, A, OP_ACQUIRE);
    acquires(story, B);
    executes(story, A, OP_ACQUIRE, set(story, A), NIL);
    releases(story, B, 1);
    returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    assert_holds(story, PROPERTY_TRUTHFUL);
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
    struct story *story = story_new(&noticing, 1, 300);
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

    story = story_new(&noticing, 1, 300); /* nobody looked, and the history ends */
    acquires(story, A);
    at(story, 1000);
    ends(story);
    assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
    story_free(story);
}

static void a_notice_in_time_is_silent(void **state)
{
    struct story *story = story_new(&noticing, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 300.2);
    happens(story, (struct event){.kind = EVENT_NOTICE, .client = A, .server = -1});
    at(story, 320);
    acquires(story, B);
    releases(story, B, 1);
    ends(story);
    assert_holds(story, PROPERTY_LOSS_NOTICE);
    assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
    story_free(story);
}

/* --- fence-order --- */

/* RETURN granted with a fence. */
static void is_told(struct story *story, int client, int64_t fence)
{
    happens(story, (struct event){.kind = EVENT_RETURN,
                                  .client = client,
                                  .server = -1,
                                  .op = OP_ACQUIRE,
                                  .result = RESULT_GRANTED,
                                  .fence = fence});
}

static void writes(struct story *story, int client, int64_t fence, struct reply reply)
{
    struct command write = {.verb = fence ? VERB_FENCED_SET : VERB_SET,
                            .key = KEY_RESOURCE,
                            .value = fence ? fence : client + 1,
                            .number = fence};
    executes(story, client, OP_ACCESS, write, reply);
}

static void a_stale_holder_with_the_larger_token_fires(void **state)
{
    struct story *story = story_new(&minting, 1, 300);
    (void)state;
    is_granted(story, A); /* and stalls before its INCR */
    at(story, 310);
    is_granted(story, B);
    is_told(story, B, 1);
    writes(story, B, 1, INTEGER(1));
    is_told(story, A, 2);
    writes(story, A, 2, INTEGER(1)); /* stale, and accepted */
    writes(story, B, 1, INTEGER(0)); /* fresh, and refused */
    ends(story);
    assert_violated(story, PROPERTY_FENCE_ORDER, 3, CAUSE_FENCE_DISORDER);
    assert_says(&story->findings[PROPERTY_FENCE_ORDER], "carries the fencing token 2");
    story_free(story);
}

static void tokens_that_grow_with_grants_are_silent_though_replies_cross(void **state)
{
    struct story *story = story_new(&minting, 1, 300);
    (void)state;
    is_granted(story, A);
    at(story, 310);
    is_granted(story, B);
    is_told(story, B, 2);
    is_told(story, A, 1);
    writes(story, A, 1, INTEGER(1)); /* nobody newer has written yet: the resource cannot know */
    writes(story, B, 2, INTEGER(1));
    writes(story, A, 1, INTEGER(0));
    ends(story);
    assert_holds(story, PROPERTY_FENCE_ORDER);
    story_free(story);
}

static void without_a_fence_a_stale_write_is_accepted(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 310);
    acquires(story, B);
    writes(story, B, 0, OK);
    writes(story, A, 0, OK);
    ends(story);
    assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_STALE_WRITE);
    assert_says(&story->findings[PROPERTY_FENCE_ORDER], "B, granted later, wrote the resource");
    story_free(story);
}

static void a_counter_that_a_restart_forgot_is_the_deployments(void **state)
{
    struct story *story = story_new(&minting, 1, 300);
    (void)state;
    is_granted(story, A);
    is_told(story, A, 1);
    releases(story, A, 1);
    strikes(story, "restart-empty", -1, 0, 0);
    is_granted(story, B);
    is_told(story, B, 1);
    ends(story);
    assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_LOST_GRANT);
    story_free(story);
}

/* --- progress --- */

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

/* --- no-lost-update --- */

static void counts(struct story *story, int client, int64_t value)
{
    executes(story, client, OP_ACCESS,
             (struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = value}, OK);
    executes(story, client, OP_ACCESS,
             (struct command){.verb = VERB_RPUSH, .key = KEY_LIST, .value = story->index},
             INTEGER(1));
}

static void reads(struct story *story, int client, int64_t value)
{
    executes(story, client, OP_ACCESS, (struct command){.verb = VERB_GET, .key = KEY_COUNTER},
             value ? VALUE(value) : NIL);
}

static void an_overlap_that_loses_an_update_gives_it_its_cause(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    reads(story, A, 0);
    at(story, 310);
    acquires(story, B);
    reads(story, B, 0);
    counts(story, B, 1);
    counts(story, A, 1);
    ends(story);
    assert_violated(story, PROPERTY_NO_LOST_UPDATE, 1, CAUSE_OVERRUN);
    assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], "A wrote 1 at");
    assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], "(A,B): Overrun.");
    assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], "the list has 2 entries");
    assert_int_equal(story->tally.lost_updates, 1);
    assert_int_equal(story->tally.sections, 2);
    story_free(story);
}

static void sections_one_after_the_other_lose_nothing(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    for (int i = 0; i < 5; i++) {
        acquires(story, i % 2);
        reads(story, i % 2, i);
        counts(story, i % 2, i + 1);
        if (i == 3) /* its library sends the write again */
            executes(story, i % 2, OP_ACCESS,
                     (struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = i + 1}, OK);
        releases(story, i % 2, 1);
    }
    ends(story);
    assert_silent(story);
    assert_holds(story, PROPERTY_NO_LOST_UPDATE);
    assert_int_equal(story->tally.sections, 5);
    story_free(story);
}

/* --- no-crash --- */

static void code_that_trips_fires(void **state)
{
    struct story *story = story_new(&stamping, 1, 1000);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_GET, 0, 0), NIL);
    hears(story, A, 0, OP_ACQUIRE, command(VERB_GET, 0, 0), NIL);
    returns(story, A, OP_ACQUIRE, RESULT_CRASHED);
    ends(story);
    assert_violated(story, PROPERTY_NO_CRASH, 1, CAUSE_UNEXPECTED_REPLY);
    assert_says(&story->findings[PROPERTY_NO_CRASH], "A sent GET lock and heard nil.");
    story_free(story);

    story = story_new(&stamping, 1, 1000); /* a crash of the machine is not the scheme's */
    calls(story, A, OP_ACQUIRE);
    crashes(story, A);
    ends(story);
    assert_holds(story, PROPERTY_NO_CRASH);
    story_free(story);
}

/* --- figures, names --- */

static void faults_are_counted_by_what_they_struck(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    strikes(story, "server-clock", -1, 0, 0);
    acquires(story, A);
    strikes(story, "server-clock", -1, 0, 0);
    strikes(story, "client-clock", B, -1, 1);
    crashes(story, A);
    ends(story);
    assert_int_equal(story->tally.faults, 4);
    assert_int_equal(story->tally.faults_in_hold, 2); /* the second step, and the crash */
    story_free(story);
}

static void names_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        enum property property;
        assert_true(property_read(property_name((enum property)i), &property));
        assert_int_equal(property, i);
        assert_true(strlen(property_words(property)) > 10);
    }
    for (int i = 0; i < CAUSE_COUNT; i++) {
        enum cause cause;
        assert_true(cause_read(cause_name((enum cause)i), &cause));
        assert_int_equal(cause, i);
    }
    enum verdict verdict;
    assert_true(verdict_read("unknown", &verdict));
    assert_int_equal(verdict, VERDICT_UNKNOWN);
    assert_false(verdict_read("perhaps", &verdict));
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
        cmocka_unit_test(what_does_not_apply_is_not_said_to_hold),
        cmocka_unit_test(a_loser_that_cuts_the_expiry_is_a_foreign_extend),
        cmocka_unit_test(ones_own_renewal_is_no_foreign_extend),
        cmocka_unit_test(a_renewal_moves_the_own_lease_on),
        cmocka_unit_test(a_crash_between_setnx_and_expire_leaves_no_expiry),
        cmocka_unit_test(between_setnx_and_expire_is_not_yet_too_late),
        cmocka_unit_test(a_lost_expire_is_seen_at_the_return_and_once),
        cmocka_unit_test(a_resent_set_leaves_an_orphan_and_is_told_an_untruth),
        cmocka_unit_test(an_acquire_that_cleans_up_leaves_no_orphan),
        cmocka_unit_test(refused_because_of_ones_own_key_is_an_untruth_cleaned_up_or_not),
        cmocka_unit_test(a_set_that_comes_after_its_acquire_is_an_orphan),
        cmocka_unit_test(a_late_release_takes_the_orphan_away),
        cmocka_unit_test(a_resent_compare_and_delete_is_an_untruth_only),
        cmocka_unit_test(refused_though_free_is_an_untruth),
        cmocka_unit_test(a_grant_that_is_told_late_is_a_late_grant),
        cmocka_unit_test(a_grant_with_a_little_lease_left_is_fresh),
        cmocka_unit_test(a_holder_that_is_not_told_of_its_loss_fires),
        cmocka_unit_test(a_notice_in_time_is_silent),
        cmocka_unit_test(a_stale_holder_with_the_larger_token_fires),
        cmocka_unit_test(tokens_that_grow_with_grants_are_silent_though_replies_cross),
        cmocka_unit_test(without_a_fence_a_stale_write_is_accepted),
        cmocka_unit_test(a_counter_that_a_restart_forgot_is_the_deployments),
        cmocka_unit_test(losers_that_keep_a_dead_lock_alive_are_stuck),
        cmocka_unit_test(an_acquire_that_tries_for_ever_is_stuck),
        cmocka_unit_test(a_refusal_within_the_bound_is_progress),
        cmocka_unit_test(an_overlap_that_loses_an_update_gives_it_its_cause),
        cmocka_unit_test(sections_one_after_the_other_lose_nothing),
        cmocka_unit_test(code_that_trips_fires),
        cmocka_unit_test(faults_are_counted_by_what_they_struck),
        cmocka_unit_test(names_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
