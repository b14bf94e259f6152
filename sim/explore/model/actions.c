/* actions.c - see actions.h. The rules of clients and messages are those of world/core*.c, stated
 * again: each function here names the one that it mirrors. test/explore_same.h holds both to each
 * other behind every step of random walks. */
#include "explore/model/actions.h"

#include "checks/change.h"
#include "explore/model/workload.h"
#include "explore/model/subject.h"
#include "explore/model/faults/fault.h"

#include <assert.h>
#include <string.h>

struct enabled_action *actions_add(struct action_list *list, enum action_kind kind, int message)
{
    assert(list->count < ACTIONS_MAX);
    struct enabled_action *action = &list->enabled[list->count++];
    action->kind = kind;
    action->message = message;
    action->server = message >= 0 ? list->client_state->messages[message].server : NO_SERVER;
    action->fault = list->fault;
    action->ticks = 0;
    action->is_urgent = false;
    action->hearing = HEARD_ALWAYS;
    action->did = 0;
    action->after = *list->client_state;
    return action;
}

/* Mirrors core_leave() of world/core_messages.c.
 * The client goes on with a new connection, on which nothing is watched. after: the message is
 * struck. */
static unsigned did_leave(const struct config *config, const struct client_state *after,
                          const struct packed_message *message)
{
    if (message->op == OP_ACCESS && config->subject->are_sections_apart)
        return 0;
    return client_state_keeps_watch(after, message->server, message->lane) ? 0 : DID_DISCONNECT;
}

void actions_disconnect(const struct action_list *list, struct enabled_action *action)
{
    const struct packed_message *message = &list->client_state->messages[action->message];
    client_state_break(&action->after, message->server, message->lane);
    action->did = did_leave(list->config, &action->after, message);
}

/* --- steps of the scheme --- */

static unsigned did_return(const struct step_result *step)
{
    if (!step->has_returned)
        return 0;
    if (step->op == OP_EXTEND && step->result == RESULT_NOT_MINE)
        return DID_NOT_MINE;
    if (step->op == OP_EXTEND)
        return step->result == RESULT_DONE ? DID_EXTEND : 0;
    switch (step->result) {
    case RESULT_GRANTED:
        return DID_GRANT;
    case RESULT_REFUSED:
        return DID_RETURN | DID_REFUSE;
    case RESULT_NOT_MINE:
        return DID_RETURN | DID_NOT_MINE;
    case RESULT_RELEASED:
        return DID_RETURN | DID_RELEASE;
    case RESULT_CRASHED:
        return DID_RETURN | DID_CRASH;
    case RESULT_UNSUPPORTED:
        return DID_RETURN | DID_UNSUPPORTED;
    default:
        return DID_RETURN;
    }
}

/* A refused attempt that left nothing behind may be made again: trying is free. */
static bool is_as_before(const struct client_state *after, unsigned did)
{
    const bool is_over = after->fields[0] == SCRIPT_OVER || after->fields[0] == 0;
    return (did & DID_REFUSE) && is_over && !(after->flags & CLIENT_STRUCK) && after->count == 0 &&
           after->phase == PHASE_IDLE;
}

/* The lease counts anew, where so many servers have given it. As extend_returned() of
 * checks/ledger_client.c. */
static void take_extended(struct client_state *client_state, const struct config *config)
{
    if (bits_count(client_state->extended) >= config_quorum(config) &&
        client_state->extended_left > client_state->call_left)
        client_state->call_left = client_state->extended_left;
}

