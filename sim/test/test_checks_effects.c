/* test_checks_effects.c - foreign locks: opaque commands are judged by what they did to their keys,
 * and a lock by what its history says that it promises. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

/* --- effects --- */

static void a_clean_history_holds(void **state)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    (void)state;
    takes(story, A);
    calls(story, B, OP_ACQUIRE);
    sends_script(story, B, OP_ACQUIRE);
    runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    calls(story, A, OP_EXTEND);
    sends_script(story, A, OP_EXTEND);
    runs(story, A, OP_EXTEND, expiry(DID_LENGTHENED, LEASE_MS));
    at(story, 200);
    gives_back(story, A, deleted(A), RESULT_RELEASED);
    takes(story, B);
    gives_back(story, B, deleted(B), RESULT_RELEASED);
    ends(story);
    assert_silent(story);
    story_free(story);
}

/* A outlives its lease and deletes B's lock, or is refused. */
static void who_deletes_anothers_key_by_a_script(void **state)
{
    (void)state;
    for (int is_refused = 0; is_refused < 2; is_refused++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        at(story, 310);
        takes(story, B);
        gives_back(story, A, is_refused ? refused(EFFECT_DELETE, B) : deleted(B), RESULT_NOT_MINE);
        if (!is_refused)
            takes(story, C);
        ends(story);
        if (is_refused) {
            assert_holds(story, PROPERTY_RELEASE_OWN);
            assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        } else {
            assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
            assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNLOCK_BUG);
            assert_true(
                says(story, PROPERTY_RELEASE_OWN, "A sent EVALSHA 9d2f 1 lock, executed at"));
            assert_true(says(story, PROPERTY_RELEASE_OWN, "it removed B's lock"));
        }
        story_free(story);
    }
}

/* B changes A's expiry, or A its own. */
static void who_changes_anothers_expiry(void **state)
{
    static const enum did dids[] = {DID_EXPIRY_SET, DID_LENGTHENED, DID_SHORTENED, DID_UNEXPIRED};
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int who = A; who <= B; who++) {
            struct story *story = foreign(ALL_PROMISES, 1);
            struct key_effect effect = expiry(dids[i], dids[i] == DID_SHORTENED ? 100 : 400);
            effect.has_ttl = dids[i] != DID_UNEXPIRED;
            takes(story, A);
            calls(story, B, OP_ACQUIRE);
            sends_script(story, B, OP_ACQUIRE);
            if (who == A)
                calls(story, A, OP_EXTEND);
            runs(story, who, who == A ? OP_EXTEND : OP_ACQUIRE, effect);
            returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
            ends(story);
            if (who == B)
                assert_violated(story, PROPERTY_EXTEND_OWN, 1, CAUSE_FOREIGN_EXTEND);
            else
                assert_holds(story, PROPERTY_EXTEND_OWN);
            if (dids[i] == DID_UNEXPIRED)
                assert_violated(story, PROPERTY_ALWAYS_EXPIRES, 1, CAUSE_NO_EXPIRY);
            else
                assert_holds(story, PROPERTY_ALWAYS_EXPIRES);
            story_free(story);
        }
}

/* B writes over A's living lock, or where there was nothing. */
static void who_overwrites_a_living_lock(void **state)
{
    (void)state;
    for (int is_over = 0; is_over < 2; is_over++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        struct key_effect effect = created(B);
        takes(story, A);
        if (!is_over)
            gives_back(story, A, deleted(A), RESULT_RELEASED);
        calls(story, B, OP_ACQUIRE);
        effect.did = DID_OVERWRITTEN;
        effect.before = is_over ? BEFORE_PRESENT : BEFORE_UNKNOWN;
        runs(story, B, OP_ACQUIRE, effect);
        returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        if (is_over)
            assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_ACQUIRE_BUG);
        else
            assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        story_free(story);
    }
}

