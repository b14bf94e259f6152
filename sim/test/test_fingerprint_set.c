/* test_fingerprint_set.c - what the explorer remembers states in: chunked array, the table. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/memory.h"
#include "explore/store/fingerprint_set.h"

#include <string.h>

/* --- chunked array --- */

static void a_tape_keeps_its_records_until_they_are_dropped(void **state)
{
    (void)state;
    /* A record of three takes the room of four. */
    enum { WIDTH = 3, EACH = CHUNK / 4, COUNT = 5 * EACH + 7 };
    struct chunked_array array;
    chunked_array_init(&array, WIDTH);
    assert_int_equal(chunked_array_bytes(&array), 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t *record = chunked_array_push(&array);
        for (uint32_t k = 0; k < WIDTH; k++)
            record[k] = i * WIDTH + k;
    }
    size_t full = chunked_array_bytes(&array);
    /* Two pieces are kept for the next ones to come. */
    chunked_array_drop(&array, 3 * EACH - 1);
    assert_int_equal(chunked_array_bytes(&array), full);
    chunked_array_drop(&array, 3 * EACH);
    size_t less = chunked_array_bytes(&array);
    assert_int_equal(full - less, CHUNK * sizeof(uint32_t));
    chunked_array_drop(&array, 3 * EACH);
    assert_int_equal(chunked_array_bytes(&array), less);
    assert_int_equal(array.count, COUNT);
    for (uint32_t i = 3 * EACH; i < COUNT; i++)
        for (uint32_t k = 0; k < WIDTH; k++)
            assert_int_equal(chunked_array_at(&array, i)[k], i * WIDTH + k);
    /* They are taken up again before there are more. */
    for (uint32_t i = 0; i < 2 * EACH; i++)
        *chunked_array_push(&array) = i;
    assert_int_equal(chunked_array_bytes(&array), less);
    chunked_array_close(&array);
}

/* --- the table --- */

/* WIDTH: of a record with so many words. */
enum { WORDS = 5, WIDTH = 8, STATES = 700000 };

/* Small numbers, as records have them, a state for each i; the words after them stay as they are.
 */
static void words_of(uint32_t i, uint32_t *words)
{
    for (int k = 0; k < WORDS - 1; k++, i /= 30)
        words[k] = i % 30;
    words[WORDS - 1] = i << 4;
}

static void numbers_states_in_the_order_in_which_they_came(void **state)
{
    (void)state;
    static const uint64_t frontier[] = {0, 0x5eed};
    uint32_t words[WIDTH] = {0};
    for (int full = 0; full < 2; full++) {
        struct fingerprint_set visited;
        fingerprint_set_init(&visited, WORDS, frontier[full], full);
        for (int turn = 0; turn < 2; turn++) {
            for (uint32_t i = 0; i < STATES; i++) {
                bool is_new;
                words_of(i, words);
                uint32_t number = fingerprint_set_put(&visited, fingerprint_of(&visited, words),
                                                      words, i / 2, &is_new);
                assert_int_equal(number, i);
                assert_int_equal(is_new, turn == 0);
            }
        }
        for (uint32_t i = 0; i < STATES; i += 7) {
            words_of(i, words);
            assert_int_equal(fingerprint_set_find(&visited, fingerprint_of(&visited, words), words),
                             i);
            assert_int_equal(fingerprint_set_parent(&visited, i), i / 2);
            assert_memory_equal(fingerprint_set_words(&visited, i), words, sizeof words);
        }
        words_of(STATES, words);
        assert_int_equal(fingerprint_set_find(&visited, fingerprint_of(&visited, words), words),
                         STATE_NONE);
        /* No fuller than two thirds, no emptier than growing by a half leaves it; 4 for the
         * parent. */
        fingerprint_set_forget(&visited, STATES);
        double each = (double)fingerprint_set_bytes(&visited) / STATES;
        if (!full)
            assert_true(each >= 19 + 4 && each <= 29 + 4);
        fingerprint_set_close(&visited);
    }
}

