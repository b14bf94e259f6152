/* options.c - see options.h: the names of options, and which properties they are about. */
#include "explore/model/options.h"

#include <assert.h>
#include <string.h>

static const char *const searches[SEARCH_COUNT] = {"exhaustive", "random", "pct"};

const char *explore_search_name(enum explore_search search)
{
    assert((unsigned)search < SEARCH_COUNT);
    return searches[search];
}

bool explore_search_read(const char *name, enum explore_search *search)
{
    for (int i = 0; i < SEARCH_COUNT; i++) {
        if (strcmp(searches[i], name) != 0)
            continue;
        *search = (enum explore_search)i;
        return true;
    }
    return false;
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
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (strcmp(sections[i], name) != 0)
            continue;
        *section = (enum section)i;
        return true;
    }
    return false;
}

bool explore_judges(enum section section, enum property property)
{
    switch (property) {
    case PROPERTY_FENCE_ORDER:
        return section == SECTION_WRITE;
    case PROPERTY_NO_LOST_UPDATE:
        return section == SECTION_COUNTER;
    default:
        return true;
    }
}

bool explore_promises(const struct explore_options *options, enum property property)
{
    const struct scheme *scheme = options->scheme;
    switch (property) {
    case PROPERTY_PROGRESS:
        return !options->skips_progress;
    case PROPERTY_ALWAYS_EXPIRES:
        return scheme->promises_expiry;
    case PROPERTY_NO_ORPHAN:
        return scheme->promises_token;
    case PROPERTY_LOSS_NOTICE:
        return scheme->promises_notice;
    default:
        return explore_judges(options->section, property);
    }
}
