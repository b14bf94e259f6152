/* walk_choice.c - see walk_choice.h. */
#include "explore/search/walk_choice.h"

#include "base/memory.h"
#include "explore/search/long_walk.h"

#include <stdlib.h>

/* How an operation ended. Of a release that succeeded nothing is noted: that is what is behind a
 * grant where the next operation is to acquire. */
enum ended {
    ENDED_NOTHING,
    ENDED_GRANTED,
    ENDED_REFUSED,
    ENDED_NOT_MINE,
    ENDED_EXTENDED,
    ENDED_FAILED, /* and the operation: acquire, release, extend */
    ENDED_FAILED_LAST = ENDED_FAILED + 2,
    ENDED_IN_A_ROW = 15, /* what follows is a number and an end */
};

enum { ORDERS = 4, END_BITS = 4, ROW_MAX = 15, OPERATION_BITS = 2 };
/* As an item has it: of all clients. */
enum { ANY_CLIENT = EXPLORE_CLIENTS_MAX };
enum { ITEMS = (ANY_CLIENT + 1) << (ORDERS * END_BITS + OPERATION_BITS) };

struct drawn_walk {
    uint32_t *items;
    int count;
    bool is_taken;
};

struct walk_choice {
    struct drawn_walk *walks;
    int count, chosen;
    bool is_made[ITEMS];
};

/* A client, on the way. */
struct walked_client {
    int operation; /* under way, or the last one */
    uint32_t ends; /* of END_BITS each, the last one lowest; a release that succeeded is none */
    unsigned in_a_row;
};

enum { STEPS_OF_ALL_MAX = 40000 };

static int operation_of(enum action_kind kind)
{
    return kind == ACTION_ACQUIRE ? 0 : kind == ACTION_RELEASE ? 1 : kind == ACTION_EXTEND ? 2 : -1;
}

static unsigned end_of(unsigned did, int operation)
{
    return did & DID_GRANT      ? ENDED_GRANTED
           : did & DID_REFUSE   ? ENDED_REFUSED
           : did & DID_NOT_MINE ? ENDED_NOT_MINE
           : did & DID_RELEASE  ? ENDED_NOTHING
           : did & DID_EXTEND   ? ENDED_EXTENDED
           : did & DID_RETURN   ? (unsigned)(ENDED_FAILED + operation)
                                : ENDED_NOTHING;
}

static uint32_t last_ends(uint32_t ends, int count)
{
    return ends & ((1u << count * END_BITS) - 1);
}

static uint32_t item_of(int client, int operation, uint32_t ends)
{
    return ((((uint32_t)client << OPERATION_BITS) | (uint32_t)operation) << ORDERS * END_BITS) |
           ends;
}

static unsigned end_at(uint32_t item, int order)
{
    return item >> (order * END_BITS) & ((1u << END_BITS) - 1);
}

static bool is_failure(unsigned end)
{
    return end >= ENDED_FAILED && end <= ENDED_FAILED_LAST;
}

/* What a failure is part of is rare, and other cells do not have it; of that, two ends in order
 * before more. */
static int worth_of(uint32_t item)
{
    enum { WITH_FAILURE = 8, OF_TWO = 16 };
    const bool is_row = end_at(item, 2) == ENDED_IN_A_ROW;
    bool fails = false;
    for (int i = 0; i < ORDERS && !is_row; i++)
        fails |= is_failure(end_at(item, i));
    return (fails ? WITH_FAILURE : 1) * (end_at(item, 2) == ENDED_NOTHING ? OF_TWO : 1);
}

/* What no client had is worth more than what another one had: twice. */
static void add_items(struct drawn_walk *walk, const struct walked_client *client, int number)
{
    const uint32_t row = (ENDED_IN_A_ROW << 2 * END_BITS) | (client->in_a_row << END_BITS) |
                         last_ends(client->ends, 1);
    enum { ADDED = 2 * (ORDERS + 1) };
    walk->items = memory_resize(walk->items, (size_t)walk->count + ADDED, sizeof *walk->items);
    for (int i = 0; i <= ORDERS; i++) {
        const uint32_t ends = i ? last_ends(client->ends, i) : row;
        walk->items[walk->count++] = item_of(number, client->operation, ends);
        walk->items[walk->count++] = item_of(ANY_CLIENT, client->operation, ends);
    }
}

static void note_end(struct walked_client *client, unsigned end)
{
    client->in_a_row = end != last_ends(client->ends, 1) ? 1
                       : client->in_a_row < ROW_MAX      ? client->in_a_row + 1
                                                         : ROW_MAX;
    client->ends = last_ends(client->ends << END_BITS | end, ORDERS);
}

static int draw(struct trace_replayer *replayer, uint64_t seed, int stream, struct drawn_walk *walk)
{
    struct walked_client clients[EXPLORE_CLIENTS_MAX] = {0};
    struct long_walk drawn;
    long_walk_begin(&drawn, seed, (uint64_t)stream);
    replayer_start(replayer);
    for (int at; (at = long_walk_pick(&drawn, replayer)) >= 0;) {
        const struct successor step = replayer->steps[at];
        struct walked_client *client = step.client >= 0 ? &clients[step.client] : NULL;
        const int operation = operation_of(step.kind);
        if (client && operation >= 0) {
            client->operation = operation;
            add_items(walk, client, step.client);
        }
        const unsigned end = client ? end_of(long_walk_did(replayer, &step), client->operation) : 0;
        if (end != ENDED_NOTHING)
            note_end(client, end);
        replayer_go(replayer, step.words);
    }
    return drawn.made;
}

struct walk_choice *walk_choice_new(struct trace_replayer *replayer, uint64_t seed, int draws,
                                    bool (*is_to_stop)(void *), void *context)
{
    struct walk_choice *choice = memory_new(1, sizeof *choice);
    choice->walks = memory_new((size_t)draws + 1, sizeof *choice->walks);
    for (int steps = 0; choice->count < draws && steps < STEPS_OF_ALL_MAX && !is_to_stop(context);
         choice->count++)
        steps += draw(replayer, seed, choice->count, &choice->walks[choice->count]);
    return choice;
}

void walk_choice_free(struct walk_choice *choice)
{
    for (int i = 0; i < choice->count; i++)
        free(choice->walks[i].items);
    free(choice->walks);
    free(choice);
}

/* Marks what is new, and what it is worth; is_to_stay: it is not new any more, else it is again. */
static int mark(struct walk_choice *choice, const struct drawn_walk *walk, bool is_to_stay)
{
    uint32_t *added = memory_new((size_t)walk->count + 1, sizeof *added);
    int count = 0, worth = 0;
    for (int i = 0; i < walk->count; i++)
        if (!choice->is_made[walk->items[i]]) {
            choice->is_made[walk->items[i]] = true;
            added[count++] = walk->items[i];
            worth += worth_of(walk->items[i]);
        }
    for (int i = 0; i < count && !is_to_stay; i++)
        choice->is_made[added[i]] = false;
    free(added);
    return worth;
}

int walk_choice_next(struct walk_choice *choice)
{
    int most = 0;
    choice->chosen = -1;
    for (int i = 0; i < choice->count; i++) {
        const int worth = choice->walks[i].is_taken ? 0 : mark(choice, &choice->walks[i], false);
        if (worth > most) {
            most = worth;
            choice->chosen = i;
        }
    }
    if (choice->chosen >= 0)
        choice->walks[choice->chosen].is_taken = true;
    return choice->chosen;
}

void walk_choice_made(struct walk_choice *choice)
{
    (void)mark(choice, &choice->walks[choice->chosen], true);
}
