/* moves.c - see moves.h. The rules of messages are those of world/simulated.c. */
#include "explore/moves.h"

#include "checks/change.h"
#include "explore/access.h"
#include "explore/declared.h"
#include "explore/fault.h"
#include "explore/order.h"
#include "explore/patience.h"

#include <assert.h>
#include <string.h>

struct draft *moves_add(struct listing *list, enum move_kind kind, int parcel)
{
    assert(list->count < MOVES_MAX);
    struct draft *draft = &list->drafts[list->count++];
    draft->kind = kind;
    draft->parcel = parcel;
    draft->server = parcel >= 0 ? list->local->parcels[parcel].server : NO_SERVER;
    draft->fault = list->fault;
    draft->ticks = 0;
    draft->is_urgent = draft->is_silent = false;
    draft->hearing = HEARD_BY_ALL;
    draft->did = 0;
    draft->after = *list->local;
    return draft;
}

/* The client goes on with a new connection, on which nothing is watched. after: the parcel is
 * struck. */
static unsigned did_leave(const struct local *after, const struct parcel *parcel)
{
    return local_keeps_watch(after, parcel->server, parcel->lane) ? 0 : DID_DISCONNECT;
}

void moves_disconnect(const struct listing *list, struct draft *draft)
{
    const struct parcel *parcel = &list->local->parcels[draft->parcel];
    local_break(&draft->after, parcel->server, parcel->lane);
    draft->did = did_leave(&draft->after, parcel);
}

/* --- steps of the scheme --- */

static unsigned did_return(const struct client_news *news)
{
    if (!news->has_returned)
        return 0;
    switch (news->result) {
    case RESULT_GRANTED:
        return DID_GRANT;
    case RESULT_REFUSED:
        return DID_RETURN | DID_REFUSE;
    case RESULT_NOT_MINE:
        return DID_RETURN | DID_NOT_MINE;
    case RESULT_CRASHED:
        return DID_RETURN | DID_CRASH;
    case RESULT_UNSUPPORTED:
        return DID_RETURN | DID_UNSUPPORTED;
    default:
        return DID_RETURN;
    }
}

/* A refused attempt that left nothing behind may be made again: trying is free. */
static bool is_as_before(const struct local *after, unsigned did)
{
    return (did & DID_REFUSE) && !(after->flags & LOCAL_STRUCK) && after->count == 0 &&
           after->phase == PHASE_IDLE;
}

/* Of a scheme from a file it is looked at, too, whether it is what it declares. */
static unsigned did_breach(const struct local *local, const struct setting *setting,
                           const struct impulse *impulse, const struct client *client,
                           const struct client_news *news)
{
    unsigned slip = 0;
    enum breach breach = news->breach ? news->breach : local_breach(local, setting, client, news);
    if (!breach && setting->is_guest)
        breach = declared_breach(local, setting, impulse, client, news, &slip);
    return breach * DID_BREACH | slip << DID_SLIP_SHIFT;
}

/* The client's step, and what it comes to in its record. */
static unsigned steps(struct local *local, const struct setting *setting,
                      const struct impulse *impulse)
{
    struct client stepped, *client = &stepped;
    struct client_news told, *news = &told;
    local_to_client(local, setting, client);
    impulse_apply(impulse, client, news);
    unsigned did = did_return(news);
    unsigned breach = did_breach(local, setting, impulse, client, news);
    if (breach)
        return breach;
    local_take(local, setting, client, news);
    local->flags &= (uint8_t) ~(LOCAL_STALLED | LOCAL_HEARING);
    if (did & DID_REFUSE && !(local->flags & LOCAL_TAKEN))
        did |= DID_GUESS;
    if (news->is_stranded)
        did |= DID_STRAND;
    for (int i = 0; i < local->count && did & DID_GRANT; i++)
        if (local->parcels[i].flags & PARCEL_CURRENT)
            local->parcels[i].flags |= PARCEL_WON;
    if (is_as_before(local, did))
        local->rounds++;
    if (news->sends_count > 0)
        local->flags &= (uint8_t)~LOCAL_ANSWERED;
    local_settle(local, setting);
    return did;
}

static int64_t attempt_token(const struct setting *setting, int rounds)
{
    switch (setting->scheme->token) {
    case TOKEN_EMPTY:
        return VALUE_EMPTY;
    case TOKEN_FIXED:
        return 1;
    default:
        break;
    }
    if (setting->is_collision)
        return TOKEN_SHARED;
    return TOKEN_BASE + POSITION_SELF * TOKENS_EACH + rounds;
}

/* A new attempt begins while it is still in flight. */
static void parcel_outlives(struct parcel *parcel, const struct setting *setting)
{
    parcel->flags &= (uint8_t)~PARCEL_CURRENT;
    if (parcel->op == OP_ACCESS) {
        access_outlives(parcel);
        return;
    }
    if (!setting->scheme->uses_client_clock || parcel->state != MESSAGE_REQUEST)
        return;
    parcel->left = PARCEL_LEFT_FROM_NOW;
    if (parcel->verb == VERB_GETSET)
        parcel->number = 0;
}

