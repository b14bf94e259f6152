/* test_checks_causes.c - causes: servers that forget, clocks, chains. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "checks/finding.h"
#include "test/foreign_story.h"

/* --- servers --- */

static void a_server_that_forgets_loses_the_grant(void **state)
{
    static const struct {
        const char *fault, *words;
    } rows[] = {{"restart-empty", "restarted empty"},
                {"evict", "evicted A's lock"},
                {"flush-all", "all keys of the server were deleted"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        strikes(story, rows[i].fault, -1, 0, 0);
        acquires(story, B);
        ends(story);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_LOST_GRANT);
        assert_int_equal(cause_blame(CAUSE_LOST_GRANT), BLAME_DEPLOYMENT);
        assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], rows[i].words);
        assert_holds(story, PROPERTY_RELEASE_OWN);
        story_free(story);
    }
}

static void a_lagging_replica_loses_the_grant_and_one_in_step_does_not(void **state)
{
    (void)state;
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        struct story *story = story_new(&expiring, 1, 300);
        if (is_cut)
            strikes(story, "cut-replica", -1, 0, 0);
        acquires(story, A);
        strikes(story, "failover", -1, 0, 0);
        if (is_cut)
            acquires(story, B);
        else
            is_refused(story, B);
        ends(story);
        if (is_cut)
            assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_LOST_GRANT);
        else
            assert_silent(story);
        story_free(story);
    }
}

static void a_replica_brings_back_an_older_lock(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    strikes(story, "cut-replica", -1, 0, 0);
    releases(story, A, 1);
    acquires(story, B);
    strikes(story, "failover", -1, 0, 0);
    is_refused(story, C); /* by A's old key: nobody lies, nobody is to blame but the failover */
    releases(story, B, 0);
    at(story, 400);
    acquires(story, C);
    ends(story);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    assert_holds(story, PROPERTY_TRUTHFUL);
    assert_holds(story, PROPERTY_PROGRESS);
    story_free(story);
}

/* 300 ms are half of that for a clock that is twice as fast, whether the key was there before or
 * not; and twice for one that is half as fast. */
static void a_clock_that_runs_fast_is_an_early_expiry(void **state)
{
    (void)state;
    static const struct {
        int gains_ms, next_ms;
        bool is_before, is_early;
    } rows[] = {{1000, 160, true, true},
                {1000, 160, false, true},
                {1000, 310, true, false},
                {-500, 610, true, false},
                {0, 310, true, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = story_new(&expiring, 1, 300);
        if (rows[i].is_before)
            strikes(story, "server-drift", -1, 0, rows[i].gains_ms);
        acquires(story, A);
        if (!rows[i].is_before)
            strikes(story, "server-drift", -1, 0, rows[i].gains_ms);
        at(story, rows[i].next_ms);
        acquires(story, B);
        ends(story);
        if (rows[i].is_early)
            assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_EARLY_EXPIRY);
        else
            assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        story_free(story);
    }
}

static void a_clock_jump_is_an_early_expiry(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    strikes(story, "server-clock", -1, 0, 250);
    at(story, 60);
    acquires(story, B);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_EARLY_EXPIRY);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "The server's clock was stepped");
    story_free(story);

    story =
        story_new(&expiring, 1, 300); /* backwards: the lock lives longer, and nobody is stuck */
    acquires(story, A);
    strikes(story, "server-clock", -1, 0, -5000);
    crashes(story, A);
    at(story, 2000);
    is_refused(story, B);
    at(story, 5302);
    acquires(story, B);
    ends(story);
    assert_silent(story);
    story_free(story);
}

/* 3 ms for 300, given when it was written, or when it was renewed; then the scheme is to blame,
 * whatever befell the server. "EXPIRE k 0" leaves nothing at all. */
