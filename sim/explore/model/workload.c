/* workload.c - see workload.h. The judging is that of checks/no_lost_update.c; who wrote the
 * resource out of turn is ghost_fences.c's. */
#include "explore/model/workload.h"

/* --- the commands of a section --- */

bool workload_is_over(const struct client_state *client_state, const struct config *config)
{
    return config->section == SECTION_NOTHING ||
           (client_state->stage == STAGE_OVER && !client_state_is_accessing(client_state));
}

bool workload_next(const struct client_state *client_state, const struct config *config,
                   enum action_kind *kind)
{
    if (client_state->phase != PHASE_HOLDING || config->section == SECTION_NOTHING ||
        client_state->stage == STAGE_OVER || client_state_is_at_work(client_state) ||
        client_state->count == CLIENT_MESSAGES_MAX)
        return false;
    if (config->section == SECTION_WRITE)
        *kind = ACTION_WRITE;
    else
        *kind = client_state->stage == STAGE_READ ? ACTION_WRITE_COUNTER : ACTION_READ_COUNTER;
    return true;
}

void workload_begin(struct client_state *client_state, const struct config *config,
                    enum action_kind kind)
{
    static const enum choice_kind choices[] = {[ACTION_WRITE] = CHOICE_WRITE,
                                               [ACTION_READ_COUNTER] = CHOICE_READ_COUNTER,
                                               [ACTION_WRITE_COUNTER] = CHOICE_WRITE_COUNTER};
    struct client client;
    client_state_to_client(client_state, config, &client);
    /* Who wrote the resource without a fence makes no difference to anybody: number 0. */
    struct command command = client_access(&client, 0, choices[kind]);
    const struct packed_message message = {.state = MESSAGE_REQUEST,
                                           .server = SERVER_ONE,
                                           .lane = LANE_MAIN,
                                           .op = OP_ACCESS,
                                           .verb = (uint8_t)command.verb,
                                           .key = (uint8_t)command.key,
                                           .value = narrow(command.value),
                                           .number = narrow(command.number)};
    client_state->stage = kind == ACTION_READ_COUNTER ? STAGE_READ : STAGE_OVER;
    client_state->flags &= (uint8_t) ~(CLIENT_STALLED | CLIENT_ANSWERED);
    client_state_add(client_state, &message);
    client_state_settle(client_state, config);
}

void workload_end(struct client_state *client_state, const struct config *config,
                  const struct packed_message *message, enum moment_kind how)
{
    const struct reply reply = {.kind = message->reply_kind,
                                .error = message->reply_error,
                                .value = widen(message->reply_value),
                                .second = widen(message->reply_second)};
    struct client client;
    const struct command command = message_command(message);
    client_state_to_client(client_state, config, &client);
    if (client_accessed(&client, &command, how == MOMENT_REPLY ? &reply : NULL) == RESULT_FAILED)
        client_state->stage = STAGE_OVER;
    client_state->counter = narrow(client.counter);
    client_state->flags &= (uint8_t)~CLIENT_STALLED;
    client_state_settle(client_state, config);
}

void workload_outlives(struct packed_message *message)
{
    if (message->attempts_ago < AGO_FORGOTTEN)
        message->attempts_ago++;
}

/* --- the counter --- */

static bool is_counter_write(const struct packed_message *message)
{
    return message->op == OP_ACCESS && message->key == KEY_COUNTER && message->verb == VERB_SET;
}

static void grow_old(int32_t *value, int32_t oldest)
{
    if (*value > oldest)
        --*value;
}

void workload_outdate(struct client_state *client_state, const struct config *config)
{
    if (!config->keeps_count)
        grow_old(&client_state->counter, COUNTER_BEFORE);
    for (int i = 0; i < client_state->count; i++) {
        struct packed_message *message = &client_state->messages[i];
        if (message->op != OP_ACCESS || message->key != KEY_COUNTER)
            continue;
        message->flags &= (uint8_t)~MESSAGE_COUNTED;
        if (!config->keeps_count && is_counter_write(message))
            grow_old(&message->value, COUNTER_BEFORE + 1);
        else if (!config->keeps_count && message->reply_kind == REPLY_VALUE)
            grow_old(&message->reply_value, COUNTER_BEFORE);
    }
    client_state_settle(client_state, config);
}

void workload_forget(struct client_state *client_state)
{
    for (int i = 0; i < client_state->count; i++)
        client_state->messages[i].flags &= (uint8_t)~MESSAGE_COUNTED;
}

/* One write, made once more: not another one. */
static bool is_same_write(const struct packed_message *one, const struct packed_message *other)
{
    return is_counter_write(other) && one->attempts_ago == other->attempts_ago &&
           one->value == other->value;
}

static unsigned counter_written(const struct config *config, struct client_state *client_state,
                                int message, const struct server_state *before,
                                struct server_state *after)
{
    const struct packed_message it = client_state->messages[message];
    bool is_known = before->keyspace.is_counter_known || !config->keeps_count;
    bool is_lost = is_known && it.value != before->keyspace.counter + 1;
    unsigned same = 0;
    if (it.flags & MESSAGE_COUNTED)
        return 0;
    for (int i = 0; i < client_state->count; i++)
        if (is_same_write(&it, &client_state->messages[i]) &&
            (i != message || config->keeps_commands))
            same |= 1u << i;
    workload_outdate(client_state, config);
    for (int i = 0; i < client_state->count; i++)
        client_state->messages[i].flags |= same >> i & 1 ? MESSAGE_COUNTED : 0;
    if (config->keeps_count)
        after->keyspace.is_counter_known = true;
    else
        after->keyspace.counter = COUNTER_NOW;
    return COUNTER_WRITTEN | (is_lost ? UPDATE_LOST : 0);
}

/* --- the resource --- */

static unsigned resource_written(const struct packed_message *message, const struct reply *reply)
{
    bool is_fenced = message->verb == VERB_FENCED_SET;
    bool is_accepted = is_fenced ? reply_is_integer(reply, 1) : reply_is_ok(reply);
    bool is_refused = is_fenced && reply_is_integer(reply, 0);
    if ((!is_accepted && !is_refused) || message->attempts_ago >= AGO_FORGOTTEN)
        return 0;
    return (is_accepted ? WRITE_ACCEPTED : WRITE_REFUSED) |
           (message->attempts_ago > 0 ? WRITE_OF_BEFORE : 0);
}

unsigned workload_observe(const struct config *config, struct client_state *client_state,
                          int message, const struct reply *reply, const struct server_state *before,
                          struct server_state *after)
{
    const struct packed_message *it = &client_state->messages[message];
    if (it->key == KEY_RESOURCE)
        return resource_written(it, reply);
    if (it->key != KEY_COUNTER)
        return 0;
    if (is_counter_write(it))
        return reply_is_ok(reply) ? counter_written(config, client_state, message, before, after)
                                  : 0;
    if (config->keeps_count && it->attempts_ago == 0) /* is_of_now() of checks/ */
        after->keyspace.is_counter_known = true;
    return 0;
}
