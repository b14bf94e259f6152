/* story.h - small histories for the tests of the checks: what happened, one event after the other.
 *
 * Every event takes 100 us, as in the steered worlds; at() sets the clock first. Times are
 * milliseconds. The server is not modelled: a story says what it replied. */
#ifndef PICKLOCK_TEST_STORY_H
#define PICKLOCK_TEST_STORY_H

#include "checks/checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C, D, E };
enum { STORY_CLIENTS = 8, STORY_STEP_US = 100, STORY_SECOND_MS = 1000 };

struct story {
    struct history_head head;
    char names[STORY_CLIENTS][NAME_MAX_BYTES];
    struct checks *checks;
    int64_t now_us, index;
    int lock, attempts[STORY_CLIENTS];
    struct finding *findings;
    struct counters counters;
};

/* Descriptors of the tests' own: only what they promise counts. */
static const struct scheme expiring = {
    .name = "expiring", .promises_expiry = true, .promises_token = true, .unit_us = 1000};
__attribute__((unused)) static const struct scheme everlasting = {.name = "everlasting"};
__attribute__((unused)) static const struct scheme stamping = {
    .name = "stamping", .uses_client_clock = true, .unit_us = 1000000};
__attribute__((unused)) static const struct scheme noticing = {.name = "noticing",
                                                               .promises_expiry = true,
                                                               .promises_notice = true,
                                                               .promises_token = true,
                                                               .unit_us = 1000};
__attribute__((unused)) static const struct scheme minting = {.name = "minting",
                                                              .promises_expiry = true,
                                                              .promises_token = true,
                                                              .mints_fence = true,
                                                              .unit_us = 1000};
__attribute__((unused)) static const struct scheme majority = {.name = "majority",
                                                               .promises_expiry = true,
                                                               .promises_token = true,
                                                               .needs_quorum = true,
                                                               .unit_us = 1000};

/* Nobody directed it: what was not contended is unknown. */
static inline struct story *story_undirected(const struct scheme *scheme, int servers,
                                             int64_t lease_ms)
{
    struct story *story = calloc(1, sizeof *story);
    assert_non_null(story);
    for (int i = 0; i < STORY_CLIENTS; i++)
        story->names[i][0] = (char)('A' + i);
    story->head = (struct history_head){.clients = STORY_CLIENTS,
                                        .servers = servers,
                                        .locks = 2,
                                        .names = story->names,
                                        .lease_us = lease_ms * 1000,
                                        .unit_us = scheme ? scheme->unit_us : 1000};
    story->checks = checks_new_for(&story->head, scheme);
    story->findings = calloc(PROPERTY_COUNT, sizeof *story->findings);
    assert_non_null(story->findings);
    return story;
}

/* Nothing is told yet: its checks begin anew, with what its head says by now. */
static inline struct story *story_begin(struct story *story, const struct scheme *scheme)
{
    checks_free(story->checks);
    story->checks = checks_new_for(&story->head, scheme);
    return story;
}

/* Told as a scenario tells it. */
static inline struct story *story_new(const struct scheme *scheme, int servers, int64_t lease_ms)
{
    struct story *story = story_undirected(scheme, servers, lease_ms);
    story->head.is_directed = true;
    return story_begin(story, scheme);
}

/* The same, and all that its clients sent is told. */
static inline struct story *story_whole(const struct scheme *scheme, int servers, int64_t lease_ms)
{
    struct story *story = story_new(scheme, servers, lease_ms);
    story->head.has_all_commands = true;
    return story_begin(story, scheme);
}

static inline void story_free(struct story *story)
{
    checks_free(story->checks);
    free(story->findings);
    free(story);
}

static inline void at(struct story *story, double ms)
{
    int64_t us = (int64_t)(ms * 1000 + 0.5);
    assert_true(us >= story->now_us);
    story->now_us = us;
}

