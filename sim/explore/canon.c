/* canon.c - see canon.h. */
#include "explore/canon.h"

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
static void ask_slices(struct space *space, const uint32_t *words)
{
    for (int s = 0; s < space->setting.servers; s++)
        for (int i = 0; i < space->setting.clients; i++)
            columns_ask_slice(&space->columns, space, words[i], s);
}

/* Where lengths do not matter: what the clients have there, the first one first, so that its record
 * is met in few other orders. */
static inline uint64_t key_in_order(const struct space *space, const uint32_t *words, int server)
{
    enum { BITS = 20 };
    uint64_t key = 0;
    for (int i = 0; i < space->setting.clients; i++)
        key = key << BITS ^ columns_row(&space->columns, words[i])[server];
    return key << BITS ^ words[space->setting.clients + server];
}

/* Equal keys for unequal columns only cost a tie. */
static inline uint64_t key_of(const struct space *space, const uint32_t *words, int server)
{
    const struct setting *setting = &space->setting;
    uint64_t hash = 0;
    /* What critical sections guard is at the first server: that one stays where it is. */
    if (server == 0 && setting->section != SECTION_NOTHING)
        return 0;
    if (setting->is_ordered)
        return key_in_order(space, words, server);
    for (int i = 0; i < setting->clients; i++)
        hash = memo_mix(hash ^ columns_row(&space->columns, words[i])[server]);
    return (uint64_t)words[setting->clients + server] << 40 | hash >> 24;
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

static void move_columns(struct space *space, uint32_t *words, const uint8_t *order,
                         uint8_t *new_number)
{
    const struct setting *setting = &space->setting;
    uint32_t *posts = words + setting->clients;
    uint32_t sorted[SERVERS_MAX];
    for (int i = 0; i < setting->servers; i++) {
        sorted[i] = posts[order[i]];
        new_number[order[i]] = (uint8_t)i;
    }
    memcpy(posts, sorted, (size_t)setting->servers * sizeof *posts);
    for (int i = 0; i < setting->clients; i++)
        words[i] = columns_renumber(space, words[i], new_number);
}

static void move_column(struct space *space, uint32_t *words, int from, int to, uint8_t *new_number)
{
    const struct columns *columns = &space->columns;
    const uint8_t *moved = columns->moved[from][to];
    const int clients = space->setting.clients;
    uint32_t posts[SERVERS_MAX];
    memcpy(new_number, moved, SERVERS_MAX);
    for (int i = 0; i < clients; i++)
        words[i] = columns_move(columns, space, words[i], from, to);
    for (int s = 0; s < columns->servers; s++)
        posts[moved[s]] = words[clients + s];
    for (int s = 0; s < columns->servers; s++)
        words[clients + s] = posts[s];
}

static void sort_servers(struct space *space, uint32_t *words, const uint64_t *keys,
                         uint8_t *new_number)
{
    const int servers = space->setting.servers;
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
    int place = 0;
    for (int s = 0; s < count; s++)
        place += (keys[s] < key + (s < column)) & (s != column);
    return place;
}

/* The columns of a step that are not those of the state before it, as bits; or ALL_CHANGED. */
#define ALL_CHANGED UINT_MAX

static unsigned changed_columns(const struct canon *canon, const uint32_t *words)
{
    const struct space *space = canon->space;
    const struct columns *columns = &space->columns;
    const uint32_t *before = canon->words;
    int at = 0;
    unsigned changed = 0;
    for (; at < space->setting.clients; at++) {
        if (words[at] == before[at])
            continue;
        if (!columns_has_slices(columns, words[at]))
            return ALL_CHANGED;
        changed |= columns_differ(columns, words[at], before[at]);
    }
    for (int s = 0; s < columns->servers; s++, at++)
        changed |= (unsigned)(words[at] != before[at]) << s;
    return changed;
}

static void read_keys(struct canon *canon)
{
    struct space *space = canon->space;
    for (int i = 0; i < space->setting.clients; i++)
        if (!columns_has_slices(&space->columns, canon->words[i]))
            return;
    canon->has_keys = canon->is_sorted = true;
    for (int s = 0; s < space->setting.servers; s++) {
        canon->keys[s] = key_of(space, canon->words, s);
        canon->is_sorted &= s == 0 || canon->keys[s - 1] <= canon->keys[s];
    }
}

static void step_columns(struct canon *canon, uint32_t *words, unsigned changed,
                         uint8_t *new_number)
{
    uint64_t keys[SERVERS_MAX];
    if (changed == ALL_CHANGED)
        ask_slices(canon->space, words);
    for (int s = 0; s < canon->space->setting.servers; s++)
        keys[s] = changed >> s & 1 ? key_of(canon->space, words, s) : canon->keys[s];
    sort_servers(canon->space, words, keys, new_number);
}

static void step_servers(struct canon *canon, uint32_t *words, uint8_t *new_number)
{
    struct space *space = canon->space;
    if (!canon->has_keys)
        read_keys(canon);
    unsigned changed = canon->has_keys ? changed_columns(canon, words) : ALL_CHANGED;
    if (!canon->is_sorted || changed & (changed - 1)) {
        step_columns(canon, words, changed, new_number);
    } else if (changed) {
        int from = __builtin_ctz(changed);
        int to = place_of(canon->keys, space->setting.servers, from, key_of(space, words, from));
        if (to != from)
            move_column(space, words, from, to, new_number);
    }
}

/* --- clients --- */

/* What servers and the roll have of the client at a position; equal for equal. */
static uint64_t mentions(const struct space *space, uint32_t *words, int position)
{
    const struct setting *setting = &space->setting;
    uint64_t mentions = 0;
    for (int s = 0; s < setting->servers; s++) {
        unsigned told = space_note(space, words[setting->clients + s])->mentions[position];
        mentions = setting->servers == 1 ? told : memo_mix(mentions ^ told);
    }
    if (space_has_roll(space)) {
        uint64_t told = space_roll_mentions(space, *space_roll_of(space, words), position);
        mentions = memo_mix(mentions ^ told);
    }
    return mentions & 0xffffffff;
}

/* By their words, and, where these are the same, by who mentions them. False: they are in order. */
static bool client_keys(const struct space *space, uint32_t *words, uint64_t *keys)
{
    const int clients = space->setting.clients;
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

/* Equal posts mostly stand side by side. */
static void rename_posts(struct space *space, uint32_t *posts, const uint8_t *new_position)
{
    uint32_t old = UNKNOWN_ID, renamed = UNKNOWN_ID;
    for (int s = 0; s < space->setting.servers; s++) {
        if (posts[s] != old) {
            old = posts[s];
            renamed = space_rename_post(space, old, new_position);
        }
        posts[s] = renamed;
    }
}

static void sort_clients(struct space *space, uint32_t *words, uint8_t *new_position)
{
    const struct setting *setting = &space->setting;
    uint64_t keys[EXPLORE_CLIENTS_MAX];
    uint8_t order[EXPLORE_CLIENTS_MAX];
    if (!client_keys(space, words, keys))
        return;
    if (!sort_places(keys, setting->clients, order))
        return;
    uint32_t sorted[EXPLORE_CLIENTS_MAX];
    identity(new_position, EXPLORE_CLIENTS_MAX);
    for (int i = 0; i < setting->clients; i++) {
        sorted[i] = words[order[i]];
        new_position[order[i]] = (uint8_t)i;
    }
    for (int i = 0; i < setting->clients; i++) {
        bool has_mentions = space_place(space, sorted[i])->has_mentions;
        words[i] = has_mentions ? space_rename_local(space, sorted[i], new_position) : sorted[i];
    }
    rename_posts(space, words + setting->clients, new_position);
    if (space_has_roll(space)) {
        uint32_t *roll = space_roll_of(space, words);
        *roll = space_rename_roll(space, *roll, new_position);
    }
}

void canon_none(uint8_t *new_position, uint8_t *new_number)
{
    identity(new_position, EXPLORE_CLIENTS_MAX);
    identity(new_number, SERVERS_MAX);
}

void canon_open(struct canon *canon, struct space *space, unsigned reductions,
                const uint32_t *words)
{
    canon->space = space;
    canon->words = words;
    canon->has_keys = canon->is_sorted = false;
    canon->has_servers = reductions & REDUCE_SERVERS && space->setting.servers > 1;
    canon->has_clients = reductions & REDUCE_CLIENTS;
}

void canon_step(struct canon *canon, uint32_t *words, uint8_t *new_position, uint8_t *new_number)
{
    canon_none(new_position, new_number);
    if (canon->has_servers)
        step_servers(canon, words, new_number);
    if (canon->has_clients)
        sort_clients(canon->space, words, new_position);
}

void canon_sort(struct space *space, unsigned reductions, uint32_t *words, uint8_t *new_position,
                uint8_t *new_number)
{
    uint64_t keys[SERVERS_MAX];
    canon_none(new_position, new_number);
    if (reductions & REDUCE_SERVERS && space->setting.servers > 1) {
        ask_slices(space, words);
        for (int s = 0; s < space->setting.servers; s++)
            keys[s] = key_of(space, words, s);
        sort_servers(space, words, keys, new_number);
    }
    if (reductions & REDUCE_CLIENTS)
        sort_clients(space, words, new_position);
}
