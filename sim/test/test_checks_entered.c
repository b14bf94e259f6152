/* test_checks_entered.c - who asks again for a lock that it has, with another attempt, and enters
 * it once more: with a lease or without one, and when it is lost before, or after, it was told so.
 * And what a copy of its request enters, of which nobody hears. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

enum { NO_LEASE = PROMISE_EXTENDS | PROMISE_TOKEN };

static struct key_effect made(bool has_lease)
{
    struct key_effect effect = created(A);
    effect.has_ttl = has_lease;
    return effect;
}

/* Counted, or let pass: the key stays as it is. */
static struct key_effect is_read(void)
{
    return (struct key_effect){.did = DID_READ,
                               .before = BEFORE_PRESENT,
                               .wanted = EFFECT_READ,
                               .has_old = true,
                               .old_value = token_of(A)};
}

static struct key_effect enters(bool has_lease)
{
    return has_lease ? expiry(DID_LENGTHENED, LEASE_MS) : is_read();
}

static struct key_effect finds_none(void)
{
    return (struct key_effect){
        .did = DID_REFUSED, .before = BEFORE_ABSENT, .wanted = EFFECT_DELETE};
}

static void is_told(struct story *story, int client, enum operation op, enum result result,
                    int64_t fence)
{
    happens(story, (struct event){.kind = EVENT_RETURN,
                                  .client = client,
                                  .server = -1,
                                  .op = op,
                                  .result = result,
                                  .fence = fence});
}

/* A is told `first` of its key, and B is refused by it. */
static struct story *has(bool has_lease, enum result first, int64_t fence)
{
    struct story *story =
        foreign((has_lease ? ALL_PROMISES : NO_LEASE) | (fence ? PROMISE_FENCE : 0), 1);
    calls(story, A, OP_ACQUIRE);
    runs(story, A, OP_ACQUIRE, made(has_lease));
    is_told(story, A, OP_ACQUIRE, first, fence);
    calls(story, B, OP_ACQUIRE);
    runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    return story;
}

static void asks_again(struct story *story, struct key_effect effect)
{
    calls(story, A, OP_ACQUIRE);
    runs(story, A, OP_ACQUIRE, effect);
}

/* The server had let it in, and loses the key before, or when, it has heard of that. */
static void what_is_lost_behind_an_entry_had_been_granted(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        const bool has_lease = i & 1, is_told_before = i & 2, is_failed = i & 4, is_bare = i & 8;
        if (is_bare && (is_failed || !has_lease))
            continue; /* the rest of an old lease is no grant to who does not hold it */
        struct story *story = has(has_lease, is_failed ? RESULT_FAILED : RESULT_GRANTED, 0);
        asks_again(story, enters(has_lease && !is_bare));
        if (is_told_before)
            returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        strikes(story, "evict", -1, 0, 0);
        if (!is_told_before)
            returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        takes(story, B);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 0);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_LOST_GRANT);
        assert_true(says(story, PROPERTY_LEASE_EXCLUSION, "A got the lock"));
        story_free(story);
    }
}

/* Its key was gone when it asked, or what stands there is the rest of an old lease. */
static void who_enters_nothing_was_not_granted_it(void **state)
{
    (void)state;
    for (int is_old = 0; is_old < 2; is_old++) {
        struct story *story = has(is_old, is_old ? RESULT_FAILED : RESULT_GRANTED, 0);
        if (!is_old)
            strikes(story, "evict", -1, 0, 0);
        struct key_effect nothing = finds_none();
        nothing.wanted = EFFECT_READ;
        asks_again(story, is_old ? is_read() : nothing);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        story_free(story);
    }
}

