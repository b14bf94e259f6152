/* client_state.c - see client_state.h. */
#include "explore/model/client_state.h"

#include "explore/model/ghost_fences.h"
#include "explore/model/subject.h"

#include <assert.h>
#include <string.h>

/* In the client that is stepped: the attempt under way, and any earlier one. */
enum { ATTEMPT_BEFORE = 1, ATTEMPT_NOW };

void client_state_init(struct client_state *client_state, const struct config *config)
{
    memset(client_state, 0, sizeof *client_state);
    client_state->phase = PHASE_IDLE;
    client_state->rounds = (uint8_t)config->rounds;
    client_state->wake = NO_TIME;
}

static const int64_t gains_us[] = {
    [RATE_TRUE] = 0, [RATE_HALF] = -500 * 1000, [RATE_DOUBLE] = 1000 * 1000};

/* By its own clock. */
static const int32_t tick_us[] = {
    [RATE_TRUE] = TICK_US, [RATE_HALF] = TICK_US / 2, [RATE_DOUBLE] = 2 * TICK_US};

void client_state_to_client(const struct client_state *client_state, const struct config *config,
                            struct client *client)
{
    client_init(client, config->scheme, &config->lease);
    client->lease.token = widen(client_state->token);
    for (int i = 0; i < config->scheme->fields_count; i++)
        client->state[i] = widen(client_state->fields[i]);
    client->phase = client_state->phase;
    client->attempt = ATTEMPT_NOW;
    client->fence = client_state->fence;
    client->counter = client_state->counter;
    client->skew_us = client_state->skew * TICK_US - client_state->is_half * TICK_US / 2;
    client->epoch_us = EPOCH_US;
    client->gains_us = gains_us[client_state->rate]; /* since now, which is 0 */
    if (client_state->wake != NO_TIME)
        client->wake_us = client_state->wake * TICK_US - client_state->wake_half * TICK_US / 2;
    for (int i = 0; i < client_state->count; i++)
        client->awaited += (client_state->messages[i].flags &
                            (MESSAGE_CURRENT | MESSAGE_ABANDONED)) == MESSAGE_CURRENT;
}

static int16_t ticks_to(int64_t wake_us)
{
    if (wake_us == INT64_MAX)
        return NO_TIME;
    return (int16_t)(wake_us <= 0 ? 0 : (wake_us + TICK_US - 1) / TICK_US);
}

/* Is that in the first half of its tick? At half the speed it then comes a tick earlier than ticks
 * alone would tell. */
static bool is_in_first_half(int64_t wake_us)
{
    const int64_t into_us = wake_us % TICK_US;
    return wake_us != INT64_MAX && wake_us > 0 && into_us > 0 && into_us <= TICK_US / 2;
}

static bool is_narrow(int64_t value)
{
    return value > INT32_MIN + 1 && value <= INT32_MAX;
}

/* Does the explorer keep such a value, and take it for nothing else? */
static bool can_keep(int64_t value, const struct config *config)
{
    if (value == VALUE_NIL || value == VALUE_EMPTY)
        return true;
    if (!is_narrow(value))
        return false;
    if (is_token(value))
        return token_position(value) < EXPLORE_CLIENTS_MAX ||
               token_position(value) == POSITION_SELF;
    return config->scheme->uses_client_clock || !is_stamp(value);
}

static bool can_keep_time(int64_t time_us)
{
    return time_us >= -INT16_MAX * TICK_US && time_us <= INT16_MAX * TICK_US;
}

