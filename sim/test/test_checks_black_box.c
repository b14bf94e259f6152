/* test_checks_black_box.c - what is said of a history that does not have what the servers did: what
 * calls and returns prove, and nothing else. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

static void asks_unseen(struct story *story, int client, double from, double until,
                        enum result result)
{
    at(story, from);
    calls(story, client, OP_ACQUIRE);
    at(story, until);
    returns(story, client, OP_ACQUIRE, result);
}

static void releases_unseen(struct story *story, int client, double from, double until,
                            enum result result)
{
    at(story, from);
    calls(story, client, OP_RELEASE);
    at(story, until);
    returns(story, client, OP_RELEASE, result);
}

/* Of these nobody can say anything who did not see the servers. */
static void assert_servers_unseen(const struct story *story)
{
    static const enum property unseen[] = {PROPERTY_RELEASE_OWN, PROPERTY_EXTEND_OWN,
                                           PROPERTY_ALWAYS_EXPIRES, PROPERTY_NO_ORPHAN,
                                           PROPERTY_PROGRESS};
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
        assert_verdict(story, unseen[i], VERDICT_UNKNOWN);
        assert_says(&story->findings[unseen[i]], "nobody saw");
    }
}

/* --- what asked nobody --- */

/* Of whom nothing is missing otherwise: it has a breaker, or no connection. What was granted so is
 * missing, and so is all of a client that is never seen to ask. */
static void who_gains_nothing_need_not_have_asked(void **state)
{
    static const struct {
        enum result result;
        bool is_seen_otherwise, is_whole;
    } tried[] = {
        {RESULT_FAILED, true, true}, {RESULT_FAILED, false, false}, {RESULT_GRANTED, true, false}};
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = story_new(&expiring, 1, 300);
        asks_unseen(story, A, 0, 1, tried[i].result);
        at(story, 400);
        if (tried[i].is_seen_otherwise)
            acquires(story, A);
        ends(story);
        assert_verdict(story, PROPERTY_RELEASE_OWN,
                       tried[i].is_whole ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* --- two at once --- */

static void two_within_their_leases_are_a_bug_or_a_loss(void **state)
{
    (void)state;
    assert_int_equal(cause_blame(CAUSE_BUG_OR_LOSS), BLAME_EITHER);
    static const struct scheme *const tried[] = {&expiring, &everlasting, &noticing, NULL};
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = story_new(tried[i], 1, 300);
        asks_unseen(story, A, 0, 1, RESULT_GRANTED);
        asks_unseen(story, B, 2, 299, RESULT_GRANTED);
        ends(story);
        assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_BUG_OR_LOSS);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_BUG_OR_LOSS);
        assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "No overrun explains that.");
        story_free(story);
    }
}

static void after_the_lease_it_is_an_overrun(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    asks_unseen(story, A, 0, 1, RESULT_GRANTED);
    asks_unseen(story, B, 400, 401, RESULT_GRANTED);
    releases_unseen(story, A, 500, 501, RESULT_NOT_MINE);
    ends(story);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
    assert_says(&story->findings[PROPERTY_MUTUAL_EXCLUSION], "Overrun in A.");
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    assert_verdict(story, PROPERTY_TRUTHFUL, VERDICT_UNKNOWN); /* whose the lock was at 501 ms */
    assert_servers_unseen(story);
    story_free(story);
}

/* A lease that may have been renewed, or may have begun long after the call. */
static void where_the_end_of_a_lease_is_not_known_nothing_is_said(void **state)
{
    static const struct scheme *const tried[] = {&noticing, NULL};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct story *story = story_new(tried[i], 1, 300);
        asks_unseen(story, A, 0, 1, RESULT_GRANTED);
        asks_unseen(story, B, 400, 401, RESULT_GRANTED);
        ends(story);
        assert_silent(story);
        assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, VERDICT_UNKNOWN);
        assert_verdict(story, PROPERTY_LEASE_EXCLUSION, VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* Told after its own lease, and the lease of this scheme counts from the call. */
static void a_late_grant_is_one_without_its_servers(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    asks_unseen(story, A, 0, 1, RESULT_GRANTED);
    asks_unseen(story, B, 2, 302, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_FRESH_GRANT, 1, CAUSE_LATE_GRANT);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_LATE_GRANT);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    story_free(story);
}