/* Fills in what every event has (from_us, if it is not said), and feeds it. */
static inline void happens(struct story *story, struct event event)
{
    event.index = story->index++;
    event.time_us = story->now_us;
    event.from_us = event.from_us ? event.from_us : story->now_us;
    event.lock = story->lock;
    if (event.client >= 0 && event.attempt == 0)
        event.attempt = story->attempts[event.client];
    checks_event(story->checks, &event);
    story->now_us += STORY_STEP_US;
}

static inline void calls(struct story *story, int client, enum operation op)
{
    if (op == OP_ACQUIRE)
        story->attempts[client]++;
    happens(story, (struct event){.kind = EVENT_CALL, .client = client, .server = -1, .op = op});
}

static inline void returns(struct story *story, int client, enum operation op, enum result result)
{
    happens(story,
            (struct event){
                .kind = EVENT_RETURN, .client = client, .server = -1, .op = op, .result = result});
}

static inline void sends(struct story *story, int client, int server, enum operation op,
                         struct command command)
{
    happens(story, (struct event){.kind = EVENT_SEND,
                                  .client = client,
                                  .server = server,
                                  .op = op,
                                  .lane = op == OP_EXTEND ? LANE_RENEW : LANE_MAIN,
                                  .command = command});
}

static inline void executes_at(struct story *story, int client, int server, enum operation op,
                               struct command command, struct reply reply)
{
    happens(story, (struct event){.kind = EVENT_EXECUTE,
                                  .client = client,
                                  .server = server,
                                  .op = op,
                                  .command = command,
                                  .reply = reply});
}

static inline void executes(struct story *story, int client, enum operation op,
                            struct command command, struct reply reply)
{
    executes_at(story, client, 0, op, command, reply);
}

static inline void hears(struct story *story, int client, int server, enum operation op,
                         struct command command, struct reply reply)
{
    happens(story, (struct event){.kind = EVENT_HEAR,
                                  .client = client,
                                  .server = server,
                                  .op = op,
                                  .lane = op == OP_EXTEND ? LANE_RENEW : LANE_MAIN,
                                  .command = command,
                                  .reply = reply});
}

static inline void strikes(struct story *story, const char *fault, int client, int server,
                           int64_t amount_ms)
{
    struct event event = {
        .kind = EVENT_FAULT, .client = client, .server = server, .amount_us = amount_ms * 1000};
    assert_true(fault_read(fault, &event.fault));
    happens(story, event);
}

/* A fault that struck that command of the client's. */
static inline void strikes_command(struct story *story, const char *fault, int client,
                                   enum operation op, struct command command)
{
    struct event event = {
        .kind = EVENT_FAULT, .client = client, .server = 0, .op = op, .command = command};
    event.lane = op == OP_EXTEND ? LANE_RENEW : LANE_MAIN;
    assert_true(fault_read(fault, &event.fault));
    happens(story, event);
}

/* --- commands and replies --- */

#define NIL        ((struct reply){.kind = REPLY_NIL})
#define OK         ((struct reply){.kind = REPLY_OK})
#define INTEGER(n) ((struct reply){.kind = REPLY_INTEGER, .value = (n)})
#define VALUE(n)   ((struct reply){.kind = REPLY_VALUE, .value = (n)})
#define PAIR(a, b) ((struct reply){.kind = REPLY_TRANSACTION, .value = (a), .second = (b)})

static inline struct command command(enum verb verb, int64_t value, int64_t ttl_ms)
{
    return (struct command){.verb = verb, .value = value, .ttl_us = ttl_ms * 1000};
}

/* The token of a client's attempt. */
static inline int64_t token(const struct story *story, int client)
{
    return 1000 * (client + 1) + story->attempts[client];
}

static inline struct command set(const struct story *story, int client)
{
    return command(VERB_SET_NX_PX, token(story, client), story->head.lease_us / 1000);
}

/* --- whole operations on one server --- */

/* CALL and the SET, executed and answered OK; not yet told. */
static inline void is_granted(struct story *story, int client)
{
    calls(story, client, OP_ACQUIRE);
    sends(story, client, 0, OP_ACQUIRE, set(story, client));
    executes(story, client, OP_ACQUIRE, set(story, client), OK);
}