enum contract_violation client_state_violation(const struct client_state *client_state,
                                               const struct config *config,
                                               const struct client *client,
                                               const struct step_result *step)
{
    bool is_good = can_keep(client->fence, config);
    if (config->section == SECTION_WRITE)
        is_good &= client->fence >= 0 && client->fence <= FENCE_MAX;
    for (int i = 0; i < config->scheme->fields_count; i++)
        is_good &= config->scheme->fields[i] == FIELD_TIME ? is_narrow(client->state[i])
                                                           : can_keep(client->state[i], config);
    bool is_short = client->wake_us == INT64_MAX || can_keep_time(client->wake_us);
    for (int i = 0; i < step->requests_count; i++) {
        const struct command *command = &step->requests[i].command;
        is_good &= can_keep(command->value, config) && can_keep(command->number, config);
        is_short &= can_keep_time(command->ttl_us);
    }
    if (client_state->count + step->requests_count > CLIENT_MESSAGES_MAX)
        return CONTRACT_MESSAGES;
    return !is_short ? CONTRACT_LONG_TIME : !is_good ? CONTRACT_NUMBER : CONTRACT_NONE;
}

void client_state_take(struct client_state *client_state, const struct config *config,
                       const struct client *client, const struct step_result *step)
{
    client_state->phase = (uint8_t)client->phase;
    client_state->token = narrow(client->lease.token);
    client_state->fence = narrow(client->fence);
    client_state->wake = ticks_to(client->wake_us);
    client_state->wake_half =
        config->has_fault[FAULT_CLIENT_DRIFT] && is_in_first_half(client->wake_us);
    for (int i = 0; i < config->scheme->fields_count; i++)
        client_state->fields[i] = narrow(client->state[i]);
    for (int i = 0; i < step->requests_count; i++) {
        const struct request *request = &step->requests[i];
        const struct packed_message message = {.state = MESSAGE_REQUEST,
                                               .flags = MESSAGE_CURRENT,
                                               .server = (uint8_t)request->server,
                                               .lane = (uint8_t)request->lane,
                                               .op = (uint8_t)request->op,
                                               .verb = (uint8_t)request->command.verb,
                                               .key = (uint8_t)request->command.key,
                                               .value = narrow(request->command.value),
                                               .number = narrow(request->command.number),
                                               .ttl_us = narrow(request->command.ttl_us)};
        client_state_add(client_state, &message);
    }
}

bool client_state_is_accessing(const struct client_state *client_state)
{
    for (int i = 0; i < client_state->count; i++)
        if (client_state->messages[i].op == OP_ACCESS &&
            !(client_state->messages[i].flags & MESSAGE_ABANDONED))
            return true;
    return false;
}

static bool client_state_is_over(const struct client_state *client_state)
{
    return client_state->phase == PHASE_IDLE &&
           (client_state->fields[0] == SCRIPT_OVER || client_state->fields[0] == 0);
}

/* Schemes with stamps: what the ghost state must know of a request when its attempt does no longer.
 */
static void message_remembers(struct packed_message *message, const struct config *config,
                              uint8_t call_left, int32_t seen)
{
    if (!config->scheme->uses_client_clock || message->state != MESSAGE_REQUEST)
        return;
    message->left = call_left;
    message->number = verb_swaps(message->verb) ? seen : 0;
}

/* Mirrors core_send_copy() of world/core_messages.c. */
struct packed_message client_state_copy(const struct client_state *client_state,
                                        const struct config *config, int message)
{
    struct packed_message copy = client_state->messages[message];
    if (copy.flags & MESSAGE_CURRENT)
        message_remembers(&copy, config, client_state->call_left, client_state->seen);
    copy.flags |= MESSAGE_ABANDONED | MESSAGE_LATE | MESSAGE_COPY;
    return copy;
}

void message_forgets(struct packed_message *message)
{
    message->flags &= (uint8_t) ~(MESSAGE_CURRENT | MESSAGE_AGAIN);
    if (message->op == OP_ACQUIRE)
        message->age = 0;
}

/* The script is over: no moment changes anything any more, so it need not be told of any. */
static void settle_over(struct client_state *client_state, const struct config *config,
                        uint8_t call_left, int32_t seen)
{
    for (int i = 0; i < client_state->count; i++) {
        struct packed_message *message = &client_state->messages[i];
        if (message->flags & MESSAGE_CURRENT && !(message->flags & MESSAGE_COPY))
            message_remembers(message, config, call_left, seen);
        message_forgets(message);
    }
    client_state->wake = NO_TIME;
    client_state->wake_half = 0;
    if (config->writes_stamps && client_state->rounds == 0)
        client_state->rate = client_state->is_half = 0; /* it reads its clock no more */
    client_state->fields[0] = 0;
    client_state->flags = 0;
    client_state->token = 0;
    client_state->fence = 0;
}

