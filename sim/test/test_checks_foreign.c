/* test_checks_foreign.c - a server that forgets unseen, or somebody whom the history does not know
 * and who removes keys: never the scheme's fault. As a proxy sees it: an execution happened some
 * time in a span. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

enum { SPAN_US = 90 };

/* Executed some time in the SPAN_US before now. */
static void seen(struct story *story, int client, enum operation op, struct command command,
                 struct reply reply)
{
    struct event event = {.kind = EVENT_EXECUTE,
                          .index = story->index++,
                          .client = client,
                          .attempt = story->attempts[client],
                          .op = op,
                          .from_us = story->now_us - SPAN_US,
                          .time_us = story->now_us,
                          .command = command,
                          .reply = reply};
    checks_event(story->checks, &event);
    story->now_us += STORY_STEP_US;
}

static void takes(struct story *story, int client)
{
    calls(story, client, OP_ACQUIRE);
    seen(story, client, OP_ACQUIRE, set(story, client), OK);
    returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
}

static void gives_back(struct story *story, int client, int64_t answer, enum result result)
{
    calls(story, client, OP_RELEASE);
    seen(story, client, OP_RELEASE, command(VERB_COMPARE_DELETE, token(story, client), 0),
         INTEGER(answer));
    returns(story, client, OP_RELEASE, result);
}

/* --- "not mine", long before the end of the lease --- */

/* Somebody took it away, or the server's answer is not so: nobody is to blame, and nothing holds.
 */
static void who_is_told_of_a_loss_by_the_server_is_not_to_blame(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    takes(story, A);
    at(story, 50);
    gives_back(story, A, 0, RESULT_NOT_MINE);
    ends(story);
    assert_silent(story);
    assert_verdict(story, PROPERTY_TRUTHFUL, VERDICT_UNKNOWN);
    assert_says(
        &story->findings[PROPERTY_TRUTHFUL],
        "server 1 answered A's compare-and-delete, executed at 50.1 ms, as where the key is "
        "not its own, but the key was there");
    story_free(story);
}

/* The server deleted it, or was not even asked. */
static void who_invents_a_loss_does_not_tell_the_truth(void **state)
{
    (void)state;
    for (int is_asked = 0; is_asked < 2; is_asked++) {
        struct story *story = story_whole(&expiring, 1, 300);
        takes(story, A);
        at(story, 50);
        if (is_asked) {
            gives_back(story, A, 1, RESULT_NOT_MINE);
        } else {
            calls(story, A, OP_RELEASE);
            returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
        }
        ends(story);
        assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        story_free(story);
    }
}

/* A's loss is known before B asks, so that two that believe at once are an early expiry. With B's
 * DEL, which is told a little later, it is B's. */
