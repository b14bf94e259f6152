/* near.c - see near.h. Each state comes this way: what is the same for all of its steps is kept out
 * of reach of what is written on the way. */
#include "explore/near.h"

/* What is to be known of all clients before any of them moves. */
struct outlook {
    struct heir_list lists[EXPLORE_CLIENTS_MAX];
    enum heir_wealth wealth;
    unsigned moves;
    unsigned notes; /* of all lists */
};

/* Made once for each common number of clients, as all that asks for one: their loops are then gone,
 * and so are places and masks that have to be computed.
 *
 * False: a list is not there. */
static INLINE bool look_out(const struct near *near, struct outlook *outlook, const int clients)
{
    const struct heirs *heirs = &near->space->heirs;
    const uint32_t *words = near->words;
    /* The last word: budgets. */
    const enum heir_wealth wealth = words[clients + 1] == 0 ? HEIR_POOR : HEIR_RICH;
    const uint32_t locals_end = heirs->locals_end, post = words[clients];
    if (post >= heirs->posts_end)
        return false;
    const uint32_t *blocks = heirs_blocks(heirs, post);
    unsigned moves = 0, notes = 0, common = LIST_MADE;
#pragma GCC unroll 4
    for (int i = 0; i < clients; i++, blocks += locals_end >> BLOCK_BITS) {
        if (words[i] >= locals_end)
            return false;
        const struct heir_list list = *heirs_seek(heirs, blocks, words[i]);
        outlook->lists[i] = list;
        moves += list.counts[wealth];
        notes |= list.notes[wealth];
        common &= list.notes[wealth];
    }
    outlook->wealth = wealth;
    outlook->moves = moves;
    outlook->notes = notes;
    return common;
}

/* Makes those that are not there. */
static bool lists_make(const struct near *near)
{
    struct space *space = near->space;
    const int clients = space->setting.clients;
    for (int i = 0; i < clients; i++) {
        const struct heir_key key = {near->words[i], near->words[clients], i};
        if (!heirs_of(&space->heirs, space, key))
            return false;
    }
    return true;
}

/* What all pushes from a state have in common. */
struct burst {
    const struct bucket *buckets;
    size_t size;
    visited_sum sum;
    uint32_t from, asleep;
    unsigned pushed, slept;
    unsigned pushes; /* classes of moves that are pushed just so */
};

/* A slow step lets the table grow, and the ring. */
static inline void burst_go_on(struct burst *it, const struct ring *ring)
{
    it->buckets = ring->visited->buckets;
    it->size = ring->visited->size;
    it->pushed = ring->pushed;
}

static inline struct burst burst_begin(const struct near *near, const struct outlook *outlook)
{
    const struct ring *ring = near->ring;
    struct burst it = {.sum = ring->sum,
                       .from = ring->from,
                       .asleep = ring->asleep,
                       .pushes = HEIR_LOCAL | HEIR_READS | HEIR_WRITES};
    if (!(outlook->notes & LIST_HOLDS))
        it.pushes |= HEIR_GRANTS;
    burst_go_on(&it, ring);
    return it;
}

/* After a move of that client, as far as they commute with it: what sleeps now, and all that comes
 * before it. */
static inline uint32_t sleepers(uint32_t asleep, int client)
{
    return asleep | ((1u << (CLASS_BITS * client)) - 1);
}

/* Where one sleeps, the next push takes its place. */
static INLINE void push(struct ring *ring, struct burst *it, const struct heir *heir,
                        const int client, const int clients)
{
    struct candidate *to = &ring->waiting[it->pushed % RING];
    uint32_t *words = to->words;
    const unsigned is_asleep = (it->asleep >> (CLASS_BITS * client) & heir->class) != 0;
    memcpy(words, ring->words, sizeof ring->words);
    words[client] = heir->local;
    words[clients] = heir->post;
    words[visited_even(clients + 2)] = sleepers(it->asleep, client) & heir->commutes;
    to->from = it->from;
    to->is_tick = false;
    to->print = visited_print_of(it->sum + heir->change);
    const struct bucket *home = &it->buckets[visited_home_of(to->print, it->size)];
    VISITED_PREFETCH(home);
    it->pushed += 1 - is_asleep;
    it->slept += is_asleep;
}

static void step(const struct near *near, struct burst *it, const struct heir *heir, int client)
{
    struct ring *ring = near->ring;
    ring->pushed = it->pushed;
    ring->slept = it->slept;
    near->step(near, client, heir);
    burst_go_on(it, ring);
    if (near->space->can_states_be_wrong)
        it->pushes = 0;
}

static INLINE enum near_end expand(const struct near *near, const int clients)
{
    struct ring *ring = near->ring;
    struct outlook outlook;
    while (!look_out(near, &outlook, clients))
        if (!lists_make(near))
            return NEAR_UNDONE;
    if (!ring_has_room(ring, outlook.moves))
        return NEAR_UNDONE;
    struct burst burst = burst_begin(near, &outlook);
    ring->has_grant |= (outlook.notes & burst.pushes & HEIR_GRANTS) != 0;
#pragma GCC unroll 4
    for (int i = 0; i < clients; i++) {
        const struct heir_list *list = &outlook.lists[i];
        const struct heir *heir = &near->space->heirs.heirs[list->start];
        const unsigned count = list->counts[outlook.wealth];
        if (!(list->notes[outlook.wealth] & LIST_CLASSES & ~(burst.asleep >> (CLASS_BITS * i)))) {
            burst.slept += count;
            continue;
        }
        for (const struct heir *end = heir + count; heir < end; heir++)
            if (heir->class & burst.pushes)
                push(ring, &burst, heir, i, clients);
            else
                step(near, &burst, heir, i);
    }
    ring->pushed = burst.pushed;
    ring->slept = burst.slept;
    return outlook.notes & LIST_URGENT ? NEAR_URGENT : NEAR_IDLE;
}

enum near_end near_expand(const struct near *near)
{
    switch (near->space->setting.clients) {
    case 2:
        return expand(near, 2);
    case 3:
        return expand(near, 3);
    case 4:
        return expand(near, 4);
    default:
        return expand(near, near->space->setting.clients);
    }
}
