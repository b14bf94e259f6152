/* test_mutants.c - bugs that are planted in schemes (mutants/): the explorer must find each, and
 * nothing in the same code without it.
 *
 * Found means: at the default bounds exactly the properties that the table says are violated and
 * the twin's search is complete and says that they hold; the witness replays, and checks/ names the
 * cause; with one fault less nothing is found. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/mutant_search.h"
#include "test/mutants/mutants.h"
#include "test/sample.h"

#include <stdio.h>

#define BASE(id, words)                                      extern const struct scheme scheme_##id;
#define PLANT(id, base, faults, broken, cause, events, slip) extern const struct scheme scheme_##id;
#define STORY(id, base, property, cause, slip)
#define SILENT(id, base, change) extern const struct scheme scheme_##id;
#include "test/mutants/mutants.def"
#undef BASE
#undef PLANT
#undef STORY
#undef SILENT

struct plant {
    const struct scheme *mutant, *twin;
    struct expected expected;
};

static const struct plant plants[] = {
#define BASE(id, words)
#define PLANT(id, base, faults, broken, cause, events, slip)                                       \
    {&scheme_##id, &scheme_##base, {#id, faults, broken, cause, events}},
#define STORY(id, base, property, cause, slip)
#define SILENT(id, base, change)
#include "test/mutants/mutants.def"
#undef BASE
#undef PLANT
#undef STORY
#undef SILENT
};

static const struct {
    const struct scheme *mutant, *twin;
} silents[] = {
#define BASE(id, words)
#define PLANT(id, base, faults, broken, cause, events, slip)
#define STORY(id, base, property, cause, slip)
#define SILENT(id, base, change) {&scheme_##id, &scheme_##base},
#include "test/mutants/mutants.def"
#undef BASE
#undef PLANT
#undef STORY
#undef SILENT
};

#define STORY(id, base, property, cause, slip) extern const struct scheme scheme_##id;
#define BASE(id, words)
#define PLANT(id, base, faults, broken, cause, events, slip)
#define SILENT(id, base, change)
#include "test/mutants/mutants.def"
#undef BASE
#undef PLANT
#undef STORY
#undef SILENT

/* What only shows in what a critical section does. */
static const struct {
    enum section section;
    struct plant plant;
} sections[] = {
    {SECTION_WRITE,
     {&scheme_fence_minted_first,
      &scheme_fence_lock,
      {"fence_minted_first", "none", "fence-order", "fence-disorder", 15}}},
    /* Its guess that the lock is taken is not a server that forgot its keys: fences are in order.
     */
    {SECTION_WRITE,
     {&scheme_fence_lost_is_refusal,
      &scheme_fence_lock,
      {"fence_lost_is_refusal", "slow-work+lose-request", "truthful", "untrue-answer", 3}}},
    {SECTION_COUNTER,
     {&scheme_quorum_off_by_one,
      &scheme_quorum_lock,
      {"quorum_off_by_one", "none", "no-lost-update lease-exclusion mutual-exclusion",
       "split-grant", 24}}},
};

enum { SECTIONS = sizeof sections / sizeof *sections };
enum { PLANTS = sizeof plants / sizeof *plants, SILENTS = sizeof silents / sizeof *silents };

/* Violated where the other one is not; or an untruth of the scheme's own, where the other one is
 * refused by what a lost message has left behind. */
static bool is_worse(const struct cell *cell, const struct cell *than, int property)
{
    if (cell->outcome.findings[property].verdict != VERDICT_VIOLATED)
        return false;
    return than->outcome.findings[property].verdict != VERDICT_VIOLATED ||
           (property == PROPERTY_TRUTHFUL &&
            cause_blame(than->witnesses[property].cause) == BLAME_NOBODY &&
            cause_blame(cell->witnesses[property].cause) == BLAME_SCHEME);
}

/* Of the properties in asked: those that the mutant violates and the twin, to its end, does not, or
 * is not to blame for. */