/* A clock that is only ever compared with what it showed before may as well be right: the instants
 * that were read move instead of it. */
static void settle_clock(struct client_state *client_state, const struct config *config)
{
    const int32_t oldest = EPOCH_US - config->past * TICK_US;
    if (client_state->skew == 0 || config->writes_stamps)
        return;
    for (int i = 0; i < config->scheme->fields_count; i++) {
        int32_t *field = &client_state->fields[i];
        if (config->scheme->fields[i] != FIELD_TIME || *field == 0)
            continue;
        *field -= client_state->skew * TICK_US;
        if (*field < oldest)
            *field = oldest;
    }
    client_state->skew = 0;
}

void client_state_settle(struct client_state *client_state, const struct config *config)
{
    uint8_t call_left = client_state->call_left;
    int32_t seen = client_state->seen;
    if (client_state->phase == PHASE_DEAD) {
        memset(client_state, 0, sizeof *client_state);
        client_state->phase = PHASE_DEAD;
        client_state->wake = NO_TIME;
        return;
    }
    if (client_state->phase != PHASE_HOLDING) {
        client_state->flags &= (uint8_t)~CLIENT_SLOW;
        client_state->stage = STAGE_OPEN;
        client_state->extend = EXTEND_NOT_YET;
    }
    if (client_state->extend != EXTEND_UNDER_WAY)
        client_state->extended = client_state->extended_left = 0;
    if (client_state->stage != STAGE_READ || client_state_is_accessing(client_state))
        client_state->counter = 0;
    if (client_state->phase != PHASE_ACQUIRING) {
        client_state->seen = 0;
        client_state->flags &=
            (uint8_t) ~(CLIENT_STRUCK | CLIENT_SWAPPED | CLIENT_TAKEN | CLIENT_WATCHES);
    }
    if (client_state->phase != PHASE_ACQUIRING && client_state->phase != PHASE_HOLDING)
        client_state->call_left = 0;
    if (client_state->phase != PHASE_ACQUIRING)
        client_state->refused_itself = client_state->refused_behind =
            client_state->refused_restored = client_state->granted = 0;
    if (client_state->phase == PHASE_IDLE)
        client_state->deleted = client_state->deleted_left = 0;
    if (client_state->phase == PHASE_IDLE || client_state->phase == PHASE_HOLDING)
        client_state->overtaken = 0;
    if (client_state->fields[0] == SCRIPT_OVER)
        memset(&client_state->fields[1], 0,
               sizeof client_state->fields - sizeof client_state->fields[0]);
    if (client_state_is_over(client_state))
        settle_over(client_state, config, call_left, seen);
    if (client_state->wake == NO_TIME)
        client_state->connects = 0;
    if (client_state->phase == PHASE_IDLE || client_state->phase == PHASE_HOLDING)
        if (client_state->wake == NO_TIME)
            client_state->early = EARLY_NOT;
    settle_clock(client_state, config);
}

static void time_age(int32_t *time_us, const struct client_state *client_state,
                     const struct config *config)
{
    int32_t oldest = EPOCH_US + (client_state->skew - config->past) * TICK_US;
    const int32_t age_us = config->writes_stamps ? TICK_US : tick_us[client_state->rate];
    if (*time_us != 0 && *time_us - age_us >= oldest)
        *time_us -= age_us;
}

/* What others read of it, too, is a time of the world: not what was read moves, but the clock.
 * Until it is off by a jump, or a whole number of them; then it runs true. */
static void clock_age(struct client_state *client_state, const struct config *config)
{
    if (!config->writes_stamps || client_state->rate == RATE_TRUE)
        return;
    if (client_state->rate == RATE_DOUBLE)
        client_state->skew++;
    else if (client_state->is_half)
        client_state->skew--;
    client_state->is_half = client_state->rate == RATE_HALF && !client_state->is_half;
    if (!client_state->is_half && client_state->skew % config->jump == 0)
        client_state_set_rate(client_state, RATE_TRUE);
}

