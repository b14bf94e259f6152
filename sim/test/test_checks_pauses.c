/* test_checks_pauses.c - who is told late of a loss, or ends late behind one, may have been paused:
 * in a history that may lack lines that pause may be missing, and nobody is blamed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

/* A's lease ends at 300 ms; it acts at these times, is told at 400 ms, and says no more. */
static struct story *is_told_late(bool is_whole, int acts_ms, int again_ms)
{
    struct story *story = (is_whole ? story_whole : story_new)(&noticing, 1, LEASE_MS);
    acquires(story, A);
    if (acts_ms) {
        at(story, acts_ms);
        calls(story, A, OP_ACCESS);
    }
    at(story, 330);
    acquires(story, B);
    if (again_ms) {
        at(story, again_ms);
        returns(story, A, OP_ACCESS, RESULT_DONE);
    }
    at(story, 400);
    happens(story, (struct event){.kind = EVENT_NOTICE, .client = A, .server = -1});
    releases(story, B, 1);
    ends(story);
    return story;
}

/* That A was paused may be missing: unless it has acted when it ought to know, and not just now. */
static void a_pause_that_is_missing_is_no_silence(void **state)
{
    static const struct {
        bool is_whole;
        int acts_ms, again_ms;
        bool is_violated;
    } rows[] = {
        {false, 0, 0, false},     {true, 0, 0, true},
        {false, 250, 0, false},   /* before its lease ended */
        {false, 310, 0, false},   /* a twentieth of the lease is forgiven */
        {false, 250, 395, false}, /* it had just woken */
        {false, 320, 0, true},    {false, 250, 380, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = is_told_late(rows[i].is_whole, rows[i].acts_ms, rows[i].again_ms);
        if (rows[i].is_violated) {
            assert_violated(story, PROPERTY_LOSS_NOTICE, 1, CAUSE_NO_NOTICE);
        } else {
            assert_verdict(story, PROPERTY_LOSS_NOTICE, VERDICT_UNKNOWN);
            assert_says(&story->findings[PROPERTY_LOSS_NOTICE], "a pause of its may be missing");
        }
        story_free(story);
    }
}

/* It has said that its lock is lost, and ends much later: it may have been paused between. */
static void who_may_have_been_paused_may_end_late(void **state)
{
    (void)state;
    for (int acts = 0; acts < 2; acts++) {
        struct story *story = foreign(PROMISE_EXPIRY | PROMISE_NOTICE | PROMISE_EXITS, 1);
        takes(story, A);
        at(story, LEASE_MS);
        happens(story, (struct event){.kind = EVENT_NOTICE, .client = A, .server = -1});
        at(story, LEASE_MS + 20);
        if (acts)
            sends_script(story, A, OP_RELEASE);
        at(story, LEASE_MS + 50);
        takes(story, B);
        happens(story, (struct event){.kind = EVENT_EXIT, .client = A, .server = -1});
        ends(story);
        assert_verdict(story, PROPERTY_LOSS_NOTICE, acts ? VERDICT_VIOLATED : VERDICT_UNKNOWN);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_that_is_missing_is_no_silence),
        cmocka_unit_test(who_may_have_been_paused_may_end_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