static void list_acquire(struct listing *list)
{
    if (list->local->phase != PHASE_IDLE || list->local->rounds == 0 ||
        list->local->count + list->setting->servers > PARCELS_MAX ||
        local_is_accessing(list->local))
        return;
    struct draft *draft = moves_add(list, MOVE_ACQUIRE, -1);
    struct local *after = &draft->after;
    for (int i = 0; i < after->count; i++)
        parcel_outlives(&after->parcels[i], list->setting);
    after->flags = 0;
    after->call_left = (uint8_t)(list->setting->ttl + LEASE_OVER);
    const struct impulse impulse = {.kind = IMPULSE_ACQUIRE,
                                    .token = attempt_token(list->setting, after->rounds)};
    after->rounds--;
    draft->did = steps(after, list->setting, &impulse);
}

static bool goes_on_at_once(const struct local *local)
{
    return !(local->flags & (LOCAL_STALLED | LOCAL_SLOW));
}

static void list_access(struct listing *list)
{
    enum move_kind kind;
    if (!access_next(list->local, list->setting, &kind))
        return;
    struct draft *draft = moves_add(list, kind, -1);
    draft->is_urgent = goes_on_at_once(list->local);
    access_begin(&draft->after, list->setting, kind);
}

static void list_release(struct listing *list)
{
    if (list->local->phase != PHASE_HOLDING || !access_is_over(list->local, list->setting))
        return;
    struct draft *draft = moves_add(list, MOVE_RELEASE, -1);
    draft->is_urgent = goes_on_at_once(list->local);
    draft->did = steps(&draft->after, list->setting, &(struct impulse){.kind = IMPULSE_RELEASE});
}

static unsigned tells(struct local *local, const struct setting *setting,
                      const struct moment *moment)
{
    return steps(local, setting,
                 &(struct impulse){.kind = IMPULSE_MOMENT, .moment = *moment});
}

static void list_wake(struct listing *list)
{
    if (list->local->wake != 0)
        return;
    struct draft *draft = moves_add(list, MOVE_WAKE, -1);
    draft->is_urgent = !(list->local->flags & LOCAL_STALLED);
    draft->did = tells(&draft->after, list->setting, &(struct moment){.kind = MOMENT_WAKE});
}

/* --- messages --- */

static bool is_waited_for(const struct parcel *parcel)
{
    return !parcel_is_late(parcel);
}

static void list_arrive(struct listing *list, int parcel)
{
    const struct parcel *it = &list->local->parcels[parcel];
    if (!local_can_arrive(list->local, parcel))
        return;
    struct draft *draft = moves_add(list, MOVE_ARRIVE, parcel);
    draft->is_urgent = !(it->flags & PARCEL_LATE);
}

void moves_answered(struct local *local, const struct setting *setting, int parcel,
                    const struct reply *reply)
{
    struct parcel *it = &local->parcels[parcel];
    if (it->flags & PARCEL_ABANDONED) {
        local_remove(local, parcel);
    } else {
        it->state = MESSAGE_REPLY;
        it->flags &= (uint8_t)~PARCEL_LATE;
        it->age = 0;
        it->reply_kind = (uint8_t)reply->kind;
        it->reply_error = (uint8_t)reply->error;
        it->reply_value = narrow(reply->value);
        it->reply_second = narrow(reply->second);
        if (!setting->keeps_commands)
            it->value = it->number = it->ttl_us = 0;
    }
    local_settle(local, setting);
}

static struct moment parcel_moment(const struct parcel *parcel, enum moment_kind kind)
{
    return (struct moment){.kind = kind,
                           .server = parcel->server,
                           .verb = parcel->verb,
                           .reply = {.kind = parcel->reply_kind,
                                     .error = parcel->reply_error,
                                     .value = widen(parcel->reply_value),
                                     .second = widen(parcel->reply_second)}};
}

/* Does that reply say that somebody has the lock? */
static bool is_taken(const struct parcel *parcel, const struct moment *moment)
{
    const struct command command = parcel_command(parcel);
    return moment->kind == MOMENT_REPLY && parcel->key == KEY_LOCK &&
           change_read(&command, &moment->reply).before == BEFORE_PRESENT;
}