static void a_time_to_live_below_the_lease_is_the_schemes_fault(void **state)
{
    (void)state;
    assert_int_equal(cause_blame(CAUSE_SHORT_TTL), BLAME_SCHEME);
    for (int how = 0; how < 4; how++) {
        struct story *story = story_new(&expiring, 1, 300);
        int64_t granted_ms = how == 1 || how == 3 ? 300 : 3;
        calls(story, A, OP_ACQUIRE);
        executes(story, A, OP_ACQUIRE, command(VERB_SET_NX_PX, token(story, A), granted_ms), OK);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        if (how == 1)
            executes(story, A, OP_EXTEND, command(VERB_COMPARE_EXPIRE, token(story, A), 3),
                     INTEGER(1));
        if (how == 2)
            strikes(story, "server-clock", -1, 0, 2);
        if (how == 3)
            executes(story, A, OP_EXTEND, command(VERB_PEXPIRE, 0, 0), INTEGER(1));
        at(story, 10);
        acquires(story, B);
        ends(story);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_SHORT_TTL);
        assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(A,B): Short time to live in A.");
        story_free(story);
    }
}

/* Nor does a script that extends by nothing: what it did says no unit. Deleted by its own release,
 * the key is not the extend's doing. */
static void an_extend_that_deletes_its_own_key_is_no_release(void **state)
{
    (void)state;
    for (enum operation op = OP_RELEASE; op <= OP_EXTEND; op++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        calls(story, A, op);
        runs(story, A, op, deleted(A));
        takes(story, B);
        ends(story);
        if (op == OP_RELEASE) {
            assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].count, 0);
        } else {
            assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_SHORT_TTL);
            assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "it removed A's lock");
            assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION],
                        "(A,B): Short time to live in A.");
        }
        story_free(story);
    }
}

/* A stepped clock, or another client's EXPIRE, is what it was. */
static void a_whole_lease_that_is_cut_is_not_a_short_one(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct story *story = story_whole(&expiring, 1, 300);
        acquires(story, A);
        if (how == 0)
            strikes(story, "server-clock", -1, 0, 295);
        if (how == 1)
            executes(story, B, OP_ACQUIRE, command(VERB_PEXPIRE, 0, 3), INTEGER(1));
        at(story, 10); /* how 2: gone, and nobody knows why */
        acquires(story, B);
        ends(story);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1,
                        how == 1 ? CAUSE_FOREIGN_EXTEND : CAUSE_EARLY_EXPIRY);
        story_free(story);
    }
}

static void a_set_over_a_live_key_is_an_acquire_bug(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    calls(story, B, OP_ACQUIRE);
    executes(story, B, OP_ACQUIRE, command(VERB_SET, 2, 0), OK);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_ACQUIRE_BUG);
    assert_violated(story, PROPERTY_EXTEND_OWN, 1, CAUSE_ACQUIRE_BUG);
    story_free(story);

    story = story_new(&expiring, 1, 300); /* told so, and no server gave it */
    acquires(story, A);
    calls(story, B, OP_ACQUIRE);
    executes(story, B, OP_ACQUIRE, set(story, B), NIL);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNTRUE_ANSWER);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "no server had given it");
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(A,B): Untrue answer to B.");
    story_free(story);
}

/* --- chains --- */

static void a_chain_names_its_links(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 310);
    acquires(story, B);
    deletes(story, A, 1);
    acquires(story, C);
    deletes(story, B, 1); /* B's release is in time, but A had removed B's lock */
    acquires(story, D);
    ends(story);
    assert_violated(story, PROPERTY_RELEASE_OWN, 2, CAUSE_UNLOCK_BUG);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 2, CAUSE_UNLOCK_BUG); /* (B,C), (C,D) */
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION],
                "(B,C): Unlock bug in A, triggered by A's overrun.");
    story_free(story);

    story = story_new(&expiring, 1, 300); /* the same from the second link on */
    acquires(story, B);
    strikes(story, "restart-empty", -1, 0, 0);
    acquires(story, C);
    deletes(story, B, 1);
    ends(story);
    assert_says(&story->findings[PROPERTY_RELEASE_OWN], "triggered by the loss of B's lock");
    story_free(story);
}

