/* test_checks_promises.c - a foreign lock is judged by what its history says that it promises; what
 * was inferred from the wire is said to be, and proves nothing about what clients were told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

static enum verdict verdict_of(const struct story *story, enum property property)
{
    return story->findings[property].verdict;
}

/* Violated where it is promised, and not applicable where it is not. */
static void assert_judged_if(const struct story *story, enum property property, bool is_promised)
{
    assert_int_equal(verdict_of(story, property),
                     is_promised ? VERDICT_VIOLATED : VERDICT_NOT_APPLICABLE);
}

/* --- promises --- */

static void expiry_is_judged_where_it_is_promised(void **state)
{
    (void)state;
    for (int is_promised = 0; is_promised < 2; is_promised++) {
        struct story *story = foreign(is_promised ? PROMISE_EXPIRY : 0, 1);
        struct key_effect effect = created(A);
        effect.has_ttl = false;
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, effect);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_judged_if(story, PROPERTY_ALWAYS_EXPIRES, is_promised);
        assert_int_equal(verdict_of(story, PROPERTY_FRESH_GRANT),
                         is_promised ? VERDICT_HOLDS : VERDICT_NOT_APPLICABLE);
        story_free(story);
    }
}

/* A holds for longer than its key lives. */
static void an_overrun_is_one_of_a_lease_that_is_promised(void **state)
{
    static const enum property both[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION};
    (void)state;
    for (int is_promised = 0; is_promised < 2; is_promised++) {
        struct story *story = foreign(is_promised ? PROMISE_EXPIRY : 0, 1);
        takes(story, A);
        at(story, 400);
        takes(story, B);
        ends(story);
        assert_judged_if(story, PROPERTY_MUTUAL_EXCLUSION, is_promised);
        for (int i = 0; i < 2 && !is_promised; i++) {
            assert_int_equal(verdict_of(story, both[i]), VERDICT_NOT_APPLICABLE);
            assert_true(says(story, both[i], "the lock promises no expiry, and its key expired"));
        }
        assert_int_equal(story->counters.overruns, is_promised);
        story_free(story);
    }
    struct story *story = foreign(0, 1); /* what ends by another's command is judged */
    takes(story, A);
    calls(story, B, OP_ACQUIRE);
    sends_script(story, B, OP_ACQUIRE);
    runs(story, B, OP_ACQUIRE, deleted(A));
    runs(story, B, OP_ACQUIRE, created(B));
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_int_equal(verdict_of(story, PROPERTY_MUTUAL_EXCLUSION), VERDICT_VIOLATED);
    story_free(story);
}

/* Told so before A is granted it, or while A has it: A is not to blame. */
static void who_is_granted_nothing_is_told_an_untruth(void **state)
{
    const struct key_effect reads = {.did = DID_READ, .before = BEFORE_UNKNOWN};
    (void)state;
    for (int is_first = 0; is_first < 2; is_first++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        if (!is_first)
            takes(story, A);
        calls(story, B, OP_ACQUIRE);
        sends_script(story, B, OP_ACQUIRE);
        runs(story, B, OP_ACQUIRE, reads);
        returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        if (is_first)
            takes(story, A);
        ends(story);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNTRUE_ANSWER);
        assert_true(says(story, PROPERTY_LEASE_EXCLUSION, "(A,B): Untrue answer to B."));
        assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        assert_true(says(story, PROPERTY_TRUTHFUL, "and no server had granted it"));
        story_free(story);
    }
    struct story *story = foreign(ALL_PROMISES, 1);
    takes(story, A);
    gives_back(story, A, deleted(A), RESULT_RELEASED);
    takes(story, A);
    ends(story);
    assert_holds(story, PROPERTY_TRUTHFUL);
    story_free(story);
}

/* What A's second attempt finds is the key of its first one, of which it has never heard. */
enum finds {
    FINDS_OLD,        /* and that is all */
    FINDS_NEW,        /* the first one was of this attempt, sent again */
    FINDS_EXTENDS,    /* and gives it its lease anew */
    FINDS_LATE,       /* made during this call, by the old request */
    FINDS_HELD,       /* it was told "granted" then, and holds */
    FINDS_UNPROMISED, /* no expiry is promised */
    FINDS_CRASHED,    /* it held, and died: who comes back is another one */
    FINDS_COUNT
};

