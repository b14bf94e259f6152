/* clients.c - see clients.h. */
#include "world/clients.h"

int step_events(const struct step_result *step, struct step_event events[STEP_EVENTS_MAX])
{
    int count = 0;
    if (step->has_returned)
        events[count++] =
            (struct step_event){.kind = EVENT_RETURN, .op = step->op, .result = step->result};
    if (step->has_noticed_loss)
        events[count++] = (struct step_event){.kind = EVENT_NOTICE, .op = OP_EXTEND};
    for (int i = 0; i < step->requests_count; i++)
        events[count++] = (struct step_event){.kind = EVENT_SEND, .request = &step->requests[i]};
    if (step->is_stranded)
        events[count++] = (struct step_event){.kind = EVENT_STRAND, .op = step->op};
    return count;
}
