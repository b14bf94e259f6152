/* test_successor_cache.c - what a state leads to by way of the queue is what it leads to step by
 * step. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/breadth_first.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LED_MAX = 400, STATES = 1500, FROM = 7 };

/* One step: its state, and what more there is to tell of it. */
struct led_to {
    uint32_t words[WORDS_MAX];
    unsigned violated;
    bool is_fault, is_unsupported, is_grant;
};

struct fan {
    struct led_to steps[LED_MAX];
    int count, quick;
};

/* On a walk. */
struct cache_met {
    int quick;     /* steps that went by way of the queue */
    int grants;    /* states with a grant among these */
    int contested; /* grants in time, while another client holds the lock */
};

struct cache_walk {
    struct breadth breadth;
    struct insert_queue queue;
    struct fan fan;
    struct cache_met met;
};

static struct led_to *add(struct cache_walk *stage, const uint32_t *words)
{
    assert_true(stage->fan.count < LED_MAX);
    struct led_to *it = &stage->fan.steps[stage->fan.count++];
    memset(it, 0, sizeof *it);
    memcpy(it->words, words, (size_t)stage->breadth.visited.words * sizeof *words);
    return it;
}

/* What waits in the queue came first. */
static void drain(struct cache_walk *stage, uint32_t from)
{
    while (!insert_queue_is_empty(&stage->queue)) {
        const struct queued_state *it = insert_queue_pop(&stage->queue);
        assert_int_equal(it->from, from);
        assert_true(it->fingerprint == fingerprint_of(&stage->breadth.visited, it->words));
        add(stage, it->words);
        stage->fan.quick++;
    }
}

static void take(void *context, const struct successor *step)
{
    struct cache_walk *stage = context;
    drain(stage, stage->queue.from);
    struct led_to *it = add(stage, step->words);
    it->is_fault = step_is_fault(step);
    it->violated = step->violated;
    it->is_unsupported = step->is_unsupported;
    it->is_grant = step->is_grant;
}

static struct fan expand(struct cache_walk *stage, const uint32_t *words,
                         struct insert_queue *queue)
{
    memset(&stage->fan, 0, sizeof stage->fan);
    stage->breadth.successors.queue = queue;
    stage->queue.from = FROM;
    stage->queue.has_grant = false;
    successors_expand(&stage->breadth.successors, words);
    drain(stage, FROM);
    return stage->fan;
}

/* But for the other client it would be quick. */
static bool is_contested(const struct led_to *step)
{
    return step->is_grant && step->violated >> PROPERTY_MUTUAL_EXCLUSION & 1 &&
           !(step->violated >> PROPERTY_FRESH_GRANT & 1);
}

static void compare(struct cache_walk *stage, const struct fan *slow, const struct fan *both)
{
    bool has_grant = stage->queue.has_grant, has_granted = false, has_told = false;
    assert_int_equal(slow->count, both->count);
    for (int i = 0; i < slow->count; i++) {
        const struct led_to *a = &slow->steps[i], *b = &both->steps[i];
        assert_memory_equal(a->words, b->words, sizeof a->words);
        assert_int_equal(a->is_fault, b->is_fault);
        assert_int_equal(a->violated, b->violated);
        assert_int_equal(a->is_unsupported, b->is_unsupported);
        has_granted |= a->is_grant;
        has_told |= b->is_grant;
        stage->met.contested += is_contested(a);
    }
    stage->met.grants += has_grant;
    stage->met.quick += both->quick;
    assert_int_equal(has_granted, has_grant || has_told);
}

static void stage_open(struct cache_walk *stage, const struct explore_options *options)
{
    memset(stage, 0, sizeof *stage);
    breadth_open(&stage->breadth, options, take, stage);
    stage->queue.visited = &stage->breadth.visited;
}

/* Breadth-first over the first states. */
static struct cache_met walk(const struct explore_options *options)
{
    static struct cache_walk stage;
    static struct fan slow, both;
    stage_open(&stage, options);
    struct insert_queue *queue =
        successors_have_quick(&stage.breadth.successors) ? &stage.queue : NULL;
    while (breadth_next(&stage.breadth, STATES)) {
        slow = expand(&stage, stage.breadth.words, NULL);
        both = expand(&stage, stage.breadth.words, queue);
        compare(&stage, &slow, &both);
        for (int k = 0; k < slow.count; k++)
            breadth_put(&stage.breadth, slow.steps[k].words);
    }
    breadth_close(&stage.breadth);
    return stage.met;
}

static bool has_queue(const struct explore_options *options)
{
    return !options->scheme->uses_client_clock && options->section != SECTION_WRITE;
}

