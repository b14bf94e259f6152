/* test_checks_forgotten.c - a server forgot its keys, the counter of fencing tokens and what the
 * resource had accepted too: whose fault is what the resource takes and refuses from then on? */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "test/story.h"

/* Of an attempt of that client, 0: the one that goes on. */
static void writes_of(struct story *story, int client, int attempt, int64_t fence,
                      struct reply reply)
{
    const struct command write = {.verb = fence ? VERB_FENCED_SET : VERB_SET,
                                  .key = KEY_RESOURCE,
                                  .value = fence ? fence : client + 1,
                                  .number = fence};
    happens(story, (struct event){.kind = EVENT_EXECUTE,
                                  .client = client,
                                  .attempt = attempt,
                                  .op = OP_ACCESS,
                                  .command = write,
                                  .reply = reply});
}

static void writes(struct story *story, int client, int64_t fence, struct reply reply)
{
    writes_of(story, client, 0, fence, reply);
}

/* The counter began anew, so B's token is the smaller one though it is newer; what has no token is
 * refused by nobody, restart or not. */
static void what_a_forgotten_counter_lets_in_is_the_deployments(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        const bool is_fenced = how & 1, has_restart = how & 2;
        struct story *story = story_new(is_fenced ? &minting : &expiring, 1, 300);
        is_granted(story, A);
        if (has_restart)
            strikes(story, "restart-empty", -1, 0, 0);
        else
            at(story, 310);
        is_granted(story, B);
        writes(story, B, is_fenced ? 1 : 0, is_fenced ? INTEGER(1) : OK);
        writes(story, A, is_fenced ? 2 : 0, is_fenced ? INTEGER(1) : OK);
        ends(story);
        assert_violated(story, PROPERTY_FENCE_ORDER, 1,
                        is_fenced && has_restart ? CAUSE_LOST_GRANT : CAUSE_STALE_WRITE);
        story_free(story);
    }
}

/* A's write comes first, and B's, which is newer, is refused: A's token is of before a restart; or
 * it is not, and the scheme's doing. */
static void what_a_forgotten_counter_keeps_out_is_the_deployments(void **state)
{
    enum { BEFORE, BETWEEN, TWICE, NEVER };
    (void)state;
    for (int restart = BEFORE; restart <= NEVER; restart++) {
        struct story *story = story_new(&minting, 1, 300);
        if (restart == BEFORE)
            strikes(story, "restart-empty", -1, 0, 0);
        is_granted(story, A);
        at(story, 310);
        if (restart == BETWEEN || restart == TWICE)
            strikes(story, "restart-empty", -1, 0, 0);
        is_granted(story, B);
        if (restart == TWICE)
            strikes(story, "restart-empty", -1, 0, 0);
        writes(story, A, 2, INTEGER(1));
        writes(story, B, 1, INTEGER(0));
        ends(story);
        assert_violated(story, PROPERTY_FENCE_ORDER, 1,
                        restart == BETWEEN || restart == TWICE ? CAUSE_LOST_GRANT
                                                               : CAUSE_FENCE_DISORDER);
        story_free(story);
    }
}

/* A's late write is of three attempts ago, which was granted before the restart; or behind it: then
 * its grant is not remembered any more, and whether B's is newer is not known. */
static void the_token_of_an_attempt_long_ago_is_told_by_the_attempt(void **state)
{
    (void)state;
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        struct story *story = story_new(&minting, 1, 300);
        if (is_behind)
            strikes(story, "restart-empty", -1, 0, 0);
        is_granted(story, A);
        const int long_ago = story->attempts[A];
        if (!is_behind)
            strikes(story, "restart-empty", -1, 0, 0);
        for (int i = 0; i < 3; i++) {
            calls(story, A, OP_ACQUIRE);
            returns(story, A, OP_ACQUIRE, RESULT_FAILED);
        }
        at(story, 310);
        is_granted(story, B);
        writes_of(story, A, long_ago, 7, INTEGER(1));
        writes(story, B, 1, INTEGER(0));
        ends(story);
        if (is_behind)
            assert_holds(story, PROPERTY_FENCE_ORDER);
        else
            assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_LOST_GRANT);
        story_free(story);
    }
}

/* A's token is of before a restart, and the resource accepted it; the server forgets once more, but
 * not that. B's smaller token is refused: the scheme's doing only where there was no first restart.
 */
