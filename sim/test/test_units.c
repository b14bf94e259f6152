/* test_units.c - durations as text: what is printed is read back as the same, to the last us. */
#include "base/random.h"
#include "base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_a_duration_is_printed_with_its_unit(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {
        {0, "0us"},
        {1, "1us"},
        {999, "999us"},
        {1000, "1ms"},
        {1500, "1.5ms"},
        {1005, "1.005ms"},
        {250000, "250ms"},
        {999999, "999.999ms"},
        {1000000, "1s"},
        {1000001, "1.000001s"},
        {1050000, "1.05s"},
        {10000000, "10s"},
        {-1, "-1us"},
        {-1050, "-1.05ms"},
        {3600000000, "3600s"},
        {INT64_MAX, "9223372036854.775807s"},
        {INT64_MIN, "-9223372036854.775808s"},
    };
    char text[UNITS_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(units_print_duration(rows[i].us, text), rows[i].text);
}

static void test_what_is_printed_is_read_as_the_same(void **state)
{
    struct random random = {.seed = 1};
    char text[UNITS_TEXT_MAX];
    (void)state;
    for (int i = 0; i < 100000; i++) {
        int64_t us = (int64_t)(random_next(&random) >> (29 + random_below(&random, 35))), again = 0;
        struct failure failure;
        us = random_below(&random, 2) ? us : -us;
        assert_int_equal(units_read_duration(units_print_duration(us, text), &again, &failure),
                         FAIL_NONE);
        assert_int_equal(again, us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_duration_is_printed_with_its_unit),
        cmocka_unit_test(test_what_is_printed_is_read_as_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