/* Whoever ends the lock that was entered is to blame for it. */
static void who_takes_an_entered_lock_is_to_blame(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool has_lease = i & 1, is_overwritten = i & 2;
        struct story *story = has(has_lease, RESULT_GRANTED, 0);
        asks_again(story, enters(has_lease));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        if (!is_overwritten)
            gives_back(story, C, deleted(A), RESULT_RELEASED);
        calls(story, B, OP_ACQUIRE);
        struct key_effect effect = created(B);
        if (is_overwritten)
            effect = (struct key_effect){.did = DID_OVERWRITTEN,
                                         .before = BEFORE_PRESENT,
                                         .wanted = EFFECT_SET,
                                         .has_old = true,
                                         .old_value = token_of(A),
                                         .has_new = true,
                                         .new_value = token_of(B)};
        runs(story, B, OP_ACQUIRE, effect);
        returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1,
                        is_overwritten ? CAUSE_ACQUIRE_BUG : CAUSE_UNLOCK_BUG);
        story_free(story);
    }
}

/* The same token is told again to who has it when it enters; not to who got it anew. */
static void an_entry_is_told_the_same_token(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const bool has_lease = i & 1, is_lost = i & 2, is_new = i & 4;
        struct story *story = has(has_lease, RESULT_GRANTED, 7);
        if (is_new)
            strikes(story, "evict", -1, 0, 0);
        asks_again(story, is_new ? made(has_lease) : enters(has_lease));
        if (is_lost)
            strikes(story, "evict", -1, 0, 0);
        is_told(story, A, OP_ACQUIRE, RESULT_GRANTED, 7);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_FENCE_ORDER].count, is_new);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 0);
        story_free(story);
    }
}

/* Granted twice, it counts down once, and the lock is there yet: "not mine" is not so. */
static void an_entered_lock_is_its_own_until_its_last_release(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool has_lease = i & 1, is_honest = i & 2;
        struct story *story = has(has_lease, RESULT_GRANTED, 0);
        asks_again(story, enters(has_lease));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        gives_back(story, A, is_read(), is_honest ? RESULT_RELEASED : RESULT_NOT_MINE);
        gives_back(story, A, deleted(A), RESULT_RELEASED);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, !is_honest);
        assert_int_equal(story->findings[PROPERTY_NO_ORPHAN].count, 0);
        story_free(story);
    }
}

/* Granted twice, it may be told "released" twice. When it was told "not mine" there was nothing of
 * its, and there is nothing since. */
static void who_entered_and_was_told_not_mine_has_released_nothing(void **state)
{
    (void)state;
    for (int is_told_so = 0; is_told_so < 2; is_told_so++) {
        struct story *story = has(true, RESULT_GRANTED, 0);
        asks_again(story, enters(true));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        if (is_told_so) {
            at(story, 2 * LEASE_MS);
            gives_back(story, A, finds_none(), RESULT_NOT_MINE);
        } else {
            gives_back(story, A, deleted(A), RESULT_RELEASED);
        }
        takes(story, B);
        gives_back(story, A, refused(EFFECT_DELETE, B), RESULT_RELEASED);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, is_told_so);
        story_free(story);
    }
}

/* The network delivered the request twice, and the lock counts two: its one release leaves it. Not
 * so where another command of that acquire comes, or none: then it was the release's to end it. */
static void what_a_copy_enters_is_a_leftover(void **state)
{
    enum { NONE, COPY, COPY_UNTOLD, IN_CALL, IN_CALL_UNNAMED, IN_CALL_OTHER, ANOTHER, KINDS };
    (void)state;
    for (int i = 0; i < 2 * KINDS; i++) {
        const bool has_lease = i % 2;
        const int kind = i / 2;
        struct story *story = foreign(has_lease ? ALL_PROMISES : NO_LEASE, 1);
        struct opaque other = script;
        struct event fault = {.kind = EVENT_FAULT, .client = A, .opaque = &script};
        assert_true(fault_read("duplicate", &fault.fault));
        calls(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, made(has_lease));
        const bool is_in_call = kind == IN_CALL || kind == IN_CALL_UNNAMED || kind == IN_CALL_OTHER;
        if (kind == IN_CALL_UNNAMED)
            fault.opaque = NULL;
        snprintf(other.text, sizeof other.text, "EXPIRE lock 300");
        if (kind == IN_CALL_OTHER)
            fault.opaque = &other;
        if (kind == COPY || is_in_call)
            happens(story, fault);
        if (is_in_call)
            runs(story, A, OP_ACQUIRE, enters(has_lease));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        if (kind == COPY || kind == COPY_UNTOLD)
            runs(story, A, OP_ACQUIRE, enters(has_lease));
        if (kind == ANOTHER) {
            struct effects effects = {.count = 1, .on = {enters(has_lease)}};
            happens(story, (struct event){.kind = EVENT_EXECUTE,
                                          .client = A,
                                          .op = OP_ACQUIRE,
                                          .reply = INTEGER(1),
                                          .opaque = &other,
                                          .effects = &effects});
        }
        gives_back(story, A, is_read(), RESULT_RELEASED);
        ends(story);
        const bool is_untrue = kind == NONE || kind == IN_CALL_OTHER || kind == ANOTHER;
        assert_violated(story, PROPERTY_NO_ORPHAN, 1,
                        is_untrue ? CAUSE_UNTRUE_ANSWER : CAUSE_LEFTOVER);
        story_free(story);
    }
}

