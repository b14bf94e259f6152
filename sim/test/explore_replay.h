/* explore_replay.h - for the tests of the explorer: choices replayed in the simulated world, and
 * what checks/ says of it. */
#ifndef PICKLOCK_TEST_EXPLORE_REPLAY_H
#define PICKLOCK_TEST_EXPLORE_REPLAY_H

#include "checks/checks.h"
#include "world/simulated.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static char replay_names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B", "C", "D", "E", "F"};

struct replay {
    const struct scheme *scheme;
    int clients, servers;
    int64_t lease_us;
    uint32_t same_token;
    bool has_replica;
    unsigned *violated; /* by choice: what is violated once it was made; NULL: not wanted */
    /* The world after so many choices; NULL: not wanted. */
    void (*look)(void *context, struct world *world, int made);
    void *context;
};

/* Replays count choices and fills findings[PROPERTY_COUNT]; false (and the failure says why) when
 * the world did not follow. */
static inline bool replay_choices(const struct replay *replay, const struct choice *choices,
                                  int count, struct finding *findings, struct failure *failure)
{
    struct history_head head = {.clients = replay->clients,
                                .servers = replay->servers,
                                .locks = 1,
                                .names = replay_names,
                                .lease_us = replay->lease_us,
                                .unit_us = replay->scheme->unit_us,
                                .has_all_commands = true};
    snprintf(head.scheme, sizeof head.scheme, "%s", replay->scheme->name);
    struct checks *checks = checks_new_for(&head, replay->scheme);
    struct run run = {.scheme = replay->scheme,
                      .clients = replay->clients,
                      .servers = replay->servers,
                      .names = replay_names,
                      .lease_us = replay->lease_us,
                      .seed = 1,
                      .same_token = replay->same_token,
                      .has_replica = replay->has_replica,
                      .has_delex = replay->scheme->needs_delex,
                      .sink = checks_sink(checks)};
    struct world *world = world_simulated_new(&run);
    bool delayed = true;
    for (int i = 0; i < count && delayed; i++) {
        delayed = world->ops->apply(world, &choices[i], failure) == FAIL_NONE;
        if (replay->violated)
            replay->violated[i] = checks_violated(checks);
        if (replay->look && delayed)
            replay->look(replay->context, world, i + 1);
    }
    checks_finish(checks, world->ops->now_us(world), findings, NULL);
    checks_free(checks);
    world->ops->free(world);
    return delayed;
}

#endif