static void an_acquire_that_waits_inside_its_call_is_not_late(void **state)
{
    struct story *story = story_new(NULL, 1, 300);
    (void)state;
    asks_unseen(story, A, 0, 1000, RESULT_GRANTED); /* of a foreign library, that tries again */
    ends(story);
    assert_verdict(story, PROPERTY_FRESH_GRANT, VERDICT_UNKNOWN);
    assert_verdict(story, PROPERTY_ALWAYS_EXPIRES, VERDICT_UNKNOWN);
    assert_silent(story);
    story_free(story);
}

static void one_after_the_other_holds(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    asks_unseen(story, A, 0, 1, RESULT_GRANTED);
    asks_unseen(story, B, 1.1, 1.2, RESULT_REFUSED); /* A has it */
    releases_unseen(story, A, 1.5, 1.6, RESULT_RELEASED);
    asks_unseen(story, B, 2, 3, RESULT_GRANTED);
    releases_unseen(story, B, 60, 61, RESULT_RELEASED);
    ends(story);
    assert_silent(story);
    assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    assert_holds(story, PROPERTY_FRESH_GRANT);
    assert_verdict(story, PROPERTY_TRUTHFUL, VERDICT_UNKNOWN); /* it can be so */
    assert_holds(story, PROPERTY_NO_CRASH);
    assert_servers_unseen(story);
    story_free(story);
}

/* A is granted it again, and goes back: whether B and C hold at once behind that was not looked at,
 * and what was violated before stays so. */
static void behind_two_attempts_at_once_nothing_holds(void **state)
{
    static const enum property told[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION,
                                         PROPERTY_FRESH_GRANT, PROPERTY_TRUTHFUL};
    (void)state;
    for (int is_violated = 0; is_violated < 2; is_violated++) {
        struct story *story = story_new(&expiring, 1, 300);
        asks_unseen(story, A, 0, 1, RESULT_GRANTED);
        asks_unseen(story, A, 2, 3, RESULT_GRANTED);
        if (is_violated)
            asks_unseen(story, B, 4, 5, RESULT_GRANTED);
        story->attempts[A]--;
        releases_unseen(story, A, 6, 7, RESULT_RELEASED);
        asks_unseen(story, B, 8, 9, RESULT_GRANTED);
        asks_unseen(story, C, 10, 11, RESULT_GRANTED);
        ends(story);
        for (size_t i = 0; i < sizeof told / sizeof *told; i++)
            assert_verdict(story, told[i],
                           is_violated && i < 2 ? VERDICT_VIOLATED : VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* --- answers --- */

static void not_mine_within_the_lease_is_a_bug_or_a_loss(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct story *story = story_new(&expiring, 1, 300);
        asks_unseen(story, A, 0, 1, RESULT_GRANTED);
        releases_unseen(story, A, 4, is_late ? 301 : 5, RESULT_NOT_MINE);
        ends(story);
        if (is_late)
            assert_verdict(story, PROPERTY_TRUTHFUL, VERDICT_UNKNOWN);
        else
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_BUG_OR_LOSS);
        if (!is_late)
            assert_says(&story->findings[PROPERTY_TRUTHFUL], "A bug, or a loss: nobody saw");
        story_free(story);
    }
}

/* Told a lease after its call it may have been granted it too late, and have refused that. */
static void refused_in_a_gap_is_a_bug_or_a_loss_or_the_networks(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct story *story = story_new(&expiring, 1, 300);
        asks_unseen(story, A, 2, 3, RESULT_GRANTED);
        releases_unseen(story, A, 4, 5, RESULT_RELEASED);
        asks_unseen(story, B, 10, is_late ? 310 : 309, RESULT_REFUSED);
        ends(story);
        if (!is_late) {
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_BUG_OR_LOSS);
            assert_says(&story->findings[PROPERTY_TRUTHFUL], "or a request came twice or late");
        }
        assert_verdict(story, PROPERTY_TRUTHFUL, is_late ? VERDICT_UNKNOWN : VERDICT_VIOLATED);
        story_free(story);
    }
}

