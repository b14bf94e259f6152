/* test_checks_missing.c - what was returned, or executed, and has no call of its attempt in the
 * history: a part is missing, and all is unknown, be it told or inferred from the wire. So it is
 * where a reply was heard to what no server executed, where a grant was told that none gave, unless
 * its client can have guessed, and where a foreign command is refused by a value that is not the
 * living key's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

/* Of the attempt that is given, and inferred or not. */
struct told_part {
    enum event_kind kind;
    int client, attempt;
    enum operation op;
    enum result result;
};

static void tells(struct story *story, bool is_inferred, struct told_part part)
{
    if (part.kind == EVENT_CALL && part.op == OP_ACQUIRE)
        story->attempts[part.client] = part.attempt;
    happens(story, (struct event){.kind = part.kind,
                                  .client = part.client,
                                  .server = -1,
                                  .attempt = part.attempt,
                                  .op = part.op,
                                  .result = part.result,
                                  .is_inferred = is_inferred});
}

/* A takes the lock, B is refused it, A gives it back. */
static struct story *whole(bool is_inferred)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    tells(story, is_inferred, (struct told_part){EVENT_CALL, A, 1, OP_ACQUIRE, RESULT_NONE});
    runs(story, A, OP_ACQUIRE, created(A));
    tells(story, is_inferred, (struct told_part){EVENT_RETURN, A, 1, OP_ACQUIRE, RESULT_GRANTED});
    tells(story, is_inferred, (struct told_part){EVENT_CALL, B, 1, OP_ACQUIRE, RESULT_NONE});
    runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
    tells(story, is_inferred, (struct told_part){EVENT_RETURN, B, 1, OP_ACQUIRE, RESULT_REFUSED});
    tells(story, is_inferred, (struct told_part){EVENT_CALL, A, 1, OP_EXTEND, RESULT_NONE});
    runs(story, A, OP_EXTEND, expiry(DID_LENGTHENED, LEASE_MS));
    tells(story, is_inferred, (struct told_part){EVENT_RETURN, A, 1, OP_EXTEND, RESULT_DONE});
    return story;
}

static void gives_back_by(struct story *story, bool is_inferred, int called, int returned)
{
    tells(story, is_inferred, (struct told_part){EVENT_CALL, A, called, OP_RELEASE, RESULT_NONE});
    runs(story, A, OP_RELEASE, deleted(A));
    tells(story, is_inferred,
          (struct told_part){EVENT_RETURN, A, returned, OP_RELEASE, RESULT_RELEASED});
}

static void hears_script(struct story *story, int client, enum operation op, struct reply reply)
{
    happens(story,
            (struct event){
                .kind = EVENT_HEAR, .client = client, .op = op, .reply = reply, .opaque = &script});
}

static void assert_exclusion(const struct story *story, enum verdict verdict)
{
    assert_int_equal(story->findings[PROPERTY_MUTUAL_EXCLUSION].verdict, verdict);
    assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].verdict, verdict);
}

static void a_return_without_a_call_is_missing_a_part(void **state)
{
    static const struct told_part parts[] = {
        {EVENT_RETURN, C, 7, OP_ACQUIRE, RESULT_GRANTED},
        {EVENT_RETURN, C, 7, OP_ACQUIRE, RESULT_REFUSED},
        {EVENT_RETURN, C, 7, OP_RELEASE, RESULT_RELEASED},
        {EVENT_RETURN, B, 1, OP_RELEASE, RESULT_RELEASED},
        {EVENT_RETURN, B, 1, OP_ACQUIRE, RESULT_REFUSED}, /* once more */
        {EVENT_RETURN, A, 1, OP_EXTEND, RESULT_DONE},     /* once more */
    };
    (void)state;
    for (int is_inferred = 0; is_inferred < 2; is_inferred++)
        for (int i = -1; i < (int)(sizeof parts / sizeof parts[0]); i++) {
            struct story *story = whole(is_inferred);
            gives_back_by(story, is_inferred, 1, 1);
            if (i >= 0)
                tells(story, is_inferred, parts[i]);
            ends(story);
            assert_exclusion(story, i < 0 ? VERDICT_HOLDS : VERDICT_UNKNOWN);
            story_free(story);
        }
}

/* A hears that its release was done, be that executed or not; or C a reply in an attempt that it
 * has not begun. */
