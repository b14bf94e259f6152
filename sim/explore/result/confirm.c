/* confirm.c - see confirm.h. */
#include "explore/result/confirm.h"

#include "world/simulated.h"

#include <stdlib.h>
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
                        .has_replica = outcome->has_replica,
                        .has_delex = options->scheme->needs_delex};
}

static enum fail open_simulated(void *context, const struct run *run, struct world **world,
                                struct failure *failure)
{
    (void)context;
    (void)failure;
    *world = world_simulated_new(run);
    return FAIL_NONE;
}

/* The events of a replay on their way to the checks, and to whoever else listens. */
struct relay {
    struct event_sink checks;
    const struct event_sink *also; /* or NULL */
};

static void relay_take(void *context, const struct event *event)
{
    const struct relay *relay = context;
    relay->checks.take(relay->checks.context, event);
    if (relay->also)
        relay->also->take(relay->also->context, event);
}

enum fail confirm(const struct run *given, const struct explore_finding *finding,
                  const struct confirm_world *world, struct finding *findings,
                  struct failure *failure)
{
    const struct confirm_world simulated = {.open = open_simulated};
    if (!world)
        world = &simulated;
    const struct finding *known =
        world->memo && !world->also ? replay_memo_find(world->memo, given, finding) : NULL;
    if (known) {
        memcpy(findings, known, PROPERTY_COUNT * sizeof *findings);
        return FAIL_NONE;
    }
    struct history_head head = world->foreign ? *world->foreign : run_head(given, "sim");
    head.clock_error_us = world->clock_error_us;
    struct checks *checks = checks_new_for(&head, world->foreign ? NULL : given->scheme);
    struct event_sink record;
    const bool is_recorded = world->memo && !world->also && world->recorder &&
                             world->recorder->begin(world->recorder->context, &head, &record);
    struct relay relay = {.checks = checks_sink(checks),
                          .also = is_recorded ? &record : world->also};
    struct run run = *given;
    struct world *opened = NULL;
    run.sink = (struct event_sink){.take = relay_take, .context = &relay};
    enum fail (*open)(void *, const struct run *, struct world **, struct failure *) =
        world->open ? world->open : open_simulated;
    enum fail fail = open(world->context, &run, &opened, failure);
    for (int i = 0; i < finding->choices_count && !fail; i++)
        fail = opened->ops->apply(opened, &finding->choices[i], failure);
    checks_finish(checks, opened ? opened->ops->now_us(opened) : 0, findings, NULL);
    checks_free(checks);
    if (opened)
        opened->ops->free(opened);
    char *file = is_recorded ? world->recorder->end(world->recorder->context, fail) : NULL;
    if (world->memo && !fail)
        replay_memo_put(world->memo, given, finding, findings, file);
    else
        free(file);
    if (world->ended)
        world->ended(world->context, fail);
    return fail;
}
