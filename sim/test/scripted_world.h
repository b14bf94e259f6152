/* scripted_world.h - a small world that does what a test says, and how a test plays in it: steps
 * in, the exact choices out. Included by the tests of the interpreter, behind cmocka.h. */
#ifndef PICKLOCK_TEST_SCRIPTED_WORLD_H
#define PICKLOCK_TEST_SCRIPTED_WORLD_H

#include "scenario/interpreter.h"
#include "scenario/naming.h"
#include "scenario/sentence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 3, TEXT_MAX = 8192, TAKES_US = 100, LEASE_US = 300000 };

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B", "C"};

/* --- the scripted world ---
 *
 * Acquire: SET to every server; granted once each was answered or given up. Release: GET, then DEL,
 * at server 1. An access: SET of another key. While period_us is set, a grant starts a timer that
 * sends compare-and-expire on the renewing lane. */

struct fake_client {
    struct client_view view;
    struct message messages[MESSAGES_MAX];
    int count;
};

struct fake {
    struct world world;
    struct fake_client clients[CLIENTS];
    int servers;
    int64_t now_us, period_us;
    int64_t retry_us;   /* an acquire sleeps once before it sends */
    bool refuses;       /* acquires are refused */
    bool is_deaf;       /* what is given up is never told to the client */
    const char *cannot; /* what can() says, NULL: all is possible */
};

static void fake_send(struct fake *fake, int client, enum lane lane, int server, enum verb verb)
{
    struct fake_client *who = &fake->clients[client];
    assert_true(who->count < MESSAGES_MAX);
    who->messages[who->count++] = (struct message){.client = client,
                                                   .server = server,
                                                   .lane = lane,
                                                   .command = {.verb = verb},
                                                   .state = MESSAGE_REQUEST};
}

static void fake_send_all(struct fake *fake, int client)
{
    for (int server = 0; server < fake->servers; server++)
        fake_send(fake, client, LANE_MAIN, server, VERB_SET_NX_PX);
}

/* The client has got what it waited for, or has given it up. */
static void fake_answered(struct fake *fake, int client, enum lane lane, enum verb verb)
{
    struct fake_client *who = &fake->clients[client];
    if (lane == LANE_RENEW)
        return;
    for (int i = 0; i < who->count; i++)
        if (who->messages[i].lane == LANE_MAIN && !who->messages[i].is_abandoned)
            return;
    if (who->view.is_accessing) {
        who->view.is_accessing = false;
        who->view.last = RESULT_DONE;
    } else if (who->view.phase == PHASE_ACQUIRING) {
        who->view.phase = fake->refuses ? PHASE_IDLE : PHASE_HOLDING;
        who->view.last = fake->refuses ? RESULT_REFUSED : RESULT_GRANTED;
        if (fake->period_us)
            who->view.wake_us = fake->now_us + fake->period_us;
    } else if (who->view.phase == PHASE_RELEASING && verb == VERB_GET) {
        fake_send(fake, client, LANE_MAIN, 0, VERB_DEL);
    } else if (who->view.phase == PHASE_RELEASING) {
        who->view.phase = PHASE_IDLE;
        who->view.last = RESULT_RELEASED;
        who->view.wake_us = INT64_MAX;
    }
}

static void fake_remove(struct fake_client *who, int at)
{
    who->count--;
    memmove(&who->messages[at], &who->messages[at + 1],
            (size_t)(who->count - at) * sizeof who->messages[0]);
}

static int fake_find(struct fake_client *who, const struct choice *choice)
{
    return naming_find(choice, who->messages, who->count);
}

static enum fail fake_message(struct fake *fake, const struct choice *choice,
                              struct failure *failure)
{
    struct fake_client *who = &fake->clients[choice->client];
    int at = fake_find(who, choice);
    if (at < 0)
        return failure_set(failure, FAIL_UNKNOWN, "no such message");
    struct message *message = &who->messages[at];
    enum lane lane = message->lane;
    bool is_over = false;
    if (choice->kind == CHOICE_DUPLICATE) {
        assert_true(who->count < MESSAGES_MAX);
        who->messages[who->count] = *message;
        who->messages[who->count++].is_abandoned = true;
        return FAIL_NONE;
    }
    bool arrives = choice->kind == CHOICE_ARRIVE || choice->kind == CHOICE_ARRIVE_LATE;
    if (arrives && message->is_abandoned)
        fake_remove(who, at);
    else if (arrives || choice->kind == CHOICE_ANSWER_ERROR)
        message->state = MESSAGE_REPLY;
    else if (choice->kind == CHOICE_RESEND)
        message->state = MESSAGE_REQUEST;
    else if (choice->kind == CHOICE_LOSE_REQUEST || choice->kind == CHOICE_LOSE_REPLY)
        message->state = MESSAGE_VOID;
    else if (choice->kind == CHOICE_GIVE_UP && message->state == MESSAGE_REQUEST)
        is_over = message->is_abandoned = true;
    else {
        is_over = true;
        fake_remove(who, at);
    }
    if (is_over && !(fake->is_deaf && choice->kind == CHOICE_GIVE_UP))
        fake_answered(fake, choice->client, lane, choice->verb);
    return FAIL_NONE;
}

