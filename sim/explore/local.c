/* local.c - see local.h. */
#include "explore/local.h"

#include "explore/roll.h"

#include <assert.h>
#include <string.h>

/* In the client that is stepped: the attempt under way, and any earlier one. */
enum { ATTEMPT_BEFORE = 1, ATTEMPT_NOW };

void local_init(struct local *local, const struct setting *setting)
{
    memset(local, 0, sizeof *local);
    local->phase = PHASE_IDLE;
    local->rounds = (uint8_t)setting->rounds;
    local->wake = NO_TIME;
}

void local_to_client(const struct local *local, const struct setting *setting,
                     struct client *client)
{
    client_init(client, setting->scheme, &setting->lease);
    client->lease.token = widen(local->token);
    for (int i = 0; i < setting->scheme->fields_count; i++)
        client->state[i] = widen(local->fields[i]);
    client->phase = local->phase;
    client->attempt = ATTEMPT_NOW;
    client->fence = local->fence;
    client->counter = local->counter;
    client->skew_us = local->skew * TICK_US;
    client->epoch_us = EPOCH_US;
    if (local->wake != NO_TIME)
        client->wake_us = local->wake * TICK_US;
    for (int i = 0; i < local->count; i++)
        client->awaited +=
            (local->parcels[i].flags & (PARCEL_CURRENT | PARCEL_ABANDONED)) == PARCEL_CURRENT;
}

static int16_t ticks_to(int64_t wake_us)
{
    if (wake_us == INT64_MAX)
        return NO_TIME;
    return (int16_t)(wake_us <= 0 ? 0 : (wake_us + TICK_US - 1) / TICK_US);
}

void local_add(struct local *local, const struct parcel *parcel)
{
    assert(local->count < PARCELS_MAX);
    int at = local->count++;
    for (; at > 0 && local->parcels[at - 1].server > parcel->server; at--)
        local->parcels[at] = local->parcels[at - 1];
    local->parcels[at] = *parcel;
}

static bool is_narrow(int64_t value)
{
    return value > INT32_MIN + 1 && value <= INT32_MAX;
}

/* Does the explorer keep such a value, and take it for nothing else? */
static bool can_keep(int64_t value, const struct setting *setting)
{
    if (value == VALUE_NIL || value == VALUE_EMPTY)
        return true;
    if (!is_narrow(value))
        return false;
    if (is_token(value))
        return token_position(value) < EXPLORE_CLIENTS_MAX ||
               token_position(value) == POSITION_SELF;
    return setting->scheme->uses_client_clock || !is_stamp(value);
}

static bool can_keep_time(int64_t time_us)
{
    return time_us >= -INT16_MAX * TICK_US && time_us <= INT16_MAX * TICK_US;
}

enum breach local_breach(const struct local *local, const struct setting *setting,
                         const struct client *client, const struct client_news *news)
{
    bool is_good = can_keep(client->fence, setting);
    if (setting->section == SECTION_WRITE)
        is_good &= client->fence >= 0 && client->fence <= ROLL_FENCE_MAX;
    for (int i = 0; i < setting->scheme->fields_count; i++)
        is_good &= setting->scheme->fields[i] == FIELD_TIME ? is_narrow(client->state[i])
                                                            : can_keep(client->state[i], setting);
    bool is_short = client->wake_us == INT64_MAX || can_keep_time(client->wake_us);
    for (int i = 0; i < news->sends_count; i++) {
        const struct command *command = &news->sends[i].command;
        is_good &= can_keep(command->value, setting) && can_keep(command->number, setting);
        is_short &= can_keep_time(command->ttl_us);
    }
    if (local->count + news->sends_count > PARCELS_MAX)
        return BREACH_MESSAGES;
    return !is_short ? BREACH_LONG_TIME : !is_good ? BREACH_NUMBER : BREACH_NONE;
}

