/* confirm.c - see confirm.h. */
#include "explore/result/confirm.h"

#include "base/memory.h"
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

static enum fail open_simulated(void *context, const struct run *run, unsigned acting,
                                struct world **world, struct failure *failure)
{
    (void)context;
    (void)acting;
    (void)failure;
    *world = world_simulated_new(run);
    return FAIL_NONE;
}

/* --- ways that share a replay --- */

static bool begins_with(const struct explore_finding *way, const struct explore_finding *first)
{
    bool does = way->choices_count >= first->choices_count;
    for (int i = 0; i < first->choices_count && does; i++)
        does = choice_is_same(&way->choices[i], &first->choices[i]);
    return does;
}

/* Nobody else hears what is replayed, so that one replay may serve several ways. */
static bool is_shared(const struct confirm_world *world)
{
    return world->memo && !world->also;
}

/* The longest of those wanted that goes on behind the way; the way itself, where none does. */
static const struct explore_finding *longest(const struct confirm_world *world,
                                             const struct explore_finding *way)
{
    const struct explore_finding *found = way;
    for (int i = 0; i < PROPERTY_COUNT && world->wanted && is_shared(world); i++) {
        const struct explore_finding *other = &world->wanted[i];
        if (other->verdict == VERDICT_VIOLATED && other->choices_count > found->choices_count &&
            begins_with(other, way))
            found = other;
    }
    return found;
}

unsigned confirm_acting_clients(const struct explore_finding *way)
{
    unsigned acting = 0;
    for (int i = 0; i < way->choices_count; i++)
        if (choice_names_client(way->choices[i].kind))
            acting |= 1u << way->choices[i].client;
    return acting;
}

/* --- judging them --- */

struct judge {
    const struct explore_finding *way;
    struct history_head head;
    struct checks *checks; /* NULL: it is over */
    struct event_sink sink, record;
    void *recording;          /* NULL: nobody writes it down */
    bool has_ended;           /* with the last of its choices */
    bool lacks_command;       /* the server has not known one */
    struct finding *findings; /* PROPERTY_COUNT */
};

/* What is replayed now: the events of the world on their way to the judges. */
struct joint_replay {
    const struct confirm_world *world;
    const struct run *run;
    struct judge judges[1 + PROPERTY_COUNT]; /* the first: of the way that was asked for */
    int judges_count;
};

static void hear(struct judge *judge, const struct event *event)
{
    judge->lacks_command |= event->kind == EVENT_EXECUTE && event->reply.kind == REPLY_ERROR &&
                            event->reply.error == ERROR_UNSUPPORTED;
    judge->sink.take(judge->sink.context, event);
    if (judge->recording)
        judge->record.take(judge->record.context, event);
}

static void replay_take(void *context, const struct event *event)
{
    struct joint_replay *replay = context;
    for (int i = 0; i < replay->judges_count; i++)
        if (replay->judges[i].checks)
            hear(&replay->judges[i], event);
    if (replay->world->also)
        replay->world->also->take(replay->world->also->context, event);
}

static void judge_begin(struct joint_replay *replay, const struct explore_finding *way)
{
    const struct confirm_world *world = replay->world;
    struct judge *judge = &replay->judges[replay->judges_count++];
    judge->way = way;
    judge->head = world->foreign ? *world->foreign : run_head(replay->run, "sim");
    judge->head.clock_error_us = world->clock_error_us;
    judge->checks = checks_new_for(&judge->head, world->foreign ? NULL : replay->run->scheme);
    judge->sink = checks_sink(judge->checks);
    judge->findings = memory_new(PROPERTY_COUNT, sizeof *judge->findings);
    if (is_shared(world) && world->recorder)
        judge->recording =
            world->recorder->begin(world->recorder->context, &judge->head, &judge->record);
}

static void judge_end(struct joint_replay *replay, struct judge *judge, int64_t now_us,
                      enum fail fail)
{
    const struct confirm_world *world = replay->world;
    checks_finish(judge->checks, now_us, judge->findings, NULL);
    checks_free(judge->checks);
    judge->checks = NULL;
    judge->has_ended = !fail;
    char *file = judge->recording
                     ? world->recorder->end(world->recorder->context, judge->recording, fail)
                     : NULL;
    if (world->memo && !fail)
        replay_memo_put(world->memo, replay->run, judge->way, judge->findings, judge->lacks_command,
                        file);
    else
        free(file);
}