static void same_steps_in_the_same_order(void **state)
{
    (void)state;
    struct cache_met met[2] = {
        0}; /* by whether clients are sorted: then nobody looks at all lists */
    for (int i = 0; i < schemes_count; i++) {
        for (int fault = 0; fault < FAULT_COUNT; fault++) {
            struct explore_options options = {
                .scheme = schemes[i], .clients = 3, .rounds = 2, .servers = 1, .lease_ticks = 2};
            options.reductions = fault % 2 ? REDUCE_ALL : 0;
            options.section = (enum section)(fault % SECTION_COUNT);
            options.budget[fault]++;
            options.budget[FAULT_STALL]++;
            struct cache_met here = walk(&options), *sum = &met[options.reductions != 0];
            assert_int_equal(here.quick > 0, has_queue(&options));
            sum->grants += here.grants;
            sum->contested += has_queue(&options) ? here.contested : 0;
        }
    }
    for (int i = 0; i < 2; i++) {
        assert_true(met[i].grants > 0);
        assert_true(met[i].contested > 0);
    }
}

/* --- where lists are found --- */

enum { WALKS = 200, WALK_STEPS = 100, KEYS_MAX = 3 * WALKS * WALK_STEPS };

/* What walks ask for, as often as they do. */
struct asked {
    struct cache_key keys[KEYS_MAX];
    int count;
};

static void ask(struct asked *asked, const uint32_t *words, int clients)
{
    for (int i = 0; i < clients; i++)
        asked->keys[asked->count++] = (struct cache_key){words[i], words[clients], i};
}

static void same_list(const struct successor_cache *one, const struct cached_list *list,
                      const struct successor_cache *other, const struct cached_list *others)
{
    assert_non_null(list);
    assert_memory_equal(list->counts, others->counts, sizeof list->counts);
    assert_memory_equal(list->notes, others->notes, sizeof list->notes);
    for (int i = 0; i < list->counts[WITH_BUDGET]; i++) {
        const struct cached_successor *cached = &one->entries[list->start + (uint32_t)i];
        const struct cached_successor *same = &other->entries[others->start + (uint32_t)i];
        assert_true(cached->change == same->change && cached->commutes == same->commutes);
        assert_true(cached->client_state == same->client_state &&
                    cached->server_state == same->server_state);
        assert_true(cached->action == same->action && cached->class == same->class);
    }
}

/* Lists of one table are made in an order in which it has to grow, of the other at its largest from
 * the start; both times each is found again. */
static void compare_tables(struct cache_walk *stage, const struct asked *asked)
{
    struct successor_cache *grown = &stage->breadth.space.cache, large;
    successor_cache_init(&large, stage->breadth.space.config.clients);
    large.visited = &stage->breadth.visited;
    assert_true(grown->client_states_end > 2 * large.client_states_end);
    assert_true(grown->server_states_end > 2 * large.server_states_end);
    for (int i = asked->count - 1; i >= 0; i--)
        assert_non_null(successor_cache_of(&large, &stage->breadth.space, asked->keys[i]));
    uint32_t made = grown->lists_made;
    for (int i = 0; i < asked->count; i++)
        same_list(grown, successor_cache_of(grown, &stage->breadth.space, asked->keys[i]), &large,
                  successor_cache_of(&large, &stage->breadth.space, asked->keys[i]));
    assert_int_equal(grown->lists_made, made);
    assert_int_equal(large.lists_made, made);
    successor_cache_close(&large);
}

/* One that would lie too far out is not made, and no other one is lost by it. */
static void ask_for_too_much(struct cache_walk *stage, const struct asked *asked)
{
    struct successor_cache *cache = &stage->breadth.space.cache;
    const struct cache_key far = {asked->keys[0].client_state, 1 << 23, 0};
    size_t bytes = successor_cache_bytes(cache);
    assert_null(successor_cache_of(cache, &stage->breadth.space, far));
    assert_true(cache->are_too_many);
    assert_int_equal(successor_cache_bytes(cache), bytes);
    assert_non_null(successor_cache_of(cache, &stage->breadth.space, asked->keys[0]));
}

static void lists_are_found_again_when_there_are_more(void **state)
{
    (void)state;
    static struct cache_walk stage;
    static struct asked asked;
    uint32_t draw = 1;
    struct explore_options options = {.scheme = scheme_named("set-nx-px-cad"),
                                      .clients = 3,
                                      .rounds = 7,
                                      .servers = 1,
                                      .lease_ticks = 2};
    options.budget[FAULT_STALL] = options.budget[FAULT_LOSE_REPLY] = 1;
    stage_open(&stage, &options);
    for (int i = 0; i < WALKS; i++) {
        uint32_t words[WORDS_MAX] = {0};
        successors_start(&stage.breadth.successors, &options, words);
        for (int k = 0; k < WALK_STEPS; k++) {
            ask(&asked, words, options.clients);
            const struct fan fan = expand(&stage, words, &stage.queue);
            if (fan.count == 0)
                break;
            draw = draw * 1664525 + 1013904223;
            memcpy(words, fan.steps[(draw >> 16) % (unsigned)fan.count].words, sizeof words);
        }
    }
    compare_tables(&stage, &asked);
    ask_for_too_much(&stage, &asked);
    breadth_close(&stage.breadth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_steps_in_the_same_order),
        cmocka_unit_test(lists_are_found_again_when_there_are_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
