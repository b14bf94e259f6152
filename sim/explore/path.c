/* path.c - see path.h. */
#include "explore/path.h"

#include "base/memory.h"
#include "explore/translate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_FIRST = 32, STEPS_FIRST = 32 };

void path_add(struct path *path, const struct deed *deed)
{
    if (path->count == path->size) {
        path->size = path->size ? 2 * path->size : PATH_FIRST;
        path->deeds = memory_resize(path->deeds, (size_t)path->size, sizeof *path->deeds);
    }
    path->deeds[path->count++] = *deed;
}

void path_copy(struct path *to, const struct path *from)
{
    to->count = 0;
    for (int i = 0; i < from->count; i++)
        path_add(to, &from->deeds[i]);
}

void path_close(struct path *path)
{
    free(path->deeds);
    memset(path, 0, sizeof *path);
}

int path_faults(const struct path *path)
{
    int faults = 0;
    for (int i = 0; i < path->count; i++)
        faults += deed_is_fault(&path->deeds[i]);
    return faults;
}

bool path_is_shorter(const struct path *path, const struct path *than)
{
    int faults = path_faults(path), more = path_faults(than);
    return faults < more || (faults == more && path->count < than->count);
}

int deed_actor(const struct deed *deed)
{
    if (deed->client >= 0)
        return deed->client;
    return deed->server >= 0 ? EXPLORE_CLIENTS_MAX + deed->server : ACTOR_TIME;
}

struct deed deed_of(const struct space *space, const uint32_t *before,
                    const struct step_taken *step)
{
    struct deed deed = {.kind = step->kind,
                        .client = step->client,
                        .server = step->server,
                        .fault = step->fault,
                        .ticks = step->ticks,
                        .verb = NO_VERB};
    struct local local;
    if (step->parcel < 0)
        return deed;
    memset(&local, 0, sizeof local);
    pool_get(&space->locals, before[step->client], &local);
    assert(step->parcel < local.count);
    deed.is_late = parcel_is_late(&local.parcels[step->parcel]);
    deed.verb = local.parcels[step->parcel].verb;
    return deed;
}

/* --- the stage --- */

static void stage_take(void *context, const struct step_taken *step)
{
    struct stage *stage = context;
    if (stage->count == stage->size) {
        stage->size = stage->size ? 2 * stage->size : STEPS_FIRST;
        stage->steps = memory_resize(stage->steps, (size_t)stage->size, sizeof *stage->steps);
    }
    stage->steps[stage->count++] = *step;
}

void stage_init(struct stage *stage, const struct explore_options *options)
{
    memset(stage, 0, sizeof *stage);
    stage->options = *options;
    stage->options.reductions = 0;
    space_init(&stage->space, &stage->options);
    stepper_init(&stage->stepper, &stage->space, &stage->options);
    stage->stepper.take = stage_take;
    stage->stepper.context = stage;
}

void stage_close(struct stage *stage)
{
    space_close(&stage->space);
    free(stage->steps);
}

void stage_go(struct stage *stage, const uint32_t *words)
{
    memmove(stage->words, words, sizeof stage->words);
    stage->count = 0;
    stepper_expand(&stage->stepper, stage->words);
}

void stage_start(struct stage *stage)
{
    uint32_t words[WORDS_MAX] = {0};
    stepper_start(&stage->stepper, &stage->options, words);
    stage_go(stage, words);
}

static bool is_named(const struct stage *stage, const struct step_taken *step,
                     const struct deed *deed)
{
    if (step->kind != deed->kind || step->client != deed->client || step->server != deed->server ||
        step->fault != deed->fault || step->ticks != deed->ticks)
        return false;
    struct deed name = deed_of(&stage->space, stage->words, step);
    return name.verb == deed->verb && name.is_late == deed->is_late;
}

const struct step_taken *stage_find(const struct stage *stage, const struct deed *deed)
{
    for (int i = 0; i < stage->count; i++)
        if (is_named(stage, &stage->steps[i], deed))
            return &stage->steps[i];
    return NULL;
}

/* --- walking --- */

bool path_walk(struct stage *stage, const struct deed *deeds, int count, enum property property,
               struct path *made)
{
    for (int i = 0; i < count; i++) {
        const struct step_taken *step = stage_find(stage, &deeds[i]);
        if (!step)
            continue;
        path_add(made, &deeds[i]);
        if (step->violated >> property & 1)
            return true;
        stage_go(stage, step->words);
    }
    return false;
}

bool path_follows(struct stage *stage, const struct path *path, enum property property)
{
    stage_start(stage);
    for (int i = 0; i < path->count; i++) {
        const struct step_taken *step = stage_find(stage, &path->deeds[i]);
        if (!step)
            return false;
        bool is_last = i == path->count - 1, is_violated = step->violated >> property & 1;
        if (is_last || is_violated)
            return is_last && is_violated;
        stage_go(stage, step->words);
    }
    return false;
}

void path_print(struct stage *stage, const struct path *path, struct explore_finding *finding)
{
    finding->events = path->count;
    finding->faults = path_faults(path);
    finding->choices_count = 0;
    finding->choices =
        memory_new((size_t)path->count * TRANSLATED_MAX + 1, sizeof *finding->choices);
    stage_start(stage);
    for (int i = 0; i < path->count; i++) {
        const struct step_taken *step = stage_find(stage, &path->deeds[i]);
        assert(step);
        finding->choices_count += translate_step(&stage->space, stage->words, step,
                                                 &finding->choices[finding->choices_count]);
        stage_go(stage, step->words);
    }
}
