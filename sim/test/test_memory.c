/* test_memory.c - memory that grows, and memory that is moved into huge pages: what is in it stays.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* --- memory_extend --- */

static void grown_memory_keeps_what_it_held_and_adds_zeroes(void **state)
{
    (void)state;
    /* On the heap, on the way to pages, within a page, by a page that is left over, and far. */
    static const size_t counts[] = {1, 1000, 131071, 131072, 262144, 262145, 5000000};
    uint64_t *numbers = NULL;
    size_t old = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t count = counts[i];
        numbers = memory_extend(numbers, old, count, sizeof *numbers);
        for (size_t k = 0; k < old; k++)
            assert_int_equal(numbers[k], k + 1);
        for (size_t k = old; k < count; k++) {
            assert_int_equal(numbers[k], 0);
            numbers[k] = k + 1;
        }
        old = count;
    }
    memory_drop(numbers, old, sizeof *numbers);
    memory_drop(NULL, 0, 1);
}

/* --- memory_use_huge_pages --- */

/* kB of huge pages that we have, as the system says; -1: it does not. */
static long huge_kb(void)
{
    FILE *rollup = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    long kb = -1;
    while (rollup && kb < 0 && fgets(line, sizeof line, rollup))
        (void)sscanf(line, "AnonHugePages: %ld", &kb);
    if (rollup)
        (void)fclose(rollup);
    return kb;
}

static bool gives_huge_pages(void)
{
    FILE *enabled = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    char line[256] = "";
    if (enabled && !fgets(line, sizeof line, enabled))
        line[0] = '\0';
    if (enabled)
        (void)fclose(enabled);
    return strstr(line, "[madvise]") != NULL; /* with [always] they are there before */
}

static void small_pieces_stay_as_they_are_where_huge_pages_take_them(void **state)
{
    (void)state;
    enum { PIECES = 100000, BYTES = 200 };
    unsigned char **pieces = memory_new(PIECES, sizeof(unsigned char *));
    for (int i = 0; i < PIECES; i++)
        memset(pieces[i] = memory_new(1, BYTES), i % 251, BYTES);
    const bool is_heap =
        (char *)pieces[PIECES / 2] < (char *)sbrk(0); /* not what sanitizers have */
    const long before = huge_kb();
    memory_use_huge_pages();
    const long after = huge_kb();
    memory_use_huge_pages(); /* again, for nothing */
    for (int i = 0; i < PIECES; i++) {
        for (int k = 0; k < BYTES; k++)
            assert_int_equal(pieces[i][k], i % 251);
        free(pieces[i]);
    }
    free(pieces);
    struct utsname system;
    int major = 0, minor = 0;
    assert_int_equal(uname(&system), 0);
    assert_int_equal(sscanf(system.release, "%d.%d", &major, &minor), 2);
    if (gives_huge_pages() && is_heap && before >= 0 && major * 1000 + minor >= 6001)
        assert_true(after > before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grown_memory_keeps_what_it_held_and_adds_zeroes),
        cmocka_unit_test(small_pieces_stay_as_they_are_where_huge_pages_take_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