static void finds_own(struct story *story, enum finds finds)
{
    calls(story, A, OP_ACQUIRE);
    sends_script(story, A, OP_ACQUIRE);
    if (finds != FINDS_LATE)
        runs(story, A, OP_ACQUIRE, created(A));
    if (finds != FINDS_NEW) {
        bool is_told = finds == FINDS_HELD || finds == FINDS_CRASHED;
        returns(story, A, OP_ACQUIRE, is_told ? RESULT_GRANTED : RESULT_FAILED);
        if (finds == FINDS_CRASHED)
            crashes(story, A);
        at(story, 200);
        calls(story, A, OP_ACQUIRE);
    }
    if (finds == FINDS_LATE) {
        story->attempts[A]--;
        runs(story, A, OP_ACQUIRE, created(A));
        story->attempts[A]++;
    }
    sends_script(story, A, OP_ACQUIRE);
    runs(story, A, OP_ACQUIRE, refused(EFFECT_SET, A));
    if (finds == FINDS_EXTENDS)
        runs(story, A, OP_ACQUIRE, expiry(DID_LENGTHENED, LEASE_MS));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
}

static void the_rest_of_an_old_lease_is_no_grant(void **state)
{
    (void)state;
    for (enum finds finds = FINDS_OLD; finds < FINDS_COUNT; finds++) {
        struct story *story = foreign(finds == FINDS_UNPROMISED ? 0 : ALL_PROMISES, 1);
        finds_own(story, finds);
        ends(story);
        if (finds == FINDS_OLD || finds == FINDS_CRASHED) {
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
            assert_true(says(story, PROPERTY_TRUTHFUL, "A asked again at 200.0 ms, in another"));
        } else {
            assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 0);
        }
        story_free(story);
    }
}

/* "I could not extend it: it is not mine" is a notice. */
static void who_could_not_extend_holds_no_more(void **state)
{
    (void)state;
    for (int is_told = 0; is_told < 2; is_told++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        at(story, 350);
        calls(story, A, OP_EXTEND);
        returns(story, A, OP_EXTEND, is_told ? RESULT_NOT_MINE : RESULT_FAILED);
        at(story, 400);
        takes(story, B);
        ends(story);
        if (is_told)
            assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
        else
            assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
        story_free(story);
    }
}

static void notice_is_judged_where_it_is_promised(void **state)
{
    (void)state;
    for (int is_promised = 0; is_promised < 2; is_promised++)
        for (int is_told = 0; is_told < 2; is_told++) {
            struct story *story =
                foreign_whole(PROMISE_EXPIRY | (is_promised ? PROMISE_NOTICE : 0), 1);
            takes(story, A);
            at(story, 290);
            if (is_told)
                happens(story, (struct event){.kind = EVENT_NOTICE, .client = A, .server = -1});
            at(story, 400);
            takes(story, B);
            ends(story);
            if (is_told && is_promised)
                assert_holds(story, PROPERTY_LOSS_NOTICE);
            else
                assert_judged_if(story, PROPERTY_LOSS_NOTICE, is_promised);
            story_free(story);
        }
}

static void takes_with(struct story *story, int client, int64_t fence)
{
    calls(story, client, OP_ACQUIRE);
    sends_script(story, client, OP_ACQUIRE);
    runs(story, client, OP_ACQUIRE, created(client));
    returns_fence(story, client, fence);
    gives_back(story, client, deleted(client), RESULT_RELEASED);
}

/* Promised and never told with a grant, it has not proved itself. */
static void fences_are_judged_where_they_are_promised(void **state)
{
    (void)state;
    static const struct {
        unsigned promises;
        int64_t first, second;
        enum verdict verdict;
    } rows[] = {{PROMISE_FENCE, 1, 2, VERDICT_HOLDS},
                {PROMISE_FENCE, 2, 1, VERDICT_VIOLATED},
                {PROMISE_FENCE, 0, 0, VERDICT_UNKNOWN},
                {0, 2, 1, VERDICT_NOT_APPLICABLE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = foreign(PROMISE_EXPIRY | rows[i].promises, 1);
        takes_with(story, A, rows[i].first);
        takes_with(story, B, rows[i].second);
        ends(story);
        assert_int_equal(verdict_of(story, PROPERTY_FENCE_ORDER), rows[i].verdict);
        story_free(story);
    }
}

/* A is told "failed", its key stays. */
static void tokens_are_judged_where_they_are_promised(void **state)
{
    (void)state;
    for (int is_promised = 0; is_promised < 2; is_promised++) {
        struct story *story = foreign(PROMISE_EXPIRY | (is_promised ? PROMISE_TOKEN : 0), 1);
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, created(A));
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        ends(story);
        assert_judged_if(story, PROPERTY_NO_ORPHAN, is_promised);
        story_free(story);
    }
}

