/* test_checks_engines.c - the two engines on one history: random small ones are judged with what
 * the servers did, and again without it. What calls and returns prove, the servers' side knows,
 * too; what holds by it, they do not contradict. Clients ask again for what they hold, and go back
 * to it; locks are right, delete blindly, give too short a lease, or are lost. Fixed seeds;
 * PICKLOCK_SAMPLE=N plays an Nth of them, PICKLOCK_RUNS=N so many, PICKLOCK_SEED=N others. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "test/sample.h"
#include "test/story.h"

enum { NOBODY = -1 };
enum { CLIENTS = 3, LEASE_MS = 3, ROUNDS = 8000, WORTH_FROM = 1000 };
enum lock { LOCK_RIGHT, LOCK_BLIND, LOCK_SHORT, LOCK_LOST, LOCK_KINDS };
static const char *const lock_names[] = {"right", "deletes blindly", "too short a lease", "lost"};

/* What a client is doing, in which attempt. */
struct open_call {
    bool is_asking, is_executed;
    enum operation op;
    int attempt;
    enum result result;
};

struct judged_twice {
    enum lock lock;
    struct story *seen, *unseen;
    struct random random;
    struct open_call asking[CLIENTS];
    int held[CLIENTS]; /* the attempt that the client holds by; 0: none */
    int owner, owner_attempt;
    int64_t expire_us;
    int64_t again, back; /* asked again for what it held; went back to that */
};

static bool one_in(struct judged_twice *play, uint64_t many)
{
    return random_below(&play->random, many) == 0;
}

static void tell(struct judged_twice *play, struct event event)
{
    const bool is_told = event.kind == EVENT_CALL || event.kind == EVENT_RETURN;
    happens(play->seen, event);
    if (is_told)
        happens(play->unseen, event);
    else
        play->unseen->now_us += STORY_STEP_US;
}

static void call(struct judged_twice *play, int client)
{
    struct open_call *asking = &play->asking[client];
    const int last = play->seen->attempts[client], held = play->held[client];
    const bool asks = !last || (held ? one_in(play, 3) : !one_in(play, 4));
    asking->op = asks ? OP_ACQUIRE : held && one_in(play, 3) ? OP_EXTEND : OP_RELEASE;
    if (asks)
        play->seen->attempts[client]++;
    /* Who was refused may release all the same. */
    asking->attempt = asks || !held || one_in(play, 6) ? play->seen->attempts[client] : held;
    asking->is_asking = true;
    asking->is_executed = false;
    play->again += asks && held;
    play->back += !asks && asking->attempt == held && held < last;
    tell(play, (struct event){.kind = EVENT_CALL,
                              .client = client,
                              .server = -1,
                              .op = asking->op,
                              .attempt = asking->attempt});
    if (asking->op == OP_RELEASE)
        play->held[client] = 0;
}

static struct command sent_by(const struct judged_twice *play, int client)
{
    const struct open_call *asking = &play->asking[client];
    const int64_t token = 1000 * (client + 1) + asking->attempt;
    if (asking->op == OP_ACQUIRE)
        return command(VERB_SET_NX_PX, token, play->lock == LOCK_SHORT ? 1 : LEASE_MS);
    if (asking->op == OP_EXTEND)
        return command(VERB_COMPARE_EXPIRE, token, LEASE_MS);
    return command(play->lock == LOCK_BLIND ? VERB_DEL : VERB_COMPARE_DELETE, token, 0);
}

