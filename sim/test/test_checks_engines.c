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
enum { CLIENTS = 3, LOCKS = 2, LEASE_MS = 3, ROUNDS = 4000, WORTH_FROM = 1000 };
enum lock { LOCK_RIGHT, LOCK_BLIND, LOCK_SHORT, LOCK_LOST, LOCK_KINDS };
static const char *const lock_names[] = {"right", "deletes blindly", "too short a lease", "lost"};

/* What a client is doing, in which attempt. */
struct open_call {
    bool is_asking, is_executed;
    enum operation op;
    int attempt, last; /* last: of its acquires */
    enum result result;
};

/* With what the servers did, without it, and with a client for each lock of one. */
enum told_to { SEEN, UNSEEN, APART, STORIES };

struct judged {
    enum lock lock;
    struct story *stories[STORIES];
    struct random random;
    int attempts[CLIENTS];
    int64_t again, back, both; /* asked again for what it held; went back to that; held two */
    struct lock_played {
        struct open_call asking[CLIENTS];
        int held[CLIENTS]; /* the attempt that the client holds by; 0: none */
        int owner, owner_attempt;
        int64_t expire_us;
    } locks[LOCKS];
};

static bool one_in(struct judged *judged, uint64_t many)
{
    return random_below(&judged->random, many) == 0;
}

static int64_t now_us(const struct judged *judged)
{
    return judged->stories[SEEN]->now_us;
}

static void tell(struct judged *judged, int lock, struct event event)
{
    const bool is_told = event.kind == EVENT_CALL || event.kind == EVENT_RETURN;
    for (int i = 0; i < STORIES; i++) {
        struct event told = event;
        told.client += i == APART ? CLIENTS * lock : 0;
        judged->stories[i]->lock = lock;
        if (is_told || i != UNSEEN)
            happens(judged->stories[i], told);
        else
            judged->stories[i]->now_us += STORY_STEP_US;
    }
}

static void call(struct judged *judged, int lock, int client)
{
    struct lock_played *played = &judged->locks[lock];
    struct open_call *asking = &played->asking[client];
    const int held = played->held[client], last = asking->last;
    const bool asks = !last || (held ? one_in(judged, 3) : !one_in(judged, 4));
    asking->op = asks ? OP_ACQUIRE : held && one_in(judged, 3) ? OP_EXTEND : OP_RELEASE;
    if (asks)
        asking->last = ++judged->attempts[client];
    /* Who was refused may release all the same. */
    asking->attempt = asks || !held || one_in(judged, 6) ? asking->last : held;
    asking->is_asking = true;
    asking->is_executed = false;
    judged->again += asks && held;
    judged->back += !asks && asking->attempt == held && held < last;
    tell(judged, lock,
         (struct event){.kind = EVENT_CALL,
                        .client = client,
                        .server = -1,
                        .op = asking->op,
                        .attempt = asking->attempt});
    if (asking->op == OP_RELEASE)
        played->held[client] = 0;
}

static struct command sent_by(const struct judged *judged, int client,
                              const struct open_call *asking)
{
    const int64_t token = 1000 * (client + 1) + asking->attempt;
    if (asking->op == OP_ACQUIRE)
        return command(VERB_SET_NX_PX, token, judged->lock == LOCK_SHORT ? 1 : LEASE_MS);
    if (asking->op == OP_EXTEND)
        return command(VERB_COMPARE_EXPIRE, token, LEASE_MS);
    return command(judged->lock == LOCK_BLIND ? VERB_DEL : VERB_COMPARE_DELETE, token, 0);
}

/* *does: the server did what the command says. */
static void take_effect(struct lock_played *played, int client, const struct command *command,
                        int64_t time_us, bool *does)
{
    const struct open_call *asking = &played->asking[client];
    const bool is_own = played->owner == client && played->owner_attempt == asking->attempt;
    *does = asking->op == OP_ACQUIRE
                ? played->owner == NOBODY
                : is_own || (command->verb == VERB_DEL && played->owner != NOBODY);
    if (*does && asking->op == OP_ACQUIRE) {
        played->owner = client;
        played->owner_attempt = asking->attempt;
    }
    if (*does && asking->op == OP_RELEASE)
        played->owner = NOBODY;
    else if (*does)
        played->expire_us = time_us + command->ttl_us;
}