static void fake_crash(struct fake_client *who)
{
    *who = (struct fake_client){.view = {.phase = PHASE_DEAD, .wake_us = INT64_MAX}};
}

static void fake_breaks(struct fake *fake, int server)
{
    for (int client = 0; client < CLIENTS; client++)
        for (int i = 0; i < fake->clients[client].count; i++)
            if (fake->clients[client].messages[i].server == server)
                fake->clients[client].messages[i].state = MESSAGE_VOID;
}

static void fake_wake(struct fake *fake, int client)
{
    struct client_view *view = &fake->clients[client].view;
    view->wake_us = INT64_MAX;
    if (view->phase == PHASE_ACQUIRING) {
        fake_send_all(fake, client);
        return;
    }
    fake_send(fake, client, LANE_RENEW, 0, VERB_COMPARE_EXPIRE);
    view->wake_us = fake->now_us + fake->period_us;
}

static enum fail fake_apply(struct world *world, const struct choice *choice,
                            struct failure *failure)
{
    struct fake *fake = (struct fake *)world;
    struct client_view *view = choice->client < 0 ? NULL : &fake->clients[choice->client].view;
    fake->now_us += choice->kind == CHOICE_TIME ? choice->amount_us : TAKES_US;
    switch (choice->kind) {
    case CHOICE_ACQUIRE:
        view->phase = PHASE_ACQUIRING;
        if (fake->retry_us)
            view->wake_us = fake->now_us + fake->retry_us;
        else
            fake_send_all(fake, choice->client);
        return FAIL_NONE;
    case CHOICE_RELEASE:
        view->phase = PHASE_RELEASING;
        fake_send(fake, choice->client, LANE_MAIN, 0, VERB_GET);
        return FAIL_NONE;
    case CHOICE_WRITE:
    case CHOICE_READ_COUNTER:
    case CHOICE_WRITE_COUNTER:
        view->is_accessing = true;
        fake_send(fake, choice->client, LANE_MAIN, 0,
                  choice->kind == CHOICE_READ_COUNTER ? VERB_GET : VERB_SET);
        return FAIL_NONE;
    case CHOICE_WAKE:
        if (view->wake_us > fake->now_us)
            return failure_set(failure, FAIL_UNKNOWN, "not due");
        fake_wake(fake, choice->client);
        return FAIL_NONE;
    case CHOICE_CRASH:
        fake_crash(&fake->clients[choice->client]);
        return FAIL_NONE;
    case CHOICE_RESTART:
    case CHOICE_RESTART_AOF:
    case CHOICE_RESTART_OLD:
    case CHOICE_CLIENT_KILL:
        fake_breaks(fake, choice->server);
        return FAIL_NONE;
    case CHOICE_EVICT:
        return failure_set(failure, FAIL_UNKNOWN, "no lock key to evict");
    case CHOICE_TIME:
    case CHOICE_LEASE:
    case CHOICE_CLIENT_CLOCK:
    case CHOICE_SERVER_CLOCK:
    case CHOICE_CUT_REPLICA:
    case CHOICE_SAVE:
    case CHOICE_FAILOVER:
    case CHOICE_FLUSH_SCRIPTS:
    case CHOICE_FLUSH_ALL:
        return FAIL_NONE;
    default:
        return fake_message(fake, choice, failure);
    }
}

static enum fail fake_can(struct world *world, enum choice_kind kind, struct failure *failure)
{
    const struct fake *fake = (const struct fake *)world;
    (void)kind;
    return fake->cannot ? failure_set(failure, FAIL_UNKNOWN, "%s", fake->cannot) : FAIL_NONE;
}

