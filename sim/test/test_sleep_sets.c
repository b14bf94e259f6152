/* test_sleep_sets.c - what a search does not look up changes nothing of what it finds. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/graph/fast_path.h"
#include "explore/search/bfs.h"
#include "test/breadth_first.h"
#include "test/sample.h"

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

static void run(struct search *search, const struct explore_options *options, bool has_sleep_sets)
{
    search_init(search, options);
    search->has_sleep_sets &= has_sleep_sets;
    search_run(search);
}

static void compare(const struct search *plain, const struct search *with_sleep_sets)
{
    /* Where one may be wrong, each state is looked at. */
    bool has_sleep_sets =
        with_sleep_sets->has_sleep_sets && !with_sleep_sets->space.can_states_be_wrong;
    assert_int_equal(plain->skipped, 0);
    assert_int_equal(with_sleep_sets->skipped > 0, has_sleep_sets);
    assert_int_equal(plain->end, with_sleep_sets->end);
    assert_int_equal(plain->visited.count, with_sleep_sets->visited.count);
    assert_int_equal(plain->transitions, with_sleep_sets->transitions);
    assert_int_equal(plain->depth, with_sleep_sets->depth);
    assert_memory_equal(plain->first_violations, with_sleep_sets->first_violations,
                        sizeof plain->first_violations);
    for (uint32_t i = 0; i < plain->visited.count; i++)
        assert_int_equal(fingerprint_set_parent(&plain->visited, i),
                         fingerprint_set_parent(&with_sleep_sets->visited, i));
    for (uint32_t i = 0; i < plain->visited.count && plain->visited.has_full_states; i++)
        assert_memory_equal(fingerprint_set_words(&plain->visited, i),
                            fingerprint_set_words(&with_sleep_sets->visited, i),
                            (size_t)plain->visited.words * sizeof(uint32_t));
}

/* Returns whether anything slept. */
static bool compare_searches(const struct explore_options *options)
{
    struct search plain, with_sleep_sets;
    run(&plain, options, false);
    run(&with_sleep_sets, options, true);
    compare(&plain, &with_sleep_sets);
    bool has_skipped = with_sleep_sets.skipped > 0;
    search_close(&plain);
    search_close(&with_sleep_sets);
    return has_skipped;
}

enum { STATES = 10000 };

static void the_same_states_from_the_same_parents(void **state)
{
    (void)state;
    for (int i = 0; i < schemes_count; i++) {
        for (int fault = 0; fault < FAULT_COUNT; fault++) {
            if (!is_in_sample())
                continue;
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

/* --- actions that commute --- */

struct commuting_walk {
    struct breadth breadth;
    int clients, pairs[CLASS_OTHER + 1];
};

static void take(void *context, const struct successor *step)
{
    struct commuting_walk *stage = context;
    breadth_put(&stage->breadth, step->words);
}

static const struct cached_list *list_of(struct commuting_walk *stage, const uint32_t *words,
                                         int client)
{
    const struct cache_key key = {words[client], words[stage->clients], client};
    return successor_cache_of(&stage->breadth.space.cache, &stage->breadth.space, key);
}

/* Of that client, from there; words become what it leads to. */
static struct cached_successor make(struct commuting_walk *stage, uint32_t *words, int client,
                                    int action)
{
    const struct cached_list *list = list_of(stage, words, client);
    assert_true(action < list->counts[WITH_BUDGET]);
    struct cached_successor cached =
        stage->breadth.space.cache.entries[list->start + (uint32_t)action];
    words[client] = cached.client_state;
    words[stage->clients] = cached.server_state;
    return cached;
}

static void same_move(const struct cached_successor *one, const struct cached_successor *other)
{
    assert_int_equal(one->client_state, other->client_state);
    assert_int_equal(one->kind, other->kind);
    assert_int_equal(one->class, other->class);
}

/* a of client i and b of client j, if they are said to commute. */
static void compare_orders(struct commuting_walk *stage, const uint32_t *words, int i, int a, int j,
                           int b)
{
    uint32_t first[WORDS_MAX], second[WORDS_MAX];
    memcpy(first, words, sizeof first);
    memcpy(second, words, sizeof second);
    struct cached_successor b_first = make(stage, first, j, b), a_first = make(stage, second, i, a);
    if (!(b_first.commutes >> (CLASS_BITS * i) & a_first.class))
        return;
    struct cached_successor a_second = make(stage, first, i, a),
                            b_second = make(stage, second, j, b);
    same_move(&a_first, &a_second);
    same_move(&b_first, &b_second);
    assert_memory_equal(first, second, sizeof first);
    assert_true(a_first.kind == CACHED_WHOLE && b_first.kind != CACHED_NOT);
    stage->pairs[b_first.class]++;
}

static void compare_pairs(struct commuting_walk *stage, const uint32_t *words)
{
    for (int i = 0; i < stage->clients; i++)
        for (int j = 0; j < stage->clients; j++)
            for (int a = 0; i != j && a < list_of(stage, words, i)->counts[WITH_BUDGET]; a++)
                for (int b = 0; b < list_of(stage, words, j)->counts[WITH_BUDGET]; b++)
                    compare_orders(stage, words, i, a, j, b);
}

/* Breadth-first over the first states. */
static void walk(struct commuting_walk *stage, const struct explore_options *options)
{
    enum { WALKED = 1500 };
    breadth_open(&stage->breadth, options, take, stage);
    stage->clients = options->clients;
    while (breadth_next(&stage->breadth, WALKED)) {
        compare_pairs(stage, stage->breadth.words);
        successors_expand(&stage->breadth.successors, stage->breadth.words);
    }
    breadth_close(&stage->breadth);
}

static void moves_that_commute_may_change_places(void **state)
{
    (void)state;
    static struct commuting_walk stage;
    memset(&stage, 0, sizeof stage);
    for (int i = 0; i < schemes_count; i++)
        for (int fault = 0; fault < FAULT_COUNT && !schemes[i]->uses_client_clock; fault++) {
            const struct explore_options options = options_of(i, fault, SECTION_NOTHING);
            walk(&stage, &options);
        }
    assert_true(stage.pairs[CLASS_LOCAL] > 0);
    assert_true(stage.pairs[CLASS_READS] > 0);
    assert_true(stage.pairs[CLASS_WRITES] > 0);
    assert_true(stage.pairs[CLASS_GRANTS] > 0);
    assert_int_equal(stage.pairs[CLASS_OTHER], 0);
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
