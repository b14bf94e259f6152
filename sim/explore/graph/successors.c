/* successors.c - see successors.h. */
#include "explore/graph/successors.h"

#include "explore/graph/apply.h"
#include "explore/model/faults/fault.h"
#include "explore/graph/fast_path.h"
#include "explore/graph/properties.h"

#include <string.h>

void successors_init(struct successors *successors, struct state_space *space,
                     const struct explore_options *options)
{
    memset(successors, 0, sizeof *successors);
    successors->space = space;
    successors->reductions = options->reductions;
    for (int i = 0; i < FAULT_COUNT; i++) {
        bool has_slot = options->budget[i] > 0 && fault_blame((enum fault)i) != FAULT_OF_RUN;
        successors->slot_of[i] = has_slot ? successors->slots++ : -1;
        if (!has_slot)
            continue;
        const struct fault_kind *kind = fault_kind((enum fault)i);
        uint32_t bits = BUDGET_MASK << (BUDGET_BITS * successors->slot_of[i]);
        const bool hits_all = fault_hits_all_replies((enum fault)i);
        /* Where it only follows, what follows is risky, not the budget. */
        bool is_risky = hits_all && !fault_hits_them_later((enum fault)i);
        successors->risky_budgets |= is_risky ? bits : 0;
        successors->reply_budgets |= hits_all || kind->hits_replies ? bits : 0;
        if (fault_lets_time_pass((enum fault)i)) {
            successors->delay_budgets |= bits;
            successors->delays_at_first |= (uint32_t)options->budget[i]
                                           << (BUDGET_BITS * successors->slot_of[i]);
        }
        successors->dependent_budgets |= kind->depends_on_everything ? bits : 0;
    }
}

void successors_start(const struct successors *successors, const struct explore_options *options,
                      uint32_t *words)
{
    space_start(successors->space, words);
    uint32_t *budget = &words[space_words(successors->space) - 1];
    for (int i = 0; i < FAULT_COUNT; i++)
        if (successors->slot_of[i] >= 0)
            *budget |= (uint32_t)options->budget[i] << (BUDGET_BITS * successors->slot_of[i]);
}

bool successors_have_quick(const struct successors *successors)
{
    const struct config *config = &successors->space->config;
    return config->servers == 1 && !config->scheme->uses_client_clock && !config->judges_guesses &&
           !space_has_fences(successors->space);
}

int successors_breaks(const struct successors *successors, const uint32_t *words)
{
    struct state_space *space = successors->space;
    const struct config *config = &space->config;
    int breaks = 0;
    for (int i = 0; i < FAULT_COUNT; i++)
        if (config->breakers >> i & 1 && successors->slot_of[i] >= 0)
            breaks +=
                (int)(words[space_words(space) - 1] >> (BUDGET_BITS * successors->slot_of[i]) &
                      BUDGET_MASK);
    for (int s = 0; s < config->servers && (config->has_replica || config->saves); s++)
        breaks += space_server(space, words[config->clients + s])->has_delayed;
    return breaks;
}

bool successors_want_lock(const struct successors *successors, const uint32_t *words)
{
    for (int i = 0; i < successors->space->config.clients; i++)
        if (space_client(successors->space, words[i])->can_begin)
            return true;
    return false;
}

bool successors_have_holder(const struct successors *successors, const uint32_t *words)
{
    for (int i = 0; i < successors->space->config.clients; i++)
        if (space_client(successors->space, words[i])->phase == PHASE_HOLDING)
            return true;
    return false;
}

static inline bool is_affordable(const struct expansion *it, const struct action *action)
{
    return action->kind != ACTION_INJECT || has_budget(it, (enum fault)action->fault);
}

/* --- cached successors: what apply_client() would do, where that is little --- */

/* Does anybody hold the lock but that one? */
static inline bool is_contested(struct expansion *it, int client)
{
    for (int i = 0; i < it->space->config.clients; i++)
        if (i != client && space_client(it->space, it->words[i])->phase == PHASE_HOLDING)
            return true;
    return false;
}

