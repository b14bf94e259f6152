/* told_fences.c - see told_fences.h. */
#include "checks/told_fences.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECENT_MAX = 32 };

struct lock_told {
    struct told_fence last;    /* of those that were told within their leases */
    struct told_fence highest; /* of all */
    struct told_fence recent[RECENT_MAX];
    int next;
};

struct told_fences {
    struct lock_told *locks;
    struct told_fence *before; /* one a client: the highest that was told when it called */
    struct told_fence found;
    bool has_told; /* any: most locks tell none */
};

struct told_fences *told_fences_new(int clients, int locks)
{
    struct told_fences *made = memory_new(1, sizeof *made);
    made->locks = memory_new((size_t)locks, sizeof *made->locks);
    made->before = memory_new((size_t)clients, sizeof *made->before);
    return made;
}

void told_fences_free(struct told_fences *fences)
{
    free(fences->locks);
    free(fences->before);
    free(fences);
}

void told_fences_called(struct told_fences *fences, const struct event *event)
{
    if (fences->has_told)
        fences->before[event->client] = fences->locks[event->lock].highest;
}

static bool is_not_smaller(const struct told_fence *told, int64_t fence)
{
    return told->is_there && told->fence >= fence;
}

static const struct told_fence *find(const struct told_fences *fences, const struct event *event,
                                     bool is_within_lease)
{
    const struct lock_told *lock = &fences->locks[event->lock];
    if (is_within_lease && is_not_smaller(&lock->last, event->fence))
        return &lock->last;
    if (is_not_smaller(&fences->before[event->client], event->fence))
        return &fences->before[event->client];
    for (int i = 0; i < RECENT_MAX; i++)
        if (lock->recent[i].is_there && lock->recent[i].fence == event->fence)
            return &lock->recent[i];
    return NULL;
}

const struct told_fence *told_fences_granted(struct told_fences *fences, const struct event *event,
                                             bool is_within_lease, const char *name,
                                             bool may_reenter)
{
    struct lock_told *lock = &fences->locks[event->lock];
    const struct told_fence *found = find(fences, event, is_within_lease);
    struct told_fence told = {.is_there = true, .fence = event->fence, .time_us = event->time_us};
    (void)snprintf(told.name, sizeof told.name, "%s", name);
    fences->has_told = true;
    if (found && may_reenter && found->fence == event->fence && !strcmp(found->name, name))
        return NULL;
    if (found)
        fences->found = *found;
    if (is_within_lease)
        lock->last = told;
    if (!is_not_smaller(&lock->highest, event->fence))
        lock->highest = told;
    lock->recent[lock->next] = told;
    lock->next = (lock->next + 1) % RECENT_MAX;
    return found ? &fences->found : NULL;
}

void told_fences_explain(const struct told_fence *first, const struct event *event,
                         const char *name, struct finding *finding)
{
    finding_say(finding, "%s was granted the lock with fencing token %lld, told at %s.",
                first->name, (long long)first->fence, MS(first->time_us));
    if (first->fence == event->fence)
        finding_say(finding, "%s was granted it with the same token, told at %s.", name,
                    MS(event->time_us));
    else
        finding_say(finding, "%s was granted it later, with %lld, told at %s: not larger.", name,
                    (long long)event->fence, MS(event->time_us));
}
