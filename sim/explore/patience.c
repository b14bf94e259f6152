/* patience.c - see patience.h. */
#include "explore/patience.h"

#include <string.h>

/* What can happen to the client next, in any order: a reply heard, a message given up. */
enum { ENDS_MAX = 7, ORDERS_MAX = 1 << ENDS_MAX };

struct ends {
    int count;
    struct {
        int parcel;
        enum moment_kind how;
    } at[ENDS_MAX];
    unsigned late_replies; /* bit an end: it may as well be given up */
    bool is_waiting;       /* a request has yet to be answered, and is on its way */
};

/* False: something else than these may come next. */
static bool ends_read(const struct local *local, struct ends *ends)
{
    memset(ends, 0, sizeof *ends);
    if (local->phase == PHASE_HOLDING || local->wake == 0 || local->flags & LOCAL_STALLED)
        return false;
    for (int i = 0; i < local->count; i++) {
        const struct parcel *it = &local->parcels[i];
        bool is_late = it->flags & PARCEL_LATE;
        if (it->flags & PARCEL_ABANDONED || !(it->flags & PARCEL_CURRENT))
            continue;
        if (it->state == MESSAGE_REQUEST && !is_late) {
            ends->is_waiting = true;
            continue;
        }
        if (ends->count == ENDS_MAX || it->op == OP_ACCESS)
            return false;
        ends->late_replies |= (unsigned)(it->state == MESSAGE_REPLY && is_late) << ends->count;
        ends->at[ends->count].parcel = i;
        ends->at[ends->count++].how = it->state == MESSAGE_REPLY  ? MOMENT_REPLY
                                      : it->state == MESSAGE_VOID ? MOMENT_LOST
                                                                  : MOMENT_TIMEOUT;
    }
    return true;
}

/* Where it stands when those of the set have ended. */
static int parcel_now(const struct ends *ends, int set, int end)
{
    int gone = 0;
    for (int i = 0; i < end; i++)
        gone +=
            (set >> i & 1) && (ends->at[i].how != MOMENT_TIMEOUT || ends->late_replies >> i & 1);
    return ends->at[end].parcel - gone;
}

/* A new connection, on which nothing is watched, is no matter of order. */
static unsigned ends_one(struct local *local, const struct setting *setting, int parcel,
                         enum moment_kind how)
{
    return moves_end(local, setting, parcel, how) & ~(unsigned)DID_DISCONNECT;
}

static bool is_only_counted(const struct local *before, const struct local *after, unsigned did)
{
    return !did && after->count <= before->count && after->phase == before->phase &&
           after->wake == before->wake;
}

/* Whatever comes first: the same in the end, and nothing but counting before all have ended. */
static bool is_order_free(const struct local *local, const struct setting *setting,
                          const struct ends *ends)
{
    struct local after[ORDERS_MAX];
    unsigned did[ORDERS_MAX] = {0};
    int all = (1 << ends->count) - 1;
    after[0] = *local;
    for (int set = 1; set <= all; set++) {
        bool may_end = set == all && !ends->is_waiting;
        for (int end = 0, seen = 0; end < ends->count; end++) {
            int before = set & ~(1 << end);
            if (before == set)
                continue;
            struct local it = after[before];
            unsigned done =
                ends_one(&it, setting, parcel_now(ends, before, end), ends->at[end].how);
            if (!may_end && !is_only_counted(&after[before], &it, done))
                return false;
            if (seen++ > 0 && (done != did[set] || !local_is_same(&it, &after[set])))
                return false;
            after[set] = it;
            did[set] = done;
        }
    }
    return true;
}

static bool is_order_always_free(const struct local *local, const struct setting *setting,
                                 struct ends *ends)
{
    for (unsigned given_up = 0; given_up <= ends->late_replies; given_up++) {
        if (given_up & ~ends->late_replies)
            continue;
        for (int i = 0; i < ends->count; i++)
            if (ends->late_replies >> i & 1)
                ends->at[i].how = given_up >> i & 1 ? MOMENT_TIMEOUT : MOMENT_REPLY;
        if (!is_order_free(local, setting, ends))
            return false;
    }
    return true;
}