/* What failed may happen later, for ever; and who asks before another is told that he has released
 * may be refused by that one. */
static void refused_where_somebody_may_hold_it_proves_nothing(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct story *story = story_new(&expiring, 1, 300);
        if (how < 2) /* B: perhaps its own leftover */
            asks_unseen(story, how == 0 ? C : B, 0, 1, RESULT_FAILED);
        asks_unseen(story, A, 2, 3, RESULT_GRANTED);
        at(story, 4);
        calls(story, A, OP_RELEASE);
        if (how == 3)
            calls(story, B, OP_ACQUIRE);
        returns(story, A, OP_RELEASE, how == 2 ? RESULT_FAILED : RESULT_RELEASED);
        if (how != 3)
            calls(story, B, OP_ACQUIRE);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        assert_silent(story);
        assert_verdict(story, PROPERTY_TRUTHFUL, VERDICT_UNKNOWN);
        story_free(story);
    }
}

static void refused_when_nobody_had_asked_is_an_untruth(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    asks_unseen(story, A, 0, 1, RESULT_REFUSED);
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    story_free(story);
}

/* An acquire without an answer explains one such refusal, and no second one behind its lease. */
static void it_is_said_who_can_have_held_the_lock(void **state)
{
    static const char over[] = "Whoever had asked before had been told that he does not hold it.";
    static const char unable[] = "By what the others were told nobody can have held the lock";
    (void)state;
    for (int has_failed = 0; has_failed < 2; has_failed++) {
        struct story *story = story_new(&expiring, 1, 300);
        asks_unseen(story, C, 0, 1, has_failed ? RESULT_FAILED : RESULT_GRANTED);
        if (!has_failed)
            releases_unseen(story, C, 2, 3, RESULT_RELEASED);
        else
            asks_unseen(story, B, 4, 5, RESULT_REFUSED);
        asks_unseen(story, A, 310, 311, RESULT_GRANTED);
        releases_unseen(story, A, 312, 313, RESULT_RELEASED);
        asks_unseen(story, B, 400, 401, RESULT_REFUSED);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 1);
        assert_says(&story->findings[PROPERTY_TRUTHFUL], has_failed ? unable : over);
        story_free(story);
    }
}

/* --- a part was seen --- */

/* A's and B's holds overlap, and C's plain DEL has removed A's key; all of it seen, or not. */
enum part { WHOLE, A_UNSEEN, B_UNSEEN, DELETE_LOST, SET_LOST, SEND_ALONE };

static struct story *partly_seen(enum part part)
{
    struct story *story = story_new(&expiring, 1, 300);
    struct command del = command(VERB_DEL, 0, 0);
    calls(story, C, OP_ACQUIRE);
    sends(story, C, 0, OP_ACQUIRE, set(story, C));
    strikes(story, "lose-request", C, 0, 0);
    returns(story, C, OP_ACQUIRE, RESULT_FAILED);
    for (int client = A; client <= B; client++) {
        bool is_unseen = part == (client == A ? A_UNSEEN : B_UNSEEN);
        calls(story, client, OP_ACQUIRE);
        if (!is_unseen)
            sends(story, client, 0, OP_ACQUIRE, set(story, client));
        if (!is_unseen && part != SEND_ALONE && (part != SET_LOST || client == B))
            executes(story, client, OP_ACQUIRE, set(story, client), OK);
        if (!is_unseen && part != SEND_ALONE)
            hears(story, client, 0, OP_ACQUIRE, set(story, client), OK);
        returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
        if (client == B)
            break;
        calls(story, C, OP_RELEASE);
        sends(story, C, 0, OP_RELEASE, del);
        if (part != DELETE_LOST)
            executes(story, C, OP_RELEASE, del, INTEGER(1));
        if (part != SEND_ALONE)
            hears(story, C, 0, OP_RELEASE, del, INTEGER(1));
        returns(story, C, OP_RELEASE, RESULT_RELEASED);
    }
    ends(story);
    return story;
}