static void execute(struct judged_twice *play, int client)
{
    struct open_call *asking = &play->asking[client];
    const struct command command = sent_by(play, client);
    const bool is_acquire = asking->op == OP_ACQUIRE, is_release = asking->op == OP_RELEASE;
    const bool is_own = play->owner == client && play->owner_attempt == asking->attempt;
    const bool does = is_acquire ? play->owner == NOBODY
                                 : is_own || (command.verb == VERB_DEL && play->owner != NOBODY);
    tell(play, (struct event){.kind = EVENT_SEND,
                              .client = client,
                              .op = asking->op,
                              .attempt = asking->attempt,
                              .command = command});
    if (one_in(play, 12)) { /* lost */
        asking->is_executed = true;
        asking->result = RESULT_FAILED;
        return;
    }
    tell(play, (struct event){.kind = EVENT_EXECUTE,
                              .client = client,
                              .op = asking->op,
                              .attempt = asking->attempt,
                              .command = command,
                              .reply = is_acquire ? (does ? OK : NIL) : INTEGER(does)});
    if (does && is_acquire) {
        play->owner = client;
        play->owner_attempt = asking->attempt;
    }
    if (does && is_release)
        play->owner = NOBODY;
    else if (does)
        play->expire_us = play->seen->now_us - STORY_STEP_US + command.ttl_us;
    asking->is_executed = true;
    asking->result = one_in(play, 12) ? RESULT_FAILED
                     : is_acquire     ? (does ? RESULT_GRANTED : RESULT_REFUSED)
                     : is_release     ? (does ? RESULT_RELEASED : RESULT_NOT_MINE)
                                      : (does ? RESULT_DONE : RESULT_NOT_MINE);
}

static void answer(struct judged_twice *play, int client)
{
    struct open_call *asking = &play->asking[client];
    asking->is_asking = false;
    if (asking->op == OP_ACQUIRE && asking->result == RESULT_GRANTED)
        play->held[client] = asking->attempt;
    if (asking->op == OP_EXTEND && asking->result == RESULT_NOT_MINE &&
        play->held[client] == asking->attempt)
        play->held[client] = 0;
    tell(play, (struct event){.kind = EVENT_RETURN,
                              .client = client,
                              .server = -1,
                              .op = asking->op,
                              .attempt = asking->attempt,
                              .result = asking->result});
}

static void step(struct judged_twice *play)
{
    const int client = (int)random_below(&play->random, CLIENTS);
    if (play->owner != NOBODY && play->seen->now_us > play->expire_us)
        play->owner = NOBODY;
    if (play->lock == LOCK_LOST && one_in(play, 20))
        play->owner = NOBODY;
    if (!play->asking[client].is_asking)
        call(play, client);
    else if (!play->asking[client].is_executed)
        execute(play, client);
    else
        answer(play, client);
    if (one_in(play, 12))
        play->unseen->now_us = play->seen->now_us += (int64_t)random_below(&play->random, 2500);
}

static void print(const struct judged_twice *play, int round)
{
    fprintf(stderr, "round %d, %s:\n", round, lock_names[play->lock]);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        for (int k = 0; k < 2; k++) {
            const struct finding *found = &(k ? play->unseen : play->seen)->findings[i];
            if (found->verdict == VERDICT_HOLDS || found->verdict == VERDICT_NOT_APPLICABLE)
                continue;
            fprintf(stderr, "  %s, %s: %s\n", k ? "unseen" : "seen", property_name(i),
                    verdict_name(found->verdict));
            witness_print(found);
        }
}

static bool is_violated(const struct story *story, enum property property)
{
    return story->findings[property].verdict == VERDICT_VIOLATED;
}

static bool is_any_violated(const struct story *story)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (is_violated(story, (enum property)i))
            return true;
    return false;
}

static bool says_that_engines_disagree(const struct story *story)
{
    const struct finding *found = &story->findings[PROPERTY_TRUTHFUL];
    for (int i = 0; i < found->witness_lines; i++)
        if (strstr(found->witness[i], "engines disagree"))
            return true;
    return false;
}

/* What is proved without the servers is so with them; a loss may be all that is wrong. */
static bool do_agree(const struct judged_twice *play)
{
    static const enum property both[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION};
    for (int i = 0; i < 2; i++) {
        const bool holds = play->unseen->findings[both[i]].verdict == VERDICT_HOLDS;
        if (is_violated(play->unseen, both[i]) && !is_violated(play->seen, both[i]))
            return false;
        if (holds && is_violated(play->seen, both[i]))
            return false;
    }
    return !says_that_engines_disagree(play->seen) &&
           (play->lock >= LOCK_SHORT || !is_violated(play->unseen, PROPERTY_TRUTHFUL) ||
            is_any_violated(play->seen)) &&
           (play->lock != LOCK_RIGHT || !is_violated(play->seen, PROPERTY_LEASE_EXCLUSION));
}