/* Nor has it heard of what it entered when its acquire was not answered. Who is refused has entered
 * nothing, whatever its script read. */
static void what_was_entered_without_an_answer_is_a_leftover(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool has_lease = i & 1, is_refused = i & 2;
        struct story *story = has(has_lease, RESULT_GRANTED, 0);
        const int held = story->attempts[A];
        asks_again(story, enters(has_lease));
        returns(story, A, OP_ACQUIRE, is_refused ? RESULT_REFUSED : RESULT_FAILED);
        story->attempts[A] = held;
        gives_back(story, A, is_read(), RESULT_RELEASED);
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1,
                        is_refused ? CAUSE_UNTRUE_ANSWER : CAUSE_LEFTOVER);
        story_free(story);
    }
}

/* Who hears too late that it got the lock must refuse: what stays is a leftover, whoever entered
 * it, and whether it was given back once, or not at all. It is a lie in time. */
static void what_a_copy_entered_of_a_late_acquire_is_a_leftover(void **state)
{
    enum { IN_TIME, IS_ONE, KEEPS, LOOKS, GIVES_BACK, KINDS };
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct story *story = foreign(ALL_PROMISES, 1);
        struct event fault = {.kind = EVENT_FAULT, .client = A, .opaque = &script};
        struct effects effects = {.count = 1, .on = {is_read()}};
        struct opaque other = script;
        snprintf(other.text, sizeof other.text, "HINCRBY lock a -1");
        assert_true(fault_read("duplicate", &fault.fault));
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        if (kind != IS_ONE)
            happens(story, fault);
        at(story, kind == IN_TIME ? 10 : LEASE_MS + 10);
        runs(story, A, OP_ACQUIRE, made(true));
        runs(story, A, OP_ACQUIRE, enters(true));
        if (kind != KEEPS)
            happens(story,
                    (struct event){.kind = EVENT_EXECUTE,
                                   .client = A,
                                   .op = OP_ACQUIRE,
                                   .reply = kind == LOOKS ? (struct reply){.kind = REPLY_VALUE,
                                                                           .value = token_of(A)}
                                                          : INTEGER(1),
                                   .opaque = &other,
                                   .effects = &effects});
        returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        const bool is_untrue = kind == IN_TIME;
        assert_violated(story, PROPERTY_NO_ORPHAN, 1,
                        is_untrue ? CAUSE_UNTRUE_ANSWER : CAUSE_LEFTOVER);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, is_untrue);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lost_behind_an_entry_had_been_granted),
        cmocka_unit_test(who_enters_nothing_was_not_granted_it),
        cmocka_unit_test(who_takes_an_entered_lock_is_to_blame),
        cmocka_unit_test(an_entry_is_told_the_same_token),
        cmocka_unit_test(an_entered_lock_is_its_own_until_its_last_release),
        cmocka_unit_test(who_entered_and_was_told_not_mine_has_released_nothing),
        cmocka_unit_test(what_a_copy_enters_is_a_leftover),
        cmocka_unit_test(what_was_entered_without_an_answer_is_a_leftover),
        cmocka_unit_test(what_a_copy_entered_of_a_late_acquire_is_a_leftover),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
