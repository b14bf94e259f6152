/* test_checks_truthful.c - "refused" means that somebody else held it: who is refused by a key that
 * it has left behind itself, whose fault that is, and when it is not so. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "checks/answers.h"
#include "test/foreign_story.h"

/* A's SET is executed, and A told that it failed: its reply is lost, or (is_smooth) was heard. */
static void leaves(struct story *story, int client, enum result result, bool is_smooth)
{
    is_granted(story, client);
    if (is_smooth)
        hears(story, client, 0, OP_ACQUIRE, set(story, client), OK);
    else
        strikes(story, "lose-reply", client, 0, 0);
    returns(story, client, OP_ACQUIRE, result);
}

static void refused_by_what_a_lost_reply_has_left_is_nobodys_fault(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    leaves(story, A, RESULT_FAILED, false);
    is_refused(story, A);
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_LEFTOVER);
    assert_int_equal(cause_blame(CAUSE_LEFTOVER), BLAME_NOBODY);
    assert_says(&story->findings[PROPERTY_TRUTHFUL], "A's acquire returned \"failed\"");
    assert_says(&story->findings[PROPERTY_TRUTHFUL], "nobody else held the lock");
    story_free(story);
}

/* Left behind without a fault, or with an answer that was not so. */
static void refused_by_what_the_scheme_has_left_is_its_fault(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        struct story *story = story_new(&expiring, 1, 300);
        leaves(story, A, how == 0 ? RESULT_FAILED : RESULT_REFUSED, how == 0);
        is_refused(story, A);
        ends(story);
        enum cause cause = how == 0 ? CAUSE_UNRELEASED : CAUSE_UNTRUE_ANSWER;
        assert_violated(story, PROPERTY_TRUTHFUL, 1 + how, cause); /* the first answer, too */
        assert_int_equal(cause_blame(cause), BLAME_SCHEME);
        story_free(story);
    }
}

/* A release whose answer was lost leaves as much behind, and a SET that comes late. */
static void a_release_or_a_late_set_leaves_as_much(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        struct story *story = story_new(&expiring, 1, 300);
        struct command late;
        if (how == 0) {
            acquires(story, A);
            calls(story, A, OP_RELEASE);
            strikes(story, "lose-request", A, 0, 0);
            returns(story, A, OP_RELEASE, RESULT_FAILED);
        } else {
            calls(story, A, OP_ACQUIRE);
            late = set(story, A);
            sends(story, A, 0, OP_ACQUIRE, late);
            strikes(story, "give-up", A, 0, 0);
            returns(story, A, OP_ACQUIRE, RESULT_FAILED);
            executes(story, A, OP_ACQUIRE, late, OK);
        }
        is_refused(story, A);
        ends(story);
        assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_LEFTOVER);
        story_free(story);
    }
}

/* A's release is executed twice; the second one's answer is what A hears. */
static struct story *told_by_the_second(const char *fault)
{
    struct story *story = story_new(&expiring, 1, 300);
    acquires(story, A);
    const struct command release = command(VERB_COMPARE_DELETE, token(story, A), 0);
    calls(story, A, OP_RELEASE);
    sends(story, A, 0, OP_RELEASE, release);
    strikes_command(story, fault, A, OP_RELEASE, release);
    executes(story, A, OP_RELEASE, release, INTEGER(1));
    executes(story, A, OP_RELEASE, release, INTEGER(0));
    returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
    ends(story);
    return story;
}

/* A's server counts how often it has entered: A asks twice, and releases once, so that B is refused
 * truly. A is told the same fencing token twice; also where a release between never came. */
static void who_enters_its_lock_again_is_told_no_untruth(void **state)
{
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        const bool is_seen = turn & 1, loses_release = turn & 2;
        struct story *story = foreign(ALL_PROMISES | PROMISE_FENCE, 1);
        for (int i = 0; i < 2; i++) {
            if (i && loses_release) {
                calls(story, A, OP_RELEASE);
                returns(story, A, OP_RELEASE, RESULT_FAILED);
            }
            calls(story, A, OP_ACQUIRE);
            if (is_seen)
                runs(story, A, OP_ACQUIRE, i ? expiry(DID_LENGTHENED, LEASE_MS) : created(A));
            happens(story, (struct event){.kind = EVENT_RETURN,
                                          .client = A,
                                          .op = OP_ACQUIRE,
                                          .result = RESULT_GRANTED,
                                          .fence = 7});
        }
        calls(story, A, OP_RELEASE);
        if (is_seen)
            runs(story, A, OP_RELEASE, expiry(DID_LENGTHENED, LEASE_MS));
        returns(story, A, OP_RELEASE, RESULT_RELEASED);
        calls(story, B, OP_ACQUIRE);
        if (is_seen)
            runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_FENCE_ORDER].count, 0);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 0);
        assert_false(says(story, PROPERTY_TRUTHFUL, "disagree"));
        if (is_seen)
            assert_holds(story, PROPERTY_TRUTHFUL);
        story_free(story);
    }
}

