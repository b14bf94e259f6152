/* successor_cache.c - see successor_cache.h. */
#include "explore/graph/successor_cache.h"

#include "base/memory.h"
#include "explore/graph/independence.h"
#include "explore/graph/space.h"

#include <stdlib.h>
#include <string.h>

/* LISTS_MAX: more of them are not in the cache when they are looked for, and cost more than they
 * save. ROOM_MAX: of blocks, and of lists in them, made or not. */
enum { CLIENT_STATES_FIRST = 32, SERVER_STATES_FIRST = 8, LISTS_FIRST = 1024 };
enum { LISTS_MAX = 1 << 17, ROOM_MAX = 1 << 20 };

_Static_assert(ACTIONS_MAX <= UINT8_MAX, "a list counts its moves in a byte");

static size_t blocks_count(const struct successor_cache *cache)
{
    return (size_t)cache->server_states_end * (unsigned)cache->clients *
           (cache->client_states_end >> BLOCK_BITS);
}

void successor_cache_init(struct successor_cache *cache, int clients)
{
    memset(cache, 0, sizeof *cache);
    cache->clients = clients;
    cache->client_states_end = CLIENT_STATES_FIRST;
    cache->server_states_end = SERVER_STATES_FIRST;
    cache->blocks = memory_new(blocks_count(cache), sizeof *cache->blocks);
    cache->lists_size = cache->entries_size = LISTS_FIRST;
    cache->lists = memory_new(cache->lists_size, sizeof *cache->lists);
    cache->lists_count = BLOCK_LISTS;
    cache->entries = memory_new(cache->entries_size, sizeof *cache->entries);
}

void successor_cache_close(struct successor_cache *cache)
{
    free(cache->blocks);
    free(cache->lists);
    free(cache->entries);
    memset(cache, 0, sizeof *cache);
}

size_t successor_cache_bytes(const struct successor_cache *cache)
{
    return blocks_count(cache) * sizeof *cache->blocks + cache->lists_size * sizeof *cache->lists +
           cache->entries_size * sizeof *cache->entries;
}

/* --- room --- */

/* For a client state and a server state that are not there yet. False: there would be too many
 * blocks. */
static bool blocks_grow(struct successor_cache *cache, uint32_t client_state, uint32_t server_state)
{
    struct successor_cache old = *cache;
    while (client_state >= cache->client_states_end)
        cache->client_states_end *= 2;
    while (server_state >= cache->server_states_end)
        cache->server_states_end *= 2;
    if (blocks_count(cache) > ROOM_MAX) {
        *cache = old;
        return false;
    }
    cache->blocks = memory_new(blocks_count(cache), sizeof *cache->blocks);
    const size_t from = old.client_states_end >> BLOCK_BITS,
                 to = cache->client_states_end >> BLOCK_BITS;
    for (size_t row = 0; row < (size_t)old.server_states_end * (unsigned)old.clients; row++)
        memcpy(cache->blocks + row * to, old.blocks + row * from, from * sizeof *old.blocks);
    free(old.blocks);
    return true;
}

/* Where that list is to be made. NULL: there is no room. */
static struct cached_list *lists_place(struct successor_cache *cache, struct cache_key key)
{
    if ((key.client_state >= cache->client_states_end ||
         key.server_state >= cache->server_states_end) &&
        !blocks_grow(cache, key.client_state, key.server_state))
        return NULL;
    const size_t row = (size_t)key.server_state * (unsigned)cache->clients + (unsigned)key.client;
    uint32_t *block =
        &cache->blocks[(row * cache->client_states_end + key.client_state) >> BLOCK_BITS];
    if (*block == 0) {
        if (cache->lists_count == ROOM_MAX)
            return NULL;
        if (cache->lists_count == cache->lists_size) {
            size_t size = cache->lists_size;
            cache->lists_size *= 2;
            cache->lists = memory_resize(cache->lists, cache->lists_size, sizeof *cache->lists);
            memset(cache->lists + size, 0, size * sizeof *cache->lists);
        }
        *block = cache->lists_count;
        cache->lists_count += BLOCK_LISTS;
    }
    return &cache->lists[*block + key.client_state % BLOCK_LISTS];
}

static void successor_cache_reserve(struct successor_cache *cache, unsigned count)
{
    while (cache->entries_count + count > cache->entries_size) {
        cache->entries_size *= 2;
        cache->entries = memory_resize(cache->entries, cache->entries_size, sizeof *cache->entries);
    }
}

/* An operation that ends without a grant concerns the servers when they keep the client's lock, or
 * the verdict when the client was told what is not so. */
static bool is_quick_return(const struct client_facts *facts,
                            const struct server_facts *server_facts, const struct action *action,
                            int client)
{
    unsigned untrue =
        action->did & DID_NOT_MINE ? facts->deleted : facts->refused_itself | facts->refused_behind;
    if (action->did & ~(unsigned)(DID_REFUSE | DID_NOT_MINE | DID_RELEASE | DID_RETURN))
        return false;
    if (action->did & (DID_REFUSE | DID_NOT_MINE) && untrue)
        return false;
    return server_facts->ghost.owner != client + 1 && server_facts->kept.owner != client + 1 &&
           server_facts->saved.owner != client + 1;
}

