/* test_checks_lifetimes.c - progress is judged by keys as long as they can be there: not longer
 * than their expiry, unless a server still answers with them; and not by what a loser had for a
 * moment. What has run out in its own time no later step of a clock ends early. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

enum { LEASE_MS = 300 };

static void refuses(struct story *story, int client, int server)
{
    executes_at(story, client, server, OP_ACQUIRE, set(story, client), NIL);
}

/* A's SETs come when its attempt is over. The second makes a majority while the first key is still
 * there, and none behind its expiry at 800 ms. B is refused by one known key, which bars nobody.
 * Others ask all the while. */
static void a_late_majority_of_keys_that_are_not_there_together_is_no_sign_of_life(void **state)
{
    (void)state;
    for (int second_ms = 780; second_ms <= 850; second_ms += 70) {
        struct story *story = story_new(&majority, 3, LEASE_MS);
        calls(story, A, OP_ACQUIRE);
        struct event late = {.kind = EVENT_EXECUTE,
                             .client = A,
                             .attempt = story->attempts[A],
                             .command = set(story, A),
                             .reply = OK};
        sends(story, A, 0, OP_ACQUIRE, late.command);
        returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        calls(story, A, OP_ACQUIRE);
        at(story, 250);
        calls(story, C, OP_ACQUIRE);
        at(story, 500);
        calls(story, D, OP_ACQUIRE);
        happens(story, late);
        at(story, 750);
        calls(story, E, OP_ACQUIRE);
        at(story, second_ms);
        late.server = 1;
        happens(story, late);
        at(story, 1010);
        calls(story, B, OP_ACQUIRE);
        refuses(story, B, 1);
        refuses(story, B, 2);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (second_ms < 800)
            assert_holds(story, PROPERTY_PROGRESS);
        else
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK); /* since 0 */
        story_free(story);
    }
}

/* Servers 0 and 1 of three keep keys of A, which is dead, for so long; 0: for ever. */
static struct story *dead_keys(int64_t first_ms, int64_t second_ms)
{
    struct story *story = story_new(&majority, 3, LEASE_MS);
    const int64_t ttls[] = {first_ms, second_ms};
    calls(story, A, OP_ACQUIRE);
    for (int s = 0; s < 2; s++)
        executes_at(story, A, s, OP_ACQUIRE,
                    command(ttls[s] ? VERB_SET_NX_PX : VERB_SETNX, token(story, A), ttls[s]),
                    ttls[s] ? OK : INTEGER(1));
    crashes(story, A);
    return story;
}

/* A fault that excuses whoever does not get a majority. */
static void is_struck(struct story *story)
{
    calls(story, C, OP_ACQUIRE);
    crashes(story, C);
}

/* A server that answers with a key whose expiry has passed keeps it: with another that never goes
 * it is in everybody's way, whatever strikes others. */
static void a_key_that_is_answered_with_lives_longer_than_its_expiry_said(void **state)
{
    (void)state;
    for (int is_kept = 0; is_kept <= 1; is_kept++) {
        struct story *story = dead_keys(0, LEASE_MS);
        at(story, 950);
        is_struck(story);
        at(story, 1000);
        calls(story, B, OP_ACQUIRE);
        refuses(story, B, 0);
        if (is_kept)
            refuses(story, B, 1);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (is_kept)
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
        else
            assert_holds(story, PROPERTY_PROGRESS);
        story_free(story);
    }
}

/* Two keys refuse B; those of 650 ms have expired when the third server answers. By then nothing is
 * in its way, and a fault excuses what it met before. */
static void a_key_that_has_expired_since_it_refused_is_in_nobodys_way(void **state)
{
    (void)state;
    for (int64_t ttl_ms = 650; ttl_ms <= 800; ttl_ms += 150) {
        struct story *story = dead_keys(ttl_ms, ttl_ms);
        at(story, 630);
        is_struck(story);
        at(story, 640);
        calls(story, B, OP_ACQUIRE);
        refuses(story, B, 0);
        refuses(story, B, 1);
        at(story, 700);
        refuses(story, B, 2);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        ends(story);
        if (ttl_ms > 700)
            assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
        else
            assert_holds(story, PROPERTY_PROGRESS);
        story_free(story);
    }
}

/* B's GETSET is taken for a winner's at 1 s, and B is told that it lost at 4.5 s. It never had the
 * lock: at 5.5 s nobody has shown a sign of life for four seconds. */
static void the_return_of_a_loser_is_no_sign_of_life(void **state)
{
    struct story *story = story_new(&stamping, 1, STORY_SECOND_MS);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_SETNX, 2, 0), INTEGER(1));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    crashes(story, A);
    at(story, 1000);
    calls(story, B, OP_ACQUIRE);
    executes(story, B, OP_ACQUIRE, command(VERB_SETNX, 3, 0), INTEGER(0));
    executes(story, B, OP_ACQUIRE, command(VERB_GET, 0, 0), VALUE(2));
    executes(story, B, OP_ACQUIRE, command(VERB_GETSET, 3, 0), VALUE(2));
    at(story, 4500);
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
    at(story, 5500);
    calls(story, C, OP_ACQUIRE);
    executes(story, C, OP_ACQUIRE, command(VERB_SETNX, 7, 0), INTEGER(0));
    returns(story, C, OP_ACQUIRE, RESULT_REFUSED);
    ends(story);
    assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
    story_free(story);
}

/* A's key expires at 300, and nobody looks. The server's clock is stepped before that, or behind.
 */
static void a_step_ends_nothing_early_that_had_run_out(void **state)
{
    (void)state;
    for (int step_ms = 200; step_ms <= 400; step_ms += 200) {
        struct story *story = story_new(&expiring, 1, LEASE_MS);
        acquires(story, A);
        at(story, step_ms);
        strikes(story, "server-clock", -1, 0, 250);
        at(story, step_ms == 200 ? 250 : 450);
        acquires(story, B);
        ends(story);
        assert_violated(story, PROPERTY_MUTUAL_EXCLUSION, 1,
                        step_ms == 200 ? CAUSE_EARLY_EXPIRY : CAUSE_OVERRUN);
        assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].count, step_ms == 200);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_majority_of_keys_that_are_not_there_together_is_no_sign_of_life),
        cmocka_unit_test(a_key_that_is_answered_with_lives_longer_than_its_expiry_said),
        cmocka_unit_test(a_key_that_has_expired_since_it_refused_is_in_nobodys_way),
        cmocka_unit_test(the_return_of_a_loser_is_no_sign_of_life),
        cmocka_unit_test(a_step_ends_nothing_early_that_had_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
