/* test_heirs.c - what a state leads to by way of the ring is what it leads to step by step. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/steps.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LED_MAX = 400, STATES = 1500, FROM = 7 };

/* One step: its state, and whether there is more to tell of it. */
struct led_to {
    uint32_t words[WORDS_MAX];
    bool is_fault, is_wrong, is_grant;
};

struct fan {
    struct led_to steps[LED_MAX];
    int count, quick;
};

struct stage {
    struct space space;
    struct stepper stepper;
    struct visited visited;
    struct ring ring;
    struct fan fan;
};

static struct led_to *add(struct stage *stage, const uint32_t *words)
{
    assert_true(stage->fan.count < LED_MAX);
    struct led_to *it = &stage->fan.steps[stage->fan.count++];
    memset(it, 0, sizeof *it);
    memcpy(it->words, words, (size_t)stage->visited.words * sizeof *words);
    return it;
}

/* What waits in the ring came first. */
static void drain(struct stage *stage, uint32_t from)
{
    while (!ring_is_empty(&stage->ring)) {
        const struct candidate *it = ring_pop(&stage->ring);
        assert_int_equal(it->from, from);
        assert_true(it->print == visited_print(&stage->visited, it->words));
        add(stage, it->words);
        stage->fan.quick++;
    }
}

static void take(void *context, const struct step_taken *step)
{
    struct stage *stage = context;
    drain(stage, stage->ring.from);
    struct led_to *it = add(stage, step->words);
    it->is_fault = step_is_fault(step);
    it->is_wrong = step->violated != 0 || step->is_unsupported;
    it->is_grant = step->is_grant;
}

static struct fan expand(struct stage *stage, const uint32_t *words, struct ring *ring)
{
    memset(&stage->fan, 0, sizeof stage->fan);
    stage->stepper.ring = ring;
    stage->ring.from = FROM;
    stage->ring.has_grant = false;
    stepper_expand(&stage->stepper, words);
    drain(stage, FROM);
    return stage->fan;
}

static void compare(const struct stage *stage, const struct fan *slow, const struct fan *both)
{
    bool has_grant = stage->ring.has_grant, has_granted = false, has_told = false;
    assert_int_equal(slow->count, both->count);
    for (int i = 0; i < slow->count; i++) {
        const struct led_to *a = &slow->steps[i], *b = &both->steps[i];
        assert_memory_equal(a->words, b->words, sizeof a->words);
        assert_int_equal(a->is_fault, b->is_fault);
        assert_int_equal(a->is_wrong, b->is_wrong);
        has_granted |= a->is_grant;
        has_told |= b->is_grant;
    }
    assert_int_equal(has_granted, has_grant || has_told);
}

/* Breadth-first over the first states; returns how many steps went by way of the ring. */
static int walk(const struct explore_options *options)
{
    static struct stage stage;
    static struct fan slow, both;
    uint32_t words[WORDS_MAX] = {0};
    bool is_new;
    int quick = 0;
    memset(&stage, 0, sizeof stage);
    space_init(&stage.space, options);
    stepper_init(&stage.stepper, &stage.space, options);
    visited_init(&stage.visited, space_words(&stage.space), 1, true);
    stage.space.heirs.visited = &stage.visited;
    stage.ring.visited = &stage.visited;
    stage.stepper.take = take;
    stage.stepper.context = &stage;
    stepper_start(&stage.stepper, options, words);
    visited_put(&stage.visited, visited_print(&stage.visited, words), words, 0, &is_new);
    for (uint32_t i = 0; i < stage.visited.count && i < STATES; i++) {
        memcpy(words, visited_words(&stage.visited, i),
               (size_t)stage.visited.words * sizeof *words);
        slow = expand(&stage, words, NULL);
        both = expand(&stage, words, stepper_has_quick(&stage.stepper) ? &stage.ring : NULL);
        compare(&stage, &slow, &both);
        quick += both.quick;
        for (int k = 0; k < slow.count; k++) {
            const uint32_t *next = slow.steps[k].words;
            visited_put(&stage.visited, visited_print(&stage.visited, next), next, i, &is_new);
        }
    }
    visited_close(&stage.visited);
    space_close(&stage.space);
    return quick;
}

static void same_steps_in_the_same_order(void **state)
{
    (void)state;
    for (int i = 0; i < schemes_count; i++) {
        for (int fault = 0; fault < FAULT_COUNT; fault++) {
            struct explore_options options = {
                .scheme = schemes[i], .clients = 3, .rounds = 2, .servers = 1};
            options.reductions = fault % 2 ? REDUCE_ALL : 0;
            options.section = (enum section)(fault % SECTION_COUNT);
            options.budget[fault]++;
            options.budget[FAULT_STALL]++;
            int quick = walk(&options);
            bool has_quick = !schemes[i]->uses_client_clock && options.section != SECTION_WRITE;
            assert_int_equal(quick > 0, has_quick);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_steps_in_the_same_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
