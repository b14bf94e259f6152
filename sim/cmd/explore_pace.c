/* explore_pace.c - see explore_pace.h. */
#include "cmd/explore_pace.h"

void explore_pace(const struct explore_progress *progress, struct heartbeat_figures *figures)
{
    const double took_us = (double)progress->took_us;
    figures->states = (int64_t)progress->states;
    figures->depth = progress->depth;
    if (took_us > 0)
        figures->states_per_second = (int64_t)((double)progress->states * 1e6 / took_us);
    if (took_us <= 0 || !progress->looked_at)
        return;
    figures->search_left_us =
        (int64_t)(took_us / (double)progress->looked_at * (double)progress->left);
    figures->is_at_least = !progress->is_guess;
}
