/* Tests of which walks are chosen to be replayed (explore/search/walk_choice.h): always the same
 * ones, each once, those that make what none has made, until none does. */
#include "explore/search/long_walk.h"
#include "explore/search/walk_choice.h"

#include "test/explore_run.h"

enum { SEED = 1, DRAWS = 200, FEW = 4, LEASE_TICKS = 2 };

static bool goes_on(void *context)
{
    (void)context;
    return false;
}

static struct walk_choice *choose(struct trace_replayer *replayer, int fault, int draws)
{
    struct explore_options options = options_of("set-nx-px-cad", fault);
    options.clients = 2;
    options.lease_ticks = LEASE_TICKS;
    replayer_init(replayer, &options);
    return walk_choice_new(replayer, SEED, draws, goes_on, NULL);
}

static void forget(struct walk_choice *choice, struct trace_replayer *replayer)
{
    walk_choice_free(choice);
    replayer_close(replayer);
}

static void the_same_are_chosen_each_once_until_nothing_is_new(void **state)
{
    struct trace_replayer one, other;
    struct walk_choice *choice = choose(&one, FAULT_LOSE_REQUEST, DRAWS);
    struct walk_choice *again = choose(&other, FAULT_LOSE_REQUEST, DRAWS);
    bool is_chosen[DRAWS] = {false};
    int count = 0;
    (void)state;
    for (int at; (at = walk_choice_next(choice)) >= 0; count++) {
        assert_true(at < DRAWS && !is_chosen[at]);
        is_chosen[at] = true;
        assert_int_equal(walk_choice_next(again), at);
        walk_choice_made(choice);
        walk_choice_made(again);
    }
    assert_in_range(count, 2, DRAWS / 2);
    forget(choice, &one);
    forget(again, &other);
}

/* It did not come to its end: another one makes the same. */
static void what_was_not_made_is_new_still(void **state)
{
    struct trace_replayer replayer;
    struct walk_choice *choice = choose(&replayer, NONE, DRAWS);
    int made = 0, lost = 0;
    (void)state;
    while (walk_choice_next(choice) >= 0) {
        walk_choice_made(choice);
        made++;
    }
    forget(choice, &replayer);
    choice = choose(&replayer, NONE, DRAWS);
    while (walk_choice_next(choice) >= 0)
        lost++;
    assert_int_equal(lost, DRAWS);
    assert_true(made < lost);
    forget(choice, &replayer);
}

/* Which clients acquire behind an attempt that was refused, and one that failed: bits. */
static unsigned acquire_behind_both(struct trace_replayer *replayer, int stream)
{
    enum { OTHER, REFUSED, FAILED };
    int ends[EXPLORE_CLIENTS_MAX][2] = {{0}};
    struct long_walk walk;
    unsigned who = 0;
    long_walk_begin(&walk, SEED, (uint64_t)stream);
    replayer_start(replayer);
    for (int at; (at = long_walk_pick(&walk, replayer)) >= 0;) {
        const struct successor step = replayer->steps[at];
        const unsigned did = long_walk_did(replayer, &step);
        int *own = ends[step.client >= 0 ? step.client : 0];
        if (step.kind == ACTION_ACQUIRE && own[0] == REFUSED && own[1] == FAILED)
            who |= 1u << step.client;
        if (did & (DID_GRANT | DID_REFUSE | DID_RELEASE | DID_NOT_MINE | DID_RETURN)) {
            own[0] = own[1];
            own[1] = did & DID_REFUSE                                 ? REFUSED
                     : did & (DID_GRANT | DID_RELEASE | DID_NOT_MINE) ? OTHER
                                                                      : FAILED;
        }
        replayer_go(replayer, step.words);
    }
    return who;
}

static void few_that_are_chosen_make_what_as_many_by_chance_do_not(void **state)
{
    struct trace_replayer replayer;
    struct walk_choice *choice = choose(&replayer, FAULT_LOSE_REQUEST, DRAWS);
    unsigned chosen = 0, by_chance = 0;
    (void)state;
    for (int i = 0; i < FEW; i++) {
        chosen |= acquire_behind_both(&replayer, walk_choice_next(choice));
        walk_choice_made(choice);
        by_chance |= acquire_behind_both(&replayer, i);
    }
    assert_int_equal(chosen, 3);
    assert_int_not_equal(by_chance, 3);
    forget(choice, &replayer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_are_chosen_each_once_until_nothing_is_new),
        cmocka_unit_test(what_was_not_made_is_new_still),
        cmocka_unit_test(few_that_are_chosen_make_what_as_many_by_chance_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