/* Of the attempt under way, and before time passes: the end of a message; a reply that is heard. */
static bool ends_now(const struct listing *list, const struct draft *draft)
{
    return (draft->kind == MOVE_HEAR || draft->kind == MOVE_GIVE_UP) && draft->is_urgent &&
           list->local->parcels[draft->parcel].flags & PARCEL_CURRENT;
}

static bool is_heard_now(const struct listing *list, const struct draft *draft)
{
    return draft->kind == MOVE_HEAR && ends_now(list, draft);
}

/* Only counts, whenever it is heard, and whatever the client's clock says then. */
static bool is_blind(const struct listing *list, const struct draft *draft)
{
    if (!draft->is_silent)
        return false;
    for (int way = -1; way <= 1 && list->setting->has_fault[FAULT_CLIENT_CLOCK]; way += 2) {
        struct local before = *list->local, after = draft->after;
        before.skew = (int8_t)(before.skew + way * list->setting->jump);
        after.skew = (int8_t)(after.skew + way * list->setting->jump);
        local_settle(&before, list->setting);
        local_settle(&after, list->setting);
        moves_end(&before, list->setting, draft->parcel,
                  draft->kind == MOVE_HEAR ? MOMENT_REPLY : MOMENT_LOST);
        if (!local_is_same(&before, &after))
            return false;
    }
    return true;
}

typedef bool is_wanted(const struct listing *list, const struct draft *draft);

static bool can_wait(const struct listing *list, struct ends *ends, is_wanted *is_one)
{
    int heard = 0;
    for (int i = 0; i < list->count; i++) {
        const struct draft *draft = &list->drafts[i];
        if (!is_one(list, draft))
            continue;
        heard++;
        if (!is_blind(list, draft))
            return false;
    }
    return heard > 0 && (ends->is_waiting || heard > 1) &&
           is_order_always_free(list->local, list->setting, ends);
}

/* Nothing is heard, or one after the other: the first, by a client that does nothing else until it
 * has heard the last. */
static void hear_in_order(struct listing *list, bool is_waiting)
{
    int heard = 0, first = -1, count = list->count;
    for (int i = 0; i < count; i++) {
        struct draft *draft = &list->drafts[i];
        if (!is_heard_now(list, draft))
            continue;
        draft->hearing = HEARD_BY_IMPATIENT;
        if (heard++ == 0)
            first = i;
    }
    if (is_waiting || heard == 0)
        return;
    struct draft *draft = moves_add(list, MOVE_HEAR, list->drafts[first].parcel);
    *draft = list->drafts[first];
    draft->hearing = HEARD_BY_PATIENT;
    if (heard > 1)
        draft->after.flags |= LOCAL_HEARING;
}

void patience_list(struct listing *list)
{
    struct ends ends;
    if (list->local->flags & LOCAL_HEARING)
        hear_in_order(list, false);
    else if (ends_read(list->local, &ends) && can_wait(list, &ends, is_heard_now))
        hear_in_order(list, ends.is_waiting);
}

unsigned patience_counted(const struct local *local, const struct setting *setting,
                          bool *is_waiting)
{
    struct draft drafts[MOVES_MAX];
    struct listing list = {.local = local, .setting = setting, .drafts = drafts, .fault = NO_FAULT};
    struct ends ends;
    unsigned parcels = 0;
    *is_waiting = false;
    if (local->flags & LOCAL_HEARING || !ends_read(local, &ends))
        return 0;
    moves_list_ends(&list);
    if (!can_wait(&list, &ends, ends_now))
        return 0;
    for (int i = 0; i < list.count; i++)
        if (ends_now(&list, &drafts[i]))
            parcels |= 1u << drafts[i].parcel;
    *is_waiting = ends.is_waiting;
    return parcels;
}
