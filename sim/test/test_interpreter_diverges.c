/* test_interpreter_diverges.c - how the interpreter says where and why the world did not follow. */
#include "scenario/interpreter.h"

/* behind our headers: its macro fail() would spoil "enum fail (*apply)(..)" */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/scripted_world.h"

#include <stdlib.h>
#include <string.h>

static void divergences_say_where_and_what(void **state)
{
    (void)state;
    static const struct {
        const char *steps, *words;
    } rows[] = {
        {"A releases", "s.yaml:1:5: A releases: A does not hold the lock"},
        {"A acquires\nA acquires",
         "s.yaml:2:5: A acquires: A still holds the lock (its last operation: granted)"},
        {"A acquires\nA releases\nA writes", "s.yaml:3:5: A writes: A does not hold the lock"},
        {"A acquires, stalls before DEL", "s.yaml:1:5: A acquires, stalls before DEL: A went on to "
                                          "the end (granted) and no DEL came to stall before"},
        {"A acquires, stalls after the delete", "no delete came to stall after"},
        {"A acquires, stalls before SET\nA acquires",
         "A is stalled at its SET: let it go on first"},
        {"A acquires\nA writes, stalls before SET\nA releases", "A is stalled at its SET"},
        {"A goes on", "s.yaml:1:5: A goes on: A is not stalled"},
        {"A acquires\nA goes on", "A is not stalled"},
        {"A acquires, stalls before SET\nA goes on, stalls before SET",
         "no SET came to stall before"},
        {"A loses the request", "A is not stalled: there is no request to lose"},
        {"A acquires, stalls after SET\nA loses the request",
         "A's SET is executed: there is no request"},
        {"A acquires, stalls before SET\nA loses the reply",
         "A's SET is not executed yet: there is no reply"},
        {"A acquires, stalls before SET\nA loses the request\nA loses the request",
         "is lost already"},
        {"A acquires, stalls before SET\nA loses the request\nA goes on",
         "its SET at server 1 is lost: say 'A gives up' or 'A resends'"},
        {"A resends", "A has nothing lost to resend"},
        {"A acquires, stalls before SET\nA resends", "A has nothing lost to resend"},
        {"A gives up", "A has nothing in flight to give up on"},
        {"A acquires\nA renews", "A has no timer"},
        {"A crashes\nA acquires", "s.yaml:2:5: A acquires: A has crashed"},
        {"A crashes\nA crashes", "A has crashed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scripted_play *play = malloc(sizeof *play);
        assert_non_null(play);
        play_open(play, 1);
        cannot_follow(play, rows[i].steps, rows[i].words);
        free(play);
    }
}

/* Where the scenario expects something of the scheme, it was said that it can follow. */
static void of_a_scheme_that_is_spoken_of_it_is_unknown(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    struct expectation expectation = {.scheme = play->scheme};
    snprintf(expectation.name, sizeof expectation.name, "%s", play->scheme->name);
    play->scenario.expectations = &expectation;
    play->scenario.expectations_count = 1;
    diverges(play, "A releases", "s.yaml:1:5: A releases: A does not hold the lock");
    free(play);
}

static void what_the_world_refuses_is_unknown(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    diverges(play, "server evicts the lock",
             "s.yaml:1:5: server 1 evicts the lock: no lock key to evict");
    free(play);
}

static void an_attempt_that_never_returns(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.is_deaf = true;
    diverges(play, "A cannot reach server\nA acquires", "A waits for ever");
    free(play);
}

static void what_the_world_cannot_do(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.cannot = "its clock cannot be stepped";
    diverges(play, "server's clock jumps 1s",
             "s.yaml:1:5: server 1's clock jumps 1s: its clock cannot be stepped");
    assert_string_equal(play->choices, "");
    free(play);
}

static void timers_without_end(void **state)
{
    (void)state;
    struct scripted_play *play = malloc(sizeof *play);
    assert_non_null(play);
    play_open(play, 1);
    play->fake.period_us = 1;
    write_steps(play, "A acquires\ntime passes 100h");
    assert_int_equal(interpreter_run(&play->scenario, play->scheme, &play->fake.world,
                                     (struct choice_sink){0}, &play->failure),
                     FAIL_UNKNOWN);
    assert_non_null(strstr(play->failure.text, "choices, and no end"));
    free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divergences_say_where_and_what),
        cmocka_unit_test(of_a_scheme_that_is_spoken_of_it_is_unknown),
        cmocka_unit_test(what_the_world_refuses_is_unknown),
        cmocka_unit_test(an_attempt_that_never_returns),
        cmocka_unit_test(what_the_world_cannot_do),
        cmocka_unit_test(timers_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
