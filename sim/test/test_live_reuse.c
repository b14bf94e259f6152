/* test_live_reuse.c - servers that serve many runs: what the last one left changes nothing in the
 * next, though it would; what cannot be taken back is replaced; and who stands in for whom. */
#include "live/control.h"
#include "live/internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/live_run.h"

/* What the scheme releases with; found among the others by its name. */
#define LUA(id, sha, text) {#id, text},
static const struct {
    const char *name, *text;
} scripts[] = {
#include "redis/commands.def"
};
#undef LUA

/* A acquires, then B tries, and whoever has it releases: by EVALSHA, and EVAL if need be. */
static void play(struct reuse *replay, redisContext *stranger, const char *says)
{
    enum result first = acquires(replay, 0);
    if (stranger) {
        redisReply *reply = redisCommand(stranger, says);
        if (reply)
            freeReplyObject(reply);
    }
    (void)acquires(replay, 1);
    if (first != RESULT_GRANTED)
        return;
    does(replay, CHOICE_RELEASE, 0, VERB_SET);
    round_trip(replay, 0, VERB_COMPARE_DELETE_SHA);
    if (replay->world->ops->client(replay->world, 0).phase != PHASE_IDLE)
        round_trip(replay, 0, VERB_COMPARE_DELETE);
}

static bool is_same(const struct event_trace *a, const struct event_trace *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = trace_is_same(&a->events[i], &b->events[i]);
    return same;
}

/* --- what a run could leave --- */

static void lock_key(char key[KEY_PREFIX_MAX + 16])
{
    char prefix[KEY_PREFIX_MAX];
    live_lock_prefix(live, 0, prefix);
    (void)snprintf(key, KEY_PREFIX_MAX + 16, "%s%s", prefix, key_name(KEY_LOCK));
}

static const char *script(void)
{
    size_t i = 0;
    while (strcmp(scripts[i].name, "compare_delete") != 0)
        i++;
    return scripts[i].text;
}

static void leave_key(void)
{
    char key[KEY_PREFIX_MAX + 16];
    lock_key(key);
    assert_int_equal(control_do(control(), NULL, "SET %s another", key), FAIL_NONE);
}

static void leave_script(void)
{
    assert_int_equal(control_do(control(), NULL, "SCRIPT LOAD %s", script()), FAIL_NONE);
}

static void leave_limit(void)
{
    assert_int_equal(control_do(control(), NULL, "CONFIG SET maxmemory-policy noeviction"),
                     FAIL_NONE);
    assert_int_equal(control_do(control(), NULL, "CONFIG SET maxmemory 1"), FAIL_NONE);
}

static void leave_user(void)
{
    assert_int_equal(control_do(control(), NULL, "ACL SETUSER default -set"), FAIL_NONE);
}

static void leave_nobody(void)
{
    assert_int_equal(control_do(control(), NULL, "ACL SETUSER default -flushall -set"), FAIL_NONE);
}

static void leave_setting(void)
{
    assert_int_equal(control_do(control(), NULL, "CONFIG SET maxmemory-clients 1"), FAIL_NONE);
}

/* The counters would tell of it. */
static void leave_setting_untold(void)
{
    leave_setting();
    assert_int_equal(control_do(control(), NULL, "CONFIG RESETSTAT"), FAIL_NONE);
    assert_int_equal(control_do(control(), NULL, "CONFIG GET save"), FAIL_NONE);
}

/* What is left, and whether the server can be brought back. */
static const struct left_behind {
    const char *name;
    void (*leave)(void);
    bool is_taken_back, changes_a_run;
} leftovers[] = {
    {"a key", leave_key, true, true},
    {"a script", leave_script, true, true},
    {"a limit of memory", leave_limit, true, true},
    {"a user without a right", leave_user, false, true},
    {"a user who may not reset it", leave_nobody, false, true},
    {"a setting", leave_setting, false, false},
    {"a setting, the counters of commands wiped", leave_setting_untold, false, false},
};

