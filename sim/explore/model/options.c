/* options.c - see options.h: the names of options, and which properties they are about. */
#include "explore/model/options.h"

#include "base/names.h"

#include <assert.h>

static const char *const searches[SEARCH_COUNT] = {"exhaustive", "random", "pct", "bounded"};

const char *explore_search_name(enum explore_search search)
{
    assert((unsigned)search < SEARCH_COUNT);
    return searches[search];
}

bool explore_search_read(const char *name, enum explore_search *search)
{
    return names_read(NAMES_FIND(searches, name), search);
}

static const char *const sections[] = {
    [SECTION_NOTHING] = "none", [SECTION_WRITE] = "write", [SECTION_COUNTER] = "counter"};

const char *section_name(enum section section)
{
    assert((unsigned)section < SECTION_COUNT);
    return sections[section];
}

bool section_read(const char *name, enum section *section)
{
    return names_read(NAMES_FIND(sections, name), section);
}

bool explore_judges(enum section section, enum property property)
{
    enum { SECTION_ANY = SECTION_COUNT };
    static const int judged_with[PROPERTY_COUNT] = {
#define PROPERTY(id, file, name, promise, workload, ...) SECTION_##workload,
#include "checks/properties.def"
#undef PROPERTY
    };
    assert((unsigned)property < PROPERTY_COUNT);
    return judged_with[property] == SECTION_ANY || judged_with[property] == (int)section;
}

bool explore_promises(const struct explore_options *options, enum property property)
{
    /* Who asks for a section that writes asks for the order of fences, minted or not. */
    bool is_asked =
        property == PROPERTY_FENCE_ORDER || property_is_promised(property, options->scheme);
    bool is_skipped = property == PROPERTY_PROGRESS && options->skips_progress;
    return is_asked && !is_skipped && explore_judges(options->section, property);
}