/* A has one of three servers, and B another; the others answer with errors. */
static void a_majority_is_asked_where_it_is_promised(void **state)
{
    const struct key_effect fails = {.did = DID_FAILED, .wanted = EFFECT_SET};
    (void)state;
    for (int is_promised = 0; is_promised < 2; is_promised++) {
        struct story *story = foreign(PROMISE_EXPIRY | (is_promised ? PROMISE_QUORUM : 0), 3);
        for (int client = A; client <= B; client++) {
            calls(story, client, OP_ACQUIRE);
            for (int s = 0; s < 3; s++)
                runs_on(story, client, s, OP_ACQUIRE, s == client ? created(client) : fails);
            returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
        }
        ends(story);
        assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].cause,
                         is_promised ? CAUSE_SPLIT_GRANT : CAUSE_ACQUIRE_BUG);
        story_free(story);
    }
}

/* --- leases --- */

/* It is refused for longer than a lease, tries again, and gets it; told at once, or late. */
static void a_lease_counts_from_the_command_that_won(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, B);
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, refused(EFFECT_SET, B));
        at(story, 280);
        gives_back(story, B, deleted(B), RESULT_RELEASED);
        at(story, 350);
        sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, created(A));
        at(story, 360);
        sends_script(story, A, OP_ACQUIRE); /* and something else, that wins nothing */
        runs(story, A, OP_ACQUIRE, (struct key_effect){.did = DID_READ});
        at(story, is_late ? 655 : 649);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        if (is_late)
            assert_violated(story, PROPERTY_FRESH_GRANT, 1, CAUSE_LATE_GRANT);
        else
            assert_holds(story, PROPERTY_FRESH_GRANT);
        story_free(story);
    }
}

/* --- what was inferred --- */

static void infers(struct story *story, int client, enum event_kind kind, enum operation op,
                   enum result result)
{
    story->attempts[client] += kind == EVENT_CALL && op == OP_ACQUIRE;
    happens(story, (struct event){.kind = kind,
                                  .client = client,
                                  .server = -1,
                                  .op = op,
                                  .result = result,
                                  .is_inferred = true});
}

/* A outlives its lease, and B gets the lock: an overrun, by told holds or by inferred ones. */
static void a_sentence_says_what_was_inferred(void **state)
{
    (void)state;
    for (int is_inferred = 0; is_inferred < 2; is_inferred++) {
        struct story *story = foreign(ALL_PROMISES | PROMISE_NOTICE, 1);
        for (int client = A; client <= B; client++) {
            if (is_inferred)
                infers(story, client, EVENT_CALL, OP_ACQUIRE, RESULT_NONE);
            else
                calls(story, client, OP_ACQUIRE);
            sends_script(story, client, OP_ACQUIRE);
            runs(story, client, OP_ACQUIRE, created(client));
            if (is_inferred)
                infers(story, client, EVENT_RETURN, OP_ACQUIRE, RESULT_GRANTED);
            else
                returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
            at(story, client == A ? 310 : 320);
        }
        ends(story);
        assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
        assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        assert_int_equal(says(story, PROPERTY_MUTUAL_EXCLUSION,
                              "That A held it is inferred from the wire: from its grant heard at"),
                         is_inferred);
        static const enum property told[] = {PROPERTY_TRUTHFUL, PROPERTY_FRESH_GRANT,
                                             PROPERTY_LOSS_NOTICE};
        for (int i = 0; i < 3; i++)
            assert_int_equal(verdict_of(story, told[i]) == VERDICT_NOT_APPLICABLE, is_inferred);
        story_free(story);
    }
}

/* B is "refused" where nobody has the lock: an untrue answer, if it was one. */
static void an_inferred_answer_is_not_untrue(void **state)
{
    (void)state;
    for (int is_inferred = 0; is_inferred < 2; is_inferred++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        gives_back(story, A, deleted(A), RESULT_RELEASED);
        calls(story, B, OP_ACQUIRE);
        sends_script(story, B, OP_ACQUIRE);
        runs(story, B, OP_ACQUIRE, (struct key_effect){.did = DID_NOTHING});
        if (is_inferred)
            infers(story, B, EVENT_RETURN, OP_ACQUIRE, RESULT_REFUSED);
        else
            returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (is_inferred)
            assert_holds(story, PROPERTY_TRUTHFUL);
        else
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        story_free(story);
    }
}

