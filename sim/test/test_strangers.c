/* test_strangers.c - which connections of servers are none of ours: those of the library itself, of
 * replicas and of a sentinel are known, whatever becomes of their servers; any other one is told.
 */
#include "live/control.h"
#include "live/servers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static uv_loop_t loop;
static uv_timer_t tick;
static struct servers servers;
static struct failure why;

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                                .sin_port = htons((uint16_t)port)};
}

/* From that end. Ends with a reset, so that its port is free again at once. */
static int connect_from_end(struct sockaddr_in own, int to)
{
    const struct sockaddr_in other = loopback(to);
    const struct linger hard = {.l_onoff = 1};
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
    assert_int_equal(bind(descriptor, (const struct sockaddr *)&own, sizeof own), 0);
    if (connect(descriptor, (const struct sockaddr *)&other, sizeof other) == 0)
        return descriptor;
    assert_int_equal(errno, ECONNREFUSED);
    (void)close(descriptor);
    return -1;
}

/* From that port; 0: from any. */
static int connect_from(int from, int to)
{
    return connect_from_end(loopback(from), to);
}

static int port_of(int descriptor)
{
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    assert_int_equal(getsockname(descriptor, (struct sockaddr *)&own, &size), 0);
    return ntohs(own.sin_port);
}

/* All that has connected so far is accepted. */
static void ask(const struct process *process)
{
    assert_int_equal(control_do(process->control, &why, "PING"), FAIL_NONE);
    assert_int_equal(control_do(process->control, &why, "PING"), FAIL_NONE);
}

static void expect_none(void)
{
    if (servers_find_strangers(&servers, &why))
        fail_msg("%s", why.text);
}

static void expect_stranger(const char *words)
{
    if (servers_find_strangers(&servers, &why) != FAIL_UNKNOWN || !strstr(why.text, words))
        fail_msg("wanted \"%s\", got \"%s\"", words, why.text);
}

static int open_servers(void **state)
{
    const struct live_options options = {.steering = STEERED};
    (void)state;
    return uv_loop_init(&loop) || uv_timer_init(&loop, &tick) ||
           servers_open(&servers, &options, "", &loop, &tick, &why);
}

