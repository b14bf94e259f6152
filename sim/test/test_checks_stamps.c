/* test_checks_stamps.c - locks whose expiry clients judge: takeovers by GETSET and by DEL and
 * SETNX. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

/* --- stamps: a lease of 1 s; a stamp of an attempt that begins at t passes between t + 2 s and t +
 * 3 s --- */

/* What an attempt that starts now writes: int(now) + 1 + 1. */
static int64_t stamp_now(const struct story *story)
{
    return story->now_us / 1000000 + 2;
}

/* CALL, SETNX answered 0, GET answered the stamp that is there. */
static int64_t looks(struct story *story, int client, int64_t there)
{
    int64_t stamp = stamp_now(story);
    calls(story, client, OP_ACQUIRE);
    executes(story, client, OP_ACQUIRE, command(VERB_SETNX, stamp, 0), INTEGER(0));
    executes(story, client, OP_ACQUIRE, command(VERB_GET, 0, 0), VALUE(there));
    return stamp;
}

static void swaps(struct story *story, int client, int64_t stamp, int64_t old)
{
    executes(story, client, OP_ACQUIRE, command(VERB_GETSET, stamp, 0), VALUE(old));
}

static int64_t stamps_first(struct story *story, int client)
{
    int64_t stamp = stamp_now(story);
    calls(story, client, OP_ACQUIRE);
    executes(story, client, OP_ACQUIRE, command(VERB_SETNX, stamp, 0), INTEGER(1));
    returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
    return stamp;
}

/* Two leases, and two units of its stamp. */
static void a_dead_stamp_may_refuse_for_two_units_more(void **state)
{
    (void)state;
    for (int is_late = 0; is_late <= 1; is_late++) {
        struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
        const int64_t dead = stamps_first(story, A);
        crashes(story, A);
        at(story, is_late ? 4100 : 3900);
        (void)looks(story, B, dead);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (is_late)
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
        else
            assert_holds(story, PROPERTY_PROGRESS);
        story_free(story);
    }
}

static void two_takers_of_a_dead_stamp_one_wins(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    int64_t dead, mine, yours;
    (void)state;
    dead = stamps_first(story, A);
    crashes(story, A);
    at(story, 3500);
    mine = looks(story, B, dead);
    yours = looks(story, C, dead);
    swaps(story, B, mine, dead);
    swaps(story, C, yours, mine);
    returns(story, C, OP_ACQUIRE, RESULT_REFUSED); /* told before the winner */
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    deletes(story, B, 1);
    ends(story);
    assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    assert_holds(story, PROPERTY_RELEASE_OWN);
    assert_holds(story, PROPERTY_TRUTHFUL);
    assert_violated(story, PROPERTY_EXTEND_OWN, 1, CAUSE_FOREIGN_EXTEND); /* C's stamp over B's */
    assert_says(&story->findings[PROPERTY_EXTEND_OWN], "it overwrote B's lock");
    story_free(story);
}

static void a_takeover_of_a_dead_holders_stamp_is_silent(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    int64_t dead, mine;
    (void)state;
    dead = stamps_first(story, A);
    crashes(story, A);
    at(story, 3500);
    mine = looks(story, B, dead);
    swaps(story, B, mine, dead);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    deletes(story, B, 1);
    ends(story);
    assert_silent(story);
    story_free(story);
}

static void a_takeover_of_a_slow_holders_stamp_is_an_overrun(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    int64_t dead, mine;
    (void)state;
    dead = stamps_first(story, A);
    at(story, 3500);
    mine = looks(story, B, dead);
    swaps(story, B, mine, dead);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    deletes(story, A, 1); /* A's release is late, and removes B's stamp */
    ends(story);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    assert_holds(story, PROPERTY_EXTEND_OWN);
    assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
    assert_says(&story->findings[PROPERTY_RELEASE_OWN], "triggered by A's overrun");
    story_free(story);
}

static void a_stalled_losers_older_stamp_lets_a_third_client_in(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    int64_t dead, old, mine, next;
    (void)state;
    dead = stamps_first(story, A);
    crashes(story, A);
    at(story, 3500);
    old = looks(story, C, dead); /* stalls before its GETSET, its clock read at 3.5 s */
    at(story, 6900);
    mine = looks(story, B, dead);
    swaps(story, B, mine, dead);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    swaps(story, C, old, mine);
    returns(story, C, OP_ACQUIRE, RESULT_REFUSED);
    at(story, 7100); /* C's stamp, of 5 s, is dead; B's lease goes on to 7.9 s */
    next = looks(story, D, old);
    swaps(story, D, next, old);
    returns(story, D, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_FOREIGN_EXTEND);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "it overwrote B's stamp");
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(B,D): Foreign extend in C.");
    assert_int_equal(story->findings[PROPERTY_EXTEND_OWN].cause, CAUSE_FOREIGN_EXTEND);
    story_free(story);
}

