/* progress.c - from every state some way without a fault must lead to a grant: one sweep backwards
 * over the edges.
 *
 * No fairness is needed: it is asked whether the lock can be had, not whether it will. Source: AG
 * EF, as in every model checker. */
#include "explore/search.h"

#include "base/memory.h"

#include <stdlib.h>

/* The edges turned round: who leads to state i stands at from[start[i]] .. from[start[i + 1] - 1].
 */
struct backwards {
    uint32_t *from;
    uint64_t *start;
};

static void turn_round(const struct search *search, struct backwards *back)
{
    uint32_t states = search->visited.count;
    uint64_t edges = search->edges_start[states];
    back->start = memory_new((size_t)states + 2, sizeof *back->start);
    back->from = memory_new((size_t)edges + 1, sizeof *back->from);
    for (uint64_t i = 0; i < edges; i++)
        back->start[search->edges[i] + 2]++;
    for (uint32_t i = 0; i < states; i++)
        back->start[i + 2] += back->start[i + 1];
    for (uint32_t i = 0; i < states; i++)
        for (uint64_t k = search->edges_start[i]; k < search->edges_start[i + 1]; k++)
            back->from[back->start[search->edges[k] + 1]++] = i;
}

void search_progress(struct search *search)
{
    uint32_t states = search->visited.count, used = 0;
    struct backwards back;
    turn_round(search, &back);
    uint8_t *is_good = memory_new((size_t)states + 1, 1);
    uint32_t *line = memory_new((size_t)states + 1, sizeof *line);
    for (uint32_t i = 0; i < states; i++) {
        if (!(search->notes[i] & STATE_GRANTS))
            continue;
        is_good[i] = 1;
        line[used++] = i;
    }
    for (uint32_t at = 0; at < used; at++) {
        for (uint64_t k = back.start[line[at]]; k < back.start[line[at] + 1]; k++) {
            uint32_t from = back.from[k];
            if (is_good[from])
                continue;
            is_good[from] = 1;
            line[used++] = from;
        }
    }
    for (uint32_t i = 0; i < states; i++) {
        if (is_good[i] || !(search->notes[i] & STATE_WANTS))
            continue;
        search->sightings[PROPERTY_PROGRESS] = (struct sighting){.state = i, .step = -1};
        break;
    }
    free(back.from);
    free(back.start);
    free(is_good);
    free(line);
}