static void a_resent_delete_is_named(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    struct event resend = {.kind = EVENT_FAULT,
                           .client = A,
                           .server = 0,
                           .fault = FAULT_RESEND,
                           .command = {.verb = VERB_DEL}};
    (void)state;
    acquires(story, A);
    calls(story, A, OP_RELEASE);
    executes(story, A, OP_RELEASE, command(VERB_DEL, 0, 0), INTEGER(1));
    strikes(story, "lose-reply", A, 0, 0);
    acquires(story, B);
    happens(story, resend);
    executes(story, A, OP_RELEASE, command(VERB_DEL, 0, 0), INTEGER(1));
    returns(story, A, OP_RELEASE, RESULT_RELEASED);
    acquires(story, C);
    ends(story);
    assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
    assert_says(&story->findings[PROPERTY_RELEASE_OWN],
                "Unlock bug in A, triggered by a DEL that was sent again.");
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNLOCK_BUG);
    story_free(story);
}

/* A's release is on its way twice; the copy comes when B has the lock. */
static struct story *copied_release(struct command release, int64_t late_answer)
{
    struct story *story = story_new(&expiring, 1, 300);
    acquires(story, A);
    release.value = release.verb == VERB_DEL ? 0 : token(story, A);
    calls(story, A, OP_RELEASE);
    sends(story, A, 0, OP_RELEASE, release);
    strikes_command(story, "duplicate", A, OP_RELEASE, release);
    executes(story, A, OP_RELEASE, release, INTEGER(1));
    returns(story, A, OP_RELEASE, RESULT_RELEASED);
    acquires(story, B);
    executes(story, A, OP_RELEASE, release, INTEGER(late_answer));
    if (late_answer)
        acquires(story, C);
    else
        is_refused(story, C);
    ends(story);
    return story;
}

static void a_late_copy_of_a_delete_is_named(void **state)
{
    (void)state;
    struct story *story = copied_release(command(VERB_DEL, 0, 0), 1);
    const struct finding *finding = &story->findings[PROPERTY_RELEASE_OWN];
    assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
    assert_says(finding, "a copy of that command was on its way");
    assert_says(finding, "triggered by a DEL that was sent twice");
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNLOCK_BUG);
    story_free(story);
}

static void a_late_copy_that_compares_is_harmless(void **state)
{
    (void)state;
    struct story *story = copied_release(command(VERB_COMPARE_DELETE, 0, 0), 0);
    assert_silent(story);
    assert_holds(story, PROPERTY_RELEASE_OWN);
    story_free(story);
}

static void one_token_for_two_is_an_unlock_bug(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    struct command weak = command(VERB_SET_NX_PX, 7, 300),
                   compare = command(VERB_COMPARE_DELETE, 7, 0);
    (void)state;
    for (int client = A; client <= B; client++) {
        at(story, 310.0 * client);
        calls(story, client, OP_ACQUIRE);
        executes(story, client, OP_ACQUIRE, weak, OK);
        returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
    }
    calls(story, A, OP_RELEASE);
    executes(story, A, OP_RELEASE, compare, INTEGER(1));
    returns(story, A, OP_RELEASE, RESULT_RELEASED);
    ends(story);
    assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
    story_free(story);
}

/* --- locks are apart; scripts that fail half way --- */

/* Nor is it contention that each was asked for. */
static void two_locks_have_nothing_to_do_with_each_other(void **state)
{
    (void)state;
    for (int asks = 0; asks < 2; asks++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        story->lock = 1;
        acquires(story, B);
        story->lock = 0;
        if (asks)
            is_refused(story, C);
        releases(story, A, 1);
        story->lock = 1;
        releases(story, B, 1);
        ends(story);
        assert_silent(story);
        assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, asks ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        story_free(story);
    }
}

static void a_script_that_fails_half_way_leaves_a_key_without_expiry(void **state)
{
    struct story *story = story_new(&expiring, 1, 1000);
    struct reply error = {.kind = REPLY_ERROR, .error = ERROR_EXPIRE};
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_LUA_SETNX_EXPIRE, 1, 1000), error);
    returns(story, A, OP_ACQUIRE, RESULT_FAILED);
    ends(story);
    assert_violated(story, PROPERTY_ALWAYS_EXPIRES, 1, CAUSE_NO_EXPIRY);
    story_free(story);
}