static void what_was_seen_whole_has_its_cause(void **state)
{
    struct story *story = partly_seen(WHOLE);
    (void)state;
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNLOCK_BUG);
    assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
    assert_holds(story, PROPERTY_EXTEND_OWN);
    story_free(story);
}

static void what_was_seen_in_part_has_none(void **state)
{
    (void)state;
    for (enum part part = A_UNSEEN; part <= SEND_ALONE; part++) {
        struct story *story = partly_seen(part);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_BUG_OR_LOSS);
        assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_BUG_OR_LOSS);
        assert_servers_unseen(story);
        story_free(story);
    }
}

/* All was seen, and the servers did nothing wrong; but by the first "released" the second one
 * cannot be so, though it found a key of its client's that a late request had made: it is not
 * passed over, be it after a fault. */
static void engines_that_disagree_say_so(void **state)
{
    static const char *const said[] = {NULL, "engines disagree", "whether a fault explains it"};
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        releases(story, A, 1);
        if (how > 0) {
            executes(story, A, OP_ACQUIRE, set(story, A), OK);
            releases(story, A, 1);
        }
        if (how == 2)
            crashes(story, B);
        ends(story);
        assert_silent(story);
        assert_verdict(story, PROPERTY_TRUTHFUL, how ? VERDICT_UNKNOWN : VERDICT_HOLDS);
        if (how)
            assert_says(&story->findings[PROPERTY_TRUTHFUL], said[how]);
        story_free(story);
    }
}

/* Of three servers not all were recorded. */
static void a_server_that_was_not_seen_leaves_all_open(void **state)
{
    (void)state;
    for (int seen = 1; seen <= 3; seen++) {
        struct story *story = story_new(&majority, 3, 300);
        calls(story, A, OP_ACQUIRE);
        for (int s = 0; s < seen; s++)
            executes_at(story, A, s, OP_ACQUIRE, set(story, A), OK);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_verdict(story, PROPERTY_RELEASE_OWN, seen < 3 ? VERDICT_UNKNOWN : VERDICT_HOLDS);
        story_free(story);
    }
}

/* In another attempt, too; but not of what an attempt before may have: that, it may have released.
 */
static void who_never_asked_has_nothing_to_release(void **state)
{
    static const struct {
        enum result before; /* NONE: it has never asked */
        bool is_another;
        const char *said; /* NULL: nothing is violated */
    } tried[] = {
        {RESULT_REFUSED, false, "By what all were told before, it cannot have had the lock"},
        {RESULT_REFUSED, true, "and had not asked for the lock in that attempt, nor has it by"},
        {RESULT_NONE, true, "B was told \"released\" at 5.0 ms, and had never asked for the lock"},
        {RESULT_FAILED, true, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = story_new(&expiring, 1, 300);
        asks_unseen(story, A, 0, 1, RESULT_GRANTED);
        if (tried[i].before)
            asks_unseen(story, B, 2, 3, tried[i].before);
        story->attempts[B] += tried[i].is_another;
        releases_unseen(story, B, 4, 5, RESULT_RELEASED);
        ends(story);
        if (!tried[i].said) {
            assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 0);
        } else {
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_BUG_OR_LOSS);
            assert_says(&story->findings[PROPERTY_TRUTHFUL], tried[i].said);
        }
        story_free(story);
    }
}

