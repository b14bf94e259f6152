/* test_minimal_faults.c - the fault frontier: the sets that are known to break a scheme are there,
 * and nothing that contains one of them. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/result/minimal_faults.h"
#include "test/decide.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* What no server does wrong. */
enum {
    CLIENT_FAULTS = 1 << FAULT_SLOW_WORK | 1 << FAULT_STALL | 1 << FAULT_LATE_REQUEST |
                    1 << FAULT_LATE_REPLY | 1 << FAULT_LOSE_REQUEST | 1 << FAULT_LOSE_REPLY |
                    1 << FAULT_RESEND | 1 << FAULT_CRASH
};

static void walk(struct minimal_faults *minimal, const char *scheme, unsigned faults,
                 uint64_t states_max)
{
    struct cell start;
    struct failure failure = {0};
    assert_non_null(scheme_named(scheme));
    cell_init(&start, scheme_named(scheme));
    start.options.states_max = states_max;
    minimal_faults_init(minimal, &start, faults);
    while (minimal_faults_widen(minimal))
        for (int i = minimal->first; i < minimal->count; i++)
            if (decide(&minimal->rows[i], &failure))
                fail_msg("%s", failure.text);
}

static void close_rows(struct minimal_faults *minimal)
{
    for (int i = 0; i < minimal->count; i++)
        cell_close(&minimal->rows[i]);
    free(minimal->rows);
}

static int row_of(const struct minimal_faults *minimal, const char *faults)
{
    for (int i = 0; i < minimal->count; i++)
        if (strcmp(minimal->rows[i].faults, faults) == 0)
            return i;
    return -1;
}

static bool is_broken_by(const struct minimal_faults *minimal, const char *faults,
                         enum property property)
{
    int row = row_of(minimal, faults);
    return row >= 0 && minimal_faults_breaks(minimal, row, property);
}

static int weight_of(const struct cell *cell)
{
    int weight = 0;
    for (int i = 0; i < FAULT_COUNT; i++)
        weight += cell->options.budget[i];
    return weight;
}

static bool contains(const struct cell *whole, const struct cell *part)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (part->options.budget[i] > whole->options.budget[i])
            return false;
    return true;
}

/* No set of the frontier contains another one, and a witness spends all that its set allows:
 * otherwise a smaller set would have found it. */
static void assert_smallest(const struct minimal_faults *minimal)
{
    for (int p = 0; p < PROPERTY_COUNT; p++)
        for (int i = 0; i < minimal->count; i++) {
            const struct cell *cell = &minimal->rows[i];
            if (!minimal_faults_breaks(minimal, i, (enum property)p))
                continue;
            assert_true(minimal_faults_is_least(minimal, i, (enum property)p));
            assert_true(cell->witnesses[p].is_confirmed);
            /* What holds from the start is not spent. */
            assert_int_equal(cell->outcome.findings[p].faults,
                             weight_of(cell) - cell->options.budget[FAULT_SAME_TOKEN]);
            for (int k = 0; k < minimal->count; k++)
                if (k != i && minimal_faults_breaks(minimal, k, (enum property)p))
                    assert_false(contains(cell, &minimal->rows[k]));
        }
}

/* A plain DEL removes whatever is there: it is enough that the own lease has ended before it is
 * executed (late work, client, request or answer), or that it is executed twice. What is lost, or
 * dies, deletes nothing. */
static void test_a_plain_del_needs_one_fault(void **state)
{
    (void)state;
    static const char *const alone[] = {"slow-work", "stall", "late-request", "late-reply",
                                        "resend"};
    struct minimal_faults minimal;
    walk(&minimal, "set-nx-ex-del", CLIENT_FAULTS, 0);
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        assert_true(is_broken_by(&minimal, alone[i], PROPERTY_RELEASE_OWN));
    static const char *const harmless[] = {"none",  "lose-request", "lose-reply",
                                           "crash", "crash+crash",  "lose-reply+crash"};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        assert_true(row_of(&minimal, harmless[i]) >= 0);
        assert_false(is_broken_by(&minimal, harmless[i], PROPERTY_RELEASE_OWN));
    }
    for (int i = 0; i < minimal.count; i++)
        if (weight_of(&minimal.rows[i]) == 2)
            assert_false(minimal_faults_breaks(&minimal, i, PROPERTY_RELEASE_OWN));
    assert_int_equal(minimal_faults_judge(&minimal, PROPERTY_RELEASE_OWN), MINIMAL_BROKEN);
    assert_smallest(&minimal);
    close_rows(&minimal);
}

/* Stamps: a dead holder's stamp must be there to be taken over by GETSET, and whoever takes it over
 * must be late: two faults, no single one. */