unsigned moves_end(struct local *local, const struct setting *setting, int parcel,
                   enum moment_kind how)
{
    const struct parcel it = local->parcels[parcel];
    struct moment moment = parcel_moment(&it, how);
    bool stays = how == MOMENT_TIMEOUT && it.state == MESSAGE_REQUEST;
    if (stays)
        local->parcels[parcel].flags |= PARCEL_ABANDONED;
    else
        local_remove(local, parcel);
    unsigned did = how == MOMENT_TIMEOUT ? did_leave(local, &it) : 0;
    if (how != MOMENT_REPLY)
        local->flags |= LOCAL_STRUCK;
    if (it.op == OP_ACCESS) {
        access_end(local, setting, &it, how);
        return did;
    }
    if (it.flags & PARCEL_CURRENT) {
        if (local->phase == PHASE_ACQUIRING && is_taken(&it, &moment))
            local->flags |= LOCAL_TAKEN;
        return did | tells(local, setting, &moment);
    }
    local->flags &= (uint8_t)~LOCAL_STALLED;
    local_settle(local, setting);
    return did;
}

/* What was given up on travels by itself, on a connection that nobody uses any more. */
static bool is_alone(const struct local *local, int parcel)
{
    const struct parcel *it = &local->parcels[parcel];
    for (int i = 0; i < local->count; i++)
        if (i != parcel && local->parcels[i].server == it->server &&
            local->parcels[i].lane == it->lane &&
            (!parcel_is_late(&local->parcels[i]) || parcel_keeps_watch(&local->parcels[i])))
            return false;
    return true;
}

/* Would the client have done the same a tick later, and did it nothing but count? */
static bool is_silent(const struct draft *draft, const struct setting *setting,
                      const struct local *before, enum moment_kind how)
{
    const struct local *after = &draft->after;
    if (draft->did || after->count >= before->count || after->phase != before->phase ||
        after->wake != before->wake || (before->flags ^ after->flags) & LOCAL_STALLED)
        return false;
    struct local later = *before, aged = *after;
    local_age(&later, setting, false);
    local_age(&aged, setting, false);
    moves_end(&later, setting, draft->parcel, how);
    return local_is_same(&later, &aged);
}

static void list_hear(struct listing *list, int parcel)
{
    const struct parcel *it = &list->local->parcels[parcel];
    if (!local_can_be_heard(list->local, parcel))
        return;
    struct draft *draft = moves_add(list, MOVE_HEAR, parcel);
    draft->is_urgent = !(it->flags & PARCEL_LATE) && !(list->local->flags & LOCAL_STALLED);
    draft->did = moves_end(&draft->after, list->setting, parcel, MOMENT_REPLY);
    draft->is_silent = draft->is_urgent && is_alone(list->local, parcel) &&
                       is_silent(draft, list->setting, list->local, MOMENT_REPLY);
}

static void list_give_up(struct listing *list, int parcel)
{
    const struct parcel *it = &list->local->parcels[parcel];
    bool is_void = it->state == MESSAGE_VOID;
    if (!local_is_oldest(list->local, parcel, is_waited_for) ||
        !(is_void || it->flags & PARCEL_LATE))
        return;
    struct draft *draft = moves_add(list, MOVE_GIVE_UP, parcel);
    draft->is_urgent = is_void && !(list->local->flags & LOCAL_STALLED);
    draft->did =
        moves_end(&draft->after, list->setting, parcel, is_void ? MOMENT_LOST : MOMENT_TIMEOUT);
    draft->is_silent = draft->is_urgent && is_alone(list->local, parcel) &&
                       is_silent(draft, list->setting, list->local, MOMENT_LOST);
}

/* --- all of them --- */

static void list_faults(struct listing *list)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_kind *kind = fault_kind((enum fault)i);
        list->fault = i;
        if (list->setting->has_fault[i] && kind->list_client)
            kind->list_client(list);
    }
}

void moves_list_ends(struct listing *list)
{
    for (int i = 0; i < list->local->count; i++) {
        list_hear(list, i);
        list_give_up(list, i);
    }
}

int moves_list(const struct local *local, const struct setting *setting, struct draft *drafts)
{
    struct listing list = {.local = local, .setting = setting, .drafts = drafts, .fault = NO_FAULT};
    list_acquire(&list);
    list_access(&list);
    list_release(&list);
    list_wake(&list);
    for (int i = 0; i < local->count; i++) {
        list_arrive(&list, i);
        list_hear(&list, i);
        list_give_up(&list, i);
    }
    if (setting->is_patient)
        patience_list(&list);
    list_faults(&list);
    if (setting->is_ordered)
        order_strikes(&list);
    return list.count;
}

struct server_draft *moves_add_server(struct server_listing *list, enum move_kind kind)
{
    assert(list->count < SERVER_MOVES_MAX);
    struct server_draft *draft = &list->drafts[list->count++];
    *draft = (struct server_draft){.kind = kind, .fault = list->fault, .after = *list->post};
    return draft;
}

int moves_list_server(const struct post *post, const struct setting *setting,
                      struct server_draft *drafts)
{
    struct server_listing list = {.post = post, .setting = setting, .drafts = drafts};
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_kind *kind = fault_kind((enum fault)i);
        list.fault = i;
        if (setting->has_fault[i] && kind->list_server)
            kind->list_server(&list);
    }
    return list.count;
}
