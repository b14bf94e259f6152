/* test_wakeup.c - the loop's wait ends at the microsecond that was asked for, and not before. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/monotonic.h"
#include "live/wakeup.h"

/* Other ends of a wait, which would come late. */
static void rings(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("the loop slept on");
}

struct bell {
    uv_loop_t loop;
    uv_timer_t late;
    struct wakeup wakeup;
};

static void bell_open(struct bell *bell)
{
    struct failure failure;
    assert_int_equal(uv_loop_init(&bell->loop), 0);
    assert_int_equal(uv_timer_init(&bell->loop, &bell->late), 0);
    assert_int_equal(uv_timer_start(&bell->late, rings, 60000, 0), 0);
    assert_int_equal(wakeup_open(&bell->wakeup, &bell->loop, &failure), FAIL_NONE);
}

static void bell_shut(struct bell *bell)
{
    wakeup_shut(&bell->wakeup);
    uv_close((uv_handle_t *)&bell->late, NULL);
    assert_int_equal(uv_run(&bell->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&bell->loop), 0);
}

static void a_wait_ends_when_it_was_asked_to(void **state)
{
    static const int64_t waits_us[] = {1, 50, 700, 1300, 5000};
    struct bell bell = {0};
    (void)state;
    bell_open(&bell);
    for (size_t i = 0; i < sizeof waits_us / sizeof waits_us[0]; i++) {
        const int64_t due_us = monotonic_us() + waits_us[i];
        wakeup_by(&bell.wakeup, due_us);
        (void)uv_run(&bell.loop, UV_RUN_ONCE);
        assert_true(monotonic_us() >= due_us);
    }
    wakeup_by(&bell.wakeup, monotonic_us() - 1); /* it is past */
    (void)uv_run(&bell.loop, UV_RUN_ONCE);
    bell_shut(&bell);
}

static void the_earliest_that_was_asked_for_counts(void **state)
{
    struct bell bell = {0};
    (void)state;
    bell_open(&bell);
    const int64_t now_us = monotonic_us(), far_us = now_us + 3600000000, near_us = now_us + 800;
    wakeup_by(&bell.wakeup, far_us);
    wakeup_by(&bell.wakeup, near_us);
    wakeup_by(&bell.wakeup, far_us);
    (void)uv_run(&bell.loop, UV_RUN_ONCE);
    assert_true(monotonic_us() >= near_us && monotonic_us() < far_us);
    wakeup_by(&bell.wakeup, near_us + 2000); /* behind one that has rung */
    (void)uv_run(&bell.loop, UV_RUN_ONCE);
    assert_true(monotonic_us() >= near_us + 2000);
    bell_shut(&bell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_ends_when_it_was_asked_to),
        cmocka_unit_test(the_earliest_that_was_asked_for_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
