/* test_checks_closed.c - replies that no server can have given to which nobody else writes: where
 * the history says that nobody does, nothing holds any more; where it does not, a stranger did it,
 * unless the key was the history's own: then nothing holds, either. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

enum { LEASE = 300 };
enum story_world { OPEN_WORLD, CLOSED, SIMULATED, WORLDS };

static struct story *story_in(enum story_world world)
{
    struct story *story = story_new(&expiring, 1, LEASE);
    story->head.is_closed = world == CLOSED;
    snprintf(story->head.world, sizeof story->head.world, "%s",
             world == SIMULATED ? "sim" : "redis");
    (void)story_begin(story, &expiring);
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

static void is_not_its_own_any_more(struct story *story)
{
    acquires(story, A);
    is_refused(story, B);
    releases(story, A, 0);
    acquires(story, B);
    releases(story, B, 1);
}

static void deletes_anothers(struct story *story)
{
    acquires(story, A);
    is_refused(story, B);
    releases(story, B, 1);
}

static void deletes_what_is_gone(struct story *story)
{
    acquires(story, A);
    is_refused(story, B);
    releases(story, A, 1);
    releases(story, A, 1);
}

static void is_granted_behind_no_release(struct story *story, enum result result)
{
    acquires(story, A);
    is_refused(story, B);
    calls(story, A, OP_RELEASE);
    returns(story, A, OP_RELEASE, result);
    acquires(story, B);
    releases(story, B, 1);
}

static void grants_where_a_key_lives(struct story *story)
{
    is_granted_behind_no_release(story, RESULT_FAILED);
}

static void grants_twice(struct story *story)
{
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    is_refused(story, B);
    releases(story, A, 1);
}

static void grants_where_a_key_was(struct story *story)
{
    acquires(story, A);
    is_refused(story, B);
    crashes(story, A);
    at(story, LEASE + 50);
    acquires(story, B);
    releases(story, B, 1);
}

static void grants_behind_an_unheard_release(struct story *story)
{
    acquires(story, A);
    is_refused(story, B);
    calls(story, A, OP_RELEASE);
    executes(story, A, OP_RELEASE, command(VERB_COMPARE_DELETE, token(story, A), 0), INTEGER(1));
    returns(story, A, OP_RELEASE, RESULT_FAILED);
    acquires(story, B);
    releases(story, B, 1);
}

/* What a fault of the server costs is told, but perhaps not all of it. */
static void is_lost_behind_a_fault(struct story *story)
{
    acquires(story, A);
    strikes(story, "server-clock", -1, 0, 5);
    at(story, 20);
    releases(story, A, 0);
    acquires(story, B);
    releases(story, B, 1);
}

static void is_evicted(struct story *story)
{
    acquires(story, A);
    strikes(story, "evict", -1, 0, 0);
    releases(story, A, 0);
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
        enum story_world from;
    } rows[] = {
        {refuses_though_it_is_free,
         "server 1 answered B's SET, executed at 1.0 ms, as where the key is there, but no such "
         "key was there",
         CLOSED},
        {refuses_the_first, "no such key was there", CLOSED},
        {outlives_its_expiry, "but its time was over", CLOSED},
        {is_lost_behind_a_fault, "the key was there, and its time was not over", CLOSED},
        {has_nothing_to_delete, "as where the key is not there, but the key was there", OPEN_WORLD},
        {is_not_its_own_any_more,
         "server 1 answered A's compare-and-delete, executed at 1.0 ms, as where the key is not",
         OPEN_WORLD},
        {deletes_anothers, "as where the key is there, but the key had another value", OPEN_WORLD},
        {deletes_what_is_gone, "as where the key is there, but no such key was there", OPEN_WORLD},
        {grants_where_a_key_lives,
         "server 1 answered B's SET, executed at 1.2 ms, as where the key is not there, but the "
         "key was there",
         OPEN_WORLD},
        {grants_twice, "as where the key is not there, but the key was there", OPEN_WORLD},
        {grants_where_a_key_was, NULL, WORLDS},
        {grants_behind_an_unheard_release, NULL, WORLDS},
        {is_evicted, NULL, WORLDS},
        {is_all_well, NULL, WORLDS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (enum story_world world = OPEN_WORLD; world < WORLDS; world++) {
            struct story *story = story_in(world);
            rows[i].tell(story);
            ends(story);
            if (world >= rows[i].from)
                assert_true(is_doubted(story, PROPERTY_LEASE_EXCLUSION, rows[i].words));
            else
                assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_HOLDS);
            assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].count, 0);
            story_free(story);
        }
}

