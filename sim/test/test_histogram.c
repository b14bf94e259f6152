/* test_histogram.c - percentiles against sorted values, and the promised error. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/histogram.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

static struct histogram histogram;

static int begin(void **state)
{
    (void)state;
    memset(&histogram, 0, sizeof histogram);
    return 0;
}

static void empty_is_zero(void **state)
{
    (void)state;
    assert_int_equal(histogram_at(&histogram, 500), 0);
    assert_int_equal(histogram.max, 0);
}

static void small_values_are_exact(void **state)
{
    (void)state;
    for (int i = 1; i <= 100; i++)
        histogram_add(&histogram, i);
    assert_int_equal(histogram_at(&histogram, 1), 1); /* a tenth of a value rounds up to one */
    assert_int_equal(histogram_at(&histogram, 500), 50);
    assert_int_equal(histogram_at(&histogram, 990), 99);
    assert_int_equal(histogram_at(&histogram, 999), 100);
    assert_int_equal(histogram_at(&histogram, 1000), 100);
}

/* One value alone: every percentile is it, to 1 in 128, wherever it lies. */
static void every_size_is_within_the_error(void **state)
{
    (void)state;
    for (int bits = 0; bits < 63; bits++) {
        int64_t value = (INT64_C(1) << bits) + (INT64_C(1) << bits) / 3;
        begin(NULL);
        histogram_add(&histogram, value);
        histogram_add(&histogram, INT64_MAX); /* so that the largest does not stand in for it */
        int64_t told = histogram_at(&histogram, 500);
        int64_t wrong = told > value ? told - value : value - told;
        assert_true(wrong <= value / 128);
    }
}

static void extremes_count(void **state)
{
    (void)state;
    histogram_add(&histogram, -5);
    assert_int_equal(histogram_at(&histogram, 1000), 0);
    histogram_add(&histogram, INT64_MAX);
    assert_true(histogram.max == INT64_MAX);
    assert_int_equal(histogram.count, 2);
}

static int by_size(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void agrees_with_sorted_values(void **state)
{
    (void)state;
    enum { VALUES = 10007 };
    static int64_t values[VALUES];
    struct random random = {.seed = 1};
    for (int i = 0; i < VALUES; i++) {
        values[i] = (int64_t)random_below(&random, UINT64_C(1) << (1 + random_below(&random, 30)));
        histogram_add(&histogram, values[i]);
    }
    qsort(values, VALUES, sizeof *values, by_size);
    const int asked[] = {1, 10, 500, 900, 990, 999, 1000};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        int64_t rank = ((int64_t)VALUES * asked[i] + 999) / 1000;
        int64_t exact = values[rank - 1], told = histogram_at(&histogram, asked[i]);
        assert_true(llabs(told - exact) <= exact / 128);
    }
    assert_int_equal(histogram.max, values[VALUES - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(empty_is_zero, begin),
        cmocka_unit_test_setup(small_values_are_exact, begin),
        cmocka_unit_test_setup(every_size_is_within_the_error, begin),
        cmocka_unit_test_setup(extremes_count, begin),
        cmocka_unit_test_setup(agrees_with_sorted_values, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