static void execute(struct judged *judged, int lock, int client)
{
    struct open_call *asking = &judged->locks[lock].asking[client];
    const struct command command = sent_by(judged, client, asking);
    const bool is_acquire = asking->op == OP_ACQUIRE, is_lost = one_in(judged, 12);
    bool does;
    struct event event = {.kind = EVENT_SEND,
                          .client = client,
                          .op = asking->op,
                          .attempt = asking->attempt,
                          .command = command};
    tell(judged, lock, event);
    asking->is_executed = true;
    asking->result = RESULT_FAILED;
    if (is_lost)
        return;
    take_effect(&judged->locks[lock], client, &command, now_us(judged), &does);
    event.kind = EVENT_EXECUTE;
    event.reply = is_acquire ? (does ? OK : NIL) : INTEGER(does);
    tell(judged, lock, event);
    if (one_in(judged, 12))
        return;
    asking->result = is_acquire                 ? (does ? RESULT_GRANTED : RESULT_REFUSED)
                     : !does                    ? RESULT_NOT_MINE
                     : asking->op == OP_RELEASE ? RESULT_RELEASED
                                                : RESULT_DONE;
}

static void answer(struct judged *judged, int lock, int client)
{
    struct lock_played *played = &judged->locks[lock];
    struct open_call *asking = &played->asking[client];
    asking->is_asking = false;
    if (asking->op == OP_ACQUIRE && asking->result == RESULT_GRANTED)
        played->held[client] = asking->attempt;
    if (asking->op == OP_EXTEND && asking->result == RESULT_NOT_MINE &&
        played->held[client] == asking->attempt)
        played->held[client] = 0;
    judged->both += judged->locks[0].held[client] && judged->locks[1].held[client];
    tell(judged, lock,
         (struct event){.kind = EVENT_RETURN,
                        .client = client,
                        .server = -1,
                        .op = asking->op,
                        .attempt = asking->attempt,
                        .result = asking->result});
}

static void step(struct judged *judged)
{
    const int client = (int)random_below(&judged->random, CLIENTS);
    const int lock = (int)random_below(&judged->random, LOCKS);
    for (int i = 0; i < LOCKS; i++)
        if (now_us(judged) > judged->locks[i].expire_us ||
            (judged->lock == LOCK_LOST && one_in(judged, 40)))
            judged->locks[i].owner = NOBODY;
    if (!judged->locks[lock].asking[client].is_asking)
        call(judged, lock, client);
    else if (!judged->locks[lock].asking[client].is_executed)
        execute(judged, lock, client);
    else
        answer(judged, lock, client);
    const int64_t passes_us = one_in(judged, 12) ? (int64_t)random_below(&judged->random, 2500) : 0;
    for (int i = 0; i < STORIES; i++)
        judged->stories[i]->now_us += passes_us;
}

