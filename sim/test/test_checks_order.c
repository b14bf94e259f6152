/* test_checks_order.c - executions that are logged in another order than they happened in, and
 * clocks that disagree a little: what is said of them all the same, and what not. The same at
 * random: test_checks_random.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

static void a_real_violation_survives_a_wrong_order(void **state)
{
    /* A's key is evicted; nothing explains B's SET, whatever comes later. */
    struct story *story = story_whole(&expiring, 1, 300);
    struct event late;
    (void)state;
    acquires(story, A);
    calls(story, B, OP_ACQUIRE);
    late = (struct event){.kind = EVENT_EXECUTE,
                          .client = B,
                          .attempt = 1,
                          .index = story->index++,
                          .from_us = story->now_us,
                          .time_us = story->now_us + 80,
                          .command = set(story, B),
                          .reply = OK};
    checks_event(story->checks, &late);
    at(story, 1);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_EARLY_EXPIRY);
    story_free(story);
}

static void a_client_is_never_taken_to_delete_before_it_set(void **state)
{
    /* A is dead, its key gone without a word; B sets, is told, and deletes: its own key, not A's.
     */
    struct story *story = story_new(&expiring, 1, 300);
    const struct command commands[] = {set(story, B), command(VERB_DEL, 0, 0)};
    const struct reply replies[] = {OK, INTEGER(1)};
    (void)state;
    acquires(story, A);
    crashes(story, A);
    calls(story, B, OP_ACQUIRE);
    for (int i = 0; i < 2; i++) {
        struct event event = {.kind = EVENT_EXECUTE,
                              .client = B,
                              .attempt = 1,
                              .op = i ? OP_RELEASE : OP_ACQUIRE,
                              .index = story->index++,
                              .from_us = story->now_us,
                              .time_us = story->now_us + 80,
                              .command = commands[i],
                              .reply = replies[i]};
        checks_event(story->checks, &event);
        story->now_us += 100;
        if (i == 0)
            returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        if (i == 0)
            calls(story, B, OP_RELEASE);
    }
    ends(story);
    /* Nobody is blamed; where A's key went nobody saw. When B was told, its SET was still to be
     * explained. */
    assert_verdict(story, PROPERTY_RELEASE_OWN, VERDICT_UNKNOWN);
    assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, VERDICT_UNKNOWN);
    assert_verdict(story, PROPERTY_TRUTHFUL, VERDICT_UNKNOWN);
    story_free(story);
}

static void clocks_that_disagree_a_little_are_no_early_expiry(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    story->head.clock_error_us = 5000;
    (void)story_begin(story, &expiring);
    acquires(story, A);
    at(story, 297); /* by the server's clock 302 */
    acquires(story, B);
    ends(story);
    assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
    assert_holds(story, PROPERTY_LEASE_EXCLUSION);
    story_free(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_violation_survives_a_wrong_order),
        cmocka_unit_test(a_client_is_never_taken_to_delete_before_it_set),
        cmocka_unit_test(clocks_that_disagree_a_little_are_no_early_expiry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
