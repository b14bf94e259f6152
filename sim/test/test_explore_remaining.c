/* test_explore_remaining.c - what a search says that it still has to do, held to what it then did.
 */
#include "explore/search/remaining.h"
#include "test/explore_run.h"

#include <stdlib.h>
#include <string.h>

/* --- a curve by itself --- */

static void a_curve_that_rises_says_nothing(void **state)
{
    (void)state;
    struct remaining remaining = {0};
    double states = 1000;
    for (int i = 0; i < 60; i++, states *= 1.25) {
        remaining_add(&remaining, (uint64_t)states);
        assert_false(remaining.is_guess);
    }
}

static void one_that_falls_evenly_has_a_sum(void **state)
{
    (void)state;
    struct remaining remaining = {0};
    double states = 1e6;
    for (int i = 0; i < 40; i++, states *= 0.9)
        remaining_add(&remaining, (uint64_t)states);
    assert_true(remaining.is_guess);
    const double rest = states / (1 - 0.9);
    assert_true((double)remaining.below > 0.9 * rest && (double)remaining.below < 1.1 * rest);
}

/* --- searches --- */

enum { TOLD_MAX = 4096 };

static struct {
    struct explore_progress told[TOLD_MAX];
    int count;
} heard;

static void hear(void *context, const struct explore_progress *progress)
{
    (void)context;
    assert_true(heard.count < TOLD_MAX);
    heard.told[heard.count++] = *progress;
}

/* Of a cell; its main search comes first and is its largest. */
static uint64_t search_all(const char *scheme, int fault, int clients, int rounds,
                           uint64_t states_max, uint64_t bytes_max)
{
    struct explore_options options = options_of(scheme, fault);
    struct explore_outcome outcome;
    options.clients = clients;
    options.rounds = rounds;
    options.states_max = states_max;
    options.bytes_max = bytes_max;
    options.watch = hear;
    heard.count = 0;
    run(&options, &outcome);
    const uint64_t states = outcome.states;
    explore_outcome_free(&outcome);
    for (int i = 1; i < heard.count; i++)
        if (heard.told[i].states < heard.told[i - 1].states)
            heard.count = i; /* here another search begins */
    return states;
}

/* "At least" is never more than what came, and all that is known for sure; behind the half of a
 * search nearly every guess is right by a factor of two. */
static void what_is_left_is_told_truly(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int fault, clients, rounds;
    } searched[] = {
        {"fenced", FAULT_LATE_REPLY, 4, 3},
        {"set-nx-px-cad", FAULT_STALL, 4, 5},
        {"set-nx-ex-get-del", FAULT_RESEND, 4, 4},
        {"watch-multi-del", FAULT_EVICT, 4, 3},
        {"set-nx-px-cad", NONE, 6, 4},
    };
    int guesses = 0, near = 0, late = 0;
    for (size_t i = 0; i < sizeof searched / sizeof *searched; i++) {
        const uint64_t all = search_all(searched[i].scheme, searched[i].fault, searched[i].clients,
                                        searched[i].rounds, 0, 0);
        for (int j = 0; j < heard.count; j++) {
            const struct explore_progress *told = &heard.told[j];
            const uint64_t left = all - told->looked_at;
            assert_true(told->states <= all && told->looked_at <= told->states);
            if (!told->is_guess) {
                assert_in_range(told->left, 0, left);
                assert_int_equal(told->left, told->states - told->looked_at);
                continue;
            }
            assert_true(told->left >= told->states - told->looked_at);
            if (2 * told->looked_at < all || 20 * left < all)
                continue;
            late++;
            near += 2 * told->left >= left && told->left <= 2 * left;
        }
        for (int j = 0; j < heard.count; j++)
            guesses += heard.told[j].is_guess;
    }
    assert_true(guesses > 100 && late > 50);
    assert_true(10 * near >= 9 * late);
}

/* What a limit leaves no room for does not count. */
static void no_more_is_left_than_there_is_room_for(void **state)
{
    (void)state;
    enum { ROOM = 200000 };
    (void)search_all("fenced", FAULT_LATE_REPLY, 4, 3, ROOM, 0);
    int guesses = 0;
    for (int j = 0; j < heard.count; j++) {
        const struct explore_progress *told = &heard.told[j];
        guesses += told->is_guess;
        assert_true(told->looked_at + told->left <= (told->states > ROOM ? told->states : ROOM));
    }
    assert_true(guesses > 0);
}

/* Where the memory is spent nothing more is looked at, however much the curve has in sight. */
static void nothing_is_left_where_the_memory_is_spent(void **state)
{
    (void)state;
    enum { BYTES = 12000000 };
    (void)search_all("fenced", FAULT_LATE_REPLY, 4, 3, 0, BYTES);
    assert_true(heard.count > 0);
    const struct explore_progress *last = &heard.told[heard.count - 1];
    assert_true(last->is_guess);
    assert_int_equal(last->left, last->states - last->looked_at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_that_rises_says_nothing),
        cmocka_unit_test(one_that_falls_evenly_has_a_sum),
        cmocka_unit_test(what_is_left_is_told_truly),
        cmocka_unit_test(no_more_is_left_than_there_is_room_for),
        cmocka_unit_test(nothing_is_left_where_the_memory_is_spent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
