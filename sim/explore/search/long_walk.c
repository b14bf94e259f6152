/* long_walk.c - see long_walk.h. */
#include "explore/search/long_walk.h"

/* Behind so many steps nothing new begins, and behind these nothing goes on. */
enum { NEW_STEPS_MAX = 90, ALL_STEPS_MAX = 140 };

enum { REFUSALS_MAX = 8, STRIKES_BEFORE = 40 };

static int below(struct long_walk *walk, int bound)
{
    return (int)random_below(&walk->random, (uint64_t)bound);
}

/* Not the one who has just been granted the lock (-1: nobody). What is counted may be any number:
 * often few, and as often many. */
static void choose_focus(struct long_walk *walk, int clients, int granted)
{
    const int most = below(walk, 2) ? REFUSALS_MAX : 2;
    walk->focus = below(walk, clients);
    if (walk->focus == granted)
        walk->focus = (granted + 1) % clients;
    walk->refusals = below(walk, most + 1);
}

void long_walk_begin(struct long_walk *walk, uint64_t seed, uint64_t stream)
{
    *walk = (struct long_walk){.random = {.seed = seed, .stream = stream}};
    walk->strike_at = below(walk, STRIKES_BEFORE);
    walk->refusals = -1;
}

static bool is_held(struct trace_replayer *replayer, int but)
{
    struct state_space *space = &replayer->space;
    bool is = false;
    for (int i = 0; i < space->config.clients; i++)
        is |= i != but && space_client(space, replayer->words[i])->phase == PHASE_HOLDING;
    return is;
}

/* Will the one in focus be refused once more before others go on? Not one who is alone in it. */
static bool is_waited_for(const struct long_walk *walk, struct trace_replayer *replayer)
{
    const uint32_t focus = replayer->words[walk->focus];
    const uint8_t phase = space_client(&replayer->space, focus)->phase;
    if (phase == PHASE_ACQUIRING || phase == PHASE_RELEASING)
        return true;
    for (int i = 0; i < replayer->count && walk->refusals > 0; i++)
        if (replayer->steps[i].kind == ACTION_ACQUIRE && replayer->steps[i].client == walk->focus)
            return true;
    return phase == PHASE_HOLDING && walk->refusals > 0;
}

enum { RARE = 1, SELDOM = 3, OFTEN = 8, FIRST = 24 };

static int weight_of(const struct long_walk *walk, struct trace_replayer *replayer,
                     const struct successor *step)
{
    const bool is_ending = walk->made >= NEW_STEPS_MAX;
    switch (step->kind) {
    case ACTION_ACQUIRE:
        if (is_ending)
            return 0;
        return !is_held(replayer, step->client) ? SELDOM
               : step->client == walk->focus    ? walk->refusals > 0 ? FIRST : RARE
                                                : RARE;
    case ACTION_EXTEND:
        return SELDOM;
    case ACTION_RELEASE:
        return !is_ending && step->client != walk->focus && is_waited_for(walk, replayer) ? RARE
                                                                                          : SELDOM;
    case ACTION_INJECT:
        return is_ending || walk->made < walk->strike_at ? 0 : OFTEN;
    case ACTION_TICK:
        return is_held(replayer, -1) ? OFTEN : SELDOM;
    default:
        return OFTEN;
    }
}

static bool is_under_way(struct trace_replayer *replayer)
{
    struct state_space *space = &replayer->space;
    bool is = false;
    for (int i = 0; i < space->config.clients; i++) {
        const uint8_t phase = space_client(space, replayer->words[i])->phase;
        is |= phase != PHASE_IDLE && phase != PHASE_DEAD;
    }
    return is;
}

int long_walk_pick(struct long_walk *walk, struct trace_replayer *replayer)
{
    int at = -1, seen = 0;
    bool is_all_time = true;
    if (walk->made == ALL_STEPS_MAX || (walk->made >= NEW_STEPS_MAX && !is_under_way(replayer)))
        return -1;
    if (walk->refusals < 0)
        choose_focus(walk, replayer->space.config.clients, -1);
    for (int i = 0; i < replayer->count; i++) {
        const int weight = weight_of(walk, replayer, &replayer->steps[i]);
        seen += weight;
        is_all_time &= !weight || replayer->steps[i].kind == ACTION_TICK;
        if (weight && below(walk, seen) < weight)
            at = i;
    }
    if (at < 0 || (is_all_time && !is_under_way(replayer)))
        return -1;
    const struct successor *step = &replayer->steps[at];
    if (step->kind == ACTION_ACQUIRE && step->client == walk->focus &&
        is_held(replayer, step->client))
        walk->refusals--;
    if (step->kind == ACTION_TICK && walk->refusals == 0) /* who was refused asks later, too */
        walk->refusals = below(walk, 2);
    if (long_walk_did(replayer, step) & DID_GRANT)
        choose_focus(walk, replayer->space.config.clients, step->client);
    walk->made++;
    return at;
}

unsigned long_walk_did(struct trace_replayer *replayer, const struct successor *step)
{
    struct state_space *space = &replayer->space;
    if (step->client < 0 || step->kind == ACTION_ARRIVE)
        return 0;
    const struct client_facts *client = space_client(space, replayer->words[step->client]);
    for (uint32_t i = 0; i < client->actions_count; i++) {
        const struct action *action = &space->actions[client->actions_start + i];
        if (action->kind == step->kind && action->message == step->message &&
            action->fault == step->fault && action->ticks == step->ticks)
            return action->did;
    }
    return 0;
}
