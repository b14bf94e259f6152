/* iterative.c - see iterative.h. */
#include "explore/search/iterative.h"

#include "explore/reduce/lower_bound.h"

enum { ROOM_FIRST = 8 };

bool iterative_open(struct iterative *it, const struct explore_options *options, int faults)
{
    *it = (struct iterative){.options = options, .faults = faults, .events = 1, .room = ROOM_FIRST};
    return lower_bound_suits(options);
}

void iterative_begin(const struct iterative *it, struct search *search)
{
    search_init(search, it->options);
    search_bounded(search, it->events, it->faults);
}

bool iterative_goes_on(struct iterative *it, const struct search *search, bool has_all)
{
    it->is_over = search->end != END_COMPLETE || has_all;
    if (it->is_over || search->next_bound == WITHOUT_END)
        return false;
    it->events = search->next_bound + it->room;
    it->room *= 2;
    return true;
}
