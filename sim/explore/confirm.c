/* confirm.c - see confirm.h. */
#include "explore/confirm.h"

#include "world/simulated.h"

#include <stdio.h>
#include <string.h>

struct run confirm_run(const struct explore_options *options, const struct explore_outcome *outcome,
                       char (*names)[NAME_MAX_BYTES])
{
    return (struct run){.scheme = options->scheme,
                        .clients = options->clients,
                        .servers = options->servers,
                        .names = names,
                        .lease_us = outcome->lease_us,
                        .seed = 1,
                        .same_token = outcome->same_token,
                        .has_replica = outcome->has_replica};
}

static enum fail open_simulated(void *context, const struct run *run, struct world **world,
                                struct failure *failure)
{
    (void)context;
    (void)failure;
    *world = world_simulated_new(run);
    return FAIL_NONE;
}

enum fail confirm(const struct run *given, const struct explore_finding *finding,
                  const struct confirm_world *world, struct finding *findings,
                  struct failure *failure)
{
    const struct confirm_world simulated = {.open = open_simulated};
    struct history_head head = {.clients = given->clients,
                                .servers = given->servers,
                                .locks = 1,
                                .names = given->names,
                                .lease_us = given->lease_us,
                                .unit_us = given->scheme->unit_us,
                                .seed = given->seed};
    if (!world)
        world = &simulated;
    head.clock_error_us = world->clock_error_us;
    snprintf(head.scheme, sizeof head.scheme, "%s", given->scheme->name);
    struct checks *checks = checks_new_for(&head, given->scheme);
    struct run run = *given;
    struct world *stage = NULL;
    run.sink = checks_sink(checks);
    enum fail fail = world->open(world->context, &run, &stage, failure);
    for (int i = 0; i < finding->choices_count && !fail; i++)
        fail = stage->ops->apply(stage, &finding->choices[i], failure);
    checks_finish(checks, stage ? stage->ops->now_us(stage) : 0, findings, NULL);
    checks_free(checks);
    if (stage)
        stage->ops->free(stage);
    return fail;
}
