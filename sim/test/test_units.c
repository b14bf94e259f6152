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

static void test_what_is_no_whole_number_of_microseconds_is_refused(void **state)
{
    static const char *const bad[] = {
        "",         "s",          "1",          "1.s",    ".5s",     "1 s",  "1sx",    "1s ",
        " 1s",      "1x",         "0x1s",       "1e3s",   "--1s",    "1.5",  "1.2.3s", "0.5us",
        "0.0001ms", "1.0000001s", "0.0000001h", "100.1h", "-100.1h", "101h", "1,5s",
    };
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {{"+1s", 1000000},       {"-1.5ms", -1500},       {"0.5m", 30000000},
                {"1.000000s", 1000000}, {"1.5000000s", 1500000}, {"100h", 360000000000}};
    struct failure failure;
    int64_t us;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (units_read_duration(bad[i], &us, &failure) != FAIL_INPUT)
            fail_msg("'%s' is taken for %lld us", bad[i], (long long)us);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(units_read_duration(good[i].text, &us, &failure), FAIL_NONE);
        assert_int_equal(us, good[i].us);
    }
}

static void test_a_rate_is_read_to_the_millionth(void **state)
{
    static const char *const bad[] = {"",       "%",        "5",        "5 %",         "5%x",
                                      "-1%",    "+5%",      "5.%",      "0x1%",        "1e1%",
                                      "nan%",   "101%",     " 5%",      ".5%",         "5%%",
                                      "100.1%", "0.00001%", "0.12345%", "99999999999%"};
    static const struct {
        const char *text;
        uint32_t ppm;
    } good[] = {{"0%", 0}, {"0.0001%", 1}, {"5%", 50000}, {"12.5%", 125000}, {"100%", 1000000}};
    uint32_t ppm;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (units_read_rate(bad[i], &ppm))
            fail_msg("'%s' is taken for %u ppm", bad[i], (unsigned)ppm);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(units_read_rate(good[i].text, &ppm));
        assert_int_equal(ppm, good[i].ppm);
    }
}

static void test_a_rounded_duration_has_three_digits(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {
        {0, "0 us"},        {999, "999 us"},      {1000, "1 ms"},       {1234, "1.23 ms"},
        {262144, "262 ms"}, {999499, "999 ms"},   {999500, "1 s"}, /* not 1000 ms, nor 1e+03 ms */
        {7600000, "7.6 s"}, {999499999, "999 s"}, {999500000, "999 s"}, {3600000000, "3600 s"}};
    char text[UNITS_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(units_print_rounded(rows[i].us, text), rows[i].text);
}

static void test_one_of_a_thing_is_not_said_in_the_plural(void **state)
{
    (void)state;
    assert_string_equal(units_plural(0), "s");
    assert_string_equal(units_plural(1), "");
    assert_string_equal(units_plural(2), "s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_duration_is_printed_with_its_unit),
        cmocka_unit_test(test_what_is_printed_is_read_as_the_same),
        cmocka_unit_test(test_what_is_no_whole_number_of_microseconds_is_refused),
        cmocka_unit_test(test_a_rate_is_read_to_the_millionth),
        cmocka_unit_test(test_a_rounded_duration_has_three_digits),
        cmocka_unit_test(test_one_of_a_thing_is_not_said_in_the_plural),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