static struct client_view fake_view(struct world *world, int client)
{
    return ((struct fake *)world)->clients[client].view;
}

static int fake_messages(struct world *world, int client, struct message *messages)
{
    const struct fake_client *who = &((struct fake *)world)->clients[client];
    memcpy(messages, who->messages, (size_t)who->count * sizeof *messages);
    return who->count;
}

static int64_t fake_now_us(struct world *world)
{
    return ((struct fake *)world)->now_us;
}

static const struct world_ops fake_ops = {.apply = fake_apply,
                                          .can = fake_can,
                                          .client = fake_view,
                                          .messages = fake_messages,
                                          .now_us = fake_now_us};

/* --- playing --- */

static const struct scheme scheme = {.name = "fake", .unit_us = 1000};
static const struct scheme stamp_scheme = {
    .name = "stamps", .unit_us = 1000000, .uses_client_clock = true};

struct scripted_play {
    struct fake fake;
    struct scenario scenario;
    struct step steps[40];
    const struct scheme *scheme;
    struct failure failure;
    char choices[TEXT_MAX]; /* one a line */
};

static void take_choice(void *context, const struct choice *choice)
{
    struct scripted_play *play = context;
    char line[SENTENCE_MAX];
    size_t used = strlen(play->choices);
    choice_print(choice, (const char(*)[64])names, line, sizeof line);
    assert_true(used + strlen(line) + 2 < TEXT_MAX);
    snprintf(play->choices + used, TEXT_MAX - used, "%s\n", line);
}

static void play_open(struct scripted_play *play, int servers)
{
    memset(play, 0, sizeof *play);
    play->fake.world.ops = &fake_ops;
    play->fake.servers = servers;
    for (int i = 0; i < CLIENTS; i++)
        play->fake.clients[i].view.wake_us = INT64_MAX;
    play->scheme = &scheme;
    play->scenario.clients = CLIENTS;
    play->scenario.servers = servers;
    play->scenario.lease_us = LEASE_US;
    play->scenario.steps = play->steps;
    memcpy(play->scenario.names, names, sizeof names);
    snprintf(play->scenario.path, sizeof play->scenario.path, "s.yaml");
}

/* Sentences, one a line; they stand in column 5 from line 1 on. */
static void write_steps(struct scripted_play *play, const char *text)
{
    const struct cast cast = {.names = (const char(*)[64])names,
                              .clients = CLIENTS,
                              .servers = play->scenario.servers,
                              .knows_leases = true};
    char lines[TEXT_MAX], *rest = lines;
    snprintf(lines, sizeof lines, "%s", text);
    play->scenario.steps_count = 0;
    for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(rest, "\n", &rest)) {
        struct mishap mishap;
        struct step *step = &play->steps[play->scenario.steps_count++];
        if (step_read(line, &cast, step, &mishap))
            fail_msg("%s: %s", line, mishap.words);
        step->line = play->scenario.steps_count;
        step->column = 5;
    }
}

static enum fail run_steps(struct scripted_play *play, struct world *world)
{
    struct choice_sink sink = {.take = take_choice, .context = play};
    play->choices[0] = '\0';
    return interpreter_run(&play->scenario, play->scheme, world, sink, &play->failure);
}

static inline void makes(struct scripted_play *play, const char *steps, const char *choices)
{
    write_steps(play, steps);
    if (run_steps(play, &play->fake.world))
        fail_msg("%s", play->failure.text);
    assert_string_equal(play->choices, choices);
}

/* A fresh world of one server in which the steps make these choices. */
static inline void one_server(const char *steps, const char *choices)
{
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    makes(play, steps, choices);
    free(play);
}

static inline void ends_in(struct scripted_play *play, const char *steps, enum fail code,
                           const char *words)
{
    write_steps(play, steps);
    enum fail fail = run_steps(play, &play->fake.world);
    if (!strstr(play->failure.text, words) || play->failure.code != code)
        fail_msg("%d: says: %s", play->failure.code, play->failure.text);
    assert_int_equal(fail, code);
}

/* The world did not follow. */
static inline void diverges(struct scripted_play *play, const char *steps, const char *words)
{
    ends_in(play, steps, FAIL_UNKNOWN, words);
}

/* The scheme cannot: the scenario, which does not speak about it, is not applicable. */
static inline void cannot_follow(struct scripted_play *play, const char *steps, const char *words)
{
    ends_in(play, steps, FAIL_NOT_APPLICABLE, words);
}

#endif