static void what_was_let_in_keeps_out_behind_the_next_restart(void **state)
{
    (void)state;
    for (int restarts = 1; restarts <= 2; restarts++) {
        struct story *story = story_new(&minting, 1, 300);
        is_granted(story, A);
        if (restarts == 2)
            strikes(story, "restart-empty", -1, 0, 0);
        writes(story, A, 7, INTEGER(1));
        at(story, 310);
        strikes(story, "restart-old", -1, 0, 0);
        is_granted(story, B);
        writes(story, B, 2, INTEGER(0));
        ends(story);
        assert_violated(story, PROPERTY_FENCE_ORDER, 1,
                        restarts == 2 ? CAUSE_LOST_GRANT : CAUSE_FENCE_DISORDER);
        story_free(story);
    }
}

/* B, newer, had written; that came back with the server, and A's late write is rightly refused. One
 * that is granted behind the restart knows of nobody newer. */
static void what_came_back_may_be_of_a_newer_holder(void **state)
{
    (void)state;
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        struct story *story = story_new(&minting, 1, 300);
        is_granted(story, A);
        at(story, 310);
        is_granted(story, B);
        writes(story, B, 2, INTEGER(1));
        at(story, 620);
        strikes(story, "restart-old", -1, 0, 0);
        if (is_behind)
            is_granted(story, A);
        writes(story, A, 1, INTEGER(0));
        ends(story);
        if (is_behind)
            assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_FENCE_DISORDER);
        else
            assert_holds(story, PROPERTY_FENCE_ORDER);
        story_free(story);
    }
}

/* --- a right lock, on a server that forgets whatever it likes --- */

enum { STATES = 64, STEPS = 60, LEASE_MS = 300, PAST = 3 };

struct counter_state {
    int64_t counter, resource, holder, over_us; /* holder: its token; 0: nobody */
};

struct forgetful {
    struct counter_state states[STATES]; /* as it was; the last is how it is */
    int count;
};

struct past_grant {
    int client, attempt;
    int64_t fence;
};

static struct counter_state *now_of(struct forgetful *server)
{
    return &server->states[server->count - 1];
}

/* Every change is one that a snapshot, or a replica, may have been made before. */
static struct counter_state *next_of(struct forgetful *server)
{
    if (server->count == STATES)
        memmove(server->states, server->states + 1,
                (size_t)--server->count * sizeof *server->states);
    server->states[server->count] = server->states[server->count - 1];
    return &server->states[server->count++];
}

/* Granted and told, or refused and told. */
static int64_t asks(struct story *story, struct forgetful *server, int client)
{
    calls(story, client, OP_ACQUIRE);
    const struct command mint = command(VERB_SET_MINT, token(story, client), LEASE_MS);
    sends(story, client, 0, OP_ACQUIRE, mint);
    if (now_of(server)->holder && story->now_us < now_of(server)->over_us) {
        executes(story, client, OP_ACQUIRE, mint, NIL);
        returns(story, client, OP_ACQUIRE, RESULT_REFUSED);
        return 0;
    }
    struct counter_state *state = next_of(server);
    state->counter++;
    state->holder = mint.value;
    state->over_us = story->now_us + LEASE_MS * 1000;
    executes(story, client, OP_ACQUIRE, mint, INTEGER(state->counter));
    happens(story, (struct event){.kind = EVENT_RETURN,
                                  .client = client,
                                  .server = -1,
                                  .op = OP_ACQUIRE,
                                  .result = RESULT_GRANTED,
                                  .fence = state->counter});
    return state->counter;
}

static void forgets(struct story *story, struct forgetful *server, struct random *dice)
{
    static const char *const faults[] = {"restart-empty", "restart-old", "failover"};
    const size_t which = random_below(dice, 3);
    if (which == 0)
        next_of(server)[0] = (struct counter_state){0};
    else
        server->count = 1 + (int)random_below(dice, (uint64_t)server->count);
    strikes(story, faults[which], -1, 0, 0);
}

