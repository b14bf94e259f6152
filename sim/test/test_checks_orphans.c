/* test_checks_orphans.c - keys that nobody counts on any more: where a scheme must not leave one,
 * and where it is not to blame. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

/* A's grant was executed, and its acquire failed: that its reply was lost, or something that it
 * sent since, shows, be that fault told or not. Where it heard of all, be it late, it was not. */
static void a_message_of_which_nothing_was_heard_was_lost(void **state)
{
    enum {
        UNHEARD,
        HEARD,
        HEARD_LATE,
        LOST_SINCE,
        LOST_BEHIND, /* what was sent before is heard in between */
        ANSWERED_SINCE,
        UNTOLD,
        WAYS
    };
    (void)state;
    for (int way = UNHEARD; way < WAYS; way++) {
        struct story *story = story_new(&expiring, 1, 300);
        const bool is_lost = way == UNHEARD || way == LOST_SINCE || way == LOST_BEHIND;
        is_granted(story, A);
        const struct command write = set(story, A),
                             compare = command(VERB_COMPARE_DELETE, write.value + 1, 0);
        if (way == HEARD || (is_lost && way != UNHEARD) || way == ANSWERED_SINCE)
            hears(story, A, 0, OP_ACQUIRE, write, OK);
        if (way == LOST_BEHIND) {
            executes(story, A, OP_ACQUIRE, command(VERB_GET, 0, 0), VALUE(write.value));
            hears(story, A, 0, OP_ACQUIRE, command(VERB_GET, 0, 0), VALUE(write.value));
        }
        if ((is_lost && way != UNHEARD) || way == ANSWERED_SINCE)
            sends(story, A, 0, OP_ACQUIRE, compare);
        if (way == ANSWERED_SINCE) {
            executes(story, A, OP_ACQUIRE, compare, INTEGER(0));
            hears(story, A, 0, OP_ACQUIRE, compare, INTEGER(0));
        }
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        if (way == HEARD_LATE)
            hears(story, A, 0, OP_ACQUIRE, write, OK);
        calls(story, B, OP_ACQUIRE);
        sends(story, B, 0, OP_ACQUIRE, set(story, B));
        executes(story, B, OP_ACQUIRE, set(story, B), NIL);
        if (way != UNTOLD)
            hears(story, B, 0, OP_ACQUIRE, set(story, B), NIL);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        at(story, 400);
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1, is_lost ? CAUSE_LEFTOVER : CAUSE_UNRELEASED);
        story_free(story);
    }
}

static void a_set_that_comes_after_its_acquire_is_an_orphan(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    sends(story, A, 0, OP_ACQUIRE, set(story, A));
    strikes(story, "give-up", A, 0, 0);
    returns(story, A, OP_ACQUIRE, RESULT_FAILED);
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    ends(story);
    assert_violated(story, PROPERTY_NO_ORPHAN, 1, CAUSE_LEFTOVER);
    assert_says(&story->findings[PROPERTY_NO_ORPHAN], "still there at the end");
    story_free(story);
}

/* A has released; a copy of its SET comes, and finds the lock free, or held by B. */
static struct story *copied_set(bool is_held)
{
    struct story *story = story_new(&expiring, 1, 300);
    calls(story, A, OP_ACQUIRE);
    sends(story, A, 0, OP_ACQUIRE, set(story, A));
    strikes_command(story, "duplicate", A, OP_ACQUIRE, set(story, A));
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    releases(story, A, 1);
    if (is_held)
        acquires(story, B);
    executes(story, A, OP_ACQUIRE, set(story, A), is_held ? NIL : OK);
    if (is_held)
        releases(story, B, 1);
    else
        at(story, 400);
    acquires(story, B);
    releases(story, B, 1);
    ends(story);
    return story;
}

static void a_late_copy_of_a_set_is_an_orphan(void **state)
{
    (void)state;
    struct story *story = copied_set(false);
    assert_violated(story, PROPERTY_NO_ORPHAN, 1, CAUSE_LEFTOVER);
    assert_says(&story->findings[PROPERTY_NO_ORPHAN], "A's release returned \"released\"");
    assert_says(&story->findings[PROPERTY_NO_ORPHAN], "It stayed until it expired.");
    assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
    story_free(story);
}

static void a_late_copy_that_finds_a_key_does_nothing(void **state)
{
    (void)state;
    struct story *story = copied_set(true);
    assert_silent(story);
    assert_holds(story, PROPERTY_NO_ORPHAN);
    story_free(story);
}

static void a_late_release_takes_the_orphan_away(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    calls(story, A, OP_RELEASE);
    strikes(story, "give-up", A, 0, 0);
    returns(story, A, OP_RELEASE, RESULT_FAILED);
    executes(story, A, OP_RELEASE, command(VERB_COMPARE_DELETE, token(story, A), 0), INTEGER(1));
    at(story, 1000);
    ends(story);
    assert_holds(story, PROPERTY_NO_ORPHAN);
    story_free(story);
}

