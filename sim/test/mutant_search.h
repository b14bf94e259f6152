/* mutant_search.h - for the tests with planted bugs: a cell of the matrix searched, and what it
 * must say. */
#ifndef PICKLOCK_TEST_MUTANT_SEARCH_H
#define PICKLOCK_TEST_MUTANT_SEARCH_H

#include "test/decide.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

/* What must be found: the fewest faults, the properties (the one that it stands for first), what
 * checks/ calls the cause of that one, and the events of its witness. */
struct expected {
    const char *name, *faults, *broken, *cause;
    int events;
};

/* A mutant may have no end of states: what is found is found by then. */
enum { MUTANT_STATES_MAX = 1000000 };

static inline void mutant_search(struct cell *cell, const struct scheme *scheme, const char *faults,
                                 enum section section)
{
    struct failure failure = {0};
    cell_init(cell, scheme);
    cell->options.section = section;
    cell->options.states_max = MUTANT_STATES_MAX;
    if (cell_add_faults(cell, faults, &failure) || decide(cell, &failure))
        fail_msg("%s with %s: %s", scheme->name, faults, failure.text);
}

static inline enum property property_at(const char *text)
{
    char name[NAME_MAX_BYTES] = "";
    size_t length = strcspn(text, " ");
    enum property property;
    assert_true(length < sizeof name);
    memcpy(name, text, length);
    assert_true(property_read(name, &property));
    return property;
}

/* Bit a property. */
static inline unsigned broken_read(const char *text)
{
    unsigned broken = 0;
    while (*text) {
        broken |= 1u << property_at(text);
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return broken;
}

static inline int print_difference(const char *name, const char *faults, unsigned expected,
                                   unsigned found)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if ((expected ^ found) >> i & 1)
            print_error("%s with %s: %s: %s\n", name, faults, property_name((enum property)i),
                        found >> i & 1 ? "violated, not expected" : "not found");
    return expected != found;
}

static inline int judge_witness(const struct expected *expected, const struct cell *cell)
{
    enum property property = property_at(expected->broken);
    const struct cell_witness *witness = &cell->witnesses[property];
    int events = cell->outcome.findings[property].events;
    if (witness->is_confirmed && !strcmp(cause_name(witness->cause), expected->cause) &&
        events == expected->events)
        return 0;
    print_error("%s with %s: %s: %s, %d events%s%s\n", expected->name, expected->faults,
                property_name(property), cause_name(witness->cause), events,
                witness->error ? "; " : "", witness->error ? witness->error : "");
    return 1;
}

/* Whatever is violated must be seen by checks/ in the replay. */
static inline int judge_replays(const struct cell *cell)
{
    int wrong = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct cell_witness *witness = &cell->witnesses[i];
        if (cell->outcome.findings[i].verdict != VERDICT_VIOLATED || witness->is_confirmed)
            continue;
        print_error("%s with %s: %s: %s\n", cell->options.scheme->name, cell->faults,
                    property_name((enum property)i), witness->error);
        wrong++;
    }
    return wrong;
}

#endif
