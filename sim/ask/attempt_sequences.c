/* attempt_sequences.c - see attempt_sequences.h. Sequences are drawn by chance within the bounds,
 * and of them those are taken, one after the other, that add the most. */
#include "ask/attempt_sequences.h"

#include "base/memory.h"
#include "base/random.h"
#include "explore/model/options.h"

#include <stdlib.h>
#include <string.h>

enum { DRAWS = 400, LAST_ENDS = 3, REFUSALS = 3, LONG_ROW = 8, ROWS_ONE_IN = 8 };
enum { ANY_CLIENT = EXPLORE_CLIENTS_MAX, NO_END = 0, IS_ROW = INT32_MAX };
/* Of each operation of an attempt: behind each number of ends, and behind a row. */
enum { ITEMS_EACH = LAST_ENDS + 1, OPERATIONS = 3 };

struct item {
    uint32_t client, operation;
    uint32_t form;            /* from 1, of the attempt itself; NO_END: of whichever */
    uint32_t ends[LAST_ENDS]; /* from 1, the last one first; or before a row */
};

/* What it adds: whoever is asked, then what it adds for each client; each item once. */
struct drawn_sequence {
    struct attempt_sequence sequence;
    uint32_t *numbers;
    int of_any, of_each;
};

struct sequence_choice {
    const struct attempt_end *ends;
    struct sequences_had *had;
    struct drawn_sequence *drawn;
    int drawn_count, clients, chosen;
};

/* --- what a sequence adds --- */

static bool is_refused_at(const struct sequence_choice *choice,
                          const struct attempt_sequence *sequence, int at)
{
    return choice->ends[sequence->ends[at]].is_refused;
}

/* The more of them stand in a row, the coarser. */
static uint32_t end_at(const struct sequence_choice *choice,
                       const struct attempt_sequence *sequence, int at, int row)
{
    const struct attempt_end *end = at < 0 ? NULL : &choice->ends[sequence->ends[at]];
    return !end ? NO_END : 1 + (row == 1 ? end->kind : row == 2 ? end->outline : end->form);
}

static bool is_granted(const struct attempt_end *end)
{
    return (end->operations & (end->operations - 1)) != 0;
}

/* Refusals in a row, before that attempt. */
static int row_before(const struct sequence_choice *choice, const struct attempt_sequence *sequence,
                      int at)
{
    int row = 0;
    while (row < at && is_refused_at(choice, sequence, at - 1 - row))
        row++;
    return row;
}

static uint32_t put(struct sequences_had *had, const struct item *item)
{
    const uint32_t number = intern_put(&had->items, item, sizeof *item);
    if (number >= had->count) {
        had->are_made = memory_resize(had->are_made, (size_t)number + 1, sizeof *had->are_made);
        had->are_made[number] = false;
        had->count = number + 1;
    }
    return number;
}

