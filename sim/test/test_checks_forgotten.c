/* test_checks_forgotten.c - a server forgot its keys, the counter of fencing tokens and what the
 * resource had accepted too: whose fault is what the resource takes and refuses from then on? */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

/* Of an attempt of that client, 0: the one that goes on. */
static void writes_of(struct story *story, int client, int attempt, int64_t fence,
                      struct reply reply)
{
    const struct command write = {.verb = fence ? VERB_FENCED_SET : VERB_SET,
                                  .key = KEY_RESOURCE,
                                  .value = fence ? fence : client + 1,
                                  .number = fence};
    happens(story, (struct event){.kind = EVENT_EXECUTE,
                                  .client = client,
                                  .attempt = attempt,
                                  .op = OP_ACCESS,
                                  .command = write,
                                  .reply = reply});
}

static void writes(struct story *story, int client, int64_t fence, struct reply reply)
{
    writes_of(story, client, 0, fence, reply);
}

/* The counter began anew, so B's token is the smaller one though it is newer; what has no token is
 * refused by nobody, restart or not. */
static void what_a_forgotten_counter_lets_in_is_the_deployments(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        const bool is_fenced = how & 1, has_restart = how & 2;
        struct story *story = story_new(is_fenced ? &minting : &expiring, 1, 300);
        is_granted(story, A);
        if (has_restart)
            strikes(story, "restart-empty", -1, 0, 0);
        else
            at(story, 310);
        is_granted(story, B);
        writes(story, B, is_fenced ? 1 : 0, is_fenced ? INTEGER(1) : OK);
        writes(story, A, is_fenced ? 2 : 0, is_fenced ? INTEGER(1) : OK);
        ends(story);
        assert_violated(story, PROPERTY_FENCE_ORDER, 1,
                        is_fenced && has_restart ? CAUSE_LOST_GRANT : CAUSE_STALE_WRITE);
        story_free(story);
    }
}

/* A's write comes first, and B's, which is newer, is refused: A's token is of before a restart; or
 * it is not, and the scheme's doing. */
static void what_a_forgotten_counter_keeps_out_is_the_deployments(void **state)
{
    enum { BEFORE, BETWEEN, TWICE, NEVER };
    (void)state;
    for (int restart = BEFORE; restart <= NEVER; restart++) {
        struct story *story = story_new(&minting, 1, 300);
        if (restart == BEFORE)
            strikes(story, "restart-empty", -1, 0, 0);
        is_granted(story, A);
        at(story, 310);
        if (restart == BETWEEN || restart == TWICE)
            strikes(story, "restart-empty", -1, 0, 0);
        is_granted(story, B);
        if (restart == TWICE)
            strikes(story, "restart-empty", -1, 0, 0);
        writes(story, A, 2, INTEGER(1));
        writes(story, B, 1, INTEGER(0));
        ends(story);
        assert_violated(story, PROPERTY_FENCE_ORDER, 1,
                        restart == BETWEEN || restart == TWICE ? CAUSE_LOST_GRANT
                                                               : CAUSE_FENCE_DISORDER);
        story_free(story);
    }
}

/* A's late write is of three attempts ago; that its token is of before says the counter, which has
 * come to 1 since, or to 7. */
static void the_token_of_an_attempt_long_ago_is_told_by_the_counter(void **state)
{
    (void)state;
    for (int count = 1; count <= 7; count += 6) {
        struct story *story = story_new(&minting, 1, 300);
        is_granted(story, A);
        const int long_ago = story->attempts[A];
        strikes(story, "restart-empty", -1, 0, 0);
        for (int i = 0; i < 3; i++) {
            calls(story, A, OP_ACQUIRE);
            returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        }
        is_granted(story, B);
        executes(story, B, OP_ACQUIRE, (struct command){.verb = VERB_INCR, .key = KEY_FENCE},
                 INTEGER(count));
        writes_of(story, A, long_ago, 7, INTEGER(1));
        writes(story, B, 1, INTEGER(0));
        ends(story);
        assert_violated(story, PROPERTY_FENCE_ORDER, 1,
                        count == 1 ? CAUSE_LOST_GRANT : CAUSE_FENCE_DISORDER);
        story_free(story);
    }
}

/* B, newer, had written; that came back with the server, and A's late write is rightly refused. One
 * that is granted behind the restart knows of nobody newer. */
static void what_came_back_may_be_of_a_newer_holder(void **state)
{
    (void)state;
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        struct story *story = story_new(&minting, 1, 300);
        is_granted(story, A);
        at(story, 310);
        is_granted(story, B);
        writes(story, B, 2, INTEGER(1));
        at(story, 620);
        strikes(story, "restart-old", -1, 0, 0);
        if (is_behind)
            is_granted(story, A);
        writes(story, A, 1, INTEGER(0));
        ends(story);
        if (is_behind)
            assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_FENCE_DISORDER);
        else
            assert_holds(story, PROPERTY_FENCE_ORDER);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_forgotten_counter_lets_in_is_the_deployments),
        cmocka_unit_test(what_a_forgotten_counter_keeps_out_is_the_deployments),
        cmocka_unit_test(what_came_back_may_be_of_a_newer_holder),
        cmocka_unit_test(the_token_of_an_attempt_long_ago_is_told_by_the_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
