/* test_sleep.c - what a search does not look up changes nothing of what it finds. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/near.h"
#include "explore/search.h"
#include "test/breadth_first.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static struct explore_options options_of(int scheme, int fault, enum section section)
{
    struct explore_options options = {.scheme = schemes[scheme],
                                      .clients = 3,
                                      .rounds = 2,
                                      .servers = 1,
                                      .lease_ticks = 2,
                                      .section = section,
                                      .skips_progress = true};
    options.budget[fault]++;
    return options;
}

/* --- searches --- */

static void run(struct search *search, const struct explore_options *options, bool has_sleep)
{
    search_init(search, options);
    search->has_sleep &= has_sleep;
    search_run(search);
}

static void compare(const struct search *plain, const struct search *with_sleep)
{
    /* Where one may be wrong, each state is looked at. */
    bool has_sleep = with_sleep->has_sleep && !with_sleep->space.can_states_be_wrong;
    assert_int_equal(plain->slept, 0);
    assert_int_equal(with_sleep->slept > 0, has_sleep);
    assert_int_equal(plain->end, with_sleep->end);
    assert_int_equal(plain->visited.count, with_sleep->visited.count);
    assert_int_equal(plain->transitions, with_sleep->transitions);
    assert_int_equal(plain->depth, with_sleep->depth);
    assert_memory_equal(plain->sightings, with_sleep->sightings, sizeof plain->sightings);
    for (uint32_t i = 0; i < plain->visited.count; i++)
        assert_int_equal(visited_parent(&plain->visited, i),
                         visited_parent(&with_sleep->visited, i));
    for (uint32_t i = 0; i < plain->visited.count && plain->visited.has_full_states; i++)
        assert_memory_equal(visited_words(&plain->visited, i),
                            visited_words(&with_sleep->visited, i),
                            (size_t)plain->visited.words * sizeof(uint32_t));
}

/* Returns whether anything slept. */
static bool compare_searches(const struct explore_options *options)
{
    struct search plain, with_sleep;
    run(&plain, options, false);
    run(&with_sleep, options, true);
    compare(&plain, &with_sleep);
    bool has_slept = with_sleep.slept > 0;
    search_close(&plain);
    search_close(&with_sleep);
    return has_slept;
}

enum { STATES = 10000 };

static void the_same_states_from_the_same_parents(void **state)
{
    (void)state;
    for (int i = 0; i < schemes_count; i++) {
        for (int fault = 0; fault < FAULT_COUNT; fault++) {
            enum section section = fault % 2 ? SECTION_COUNTER : SECTION_NOTHING;
            struct explore_options options = options_of(i, fault, section);
            options.budget[FAULT_STALL]++;
            options.states_max = STATES;
            options.has_full_states = fault % 3 == 0;
            compare_searches(&options);
        }
    }
}

static void nothing_sleeps_where_more_than_states_is_asked_for(void **state)
{
    (void)state;
    struct explore_options options = options_of(0, FAULT_STALL, SECTION_NOTHING);
    options.scheme = scheme_named("set-nx-px-cad");
    assert_true(compare_searches(&options));
    options.skips_progress = false;
    assert_false(compare_searches(&options));
    options.skips_progress = true;
    for (unsigned reductions = 1; reductions <= REDUCE_ALL; reductions++) {
        options.reductions = reductions;
        assert_false(compare_searches(&options));
    }
    options.reductions = 0;
    /* There is no room for it: records have four words, and eight. */
    for (int clients = 1; clients <= 5; clients++) {
        options.clients = clients;
        options.rounds = clients > 4 ? 1 : 2;
        assert_int_equal(compare_searches(&options), clients == 3 || clients == 4);
    }
}

/* --- moves that commute --- */

struct stage {
    struct breadth breadth;
    int clients, pairs[HEIR_OTHER + 1];
};

static void take(void *context, const struct step_taken *step)
{
    struct stage *stage = context;
    breadth_put(&stage->breadth, step->words);
}

static const struct heir_list *list_of(struct stage *stage, const uint32_t *words, int client)
{
    const struct heir_key key = {words[client], words[stage->clients], client};
    return heirs_of(&stage->breadth.space.heirs, &stage->breadth.space, key);
}

/* Of that client, from there; words become what it leads to. */
static struct heir make(struct stage *stage, uint32_t *words, int client, int move)
{
    const struct heir_list *list = list_of(stage, words, client);
    assert_true(move < list->counts[HEIR_RICH]);
    struct heir heir = stage->breadth.space.heirs.heirs[list->start + (uint32_t)move];
    words[client] = heir.local;
    words[stage->clients] = heir.post;
    return heir;
}

static void same_move(const struct heir *one, const struct heir *other)
{
    assert_int_equal(one->local, other->local);
    assert_int_equal(one->kind, other->kind);
    assert_int_equal(one->class, other->class);
}

/* a of client i and b of client j, if they are said to commute. */
static void compare_orders(struct stage *stage, const uint32_t *words, int i, int a, int j, int b)
{
    uint32_t first[WORDS_MAX], second[WORDS_MAX];
    memcpy(first, words, sizeof first);
    memcpy(second, words, sizeof second);
    struct heir b_first = make(stage, first, j, b), a_first = make(stage, second, i, a);
    if (!(b_first.commutes >> (CLASS_BITS * i) & a_first.class))
        return;
    struct heir a_second = make(stage, first, i, a), b_second = make(stage, second, j, b);
    same_move(&a_first, &a_second);
    same_move(&b_first, &b_second);
    assert_memory_equal(first, second, sizeof first);
    assert_true(a_first.kind == HEIR_QUICK && b_first.kind != HEIR_SLOW);
    stage->pairs[b_first.class]++;
}

static void compare_pairs(struct stage *stage, const uint32_t *words)
{
    for (int i = 0; i < stage->clients; i++)
        for (int j = 0; j < stage->clients; j++)
            for (int a = 0; i != j && a < list_of(stage, words, i)->counts[HEIR_RICH]; a++)
                for (int b = 0; b < list_of(stage, words, j)->counts[HEIR_RICH]; b++)
                    compare_orders(stage, words, i, a, j, b);
}

/* Breadth-first over the first states. */
static void walk(struct stage *stage, const struct explore_options *options)
{
    enum { WALKED = 1500 };
    breadth_open(&stage->breadth, options, take, stage);
    stage->clients = options->clients;
    while (breadth_next(&stage->breadth, WALKED)) {
        compare_pairs(stage, stage->breadth.words);
        stepper_expand(&stage->breadth.stepper, stage->breadth.words);
    }
    breadth_close(&stage->breadth);
}

static void moves_that_commute_may_change_places(void **state)
{
    (void)state;
    static struct stage stage;
    memset(&stage, 0, sizeof stage);
    for (int i = 0; i < schemes_count; i++)
        for (int fault = 0; fault < FAULT_COUNT && !schemes[i]->uses_client_clock; fault++) {
            const struct explore_options options = options_of(i, fault, SECTION_NOTHING);
            walk(&stage, &options);
        }
    assert_true(stage.pairs[HEIR_LOCAL] > 0);
    assert_true(stage.pairs[HEIR_READS] > 0);
    assert_true(stage.pairs[HEIR_WRITES] > 0);
    assert_true(stage.pairs[HEIR_GRANTS] > 0);
    assert_int_equal(stage.pairs[HEIR_OTHER], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_states_from_the_same_parents),
        cmocka_unit_test(nothing_sleeps_where_more_than_states_is_asked_for),
        cmocka_unit_test(moves_that_commute_may_change_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