static void what_nobody_here_wrote_is_nobodys(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    is_refused(story, A); /* a key was there before the run */
    is_refused(story, B);
    deletes(story, B, 1);
    acquires(story, A);
    ends(story);
    assert_holds(story, PROPERTY_RELEASE_OWN);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    story_free(story);
}

/* --- blame --- */

/* Of any two violations the one whose blame is graver is told, whichever comes first; of two alike
 * the first. */
static void the_gravest_of_several_is_told(void **state)
{
    (void)state;
    assert_true(BLAME_NOBODY < BLAME_DEPLOYMENT && BLAME_DEPLOYMENT < BLAME_EITHER &&
                BLAME_EITHER < BLAME_SCHEME);
    for (int i = 1; i < CAUSE_COUNT; i++)
        for (int j = 1; j < CAUSE_COUNT; j++) {
            enum cause first = (enum cause)i, second = (enum cause)j;
            struct finding finding = {.first_index = -1};
            assert_true(finding_hit(&finding, first, 1));
            bool is_graver = cause_blame(second) > cause_blame(first);
            assert_int_equal(finding_hit(&finding, second, 2), is_graver);
            assert_int_equal(finding.cause, is_graver ? second : first);
            assert_int_equal(finding.blames, 1u << cause_blame(first) | 1u << cause_blame(second));
        }
}

/* A enters its lock again, which gives its key a lease anew, and works for too long: that is the
 * lease of what it was granted last, also where it is told so when B has the lock. */
static void a_lock_that_was_entered_again_is_overrun(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        at(story, 10);
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, expiry(DID_LENGTHENED, LEASE_MS));
        if (!is_late)
            returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        at(story, 2 * LEASE_MS);
        takes(story, B);
        if (is_late)
            returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1 + is_late,
                        is_late ? CAUSE_LATE_GRANT : CAUSE_OVERRUN);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 0);
        story_free(story);
    }
}

/* A fails open: told "granted" before anybody has heard a reply. That its request was lost says
 * what the servers did for it, nothing; where it was sent again, or nobody says so, that is not
 * seen. */
static void who_fails_open_is_told_an_untruth(void **state)
{
    enum { LOST, SENT_AGAIN, NOT_SAID };
    (void)state;
    for (int how = LOST; how <= NOT_SAID; how++) {
        struct story *story = foreign(PROMISE_EXPIRY | PROMISE_TOKEN, 1);
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        if (how != NOT_SAID)
            strikes(story, "lose-request", A, 0, 0);
        if (how == SENT_AGAIN)
            sends_script(story, A, OP_ACQUIRE);
        takes(story, B);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1,
                        how == LOST ? CAUSE_UNTRUE_ANSWER : CAUSE_BUG_OR_LOSS);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_forgets_loses_the_grant),
        cmocka_unit_test(a_lagging_replica_loses_the_grant_and_one_in_step_does_not),
        cmocka_unit_test(a_replica_brings_back_an_older_lock),
        cmocka_unit_test(a_clock_that_runs_fast_is_an_early_expiry),
        cmocka_unit_test(a_clock_jump_is_an_early_expiry),
        cmocka_unit_test(a_time_to_live_below_the_lease_is_the_schemes_fault),
        cmocka_unit_test(an_extend_that_deletes_its_own_key_is_no_release),
        cmocka_unit_test(a_whole_lease_that_is_cut_is_not_a_short_one),
        cmocka_unit_test(a_set_over_a_live_key_is_an_acquire_bug),
        cmocka_unit_test(a_chain_names_its_links),
        cmocka_unit_test(a_resent_delete_is_named),
        cmocka_unit_test(a_late_copy_of_a_delete_is_named),
        cmocka_unit_test(a_late_copy_that_compares_is_harmless),
        cmocka_unit_test(one_token_for_two_is_an_unlock_bug),
        cmocka_unit_test(two_locks_have_nothing_to_do_with_each_other),
        cmocka_unit_test(a_script_that_fails_half_way_leaves_a_key_without_expiry),
        cmocka_unit_test(what_nobody_here_wrote_is_nobodys),
        cmocka_unit_test(the_gravest_of_several_is_told),
        cmocka_unit_test(a_lock_that_was_entered_again_is_overrun),
        cmocka_unit_test(who_fails_open_is_told_an_untruth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
