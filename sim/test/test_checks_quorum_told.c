/* test_checks_quorum_told.c - what clients are told of a lock over three servers, held against what
 * these did. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

enum { SERVERS = 3 };

static struct story *of_quorum(void)
{
    return foreign(ALL_PROMISES | PROMISE_QUORUM, SERVERS);
}

/* Of its acquire so many servers create its key, from the first one on, and the others refuse it
 * because of the owner's. */
static void asks(struct story *story, int client, int servers, int owner, enum result told)
{
    calls(story, client, OP_ACQUIRE);
    for (int s = 0; s < SERVERS; s++)
        runs_on(story, client, s, OP_ACQUIRE,
                s < servers ? created(client) : refused(EFFECT_SET, owner));
    returns(story, client, OP_ACQUIRE, told);
}

static struct key_effect nothing(void)
{
    struct key_effect effect = refused(EFFECT_DELETE, A);
    effect.before = BEFORE_ABSENT;
    effect.has_old = false;
    return effect;
}

/* Who was refused, and whose release finds nothing of its at any server, has released nothing; who
 * had the key of one server, or keeps it, may be told so. */
static void who_was_refused_by_all_has_released_nothing(void **state)
{
    enum { FOUND_NONE, MET_OTHERS, FOUND_ONE, LEFT_ONE, NOT_MINE };
    (void)state;
    for (int how = FOUND_NONE; how <= NOT_MINE; how++) {
        struct story *story = of_quorum();
        const bool has_one = how == FOUND_ONE || how == LEFT_ONE;
        calls(story, A, OP_ACQUIRE);
        for (int s = has_one; s < SERVERS; s++)
            runs_on(story, A, s, OP_ACQUIRE, created(A));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        asks(story, B, has_one, A, RESULT_REFUSED);
        if (how != MET_OTHERS) {
            calls(story, A, OP_RELEASE);
            for (int s = has_one; s < SERVERS; s++)
                runs_on(story, A, s, OP_RELEASE, deleted(A));
            returns(story, A, OP_RELEASE, RESULT_RELEASED);
        }
        calls(story, B, OP_RELEASE);
        for (int s = how == LEFT_ONE; s < SERVERS; s++)
            runs_on(story, B, s, OP_RELEASE,
                    how == MET_OTHERS            ? refused(EFFECT_DELETE, A)
                    : how == FOUND_ONE && s == 0 ? deleted(B)
                                                 : nothing());
        returns(story, B, OP_RELEASE, how == NOT_MINE ? RESULT_NOT_MINE : RESULT_RELEASED);
        ends(story);
        if (how == FOUND_NONE || how == MET_OTHERS)
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        else
            assert_holds(story, PROPERTY_TRUTHFUL);
        story_free(story);
    }
}

/* Who releases twice has released something each time, where a server missed the first release. */
static void who_releases_twice_may_find_what_a_server_kept(void **state)
{
    (void)state;
    for (int servers = 0; servers <= SERVERS; servers++) {
        struct story *story = of_quorum();
        asks(story, A, SERVERS, A, RESULT_GRANTED);
        asks(story, B, 0, A, RESULT_REFUSED);
        for (int nth = 0; nth < 2; nth++) {
            calls(story, A, OP_RELEASE);
            for (int s = nth ? servers : 0; s < (nth ? SERVERS : servers); s++)
                runs_on(story, A, s, OP_RELEASE, deleted(A));
            returns(story, A, OP_RELEASE, RESULT_RELEASED);
        }
        ends(story);
        if (servers == SERVERS)
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        else
            assert_holds(story, PROPERTY_TRUTHFUL);
        story_free(story);
    }
}

/* "Granted" takes a majority of the servers. What the acquire gave back before it tried again is
 * none of them. Of a lock that promises no majority one is enough. */
