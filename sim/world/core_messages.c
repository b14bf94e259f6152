/* core_messages.c - messages and connections: found, sent, over, broken. See core_state.h.
 *
 * A connection keeps the order of what travels on it, as TCP does. A client's channel to a server
 * uses one at a time. One that it has left, because it timed out on it, stays until its last
 * message is over, and so does that of a copy: what is on it waits for nothing that is sent
 * elsewhere.
 *
 * The explorer states it again: explore/model/client_messages.c, client_state_is_blocked() and
 * _break(), explore/model/client_state.c, _copy(), and did_leave() of explore/model/actions.c. */
#include "world/core_state.h"

#include "scenario/naming.h"
#include "world/rules.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct core_slot *slot_of(struct core *core, const struct message *message)
{
    return &core->slots[message->client];
}

/* --- found --- */

struct message *core_find(struct core *core, const struct choice *choice, struct failure *failure)
{
    struct core_slot *slot = &core->slots[choice->client];
    int found = naming_find_or_say(choice, slot->messages, slot->messages_count,
                                   core->run->names[choice->client], failure);
    return found < 0 ? NULL : &slot->messages[found];
}

struct message *core_find_first(struct core *core, const struct choice *choice,
                                struct failure *failure)
{
    struct message *found = core_find(core, choice, failure);
    const struct message *first = found ? slot_of(core, found)->messages : NULL;
    while (first != found &&
           (first->connection != found->connection || first->state != found->state))
        first++;
    if (first != found) {
        rules_refuse_turn(choice, first, failure);
        return NULL;
    }
    if (found && rules_let_pass(core->reach[found->server], found, failure))
        return NULL;
    return found;
}

/* --- numbers --- */

static bool is_on(const struct core_slot *slot, int connection)
{
    for (int i = 0; i < slot->messages_count; i++)
        if (slot->messages[i].connection == connection)
            return true;
    return false;
}

static bool is_channels(const struct core_slot *slot, int connection)
{
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (slot->channels[server][lane] == connection)
                return true;
    return false;
}

static int free_connection(const struct core_slot *slot)
{
    int connection = CONNECTION_NONE + 1;
    while (is_channels(slot, connection) || is_on(slot, connection))
        connection++;
    assert(connection < CONNECTIONS_MAX);
    return connection;
}

static int free_number(const struct core_slot *slot)
{
    bool is_taken[MESSAGES_MAX] = {false};
    int number = 0;
    for (int i = 0; i < slot->messages_count; i++)
        is_taken[slot->messages[i].number] = true;
    while (is_taken[number])
        number++;
    return number;
}

/* --- sent --- */

static struct message *add(struct core_slot *slot, const struct message *message, int connection)
{
    assert(slot->messages_count < MESSAGES_MAX);
    int number = free_number(slot);
    struct message *added = &slot->messages[slot->messages_count++];
    *added = *message;
    added->state = MESSAGE_REQUEST;
    added->number = number;
    added->connection = connection;
    return added;
}

/* What goes wrong ends the run, behind the choice. */
static void end_if(struct core *core, enum fail fail, const struct failure *why)
{
    if (fail && !core->error.code)
        core->error = *why;
}

static void carry(struct core *core, const struct message *message)
{
    struct failure why;
    if (core->backend->ops->send)
        end_if(core, core->backend->ops->send(core->backend, message, &why), &why);
}

/* Its client gets no connection to send it on. */
static void fail_to_carry(struct core *core, struct message *message)
{
    const struct backend_ops *ops = core->backend->ops;
    struct failure why;
    message->state = MESSAGE_VOID;
    if (ops->fail_to_connect)
        end_if(core, ops->fail_to_connect(core->backend, message->client, message->server, &why),
               &why);
}

/* On the half-open connection that its channel had; nobody but its client has it any more. */
static void send_silent(struct core *core, const struct message *request)
{
    struct core_slot *slot = slot_of(core, request);
    int connection = CONNECTION_NONE;
    for (int i = 0; i < slot->messages_count; i++)
        if (slot->messages[i].is_silent && slot->messages[i].server == request->server &&
            slot->messages[i].lane == request->lane)
            connection = slot->messages[i].connection;
    if (connection == CONNECTION_NONE)
        connection = free_connection(slot);
    const struct message *sent = add(slot, request, connection);
    struct event event = core_message_event(core, EVENT_SEND, sent);
    core_write(core, &event);
    carry(core, sent);
}

