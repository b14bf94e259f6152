/* test_ungranted.c - the longest time in which nobody had a lock, nor was granted one: what ends
 * it, what counts, and when it is worth telling. */
#include "run/ungranted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LEASE_US = 100 };

static void returns(struct ungranted *ungranted, int64_t time_us, enum result result,
                    int64_t holders)
{
    const struct event event = {
        .kind = EVENT_RETURN, .op = OP_ACQUIRE, .result = result, .time_us = time_us};
    ungranted_event(ungranted, &event, holders);
}

/* Its last holder gives it back. */
static void releases(struct ungranted *ungranted, int64_t time_us)
{
    const struct event call = {.kind = EVENT_CALL, .op = OP_RELEASE, .time_us = time_us};
    ungranted_event(ungranted, &call, 0);
}

static void attempts(struct ungranted *ungranted, int64_t from_us, int64_t every_us, int count,
                     int64_t holders)
{
    for (int i = 0; i < count; i++)
        returns(ungranted, from_us + i * every_us, i % 2 ? RESULT_FAILED : RESULT_REFUSED, holders);
}

static void the_longest_is_kept(void **state)
{
    (void)state;
    struct ungranted seen = {0};
    returns(&seen, 100, RESULT_GRANTED, 1);
    releases(&seen, 1000);
    attempts(&seen, 1100, 100, 9, 0);
    returns(&seen, 2000, RESULT_GRANTED, 1);
    releases(&seen, 2500);
    attempts(&seen, 2600, 100, 7, 0);
    assert_int_equal(seen.longest.from_us, 1000);
    assert_int_equal(seen.longest.until_us, 1900);
    assert_int_equal(seen.longest.attempts, 9);
    assert_true(ungranted_is_long(&seen.longest, LEASE_US));
    assert_false(ungranted_is_long(&seen.longest, 10 * LEASE_US));
}

static void a_hold_is_none(void **state)
{
    (void)state;
    struct ungranted seen = {0};
    returns(&seen, 100, RESULT_GRANTED, 1);
    attempts(&seen, 200, 100, 900, 1);
    assert_int_equal(seen.longest.attempts, 0);
    releases(&seen, 90200);
    attempts(&seen, 90300, 10, 9, 0);
    assert_int_equal(seen.longest.attempts, 9);
    assert_false(ungranted_is_long(&seen.longest, LEASE_US));
}

/* Nobody asks: nothing is missing. One that asks now and then says little. */
static void few_attempts_are_none(void **state)
{
    (void)state;
    struct ungranted seen = {0};
    attempts(&seen, 10000, 10000, 4, 0);
    assert_false(ungranted_is_long(&seen.longest, LEASE_US));
    attempts(&seen, 50000, 10000, 1, 0);
    assert_true(ungranted_is_long(&seen.longest, LEASE_US));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_is_kept),
        cmocka_unit_test(a_hold_is_none),
        cmocka_unit_test(few_attempts_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
