/* test_checks_copies.c - a copy of an acquire's request, or an earlier request of it that was late,
 * makes the holder's key anew, behind the end of its lease: what the holder had ended in its own
 * way, and that is why somebody else gets in. And what an acquire asks for anew is neither. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

enum befalls { NOTHING, IS_EVICTED, IS_DELETED, IS_TAKEN };

/* A's key expires at 300, a copy makes it again at 310, and A may renew that at 320. Until C gets
 * the lock something may happen to it, too; else it expires. */
static struct story *is_copied(bool is_renewed, bool is_written_over, enum befalls then)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    takes(story, A);
    calls(story, B, OP_ACQUIRE);
    runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    at(story, is_written_over ? 200 : 310);
    struct key_effect copy = created(A);
    if (is_written_over) {
        copy.did = DID_OVERWRITTEN;
        copy.before = BEFORE_PRESENT;
        copy.has_old = true;
        copy.old_value = token_of(A);
    }
    runs(story, A, OP_ACQUIRE, copy);
    at(story, 320);
    if (is_renewed) {
        calls(story, A, OP_EXTEND);
        sends_script(story, A, OP_EXTEND);
        runs(story, A, OP_EXTEND, expiry(DID_LENGTHENED, LEASE_MS));
        returns(story, A, OP_EXTEND, RESULT_DONE);
    }
    at(story, 350);
    if (then == IS_EVICTED)
        strikes(story, "evict", -1, 0, 0);
    if (then == IS_DELETED)
        gives_back(story, D, deleted(A), RESULT_RELEASED);
    at(story, then == NOTHING ? 700 : 360);
    struct key_effect effect = created(C);
    if (then == IS_TAKEN) {
        effect = copy;
        effect.did = DID_OVERWRITTEN;
        effect.before = BEFORE_PRESENT;
        effect.has_old = true;
        effect.old_value = token_of(A);
        effect.new_value = token_of(C);
    }
    calls(story, C, OP_ACQUIRE);
    runs(story, C, OP_ACQUIRE, effect);
    returns(story, C, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    return story;
}

static void what_a_copy_makes_again_does_not_hide_the_overrun(void **state)
{
    (void)state;
    for (enum befalls then = NOTHING; then <= IS_TAKEN; then++) {
        struct story *story = is_copied(false, false, then);
        assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, CAUSE_OVERRUN);
        assert_true(says(story, PROPERTY_MUTUAL_EXCLUSION, "(A,C): Overrun in A"));
        assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        assert_int_equal(story->findings[PROPERTY_RELEASE_OWN].count, then == IS_DELETED);
        assert_int_equal(story->findings[PROPERTY_EXTEND_OWN].count, then == IS_TAKEN);
        story_free(story);
    }
}

/* It is what it holds by from then on, as where the copy wrote over what it had. */
static void what_its_client_has_renewed_is_its_own(void **state)
{
    static const enum cause causes[] = {[NOTHING] = CAUSE_OVERRUN,
                                        [IS_EVICTED] = CAUSE_LOST_GRANT,
                                        [IS_DELETED] = CAUSE_UNLOCK_BUG,
                                        [IS_TAKEN] = CAUSE_ACQUIRE_BUG};
    (void)state;
    for (enum befalls then = NOTHING; then <= IS_TAKEN; then++) {
        for (int i = 1; i < 4; i++) {
            const bool is_renewed = i & 1, is_written_over = i & 2;
            struct story *story = is_copied(is_renewed, is_written_over, then);
            assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1, causes[then]);
            assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].count,
                             is_renewed && then != NOTHING);
            story_free(story);
        }
    }
}

/* A's first request is late, its second gets the lock, and each has a token of its own. The first
 * comes when that is over; or none does, and A says without asking that it is not its own. */
static void what_a_late_request_makes_is_not_what_its_client_has_not(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool is_late = i & 1, is_release = i & 2;
        const enum operation op = is_release ? OP_RELEASE : OP_EXTEND;
        struct story *story = foreign(ALL_PROMISES, 1);
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, created(A));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        at(story, is_late ? 400 : 200);
        if (is_late)
            runs(story, A, OP_ACQUIRE, created(D));
        calls(story, A, op);
        if (is_late)
            runs(story, A, op, refused(is_release ? EFFECT_DELETE : EFFECT_EXPIRE, D));
        returns(story, A, op, RESULT_NOT_MINE);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, !is_late);
        if (is_release)
            assert_violated(story, PROPERTY_NO_ORPHAN, 1,
                            is_late ? CAUSE_LEFTOVER : CAUSE_UNTRUE_ANSWER);
        story_free(story);
    }
}

/* A is refused by B's key, and B goes. What A has asked for since, with nothing else on its way, it
 * has been granted: "refused" is not so. A request from before the refusal comes behind its answer.
 */
static void who_is_granted_what_it_asked_for_anew_was_not_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool asks_anew = i & 1, has_earlier = i & 2;
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, B);
        calls(story, A, OP_ACQUIRE);
        for (int sent = 0; sent <= has_earlier; sent++)
            sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, refused(EFFECT_SET, B));
        gives_back(story, B, deleted(B), RESULT_RELEASED);
        if (asks_anew)
            sends_script(story, A, OP_ACQUIRE);
        runs(story, A, OP_ACQUIRE, created(A));
        returns(story, A, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        assert_violated(story, PROPERTY_NO_ORPHAN, 1,
                        asks_anew && !has_earlier ? CAUSE_UNTRUE_ANSWER : CAUSE_LEFTOVER);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_copy_makes_again_does_not_hide_the_overrun),
        cmocka_unit_test(what_its_client_has_renewed_is_its_own),
        cmocka_unit_test(what_a_late_request_makes_is_not_what_its_client_has_not),
        cmocka_unit_test(who_is_granted_what_it_asked_for_anew_was_not_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
