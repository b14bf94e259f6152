/* test_checks_refused.c - an acquire that finds a key which the history does not know of: somebody
 * unknown wrote it, or made one last. Whether "refused" is so, and why nobody gets the lock, is
 * unknown then, and no scheme is to blame. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

enum { LEASE = 300, LONG_AFTER = 950, ROUNDS = 50 };
#define STRANGER "somebody whom the history does not know wrote a key"

/* Executed some time between the two, in milliseconds. */
static void seen(struct story *story, int client, enum operation op, struct command command,
                 struct reply reply, double from_ms, double till_ms)
{
    at(story, till_ms);
    happens(story, (struct event){.kind = EVENT_EXECUTE,
                                  .client = client,
                                  .op = op,
                                  .command = command,
                                  .reply = reply,
                                  .from_us = (int64_t)(from_ms * 1000)});
}

static void is_refused_between(struct story *story, int client, double from_ms, double till_ms)
{
    at(story, from_ms);
    calls(story, client, OP_ACQUIRE);
    sends(story, client, 0, OP_ACQUIRE, set(story, client));
    seen(story, client, OP_ACQUIRE, set(story, client), NIL, from_ms, till_ms);
    returns(story, client, OP_ACQUIRE, RESULT_REFUSED);
}

static void asks_in_vain(struct story *story, int client)
{
    at(story, LONG_AFTER);
    is_refused(story, client);
}

/* --- nothing explains it --- */

static void outlives_its_lease(struct story *story)
{
    acquires(story, A);
    at(story, LEASE + 100);
    releases(story, A, 0);
    at(story, LEASE + 200);
    is_refused(story, B);
}

static void is_never_released(struct story *story)
{
    acquires(story, A);
    at(story, LEASE + 100);
    is_refused(story, B);
}

static void is_refused_in_real_time(struct story *story)
{
    acquires(story, A);
    is_refused_between(story, B, LEASE + 100, LEASE + 101);
}

static void is_refused_behind_a_release(struct story *story)
{
    acquires(story, A);
    releases(story, A, 1);
    is_refused_between(story, B, 50, 51);
}

static void reads_anothers_token(struct story *story)
{
    const struct command get = command(VERB_GET, 0, 0);
    acquires(story, A);
    at(story, LEASE + 100);
    calls(story, B, OP_ACQUIRE);
    executes(story, B, OP_ACQUIRE, get, VALUE(77));
    returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
}

/* What was lost on its way was not executed. */
static void loses_a_request(struct story *story)
{
    acquires(story, A);
    calls(story, C, OP_ACQUIRE);
    sends(story, C, 0, OP_ACQUIRE, set(story, C));
    strikes_command(story, "lose-request", C, OP_ACQUIRE, set(story, C));
    returns(story, C, OP_ACQUIRE, RESULT_FAILED);
    at(story, LEASE + 100);
    is_refused(story, B);
}

/* Nor is what was asked long ago. */
static void asked_long_ago(struct story *story)
{
    calls(story, C, OP_ACQUIRE);
    sends(story, C, 0, OP_ACQUIRE, set(story, C));
    crashes(story, C);
    at(story, 3 * LEASE);
    acquires(story, A);
    releases(story, A, 1);
    is_refused(story, B);
}

static void loses_a_connection(struct story *story)
{
    acquires(story, A);
    strikes(story, "client-kill", -1, 0, 0);
    at(story, LEASE + 100);
    is_refused(story, B);
}

/* Once is enough, whatever is explained, and however often, behind it. */
static void is_one_among_many(struct story *story)
{
    acquires(story, A);
    releases(story, A, 1);
    is_refused_between(story, B, 50, 51);
    for (int i = 0; i < ROUNDS; i++) {
        acquires(story, A);
        is_refused(story, C);
        releases(story, A, 1);
    }
}

/* --- something explains it --- */

static void is_within_the_lease(struct story *story)
{
    acquires(story, A);
    at(story, LEASE - 50);
    is_refused(story, B);
}

/* A's SET is told behind B's refusal by its key. */
static void is_told_later(struct story *story)
{
    calls(story, A, OP_ACQUIRE);
    sends(story, A, 0, OP_ACQUIRE, set(story, A));
    is_refused_between(story, B, 10, 11);
    seen(story, A, OP_ACQUIRE, set(story, A), OK, 9, 12);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    releases(story, A, 1);
}

/* Nobody saw what became of C's request. */
static void is_unseen(struct story *story)
{
    acquires(story, A);
    releases(story, A, 1);
    calls(story, C, OP_ACQUIRE);
    sends(story, C, 0, OP_ACQUIRE, set(story, C));
    crashes(story, C);
    at(story, 50);
    is_refused(story, B);
}