static void a_leftover_would_change_a_run_and_does_not(void **state)
{
    (void)state;
    struct reuse clean, next, spoilt;
    replay_open(&clean, false);
    play(&clean, NULL, NULL);
    assert_true(clean.trace.count > 10);
    clean.world->ops->free(clean.world);
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++) {
        const struct left_behind *leftover = &leftovers[i];
        int pid = server_pid();
        leftover->leave();
        replay_open(&next, false);
        assert_int_equal(server_pid() == pid, leftover->is_taken_back);
        play(&next, NULL, NULL);
        if (!is_same(&clean.trace, &next.trace))
            fail_msg("%s of the last run is met in the next", leftover->name);
        replay_close(&next);
        if (!leftover->changes_a_run)
            continue;
        replay_open(&spoilt, false);
        leftover->leave();
        play(&spoilt, NULL, NULL);
        if (is_same(&clean.trace, &spoilt.trace))
            fail_msg("%s changes nothing: this test proves nothing", leftover->name);
        replay_close(&spoilt);
    }
    free(clean.trace.events);
}

static int64_t told_by_server(const char *section, const char *field)
{
    char value[64];
    redisReply *info = control_ask(control(), NULL, "INFO %s", section);
    assert_non_null(info);
    control_field(info->str, field, value, sizeof value);
    freeReplyObject(info);
    return atoll(strncmp(value, "calls=", 6) == 0 ? value + 6 : value);
}

/* Each takes as long as the rest of a reset: done again only where something may have changed. */
static void where_nothing_was_changed_settings_and_path_are_not_asked_again(void **state)
{
    (void)state;
    struct reuse replay;
    int64_t reads[4], connections[4];
    for (int i = 0; i < 4; i++) {
        if (i == 3)
            leave_limit();
        replay_open(&replay, false);
        reads[i] = told_by_server("commandstats", "cmdstat_config|get");
        connections[i] = told_by_server("stats", "total_connections_received");
        replay_close(&replay);
    }
    assert_true(reads[0] > 0 && connections[0] > 1);
    assert_int_equal(reads[2], reads[0]);
    assert_int_equal(connections[3], connections[0]);
    assert_int_equal(reads[3], reads[2] + 1);
}

static void a_connection_of_the_last_run_says_nothing_in_the_next(void **state)
{
    (void)state;
    char key[KEY_PREFIX_MAX + 16], removes[KEY_PREFIX_MAX + 32];
    struct reuse replay;
    redisContext *old, *recent;
    replay_open(&replay, false);
    replay_close(&replay);
    const struct url url = process_url(&live->servers.rows[0].process);
    assert_int_equal(control_open(&old, &url, NULL), FAIL_NONE);
    assert_int_equal(control_do(old, NULL, "PING"), FAIL_NONE);
    lock_key(key);
    (void)snprintf(removes, sizeof removes, "DEL %s", key);
    replay_open(&replay, false);
    play(&replay, old, removes);
    assert_true(old->err);
    assert_int_equal(replay.world->ops->client(replay.world, 1).last, RESULT_REFUSED);
    replay_close(&replay);
    /* One that is not of the last run does what was to be feared. */
    replay_open(&replay, false);
    assert_int_equal(control_open(&recent, &url, NULL), FAIL_NONE);
    play(&replay, recent, removes);
    assert_int_equal(replay.world->ops->client(replay.world, 1).last, RESULT_GRANTED);
    replay_close(&replay);
    control_shut(old);
    control_shut(recent);
}

static void a_clock_that_jumped_is_back(void **state)
{
    (void)state;
    struct reuse replay;
    int64_t now_us;
    replay_open(&replay, true);
    servers_jump_clock(&live->servers, 0, 7 * LEASE_US);
    servers_set_clock(&live->servers, LEASE_US);
    assert_int_equal(control_time_us(control(), &now_us, NULL), FAIL_NONE);
    assert_true(now_us == CLOCK_EPOCH_US + 8 * LEASE_US);
    replay_close(&replay);
    replay_open(&replay, true);
    assert_int_equal(control_time_us(control(), &now_us, NULL), FAIL_NONE);
    assert_true(now_us == CLOCK_EPOCH_US);
    assert_int_equal(control_time_us(live->servers.rows[0].replica.control, &now_us, NULL),
                     FAIL_NONE);
    assert_true(now_us == CLOCK_EPOCH_US);
    replay_close(&replay);
}

/* --- who stands in for whom --- */

