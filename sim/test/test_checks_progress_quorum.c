/* test_checks_progress_quorum.c - when a lock over several servers is stuck, and when it is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

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

/* Leaves no pause of a lease of 300 before 800; one server of three bars nobody. */
static void asks_time_and_again(struct story *story)
{
    for (int ms = 250; ms <= 500; ms += 250) {
        at(story, ms);
        is_refused_by(story, D, 0, 1);
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
        asks_time_and_again(story);
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
        asks_time_and_again(story);
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

/* Two leases of asking end at 600. B is answered at 590 or at 610, and cleans up a little
 * later; or it takes so long that nothing of its lease is left, which it must refuse by itself. */
static void a_refusal_counts_from_the_answer_not_from_the_cleaning(void **state)
{
    static const struct {
        double called_ms, answered_ms, cleaned_ms;
        bool is_stuck;
    } rows[] = {{580, 590, 650, false}, {605, 610, 650, true}, {605, 610, 950, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = story_new(&majority, 3, 300);
        asks_time_and_again(story);
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

/* A key each, given back, and all are refused: at so late a time, behind a pause since the first
 * split vote, or a first acquire. */
static void splits_the_vote(struct story *story, int ms)
{
    at(story, ms);
    for (int client = A; client <= C; client++)
        calls(story, client, OP_ACQUIRE);
    for (int client = A; client <= C; client++)
        for (int s = 0; s < 3; s++)
            executes_at(story, client, s, OP_ACQUIRE, set(story, client),
                        s == client - A ? OK : NIL);
    for (int client = A; client <= C; client++)
        executes_at(story, client, client - A, OP_ACQUIRE,
                    command(VERB_COMPARE_DELETE, token(story, client), 0), INTEGER(1));
    for (int client = A; client <= C; client++)
        returns(story, client, OP_ACQUIRE, RESULT_REFUSED);
}

/* Nobody asked for it for a while, and then a vote is split: that is not stuck. Where they ask time
 * and again for so long it is. An acquire that has not returned asks for a lease: behind that
 * nobody can get it by that one, and so it is as if it did not ask. */
static void time_in_which_nobody_asks_does_not_count(void **state)
{
    static const struct {
        int every_ms, until_ms; /* split votes, from the first one on */
        bool hangs;             /* an acquire is under way from the beginning on */
        bool is_stuck;
    } tried[] = {
        {900, 900, false, false}, {900, 1800, false, false}, {200, 400, false, false},
        {200, 800, false, true},  {900, 900, true, false},   {900, 1800, true, false},
        {200, 400, true, false},  {200, 800, true, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = story_new(&majority, 3, 300);
        if (tried[i].hangs)
            calls(story, D, OP_ACQUIRE);
        for (int ms = tried[i].every_ms; ms <= tried[i].until_ms; ms += tried[i].every_ms)
            splits_the_vote(story, ms);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_PROGRESS].count > 0, tried[i].is_stuck);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quorum_behind_dead_keys_is_stuck_whatever_strikes_others),
        cmocka_unit_test(a_fault_that_lasts_has_not_stopped),
        cmocka_unit_test(a_refusal_counts_from_the_answer_not_from_the_cleaning),
        cmocka_unit_test(a_late_majority_is_progress),
        cmocka_unit_test(time_in_which_nobody_asks_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
