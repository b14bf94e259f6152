/* test_checks_fresh.c - the lease of a foreign lock counts from the request that won it: of an
 * acquire that was refused first, and asked again, that is long after its call. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

/* B is refused by A's lock at 4 and at 200, asks a last time, whose request is executed at 350, and
 * is told so then. */
static struct story *waits(bool is_refused, bool is_sent, double told_ms)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    takes(story, A);
    at(story, 3);
    calls(story, B, OP_ACQUIRE);
    if (is_refused) {
        runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
        at(story, 200);
        runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
    }
    at(story, 250);
    gives_back(story, A, deleted(A), RESULT_RELEASED);
    at(story, 340);
    if (is_sent)
        sends_script(story, B, OP_ACQUIRE);
    at(story, 350);
    runs(story, B, OP_ACQUIRE, created(B));
    at(story, told_ms);
    returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
    ends(story);
    return story;
}

static void who_was_refused_asked_later(void **state)
{
    (void)state;
    /* Not before 200, and not after 350. */
    static const struct {
        bool is_refused, is_sent;
        double told_ms;
        enum verdict verdict;
        const char *words;
    } tried[] = {
        {true, false, 499, VERDICT_HOLDS, NULL},
        {true, false, 501, VERDICT_UNKNOWN, "nobody saw when what won the lock was sent"},
        {true, false, 649, VERDICT_UNKNOWN, "nobody saw when what won the lock was sent"},
        {true, false, 651, VERDICT_VIOLATED, "asked for the lock by 350.0 ms"},
        {true, true, 639, VERDICT_HOLDS, NULL},
        {true, true, 641, VERDICT_VIOLATED, "asked for the lock at 340.0 ms"},
        /* It waited for something else, or its request was long on its way. */
        {false, false, 360, VERDICT_UNKNOWN, "nobody saw when what won the lock was sent"},
        {false, false, 651, VERDICT_VIOLATED, "asked for the lock by 350.0 ms"},
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = waits(tried[i].is_refused, tried[i].is_sent, tried[i].told_ms);
        const bool is_bad = tried[i].verdict == VERDICT_VIOLATED;
        assert_verdict(story, PROPERTY_FRESH_GRANT, tried[i].verdict);
        assert_int_equal(story->findings[PROPERTY_FRESH_GRANT].count, is_bad);
        if (tried[i].words)
            assert_true(says(story, PROPERTY_FRESH_GRANT, tried[i].words));
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_refused_asked_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
