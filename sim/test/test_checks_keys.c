/* test_checks_keys.c - keys without an expiry, and keys and answers behind a request that was sent
 * twice: histories in which a property fires, and such in which it must stay silent. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

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

static void a_history_that_stops_in_an_acquire_says_nothing_of_expiry(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct story *story = story_new(&expiring, 1, 1000);
        calls(story, A, OP_ACQUIRE);
        executes(story, A, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(1));
        at(story, is_late ? 1100 : 900); /* but for a whole lease nobody is patient */
        ends(story);
        if (is_late)
            assert_violated(story, PROPERTY_ALWAYS_EXPIRES, 1, CAUSE_NO_EXPIRY);
        else
            assert_holds(story, PROPERTY_ALWAYS_EXPIRES);
        story_free(story);
    }
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
    assert_violated(story, PROPERTY_NO_ORPHAN, 1, CAUSE_UNTRUE_ANSWER);
    assert_says(&story->findings[PROPERTY_NO_ORPHAN], "A's acquire returned \"refused\"");
    assert_says(&story->findings[PROPERTY_NO_ORPHAN], "It stayed until it expired.");
    assert_says(&story->findings[PROPERTY_NO_ORPHAN], "Untrue answer to A: that key was its own.");
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

/* A's SET is on its way twice, and one of them finds B's key, or its own; A is told "refused". */
static struct story *copied_and_refused(bool copy_is_first)
{
    struct story *story = story_new(&expiring, 1, 300);
    if (!copy_is_first)
        acquires(story, B);
    calls(story, A, OP_ACQUIRE);
    sends(story, A, 0, OP_ACQUIRE, set(story, A));
    strikes_command(story, "duplicate", A, OP_ACQUIRE, set(story, A));
    if (!copy_is_first) {
        executes(story, A, OP_ACQUIRE, set(story, A), NIL);
        releases(story, B, 1);
    }
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    if (copy_is_first)
        executes(story, A, OP_ACQUIRE, set(story, A), NIL);
    returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    return story;
}

static void refused_by_the_own_copy_is_an_untruth(void **state)
{
    (void)state;
    struct story *story = copied_and_refused(true);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    story_free(story);
}

/* When its own lease is over it must refuse, whatever it had: sent once more, or come twice; given
 * back, or run out. */
static void refused_by_the_own_key_when_the_lease_is_over_is_no_untruth(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const bool is_copied = i & 1, is_given_back = i & 2, is_over = i & 4;
        struct story *story = story_new(&majority, 1, 300);
        calls(story, A, OP_ACQUIRE);
        if (is_copied)
            strikes_command(story, "duplicate", A, OP_ACQUIRE, set(story, A));
        at(story, 50);
        executes(story, A, OP_ACQUIRE, set(story, A), OK);
        executes(story, A, OP_ACQUIRE, set(story, A), NIL);
        if (is_given_back)
            executes(story, A, OP_ACQUIRE, command(VERB_COMPARE_DELETE, token(story, A), 0),
                     INTEGER(1));
        at(story, !is_over ? 290 : is_given_back ? 310 : 360);
        returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (is_over)
            assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 0);
        else
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        story_free(story);
    }
}

/* Nobody hears what a copy gets behind that: a leftover. Asked for once more it is left untruly. */
static void what_a_copy_gets_in_the_same_call_is_a_leftover(void **state)
{
    (void)state;
    for (int is_copied = 0; is_copied < 2; is_copied++) {
        struct story *story = story_new(&expiring, 1, 300);
        calls(story, A, OP_ACQUIRE);
        if (is_copied)
            strikes_command(story, "duplicate", A, OP_ACQUIRE, set(story, A));
        executes(story, A, OP_ACQUIRE, set(story, A), OK);
        executes(story, A, OP_ACQUIRE, command(VERB_COMPARE_DELETE, token(story, A), 0),
                 INTEGER(1));
        executes(story, A, OP_ACQUIRE, set(story, A), OK);
        returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1,
                        is_copied ? CAUSE_LEFTOVER : CAUSE_UNTRUE_ANSWER);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, !is_copied);
        story_free(story);
    }
}

