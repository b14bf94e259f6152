/* near.c - see near.h. Each state comes this way: what is the same for all of its steps is kept out
 * of reach of what is written on the way. */
#include "explore/near.h"

/* A client that can do what does not sleep. */
struct mover {
    const struct heir_list *list;
    int client;
    unsigned slept; /* moves of those before it, when none of theirs is awake */
};

/* What is to be known of all clients before any of them moves. */
struct outlook {
    struct mover movers[EXPLORE_CLIENTS_MAX];
    int count;
    unsigned slept; /* moves of the others */
    unsigned moves;
    unsigned notes; /* of all lists */
};

/* False: a list is not there. */
static INLINE bool look_out(const struct near *near, struct outlook *outlook,
                            enum heir_wealth wealth)
{
    const struct heirs *heirs = &near->space->heirs;
    const struct heir_list *lists = heirs->lists;
    const uint32_t *words = near->words, mask = heirs->lists_size - 1;
    const int clients = near->space->setting.clients;
    uint64_t rest = heirs_key(0, words[clients], 0);
    uint32_t asleep = near->ring->asleep;
    unsigned slept = 0, moves = 0, notes = 0;
    int count = 0;
    for (int i = 0; i < clients; i++, rest++, asleep >>= CLASS_BITS) {
        const uint64_t key = rest + ((uint64_t)words[i] << 32);
        uint32_t at = heirs_home(key) & mask;
        for (; lists[at].key != key; at = (at + 1) & mask)
            if (lists[at].key == 0)
                return false;
        const struct heir_list *list = &lists[at];
        const unsigned noted = list->notes[wealth];
        const unsigned is_awake = (noted & LIST_CLASSES & ~asleep) != 0;
        outlook->movers[count] = (struct mover){.list = list, .client = i, .slept = slept};
        count += (int)is_awake;
        slept += list->counts[wealth] & (is_awake - 1);
        moves += list->counts[wealth];
        notes |= noted;
    }
    outlook->count = count;
    outlook->slept = slept;
    outlook->moves = moves;
    outlook->notes = notes;
    return true;
}

/* Makes those that are not there. */
static bool lists_make(const struct near *near)
{
    struct space *space = near->space;
    const int clients = space->setting.clients;
    for (int i = 0; i < clients; i++)
        if (!heirs_of(&space->heirs, space, near->words[i], near->words[clients], i))
            return false;
    return true;
}

/* What all pushes from a state have in common. */
struct burst {
    const struct bucket *buckets;
    size_t size;
    visited_sum sum;
    uint32_t from, asleep;
    int spare, clients;
    unsigned pushed;
    unsigned slept;   /* moves of those that can do more */
    unsigned pushes;  /* classes of moves that are pushed just so */
    unsigned classes; /* of those that were */
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
                       .spare = ring->visited->words,
                       .clients = near->space->setting.clients,
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
static inline void push(struct ring *ring, struct burst *it, int client, const struct heir *heir)
{
    struct candidate *to = &ring->waiting[it->pushed % RING];
    const unsigned is_asleep = (it->asleep >> (CLASS_BITS * client) & heir->class) != 0;
    memcpy(to->words, ring->words, sizeof ring->words);
    to->words[client] = heir->local;
    to->words[it->clients] = heir->post;
    to->words[it->spare] = sleepers(it->asleep, client) & heir->commutes;
    to->from = it->from;
    to->print = visited_print_of(it->sum + heir->change);
    const struct bucket *home = &it->buckets[visited_home_of(to->print, it->size)];
    VISITED_PREFETCH(home);
    it->pushed += 1 - is_asleep;
    it->slept += is_asleep;
    it->classes |= heir->class;
}

static void step(const struct near *near, struct burst *it, const struct mover *mover,
                 const struct heir *heir)
{
    struct ring *ring = near->ring;
    ring->pushed = it->pushed;
    ring->slept = mover->slept + it->slept;
    near->step(near->context, mover->client, heir);
    burst_go_on(it, ring);
    if (near->space->can_states_be_wrong)
        it->pushes = 0;
}

enum near_end near_expand(const struct near *near)
{
    const struct heirs *heirs = &near->space->heirs;
    struct ring *ring = near->ring;
    struct outlook outlook;
    const enum heir_wealth wealth =
        near->words[space_words(near->space) - 1] == 0 ? HEIR_POOR : HEIR_RICH;
    while (!(wealth == HEIR_POOR ? look_out(near, &outlook, HEIR_POOR)
                                 : look_out(near, &outlook, HEIR_RICH)))
        if (!lists_make(near))
            return NEAR_UNDONE;
    if (!ring_has_room(ring, outlook.moves))
        return NEAR_UNDONE;
    struct burst burst = burst_begin(near, &outlook);
    for (const struct mover *mover = outlook.movers; mover < outlook.movers + outlook.count;
         mover++) {
        const struct heir *heir = &heirs->heirs[mover->list->start];
        const struct heir *end = heir + mover->list->counts[wealth];
        for (; heir < end; heir++)
            if (heir->class & burst.pushes)
                push(ring, &burst, mover->client, heir);
            else
                step(near, &burst, mover, heir);
    }
    ring->pushed = burst.pushed;
    ring->slept = outlook.slept + burst.slept;
    ring->has_grant |= (burst.classes & HEIR_GRANTS) != 0;
    return outlook.notes & LIST_URGENT ? NEAR_URGENT : NEAR_IDLE;
}
