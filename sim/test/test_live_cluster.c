/* test_live_cluster.c - a Redis Cluster of our own: it forms, a slot moves with its keys and
 * without them, and is taken from a master that is dead. */
#include "live/cluster.h"
#include "live/control.h"
#include "live/directed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#define LOCK "{picklock}lock"

static struct live *live;
static struct failure why;

static void done(enum fail fail)
{
    if (fail)
        fail_msg("%s", why.text);
}

/* Not done, and for that reason. */
static void not_done(enum fail fail, const char *words)
{
    if (fail != FAIL_UNKNOWN || !strstr(why.text, words))
        fail_msg("wanted \"%s\", got %d and \"%s\"", words, fail, why.text);
}

/* What a row answers, as hiredis has it: an error's text, a number, or "". */
static const char *says(int row, const char *command)
{
    static char text[200];
    redisReply *reply = redisCommand(servers_control(&live->servers, row), command);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_INTEGER)
        (void)snprintf(text, sizeof text, "%lld", reply->integer);
    else
        (void)snprintf(text, sizeof text, "%s", reply->str ? reply->str : "nil");
    freeReplyObject(reply);
    return text;
}

static void expect_answer(int row, const char *command, const char *begins)
{
    const char *text = says(row, command);
    if (strncmp(text, begins, strlen(begins)) != 0)
        fail_msg("server %d, %s: wanted %s, got %s", row + 1, command, begins, text);
}

static void expect_redirect(int row, const char *command, enum redirect_kind kind, int to)
{
    int seen;
    const char *text = says(row, command);
    if (cluster_read_redirect(&live->servers, text, &seen) != kind || seen != to)
        fail_msg("server %d, %s: %s", row + 1, command, text);
}

static void expect_owner(int row)
{
    int owner = -1;
    done(cluster_owner(&live->servers, LOCK, &owner, &why));
    assert_int_equal(owner, row);
}

static int opens_cluster(void **state)
{
    (void)state;
    const struct live_options options = {.steering = STEERED};
    done(live_new(&live, &options, &why));
    done(cluster_prepare(&live->servers, LOCK, &why));
    return 0;
}

static int shuts(void **state)
{
    (void)state;
    live_free(live);
    return 0;
}

/* --- */

static void a_slot_moves_with_its_keys(void **state)
{
    struct servers *servers = &live->servers;
    int64_t moved;
    (void)state;
    expect_owner(0);
    expect_redirect(1, "GET " LOCK, REDIRECT_MOVED, 0);
    expect_answer(0, "SET " LOCK " 1 NX PX 10000", "OK");
    done(cluster_begin_move(servers, LOCK, 1, &why));
    expect_owner(0);
    expect_answer(0, "SET " LOCK " 2 NX PX 10000", "nil"); /* it is there: no redirection */
    expect_redirect(0, "GET {picklock}other", REDIRECT_ASK, 1);
    expect_redirect(1, "GET " LOCK, REDIRECT_MOVED, 0); /* without ASKING */
    expect_answer(0, "MGET " LOCK " {picklock}other", "TRYAGAIN");
    done(cluster_move_keys(servers, LOCK, 1, &moved, &why));
    assert_int_equal(moved, 1);
    expect_redirect(0, "SET " LOCK " 2 NX PX 10000", REDIRECT_ASK, 1);
    expect_answer(1, "ASKING", "OK");
    expect_answer(1, "SET " LOCK " 2 NX PX 10000", "nil");
    done(cluster_end_move(servers, LOCK, 1, NONE_LEFT_BEHIND, &why));
    expect_owner(1);
    expect_answer(1, "GET " LOCK, "1");
    expect_answer(1, "PTTL " LOCK, "10000"); /* clocks stand still, and the lease is as it was */
    expect_redirect(2, "GET " LOCK, REDIRECT_MOVED, 1);
}