static void play_failover(struct reuse *replay)
{
    does(replay, CHOICE_CUT_REPLICA, -1, VERB_SET);
    (void)acquires(replay, 0);
    does(replay, CHOICE_FAILOVER, -1, VERB_SET);
    (void)acquires(replay, 1);
}

/* The primary of one run is the replica of the next, with nothing of what it had and the other had
 * not. */
static void an_old_primary_follows_the_one_that_was_promoted(void **state)
{
    (void)state;
    struct reuse first, next;
    replay_open(&first, true);
    int primary = server_pid(), replica = live->servers.rows[0].replica.pid;
    play_failover(&first);
    assert_int_equal(first.world->ops->client(first.world, 1).last, RESULT_GRANTED);
    assert_int_equal(server_pid(), replica);
    first.world->ops->free(first.world);
    replay_open(&next, true);
    assert_int_equal(server_pid(), replica);
    assert_int_equal(live->servers.rows[0].replica.pid, primary);
    play_failover(&next);
    assert_true(is_same(&first.trace, &next.trace));
    assert_int_equal(server_pid(), primary);
    replay_close(&next);
    free(first.trace.events);
}

/* A run without a replica has none, and its server nobody who follows it. */
static void a_replica_that_is_not_asked_for_is_gone(void **state)
{
    (void)state;
    struct reuse replay;
    char followers[8];
    replay_open(&replay, true);
    replay_close(&replay);
    replay_open(&replay, false);
    assert_int_equal(live->servers.rows[0].replica.pid, 0);
    redisReply *info = control_ask(control(), NULL, "INFO replication");
    control_field(info->str, "connected_slaves", followers, sizeof followers);
    assert_string_equal(followers, "0");
    freeReplyObject(info);
    replay_close(&replay);
}

static void a_replica_with_a_script_of_its_own_is_replaced(void **state)
{
    (void)state;
    struct reuse replay;
    replay_open(&replay, true);
    int pid = live->servers.rows[0].replica.pid;
    redisContext *replica = live->servers.rows[0].replica.control;
    assert_int_equal(control_do(replica, NULL, "SCRIPT LOAD %s", script()), FAIL_NONE);
    replay_close(&replay);
    replay_open(&replay, true);
    assert_int_not_equal(live->servers.rows[0].replica.pid, pid);
    replay_close(&replay);
}

/* The second one finds a process that was started meanwhile; a spare that has died is none. */
static void a_restart_takes_a_spare_that_is_good(void **state)
{
    (void)state;
    struct reuse replay;
    struct spares *spares = &live->servers.spares;
    for (int i = 0; i < 3; i++) {
        replay_open(&replay, false);
        assert_true(i == 0 || spares->count > 0);
        int pid = server_pid(), spare = spares->count ? spares->rows[0].pid : 0;
        (void)acquires(&replay, 0);
        if (i == 2)
            assert_int_equal(kill(spare, SIGKILL), 0);
        redisContext *old = control();
        does(&replay, CHOICE_RESTART, -1, VERB_SET);
        assert_int_not_equal(server_pid(), pid);
        /* The one before is a spare, and nobody talks to it any more but we. */
        assert_int_equal(spares->rows[spares->count - 1].pid, pid);
        assert_ptr_equal(spares->rows[spares->count - 1].control, old);
        redisReply *clients = control_ask(old, NULL, "CLIENT LIST");
        assert_ptr_equal(strchr(clients->str, '\n'), strrchr(clients->str, '\n'));
        freeReplyObject(clients);
        assert_int_equal(server_pid() == spare, spare != 0 && i != 2);
        assert_int_equal(acquires(&replay, 1), RESULT_GRANTED); /* it has no keys */
        replay_close(&replay);
    }
}

/* --- all --- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_leftover_would_change_a_run_and_does_not),
        T(where_nothing_was_changed_settings_and_path_are_not_asked_again),
        T(a_connection_of_the_last_run_says_nothing_in_the_next),
        T(a_clock_that_jumped_is_back),
        T(an_old_primary_follows_the_one_that_was_promoted),
        T(a_replica_that_is_not_asked_for_is_gone),
        T(a_replica_with_a_script_of_its_own_is_replaced),
        T(a_restart_takes_a_spare_that_is_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
