/* test_random_schemes.c - the partial-order reduction (reduce/partial_order.h) held to a search
 * without it, over random schemes, faults and bounds: the same properties are violated, by as few
 * faults, and the same clients come to hold the lock together, having seen the same.
 *
 * PICKLOCK_RUNS=N draws so many, PICKLOCK_SEED=N others. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "base/random.h"
#include "explore/model/faults/fault.h"
#include "explore/reduce/partial_order.h"
#include "test/breadth_first.h"
#include "test/probe.h"
#include "test/sample.h"

#include <inttypes.h>

enum { RUNS = 600, STATES_MAX = 5000, PHASES_MAX = 3 };

/* --- a scheme by chance --- */

/* Asks all servers for one command after the other, and counts what it hears. */
static struct recipe {
    int phases;
    enum verb verbs[PHASES_MAX], clean, release;
    int wanted; /* good replies to the last one, without which there is no grant */
    bool cleans, refuses;
} recipe;

enum step { START, ASKED, CLEANED, HELD, RELEASED };

static void random_step(void *state, const struct lease *lease, const struct moment *in,
                        struct outbox *out)
{
    struct probe *self = state;

    SCRIPT(self);
    for (; self->phase < recipe.phases; self->phase++) {
        probe_ask(self, recipe.verbs[self->phase], lease, out);
        AWAIT(self, ASKED);
        if (probe_waits(self, lease, in))
            return;
        self->code = self->code * 36 + self->yes * 6 + self->lost;
    }
    if (self->yes < recipe.wanted) {
        if (recipe.cleans) {
            probe_ask(self, recipe.clean, lease, out);
            AWAIT(self, CLEANED);
            if (probe_waits(self, lease, in))
                return;
        }
        if (recipe.refuses)
            out_refused(out);
        else
            out_failed(out);
        SCRIPT_RETURN(self);
    }
    out_granted_with_fence(out, self->code + 1);
    while (in->kind != MOMENT_RELEASE)
        AWAIT(self, HELD);
    probe_ask(self, recipe.release, lease, out);
    AWAIT(self, RELEASED);
    if (probe_waits(self, lease, in))
        return;
    if (self->yes > lease->servers / 2)
        out_released(out);
    else
        out_failed(out);
    SCRIPT_END(self);
}

static struct scheme random_scheme; /* with what was drawn */

static int below(struct random *random, int bound)
{
    return (int)random_below(random, (uint64_t)bound);
}

static void draw_recipe(struct random *random)
{
    static const enum verb verbs[] = {
        VERB_SET_NX_PX, VERB_SET_NX_PX, VERB_SET_NX_PX,      VERB_GET,
        VERB_DEL,       VERB_PEXPIRE,   VERB_COMPARE_DELETE, VERB_COMPARE_EXPIRE};
    recipe = (struct recipe){.phases = 1 + below(random, PHASES_MAX),
                             .clean = below(random, 3) ? VERB_COMPARE_DELETE : VERB_DEL,
                             .release = below(random, 3) ? VERB_COMPARE_DELETE : VERB_DEL,
                             .wanted = below(random, 4),
                             .cleans = below(random, 2),
                             .refuses = below(random, 2)};
    for (int i = 0; i < PHASES_MAX; i++)
        recipe.verbs[i] = verbs[below(random, 8)];
    random_scheme = probe_scheme("random", random_step);
    random_scheme.promises_token = below(random, 2);
}

static struct explore_options draw_options(struct random *random)
{
    struct explore_options options = {.scheme = &random_scheme,
                                      .clients = 1 + below(random, 2),
                                      .rounds = 1 + (below(random, 3) == 0),
                                      .servers = 2 + below(random, 2),
                                      .lease_ticks = 2};
    draw_recipe(random);
    if (below(random, 5) == 0)
        options.section = SECTION_COUNTER;
    options.reductions = REDUCE_EAGER | REDUCE_ORDER;
    options.reductions |= below(random, 2) ? REDUCE_CLIENTS : 0;
    options.reductions |= below(random, 2) ? REDUCE_SERVERS : 0;
    for (int faults = below(random, 4); faults > 0; faults--) {
        enum fault fault = (enum fault)below(random, FAULT_COUNT);
        if (fault_blame(fault) != FAULT_OF_RUN && fault_is_applicable(fault, options.scheme))
            options.budget[fault]++;
    }
    return options;
}

/* --- what is seen in a search --- */

/* Fewest faults by what was seen with them: open addressing. */
enum { SIGHTS_MAX = 1 << 12 };

struct sights {
    struct breadth breadth;
    int faults; /* in all */
    int count;
    uint64_t keys[SIGHTS_MAX]; /* 0: none */
    int fewest[SIGHTS_MAX];
};

static int *sight(struct sights *it, uint64_t key)
{
    uint64_t at = key * UINT64_C(0x9E3779B97F4A7C15) >> 52;
    while (it->keys[at] && it->keys[at] != key)
        at = (at + 1) % SIGHTS_MAX;
    if (!it->keys[at]) {
        assert_true(++it->count < SIGHTS_MAX / 2);
        it->keys[at] = key;
        it->fewest[at] = INT32_MAX;
    }
    return &it->fewest[at];
}

static void sight_add(struct sights *it, uint64_t key, const uint32_t *words)
{
    uint32_t left = persistent_with_owner(words[space_words(&it->breadth.space) - 1], OWNER_NOBODY);
    int faults = it->faults, *fewest = sight(it, key);
    for (; left; left >>= BUDGET_BITS)
        faults -= (int)(left & BUDGET_MASK);
    *fewest = faults < *fewest ? faults : *fewest;
}

