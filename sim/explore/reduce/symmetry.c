/* symmetry.c - see symmetry.h. */
#include "explore/reduce/symmetry.h"

#include <limits.h>
#include <string.h>

static const uint8_t counted[8] = {0, 1, 2, 3, 4, 5, 6, 7};

_Static_assert(EXPLORE_CLIENTS_MAX <= 8 && SERVERS_MAX <= 8, "counted is too short");

static void identity(uint8_t *to, int count)
{
    memcpy(to, counted, (size_t)count);
}

/* Sorts count places by their keys; false when they were sorted already. order[new] = old. */
static bool sort_places(const uint64_t *keys, int count, uint8_t *order)
{
    bool has_moved = false;
    identity(order, count);
    for (int i = 1; i < count; i++) {
        uint8_t it = order[i];
        int at = i;
        for (; at > 0 && keys[order[at - 1]] > keys[it]; at--)
            order[at] = order[at - 1];
        order[at] = it;
        has_moved |= at != i;
    }
    return has_moved;
}

/* --- servers --- */

/* Slices get their numbers in the order in which they are met, and the order of columns hangs on
 * those: so they are asked for in one order, and never sooner than a step needs them. */
static void ask_projections(struct state_space *space, const uint32_t *words)
{
    for (int s = 0; s < space->config.servers; s++)
        for (int i = 0; i < space->config.clients; i++)
            projections_ask(&space->projections, space, words[i], s);
}

/* Where lengths do not matter: what the clients have there, the first one first, so that its record
 * is met in few other orders. */
static inline uint64_t key_of_partial_order(const struct state_space *space, const uint32_t *words,
                                            int server)
{
    enum { BITS = 20 };
    uint64_t key = 0;
    for (int i = 0; i < space->config.clients; i++)
        key = key << BITS ^ projections_row(&space->projections, words[i])[server];
    return key << BITS ^ words[space->config.clients + server];
}

/* Equal keys for unequal columns only cost a tie. */
static inline uint64_t key_of(const struct state_space *space, const uint32_t *words, int server)
{
    const struct config *config = &space->config;
    uint64_t hash = 0;
    /* What critical sections guard is at the first server: that one stays where it is. */
    if (server == 0 && config->section != SECTION_NOTHING)
        return 0;
    if (config->has_partial_order)
        return key_of_partial_order(space, words, server);
    for (int i = 0; i < config->clients; i++)
        hash = memo_mix(hash ^ projections_row(&space->projections, words[i])[server]);
    return (uint64_t)words[config->clients + server] << 40 | hash >> 24;
}

/* The column that alone has moved, and where to; false: there are several. */
static bool is_one_move(const uint8_t *order, int count, int *from, int *to)
{
    int first = 0, last = count - 1;
    while (order[first] == first)
        first++;
    while (order[last] == last)
        last--;
    bool is_back = order[first] == last;
    *from = is_back ? last : first;
    *to = is_back ? first : last;
    for (int i = first; i < last; i++)
        if (order[i + is_back] != i + !is_back)
            return false;
    return true;
}

static void move_columns(struct state_space *space, uint32_t *words, const uint8_t *order,
                         uint8_t *new_number)
{
    const struct config *config = &space->config;
    uint32_t *server_states = words + config->clients;
    uint32_t sorted[SERVERS_MAX];
    for (int i = 0; i < config->servers; i++) {
        sorted[i] = server_states[order[i]];
        new_number[order[i]] = (uint8_t)i;
    }
    memcpy(server_states, sorted, (size_t)config->servers * sizeof *server_states);
    for (int i = 0; i < config->clients; i++)
        words[i] = projections_renumber(space, words[i], new_number);
}

static void move_column(struct state_space *space, uint32_t *words, int from, int to,
                        uint8_t *new_number)
{
    const struct projections *projections = &space->projections;
    const uint8_t *moved = projections->moved[from][to];
    const int clients = space->config.clients;
    uint32_t server_states[SERVERS_MAX];
    memcpy(new_number, moved, SERVERS_MAX);
    for (int i = 0; i < clients; i++)
        words[i] = projections_move(projections, space, words[i], from, to);
    for (int s = 0; s < projections->servers; s++)
        server_states[moved[s]] = words[clients + s];
    for (int s = 0; s < projections->servers; s++)
        words[clients + s] = server_states[s];
}

