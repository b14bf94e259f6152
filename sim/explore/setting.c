/* setting.c - see setting.h: the constants of a search, and what becomes of a value as time passes.
 */
#include "explore/setting.h"

#include "explore/fault.h"

#include <string.h>

/* A stamp is kept apart from another one as long as this many ticks; older ones count as equally
 * old. */
enum { STAMP_OLDEST = 64 };

void setting_init(struct setting *setting, const struct explore_options *options)
{
    const struct scheme *scheme = options->scheme;
    memset(setting, 0, sizeof *setting);
    setting->scheme = scheme;
    setting->is_guest = scheme_is_guest(scheme);
    setting->clients = options->clients;
    setting->rounds = options->rounds;
    setting->servers = options->servers;
    setting->ttl = options->lease_ticks;
    setting->jump = setting->ttl + 2;
    setting->is_patient = options->reductions & REDUCE_PATIENT;
    setting->section = options->section;
    for (int i = 0; i < scheme->fields_count; i++)
        setting->writes_stamps |= scheme->fields[i] == FIELD_STAMP;
    setting->has_lease = scheme->promises_expiry || scheme->uses_client_clock;
    setting->call_left_min = scheme->uses_client_clock ? 0 : scheme->promises_notice ? 1 : 2;
    setting->patience = PATIENCE_LEASES * setting->ttl;
    if (scheme->uses_client_clock)
        setting->patience += PATIENCE_STAMP_UNITS; /* a unit is a tick */
    setting->past = setting->ttl + 3;
    setting->lease = (struct lease){.ttl_us = setting->ttl * TICK_US,
                                    .unit_us = scheme->uses_client_clock ? TICK_US : 1,
                                    .servers = options->servers,
                                    .server_kind = SERVER_REDIS};
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_kind *kind = fault_kind((enum fault)i);
        setting->has_fault[i] = options->budget[i] > 0 && fault_can_strike((enum fault)i, scheme);
        setting->breakers |= (uint32_t)(setting->has_fault[i] && kind->strikes_all_replies) << i;
        if (setting->has_fault[i] && kind->prepare)
            kind->prepare(setting, options->budget[i]);
    }
    setting->keeps_count = setting->forgets && setting->section == SECTION_COUNTER;
}

int32_t value_aged(int32_t value, bool are_stamps_kept)
{
    int32_t oldest = are_stamps_kept ? EPOCH_TICKS : EPOCH_TICKS - STAMP_OLDEST;
    if (!is_stamp(value) || value <= oldest)
        return value;
    return value - 1;
}

int32_t value_renamed(int32_t value, const uint8_t *new_position)
{
    if (!is_token(value) || token_position(value) == POSITION_SELF)
        return value;
    return narrow(token_at(value, new_position[token_position(value)]));
}