/* How long ago a request was sent counts up to here. */
static int age_most(const struct packed_message *message, const struct config *config)
{
    if (message->op == OP_EXTEND)
        return config->ttl;
    const bool may_win = message_is_opaque(message) && message->op == OP_ACQUIRE &&
                         message->flags & MESSAGE_CURRENT && message->key == KEY_LOCK &&
                         config->has_lease && config->servers == 1;
    return may_win ? config->ttl + LEASE_OVER - config->call_left_min : 0;
}

void client_state_age(struct client_state *client_state, const struct config *config,
                      bool are_stamps_kept)
{
    if (config->has_lease && client_state->call_left > config->call_left_min)
        client_state->call_left--;
    if (client_state->extended_left > config->call_left_min)
        client_state->extended_left--;
    if (client_state->deleted_left > 0 && --client_state->deleted_left == 0)
        client_state->deleted = 0;
    if (client_state_is_early(client_state))
        client_state->early = EARLY_HAS_WAITED;
    else if (config->has_short_waits && client_state->early == EARLY_NOT &&
             (client_state->phase == PHASE_ACQUIRING || client_state->phase == PHASE_RELEASING))
        client_state->early = EARLY_NO_MORE;
    if (client_state->wake > 0)
        client_state->wake--;
    if (client_state->wake == 0)
        client_state->wake_half = 0;
    clock_age(client_state, config);
    for (int i = 0; i < config->scheme->fields_count; i++) {
        enum scheme_field kind = config->scheme->fields[i];
        if (kind == FIELD_TIME)
            time_age(&client_state->fields[i], client_state, config);
        else if (kind == FIELD_STAMP || kind == FIELD_VALUE)
            client_state->fields[i] = value_aged(client_state->fields[i], are_stamps_kept);
    }
    client_state->seen = value_aged(client_state->seen, are_stamps_kept);
    for (int i = 0; i < client_state->count; i++) {
        struct packed_message *message = &client_state->messages[i];
        if (message->state != MESSAGE_REPLY && message->age < age_most(message, config))
            message->age++;
        if (message->left > 0 && message->left != MESSAGE_LEFT_FROM_NOW)
            message->left--;
        message->value = value_aged(message->value, are_stamps_kept);
        message->number = value_aged(message->number, are_stamps_kept);
        message->reply_value = value_aged(message->reply_value, are_stamps_kept);
        message->reply_second = value_aged(message->reply_second, are_stamps_kept);
    }
}

void client_state_rename_clients(struct client_state *client_state, const uint8_t *new_position)
{
    for (int i = 0; i < SCHEME_FIELDS_MAX; i++)
        client_state->fields[i] = value_renamed(client_state->fields[i], new_position);
    for (int i = 0; i < client_state->count; i++) {
        struct packed_message *message = &client_state->messages[i];
        message->value = value_renamed(message->value, new_position);
        message->reply_value = value_renamed(message->reply_value, new_position);
        message->reply_second = value_renamed(message->reply_second, new_position);
    }
}

void client_state_jump(struct client_state *client_state, const struct config *config, int ticks)
{
    if (config->subject && config->subject->jump)
        config->subject->jump(config->subject, client_state, ticks);
    else
        client_state->skew = (int8_t)(client_state->skew + ticks);
    client_state_settle(client_state, config);
}

void client_state_set_timer(struct client_state *client_state, int64_t own_ticks)
{
    if (own_ticks > 0 && client_state->rate == RATE_HALF)
        own_ticks *= 2;
    else if (own_ticks > 0 && client_state->rate == RATE_DOUBLE)
        own_ticks = (own_ticks + 1) / 2;
    client_state->wake = (int16_t)own_ticks;
    client_state->wake_half = 0;
}

/* One bit says in which half of its tick the timer is due: enough, since a clock at half its speed
 * can only run true again. */
