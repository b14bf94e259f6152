/* test_live_walks.c - random walks through both worlds at once: what the simulated one refuses the
 * real one refuses with the same words, and what happens is the same, event for event. */
#include "base/random.h"
#include "live/live.h"
#include "scenario/sentence.h"
#include "world/simulated.h"

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "test/trace.h"

enum { CLIENTS = 3, LEASE_US = 300000, WALK = 400, SEEDS = 3 };

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B", "C"};
static struct live *live;

/* One walk: the same choices, made in either world. */
struct paired_walk {
    struct run model_run, redis_run;
    struct world *model, *redis;
    struct event_trace model_trace, redis_trace;
    size_t seen; /* events of the last choice: the first of the trace */
    struct random random;
    int64_t made[CHOICE_COUNT];
};

static void walk_open(struct paired_walk *walk, const struct scheme *scheme, uint64_t seed)
{
    struct failure why = {0};
    memset(walk, 0, sizeof *walk);
    walk->random = (struct random){.seed = seed};
    walk->model_run = (struct run){.scheme = scheme,
                                   .clients = CLIENTS,
                                   .servers = scheme->needs_quorum ? 3 : 1,
                                   .names = names,
                                   .lease_us = scheme_lease_us(scheme, LEASE_US),
                                   .seed = 1,
                                   .has_replica = scheme->needs_replica,
                                   .sink = {.take = trace_take, .context = &walk->model_trace}};
    walk->redis_run = walk->model_run;
    walk->redis_run.sink.context = &walk->redis_trace;
    walk->model = world_simulated_new(&walk->model_run);
    if (world_live_new(&walk->redis, live, &walk->redis_run, &why))
        fail_msg("%s", why.text);
}

static void walk_close(struct paired_walk *walk)
{
    walk->model->ops->free(walk->model);
    walk->redis->ops->free(walk->redis);
    free(walk->model_trace.events);
    free(walk->redis_trace.events);
}

/* Whether it was made. */
static bool both(struct paired_walk *walk, const struct choice *choice)
{
    struct failure here = {0}, there = {0};
    char line[256];
    enum fail model = walk->model->ops->apply(walk->model, choice, &here);
    enum fail redis = walk->redis->ops->apply(walk->redis, choice, &there);
    choice_print(choice, (const char(*)[64])names, line, sizeof line);
    if (model != redis || strcmp(here.text, there.text) != 0)
        fail_msg("%s (choice by seed %llu): simulated: %s; real: %s", line,
                 (unsigned long long)walk->random.seed, model ? here.text : "made",
                 redis ? there.text : "made");
    if (walk->model_trace.count != walk->redis_trace.count)
        fail_msg("%s: not as many events", line);
    for (size_t i = 0; i < walk->model_trace.count; i++)
        if (!trace_is_same(&walk->model_trace.events[i], &walk->redis_trace.events[i]))
            fail_msg("%s: event %zu is not the same", line, i);
    walk->seen = walk->model_trace.count;
    walk->model_trace.count = walk->redis_trace.count = 0;
    walk->made[choice->kind] += model == FAIL_NONE;
    return model == FAIL_NONE;
}

static int draw(struct paired_walk *walk, int bound)
{
    return (int)random_below(&walk->random, (uint64_t)bound);
}

/* The message goes one stop further. */
static enum choice_kind onwards(const struct message *message)
{
    if (message->state == MESSAGE_REQUEST)
        return message->is_abandoned ? CHOICE_ARRIVE_LATE : CHOICE_ARRIVE;
    return message->state == MESSAGE_REPLY ? CHOICE_HEAR : CHOICE_GIVE_UP;
}

/* Mostly things go on: what a fault did shows in the commands behind it. Which message it means is
 * the worlds' to say; some of these are refused. */
static struct choice draw_of_message(struct paired_walk *walk, const struct message *message)
{
    static const enum choice_kind kinds[] = {
        CHOICE_DUPLICATE, CHOICE_ANSWER_ERROR, CHOICE_GIVE_UP,    CHOICE_LOSE_REQUEST,
        CHOICE_RESEND,    CHOICE_LOSE_REPLY,   CHOICE_ARRIVE_LATE};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    struct choice choice = {.kind = onwards(message),
                            .client = message->client,
                            .server = message->server,
                            .verb = message->command.verb};
    if (draw(walk, 4) == 0)
        choice.kind = kinds[draw(walk, KINDS)];
    if (choice.kind == CHOICE_ANSWER_ERROR)
        choice.error = (enum reply_error)(1 + draw(walk, ERROR_COUNT - 1));
    return choice;
}

