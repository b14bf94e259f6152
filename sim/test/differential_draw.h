/* differential_draw.h - random sequences of commands, times, refusals and faults of the server; and
 * bugs to plant in the model.
 *
 * For differential.c alone, which is why it holds functions. A sequence depends on the seed only;
 * never on what a server answers. */
#ifndef PICKLOCK_TEST_DIFFERENTIAL_DRAW_H
#define PICKLOCK_TEST_DIFFERENTIAL_DRAW_H

#include "base/random.h"
#include "live/clock.h"
#include "redis/model.h"

#include <string.h>

/* A restart takes as long as thousands of commands: one in so many hundreds of steps. */
enum { CONNECTIONS = 3, GRANULE_US = 1000, RESTARTS_EACH = 15 };

enum drawn_kind {
    STEP_COMMAND,
    STEP_TIME,
    STEP_REFUSE,
    STEP_FLUSH_SCRIPTS,
    STEP_RESTART, /* another process, without keys */
    STEP_EVICT,   /* memory pressure: every key, or every one that expires */
    STEP_COUNT
};

struct drawn_step {
    enum drawn_kind kind;
    int connection;           /* STEP_COMMAND */
    struct command command;   /* STEP_COMMAND */
    int64_t us;               /* STEP_TIME */
    enum reply_error refuses; /* STEP_REFUSE */
    bool spares_lasting;      /* STEP_EVICT: only what expires is evicted */
};

/* --- planted bugs: the comparison must find each --- */

struct model_side { /* the model's side of the comparison */
    struct model model;
    struct model_watch watches[CONNECTIONS];
    int64_t now_us;
};

typedef struct reply plant_function(struct model_side *side, const struct drawn_step *step);
typedef void plant_taker(struct model_side *side, const struct drawn_step *step);

/* What a step that is no command does to the model's side. */
static void side_take(struct model_side *side, const struct drawn_step *step);

static struct reply model_says(struct model_side *side, const struct drawn_step *step)
{
    return model_execute(&side->model, &side->watches[step->connection], &step->command,
                         side->now_us);
}

static struct reply plant_expires_early(struct model_side *side, const struct drawn_step *step)
{
    model_expire(&side->model, side->now_us + GRANULE_US); /* when now >= expiry */
    return model_says(side, step);
}

static struct reply plant_getset_keeps_ttl(struct model_side *side, const struct drawn_step *step)
{
    model_expire(&side->model, side->now_us);
    struct model_key *key = &side->model.keys[step->command.key];
    int64_t expire_us = key->expire_us;
    struct reply reply = model_says(side, step);
    if (step->command.verb == VERB_GETSET)
        key->expire_us = expire_us;
    return reply;
}

static struct reply plant_watch_misses_expiry(struct model_side *side,
                                              const struct drawn_step *step)
{
    struct model before = side->model;
    model_expire(&side->model, side->now_us);
    for (int i = 0; i < KEY_COUNT; i++)
        side->model.keys[i].version = before.keys[i].version;
    return model_says(side, step);
}

static struct reply plant_script_rolls_back(struct model_side *side, const struct drawn_step *step)
{
    model_expire(&side->model, side->now_us);
    struct model before = side->model;
    struct reply reply = model_says(side, step);
    if (step->command.verb == VERB_SET_MINT && reply.kind == REPLY_ERROR)
        side->model = before;
    return reply;
}

static struct reply plant_full_refuses_delete(struct model_side *side,
                                              const struct drawn_step *step)
{
    if (side->model.refuses == ERROR_OOM && step->command.verb == VERB_DEL)
        return (struct reply){.kind = REPLY_ERROR, .error = ERROR_OOM};
    return model_says(side, step);
}

static struct reply plant_past_expire_ignored(struct model_side *side,
                                              const struct drawn_step *step)
{
    if (step->command.verb == VERB_PEXPIRE && step->command.ttl_us <= 0)
        return (struct reply){.kind = REPLY_INTEGER, .value = 0};
    return model_says(side, step);
}

static struct reply plant_eval_is_not_cached(struct model_side *side, const struct drawn_step *step)
{
    bool knew = side->model.knows_script;
    struct reply reply = model_says(side, step);
    if (step->command.verb == VERB_COMPARE_DELETE)
        side->model.knows_script = knew;
    return reply;
}

