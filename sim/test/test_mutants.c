/* test_mutants.c - bugs that are planted in schemes (mutants/): the explorer must find each, and
 * nothing in the same code without it.
 *
 * Found means: at the default bounds exactly the properties that the table says are violated and
 * the twin's search is complete and says that they hold; the witness replays, and checks/ names the
 * cause; with one fault less nothing is found. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/matrix.h"
#include "test/mutants/mutants.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define BASE(id, words)                                      extern const struct scheme scheme_##id;
#define PLANT(id, base, faults, broken, cause, events, slip) extern const struct scheme scheme_##id;
#define SILENT(id, base, change)                             extern const struct scheme scheme_##id;
#include "test/mutants/mutants.def"
#undef BASE
#undef PLANT
#undef SILENT

struct plant {
    const struct scheme *mutant, *twin;
    const char *faults, *broken, *cause;
    int events;
};

static const struct plant plants[] = {
#define BASE(id, words)
#define PLANT(id, base, faults, broken, cause, events, slip)                                       \
    {&scheme_##id, &scheme_##base, faults, broken, cause, events},
#define SILENT(id, base, change)
#include "test/mutants/mutants.def"
#undef BASE
#undef PLANT
#undef SILENT
};

static const struct {
    const struct scheme *mutant, *twin;
} silents[] = {
#define BASE(id, words)
#define PLANT(id, base, faults, broken, cause, events, slip)
#define SILENT(id, base, change) {&scheme_##id, &scheme_##base},
#include "test/mutants/mutants.def"
#undef BASE
#undef PLANT
#undef SILENT
};

enum { PLANTS = sizeof plants / sizeof *plants, SILENTS = sizeof silents / sizeof *silents };

static void search(struct cell *cell, const struct scheme *scheme, const char *faults)
{
    struct failure failure = {0};
    cell_init(cell, scheme);
    if (cell_add_faults(cell, faults, &failure) || cell_run(cell, &failure))
        fail_msg("%s with %s: %s", scheme->name, faults, failure.text);
}

static enum property property_at(const char *text)
{
    char name[NAME_MAX_BYTES];
    enum property property;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text);
    assert_true(property_read(name, &property));
    return property;
}

/* Bit a property. */
static unsigned broken_read(const char *text)
{
    unsigned broken = 0;
    while (*text) {
        broken |= 1u << property_at(text);
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return broken;
}

static int print_difference(const char *name, const char *faults, unsigned expected, unsigned found)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if ((expected ^ found) >> i & 1)
            print_error("%s with %s: %s: %s\n", name, faults, property_name((enum property)i),
                        found >> i & 1 ? "violated, not expected" : "not found");
    return expected != found;
}

static int judge_witness(const struct plant *plant, const struct cell *cell)
{
    enum property property = property_at(plant->broken);
    const struct cell_witness *witness = &cell->witnesses[property];
    int events = cell->outcome.findings[property].events;
    if (witness->is_confirmed && !strcmp(cause_name(witness->cause), plant->cause) &&
        events == plant->events)
        return 0;
    print_error("%s with %s: %s: %s, %d events%s%s\n", plant->mutant->name, plant->faults,
                property_name(property), cause_name(witness->cause), events,
                witness->trouble ? "; " : "", witness->trouble ? witness->trouble : "");
    return 1;
}

/* Whatever is violated must be seen by checks/ in the replay. */
static int judge_replays(const struct cell *cell)
{
    int wrong = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct cell_witness *witness = &cell->witnesses[i];
        if (cell->outcome.findings[i].verdict != VERDICT_VIOLATED || witness->is_confirmed)
            continue;
        print_error("%s with %s: %s: %s\n", cell->options.scheme->name, cell->faults,
                    property_name((enum property)i), witness->trouble);
        wrong++;
    }
    return wrong;
}

/* Of the properties in asked: those that the mutant violates and the twin, to its end, does not. */
static unsigned find(const struct scheme *mutant, const struct scheme *twin, const char *faults,
                     unsigned asked, struct cell *found, int *wrong)
{
    struct cell repaired;
    unsigned more = 0;
    search(found, mutant, faults);
    search(&repaired, twin, faults);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (found->outcome.findings[i].verdict != VERDICT_VIOLATED ||
            repaired.outcome.findings[i].verdict == VERDICT_VIOLATED)
            continue;
        more |= asked & 1u << i;
        assert_int_equal(repaired.outcome.findings[i].verdict, VERDICT_HOLDS);
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
        unsigned more = find(plant->mutant, plant->twin, plant->faults, ~0u, &cell, &wrong);
        wrong +=
            print_difference(plant->mutant->name, plant->faults, broken_read(plant->broken), more);
        wrong += judge_witness(plant, &cell);
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
        unsigned asked = 1u << property_at(plant->broken);
        char fewer[CELL_NAME_MAX];
        for (int part = 0; drop_part(plant->faults, part, fewer, sizeof fewer); part++) {
            struct cell cell;
            unsigned more = find(plant->mutant, plant->twin, fewer, asked, &cell, &wrong);
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
            unsigned more = find(silents[i].mutant, silents[i].twin, faults, ~0u, &cell, &wrong);
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
        covered |= 1u << property_at(plants[i].broken);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (explore_judges((enum property)i) && !(covered >> i & 1))
            fail_msg("no mutant breaks %s", property_name((enum property)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutant_is_found_and_its_twin_is_not),
        cmocka_unit_test(one_fault_less_does_not_find_it),
        cmocka_unit_test(a_change_that_breaks_nothing_stays_silent),
        cmocka_unit_test(every_property_has_a_mutant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
