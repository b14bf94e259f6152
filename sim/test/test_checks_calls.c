/* test_checks_calls.c - are a client's calls in order? Who touches what the lock guards must have
 * been told "granted", and not have let it go; who goes on must have been answered. Else a line is
 * missing or was changed, or the client does not keep to its lock: nothing holds, and nobody is
 * blamed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

static struct story *story_of(bool has_all_commands)
{
    struct story *story = story_new(&expiring, 1, 300);
    story->head.has_all_commands = has_all_commands;
    (void)story_begin(story, &expiring);
    return story;
}

static void works(struct story *story, int client)
{
    calls(story, client, OP_ACCESS);
    executes(story, client, OP_ACCESS, (struct command){.verb = VERB_GET, .key = KEY_COUNTER}, NIL);
    returns(story, client, OP_ACCESS, RESULT_DONE);
}

static void is_noticed(struct story *story, int client)
{
    happens(story, (struct event){.kind = EVENT_NOTICE, .client = client, .server = -1});
}

static void assert_proves_nothing(struct story *story, const char *words)
{
    ends(story);
    assert_silent(story);
    assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, VERDICT_UNKNOWN);
    assert_verdict(story, PROPERTY_NO_LOST_UPDATE, VERDICT_UNKNOWN);
    assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], words);
    story_free(story);
}

static void assert_in_order(struct story *story)
{
    ends(story);
    assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
    story_free(story);
}

/* A has the lock. B was never told so, or was told otherwise, and works all the same. */
static void who_works_has_been_granted_the_lock(void **state)
{
    static const struct {
        enum result told;
        const char *words;
    } tried[] = {
        {RESULT_NONE, "how its acquire before ended is not in the history"},
        {RESULT_REFUSED, "its acquire had returned \"refused\", not \"granted\""},
        {RESULT_FAILED, "its acquire had returned \"failed\", not \"granted\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        for (int does_work = 0; does_work < 2; does_work++) {
            struct story *story = story_of(false);
            acquires(story, A);
            calls(story, B, OP_ACQUIRE);
            sends(story, B, 0, OP_ACQUIRE, set(story, B));
            executes(story, B, OP_ACQUIRE, set(story, B), NIL);
            if (tried[i].told != RESULT_NONE)
                returns(story, B, OP_ACQUIRE, tried[i].told);
            if (does_work)
                works(story, B);
            works(story, A);
            releases(story, A, 1);
            if (does_work)
                assert_proves_nothing(story, tried[i].words);
            else
                assert_in_order(story);
        }
}

static void who_never_asked_does_not_work(void **state)
{
    struct story *story = story_of(false);
    (void)state;
    acquires(story, A);
    is_refused(story, B);
    works(story, C);
    assert_proves_nothing(story, "its call of acquire is not in the history");
}

/* A has one lock, B the other, and A works at its own, or at B's. */
static void who_has_another_lock_does_not_work(void **state)
{
    (void)state;
    for (int lock = 0; lock < 2; lock++) {
        struct story *story = story_of(false);
        acquires(story, A);
        is_refused(story, C);
        story->lock = 1;
        acquires(story, B);
        story->lock = lock;
        works(story, A);
        if (lock == 0)
            assert_in_order(story);
        else
            assert_proves_nothing(story, "it had asked for another lock");
    }
}

/* A works, and gives the lock back, or is told that it is lost; in this order, or not. */
static void who_has_let_the_lock_go_does_not_work(void **state)
{
    (void)state;
    for (int is_told = 0; is_told < 2; is_told++)
        for (int is_over = 0; is_over < 2; is_over++) {
            struct story *story = story_of(true);
            acquires(story, A);
            is_refused(story, B);
            works(story, A);
            (is_told ? is_noticed(story, A) : releases(story, A, 1));
            if (is_over)
                works(story, A);
            if (is_over)
                assert_proves_nothing(story, "its hold was over, as it knew");
            else
                assert_in_order(story);
        }
}

/* A program that is refused, or hears nothing, may release all the same; where it did not wait for
 * the answer, that may have been a grant. */
static void who_releases_was_answered(void **state)
{
    (void)state;
    for (int is_told = 0; is_told < 2; is_told++) {
        struct story *story = story_of(false);
        acquires(story, A);
        calls(story, B, OP_ACQUIRE);
        sends(story, B, 0, OP_ACQUIRE, set(story, B));
        executes(story, B, OP_ACQUIRE, set(story, B), NIL);
        if (is_told)
            returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        releases(story, B, 0);
        works(story, A);
        if (is_told)
            assert_in_order(story);
        else
            assert_proves_nothing(story, "how its acquire before ended is not in the history");
    }
}

/* What calls and returns prove is so whatever else is missing. */
static void two_holds_are_two_whatever_is_missing(void **state)
{
    struct story *story = story_of(false);
    (void)state;
    acquires(story, A);
    calls(story, B, OP_ACQUIRE);
    sends(story, B, 0, OP_ACQUIRE, set(story, B));
    executes(story, B, OP_ACQUIRE, set(story, B), OK);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    calls(story, C, OP_ACQUIRE);
    sends(story, C, 0, OP_ACQUIRE, set(story, C));
    executes(story, C, OP_ACQUIRE, set(story, C), NIL);
    works(story, C);
    ends(story);
    assert_verdict(story, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED);
    story_free(story);
}

/* What of ours was not answered by then, and what came between. */
static void ours_goes_on_when_it_was_answered(void **state)
{
    enum { WHOLE, ACQUIRE, ACCESS, RELEASE, UNCALLED, CRASHED, WAYS };
    (void)state;
    for (int way = WHOLE; way < WAYS; way++)
        for (int is_ours = 0; is_ours < 2; is_ours++) {
            struct story *story = story_of(is_ours);
            const bool is_whole = way == WHOLE || way == CRASHED || (way != UNCALLED && !is_ours);
            acquires(story, A);
            is_refused(story, B);
            if (way == UNCALLED)
                returns(story, A, OP_ACCESS, RESULT_DONE);
            works(story, A);
            if (way == ACCESS || way == CRASHED)
                calls(story, A, OP_ACCESS);
            if (way == CRASHED)
                crashes(story, A);
            if (way == RELEASE)
                calls(story, A, OP_RELEASE);
            else if (way != CRASHED)
                releases(story, A, 1);
            if (way == ACQUIRE)
                calls(story, A, OP_ACQUIRE);
            is_refused(story, A);
            ends(story);
            assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION,
                           is_whole ? VERDICT_HOLDS : VERDICT_UNKNOWN);
            story_free(story);
        }
}

/* Nobody tells of calls where the wire alone was seen. */
static void what_was_seen_on_the_wire_has_no_calls(void **state)
{
    struct story *story = story_of(false);
    (void)state;
    acquires(story, A);
    is_refused(story, B);
    executes(story, B, OP_ACCESS, (struct command){.verb = VERB_GET, .key = KEY_COUNTER}, NIL);
    releases(story, A, 1);
    assert_in_order(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_works_has_been_granted_the_lock),
        cmocka_unit_test(who_never_asked_does_not_work),
        cmocka_unit_test(who_has_another_lock_does_not_work),
        cmocka_unit_test(who_has_let_the_lock_go_does_not_work),
        cmocka_unit_test(who_releases_was_answered),
        cmocka_unit_test(two_holds_are_two_whatever_is_missing),
        cmocka_unit_test(ours_goes_on_when_it_was_answered),
        cmocka_unit_test(what_was_seen_on_the_wire_has_no_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
