/* test_checks_quorum.c - the causes of overlaps where a majority of servers decides: who granted
 * what, what a server lost, and who cannot count. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

/* SET on these servers (bits), answered OK; on the others nil. */
static void asks(struct story *story, int client, unsigned yes)
{
    calls(story, client, OP_ACQUIRE);
    for (int s = 0; s < story->head.servers; s++)
        executes_at(story, client, s, OP_ACQUIRE, set(story, client), yes >> s & 1 ? OK : NIL);
}

static void cleans(struct story *story, int client, enum operation op, unsigned had)
{
    for (int s = 0; s < story->head.servers; s++)
        executes_at(story, client, s, op, command(VERB_COMPARE_DELETE, token(story, client), 0),
                    INTEGER(had >> s & 1));
}

static void a_majority_of_five_excludes(void **state)
{
    struct story *story = story_new(&majority, 5, 300);
    (void)state;
    asks(story, A, 0x07); /* servers 1 to 3; the SETs to 4 and 5 came after C's */
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    asks(story, C, 0x18);
    cleans(story, C, OP_ACQUIRE, 0x18);
    returns(story, C, OP_ACQUIRE, RESULT_REFUSED);
    calls(story, A, OP_RELEASE);
    cleans(story, A, OP_RELEASE, 0x07);
    returns(story, A, OP_RELEASE, RESULT_RELEASED);
    asks(story, C, 0x1f);
    returns(story, C, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_silent(story);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    assert_holds(story, PROPERTY_NO_ORPHAN);
    story_free(story);
}

static void one_of_five_that_restarts_empty_loses_the_grant(void **state)
{
    struct story *story = story_new(&majority, 5, 300);
    (void)state;
    asks(story, A, 0x07);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    strikes(story, "restart-empty", -1, 2, 0);
    asks(story, C, 0x1c);
    returns(story, C, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_LOST_GRANT);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "Server 3 decided it:");
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "on a majority of servers");
    story_free(story);
}

static void two_believers_without_a_common_server_are_a_split_grant(void **state)
{
    struct story *story = story_new(&majority, 5, 300);
    (void)state;
    asks(story, A, 0x07);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    asks(story, B, 0x18); /* two of five, and takes that for a majority */
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_SPLIT_GRANT);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(A,B): Split grant");
    story_free(story);
}

static void a_quorum_that_expires_is_an_overrun(void **state)
{
    struct story *story = story_new(&majority, 3, 300);
    (void)state;
    asks(story, A, 0x7);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    at(story, 310);
    asks(story, B, 0x7);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    story_free(story);
}

/* --- one server after the other --- */

static void grants(struct story *story, int client, int server)
{
    executes_at(story, client, server, OP_ACQUIRE, set(story, client), OK);
}

static void refuses(struct story *story, int client, int server)
{
    executes_at(story, client, server, OP_ACQUIRE, set(story, client), NIL);
}

static void tells(struct story *story, int client)
{
    returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
}

static void assert_blames(struct story *story, enum cause cause, enum blame blame)
{
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, cause);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, cause);
    assert_int_equal(cause_blame(cause), blame);
}

static const struct {
    const char *fault, *before, *words;
    enum cause cause;
} losses[] = {
    {"restart-empty", NULL, "restarted empty at", CAUSE_LOST_GRANT},
    {"evict", NULL, "evicted A's lock at", CAUSE_LOST_GRANT},
    {"failover", "cut-replica", "a replica without A's lock", CAUSE_LOST_GRANT},
    {"server-clock", NULL, "The server's clock was stepped", CAUSE_EARLY_EXPIRY},
};

enum { LOSSES = sizeof losses / sizeof *losses };

/* Server 1 grants it to A, and loses that before A has a majority: B gets server 1, too. */
static struct story *loses_early(int row)
{
    struct story *story = story_new(&majority, 3, 300);
    if (losses[row].before)
        strikes(story, losses[row].before, -1, 0, 0);
    calls(story, A, OP_ACQUIRE);
    grants(story, A, 0);
    strikes(story, losses[row].fault, -1, 0, 310);
    calls(story, B, OP_ACQUIRE);
    grants(story, B, 0);
    return story;
}

