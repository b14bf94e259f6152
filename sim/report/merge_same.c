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

static bool same_property(const struct result_property *a, const struct result_property *b)
{
    return a->property == b->property && a->verdict == b->verdict && a->expected == b->expected &&
           a->count == b->count && a->cause == b->cause && a->faults == b->faults &&
           a->steps == b->steps && a->is_failure == b->is_failure;
}

static bool same_search(const struct search_figures *a, const struct search_figures *b)
{
#define BOUND(name, member)
#define FIGURE(name, member)                                                                       \
    if (a->member != b->member)                                                                    \
        return false;
#include "run/search.def"
#undef BOUND
#undef FIGURE
    return !strcmp(a->words, b->words);
}

enum settled settle_rows(const struct result_row *a, const struct result_row *b)
{
    if (!result_is_same(a, b))
        return SETTLED_DIFFER;
    if (a->search && a->search->is_complete != b->search->is_complete)
        return a->search->is_complete ? SETTLED_FIRST : SETTLED_SECOND;
    bool is_same = a->verdict == b->verdict && a->as_expected == b->as_expected &&
                   a->is_unsupported == b->is_unsupported && a->is_inferred == b->is_inferred &&
                   a->properties_count == b->properties_count &&
                   (!a->search || same_search(a->search, b->search));
    for (int i = 0; is_same && i < a->properties_count; i++)
        is_same = same_property(&a->properties[i], &b->properties[i]);
    return is_same ? SETTLED_EQUAL : SETTLED_DIFFER;
}
