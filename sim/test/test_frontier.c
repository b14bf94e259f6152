/* test_frontier.c - the fault frontier: the sets that are known to break a scheme are there, and
 * nothing that contains one of them. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/frontier.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

/* What no server does wrong. */
enum {
    CLIENT_FAULTS = 1 << FAULT_SLOW_WORK | 1 << FAULT_STALL | 1 << FAULT_LATE_REQUEST |
                    1 << FAULT_LATE_REPLY | 1 << FAULT_LOSE_REQUEST | 1 << FAULT_LOSE_REPLY |
                    1 << FAULT_RESEND | 1 << FAULT_CRASH
};

static void walk(struct frontier *frontier, const char *scheme, unsigned faults,
                 uint64_t states_max)
{
    struct cell start;
    struct failure failure = {0};
    assert_non_null(scheme_named(scheme));
    cell_init(&start, scheme_named(scheme));
    start.options.states_max = states_max;
    frontier_init(frontier, &start, faults);
    while (frontier_widen(frontier))
        for (int i = frontier->first; i < frontier->count; i++)
            if (cell_run(&frontier->rows[i], &failure))
                fail_msg("%s", failure.text);
}

static int row_of(const struct frontier *frontier, const char *faults)
{
    for (int i = 0; i < frontier->count; i++)
        if (strcmp(frontier->rows[i].faults, faults) == 0)
            return i;
    return -1;
}