/* While A's release of its lock is under way it releases another one, that it never asked for: what
 * it is told of the one says nothing of the other. */
static void a_lock_that_was_never_asked_for_is_another_one(void **state)
{
    (void)state;
    for (int is_told = 0; is_told < 2; is_told++) {
        struct story *story = story_new(&expiring, 1, 300);
        asks_unseen(story, A, 0, 1, RESULT_GRANTED);
        calls(story, A, OP_RELEASE);
        story->attempts[A]++;
        story->lock = 1;
        releases_unseen(story, A, 2, 3, is_told ? RESULT_RELEASED : RESULT_NOT_MINE);
        story->attempts[A]--;
        story->lock = 0;
        returns(story, A, OP_RELEASE, RESULT_RELEASED);
        ends(story);
        const struct finding *found = &story->findings[PROPERTY_TRUTHFUL];
        assert_int_equal(found->count, is_told);
        if (is_told)
            assert_says(found,
                        "A was told \"released\" at 3.0 ms, and had never asked for the lock");
        story_free(story);
    }
}

/* While it is going on, too: what is proved already, by whichever engine can. */
static void what_is_violated_is_told_at_once(void **state)
{
    (void)state;
    for (int is_seen = 0; is_seen < 2; is_seen++) {
        struct story *story = (is_seen ? story_whole : story_new)(&expiring, 1, 300);
        if (is_seen)
            acquires(story, A);
        else
            asks_unseen(story, A, 0, 1, RESULT_GRANTED);
        assert_null(checks_violation(story->checks, PROPERTY_LEASE_EXCLUSION));
        assert_int_equal(checks_violated(story->checks), 0);
        if (is_seen)
            acquires(story, B);
        else
            asks_unseen(story, B, 2, 3, RESULT_GRANTED);
        const struct finding *found = checks_violation(story->checks, PROPERTY_LEASE_EXCLUSION);
        assert_non_null(found);
        assert_int_equal(found->cause, is_seen ? CAUSE_EARLY_EXPIRY : CAUSE_BUG_OR_LOSS);
        if (is_seen)
            assert_true(checks_violated(story->checks) & 1u << PROPERTY_LEASE_EXCLUSION);
        ends(story);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_gains_nothing_need_not_have_asked),
        cmocka_unit_test(two_within_their_leases_are_a_bug_or_a_loss),
        cmocka_unit_test(after_the_lease_it_is_an_overrun),
        cmocka_unit_test(where_the_end_of_a_lease_is_not_known_nothing_is_said),
        cmocka_unit_test(a_late_grant_is_one_without_its_servers),
        cmocka_unit_test(an_acquire_that_waits_inside_its_call_is_not_late),
        cmocka_unit_test(one_after_the_other_holds),
        cmocka_unit_test(behind_two_attempts_at_once_nothing_holds),
        cmocka_unit_test(not_mine_within_the_lease_is_a_bug_or_a_loss),
        cmocka_unit_test(refused_in_a_gap_is_a_bug_or_a_loss_or_the_networks),
        cmocka_unit_test(refused_where_somebody_may_hold_it_proves_nothing),
        cmocka_unit_test(refused_when_nobody_had_asked_is_an_untruth),
        cmocka_unit_test(it_is_said_who_can_have_held_the_lock),
        cmocka_unit_test(what_was_seen_whole_has_its_cause),
        cmocka_unit_test(what_was_seen_in_part_has_none),
        cmocka_unit_test(engines_that_disagree_say_so),
        cmocka_unit_test(a_server_that_was_not_seen_leaves_all_open),
        cmocka_unit_test(who_never_asked_has_nothing_to_release),
        cmocka_unit_test(a_lock_that_was_never_asked_for_is_another_one),
        cmocka_unit_test(what_is_violated_is_told_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