static void sort_servers(struct state_space *space, uint32_t *words, const uint64_t *keys,
                         uint8_t *new_number)
{
    const int servers = space->config.servers;
    uint8_t order[SERVERS_MAX];
    int from, to;
    if (!sort_places(keys, servers, order))
        return;
    if (is_one_move(order, servers, &from, &to))
        move_column(space, words, from, to, new_number);
    else
        move_columns(space, words, order, new_number);
}

/* Where the column belongs among the others, which are sorted by their keys. Without a branch:
 * nobody can guess it. */
static int place_of(const uint64_t *keys, int count, int column, uint64_t key)
{
    int facts = 0;
    for (int s = 0; s < count; s++)
        facts += (keys[s] < key + (s < column)) & (s != column);
    return facts;
}

/* The columns of a step that are not those of the state before it, as bits; or ALL_CHANGED. */
#define ALL_CHANGED UINT_MAX

static unsigned changed_columns(const struct symmetry *symmetry, const uint32_t *words)
{
    const struct state_space *space = symmetry->space;
    const struct projections *projections = &space->projections;
    const uint32_t *before = symmetry->words;
    int at = 0;
    unsigned changed = 0;
    for (; at < space->config.clients; at++) {
        if (words[at] == before[at])
            continue;
        if (!projections_has_all(projections, words[at]))
            return ALL_CHANGED;
        changed |= projections_differ(projections, words[at], before[at]);
    }
    for (int s = 0; s < projections->servers; s++, at++)
        changed |= (unsigned)(words[at] != before[at]) << s;
    return changed;
}

static void read_keys(struct symmetry *symmetry)
{
    struct state_space *space = symmetry->space;
    for (int i = 0; i < space->config.clients; i++)
        if (!projections_has_all(&space->projections, symmetry->words[i]))
            return;
    symmetry->has_keys = symmetry->is_sorted = true;
    for (int s = 0; s < space->config.servers; s++) {
        symmetry->keys[s] = key_of(space, symmetry->words, s);
        symmetry->is_sorted &= s == 0 || symmetry->keys[s - 1] <= symmetry->keys[s];
    }
}

static void step_columns(struct symmetry *symmetry, uint32_t *words, unsigned changed,
                         uint8_t *new_number)
{
    uint64_t keys[SERVERS_MAX];
    if (changed == ALL_CHANGED)
        ask_projections(symmetry->space, words);
    for (int s = 0; s < symmetry->space->config.servers; s++)
        keys[s] = changed >> s & 1 ? key_of(symmetry->space, words, s) : symmetry->keys[s];
    sort_servers(symmetry->space, words, keys, new_number);
}

static void step_servers(struct symmetry *symmetry, uint32_t *words, uint8_t *new_number)
{
    struct state_space *space = symmetry->space;
    if (!symmetry->has_keys)
        read_keys(symmetry);
    unsigned changed = symmetry->has_keys ? changed_columns(symmetry, words) : ALL_CHANGED;
    if (!symmetry->is_sorted || changed & (changed - 1)) {
        step_columns(symmetry, words, changed, new_number);
    } else if (changed) {
        int from = __builtin_ctz(changed);
        int to = place_of(symmetry->keys, space->config.servers, from, key_of(space, words, from));
        if (to != from)
            move_column(space, words, from, to, new_number);
    }
}

/* --- clients --- */

/* What servers and the fence order have of the client at a position; equal for equal. */
static uint64_t mentions(const struct state_space *space, uint32_t *words, int position)
{
    const struct config *config = &space->config;
    uint64_t mentions = 0;
    for (int s = 0; s < config->servers; s++) {
        unsigned told = space_server_facts(space, words[config->clients + s])->mentions[position];
        mentions = config->servers == 1 ? told : memo_mix(mentions ^ told);
    }
    if (space_has_fences(space)) {
        uint64_t told = space_fences_mentions(space, *space_fences_of(space, words), position);
        mentions = memo_mix(mentions ^ told);
    }
    return mentions & 0xffffffff;
}