static void a_copy_that_comes_behind_the_refusal_makes_it_no_untruth(void **state)
{
    (void)state;
    struct story *story = copied_and_refused(false);
    assert_holds(story, PROPERTY_TRUTHFUL);
    story_free(story);
}

/* The lease has ended, A releases, and then a copy of its SET comes. */
static void a_copy_that_comes_behind_the_release_makes_it_no_untruth(void **state)
{
    (void)state;
    struct story *story = story_new(&expiring, 1, 300);
    struct command compare;
    acquires(story, A);
    compare = command(VERB_COMPARE_DELETE, token(story, A), 0);
    at(story, 400);
    calls(story, A, OP_RELEASE);
    executes(story, A, OP_RELEASE, compare, INTEGER(0));
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
    ends(story);
    assert_holds(story, PROPERTY_TRUTHFUL);
    story_free(story);
}

/* What struck the first renewal decides whether it is known which one the second answer is of:
 * after a refusal and a copy it is. */
static void a_refused_or_copied_renewal_is_not_a_lost_one(void **state)
{
    static const char *const faults[] = {"answer-error", "duplicate", "lose-request"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct story *story = story_whole(&noticing, 1, 300);
        struct command renew = command(VERB_COMPARE_EXPIRE, 0, 300);
        acquires(story, A);
        renew.value = token(story, A);
        at(story, 100);
        sends(story, A, 0, OP_EXTEND, renew);
        strikes_command(story, faults[i], A, OP_EXTEND, renew);
        executes(story, A, OP_EXTEND, renew, INTEGER(1));
        at(story, 500); /* past the end of a lease that was renewed, or was not */
        happens(story, (struct event){.kind = EVENT_NOTICE, .client = A, .server = -1});
        ends(story);
        const struct finding *finding = &story->findings[PROPERTY_LOSS_NOTICE];
        assert_int_equal(finding->verdict, VERDICT_VIOLATED);
        assert_says(finding, i < 2 ? "Its own lease ended at 400." : "Its own lease ended at 300");
        story_free(story);
    }
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
    story->findings[PROPERTY_TRUTHFUL].verdict = VERDICT_NOT_APPLICABLE;
    assert_silent(story);
    story_free(story);
}

/* What comes behind it does not make it true. */
static void a_copy_behind_an_untrue_answer_changes_nothing(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    struct command compare;
    (void)state;
    acquires(story, A);
    compare = command(VERB_COMPARE_DELETE, token(story, A), 0);
    calls(story, A, OP_RELEASE);
    executes(story, A, OP_RELEASE, compare, INTEGER(1));
    executes(story, A, OP_RELEASE, compare, INTEGER(0));
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    assert_says(&story->findings[PROPERTY_TRUTHFUL], "A removed it itself");
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

/* B is told "refused", and no server told it so. Untrue it is only where A's key has expired for
 * sure: a whole millisecond behind its time (a server counts no parts), by the
 * server's clock, stepped or fast or slow as it may be. */
static void refused_behind_an_expired_key_is_an_untruth(void **state)
{
    static const struct {
        const char *fault;
        int64_t amount_ms; /* of a step; of a rate: gained a second */
        double asked_ms;
        bool is_untrue;
    } rows[] = {{NULL, 0, 300, false},
                {NULL, 0, 300.8, false},
                {NULL, 0, 302, true},
                {"server-clock", 250, 50, false},
                {"server-clock", 250, 52, true},
                {"server-clock", -100, 302, false},
                {"server-clock", -100, 400, false},
                {"server-clock", -100, 402, true},
                {"server-drift", 250, 240, false}, /* 300 ms by a clock that runs at 5/4 */
                {"server-drift", 250, 242, true},
                {"server-drift", -250, 302, false}, /* and at 3/4 */
                {"server-drift", -250, 400, false},
                {"server-drift", -250, 402, true}};
    const struct reply error = {.kind = REPLY_ERROR, .error = ERROR_LOADING};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A); /* its SET is executed at 0.2 ms */
        crashes(story, A);
        if (rows[i].fault)
            strikes(story, rows[i].fault, -1, 0, rows[i].amount_ms);
        at(story, rows[i].asked_ms);
        calls(story, B, OP_ACQUIRE);
        sends(story, B, 0, OP_ACQUIRE, set(story, B));
        executes(story, B, OP_ACQUIRE, set(story, B), error);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (rows[i].is_untrue)
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        else
            assert_holds(story, PROPERTY_TRUTHFUL);
        story_free(story);
    }
}

