/* live_run.h - directed runs on real servers, one after another on the same ones, as the tests of
 * servers make them. Included behind cmocka.h. */
#ifndef PICKLOCK_TEST_LIVE_RUN_H
#define PICKLOCK_TEST_LIVE_RUN_H

#include "live/control.h"
#include "live/internal.h"
#include "test/trace.h"

#include <stdlib.h>
#include <string.h>

enum { LEASE_US = 300000 };

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B"};
static struct live *live;

/* --- a run --- */

struct reuse {
    struct run run;
    struct world *world;
    struct event_trace trace;
};

static void replay_open(struct reuse *replay, bool has_replica)
{
    struct failure why = {0};
    memset(replay, 0, sizeof *replay);
    replay->run = (struct run){.scheme = scheme_named("set-nx-px-evalsha-eval"),
                               .clients = 2,
                               .servers = 1,
                               .names = names,
                               .lease_us = LEASE_US,
                               .seed = 1,
                               .has_replica = has_replica,
                               .sink = {.take = trace_take, .context = &replay->trace}};
    if (world_live_new(&replay->world, live, &replay->run, &why))
        fail_msg("%s", why.text);
}

static void replay_close(struct reuse *replay)
{
    replay->world->ops->free(replay->world);
    free(replay->trace.events);
}

static void does(struct reuse *replay, enum choice_kind kind, int client, enum verb verb)
{
    struct failure why = {0};
    const struct choice choice = {.kind = kind, .client = client, .verb = verb};
    if (replay->world->ops->apply(replay->world, &choice, &why))
        fail_msg("%s: %s", choice_name(kind), why.text);
}

static void round_trip(struct reuse *replay, int client, enum verb verb)
{
    does(replay, CHOICE_ARRIVE, client, verb);
    does(replay, CHOICE_HEAR, client, verb);
}

static enum result acquires(struct reuse *replay, int client)
{
    does(replay, CHOICE_ACQUIRE, client, VERB_SET);
    round_trip(replay, client, VERB_SET_NX_PX);
    return replay->world->ops->client(replay->world, client).last;
}

static redisContext *control(void)
{
    return servers_control(&live->servers, 0);
}

static int server_pid(void)
{
    return live->servers.rows[0].process.pid;
}

static int live_open(void **state)
{
    (void)state;
    const struct live_options options = {.steering = STEERED};
    return (int)live_new(&live, &options, NULL);
}

static int live_shut(void **state)
{
    (void)state;
    live_free(live);
    return 0;
}

#define T(test) cmocka_unit_test_setup_teardown(test, live_open, live_shut)

#endif