static void stretch_timer(struct client_state *client_state)
{
    client_state->wake = (int16_t)(client_state->wake * 2 - client_state->wake_half);
    client_state->wake_half = 0;
}

static void shrink_timer(struct client_state *client_state)
{
    client_state->wake_half = client_state->wake % 2 != 0;
    client_state->wake = (int16_t)((client_state->wake + 1) / 2);
}

void client_state_set_rate(struct client_state *client_state, enum clock_rate rate)
{
    const enum clock_rate before = client_state->rate;
    const bool is_slower = rate == RATE_HALF || before == RATE_DOUBLE;
    assert((before == RATE_TRUE) != (rate == RATE_TRUE));
    client_state->rate = (uint8_t)rate;
    if (client_state->wake > 0 && is_slower)
        stretch_timer(client_state);
    else if (client_state->wake > 0)
        shrink_timer(client_state);
}

void client_state_reach(struct client_state *client_state, int server, enum server_reach reach)
{
    const unsigned bit = 1u << server;
    client_state->silent &= (uint8_t)~bit;
    client_state->refusing &= (uint8_t)~bit;
    client_state->holding &= (uint8_t)~bit;
    client_state->silent |= (uint8_t)(reach == REACH_SILENT ? bit : 0);
    client_state->refusing |= (uint8_t)(reach == REACH_REFUSED ? bit : 0);
    client_state->holding |= (uint8_t)(reach == REACH_READ_ONLY ? bit : 0);
}

static uint8_t bits_renamed(uint8_t bits, const uint8_t *new_number)
{
    unsigned renamed = 0;
    for (int i = 0; i < SERVERS_MAX; i++)
        renamed |= ((unsigned)bits >> i & 1u) << new_number[i];
    return (uint8_t)renamed;
}

void client_state_rename_servers(struct client_state *client_state, const uint8_t *new_number)
{
    struct client_state renamed = *client_state;
    renamed.count = 0;
    renamed.deleted = bits_renamed(client_state->deleted, new_number);
    renamed.overtaken = bits_renamed(client_state->overtaken, new_number);
    renamed.refused_itself = bits_renamed(client_state->refused_itself, new_number);
    renamed.refused_behind = bits_renamed(client_state->refused_behind, new_number);
    renamed.refused_restored = bits_renamed(client_state->refused_restored, new_number);
    renamed.silent = bits_renamed(client_state->silent, new_number);
    renamed.refusing = bits_renamed(client_state->refusing, new_number);
    renamed.holding = bits_renamed(client_state->holding, new_number);
    renamed.extended = bits_renamed(client_state->extended, new_number);
    for (int i = 0; i < client_state->count; i++) {
        struct packed_message message = client_state->messages[i];
        message.server = new_number[message.server];
        client_state_add(&renamed, &message);
    }
    *client_state = renamed;
}

static void newest(int32_t value, int *past)
{
    if (!is_stamp(value) || value > EPOCH_TICKS)
        return;
    int ago = EPOCH_TICKS - value;
    if (*past < 0 || ago < *past)
        *past = ago;
}

int client_state_newest_past(const struct client_state *client_state)
{
    int past = -1;
    newest(client_state->seen, &past);
    for (int i = 0; i < SCHEME_FIELDS_MAX; i++)
        newest(client_state->fields[i], &past);
    for (int i = 0; i < client_state->count; i++) {
        newest(client_state->messages[i].value, &past);
        newest(client_state->messages[i].reply_value, &past);
        newest(client_state->messages[i].reply_second, &past);
    }
    return past;
}

static bool mentions(int32_t value)
{
    return is_token(value) && token_position(value) != POSITION_SELF;
}

bool client_state_mentions(const struct client_state *client_state)
{
    for (int i = 0; i < SCHEME_FIELDS_MAX; i++)
        if (mentions(client_state->fields[i]))
            return true;
    for (int i = 0; i < client_state->count; i++) {
        const struct packed_message *message = &client_state->messages[i];
        if (mentions(message->value) || mentions(message->reply_value) ||
            mentions(message->reply_second))
            return true;
    }
    return false;
}
