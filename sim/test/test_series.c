/* test_series.c - a stress run over its time: nothing that is counted gets lost where parts are
 * joined, and each length stands in its step. */
#include "base/memory.h"
#include "run/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct history_head head;
static struct checks *checks;
static struct series_recorder *recorder;

static int opens(void **state)
{
    (void)state;
    head = (struct history_head){.clients = 2, .servers = 1, .locks = 1, .lease_us = 1000000};
    head.names = memory_new(2, NAME_MAX_BYTES);
    strcpy(head.scheme, "set-nx-px-cad");
    checks = checks_new(&head);
    recorder = series_recorder_new(2, checks);
    return 0;
}

static int closes(void **state)
{
    (void)state;
    series_recorder_free(recorder);
    checks_free(checks);
    free(head.names);
    return 0;
}

static void take(enum event_kind kind, enum operation op, enum result result, int64_t time_us)
{
    const struct event event = {.kind = kind, .op = op, .result = result, .time_us = time_us};
    checks_event(checks, &event);
    series_event(recorder, &event);
}

/* An attempt that waits 300 us, is granted or not, and holds for 5 ms. */
static void attempt(int64_t from_us, bool is_granted)
{
    take(EVENT_CALL, OP_ACQUIRE, RESULT_NONE, from_us);
    take(EVENT_RETURN, OP_ACQUIRE, is_granted ? RESULT_GRANTED : RESULT_REFUSED, from_us + 300);
    if (!is_granted)
        return;
    take(EVENT_CALL, OP_RELEASE, RESULT_NONE, from_us + 5300);
    take(EVENT_RETURN, OP_RELEASE, RESULT_RELEASED, from_us + 5400);
}

static void each_length_has_its_step(void **state)
{
    (void)state;
    assert_int_equal(series_step(-1), 0);
    assert_int_equal(series_step(0), 0);
    assert_int_equal(series_step(1), 0);
    assert_int_equal(series_step(2), 1);
    assert_int_equal(series_step(1023), 9);
    assert_int_equal(series_step(1024), 10);
    assert_int_equal(series_step(INT64_MAX), SERIES_STEPS - 1);
}

static void what_happened_stands_in_its_part(void **state)
{
    (void)state;
    struct series series;
    attempt(0, true);
    attempt(250000, false);
    take(EVENT_FAULT, OP_ACQUIRE, RESULT_NONE, 250100);
    series_fill(recorder, &series);
    assert_int_equal(series.part_us, 100000);
    assert_int_equal(series.parts_count, 3);
    assert_int_equal(series.parts[0].operations, 2);
    assert_int_equal(series.parts[0].grants, 1);
    assert_int_equal(series.parts[1].operations, 0);
    assert_int_equal(series.parts[2].operations, 1);
    assert_int_equal(series.parts[2].grants, 0);
    assert_int_equal(series.parts[2].faults, 1);
    assert_in_range(series.parts[0].p99_us, 297, 303);
    assert_int_equal(series.parts[1].p99_us, 0);
    assert_int_equal(series.waits[8], 2);  /* 256 .. 511 us */
    assert_int_equal(series.holds[12], 1); /* 4096 .. 8191 us */
    assert_int_equal(series.holders[0], 1);
    assert_int_equal(series.held_us[0], 5000);
    assert_int_equal(series.holders[2], 0);
}

static void who_holds_on_does_so_in_each_part(void **state)
{
    (void)state;
    struct series series;
    take(EVENT_CALL, OP_ACQUIRE, RESULT_NONE, 90000);
    take(EVENT_RETURN, OP_ACQUIRE, RESULT_GRANTED, 95000);
    take(EVENT_CALL, OP_RELEASE, RESULT_NONE, 320000);
    series_fill(recorder, &series);
    const int64_t held_us[] = {5000, 100000, 100000, 20000};
    assert_int_equal(series.parts_count, 4);
    assert_memory_equal(series.held_us, held_us, sizeof held_us);
    for (int i = 0; i < 4; i++)
        assert_int_equal(series.holders[i], 1);
}

/* Longer than there are parts: they are joined while it goes on. */
static void a_hold_outlasts_all_parts(void **state)
{
    (void)state;
    struct series series;
    int64_t held_us = 0;
    take(EVENT_CALL, OP_ACQUIRE, RESULT_NONE, 0);
    take(EVENT_RETURN, OP_ACQUIRE, RESULT_GRANTED, 1000);
    take(EVENT_CALL, OP_RELEASE, RESULT_NONE, 3600000000);
    series_fill(recorder, &series);
    for (int i = 0; i < series.parts_count; i++) {
        held_us += series.held_us[i];
        assert_int_equal(series.holders[i], 1);
        assert_true(series.held_us[i] <= series.part_us);
        assert_in_range(series.memory_kb[i], 1, 1 << 20); /* also where nothing happened */
    }
    assert_int_equal(held_us, 3600000000 - 1000);
}

/* A day of one attempt a second: parts are joined, and all are still there. */
static void a_long_run_loses_nothing(void **state)
{
    (void)state;
    struct series series;
    int64_t operations = 0, grants = 0, held_us = 0;
    enum { DAY_S = 24 * 3600 };
    for (int64_t i = 0; i < DAY_S; i++)
        attempt(i * 1000000, i % 2 == 0);
    series_fill(recorder, &series);
    assert_in_range(series.parts_count, SERIES_PARTS_MAX / 2, SERIES_PARTS_MAX);
    assert_true(series.parts_count * series.part_us >= (int64_t)(DAY_S - 1) * 1000000);
    for (int i = 0; i < series.parts_count; i++) {
        operations += series.parts[i].operations;
        grants += series.parts[i].grants;
        held_us += series.held_us[i];
        assert_int_equal(series.holders[i], 1);
        assert_in_range(series.parts[i].p50_us, 297, 303);
        assert_in_range(series.memory_kb[i], 1, 1 << 20);
    }
    assert_int_equal(grants, DAY_S / 2);
    assert_int_equal(held_us, (int64_t)DAY_S / 2 * 5000);
    assert_int_equal(operations, DAY_S / 2 * 3);
    assert_int_equal(series.waits[8], DAY_S);
    assert_int_equal(series.holds[12], DAY_S / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_length_has_its_step),
        cmocka_unit_test_setup_teardown(what_happened_stands_in_its_part, opens, closes),
        cmocka_unit_test_setup_teardown(who_holds_on_does_so_in_each_part, opens, closes),
        cmocka_unit_test_setup_teardown(a_hold_outlasts_all_parts, opens, closes),
        cmocka_unit_test_setup_teardown(a_long_run_loses_nothing, opens, closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
