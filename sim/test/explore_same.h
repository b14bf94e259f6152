/* explore_same.h - the explorer's statement of what clients and messages do (model/actions.c,
 * model/client_*.c), held to that of the directed worlds (world/core*.c): after a step of a
 * walk both have the same clients, with the same messages on their way. */
#ifndef PICKLOCK_TEST_EXPLORE_SAME_H
#define PICKLOCK_TEST_EXPLORE_SAME_H

#include "explore/model/client_state.h"
#include "scenario/world.h"

#include <stdio.h>

static inline bool same_message(const struct packed_message *packed, const struct message *message)
{
    bool is_same = packed->state == message->state && packed->server == message->server &&
                   packed->lane == message->lane && packed->op == message->op &&
                   packed->verb == message->command.verb && packed->key == message->command.key &&
                   message_is_abandoned(packed) == message->is_abandoned;
    /* What a critical section reads is ghost state there (model/workload.h). */
    if (message->state != MESSAGE_REPLY || message->op == OP_ACCESS)
        return is_same;
    return is_same && packed->reply_kind == message->reply.kind &&
           packed->reply_error == message->reply.error;
}

/* In any order: the explorer keeps them by server. */
static inline bool same_messages(const struct client_state *client, const struct message *messages,
                                 int count)
{
    bool is_matched[MESSAGES_MAX] = {false};
    for (int i = 0; i < client->count; i++) {
        int at = 0;
        while (at < count && (is_matched[at] || !same_message(&client->messages[i], &messages[at])))
            at++;
        if (at == count)
            return false;
        is_matched[at] = true;
    }
    return client->count == count;
}

/* What differs, or NULL. */
static inline const char *same_client(const struct client_state *client, struct world *world,
                                      int number)
{
    struct message messages[MESSAGES_MAX];
    const struct client_view view = world->ops->client(world, number);
    bool has_timer = client->wake != NO_TIME;
    if (client->phase != view.phase)
        return "its phase";
    /* An attempt that is over keeps none there: it could change nothing. */
    if (has_timer != (view.wake_us != INT64_MAX) && (has_timer || view.phase != PHASE_IDLE))
        return "whether it has a timer";
    if (has_timer && (client->wake == 0) != (view.wake_us <= world->ops->now_us(world)))
        return "whether its timer is due";
    if (client_state_is_accessing(client) != view.is_accessing)
        return "whether its critical section waits";
    if (!same_messages(client, messages, world->ops->messages(world, number, messages)))
        return "its messages";
    return NULL;
}

#endif
