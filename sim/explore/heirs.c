/* heirs.c - see heirs.h. */
#include "explore/heirs.h"

#include "base/memory.h"
#include "explore/space.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* LISTS_MAX: more of them are not in the cache when they are looked for, and cost more than they
 * save. */
enum { LISTS_FIRST = 1024, LISTS_MAX = 1 << 17 };

_Static_assert(MOVES_MAX <= UINT8_MAX, "a list counts its moves in a byte");

void heirs_init(struct heirs *heirs)
{
    memset(heirs, 0, sizeof *heirs);
    heirs->lists_size = heirs->heirs_size = LISTS_FIRST;
    heirs->lists = memory_new(heirs->lists_size, sizeof *heirs->lists);
    heirs->heirs = memory_new(heirs->heirs_size, sizeof *heirs->heirs);
}

void heirs_close(struct heirs *heirs)
{
    free(heirs->lists);
    free(heirs->heirs);
    memset(heirs, 0, sizeof *heirs);
}

size_t heirs_bytes(const struct heirs *heirs)
{
    return heirs->lists_size * sizeof *heirs->lists + heirs->heirs_size * sizeof *heirs->heirs;
}

static struct heir_list *seek(const struct heirs *heirs, uint64_t key)
{
    uint32_t at = heirs_home(heirs, key);
    while (heirs->lists[at].key != 0)
        at = (at + 1) & (heirs->lists_size - 1);
    return &heirs->lists[at];
}

static void lists_grow(struct heirs *heirs)
{
    struct heir_list *old = heirs->lists;
    uint32_t size = heirs->lists_size;
    heirs->lists_size *= 2;
    heirs->lists = memory_new(heirs->lists_size, sizeof *heirs->lists);
    for (uint32_t i = 0; i < size; i++)
        if (old[i].key != 0)
            *seek(heirs, old[i].key) = old[i];
    free(old);
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

static visited_sum change_of(const struct heirs *heirs, const struct heir *heir, uint32_t local,
                             uint32_t post, int client, int server)
{
    const struct visited *visited = heirs->visited;
    return visited_term(visited, client, heir->local) - visited_term(visited, client, local) +
           visited_term(visited, server, heir->post) - visited_term(visited, server, post);
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

const struct heir_list *heirs_list(struct heirs *heirs, struct space *space, uint64_t key)
{
    uint32_t local = (uint32_t)((key - 1) >> 32), post = (uint32_t)(key - 1) >> 4;
    int client = (int)((key - 1) & 15);
    const struct place place = *space_place(space, local);
    heirs->are_too_many = heirs->lists_count == LISTS_MAX;
    if (heirs->are_too_many)
        return NULL;
    if (++heirs->lists_count * 2 > heirs->lists_size)
        lists_grow(heirs);
    heirs_reserve(heirs, place.moves_count);
    struct heir_list list = {.key = key,
                             .start = heirs->heirs_count,
                             .count = (uint8_t)place.moves_count,
                             .is_urgent = place.is_urgent};
    for (uint16_t i = 0; i < place.moves_count; i++) {
        const struct move move = space->moves[place.moves_start + i];
        struct heir heir = {.local = local, .post = post, .move = i, .hearing = move.hearing};
        heir.kind = (uint8_t)kind_of(space, &heir, &move, client);
        heir.change = change_of(heirs, &heir, local, post, client, space->setting.clients);
        heirs->heirs[heirs->heirs_count++] = heir;
        if (move.kind != MOVE_STRIKE)
            list.count_free = (uint8_t)(i + 1);
    }
    struct heir_list *kept = seek(heirs, key);
    *kept = list;
    return kept;
}
