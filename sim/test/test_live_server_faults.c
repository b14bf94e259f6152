/* test_live_server_faults.c - faults of servers strike real processes, and prove it: killed,
 * stopped, started again with what lay on the disk. */
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

/* Killed for good: the process is gone, another one has its keys; and the next run has neither keys
 * nor the file. */
static void a_restart_with_its_keys_kills_the_process(void **state)
{
    (void)state;
    struct reuse replay;
    replay_open(&replay, false);
    const int pid = server_pid();
    assert_int_equal(acquires(&replay, 0), RESULT_GRANTED);
    does(&replay, CHOICE_RESTART_AOF, -1, VERB_SET);
    assert_int_not_equal(server_pid(), pid);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(acquires(&replay, 1), RESULT_REFUSED);
    replay_close(&replay);
    replay_open(&replay, false);
    redisReply *settings = control_ask(control(), NULL, "CONFIG GET appendonly");
    assert_string_equal(settings->element[1]->str, "no");
    freeReplyObject(settings);
    assert_int_equal(acquires(&replay, 1), RESULT_GRANTED);
    replay_close(&replay);
}

/* What was there when it saved, and nothing else: also what was deleted since. */
static void a_restart_with_a_snapshot_brings_deleted_keys_back(void **state)
{
    (void)state;
    struct reuse replay;
    replay_open(&replay, false);
    const int pid = server_pid();
    assert_int_equal(control_do(control(), NULL, "SET saved 1"), FAIL_NONE);
    does(&replay, CHOICE_SAVE, -1, VERB_SET);
    assert_int_equal(control_do(control(), NULL, "DEL saved"), FAIL_NONE);
    assert_int_equal(acquires(&replay, 0), RESULT_GRANTED);
    does(&replay, CHOICE_RESTART_OLD, -1, VERB_SET);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(control_integer(control(), NULL, "EXISTS saved"), 1);
    assert_int_equal(control_integer(control(), NULL, "DBSIZE"), 1);
    assert_int_equal(acquires(&replay, 1), RESULT_GRANTED);
    replay_close(&replay);
    replay_open(&replay, false);
    assert_null(live->servers.rows[0].saved);
    assert_int_equal(control_integer(control(), NULL, "DBSIZE"), 0);
    replay_close(&replay);
}

static char state_of(int pid)
{
    char path[64], text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    (void)fclose(file);
    return strrchr(text, ')')[2];
}

/* It stands still while the choice lasts, and a run that ends meanwhile lets it go on. */
static void a_stopped_server_stands_still_and_goes_on(void **state)
{
    (void)state;
    struct reuse replay;
    replay_open(&replay, false);
    const int pid = server_pid();
    assert_int_equal(acquires(&replay, 0), RESULT_GRANTED);
    does(&replay, CHOICE_STOP, -1, VERB_SET);
    assert_int_equal(state_of(pid), 'T');
    does(&replay, CHOICE_REACH, -1, VERB_SET);
    assert_int_not_equal(state_of(pid), 'T');
    assert_int_equal(acquires(&replay, 1), RESULT_REFUSED); /* with its keys */
    does(&replay, CHOICE_STOP, -1, VERB_SET);
    assert_int_equal(state_of(pid), 'T');
    replay_close(&replay);
    replay_open(&replay, false);
    assert_int_equal(server_pid(), pid);
    assert_int_equal(acquires(&replay, 1), RESULT_GRANTED);
    replay_close(&replay);
}

static int64_t waiting_clients(void)
{
    char value[24] = "";
    redisReply *info = control_ask(control(), NULL, "INFO clients");
    assert_non_null(info);
    control_field(info->str, "blocked_clients", value, sizeof value);
    freeReplyObject(info);
    return atoll(value);
}