/* RETURN granted, with a fence. */
static inline void returns_fence(struct story *story, int client, int64_t fence)
{
    happens(story, (struct event){.kind = EVENT_RETURN,
                                  .client = client,
                                  .server = -1,
                                  .op = OP_ACQUIRE,
                                  .result = RESULT_GRANTED,
                                  .fence = fence});
}

static inline void acquires(struct story *story, int client)
{
    is_granted(story, client);
    returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
}

static inline void is_refused(struct story *story, int client)
{
    calls(story, client, OP_ACQUIRE);
    sends(story, client, 0, OP_ACQUIRE, set(story, client));
    executes(story, client, OP_ACQUIRE, set(story, client), NIL);
    returns(story, client, OP_ACQUIRE, RESULT_REFUSED);
}

/* A plain DEL, answered so. */
static inline void deletes(struct story *story, int client, int64_t answer)
{
    calls(story, client, OP_RELEASE);
    sends(story, client, 0, OP_RELEASE, command(VERB_DEL, 0, 0));
    executes(story, client, OP_RELEASE, command(VERB_DEL, 0, 0), INTEGER(answer));
    returns(story, client, OP_RELEASE, RESULT_RELEASED);
}

static inline void releases(struct story *story, int client, int64_t answer)
{
    struct command compare = command(VERB_COMPARE_DELETE, token(story, client), 0);
    calls(story, client, OP_RELEASE);
    sends(story, client, 0, OP_RELEASE, compare);
    executes(story, client, OP_RELEASE, compare, INTEGER(answer));
    returns(story, client, OP_RELEASE, answer ? RESULT_RELEASED : RESULT_NOT_MINE);
}

static inline void crashes(struct story *story, int client)
{
    strikes(story, "crash", client, -1, 0);
}

/* --- what the checks say --- */

static inline void ends(struct story *story)
{
    assert_int_equal(checks_violated(story->checks) >> PROPERTY_COUNT, 0);
    checks_finish(story->checks, story->now_us, story->findings, &story->counters);
}

static inline void witness_print(const struct finding *finding)
{
    for (int i = 0; i < finding->witness_lines; i++)
        fprintf(stderr, "    %s\n", finding->witness[i]);
}

static inline void assert_says(const struct finding *finding, const char *words)
{
    for (int i = 0; i < finding->witness_lines; i++)
        if (strstr(finding->witness[i], words))
            return;
    witness_print(finding);
    fail_msg("no sentence of the witness says \"%s\"", words);
}

static inline void assert_violated(const struct story *story, enum property property, int64_t count,
                                   enum cause cause)
{
    const struct finding *finding = &story->findings[property];
    if (finding->verdict != VERDICT_VIOLATED || finding->count != count ||
        finding->cause != cause) {
        witness_print(finding);
        fail_msg("%s: %s, %d times, cause %s; wanted violated, %d, %s", property_name(property),
                 verdict_name(finding->verdict), (int)finding->count, cause_name(finding->cause),
                 (int)count, cause_name(cause));
    }
    assert_true(finding->witness_lines > 0);
    assert_true(finding->first_index >= 0);
}

static inline void assert_verdict(const struct story *story, enum property property,
                                  enum verdict verdict)
{
    const struct finding *finding = &story->findings[property];
    if (finding->verdict != verdict) {
        witness_print(finding);
        fail_msg("%s: %s; wanted %s", property_name(property), verdict_name(finding->verdict),
                 verdict_name(verdict));
    }
}

static inline void assert_holds(const struct story *story, enum property property)
{
    assert_verdict(story, property, VERDICT_HOLDS);
    assert_int_equal(story->findings[property].count, 0);
}

/* Whatever applies holds, or cannot be said. */
static inline void assert_silent(const struct story *story)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (story->findings[i].verdict == VERDICT_VIOLATED) {
            witness_print(&story->findings[i]);
            fail_msg("%s must be silent", property_name((enum property)i));
        }
}

#endif
