/* test_checks_spans.c - executions that are known but for a while in which each happened: one that
 * changed nothing, and tells of another value than the key had all that time, makes all unknown;
 * one that some order explains is silent. So it is with an expiry that was lengthened, or
 * shortened.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "test/foreign_story.h"

/* It was executed at some time since then; it is told now. */
static void runs_since(struct story *story, int client, enum operation op, struct key_effect effect,
                       int64_t from_us)
{
    struct opaque opaque = script;
    struct effects effects = {.count = 1, .on = {effect}};
    assert_true(from_us <= story->now_us);
    const struct event event = {.index = story->index++,
                                .time_us = story->now_us,
                                .from_us = from_us,
                                .kind = EVENT_EXECUTE,
                                .client = client,
                                .attempt = story->attempts[client],
                                .op = op,
                                .reply = INTEGER(1),
                                .opaque = &opaque,
                                .effects = &effects};
    checks_event(story->checks, &event);
    story->now_us += STORY_STEP_US;
}

/* A has the lock; B and C ask for it since 10 ms. */
static struct story *asked(void)
{
    struct story *story = foreign(ALL_PROMISES, 1);
    takes(story, A);
    at(story, 9);
    calls(story, A, OP_RELEASE);
    at(story, 10);
    calls(story, B, OP_ACQUIRE);
    calls(story, C, OP_ACQUIRE);
    at(story, 20);
    return story;
}

/* Is the whole story as it can have been? */
static void assert_ends(struct story *story, bool is_whole)
{
    ends(story);
    const char *gap = checks_gap(story->checks);
    assert_true(is_whole ? !gap : gap && strstr(gap, "an effect in it is not so"));
    assert_int_equal(story->findings[PROPERTY_RELEASE_OWN].verdict,
                     is_whole ? VERDICT_HOLDS : VERDICT_UNKNOWN);
    story_free(story);
}

static struct key_effect not_there(void)
{
    return (struct key_effect){
        .did = DID_NOTHING, .before = BEFORE_ABSENT, .wanted = EFFECT_DELETE};
}