static void a_script_stays_where_it_was(void **state)
{
    int64_t moved;
    static const char by_name[] = "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 " LOCK;
    (void)state;
    expect_answer(0, "SET " LOCK " 1", "OK");
    done(control_do(servers_control(&live->servers, 0), &why, "SCRIPT LOAD %s", "return 1"));
    expect_answer(0, by_name, "1");
    done(cluster_begin_move(&live->servers, LOCK, 2, &why));
    done(cluster_move_keys(&live->servers, LOCK, 2, &moved, &why));
    done(cluster_end_move(&live->servers, LOCK, 2, NONE_LEFT_BEHIND, &why));
    expect_answer(2, by_name, "NOSCRIPT");
}

/* What the old owner is left with it deletes when it hears whose the slot is. */
static void a_move_that_ends_early_costs_the_keys(void **state)
{
    struct servers *servers = &live->servers;
    (void)state;
    expect_answer(0, "SET " LOCK " 1 NX PX 10000", "OK");
    done(cluster_begin_move(servers, LOCK, 1, &why));
    not_done(cluster_end_move(servers, LOCK, 1, NONE_LEFT_BEHIND, &why), "was to be moved whole");
    done(cluster_end_move(servers, LOCK, 1, KEYS_LEFT_BEHIND, &why));
    expect_owner(1);
    expect_answer(1, "SET " LOCK " 2 NX PX 10000", "OK");
}

static void a_slot_is_taken_from_a_dead_master(void **state)
{
    struct servers *servers = &live->servers;
    (void)state;
    expect_answer(0, "SET " LOCK " 1 NX PX 10000", "OK");
    done(cluster_take_slot(servers, LOCK, 2, &why));
    assert_int_equal(servers->rows[0].process.pid, 0);
    done(servers_check(servers, &why)); /* that one is dead on purpose */
    expect_owner(2);
    expect_redirect(1, "GET " LOCK, REDIRECT_MOVED, 2);
    expect_answer(2, "SET " LOCK " 2 NX PX 10000", "OK");
}

static void what_cannot_be_is_said(void **state)
{
    struct servers *servers = &live->servers;
    (void)state;
    int64_t moved = -1;
    not_done(cluster_move_keys(servers, LOCK, 1, &moved, &why),
             "has not begun to move to server 2");
    not_done(cluster_begin_move(servers, LOCK, 0, &why), "is server 1's already");
    done(cluster_begin_move(servers, LOCK, 1, &why));
    not_done(cluster_begin_move(servers, LOCK, 2, &why), "moves to server 2 already");
    not_done(cluster_take_slot(servers, LOCK, 2, &why), "moves to server 2 already");
    done(cluster_move_keys(servers, LOCK, 1, &moved, &why));
    assert_int_equal(moved, 0);
    not_done(cluster_end_move(servers, LOCK, 1, KEYS_LEFT_BEHIND, &why), "without its keys");
}

/* The next run has servers by themselves. */
static void its_rows_are_servers_again(void **state)
{
    struct servers *servers = &live->servers;
    (void)state;
    done(cluster_take_slot(servers, LOCK, 1, &why));
    done(servers_prepare(servers, 2, false, &why));
    for (int row = 0; row < 2; row++) {
        assert_int_equal(servers->rows[row].process.bus_port, 0);
        expect_answer(row, "SET " LOCK " 1 NX", "OK");
    }
}

static void a_server_behind_a_url_is_left_as_it_is(void **state)
{
    struct live *other;
    (void)state;
    const struct live_options options = {.url = "redis://127.0.0.1:1"};
    done(live_new(&other, &options, &why));
    assert_int_equal(cluster_prepare(&other->servers, LOCK, &why), FAIL_NOT_APPLICABLE);
    live_free(other);
}

/* --- a client of it --- */

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B"};

static void no_event(void *context, const struct event *event)
{
    (void)context;
    (void)event;
}

static struct world *opens_world(struct run *run, const char *scheme)
{
    struct world *world;
    const struct live_options options = {.steering = STEERED};
    *run = (struct run){.scheme = scheme_named(scheme),
                        .clients = 2,
                        .servers = MASTERS,
                        .names = names,
                        .lease_us = 300000,
                        .seed = 1,
                        .is_cluster = true,
                        .sink = {.take = no_event}};
    done(live_new(&live, &options, &why));
    done(world_live_new(&world, live, run, &why));
    return world;
}

