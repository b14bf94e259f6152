/* test_carriers.c - a process that holds sockets, and ends: it is told, and why. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "proxy/carrier_parts.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static uv_loop_t loop;

static void tick(uv_timer_t *timer)
{
    (void)timer; /* the loop goes on: carriers alone do not keep it */
}

static struct carriers *two_of_them(uv_timer_t *ticks)
{
    struct carriers *carriers;
    struct failure why;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_timer_init(&loop, ticks), 0);
    assert_int_equal(uv_timer_start(ticks, tick, 1, 1), 0);
    assert_int_equal(carriers_start(&carriers, &loop, 2, &why), FAIL_NONE);
    assert_int_equal(carriers_check(carriers, &why), FAIL_NONE);
    return carriers;
}

static void end(struct carriers *carriers, uv_timer_t *ticks)
{
    (void)carriers_stop(carriers);
    uv_close((uv_handle_t *)ticks, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void waits_until_one_ends(const struct carriers *carriers, const char *words)
{
    struct failure why;
    while (!carriers_check(carriers, &why))
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_non_null(strstr(why.text, words));
    assert_int_equal(carriers_check(carriers, &why), FAIL_UNAVAILABLE); /* as often as asked */
}

static void one_that_is_killed_is_told_with_the_signal(void **state)
{
    uv_timer_t ticks;
    (void)state;
    struct carriers *carriers = two_of_them(&ticks);
    assert_int_equal(kill(carriers->rows[1].pid, SIGKILL), 0);
    waits_until_one_ends(carriers, "killed by signal 9");
    end(carriers, &ticks);
}

static void one_without_room_says_so(void **state)
{
    const struct rlimit few = {.rlim_cur = 6, .rlim_max = 6}; /* what it has open already */
    uv_timer_t ticks;
    uv_stream_t nobody = {0};
    int sockets[2];
    (void)state;
    struct carriers *carriers = two_of_them(&ticks);
    assert_int_equal(prlimit(carriers->rows[0].pid, RLIMIT_NOFILE, &few, NULL), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    struct carried_side *carried = carried_new(carriers, sockets[0], &nobody);
    assert_ptr_equal(carried->carrier, &carriers->rows[0]);
    assert_int_equal(carriers_used(carriers), 1);
    waits_until_one_ends(carriers, "ulimit -n");
    carried_close(carried, false);
    assert_int_equal(carriers_used(carriers), 0);
    assert_int_equal(close(sockets[0]) + close(sockets[1]), 0);
    end(carriers, &ticks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_killed_is_told_with_the_signal),
        cmocka_unit_test(one_without_room_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