static void a_reply_to_what_no_server_executed_is_missing_a_part(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct story *story = whole(true);
        tells(story, true, (struct told_part){EVENT_CALL, A, 1, OP_RELEASE, RESULT_NONE});
        if (i != 1)
            runs(story, A, OP_RELEASE, deleted(A));
        happens(story, (struct event){.kind = EVENT_HEAR,
                                      .client = i == 2 ? C : A,
                                      .attempt = i == 2 ? 7 : 1,
                                      .op = OP_RELEASE,
                                      .reply = INTEGER(1),
                                      .opaque = &script});
        tells(story, true, (struct told_part){EVENT_RETURN, A, 1, OP_RELEASE, RESULT_RELEASED});
        ends(story);
        assert_exclusion(story, i == 0 ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* C is told "granted" while another's reply is heard. What it asked was executed, or nobody saw
 * that; or it guessed: it is executed behind its answer, stands still, was given up, or refused
 * with an error. */
enum guess {
    EXECUTED,
    UNSEEN,
    WAS_DELAYED,
    IS_DELAYED,
    LATE,
    GIVEN_UP,
    TOLD_AN_ERROR,
    SAID_TO_BE_ALL,
    SAID_TO_BE_ALL_AND_STRUCK,
    SAID_TO_BE_ALL_AND_CUT,
    SAID_TO_BE_ALL_AND_DELAYED,
    SAID_TO_BE_ALL_AND_FLUSHED,
    GUESSES
};

static struct story *granted_by(enum guess guess)
{
    static const struct reply error = {.kind = REPLY_ERROR};
    struct story *story = foreign(ALL_PROMISES, 1);
    story->head.has_all_commands = guess >= SAID_TO_BE_ALL;
    (void)story_begin(story, NULL);
    takes(story, A);
    calls(story, B, OP_ACQUIRE);
    calls(story, C, OP_ACQUIRE);
    sends_script(story, C, OP_ACQUIRE);
    if (guess == SAID_TO_BE_ALL_AND_STRUCK)
        strikes(story, "silent-server", -1, 0, 1);
    if (guess == SAID_TO_BE_ALL_AND_CUT)
        strikes(story, "lose-reply", C, 0, 0);
    if (guess == SAID_TO_BE_ALL_AND_FLUSHED)
        strikes(story, "flush-scripts", -1, 0, 0);
    if (guess == WAS_DELAYED || guess == IS_DELAYED || guess == SAID_TO_BE_ALL_AND_DELAYED)
        strikes(story, "delay", C, 0, guess == IS_DELAYED ? LEASE_MS : 0);
    runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
    hears_script(story, B, OP_ACQUIRE, INTEGER(1));
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    gives_back(story, A, deleted(A), RESULT_RELEASED);
    if (guess == EXECUTED)
        runs(story, C, OP_ACQUIRE, created(C));
    else if (guess == GIVEN_UP)
        strikes(story, "give-up", C, 0, 0);
    else if (guess == TOLD_AN_ERROR)
        hears_script(story, C, OP_ACQUIRE, error);
    returns(story, C, OP_ACQUIRE, RESULT_GRANTED);
    if (guess == LATE)
        runs(story, C, OP_ACQUIRE, created(C));
    ends(story);
    return story;
}

static void a_grant_that_no_server_executed_is_missing_a_part(void **state)
{
    static const enum verdict verdicts[GUESSES] = {[EXECUTED] = VERDICT_HOLDS,
                                                   [UNSEEN] = VERDICT_UNKNOWN,
                                                   [WAS_DELAYED] = VERDICT_UNKNOWN,
                                                   [IS_DELAYED] = VERDICT_VIOLATED,
                                                   [LATE] = VERDICT_VIOLATED,
                                                   [GIVEN_UP] = VERDICT_VIOLATED,
                                                   [TOLD_AN_ERROR] = VERDICT_VIOLATED,
                                                   [SAID_TO_BE_ALL] = VERDICT_UNKNOWN,
                                                   [SAID_TO_BE_ALL_AND_STRUCK] = VERDICT_VIOLATED,
                                                   [SAID_TO_BE_ALL_AND_CUT] = VERDICT_VIOLATED,
                                                   [SAID_TO_BE_ALL_AND_DELAYED] = VERDICT_UNKNOWN,
                                                   [SAID_TO_BE_ALL_AND_FLUSHED] = VERDICT_UNKNOWN};
    (void)state;
    for (enum guess guess = EXECUTED; guess < GUESSES; guess++) {
        struct story *story = granted_by(guess);
        assert_verdict(story, PROPERTY_TRUTHFUL, verdicts[guess]);
        assert_true(says(story, PROPERTY_TRUTHFUL, "nobody saw what the servers did") ==
                    (verdicts[guess] == VERDICT_UNKNOWN));
        story_free(story);
    }
}

/* Who is told may have guessed, and asked nobody: what is inferred was answered. */
static void an_inferred_grant_that_no_server_executed_is_missing_a_part(void **state)
{
    enum { UNASKED, STRUCK, STANDS_STILL, NOT_WAITED_FOR, WAYS };
    (void)state;
    for (int way = UNASKED; way < WAYS; way++)
        for (int is_inferred = 0; is_inferred < 2; is_inferred++) {
            struct story *story = foreign_whole(ALL_PROMISES, 1);
            takes(story, A);
            calls(story, B, OP_ACQUIRE);
            runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
            hears_script(story, B, OP_ACQUIRE, INTEGER(1));
            returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
            gives_back(story, A, deleted(A), RESULT_RELEASED);
            tells(story, is_inferred,
                  (struct told_part){EVENT_CALL, A, 2, OP_ACQUIRE, RESULT_NONE});
            if (way != UNASKED)
                sends_script(story, A, OP_ACQUIRE);
            if (way == STRUCK)
                strikes(story, "silent-server", -1, 0, 1);
            else if (way == STANDS_STILL)
                strikes(story, "delay", A, 0, LEASE_MS);
            else if (way == NOT_WAITED_FOR)
                strikes(story, "give-up", A, 0, 0);
            tells(story, is_inferred,
                  (struct told_part){EVENT_RETURN, A, 2, OP_ACQUIRE, RESULT_GRANTED});
            ends(story);
            assert_true(is_inferred == !!checks_gap(story->checks));
            assert_verdict(story, PROPERTY_TRUTHFUL,
                           is_inferred ? VERDICT_UNKNOWN : VERDICT_VIOLATED);
            story_free(story);
        }
}

/* A is told "released", and its key stays, since nobody saw a server do that. Not so where an
 * error, or a fault, says why, and where it is done later; nor where all is told that was sent, and
 * it sent nothing, or a server was struck. */
static void a_release_that_no_server_executed_is_missing_a_part(void **state)
{
    static const struct {
        bool has_all_commands, is_sent, is_closed, is_erroneous, is_lost, is_late, is_struck;
        bool is_missing;
    } tried[] = {
        {.is_missing = true},
        {.is_sent = true, .is_missing = true},
        {.is_sent = true, .is_closed = true, .is_missing = true},
        {.has_all_commands = true},
        {.has_all_commands = true, .is_sent = true, .is_missing = true},
        {.has_all_commands = true, .is_sent = true, .is_lost = true},
        {.has_all_commands = true, .is_sent = true, .is_struck = true},
        {.is_sent = true, .is_erroneous = true},
        {.is_sent = true, .is_lost = true},
        {.is_sent = true, .is_late = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        story->head.has_all_commands = tried[i].has_all_commands;
        story->head.is_closed = tried[i].is_closed;
        (void)story_begin(story, NULL);
        takes(story, A);
        tells(story, false, (struct told_part){EVENT_CALL, B, 1, OP_ACQUIRE, RESULT_NONE});
        runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        calls(story, A, OP_RELEASE);
        if (tried[i].is_struck)
            strikes(story, "silent-server", -1, 0, 1);
        if (tried[i].is_sent)
            sends_script(story, A, OP_RELEASE);
        if (tried[i].is_lost)
            happens(story, (struct event){.kind = EVENT_FAULT,
                                          .client = A,
                                          .op = OP_RELEASE,
                                          .fault = FAULT_LOSE_REQUEST});
        if (tried[i].is_erroneous)
            happens(story, (struct event){.kind = EVENT_HEAR,
                                          .client = A,
                                          .op = OP_RELEASE,
                                          .reply = {.kind = REPLY_ERROR},
                                          .opaque = &script});
        returns(story, A, OP_RELEASE, RESULT_RELEASED);
        if (tried[i].is_late)
            runs(story, A, OP_RELEASE, deleted(A));
        ends(story);
        if (tried[i].is_missing)
            assert_says(&story->findings[PROPERTY_NO_ORPHAN],
                        "nobody saw a server do what it says");
        else if (tried[i].is_late)
            assert_holds(story, PROPERTY_NO_ORPHAN);
        else
            assert_violated(story, PROPERTY_NO_ORPHAN, 1, CAUSE_UNTRUE_ANSWER);
        assert_exclusion(story, VERDICT_HOLDS);
        story_free(story);
    }
}

static void a_release_is_called_and_returns_in_one_attempt(void **state)
{
    static const int attempts[][2] = {{1, 1}, {1, 9}, {9, 1}};
    (void)state;
    for (int is_inferred = 0; is_inferred < 2; is_inferred++)
        for (int i = 0; i < 3; i++) {
            struct story *story = whole(is_inferred);
            gives_back_by(story, is_inferred, attempts[i][0], attempts[i][1]);
            ends(story);
            assert_exclusion(story, i == 0 ? VERDICT_HOLDS : VERDICT_UNKNOWN);
            story_free(story);
        }
}

/* A proxy keeps the reply to A's release from it, and A asks again meanwhile: it is answered once,
 * and no more. */
static void what_is_inferred_may_be_answered_behind_the_next_call(void **state)
{
    (void)state;
    for (int answers = 1; answers <= 2; answers++) {
        struct story *story = whole(true);
        tells(story, true, (struct told_part){EVENT_CALL, A, 1, OP_RELEASE, RESULT_NONE});
        runs(story, A, OP_RELEASE, deleted(A));
        tells(story, true, (struct told_part){EVENT_CALL, A, 2, OP_ACQUIRE, RESULT_NONE});
        runs(story, A, OP_ACQUIRE, created(A));
        for (int i = 0; i < answers; i++)
            tells(story, true, (struct told_part){EVENT_RETURN, A, 1, OP_RELEASE, RESULT_RELEASED});
        tells(story, true, (struct told_part){EVENT_RETURN, A, 2, OP_ACQUIRE, RESULT_GRANTED});
        ends(story);
        assert_exclusion(story, answers == 1 ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* At the lock that it was called for, or at another one. */
static void an_acquire_is_executed_at_the_lock_of_its_call(void **state)
{
    (void)state;
    for (int lock = 0; lock < 2; lock++) {
        struct story *story = whole(true);
        story->lock = lock;
        tells(story, true, (struct told_part){EVENT_CALL, B, 2, OP_ACQUIRE, RESULT_NONE});
        story->lock = 0;
        runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
        story->lock = lock;
        tells(story, true, (struct told_part){EVENT_RETURN, B, 2, OP_ACQUIRE, RESULT_REFUSED});
        story->lock = 0;
        gives_back_by(story, true, 1, 1);
        ends(story);
        assert_exclusion(story, lock == 0 ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* B is refused by C's token while A's key lives: A's own is right, and behind its time nobody
 * knows. */
static void who_is_refused_by_nobodys_token_shows_a_stranger(void **state)
{
    (void)state;
    for (int is_in_time = 0; is_in_time < 2; is_in_time++)
        for (int owner = A; owner <= C; owner += C - A) {
            struct story *story = whole(true);
            if (!is_in_time)
                at(story, 2 * LEASE_MS);
            tells(story, true, (struct told_part){EVENT_CALL, B, 2, OP_ACQUIRE, RESULT_NONE});
            runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, owner));
            tells(story, true, (struct told_part){EVENT_RETURN, B, 2, OP_ACQUIRE, RESULT_REFUSED});
            ends(story);
            assert_exclusion(story, is_in_time && owner == C ? VERDICT_UNKNOWN : VERDICT_HOLDS);
            story_free(story);
        }
}

/* A has given the lock back, and B is refused by A's token, or by that of somebody unknown. */
static void what_was_deleted_does_not_come_back(void **state)
{
    (void)state;
    for (int owner = A; owner <= C; owner += C - A) {
        struct story *story = whole(true);
        gives_back_by(story, true, 1, 1);
        tells(story, true, (struct told_part){EVENT_CALL, B, 2, OP_ACQUIRE, RESULT_NONE});
        runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, owner));
        tells(story, true, (struct told_part){EVENT_RETURN, B, 2, OP_ACQUIRE, RESULT_REFUSED});
        ends(story);
        assert_exclusion(story, owner == C ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* A scheme of ours releases what it holds before it asks anew. */
static void who_asks_anew_has_ended_its_hold(void **state)
{
    (void)state;
    for (int is_released = 0; is_released < 2; is_released++) {
        const struct scheme *scheme = scheme_named("set-nx-px-cad");
        struct story *story = story_whole(scheme, 1, LEASE_MS);
        acquires(story, A);
        if (is_released) {
            calls(story, A, OP_RELEASE);
            sends(story, A, 0, OP_RELEASE, command(VERB_COMPARE_DELETE, token(story, A), 0));
            executes(story, A, OP_RELEASE, command(VERB_COMPARE_DELETE, token(story, A), 0),
                     INTEGER(1));
            returns(story, A, OP_RELEASE, RESULT_RELEASED);
        }
        calls(story, A, OP_ACQUIRE);
        ends(story);
        assert_true(is_released == !checks_gap(story->checks));
        story_free(story);
    }
}

/* A scheme of ours asks for what it is granted: what it asked, and was answered, is missing. */
static void a_scheme_is_granted_what_it_asked_for(void **state)
{
    (void)state;
    for (int lines = 0; lines < 3; lines++) {
        const struct scheme *scheme = scheme_named("set-nx-px-cad");
        struct story *story = story_whole(scheme, 1, LEASE_MS);
        acquires(story, B);
        is_refused(story, A);
        at(story, 2 * LEASE_MS);
        calls(story, A, OP_ACQUIRE);
        if (lines > 0)
            sends(story, A, 0, OP_ACQUIRE, set(story, A));
        if (lines > 1)
            executes(story, A, OP_ACQUIRE, set(story, A), OK);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_true((lines > 1) == !checks_gap(story->checks));
        story_free(story);
    }
}

/* What is heard of A when its key is gone, which B was granted meanwhile. */
enum heard_since { NOTHING, ASKS_ANEW, CRASHES, WORKS, RELEASES, LEARNS, IS_WHOLE, HEARD };

static struct story *is_gone_early(enum heard_since heard)
{
    const struct scheme *scheme = heard == LEARNS ? &noticing : &expiring;
    struct story *story = (heard == IS_WHOLE ? story_whole : story_new)(scheme, 1, LEASE_MS);
    acquires(story, A);
    at(story, LEASE_MS / 3.0);
    acquires(story, B);
    assert_true((checks_violated(story->checks) != 0) == (heard == IS_WHOLE));
    if (heard == ASKS_ANEW)
        is_refused(story, A);
    if (heard == CRASHES)
        crashes(story, A);
    if (heard == WORKS)
        calls(story, A, OP_ACCESS);
    if (heard == RELEASES)
        releases(story, A, 0);
    if (heard == LEARNS)
        happens(story, (struct event){.kind = EVENT_NOTICE, .client = A, .server = -1});
    releases(story, B, 1);
    ends(story);
    return story;
}

/* Whoever gave it back, and of whom that is missing, is not heard of any more. */
static void a_release_that_is_missing_is_no_loss(void **state)
{
    static const enum property both[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION};
    (void)state;
    for (enum heard_since heard = NOTHING; heard < HEARD; heard++) {
        struct story *story = is_gone_early(heard);
        for (int i = 0; i < 2; i++) {
            if (heard >= WORKS) {
                assert_violated(story, both[i], 1, CAUSE_EARLY_EXPIRY);
                continue;
            }
            assert_verdict(story, both[i], VERDICT_UNKNOWN);
            assert_says(&story->findings[both[i]], "its release may be missing");
        }
        if (heard < WORKS)
            assert_silent(story);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_that_is_missing_is_no_loss),
        cmocka_unit_test(who_asks_anew_has_ended_its_hold),
        cmocka_unit_test(a_scheme_is_granted_what_it_asked_for),
        cmocka_unit_test(a_return_without_a_call_is_missing_a_part),
        cmocka_unit_test(a_reply_to_what_no_server_executed_is_missing_a_part),
        cmocka_unit_test(a_grant_that_no_server_executed_is_missing_a_part),
        cmocka_unit_test(an_inferred_grant_that_no_server_executed_is_missing_a_part),
        cmocka_unit_test(a_release_that_no_server_executed_is_missing_a_part),
        cmocka_unit_test(a_release_is_called_and_returns_in_one_attempt),
        cmocka_unit_test(what_is_inferred_may_be_answered_behind_the_next_call),
        cmocka_unit_test(an_acquire_is_executed_at_the_lock_of_its_call),
        cmocka_unit_test(who_is_refused_by_nobodys_token_shows_a_stranger),
        cmocka_unit_test(what_was_deleted_does_not_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