static bool is_broken_by(const struct frontier *frontier, const char *faults,
                         enum property property)
{
    int row = row_of(frontier, faults);
    return row >= 0 && frontier_breaks(frontier, row, property);
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
static void assert_smallest(const struct frontier *frontier)
{
    for (int p = 0; p < PROPERTY_COUNT; p++)
        for (int i = 0; i < frontier->count; i++) {
            const struct cell *cell = &frontier->rows[i];
            if (!frontier_breaks(frontier, i, (enum property)p))
                continue;
            assert_true(frontier_is_least(frontier, i, (enum property)p));
            assert_true(cell->witnesses[p].is_confirmed);
            /* What holds from the start is not spent. */
            assert_int_equal(cell->outcome.findings[p].faults,
                             weight_of(cell) - cell->options.budget[FAULT_SAME_TOKEN]);
            for (int k = 0; k < frontier->count; k++)
                if (k != i && frontier_breaks(frontier, k, (enum property)p))
                    assert_false(contains(cell, &frontier->rows[k]));
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
    struct frontier frontier;
    walk(&frontier, "set-nx-ex-del", CLIENT_FAULTS, 0);
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        assert_true(is_broken_by(&frontier, alone[i], PROPERTY_RELEASE_OWN));
    static const char *const harmless[] = {"none",  "lose-request", "lose-reply",
                                           "crash", "crash+crash",  "lose-reply+crash"};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        assert_true(row_of(&frontier, harmless[i]) >= 0);
        assert_false(is_broken_by(&frontier, harmless[i], PROPERTY_RELEASE_OWN));
    }
    for (int i = 0; i < frontier.count; i++)
        if (weight_of(&frontier.rows[i]) == 2)
            assert_false(frontier_breaks(&frontier, i, PROPERTY_RELEASE_OWN));
    assert_int_equal(frontier_judge(&frontier, PROPERTY_RELEASE_OWN), FRONTIER_BROKEN);
    assert_smallest(&frontier);
    frontier_close(&frontier);
}

/* Stamps: a dead holder's stamp must be there to be taken over by GETSET, and whoever takes it over
 * must be late: two faults, no single one. */
static void test_getset_needs_two_faults(void **state)
{
    (void)state;
    struct frontier frontier;
    walk(&frontier, "stamp-getset", 1 << FAULT_STALL | 1 << FAULT_CRASH, 0);
    assert_false(is_broken_by(&frontier, "none", PROPERTY_LEASE_EXCLUSION));
    assert_false(is_broken_by(&frontier, "stall", PROPERTY_LEASE_EXCLUSION));
    assert_false(is_broken_by(&frontier, "crash", PROPERTY_LEASE_EXCLUSION));
    assert_true(is_broken_by(&frontier, "stall+crash", PROPERTY_LEASE_EXCLUSION));
    assert_smallest(&frontier);
    frontier_close(&frontier);
}

/* The token guards every release and the server keeps the time: what clients and messages do,
 * however late, breaks no lease. But the server's own memory does, and then no pair with it is
 * asked. */
static void test_a_token_holds_against_any_two(void **state)
{
    (void)state;
    struct frontier frontier;
    walk(&frontier, "set-nx-px-cad", CLIENT_FAULTS, 0);
    assert_int_equal(frontier_judge(&frontier, PROPERTY_LEASE_EXCLUSION), FRONTIER_HOLDS);
    assert_int_equal(frontier_judge(&frontier, PROPERTY_RELEASE_OWN), FRONTIER_HOLDS);
    assert_true(is_broken_by(&frontier, "slow-work", PROPERTY_MUTUAL_EXCLUSION));
    assert_smallest(&frontier);
    frontier_close(&frontier);

    walk(&frontier, "set-nx-px-cad", 1 << FAULT_STALL | 1 << FAULT_EVICT, 0);
    assert_true(is_broken_by(&frontier, "evict", PROPERTY_LEASE_EXCLUSION));
    int both = row_of(&frontier, "stall+evict");
    assert_true(both >= 0);
    assert_true(frontier.rows[both].ignored >> PROPERTY_LEASE_EXCLUSION & 1);
    assert_false(frontier.rows[both].ignored >> PROPERTY_RELEASE_OWN & 1);
    assert_smallest(&frontier);
    frontier_close(&frontier);
}

/* One fault, twice: eight faults that can strike make 8 + 8 * 7 / 2 pairs; not a token collision.
 */
static void test_every_pair_is_walked_once(void **state)
{
    (void)state;
    struct frontier frontier;
    walk(&frontier, "set-nx-px-cad", CLIENT_FAULTS | 1 << FAULT_SAME_TOKEN, 0);
    assert_int_equal(frontier.count, 1 + 9 + 36);
    assert_true(row_of(&frontier, "stall+stall") > row_of(&frontier, "token-collision"));
    assert_int_equal(row_of(&frontier, "crash+token-collision"), -1);
    frontier_close(&frontier);

    /* Weak tokens do collide, in company too, but not twice. */
    walk(&frontier, "set-nx-px-cad-weak-token", 1 << FAULT_STALL | 1 << FAULT_SAME_TOKEN, 0);
    assert_true(row_of(&frontier, "stall+token-collision") >= 0);
    assert_int_equal(row_of(&frontier, "token-collision+token-collision"), -1);
    assert_true(is_broken_by(&frontier, "stall+token-collision", PROPERTY_RELEASE_OWN));
    assert_smallest(&frontier);
    frontier_close(&frontier);
}

/* Ten states are not enough to see that anything holds; and what a larger set finds, by whatever is
 * tried behind that limit, is not certainly the least. */
static void test_out_of_limits_is_unknown(void **state)
{
    (void)state;
    struct frontier frontier;
    walk(&frontier, "set-nx-px-cad", 1 << FAULT_STALL, 10);
    assert_int_equal(frontier.count, 3);
    for (int p = 0; p < PROPERTY_COUNT; p++)
        assert_int_not_equal(frontier_judge(&frontier, (enum property)p), FRONTIER_HOLDS);
    assert_true(frontier_is_unknown(&frontier, 0, PROPERTY_LEASE_EXCLUSION));
    assert_false(frontier_is_least(&frontier, 2, PROPERTY_LEASE_EXCLUSION));
    assert_int_equal(frontier_judge(&frontier, PROPERTY_PROGRESS), FRONTIER_UNKNOWN);
    frontier_close(&frontier);
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