static enum fail tries(struct world *world, enum choice_kind kind, int client, int server,
                       enum verb verb)
{
    const struct choice choice = {.kind = kind, .client = client, .server = server, .verb = verb};
    return world->ops->apply(world, &choice, &why);
}

static enum result asks(struct world *world, int client, enum choice_kind kind, enum verb verb)
{
    done(tries(world, kind, client, 0, VERB_SET));
    done(tries(world, CHOICE_ARRIVE, client, 0, verb));
    done(tries(world, CHOICE_HEAR, client, 0, verb));
    return world->ops->client(world, client).last;
}

static void expect_followed(int moved, int asked)
{
    assert_int_equal(live->servers.cluster.moved, moved);
    assert_int_equal(live->servers.cluster.asked, asked);
}

/* By MOVED it learns for good, by ASK for one command. */
static void a_client_is_sent_on(void **state)
{
    struct run run;
    struct world *world = opens_world(&run, "set-nx-px-cad");
    (void)state;
    assert_int_equal(asks(world, 0, CHOICE_ACQUIRE, VERB_SET_NX_PX), RESULT_GRANTED);
    done(tries(world, CHOICE_SLOT_BEGIN, -1, 1, VERB_SET));
    assert_int_equal(asks(world, 1, CHOICE_ACQUIRE, VERB_SET_NX_PX), RESULT_REFUSED);
    expect_followed(0, 0);
    done(tries(world, CHOICE_SLOT_KEYS, -1, 1, VERB_SET));
    assert_int_equal(asks(world, 1, CHOICE_ACQUIRE, VERB_SET_NX_PX), RESULT_REFUSED);
    assert_int_equal(asks(world, 1, CHOICE_ACQUIRE, VERB_SET_NX_PX), RESULT_REFUSED);
    expect_followed(0, 2);
    done(tries(world, CHOICE_SLOT_END, -1, 1, VERB_SET));
    assert_int_equal(asks(world, 1, CHOICE_ACQUIRE, VERB_SET_NX_PX), RESULT_REFUSED);
    assert_int_equal(asks(world, 1, CHOICE_ACQUIRE, VERB_SET_NX_PX), RESULT_REFUSED);
    expect_followed(1, 2);
    assert_int_equal(asks(world, 0, CHOICE_RELEASE, VERB_COMPARE_DELETE), RESULT_RELEASED);
    assert_int_equal(asks(world, 1, CHOICE_ACQUIRE, VERB_SET_NX_PX), RESULT_GRANTED);
    expect_followed(2, 2);
    world->ops->free(world);
}

/* Its request is sent on, and the answer lost: it has been executed once, at the new owner. */
static void what_is_sent_on_is_executed_once(void **state)
{
    struct run run;
    struct world *world = opens_world(&run, "set-nx-px-cad");
    (void)state;
    done(tries(world, CHOICE_SLOT_BEGIN, -1, 2, VERB_SET));
    done(tries(world, CHOICE_ACQUIRE, 0, 0, VERB_SET));
    done(tries(world, CHOICE_ARRIVE, 0, 0, VERB_SET_NX_PX));
    done(tries(world, CHOICE_LOSE_REPLY, 0, 0, VERB_SET_NX_PX));
    expect_followed(0, 1);
    expect_answer(2, "DBSIZE", "1");
    expect_answer(0, "DBSIZE", "0");
    done(tries(world, CHOICE_RESEND, 0, 0, VERB_SET_NX_PX));
    done(tries(world, CHOICE_ARRIVE, 0, 0, VERB_SET_NX_PX));
    done(tries(world, CHOICE_HEAR, 0, 0, VERB_SET_NX_PX));
    assert_int_equal(world->ops->client(world, 0).last, RESULT_REFUSED); /* by its own key */
    world->ops->free(world);
}

/* Two masters that each take the other one for the owner: the client stops, and the run is unknown.
 */
