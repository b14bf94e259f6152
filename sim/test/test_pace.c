/* test_pace.c - when a server's clock kept ours, and when it did not. */
#include "live/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MS = 1000, ERROR_US = 2 * MS };

/* Two looks, 1 s apart by our clock; the answer to the second took so long. */
static enum fail compare_at(int64_t gains_us, int64_t server_us, int64_t way_us,
                            struct failure *why)
{
    const struct pace then = {.server_us = 0, .before_us = 0, .after_us = 0};
    const struct pace now = {
        .server_us = server_us, .before_us = 1000 * MS, .after_us = 1000 * MS + way_us};
    memset(why, 0, sizeof *why);
    return pace_compare(&then, &now, gains_us, ERROR_US, why);
}

static enum fail compare(int64_t server_us, int64_t way_us, struct failure *why)
{
    return compare_at(0, server_us, way_us, why);
}

static void a_clock_that_keeps_ours(void **state)
{
    (void)state;
    struct failure why;
    assert_int_equal(compare(1000 * MS, 0, &why), FAIL_NONE);
    /* The clock error and 3 percent, to either side. */
    assert_int_equal(compare(1032 * MS, 0, &why), FAIL_NONE);
    assert_int_equal(compare(968 * MS, 0, &why), FAIL_NONE);
    /* Asked at 1 s, answered at 3 s: it may have looked at any time between. */
    assert_int_equal(compare(1000 * MS, 2000 * MS, &why), FAIL_NONE);
    assert_int_equal(compare(3000 * MS, 2000 * MS, &why), FAIL_NONE);
}

static void a_clock_that_does_not(void **state)
{
    (void)state;
    struct failure why;
    assert_int_equal(compare(500 * MS, 0, &why), FAIL_UNKNOWN);
    assert_non_null(strstr(why.text, "the server's clock ran at 0.50 of ours (500 ms in 1000 ms)"));
    assert_int_equal(compare(1033 * MS, 0, &why), FAIL_UNKNOWN);
    assert_non_null(strstr(why.text, "1.03 of ours"));
    assert_int_equal(compare(967 * MS, 0, &why), FAIL_UNKNOWN);
    assert_int_equal(compare(3200 * MS, 2000 * MS, &why), FAIL_UNKNOWN);
    assert_int_equal(compare(-250 * MS, 0, &why), FAIL_UNKNOWN);
    assert_non_null(strstr(why.text, "went back by 250 ms"));
}

/* One that is to gain a tenth does, and one that keeps ours has not drifted as it was to. */
static void a_clock_that_is_to_drift(void **state)
{
    (void)state;
    struct failure why;
    assert_int_equal(compare_at(100 * MS, 1100 * MS, 0, &why), FAIL_NONE);
    assert_int_equal(compare_at(-100 * MS, 900 * MS, 0, &why), FAIL_NONE);
    assert_int_equal(compare_at(50 * MS, 1050 * MS, 0, &why), FAIL_NONE);
    assert_int_equal(compare_at(50 * MS, 1000 * MS, 0, &why), FAIL_UNKNOWN);
    assert_int_equal(compare_at(-50 * MS, 1000 * MS, 0, &why), FAIL_UNKNOWN);
    assert_int_equal(compare_at(100 * MS, 900 * MS, 0, &why), FAIL_UNKNOWN);
    assert_non_null(strstr(why.text, "and was to drift otherwise"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_keeps_ours),
        cmocka_unit_test(a_clock_that_does_not),
        cmocka_unit_test(a_clock_that_is_to_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