/* Where the state after it must be looked at whole. False: something is wrong with it. */
static bool push_whole(struct expansion *it, int client, const struct cached_successor *cached)
{
    uint32_t words[WORDS_MAX];
    words_copy(words, it->words, it->words_even);
    words[client] = cached->client_state;
    words[it->space->config.clients] = cached->server_state;
    if (properties_of_state(it->space, words))
        return false;
    if (it->is_sorted)
        symmetry_hooks.sort(it->space, it->successors->reductions, words, it->step.new_position,
                            it->step.new_number);
    insert_queue_push(it->queue, words, it->queue->from, false);
    return true;
}

static inline bool must_be_whole(const struct expansion *it)
{
    return it->is_sorted || it->space->can_states_be_wrong;
}

/* False: apply_client() must see to it. The sleep set after it is empty. */
static bool push_cached(struct expansion *it, int client, const struct cached_successor *cached)
{
    if (cached->kind == CACHED_NOT || (cached->kind == CACHED_GRANT && is_contested(it, client)))
        return false;
    if (!must_be_whole(it))
        insert_queue_push_changed(it->queue, cached, client, it->space->config.clients);
    else if (!push_whole(it, client, cached))
        return false;
    it->queue->has_grant |= cached->kind == CACHED_GRANT;
    return true;
}

static inline void act_client(struct expansion *it, int client, uint32_t m)
{
    const struct action action = it->space->actions[m];
    if (is_affordable(it, &action))
        apply_client(it, client, &action);
}

static void step_cached(void *context, int client, const struct cached_successor *cached)
{
    struct expansion *it = context;
    if (!push_cached(it, client, cached))
        act_client(it, client,
                   space_client(it->space, it->words[client])->actions_start + cached->action);
}

static inline void expand_list(struct expansion *it, int client,
                               const struct cached_successor *cached,
                               const struct cached_successor *end, unsigned unheard)
{
    for (; cached < end; cached++)
        if (cached->hearing != unheard)
            step_cached(it, client, cached);
}

/* Returns whether one of the actions is urgent. */
static bool expand_client(struct expansion *it, int client, unsigned unheard)
{
    const struct client_facts facts = *space_client(it->space, it->words[client]);
    for (uint32_t m = facts.actions_start; m < facts.actions_start + facts.actions_count; m++)
        if (it->space->actions[m].hearing != unheard)
            act_client(it, client, m);
    return facts.is_urgent;
}

static inline bool expand_clients(struct expansion *it, unsigned unheard)
{
    struct successor_cache *cache = &it->space->cache;
    const int clients = it->space->config.clients;
    const bool has_no_budget = it->words[space_words(it->space) - 1] == 0;
    bool is_urgent = false;
    for (int i = 0; i < clients; i++) {
        const struct cache_key key = {it->words[i], it->words[clients], i};
        const struct cached_list *list =
            it->queue ? successor_cache_of(cache, it->space, key) : NULL;
        if (!list || !insert_queue_has_room(it->queue, list->counts[WITH_BUDGET])) {
            is_urgent |= expand_client(it, i, unheard);
            continue;
        }
        is_urgent |= (list->notes[WITH_BUDGET] & LIST_URGENT) != 0;
        const struct cached_successor *first = &cache->entries[list->start];
        expand_list(it, i, first,
                    first + list->counts[has_no_budget ? WITHOUT_BUDGET : WITH_BUDGET], unheard);
    }
    return is_urgent;
}

static void expand_server(struct expansion *it, int server)
{
    const struct server_facts *server_facts =
        space_server(it->space, it->words[it->space->config.clients + server]);
    uint32_t start = server_facts->actions_start, end = start + server_facts->actions_count;
    for (uint32_t m = start; m < end; m++) {
        const struct action action = it->space->actions[m];
        if (is_affordable(it, &action))
            apply_server(it, server, &action);
    }
}

/* Can something befall all replies of a server at once? Then nobody waits before it hears them. */
static bool is_risky(const struct expansion *it)
{
    uint32_t budget = it->words[space_words(it->space) - 1];
    return budget & it->successors->risky_budgets || apply_has_risky_server(it, it->words);
}

