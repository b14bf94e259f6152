/* partial_order.c - see partial_order.h. */
#include "explore/reduce/partial_order.h"

#include "explore/model/faults/fault.h"
#include "explore/reduce/eager_replies.h"
#include "explore/reduce/persistent_sets.h"

#include <string.h>

bool partial_order_suits(const struct explore_options *options)
{
    const struct scheme *scheme = options->scheme;
    return options->servers > 1 && !options->has_extends && scheme->waits_for_all &&
           scheme->is_even_handed && !scheme->uses_client_clock && !scheme->promises_notice &&
           options->section != SECTION_WRITE && !options->judges_guesses &&
           options->reductions & REDUCE_EAGER && options->reductions & REDUCE_ORDER;
}

/* --- strikes --- */

static bool is_awaited(const struct packed_message *message)
{
    return (message->flags & MESSAGE_CURRENT || message->op == OP_ACCESS) &&
           !message_is_abandoned(message);
}

/* Is a request of its on the way that must be executed before time passes? */
static bool is_asking(const struct client_state *client_state)
{
    for (int i = 0; i < client_state->count; i++)
        if (is_awaited(&client_state->messages[i]) &&
            message_is_request(&client_state->messages[i]) &&
            !client_state_may_wait(client_state, i))
            return true;
    return false;
}

static bool comes_at_another_time(const struct action_list *list,
                                  const struct enabled_action *action)
{
    const struct client_state *client_state = list->client_state;
    if (action->kind != ACTION_INJECT ||
        fault_kind((enum fault)action->fault)->depends_on_everything)
        return false;
    if (action->message < 0)
        return is_asking(client_state);
    const struct packed_message *message = &client_state->messages[action->message];
    if (!is_awaited(message) || client_state_may_wait(client_state, action->message))
        return false;
    /* What is sent again, or was sent to a server that held it, is on its way later than the
     * others. */
    if (message_is_request(message))
        return client_state->flags & CLIENT_ANSWERED && !list->config->has_fault[FAULT_RESEND] &&
               !list->config->has_fault[FAULT_SILENT_SERVER] &&
               !list->config->has_fault[FAULT_CLIENT_PAUSE];
    return is_asking(client_state);
}

void partial_order_filter(struct action_list *list)
{
    int kept = 0;
    for (int i = 0; i < list->count; i++)
        if (!comes_at_another_time(list, &list->enabled[i]))
            list->enabled[kept++] = list->enabled[i];
    list->count = kept;
}

/* --- replies --- */

static bool is_reply(const struct client_state *client_state, int message)
{
    return client_state->messages[message].state == MESSAGE_REPLY;
}

/* Ends them one after the other: bit a message. */
static void end_all(struct client_state *client_state, const struct config *config,
                    unsigned messages)
{
    uint8_t answered = client_state->flags & CLIENT_ANSWERED;
    for (int i = CLIENT_MESSAGES_MAX - 1; i >= 0; i--)
        if (messages >> i & 1)
            actions_end(client_state, config, i,
                        is_reply(client_state, i) ? MOMENT_REPLY : MOMENT_LOST);
    client_state->flags |= answered;
}

/* The last of all decides: it is heard in a step of its own. */
static unsigned but_the_last(unsigned heard, unsigned ends, bool is_waiting)
{
    return !is_waiting && heard == ends ? heard & (heard - 1) : heard;
}

/* False: there is nothing to hear. */
static bool hear_server(struct client_state *client_state, const struct config *config, int server)
{
    bool is_waiting;
    unsigned ends = eager_replies_counted(client_state, config, &is_waiting), heard = 0;
    for (int i = 0; i < client_state->count; i++)
        if (ends >> i & 1 && is_reply(client_state, i) &&
            client_state->messages[i].server == server)
            heard |= 1u << i;
    heard = but_the_last(heard, ends, is_waiting);
    end_all(client_state, config, heard);
    return heard != 0;
}