/* Whole states are told apart even where fingerprints are not, however many share one. */
static void whole_states_need_no_luck(void **state)
{
    (void)state;
    enum { SHARED = 0x1234, SAME = 40 };
    for (int full = 0; full < 2; full++) {
        struct fingerprint_set visited;
        uint32_t words[WIDTH] = {0};
        fingerprint_set_init(&visited, WORDS, 0, full);
        for (uint32_t i = 0; i < SAME; i++) {
            bool is_new;
            words_of(i, words);
            fingerprint_set_put(&visited, SHARED, words, 0, &is_new);
            assert_int_equal(is_new, full || i == 0);
        }
        assert_int_equal(visited.count, full ? SAME : 1);
        fingerprint_set_close(&visited);
    }
}

/* More prints close to each other than their buckets have room for. */
static uint64_t crowded_print(int where, uint32_t i)
{
    uint64_t step = (uint64_t)i << 47;
    return where == 0 ? UINT64_MAX - step : where == 1 ? UINT64_MAX / 5 + step : step + 1;
}

static struct fingerprint_set crowded(int where, uint32_t count)
{
    struct fingerprint_set visited;
    uint32_t words[WIDTH] = {0};
    fingerprint_set_init(&visited, WORDS, 0, false);
    for (uint32_t i = 0; i < count; i++) {
        bool is_new;
        fingerprint_set_put(&visited, crowded_print(where, i), words, 0, &is_new);
        assert_true(is_new);
    }
    return visited;
}

/* At the very end of the table there is no room behind it: it grows until there is. */
static void a_crowded_end_makes_the_table_grow(void **state)
{
    (void)state;
    for (int where = 0; where < 3; where++) {
        struct fingerprint_set empty = crowded(where, 0), visited = crowded(where, 600);
        uint32_t words[WIDTH] = {0};
        assert_int_equal(visited.size > empty.size, where == 0);
        for (uint32_t i = 0; i < 600; i++)
            assert_int_equal(fingerprint_set_find(&visited, crowded_print(where, i), words), i);
        fingerprint_set_close(&empty);
        fingerprint_set_close(&visited);
    }
}

/* As far behind their homes as BATCH buckets have to be moved at once for: 200 prints in two homes
 * at the start. */
static void a_crowded_start_is_moved_whole(void **state)
{
    (void)state;
    struct fingerprint_set visited = crowded(2, 200);
    uint32_t words[WIDTH] = {0};
    size_t size = visited.size;
    bool is_new;
    for (uint64_t i = 1; visited.size == size; i++)
        fingerprint_set_put(&visited, i * 0x9e3779b97f4a7c15u, words, 0, &is_new);
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(fingerprint_set_find(&visited, crowded_print(2, i), words), i);
    fingerprint_set_close(&visited);
}

/* What follows a state's words is kept with it, of the first that came, and tells no states apart.
 */
static void a_record_has_room_for_more_than_the_state(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        struct fingerprint_set visited;
        uint32_t words[WIDTH] = {0};
        bool is_new;
        fingerprint_set_init(&visited, WORDS, 0, full);
        assert_true(fingerprint_set_has_spare(&visited));
        for (uint32_t turn = 0; turn < 2; turn++)
            for (uint32_t i = 0; i < 1000; i++) {
                words_of(i, words);
                words[visited.words] = i + 7 * turn;
                fingerprint_set_put(&visited, fingerprint_of(&visited, words), words, 0, &is_new);
                assert_int_equal(fingerprint_set_words(&visited, i)[visited.words], i);
            }
        fingerprint_set_close(&visited);
        fingerprint_set_init(&visited, WIDTH, 0, full);
        assert_false(fingerprint_set_has_spare(&visited));
        fingerprint_set_close(&visited);
    }
}

/* A put of a burst, which another put interrupts where it must; returns whether it did. */
static bool put_in_burst(struct fingerprint_set *visited, struct fingerprint_batch *batch,
                         uint64_t fingerprint, const uint32_t *words, uint32_t parent,
                         uint32_t *number, bool *is_new)
{
    if (fingerprint_batch_put(batch, fingerprint, words, parent, number, is_new))
        return false;
    fingerprint_batch_end(visited, batch);
    *number = fingerprint_set_put(visited, fingerprint, words, parent, is_new);
    *batch = fingerprint_batch_begin(visited);
    return true;
}