/* Who is told "released" lacks a line, which explains it: the answers say the rest. */
static void what_a_missing_release_explains_is_judged_by_answers(void **state)
{
    (void)state;
    for (enum story_world world = OPEN_WORLD; world < SIMULATED; world++) {
        struct story *story = story_in(world);
        is_granted_behind_no_release(story, RESULT_RELEASED);
        ends(story);
        assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        assert_true(is_doubted(story, PROPERTY_TRUTHFUL, "nobody saw a server do what it says"));
        assert_true(is_doubted(story, PROPERTY_NO_ORPHAN, "nobody saw a server do what it says"));
        story_free(story);
    }
}

static void executed_between(struct story *story, int client, enum operation op,
                             struct command command, int64_t answer, int64_t from_us,
                             int64_t time_us)
{
    struct event event = {.kind = EVENT_EXECUTE,
                          .client = client,
                          .attempt = story->attempts[client],
                          .index = story->index++,
                          .op = op,
                          .command = command,
                          .reply = INTEGER(answer),
                          .from_us = from_us,
                          .time_us = time_us};
    checks_event(story->checks, &event);
    story->now_us = time_us;
}

/* In real time: A is told that it has nothing to release, in the while in which its key is deleted
 * by C, which is read later; or in one of its own. */
static void what_may_have_been_deleted_meanwhile_is_not_doubted(void **state)
{
    (void)state;
    for (int is_explained = 0; is_explained < 2; is_explained++) {
        struct story *story = story_in(OPEN_WORLD);
        acquires(story, A);
        is_refused(story, B);
        const struct command compare = command(VERB_COMPARE_DELETE, token(story, A), 0);
        calls(story, C, OP_ACQUIRE);
        calls(story, A, OP_RELEASE);
        executed_between(story, A, OP_RELEASE, compare, 0, 3000, 3500);
        if (is_explained)
            executed_between(story, C, OP_ACQUIRE, command(VERB_DEL, 0, 0), 1, 3200, 3600);
        returns(story, A, OP_RELEASE, RESULT_NOT_MINE);
        at(story, 5);
        acquires(story, B);
        releases(story, B, 1);
        ends(story);
        const bool is_doubt = is_doubted(story, PROPERTY_FRESH_GRANT, "its time was not over");
        assert_true(is_doubt != (bool)is_explained);
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
    releases(story, A, 0); /* until then it believed in it */
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

/* A has given the lock back, and an opaque command of B's acquire is refused by a key that nobody
 * wrote, or by C's, who has it. */
static void who_is_refused_by_a_key_that_nobody_wrote_is_doubted(void **state)
{
    static const enum result told[] = {RESULT_NONE, RESULT_REFUSED, RESULT_FAILED};
    (void)state;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        for (int is_closed = 0; is_closed < 2; is_closed++)
            for (int is_known = 0; is_known < 2; is_known++) {
                struct story *story = foreign(ALL_PROMISES, 1);
                story->head.is_closed = is_closed;
                (void)story_begin(story, NULL);
                takes(story, A);
                calls(story, B, OP_ACQUIRE);
                runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, A));
                returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
                gives_back(story, A, deleted(A), RESULT_RELEASED);
                if (is_known)
                    takes(story, C);
                calls(story, B, OP_ACQUIRE);
                runs(story, B, OP_ACQUIRE, refused(EFFECT_SET, C));
                if (told[i] != RESULT_NONE)
                    returns(story, B, OP_ACQUIRE, told[i]);
                ends(story);
                const bool is_doubtful = is_closed && !is_known;
                assert_true(is_doubtful == is_doubted(story, PROPERTY_MUTUAL_EXCLUSION,
                                                      "to which nobody else writes"));
                assert_verdict(story, PROPERTY_RELEASE_OWN,
                               is_doubtful ? VERDICT_UNKNOWN : VERDICT_HOLDS);
                assert_silent(story);
                story_free(story);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_refused_by_a_key_that_nobody_wrote_is_doubted),
        cmocka_unit_test(what_no_server_can_have_answered_is_doubted),
        cmocka_unit_test(what_a_missing_release_explains_is_judged_by_answers),
        cmocka_unit_test(what_may_have_been_deleted_meanwhile_is_not_doubted),
        cmocka_unit_test(what_is_violated_stays_so),
        cmocka_unit_test(who_failed_without_asking_did_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