/* By whom B is refused: by A, whose key it is; by C, whose it can not have been; by nobody. */
static void a_value_that_no_order_explains_makes_all_unknown(void **state)
{
    static const struct {
        int owner;
        bool is_whole;
    } cases[] = {{A, true}, {C, false}, {E, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct story *story = asked();
        runs_since(story, B, OP_ACQUIRE, refused(EFFECT_SET, cases[i].owner), 10000);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        at(story, 40);
        runs_since(story, A, OP_RELEASE, deleted(A), 30000);
        returns(story, A, OP_RELEASE, RESULT_RELEASED);
        assert_ends(story, cases[i].is_whole);
    }
    struct story *story = asked();
    runs_since(story, B, OP_ACQUIRE, not_there(), 10000);
    assert_ends(story, false);
}

/* C was granted it meanwhile: that is told before, or behind; or began when B was refused. */
static void a_value_that_some_order_explains_is_silent(void **state)
{
    (void)state;
    for (int is_before = 0; is_before < 2; is_before++)
        for (int is_later = 0; is_later < 2; is_later++) {
            struct story *story = asked();
            const int64_t from_us = is_later ? 21000 : 11000;
            if (is_before)
                runs_since(story, B, OP_ACQUIRE, refused(EFFECT_SET, C), 10000);
            at(story, 22);
            runs_since(story, A, OP_RELEASE, deleted(A), from_us);
            runs_since(story, C, OP_ACQUIRE, created(C), from_us);
            if (!is_before)
                runs_since(story, B, OP_ACQUIRE, refused(EFFECT_SET, C), 10000);
            returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
            returns(story, A, OP_RELEASE, RESULT_RELEASED);
            returns(story, C, OP_ACQUIRE, RESULT_GRANTED);
            assert_ends(story, !is_before || !is_later);
        }
}

/* A gives its own key another value while B is refused, by either. */
static void a_value_that_is_renewed_meanwhile_is_silent(void **state)
{
    struct key_effect renewal = created(D);
    (void)state;
    renewal.did = DID_OVERWRITTEN;
    renewal.before = BEFORE_PRESENT;
    for (int owner = A; owner <= D; owner += D - A) {
        struct story *story = foreign(ALL_PROMISES, 1);
        takes(story, A);
        at(story, 10);
        calls(story, A, OP_EXTEND);
        calls(story, B, OP_ACQUIRE);
        at(story, 20);
        runs_since(story, A, OP_EXTEND, renewal, 10000);
        returns(story, A, OP_EXTEND, RESULT_DONE);
        runs_since(story, B, OP_ACQUIRE, refused(EFFECT_SET, owner), 10000);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        assert_ends(story, true);
    }
}

/* A gives the lock back while B is refused by somebody unknown, whose key it may be since, if C is
 * not granted it where none is. */
static void what_is_found_where_no_key_was_is_silent_unless_the_next_is_made_there(void **state)
{
    (void)state;
    for (int is_made = 0; is_made < 2; is_made++) {
        struct story *story = asked();
        runs_since(story, A, OP_RELEASE, deleted(A), 9000);
        returns(story, A, OP_RELEASE, RESULT_RELEASED);
        runs_since(story, B, OP_ACQUIRE, refused(EFFECT_SET, E), 10000);
        returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        if (is_made)
            runs_since(story, C, OP_ACQUIRE, created(C), 10000);
        assert_ends(story, !is_made);
    }
}

/* A's lock ends at 300 ms; what is told of it is of 20 ms. */
static void what_was_lengthened_ends_later_and_what_was_shortened_sooner(void **state)
{
    static const struct {
        enum did did;
        int ttl_ms;
        bool is_whole;
    } cases[] = {{DID_LENGTHENED, 400, true},  {DID_LENGTHENED, 281, true},
                 {DID_LENGTHENED, 200, false}, {DID_SHORTENED, 200, true},
                 {DID_SHORTENED, 279, true},   {DID_SHORTENED, 400, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int is_exact = 0; is_exact < 2; is_exact++) {
            struct story *story = asked();
            const struct key_effect effect = expiry(cases[i].did, cases[i].ttl_ms);
            calls(story, A, OP_EXTEND);
            runs_since(story, A, OP_EXTEND, effect, is_exact ? story->now_us : 18000);
            assert_ends(story, cases[i].is_whole);
        }
}

/* Twice at once, in whichever order. */
static void what_is_lengthened_twice_at_once_is_silent(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct story *story = asked();
        calls(story, A, OP_EXTEND);
        runs_since(story, A, OP_EXTEND, expiry(DID_LENGTHENED, i ? 900 : 500), 10000);
        runs_since(story, A, OP_EXTEND, expiry(DID_LENGTHENED, i ? 500 : 900), 10000);
        assert_ends(story, true);
    }
}

/* --- random ones --- */

enum { CLIENTS = 4, TICKS = 60, STORIES = 200, TICK_US = 500, NEVER_WRITTEN = 7 };

/* A server executes what it is asked in any order; what it answers in one tick is told in any. */
struct span_server {
    struct story *story;
    struct random *random;
    int64_t value; /* of the key; 0: there is none */
    int64_t written;
    struct span_request {
        bool is_open, is_executed, is_holder;
        int64_t from_us;
        struct key_effect effect;
    } requests[CLIENTS];
    int granted, refused; /* as it was told */
    int mutated;          /* this refusal finds what nobody wrote; -1: none does */
    int told_first;       /* grants that were told before that */
};

static enum operation operation_of(const struct span_request *request)
{
    return request->is_holder ? OP_RELEASE : OP_ACQUIRE;
}

static void ask(struct span_server *server, int client)
{
    struct span_request *request = &server->requests[client];
    if (request->is_open || !random_below(server->random, 3))
        return;
    request->is_open = true;
    request->is_executed = false;
    request->from_us = server->story->now_us;
    calls(server->story, client, operation_of(request));
}

static void execute(struct span_server *server, int client)
{
    struct span_request *request = &server->requests[client];
    if (!request->is_open || request->is_executed || random_below(server->random, 2))
        return;
    request->is_executed = true;
    if (request->is_holder) {
        request->effect = deleted(A);
    } else if (server->value) {
        request->effect = refused(EFFECT_SET, A);
    } else {
        request->effect = created(A);
        request->effect.ttl_us = INT64_C(1000000000);
        request->effect.new_value = 1000 + ++server->written;
    }
    request->effect.old_value = server->value;
    server->value = request->effect.did == DID_CREATED   ? request->effect.new_value
                    : request->effect.did == DID_DELETED ? 0
                                                         : server->value;
}

static void tell(struct span_server *server, int client)
{
    struct span_request *request = &server->requests[client];
    const enum operation op = operation_of(request);
    const bool is_refused = request->effect.did == DID_REFUSED;
    if (!request->is_open || !request->is_executed)
        return;
    if (is_refused && server->refused++ == server->mutated) {
        request->effect.old_value = NEVER_WRITTEN;
        server->told_first = server->granted;
    }
    server->granted += request->effect.did == DID_CREATED;
    runs_since(server->story, client, op, request->effect, request->from_us);
    returns(server->story, client, op,
            request->is_holder ? RESULT_RELEASED
            : is_refused       ? RESULT_REFUSED
                               : RESULT_GRANTED);
    request->is_holder = request->effect.did == DID_CREATED;
    request->is_open = false;
}

/* Each in an order of its own. */
static void each(struct span_server *server, void (*does)(struct span_server *server, int client))
{
    const int first = (int)random_below(server->random, CLIENTS);
    const int step = random_below(server->random, 2) ? 1 : CLIENTS - 1;
    for (int i = 0; i < CLIENTS; i++)
        does(server, (first + i * step) % CLIENTS);
}

static void random_ones_are_told_where_nobody_wrote_the_value_and_else_silent(void **state)
{
    struct random random = {.seed = 1};
    int told = 0;
    (void)state;
    for (int i = 0; i < STORIES; i++) {
        struct span_server server = {
            .story = foreign(ALL_PROMISES, 1), .random = &random, .mutated = i % 2 ? 12 : -1};
        for (int tick = 1; tick <= TICKS; tick++) {
            each(&server, ask);
            each(&server, execute);
            if (server.story->now_us < (int64_t)tick * TICK_US)
                server.story->now_us = (int64_t)tick * TICK_US;
            each(&server, tell);
        }
        ends(server.story);
        const bool is_between =
            server.told_first > CLIENTS && server.granted > server.told_first + CLIENTS;
        const char *gap = checks_gap(server.story->checks);
        if (gap && !server.told_first)
            fail_msg("story %d: %s", i, gap);
        if (is_between && !gap)
            fail_msg("story %d: nothing is told", i);
        told += gap != NULL;
        story_free(server.story);
    }
    assert_true(told > STORIES / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_no_order_explains_makes_all_unknown),
        cmocka_unit_test(a_value_that_some_order_explains_is_silent),
        cmocka_unit_test(a_value_that_is_renewed_meanwhile_is_silent),
        cmocka_unit_test(what_is_found_where_no_key_was_is_silent_unless_the_next_is_made_there),
        cmocka_unit_test(what_was_lengthened_ends_later_and_what_was_shortened_sooner),
        cmocka_unit_test(what_is_lengthened_twice_at_once_is_silent),
        cmocka_unit_test(random_ones_are_told_where_nobody_wrote_the_value_and_else_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
