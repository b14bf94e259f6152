/* merge_same.c - see merge_same.h. Times, and sentences that hold times, never make a difference.
 */
#include "report/merge_same.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

bool same_conditions(const struct results *a, const struct results *b)
{
    return !strcmp(a->picklock, b->picklock) && !strcmp(a->command, b->command) &&
           !strcmp(a->world, b->world) && !strcmp(a->server_version, b->server_version) &&
           a->seed == b->seed;
}

bool same_campaign(const struct results *a, const struct results *b)
{
    return same_conditions(a, b) && a->shard.count == b->shard.count && a->whole == b->whole &&
           (a->shard.count ? same_text(a->campaign, b->campaign)
                           : same_text(a->invocation, b->invocation));
}

bool same_run(const struct run_result *a, const struct run_result *b)
{
    return !a->is_stress && !b->is_stress && !strcmp(a->scenario, b->scenario) &&
           !strcmp(a->scheme, b->scheme);
}

static bool same_property(const struct property_result *a, const struct property_result *b)
{
    return a->property == b->property && a->verdict == b->verdict && a->expected == b->expected &&
           a->count == b->count && a->cause == b->cause;
}

enum settled settle_runs(const struct run_result *a, const struct run_result *b)
{
    bool is_same = same_run(a, b) && a->verdict == b->verdict && a->as_expected == b->as_expected &&
                   a->is_unsupported == b->is_unsupported &&
                   a->properties_count == b->properties_count;
    for (int i = 0; is_same && i < a->properties_count; i++)
        is_same = same_property(&a->properties[i], &b->properties[i]);
    return is_same ? SETTLED_EQUAL : SETTLED_DIFFER;
}

static bool same_finding(const struct explored_property *a, const struct explored_property *b)
{
    return a->property == b->property && a->verdict == b->verdict && a->cause == b->cause &&
           a->faults == b->faults && a->steps == b->steps && a->is_failure == b->is_failure;
}

enum settled settle_cells(const struct explored *a, const struct explored *b)
{
    if (!explored_is_same_cell(a, b))
        return SETTLED_DIFFER;
    if (a->is_complete != b->is_complete)
        return a->is_complete ? SETTLED_FIRST : SETTLED_SECOND;
    bool is_same = a->properties_count == b->properties_count && !strcmp(a->words, b->words);
#define BOUND(name, member)
#define FIGURE(name, member) is_same = is_same && a->member == b->member;
#include "run/explored.def"
#undef BOUND
#undef FIGURE
    for (int i = 0; is_same && i < a->properties_count; i++)
        is_same = same_finding(&a->properties[i], &b->properties[i]);
    return is_same ? SETTLED_EQUAL : SETTLED_DIFFER;
}