static void a_grant_that_is_lost_before_the_majority_is_complete_is_lost(void **state)
{
    (void)state;
    for (int i = 0; i < LOSSES; i++) {
        struct story *story = loses_early(i);
        const struct finding *finding = &story->findings[PROPERTY_LEASE_EXCLUSION];
        grants(story, A, 1);
        grants(story, B, 2);
        refuses(story, B, 1);
        refuses(story, A, 2);
        tells(story, B);
        tells(story, A);
        assert_blames(story, losses[i].cause, BLAME_DEPLOYMENT);
        assert_says(finding, "A was granted the lock by 2 of 3 servers");
        assert_says(finding, "at no time did a majority keep it");
        assert_says(finding, "B had the lock too on a majority of servers");
        assert_says(finding, "Server 1 decided it:");
        assert_says(finding, losses[i].words);
        story_free(story);
    }
}

/* B, whose majority is complete first, stands first; at server 1 it came second. */
static void who_had_a_majority_first_may_have_come_second_where_it_was_decided(void **state)
{
    (void)state;
    for (int i = 0; i < LOSSES; i++) {
        struct story *story = loses_early(i);
        grants(story, B, 1);
        grants(story, A, 2);
        refuses(story, B, 2);
        refuses(story, A, 1);
        tells(story, A);
        tells(story, B);
        assert_blames(story, losses[i].cause, BLAME_DEPLOYMENT);
        assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], losses[i].words);
        assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], losses[i].cause == CAUSE_LOST_GRANT
                                                                    ? "(B,A): Lost grant."
                                                                    : "(B,A): Early expiry.");
        story_free(story);
    }
}

/* A's lock is gone when the clock is stepped, and not when its time would have been up. */
static void a_lock_expires_when_the_clock_is_stepped_past_it(void **state)
{
    struct story *story = story_new(&majority, 3, 300);
    (void)state;
    at(story, 1000);
    calls(story, A, OP_ACQUIRE);
    grants(story, A, 0);
    grants(story, A, 1);
    tells(story, A);
    at(story, 1050);
    strikes(story, "server-clock", -1, 0, 400);
    calls(story, B, OP_ACQUIRE);
    grants(story, B, 0);
    grants(story, B, 2);
    tells(story, B);
    assert_blames(story, CAUSE_EARLY_EXPIRY, BLAME_DEPLOYMENT);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION],
                "A's lock expired at 1050.0 ms, 250.1 ms early.");
    story_free(story);
}

/* --- who cannot count --- */

static void one_of_three_is_no_majority_whatever_servers_lose(void **state)
{
    (void)state;
    for (int i = 0; i < LOSSES; i++) {
        struct story *story = loses_early(i);
        tells(story, A); /* by server 1 alone */
        grants(story, B, 1);
        sends(story, B, 2, OP_ACQUIRE, set(story, B));
        tells(story, B);
        assert_blames(story, CAUSE_SPLIT_GRANT, BLAME_SCHEME);
        assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION],
                    "1 of 3 servers had given it: no majority.");
        story_free(story);
    }
}

/* B is told so on no server's word: A's majority has nothing to do with it. */
static void who_was_granted_nothing_was_told_an_untruth(void **state)
{
    (void)state;
    for (int is_first = 0; is_first <= 1; is_first++) {
        struct story *story = story_new(&majority, 3, 300);
        asks(story, A, 0x7);
        if (!is_first)
            tells(story, A);
        asks(story, B, 0);
        tells(story, B);
        if (is_first)
            tells(story, A);
        assert_blames(story, CAUSE_UNTRUE_ANSWER, BLAME_SCHEME);
        assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(A,B): Untrue answer to B.");
        story_free(story);
    }
}

static void a_grant_that_comes_behind_the_answer_is_no_vote(void **state)
{
    (void)state;
    for (int i = 0; i < LOSSES; i++) {
        struct story *story = loses_early(i);
        tells(story, A);
        grants(story, A, 2); /* too late */
        grants(story, B, 1);
        tells(story, B);
        assert_blames(story, CAUSE_SPLIT_GRANT, BLAME_SCHEME);
        story_free(story);
    }
}

/* A server that granted it, lost that, and grants it again gave its vote when it did so first. */
static void a_grant_that_is_made_again_was_a_vote_before(void **state)
{
    struct story *story = story_new(&majority, 3, 300);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    grants(story, A, 0);
    grants(story, A, 1);
    tells(story, A);
    strikes(story, "restart-empty", -1, 0, 0);
    strikes(story, "restart-empty", -1, 1, 0);
    calls(story, B, OP_ACQUIRE);
    grants(story, B, 0);
    grants(story, B, 2);
    grants(story, A, 1); /* a copy of its SET */
    tells(story, B);
    assert_blames(story, CAUSE_LOST_GRANT, BLAME_DEPLOYMENT);
    story_free(story);
}

