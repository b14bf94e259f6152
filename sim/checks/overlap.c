/* overlap.c - see overlap.h. */
#include "checks/overlap.h"

#include "base/memory.h"

/* What was found of a client's attempt that has not been heard of since. */
struct unheard {
    int attempt; /* 0: nothing */
    struct finding finding;
};

/* One a client, where a release may be missing. */
void *overlap_make(const struct ledger *ledger)
{
    return head_has_all(ledger->head)
               ? NULL
               : memory_new((size_t)ledger->head->clients, sizeof(struct unheard));
}

bool overlap_is_open(const struct ledger *ledger, const struct pair *pair)
{
    return !head_has_all(ledger->head) && pair->cause == CAUSE_EARLY_EXPIRY &&
           pair->end->ending == ENDING_EARLY;
}

static void put_down(const struct monitor *monitor, const struct pair *pair, int64_t index,
                     struct finding *finding)
{
    if (finding_hit(finding, pair->cause, index))
        pair_explain(monitor->ledger, pair, finding);
}

void overlap_found(struct monitor *monitor, const struct pair *pair, int64_t index)
{
    const struct grant *end = pair->end;
    struct unheard *all = monitor->state;
    if (!overlap_is_open(monitor->ledger, pair)) {
        put_down(monitor, pair, index, &monitor->finding);
        return;
    }
    struct unheard *unheard = &all[end->client];
    if (unheard->attempt != end->attempt)
        *unheard = (struct unheard){.attempt = end->attempt};
    put_down(monitor, pair, index, &unheard->finding);
    monitor->doubt = "A key was gone before its time, and no command removed it, nor is its client "
                     "heard of behind that: its release may be missing";
}

/* It works with the lock, gives it back, or says that it is lost. What is executed may have been
 * sent long before. */
bool overlap_shows_holder(const struct event *event)
{
    return event->kind == EVENT_NOTICE ||
           (event->op != OP_ACQUIRE && (event->kind == EVENT_CALL || event->kind == EVENT_SEND ||
                                        event->kind == EVENT_RETURN));
}

void overlap_event(struct monitor *monitor, const struct event *event)
{
    struct unheard *all = monitor->state;
    if (!all || event->client < 0 || !all[event->client].attempt ||
        all[event->client].attempt != event->attempt || !overlap_shows_holder(event))
        return;
    struct unheard *unheard = &all[event->client];
    finding_add(&monitor->finding, &unheard->finding);
    unheard->attempt = 0;
}