/* What a critical section asks for need not travel with the rest: then its connection is nobody's
 * channel, and the backend knows nothing of it. */
static bool is_apart(const struct core *core, const struct message *message)
{
    return message->op == OP_ACCESS && core->clients->ops->are_sections_apart;
}

void core_send(struct core *core, const struct message *request)
{
    struct core_slot *slot = slot_of(core, request);
    if (request->is_silent) {
        send_silent(core, request);
        return;
    }
    int apart = CONNECTION_NONE;
    int *channel =
        is_apart(core, request) ? &apart : &slot->channels[request->server][request->lane];
    const bool is_refused = core->reach[request->server] == REACH_REFUSED;
    if (*channel == CONNECTION_NONE && !is_refused)
        *channel = free_connection(slot);
    struct message *sent = add(slot, request, *channel);
    struct event event = core_message_event(core, EVENT_SEND, sent);
    core_write(core, &event);
    if (is_refused && is_apart(core, sent))
        sent->state = MESSAGE_VOID;
    else if (is_refused)
        fail_to_carry(core, sent);
    else
        carry(core, sent);
}

void core_send_copy(struct core *core, const struct message *request)
{
    struct core_slot *slot = slot_of(core, request);
    struct message *copy = add(slot, request, free_connection(slot));
    copy->is_abandoned = true;
    carry(core, copy);
}

enum fail core_tell(struct core *core, int client, int server, const char *name,
                    struct failure *failure)
{
    struct core_slot *slot = &core->slots[client];
    int *channel = &slot->channels[server][LANE_MAIN];
    struct message told = {.client = client, .server = server, .lane = LANE_MAIN};
    if (slot->messages_count == MESSAGES_MAX)
        return failure_set(failure, FAIL_UNKNOWN, "%s has too many messages in flight (at most %d)",
                           core->run->names[client], MESSAGES_MAX);
    if (*channel == CONNECTION_NONE)
        *channel = free_connection(slot);
    (void)snprintf(told.opaque.name, sizeof told.opaque.name, "%s", name);
    struct message *added = add(slot, &told, *channel);
    added->state = MESSAGE_REPLY;
    added->reply = (struct reply){.kind = REPLY_OK};
    carry(core, added);
    return FAIL_NONE;
}

/* --- over --- */

void core_remove(struct core *core, struct message *message)
{
    struct core_slot *slot = slot_of(core, message);
    const struct message over = *message;
    size_t at = (size_t)(message - slot->messages);
    assert(at < (size_t)slot->messages_count);
    slot->messages_count--;
    memmove(message, message + 1, ((size_t)slot->messages_count - at) * sizeof *message);
    if (over.connection == CONNECTION_NONE)
        return;
    if (core->backend->ops->forget)
        core->backend->ops->forget(core->backend, &over);
    if (!is_apart(core, &over) && !is_on(slot, over.connection) &&
        !is_channels(slot, over.connection))
        core->backend->ops->disconnect(core->backend, over.client, over.connection);
}

void core_leave(struct core *core, const struct message *message)
{
    int *channel = &slot_of(core, message)->channels[message->server][message->lane];
    if (*channel == message->connection)
        *channel = CONNECTION_NONE;
}

void core_leave_by_itself(struct core *core, int client, int server, int lane)
{
    struct core_slot *slot = &core->slots[client];
    const int connection = slot->channels[server][lane];
    slot->channels[server][lane] = CONNECTION_NONE;
    for (int i = 0; i < slot->messages_count && connection != CONNECTION_NONE;) {
        struct message *message = &slot->messages[i];
        if (message->connection != connection || message->is_abandoned) {
            i++;
            continue;
        }
        struct event event = core_message_event(core, EVENT_FAULT, message);
        event.fault = FAULT_GIVE_UP;
        core_write(core, &event);
        message->is_abandoned = true;
        /* As where it gives up: what nobody has executed may still come. */
        if (message->state == MESSAGE_REQUEST && !message_is_held(message, core->reach[server]))
            i++;
        else
            core_remove(core, message);
    }
}