/* Nobody writes but with a token that he was granted: what goes wrong is the server's doing. */
static void a_right_lock_is_not_blamed_for_what_its_server_forgot(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct random dice = {.seed = seed};
        struct story *story = story_new(&minting, 1, LEASE_MS);
        struct forgetful server = {.count = 1};
        struct past_grant past[PAST * 4] = {0};
        int grants = 0;
        for (int step = 0; step < STEPS; step++) {
            const uint64_t what = random_below(&dice, 10);
            const int client = (int)random_below(&dice, 4);
            const struct past_grant *of =
                grants ? &past[random_below(&dice, (uint64_t)grants)] : NULL;
            if (what < 4) {
                const int64_t fence = asks(story, &server, client);
                if (fence)
                    past[grants < PAST * 4 ? grants++ : (int)random_below(&dice, PAST * 4)] =
                        (struct past_grant){client, story->attempts[client], fence};
            } else if (what < 8 && of) {
                const bool is_accepted = of->fence >= now_of(&server)->resource;
                if (is_accepted)
                    next_of(&server)->resource = of->fence;
                writes_of(story, of->client, of->attempt, of->fence, INTEGER(is_accepted));
            } else if (what == 8) {
                story->now_us += (int64_t)random_below(&dice, 2 * LEASE_MS) * 1000;
            } else if (random_below(&dice, 3) == 0) {
                forgets(story, &server, &dice);
            }
        }
        ends(story);
        const struct finding *finding = &story->findings[PROPERTY_FENCE_ORDER];
        if (finding->verdict == VERDICT_VIOLATED && finding->cause != CAUSE_LOST_GRANT) {
            witness_print(finding);
            fail_msg("seed %d: blamed for %s", (int)seed, cause_name(finding->cause));
        }
        story_free(story);
    }
}

/* Two that were granted it within a lease are a bug, or a loss; but for one that the history tells
 * of. */
static void what_a_told_loss_may_explain_is_neither(void **state)
{
    static const struct {
        enum fault fault;
        bool is_loss;
    } tried[] = {
        {FAULT_RESTART, true},      {FAULT_FLUSH_ALL, true},    {FAULT_EVICT, true},
        {FAULT_SERVER_CLOCK, true}, {FAULT_RESTART_AOF, false}, {FAULT_FLUSH_SCRIPTS, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = story_new(&expiring, 1, 300);
        calls(story, A, OP_ACQUIRE); /* nobody saw the server */
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        happens(story, (struct event){.kind = EVENT_FAULT,
                                      .client = -1,
                                      .server = 0,
                                      .fault = tried[i].fault,
                                      .amount_us = 400 * 1000});
        calls(story, B, OP_ACQUIRE);
        returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        if (tried[i].is_loss) {
            assert_verdict(story, PROPERTY_LEASE_EXCLUSION, VERDICT_UNKNOWN);
            assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, VERDICT_UNKNOWN);
            assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION], "took a server's keys");
        } else {
            assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_BUG_OR_LOSS);
        }
        story_free(story);
    }
}

/* A's own token is told to it again, of what it was granted anew: the lock that the first one was
 * of was lost before A was told, or is over by its release. Granted once, and not lost, it is one.
 */
static void one_token_of_two_grants_is_told_twice(void **state)
{
    enum { LOST, LOST_WHEN_TOLD, GROWS };
    (void)state;
    for (int how = LOST; how <= GROWS; how++) {
        struct story *story = story_new(&minting, 1, 300);
        is_granted(story, A);
        if (how != LOST_WHEN_TOLD)
            strikes(story, "flush-all", -1, 0, 0);
        returns_fence(story, A, 1);
        if (how == LOST_WHEN_TOLD)
            strikes(story, "flush-all", -1, 0, 0);
        releases(story, A, 0);
        is_granted(story, A);
        returns_fence(story, A, how == GROWS ? 2 : 1);
        ends(story);
        if (how == GROWS)
            assert_holds(story, PROPERTY_FENCE_ORDER);
        else
            assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_LOST_GRANT);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_told_loss_may_explain_is_neither),
        cmocka_unit_test(what_a_forgotten_counter_lets_in_is_the_deployments),
        cmocka_unit_test(what_a_forgotten_counter_keeps_out_is_the_deployments),
        cmocka_unit_test(what_was_let_in_keeps_out_behind_the_next_restart),
        cmocka_unit_test(a_right_lock_is_not_blamed_for_what_its_server_forgot),
        cmocka_unit_test(what_came_back_may_be_of_a_newer_holder),
        cmocka_unit_test(the_token_of_an_attempt_long_ago_is_told_by_the_attempt),
        cmocka_unit_test(one_token_of_two_grants_is_told_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