/* Something that the client does of itself. */
static struct choice draw_of_client(struct paired_walk *walk, int client)
{
    struct client_view view = walk->model->ops->client(walk->model, client);
    struct choice choice = {.kind = CHOICE_WAKE, .client = client, .server = -1};
    if (view.phase == PHASE_IDLE)
        choice.kind = CHOICE_ACQUIRE;
    if (view.phase == PHASE_HOLDING)
        choice.kind = draw(walk, 4) ? CHOICE_RELEASE : CHOICE_WRITE;
    return choice;
}

static struct choice draw_choice(struct paired_walk *walk)
{
    int client = draw(walk, CLIENTS), dice = draw(walk, 40);
    struct message all[MESSAGES_MAX];
    int count = walk->model->ops->messages(walk->model, client, all);
    if (dice < 2)
        return (struct choice){.kind = CHOICE_TIME,
                               .client = -1,
                               .server = -1,
                               .amount_us = 1000 * (1 + draw(walk, 400))};
    static const enum choice_kind of_servers[] = {
        CHOICE_FLUSH_SCRIPTS, CHOICE_FLUSH_SCRIPTS, CHOICE_RESTART, CHOICE_SILENCE,
        CHOICE_REFUSE,        CHOICE_REACH,         CHOICE_REACH,   CHOICE_FLUSH_ALL,
        CHOICE_CLIENT_KILL,   CHOICE_PAUSE_WRITES,  CHOICE_REACH};
    if (dice == 5 && walk->model_run.has_replica)
        return (struct choice){.kind = draw(walk, 2) ? CHOICE_CUT_REPLICA : CHOICE_FAILOVER,
                               .client = -1,
                               .server = draw(walk, walk->model_run.servers)};
    if (dice == 2 || dice == 4)
        return (struct choice){.kind =
                                   of_servers[draw(walk, sizeof of_servers / sizeof of_servers[0])],
                               .client = -1,
                               .server = draw(walk, walk->model_run.servers)};
    return count == 0 || dice == 3 ? draw_of_client(walk, client)
                                   : draw_of_message(walk, &all[draw(walk, count)]);
}

static void both_worlds_go_the_same_way(void **state)
{
    (void)state;
    int64_t made[CHOICE_COUNT] = {0};
    for (int i = 0; i < schemes_count; i++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct paired_walk *walk = memory_new(1, sizeof *walk);
            walk_open(walk, schemes[i], seed);
            for (int k = 0; k < WALK; k++) {
                struct choice choice = draw_choice(walk);
                (void)both(walk, &choice);
            }
            for (int kind = 0; kind < CHOICE_COUNT; kind++)
                made[kind] += walk->made[kind];
            walk_close(walk);
            free(walk);
        }
    static const enum choice_kind wanted[] = {
        CHOICE_ARRIVE_LATE,   CHOICE_DUPLICATE, CHOICE_ANSWER_ERROR, CHOICE_GIVE_UP, CHOICE_RESEND,
        CHOICE_FLUSH_SCRIPTS, CHOICE_SILENCE,   CHOICE_REFUSE,       CHOICE_REACH};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_true(made[wanted[i]] > 20);
}

/* Every line is made by both; then the last reply that was executed is this. */
static void plays(const char *scheme, const char *const *lines, const char *reply)
{
    struct paired_walk *walk = memory_new(1, sizeof *walk);
    struct reply last = {0};
    char text[64];
    const struct cast cast = {.names = (const char(*)[64])names, .clients = CLIENTS, .servers = 1};
    walk_open(walk, scheme_named(scheme), 1);
    for (; *lines; lines++) {
        struct choice choice;
        struct mishap mishap;
        if (choice_read(*lines, &cast, &choice, &mishap))
            fail_msg("%s", mishap.words);
        if (!both(walk, &choice))
            fail_msg("%s: not made", *lines);
        for (size_t i = 0; i < walk->seen; i++)
            if (walk->model_trace.events[i].kind == EVENT_EXECUTE)
                last = walk->model_trace.events[i].reply;
    }
    assert_string_equal(reply_print(&last, text, sizeof text), reply);
    walk_close(walk);
    free(walk);
}

#define ACQUIRES(who) who " acquires", who "'s SET reaches server 1", who " hears SET from server 1"
#define RELEASES_UP_TO_EXEC                                                                        \
    "A releases", "A's WATCH reaches server 1", "A hears WATCH from server 1",                     \
        "A's GET reaches server 1", "A hears GET from server 1"