static void a_getset_that_wins_against_the_odds_is_corrected_at_its_return(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    int64_t dead, live, mine;
    (void)state;
    dead = stamps_first(story, A);
    crashes(story, A);
    at(story, 3500);
    mine = looks(story, B, dead); /* stalls */
    live = looks(story, C, dead);
    swaps(story, C, live, dead);
    returns(story, C, OP_ACQUIRE, RESULT_GRANTED);
    at(story, 8000); /* C's stamp, larger than the one that B judged, has passed by now, too */
    swaps(story, B, mine + 5, live);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    deletes(story, B, 1);
    ends(story);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_LATE_GRANT); /* B called at 3.5 s */
    assert_says(&story->findings[PROPERTY_MUTUAL_EXCLUSION], "B sent GETSET lock 10, executed at");
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    assert_holds(story, PROPERTY_RELEASE_OWN);
    story_free(story);

    story = story_new(&stamping, 1,
                      STORY_SECOND_MS); /* and the other way round: expected to win, refused */
    live = stamps_first(story, A);
    mine = looks(story, B, live);
    swaps(story, B, mine, live);
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    deletes(story, A, 1);
    ends(story);
    assert_violated(story, PROPERTY_EXTEND_OWN, 1, CAUSE_ACQUIRE_BUG);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    assert_holds(story, PROPERTY_RELEASE_OWN); /* the key is A's, whatever stands in it */
    story_free(story);
}

/* C's clock is ahead, so that it takes B's new stamp for a dead one; A deletes what is there before
 * C is told. That is no untrue answer: its stamp was there. */
static void a_getset_that_won_was_granted_though_its_stamp_is_gone(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    int64_t dead, mine, yours;
    (void)state;
    dead = stamps_first(story, A);
    at(story, 3500);
    mine = looks(story, B, dead);
    yours = looks(story, C, dead);
    swaps(story, B, mine, dead);
    swaps(story, C, yours + 4, mine);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    deletes(story, A, 1);
    returns(story, C, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_holds(story, PROPERTY_TRUTHFUL);
    assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
    story_free(story);
}

static void a_loser_over_a_dead_stamp_overwrites_nobody(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    int64_t dead, mine, next;
    (void)state;
    dead = stamps_first(story, A);
    crashes(story, A);
    at(story, 3500);
    mine = looks(story, B, dead); /* stalls */
    next = looks(story, C, dead);
    swaps(story, C, next, dead);
    returns(story, C, OP_ACQUIRE, RESULT_GRANTED);
    crashes(story, C);
    at(story, 8000); /* C's stamp is dead, too, but not by the clock that B read at 3.5 s */
    swaps(story, B, mine, next);
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    assert_holds(story, PROPERTY_EXTEND_OWN);
    story_free(story);
}

static void a_takers_wrong_clock_is_named(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    int64_t live;
    (void)state;
    live = stamps_first(story, A);
    strikes(story, "client-clock", B, -1, 10000);
    looks(story, B, live);
    swaps(story, B, live + 10, live);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_CLIENT_CLOCK);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(A,B): Wrong client clock in B.");
    story_free(story);
}

/* A's stamp, written by a clock ten seconds behind, looks dead to B, whose clock is right. */
static void an_owners_wrong_clock_is_named(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    (void)state;
    at(story, 20000);
    strikes(story, "client-clock", A, -1, -10000);
    int64_t early = stamp_now(story) - 10;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_SETNX, early, 0), INTEGER(1));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    int64_t mine = looks(story, B, early);
    swaps(story, B, mine, early);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_CLIENT_CLOCK);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(A,B): Wrong client clock in A.");
    story_free(story);
}

/* B is taken for the winner, is told "refused", and has left a stamp that is soon dead: the lock is
 * A's again, and B is to blame when C takes it while A's lease goes on. */
static void a_lost_getset_is_remembered_against_its_client(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    (void)state;
    at(story, 3950);
    int64_t live = stamps_first(story, A); /* 5; A's lease goes on to 4.95 s */
    looks(story, B, live);
    swaps(story, B, live - 1, live);
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    at(story, 4200); /* B's stamp, of 4 s, is dead */
    int64_t next = looks(story, C, live - 1);
    swaps(story, C, next, live - 1);
    returns(story, C, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_FOREIGN_EXTEND);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(A,C): Foreign extend in B.");
    assert_holds(story, PROPERTY_TRUTHFUL); /* B was refused: the lock was A's all along */
    story_free(story);
}

/* B is told "refused", and no server told it so. Untrue it is only where A's stamp has passed for
 * sure: 3 s behind what wrote it, a clock that is off by so much later, and who overwrites it puts
 * that off. */
