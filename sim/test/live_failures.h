/* live_failures.h - what the tests of live servers start with: a small run, a world opened and
 * closed again, and how that ended. Included behind cmocka.h. */
#ifndef PICKLOCK_TEST_LIVE_FAILURES_H
#define PICKLOCK_TEST_LIVE_FAILURES_H

#include "live/live.h"

#include <string.h>

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B"};
static char parent_folder[64]; /* TMPDIR of these tests */

static void no_event(void *context, const struct event *event)
{
    (void)context;
    (void)event;
}

static struct run a_run(int servers, bool has_replica)
{
    return (struct run){.scheme = scheme_named("set-nx-px-cad"),
                        .clients = 2,
                        .servers = servers,
                        .names = names,
                        .lease_us = 300000,
                        .seed = 1,
                        .has_replica = has_replica,
                        .sink = {.take = no_event}};
}

/* Opens a world and closes it again; how that ended. */
static enum fail opens(const struct live_options *options, int servers, bool has_replica,
                       struct failure *why)
{
    struct live *live;
    struct world *world;
    struct run run = a_run(servers, has_replica);
    memset(why, 0, sizeof *why);
    if (live_new(&live, options, why))
        return why->code;
    enum fail fail = world_live_new(&world, live, &run, why);
    if (!fail)
        world->ops->free(world);
    live_free(live);
    return fail;
}

/* How opening a world of one server fails: its code, words of its one line; *why has the line. */
static void expect_failure(const struct live_options *options, enum fail code, const char *words,
                           struct failure *why)
{
    enum fail seen = opens(options, 1, false, why);
    if (seen != code || !strstr(why->text, words))
        fail_msg("wanted %d and \"%s\", got %d and \"%s\"", code, words, seen, why->text);
    assert_null(strchr(why->text, '\n'));
}

#endif
