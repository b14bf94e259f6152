/* test_director.c - the director against a small scripted world: the exact choices that every step
 * makes, and how it says that the world did not follow. The last tests run it in the simulated
 * world. */
#include "scenario/director.h"
#include "scenario/sentence.h"
#include "world/simulated.h"

/* behind our headers: its macro fail() would spoil "enum fail (*apply)(..)" */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

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
    static const enum message_state wanted[CHOICE_COUNT] = {
        [CHOICE_ARRIVE] = MESSAGE_REQUEST, [CHOICE_LOSE_REQUEST] = MESSAGE_REQUEST,
        [CHOICE_HEAR] = MESSAGE_REPLY,     [CHOICE_LOSE_REPLY] = MESSAGE_REPLY,
        [CHOICE_RESEND] = MESSAGE_VOID,
    };
    for (int i = 0; i < who->count; i++) {
        const struct message *message = &who->messages[i];
        if (message->server == choice->server && message->command.verb == choice->verb &&
            (choice->kind == CHOICE_GIVE_UP ? !message->is_abandoned
                                            : message->state == wanted[choice->kind]))
            return i;
    }
    return -1;
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
    if (choice->kind == CHOICE_ARRIVE && message->is_abandoned)
        fake_remove(who, at);
    else if (choice->kind == CHOICE_ARRIVE)
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
        fake_breaks(fake, choice->server);
        return FAIL_NONE;
    case CHOICE_EVICT:
        return failure_set(failure, FAIL_UNKNOWN, "no lock key to evict");
    case CHOICE_TIME:
    case CHOICE_LEASE:
    case CHOICE_CLIENT_CLOCK:
    case CHOICE_SERVER_CLOCK:
    case CHOICE_CUT_REPLICA:
    case CHOICE_FAILOVER:
    case CHOICE_FLUSH_SCRIPTS:
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

struct play {
    struct fake fake;
    struct scenario scenario;
    struct step steps[40];
    const struct scheme *scheme;
    struct failure failure;
    char choices[TEXT_MAX]; /* one a line */
};

static void take_choice(void *context, const struct choice *choice)
{
    struct play *play = context;
    char line[SENTENCE_MAX];
    size_t used = strlen(play->choices);
    choice_print(choice, (const char(*)[64])names, line, sizeof line);
    assert_true(used + strlen(line) + 2 < TEXT_MAX);
    snprintf(play->choices + used, TEXT_MAX - used, "%s\n", line);
}

static void play_open(struct play *play, int servers)
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
static void write_steps(struct play *play, const char *text)
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

static enum fail run_steps(struct play *play, struct world *world)
{
    struct choice_sink sink = {.take = take_choice, .context = play};
    play->choices[0] = '\0';
    return director_run(&play->scenario, play->scheme, world, sink, &play->failure);
}

static void makes(struct play *play, const char *steps, const char *choices)
{
    write_steps(play, steps);
    if (run_steps(play, &play->fake.world))
        fail_msg("%s", play->failure.text);
    assert_string_equal(play->choices, choices);
}

/* A fresh world of one server in which the steps make these choices. */
static void one_server(const char *steps, const char *choices)
{
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    makes(play, steps, choices);
    free(play);
}

static void diverges(struct play *play, const char *steps, const char *words)
{
    write_steps(play, steps);
    assert_int_equal(run_steps(play, &play->fake.world), FAIL_UNKNOWN);
    assert_int_equal(play->failure.code, FAIL_UNKNOWN);
    if (!strstr(play->failure.text, words))
        fail_msg("says: %s", play->failure.text);
}

static void one_server_diverges(const char *steps, const char *words)
{
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    diverges(play, steps, words);
    free(play);
}

/* --- operations --- */

#define A_GRANTED "A acquires\nA's SET reaches server 1\nA hears SET from server 1\n"
#define B_GRANTED "B acquires\nB's SET reaches server 1\nB hears SET from server 1\n"

static void plain_acquire_and_release(void **state)
{
    (void)state;
    one_server("A acquires\nA releases", A_GRANTED "A releases\n"
                                                   "A's GET reaches server 1\n"
                                                   "A hears GET from server 1\n"
                                                   "A's DEL reaches server 1\n"
                                                   "A hears DEL from server 1\n");
}