static uint32_t count_replies(struct state_space *space, uint32_t number)
{
    struct client_state client_state;
    bool is_waiting;
    space_read_client(space, number, &client_state);
    unsigned ends = eager_replies_counted(&client_state, &space->config, &is_waiting);
    end_all(&client_state, &space->config, but_the_last(ends, ends, is_waiting));
    return space_number_client(space, &client_state);
}

uint32_t partial_order_count_replies(struct state_space *space, uint32_t client_state)
{
    const struct client_facts *facts = space_client(space, client_state);
    if (!facts->order.has_lost && !facts->order.unheard)
        return client_state;
    if (facts->order.counted == UNKNOWN_ID) {
        uint32_t number = count_replies(space, client_state);
        space->client_facts[client_state].order.counted = number;
    }
    return space->client_facts[client_state].order.counted;
}

static uint64_t hear(struct state_space *space, const struct transition *it)
{
    struct client_state after;
    space_read_client(space, it->client_state, &after);
    bool has_heard = hear_server(&after, &space->config, it->server);
    return has_heard ? space_number_client(space, &after) : it->client_state;
}

uint32_t partial_order_hear_server(struct state_space *space, uint32_t client_state, int server)
{
    uint64_t key = (uint64_t)client_state << 3 | (uint64_t)server;
    return (uint32_t)space_memoized(
        space, MEMO_HEARD_SERVERS, key, hear,
        &(struct transition){.client_state = client_state, .server = server});
}

/* --- what is as good as gone --- */

static bool is_compare_and_delete(const struct packed_message *message)
{
    return message->verb == VERB_COMPARE_DELETE || message->verb == VERB_DELEX ||
           message->verb == VERB_DELIFEQ;
}

static bool has_value(const struct keyspace *keyspace, int64_t token)
{
    return keyspace->type != MODEL_ABSENT && keyspace->value == token;
}

/* May it still bring the token to that server? */
static bool may_set(const struct packed_message *message, int server, int32_t token)
{
    return message->server == server && message_is_request(message) &&
           verb_effect(message->verb) == EFFECT_SET && message->value == token;
}

/* Will a compare-and-delete that nobody waits for find its token nowhere, whenever it arrives? The
 * token is that of an attempt that is over, neither there nor on the way. What a replica brings
 * back it does not meet: a failover ends all that is on its way. */
static bool is_in_vain(const struct client_state *client_state,
                       const struct packed_message *message, int position,
                       const struct server_state *server_state)
{
    if (!message_is_abandoned(message) || message->flags & MESSAGE_CURRENT ||
        !is_compare_and_delete(message) || !is_token(message->value) ||
        token_position(message->value) != POSITION_SELF)
        return false;
    int64_t token = token_at(message->value, position);
    if (has_value(&server_state->keyspace, token))
        return false;
    for (int i = 0; i < client_state->count; i++)
        if (may_set(&client_state->messages[i], message->server, message->value))
            return false;
    return true;
}

static uint64_t drop_abandoned(struct state_space *space, const struct transition *it)
{
    struct client_state after;
    struct server_state there;
    space_read_client(space, it->client_state, &after);
    space_read_server(space, it->server_state, &there);
    for (int i = after.count - 1; i >= 0; i--) {
        const struct packed_message *message = &after.messages[i];
        if (message->server == it->server && is_in_vain(&after, message, it->position, &there))
            client_state_remove(&after, i);
    }
    return space_number_client(space, &after);
}

uint32_t partial_order_drop_abandoned(struct state_space *space, uint32_t client_state,
                                      int position, int server, uint32_t server_state)
{
    /* A script that compares makes itself known to the server. */
    if (space->config.scheme->needs_script)
        return client_state;
    uint64_t key = (uint64_t)client_state << 30 | (uint64_t)server_state << 6 |
                   (uint64_t)position << 3 | (uint64_t)server;
    return (uint32_t)space_memoized(space, MEMO_DROPPED_MESSAGES, key, drop_abandoned,
                                    &(struct transition){.client_state = client_state,
                                                         .server_state = server_state,
                                                         .position = position,
                                                         .server = server});
}