/* A script whose copy comes again deletes the next holder's lock: by its bytes it is the same. */
static void a_script_that_comes_twice(void **state)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    (void)state;
    takes(story, A);
    calls(story, A, OP_RELEASE);
    sends_script(story, A, OP_RELEASE);
    happens(story, (struct event){.kind = EVENT_FAULT,
                                  .client = A,
                                  .op = OP_RELEASE,
                                  .fault = FAULT_DUPLICATE,
                                  .opaque = &script});
    runs(story, A, OP_RELEASE, deleted(A));
    returns(story, A, OP_RELEASE, RESULT_RELEASED);
    takes(story, B);
    runs(story, A, OP_RELEASE, deleted(B));
    ends(story);
    assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
    assert_true(says(story, PROPERTY_RELEASE_OWN, "triggered by an EVALSHA that was sent twice"));
    story_free(story);
}

/* --- of a real server: executions that are told in a wrong order --- */

static void an_opaque_execution_waits_for_what_explains_it(void **state)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    (void)state;
    takes(story, A);
    at(story, 50);
    calls(story, A, OP_RELEASE);
    calls(story, B, OP_ACQUIRE);
    for (int i = 0; i < 2; i++) { /* B's grant is told before A's delete */
        struct opaque opaque = script;
        struct effects effects = {.count = 1, .on = {i ? deleted(A) : created(B)}};
        struct event event = {.kind = EVENT_EXECUTE,
                              .index = story->index++,
                              .client = i ? A : B,
                              .attempt = 1,
                              .op = i ? OP_RELEASE : OP_ACQUIRE,
                              .from_us = 50000,
                              .time_us = story->now_us,
                              .reply = INTEGER(1),
                              .opaque = &opaque,
                              .effects = &effects};
        checks_event(story->checks, &event);
        memset(&opaque, 'x', sizeof opaque);
        memset(&effects, 'x', sizeof effects);
        story->now_us += 10;
    }
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    returns(story, A, OP_RELEASE, RESULT_RELEASED);
    ends(story);
    assert_silent(story);
    story_free(story);
}

/* --- what nobody saw --- */

static void a_script_whose_effect_nobody_saw_proves_nothing(void **state)
{
    (void)state;
    for (int is_seen = 0; is_seen < 2; is_seen++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        struct effects effects = {.count = 1, .on = {created(A)}};
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        happens(story, (struct event){.kind = EVENT_EXECUTE,
                                      .client = A,
                                      .op = OP_ACQUIRE,
                                      .reply = INTEGER(1),
                                      .opaque = &script,
                                      .effects = is_seen ? &effects : NULL});
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_RELEASE_OWN].verdict,
                         is_seen ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        assert_int_equal(
            says(story, PROPERTY_RELEASE_OWN, "nobody saw what it did to the lock key"), !is_seen);
        story_free(story);
    }
}

/* A list of tokens: who takes the last one has the lock, and no key says so. Who writes his own
 * behind it is judged as any. */
static void a_lock_that_is_taken_away_has_no_owner(void **state)
{
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        calls(story, A, OP_ACQUIRE);
        for (int i = 0; i < 2 + writes; i++) {
            struct effects effects = {.count = 1, .on = {i == 1 ? deleted(A) : created(A)}};
            sends_script(story, A, OP_ACQUIRE);
            happens(story, (struct event){.kind = EVENT_EXECUTE,
                                          .client = A,
                                          .op = OP_ACQUIRE,
                                          .reply = INTEGER(1),
                                          .opaque = &script,
                                          .effects = &effects});
        }
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_int_equal(says(story, PROPERTY_RELEASE_OWN, "it had taken the lock's key away"),
                         !writes);
        story_free(story);
    }
}

/* Whoever looks at the key once more before it returns has no longer lease for it. */
static void a_look_at_the_key_moves_no_lease(void **state)
{
    (void)state;
    for (int looks = 0; looks < 2; looks++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, created(A));
        at(story, 310);
        takes(story, B);
        if (looks) {
            sends_script(story, A, OP_ACQUIRE);
            runs(story, A, OP_ACQUIRE, refused(EFFECT_SET, B));
        }
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_violated(story, PROPERTY_FRESH_GRANT, 1, CAUSE_LATE_GRANT);
        assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        story_free(story);
    }
}

/* Who gave back what it had got, and asked again, has the lease of what it got then. */
static void a_lease_counts_from_the_last_time_that_it_was_granted(void **state)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    sends_script(story, A, OP_ACQUIRE);
    runs(story, A, OP_ACQUIRE, created(A));
    runs(story, A, OP_ACQUIRE, deleted(A));
    at(story, 400);
    sends_script(story, A, OP_ACQUIRE);
    runs(story, A, OP_ACQUIRE, created(A));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    assert_holds(story, PROPERTY_FRESH_GRANT);
    story_free(story);
}

