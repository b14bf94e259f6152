/* test_checks_closed.c - replies that no server can have given to which nobody else writes: where
 * the history says that nobody does, nothing holds any more; where it does not, a stranger did it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

enum { LEASE = 300 };
enum story_world { OPEN_WORLD, CLOSED, SIMULATED, WORLDS };

static struct story *story_in(enum story_world world)
{
    struct story *story = story_new(&expiring, 1, LEASE);
    checks_free(story->checks);
    story->head.is_closed = world == CLOSED;
    snprintf(story->head.world, sizeof story->head.world, "%s",
             world == SIMULATED ? "sim" : "redis");
    story->checks = checks_new_for(&story->head, &expiring);
    return story;
}

static bool is_doubted(const struct story *story, enum property property, const char *words)
{
    const struct finding *finding = &story->findings[property];
    return finding->verdict == VERDICT_UNKNOWN && finding->witness_lines > 0 &&
           strstr(finding->witness[0], words);
}

static void refuses_though_it_is_free(struct story *story)
{
    acquires(story, A);
    releases(story, A, 1);
    is_refused(story, B);
    acquires(story, C);
    releases(story, C, 1);
}

static void has_nothing_to_delete(struct story *story)
{
    acquires(story, A);
    deletes(story, A, 0);
    acquires(story, B);
    releases(story, B, 1);
}

static void refuses_the_first(struct story *story)
{
    is_refused(story, B);
    acquires(story, C);
    releases(story, C, 1);
}

static void outlives_its_expiry(struct story *story)
{
    acquires(story, A);
    at(story, LEASE + 50);
    is_refused(story, B);
    at(story, LEASE + 60);
    releases(story, A, 0);
}

static void is_all_well(struct story *story)
{
    acquires(story, A);
    is_refused(story, B);
    at(story, LEASE + 50);
    acquires(story, B);
    releases(story, B, 1);
    releases(story, A, 0);
    deletes(story, C, 0);
}

static void what_no_server_can_have_answered_is_doubted(void **state)
{
    static const struct {
        void (*tell)(struct story *story);
        const char *words; /* NULL: all of it is possible */
    } rows[] = {
        {refuses_though_it_is_free, "B's SET, executed at 1.0 ms, was answered as where the key is "
                                    "there, but no such key was there"},
        {has_nothing_to_delete, "the key was there, and its time was not over"},
        {refuses_the_first, "no such key was there"},
        {outlives_its_expiry, "but its time was over"},
        {is_all_well, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (enum story_world world = OPEN_WORLD; world < WORLDS; world++) {
            struct story *story = story_in(world);
            const bool is_caught = rows[i].words && world != OPEN_WORLD;
            rows[i].tell(story);
            ends(story);
            if (is_caught)
                assert_true(is_doubted(story, PROPERTY_LEASE_EXCLUSION, rows[i].words));
            else
                assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_HOLDS);
            assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].count, 0);
            story_free(story);
        }
}

/* Two held at once, whatever else was answered. */
static void what_is_violated_stays_so(void **state)
{
    struct story *story = story_in(CLOSED);
    (void)state;
    acquires(story, A);
    acquires(story, B);
    releases(story, B, 1);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_EARLY_EXPIRY);
    assert_true(is_doubted(story, PROPERTY_FRESH_GRANT, "its time was not over"));
    story_free(story);
}

/* C's acquire fails before any request of its reaches a server: where all writers are seen it did
 * nothing. What says more than that it failed rests on something that nobody saw. */
static void who_failed_without_asking_did_nothing(void **state)
{
    static const enum result told[] = {RESULT_FAILED, RESULT_CANCELLED, RESULT_REFUSED,
                                       RESULT_GRANTED};
    (void)state;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        for (enum story_world world = OPEN_WORLD; world <= CLOSED; world++) {
            struct story *story = story_in(world);
            const bool is_seen =
                world == CLOSED && (told[i] == RESULT_FAILED || told[i] == RESULT_CANCELLED);
            acquires(story, A);
            is_refused(story, B);
            releases(story, A, 1);
            calls(story, C, OP_ACQUIRE);
            returns(story, C, OP_ACQUIRE, told[i]);
            ends(story);
            assert_verdict(story, PROPERTY_RELEASE_OWN, is_seen ? VERDICT_HOLDS : VERDICT_UNKNOWN);
            story_free(story);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_server_can_have_answered_is_doubted),
        cmocka_unit_test(what_is_violated_stays_so),
        cmocka_unit_test(who_failed_without_asking_did_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