void local_take(struct local *local, const struct setting *setting, const struct client *client,
                const struct client_news *news)
{
    local->phase = (uint8_t)client->phase;
    local->token = narrow(client->lease.token);
    local->fence = narrow(client->fence);
    local->wake = ticks_to(client->wake_us);
    for (int i = 0; i < setting->scheme->fields_count; i++)
        local->fields[i] = narrow(client->state[i]);
    for (int i = 0; i < news->sends_count; i++) {
        const struct ask *ask = &news->sends[i];
        const struct parcel parcel = {.state = MESSAGE_REQUEST,
                                      .flags = PARCEL_CURRENT,
                                      .server = (uint8_t)ask->server,
                                      .lane = (uint8_t)ask->lane,
                                      .op = (uint8_t)client_operation(client, ask->lane),
                                      .verb = (uint8_t)ask->command.verb,
                                      .key = (uint8_t)ask->command.key,
                                      .value = narrow(ask->command.value),
                                      .number = narrow(ask->command.number),
                                      .ttl_us = narrow(ask->command.ttl_us)};
        local_add(local, &parcel);
    }
}

bool local_is_accessing(const struct local *local)
{
    for (int i = 0; i < local->count; i++)
        if (local->parcels[i].op == OP_ACCESS && !(local->parcels[i].flags & PARCEL_ABANDONED))
            return true;
    return false;
}

static bool local_is_over(const struct local *local)
{
    return local->phase == PHASE_IDLE && (local->fields[0] == SCRIPT_OVER || local->fields[0] == 0);
}

/* Schemes with stamps: what the judge must know of a request when its attempt does no longer. */
static void parcel_remembers(struct parcel *parcel, const struct setting *setting,
                             uint8_t call_left, int32_t seen)
{
    if (!setting->scheme->uses_client_clock || parcel->state != MESSAGE_REQUEST)
        return;
    parcel->left = call_left;
    parcel->number = parcel->verb == VERB_GETSET ? seen : 0;
}

struct parcel local_copy(const struct local *local, const struct setting *setting, int parcel)
{
    struct parcel copy = local->parcels[parcel];
    if (copy.flags & PARCEL_CURRENT)
        parcel_remembers(&copy, setting, local->call_left, local->seen);
    copy.flags |= PARCEL_ABANDONED | PARCEL_LATE | PARCEL_COPY;
    return copy;
}

/* The script is over: no moment changes anything any more, so it need not be told of any. */
static void settle_over(struct local *local, const struct setting *setting, uint8_t call_left,
                        int32_t seen)
{
    for (int i = 0; i < local->count; i++) {
        struct parcel *parcel = &local->parcels[i];
        if (parcel->flags & PARCEL_CURRENT && !(parcel->flags & PARCEL_COPY))
            parcel_remembers(parcel, setting, call_left, seen);
        parcel->flags &= (uint8_t)~PARCEL_CURRENT;
    }
    local->wake = NO_TIME;
    local->fields[0] = 0;
    local->flags = 0;
    local->token = 0;
    local->fence = 0;
}

/* A clock that is only ever compared with what it showed before may as well be right: the instants
 * that were read move instead of it. */
static void settle_clock(struct local *local, const struct setting *setting)
{
    const int32_t oldest = EPOCH_US - setting->past * TICK_US;
    if (local->skew == 0 || setting->writes_stamps)
        return;
    for (int i = 0; i < setting->scheme->fields_count; i++) {
        int32_t *field = &local->fields[i];
        if (setting->scheme->fields[i] != FIELD_TIME || *field == 0)
            continue;
        *field -= local->skew * TICK_US;
        if (*field < oldest)
            *field = oldest;
    }
    local->skew = 0;
}

void local_settle(struct local *local, const struct setting *setting)
{
    uint8_t call_left = local->call_left;
    int32_t seen = local->seen;
    if (local->phase == PHASE_DEAD) {
        memset(local, 0, sizeof *local);
        local->phase = PHASE_DEAD;
        local->wake = NO_TIME;
        return;
    }
    if (local->phase != PHASE_HOLDING) {
        local->flags &= (uint8_t)~LOCAL_SLOW;
        local->stage = STAGE_OPEN;
    }
    if (local->stage != STAGE_READ || local_is_accessing(local))
        local->counter = 0;
    if (local->phase != PHASE_ACQUIRING) {
        local->seen = 0;
        local->flags &= (uint8_t) ~(LOCAL_STRUCK | LOCAL_SWAPPED | LOCAL_TAKEN);
    }
    if (local->phase != PHASE_ACQUIRING && local->phase != PHASE_HOLDING)
        local->call_left = 0;
    if (local->phase != PHASE_ACQUIRING)
        local->refused = 0;
    if (local->phase == PHASE_IDLE)
        local->deleted = 0;
    if (local->phase == PHASE_IDLE || local->phase == PHASE_HOLDING)
        local->overtaken = 0;
    if (local->fields[0] == SCRIPT_OVER)
        memset(&local->fields[1], 0, sizeof local->fields - sizeof local->fields[0]);
    if (local_is_over(local))
        settle_over(local, setting, call_left, seen);
    settle_clock(local, setting);
}