/* What A left, B does not find, or finds otherwise; no time and no fault made it so. */
static void effects_that_contradict_each_other_prove_nothing(void **state)
{
    struct key_effect taken_over = deleted(C); /* of a value that nobody wrote */
    const struct {
        struct key_effect effect;
        const char *words;
        bool is_after; /* A's release */
    } rows[] = {
        {created(B), "creates the key, but the key was there, and its time was not over", false},
        {taken_over, "deletes the key, but the key had another value", false},
        {deleted(A), "deletes the key, but no such key was there", true},
        {expiry(DID_LENGTHENED, 300), "lengthens the key's expiry, but no such key was there",
         true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        if (rows[i].is_after)
            gives_back(story, A, deleted(A), RESULT_RELEASED);
        calls(story, B, OP_ACQUIRE);
        sends_script(story, B, OP_ACQUIRE);
        runs(story, B, OP_ACQUIRE, rows[i].effect);
        returns(story, B, OP_ACQUIRE, RESULT_FAILED);
        ends(story);
        assert_verdict(story, PROPERTY_EXTEND_OWN, VERDICT_UNKNOWN);
        assert_verdict(story, PROPERTY_RELEASE_OWN, VERDICT_UNKNOWN);
        assert_true(says(story, PROPERTY_RELEASE_OWN, rows[i].words));
        story_free(story);
    }
    struct story *story = foreign(ALL_PROMISES, 1); /* a fault, or its time, explains it */
    takes(story, A);
    strikes(story, "restart-empty", -1, 0, 0);
    takes(story, B);
    at(story, 600);
    takes(story, C);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_LOST_GRANT);
    story_free(story);
}

/* Refused by A's key, B cleans up long after A gave it back: a script that finds no key tells
 * nobody that the lock is taken. Of one that may have found one nobody knows. */
static void who_cleans_up_late_was_refused_before(void **state)
{
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        struct key_effect cleans = {.did = DID_REFUSED,
                                    .before = is_known ? BEFORE_ABSENT : BEFORE_UNKNOWN,
                                    .wanted = EFFECT_SET};
        takes(story, A);
        calls(story, B, OP_ACQUIRE);
        sends_script(story, B, OP_ACQUIRE);
        runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
        gives_back(story, A, deleted(A), RESULT_RELEASED);
        at(story, 3 * LEASE_MS);
        sends_script(story, B, OP_ACQUIRE);
        runs(story, B, OP_ACQUIRE, cleans);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (is_known)
            assert_holds(story, PROPERTY_PROGRESS);
        else
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
        story_free(story);
    }
}

/* A never hears of its grant, asks again, is refused by its own key, and sets that key's expiry by
 * the same transaction: to take the lock, or to look after it. */
static void who_is_refused_by_his_own_key_and_sets_its_expiry(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        struct key_effect effect = expiry(DID_LENGTHENED, LEASE_MS);
        effect.wanted = did_wants(effect.did, EFFECT_SET, asked);
        assert_int_equal(effect.wanted, asked ? EFFECT_SET : EFFECT_EXPIRE);
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, created(A));
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, effect);
        returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (asked)
            assert_verdict(story, PROPERTY_TRUTHFUL, VERDICT_VIOLATED);
        else
            assert_holds(story, PROPERTY_TRUTHFUL);
        story_free(story);
    }
    assert_int_equal(did_wants(DID_DELETED, EFFECT_SET, true), EFFECT_SET);
    assert_int_equal(did_wants(DID_DELETED, EFFECT_DELETE, true), EFFECT_DELETE);
    assert_int_equal(did_wants(DID_SHORTENED, EFFECT_DELETE, true), EFFECT_EXPIRE);
}