/* False: every order matters. */
static bool expand_persistent_set(struct expansion *it)
{
    struct selection selections[SELECTIONS_MAX];
    uint32_t budget = it->words[space_words(it->space) - 1];
    if (apply_wants_every_order(it, it->words))
        return false;
    int count =
        partial_order_hooks.select(it->space, it->words, apply_affordable(it, budget), selections);
    for (int i = 0; i < count; i++)
        apply_selection(it, &selections[i]);
    return count >= 0;
}

/* A client that waited for all its replies hears them now, and nothing else happens. */
static bool expand_hearing(struct expansion *it)
{
    for (int i = 0; i < it->space->config.clients; i++) {
        const struct client_facts facts = *space_client(it->space, it->words[i]);
        for (uint32_t m = 0; facts.is_hearing && m < facts.actions_count; m++) {
            const struct action action = it->space->actions[facts.actions_start + m];
            if (action.hearing == HEARD_IN_BATCH)
                apply_client(it, i, &action);
        }
        if (facts.is_hearing)
            return true;
    }
    return false;
}

static inline void expansion_open(struct expansion *it, const struct successors *successors,
                                  const uint32_t *words)
{
    it->successors = successors;
    it->space = successors->space;
    it->words = words;
    it->words_even = even_words(space_words(it->space));
    it->queue = successors->space->cache.are_too_many ? NULL : successors->queue;
    it->is_sorted = successors->reductions & (REDUCE_CLIENTS | REDUCE_SERVERS);
    it->owner = OWNER_NOBODY;
    it->pending_disconnect = -1;
    it->violated_before = 0;
    it->has_granted = it->has_waited = false;
}

/* --- most states: fast_path.h --- */

/* Where all steps go on as they are, and in every order. */
static inline bool is_fast(const struct successors *successors)
{
    const struct state_space *space = successors->space;
    return successors->queue && successors->reductions == 0 && !space->config.has_partial_order &&
           !space->cache.are_too_many && !space->can_states_be_wrong;
}

static void step_fast(const struct fast_path *fast, int client,
                      const struct cached_successor *cached)
{
    struct expansion it;
    if (cached->hearing == HEARD_IN_BATCH)
        return;
    expansion_open(&it, fast->context, fast->words);
    step_cached(&it, client, cached);
}

/* False: nothing was done. */
static inline bool expand_fast(const struct successors *successors, const uint32_t *words)
{
    struct state_space *space = successors->space;
    const struct fast_path fast = {space, successors->queue, words, step_fast, successors};
    insert_queue_approach(successors->queue, words);
    enum fast_path_end end = fast_path_expand(&fast);
    if (end == FAST_UNDONE)
        return false;
    if (end == FAST_URGENT && space_server(space, words[space->config.clients])->actions_count == 0)
        return true;
    struct expansion it;
    expansion_open(&it, successors, words);
    expand_server(&it, 0);
    if (end != FAST_URGENT)
        apply_time(&it);
    return true;
}

void successors_expand(struct successors *successors, const uint32_t *words)
{
    struct expansion it;
    if (is_fast(successors) && expand_fast(successors, words))
        return;
    expansion_open(&it, successors, words);
    if (it.is_sorted)
        symmetry_hooks.open(&it.symmetry, it.space, successors->reductions, words);
    const struct config *config = &successors->space->config;
    if (it.queue && !it.is_sorted)
        insert_queue_approach(it.queue, words);
    bool is_eager =
        successors->reductions & REDUCE_EAGER && (config->has_partial_order || !is_risky(&it));
    if (is_eager && expand_hearing(&it))
        return;
    if (config->has_partial_order && expand_persistent_set(&it))
        return;
    it.owner = OWNER_NOBODY;
    it.pending_disconnect = -1;
    unsigned unheard = is_eager ? HEARD_ONE_BY_ONE : HEARD_IN_BATCH;
    bool is_urgent = expand_clients(&it, unheard);
    for (int s = 0; s < config->servers; s++)
        expand_server(&it, s);
    if (!is_urgent)
        apply_time(&it);
}
