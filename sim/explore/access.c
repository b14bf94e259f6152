/* access.c - see access.h. The judging is that of checks/no_lost_update.c; who wrote the resource
 * out of turn is roll.c's. */
#include "explore/access.h"

#include <assert.h>

/* --- the commands of a section --- */

bool access_is_over(const struct local *local, const struct setting *setting)
{
    return setting->section == SECTION_NOTHING ||
           (local->stage == STAGE_OVER && !local_is_accessing(local));
}

bool access_next(const struct local *local, const struct setting *setting, enum move_kind *kind)
{
    if (local->phase != PHASE_HOLDING || setting->section == SECTION_NOTHING ||
        local->stage == STAGE_OVER || local_is_accessing(local) || local->count == PARCELS_MAX)
        return false;
    if (setting->section == SECTION_WRITE)
        *kind = MOVE_WRITE;
    else
        *kind = local->stage == STAGE_READ ? MOVE_WRITE_COUNTER : MOVE_READ_COUNTER;
    return true;
}

void access_begin(struct local *local, const struct setting *setting, enum move_kind kind)
{
    static const enum choice_kind choices[] = {[MOVE_WRITE] = CHOICE_WRITE,
                                               [MOVE_READ_COUNTER] = CHOICE_READ_COUNTER,
                                               [MOVE_WRITE_COUNTER] = CHOICE_WRITE_COUNTER};
    struct client client;
    local_to_client(local, setting, &client);
    /* Who wrote the resource without a fence makes no difference to anybody: number 0. */
    struct command command = client_access(&client, 0, choices[kind]);
    const struct parcel parcel = {.state = MESSAGE_REQUEST,
                                  .server = SERVER_ONE,
                                  .lane = LANE_MAIN,
                                  .op = OP_ACCESS,
                                  .verb = (uint8_t)command.verb,
                                  .key = (uint8_t)command.key,
                                  .value = narrow(command.value),
                                  .number = narrow(command.number)};
    local->stage = kind == MOVE_READ_COUNTER ? STAGE_READ : STAGE_OVER;
    local->flags &= (uint8_t) ~(LOCAL_STALLED | LOCAL_ANSWERED);
    local_add(local, &parcel);
    local_settle(local, setting);
}

void access_end(struct local *local, const struct setting *setting, const struct parcel *parcel,
                enum moment_kind how)
{
    struct reply reply = {.kind = REPLY_ERROR, .error = ERROR_OTHER};
    struct client client;
    if (how == MOMENT_REPLY)
        reply = (struct reply){.kind = parcel->reply_kind,
                               .error = parcel->reply_error,
                               .value = widen(parcel->reply_value),
                               .second = widen(parcel->reply_second)};
    const struct command command = parcel_command(parcel);
    local_to_client(local, setting, &client);
    if (client_accessed(&client, &command, &reply) == RESULT_FAILED)
        local->stage = STAGE_OVER;
    local->counter = narrow(client.counter);
    local->flags &= (uint8_t)~LOCAL_STALLED;
    local_settle(local, setting);
}

void access_outlives(struct parcel *parcel)
{
    if (parcel->attempts_ago < AGO_FORGOTTEN)
        parcel->attempts_ago++;
}

/* --- the counter --- */

static bool is_counter_write(const struct parcel *parcel)
{
    return parcel->op == OP_ACCESS && parcel->key == KEY_COUNTER && parcel->verb == VERB_SET;
}

static void grow_old(int32_t *value, int32_t oldest)
{
    if (*value > oldest)
        --*value;
}

void access_outdate(struct local *local, const struct setting *setting)
{
    if (!setting->keeps_count)
        grow_old(&local->counter, COUNTER_BEFORE);
    for (int i = 0; i < local->count; i++) {
        struct parcel *parcel = &local->parcels[i];
        if (parcel->op != OP_ACCESS || parcel->key != KEY_COUNTER)
            continue;
        parcel->flags &= (uint8_t)~PARCEL_COUNTED;
        if (!setting->keeps_count && is_counter_write(parcel))
            grow_old(&parcel->value, COUNTER_BEFORE + 1);
        else if (!setting->keeps_count && parcel->reply_kind == REPLY_VALUE)
            grow_old(&parcel->reply_value, COUNTER_BEFORE);
    }
    local_settle(local, setting);
}

void access_forget(struct local *local)
{
    for (int i = 0; i < local->count; i++)
        local->parcels[i].flags &= (uint8_t)~PARCEL_COUNTED;
}

/* One write, made once more: not another one. */
static bool is_same_write(const struct parcel *one, const struct parcel *other)
{
    return is_counter_write(other) && one->attempts_ago == other->attempts_ago &&
           one->value == other->value;
}

static unsigned counter_written(const struct setting *setting, struct local *local, int parcel,
                                const struct post *before, struct post *after)
{
    const struct parcel it = local->parcels[parcel];
    bool is_known = before->stock.is_counter_known || !setting->keeps_count;
    bool is_lost = is_known && it.value != before->stock.counter + 1;
    unsigned same = 0;
    if (it.flags & PARCEL_COUNTED)
        return 0;
    for (int i = 0; i < local->count; i++)
        if (is_same_write(&it, &local->parcels[i]) && (i != parcel || setting->keeps_commands))
            same |= 1u << i;
    access_outdate(local, setting);
    for (int i = 0; i < local->count; i++)
        local->parcels[i].flags |= same >> i & 1 ? PARCEL_COUNTED : 0;
    if (setting->keeps_count)
        after->stock.is_counter_known = true;
    else
        after->stock.counter = COUNTER_NOW;
    return COUNTER_WRITTEN | (is_lost ? UPDATE_LOST : 0);
}

/* --- the resource --- */

static unsigned resource_written(const struct parcel *parcel, const struct reply *reply)
{
    bool is_fenced = parcel->verb == VERB_FENCED_SET;
    bool is_accepted = is_fenced ? reply_is_integer(reply, 1) : reply_is_ok(reply);
    bool is_refused = is_fenced && reply_is_integer(reply, 0);
    if ((!is_accepted && !is_refused) || parcel->attempts_ago >= AGO_FORGOTTEN)
        return 0;
    return (is_accepted ? WRITE_ACCEPTED : WRITE_REFUSED) |
           (parcel->attempts_ago > 0 ? WRITE_OF_BEFORE : 0);
}

unsigned access_judge(const struct setting *setting, struct local *local, int parcel,
                      const struct reply *reply, const struct post *before, struct post *after)
{
    const struct parcel *it = &local->parcels[parcel];
    if (it->key == KEY_RESOURCE)
        return resource_written(it, reply);
    if (it->key != KEY_COUNTER)
        return 0;
    if (is_counter_write(it))
        return reply_is_ok(reply) ? counter_written(setting, local, parcel, before, after) : 0;
    if (setting->keeps_count)
        after->stock.is_counter_known = true;
    return 0;
}
