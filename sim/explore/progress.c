/* progress.c - from every state some way without a fault must lead to a grant: sweeps backwards
 * over the states until none is found good that was not before.
 *
 * No fairness is needed: it is asked whether the lock can be had, not whether it will. Source: AG
 * EF, as in every model checker. Most edges lead to a later state, so that few sweeps do, and the
 * edges need not be turned round, for which there would have to be memory. */
#include "explore/search.h"

/* One sweep; true: some state was found good that was not. */
static bool sweep(struct search *search)
{
    uint8_t *notes = search->notes;
    uint64_t edge = search->edges.count;
    bool has_found = false;
    for (uint32_t i = (uint32_t)search->visited.count; i-- > 0;) {
        bool is_good = notes[i] & STATE_GRANTS;
        for (bool has_more = notes[i] & STATE_LEADS; has_more;) {
            uint32_t to = *tape_at(&search->edges, --edge);
            has_more = !(to & EDGE_FIRST);
            is_good |= (notes[to & ~EDGE_FIRST] & STATE_GRANTS) != 0;
        }
        if (!is_good)
            continue;
        has_found |= !(notes[i] & STATE_GRANTS);
        notes[i] |= STATE_GRANTS;
        if (notes[i] & STATE_SEEDED)
            continue;
        uint8_t *parent = &notes[visited_parent(&search->visited, i)];
        has_found |= !(*parent & STATE_GRANTS);
        *parent |= STATE_GRANTS;
    }
    return has_found;
}

void search_progress(struct search *search)
{
    while (sweep(search))
        ;
    struct sighting *sighting = &search->sightings[PROPERTY_PROGRESS];
    uint32_t last = sighting->state; /* what comes after it is no shorter way to a stuck state */
    for (uint32_t i = 0; i < search->visited.count && i <= last; i++) {
        if (search->notes[i] & STATE_GRANTS || !(search->notes[i] & STATE_WANTS))
            continue;
        *sighting = (struct sighting){.state = i, .step = -1};
        return;
    }
}