/* --- silent --- */

/* What it gave up on before is on its way in the network, and what its critical section asks for is
 * on a connection of its own: these stay as they are. */
void core_silence(struct core *core, int client, int server)
{
    struct core_slot *slot = &core->slots[client];
    for (int i = 0; i < slot->messages_count; i++) {
        struct message *message = &slot->messages[i];
        if (message->server == server && !message->is_abandoned && message->state != MESSAGE_VOID &&
            message->op != OP_ACCESS)
            message->is_silent = true;
    }
    for (int lane = 0; lane < LANE_COUNT; lane++)
        slot->channels[server][lane] = CONNECTION_NONE;
}

void core_leave_silent(struct core *core, int client, int server, int lane)
{
    struct core_slot *slot = &core->slots[client];
    for (int i = 0; i < slot->messages_count;) {
        struct message *message = &slot->messages[i];
        if (!message->is_silent || message->server != server || message->lane != (enum lane)lane) {
            i++;
            continue;
        }
        struct event event = core_message_event(core, EVENT_FAULT, message);
        event.fault = FAULT_GIVE_UP;
        core_write(core, &event);
        core_remove(core, message);
    }
}

/* --- broken --- */

static void break_connection(struct core *core, int client, int connection)
{
    struct core_slot *slot = &core->slots[client];
    bool was_apart = false;
    int kept = 0;
    for (int server = 0; server < SERVERS_MAX; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (slot->channels[server][lane] == connection)
                slot->channels[server][lane] = CONNECTION_NONE;
    for (int i = 0; i < slot->messages_count; i++) {
        struct message message = slot->messages[i];
        bool is_broken = message.connection == connection;
        if (is_broken) {
            was_apart |= is_apart(core, &message);
            message.state = MESSAGE_VOID;
            message.connection = CONNECTION_NONE;
        }
        if (!is_broken || !message.is_abandoned)
            slot->messages[kept++] = message;
    }
    slot->messages_count = kept;
    if (!was_apart)
        core->backend->ops->disconnect(core->backend, client, connection);
}

void core_break(struct core *core, const struct message *message)
{
    if (message->connection != CONNECTION_NONE)
        break_connection(core, message->client, message->connection);
}

int core_connections(const struct core *core, int server)
{
    int count = 0;
    for (int client = 0; client < core->run->clients; client++) {
        const struct core_slot *slot = &core->slots[client];
        uint64_t seen = 0;
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (slot->channels[server][lane] != CONNECTION_NONE)
                seen |= UINT64_C(1) << slot->channels[server][lane];
        for (int i = 0; i < slot->messages_count; i++)
            if (slot->messages[i].server == server &&
                slot->messages[i].connection != CONNECTION_NONE)
                seen |= UINT64_C(1) << slot->messages[i].connection;
        for (; seen; seen &= seen - 1)
            count++;
    }
    return count;
}

void core_break_all(struct core *core, int client, int server)
{
    struct core_slot *slot = &core->slots[client];
    for (int lane = 0; lane < LANE_COUNT; lane++)
        if (slot->channels[server][lane] != CONNECTION_NONE)
            break_connection(core, client, slot->channels[server][lane]);
    for (int i = 0; i < slot->messages_count;) {
        const struct message *message = &slot->messages[i];
        if (message->server == server && message->connection != CONNECTION_NONE &&
            !message->is_silent) {
            core_break(core, message);
            i = 0; /* those behind it have moved */
        } else {
            i++;
        }
    }
}

void core_bury(struct core *core, int client)
{
    struct core_slot *slot = &core->slots[client];
    for (int i = 0; i < slot->messages_count; i++)
        slot->messages[i].is_silent = false; /* nobody is left who does not hear of it */
    for (int server = 0; server < core->run->servers; server++)
        core_break_all(core, client, server);
    slot->messages_count = 0;
}