/* --- annotation --- */

static bool is_held_up(const struct client_state *client_state)
{
    for (int i = 0; i < client_state->count; i++)
        if (client_state->messages[i].flags & MESSAGE_LATE &&
            !message_is_abandoned(&client_state->messages[i]))
            return true;
    return client_state->flags & CLIENT_STALLED;
}

/* Of an action of its own, while it waits: more than counting? What is given up may be of an
 * attempt that is over. */
static bool does_more_than_count(const struct client_state *client_state,
                                 const struct config *config, const struct action *action)
{
    if (action->kind == ACTION_GIVE_UP)
        return client_state->messages[action->message].flags & MESSAGE_CURRENT &&
               !eager_replies_only_count(client_state, config);
    return action->is_urgent && action->hearing != HEARD_ONE_BY_ONE;
}

/* Does it write a token that is not its own? */
static bool writes_foreign_token(const struct packed_message *message)
{
    return message_is_request(message) && verb_effect(message->verb) == EFFECT_SET &&
           is_token(message->value) && token_position(message->value) != POSITION_SELF;
}

static void annotate_messages(struct state_space *space, struct order_facts *order,
                              const struct client_state *client_state)
{
    for (int i = 0; i < client_state->count; i++) {
        const struct packed_message *message = &client_state->messages[i];
        bool is_unheard = message_is_reply(message) && is_awaited(message);
        order->has_lost |= message->state == MESSAGE_VOID;
        order->unheard |= (uint8_t)(is_unheard << message->server);
        space->breaks_promise |= writes_foreign_token(message);
    }
}

void partial_order_annotate(struct state_space *space, struct client_facts *facts,
                            const struct client_state *client_state)
{
    bool acts = false;
    facts->order.counted = UNKNOWN_ID;
    facts->order.is_held_up = is_held_up(client_state);
    annotate_messages(space, &facts->order, client_state);
    for (uint32_t m = facts->actions_start; m < facts->actions_start + facts->actions_count; m++) {
        struct action *action = &space->actions[m];
        uint8_t server = (uint8_t)(action->kind == ACTION_ARRIVE ? 1u << action->server : 0);
        action->is_awaited = action->kind == ACTION_ARRIVE &&
                             !message_is_abandoned(&client_state->messages[action->message]);
        facts->order.asked |= action->is_awaited && action->is_urgent ? server : 0;
        facts->order.asked_late |= action->is_awaited && !action->is_urgent ? server : 0;
        facts->order.abandoned |= action->is_awaited ? 0 : server;
        if (server) {
            facts->order.arrivals += 1u << (4 * action->server);
            continue;
        }
        facts->order.is_acting |= action->is_urgent && action->hearing != HEARD_ONE_BY_ONE;
        acts |= does_more_than_count(client_state, &space->config, action);
    }
    space->breaks_promise |= facts->order.asked && acts;
}

/* --- what stands for a state --- */

/* Where a reply may be struck, or be heard just before its server breaks, nothing is counted: any
 * other end may then be the last one. */
static void represent(struct state_space *space, uint32_t *words, bool are_replies_safe)
{
    const int clients = space->config.clients;
    for (int i = 0; i < clients && are_replies_safe; i++)
        words[i] = partial_order_count_replies(space, words[i]);
    for (int i = 0; i < clients; i++)
        for (unsigned left = space_client(space, words[i])->order.abandoned; left;
             left &= left - 1) {
            int server = __builtin_ctz(left);
            words[i] =
                partial_order_drop_abandoned(space, words[i], i, server, words[clients + server]);
        }
}

const struct reduction_hooks partial_order_hooks = {
    .filter = partial_order_filter,
    .annotate = partial_order_annotate,
    .select = persistent_sets_list,
    .select_before_disconnect = persistent_sets_before_disconnect,
    .select_only = persistent_sets_only,
    .represent = represent,
    .hear_server = partial_order_hear_server,
};