static void nobody_is_sent_on_for_ever(void **state)
{
    struct run run;
    struct world *world = opens_world(&run, "set-nx-px-cad");
    struct servers *servers = &live->servers;
    (void)state;
    char tag[KEY_PREFIX_MAX]; /* what stands between the braces */
    live_lock_prefix(live, 0, tag);
    const int64_t slot =
        control_integer(servers_control(servers, 0), &why, "CLUSTER KEYSLOT %s", tag);
    for (int row = 0; row < 2; row++)
        done(control_do(servers_control(servers, row), &why, "CLUSTER SETSLOT %" PRId64 " NODE %s",
                        slot, servers->cluster.ids[1 - row]));
    done(tries(world, CHOICE_ACQUIRE, 0, 0, VERB_SET));
    not_done(tries(world, CHOICE_ARRIVE, 0, 0, VERB_SET_NX_PX),
             "A's SET was sent on from master to master 5 times");
    expect_followed(FOLLOWS_MAX, 0);
    world->ops->free(world);
}

/* Transactions are not sent on: their error is heard, and nothing was executed. */
static void a_transaction_is_not_sent_on(void **state)
{
    struct run run;
    struct world *world = opens_world(&run, "watch-multi-del");
    (void)state;
    assert_int_equal(asks(world, 0, CHOICE_ACQUIRE, VERB_SET_NX_PX), RESULT_GRANTED);
    done(tries(world, CHOICE_RELEASE, 0, 0, VERB_SET));
    done(tries(world, CHOICE_ARRIVE, 0, 0, VERB_WATCH));
    done(tries(world, CHOICE_HEAR, 0, 0, VERB_WATCH));
    done(tries(world, CHOICE_ARRIVE, 0, 0, VERB_GET));
    done(tries(world, CHOICE_HEAR, 0, 0, VERB_GET));
    done(tries(world, CHOICE_SLOT_BEGIN, -1, 1, VERB_SET));
    done(tries(world, CHOICE_SLOT_KEYS, -1, 1, VERB_SET));
    done(tries(world, CHOICE_SLOT_END, -1, 1, VERB_SET));
    done(tries(world, CHOICE_ARRIVE, 0, 0, VERB_MULTI_DEL));
    done(tries(world, CHOICE_HEAR, 0, 0, VERB_MULTI_DEL));
    assert_int_not_equal(world->ops->client(world, 0).last, RESULT_RELEASED);
    expect_followed(0, 0);
    expect_answer(1, "DBSIZE", "1");
    world->ops->free(world);
}

/* Of a run without a cluster, and of other faults of servers in one with. */
static void what_does_not_fit_a_cluster(void **state)
{
    struct run run;
    struct world *world = opens_world(&run, "set-nx-px-cad");
    (void)state;
    not_done(tries(world, CHOICE_RESTART, -1, 0, VERB_SET), "only the slot is struck");
    not_done(tries(world, CHOICE_SLOT_END, -1, 1, VERB_SET), "has not begun to move");
    world->ops->free(world);
    run.is_cluster = false;
    done(world_live_new(&world, live, &run, &why));
    not_done(tries(world, CHOICE_SLOT_BEGIN, -1, 1, VERB_SET), "this run has no cluster");
    world->ops->free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_slot_moves_with_its_keys, opens_cluster, shuts),
        cmocka_unit_test_setup_teardown(a_script_stays_where_it_was, opens_cluster, shuts),
        cmocka_unit_test_setup_teardown(a_move_that_ends_early_costs_the_keys, opens_cluster,
                                        shuts),
        cmocka_unit_test_setup_teardown(a_slot_is_taken_from_a_dead_master, opens_cluster, shuts),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_said, opens_cluster, shuts),
        cmocka_unit_test_setup_teardown(its_rows_are_servers_again, opens_cluster, shuts),
        cmocka_unit_test_teardown(a_client_is_sent_on, shuts),
        cmocka_unit_test_teardown(what_is_sent_on_is_executed_once, shuts),
        cmocka_unit_test_teardown(nobody_is_sent_on_for_ever, shuts),
        cmocka_unit_test_teardown(a_transaction_is_not_sent_on, shuts),
        cmocka_unit_test_teardown(what_does_not_fit_a_cluster, shuts),
        cmocka_unit_test(a_server_behind_a_url_is_left_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
