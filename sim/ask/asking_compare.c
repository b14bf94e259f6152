/* asking_compare.c - two histories that differ in the order of what servers said, or in which
 * server is which, compared by how a worker goes on from them. */
#include "ask/asking_twins.h"

#include <string.h>

/* --- two ways to one class --- */

enum fail asking_found(struct asking *asking, struct kept *found, struct failure *failure)
{
    struct twins held;
    if (twins_hold(asking, &held, failure))
        return failure->code;
    found[WAY_NOTHING] = (struct kept){.value = KEPT_ABSENT, .left = NO_TICKS};
    found[WAY_OTHER] = found[WAY_OWN] = held.kept[0];
    if (found[WAY_OWN].value == KEPT_OTHER)
        found[WAY_OWN].value = KEPT_OWN;
    return FAIL_NONE;
}

enum fail asking_compare_ways(struct asking *asking, uint32_t node, const struct history_class *it,
                              const uint32_t *asked, bool holds, enum happening operation,
                              bool *is_same, struct failure *failure)
{
    const int ways = asking_extend(asking) == EXTEND_IS_ASKED ? 8 : 4;
    static const uint8_t same[SERVERS_MAX] = {0, 1, 2, 3, 4, 5, 6};
    struct twins held;
    *is_same = true;
    if (twins_hold(asking, &held, failure))
        return failure->code;
    for (int way = 0; way < ways && *is_same; way++) {
        /* First the one that was there before goes alone: then it need not be set back. */
        const bool is_alone = way % 2 == 0, is_taken = way / 2 % 2, extends = way / 4;
        struct twins pair = {.asking = asking, .node = node, .fresh = it->node, .name = it->name};
        if (!is_taken)
            twins_set_servers(&pair, (struct kept){.value = KEPT_ABSENT, .left = NO_TICKS});
        else
            memcpy(pair.kept, held.kept, sizeof pair.kept);
        if (is_alone) {
            pair.node = it->node;
            pair.name = same;
        }
        for (int s = 0; s < asking->servers; s++)
            pair.asked[is_alone ? it->name[s] : s] = asked[s];
        const enum fail fail = twins_go_on(&pair, holds, operation, extends, failure);
        if (fail && !pair.have_differed)
            return fail;
        if (fail) { /* then they are two */
            *is_same = false;
            *failure = (struct failure){0};
        }
    }
    return FAIL_NONE;
}

/* --- servers in other places --- */

/* What there is at the servers, the first one and the others, before an attempt. */
struct opening {
    bool is_first_taken, are_others_taken, is_first_lost;
};

/* An attempt there, an extend where it can, and its release; *node: the history behind it. */
static enum fail play(struct asking *asking, const struct opening *opening, uint32_t *node,
                      struct failure *failure)
{
    struct remembered_step told;
    const struct kept free = {.value = KEPT_ABSENT, .left = NO_TICKS};
    struct twins held, pair = {.asking = asking, .is_first_lost = opening->is_first_lost};
    if (twins_hold(asking, &held, failure))
        return failure->code;
    for (int s = 0; s < asking->servers; s++)
        pair.kept[s] =
            (s ? opening->are_others_taken : opening->is_first_taken) ? held.kept[s] : free;
    enum fail fail = twins_operate(&pair, HAPPENS_ACQUIRE, &told, failure);
    bool holds = !fail && told.has_ended && told.answer == ANSWER_OK;
    if (holds && asking_extend(asking) == EXTEND_IS_ASKED)
        fail = twins_extend(&pair, &told, &holds, failure);
    if (!fail && holds)
        fail = twins_operate(&pair, HAPPENS_RELEASE, &told, failure);
    *node = pair.node;
    return fail;
}

/* The same history, in another process, with its servers in all other places. */
static bool is_same_in_other_places(struct asking *asking, uint32_t node)
{
    struct seat seat = {.session = asking->session, .client = 1};
    struct failure differs = {0};
    for (seat.turn = 1; seat.turn < 2 * asking->servers && !differs.code; seat.turn++)
        if (!seat_reset(&asking->worker, &seat, &differs))
            (void)history_compare(&asking->worker, &seat, node, &differs);
    seat_close(&seat);
    return !differs.code;
}

enum fail asking_measure_servers(struct asking *asking, struct failure *failure)
{
    static const struct opening openings[] = {
        {.is_first_taken = false},  {.is_first_taken = true},
        {.are_others_taken = true}, {.is_first_taken = true, .are_others_taken = true},
        {.is_first_lost = true},    {.is_first_lost = true, .are_others_taken = true}};
    bool is_same = true;
    for (size_t i = 0; i < sizeof openings / sizeof *openings && is_same; i++) {
        uint32_t node;
        if (play(asking, &openings[i], &node, failure))
            return failure->code;
        is_same = is_same_in_other_places(asking, node);
    }
    asking->is_even_handed = is_same;
    return FAIL_NONE;
}
