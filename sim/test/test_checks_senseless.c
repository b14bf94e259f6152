/* test_checks_senseless.c - a history that makes no sense is no reason to fall over, nor to say
 * what does not fit together. Random, with fixed seeds; PICKLOCK_SAMPLE=N plays an Nth. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "test/sample.h"
#include "test/story.h"

static struct event senseless(struct random *random, struct story *story)
{
    static const char *const faults[] = {
        "crash", "resend",       "give-up",       "server-clock", "cut-replica",  "failover",
        "evict", "client-clock", "restart-empty", "duplicate",    "answer-error", "flush-scripts"};
    static const enum verb counting[] = {VERB_GET, VERB_SET, VERB_INCR};
    struct event event = {.index = story->index, .time_us = story->now_us};
    event.kind = (enum event_kind)random_below(random, EVENT_COUNT);
    event.from_us = event.time_us - (int64_t)random_below(random, 2) * 300;
    event.client = (int)random_below(random, 4);
    event.server = (int)random_below(random, (uint64_t)story->head.servers);
    event.lock = random_below(random, 8) == 0;
    event.op = (enum operation)random_below(random, OP_COUNT);
    if (event.kind == EVENT_CALL && event.op == OP_ACQUIRE)
        story->attempts[event.client]++;
    event.attempt = story->attempts[event.client] - (random_below(random, 8) == 0);
    event.lane = (enum lane)random_below(random, LANE_COUNT);
    event.command.verb = (enum verb)random_below(random, VERB_COUNT);
    if (random_below(random, 3) == 0)
        event.command.key = (enum key)random_below(random, KEY_COUNT);
    /* By chance alone hardly anybody would write it twice, the less so the more commands there are.
     */
    if (event.command.key == KEY_COUNTER)
        event.command.verb = counting[random_below(random, 3)];
    event.command.value = (int64_t)random_below(random, 5);
    event.command.number = (int64_t)random_below(random, 5);
    event.command.ttl_us = (int64_t)random_below(random, 4) * 1000;
    event.reply.kind = (enum reply_kind)random_below(random, REPLY_ERROR + 1);
    event.reply.error = (enum reply_error)random_below(random, ERROR_COUNT);
    event.reply.value = (int64_t)random_below(random, 3);
    event.reply.second = (int64_t)random_below(random, 2);
    event.result =
        random_below(random, 2) ? RESULT_GRANTED : (enum result)random_below(random, RESULT_COUNT);
    event.fence = (int64_t)random_below(random, 3);
    event.amount_us = (int64_t)random_below(random, 5000) - 2500;
    assert_true(
        fault_read(faults[random_below(random, sizeof faults / sizeof faults[0])], &event.fault));
    return event;
}

/* No server says else. */
static struct reply possible(enum verb verb, struct reply reply)
{
    reply.value %= 2;
    while (!verb_can_answer(verb, &reply))
        reply.kind = (reply.kind + 1) % (REPLY_ERROR + 1);
    return reply;
}

/* A history in which nobody saw what a client asked is judged by its calls and returns alone. In
 * one that is watched everybody is seen to ask every server, no server says what none can, and
 * nobody hears what none has said; a return has a call: what has none is executed instead, by
 * whoever it was; an acquire is executed at the lock that it was called for; and what nobody has
 * called release for is a renewal. In one that is
 * orderly as well nobody tells of accesses, nor of a release before the acquire has returned. */