/* The same; C begins anew meanwhile, and its request comes when B was refused. */
static void is_unseen_until_later(struct story *story)
{
    acquires(story, A);
    releases(story, A, 1);
    calls(story, C, OP_ACQUIRE);
    sends(story, C, 0, OP_ACQUIRE, set(story, C));
    const struct command late = set(story, C);
    returns(story, C, OP_ACQUIRE, RESULT_FAILED);
    calls(story, C, OP_ACQUIRE);
    at(story, 50);
    is_refused_between(story, B, 51, 52);
    happens(story, (struct event){.kind = EVENT_EXECUTE,
                                  .client = C,
                                  .attempt = story->attempts[C] - 1,
                                  .op = OP_ACQUIRE,
                                  .command = late,
                                  .reply = OK,
                                  .from_us = 50000});
}

/* A's renewal is told behind the refusal by what it kept. */
static void is_renewed(struct story *story)
{
    const struct command renewal = command(VERB_COMPARE_EXPIRE, 1001, LEASE);
    acquires(story, A);
    at(story, LEASE - 20);
    calls(story, A, OP_EXTEND);
    sends(story, A, 0, OP_EXTEND, renewal);
    is_refused_between(story, B, LEASE + 50, LEASE + 51);
    seen(story, A, OP_EXTEND, renewal, INTEGER(1), LEASE - 10, LEASE + 60);
    returns(story, A, OP_EXTEND, RESULT_DONE);
}

static void is_flushed(struct story *story)
{
    acquires(story, A);
    strikes(story, "flush-all", -1, 0, 0);
    acquires(story, B);
    is_refused(story, C);
}

static void is_set_back(struct story *story)
{
    acquires(story, A);
    strikes(story, "server-clock", -1, 0, -LEASE);
    at(story, LEASE + 100);
    is_refused(story, B);
}

static void is_brought_back(struct story *story)
{
    acquires(story, A);
    strikes(story, "save", -1, 0, 0);
    releases(story, A, 1);
    strikes(story, "restart-old", -1, 0, 0);
    at(story, 50);
    is_refused(story, B);
}

static bool says_stranger(const struct story *story)
{
    const struct finding *truthful = &story->findings[PROPERTY_TRUTHFUL];
    bool is_said = false;
    for (int i = 0; i < truthful->witness_lines; i++)
        is_said |= strstr(truthful->witness[i], "somebody") != NULL;
    return is_said && truthful->verdict == VERDICT_UNKNOWN;
}

static void what_no_key_explains_is_unknown(void **state)
{
    static const struct {
        void (*tell)(struct story *story);
        bool is_strange;
    } rows[] = {
        {outlives_its_lease, true},
        {is_never_released, true},
        {is_refused_in_real_time, true},
        {is_refused_behind_a_release, true},
        {reads_anothers_token, true},
        {loses_a_request, true},
        {asked_long_ago, true},
        {loses_a_connection, true},
        {is_one_among_many, true},
        {is_within_the_lease, false},
        {is_told_later, false},
        {is_unseen, false},
        {is_unseen_until_later, false},
        {is_renewed, false},
        {is_flushed, false},
        {is_set_back, false},
        {is_brought_back, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = story_new(&expiring, 1, LEASE);
        rows[i].tell(story);
        ends(story);
        if (says_stranger(story) != rows[i].is_strange) {
            witness_print(&story->findings[PROPERTY_TRUTHFUL]);
            fail_msg("row %d", (int)i);
        }
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, 0);
        assert_int_equal(story->findings[PROPERTY_PROGRESS].count, 0);
        story_free(story);
    }
}

/* Nobody gets the lock for two leases: A's key is what keeps it where nobody else writes, and the
 * server lets it live too long; else it may be a stranger's, or one made it last. */
static void who_keeps_the_lock_for_ever_is_known_only_in_a_closed_history(void **state)
{
    (void)state;
    for (int is_closed = 0; is_closed < 2; is_closed++)
        for (int is_precise = 0; is_precise < 2; is_precise++) {
            struct story *story = story_new(&expiring, 1, LEASE);
            story->head.is_closed = is_closed;
            (void)story_begin(story, &expiring);
            acquires(story, A);
            crashes(story, A);
            if (is_precise)
                asks_in_vain(story, B);
            else
                is_refused_between(story, B, LONG_AFTER, LONG_AFTER + 1);
            ends(story);
            if (is_closed) {
                assert_violated(story, PROPERTY_PROGRESS, 1, CAUSE_STUCK);
            } else {
                assert_silent(story);
                assert_verdict(story, PROPERTY_PROGRESS, VERDICT_UNKNOWN);
                assert_says(&story->findings[PROPERTY_PROGRESS], STRANGER);
                assert_says(&story->findings[PROPERTY_TRUTHFUL], STRANGER);
            }
            story_free(story);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_key_explains_is_unknown),
        cmocka_unit_test(who_keeps_the_lock_for_ever_is_known_only_in_a_closed_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
