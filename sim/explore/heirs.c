/* heirs.c - see heirs.h. */
#include "explore/heirs.h"

#include "base/memory.h"
#include "explore/space.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* LISTS_MAX: more of them are not in the cache when they are looked for, and cost more than they
 * save. ROOM_MAX: of blocks, and of lists in them, made or not. */
enum { LOCALS_FIRST = 32, POSTS_FIRST = 8, LISTS_FIRST = 1024 };
enum { LISTS_MAX = 1 << 17, ROOM_MAX = 1 << 20 };

_Static_assert(MOVES_MAX <= UINT8_MAX, "a list counts its moves in a byte");

static size_t blocks_count(const struct heirs *heirs)
{
    return (size_t)heirs->posts_end * (unsigned)heirs->clients * (heirs->locals_end >> BLOCK_BITS);
}

void heirs_init(struct heirs *heirs, int clients)
{
    memset(heirs, 0, sizeof *heirs);
    heirs->clients = clients;
    heirs->locals_end = LOCALS_FIRST;
    heirs->posts_end = POSTS_FIRST;
    heirs->blocks = memory_new(blocks_count(heirs), sizeof *heirs->blocks);
    heirs->lists_size = heirs->heirs_size = LISTS_FIRST;
    heirs->lists = memory_new(heirs->lists_size, sizeof *heirs->lists);
    heirs->lists_count = BLOCK_LISTS;
    heirs->heirs = memory_new(heirs->heirs_size, sizeof *heirs->heirs);
}

void heirs_close(struct heirs *heirs)
{
    free(heirs->blocks);
    free(heirs->lists);
    free(heirs->heirs);
    memset(heirs, 0, sizeof *heirs);
}

size_t heirs_bytes(const struct heirs *heirs)
{
    return blocks_count(heirs) * sizeof *heirs->blocks + heirs->lists_size * sizeof *heirs->lists +
           heirs->heirs_size * sizeof *heirs->heirs;
}

/* --- room --- */

/* For a local and a post that are not there yet. False: there would be too many blocks. */
static bool blocks_grow(struct heirs *heirs, uint32_t local, uint32_t post)
{
    struct heirs old = *heirs;
    while (local >= heirs->locals_end)
        heirs->locals_end *= 2;
    while (post >= heirs->posts_end)
        heirs->posts_end *= 2;
    if (blocks_count(heirs) > ROOM_MAX) {
        *heirs = old;
        return false;
    }
    heirs->blocks = memory_new(blocks_count(heirs), sizeof *heirs->blocks);
    const size_t from = old.locals_end >> BLOCK_BITS, to = heirs->locals_end >> BLOCK_BITS;
    for (size_t row = 0; row < (size_t)old.posts_end * (unsigned)old.clients; row++)
        memcpy(heirs->blocks + row * to, old.blocks + row * from, from * sizeof *old.blocks);
    free(old.blocks);
    return true;
}

/* Where that list is to be made. NULL: there is no room. */
static struct heir_list *lists_place(struct heirs *heirs, struct heir_key key)
{
    if ((key.local >= heirs->locals_end || key.post >= heirs->posts_end) &&
        !blocks_grow(heirs, key.local, key.post))
        return NULL;
    const size_t row = (size_t)key.post * (unsigned)heirs->clients + (unsigned)key.client;
    uint32_t *block = &heirs->blocks[(row * heirs->locals_end + key.local) >> BLOCK_BITS];
    if (*block == 0) {
        if (heirs->lists_count == ROOM_MAX)
            return NULL;
        if (heirs->lists_count == heirs->lists_size) {
            size_t size = heirs->lists_size;
            heirs->lists_size *= 2;
            heirs->lists = memory_resize(heirs->lists, heirs->lists_size, sizeof *heirs->lists);
            memset(heirs->lists + size, 0, size * sizeof *heirs->lists);
        }
        *block = heirs->lists_count;
        heirs->lists_count += BLOCK_LISTS;
    }
    return &heirs->lists[*block + key.local % BLOCK_LISTS];
}

static void heirs_reserve(struct heirs *heirs, unsigned count)
{
    while (heirs->heirs_count + count > heirs->heirs_size) {
        heirs->heirs_size *= 2;
        heirs->heirs = memory_resize(heirs->heirs, heirs->heirs_size, sizeof *heirs->heirs);
    }
}

/* An operation that ends without a grant concerns the servers when they keep the client's lock, or
 * the verdict when the client was told what is not so. */