/* The client's step, and what it comes to in its record. */
static unsigned steps(struct client_state *client_state, const struct config *config,
                      const struct impulse *impulse)
{
    struct step_result told, *step = &told;
    unsigned violation =
        config->subject->step(config->subject, config, client_state, impulse, step);
    if (violation)
        return violation;
    unsigned did = did_return(step);
    client_state->flags &= (uint8_t) ~(CLIENT_STALLED | CLIENT_HEARING);
    if (did & DID_REFUSE && !(client_state->flags & CLIENT_TAKEN))
        did |= DID_GUESS;
    if (step->is_stranded)
        did |= DID_STRAND;
    if (did & DID_EXTEND)
        take_extended(client_state, config);
    for (int i = 0; i < client_state->count && did & DID_GRANT; i++)
        if (client_state->messages[i].flags & MESSAGE_CURRENT)
            message_wins(&client_state->messages[i]);
    if (is_as_before(client_state, did))
        client_state->rounds++;
    for (int lane = 0; lane < config->servers * LANE_COUNT && step->left; lane++)
        if (step->left >> lane & 1 &&
            !client_state_keeps_watch(client_state, lane / LANE_COUNT, lane % LANE_COUNT))
            did |= DID_DISCONNECT;
    if (step->requests_count > 0)
        client_state->flags &= (uint8_t)~CLIENT_ANSWERED;
    client_state_settle(client_state, config);
    return did;
}

static int64_t attempt_token(const struct config *config, int rounds)
{
    switch (config->scheme->token) {
    case TOKEN_EMPTY:
        return VALUE_EMPTY;
    case TOKEN_FIXED:
        return 1;
    case TOKEN_CLIENT:
        return TOKEN_BASE + POSITION_SELF * TOKENS_EACH;
    default:
        break;
    }
    if (config->is_collision)
        return TOKEN_SHARED;
    return TOKEN_BASE + POSITION_SELF * TOKENS_EACH + rounds;
}

/* A new attempt begins while it is still in flight. */
static void message_outlives(struct packed_message *message, const struct config *config)
{
    message_forgets(message);
    if (message->op == OP_ACCESS) {
        workload_outlives(message);
        return;
    }
    if (!config->scheme->uses_client_clock || message->state != MESSAGE_REQUEST)
        return;
    message->left = MESSAGE_LEFT_FROM_NOW;
    if (verb_swaps(message->verb))
        message->number = 0;
}

/* Mirrors choose_acquire() of world/core_clients.c. */
static void list_acquire(struct action_list *list)
{
    if (list->client_state->phase != PHASE_IDLE || list->client_state->rounds == 0 ||
        list->client_state->count + list->config->servers > CLIENT_MESSAGES_MAX ||
        client_state_is_at_work(list->client_state))
        return;
    struct enabled_action *action = actions_add(list, ACTION_ACQUIRE, -1);
    struct client_state *after = &action->after;
    for (int i = 0; i < after->count; i++)
        message_outlives(&after->messages[i], list->config);
    after->flags = 0;
    after->call_left = (uint8_t)(list->config->ttl + LEASE_OVER);
    const struct impulse impulse = {.kind = IMPULSE_ACQUIRE,
                                    .token = attempt_token(list->config, after->rounds)};
    after->rounds--;
    action->did = steps(after, list->config, &impulse);
}

/* A fault has broken connections, and clients wait for a timer before they connect anew: so long a
 * section may last, within its lease. Else nobody who waits so would ever meet with who holds. */
static bool lasts_as_they_connect(const struct client_state *client_state)
{
    return client_state->connects && client_state->call_left > LEASE_OVER + 1;
}

/* Its critical section. One that is under way while a server is out of reach may last as long as
 * that: else only holds that are shorter than a tick would ever meet with it. */
static bool goes_on_at_once(const struct client_state *client_state)
{
    return !(client_state->flags & (CLIENT_STALLED | CLIENT_SLOW)) &&
           !(client_state->silent | client_state->refusing | client_state->holding) &&
           !lasts_as_they_connect(client_state);
}

/* Mirrors choose_access() of world/core_clients.c. */
static void list_access(struct action_list *list)
{
    enum action_kind kind;
    if (!workload_next(list->client_state, list->config, &kind))
        return;
    struct enabled_action *action = actions_add(list, kind, -1);
    action->is_urgent = goes_on_at_once(list->client_state);
    workload_begin(&action->after, list->config, kind);
}

