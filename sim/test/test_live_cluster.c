/* test_live_cluster.c - a Redis Cluster of our own: it forms, a slot moves with its keys and
 * without them, and is taken from a master that is dead. */
#include "live/cluster.h"
#include "live/control.h"
#include "live/internal.h"

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
    done(cluster_move_keys(servers, LOCK, 1, &why));
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
    static const char by_name[] = "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 " LOCK;
    (void)state;
    expect_answer(0, "SET " LOCK " 1", "OK");
    done(control_do(servers_control(&live->servers, 0), &why, "SCRIPT LOAD %s", "return 1"));
    expect_answer(0, by_name, "1");
    done(cluster_begin_move(&live->servers, LOCK, 2, &why));
    done(cluster_move_keys(&live->servers, LOCK, 2, &why));
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
    not_done(cluster_move_keys(servers, LOCK, 1, &why), "has not begun to move to server 2");
    not_done(cluster_begin_move(servers, LOCK, 0, &why), "is server 1's already");
    done(cluster_begin_move(servers, LOCK, 1, &why));
    not_done(cluster_begin_move(servers, LOCK, 2, &why), "moves to server 2 already");
    not_done(cluster_take_slot(servers, LOCK, 2, &why), "moves to server 2 already");
    not_done(cluster_move_keys(servers, LOCK, 1, &why), "has no key of the slot to move");
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
        cmocka_unit_test(a_server_behind_a_url_is_left_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