static void plant_restart_keeps_scripts(struct model_side *side, const struct drawn_step *step)
{
    bool knew_script = side->model.knows_script;
    side_take(side, step);
    if (step->kind == STEP_RESTART)
        side->model.knows_script = knew_script;
}

static void plant_eviction_is_not_watched(struct model_side *side, const struct drawn_step *step)
{
    const struct model before = side->model;
    side_take(side, step);
    for (int i = 0; i < KEY_COUNT && step->kind == STEP_EVICT; i++)
        side->model.keys[i].version = before.keys[i].version;
}

static void plant_eviction_takes_all(struct model_side *side, const struct drawn_step *step)
{
    struct drawn_step more = *step;
    more.spares_lasting = false;
    side_take(side, &more);
}

static const struct model_plant {
    const char *name;
    plant_function *says; /* to a command */
    plant_taker *takes;   /* any other step; NULL: as it should be */
} plants[] = {
    {"none", model_says, NULL},
    {"expires-early", plant_expires_early, NULL},
    {"getset-keeps-ttl", plant_getset_keeps_ttl, NULL},
    {"watch-misses-expiry", plant_watch_misses_expiry, NULL},
    {"script-rolls-back", plant_script_rolls_back, NULL},
    {"full-refuses-delete", plant_full_refuses_delete, NULL},
    {"past-expire-ignored", plant_past_expire_ignored, NULL},
    {"eval-is-not-cached", plant_eval_is_not_cached, NULL},
    {"restart-keeps-scripts", model_says, plant_restart_keeps_scripts},
    {"eviction-is-not-watched", model_says, plant_eviction_is_not_watched},
    {"eviction-takes-all", model_says, plant_eviction_takes_all},
};
enum { PLANTS_COUNT = sizeof plants / sizeof plants[0] };

/* --- making a sequence --- */

static enum key draw_key(struct random *random)
{
    return random_below(random, 2) ? KEY_LOCK : (enum key)random_below(random, KEY_COUNT);
}

/* The fence is minted by a script, and Lua's numbers are doubles: no fence is near 2^53, so none is
 * drawn between there and the largest integer, which INCR refuses. */
static int64_t draw_value(struct random *random, enum key key)
{
    static const int64_t small[] = {1, 1, 2, 2, 3, 0, -7, VALUE_EMPTY, INT64_MAX};
    static const int64_t large[] = {(INT64_C(1) << 53) + 1, INT64_C(1) << 53, -(INT64_C(1) << 61)};
    if (key != KEY_FENCE && random_below(random, 4) == 0)
        return large[random_below(random, sizeof large / sizeof large[0])];
    return small[random_below(random, sizeof small / sizeof small[0])];
}

static int64_t draw_fence(struct random *random, enum key key)
{
    int64_t fence = (int64_t)random_below(random, 5);
    return key != KEY_FENCE && random_below(random, 8) == 0 ? fence + (INT64_C(1) << 53) : fence;
}

static int64_t draw_ttl_us(struct random *random, enum verb verb)
{
    static const int64_t ms[] = {-1000, -1, 0, 1, 1, 2, 3, 5, 20, 999, 1000, 60000};
    static const int64_t s[] = {-10, -1, 0, 1, 1, 1, 2, 2, 3, 60, 100000};
    if (verb == VERB_SET_NX_EX || verb == VERB_EXPIRE || verb == VERB_MULTI_SETNX_EXPIRE ||
        verb == VERB_LUA_SETNX_EXPIRE)
        return s[random_below(random, sizeof s / sizeof s[0])] * 1000000;
    return ms[random_below(random, sizeof ms / sizeof ms[0])] * 1000;
}

static int64_t draw_time_us(struct random *random, const struct model_side *side)
{
    static const int64_t us[] = {1, 250, 999, 1000, 1001, 2000, 5000, 1000000, 3000000};
    /* Half of the time to just before, at, or just after the moment when some key goes. */
    const struct model_key *key = &side->model.keys[random_below(random, KEY_COUNT)];
    if (random_below(random, 2) && key->type != MODEL_ABSENT && key->expire_us != MODEL_NO_EXPIRY) {
        int64_t to_us =
            key->expire_us - side->now_us + ((int64_t)random_below(random, 4) - 1) * 999;
        if (to_us > 0)
            return to_us;
    }
    return us[random_below(random, sizeof us / sizeof us[0])];
}

