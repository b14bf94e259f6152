/* test_independence.c - the table of independence (graph/independence.h) is held to the model: in
 * reachable states of all schemes, with each fault, what it calls independent commutes. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/graph/apply.h"
#include "explore/graph/independence.h"
#include "test/enabled.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { STATES = 1500 };

/* What a state violates, whatever led there, is asked of every state where one may (struct
 * state_space.can_states_be_wrong): which of them are passed is another one in another order. */
static const unsigned of_states = 1u << PROPERTY_ALWAYS_EXPIRES | 1u << PROPERTY_LOSS_NOTICE;

struct order_trial {
    struct breadth breadth;
    struct successor step; /* the last that was made */
    struct enabled_list enabled;
    int pairs[INDEPENDENCE_ROWS][INDEPENDENCE_ROWS]; /* that were tried */
};

static void take(void *context, const struct successor *step)
{
    struct order_trial *trial = context;
    breadth_put(&trial->breadth, step->words);
}

static void take_step(void *context, const struct successor *step)
{
    struct order_trial *trial = context;
    trial->step = *step;
}

/* Makes it; returns what is violated by it. */
static unsigned make(struct order_trial *trial, const uint32_t *words, const struct enabled *it,
                     uint32_t *after)
{
    struct successors successors = trial->breadth.successors;
    struct expansion expansion = {.successors = &successors,
                                  .space = &trial->breadth.space,
                                  .words = words,
                                  .words_even = even_words(space_words(&trial->breadth.space)),
                                  .pending_disconnect = -1};
    successors.take = take_step;
    if (it->client >= 0)
        apply_client(&expansion, it->client, &it->action);
    else
        apply_server(&expansion, it->server, &it->action);
    memcpy(after, trial->step.words, sizeof trial->step.words);
    return trial->step.violated & ~of_states;
}

/* One, then the other, which is still enabled. */
static unsigned make_both(struct order_trial *trial, const uint32_t *words,
                          const struct enabled *one, const struct enabled *other, uint32_t *after)
{
    uint32_t between[WORDS_MAX];
    struct enabled second;
    unsigned violated = make(trial, words, one, between);
    assert_true(enabled_again(&trial->breadth.space, between, other, &second));
    assert_int_equal(second.at, other->at);
    assert_int_equal(second.action.did, other->action.did);
    return violated | make(trial, between, &second, after);
}

static int row_of(const struct enabled *it)
{
    bool is_server_s = it->client < 0 && it->action.kind == ACTION_INJECT;
    return is_server_s ? INDEPENDENCE_SERVER : it->action.kind;
}

static void try_pair(struct order_trial *trial, const uint32_t *words, const struct enabled *one,
                     const struct enabled *other)
{
    const struct placed_action first = {&one->action, one->client, one->server},
                               second = {&other->action, other->client, other->server};
    uint32_t one_way[WORDS_MAX] = {0}, other_way[WORDS_MAX] = {0};
    if (!independence_of(&first, &second))
        return;
    unsigned violated = make_both(trial, words, one, other, one_way);
    assert_int_equal(violated, make_both(trial, words, other, one, other_way));
    assert_memory_equal(one_way, other_way,
                        (size_t)space_words(&trial->breadth.space) * sizeof *one_way);
    trial->pairs[row_of(one)][row_of(other)]++;
    trial->pairs[row_of(other)][row_of(one)]++;
}

static void try_pairs(struct order_trial *trial, const uint32_t *words)
{
    const struct enabled_list *list = &trial->enabled;
    enabled_read(&trial->enabled, &trial->breadth.successors, words);
    for (int i = 0; i < list->count; i++)
        for (int k = 0; k < i; k++)
            if (!enabled_is_of_same(&list->of[i], &list->of[k]))
                try_pair(trial, words, &list->of[i], &list->of[k]);
}

/* Breadth-first over the first states, with that fault and one beside it. */
static void walk(struct order_trial *trial, const struct scheme *scheme, enum fault fault,
                 enum section section)
{
    struct explore_options options = {.scheme = scheme,
                                      .clients = 2,
                                      .rounds = 2,
                                      .servers = scheme->needs_quorum ? 3 : 1,
                                      .lease_ticks = 2,
                                      .section = section};
    struct breadth *it = &trial->breadth;
    options.budget[fault]++;
    options.budget[section == SECTION_WRITE ? FAULT_SLOW_WORK : FAULT_LOSE_REQUEST]++;
    breadth_open(it, &options, take, trial);
    while (breadth_next(it, STATES)) {
        try_pairs(trial, it->words);
        successors_expand(&it->successors, it->words);
    }
    breadth_close(it);
}

static void what_is_called_independent_commutes(void **state)
{
    static struct order_trial trial;
    (void)state;
    memset(&trial, 0, sizeof trial);
    for (int i = 0; i < schemes_count; i++)
        for (int fault = 0; fault < FAULT_COUNT; fault++)
            for (int section = 0; section < SECTION_COUNT; section++)
                walk(&trial, schemes[i], (enum fault)fault, (enum section)section);
    /* Each that it calls independent was met, and it calls them so both ways. Only who answers for
     * a foreign program is told to extend: that begins an operation, as a release does. */
    for (int one = 0; one < INDEPENDENCE_ROWS; one++)
        for (int other = 0; other < INDEPENDENCE_ROWS; other++) {
            assert_int_equal(independence[one][other], independence[other][one]);
            assert_int_equal(independence[one][ACTION_EXTEND], independence[one][ACTION_RELEASE]);
            if (one == ACTION_EXTEND || other == ACTION_EXTEND)
                continue;
            assert_int_equal(independence[one][other] != DEPENDENT, trial.pairs[one][other] > 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_called_independent_commutes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
