/* test_checks_released.c - what a client is told of its release, and of its renewal, where its
 * servers say what these did. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

static void asks_in_vain(struct story *story, int client, int owner, enum result told)
{
    calls(story, client, OP_ACQUIRE);
    runs(story, client, OP_ACQUIRE, refused(EFFECT_SET, owner));
    returns(story, client, OP_ACQUIRE, told);
}

static void is_refused_by(struct story *story, int client, int owner)
{
    asks_in_vain(story, client, owner, RESULT_REFUSED);
}

/* B was refused, or not answered, and its release finds A's lock. Where it was granted it, and it
 * is over, who just deletes is told so; what an attempt before has is released by a later one, too.
 */
static void who_was_refused_has_released_nothing(void **state)
{
    static const struct {
        bool has_lease, is_told, was_granted, has_one_before, is_bad;
        enum result acquired; /* NONE: refused */
    } tried[] = {
        {false, true, false, false, true, RESULT_NONE},
        {true, true, false, false, true, RESULT_NONE},
        {true, false, false, false, false, RESULT_NONE},
        {true, true, true, false, false, RESULT_NONE},
        {true, true, false, true, false, RESULT_NONE},
        {false, true, false, false, true, RESULT_FAILED},
        {true, true, false, false, true, RESULT_FAILED},
        {true, false, false, false, false, RESULT_FAILED},
        {true, true, false, true, false, RESULT_FAILED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story =
            foreign(tried[i].has_lease ? ALL_PROMISES : PROMISE_EXTENDS | PROMISE_TOKEN, 1);
        const int owner = tried[i].has_one_before ? B : A;
        if (tried[i].was_granted) {
            takes(story, B);
            at(story, 2 * LEASE_MS);
        }
        takes(story, owner);
        if (!tried[i].was_granted)
            asks_in_vain(story, B, owner, tried[i].acquired ? tried[i].acquired : RESULT_REFUSED);
        calls(story, B, OP_RELEASE);
        runs(story, B, OP_RELEASE,
             tried[i].has_one_before ? deleted(B) : refused(EFFECT_DELETE, owner));
        returns(story, B, OP_RELEASE, tried[i].is_told ? RESULT_RELEASED : RESULT_NOT_MINE);
        ends(story);
        if (tried[i].is_bad) {
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
            assert_says(&story->findings[PROPERTY_TRUTHFUL], "none was released");
        } else {
            assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 0);
            assert_false(says(story, PROPERTY_TRUTHFUL, "disagree"));
        }
        story_free(story);
    }
}

/* Of a second release of its own, "not mine" is so: the first one, which has returned, released it.
 * Of the first one it is not, whose key it removed. */
static void not_mine_is_so_of_what_an_earlier_release_removed(void **state)
{
    (void)state;
    for (int is_second = 0; is_second < 2; is_second++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        struct key_effect nothing = refused(EFFECT_DELETE, A);
        nothing.before = BEFORE_ABSENT;
        nothing.has_old = false;
        takes(story, A);
        is_refused_by(story, B, A);
        calls(story, A, OP_RELEASE);
        runs(story, A, OP_RELEASE, deleted(A));
        if (is_second) {
            returns(story, A, OP_RELEASE, RESULT_RELEASED);
            calls(story, A, OP_RELEASE);
        }
        runs(story, A, OP_RELEASE, nothing);
        returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
        ends(story);
        if (is_second)
            assert_holds(story, PROPERTY_TRUTHFUL);
        else
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        story_free(story);
    }
}

/* Its server renewed it. Where that came to nothing, since it was over when it was told, it is so.
 */
static void not_mine_is_untrue_of_what_was_renewed(void **state)
{
    (void)state;
    for (int is_over = 0; is_over < 2; is_over++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        is_refused_by(story, B, A);
        calls(story, A, OP_EXTEND);
        runs(story, A, OP_EXTEND, expiry(DID_LENGTHENED, LEASE_MS));
        at(story, is_over ? 2 * LEASE_MS : 10);
        returns(story, A, OP_EXTEND, RESULT_NOT_MINE);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, !is_over);
        assert_false(says(story, PROPERTY_TRUTHFUL, "disagree"));
        story_free(story);
    }
}

/* So is it of what was had by an attempt before, where the one that renewed it failed: its time
 * counts from the renewal, and is over then. */