static void refused_behind_a_dead_stamp_is_an_untruth(void **state)
{
    static const struct {
        int64_t skew_ms;
        double swapped_ms, asked_ms; /* 0: nobody overwrites it */
        bool is_untrue;
    } rows[] = {
        {0, 0, 2900, false},    {0, 0, 3100, true},      {2000, 0, 4900, false},
        {2000, 0, 5100, true},  {-2000, 0, 4900, false}, {-2000, 0, 5100, true},
        {0, 1500, 4400, false}, {0, 1500, 4600, true},
    };
    const struct reply error = {.kind = REPLY_ERROR, .error = ERROR_LOADING};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
        if (rows[i].skew_ms)
            strikes(story, "client-clock", A, -1, rows[i].skew_ms);
        int64_t live = stamps_first(story, A);
        crashes(story, A);
        if (rows[i].swapped_ms > 0) {
            at(story, rows[i].swapped_ms);
            int64_t mine = stamp_now(story);
            calls(story, C, OP_ACQUIRE);
            swaps(story, C, mine, live); /* without a look before: no winner */
            returns(story, C, OP_ACQUIRE, RESULT_REFUSED);
        }
        at(story, rows[i].asked_ms);
        calls(story, B, OP_ACQUIRE);
        sends(story, B, 0, OP_ACQUIRE, command(VERB_SETNX, stamp_now(story), 0));
        executes(story, B, OP_ACQUIRE, command(VERB_SETNX, stamp_now(story), 0), error);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (rows[i].is_untrue)
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        else
            assert_holds(story, PROPERTY_TRUTHFUL);
        story_free(story);
    }
}

/* Two clients see the same dead stamp; the second one's DEL removes the first one's new lock. */
static void delete_and_setnx_takes_a_live_lock(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    int64_t dead, mine, yours;
    (void)state;
    dead = stamps_first(story, A);
    crashes(story, A);
    at(story, 3500);
    mine = looks(story, B, dead);
    yours = looks(story, C, dead);
    executes(story, B, OP_ACQUIRE, command(VERB_DEL, 0, 0), INTEGER(1));
    executes(story, B, OP_ACQUIRE, command(VERB_SETNX, mine, 0), INTEGER(1));
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    executes(story, C, OP_ACQUIRE, command(VERB_DEL, 0, 0), INTEGER(1));
    executes(story, C, OP_ACQUIRE, command(VERB_SETNX, yours, 0), INTEGER(1));
    returns(story, C, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_ACQUIRE_BUG);
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "C sent DEL lock");
    assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "(B,C): Acquire bug in C.");
    assert_holds(story, PROPERTY_RELEASE_OWN);
    story_free(story);
}

/* B deletes the dead stamp and writes its own; a copy of its DEL, or B once more, takes that away.
 * By a copy it is lost: B had been granted it. B itself gives back what it got by then. */
static void what_a_copy_of_its_delete_takes_away_its_client_was_granted(void **state)
{
    const struct command delete = command(VERB_DEL, 0, 0);
    (void)state;
    for (int is_copied = 0; is_copied <= 1; is_copied++) {
        struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
        const int64_t dead = stamps_first(story, A);
        crashes(story, A);
        at(story, 3900);
        const int64_t mine = looks(story, B, dead);
        if (is_copied)
            strikes_command(story, "duplicate", B, OP_ACQUIRE, delete);
        executes(story, B, OP_ACQUIRE, delete, INTEGER(1));
        executes(story, B, OP_ACQUIRE, command(VERB_SETNX, mine, 0), INTEGER(1));
        executes(story, B, OP_ACQUIRE, delete, INTEGER(1));
        returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        (void)stamps_first(story, C);
        ends(story);
        if (is_copied)
            assert_holds(story, PROPERTY_TRUTHFUL);
        else
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1,
                        is_copied ? CAUSE_UNLOCK_BUG : CAUSE_UNTRUE_ANSWER);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_stamp_may_refuse_for_two_units_more),
        cmocka_unit_test(two_takers_of_a_dead_stamp_one_wins),
        cmocka_unit_test(a_takeover_of_a_dead_holders_stamp_is_silent),
        cmocka_unit_test(a_takeover_of_a_slow_holders_stamp_is_an_overrun),
        cmocka_unit_test(a_stalled_losers_older_stamp_lets_a_third_client_in),
        cmocka_unit_test(a_getset_that_wins_against_the_odds_is_corrected_at_its_return),
        cmocka_unit_test(a_getset_that_won_was_granted_though_its_stamp_is_gone),
        cmocka_unit_test(a_takers_wrong_clock_is_named),
        cmocka_unit_test(an_owners_wrong_clock_is_named),
        cmocka_unit_test(a_lost_getset_is_remembered_against_its_client),
        cmocka_unit_test(refused_behind_a_dead_stamp_is_an_untruth),
        cmocka_unit_test(delete_and_setnx_takes_a_live_lock),
        cmocka_unit_test(a_loser_over_a_dead_stamp_overwrites_nobody),
        cmocka_unit_test(what_a_copy_of_its_delete_takes_away_its_client_was_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