/* Until another client is granted it: B has it then for certain, and C cannot have had it when D is
 * refused. Where the holder is refused by its model, it has it twice. */
static void what_is_not_known_of_a_lock_that_was_entered_again_ends(void **state)
{
    static const struct {
        int client;
        enum operation op;
        enum result result;
        bool contradicts;
    } told[] = {
        {A, OP_ACQUIRE, RESULT_GRANTED, false},  {A, OP_ACQUIRE, RESULT_GRANTED, false},
        {A, OP_RELEASE, RESULT_RELEASED, false}, {B, OP_ACQUIRE, RESULT_REFUSED, false},
        {A, OP_ACQUIRE, RESULT_GRANTED, false},  {A, OP_RELEASE, RESULT_RELEASED, false},
        {B, OP_ACQUIRE, RESULT_REFUSED, false},  {B, OP_ACQUIRE, RESULT_GRANTED, false},
        {A, OP_ACQUIRE, RESULT_GRANTED, true},
    };
    (void)state;
    for (int may_be = 0; may_be <= 1; may_be++) {
        const struct answers_rules rules = {.may_be_reentered = may_be};
        struct answers_engine *engine = answers_new(rules, 2, 1);
        int attempts[2] = {0}, contradictions = 0;
        for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
            struct event event = {.time_us = (int64_t)(2 * i), .client = told[i].client};
            attempts[told[i].client] += told[i].op == OP_ACQUIRE;
            event.op = told[i].op;
            event.attempt = attempts[told[i].client];
            event.kind = EVENT_CALL;
            assert_int_equal(answers_event(engine, &event), ANSWERS_FIT);
            event.kind = EVENT_RETURN;
            event.time_us++;
            event.result = told[i].result;
            const bool contradicts = answers_event(engine, &event) == ANSWERS_CONTRADICT;
            contradictions += contradicts;
            if (may_be)
                assert_int_equal(contradicts, told[i].contradicts);
        }
        assert_true(contradictions >= (may_be ? 1 : 3));
        assert_int_equal(answers_are_lenient(engine), may_be);
        answers_free(engine);
    }
}

/* "A1 acquire; A1 granted; ...": client and attempt, one after another. Does any contradict? */
static bool is_contradicted(struct answers_rules rules, const char *told)
{
    struct answers_engine *engine = answers_new(rules, 3, 1);
    enum operation ops[3] = {0};
    bool contradicts = false;
    struct event event = {.server = -1};
    char name, word[16];
    for (int used; sscanf(told, " %c%d %15[a-z-]%n", &name, &event.attempt, word, &used) == 3;
         told += used + (told[used] == ';')) {
        event.client = name - 'A';
        event.time_us++;
        event.result = RESULT_NONE;
        event.kind = operation_read(word, &ops[event.client]) ? EVENT_CALL : EVENT_RETURN;
        event.op = ops[event.client];
        assert_true(event.kind == EVENT_CALL || result_read(word, &event.result));
        contradicts |= answers_event(engine, &event) == ANSWERS_CONTRADICT;
    }
    assert_int_equal(*told, 0);
    answers_free(engine);
    return contradicts;
}

/* Of a lock that its holder may not be granted again, no lock answers any of that. */
static void what_was_entered_again_accuses_nobody_of_it_and_others_all_the_same(void **state)
{
    static const struct {
        bool contradicts;
        const char *told;
    } rows[] = {
        /* the last release took effect before B's grant */
        {false,
         "A1 acquire; A1 granted; A2 acquire; A2 granted; A2 release; A2 released; A2 release; "
         "B1 acquire; B1 granted; A2 released"},
        {false,
         "A1 acquire; A1 granted; B1 acquire; B1 refused; A2 acquire; A2 granted; A2 release; "
         "A2 released; A2 release; A2 released; B2 acquire; B2 granted"},
        /* what C was refused it does not have, however often A has entered it */
        {true,
         "A1 acquire; A1 granted; A2 acquire; A2 granted; C1 acquire; C1 refused; C1 release; "
         "C1 released"},
        {true, "A1 acquire; A1 granted; A2 acquire; A2 granted; C1 acquire; C1 refused; C1 extend; "
               "C1 done"},
        /* A may have it yet, by an attempt before */
        {false,
         "A1 acquire; A1 granted; A2 acquire; A2 granted; A2 release; A3 acquire; A3 refused; "
         "A3 release; A3 released"},
        /* but what it has left without an answer it may have by then */
        {false,
         "A1 acquire; A1 granted; A2 acquire; A2 granted; C1 acquire; A2 release; A2 released; "
         "C2 acquire; C2 refused; C2 release; C2 released"},
    };
    (void)state;
    for (int may_be = 0; may_be <= 1; may_be++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const struct answers_rules rules = {.may_be_reentered = may_be,
                                                .releases_former = true};
            if (is_contradicted(rules, rows[i].told) != (!may_be || rows[i].contradicts))
                fail_msg("%d %s", may_be, rows[i].told);
        }
}