/* By their words, and, where these are the same, by who mentions them. False: they are in order. */
static bool client_keys(const struct state_space *space, uint32_t *words, uint64_t *keys)
{
    const int clients = space->config.clients;
    bool is_tied = false, is_ordered = true;
    for (int i = 1; i < clients; i++)
        is_ordered &= words[i - 1] < words[i];
    if (is_ordered)
        return false;
    for (int i = 1; i < clients; i++)
        for (int k = 0; k < i; k++)
            is_tied |= words[i] == words[k];
    for (int i = 0; i < clients; i++)
        keys[i] = (uint64_t)words[i] << 32 | (is_tied ? mentions(space, words, i) : 0);
    return true;
}

/* Equal server states mostly stand side by side. */
static void rename_server_states(struct state_space *space, uint32_t *server_states,
                                 const uint8_t *new_position)
{
    uint32_t old = UNKNOWN_ID, renamed = UNKNOWN_ID;
    for (int s = 0; s < space->config.servers; s++) {
        if (server_states[s] != old) {
            old = server_states[s];
            renamed = space_rename_server(space, old, new_position);
        }
        server_states[s] = renamed;
    }
}

static void sort_clients(struct state_space *space, uint32_t *words, uint8_t *new_position)
{
    const struct config *config = &space->config;
    uint64_t keys[EXPLORE_CLIENTS_MAX];
    uint8_t order[EXPLORE_CLIENTS_MAX];
    if (!client_keys(space, words, keys))
        return;
    if (!sort_places(keys, config->clients, order))
        return;
    uint32_t sorted[EXPLORE_CLIENTS_MAX];
    identity(new_position, EXPLORE_CLIENTS_MAX);
    for (int i = 0; i < config->clients; i++) {
        sorted[i] = words[order[i]];
        new_position[order[i]] = (uint8_t)i;
    }
    for (int i = 0; i < config->clients; i++) {
        bool has_mentions = space_client(space, sorted[i])->has_mentions;
        words[i] = has_mentions ? space_rename_client(space, sorted[i], new_position) : sorted[i];
    }
    rename_server_states(space, words + config->clients, new_position);
    if (space_has_fences(space)) {
        uint32_t *fences = space_fences_of(space, words);
        *fences = space_rename_fences(space, *fences, new_position);
    }
}

void symmetry_none(uint8_t *new_position, uint8_t *new_number)
{
    identity(new_position, EXPLORE_CLIENTS_MAX);
    identity(new_number, SERVERS_MAX);
}

void symmetry_open(struct symmetry *symmetry, struct state_space *space, unsigned reductions,
                   const uint32_t *words)
{
    symmetry->space = space;
    symmetry->words = words;
    symmetry->has_keys = symmetry->is_sorted = false;
    symmetry->has_servers = reductions & REDUCE_SERVERS && space->config.servers > 1;
    symmetry->has_clients = reductions & REDUCE_CLIENTS;
}

void symmetry_step(struct symmetry *symmetry, uint32_t *words, uint8_t *new_position,
                   uint8_t *new_number)
{
    symmetry_none(new_position, new_number);
    if (symmetry->has_servers)
        step_servers(symmetry, words, new_number);
    if (symmetry->has_clients)
        sort_clients(symmetry->space, words, new_position);
}

void symmetry_sort(struct state_space *space, unsigned reductions, uint32_t *words,
                   uint8_t *new_position, uint8_t *new_number)
{
    uint64_t keys[SERVERS_MAX];
    symmetry_none(new_position, new_number);
    if (reductions & REDUCE_SERVERS && space->config.servers > 1) {
        ask_projections(space, words);
        for (int s = 0; s < space->config.servers; s++)
            keys[s] = key_of(space, words, s);
        sort_servers(space, words, keys, new_number);
    }
    if (reductions & REDUCE_CLIENTS)
        sort_clients(space, words, new_position);
}

const struct reduction_hooks symmetry_hooks = {
    .open = symmetry_open, .step = symmetry_step, .stay = symmetry_none, .sort = symmetry_sort};
