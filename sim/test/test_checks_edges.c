/* test_checks_edges.c - edges of the checks that no other test held: each was found by a slip,
 * planted in the checks, that nobody noticed (harness/mutations_checks.py). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

static const struct scheme noticing_majority = {.name = "noticing-majority",
                                                .promises_expiry = true,
                                                .promises_notice = true,
                                                .promises_token = true,
                                                .needs_quorum = true,
                                                .unit_us = 1000};

/* Asks the server, which answers so, and is told "not mine". */
static void is_told_not_mine(struct story *story, int client, struct reply reply)
{
    calls(story, client, OP_RELEASE);
    executes(story, client, OP_RELEASE, command(VERB_GET, 0, 0), reply);
    returns(story, client, OP_RELEASE, RESULT_NOT_MINE);
}

/* --- what is counted as an overrun --- */

static void an_overrun_is_counted(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 310);
    acquires(story, B);
    ends(story);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
    assert_int_equal(story->counters.overruns, 1);
    story_free(story);
}

static void a_lock_that_went_early_is_counted_as_no_overrun(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 100);
    acquires(story, B); /* NX and OK: the key was gone */
    ends(story);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_EARLY_EXPIRY);
    assert_int_equal(story->counters.overruns, 0);
    story_free(story);
}

/* --- "not mine" --- */

static void not_mine_while_it_is_mine_is_an_untruth(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 290);
    is_told_not_mine(story, A, VALUE(token(story, A)));
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    story_free(story);
}

/* Clocks that disagree by 20 ms: it may have been gone at 290. */
static void not_mine_when_it_may_be_gone_is_no_untruth(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    checks_free(story->checks);
    story->head.clock_error_us = 20000;
    story->checks = checks_new_for(&story->head, &expiring);
    acquires(story, A);
    at(story, 290);
    is_told_not_mine(story, A, VALUE(token(story, A)));
    ends(story);
    assert_holds(story, PROPERTY_TRUTHFUL);
    story_free(story);
}

/* B's attempt has the same number as A's: who removed it is told by both, client and attempt. */
static void not_mine_when_another_has_removed_it_is_true(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    is_refused(story, B);
    deletes(story, B, 1);
    assert_int_equal(story->attempts[A], story->attempts[B]);
    is_told_not_mine(story, A, NIL);
    ends(story);
    assert_holds(story, PROPERTY_TRUTHFUL);
    assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
    story_free(story);
}

/* --- "EXPIRE key 0" --- */

/* It removes the key there and then, as another client's DEL does. */
static void an_expiry_of_nothing_by_another_removes_the_lock(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 50);
    is_refused(story, B);
    calls(story, B, OP_RELEASE);
    executes(story, B, OP_RELEASE, command(VERB_PEXPIRE, 0, 0), INTEGER(1));
    returns(story, B, OP_RELEASE, RESULT_RELEASED);
    acquires(story, C);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNLOCK_BUG);
    story_free(story);
}

/* --- what a resource forgets --- */

static void writes(struct story *story, int client)
{
    struct command write = {.verb = VERB_SET, .key = KEY_RESOURCE, .value = client + 1};
    executes(story, client, OP_ACCESS, write, OK);
}

/* As without_a_fence_a_stale_write_is_accepted, but what B wrote was forgotten since. */
static void after_a_restart_nobody_has_written_yet(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 310);
    acquires(story, B);
    writes(story, B);
    strikes(story, "restart-empty", -1, 0, 0);
    writes(story, A);
    ends(story);
    assert_holds(story, PROPERTY_FENCE_ORDER);
    story_free(story);
}

/* --- who must be told of a loss, where a majority counts --- */

static struct story *has_three_and_loses(int lost)
{
    struct story *story = story_new(&noticing_majority, 3, 300);
    calls(story, A, OP_ACQUIRE);
    for (int s = 0; s < 3; s++)
        executes_at(story, A, s, OP_ACQUIRE, set(story, A), OK);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    at(story, 100);
    for (int s = 0; s < lost; s++)
        strikes(story, "restart-empty", -1, s, 0);
    at(story, 280); /* the other keys live, too long for their lease or not */
    for (int s = lost; s < 3; s++)
        executes_at(story, A, s, OP_EXTEND, command(VERB_COMPARE_EXPIRE, token(story, A), 300),
                    INTEGER(1));
    at(story, 450);
    ends(story);
    return story;
}

static void who_keeps_a_majority_has_lost_nothing(void **state)
{
    struct story *story = has_three_and_loses(1);
    (void)state;
    assert_holds(story, PROPERTY_LOSS_NOTICE);
    story_free(story);
}

static void who_keeps_a_minority_must_be_told(void **state)
{
    struct story *story = has_three_and_loses(2);
    (void)state;
    assert_verdict(story, PROPERTY_LOSS_NOTICE, VERDICT_VIOLATED);
    story_free(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_overrun_is_counted),
        cmocka_unit_test(a_lock_that_went_early_is_counted_as_no_overrun),
        cmocka_unit_test(not_mine_while_it_is_mine_is_an_untruth),
        cmocka_unit_test(not_mine_when_it_may_be_gone_is_no_untruth),
        cmocka_unit_test(not_mine_when_another_has_removed_it_is_true),
        cmocka_unit_test(an_expiry_of_nothing_by_another_removes_the_lock),
        cmocka_unit_test(after_a_restart_nobody_has_written_yet),
        cmocka_unit_test(who_keeps_a_majority_has_lost_nothing),
        cmocka_unit_test(who_keeps_a_minority_must_be_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