static void a_failed_attempt_renews_what_its_client_had(void **state)
{
    static const struct {
        int renewed_ms, told_ms;
        enum operation op; /* that is told "not mine": the renewal, or a release that removed it */
        bool is_true;
    } tried[] = {
        {LEASE_MS / 2, LEASE_MS - 10, OP_EXTEND, false},
        {LEASE_MS / 2, LEASE_MS + 10, OP_EXTEND, false},
        {LEASE_MS / 2, 2 * LEASE_MS, OP_EXTEND, true},
        {LEASE_MS / 2, LEASE_MS + 10, OP_RELEASE, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        is_refused_by(story, B, A);
        calls(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, expiry(DID_LENGTHENED, LEASE_MS));
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        at(story, tried[i].renewed_ms);
        calls(story, A, OP_EXTEND);
        runs(story, A, OP_EXTEND, expiry(DID_LENGTHENED, LEASE_MS));
        if (tried[i].op == OP_RELEASE)
            returns(story, A, OP_EXTEND, RESULT_DONE);
        at(story, tried[i].told_ms);
        if (tried[i].op == OP_RELEASE) {
            calls(story, A, OP_RELEASE);
            runs(story, A, OP_RELEASE, deleted(A));
        }
        returns(story, A, tried[i].op, RESULT_NOT_MINE);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, !tried[i].is_true);
        story_free(story);
    }
}

/* A's own release, or its renewal, is executed, in a call or in none; then B asks for the lock.
 * What a watchdog renews on a connection of its own nobody calls. */