/* Mirrors choose_release() of world/core_clients.c. */
static void list_release(struct action_list *list)
{
    if (list->client_state->phase != PHASE_HOLDING ||
        list->client_state->extend == EXTEND_UNDER_WAY ||
        !workload_is_over(list->client_state, list->config))
        return;
    struct enabled_action *action = actions_add(list, ACTION_RELEASE, -1);
    action->is_urgent = goes_on_at_once(list->client_state);
    action->did = steps(&action->after, list->config, &(struct impulse){.kind = IMPULSE_RELEASE});
}

/* Mirrors choose_extend() of world/core_clients.c. It need not: once in each hold it may. */
static void list_extend(struct action_list *list)
{
    const struct client_state *now = list->client_state;
    if (!list->config->has_extends || now->phase != PHASE_HOLDING ||
        now->extend != EXTEND_NOT_YET || client_state_is_accessing(now) ||
        now->count + list->config->servers > CLIENT_MESSAGES_MAX)
        return;
    struct enabled_action *action = actions_add(list, ACTION_EXTEND, -1);
    action->after.extend = EXTEND_UNDER_WAY;
    action->did = steps(&action->after, list->config, &(struct impulse){.kind = IMPULSE_EXTEND});
}

static unsigned tells(struct client_state *client_state, const struct config *config,
                      const struct moment *moment)
{
    return steps(client_state, config,
                 &(struct impulse){.kind = IMPULSE_MOMENT, .moment = *moment});
}

/* Mirrors choose_wake() of world/core_clients.c. */
static void list_wake(struct action_list *list)
{
    if (list->client_state->wake != 0)
        return;
    struct enabled_action *action = actions_add(list, ACTION_WAKE, -1);
    action->is_urgent =
        !(list->client_state->flags & CLIENT_STALLED) && !client_state_is_early(list->client_state);
    action->did = tells(&action->after, list->config, &(struct moment){.kind = MOMENT_WAKE});
}

/* --- messages --- */

static bool is_waited_for(const struct packed_message *message)
{
    return !message_is_abandoned(message);
}

/* Mirrors choose_arrive() of world/core.c; what follows is actions_answered(). */
static void list_arrive(struct action_list *list, int message)
{
    const struct packed_message *it = &list->client_state->messages[message];
    if (!client_state_can_arrive(list->client_state, message))
        return;
    struct enabled_action *action = actions_add(list, ACTION_ARRIVE, message);
    action->is_urgent = !(it->flags & MESSAGE_LATE);
}

void actions_answered(struct client_state *client_state, const struct config *config, int message,
                      const struct reply *reply)
{
    struct packed_message *it = &client_state->messages[message];
    if (it->flags & MESSAGE_ABANDONED) {
        client_state_remove(client_state, message);
    } else {
        it->state = MESSAGE_REPLY;
        it->flags &= (uint8_t) ~(MESSAGE_LATE | MESSAGE_AGAIN);
        it->age = 0;
        it->reply_kind = (uint8_t)reply->kind;
        it->reply_error = (uint8_t)reply->error;
        it->reply_value = narrow(reply->value);
        it->reply_second = narrow(reply->second);
        if (!config->keeps_commands)
            it->value = it->number = it->ttl_us = 0;
    }
    client_state_settle(client_state, config);
}

static struct moment message_moment(const struct packed_message *message, enum moment_kind kind)
{
    return (struct moment){.kind = kind,
                           .server = message->server,
                           .verb = message->verb,
                           .reply = {.kind = message->reply_kind,
                                     .error = message->reply_error,
                                     .value = widen(message->reply_value),
                                     .second = widen(message->reply_second)}};
}

/* Does that reply say that somebody has the lock? */
static bool is_taken(const struct packed_message *message, const struct moment *moment)
{
    const struct command command = message_command(message);
    if (message_is_opaque(message))
        return moment->kind == MOMENT_REPLY && message->flags & MESSAGE_TAKEN;
    return moment->kind == MOMENT_REPLY && message->key == KEY_LOCK &&
           change_read(&command, &moment->reply).before == BEFORE_PRESENT;
}

