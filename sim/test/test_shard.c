/* test_shard.c - every index in exactly one shard, shards of one size, no column for one shard
 * alone. */
#include "base/shard.h"

#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h> /* last: its fail() is a macro */

static void every_index_is_in_one_shard(void **state)
{
    (void)state;
    for (int count = 1; count <= 40; count++)
        for (int64_t whole = 0; whole <= 300; whole += 7) {
            int64_t dealt = 0, least = whole, most = 0;
            for (int number = 1; number <= count; number++) {
                struct shard shard = {.number = number, .count = count};
                int64_t size = 0;
                for (int64_t i = 0; i < whole; i++)
                    if (shard_has(&shard, i))
                        assert_int_equal(shard_index(&shard, size++), i);
                assert_int_equal(shard_size(&shard, whole), size);
                dealt += size;
                least = size < least ? size : least;
                most = size > most ? size : most;
            }
            /* as many as there are, and each shard's are its own: shard_index() is one to one */
            assert_int_equal(dealt, whole);
            assert_true(most - least <= 1);
        }
}

static void without_shards_it_is_the_whole(void **state)
{
    (void)state;
    const struct shard none = {0};
    assert_true(shard_has(&none, 0) && shard_has(&none, 12345));
    assert_int_equal(shard_index(&none, 77), 77);
    assert_int_equal(shard_size(&none, 77), 77);
}

/* A matrix whose columns are a multiple of the shards: dealt without a turn, each column would
 * always go to the same shard. */
static void a_column_is_spread(void **state)
{
    (void)state;
    enum { COLUMNS = 16, ROWS = 20 };
    static const int counts[] = {2, 4, 8, 16};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        bool has[16] = {false};
        int shards = 0;
        for (int row = 0; row < ROWS; row++)
            for (int number = 1; number <= counts[c]; number++) {
                struct shard shard = {.number = number, .count = counts[c]};
                if (shard_has(&shard, row * COLUMNS + 11))
                    has[number - 1] = true;
            }
        for (int i = 0; i < counts[c]; i++)
            shards += has[i];
        assert_true(shards > counts[c] / 2);
    }
}

/* Which shard an index falls to is a promise: a campaign may be spread over several versions of
 * this program. */
static void the_deal_never_changes(void **state)
{
    (void)state;
    static const int of_four[] = {1, 2, 3, 4, 4, 1, 2, 3, 4, 1, 2, 3, 2, 3, 4, 1};
    for (int i = 0; i < 16; i++)
        for (int number = 1; number <= 4; number++)
            assert_int_equal(shard_has(&(struct shard){number, 4}, i), of_four[i] == number);
}

static void a_shard_is_k_of_n(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "3",
                                      "/",
                                      "1/",
                                      "/4",
                                      "0/4",
                                      "5/4",
                                      "1/0",
                                      "-1/4",
                                      "1/-4",
                                      "1/4x",
                                      " 1/4",
                                      "1 /4",
                                      "a/b",
                                      "1/2/3",
                                      "1/100001",
                                      "99999999999999999999/4"};
    struct shard shard;
    struct failure failure;
    assert_int_equal(shard_read("3/4", &shard, &failure), FAIL_NONE);
    assert_int_equal(shard.number, 3);
    assert_int_equal(shard.count, 4);
    assert_int_equal(shard_read(NULL, &shard, &failure), FAIL_NONE);
    assert_int_equal(shard.count, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(shard_read(bad[i], &shard, &failure), FAIL_INPUT);
        assert_non_null(strstr(failure.text, "--shard"));
        assert_int_equal(shard.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_is_in_one_shard),
        cmocka_unit_test(without_shards_it_is_the_whole),
        cmocka_unit_test(a_column_is_spread),
        cmocka_unit_test(the_deal_never_changes),
        cmocka_unit_test(a_shard_is_k_of_n),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