/* What a stranger writes waits at the server itself; what he reads does not. */
static void a_server_that_holds_writes_takes_them_later(void **state)
{
    (void)state;
    struct reuse replay;
    struct failure why;
    redisContext *stranger = NULL;
    replay_open(&replay, false);
    const struct url url = {.host = "127.0.0.1", .port = live->servers.rows[0].process.port};
    assert_int_equal(control_open(&stranger, &url, &why), FAIL_NONE);
    does(&replay, CHOICE_PAUSE_WRITES, -1, VERB_SET);
    assert_int_equal(waiting_clients(), 1);
    assert_int_equal(control_integer(stranger, &why, "EXISTS other"), 0);
    int is_sent = 0;
    control_append(stranger, "SET other 1");
    while (!is_sent)
        assert_int_equal(redisBufferWrite(stranger, &is_sent), REDIS_OK);
    while (waiting_clients() < 2)
        ;
    assert_int_equal(control_integer(control(), &why, "EXISTS other"), 0);
    does(&replay, CHOICE_REACH, -1, VERB_SET);
    assert_int_equal(waiting_clients(), 0);
    freeReplyObject(control_answer(stranger, "SET", &why));
    assert_int_equal(control_integer(control(), &why, "EXISTS other"), 1);
    control_shut(stranger);
    does(&replay, CHOICE_PAUSE_WRITES, -1, VERB_SET);
    replay_close(&replay);
    replay_open(&replay, false); /* a run that ends meanwhile ends the pause */
    assert_int_equal(waiting_clients(), 0);
    assert_int_equal(acquires(&replay, 1), RESULT_GRANTED);
    replay_close(&replay);
}

static void a_pause_that_does_not_hold_is_told(void **state)
{
    (void)state;
    struct reuse replay;
    struct failure why;
    replay_open(&replay, false);
    assert_int_equal(control_do(control(), NULL, "ACL SETUSER default -del"), FAIL_NONE);
    assert_int_equal(servers_hold_writes(&live->servers, 0, &why), FAIL_UNKNOWN);
    assert_non_null(strstr(why.text, "server 1: it was to hold writes, and does not hold ours"));
    assert_int_equal(control_do(control(), NULL, "ACL SETUSER default +del"), FAIL_NONE);
    assert_int_equal(servers_hold_writes(&live->servers, 0, &why), FAIL_NONE);
    assert_int_equal(control_do(control(), NULL, "CLIENT KILL TYPE normal"), FAIL_NONE);
    assert_int_not_equal(servers_let_write(&live->servers, 0, &why), FAIL_NONE);
    replay_close(&replay);
}

/* Another file than the one that was saved: it is told, with the names of the keys. */
static void a_snapshot_that_brings_other_keys_back_is_told(void **state)
{
    (void)state;
    struct reuse replay;
    struct failure why;
    replay_open(&replay, false);
    assert_int_equal(control_do(control(), NULL, "SET other 1"), FAIL_NONE);
    assert_int_equal(servers_save_keys(&live->servers, 0, &why), FAIL_NONE);
    live->servers.rows[0].saved[0] = 'O';
    assert_int_equal(servers_restart_with_saved(&live->servers, 0, &why), FAIL_UNKNOWN);
    assert_non_null(strstr(why.text, "with the keys (Other), and has (other)"));
    replay_close(&replay);
}

/* A fault that strikes less than it should is no fault. */
static void connections_that_are_not_ended_are_missed(void **state)
{
    (void)state;
    struct reuse replay;
    struct failure why;
    replay_open(&replay, false);
    assert_int_equal(acquires(&replay, 0), RESULT_GRANTED);
    assert_int_equal(servers_kill_clients(&live->servers, 0, 9, &why), FAIL_UNKNOWN);
    assert_non_null(strstr(why.text, "clients had 9"));
    replay_close(&replay);
}

/* --- all --- */

#define T(test) cmocka_unit_test_setup_teardown(test, live_open, live_shut)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_restart_with_its_keys_kills_the_process),
        T(a_restart_with_a_snapshot_brings_deleted_keys_back),
        T(a_snapshot_that_brings_other_keys_back_is_told),
        T(a_stopped_server_stands_still_and_goes_on),
        T(a_server_that_holds_writes_takes_them_later),
        T(a_pause_that_does_not_hold_is_told),
        T(connections_that_are_not_ended_are_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