static void time_age(int32_t *time_us, const struct local *local, const struct setting *setting)
{
    int32_t oldest = EPOCH_US + (local->skew - setting->past) * TICK_US;
    if (*time_us != 0 && *time_us - TICK_US >= oldest)
        *time_us -= TICK_US;
}

void local_age(struct local *local, const struct setting *setting, bool are_stamps_kept)
{
    if (setting->has_lease && local->call_left > setting->call_left_min)
        local->call_left--;
    if (local->wake > 0)
        local->wake--;
    for (int i = 0; i < setting->scheme->fields_count; i++) {
        enum scheme_field kind = setting->scheme->fields[i];
        if (kind == FIELD_TIME)
            time_age(&local->fields[i], local, setting);
        else if (kind == FIELD_STAMP || kind == FIELD_VALUE)
            local->fields[i] = value_aged(local->fields[i], are_stamps_kept);
    }
    local->seen = value_aged(local->seen, are_stamps_kept);
    for (int i = 0; i < local->count; i++) {
        struct parcel *parcel = &local->parcels[i];
        if (parcel->op == OP_EXTEND && parcel->state != MESSAGE_REPLY && parcel->age < setting->ttl)
            parcel->age++;
        if (parcel->left > 0 && parcel->left != PARCEL_LEFT_FROM_NOW)
            parcel->left--;
        parcel->value = value_aged(parcel->value, are_stamps_kept);
        parcel->number = value_aged(parcel->number, are_stamps_kept);
        parcel->reply_value = value_aged(parcel->reply_value, are_stamps_kept);
        parcel->reply_second = value_aged(parcel->reply_second, are_stamps_kept);
    }
}

void local_break(struct local *local, int server, enum lane lane)
{
    int kept = 0;
    for (int i = 0; i < local->count; i++) {
        struct parcel parcel = local->parcels[i];
        bool is_late = parcel_is_late(&parcel);
        bool is_hit =
            parcel.server == server && (lane == LANE_COUNT || (parcel.lane == lane && !is_late));
        if (is_hit) {
            local->flags |= LOCAL_STRUCK;
            if (is_late)
                continue;
            parcel.state = MESSAGE_VOID;
            parcel.flags &= (uint8_t)~PARCEL_LATE;
            parcel.reply_kind = parcel.reply_error = 0;
            parcel.reply_value = parcel.reply_second = 0;
        }
        local->parcels[kept++] = parcel;
    }
    local->count = (uint8_t)kept;
}

void local_rename_clients(struct local *local, const uint8_t *new_position)
{
    for (int i = 0; i < SCHEME_FIELDS_MAX; i++)
        local->fields[i] = value_renamed(local->fields[i], new_position);
    for (int i = 0; i < local->count; i++) {
        struct parcel *parcel = &local->parcels[i];
        parcel->value = value_renamed(parcel->value, new_position);
        parcel->reply_value = value_renamed(parcel->reply_value, new_position);
        parcel->reply_second = value_renamed(parcel->reply_second, new_position);
    }
}

static uint8_t bits_renamed(uint8_t bits, const uint8_t *new_number)
{
    unsigned renamed = 0;
    for (int i = 0; i < SERVERS_MAX; i++)
        renamed |= ((unsigned)bits >> i & 1u) << new_number[i];
    return (uint8_t)renamed;
}

void local_rename_servers(struct local *local, const uint8_t *new_number)
{
    struct local renamed = *local;
    renamed.count = 0;
    renamed.deleted = bits_renamed(local->deleted, new_number);
    renamed.overtaken = bits_renamed(local->overtaken, new_number);
    renamed.refused = bits_renamed(local->refused, new_number);
    for (int i = 0; i < local->count; i++) {
        struct parcel parcel = local->parcels[i];
        parcel.server = new_number[parcel.server];
        local_add(&renamed, &parcel);
    }
    *local = renamed;
}