static void what_is_executed_without_a_call_is_missing_a_part(void **state)
{
    static const struct {
        enum operation op;
        enum lane lane;
        bool is_called, is_typed;
    } tried[] = {
        {OP_RELEASE, LANE_MAIN, false, false}, {OP_RELEASE, LANE_MAIN, true, false},
        {OP_RELEASE, LANE_MAIN, false, true},  {OP_RELEASE, LANE_MAIN, true, true},
        {OP_EXTEND, LANE_MAIN, false, false},  {OP_EXTEND, LANE_MAIN, true, false},
        {OP_EXTEND, LANE_RENEW, false, false}, {OP_EXTEND, LANE_RENEW, false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        const bool is_release = tried[i].op == OP_RELEASE;
        const struct command typed = {.verb =
                                          is_release ? VERB_COMPARE_DELETE : VERB_COMPARE_EXPIRE,
                                      .value = token_of(A),
                                      .ttl_us = is_release ? 0 : LEASE_MS * 1000};
        struct effects effects = {
            .count = 1, .on = {is_release ? deleted(A) : expiry(DID_LENGTHENED, LEASE_MS)}};
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        is_refused_by(story, B, A);
        if (tried[i].is_called)
            calls(story, A, tried[i].op);
        happens(story, (struct event){.kind = EVENT_EXECUTE,
                                      .client = A,
                                      .op = tried[i].op,
                                      .lane = tried[i].lane,
                                      .reply = INTEGER(1),
                                      .command = tried[i].is_typed ? typed : (struct command){0},
                                      .opaque = tried[i].is_typed ? NULL : &script,
                                      .effects = tried[i].is_typed ? NULL : &effects});
        if (is_release)
            takes(story, B);
        ends(story);
        const bool is_whole = tried[i].is_called || tried[i].lane == LANE_RENEW;
        assert_verdict(story, PROPERTY_LEASE_EXCLUSION, is_whole ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        assert_true(is_whole == !checks_gap(story->checks));
        if (!is_whole)
            assert_silent(story);
        story_free(story);
    }
}

/* What nobody saw executed of an answer that is not so: its line may be missing; or all is told
 * that was asked, or that requests were sent; or it was executed, and its answer is not so. */
enum answer_lines {
    NONE_SENT,
    CUT,
    CUT_AND_AGAIN,
    LINES_MISSING,
    ALL_TOLD = LINES_MISSING,
    RUN,
    LINES
};

/* A has the lock, or, before B acquires it, had it. */
static struct story *before_asking(enum operation op, bool has_all_commands)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    story->head.has_all_commands = has_all_commands;
    (void)story_begin(story, NULL);
    calls(story, A, OP_ACQUIRE);
    runs(story, A, OP_ACQUIRE, created(A));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    is_refused_by(story, B, A);
    if (op == OP_ACQUIRE) {
        calls(story, A, OP_RELEASE);
        runs(story, A, OP_RELEASE, deleted(A));
        returns(story, A, OP_RELEASE, RESULT_RELEASED);
    }
    return story;
}

/* What whoever looks finds then. */
static struct key_effect found(enum operation op)
{
    struct key_effect effect = refused(EFFECT_READ, A);
    effect.did = DID_READ;
    if (op == OP_ACQUIRE) {
        effect.before = BEFORE_ABSENT;
        effect.has_old = false;
    }
    return effect;
}

static struct story *answers(enum operation op, enum result told, enum answer_lines lines)
{
    struct story *story = before_asking(op, lines == ALL_TOLD);
    const int client = op == OP_ACQUIRE ? B : A;
    for (int i = 0; i <= (lines == CUT_AND_AGAIN); i++) {
        calls(story, client, op);
        if (lines == CUT)
            sends_script(story, client, op);
        if (lines == RUN || i > 0)
            runs(story, client, op, i > 0 ? expiry(DID_LENGTHENED, LEASE_MS) : found(op));
        returns(story, client, op, told);
    }
    ends(story);
    return story;
}

static void an_answer_that_no_server_gave_may_be_of_a_missing_line(void **state)
{
    static const struct {
        enum operation op;
        enum result told;
    } tried[] = {{OP_EXTEND, RESULT_DONE},
                 {OP_EXTEND, RESULT_NOT_MINE},
                 {OP_RELEASE, RESULT_NOT_MINE},
                 {OP_ACQUIRE, RESULT_REFUSED}};
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        for (enum answer_lines lines = NONE_SENT; lines < LINES; lines++) {
            if (lines == CUT_AND_AGAIN && tried[i].told != RESULT_DONE)
                continue;
            struct story *story = answers(tried[i].op, tried[i].told, lines);
            const char *gap = checks_gap(story->checks);
            const bool is_missing = lines < LINES_MISSING;
            assert_true(is_missing ? gap && strstr(gap, "nobody saw a server do what it says")
                                   : !gap);
            assert_true((story->findings[PROPERTY_TRUTHFUL].cause == CAUSE_UNTRUE_ANSWER) ==
                        !is_missing);
            if (is_missing)
                assert_verdict(story, PROPERTY_NO_ORPHAN, VERDICT_UNKNOWN);
            story_free(story);
        }
}

/* Who looks first, and then does what it was called for: the second line may be missing, unless all
 * commands are there, or requests are told, and each was executed; or what looked could have done
 * it. */
static void who_looked_may_have_gone_on(void **state)
{
    enum { LOOKED, SENT_MORE, MISSING, SENT_NO_MORE = MISSING, WHOLE, SCRIPT, WAYS };
    static const struct opaque look = {.name = "GET", .text = "GET lock", .keys = 1u << KEY_LOCK};
    static const struct {
        enum operation op;
        enum result told;
        enum property property;
    } tried[] = {{OP_ACQUIRE, RESULT_GRANTED, PROPERTY_TRUTHFUL},
                 {OP_ACQUIRE, RESULT_REFUSED, PROPERTY_TRUTHFUL},
                 {OP_EXTEND, RESULT_DONE, PROPERTY_TRUTHFUL},
                 {OP_EXTEND, RESULT_NOT_MINE, PROPERTY_TRUTHFUL},
                 {OP_RELEASE, RESULT_NOT_MINE, PROPERTY_TRUTHFUL},
                 {OP_RELEASE, RESULT_RELEASED, PROPERTY_NO_ORPHAN}};
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        for (int way = LOOKED; way < WAYS; way++) {
            const enum operation op = tried[i].op;
            const int client = op == OP_ACQUIRE ? B : A;
            if (way == SENT_NO_MORE && tried[i].told == RESULT_RELEASED)
                continue; /* what it sent may be missing, too */
            struct story *story = before_asking(op, way == WHOLE);
            struct effects effects = {.count = 1, .on = {found(op)}};
            struct event event = {.kind = EVENT_SEND, .client = client, .op = op, .opaque = &look};
            calls(story, client, op);
            if (way == SENT_MORE || way == SENT_NO_MORE)
                happens(story, event);
            event.kind = EVENT_EXECUTE;
            event.opaque = way == SCRIPT ? &script : &look;
            event.effects = &effects;
            event.reply = INTEGER(0);
            happens(story, event);
            if (way == SENT_MORE)
                sends_script(story, client, op);
            returns(story, client, op, tried[i].told);
            ends(story);
            const char *gap = checks_gap(story->checks);
            assert_true((gap && strstr(gap, "nobody saw")) == (way < MISSING));
            assert_true((story->findings[tried[i].property].cause == CAUSE_UNTRUE_ANSWER) ==
                        (way >= MISSING));
            story_free(story);
        }
}

/* Where requests are told, who sent none asked nobody. */
static void who_sent_nothing_is_told_from_memory(void **state)
{
    (void)state;
    struct story *story = foreign(ALL_PROMISES, 1);
    takes(story, A);
    is_refused_by(story, B, A);
    calls(story, A, OP_EXTEND);
    returns(story, A, OP_EXTEND, RESULT_DONE);
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    story_free(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_that_no_server_gave_may_be_of_a_missing_line),
        cmocka_unit_test(who_looked_may_have_gone_on),
        cmocka_unit_test(who_sent_nothing_is_told_from_memory),
        cmocka_unit_test(what_is_executed_without_a_call_is_missing_a_part),
        cmocka_unit_test(who_was_refused_has_released_nothing),
        cmocka_unit_test(not_mine_is_so_of_what_an_earlier_release_removed),
        cmocka_unit_test(not_mine_is_untrue_of_what_was_renewed),
        cmocka_unit_test(a_failed_attempt_renews_what_its_client_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
