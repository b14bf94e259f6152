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
    struct story *story = story_whole(&expiring, 1, 300);
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
    story->head.clock_error_us = 20000;
    (void)story_begin(story, &expiring);
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
    struct story *story = story_whole(&noticing_majority, 3, 300);
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

/* --- who was refused, and nobody saw the servers --- */

/* A has it for certain until the lease from its call is over, and nobody else can be told so. */
static void refused_at_the_certain_end_of_another_is_unknown(void **state)
{
    (void)state;
    for (int is_at_end = 0; is_at_end < 2; is_at_end++) {
        struct story *story = story_new(&expiring, 1, 300);
        calls(story, A, OP_ACQUIRE);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        at(story, is_at_end ? 300 : 299.9);
        calls(story, B, OP_ACQUIRE);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        assert_verdict(story, PROPERTY_TRUTHFUL, VERDICT_UNKNOWN);
        assert_says(&story->findings[PROPERTY_TRUTHFUL],
                    is_at_end ? "who held the lock nobody saw" : "calls and returns alone");
        story_free(story);
    }
}

/* The end of A's hold and B's call have one time: either may have been first. */
static void refused_in_the_moment_of_a_release_proves_nothing(void **state)
{
    (void)state;
    for (int is_later = 0; is_later < 2; is_later++) {
        struct story *story = story_new(&expiring, 1, 300);
        calls(story, A, OP_ACQUIRE);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        calls(story, A, OP_RELEASE);
        returns(story, A, OP_RELEASE, RESULT_RELEASED);
        story->now_us -= STORY_STEP_US - is_later;
        calls(story, B, OP_ACQUIRE);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (is_later)
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_BUG_OR_LOSS);
        else
            assert_silent(story);
        story_free(story);
    }
}

/* --- a key that was left --- */

/* An answer that takes a lease is late, which is nobody's fault; it counts from the own call. */
static void a_key_left_at_once_is_unreleased_and_one_left_late_is_not(void **state)
{
    (void)state;
    for (int is_slow = 0; is_slow < 2; is_slow++) {
        struct story *story = story_new(&expiring, 1, 300);
        at(story, 1000);
        is_granted(story, A);
        hears(story, A, 0, OP_ACQUIRE, set(story, A), OK);
        at(story, is_slow ? 1300 : 1100);
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1, is_slow ? CAUSE_LEFTOVER : CAUSE_UNRELEASED);
        story_free(story);
    }
}

/* The witness is of one key, however many there are. */
static void of_two_keys_left_the_first_is_told(void **state)
{
    int lines[2];
    (void)state;
    for (int both = 0; both < 2; both++) {
        struct story *story = story_new(&expiring, 1, 300);
        for (int i = 0; i <= both; i++) {
            story->lock = i;
            is_granted(story, A + i);
            hears(story, A + i, 0, OP_ACQUIRE, set(story, A + i), OK);
            returns(story, A + i, OP_ACQUIRE, RESULT_FAILED);
        }
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1 + both, CAUSE_UNRELEASED);
        lines[both] = story->findings[PROPERTY_NO_ORPHAN].witness_lines;
        story_free(story);
    }
    assert_int_equal(lines[0], lines[1]);
}

/* --- who has it and is not told so --- */

static void is_denied(struct story *story, int client, bool has_error)
{
    calls(story, client, OP_ACQUIRE);
    sends(story, client, 0, OP_ACQUIRE, set(story, client));
    executes(story, client, OP_ACQUIRE, set(story, client), OK);
    hears(story, client, 0, OP_ACQUIRE, set(story, client),
          has_error ? (struct reply){.kind = REPLY_ERROR} : OK);
    returns(story, client, OP_ACQUIRE, RESULT_FAILED);
}

/* An error in an attempt before excuses nothing. */
static void who_is_denied_what_it_was_granted_is_stuck(void **state)
{
    (void)state;
    for (int has_error = 0; has_error < 2; has_error++) {
        struct story *story = story_new(&expiring, 1, 300);
        struct command ask = set(story, A);
        calls(story, A, OP_ACQUIRE);
        sends(story, A, 0, OP_ACQUIRE, ask);
        hears(story, A, 0, OP_ACQUIRE, ask, (struct reply){.kind = REPLY_ERROR});
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        is_denied(story, A, has_error);
        ends(story);
        if (has_error)
            assert_holds(story, PROPERTY_PROGRESS);
        else
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
        story_free(story);
    }
}

/* --- the guarded counter --- */

