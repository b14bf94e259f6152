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

/* --- an acquire that fails --- */

enum mishap { NO_MISHAP, STRUCK, UNHEARD, ANSWERED_ERROR, ASKED_LATE, MISHAPS };

/* One whole attempt of the client, which ends so; a mishap is a reason for that. */
static void fails(struct story *story, int client, struct reply reply, enum mishap mishap,
                  enum result result)
{
    struct command setnx = command(VERB_SETNX, token(story, client) + 1, 0);
    if (mishap == ANSWERED_ERROR)
        reply = (struct reply){.kind = REPLY_ERROR, .error = ERROR_OTHER};
    calls(story, client, OP_ACQUIRE);
    if (mishap == ASKED_LATE)
        at(story, (double)story->now_us / 1000 + 80);
    sends(story, client, 0, OP_ACQUIRE, setnx);
    executes(story, client, OP_ACQUIRE, setnx, reply);
    if (mishap == STRUCK)
        strikes_command(story, "answer-error", client, OP_ACQUIRE, setnx);
    if (mishap != UNHEARD)
        hears(story, client, 0, OP_ACQUIRE, setnx, reply);
    returns(story, client, OP_ACQUIRE, result);
}

/* A took it and died; B fails where others would say "refused". */
static void a_failure_that_no_fault_explains_is_a_refusal(void **state)
{
    (void)state;
    for (int mishap = NO_MISHAP; mishap < ASKED_LATE; mishap++)
        for (int crashed = 0; crashed < 2; crashed++) {
            struct story *story = story_new(&everlasting, 1, 300);
            calls(story, A, OP_ACQUIRE);
            executes(story, A, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(1));
            returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
            crashes(story, A);
            at(story, 1000);
            fails(story, B, INTEGER(0), (enum mishap)mishap,
                  crashed ? RESULT_CRASHED : RESULT_FAILED);
            ends(story);
            if (mishap == NO_MISHAP) {
                assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
                assert_says(&story->findings[PROPERTY_PROGRESS], "B failed, undisturbed, at 1000");
            } else {
                assert_holds(story, PROPERTY_PROGRESS);
            }
            story_free(story);
        }
}

/* The server gives it the lock, and it does not notice. */
static void an_owner_that_is_not_told_so_never_acquires(void **state)
{
    static const enum result results[] = {RESULT_FAILED, RESULT_REFUSED, RESULT_CRASHED};
    (void)state;
    for (int mishap = NO_MISHAP; mishap < MISHAPS; mishap++)
        for (int i = 0; i < 3; i++) {
            struct story *story = story_new(&everlasting, 1, 300);
            fails(story, A, INTEGER(1), (enum mishap)mishap, results[i]);
            ends(story);
            if (mishap == NO_MISHAP) {
                assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
                assert_says(&story->findings[PROPERTY_PROGRESS], "nobody can ever acquire");
            } else {
                assert_holds(story, PROPERTY_PROGRESS);
            }
            story_free(story);
        }
}

/* Another one held it when it was asked for, or got it meanwhile. */
static void who_fails_in_company_may_acquire_another_time(void **state)
{
    (void)state;
    struct story *story = story_new(&everlasting, 1, 300);
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(1));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    fails(story, B, INTEGER(0), NO_MISHAP, RESULT_FAILED);
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