static void granted_takes_a_majority(void **state)
{
    static const struct {
        int given_back, from, until; /* servers */
        bool needs_one, is_bad;
    } tried[] = {
        {0, 0, 1, false, true}, {0, 0, 1, true, false},  {0, 0, 2, false, false},
        {1, 1, 2, false, true}, {1, 0, 2, false, false}, {1, 1, 3, false, false},
        {0, 1, 2, false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story =
            foreign(ALL_PROMISES | (tried[i].needs_one ? 0 : PROMISE_QUORUM), SERVERS);
        asks(story, B, SERVERS, B, RESULT_GRANTED);
        calls(story, A, OP_ACQUIRE);
        for (int s = 0; s < SERVERS; s++)
            runs_on(story, A, s, OP_ACQUIRE, refused(EFFECT_SET, B));
        calls(story, B, OP_RELEASE);
        for (int s = 0; s < SERVERS; s++)
            runs_on(story, B, s, OP_RELEASE, deleted(B));
        returns(story, B, OP_RELEASE, RESULT_RELEASED);
        for (int s = 0; s < tried[i].given_back; s++) {
            runs_on(story, A, s, OP_ACQUIRE, created(A));
            runs_on(story, A, s, OP_ACQUIRE, deleted(A));
        }
        for (int s = tried[i].from; s < tried[i].until; s++)
            runs_on(story, A, s, OP_ACQUIRE, created(A));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        if (tried[i].is_bad) {
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
            assert_says(&story->findings[PROPERTY_TRUTHFUL], "1 of 3 servers had granted it");
        } else {
            assert_holds(story, PROPERTY_TRUTHFUL);
        }
        story_free(story);
    }
}

static void asks_server(struct story *story, int server)
{
    happens(story, (struct event){.kind = EVENT_SEND,
                                  .client = A,
                                  .server = server,
                                  .op = OP_ACQUIRE,
                                  .opaque = &script});
}

/* A's first round was not answered, and its keys run out, or are given back, or it asked none; B
 * has two servers when A asks again, in the same call, and gets the third: no majority. Where B has
 * left again, and A gets all, it is one. */
static void keys_of_a_round_before_that_have_run_out_are_no_votes(void **state)
{
    (void)state;
    enum { IS_NONE, HAS_RUN_OUT, IS_GIVEN_BACK, ROUNDS };
    for (int i = 0; i < 2 * ROUNDS; i++) {
        const int first = i % ROUNDS, got_from = i < ROUNDS ? 2 : 0;
        struct story *story = of_quorum();
        calls(story, A, OP_ACQUIRE);
        sends_script(story, A, OP_ACQUIRE);
        for (int s = 0; first != IS_NONE && s < SERVERS; s++)
            runs_on(story, A, s, OP_ACQUIRE, created(A));
        for (int s = 0; first == IS_GIVEN_BACK && s < SERVERS; s++)
            runs_on(story, A, s, OP_ACQUIRE, deleted(A));
        at(story, LEASE_MS + 20);
        calls(story, B, OP_ACQUIRE);
        for (int s = 0; s < 2; s++)
            runs_on(story, B, s, OP_ACQUIRE, created(B));
        returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        calls(story, B, OP_RELEASE);
        for (int s = 0; s < 2; s++)
            runs_on(story, B, s, OP_RELEASE, deleted(B));
        returns(story, B, OP_RELEASE, RESULT_RELEASED);
        for (int s = 0; s < SERVERS; s++)
            asks_server(story, s);
        for (int s = got_from; s < SERVERS; s++)
            runs_on(story, A, s, OP_ACQUIRE, created(A));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        if (got_from > 0)
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        else
            assert_holds(story, PROPERTY_TRUTHFUL);
        story_free(story);
    }
}

static void asks_one(struct story *story, int server, struct key_effect effect)
{
    asks_server(story, server);
    runs_on(story, A, server, OP_ACQUIRE, effect);
}

/* A has server 0, which forgets that and is B's then, as server 1, when A asks server 2 and has it,
 * too: what was lost is a vote, unless A asks that server again, and is refused there. */
static void a_vote_that_was_lost_before_the_last_one_is_asked_for_is_one(void **state)
{
    (void)state;
    for (int is_asked_again = 0; is_asked_again < 2; is_asked_again++) {
        struct story *story = of_quorum();
        calls(story, A, OP_ACQUIRE);
        asks_one(story, 0, created(A));
        at(story, 10);
        strikes(story, "flush-all", -1, 0, 0);
        calls(story, B, OP_ACQUIRE);
        for (int s = 0; s < 2; s++)
            runs_on(story, B, s, OP_ACQUIRE, created(B));
        returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        at(story, 20);
        if (is_asked_again)
            asks_one(story, 0, refused(EFFECT_SET, B));
        asks_one(story, 2, created(A));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1,
                        is_asked_again ? CAUSE_SPLIT_GRANT : CAUSE_LOST_GRANT);
        story_free(story);
    }
}