/* --- a token that is written over another one --- */

/* GETSET of a token is a write like any other: it ends the lock that was there, and drops its time
 * to live. */
static void a_token_swapped_in_is_a_token_written(void **state)
{
    (void)state;
    static const enum verb verbs[] = {VERB_GETSET, VERB_SET};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        is_refused(story, B);
        calls(story, B, OP_ACQUIRE);
        executes(story, B, OP_ACQUIRE, command(verbs[i], token(story, B), 0),
                 verbs[i] == VERB_SET
                     ? (struct reply){.kind = REPLY_OK}
                     : (struct reply){.kind = REPLY_VALUE, .value = token(story, A)});
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        /* Its token is not there any more, and so it is told. */
        calls(story, A, OP_RELEASE);
        executes(story, A, OP_RELEASE, command(VERB_COMPARE_DELETE, token(story, A), 0),
                 (struct reply){.kind = REPLY_INTEGER, .value = 0});
        returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
        ends(story);
        assert_violated(story, PROPERTY_EXTEND_OWN, 1, CAUSE_ACQUIRE_BUG);
        assert_violated(story, PROPERTY_ALWAYS_EXPIRES, 1, CAUSE_NO_EXPIRY);
        assert_says(&story->findings[PROPERTY_ALWAYS_EXPIRES], "B wrote the lock key");
        assert_holds(story, PROPERTY_TRUTHFUL);
        assert_says(&story->findings[PROPERTY_NO_ORPHAN], "B's");
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_between_setnx_and_expire_leaves_no_expiry),
        cmocka_unit_test(between_setnx_and_expire_is_not_yet_too_late),
        cmocka_unit_test(a_lost_expire_is_seen_at_the_return_and_once),
        cmocka_unit_test(a_resent_set_leaves_an_orphan_and_is_told_an_untruth),
        cmocka_unit_test(an_acquire_that_cleans_up_leaves_no_orphan),
        cmocka_unit_test(refused_because_of_ones_own_key_is_an_untruth_cleaned_up_or_not),
        cmocka_unit_test(refused_by_the_own_copy_is_an_untruth),
        cmocka_unit_test(refused_by_the_own_key_when_the_lease_is_over_is_no_untruth),
        cmocka_unit_test(what_a_copy_gets_in_the_same_call_is_a_leftover),
        cmocka_unit_test(a_copy_that_comes_behind_the_refusal_makes_it_no_untruth),
        cmocka_unit_test(a_copy_that_comes_behind_the_release_makes_it_no_untruth),
        cmocka_unit_test(a_refused_or_copied_renewal_is_not_a_lost_one),
        cmocka_unit_test(a_resent_compare_and_delete_is_an_untruth_only),
        cmocka_unit_test(a_copy_behind_an_untrue_answer_changes_nothing),
        cmocka_unit_test(refused_though_free_is_an_untruth),
        cmocka_unit_test(refused_behind_an_expired_key_is_an_untruth),
        cmocka_unit_test(a_history_that_stops_in_an_acquire_says_nothing_of_expiry),
        cmocka_unit_test(a_token_swapped_in_is_a_token_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