/* --- no-orphan: of a quorum --- */

/* A and B ask three servers, B finds A on one of them, and keeps what it has; or takes it back. */
static struct story *minority(bool gives_back)
{
    struct story *story = story_new(&majority, 3, 300);
    struct command back;
    calls(story, B, OP_ACQUIRE);
    sends(story, B, 0, OP_ACQUIRE, set(story, B));
    executes_at(story, B, 0, OP_ACQUIRE, set(story, B), OK);
    back = command(VERB_COMPARE_DELETE, token(story, B), 0);
    if (gives_back)
        executes_at(story, B, 0, OP_ACQUIRE, back, INTEGER(1));
    return story;
}

static void a_minority_that_is_kept_without_a_fault_is_not_given_back(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        struct story *story = minority(false);
        returns(story, B, OP_ACQUIRE, how == 0 ? RESULT_REFUSED : RESULT_FAILED);
        at(story, 400);
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1, CAUSE_UNRELEASED);
        assert_says(&story->findings[PROPERTY_NO_ORPHAN], "lost, late or sent twice");
        assert_says(&story->findings[PROPERTY_NO_ORPHAN],
                    "Unreleased key of B: that server grants nobody the lock meanwhile.");
        story_free(story);
    }
}

static void a_minority_that_is_given_back_is_no_orphan(void **state)
{
    (void)state;
    struct story *story = minority(true);
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    at(story, 400);
    ends(story);
    assert_holds(story, PROPERTY_NO_ORPHAN);
    story_free(story);
}

/* A lost message of its own, a server that was struck, an answer that took a whole lease: nobody's
 * fault. What befalls another client, or befell the attempt before, excuses nothing. */
static void a_key_that_stays_because_of_a_fault_is_the_price_of_it(void **state)
{
    (void)state;
    for (int how = 0; how < 5; how++) {
        struct story *story = story_new(&majority, 3, 300);
        if (how == 4) {
            calls(story, B, OP_ACQUIRE);
            strikes(story, "lose-request", B, 0, 0);
            returns(story, B, OP_ACQUIRE, RESULT_FAILED);
        }
        calls(story, B, OP_ACQUIRE);
        at(story, 1);
        executes_at(story, B, 0, OP_ACQUIRE, set(story, B), OK);
        if (how == 0)
            strikes(story, "lose-request", B, 1, 0);
        if (how == 1)
            strikes(story, "restart-empty", -1, 1, 0);
        if (how == 2)
            at(story, 300.1);
        if (how == 3)
            strikes(story, "lose-request", A, 1, 0);
        returns(story, B, OP_ACQUIRE, RESULT_FAILED);
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1, how < 3 ? CAUSE_LEFTOVER : CAUSE_UNRELEASED);
        story_free(story);
    }
}

/* The SET was executed some time between 0 and 30 ms: from 300 ms on its key may be gone, and abort
 * the transaction of the release. */
static void a_key_that_may_have_expired_is_no_orphan_of_its_release(void **state)
{
    (void)state;
    for (int is_early = 0; is_early < 2; is_early++) {
        struct story *story = story_new(&expiring, 1, 300);
        calls(story, A, OP_ACQUIRE);
        struct event event = {.kind = EVENT_EXECUTE,
                              .index = story->index++,
                              .client = A,
                              .attempt = story->attempts[A],
                              .from_us = 200,
                              .time_us = 30000,
                              .command = set(story, A),
                              .reply = OK};
        checks_event(story->checks, &event);
        at(story, 31);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        at(story, is_early ? 250 : 310);
        calls(story, A, OP_RELEASE);
        executes(story, A, OP_RELEASE, command(VERB_GET, 0, 0), VALUE(token(story, A)));
        executes(story, A, OP_RELEASE, command(VERB_MULTI_DEL, 0, 0), NIL);
        returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
        at(story, 400);
        acquires(story, B);
        ends(story);
        if (is_early)
            assert_violated(story, PROPERTY_NO_ORPHAN, 1, CAUSE_UNTRUE_ANSWER);
        else
            assert_holds(story, PROPERTY_NO_ORPHAN);
        story_free(story);
    }
}

/* --- no-orphan: of an acquire that was cancelled --- */

/* A's server grants it the lock, and then its acquire is cancelled. what: befalls it, when. */
struct cancelled {
    const char *fault;
    enum { AT_ONCE, LATER, BEHIND, BEFORE } when;
    bool is_given_back, comes_late, is_told;
    enum cause cause; /* NONE: no orphan */
};