/* A late grant is one that the client was told: of an inferred hold nobody knows. */
static void an_inferred_hold_is_no_late_grant(void **state)
{
    (void)state;
    for (int is_inferred = 0; is_inferred < 2; is_inferred++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, C);
        gives_back(story, C, deleted(C), RESULT_RELEASED);
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, created(A));
        at(story, 350);
        if (is_inferred)
            infers(story, A, EVENT_RETURN, OP_ACQUIRE, RESULT_GRANTED);
        else
            returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        takes(story, B);
        ends(story);
        assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1,
                        is_inferred ? CAUSE_OVERRUN : CAUSE_LATE_GRANT);
        story_free(story);
    }
}

/* Two that hold within their leases are a bug or a loss, if they were told so. */
static void what_was_inferred_proves_nothing_without_the_servers(void **state)
{
    (void)state;
    for (int is_inferred = 0; is_inferred < 2; is_inferred++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        for (int client = A; client <= B; client++) {
            calls(story, client, OP_ACQUIRE);
            if (is_inferred)
                infers(story, client, EVENT_RETURN, OP_ACQUIRE, RESULT_GRANTED);
            else
                returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
        }
        ends(story);
        assert_int_equal(verdict_of(story, PROPERTY_LEASE_EXCLUSION),
                         is_inferred ? VERDICT_UNKNOWN : VERDICT_VIOLATED);
        story_free(story);
    }
}

/* A says that its lock is lost, and its process ends: soon, late, never; it crashes; it is granted
 * the lock again; or it never promised to end. */
static void who_promised_to_end_at_a_loss_ends(void **state)
{
    static const struct {
        bool is_promised, ends, crashes, gets_it_again;
        int after_ms;
        bool is_violated;
    } rows[] = {
        {.is_promised = true, .ends = true},
        {.is_promised = true, .ends = true, .after_ms = 14},
        {.is_promised = true, .ends = true, .after_ms = 30, .is_violated = true},
        {.is_promised = true, .after_ms = 30, .is_violated = true},
        {.is_promised = true}, /* nobody has seen more */
        {.is_promised = true, .crashes = true, .after_ms = 10},
        {.is_promised = true, .gets_it_again = true, .is_violated = true},
        {.after_ms = 30},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = foreign_whole(
            PROMISE_EXPIRY | PROMISE_NOTICE | (rows[i].is_promised ? PROMISE_EXITS : 0), 1);
        takes(story, A);
        at(story, LEASE_MS);
        happens(story, (struct event){.kind = EVENT_NOTICE, .client = A, .server = -1});
        if (rows[i].after_ms)
            at(story, LEASE_MS + rows[i].after_ms);
        if (rows[i].ends)
            happens(story, (struct event){.kind = EVENT_EXIT, .client = A, .server = -1});
        if (rows[i].crashes)
            crashes(story, A);
        if (rows[i].gets_it_again)
            takes(story, A);
        if (rows[i].ends || rows[i].crashes) {
            at(story, LEASE_MS + 50);
            takes(story, B);
            gives_back(story, B, deleted(B), RESULT_RELEASED);
        }
        ends(story);
        assert_int_equal(story->findings[PROPERTY_LOSS_NOTICE].verdict == VERDICT_VIOLATED,
                         rows[i].is_violated);
        if (rows[i].is_violated)
            assert_says(&story->findings[PROPERTY_LOSS_NOTICE], "Its process goes on at");
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expiry_is_judged_where_it_is_promised),
        cmocka_unit_test(an_overrun_is_one_of_a_lease_that_is_promised),
        cmocka_unit_test(who_is_granted_nothing_is_told_an_untruth),
        cmocka_unit_test(the_rest_of_an_old_lease_is_no_grant),
        cmocka_unit_test(who_could_not_extend_holds_no_more),
        cmocka_unit_test(notice_is_judged_where_it_is_promised),
        cmocka_unit_test(fences_are_judged_where_they_are_promised),
        cmocka_unit_test(tokens_are_judged_where_they_are_promised),
        cmocka_unit_test(a_majority_is_asked_where_it_is_promised),
        cmocka_unit_test(a_lease_counts_from_the_command_that_won),
        cmocka_unit_test(a_sentence_says_what_was_inferred),
        cmocka_unit_test(an_inferred_answer_is_not_untrue),
        cmocka_unit_test(an_inferred_hold_is_no_late_grant),
        cmocka_unit_test(what_was_inferred_proves_nothing_without_the_servers),
        cmocka_unit_test(who_promised_to_end_at_a_loss_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