static void test_getset_needs_two_faults(void **state)
{
    (void)state;
    struct minimal_faults minimal;
    walk(&minimal, "stamp-getset", 1 << FAULT_STALL | 1 << FAULT_CRASH, 0);
    assert_false(is_broken_by(&minimal, "none", PROPERTY_LEASE_EXCLUSION));
    assert_false(is_broken_by(&minimal, "stall", PROPERTY_LEASE_EXCLUSION));
    assert_false(is_broken_by(&minimal, "crash", PROPERTY_LEASE_EXCLUSION));
    assert_true(is_broken_by(&minimal, "stall+crash", PROPERTY_LEASE_EXCLUSION));
    assert_smallest(&minimal);
    close_rows(&minimal);
}

/* The token guards every release and the server keeps the time: what clients and messages do,
 * however late, breaks no lease. But the server's own memory does, and then no pair with it is
 * asked. */
static void test_a_token_holds_against_any_two(void **state)
{
    (void)state;
    struct minimal_faults minimal;
    walk(&minimal, "set-nx-px-cad", CLIENT_FAULTS, 0);
    assert_int_equal(minimal_faults_judge(&minimal, PROPERTY_LEASE_EXCLUSION), MINIMAL_HOLDS);
    assert_int_equal(minimal_faults_judge(&minimal, PROPERTY_RELEASE_OWN), MINIMAL_HOLDS);
    assert_true(is_broken_by(&minimal, "slow-work", PROPERTY_MUTUAL_EXCLUSION));
    assert_smallest(&minimal);
    close_rows(&minimal);

    walk(&minimal, "set-nx-px-cad", 1 << FAULT_STALL | 1 << FAULT_EVICT, 0);
    assert_true(is_broken_by(&minimal, "evict", PROPERTY_LEASE_EXCLUSION));
    int both = row_of(&minimal, "stall+evict");
    assert_true(both >= 0);
    assert_true(minimal.rows[both].ignored >> PROPERTY_LEASE_EXCLUSION & 1);
    assert_false(minimal.rows[both].ignored >> PROPERTY_RELEASE_OWN & 1);
    assert_smallest(&minimal);
    close_rows(&minimal);
}

/* One fault, twice: eight faults that can strike make 8 + 8 * 7 / 2 pairs; not a token collision.
 */
static void test_every_pair_is_walked_once(void **state)
{
    (void)state;
    struct minimal_faults minimal;
    walk(&minimal, "set-nx-px-cad", CLIENT_FAULTS | 1 << FAULT_SAME_TOKEN, 0);
    assert_int_equal(minimal.count, 1 + 9 + 36);
    assert_true(row_of(&minimal, "stall+stall") > row_of(&minimal, "token-collision"));
    assert_int_equal(row_of(&minimal, "crash+token-collision"), -1);
    close_rows(&minimal);

    /* Weak tokens do collide, in company too, but not twice. */
    walk(&minimal, "set-nx-px-cad-weak-token", 1 << FAULT_STALL | 1 << FAULT_SAME_TOKEN, 0);
    assert_true(row_of(&minimal, "stall+token-collision") >= 0);
    assert_int_equal(row_of(&minimal, "token-collision+token-collision"), -1);
    assert_true(is_broken_by(&minimal, "stall+token-collision", PROPERTY_RELEASE_OWN));
    assert_smallest(&minimal);
    close_rows(&minimal);
}

/* Ten states are not enough to see that anything holds; and what a larger set finds, by whatever is
 * tried behind that limit, is not certainly the least. */
static void test_out_of_limits_is_unknown(void **state)
{
    (void)state;
    struct minimal_faults minimal;
    walk(&minimal, "set-nx-px-cad", 1 << FAULT_STALL, 10);
    assert_int_equal(minimal.count, 3);
    for (int p = 0; p < PROPERTY_COUNT; p++)
        assert_int_not_equal(minimal_faults_judge(&minimal, (enum property)p), MINIMAL_HOLDS);
    assert_true(minimal_faults_is_unknown(&minimal, 0, PROPERTY_LEASE_EXCLUSION));
    assert_false(minimal_faults_is_least(&minimal, 2, PROPERTY_LEASE_EXCLUSION));
    assert_int_equal(minimal_faults_judge(&minimal, PROPERTY_PROGRESS), MINIMAL_UNKNOWN);
    close_rows(&minimal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_del_needs_one_fault),
        cmocka_unit_test(test_getset_needs_two_faults),
        cmocka_unit_test(test_a_token_holds_against_any_two),
        cmocka_unit_test(test_every_pair_is_walked_once),
        cmocka_unit_test(test_out_of_limits_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
