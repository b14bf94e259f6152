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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quorum_behind_dead_keys_is_stuck_whatever_strikes_others),
        cmocka_unit_test(a_fault_that_lasts_has_not_stopped),
        cmocka_unit_test(a_refusal_counts_from_the_answer_not_from_the_cleaning),
        cmocka_unit_test(a_late_majority_is_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
