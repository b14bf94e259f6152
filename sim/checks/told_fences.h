/* told_fences.h - do the fencing tokens that clients were told grow with the grants? By calls and
 * returns alone: no more is known of the order of two grants than that
 *
 * - what was told before the other one was called came first;
 * - of two that were told within their leases the one that was told first came first;
 * - no two have the same token, in whatever order they came.
 *
 * Memory grows with clients and locks. Of grants that were under way at once the last few are
 * compared. */
#ifndef PICKLOCK_CHECKS_TOLD_FENCES_H
#define PICKLOCK_CHECKS_TOLD_FENCES_H

#include "checks/finding.h"

struct told_fence {
    bool is_there;
    int64_t fence, time_us;    /* when it was told */
    char name[NAME_MAX_BYTES]; /* and to whom */
};

struct told_fences;

struct told_fences *told_fences_new(int clients, int locks);
void told_fences_free(struct told_fences *fences);

/* That client calls acquire. */
void told_fences_called(struct told_fences *fences, const struct event *event);

/* It is told a fence, within its lease or not. Returns an earlier grant, or one of the same token,
 * that is not smaller; NULL: none. may_reenter: it may be told again what it was told. name:
 * borrowed. Borrowed until the next call. */
const struct told_fence *told_fences_granted(struct told_fences *fences, const struct event *event,
                                             bool is_within_lease, const char *name,
                                             bool may_reenter);
/* Both as sentences: that grant, and the one of the event, which is name's. */
void told_fences_explain(const struct told_fence *first, const struct event *event,
                         const char *name, struct finding *finding);

#endif
