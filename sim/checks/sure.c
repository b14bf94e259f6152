/* sure.c - see sure.h. */
#include "checks/sure.h"

#include "checks/ledger.h"

void sure_note(struct sure ends[2], int client, int64_t time_us)
{
    const struct sure made = {.client = client, .until_us = time_us};
    if (ends[0].client == client || ends[0].client == NOBODY) {
        if (ends[0].until_us < time_us)
            ends[0] = made;
    } else if (ends[0].until_us <= time_us) {
        ends[1] = ends[0];
        ends[0] = made;
    } else if (ends[1].until_us < time_us) {
        ends[1] = made;
    }
}

int64_t sure_of_others(const struct sure ends[2], int client)
{
    return ends[ends[0].client == client].until_us;
}

void renewed_note(struct renewed *renewed, const struct event *event, int64_t lease_us)
{
    if (event->kind == EVENT_CALL) {
        renewed->before_us = renewed->until_us;
        renewed->until_us = NEVER_US;
    } else if (event->result == RESULT_DONE) {
        renewed->until_us = event->time_us + lease_us;
    } else if (result_outcome(event->result) == OUTCOME_FAIL) {
        renewed->until_us = renewed->before_us;
    }
}