static void play_cancelled(const struct cancelled *it)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    calls(story, A, OP_ACQUIRE);
    sends_script(story, A, OP_ACQUIRE);
    if (it->fault && it->when == BEFORE)
        strikes(story, it->fault, A, 0, 0);
    if (!it->comes_late)
        runs(story, A, OP_ACQUIRE, created(A));
    at(story, 20);
    if (it->is_told)
        strikes(story, "cancel", A, -1, 0);
    story->now_us = it->when == AT_ONCE ? 20000 : 30000;
    if (it->fault && it->when <= LATER)
        strikes(story, it->fault, A, 0, 0);
    returns(story, A, OP_ACQUIRE, it->is_told ? RESULT_CANCELLED : RESULT_FAILED);
    if (it->comes_late)
        runs(story, A, OP_ACQUIRE, created(A));
    if (it->fault && it->when == BEHIND)
        strikes(story, it->fault, A, 0, 0);
    if (it->is_given_back)
        runs(story, A, OP_ACQUIRE, deleted(A));
    at(story, 400);
    calls(story, B, OP_ACQUIRE);
    runs(story, B, OP_ACQUIRE, created(B));
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    if (it->cause == CAUSE_NONE)
        assert_holds(story, PROPERTY_NO_ORPHAN);
    else
        assert_violated(story, PROPERTY_NO_ORPHAN, 1, it->cause);
    if (it->cause == CAUSE_UNRELEASED)
        assert_says(&story->findings[PROPERTY_NO_ORPHAN], "Its acquire had been cancelled at 20.0");
    assert_holds(story, PROPERTY_TRUTHFUL);
    assert_holds(story, PROPERTY_PROGRESS);
    story_free(story);
}

static void who_is_cancelled_gives_back_what_it_got(void **state)
{
    static const struct cancelled rows[] = {
        {.is_told = true, .is_given_back = true},
        {.is_told = true, .cause = CAUSE_UNRELEASED},
        {.is_told = true, .fault = "give-up", .when = AT_ONCE, .cause = CAUSE_UNRELEASED},
        {.is_told = true, .fault = "give-up", .when = LATER, .cause = CAUSE_LEFTOVER},
        {.is_told = true, .fault = "lose-reply", .when = BEFORE, .cause = CAUSE_LEFTOVER},
        {.is_told = true, .fault = "lose-reply", .when = AT_ONCE, .cause = CAUSE_LEFTOVER},
        {.is_told = true, .fault = "lose-request", .when = BEHIND, .cause = CAUSE_LEFTOVER},
        {.is_told = true, .comes_late = true, .cause = CAUSE_LEFTOVER},
        {.cause = CAUSE_LEFTOVER}, /* nobody knows what befell it */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        play_cancelled(&rows[i]);
}

/* A's first acquire has no answer; the second one is granted, and then comes the first: where it
 * enters the lock once more, one release is not the last. */
static void a_late_acquire_may_enter_what_its_client_has(void **state)
{
    static const struct {
        enum did did;
        enum cause cause;
    } late[] = {{DID_LENGTHENED, CAUSE_LEFTOVER},
                {DID_READ, CAUSE_LEFTOVER},
                {DID_REFUSED, CAUSE_UNTRUE_ANSWER},
                {DID_NOTHING, CAUSE_UNTRUE_ANSWER}};
    (void)state;
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        struct key_effect entered = refused(EFFECT_SET, A);
        calls(story, A, OP_ACQUIRE);
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        calls(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, created(A));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        entered.did = late[i].did;
        if (entered.did == DID_LENGTHENED)
            entered = expiry(DID_LENGTHENED, LEASE_MS);
        story->attempts[A] = 1;
        if (entered.did != DID_NOTHING)
            runs(story, A, OP_ACQUIRE, entered);
        story->attempts[A] = 2;
        entered.did = DID_READ;
        gives_back(story, A, entered, RESULT_RELEASED);
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1, late[i].cause);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_of_which_nothing_was_heard_was_lost),
        cmocka_unit_test(a_set_that_comes_after_its_acquire_is_an_orphan),
        cmocka_unit_test(a_late_copy_of_a_set_is_an_orphan),
        cmocka_unit_test(a_late_copy_that_finds_a_key_does_nothing),
        cmocka_unit_test(a_late_release_takes_the_orphan_away),
        cmocka_unit_test(a_minority_that_is_kept_without_a_fault_is_not_given_back),
        cmocka_unit_test(a_minority_that_is_given_back_is_no_orphan),
        cmocka_unit_test(a_key_that_stays_because_of_a_fault_is_the_price_of_it),
        cmocka_unit_test(a_key_that_may_have_expired_is_no_orphan_of_its_release),
        cmocka_unit_test(who_is_cancelled_gives_back_what_it_got),
        cmocka_unit_test(a_late_acquire_may_enter_what_its_client_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