/* Those that are over behind so many choices. */
static void end_those_at(struct joint_replay *replay, int choices, struct world *opened)
{
    for (int i = 0; i < replay->judges_count; i++)
        if (replay->judges[i].checks && replay->judges[i].way->choices_count == choices)
            judge_end(replay, &replay->judges[i], opened->ops->now_us(opened), FAIL_NONE);
}

/* The way that is asked for, and those that are wanted and end on the way that is replayed. */
static void begin_judges(struct joint_replay *replay, const struct explore_finding *asked,
                         const struct explore_finding *replayed)
{
    const struct confirm_world *world = replay->world;
    judge_begin(replay, asked);
    for (int i = 0; i < PROPERTY_COUNT && world->wanted && is_shared(world); i++) {
        const struct explore_finding *way = &world->wanted[i];
        bool is_new = way->verdict == VERDICT_VIOLATED && begins_with(replayed, way) &&
                      !replay_memo_find(world->memo, replay->run, way, NULL);
        for (int k = 0; k < replay->judges_count; k++)
            is_new &= replay->judges[k].way->choices_count != way->choices_count;
        if (is_new)
            judge_begin(replay, way);
    }
}

/* --- replaying --- */

static enum fail apply_all(struct joint_replay *replay, const struct explore_finding *way,
                           struct world *opened, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    end_those_at(replay, 0, opened);
    for (int i = 0; i < way->choices_count && !fail; i++) {
        fail = opened->ops->apply(opened, &way->choices[i], failure);
        if (!fail)
            end_those_at(replay, i + 1, opened);
    }
    return fail;
}

static enum fail perform(struct joint_replay *replay, const struct explore_finding *way,
                         struct failure *failure)
{
    const struct confirm_world *world = replay->world;
    struct run run = *replay->run;
    struct world *opened = NULL;
    run.sink = (struct event_sink){.take = replay_take, .context = replay};
    enum fail (*open)(void *, const struct run *, unsigned, struct world **, struct failure *) =
        world->open ? world->open : open_simulated;
    enum fail fail = open(world->context, &run, confirm_acting_clients(way), &opened, failure);
    if (!fail)
        fail = apply_all(replay, way, opened, failure);
    for (int i = 0; i < replay->judges_count; i++)
        if (replay->judges[i].checks)
            judge_end(replay, &replay->judges[i], opened ? opened->ops->now_us(opened) : 0, fail);
    if (opened)
        opened->ops->free(opened);
    if (world->ended)
        world->ended(world->context, fail);
    return fail;
}

enum fail confirm(const struct run *run, const struct explore_finding *finding,
                  const struct confirm_world *world, struct finding *findings,
                  struct failure *failure)
{
    static const struct confirm_world simulated = {.open = open_simulated};
    struct failure why = {0};
    bool lacks_command = false;
    if (!world)
        world = &simulated;
    bool *lacks = world->lacks_command ? world->lacks_command : &lacks_command;
    const struct finding *known =
        is_shared(world) ? replay_memo_find(world->memo, run, finding, lacks) : NULL;
    if (known) {
        memcpy(findings, known, PROPERTY_COUNT * sizeof *findings);
        return FAIL_NONE;
    }
    struct joint_replay *replay = memory_new(1, sizeof *replay);
    *replay = (struct joint_replay){.world = world, .run = run};
    const struct explore_finding *replayed = longest(world, finding);
    begin_judges(replay, finding, replayed);
    enum fail fail = perform(replay, replayed, &why);
    const struct judge *asked = &replay->judges[0];
    if (asked->has_ended) /* what failed came behind it */
        fail = FAIL_NONE;
    else
        *failure = why;
    *lacks = asked->lacks_command;
    memcpy(findings, asked->findings, PROPERTY_COUNT * sizeof *findings);
    for (int i = 0; i < replay->judges_count; i++)
        free(replay->judges[i].findings);
    free(replay);
    return fail;
}
