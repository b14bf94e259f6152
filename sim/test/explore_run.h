/* explore_run.h - for tests of the explorer: a search of small bounds, and how two of them differ.
 */
#ifndef PICKLOCK_TEST_EXPLORE_RUN_H
#define PICKLOCK_TEST_EXPLORE_RUN_H

#include "explore/search/explore.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { NONE = FAULT_COUNT }; /* in tables: no fault */

static inline struct explore_options options_of(const char *scheme, int fault)
{
    struct explore_options options = {
        .scheme = scheme_named(scheme), .clients = 3, .rounds = 2, .servers = 1};
    options.reductions = REDUCE_ALL;
    assert_non_null(options.scheme);
    if (options.scheme->needs_quorum) {
        options.clients = 2;
        options.rounds = 1;
        options.servers = 3;
    }
    if (fault != NONE)
        options.budget[fault] = 1;
    return options;
}

static inline void run(const struct explore_options *options, struct explore_outcome *outcome)
{
    struct failure failure = {0};
    if (explore(options, outcome, &failure))
        fail_msg("%s", failure.text);
}

/* Verdicts, and the costs of the witnesses, are the same. */
static inline int differences(const char *what, const struct explore_options *options,
                              const struct explore_outcome *one, const struct explore_outcome *two)
{
    int wrong = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct explore_finding *a = &one->findings[i], *b = &two->findings[i];
        if (a->verdict == b->verdict && a->faults == b->faults && a->events == b->events)
            continue;
        wrong++;
        print_error("%s: %s: %s: %s (%d, %d) or %s (%d, %d)\n", options->scheme->name, what,
                    property_name((enum property)i), verdict_name(a->verdict), a->faults, a->events,
                    verdict_name(b->verdict), b->faults, b->events);
    }
    return wrong;
}

#endif