static void print(const struct judged *judged, int round)
{
    static const char *const names[] = {"seen", "unseen", "apart"};
    fprintf(stderr, "round %d, %s:\n", round, lock_names[judged->lock]);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        for (int k = 0; k < STORIES; k++) {
            const struct finding *found = &judged->stories[k]->findings[i];
            if (found->verdict == VERDICT_HOLDS || found->verdict == VERDICT_NOT_APPLICABLE)
                continue;
            fprintf(stderr, "  %s, %s: %s\n", names[k], property_name((enum property)i),
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

/* The servers' side shows that a key was gone: then a release may be missing. */
static bool is_left_open(const struct story *story, enum property property)
{
    const struct finding *found = &story->findings[property];
    return found->verdict == VERDICT_UNKNOWN && found->witness_lines > 0 &&
           strstr(found->witness[0], "its release may be missing");
}

/* What is proved without the servers is so with them; a loss may be all that is wrong. */
static bool do_agree(const struct judged *judged)
{
    static const enum property both[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION};
    const struct story *seen = judged->stories[SEEN], *unseen = judged->stories[UNSEEN];
    for (int i = 0; i < 2; i++) {
        const bool holds = unseen->findings[both[i]].verdict == VERDICT_HOLDS;
        if (is_violated(unseen, both[i]) && !is_violated(seen, both[i]) &&
            !is_left_open(seen, both[i]))
            return false;
        if (holds && is_violated(seen, both[i]))
            return false;
    }
    return !says_that_engines_disagree(seen) &&
           (judged->lock >= LOCK_SHORT || !is_violated(unseen, PROPERTY_TRUTHFUL) ||
            is_any_violated(seen)) &&
           (judged->lock != LOCK_RIGHT || !is_violated(seen, PROPERTY_LEASE_EXCLUSION));
}

/* One client at two locks is no contention, and two are: that may be unknown to one of them. */
static bool are_judged_alike(const struct story *one, const struct story *two)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct finding *first = &one->findings[i], *second = &two->findings[i];
        if (is_violated(one, (enum property)i) != is_violated(two, (enum property)i) ||
            first->count != second->count || first->causes != second->causes)
            return false;
    }
    return true;
}

static void what_is_proved_without_the_servers_is_so_with_them(void **state)
{
    int64_t again = 0, back = 0, both = 0, seen[LOCK_KINDS] = {0}, unseen[LOCK_KINDS] = {0};
    const int rounds = (int)sample_number("PICKLOCK_RUNS", (uint64_t)(ROUNDS / sample_every()));
    const uint64_t seed = sample_number("PICKLOCK_SEED", 13);
    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct judged judged = {.lock = (enum lock)(round % LOCK_KINDS),
                                .random = {.seed = seed, .stream = (uint64_t)round}};
        const int steps = 20 + (int)random_below(&judged.random, 100);
        for (int i = 0; i < LOCKS; i++)
            judged.locks[i].owner = NOBODY;
        for (int i = 0; i < STORIES; i++)
            judged.stories[i] = story_new(&expiring, 1, LEASE_MS);
        for (int i = 0; i < steps; i++)
            step(&judged);
        for (int i = 0; i < STORIES; i++)
            ends(judged.stories[i]);
        if (!do_agree(&judged) || !are_judged_alike(judged.stories[SEEN], judged.stories[APART])) {
            print(&judged, round);
            fail_msg("round %d: the engines disagree, or two locks are not judged alike", round);
        }
        again += judged.again;
        back += judged.back;
        both += judged.both;
        seen[judged.lock] += is_violated(judged.stories[SEEN], PROPERTY_LEASE_EXCLUSION);
        unseen[judged.lock] += is_violated(judged.stories[UNSEEN], PROPERTY_LEASE_EXCLUSION);
        for (int i = 0; i < STORIES; i++)
            story_free(judged.stories[i]);
    }
    if (rounds < WORTH_FROM) /* the histories were worth it; a few of them say nothing of that */
        return;
    assert_true(again > rounds && back > rounds / 10 && both > rounds / 10);
    for (int i = LOCK_BLIND; i < LOCK_KINDS; i++)
        assert_true(seen[i] > rounds / 100 && unseen[i] > rounds / 200);
}

/* It is told that it has what its acquire gave back, and at its release that it has it not: each
 * engine sees a contradiction, and the servers' side whose it is. */
static void what_an_acquire_gave_back_is_not_granted(void **state)
{
    (void)state;
    struct story *story = story_new(&expiring, 1, 300);
    is_granted(story, A);
    executes(story, A, OP_ACQUIRE, command(VERB_COMPARE_DELETE, token(story, A), 0), INTEGER(1));
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    releases(story, A, 0);
    ends(story);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    assert_says(&story->findings[PROPERTY_TRUTHFUL], "no server had granted it");
    story_free(story);
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
        cmocka_unit_test(what_an_acquire_gave_back_is_not_granted),
        cmocka_unit_test(who_asks_again_holds_what_it_held),
        cmocka_unit_test(what_is_proved_without_the_servers_is_so_with_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
