/* reachability.c - from every state some way without a fault must lead to a grant, and soon: sweeps
 * backwards over the states until none is found to be nearer to one than it was.
 *
 * Near is counted in ticks. Who waits for longer than checks/progress.c allows (a key
 * that outlives its lease by far) waits too long, whether or not the lock can be had in the end;
 * but as long as somebody holds it, there is no hurry. No fairness is needed: it is asked whether
 * the lock can be had, not whether it will. Source: AG EF with a bound, as in every model checker
 * of time. Most edges lead to a later state, so that few sweeps do, and the edges need not be
 * turned round, for which there would have to be memory. */
#include "base/memory.h"
#include "explore/search/bfs.h"

static inline uint8_t wait_through(uint8_t wait, bool is_tick)
{
    return wait >= WAIT_ENDLESS - 1 ? wait : (uint8_t)(wait + is_tick);
}

static uint8_t wait_at_first(uint8_t note)
{
    return note & STATE_GRANTS ? 0 : note & STATE_GRANTS_LATER ? 1 : WAIT_ENDLESS;
}

/* One sweep; true: some state was found to be nearer to a grant. */
static bool sweep(struct search *search)
{
    const uint8_t *notes = search->notes;
    uint8_t *waits = search->waits;
    uint64_t edge = search->edges.count;
    bool has_found = false;
    for (uint32_t i = (uint32_t)search->visited.count; i-- > 0;) {
        uint8_t wait = waits[i];
        for (bool has_more = notes[i] & STATE_LEADS; has_more;) {
            uint32_t to = *chunked_array_at(&search->edges, --edge);
            uint8_t through = wait_through(waits[to & EDGE_STATE], to & EDGE_TICK);
            wait = through < wait ? through : wait;
            has_more = !(to & EDGE_FIRST);
        }
        has_found |= wait != waits[i];
        waits[i] = wait;
        if (wait == WAIT_ENDLESS || notes[i] & STATE_BY_FAULT)
            continue;
        uint8_t *parent = &waits[fingerprint_set_parent(&search->visited, i)];
        uint8_t through = wait_through(wait, notes[i] & STATE_BY_TICK);
        has_found |= through < *parent;
        *parent = through < *parent ? through : *parent;
    }
    return has_found;
}

bool search_is_overdue(const struct search *search, uint32_t state)
{
    uint8_t wait = search->waits[state];
    if (wait <= search->space.config.progress_ticks)
        return false;
    return wait == WAIT_ENDLESS || !(search->notes[state] & STATE_HELD);
}

bool search_is_stuck(const struct search *search, uint32_t state)
{
    return (search->notes[state] & STATE_WANTS) && search_is_overdue(search, state);
}

void search_progress(struct search *search)
{
    search->waits_size = search->visited.count;
    search->waits = memory_extend(NULL, 0, search->waits_size, sizeof *search->waits);
    search->bytes += search->waits_size;
    for (uint32_t i = 0; i < search->visited.count; i++)
        search->waits[i] = wait_at_first(search->notes[i]);
    while (sweep(search))
        ;
    struct violation *violation = &search->first_violations[PROPERTY_PROGRESS];
    uint32_t last = violation->state; /* what comes after it is no shorter path to a stuck state */
    for (uint32_t i = 0; i < search->visited.count && i <= last; i++) {
        if (!search_is_stuck(search, i))
            continue;
        *violation = (struct violation){.state = i, .step = -1};
        return;
    }
}