/* A renewal gives the lock another value, and its release finds that one. */
static void a_lock_has_the_value_that_its_renewal_gave_it(void **state)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    struct key_effect renewal = expiry(DID_LENGTHENED, LEASE_MS);
    (void)state;
    renewal.has_new = true;
    renewal.new_value = token_of(C);
    takes(story, A);
    at(story, 100);
    calls(story, A, OP_EXTEND);
    sends_script(story, A, OP_EXTEND);
    runs(story, A, OP_EXTEND, renewal);
    returns(story, A, OP_EXTEND, RESULT_DONE);
    gives_back(story, A, deleted(C), RESULT_RELEASED);
    ends(story);
    assert_holds(story, PROPERTY_RELEASE_OWN);
    assert_holds(story, PROPERTY_EXTEND_OWN);
    story_free(story);
}

/* A took the lock, and released it too late, so that B has it; then it is granted it without a
 * command. A line may be missing, but where the head says that none is. What A's plain DEL did is
 * proved, whatever comes behind it. */
static struct story *granted_from_memory(bool has_all_commands, bool has_asked, bool has_deleted)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    story->head.has_all_commands = has_all_commands;
    (void)story_begin(story, NULL);
    if (has_asked) {
        takes(story, A);
        at(story, LEASE_MS + 10);
    }
    takes(story, B);
    if (has_asked)
        gives_back(story, A, has_deleted ? deleted(B) : refused(EFFECT_DELETE, B),
                   has_deleted ? RESULT_RELEASED : RESULT_NOT_MINE);
    calls(story, A, OP_ACQUIRE);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    return story;
}

static void granted_from_memory_is_untrue_where_all_commands_are_seen(void **state)
{
    (void)state;
    struct story *story = granted_from_memory(true, true, false);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNTRUE_ANSWER);
    assert_true(says(story, PROPERTY_TRUTHFUL, "had asked no server for the lock"));
    assert_holds(story, PROPERTY_RELEASE_OWN);
    story_free(story);
    story = granted_from_memory(true, true, true);
    assert_violated(story, PROPERTY_RELEASE_OWN, 1, CAUSE_UNLOCK_BUG);
    story_free(story);
    story = granted_from_memory(true, false, false); /* it may have asked before all that */
    assert_true(says(story, PROPERTY_TRUTHFUL, "nobody saw what it asked a server"));
    story_free(story);
    story = granted_from_memory(false, true, true); /* from elsewhere */
    assert_verdict(story, PROPERTY_RELEASE_OWN, VERDICT_UNKNOWN);
    assert_true(says(story, PROPERTY_RELEASE_OWN, "nobody saw what it asked a server"));
    story_free(story);
}

/* Its key is there: it may know that it has the lock. */
static void who_has_the_key_may_be_granted_the_lock_from_memory(void **state)
{
    (void)state;
    for (int is_released = 0; is_released <= 1; is_released++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        story->head.has_all_commands = true;
        (void)story_begin(story, NULL);
        takes(story, A);
        if (is_released) { /* what it asked is lost on its way */
            calls(story, A, OP_RELEASE);
            sends_script(story, A, OP_RELEASE);
            returns(story, A, OP_RELEASE, RESULT_FAILED);
        }
        calls(story, A, OP_ACQUIRE);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 0);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(granted_from_memory_is_untrue_where_all_commands_are_seen),
        cmocka_unit_test(who_has_the_key_may_be_granted_the_lock_from_memory),
        cmocka_unit_test(a_clean_history_holds),
        cmocka_unit_test(who_deletes_anothers_key_by_a_script),
        cmocka_unit_test(who_changes_anothers_expiry),
        cmocka_unit_test(who_overwrites_a_living_lock),
        cmocka_unit_test(a_script_that_comes_twice),
        cmocka_unit_test(an_opaque_execution_waits_for_what_explains_it),
        cmocka_unit_test(a_script_whose_effect_nobody_saw_proves_nothing),
        cmocka_unit_test(a_lock_that_is_taken_away_has_no_owner),
        cmocka_unit_test(a_look_at_the_key_moves_no_lease),
        cmocka_unit_test(a_lease_counts_from_the_last_time_that_it_was_granted),
        cmocka_unit_test(effects_that_contradict_each_other_prove_nothing),
        cmocka_unit_test(who_cleans_up_late_was_refused_before),
        cmocka_unit_test(a_lock_has_the_value_that_its_renewal_gave_it),
        cmocka_unit_test(who_is_refused_by_his_own_key_and_sets_its_expiry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