static void what_explains_a_loss_may_be_told_after_it(void **state)
{
    (void)state;
    for (int is_deleted = 0; is_deleted < 2; is_deleted++) {
        struct story *story = story_new(&expiring, 1, 300);
        takes(story, A);
        at(story, 50);
        calls(story, A, OP_RELEASE);
        seen(story, A, OP_RELEASE, command(VERB_COMPARE_DELETE, token(story, A), 0), INTEGER(0));
        story->now_us -= STORY_STEP_US - 10; /* the same turn of the server's loop */
        calls(story, B, OP_RELEASE);
        story->now_us -= STORY_STEP_US - 10;
        if (is_deleted)
            seen(story, B, OP_RELEASE, command(VERB_DEL, 0, 0), INTEGER(1));
        returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
        at(story, 150);
        takes(story, C);
        ends(story);
        assert_verdict(story, PROPERTY_TRUTHFUL, is_deleted ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        if (is_deleted)
            assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
        else
            assert_verdict(story, PROPERTY_RELEASE_OWN, VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* --- fencing tokens --- */

static void mints(struct story *story, int client, int64_t number, int64_t told)
{
    struct command mint = command(VERB_SET_MINT, token(story, client) + 1, 300);
    calls(story, client, OP_ACQUIRE);
    seen(story, client, OP_ACQUIRE, mint, INTEGER(number));
    happens(story, (struct event){.kind = EVENT_RETURN,
                                  .client = client,
                                  .server = -1,
                                  .op = OP_ACQUIRE,
                                  .result = RESULT_GRANTED,
                                  .fence = told});
}

static void writes(struct story *story, int client, int64_t fence, int64_t answer)
{
    seen(story, client, OP_ACCESS,
         (struct command){
             .verb = VERB_FENCED_SET, .key = KEY_RESOURCE, .value = fence, .number = fence},
         INTEGER(answer));
}

/* A carries 5; B gets it after A's lease. The server's counter says 6 or 1, and B carries 1. */
static void a_counter_that_goes_back_was_forgotten(void **state)
{
    (void)state;
    for (int number = 1; number <= 6; number += 5) {
        struct story *story = story_new(&minting, 1, 300);
        mints(story, A, 5, 5);
        writes(story, A, 5, 1);
        at(story, 310);
        mints(story, B, number, 1);
        writes(story, B, 1, 0);
        ends(story);
        assert_violated(story, PROPERTY_FENCE_ORDER, 2,
                        number == 1 ? CAUSE_LOST_GRANT : CAUSE_FENCE_DISORDER);
        story_free(story);
    }
}

/* B, newer, writes; A's late write is accepted. The resource knows A's token for the smaller one,
 * so it must have forgotten B's; or the scheme gave A the larger one. */
static void a_resource_that_takes_a_smaller_token_has_forgotten_a_larger_one(void **state)
{
    (void)state;
    for (int is_scheme = 0; is_scheme < 2; is_scheme++) {
        struct story *story = story_new(&minting, 1, 300);
        calls(story, A, OP_ACQUIRE);
        seen(story, A, OP_ACQUIRE, set(story, A), OK);
        at(story, 310);
        calls(story, B, OP_ACQUIRE);
        seen(story, B, OP_ACQUIRE, set(story, B), OK);
        writes(story, B, 2, 1);
        writes(story, A, is_scheme ? 3 : 1, 1);
        ends(story);
        if (is_scheme)
            assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_STALE_WRITE);
        else
            assert_holds(story, PROPERTY_FENCE_ORDER);
        story_free(story);
    }
}

/* --- the counter --- */

static void counts(struct story *story, int client, int64_t read, int64_t written)
{
    seen(story, client, OP_ACCESS, (struct command){.verb = VERB_GET, .key = KEY_COUNTER},
         read ? VALUE(read) : NIL);
    seen(story, client, OP_ACCESS,
         (struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = written}, OK);
}

/* B reads what nobody wrote; or what A wrote, and writes something else. */
static void a_counter_that_nobody_wrote_is_the_deployments(void **state)
{
    (void)state;
    for (int is_odd = 0; is_odd < 2; is_odd++) {
        struct story *story = story_new(&expiring, 1, 300);
        takes(story, A);
        counts(story, A, 0, 1);
        gives_back(story, A, 1, RESULT_RELEASED);
        takes(story, B);
        counts(story, B, is_odd ? 0 : 1, 1);
        ends(story);
        assert_violated(story, PROPERTY_NO_LOST_UPDATE, 1,
                        is_odd ? CAUSE_LOST_GRANT : CAUSE_STALE_WRITE);
        if (is_odd)
            assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], "which nobody had written");
        story_free(story);
    }
}

/* --- nothing was granted --- */

static void what_needs_a_grant_is_unknown_without_one(void **state)
{
    static const enum property needing[] = {PROPERTY_FRESH_GRANT, PROPERTY_LOSS_NOTICE};
    (void)state;
    for (int is_granted_once = 0; is_granted_once < 2; is_granted_once++) {
        struct story *story = story_new(&noticing, 1, 300);
        calls(story, A, OP_ACQUIRE);
        seen(story, A, OP_ACQUIRE, set(story, A),
             is_granted_once ? OK : (struct reply){.kind = REPLY_ERROR, .error = ERROR_OOM});
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        ends(story);
        for (int i = 0; i < 2; i++)
            assert_verdict(story, needing[i], is_granted_once ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_told_of_a_loss_by_the_server_is_not_to_blame),
        cmocka_unit_test(who_invents_a_loss_does_not_tell_the_truth),
        cmocka_unit_test(what_explains_a_loss_may_be_told_after_it),
        cmocka_unit_test(a_counter_that_goes_back_was_forgotten),
        cmocka_unit_test(a_resource_that_takes_a_smaller_token_has_forgotten_a_larger_one),
        cmocka_unit_test(a_counter_that_nobody_wrote_is_the_deployments),
        cmocka_unit_test(what_needs_a_grant_is_unknown_without_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
