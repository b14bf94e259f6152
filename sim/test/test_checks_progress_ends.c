/* test_checks_progress_ends.c - attempts that end in vain though nothing was in their way, and such
 * as never end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

/* --- an acquire that fails --- */

enum blow { NO_MISHAP, STRUCK, UNHEARD, ANSWERED_ERROR, ASKED_LATE, MISHAPS };

/* One whole attempt of the client, which ends so; a mishap is a reason for that. */
static void fails(struct story *story, int client, struct reply reply, enum blow mishap,
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
            fails(story, B, INTEGER(0), (enum blow)mishap,
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

/* A reads that there is no key. B has the lock, before A asks or since, and gives it back; and A is
 * refused where no key is, as in a transaction whose key was written meanwhile. */
static void who_was_overtaken_and_hears_of_it_late_is_not_stuck(void **state)
{
    (void)state;
    for (int overtakes = 0; overtakes < 2; overtakes++) {
        const struct command get = command(VERB_GET, 0, 0), set = command(VERB_SETNX, 1, 0);
        const struct command del = command(VERB_DEL, 0, 0);
        struct story *story = story_new(&everlasting, 1, 300);
        for (int i = 0; i < 2; i++) {
            if (i == overtakes) {
                calls(story, B, OP_ACQUIRE);
                executes(story, B, OP_ACQUIRE, set, INTEGER(1));
                returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
                calls(story, B, OP_RELEASE);
                executes(story, B, OP_RELEASE, del, INTEGER(1));
                returns(story, B, OP_RELEASE, RESULT_RELEASED);
                continue;
            }
            at(story, overtakes ? 100 : 2000);
            calls(story, A, OP_ACQUIRE);
            sends(story, A, 0, OP_ACQUIRE, get);
            executes(story, A, OP_ACQUIRE, get, NIL);
            hears(story, A, 0, OP_ACQUIRE, get, NIL);
        }
        at(story, 4000);
        returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (overtakes)
            assert_holds(story, PROPERTY_PROGRESS);
        else
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
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
            fails(story, A, INTEGER(1), (enum blow)mishap, results[i]);
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

static void rings(struct story *story, int client)
{
    happens(story, (struct event){.kind = EVENT_WAKE, .client = client, .server = -1});
}

/* Its timers ring and send nothing: no try of the lock, so it is not stuck; and where its world
 * says that it will be so for ever, that is told. */
static void timers_that_send_nothing_are_no_tries(void **state)
{
    (void)state;
    for (int is_endless = 0; is_endless < 2; is_endless++) {
        struct story *story = story_new(&expiring, 1, 1000);
        calls(story, A, OP_ACQUIRE);
        for (int i = 1; i <= 6; i++) {
            at(story, 60000 * i);
            rings(story, A);
        }
        if (is_endless)
            strands(story, A, OP_ACQUIRE);
        ends(story);
        if (is_endless) {
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_ENDLESS_WAIT);
            assert_says(&story->findings[PROPERTY_PROGRESS], "have rung 6 times by 360000");
        } else {
            assert_silent(story);
        }
        story_free(story);
    }
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
        cmocka_unit_test(a_failure_that_no_fault_explains_is_a_refusal),
        cmocka_unit_test(who_was_overtaken_and_hears_of_it_late_is_not_stuck),
        cmocka_unit_test(an_owner_that_is_not_told_so_never_acquires),
        cmocka_unit_test(who_fails_in_company_may_acquire_another_time),
        cmocka_unit_test(who_trips_in_company_may_acquire_another_time),
        cmocka_unit_test(a_release_that_waits_for_nothing_never_returns),
        cmocka_unit_test(timers_that_send_nothing_are_no_tries),
        cmocka_unit_test(an_acquire_that_waits_for_nothing_never_returns),
        cmocka_unit_test(an_operation_that_has_not_returned_yet_waits_for_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