static void what_is_proved_without_the_servers_is_so_with_them(void **state)
{
    int64_t again = 0, back = 0, seen[LOCK_KINDS] = {0}, unseen[LOCK_KINDS] = {0};
    const int rounds = (int)sample_number("PICKLOCK_RUNS", (uint64_t)(ROUNDS / sample_every()));
    const uint64_t seed = sample_number("PICKLOCK_SEED", 13);
    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct judged_twice play = {.lock = (enum lock)(round % LOCK_KINDS),
                                    .seen = story_new(&expiring, 1, LEASE_MS),
                                    .unseen = story_new(&expiring, 1, LEASE_MS),
                                    .random = {.seed = seed, .stream = (uint64_t)round},
                                    .owner = NOBODY};
        const int steps = 10 + (int)random_below(&play.random, 60);
        for (int i = 0; i < steps; i++)
            step(&play);
        ends(play.seen);
        ends(play.unseen);
        if (!do_agree(&play)) {
            print(&play, round);
            fail_msg("round %d: the engines disagree", round);
        }
        again += play.again;
        back += play.back;
        seen[play.lock] += is_violated(play.seen, PROPERTY_LEASE_EXCLUSION);
        unseen[play.lock] += is_violated(play.unseen, PROPERTY_LEASE_EXCLUSION);
        story_free(play.seen);
        story_free(play.unseen);
    }
    if (rounds < WORTH_FROM) /* the histories were worth it; a few of them say nothing of that */
        return;
    assert_true(again > rounds && back > rounds / 10);
    for (int i = LOCK_BLIND; i < LOCK_KINDS; i++)
        assert_true(seen[i] > rounds / 100 && unseen[i] > rounds / 200);
}

/* Its key expires early, since its own client gave it too little: it holds all the same, whoever it
 * asks again, until it releases; and who goes back to release it is one client. */
static void who_asks_again_holds_what_it_held(void **state)
{
    (void)state;
    for (int is_seen = 0; is_seen < 2; is_seen++) {
        for (int releases = 0; releases < 2; releases++) {
            struct story *story = story_new(&expiring, 1, 300);
            for (int attempt = 1; attempt <= 2; attempt++) {
                const struct command asked = command(VERB_SET_NX_PX, 1000 + attempt, 3);
                calls(story, A, OP_ACQUIRE);
                if (is_seen)
                    executes(story, A, OP_ACQUIRE, asked, attempt == 1 ? OK : NIL);
                returns(story, A, OP_ACQUIRE, attempt == 1 ? RESULT_GRANTED : RESULT_REFUSED);
            }
            if (releases) {
                story->attempts[A] = 1;
                calls(story, A, OP_RELEASE);
                if (is_seen)
                    executes(story, A, OP_RELEASE, command(VERB_COMPARE_DELETE, 1001, 0),
                             INTEGER(1));
                returns(story, A, OP_RELEASE, RESULT_RELEASED);
            }
            at(story, 10);
            calls(story, B, OP_ACQUIRE);
            if (is_seen)
                executes(story, B, OP_ACQUIRE, set(story, B), OK);
            returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
            ends(story);
            if (releases)
                assert_silent(story);
            else
                assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1,
                                is_seen ? CAUSE_SHORT_TTL : CAUSE_BUG_OR_LOSS);
            if (is_seen)
                assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION,
                               releases ? VERDICT_HOLDS : VERDICT_VIOLATED);
            story_free(story);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_again_holds_what_it_held),
        cmocka_unit_test(what_is_proved_without_the_servers_is_so_with_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