static void feed_senseless(struct story *story, struct event event, bool is_watched,
                           bool is_orderly)
{
    static enum operation open[4]; /* called, and not returned, by client */
    static struct event asked[4];  /* the last call of an acquire */
    static int released[4];        /* the last attempt in which release was called */
    const bool is_now = event.attempt == story->attempts[event.client];
    if (story->index == 0)
        for (int i = 0; i < 4; i++)
            open[i] = OP_COUNT, asked[i] = (struct event){0}, released[i] = 0;
    if (is_orderly &&
        (event.op == OP_ACCESS || (event.op == OP_RELEASE && open[event.client] == OP_ACQUIRE)) &&
        (event.kind == EVENT_CALL || event.kind == EVENT_RETURN))
        event.kind = EVENT_EXECUTE;
    if (event.kind == EVENT_CALL && is_now)
        open[event.client] = event.op;
    if (event.kind == EVENT_RETURN && is_watched && (!is_now || open[event.client] != event.op))
        event.kind = EVENT_EXECUTE;
    if (event.kind == EVENT_RETURN)
        open[event.client] = OP_COUNT;
    if (event.kind == EVENT_CALL && event.op == OP_ACQUIRE)
        asked[event.client] = event;
    if (event.kind == EVENT_EXECUTE && event.op == OP_ACQUIRE && is_watched &&
        event.attempt == asked[event.client].attempt)
        event.lock = asked[event.client].lock;
    if (event.kind == EVENT_CALL && event.op == OP_RELEASE &&
        released[event.client] < event.attempt)
        released[event.client] = event.attempt;
    if (event.kind == EVENT_EXECUTE && event.op == OP_RELEASE && is_watched &&
        released[event.client] < event.attempt)
        event.op = OP_EXTEND;
    if (event.kind == EVENT_EXECUTE && is_watched)
        event.reply = possible(event.command.verb, event.reply);
    if (event.kind == EVENT_HEAR && is_watched)
        event.reply.kind = REPLY_ERROR;
    event.index = story->index++;
    checks_event(story->checks, &event);
    if (event.kind != EVENT_CALL || event.op != OP_ACQUIRE || !is_watched)
        return;
    for (int s = 0; s < story->head.servers; s++)
        for (int heard = 0; heard < 2; heard++) {
            struct event asks = event;
            asks.kind = heard ? EVENT_HEAR : EVENT_SEND;
            asks.index = story->index++;
            asks.server = s;
            asks.command = set(story, event.client);
            asks.reply = (struct reply){.kind = REPLY_ERROR};
            checks_event(story->checks, &asks);
        }
}

/* Sentences on one violation: of several the first of the gravest is told, and no other. */
enum { WITNESS_OF_ONE = 7 };

static void a_senseless_history_is_survived(void **state)
{
    static const struct scheme *const schemes_tried[] = {
        &expiring, &everlasting, &stamping, &noticing, &minting, &majority, NULL};
    enum { TRIED = sizeof schemes_tried / sizeof schemes_tried[0] };
    int64_t found[PROPERTY_COUNT] = {0};
    (void)state;
    for (int round = 0; round < 3000 / sample_every(); round++) {
        struct random random = {.seed = 13, .stream = (uint64_t)round};
        struct story *story =
            story_new(schemes_tried[round % TRIED], 1 + 2 * (round % 3), round % 4 ? 20 : 2);
        for (int i = 0; i < 120; i++) {
            struct event event = senseless(&random, story);
            feed_senseless(story, event, round % 2, round % 4 == 1);
            story->now_us += (int64_t)random_below(&random, 500);
        }
        ends(story);
        for (int i = 0; i < PROPERTY_COUNT; i++) {
            const struct finding *finding = &story->findings[i];
            found[i] += finding->count;
            assert_int_equal(finding->count > 0, finding->verdict == VERDICT_VIOLATED);
            assert_int_equal(finding->count > 0, finding->first_index >= 0);
            assert_int_equal(finding->count > 0, finding->cause != CAUSE_NONE);
            assert_int_equal(finding->verdict != VERDICT_HOLDS, finding->witness_lines > 0);
            assert_true(finding->witness_lines <= WITNESS_OF_ONE);
        }
        story_free(story);
    }
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (found[i] == 0 && sample_every() == 1) /* it came by everywhere */
            fail_msg("%s never fired", property_name((enum property)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_senseless_history_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