/* States that are new and states that are not; the first ones where it is crowded, up to the end.
 */
static void fill_in_both_ways(struct fingerprint_set *one, struct fingerprint_set *other,
                              uint32_t puts)
{
    struct fingerprint_batch batch = fingerprint_batch_begin(other);
    uint32_t words[FINGERPRINT_WORDS_MAX] = {0}, interrupted = 0, number, number_of_burst;
    bool is_new, is_new_in_burst;
    for (uint32_t i = 0; i < puts; i++) {
        uint32_t which = i % 3 == 2 ? i / 2 : i;
        words_of(which, words);
        words[one->words - 1] = which;
        uint64_t fingerprint =
            which < 1200 ? crowded_print((int)which % 2, which / 2) : fingerprint_of(one, words);
        number = fingerprint_set_put(one, fingerprint, words, i, &is_new);
        interrupted +=
            put_in_burst(other, &batch, fingerprint, words, i, &number_of_burst, &is_new_in_burst);
        assert_int_equal(number, number_of_burst);
        assert_int_equal(is_new, is_new_in_burst);
    }
    fingerprint_batch_end(other, &batch);
    assert_true(one->has_full_states ? interrupted == puts : interrupted < puts / 500);
}

static void a_burst_does_what_one_put_after_the_other_does(void **state)
{
    (void)state;
    static const int shapes[] = {4, 5, 12};
    for (int i = 0; i < 6; i++) {
        struct fingerprint_set one, other;
        fingerprint_set_init(&one, shapes[i / 2], 3, i % 2);
        fingerprint_set_init(&other, shapes[i / 2], 3, i % 2);
        fill_in_both_ways(&one, &other, i % 2 ? 30000 : 300000);
        assert_int_equal(one.count, other.count);
        assert_int_equal(one.states.count, other.states.count);
        assert_int_equal(fingerprint_set_bytes(&one), fingerprint_set_bytes(&other));
        for (uint32_t k = 0; k < one.count; k++) {
            assert_int_equal(fingerprint_set_parent(&one, k), fingerprint_set_parent(&other, k));
            assert_memory_equal(fingerprint_set_words(&one, k), fingerprint_set_words(&other, k),
                                (size_t)one.words * sizeof(uint32_t));
        }
        fingerprint_set_close(&one);
        fingerprint_set_close(&other);
    }
}

/* A state with another word has the sum that differs by the two terms. */
static void a_sum_can_be_changed_word_by_word(void **state)
{
    (void)state;
    struct fingerprint_set visited;
    uint32_t words[WIDTH] = {0};
    fingerprint_set_init(&visited, WORDS, 7, false);
    words_of(12345, words);
    fingerprint_sum sum = fingerprint_sum_of(&visited, words);
    sum -= fingerprint_term(&visited, 2, words[2]);
    words[2] = 99;
    sum += fingerprint_term(&visited, 2, words[2]);
    assert_true(fingerprint_of_sum(sum) == fingerprint_of(&visited, words));
    fingerprint_set_close(&visited);
}

static void every_word_counts(void **state)
{
    (void)state;
    for (int count = 4; count <= FINGERPRINT_WORDS_MAX; count++) {
        struct fingerprint_set visited;
        uint32_t words[FINGERPRINT_WORDS_MAX] = {0};
        fingerprint_set_init(&visited, count, 1, false);
        const uint64_t before = fingerprint_of(&visited, words);
        for (int i = 0; i < count; i++) {
            words[i] = 1;
            assert_true(fingerprint_of(&visited, words) != before);
            words[i] = 0;
        }
        fingerprint_set_close(&visited);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tape_keeps_its_records_until_they_are_dropped),
        cmocka_unit_test(numbers_states_in_the_order_in_which_they_came),
        cmocka_unit_test(whole_states_need_no_luck),
        cmocka_unit_test(every_word_counts),
        cmocka_unit_test(a_crowded_end_makes_the_table_grow),
        cmocka_unit_test(a_crowded_start_is_moved_whole),
        cmocka_unit_test(a_record_has_room_for_more_than_the_state),
        cmocka_unit_test(a_burst_does_what_one_put_after_the_other_does),
        cmocka_unit_test(a_sum_can_be_changed_word_by_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
