/* test_interpreter_simulated.c - the interpreter in the simulated world: what its steps come to
 * there. */
#include "scenario/interpreter.h"
#include "world/simulated.h"

/* behind our headers: its macro fail() would spoil "enum fail (*apply)(..)" */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/scripted_world.h"

#include <stdlib.h>
#include <string.h>

struct return_counts {
    int releases, grants, refusals;
};

static void count_event(void *context, const struct event *event)
{
    struct return_counts *trace = context;
    if (event->kind != EVENT_RETURN)
        return;
    trace->grants += event->result == RESULT_GRANTED;
    trace->refusals += event->result == RESULT_REFUSED;
    trace->releases += event->result == RESULT_RELEASED;
}

static struct return_counts simulate(struct scripted_play *play, const char *scheme_name,
                                     const char *steps)
{
    struct return_counts trace = {0};
    struct run run = {.scheme = scheme_named(scheme_name),
                      .clients = CLIENTS,
                      .servers = play->scenario.servers,
                      .names = names,
                      .seed = 1,
                      .sink = {.take = count_event, .context = &trace}};
    assert_non_null(run.scheme);
    run.lease_us = scheme_lease_us(run.scheme, LEASE_US);
    play->scheme = run.scheme;
    struct world *world = world_simulated_new(&run);
    write_steps(play, steps);
    if (run_steps(play, world))
        fail_msg("%s: %s", scheme_name, play->failure.text);
    world->ops->free(world);
    return trace;
}

/* STYLE's own example: the plain DEL lets C in beside B, compare-and-delete does not. */
static void the_double_delete_in_the_simulated_world(void **state)
{
    (void)state;
    static const char steps[] = "A acquires\nlease expires\nB acquires\nA releases\nC acquires";
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    struct return_counts naive = simulate(play, "set-nx-ex-del", steps);
    assert_int_equal(naive.grants, 3);
    assert_int_equal(naive.refusals, 0);
    struct return_counts safe = simulate(play, "set-nx-px-cad", steps);
    assert_int_equal(safe.grants, 2);
    assert_int_equal(safe.refusals, 1);
    free(play);
}

static void the_same_steps_make_the_same_schedule(void **state)
{
    (void)state;
    static const char steps[] = "A acquires\nA releases, stalls before the delete\nlease "
                                "expires\nB acquires\nA goes on\nC acquires";
    struct scripted_play *play = malloc(sizeof *play);
    char first[TEXT_MAX];
    assert_non_null(play);
    play_open(play, 1);
    struct return_counts trace = simulate(play, "set-nx-ex-get-del", steps);
    assert_int_equal(trace.grants, 3); /* the gap between GET and DEL */
    memcpy(first, play->choices, sizeof first);
    simulate(play, "set-nx-ex-get-del", steps);
    assert_string_equal(play->choices, first);
    free(play);
}

static void redlock_and_watchdog_in_the_simulated_world(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 5);
    struct return_counts trace =
        simulate(play, "redlock",
                 "A cannot reach server 1\nA acquires\nB acquires\nA releases\n"
                 "A can reach server 1\nB acquires");
    assert_int_equal(trace.grants, 2);
    assert_int_equal(trace.refusals, 1);
    play_open(play, 1);
    trace = simulate(play, "watchdog", "A acquires\ntime passes 3 leases\nB acquires");
    assert_int_equal(trace.grants, 1);
    assert_int_equal(trace.refusals, 1);
    trace = simulate(
        play, "watchdog",
        "A acquires\nA renews, stalls before compare-and-expire\nlease expires\nB acquires");
    assert_int_equal(trace.grants, 2);
    free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_double_delete_in_the_simulated_world),
        cmocka_unit_test(the_same_steps_make_the_same_schedule),
        cmocka_unit_test(redlock_and_watchdog_in_the_simulated_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
