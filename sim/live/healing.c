/* healing.c - see healing.h. */
#include "live/healing.h"

#include "checks/checks.h"

enum { HEAL_PATIENCE_LEASES = PATIENCE_LEASES + 1 }; /* what is left of a fault, then a grant */

void healing_asked(struct lock_healing *lock, int64_t now_us)
{
    if (!lock->asked_us)
        lock->asked_us = now_us;
}

void healing_granted(struct lock_healing *lock)
{
    lock->is_granted = true;
}

void healing_count(const struct lock_healing *locks, const struct stress_options *options,
                   struct stress_outcome *outcome)
{
    const struct scheme *scheme = options->scheme;
    const int64_t patience_us =
        HEAL_PATIENCE_LEASES * options->lease_us +
        (scheme->uses_client_clock ? PATIENCE_STAMP_UNITS * scheme->unit_us : 0);
    for (int i = 0; i < options->locks; i++) {
        if (!locks[i].asked_us || locks[i].asked_us + patience_us > outcome->elapsed_us)
            continue;
        outcome->healed_of++;
        outcome->unhealed += !locks[i].is_granted;
    }
}
