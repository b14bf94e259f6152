/* test_timers.c - the timer heap against the plain rule: earliest first, equal times in the order
 * of pushing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/timers.h"

static void empty_heap_has_nothing_due(void **state)
{
    (void)state;
    struct timers timers;
    timers_init(&timers);
    assert_true(timers_next_us(&timers) == INT64_MAX);
    assert_null(timers_pop(&timers, INT64_MAX));
    timers_close(&timers);
}

static void nothing_rings_before_its_time(void **state)
{
    (void)state;
    struct timers timers;
    struct timer timer = {0};
    timers_init(&timers);
    timers_push(&timers, &timer, 100);
    assert_true(timer_is_set(&timer));
    assert_int_equal(timers_next_us(&timers), 100);
    assert_null(timers_pop(&timers, 99));
    assert_ptr_equal(timers_pop(&timers, 100), &timer);
    assert_false(timer_is_set(&timer));
    assert_null(timers_pop(&timers, 100));
    timers_close(&timers);
}

static void equal_times_ring_in_order(void **state)
{
    (void)state;
    struct timers timers;
    struct timer all[100] = {0};
    timers_init(&timers);
    for (int i = 0; i < 100; i++)
        timers_push(&timers, &all[i], 7);
    for (int i = 0; i < 100; i++)
        assert_ptr_equal(timers_pop(&timers, 7), &all[i]);
    timers_close(&timers);
}

static void pushing_again_moves(void **state)
{
    (void)state;
    struct timers timers;
    struct timer a = {0}, b = {0};
    timers_init(&timers);
    timers_push(&timers, &a, 10);
    timers_push(&timers, &b, 20);
    timers_push(&timers, &a, 30);
    assert_int_equal(timers.count, 2);
    assert_ptr_equal(timers_pop(&timers, 100), &b);
    assert_ptr_equal(timers_pop(&timers, 100), &a);
    timers_remove(&timers, &a); /* not in it: nothing happens */
    assert_int_equal(timers.count, 0);
    timers_close(&timers);
}

/* The plain rule, by looking at all of them. */
static struct timer *earliest(struct timer *all, const int *pushed, int count)
{
    struct timer *first = NULL;
    for (int i = 0; i < count; i++)
        if (timer_is_set(&all[i]) &&
            (!first || all[i].due_us < first->due_us ||
             (all[i].due_us == first->due_us && pushed[i] < pushed[first - all])))
            first = &all[i];
    return first;
}

static void agrees_with_the_plain_rule(void **state)
{
    (void)state;
    enum { TIMERS = 200, MOVES = 20000 };
    struct timers timers;
    static struct timer all[TIMERS];
    int pushed[TIMERS] = {0}; /* in the how-manieth move */
    struct random random = {.seed = 1};
    timers_init(&timers);
    for (int i = 0; i < MOVES; i++) {
        struct timer *one = &all[random_below(&random, TIMERS)];
        switch (random_below(&random, 4)) {
        case 0:
            timers_remove(&timers, one);
            assert_false(timer_is_set(one));
            break;
        case 1: {
            int64_t now_us = (int64_t)random_below(&random, 1000);
            struct timer *expected = earliest(all, pushed, TIMERS);
            if (expected && expected->due_us > now_us)
                expected = NULL;
            assert_ptr_equal(timers_pop(&timers, now_us), expected);
            break;
        }
        default:
            pushed[one - all] = i;
            timers_push(&timers, one, (int64_t)random_below(&random, 1000));
            break;
        }
        struct timer *next = earliest(all, pushed, TIMERS);
        assert_true(timers_next_us(&timers) == (next ? next->due_us : INT64_MAX));
    }
    timers_close(&timers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_heap_has_nothing_due),
        cmocka_unit_test(nothing_rings_before_its_time),
        cmocka_unit_test(equal_times_ring_in_order),
        cmocka_unit_test(pushing_again_moves),
        cmocka_unit_test(agrees_with_the_plain_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
