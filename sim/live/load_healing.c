/* load_healing.c - the end of a stress run without faults: which locks were asked for then, and
 * which of them were granted. See stress.h. */
#include "live/stress.h"

#include "checks/checks.h"

enum { HEAL_PATIENCE_LEASES = PATIENCE_LEASES + 1 }; /* what is left of a fault, then a grant */

void healing_asked(struct stress *stress, int lock, int64_t now_us)
{
    if (stress->is_healing && !stress->healing[lock].asked_us)
        stress->healing[lock].asked_us = now_us;
}

void healing_granted(struct stress *stress, int lock)
{
    if (stress->is_healing)
        stress->healing[lock].is_granted = true;
}

void healing_count(const struct stress *stress, struct stress_outcome *outcome)
{
    const struct scheme *scheme = stress->options->scheme;
    const int64_t patience_us =
        HEAL_PATIENCE_LEASES * stress->options->lease_us +
        (scheme->uses_client_clock ? PATIENCE_STAMP_UNITS * scheme->unit_us : 0);
    for (int i = 0; i < stress->options->locks; i++) {
        const struct lock_healing *lock = &stress->healing[i];
        if (!lock->asked_us || lock->asked_us + patience_us > outcome->elapsed_us)
            continue;
        outcome->healed_of++;
        outcome->unhealed += !lock->is_granted;
    }
}