/* The server's answer was given some time between from and time: only the first is certain. */
static void a_refusal_that_was_seen_late_is_judged_by_when_it_may_have_been_given(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct story *story = story_new(&expiring, 1, 300);
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

/* --- a quorum --- */

static void is_refused_by(struct story *story, int client, int first, int servers)
{
    calls(story, client, OP_ACQUIRE);
    for (int s = first; s < first + servers; s++)
        executes_at(story, client, s, OP_ACQUIRE, set(story, client), NIL);
    returns(story, client, OP_ACQUIRE, RESULT_REFUSED);
}

/* Keys without an end on two of three servers: whatever else goes wrong, no majority is left. */
static void a_quorum_behind_dead_keys_is_stuck_whatever_strikes_others(void **state)
{
    (void)state;
    for (int dead = 1; dead <= 2; dead++) {
        struct story *story = story_new(&majority, 3, 300);
        calls(story, A, OP_ACQUIRE);
        for (int s = 0; s < dead; s++)
            executes_at(story, A, s, OP_ACQUIRE, command(VERB_SETNX, 1, 0), INTEGER(1));
        crashes(story, A);
        for (int ms = 200; ms <= 1000; ms += 200) {
            at(story, ms - 50);
            calls(story, C, OP_ACQUIRE);
            crashes(story, C);
            at(story, ms);
            is_refused_by(story, B, 0, dead);
        }
        ends(story);
        if (dead == 2)
            assert_violated(story, PROPERTY_PROGRESS, 2, CAUSE_STUCK); /* two leases end at 600 */
        else
            assert_holds(story, PROPERTY_PROGRESS);
        story_free(story);
    }
}

/* A late majority is had, though nobody knows of it. */
static void a_late_majority_is_progress(void **state)
{
    (void)state;
    for (int servers = 1; servers <= 2; servers++) {
        struct story *story = story_new(&majority, 3, 300);
        calls(story, A, OP_ACQUIRE);
        struct command late = set(story, A);
        int attempt = story->attempts[A];
        sends(story, A, 0, OP_ACQUIRE, late);
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        calls(story, A, OP_ACQUIRE);
        at(story, 500);
        for (int s = 0; s < servers; s++)
            happens(story, (struct event){.kind = EVENT_EXECUTE,
                                          .client = A,
                                          .server = s,
                                          .attempt = attempt,
                                          .command = late,
                                          .reply = OK});
        at(story, 790);
        is_refused_by(story, B, 0, 2);
        ends(story);
        if (servers == 2)
            assert_holds(story, PROPERTY_PROGRESS);
        else
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK); /* since 0 */
        story_free(story);
    }
}

/* C's SET is on its way for so long. B is refused by one server of three, which bars nobody. */
static void a_fault_that_lasts_has_not_stopped(void **state)
{
    (void)state;
    for (int is_long = 0; is_long < 2; is_long++) {
        struct story *story = story_new(&majority, 3, 300);
        calls(story, C, OP_ACQUIRE);
        strikes(story, "delay", C, 2, is_long ? 1000 : 90);
        at(story, 790);
        is_refused_by(story, B, 0, 1);
        ends(story);
        if (is_long)
            assert_holds(story, PROPERTY_PROGRESS);
        else
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK); /* since 90 */
        story_free(story);
    }
}

/* Two leases end at 600. B is answered at 590 or at 610, and cleans up a little later; or it takes
 * so long that nothing of its lease is left, which it must refuse by itself. */