/* What it was granted it gives back by itself, once, before it returns or behind that. */
static void an_acquire_without_an_answer_gives_back_what_it_had(void **state)
{
    static const char *const ends[] = {"A1 cancelled; ", "A1 failed; ", "A2 acquire; ", ""};
    char told[200];
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(told, sizeof told, "A1 acquire; B1 acquire; B1 refused; %sB2 acquire; B2 granted",
                 ends[i]);
        assert_false(is_contradicted((struct answers_rules){0}, told));
        strcat(told, "; C1 acquire; C1 granted");
        assert_true(is_contradicted((struct answers_rules){0}, told));
    }
}

/* A "refused" of a recorded run that was turned into "granted": A is dead, or has released when B
 * is told, so that no two hold at once. */
static void granted_by_no_server_is_untrue(void **state)
{
    (void)state;
    for (int is_dead = 0; is_dead <= 1; is_dead++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        calls(story, B, OP_ACQUIRE);
        executes(story, B, OP_ACQUIRE, set(story, B), NIL);
        if (is_dead)
            crashes(story, A);
        else
            releases(story, A, 1);
        returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        assert_says(&story->findings[PROPERTY_TRUTHFUL], "no server had granted it");
        story_free(story);
    }
}

static void not_mine_of_what_its_own_library_sent_again_is_untrue(void **state)
{
    (void)state;
    struct story *story = told_by_the_second("resend");
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    story_free(story);
    story = told_by_the_second("duplicate"); /* nobody told A of the copy */
    assert_silent(story);
    story_free(story);
}

/* The server's clock runs twice as fast: its key is gone by half of its lease, and an EXEC that is
 * aborted does not say why. By a clock that is right it is there, and the answer is not so. */
static void not_mine_of_a_key_that_a_fast_clock_has_taken_is_true(void **state)
{
    (void)state;
    for (int is_fast = 0; is_fast <= 1; is_fast++) {
        struct story *story = story_new(&expiring, 1, 300);
        if (is_fast)
            strikes(story, "server-drift", -1, 0, 1000);
        acquires(story, A);
        calls(story, A, OP_RELEASE);
        at(story, 200);
        executes(story, A, OP_RELEASE, command(VERB_MULTI_DEL, 0, 0), NIL);
        returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, is_fast ? 0 : 1);
        story_free(story);
    }
}

/* The server has evicted A's key, and says so to its release; then a replica brings it back, before
 * A has said what it heard. A restored key of before the release was A's all the same. */
static void what_comes_back_behind_a_release_is_no_untruth(void **state)
{
    (void)state;
    for (int is_before = 0; is_before <= 1; is_before++) {
        struct story *story = story_whole(&expiring, 1, 300);
        acquires(story, A);
        strikes(story, "cut-replica", -1, 0, 0);
        strikes(story, "evict", -1, 0, 0);
        if (is_before)
            strikes(story, "failover", -1, 0, 0);
        const struct command release = command(VERB_COMPARE_DELETE, token(story, A), 0);
        calls(story, A, OP_RELEASE);
        sends(story, A, 0, OP_RELEASE, release);
        if (!is_before) {
            executes(story, A, OP_RELEASE, release, INTEGER(0));
            strikes(story, "failover", -1, 0, 0);
        }
        returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, is_before);
        story_free(story);
    }
}

/* A copy of A's SET comes when A has deleted its key, or was refused, and before A has said so. */
static void what_a_copy_leaves_behind_the_answer_is_nobodys_fault(void **state)
{
    (void)state;
    for (int is_release = 0; is_release <= 1; is_release++) {
        struct story *story = story_new(&expiring, 1, 300);
        if (!is_release)
            acquires(story, B);
        calls(story, A, OP_ACQUIRE);
        const struct command release = command(VERB_COMPARE_DELETE, token(story, A), 0);
        sends(story, A, 0, OP_ACQUIRE, set(story, A));
        strikes_command(story, "duplicate", A, OP_ACQUIRE, set(story, A));
        executes(story, A, OP_ACQUIRE, set(story, A), is_release ? OK : NIL);
        if (is_release) {
            returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
            calls(story, A, OP_RELEASE);
            sends(story, A, 0, OP_RELEASE, release);
            executes(story, A, OP_RELEASE, release, INTEGER(1));
        } else {
            releases(story, B, 1);
        }
        executes(story, A, OP_ACQUIRE, set(story, A), OK);
        returns(story, A, is_release ? OP_RELEASE : OP_ACQUIRE,
                is_release ? RESULT_RELEASED : RESULT_REFUSED);
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1, CAUSE_LEFTOVER);
        story_free(story);
    }
}

