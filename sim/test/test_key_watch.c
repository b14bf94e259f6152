/* test_key_watch.c - the lock's key before an execution: reckoned from how it was left, or looked
 * at. The server is a socket in which its answers stand already, or none: then nobody may ask. */
#include "worker/key_watch.h"

#include "worker/time_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const struct lock_key lock = {.is_known = true, .name = "lock"};
static struct failure why;

static redisContext *answers(const char *bytes)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(write(ends[1], bytes, strlen(bytes)), strlen(bytes));
    redisContext *context = redisConnectFd(ends[0]);
    assert_non_null(context);
    return context; /* the other end stays open until the test ends */
}

static struct key_watch left(int64_t last_us, bool is_there, int64_t ttl_us)
{
    struct key_watch watch = {.is_known = true,
                              .name = "lock",
                              .last = {.is_there = is_there, .ttl_us = ttl_us},
                              .last_us = last_us};
    (void)strcpy(watch.last.value, is_there ? "A" : "");
    return watch;
}

/* Nobody is there to be asked. */
static struct key_state reckoned(struct key_watch watch, int64_t clock_us)
{
    struct key_state state;
    assert_int_equal(key_watch_reckon(&watch, NULL, &lock, clock_us, &state, &why), FAIL_NONE);
    assert_null(watch.events);
    assert_string_equal(state.value, watch.last.value);
    assert_int_equal(state.is_there, watch.last.is_there);
    return state;
}

static void time_is_taken_off_as_the_server_counts_it(void **state)
{
    (void)state;
    assert_int_equal(reckoned(left(1900, true, 10000000), 1950).ttl_us, 10000000);
    assert_int_equal(reckoned(left(1900, true, 10000000), 2000).ttl_us, 9999000);
    assert_int_equal(reckoned(left(1000, true, 10000000), 1999).ttl_us, 10000000);
    assert_int_equal(reckoned(left(0, true, 10000), 8999).ttl_us, 2000);
}

static void what_never_ends_stays(void **state)
{
    (void)state;
    assert_int_equal(reckoned(left(0, true, TIME_NEVER), 1000000).ttl_us, TIME_NEVER);
    assert_int_equal(reckoned(left(0, false, TIME_NEVER), 1000000).ttl_us, TIME_NEVER);
}

/* It is asked: what it answers is not what was left. */
static void looks(struct key_watch watch, const struct lock_key *key, int64_t clock_us)
{
    struct key_state state;
    redisContext *control = answers("+none\r\n:-2\r\n$-1\r\n");
    watch.events = answers("*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    assert_int_equal(key_watch_reckon(&watch, control, key, clock_us, &state, &why), FAIL_NONE);
    assert_false(state.is_there);
    key_watch_forget(&watch);
    redisFree(control);
}

static void what_may_be_over_is_looked_at(void **state)
{
    (void)state;
    looks(left(0, true, 10000), &lock, 9000);
    looks(left(0, true, 10000), &lock, 20000);
}

static void what_is_not_known_is_looked_at(void **state)
{
    const struct lock_key other = {.is_known = true, .name = "lock:2"};
    struct key_watch unknown = left(0, true, 10000000);
    (void)state;
    looks(left(0, true, 10000000), &other, 0);
    unknown.is_known = false;
    looks(unknown, &lock, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_taken_off_as_the_server_counts_it),
        cmocka_unit_test(what_never_ends_stays),
        cmocka_unit_test(what_may_be_over_is_looked_at),
        cmocka_unit_test(what_is_not_known_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