/* Mirrors core_notify() of world/core_clients.c. */
unsigned actions_end(struct client_state *client_state, const struct config *config, int message,
                     enum moment_kind how)
{
    const struct packed_message it = client_state->messages[message];
    struct moment moment = message_moment(&it, how);
    /* What is held before a server goes with the connection that its client leaves. */
    bool is_held = client_state_is_held(client_state, &it);
    bool stays = how == MOMENT_TIMEOUT && it.state == MESSAGE_REQUEST && !is_held;
    if (stays)
        client_state->messages[message].flags |= MESSAGE_ABANDONED;
    else
        client_state_remove(client_state, message);
    unsigned did = how == MOMENT_TIMEOUT ? did_leave(config, client_state, &it) : 0;
    if (how != MOMENT_REPLY)
        client_state->flags |= CLIENT_STRUCK;
    if (it.op == OP_ACCESS) {
        workload_end(client_state, config, &it, how);
        return did;
    }
    if (it.flags & MESSAGE_CURRENT) {
        if (client_state->phase == PHASE_ACQUIRING && is_taken(&it, &moment))
            client_state->flags |= CLIENT_TAKEN;
        return did | tells(client_state, config, &moment);
    }
    client_state->flags &= (uint8_t)~CLIENT_STALLED;
    client_state_settle(client_state, config);
    return did;
}

/* Mirrors choose_hear() of world/core.c. */
static void list_hear(struct action_list *list, int message)
{
    const struct packed_message *it = &list->client_state->messages[message];
    if (!client_state_can_be_heard(list->client_state, message))
        return;
    struct enabled_action *action = actions_add(list, ACTION_HEAR, message);
    action->is_urgent =
        !(it->flags & MESSAGE_LATE) && !(list->client_state->flags & CLIENT_STALLED);
    action->did = actions_end(&action->after, list->config, message, MOMENT_REPLY);
}

/* Mirrors choose_give_up() of world/core_faults.c. */
static void list_give_up(struct action_list *list, int message)
{
    const struct packed_message *it = &list->client_state->messages[message];
    bool is_void = it->state == MESSAGE_VOID;
    if (!client_state_is_oldest(list->client_state, message, is_waited_for) ||
        !(is_void || client_state_may_wait(list->client_state, message)))
        return;
    struct enabled_action *action = actions_add(list, ACTION_GIVE_UP, message);
    action->is_urgent = is_void && !(list->client_state->flags & CLIENT_STALLED);
    action->did =
        actions_end(&action->after, list->config, message, is_void ? MOMENT_LOST : MOMENT_TIMEOUT);
}

/* --- all of them --- */

void actions_list_ends(struct action_list *list)
{
    for (int i = 0; i < list->client_state->count; i++) {
        list_hear(list, i);
        list_give_up(list, i);
    }
}

void actions_list_own(struct action_list *list)
{
    list_acquire(list);
    list_access(list);
    list_release(list);
    list_extend(list);
    list_wake(list);
    for (int i = 0; i < list->client_state->count; i++) {
        list_arrive(list, i);
        list_hear(list, i);
        list_give_up(list, i);
    }
}

void actions_list_faults(struct action_list *list)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_kind *kind = fault_kind((enum fault)i);
        list->fault = i;
        if (list->config->has_fault[i] && kind->list_client)
            kind->list_client(list);
    }
}

struct enabled_server_action *actions_add_server(struct server_action_list *list,
                                                 enum action_kind kind)
{
    assert(list->count < SERVER_ACTIONS_MAX);
    struct enabled_server_action *action = &list->enabled[list->count++];
    *action = (struct enabled_server_action){
        .kind = kind, .fault = list->fault, .after = *list->server_state};
    return action;
}

int actions_list_server(const struct server_state *server_state, const struct config *config,
                        struct enabled_server_action *enabled)
{
    struct server_action_list list = {
        .server_state = server_state, .config = config, .enabled = enabled};
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_kind *kind = fault_kind((enum fault)i);
        list.fault = i;
        const bool may_strike = server_state->reach != REACH_READ_ONLY || i == FAULT_CLIENT_PAUSE;
        if (config->has_fault[i] && kind->list_server && may_strike)
            kind->list_server(&list);
    }
    return list.count;
}
