/* client_messages.c - see client_state.h: the messages of a client, and which of them can go on. */
#include "explore/model/client_state.h"

#include "redis/model.h"

#include <assert.h>
#include <string.h>

void client_state_add(struct client_state *client_state, const struct packed_message *message)
{
    assert(client_state->count < CLIENT_MESSAGES_MAX);
    const bool is_lost = client_state->refusing >> message->server & 1;
    int at = client_state->count++;
    for (; at > 0 && client_state->messages[at - 1].server > message->server; at--)
        client_state->messages[at] = client_state->messages[at - 1];
    client_state->messages[at] = *message;
    if (!is_lost)
        return;
    client_state->messages[at].state = MESSAGE_VOID;
    client_state->flags |= CLIENT_STRUCK;
}

/* Mirrors core_break() and core_break_all() of world/core_messages.c. */
void client_state_break(struct client_state *client_state, int server, enum lane lane)
{
    int kept = 0;
    for (int i = 0; i < client_state->count; i++) {
        struct packed_message message = client_state->messages[i];
        bool is_late = message_is_abandoned(&message);
        bool is_hit =
            message.server == server && (lane == LANE_COUNT || (message.lane == lane && !is_late));
        if (is_hit) {
            client_state->flags |= CLIENT_STRUCK;
            if (is_late)
                continue;
            message.state = MESSAGE_VOID;
            message.flags &= (uint8_t)~MESSAGE_LATE;
            message.reply_kind = message.reply_error = 0;
            message.reply_value = message.reply_second = 0;
        }
        client_state->messages[kept++] = message;
    }
    client_state->count = (uint8_t)kept;
}

void client_state_leave(struct client_state *client_state, unsigned left)
{
    for (int i = 0; i < client_state->count;) {
        struct packed_message *message = &client_state->messages[i];
        const bool is_held = client_state_is_held(client_state, message);
        if (!(left & channel_bit(message->server, message->lane)) || message->op == OP_ACCESS ||
            message_is_abandoned(message) || message->state == MESSAGE_VOID) {
            i++;
            continue;
        }
        client_state->flags |= CLIENT_STRUCK;
        message->flags |= MESSAGE_ABANDONED;
        if (message->state == MESSAGE_REQUEST && !is_held)
            i++;
        else
            client_state_remove(client_state, i);
    }
}

void client_state_remove(struct client_state *client_state, int message)
{
    assert(message >= 0 && message < client_state->count);
    client_state->count--;
    memmove(&client_state->messages[message], &client_state->messages[message + 1],
            (size_t)(client_state->count - message) * sizeof client_state->messages[0]);
}

struct command message_command(const struct packed_message *message)
{
    return (struct command){.verb = message->verb,
                            .key = message->key,
                            .value = widen(message->value),
                            .number = widen(message->number),
                            .ttl_us = widen(message->ttl_us)};
}

bool message_keeps_watch(const struct packed_message *message)
{
    const bool is_transaction = message_is_opaque(message)
                                    ? message->opaque_kind == OPAQUE_TRANSACTION
                                    : verb_requests(message->verb) > 1;
    return message_is_abandoned(message) && !(message->flags & MESSAGE_COPY) && is_transaction;
}

bool client_state_waits_for(const struct client_state *client_state, int server)
{
    for (int i = 0; i < client_state->count; i++)
        if (client_state->messages[i].server == server &&
            client_state->messages[i].op != OP_ACCESS &&
            !message_is_abandoned(&client_state->messages[i]))
            return true;
    return false;
}

bool client_state_keeps_watch(const struct client_state *client_state, int server, int lane)
{
    for (int i = 0; i < client_state->count; i++) {
        const struct packed_message *it = &client_state->messages[i];
        if (it->server == server && it->lane == lane && message_keeps_watch(it))
            return true;
    }
    return false;
}

/* Mirrors core_find_first() of world/core_messages.c. */
static bool client_state_is_blocked(const struct client_state *client_state, int message,
                                    enum message_state state)
{
    const struct packed_message *it = &client_state->messages[message];
    if (message_is_abandoned(it))
        return false;
    for (int i = 0; i < message; i++) {
        const struct packed_message *other = &client_state->messages[i];
        if (other->server == it->server && other->lane == it->lane && other->state == state &&
            (!message_is_abandoned(other) || message_keeps_watch(other)))
            return true;
    }
    return false;
}

/* Is it called the same in a schedule? */
static bool is_namesake(const struct packed_message *a, const struct packed_message *b)
{
    if (message_is_opaque(a) || message_is_opaque(b))
        return a->verb == b->verb;
    return strcmp(verb_name(a->verb), verb_name(b->verb)) == 0;
}

bool client_state_is_oldest(const struct client_state *client_state, int message,
                            bool (*is_wanted)(const struct packed_message *message))
{
    const struct packed_message *it = &client_state->messages[message];
    for (int i = 0; i < client_state->count; i++) {
        const struct packed_message *other = &client_state->messages[i];
        bool comes_first = message_is_abandoned(other) == message_is_abandoned(it)
                               ? i < message
                               : message_is_abandoned(it);
        if (comes_first && other->server == it->server && is_wanted(other) &&
            is_namesake(other, it))
            return false;
    }
    return is_wanted(it);
}

static bool is_late_request(const struct packed_message *message)
{
    return message_is_request(message) && message_is_abandoned(message);
}

/* Mirrors message_is_held() of scenario/world.c. */
bool client_state_is_held(const struct client_state *client_state,
                          const struct packed_message *message)
{
    if (client_state->silent >> message->server & 1)
        return true;
    if (!(client_state->holding >> message->server & 1) || !message_is_request(message))
        return false;
    return message_is_opaque(message) || model_may_write(message_command(message).verb);
}

static bool is_held(const struct client_state *client_state, int message)
{
    return client_state_is_held(client_state, &client_state->messages[message]);
}

bool client_state_may_wait(const struct client_state *client_state, int message)
{
    return client_state->messages[message].flags & MESSAGE_LATE || is_held(client_state, message);
}

bool client_state_can_arrive(const struct client_state *client_state, int message)
{
    bool is_late = message_is_abandoned(&client_state->messages[message]);
    return !is_held(client_state, message) &&
           client_state_is_oldest(client_state, message,
                                  is_late ? is_late_request : message_is_request) &&
           !client_state_is_blocked(client_state, message, MESSAGE_REQUEST);
}

bool client_state_can_be_heard(const struct client_state *client_state, int message)
{
    return !is_held(client_state, message) &&
           client_state_is_oldest(client_state, message, message_is_reply) &&
           !client_state_is_blocked(client_state, message, MESSAGE_REPLY);
}