/* A's lock expires early at server 1, where B has its lock then; a replica brings A's back. */
static void a_grant_that_a_replica_brings_back_was_lost_before(void **state)
{
    struct story *story = story_new(&majority, 3, 300);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    grants(story, A, 0);
    strikes(story, "cut-replica", -1, 0, 0);
    strikes(story, "server-clock", -1, 0, 310);
    calls(story, B, OP_ACQUIRE);
    grants(story, B, 0);
    grants(story, B, 1);
    tells(story, B);
    strikes(story, "failover", -1, 0, 0);
    grants(story, A, 2);
    tells(story, A);
    assert_blames(story, CAUSE_EARLY_EXPIRY, BLAME_DEPLOYMENT);
    story_free(story);
}

/* --- of several servers: what it took --- */

/* A has all three; server 1 loses it; later A's time is up. B's SETs come before and after. */
static struct story *loses_and_overruns(void)
{
    struct story *story = story_new(&majority, 3, 300);
    calls(story, A, OP_ACQUIRE);
    for (int s = 0; s < 3; s++)
        grants(story, A, s);
    tells(story, A);
    strikes(story, "evict", -1, 0, 0);
    at(story, 200);
    calls(story, B, OP_ACQUIRE);
    grants(story, B, 0);
    at(story, 310);
    return story;
}

static void a_loss_that_was_not_needed_is_not_to_blame_for_an_overrun(void **state)
{
    struct story *story = loses_and_overruns();
    (void)state;
    grants(story, B, 1);
    grants(story, B, 2);
    tells(story, B);
    ends(story);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
    assert_says(&story->findings[PROPERTY_MUTUAL_EXCLUSION], "(A,B): Overrun in A.");
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    story_free(story);

    story = loses_and_overruns(); /* with one of them it was */
    grants(story, B, 1);
    tells(story, B);
    ends(story);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_LOST_GRANT);
    story_free(story);
}

static void a_scheme_is_to_blame_where_what_servers_lost_was_not_enough(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        struct story *story = story_new(&majority, 3, 300);
        calls(story, A, OP_ACQUIRE);
        for (int s = 0; s < 3; s++)
            grants(story, A, s);
        tells(story, A);
        strikes(story, "restart-empty", -1, 0, 0);
        calls(story, C, OP_RELEASE); /* a plain DEL, of a lock that it never had */
        executes_at(story, C, 1, OP_RELEASE, command(VERB_DEL, 0, 0), INTEGER(1));
        returns(story, C, OP_RELEASE, RESULT_RELEASED);
        if (more)
            strikes(story, "restart-empty", -1, 2, 0);
        calls(story, B, OP_ACQUIRE);
        for (int s = 0; s < 2 + more; s++)
            grants(story, B, s);
        tells(story, B);
        if (more)
            assert_blames(story, CAUSE_LOST_GRANT, BLAME_DEPLOYMENT);
        else
            assert_blames(story, CAUSE_UNLOCK_BUG, BLAME_SCHEME);
        assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG); /* that is said anyhow */
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_majority_of_five_excludes),
        cmocka_unit_test(one_of_five_that_restarts_empty_loses_the_grant),
        cmocka_unit_test(two_believers_without_a_common_server_are_a_split_grant),
        cmocka_unit_test(a_quorum_that_expires_is_an_overrun),
        cmocka_unit_test(a_grant_that_is_lost_before_the_majority_is_complete_is_lost),
        cmocka_unit_test(who_had_a_majority_first_may_have_come_second_where_it_was_decided),
        cmocka_unit_test(a_lock_expires_when_the_clock_is_stepped_past_it),
        cmocka_unit_test(one_of_three_is_no_majority_whatever_servers_lose),
        cmocka_unit_test(who_was_granted_nothing_was_told_an_untruth),
        cmocka_unit_test(a_grant_that_comes_behind_the_answer_is_no_vote),
        cmocka_unit_test(a_grant_that_is_made_again_was_a_vote_before),
        cmocka_unit_test(a_grant_that_a_replica_brings_back_was_lost_before),
        cmocka_unit_test(a_loss_that_was_not_needed_is_not_to_blame_for_an_overrun),
        cmocka_unit_test(a_scheme_is_to_blame_where_what_servers_lost_was_not_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