/* The copy is on another connection: nothing aborts it. */
static void a_copy_of_a_transaction_has_no_watch(void **state)
{
    (void)state;
    static const char *const late[] = {ACQUIRES("A"),
                                       RELEASES_UP_TO_EXEC,
                                       "A's multi-del to server 1 is sent twice",
                                       "time passes 1s",
                                       ACQUIRES("B"),
                                       "A's multi-del reaches server 1",
                                       NULL};
    static const char *const copy[] = {ACQUIRES("A"),
                                       RELEASES_UP_TO_EXEC,
                                       "A's multi-del to server 1 is sent twice",
                                       "time passes 1s",
                                       ACQUIRES("B"),
                                       "A's late multi-del reaches server 1",
                                       NULL};
    plays("watch-multi-del", late, "nil");
    plays("watch-multi-del", copy, "[1, 1]");
}

/* A transaction that is given up on keeps the WATCH of the connection that it was sent on. */
static void a_watch_stays_with_its_connection(void **state)
{
    (void)state;
    static const char *const lines[] = {
        ACQUIRES("A"), RELEASES_UP_TO_EXEC, "A gives up on multi-del at server 1", "time passes 1s",
        ACQUIRES("A"), RELEASES_UP_TO_EXEC, "A's late multi-del reaches server 1", NULL};
    static const char *const more[] = {ACQUIRES("A"),
                                       RELEASES_UP_TO_EXEC,
                                       "A gives up on multi-del at server 1",
                                       "time passes 1s",
                                       ACQUIRES("A"),
                                       RELEASES_UP_TO_EXEC,
                                       "A's late multi-del reaches server 1",
                                       "A's multi-del reaches server 1",
                                       NULL};
    plays("watch-multi-del", lines, "nil");
    plays("watch-multi-del", more, "[1, 1]");
}

/* Where MULTI is let in EXEC ends the watch, so that the next one is not aborted by it. */
static void a_refused_transaction(void **state)
{
    (void)state;
#define AFTER(error)                                                                               \
    ACQUIRES("A"), RELEASES_UP_TO_EXEC, "A's multi-del to server 1 is answered with " error,       \
        "A hears multi-del from server 1", "time passes 1s", ACQUIRES("A"), RELEASES_UP_TO_EXEC,   \
        "A's multi-del reaches server 1", NULL
    static const char *const loading[] = {AFTER("LOADING")};
    static const char *const oom[] = {AFTER("OOM")};
    static const char *const unsupported[] = {AFTER("unsupported")};
    plays("watch-multi-del", loading, "[1, 1]");
    plays("watch-multi-del", oom, "[1, 1]");
    plays("watch-multi-del", unsupported, "nil");
}

#define CUTS "server 1's replica is cut off"

/* A real server counts by the offset of what the connection said last. */
static void wait_counts_by_the_connection(void **state)
{
    (void)state;
    static const char *const in_step[] = {ACQUIRES("A"), "A's WAIT reaches server 1", NULL};
    static const char *const cut[] = {CUTS, ACQUIRES("A"), "A's WAIT reaches server 1", NULL};
    static const char *const cut_behind[] = {ACQUIRES("A"), CUTS, "A's WAIT reaches server 1",
                                             NULL};
    static const char *const again[] = {CUTS,
                                        ACQUIRES("A"),
                                        "A's WAIT reaches server 1",
                                        "A's reply to WAIT from server 1 is lost",
                                        "A resends WAIT to server 1",
                                        "A's WAIT reaches server 1",
                                        NULL};
    static const char *const promoted[] = {CUTS, "server 1 fails over", ACQUIRES("A"),
                                           "A's WAIT reaches server 1", NULL};
    static const char *const restarted[] = {CUTS, "server 1 restarts empty", ACQUIRES("A"),
                                            "A's WAIT reaches server 1", NULL};
    static const char *const restarted_before[] = {"server 1 restarts empty", ACQUIRES("A"),
                                                   "A's WAIT reaches server 1", NULL};
    plays("set-nx-px-wait", in_step, "1");
    plays("set-nx-px-wait", cut, "0");
    plays("set-nx-px-wait", cut_behind, "1");
    plays("set-nx-px-wait", again, "1");
    plays("set-nx-px-wait", promoted, "1");
    plays("set-nx-px-wait", restarted, "0");
    plays("set-nx-px-wait", restarted_before, "1");
}

static int open_live(void **state)
{
    (void)state;
    struct failure why = {0};
    const struct live_options options = {.steering = STEERED};
    return live_new(&live, &options, &why) ? -1 : 0;
}

static int close_live(void **state)
{
    (void)state;
    live_free(live);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_of_a_transaction_has_no_watch),
        cmocka_unit_test(a_watch_stays_with_its_connection),
        cmocka_unit_test(a_refused_transaction),
        cmocka_unit_test(wait_counts_by_the_connection),
        cmocka_unit_test(both_worlds_go_the_same_way),
    };
    return cmocka_run_group_tests(tests, open_live, close_live);
}