static void the_critical_section(void **state)
{
    (void)state;
    one_server("A acquires\nA reads the counter\nA writes the counter\nA writes",
               A_GRANTED "A reads the counter\n"
                         "A's GET reaches server 1\n"
                         "A hears GET from server 1\n"
                         "A writes the counter\n"
                         "A's SET reaches server 1\n"
                         "A hears SET from server 1\n"
                         "A writes\n"
                         "A's SET reaches server 1\n"
                         "A hears SET from server 1\n");
}

static void stalls_before_and_goes_on(void **state)
{
    (void)state;
    one_server("A acquires\nA releases, stalls before DEL\nlease expires\nB acquires\nA goes on",
               A_GRANTED "A releases\n"
                         "A's GET reaches server 1\n"
                         "A hears GET from server 1\n"
                         "time passes 301ms\n" B_GRANTED "A's DEL reaches server 1\n"
                         "A hears DEL from server 1\n");
}

static void stalls_after_and_goes_on(void **state)
{
    (void)state;
    one_server("A acquires, stalls after SET\nB acquires\nA goes on",
               "A acquires\n"
               "A's SET reaches server 1\n" B_GRANTED "A hears SET from server 1\n");
}

static void stalls_by_effect(void **state)
{
    (void)state;
    one_server("A acquires, stalls before the set\nA goes on, stalls after the set\nA goes on\n"
               "A releases, stalls after the read\nA goes on, stalls before the delete",
               "A acquires\n"
               "A's SET reaches server 1\n"
               "A hears SET from server 1\n"
               "A releases\n"
               "A's GET reaches server 1\n"
               "A hears GET from server 1\n");
}

static void a_quorum_arrives_then_is_heard(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 3);
    makes(play, "A acquires",
          "A acquires\n"
          "A's SET reaches server 1\n"
          "A's SET reaches server 2\n"
          "A's SET reaches server 3\n"
          "A hears SET from server 1\n"
          "A hears SET from server 2\n"
          "A hears SET from server 3\n");
    play_open(play, 3);
    makes(play, "A acquires, stalls after SET\nB acquires, stalls before SET\nB goes on",
          "A acquires\n"
          "A's SET reaches server 1\n"
          "A's SET reaches server 2\n"
          "A's SET reaches server 3\n"
          "B acquires\n"
          "B's SET reaches server 1\n"
          "B's SET reaches server 2\n"
          "B's SET reaches server 3\n"
          "B hears SET from server 1\n"
          "B hears SET from server 2\n"
          "B hears SET from server 3\n");
    free(play);
}

static void cannot_reach_two_of_five(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 5);
    makes(play,
          "A cannot reach server 4\nA cannot reach server 2\nA can reach server 4\n"
          "A cannot reach server 5\nA acquires",
          "A acquires\n"
          "A's SET reaches server 1\n"
          "A's SET to server 2 is lost\n"
          "A gives up on SET at server 2\n"
          "A's SET reaches server 3\n"
          "A's SET reaches server 4\n"
          "A's SET to server 5 is lost\n"
          "A gives up on SET at server 5\n"
          "A hears SET from server 1\n"
          "A hears SET from server 3\n"
          "A hears SET from server 4\n");
    free(play);
}

static void what_the_scheme_sleeps_is_passed(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.retry_us = 5000;
    makes(play, "A acquires",
          "A acquires\n"
          "time passes 5ms\n"
          "A wakes\n"
          "A's SET reaches server 1\n"
          "A hears SET from server 1\n");
    free(play);
}

/* --- losses --- */

static void lost_reply_then_resend(void **state)
{
    (void)state;
    one_server("A acquires, stalls after SET\nA loses the reply\nA resends",
               "A acquires\n"
               "A's SET reaches server 1\n"
               "A's reply to SET from server 1 is lost\n"
               "A resends SET to server 1\n"
               "A's SET reaches server 1\n"
               "A hears SET from server 1\n");
    one_server("A acquires, stalls after SET\nA loses the reply\nA resends, stalls before SET\n"
               "lease expires\nA goes on",
               "A acquires\n"
               "A's SET reaches server 1\n"
               "A's reply to SET from server 1 is lost\n"
               "A resends SET to server 1\n"
               "time passes 301ms\n"
               "A's SET reaches server 1\n"
               "A hears SET from server 1\n");
}

static void lost_request_then_given_up(void **state)
{
    (void)state;
    one_server("A acquires, stalls before SET\nA loses the request\nA gives up",
               "A acquires\n"
               "A's SET to server 1 is lost\n"
               "A gives up on SET at server 1\n");
}