/* Who holds the lock, having seen what, and how many are dead; whoever it is. */
static void sight_holders(struct sights *it, const uint32_t *words)
{
    uint64_t key = 1;
    for (int i = 0; i < it->breadth.space.config.clients; i++) {
        struct client_state client;
        space_read_client(&it->breadth.space, words[i], &client);
        uint64_t holds =
            client.phase == PHASE_HOLDING ? (uint64_t)client.fence + 2 : client.phase == PHASE_DEAD;
        key += (holds + 1) * (holds + UINT64_C(0x100000001B3)) << 8;
    }
    sight_add(it, key, words);
}

static void take(void *context, const struct successor *step)
{
    struct sights *it = context;
    for (unsigned left = step->violated; left; left &= left - 1)
        sight_add(it, (uint64_t)__builtin_ctz(left) + 2, step->words);
    if (breadth_put(&it->breadth, step->words))
        sight_holders(it, step->words);
}

/* False: that is too large, or no scheme to be searched so. */
static bool look(struct sights *it, const struct explore_options *options, bool has_partial_order)
{
    struct breadth *breadth = &it->breadth;
    memset(it, 0, sizeof *it);
    for (int i = 0; i < FAULT_COUNT; i++)
        it->faults += options->budget[i];
    breadth_open(breadth, options, take, it);
    breadth->space.config.has_partial_order = has_partial_order;
    sight_holders(it, breadth->words);
    while (!breadth->space.violation && breadth_next(breadth, STATES_MAX))
        successors_expand(&breadth->successors, breadth->words);
    bool is_good = !breadth->space.violation && breadth->next == breadth->visited.count &&
                   !(has_partial_order &&
                     (breadth->space.breaks_promise || breadth->space.can_states_be_wrong));
    breadth_close(breadth);
    return is_good;
}

static int sight_differences(struct sights *one, struct sights *other)
{
    int wrong = one->count != other->count;
    for (int i = 0; i < SIGHTS_MAX; i++)
        wrong += one->keys[i] && one->fewest[i] != *sight(other, one->keys[i]);
    return wrong;
}

static void say(const struct explore_options *options, uint64_t run)
{
    print_error("run %" PRIu64 ": %d clients, %d rounds, %d servers:", run, options->clients,
                options->rounds, options->servers);
    for (int i = 0; i < FAULT_COUNT; i++)
        for (int n = 0; n < options->budget[i]; n++)
            print_error(" %s", fault_name((enum fault)i));
    print_error("\n");
}

static void one_order_shows_what_each_order_shows(void **state)
{
    static struct sights each, some;
    uint64_t runs = sample_number("PICKLOCK_RUNS", RUNS);
    uint64_t seed = sample_number("PICKLOCK_SEED", 20261122), compared = 0, smaller = 0;
    int wrong = 0;
    (void)state;
    for (uint64_t n = 0; n < runs; n++) {
        struct random random = {.seed = seed, .stream = n};
        const struct explore_options options = draw_options(&random);
        assert_true(partial_order_suits(&options));
        if (!look(&each, &options, false) || !look(&some, &options, true))
            continue;
        compared++;
        smaller += some.breadth.next < each.breadth.next;
        if (sight_differences(&each, &some) == 0)
            continue;
        say(&options, n);
        wrong++;
    }
    print_message("%" PRIu64 " runs, seed %" PRIu64 ", %" PRIu64 " compared\n", runs, seed,
                  compared);
    assert_int_equal(wrong, 0);
    assert_true(compared > runs / 4 && smaller > compared / 2);
}

/* A search that cannot see what another one can is told from it. */
static void what_is_lost_is_noticed(void **state)
{
    static struct sights with, without;
    struct explore_options options = {.scheme = &random_scheme,
                                      .clients = 1,
                                      .rounds = 1,
                                      .servers = 2,
                                      .lease_ticks = 2,
                                      .reductions = REDUCE_EAGER | REDUCE_ORDER};
    (void)state;
    random_scheme = probe_scheme("random", random_step);
    recipe =
        (struct recipe){.phases = 1, .verbs = {VERB_SET_NX_PX}, .release = VERB_COMPARE_DELETE};
    assert_true(look(&without, &options, false));
    options.budget[FAULT_LOSE_REPLY] = 1;
    assert_true(look(&with, &options, false));
    assert_int_not_equal(sight_differences(&with, &without), 0);
}

/* Where a server's clock takes the key of a refused attempt away in time, the attempt is free, and
 * made again. */
static void a_refusal_is_free_where_its_keys_are_gone(void **state)
{
    static struct sights each, some;
    struct explore_options options = {.scheme = &random_scheme,
                                      .clients = 2,
                                      .rounds = 1,
                                      .servers = 2,
                                      .lease_ticks = 2,
                                      .reductions = REDUCE_ALL};
    (void)state;
    random_scheme = probe_scheme("random", random_step);
    recipe = (struct recipe){.phases = 2,
                             .verbs = {VERB_DEL, VERB_SET_NX_PX},
                             .release = VERB_DEL,
                             .wanted = 2,
                             .refuses = true};
    options.budget[FAULT_SERVER_CLOCK] = 1;
    assert_true(look(&each, &options, false));
    assert_true(look(&some, &options, true));
    assert_int_equal(sight_differences(&each, &some), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_order_shows_what_each_order_shows),
        cmocka_unit_test(what_is_lost_is_noticed),
        cmocka_unit_test(a_refusal_is_free_where_its_keys_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