/* Two servers keep A's key, since its release failed there; asked again, they refuse it, and the
 * third grants it: no majority, unless A still held it. */
static void keys_of_an_attempt_before_are_no_votes(void **state)
{
    (void)state;
    for (int is_held = 0; is_held < 2; is_held++) {
        struct story *story = of_quorum();
        asks(story, A, SERVERS, A, RESULT_GRANTED);
        if (!is_held) {
            calls(story, A, OP_RELEASE);
            runs_on(story, A, 2, OP_RELEASE, deleted(A));
            returns(story, A, OP_RELEASE, RESULT_FAILED);
        }
        calls(story, A, OP_ACQUIRE);
        for (int s = 0; s < SERVERS; s++)
            runs_on(story, A, s, OP_ACQUIRE,
                    s == 2 && !is_held ? created(A) : refused(EFFECT_SET, A));
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        if (is_held)
            assert_holds(story, PROPERTY_TRUTHFUL);
        else
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        story_free(story);
    }
}

/* A's first key has run out when B gets two servers, and A gets the third, and is told "granted".
 * Had A asked for both at once, its lease was over, and else it was no overrun: where nobody saw
 * when it asked, lease-exclusion is unknown. */
static void an_overrun_is_not_within_a_lease(void **state)
{
    (void)state;
    for (int is_seen = 0; is_seen < 2; is_seen++) {
        struct story *story = of_quorum();
        calls(story, A, OP_ACQUIRE);
        if (is_seen)
            sends_script(story, A, OP_ACQUIRE);
        runs_on(story, A, 0, OP_ACQUIRE, created(A));
        at(story, LEASE_MS + 10);
        calls(story, B, OP_ACQUIRE);
        if (is_seen)
            sends_script(story, B, OP_ACQUIRE);
        runs_on(story, B, 0, OP_ACQUIRE, created(B));
        runs_on(story, B, 1, OP_ACQUIRE, created(B));
        runs_on(story, A, 2, OP_ACQUIRE, created(A));
        returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        const struct finding *finding = &story->findings[PROPERTY_LEASE_EXCLUSION];
        if (is_seen)
            assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        else
            assert_int_equal(finding->verdict, VERDICT_UNKNOWN);
        assert_int_equal(finding->count, 0);
        assert_int_equal(story->findings[PROPERTY_FRESH_GRANT].count, is_seen);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_refused_by_all_has_released_nothing),
        cmocka_unit_test(who_releases_twice_may_find_what_a_server_kept),
        cmocka_unit_test(granted_takes_a_majority),
        cmocka_unit_test(keys_of_a_round_before_that_have_run_out_are_no_votes),
        cmocka_unit_test(a_vote_that_was_lost_before_the_last_one_is_asked_for_is_one),
        cmocka_unit_test(keys_of_an_attempt_before_are_no_votes),
        cmocka_unit_test(an_overrun_is_not_within_a_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