static int close_servers(void **state)
{
    (void)state;
    servers_close(&servers);
    uv_close((uv_handle_t *)&tick, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

static void prepare(bool has_replica)
{
    if (servers_prepare(&servers, 2, has_replica, &why))
        fail_msg("%s", why.text);
}

typedef enum fail strike(struct servers *servers, int server, struct failure *failure);

/* Each of them opens connections of ours, and ends some. */
static void ours_are_known(void **state)
{
    static strike *const strikes[] = {servers_restart,         servers_restart_with_keys,
                                      servers_failover,        servers_failover_by_sentinel,
                                      servers_follow_promoted, servers_hold_writes,
                                      servers_let_write};
    (void)state;
    for (size_t i = 0; i < sizeof strikes / sizeof *strikes; i++) {
        if (!servers.rows[0].replica.pid && strikes[i] != servers_follow_promoted)
            prepare(true);
        expect_none();
        if (strikes[i](&servers, 0, &why))
            fail_msg("%s", why.text);
        expect_none();
    }
}

static void one_more_is_told(void **state)
{
    (void)state;
    prepare(true);
    struct process *process = &servers.rows[1].process;
    const int ours = connect_from(0, process->port);
    servers_note_dial(&servers, process->port, port_of(ours));
    ask(process);
    expect_none();
    assert_true(servers_has_only_ours(&servers, 1));
    const int other = connect_from(0, process->port);
    ask(process);
    expect_stranger("somebody went past the proxy: server 2 has had 1 connection of which");
    assert_false(servers_has_only_ours(&servers, 1));
    assert_true(servers_has_only_ours(&servers, 0));
    servers_note_dial(&servers, process->port, port_of(other));
    expect_none();
    assert_true(servers_has_only_ours(&servers, 1));
    (void)close(ours);
    (void)close(other);
}

/* Whose other end is gone before it is accepted, too. */
static void a_port_of_ours_is_ours_once(void **state)
{
    (void)state;
    prepare(false);
    struct process *process = &servers.rows[0].process;
    const int ours = connect_from(0, process->port), port = port_of(ours);
    servers_note_dial(&servers, process->port, port);
    (void)close(ours);
    ask(process);
    expect_none();
    (void)close(connect_from(port, process->port));
    ask(process);
    expect_stranger("server 1 has had 1 connection of which");
}

static void those_of_a_replica_are_told(void **state)
{
    (void)state;
    prepare(true);
    (void)close(connect_from(0, servers.rows[1].replica.port));
    ask(&servers.rows[1].replica);
    expect_stranger("the replica of server 2 has had 1 connection of which");
    assert_int_equal(servers_failover(&servers, 1, &why), FAIL_NONE);
    expect_stranger("somebody went past the proxy: server 2 has had 1 connection of which");
}

/* Of one that was killed, and of one in reserve, which is used again. */
static void those_of_servers_before_are_told(void **state)
{
    static strike *const strikes[] = {servers_restart, servers_restart_with_keys, servers_failover,
                                      servers_failover_by_sentinel};
    static const char words[] =
        "somebody went past the proxy: a server whose place another one has taken has had 2";
    (void)state;
    for (size_t i = 0; i < sizeof strikes / sizeof *strikes; i++) {
        prepare(true);
        for (int k = 0; k < 2; k++)
            (void)close(connect_from(0, servers.rows[0].process.port));
        ask(&servers.rows[0].process);
        if (strikes[i](&servers, 0, &why))
            fail_msg("%s", why.text);
        expect_stranger(words);
        close_servers(NULL);
        assert_int_equal(open_servers(NULL), 0);
    }
}

static void one_in_reserve_is_asked_too(void **state)
{
    (void)state;
    prepare(true);
    const int port = servers.rows[0].process.port;
    assert_int_equal(servers_failover(&servers, 0, &why), FAIL_NONE);
    (void)close(connect_from(0, port));
    ask(&servers.spares.rows[servers.spares.count - 1]);
    expect_stranger("a server whose place another one has taken has had 1 connection of which");
}

static void one_that_does_not_tell_is_said(void **state)
{
    (void)state;
    prepare(false);
    servers.rows[1].process.tells_peers = false;
    assert_int_equal(servers_find_strangers(&servers, &why), FAIL_UNAVAILABLE);
    assert_string_equal(why.text, "whether anybody went past the proxy is not known: server 2 does "
                                  "not tell who connects");
}

/* Before it is ready nobody is told where it is: whoever comes all the same is no worker of ours.
 */
static void who_comes_before_it_is_ready_makes_it_unfit(void **state)
{
    struct process process;
    char folder[PROCESS_PATH_MAX];
    (void)state;
    prepare(false);
    assert_int_equal(spares_folder(&servers, folder, &why), FAIL_NONE);
    const struct process_options options = {.folder = folder, .shim = servers.shim};
    assert_int_equal(process_begin(&process, &options, &why), FAIL_NONE);
    /* Not from 127.0.0.1: there it could be given the very port that the server is about to take,
     * and be connected to itself. */
    struct sockaddr_in beside = loopback(0);
    beside.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    int other = -1;
    while (other < 0)
        other = connect_from_end(beside, process.port);
    assert_int_equal(process_finish(&process, &why), FAIL_UNAVAILABLE);
    assert_non_null(strstr(why.text, PROCESS_NOT_ALONE));
    servers_end_process(&servers, &process);
    expect_none();
    (void)close(other);
}

/* Nor is anybody missed at one that another server's answer shows not to be there: its port was
 * taken, and it does not tell who connects. It stands still, so that it does not end before. */
static void one_whose_port_was_taken_had_no_worker(void **state)
{
    struct process taker, late;
    char folder[PROCESS_PATH_MAX], other[PROCESS_PATH_MAX];
    (void)state;
    prepare(false);
    assert_int_equal(spares_folder(&servers, folder, &why), FAIL_NONE);
    const struct process_options first = {.folder = folder, .shim = servers.shim};
    assert_int_equal(process_start(&taker, &first, &why), FAIL_NONE);
    assert_int_equal(spares_folder(&servers, other, &why), FAIL_NONE);
    const struct process_options second = {
        .folder = other, .shim = servers.shim, .port = taker.port};
    assert_int_equal(process_begin(&late, &second, &why), FAIL_NONE);
    assert_int_equal(process_stop(&late, &why), FAIL_NONE);
    assert_int_equal(process_finish(&late, &why), FAIL_UNAVAILABLE);
    assert_non_null(strstr(why.text, PROCESS_PORT_TAKEN));
    servers_end_process(&servers, &late);
    expect_none();
    process_kill(&taker);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_servers, close_servers)
    const struct CMUnitTest tests[] = {
        TEST(ours_are_known),
        TEST(one_more_is_told),
        TEST(a_port_of_ours_is_ours_once),
        TEST(those_of_a_replica_are_told),
        TEST(those_of_servers_before_are_told),
        TEST(one_in_reserve_is_asked_too),
        TEST(one_that_does_not_tell_is_said),
        TEST(who_comes_before_it_is_ready_makes_it_unfit),
        TEST(one_whose_port_was_taken_had_no_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