/* A time-out leaves the request under way: nothing moves it but "goes on". */
static void given_up_and_late(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.refuses = true;
    makes(play, "A acquires, stalls before SET\nA gives up\ntime passes 1ms\nB acquires\nA goes on",
          "A acquires\n"
          "A gives up on SET at server 1\n"
          "time passes 1ms\n" B_GRANTED "A's SET reaches server 1\n");
    free(play);
}

static void a_restart_voids_what_is_in_flight(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 3);
    makes(play, "A acquires, stalls before SET\nserver 2 restarts empty\nA goes on",
          "A acquires\n"
          "server 2 restarts empty\n"
          "A's SET reaches server 1\n"
          "A's SET reaches server 3\n"
          "A hears SET from server 1\n"
          "A hears SET from server 3\n"
          "A gives up on SET at server 2\n");
    play_open(play, 1);
    makes(play, "A acquires, stalls after SET\nserver restarts empty\nA resends",
          "A acquires\n"
          "A's SET reaches server 1\n"
          "server 1 restarts empty\n"
          "A resends SET to server 1\n"
          "A's SET reaches server 1\n"
          "A hears SET from server 1\n");
    free(play);
}

static void single_choices(void **state)
{
    (void)state;
    one_server("A's lease is 500us\nA's lease is 2 leases\nA's clock jumps -10s\nserver's clock "
               "jumps 0.5 leases\n"
               "server's replica is cut off\nserver fails over\nA crashes",
               "A's lease is 1ms\n"
               "A's lease is 600ms\n"
               "A's clock jumps -10s\n"
               "server 1's clock jumps 150ms\n"
               "server 1's replica is cut off\n"
               "server 1 fails over\n"
               "A crashes\n");
}

/* --- time --- */

static void timers_ring_while_time_passes(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.period_us = 100000;
    /* A's timer starts at 300 us, B's at 600 us; a wake, an arrival and a hearing take 300 us, and
     * the next period counts from 100 us after the ring. The span ends 150 ms after 600 us. */
    makes(play, "A acquires\nB acquires\ntime passes 150ms",
          A_GRANTED B_GRANTED "time passes 99.7ms\n"
                              "A wakes\n"
                              "A's compare-and-expire reaches server 1\n"
                              "A hears compare-and-expire from server 1\n"
                              "B wakes\n"
                              "B's compare-and-expire reaches server 1\n"
                              "B hears compare-and-expire from server 1\n"
                              "time passes 49.7ms\n");
    assert_int_equal(play->fake.now_us, 600 + 150000);
    free(play);
}

static void stalled_and_dead_clients_do_not_renew(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.period_us = 200000;
    makes(play, "A acquires\nA writes, stalls before SET\nlease expires\nA goes on",
          A_GRANTED "A writes\n"
                    "time passes 199.9ms\n"
                    "A wakes\n"
                    "time passes 101ms\n"
                    "A's SET reaches server 1\n"
                    "A's compare-and-expire reaches server 1\n"
                    "A hears SET from server 1\n"
                    "A hears compare-and-expire from server 1\n");
    play_open(play, 1);
    play->fake.period_us = 100000;
    makes(play, "A acquires\nA crashes\nlease expires",
          A_GRANTED "A crashes\n"
                    "time passes 301ms\n");
    free(play);
}

static void a_renewal_stalls_and_does_not_block(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.period_us = 1000000;
    makes(play,
          "A acquires\nA renews\nA renews, stalls before compare-and-expire\nA releases\nB "
          "acquires\nA goes on",
          A_GRANTED "time passes 1s\n"
                    "A wakes\n"
                    "A's compare-and-expire reaches server 1\n"
                    "A hears compare-and-expire from server 1\n"
                    "time passes 999.8ms\n"
                    "A wakes\n"
                    "A releases\n"
                    "A's GET reaches server 1\n"
                    "A hears GET from server 1\n"
                    "A's DEL reaches server 1\n"
                    "A hears DEL from server 1\n" B_GRANTED
                    "A's compare-and-expire reaches server 1\n"
                    "A hears compare-and-expire from server 1\n");
    free(play);
}

static void a_renewal_that_cannot_reach_its_server(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.period_us = 200000;
    makes(play, "A acquires\nA cannot reach server\nlease expires",
          A_GRANTED "time passes 200ms\n"
                    "A wakes\n"
                    "A's compare-and-expire to server 1 is lost\n"
                    "A gives up on compare-and-expire at server 1\n"
                    "time passes 100.7ms\n");
    free(play);
}

