/* strategy.c - see strategy.h. */
#include "explore/search/strategy.h"

#include "explore/model/faults/fault.h"

#include <string.h>

enum { MILLION = 1000000 };

/* Odd constants keep equal numbers in different places apart. */
enum stream_use { USE_STEP = 1, USE_TIME };

/* --- the start of a run --- */

/* Where in a run something strikes. */
static int draw_instant(struct strategy_run *run, int length)
{
    return (int)random_below(&run->random, (uint64_t)length);
}

static void draw_faults(struct strategy_run *run, const struct explore_options *options, int length)
{
    static const uint32_t chances[] = {MILLION, MILLION / 4, MILLION / 16};
    run->fault_chance = chances[random_below(&run->random, sizeof chances / sizeof *chances)];
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (options->budget[i] == 0)
            continue;
        run->is_off[i] = random_below(&run->random, 2) == 0;
        for (int k = 0; k < options->budget[i] && !run->is_off[i]; k++) {
            run->injection_faults[run->injections_count] = i;
            run->injections[run->injections_count++] = draw_instant(run, length);
        }
    }
}

/* A random order of all actors. */
static void draw_ranks(struct strategy_run *run)
{
    for (int i = 0; i < ACTORS; i++) {
        int with = (int)random_below(&run->random, (uint64_t)i + 1);
        run->rank[i] = run->rank[with];
        run->rank[with] = i;
    }
}

static void draw_changes(struct strategy_run *run, int length)
{
    run->changes_count =
        CHANGES_MIN + (int)random_below(&run->random, CHANGES_MAX - CHANGES_MIN + 1);
    for (int i = 0; i < run->changes_count; i++)
        run->changes[i] = draw_instant(run, length);
}

void strategy_begin(struct strategy_run *run, enum strategy strategy,
                    const struct explore_options *options, const struct config *config,
                    struct random random, int length)
{
    memset(run, 0, sizeof *run);
    run->strategy = strategy;
    run->random = random;
    run->ttl = config->ttl;
    run->stalls_long = random_below(&run->random, 2) == 0;
    draw_faults(run, options, length);
    draw_ranks(run);
    draw_changes(run, length);
}

/* --- choosing --- */

/* May the step be made in this run, and does it change anything? */
static bool strategy_allows(const struct strategy_run *run, const struct trace_replayer *replayer,
                            const struct successor *step)
{
    if (step_is_fault(step) && run->is_off[step->fault])
        return false;
    size_t words = (size_t)space_words(&replayer->space);
    return memcmp(step->words, replayer->words, words * sizeof *step->words) != 0;
}

struct wanted {
    bool has_faults; /* also steps that cost one */
    int fault;       /* only those that cost this one; FAULT_NONE: any */
    int actor;       /* only this one's; -1: anybody's */
    const bool *is_new;
};

static bool is_wanted(const struct strategy_run *run, const struct trace_replayer *replayer, int at,
                      const struct wanted *wanted)
{
    const struct successor *step = &replayer->steps[at];
    const struct event_label who = {.client = step->client, .server = step->server};
    if (!strategy_allows(run, replayer, step))
        return false;
    if (wanted->fault != FAULT_NONE ? !step_is_fault(step) || step->fault != wanted->fault
                                    : step_is_fault(step) && !wanted->has_faults)
        return false;
    if (wanted->actor >= 0 && label_actor(&who) != wanted->actor)
        return false;
    return !wanted->is_new || wanted->is_new[at];
}

/* Any of the steps that are wanted, each as likely; -1: there is none. */
static int pick_any(struct strategy_run *run, const struct trace_replayer *replayer,
                    const struct wanted *wanted)
{
    uint64_t count = 0;
    for (int i = 0; i < replayer->count; i++)
        count += is_wanted(run, replayer, i, wanted);
    if (count == 0)
        return -1;
    uint64_t nth = random_below(&run->random, count);
    for (int i = 0; i < replayer->count; i++)
        if (is_wanted(run, replayer, i, wanted) && nth-- == 0)
            return i;
    return -1;
}

/* A step keeps its priority until a step was made that it depends on: of the same client, or at the
 * same server, or a tick. */
static uint64_t priority_of(const struct strategy_run *run, const struct successor *step)
{
    bool is_at_server = step->server >= 0 && (step->kind == ACTION_ARRIVE || step->client < 0);
    uint64_t turn = run->time_turn, use = step->kind == ACTION_TICK ? USE_TIME : USE_STEP;
    if (step->client >= 0)
        turn += run->client_turn[step->client];
    if (is_at_server)
        turn += (uint64_t)run->server_turn[step->server] << 16;
    if (use == USE_TIME) /* everything depends on time, and time on everything */
        turn = (uint64_t)run->made;
    uint64_t name = (uint64_t)step->kind << 28 | (uint64_t)(step->client + 1) << 16 |
                    (uint64_t)(step->server + 1) << 8 | (uint64_t)(step->message & 0xff) |
                    (uint64_t)(step->fault & 0x3f) << 22;
    return random_at(run->random.seed, run->random.stream << 8 | use, turn << 32 | name);
}