static unsigned find(const struct scheme *mutant, const struct scheme *twin, const char *faults,
                     enum section section, unsigned asked, struct cell *found, int *wrong)
{
    struct cell repaired;
    unsigned more = 0;
    mutant_search(found, mutant, faults, section);
    mutant_search(&repaired, twin, faults, section);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (!is_worse(found, &repaired, i))
            continue;
        more |= asked & 1u << i;
        assert_int_not_equal(repaired.outcome.findings[i].verdict, VERDICT_UNKNOWN);
    }
    *wrong += judge_replays(found) + judge_replays(&repaired);
    cell_close(&repaired);
    return more;
}

static void a_mutant_is_found_and_its_twin_is_not(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < PLANTS; i++) {
        const struct plant *plant = &plants[i];
        struct cell cell;
        unsigned more = find(plant->mutant, plant->twin, plant->expected.faults, SECTION_NOTHING,
                             ~0u, &cell, &wrong);
        wrong += print_difference(plant->mutant->name, plant->expected.faults,
                                  broken_read(plant->expected.broken), more);
        wrong += judge_witness(&plant->expected, &cell);
        cell_close(&cell);
    }
    assert_int_equal(wrong, 0);
}

static void a_mutant_is_found_by_its_sections(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < SECTIONS; i++) {
        const struct plant *plant = &sections[i].plant;
        const struct expected *expected = &plant->expected;
        struct cell cell;
        if (!is_in_sample())
            continue;
        unsigned more = find(plant->mutant, plant->twin, expected->faults, sections[i].section, ~0u,
                             &cell, &wrong);
        wrong +=
            print_difference(expected->name, expected->faults, broken_read(expected->broken), more);
        wrong += judge_witness(expected, &cell);
        cell_close(&cell);
    }
    assert_int_equal(wrong, 0);
}

/* "slow-work+evict" without its part number i (or "none"); false: it has no such part. */
static bool drop_part(const char *faults, int part, char *rest, size_t size)
{
    const char *at = faults;
    for (int i = 0; i < part && at; i++)
        at = (at = strchr(at, '+')) ? at + 1 : NULL;
    if (!at || strcmp(faults, "none") == 0)
        return false;
    size_t length = strcspn(at, "+");
    snprintf(rest, size, "%.*s%s", (int)(at - faults), faults,
             at[length] ? at + length + 1 : "none");
    return true;
}

static void one_fault_less_does_not_find_it(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < PLANTS; i++) {
        const struct plant *plant = &plants[i];
        unsigned asked = 1u << property_at(plant->expected.broken);
        char fewer[CELL_NAME_MAX];
        for (int part = 0; drop_part(plant->expected.faults, part, fewer, sizeof fewer); part++) {
            struct cell cell;
            unsigned more =
                find(plant->mutant, plant->twin, fewer, SECTION_NOTHING, asked, &cell, &wrong);
            wrong += print_difference(plant->mutant->name, fewer, 0, more);
            cell_close(&cell);
        }
    }
    assert_int_equal(wrong, 0);
}

static void a_change_that_breaks_nothing_stays_silent(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < SILENTS; i++) {
        for (int fault = -1; fault < FAULT_COUNT; fault++) {
            const char *faults = fault < 0 ? "none" : fault_name((enum fault)fault);
            struct cell cell;
            if (!is_in_sample())
                continue;
            unsigned more = find(silents[i].mutant, silents[i].twin, faults, SECTION_NOTHING, ~0u,
                                 &cell, &wrong);
            wrong += print_difference(silents[i].mutant->name, faults, 0, more);
            cell_close(&cell);
        }
    }
    assert_int_equal(wrong, 0);
}

static void every_property_has_a_mutant(void **state)
{
    (void)state;
    unsigned covered = 0;
    for (int i = 0; i < PLANTS; i++)
        covered |= 1u << property_at(plants[i].expected.broken);
    for (int i = 0; i < SECTIONS; i++)
        covered |= 1u << property_at(sections[i].plant.expected.broken);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (!(covered >> i & 1))
            fail_msg("no mutant breaks %s", property_name((enum property)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutant_is_found_and_its_twin_is_not),
        cmocka_unit_test(a_mutant_is_found_by_its_sections),
        cmocka_unit_test(one_fault_less_does_not_find_it),
        cmocka_unit_test(a_change_that_breaks_nothing_stays_silent),
        cmocka_unit_test(every_property_has_a_mutant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