static void an_expiry_is_longer_by_stamps(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->scheme = &stamp_scheme;
    /* 300 ms are rounded up to 1 s; 2 s more, and half of that second */
    makes(play, "lease expires\ntime passes 0.5 leases", "time passes 3s\ntime passes 500ms\n");
    free(play);
}

/* --- the world does not follow --- */

static void divergences_say_where_and_what(void **state)
{
    (void)state;
    static const struct {
        const char *steps, *words;
    } rows[] = {
        {"A releases", "s.yaml:1:5: A releases: A does not hold the lock"},
        {"A acquires\nA acquires",
         "s.yaml:2:5: A acquires: A still holds the lock (its last operation: granted)"},
        {"A acquires\nA releases\nA writes", "s.yaml:3:5: A writes: A does not hold the lock"},
        {"A acquires, stalls before DEL", "s.yaml:1:5: A acquires, stalls before DEL: A went on to "
                                          "the end (granted) and no DEL came to stall before"},
        {"A acquires, stalls after the delete", "no delete came to stall after"},
        {"A acquires, stalls before SET\nA acquires",
         "A is stalled at its SET: let it go on first"},
        {"A acquires\nA writes, stalls before SET\nA releases", "A is stalled at its SET"},
        {"A goes on", "s.yaml:1:5: A goes on: A is not stalled"},
        {"A acquires\nA goes on", "A is not stalled"},
        {"A acquires, stalls before SET\nA goes on, stalls before SET",
         "no SET came to stall before"},
        {"A loses the request", "A is not stalled: there is no request to lose"},
        {"A acquires, stalls after SET\nA loses the request",
         "A's SET is executed: there is no request"},
        {"A acquires, stalls before SET\nA loses the reply",
         "A's SET is not executed yet: there is no reply"},
        {"A acquires, stalls before SET\nA loses the request\nA loses the request",
         "is lost already"},
        {"A acquires, stalls before SET\nA loses the request\nA goes on",
         "its SET at server 1 is lost: say 'A gives up' or 'A resends'"},
        {"A resends", "A has nothing lost to resend"},
        {"A acquires, stalls before SET\nA resends", "A has nothing lost to resend"},
        {"A gives up", "A has nothing in flight to give up on"},
        {"A acquires\nA renews", "A has no timer"},
        {"A crashes\nA acquires", "s.yaml:2:5: A acquires: A has crashed"},
        {"A crashes\nA crashes", "A has crashed"},
        {"server evicts the lock", "s.yaml:1:5: server 1 evicts the lock: no lock key to evict"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        one_server_diverges(rows[i].steps, rows[i].words);
}

static void an_attempt_that_never_returns(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.is_deaf = true;
    diverges(play, "A cannot reach server\nA acquires", "A waits for ever");
    free(play);
}

static void an_earlier_message_of_that_name(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.refuses = true;
    diverges(play, "A acquires, stalls before SET\nA gives up\nA acquires",
             "s.yaml:3:5: A acquires: an earlier SET of A at server 1 is still on its way");
    free(play);
}

static void what_the_world_cannot_do(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.cannot = "its clock cannot be stepped";
    diverges(play, "server's clock jumps 1s",
             "s.yaml:1:5: server 1's clock jumps 1s: its clock cannot be stepped");
    assert_string_equal(play->choices, "");
    free(play);
}

static void timers_without_end(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.period_us = 1;
    write_steps(play, "A acquires\ntime passes 100h");
    assert_int_equal(director_run(&play->scenario, play->scheme, &play->fake.world,
                                  (struct choice_sink){0}, &play->failure),
                     FAIL_UNKNOWN);
    assert_non_null(strstr(play->failure.text, "choices, and no end"));
    free(play);
}

/* --- in the simulated world --- */

struct trace {
    int releases, grants, refusals;
};

static void count_event(void *context, const struct event *event)
{
    struct trace *trace = context;
    if (event->kind != EVENT_RETURN)
        return;
    trace->grants += event->result == RESULT_GRANTED;
    trace->refusals += event->result == RESULT_REFUSED;
    trace->releases += event->result == RESULT_RELEASED;
}

static struct trace simulate(struct play *play, const char *scheme_name, const char *steps)
{
    struct trace trace = {0};
    struct run run = {.scheme = scheme_named(scheme_name),
                      .clients = CLIENTS,
                      .servers = play->scenario.servers,
                      .names = names,
                      .seed = 1,
                      .sink = {.take = count_event, .context = &trace}};
    assert_non_null(run.scheme);
    run.lease_us = scheme_lease_us(run.scheme, LEASE_US);
    play->scheme = run.scheme;
    struct world *world = world_simulated_new(&run);
    write_steps(play, steps);
    if (run_steps(play, world))
        fail_msg("%s: %s", scheme_name, play->failure.text);
    world->ops->free(world);
    return trace;
}

/* STYLE's own example: the plain DEL lets C in beside B, compare-and-delete does not. */
static void the_double_delete_in_the_simulated_world(void **state)
{
    (void)state;
    static const char steps[] = "A acquires\nlease expires\nB acquires\nA releases\nC acquires";
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    struct trace naive = simulate(play, "set-nx-ex-del", steps);
    assert_int_equal(naive.grants, 3);
    assert_int_equal(naive.refusals, 0);
    struct trace safe = simulate(play, "set-nx-px-cad", steps);
    assert_int_equal(safe.grants, 2);
    assert_int_equal(safe.refusals, 1);
    free(play);
}

static void the_same_steps_make_the_same_schedule(void **state)
{
    (void)state;
    static const char steps[] = "A acquires\nA releases, stalls before the delete\nlease "
                                "expires\nB acquires\nA goes on\nC acquires";
    struct play *play = malloc(sizeof *play);
    char first[TEXT_MAX];
    assert_non_null(play);
    play_open(play, 1);
    struct trace trace = simulate(play, "set-nx-ex-get-del", steps);
    assert_int_equal(trace.grants, 3); /* the gap between GET and DEL */
    memcpy(first, play->choices, sizeof first);
    simulate(play, "set-nx-ex-get-del", steps);
    assert_string_equal(play->choices, first);
    free(play);
}

static void redlock_and_watchdog_in_the_simulated_world(void **state)
{
    (void)state;
    struct play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 5);
    struct trace trace = simulate(play, "redlock",
                                  "A cannot reach server 1\nA acquires\nB acquires\nA releases\n"
                                  "A can reach server 1\nB acquires");
    assert_int_equal(trace.grants, 2);
    assert_int_equal(trace.refusals, 1);
    play_open(play, 1);
    trace = simulate(play, "watchdog", "A acquires\ntime passes 3 leases\nB acquires");
    assert_int_equal(trace.grants, 1);
    assert_int_equal(trace.refusals, 1);
    trace = simulate(
        play, "watchdog",
        "A acquires\nA renews, stalls before compare-and-expire\nlease expires\nB acquires");
    assert_int_equal(trace.grants, 2);
    free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_acquire_and_release),
        cmocka_unit_test(the_critical_section),
        cmocka_unit_test(stalls_before_and_goes_on),
        cmocka_unit_test(stalls_after_and_goes_on),
        cmocka_unit_test(stalls_by_effect),
        cmocka_unit_test(a_quorum_arrives_then_is_heard),
        cmocka_unit_test(cannot_reach_two_of_five),
        cmocka_unit_test(what_the_scheme_sleeps_is_passed),
        cmocka_unit_test(lost_reply_then_resend),
        cmocka_unit_test(lost_request_then_given_up),
        cmocka_unit_test(given_up_and_late),
        cmocka_unit_test(a_restart_voids_what_is_in_flight),
        cmocka_unit_test(single_choices),
        cmocka_unit_test(timers_ring_while_time_passes),
        cmocka_unit_test(stalled_and_dead_clients_do_not_renew),
        cmocka_unit_test(a_renewal_stalls_and_does_not_block),
        cmocka_unit_test(a_renewal_that_cannot_reach_its_server),
        cmocka_unit_test(an_expiry_is_longer_by_stamps),
        cmocka_unit_test(divergences_say_where_and_what),
        cmocka_unit_test(an_attempt_that_never_returns),
        cmocka_unit_test(an_earlier_message_of_that_name),
        cmocka_unit_test(what_the_world_cannot_do),
        cmocka_unit_test(timers_without_end),
        cmocka_unit_test(the_double_delete_in_the_simulated_world),
        cmocka_unit_test(the_same_steps_make_the_same_schedule),
        cmocka_unit_test(redlock_and_watchdog_in_the_simulated_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
