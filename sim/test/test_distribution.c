/* test_distribution.c - lengths that are drawn: what is read, and whether draws have the bounds and
 * the means that they are to have. */
#include "base/distribution.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { HOUR_S = 3600, DRAWS = 100000 };
static const int64_t most_us = (int64_t)HOUR_S * 1000000;

static struct distribution read(const char *text)
{
    struct distribution made;
    struct failure why = {0};
    if (distribution_read(text, most_us, &made, &why))
        fail_msg("%s: %s", text, why.text);
    return made;
}

static void each_form_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct distribution means;
    } rows[] = {{"5ms", {DISTRIBUTION_CONSTANT, 5000, 0}},
                {"0us", {DISTRIBUTION_CONSTANT, 0, 0}},
                {"2ms..8ms", {DISTRIBUTION_UNIFORM, 2000, 8000}},
                {"0us..90s", {DISTRIBUTION_UNIFORM, 0, 90000000}},
                {"exponential:5ms", {DISTRIBUTION_EXPONENTIAL, 5000, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct distribution made = read(rows[i].text), *means = &rows[i].means;
        assert_int_equal(made.kind, means->kind);
        assert_int_equal(made.from_us, means->from_us);
        if (made.kind == DISTRIBUTION_UNIFORM)
            assert_int_equal(made.to_us, means->to_us);
    }
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {{"5", "no unit"},
                {"", ""},
                {"8ms..2ms", "ends before it begins"},
                {"1ms..", ""},
                {"..1ms", ""},
                {"1ms..2ms..3ms", ""},
                {"-1ms", "wants 0us to 3600s"},
                {"2h", "wants 0us to 3600s"},
                {"exponential:", ""},
                {"exponential:1ms..2ms", ""},
                {"even:1ms", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct distribution made;
        struct failure why = {0};
        assert_int_equal(distribution_read(rows[i].text, most_us, &made, &why), FAIL_INPUT);
        assert_non_null(strstr(why.text, rows[i].says));
        assert_true(why.text[0] != '\0');
    }
}

struct drawn {
    int64_t mean, least, most, below_mean;
};

static struct drawn draw(const char *text, int64_t mean_us)
{
    const struct distribution made = read(text);
    struct drawn drawn = {.least = INT64_MAX};
    int64_t sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const int64_t us = distribution_at(&made, random_at(1, 2, i));
        sum += us;
        drawn.least = us < drawn.least ? us : drawn.least;
        drawn.most = us > drawn.most ? us : drawn.most;
        drawn.below_mean += us < mean_us;
    }
    drawn.mean = sum / DRAWS;
    return drawn;
}

/* Of 100 000 draws a mean lies within 1 % (three standard errors of an exponential one). */
static void draws_have_their_bounds_and_means(void **state)
{
    (void)state;
    const struct drawn constant = draw("7ms", 7000), even = draw("2ms..8ms", 5000);
    const struct drawn steep = draw("exponential:5ms", 5000);
    assert_true(constant.least == 7000 && constant.most == 7000);
    assert_true(even.least >= 2000 && even.least < 2100 && even.most <= 8000 && even.most > 7900);
    assert_in_range(even.mean, 4950, 5050);
    assert_in_range(even.below_mean, DRAWS * 49 / 100, DRAWS * 51 / 100);
    assert_in_range(steep.mean, 4950, 5050);
    /* 1 - 1/e = 63.2 % of them are shorter than the mean, one in 100 000 longer than 11.5 means */
    assert_in_range(steep.below_mean, DRAWS * 622 / 1000, DRAWS * 642 / 1000);
    assert_true(steep.least < 10 && steep.most > 8 * 5000);
}

static void the_rarest_draws_have_a_length(void **state)
{
    (void)state;
    const struct distribution steep = read("exponential:1h");
    assert_int_equal(distribution_at(&steep, UINT64_MAX), 0);
    const int64_t longest_us = distribution_at(&steep, 0); /* ln 2^64 = 44.36 */
    assert_true(longest_us > 44 * most_us && longest_us < 45 * most_us);
    const struct distribution none = {0};
    assert_int_equal(distribution_at(&none, 12345), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_is_read),
        cmocka_unit_test(what_is_none_is_refused),
        cmocka_unit_test(draws_have_their_bounds_and_means),
        cmocka_unit_test(the_rarest_draws_have_a_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