static void counter_is(struct story *story, int client, enum verb verb, int64_t value,
                       struct reply reply)
{
    struct command touch = {.verb = verb, .key = KEY_COUNTER, .value = value};
    executes(story, client, OP_ACCESS, touch, reply);
}

static struct story *counting(void)
{
    struct story *story = story_new(&expiring, 1, 300);
    for (int client = A; client <= D; client++) {
        acquires(story, client);
        releases(story, client, 1);
    }
    return story;
}

/* What was read first, and what one command counted, is what the next write goes on from. */
static void a_write_goes_on_from_what_was_read_or_counted(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct story *story = counting();
        bool is_read = how < 2, is_lost = how % 2;
        if (is_read) {
            counter_is(story, A, VERB_GET, 0, VALUE(7));
        } else {
            counter_is(story, A, VERB_INCR, 0, INTEGER(6));
            counter_is(story, A, VERB_INCR, 0, INTEGER(7));
        }
        counter_is(story, A, VERB_SET, is_lost ? 7 : 8, OK);
        ends(story);
        if (is_lost)
            assert_violated(story, PROPERTY_NO_LOST_UPDATE, 1, CAUSE_OVERRUN);
        else
            assert_holds(story, PROPERTY_NO_LOST_UPDATE);
        story_free(story);
    }
}

/* B reads 2 before it is told that C wrote it: replies crossed, and no server forgot anything. Not
 * so where C began when B had read, nor where it only counted. */
static void a_read_that_a_later_line_explains_is_not_odd(void **state)
{
    enum { CROSSED, LATER, COUNTED, WAYS };
    (void)state;
    for (int way = CROSSED; way < WAYS; way++) {
        struct story *story = counting();
        counter_is(story, A, VERB_SET, 1, OK);
        counter_is(story, B, VERB_GET, 0, VALUE(2));
        happens(story,
                (struct event){.kind = EVENT_EXECUTE,
                               .client = C,
                               .op = OP_ACCESS,
                               .from_us = way == CROSSED ? story->now_us - 2 * STORY_STEP_US : 0,
                               .command = {.verb = way == COUNTED ? VERB_INCR : VERB_SET,
                                           .key = KEY_COUNTER,
                                           .value = 2},
                               .reply = way == COUNTED ? INTEGER(2) : OK});
        counter_is(story, D, VERB_SET, 3, OK);
        counter_is(story, B, VERB_SET, 3, OK);
        ends(story);
        assert_violated(story, PROPERTY_NO_LOST_UPDATE, 1,
                        way == CROSSED ? CAUSE_OVERRUN : CAUSE_LOST_GRANT);
        story_free(story);
    }
}

/* A has the lock, and its process ends by itself, crashes, or goes on; B is granted it when A's key
 * has expired. A dead process holds nothing, at no lock; and who comes back knows nothing of the
 * key that stands in its way: that is no leftover of an answer. */
static void a_process_that_has_ended_holds_nothing(void **state)
{
    enum { GOES_ON, EXITS, CRASHES };
    (void)state;
    for (int how = GOES_ON; how <= CRASHES; how++) {
        struct story *story = story_new(&expiring, 1, 300);
        for (story->lock = 1; story->lock >= 0; story->lock--)
            acquires(story, A);
        story->lock = 0;
        if (how == EXITS)
            happens(story, (struct event){.kind = EVENT_EXIT, .client = A, .server = -1});
        if (how == CRASHES)
            crashes(story, A);
        if (how != GOES_ON)
            is_refused(story, A);
        at(story, 310);
        for (; story->lock < 2; story->lock++)
            acquires(story, B);
        story->lock = 0;
        ends(story);
        if (how == GOES_ON)
            assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 2, CAUSE_OVERRUN);
        else
            assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
        assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        assert_holds(story, PROPERTY_TRUTHFUL);
        assert_holds(story, PROPERTY_NO_ORPHAN);
        story_free(story);
    }
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
        cmocka_unit_test(refused_at_the_certain_end_of_another_is_unknown),
        cmocka_unit_test(refused_in_the_moment_of_a_release_proves_nothing),
        cmocka_unit_test(a_key_left_at_once_is_unreleased_and_one_left_late_is_not),
        cmocka_unit_test(of_two_keys_left_the_first_is_told),
        cmocka_unit_test(who_is_denied_what_it_was_granted_is_stuck),
        cmocka_unit_test(a_write_goes_on_from_what_was_read_or_counted),
        cmocka_unit_test(a_read_that_a_later_line_explains_is_not_odd),
        cmocka_unit_test(a_process_that_has_ended_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