static enum reply_error draw_refuses(struct random *random, enum reply_error now)
{
    static const enum reply_error modes[] = {ERROR_OOM, ERROR_READONLY, ERROR_MISCONF,
                                             ERROR_NOAUTH};
    return now != ERROR_NONE ? ERROR_NONE
                             : modes[random_below(random, sizeof modes / sizeof modes[0])];
}

static void side_init(struct model_side *side, int64_t now_us)
{
    memset(side, 0, sizeof *side);
    model_init(&side->model, GRANULE_US);
    side->now_us = now_us;
}

/* A server that refuses something is left alone: a replica does not evict, and memory cannot be
 * full in two ways at once. */
static bool can_evict(const struct model_side *side)
{
    return side->model.refuses == ERROR_NONE;
}

static void side_evict(struct model_side *side, bool spares_lasting)
{
    for (int i = 0; i < KEY_COUNT && can_evict(side); i++)
        if (!spares_lasting || side->model.keys[i].expire_us != MODEL_NO_EXPIRY)
            model_evict(&side->model, (enum key)i);
}

static void side_take(struct model_side *side, const struct drawn_step *step)
{
    if (step->kind == STEP_TIME)
        side->now_us += step->us;
    if (step->kind == STEP_FLUSH_SCRIPTS)
        model_flush_scripts(&side->model);
    if (step->kind == STEP_EVICT)
        side_evict(side, step->spares_lasting);
    if (step->kind == STEP_RESTART) {
        model_restart_empty(&side->model);
        memset(side->watches, 0, sizeof side->watches);
    }
    if (step->kind != STEP_REFUSE)
        return;
    side->model.refuses = step->refuses;
    if (step->refuses == ERROR_NOAUTH) /* all clients come back over new connections */
        memset(side->watches, 0, sizeof side->watches);
}

/* WAIT would wait for a replica, which this server has not, until the clock goes on: it is held to
 * real servers in test_live_walks.c. */
static enum verb draw_verb(struct random *random)
{
    enum verb verb = (enum verb)random_below(random, VERB_COUNT - 1);
    return verb < VERB_WAIT ? verb : verb + 1;
}

static void draw_step(struct random *random, const struct model_side *side, int connection,
                      struct drawn_step *step)
{
    *step = (struct drawn_step){.connection = connection};
    uint64_t dice = random_below(random, 100);
    uint64_t change = side->model.refuses != ERROR_NONE ? 6 : 1; /* it does not refuse for long */
    if (dice < change) {
        step->kind = STEP_REFUSE;
        step->refuses = draw_refuses(random, side->model.refuses);
    } else if (dice == 98 || dice == 99) {
        step->kind = STEP_FLUSH_SCRIPTS;
    } else if (dice == 97) {
        step->kind = STEP_EVICT;
        step->spares_lasting = random_below(random, 2);
    } else if (dice == 96 && random_below(random, RESTARTS_EACH) == 0) {
        step->kind = STEP_RESTART;
    } else if (dice < 18) {
        step->kind = STEP_TIME;
        step->us = draw_time_us(random, side);
    } else {
        enum verb verb = draw_verb(random);
        enum key key = draw_key(random);
        step->command = (struct command){.verb = verb,
                                         .key = key,
                                         .value = draw_value(random, key),
                                         .number = draw_fence(random, key),
                                         .ttl_us = draw_ttl_us(random, verb)};
    }
}

/* The model runs along, so that times can be aimed at expiries. */
static void draw_sequence(struct random *random, struct drawn_step *steps, int count)
{
    struct model_side side;
    side_init(&side, CLOCK_EPOCH_US);
    int connection = 0;
    for (int i = 0; i < count; i++) {
        if (random_below(random, 4) == 0)
            connection = (int)random_below(random, CONNECTIONS);
        draw_step(random, &side, connection, &steps[i]);
        if (steps[i].kind == STEP_COMMAND)
            model_says(&side, &steps[i]);
        else
            side_take(&side, &steps[i]);
    }
}

#endif
