/* fast_path.c - see fast_path.h. Each state comes this way: what is the same for all of its steps
 * is kept out of reach of what is written on the way. */
#include "explore/graph/fast_path.h"

#include "explore/graph/space.h"

/* What is to be known of all clients before any of them moves. */
struct outlook {
    struct cached_list lists[EXPLORE_CLIENTS_MAX];
    enum budget_case budget_case;
    unsigned actions;
    unsigned notes; /* of all lists */
};

/* Made once for each common number of clients, as all that asks for one: their loops are then gone,
 * and so are places and masks that have to be computed.
 *
 * False: a list is not there. */
static INLINE bool look_out(const struct fast_path *fast, struct outlook *outlook,
                            const int clients)
{
    const struct successor_cache *cache = &fast->space->cache;
    const uint32_t *words = fast->words;
    /* The last word: budgets. */
    const enum budget_case budget_case = words[clients + 1] == 0 ? WITHOUT_BUDGET : WITH_BUDGET;
    const uint32_t client_states_end = cache->client_states_end, server_state = words[clients];
    if (server_state >= cache->server_states_end)
        return false;
    const uint32_t *blocks = successor_cache_blocks(cache, server_state);
    unsigned actions = 0, notes = 0, common = LIST_MADE;
#pragma GCC unroll 4
    for (int i = 0; i < clients; i++, blocks += client_states_end >> BLOCK_BITS) {
        if (words[i] >= client_states_end)
            return false;
        const struct cached_list list = *successor_cache_seek(cache, blocks, words[i]);
        outlook->lists[i] = list;
        actions += list.counts[budget_case];
        notes |= list.notes[budget_case];
        common &= list.notes[budget_case];
    }
    outlook->budget_case = budget_case;
    outlook->actions = actions;
    outlook->notes = notes;
    return common;
}

/* Makes those that are not there. */
static bool lists_make(const struct fast_path *fast)
{
    struct state_space *space = fast->space;
    const int clients = space->config.clients;
    for (int i = 0; i < clients; i++) {
        const struct cache_key key = {fast->words[i], fast->words[clients], i};
        if (!successor_cache_of(&space->cache, space, key))
            return false;
    }
    return true;
}

/* What all pushes from a state have in common. */
struct push_batch {
    const struct bucket *buckets;
    size_t size;
    fingerprint_sum sum;
    uint32_t from, sleep_set;
    unsigned pushed, skipped;
    unsigned pushes; /* classes of actions that are pushed just so */
};

/* A step that is not cached lets the table grow, and the queue. */
static inline void batch_go_on(struct push_batch *it, const struct insert_queue *queue)
{
    it->buckets = queue->visited->buckets;
    it->size = queue->visited->size;
    it->pushed = queue->pushed;
}

static inline struct push_batch batch_begin(const struct fast_path *fast,
                                            const struct outlook *outlook)
{
    const struct insert_queue *queue = fast->queue;
    struct push_batch it = {.sum = queue->sum,
                            .from = queue->from,
                            .sleep_set = queue->sleep_set,
                            .pushes = CLASS_LOCAL | CLASS_READS | CLASS_WRITES};
    if (!(outlook->notes & LIST_HOLDS))
        it.pushes |= CLASS_GRANTS;
    batch_go_on(&it, queue);
    return it;
}

/* The sleep set after an action of that client: what was in it, and all that came before; as far as
 * it is independent of the action. */
static inline uint32_t sleep_set_after(uint32_t sleep_set, int client)
{
    return sleep_set | ((1u << (CLASS_BITS * client)) - 1);
}

/* Where one is in the sleep set, the next push takes its place. */
static INLINE void push(struct insert_queue *queue, struct push_batch *it,
                        const struct cached_successor *cached, const int client, const int clients)
{
    struct queued_state *to = &queue->waiting[it->pushed % QUEUE];
    uint32_t *words = to->words;
    const unsigned is_skipped = (it->sleep_set >> (CLASS_BITS * client) & cached->class) != 0;
    memcpy(words, queue->words, sizeof queue->words);
    words[client] = cached->client_state;
    words[clients] = cached->server_state;
    words[even_words(clients + 2)] = sleep_set_after(it->sleep_set, client) & cached->commutes;
    to->from = it->from;
    to->is_tick = false;
    to->fingerprint = fingerprint_of_sum(it->sum + cached->change);
    const struct bucket *home = &it->buckets[fingerprint_set_home_of(to->fingerprint, it->size)];
    FINGERPRINT_PREFETCH(home);
    it->pushed += 1 - is_skipped;
    it->skipped += is_skipped;
}

static void step(const struct fast_path *fast, struct push_batch *it,
                 const struct cached_successor *cached, int client)
{
    struct insert_queue *queue = fast->queue;
    queue->pushed = it->pushed;
    queue->skipped = it->skipped;
    fast->step(fast, client, cached);
    batch_go_on(it, queue);
    if (fast->space->can_states_be_wrong)
        it->pushes = 0;
}

static INLINE enum fast_path_end expand(const struct fast_path *fast, const int clients)
{
    struct insert_queue *queue = fast->queue;
    struct outlook outlook;
    while (!look_out(fast, &outlook, clients))
        if (!lists_make(fast))
            return FAST_UNDONE;
    if (!insert_queue_has_room(queue, outlook.actions))
        return FAST_UNDONE;
    struct push_batch batch = batch_begin(fast, &outlook);
    queue->has_grant |= (outlook.notes & batch.pushes & CLASS_GRANTS) != 0;
#pragma GCC unroll 4
    for (int i = 0; i < clients; i++) {
        const struct cached_list *list = &outlook.lists[i];
        const struct cached_successor *cached = &fast->space->cache.entries[list->start];
        const unsigned count = list->counts[outlook.budget_case];
        if (!(list->notes[outlook.budget_case] & LIST_CLASSES &
              ~(batch.sleep_set >> (CLASS_BITS * i)))) {
            batch.skipped += count;
            continue;
        }
        for (const struct cached_successor *end = cached + count; cached < end; cached++)
            if (cached->class & batch.pushes)
                push(queue, &batch, cached, i, clients);
            else
                step(fast, &batch, cached, i);
    }
    queue->pushed = batch.pushed;
    queue->skipped = batch.skipped;
    return outlook.notes & LIST_URGENT ? FAST_URGENT : FAST_IDLE;
}

enum fast_path_end fast_path_expand(const struct fast_path *fast)
{
    switch (fast->space->config.clients) {
    case 2:
        return expand(fast, 2);
    case 3:
        return expand(fast, 3);
    case 4:
        return expand(fast, 4);
    default:
        return expand(fast, fast->space->config.clients);
    }
}