static void what_is_seen_refuses_too(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    leaves(story, A, RESULT_FAILED, false);
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_GET, 0, 0), VALUE(1001));
    returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_LEFTOVER);
    story_free(story);
}

static void what_a_replica_brings_back_is_the_deployments(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    strikes(story, "cut-replica", -1, 0, 0);
    releases(story, A, 1);
    strikes(story, "failover", -1, 0, 0);
    is_refused(story, A);
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_LOST_GRANT);
    assert_says(&story->findings[PROPERTY_TRUTHFUL], "A replica had brought it back.");
    story_free(story);
}

/* Nor does a replica bring back what has expired there: what refused it then, nobody knows. */
static void what_has_expired_on_a_replica_stays_away(void **state)
{
    static const struct {
        double failover_ms;
        bool is_untrue;
    } rows[] = {{299, true}, {302, false}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        strikes(story, "cut-replica", -1, 0, 0);
        releases(story, A, 1);
        at(story, rows[i].failover_ms);
        strikes(story, "failover", -1, 0, 0);
        is_refused(story, A);
        ends(story);
        if (rows[i].is_untrue)
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_LOST_GRANT);
        else
            assert_verdict(story, PROPERTY_TRUTHFUL, VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* Somebody else held it when it was asked for the last time. */
static void refused_by_another_in_the_end_is_true(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    leaves(story, A, RESULT_FAILED, false);
    at(story, 299);
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, set(story, A), NIL); /* by its leftover */
    at(story, 302);
    acquires(story, B);
    executes(story, A, OP_ACQUIRE, set(story, A), NIL);
    returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    assert_holds(story, PROPERTY_TRUTHFUL);
    story_free(story);
}

/* The one that crashed is another one; and who asks for what it holds knows that it does. */
static void what_another_life_has_left_is_anothers(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        if (how == 0)
            crashes(story, A);
        is_refused(story, A);
        ends(story);
        assert_holds(story, PROPERTY_TRUTHFUL);
        story_free(story);
    }
}

/* Of a quorum, two of three servers. */
static void a_majority_must_be_left_behind(void **state)
{
    (void)state;
    for (int left = 1; left <= 2; left++) {
        struct story *story = story_new(&majority, 3, 300);
        calls(story, A, OP_ACQUIRE);
        for (int s = 0; s < left; s++)
            executes_at(story, A, s, OP_ACQUIRE, set(story, A), OK);
        strikes(story, "lose-reply", A, 0, 0);
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        calls(story, B, OP_ACQUIRE);
        executes_at(story, B, 2, OP_ACQUIRE, set(story, B), OK);
        returns(story, B, OP_ACQUIRE, RESULT_FAILED);
        calls(story, A, OP_ACQUIRE);
        for (int s = 0; s < 3; s++)
            executes_at(story, A, s, OP_ACQUIRE, set(story, A), NIL);
        returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (left == 2)
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_LEFTOVER);
        else
            assert_holds(story, PROPERTY_TRUTHFUL);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_by_what_a_lost_reply_has_left_is_nobodys_fault),
        cmocka_unit_test(refused_by_what_the_scheme_has_left_is_its_fault),
        cmocka_unit_test(a_release_or_a_late_set_leaves_as_much),
        cmocka_unit_test(who_enters_its_lock_again_is_told_no_untruth),
        cmocka_unit_test(what_is_not_known_of_a_lock_that_was_entered_again_ends),
        cmocka_unit_test(what_was_entered_again_accuses_nobody_of_it_and_others_all_the_same),
        cmocka_unit_test(an_acquire_without_an_answer_gives_back_what_it_had),
        cmocka_unit_test(granted_by_no_server_is_untrue),
        cmocka_unit_test(not_mine_of_what_its_own_library_sent_again_is_untrue),
        cmocka_unit_test(not_mine_of_a_key_that_a_fast_clock_has_taken_is_true),
        cmocka_unit_test(what_comes_back_behind_a_release_is_no_untruth),
        cmocka_unit_test(what_a_copy_leaves_behind_the_answer_is_nobodys_fault),
        cmocka_unit_test(what_is_seen_refuses_too),
        cmocka_unit_test(what_a_replica_brings_back_is_the_deployments),
        cmocka_unit_test(what_has_expired_on_a_replica_stays_away),
        cmocka_unit_test(refused_by_another_in_the_end_is_true),
        cmocka_unit_test(what_another_life_has_left_is_anothers),
        cmocka_unit_test(a_majority_must_be_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