/* One for each operation that is asked for. Returns how many; so do the next. */
static int put_each(struct sequences_had *had, uint32_t operations, struct item item,
                    uint32_t *numbers)
{
    int count = 0;
    for (item.operation = 0; operations >> item.operation; item.operation++)
        if (operations >> item.operation & 1)
            numbers[count++] = put(had, &item);
    return count;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Each once; returns how many. */
static int sort_out(uint32_t *numbers, int count)
{
    int kept = 0;
    qsort(numbers, (size_t)count, sizeof *numbers, compare_numbers);
    for (int i = 0; i < count; i++)
        if (i == 0 || numbers[i] != numbers[kept - 1])
            numbers[kept++] = numbers[i];
    return kept;
}

/* How so many before that attempt ended, and, of few, how it will. */
static struct item item_of(const struct sequence_choice *choice,
                           const struct attempt_sequence *sequence, int at, int last)
{
    struct item item = {.client = ANY_CLIENT};
    if (last < LAST_ENDS)
        item.form = end_at(choice, sequence, at, LAST_ENDS);
    for (int i = 0; i < last; i++)
        item.ends[i] = end_at(choice, sequence, at - 1 - i, last);
    return item;
}

/* Behind more ends than one, and behind a row. */
static int items_of_any(const struct sequence_choice *choice,
                        const struct attempt_sequence *sequence, uint32_t *numbers)
{
    int count = 0;
    for (int at = 1; at < sequence->count; at++) {
        const uint32_t operations = choice->ends[sequence->ends[at]].operations;
        const int row = row_before(choice, sequence, at);
        for (int last = 2; last <= LAST_ENDS && last <= at; last++)
            count += put_each(choice->had, operations, item_of(choice, sequence, at, last),
                              numbers + count);
        const struct item item = {
            .client = ANY_CLIENT,
            .ends = {IS_ROW, end_at(choice, sequence, at - 1 - row, LAST_ENDS)}};
        if (row >= LONG_ROW)
            count += put_each(choice->had, operations, item, numbers + count);
    }
    return sort_out(numbers, count);
}

static int items_of_client(const struct sequence_choice *choice,
                           const struct attempt_sequence *sequence, int client, uint32_t *numbers)
{
    int count = 0;
    for (int at = 1; at < sequence->count; at++) {
        struct item item = item_of(choice, sequence, at, 1);
        item.client = (uint32_t)client;
        count += put_each(choice->had, choice->ends[sequence->ends[at]].operations, item,
                          numbers + count);
    }
    return sort_out(numbers, count);
}

static void note_items(const struct sequence_choice *choice, struct drawn_sequence *drawn)
{
    const size_t each = (size_t)drawn->sequence.count;
    drawn->numbers = memory_new(each * (ITEMS_EACH + (size_t)choice->clients) * OPERATIONS + 1,
                                sizeof *drawn->numbers);
    drawn->of_any = items_of_any(choice, &drawn->sequence, drawn->numbers);
    for (int i = 0; i < choice->clients; i++)
        drawn->of_each = items_of_client(choice, &drawn->sequence, i,
                                         drawn->numbers + drawn->of_any + i * drawn->of_each);
}

static const uint32_t *items_for(const struct drawn_sequence *drawn, int client)
{
    return drawn->numbers + drawn->of_any + client * drawn->of_each;
}

static int count_new(const struct sequence_choice *choice, const struct drawn_sequence *drawn,
                     int client)
{
    const uint32_t *own = items_for(drawn, client);
    int added = 0;
    for (int i = 0; i < drawn->of_any; i++)
        added += !choice->had->are_made[drawn->numbers[i]];
    for (int i = 0; i < drawn->of_each; i++)
        added += !choice->had->are_made[own[i]];
    return added;
}

/* --- drawing --- */

/* An end by chance: of those that are refused, or of the others; -1: there is none. */
static int draw_end(const struct attempt_end *ends, int count, bool is_refused, int faults,
                    bool is_last, struct random *random)
{
    int chosen = -1, seen = 0;
    for (int i = 0; i < count; i++) {
        if (ends[i].is_refused != is_refused || (ends[i].is_struck && !faults) ||
            (is_last && !is_granted(&ends[i])))
            continue;
        if (random_below(random, (uint64_t)++seen) == 0)
            chosen = i;
    }
    return chosen;
}

static void add_end(struct attempt_sequence *sequence, int end)
{
    if (end >= 0 && sequence->count < SEQUENCE_MAX)
        sequence->ends[sequence->count++] = (uint8_t)end;
}

/* Each attempt behind some refusals; what the last one does is to be seen whole, so it is mostly
 * granted. */
static void draw_sequence(const struct attempt_end *ends, int count,
                          const struct sequence_bounds *bounds, struct random *random,
                          struct attempt_sequence *sequence)
{
    int faults = bounds->faults;
    sequence->count = 0;
    for (int round = 0; round < bounds->rounds; round++) {
        int refusals =
            random_below(random, ROWS_ONE_IN) ? (int)random_below(random, REFUSALS + 1) : LONG_ROW;
        while (refusals--)
            add_end(sequence, draw_end(ends, count, true, faults, false, random));
        const bool is_last = round == bounds->rounds - 1 && random_below(random, 2);
        const int end = draw_end(ends, count, false, faults, is_last, random);
        faults -= bounds->faults && end >= 0 && ends[end].is_struck;
        add_end(sequence, end);
    }
}

struct sequence_choice *sequence_choice_new(const struct attempt_end *ends, int count,
                                            const struct sequence_bounds *bounds, uint64_t seed,
                                            struct sequences_had *had)
{
    struct sequence_choice *choice = memory_new(1, sizeof *choice);
    struct random random = {.seed = seed};
    struct sequence_bounds drawn = *bounds;
    *choice = (struct sequence_choice){.ends = ends,
                                       .had = had,
                                       .drawn = memory_new(DRAWS, sizeof *choice->drawn),
                                       .clients = bounds->clients};
    if (!drawn.faults) /* each as often as it is drawn */
        drawn.faults = SEQUENCE_MAX;
    while (choice->drawn_count < DRAWS) {
        struct drawn_sequence *next = &choice->drawn[choice->drawn_count++];
        draw_sequence(ends, count, &drawn, &random, &next->sequence);
        note_items(choice, next);
    }
    return choice;
}

void sequence_choice_free(struct sequence_choice *choice)
{
    for (int i = 0; i < choice->drawn_count; i++)
        free(choice->drawn[i].numbers);
    free(choice->drawn);
    free(choice);
}

const struct attempt_sequence *sequence_choice_next(struct sequence_choice *choice, int client)
{
    int most = 0;
    for (int i = 0; i < choice->drawn_count; i++) {
        const int added = count_new(choice, &choice->drawn[i], client);
        if (added > most)
            choice->chosen = i;
        most = added > most ? added : most;
    }
    return most ? &choice->drawn[choice->chosen].sequence : NULL;
}

void sequence_choice_made(const struct sequence_choice *choice, int client)
{
    const struct drawn_sequence *drawn = &choice->drawn[choice->chosen];
    for (int i = 0; i < drawn->of_any; i++)
        choice->had->are_made[drawn->numbers[i]] = true;
    for (int i = 0; i < drawn->of_each; i++)
        choice->had->are_made[items_for(drawn, client)[i]] = true;
}

void sequence_choice_count(const struct sequence_choice *choice, uint32_t *all, uint32_t *left)
{
    bool *is_counted = memory_new((size_t)choice->had->count + 1, sizeof *is_counted);
    *all = *left = 0;
    for (int i = 0; i < choice->drawn_count; i++) {
        const struct drawn_sequence *drawn = &choice->drawn[i];
        for (int k = 0; k < drawn->of_any + choice->clients * drawn->of_each; k++) {
            const uint32_t number = drawn->numbers[k];
            *all += !is_counted[number];
            *left += !is_counted[number] && !choice->had->are_made[number];
            is_counted[number] = true;
        }
    }
    free(is_counted);
}