static fingerprint_sum change_of(const struct successor_cache *cache,
                                 const struct cached_successor *cached, struct cache_key key)
{
    const struct fingerprint_set *visited = cache->visited;
    const int server = cache->clients;
    return fingerprint_term(visited, key.client, cached->client_state) -
           fingerprint_term(visited, key.client, key.client_state) +
           fingerprint_term(visited, server, cached->server_state) -
           fingerprint_term(visited, server, key.server_state);
}

/* What successors_expand() would find; successors.c says what a step is made of. */
static enum cached_kind kind_of(struct state_space *space, struct cached_successor *cached,
                                const struct action *action, int client)
{
    const struct client_facts *facts = space_client(space, cached->client_state);
    const struct server_facts *server_facts = space_server_facts(space, cached->server_state);
    if (action->kind == ACTION_INJECT)
        return CACHED_NOT;
    if (action->kind == ACTION_ARRIVE)
        return space_arrive(space, &cached->client_state, action->message, &cached->server_state,
                            client)
                   ? CACHED_NOT
                   : CACHED_WHOLE;
    cached->client_state = action->to;
    if (!action->did)
        return CACHED_WHOLE;
    if (action->did == DID_GRANT)
        return facts->call_left > LEASE_OVER && !facts->is_untold ? CACHED_GRANT : CACHED_NOT;
    return is_quick_return(facts, server_facts, action, client) ? CACHED_WHOLE : CACHED_NOT;
}

static enum dependence_class class_of(const struct cached_successor *cached,
                                      const struct action *action, uint32_t server_state)
{
    if (cached->kind == CACHED_NOT || cached->hearing != HEARD_ALWAYS)
        return CLASS_OTHER;
    if (cached->kind == CACHED_GRANT)
        return CLASS_GRANTS;
    if (independence[action->kind][ACTION_ARRIVE] == WHEN_QUIET && !action->did)
        return CLASS_LOCAL;
    return cached->server_state == server_state ? CLASS_READS : CLASS_WRITES;
}

/* Of the other clients' actions. A grant leaves the server state as it is, and would do so beside
 * any. */
static unsigned commutes_with(enum dependence_class class)
{
    switch (class) {
    case CLASS_LOCAL:
    case CLASS_GRANTS:
        return CLASS_LOCAL | CLASS_READS | CLASS_WRITES;
    case CLASS_READS:
        return CLASS_LOCAL | CLASS_READS;
    case CLASS_WRITES:
        return CLASS_LOCAL;
    default:
        return 0;
    }
}

static uint32_t sets_of_others(unsigned classes, int client)
{
    uint32_t sets = 0;
    for (int i = 0; i < EXPLORE_CLIENTS_MAX; i++)
        if (i != client)
            sets |= classes << (CLASS_BITS * i);
    return sets;
}

static struct cached_successor cached_make(const struct successor_cache *cache,
                                           struct state_space *space, struct cache_key key,
                                           const struct action *action)
{
    struct cached_successor cached = {.client_state = key.client_state,
                                      .server_state = key.server_state,
                                      .hearing = action->hearing};
    cached.kind = (uint8_t)kind_of(space, &cached, action, key.client);
    cached.class = (uint8_t)class_of(&cached, action, key.server_state);
    cached.commutes = sets_of_others(commutes_with(cached.class), key.client);
    cached.change = change_of(cache, &cached, key);
    return cached;
}

static uint8_t notes_of(const struct client_facts *facts, const struct cached_successor *cached,
                        int count)
{
    unsigned notes = facts->is_urgent ? LIST_MADE | LIST_URGENT : LIST_MADE;
    if (facts->phase == PHASE_HOLDING)
        notes |= LIST_HOLDS;
    for (int i = 0; i < count; i++)
        notes |= cached[i].class;
    return (uint8_t)notes;
}

const struct cached_list *successor_cache_make(struct successor_cache *cache,
                                               struct state_space *space, struct cache_key key)
{
    const struct client_facts facts = *space_client(space, key.client_state);
    struct cached_list *list = lists_place(cache, key);
    cache->are_too_many = !list || cache->lists_made == LISTS_MAX;
    if (cache->are_too_many)
        return NULL;
    cache->lists_made++;
    successor_cache_reserve(cache, facts.actions_count);
    list->start = cache->entries_count;
    list->counts[WITH_BUDGET] = (uint8_t)facts.actions_count;
    for (int i = 0; i < facts.actions_count; i++) {
        const struct action action = space->actions[facts.actions_start + (uint32_t)i];
        struct cached_successor *cached = &cache->entries[cache->entries_count++];
        *cached = cached_make(cache, space, key, &action);
        cached->action = (uint8_t)i;
        if (action.kind != ACTION_INJECT)
            list->counts[WITHOUT_BUDGET] = (uint8_t)(i + 1);
    }
    for (int i = 0; i < BUDGET_CASES; i++)
        list->notes[i] = notes_of(&facts, &cache->entries[list->start], list->counts[i]);
    return list;
}