static int pick_priority(struct strategy_run *run, const struct trace_replayer *replayer,
                         const struct wanted *wanted)
{
    int best = -1;
    uint64_t most = 0;
    for (int i = 0; i < replayer->count; i++) {
        uint64_t priority = priority_of(run, &replayer->steps[i]);
        if (!is_wanted(run, replayer, i, wanted) || (best >= 0 && priority <= most))
            continue;
        best = i;
        most = priority;
    }
    return best;
}

/* --- stalls --- */

/* Nothing but the time that passes: it is no choice of a schedule. */
static bool is_pause(const struct successor *step)
{
    return step_is_fault(step) && fault_text((enum fault)step->fault).count == 0;
}

static void give_way(struct strategy_run *run, int actor)
{
    run->rank[actor] = --run->lowest;
}

/* A fault whose time has come strikes as soon as it can. */
static int pick_injection(struct strategy_run *run, const struct trace_replayer *replayer)
{
    for (int i = 0; i < run->injections_count; i++) {
        if (run->injections[i] > run->made)
            continue;
        const struct wanted wanted = {.fault = run->injection_faults[i], .actor = -1};
        int at = pick_any(run, replayer, &wanted);
        if (at < 0)
            continue;
        run->injections[i] = run->injections[--run->injections_count];
        run->injection_faults[i] = run->injection_faults[run->injections_count];
        return at;
    }
    return -1;
}

/* The highest actor, but time, that can do anything without a fault; -1: nobody. */
static int highest(const struct strategy_run *run, const struct trace_replayer *replayer)
{
    int best = -1;
    for (int i = 0; i < replayer->count; i++) {
        const struct successor *step = &replayer->steps[i];
        const struct event_label who = {.client = step->client, .server = step->server};
        int actor = label_actor(&who);
        if (actor == ACTOR_TIME || step_is_fault(step) || !strategy_allows(run, replayer, step))
            continue;
        if (best < 0 || run->rank[actor] > run->rank[best])
            best = actor;
    }
    return best;
}

static bool is_change(struct strategy_run *run)
{
    for (int i = 0; i < run->changes_count; i++)
        if (run->changes[i] == run->made)
            return true;
    return false;
}

static int pick_tick(struct strategy_run *run, const struct trace_replayer *replayer)
{
    return pick_any(run, replayer, &(struct wanted){.fault = FAULT_NONE, .actor = ACTOR_TIME});
}

static int pick_stalls(struct strategy_run *run, const struct trace_replayer *replayer)
{
    int struck = pick_injection(run, replayer), actor = highest(run, replayer);
    if (struck >= 0)
        return struck;
    if (actor >= 0 && is_change(run)) {
        give_way(run, actor);
        run->ticks_owed = run->ttl + 1;
        actor = highest(run, replayer);
    }
    int passing = run->ticks_owed > 0 || actor < 0 ? pick_tick(run, replayer) : -1;
    if (passing >= 0 || actor < 0)
        return passing;
    return pick_any(run, replayer, &(struct wanted){.fault = FAULT_NONE, .actor = actor});
}

/* --- all of them --- */

int strategy_pick(struct strategy_run *run, const struct trace_replayer *replayer,
                  const bool *is_new)
{
    struct wanted wanted = {.fault = FAULT_NONE, .actor = -1};
    bool is_due = run->stalls_long && run->ticks_owed > 0 && run->strategy != STRATEGY_STALLS;
    int at = is_due ? pick_tick(run, replayer) : -1;
    if (at >= 0)
        return at;
    wanted.has_faults = random_chance(&run->random, run->fault_chance);
    switch (run->strategy) {
    case STRATEGY_STALLS:
        return pick_stalls(run, replayer);
    case STRATEGY_PRIORITIES:
        at = pick_priority(run, replayer, &wanted);
        break;
    case STRATEGY_NOVELTY:
        wanted.is_new = is_new;
        at = pick_any(run, replayer, &wanted);
        wanted.is_new = NULL;
        break;
    default:
        break;
    }
    return at >= 0 ? at : pick_any(run, replayer, &wanted);
}

void strategy_made(struct strategy_run *run, const struct successor *step, bool is_back)
{
    const struct event_label who = {.client = step->client, .server = step->server};
    int actor = label_actor(&who);
    run->made++;
    if (step->client >= 0)
        run->client_turn[step->client]++;
    if (step->server >= 0)
        run->server_turn[step->server]++;
    if (step->kind == ACTION_TICK) {
        run->time_turn++;
        run->ticks_owed -= run->ticks_owed > 0;
    }
    if (is_pause(step))
        run->ticks_owed = run->ttl + 1;
    /* Who goes round in circles, or has just stalled, lets the others go on. */
    if (is_back || is_pause(step))
        give_way(run, actor);
}
