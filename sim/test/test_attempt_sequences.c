/* Tests of which attempts are asked for one behind the other (ask/attempt_sequences.h): few
 * sequences, always the same ones, within their bounds, that have each order of ends. */
#include "ask/attempt_sequences.h"

#include <stdlib.h>
#include <string.h>

#include "test/explore_run.h"

enum { ACQUIRE = 1, RELEASE = 2, SEED = 1, MANY = 100 };
enum { REFUSED, GRANTED, FAILED, ENDS };

static const struct attempt_end ends[ENDS] = {
    [REFUSED] = {.kind = 10, .outline = 10, .form = 1, .operations = ACQUIRE, .is_refused = true},
    [GRANTED] = {.kind = 11, .outline = 11, .form = 2, .operations = ACQUIRE | RELEASE},
    [FAILED] = {.kind = 12, .outline = 12, .form = 3, .operations = ACQUIRE, .is_struck = true}};

struct asked_sequences {
    struct sequences_had had;
    struct attempt_sequence sequences[MANY];
    int clients[MANY], count;
};

static void ask(struct asked_sequences *asked, int rounds, int faults, int clients)
{
    const struct sequence_bounds bounds = {.rounds = rounds, .faults = faults, .clients = clients};
    struct sequence_choice *choice = sequence_choice_new(ends, ENDS, &bounds, SEED, &asked->had);
    uint32_t all, left;
    asked->count = 0;
    for (int idle = 0, i = 0; idle < clients && asked->count < MANY; i++) {
        const struct attempt_sequence *sequence = sequence_choice_next(choice, i % clients);
        idle = sequence ? 0 : idle + 1;
        if (!sequence)
            continue;
        asked->clients[asked->count] = i % clients;
        asked->sequences[asked->count++] = *sequence;
        sequence_choice_made(choice, i % clients);
    }
    sequence_choice_count(choice, &all, &left);
    assert_true(all > 0);
    assert_int_equal(left, 0);
    sequence_choice_free(choice);
}

static void begin(struct asked_sequences *asked)
{
    *asked = (struct asked_sequences){.count = 0};
    intern_init(&asked->had.items);
}

static void end(struct asked_sequences *asked)
{
    intern_close(&asked->had.items);
    free(asked->had.are_made);
}

/* Has that client (-1: any) an attempt that is granted behind these ends? */
static bool has(const struct asked_sequences *asked, int client, const uint8_t *before, int count)
{
    for (int i = 0; i < asked->count; i++) {
        const struct attempt_sequence *sequence = &asked->sequences[i];
        for (int at = count; at < sequence->count; at++)
            if ((client < 0 || asked->clients[i] == client) && sequence->ends[at] == GRANTED &&
                memcmp(sequence->ends + at - count, before, (size_t)count) == 0)
                return true;
    }
    return false;
}

static void orders_of_ends_are_had_by_few(void **state)
{
    static const struct {
        uint8_t before[8];
        int count;
    } rows[] = {{{REFUSED, FAILED}, 2},
                {{REFUSED, GRANTED, REFUSED}, 3},
                {{REFUSED, FAILED, REFUSED}, 3},
                {{GRANTED, REFUSED, FAILED}, 3},
                {{FAILED, GRANTED, REFUSED}, 3},
                {{REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED}, 8}};
    struct asked_sequences asked;
    (void)state;
    begin(&asked);
    ask(&asked, 3, 1, 2);
    assert_in_range(asked.count, 4, 24);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!has(&asked, -1, rows[i].before, rows[i].count))
            fail_msg("row %zu is not among %d sequences", i, asked.count);
    end(&asked);
}

static void each_client_is_asked_behind_each_end(void **state)
{
    struct asked_sequences asked;
    (void)state;
    begin(&asked);
    ask(&asked, 2, 1, 3);
    for (int client = 0; client < 3; client++)
        for (uint8_t before = 0; before < ENDS; before++)
            assert_true(has(&asked, client, &before, 1));
    end(&asked);
}

/* Refusals are free; a fault strikes as often as the search has it. */
static void sequences_keep_to_the_bounds_of_their_search(void **state)
{
    struct asked_sequences asked;
    (void)state;
    begin(&asked);
    ask(&asked, 3, 1, 2);
    for (int i = 0; i < asked.count; i++) {
        int others = 0, failures = 0;
        for (int at = 0; at < asked.sequences[i].count; at++) {
            others += asked.sequences[i].ends[at] != REFUSED;
            failures += asked.sequences[i].ends[at] == FAILED;
        }
        assert_int_equal(others, 3);
        assert_in_range(failures, 0, 1);
    }
    end(&asked);
}

static void they_are_always_the_same_and_none_is_asked_for_twice(void **state)
{
    struct asked_sequences asked, again;
    (void)state;
    begin(&asked);
    begin(&again);
    ask(&asked, 3, 1, 2);
    ask(&again, 3, 1, 2);
    assert_int_equal(asked.count, again.count);
    for (int i = 0; i < asked.count; i++) {
        assert_int_equal(asked.sequences[i].count, again.sequences[i].count);
        assert_memory_equal(asked.sequences[i].ends, again.sequences[i].ends,
                            (size_t)asked.sequences[i].count);
    }
    ask(&again, 3, 1, 2);
    assert_int_equal(again.count, 0);
    end(&asked);
    end(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_of_ends_are_had_by_few),
        cmocka_unit_test(each_client_is_asked_behind_each_end),
        cmocka_unit_test(sequences_keep_to_the_bounds_of_their_search),
        cmocka_unit_test(they_are_always_the_same_and_none_is_asked_for_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