static void a_refusal_counts_from_the_answer_not_from_the_cleaning(void **state)
{
    static const struct {
        double called_ms, answered_ms, cleaned_ms;
        bool is_stuck;
    } rows[] = {{580, 590, 650, false}, {605, 610, 650, true}, {605, 610, 950, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = story_new(&majority, 3, 300);
        at(story, rows[i].called_ms);
        calls(story, B, OP_ACQUIRE);
        at(story, rows[i].answered_ms);
        executes(story, B, OP_ACQUIRE, set(story, B), NIL);
        at(story, rows[i].cleaned_ms);
        executes(story, B, OP_ACQUIRE, command(VERB_COMPARE_DELETE, token(story, B), 0),
                 INTEGER(0));
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (rows[i].is_stuck)
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
        else
            assert_holds(story, PROPERTY_PROGRESS);
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
            assert_holds(story, PROPERTY_PROGRESS);
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

/* Another one had it meanwhile: that A trips now does not say that nobody can have it. */
static void who_trips_in_company_may_acquire_another_time(void **state)
{
    (void)state;
    struct story *story = story_new(&everlasting, 1, 300);
    struct command setnx = command(VERB_SETNX, 1, 0), swap = command(VERB_GETSET, 2, 0);
    calls(story, A, OP_ACQUIRE);
    calls(story, B, OP_ACQUIRE);
    executes(story, B, OP_ACQUIRE, setnx, INTEGER(1));
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    deletes(story, B, 1);
    sends(story, A, 0, OP_ACQUIRE, swap);
    executes(story, A, OP_ACQUIRE, swap, NIL);
    hears(story, A, 0, OP_ACQUIRE, swap, NIL);
    returns(story, A, OP_ACQUIRE, RESULT_CRASHED);
    ends(story);
    assert_holds(story, PROPERTY_PROGRESS);
    story_free(story);
}

/* --- nobody waits for ever --- */

static void strands(struct story *story, int client, enum operation op)
{
    happens(story, (struct event){.kind = EVENT_STRAND, .client = client, .server = -1, .op = op});
}

static void a_release_that_waits_for_nothing_never_returns(void **state)
{
    struct story *story = story_new(&expiring, 1, 1000);
    (void)state;
    acquires(story, A);
    at(story, 50);
    calls(story, A, OP_RELEASE);
    strands(story, A, OP_RELEASE);
    at(story, 2000);
    acquires(story, B); /* the lock goes on without it */
    releases(story, B, 1);
    ends(story);
    assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_ENDLESS_WAIT);
    assert_says(&story->findings[PROPERTY_PROGRESS], "A called release at 50");
    assert_says(&story->findings[PROPERTY_PROGRESS], "its release never returns");
    story_free(story);
}

static void an_acquire_that_waits_for_nothing_never_returns(void **state)
{
    struct story *story = story_new(&expiring, 1, 1000);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    strands(story, A, OP_ACQUIRE);
    ends(story);
    assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_ENDLESS_WAIT);
    story_free(story);
}

/* A request on its way, one that was lost, a timer that runs, a crash: a history that ends then
 * says nothing of what would have come. */
static void an_operation_that_has_not_returned_yet_waits_for_something(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct story *story = story_new(&expiring, 1, 1000);
        acquires(story, A);
        calls(story, A, OP_RELEASE);
        if (how < 3)
            sends(story, A, 0, OP_RELEASE, command(VERB_COMPARE_DELETE, token(story, A), 0));
        if (how == 1)
            strikes(story, "lose-request", A, 0, 0);
        if (how == 2)
            crashes(story, A);
        at(story, 9000);
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
        cmocka_unit_test(a_refusal_within_the_bound_is_progress),
        cmocka_unit_test(a_failure_that_no_fault_explains_is_a_refusal),
        cmocka_unit_test(an_owner_that_is_not_told_so_never_acquires),
        cmocka_unit_test(who_fails_in_company_may_acquire_another_time),
        cmocka_unit_test(the_crash_of_one_who_had_nothing_is_no_sign_of_life),
        cmocka_unit_test(late_grants_one_after_the_other_are_progress),
        cmocka_unit_test(a_key_that_lives_far_longer_than_its_lease_is_stuck),
        cmocka_unit_test(a_late_renewal_is_progress),
        cmocka_unit_test(a_timer_that_outlives_the_release_keeps_the_lock_stuck),
        cmocka_unit_test(a_refusal_that_was_seen_late_is_judged_by_when_it_may_have_been_given),
        cmocka_unit_test(a_quorum_behind_dead_keys_is_stuck_whatever_strikes_others),
        cmocka_unit_test(a_fault_that_lasts_has_not_stopped),
        cmocka_unit_test(a_refusal_counts_from_the_answer_not_from_the_cleaning),
        cmocka_unit_test(a_key_of_somebody_unknown_is_nobodys_fault),
        cmocka_unit_test(a_late_majority_is_progress),
        cmocka_unit_test(a_refusal_is_judged_by_how_the_owner_stands),
        cmocka_unit_test(who_was_not_refused_by_a_key_is_not_locked_out),
        cmocka_unit_test(who_trips_in_company_may_acquire_another_time),
        cmocka_unit_test(a_release_that_waits_for_nothing_never_returns),
        cmocka_unit_test(an_acquire_that_waits_for_nothing_never_returns),
        cmocka_unit_test(an_operation_that_has_not_returned_yet_waits_for_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
