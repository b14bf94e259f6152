/* test_worker_heed.c - what a run of workers asks a server itself ends soon behind a signal, too,
 * as control_heed() says. The server is a socket in which its answers stand already, or none. */
#include "live/control.h"
#include "worker/key_watch.h"
#include "worker/server_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { HUNG_S = 120 };

static const char no_key[] = "+none\r\n:-2\r\n$-1\r\n", pong[] = "*2\r\n$4\r\npong\r\n$0\r\n\r\n",
                  refused[] = "-ERR no\r\n";
static const volatile int is_told = 1;

struct server_side {
    int peer;
    redisContext *context;
};

static struct server_side answers(const char *bytes)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(write(ends[1], bytes, strlen(bytes)), strlen(bytes));
    struct server_side side = {.peer = ends[1], .context = redisConnectFd(ends[0])};
    assert_non_null(side.context);
    return side;
}

static int begin(void **state)
{
    (void)state;
    control_heed(&is_told);
    (void)alarm(HUNG_S);
    return 0;
}

static int end(void **state)
{
    (void)state;
    control_heed(NULL);
    (void)alarm(0);
    return 0;
}

static void looks(const char *key_said, const char *events_said, const char *words)
{
    static const int64_t times[] = {0, KEY_WATCH_REAL_TIME};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const struct lock_key key = {.is_known = true, .name = "lock"};
        struct server_side control = answers(key_said), events = answers(events_said);
        struct key_watch watch = {.events = events.context};
        struct key_state state;
        struct failure why = {0};
        const enum fail fail =
            key_watch_before(&watch, control.context, &key, times[i], &state, &why);
        assert_int_equal(fail, *words ? FAIL_UNAVAILABLE : FAIL_NONE);
        assert_string_equal(why.text, words);
        key_watch_forget(&watch);
        control_shut(control.context);
        (void)close(control.peer);
        (void)close(events.peer);
    }
}

static void a_look_is_not_waited_for(void **state)
{
    (void)state;
    looks("", pong, "TYPE was not answered before the run was told to end");
}

static void what_was_written_is_not_waited_for(void **state)
{
    (void)state;
    looks(no_key, "",
          "the server does not tell of writes to its keys: PING was not answered before the run "
          "was told to end");
}

/* Else it would seem that nothing was. */
static void an_error_does_not_say_what_was_written(void **state)
{
    (void)state;
    looks(no_key, refused,
          "the server does not tell of writes to its keys: PING: it answered with an error "
          "(ERR no)");
}

static void what_is_there_is_taken(void **state)
{
    (void)state;
    looks(no_key, pong, "");
}

static void hears(const char *said, enum fail code, const char *words)
{
    struct spoken_reply spoken;
    struct failure why = {0};
    struct server_side side = answers(said);
    struct server_wire wire = {.context = side.context, .protocol = 2};
    assert_int_equal(server_wire_say(&wire, "PING\r\n", 6, &why), FAIL_NONE);
    assert_int_equal(server_wire_hear(&wire, 1, &spoken, &why), code);
    assert_string_equal(why.text, words);
    server_wire_close(&wire);
    (void)close(side.peer);
}

static void a_reply_is_not_waited_for(void **state)
{
    (void)state;
    hears("", FAIL_UNKNOWN, "a command was not answered before the run was told to end");
    hears("+PO", FAIL_UNKNOWN, "a command was not answered before the run was told to end");
    hears("+PONG\r\n", FAIL_NONE, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_is_not_waited_for),
        cmocka_unit_test(what_was_written_is_not_waited_for),
        cmocka_unit_test(an_error_does_not_say_what_was_written),
        cmocka_unit_test(what_is_there_is_taken),
        cmocka_unit_test(a_reply_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