static void newest(int32_t value, int *past)
{
    if (!is_stamp(value) || value > EPOCH_TICKS)
        return;
    int ago = EPOCH_TICKS - value;
    if (*past < 0 || ago < *past)
        *past = ago;
}

int local_newest_past(const struct local *local)
{
    int past = -1;
    newest(local->seen, &past);
    for (int i = 0; i < SCHEME_FIELDS_MAX; i++)
        newest(local->fields[i], &past);
    for (int i = 0; i < local->count; i++) {
        newest(local->parcels[i].value, &past);
        newest(local->parcels[i].reply_value, &past);
        newest(local->parcels[i].reply_second, &past);
    }
    return past;
}

static bool mentions(int32_t value)
{
    return is_token(value) && token_position(value) != POSITION_SELF;
}

bool local_mentions(const struct local *local)
{
    for (int i = 0; i < SCHEME_FIELDS_MAX; i++)
        if (mentions(local->fields[i]))
            return true;
    for (int i = 0; i < local->count; i++) {
        const struct parcel *parcel = &local->parcels[i];
        if (mentions(parcel->value) || mentions(parcel->reply_value) ||
            mentions(parcel->reply_second))
            return true;
    }
    return false;
}

void local_remove(struct local *local, int parcel)
{
    assert(parcel >= 0 && parcel < local->count);
    local->count--;
    memmove(&local->parcels[parcel], &local->parcels[parcel + 1],
            (size_t)(local->count - parcel) * sizeof local->parcels[0]);
}

struct command parcel_command(const struct parcel *parcel)
{
    return (struct command){.verb = parcel->verb,
                            .key = parcel->key,
                            .value = widen(parcel->value),
                            .number = widen(parcel->number),
                            .ttl_us = widen(parcel->ttl_us)};
}

bool parcel_keeps_watch(const struct parcel *parcel)
{
    return parcel_is_late(parcel) && !(parcel->flags & PARCEL_COPY) &&
           verb_requests(parcel->verb) > 1;
}

bool local_keeps_watch(const struct local *local, int server, int lane)
{
    for (int i = 0; i < local->count; i++) {
        const struct parcel *it = &local->parcels[i];
        if (it->server == server && it->lane == lane && parcel_keeps_watch(it))
            return true;
    }
    return false;
}

bool local_is_blocked(const struct local *local, int parcel, enum message_state state)
{
    const struct parcel *it = &local->parcels[parcel];
    if (parcel_is_late(it))
        return false;
    for (int i = 0; i < parcel; i++) {
        const struct parcel *other = &local->parcels[i];
        if (other->server == it->server && other->lane == it->lane && other->state == state &&
            (!parcel_is_late(other) || parcel_keeps_watch(other)))
            return true;
    }
    return false;
}

bool local_is_oldest(const struct local *local, int parcel,
                     bool (*is_wanted)(const struct parcel *parcel))
{
    const struct parcel *it = &local->parcels[parcel];
    for (int i = 0; i < local->count; i++) {
        const struct parcel *other = &local->parcels[i];
        bool comes_first =
            parcel_is_late(other) == parcel_is_late(it) ? i < parcel : parcel_is_late(it);
        if (comes_first && other->server == it->server && is_wanted(other) &&
            strcmp(verb_name(other->verb), verb_name(it->verb)) == 0)
            return false;
    }
    return is_wanted(it);
}

static bool is_late_request(const struct parcel *parcel)
{
    return parcel_is_request(parcel) && parcel_is_late(parcel);
}

bool local_can_arrive(const struct local *local, int parcel)
{
    bool is_late = parcel_is_late(&local->parcels[parcel]);
    return local_is_oldest(local, parcel, is_late ? is_late_request : parcel_is_request) &&
           !local_is_blocked(local, parcel, MESSAGE_REQUEST);
}

bool local_can_be_heard(const struct local *local, int parcel)
{
    return local_is_oldest(local, parcel, parcel_is_reply) &&
           !local_is_blocked(local, parcel, MESSAGE_REPLY);
}
