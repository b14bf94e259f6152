/* config.c - see config.h: the constants of a search, and what becomes of a value as time passes.
 */
#include "explore/model/config.h"

#include "explore/model/subject.h"

#include <string.h>

/* A stamp is kept apart from another one as long as this many ticks; older ones count as equally
 * old. */
enum { STAMP_OLDEST = 64 };

void config_init(struct config *config, const struct explore_options *options)
{
    const struct scheme *scheme = options->scheme;
    memset(config, 0, sizeof *config);
    config->scheme = scheme;
    config->subject = options->subject ? options->subject : &subject_in_c;
    config->is_plugin = scheme_is_plugin(scheme);
    config->repeats_commands = config->subject != &subject_in_c; /* a library may, by itself */
    config->has_extends = options->has_extends;
    config->judges_grants = config->subject != &subject_in_c && options->servers == 1;
    config->judges_guesses = options->judges_guesses;
    config->has_short_waits = options->has_short_waits;
    config->clients = options->clients;
    config->rounds = options->rounds;
    config->servers = options->servers;
    config->ttl = options->lease_ticks;
    config->jump = config_jump(config->ttl);
    config->is_eager = options->reductions & REDUCE_EAGER;
    config->section = options->section;
    for (int i = 0; i < scheme->fields_count; i++)
        config->writes_stamps |= scheme->fields[i] == FIELD_STAMP;
    config->has_lease = scheme->promises_expiry || scheme->uses_client_clock;
    config->call_left_min = scheme->uses_client_clock ? 0 : scheme->promises_notice ? 1 : 2;
    config->progress_ticks = PATIENCE_LEASES * config->ttl;
    if (scheme->uses_client_clock)
        config->progress_ticks += PATIENCE_STAMP_UNITS; /* a unit is a tick */
    config->past = config->ttl + PAST_TICKS;
    config->lease = (struct lease){.ttl_us = config->ttl * TICK_US,
                                   .unit_us = scheme->uses_client_clock ? TICK_US : 1,
                                   .servers = options->servers,
                                   .server_kind = SERVER_REDIS};
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
