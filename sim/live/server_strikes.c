/* server_strikes.c - the rows of server_strikes.def, by number. See live.h. */
#include "live/internal.h"

#define BY_SERVER false
#define BY_PROXY  true

const struct server_strike_row server_strike_rows[SERVER_STRIKE_COUNT] = {
#define SERVER_STRIKE(id, field, option, by, choice, help, rates, never)                           \
    [SERVER_STRIKE_##id] = {option,                                                                \
                            rates,                                                                 \
                            never,                                                                 \
                            BY_##by,                                                               \
                            choice,                                                                \
                            STRUCK_##id,                                                           \
                            offsetof(struct stress_options, field##_ppm),                          \
                            0},
#define SERVER_OUTAGE(id, field, option, by, choice, help, rates, never)                           \
    [SERVER_STRIKE_##id] = {option,                                                                \
                            rates,                                                                 \
                            never,                                                                 \
                            BY_##by,                                                               \
                            choice,                                                                \
                            STRUCK_##id,                                                           \
                            offsetof(struct stress_options, field##_ppm),                          \
                            offsetof(struct stress_options, field##_us)},
#include "live/server_strikes.def"
#undef SERVER_STRIKE
#undef SERVER_OUTAGE
};

uint32_t server_strike_ppm(const struct stress_options *options, enum server_strike strike)
{
    const char *at = (const char *)options + server_strike_rows[strike].ppm_at;
    return *(const uint32_t *)(const void *)at;
}

int64_t server_strike_us(const struct stress_options *options, enum server_strike strike)
{
    const size_t us_at = server_strike_rows[strike].us_at;
    return us_at ? *(const int64_t *)(const void *)((const char *)options + us_at) : 0;
}

/* As in a scenario. How the slot moves is exact only where clocks can be made to stand still. */
static enum fail cluster_can(const struct live *live, const struct stress_options *options,
                             enum server_strike strike, struct failure *failure)
{
    const bool is_of_slot = choice_needs_cluster(server_strike_rows[strike].choice);
    if (is_of_slot && !options->is_cluster)
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "there is no slot that could move: it wants --cluster");
    if (options->is_cluster && !is_of_slot)
        return failure_set(failure, FAIL_NOT_APPLICABLE, "of a cluster only the slot is struck");
    if (is_of_slot && live->servers.steering != BENT_TIME)
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "how much of a lease is left when a slot has moved is known only of "
                           "servers whose clocks are ours");
    return FAIL_NONE;
}

enum fail stress_can(const struct live *live, const struct stress_options *options,
                     struct failure *failure)
{
    for (int i = SERVER_STRIKE_NONE + 1; i < SERVER_STRIKE_COUNT; i++) {
        const struct server_strike_row *row = &server_strike_rows[i];
        if (server_strike_ppm(options, (enum server_strike)i) &&
            (live_can(live, row->choice, failure) ||
             cluster_can(live, options, (enum server_strike)i, failure)))
            return failure_wrap(failure, "%s", row->option);
    }
    return FAIL_NONE;
}