static bool is_quick_return(const struct place *place, const struct post_note *note,
                            const struct move *move, int client)
{
    unsigned untrue = move->did & DID_NOT_MINE ? place->deleted : place->refused;
    if (move->did & ~(unsigned)(DID_REFUSE | DID_NOT_MINE | DID_RETURN))
        return false;
    if (move->did & (DID_REFUSE | DID_NOT_MINE) && untrue)
        return false;
    return note->claim.owner != client + 1 && note->kept.owner != client + 1;
}

static visited_sum change_of(const struct heirs *heirs, const struct heir *heir,
                             struct heir_key key)
{
    const struct visited *visited = heirs->visited;
    const int server = heirs->clients;
    return visited_term(visited, key.client, heir->local) -
           visited_term(visited, key.client, key.local) +
           visited_term(visited, server, heir->post) - visited_term(visited, server, key.post);
}

/* What stepper_expand() would find; steps.c says what a step is made of. */
static enum heir_kind kind_of(struct space *space, struct heir *heir, const struct move *move,
                              int client)
{
    const struct place *place = space_place(space, heir->local);
    const struct post_note *note = space_note(space, heir->post);
    if (move->kind == MOVE_STRIKE)
        return HEIR_SLOW;
    if (move->kind == MOVE_ARRIVE)
        return space_arrive(space, &heir->local, move->parcel, &heir->post, client) ? HEIR_SLOW
                                                                                    : HEIR_QUICK;
    heir->local = move->to;
    if (!move->did)
        return HEIR_QUICK;
    if (move->did == DID_GRANT)
        return place->call_left > LEASE_OVER ? HEIR_GRANT : HEIR_SLOW;
    return is_quick_return(place, note, move, client) ? HEIR_QUICK : HEIR_SLOW;
}

static enum heir_class class_of(const struct heir *heir, const struct move *move, uint32_t post)
{
    if (heir->kind == HEIR_SLOW || heir->hearing != HEARD_BY_ALL)
        return HEIR_OTHER;
    if (heir->kind == HEIR_GRANT)
        return HEIR_GRANTS;
    if (move->kind != MOVE_ARRIVE && !move->did)
        return HEIR_LOCAL;
    return heir->post == post ? HEIR_READS : HEIR_WRITES;
}

/* Of the other clients' moves. A grant leaves the post as it is, and would do so beside any. */
static unsigned commutes_with(enum heir_class class)
{
    switch (class) {
    case HEIR_LOCAL:
    case HEIR_GRANTS:
        return HEIR_LOCAL | HEIR_READS | HEIR_WRITES;
    case HEIR_READS:
        return HEIR_LOCAL | HEIR_READS;
    case HEIR_WRITES:
        return HEIR_LOCAL;
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

static struct heir heir_make(const struct heirs *heirs, struct space *space, struct heir_key key,
                             const struct move *move)
{
    struct heir heir = {.local = key.local, .post = key.post, .hearing = move->hearing};
    heir.kind = (uint8_t)kind_of(space, &heir, move, key.client);
    heir.class = (uint8_t)class_of(&heir, move, key.post);
    heir.commutes = sets_of_others(commutes_with(heir.class), key.client);
    heir.change = change_of(heirs, &heir, key);
    return heir;
}

static uint8_t notes_of(const struct place *place, const struct heir *heir, int count)
{
    unsigned notes = place->is_urgent ? LIST_MADE | LIST_URGENT : LIST_MADE;
    if (place->phase == PHASE_HOLDING)
        notes |= LIST_HOLDS;
    for (int i = 0; i < count; i++)
        notes |= heir[i].class;
    return (uint8_t)notes;
}

const struct heir_list *heirs_list(struct heirs *heirs, struct space *space, struct heir_key key)
{
    const struct place place = *space_place(space, key.local);
    struct heir_list *list = lists_place(heirs, key);
    heirs->are_too_many = !list || heirs->lists_made == LISTS_MAX;
    if (heirs->are_too_many)
        return NULL;
    heirs->lists_made++;
    heirs_reserve(heirs, place.moves_count);
    list->start = heirs->heirs_count;
    list->counts[HEIR_RICH] = (uint8_t)place.moves_count;
    for (int i = 0; i < place.moves_count; i++) {
        const struct move move = space->moves[place.moves_start + (uint32_t)i];
        struct heir *heir = &heirs->heirs[heirs->heirs_count++];
        *heir = heir_make(heirs, space, key, &move);
        heir->move = (uint8_t)i;
        if (move.kind != MOVE_STRIKE)
            list->counts[HEIR_POOR] = (uint8_t)(i + 1);
    }
    for (int i = 0; i < HEIR_WEALTHS; i++)
        list->notes[i] = notes_of(&place, &heirs->heirs[list->start], list->counts[i]);
    return list;
}
