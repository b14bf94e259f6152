/* witness.c - see witness.h. The way is found backwards by parents, then walked forwards again: the
 * step to take is the one that leads to the next state of the path. Clients and servers keep their
 * names although states are sorted. */
#include "explore/search/witness.h"

#include "base/memory.h"
#include "explore/search/schedule.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Whoever is under way goes on; then time passes, for as long as progress allows; then somebody
 * asks again, in vain. */
enum rank { RANK_UNDER_WAY, RANK_PAST_WAITING, RANK_ASK, RANK_WAIT, RANK_NEVER };

/* Walking forwards. */
struct walk {
    struct search *search;
    struct explore_finding *finding;
    int size;            /* of finding->choices */
    struct trace *trace; /* NULL: not wanted */
    uint32_t words[WORDS_MAX];
    uint8_t name_of[EXPLORE_CLIENTS_MAX]; /* by position */
    uint8_t server_of[SERVERS_MAX];
    /* What is looked for, and what was found. */
    uint32_t wanted; /* state, or STATE_NONE: the wanted_step-th step */
    int wanted_step, step;
    bool is_found;
    struct successor found;
    enum rank rank; /* of found, while a stuck state is shown */
    bool has_waited, has_asked;
};

static void add(struct walk *walk, const struct choice *choice)
{
    struct explore_finding *finding = walk->finding;
    if (finding->choices_count == walk->size) {
        walk->size = walk->size ? walk->size * 2 : 32;
        finding->choices =
            memory_resize(finding->choices, (size_t)walk->size, sizeof *finding->choices);
    }
    finding->choices[finding->choices_count++] = *choice;
}

static void add_step(struct walk *walk, const struct successor *step)
{
    struct choice choices[TRANSLATED_MAX];
    int count = translate_step(&walk->search->space, walk->words, step, choices);
    for (int i = 0; i < count; i++) {
        if (choices[i].client >= 0)
            choices[i].client = walk->name_of[choices[i].client];
        if (choices[i].server >= 0)
            choices[i].server = walk->server_of[choices[i].server];
        add(walk, &choices[i]);
    }
}

static void add_label(struct walk *walk, const struct successor *step)
{
    struct event_label label = label_of(&walk->search->space, walk->words, step);
    if (label.client >= 0)
        label.client = walk->name_of[label.client];
    if (label.server >= 0)
        label.server = walk->server_of[label.server];
    trace_add(walk->trace, &label);
}

/* --- walking --- */

static void walk_take(void *context, const struct successor *step)
{
    struct walk *walk = context;
    const struct fingerprint_set *visited = &walk->search->visited;
    bool is_it = walk->wanted == STATE_NONE
                     ? walk->step == walk->wanted_step
                     : fingerprint_set_find(visited, fingerprint_of(visited, step->words),
                                            step->words) == walk->wanted;
    if (is_it && !walk->is_found) {
        walk->is_found = true;
        walk->found = *step;
    }
    walk->step++;
}

/* Makes the step that was found. */
static void take_step(struct walk *walk)
{
    const struct successor *step = &walk->found;
    uint8_t names[EXPLORE_CLIENTS_MAX], servers[SERVERS_MAX];
    add_step(walk, step);
    if (walk->trace)
        add_label(walk, step);
    walk->finding->events++;
    walk->finding->faults += step_is_fault(step);
    memcpy(names, walk->name_of, sizeof names);
    memcpy(servers, walk->server_of, sizeof servers);
    for (int i = 0; i < EXPLORE_CLIENTS_MAX; i++)
        walk->name_of[step->new_position[i]] = names[i];
    for (int i = 0; i < SERVERS_MAX; i++)
        walk->server_of[step->new_number[i]] = servers[i];
    memcpy(walk->words, step->words, sizeof walk->words);
}

static void go(struct walk *walk)
{
    walk->step = 0;
    walk->is_found = false;
    successors_expand(&walk->search->successors, walk->words);
    assert(walk->is_found);
    take_step(walk);
}

static void walk_open(struct walk *walk, struct search *search, struct explore_finding *finding)
{
    memset(walk, 0, sizeof *walk);
    walk->search = search;
    walk->finding = finding;
    for (int i = 0; i < EXPLORE_CLIENTS_MAX; i++)
        walk->name_of[i] = (uint8_t)i;
    for (int i = 0; i < SERVERS_MAX; i++)
        walk->server_of[i] = (uint8_t)i;
    search->successors.take = walk_take;
    search->successors.context = walk;
    successors_start(&search->successors, search->options, walk->words);
}

/* --- what shows that a state is stuck --- */

/* An acquire that goes on trying shows it when it has tried a few times more. */
enum { SHOWN_STEPS_MAX = 200, SHOWN_TICKS_MAX = 12 };

static enum rank rank_of(const struct walk *walk, const struct successor *step)
{
    /* A server that is out of reach shows nothing: it must be back first. */
    if (step->kind == ACTION_DELAYED &&
        fault_effect((enum fault)step->fault) == FAULT_PUTS_OUT_OF_REACH)
        return RANK_UNDER_WAY;
    if (step->kind == ACTION_INJECT || step->kind == ACTION_DELAYED)
        return RANK_NEVER;
    if (step->kind == ACTION_TICK)
        return walk->has_waited ? RANK_WAIT : RANK_PAST_WAITING;
    if (step->kind != ACTION_ACQUIRE)
        return RANK_UNDER_WAY;
    return walk->has_asked ? RANK_NEVER : RANK_ASK;
}

static void show_take(void *context, const struct successor *step)
{
    struct walk *walk = context;
    enum rank rank = rank_of(walk, step);
    if (rank < walk->rank) {
        walk->rank = rank;
        walk->found = *step;
    }
}

/* Ticks after which somebody asks. What never goes is waited for longer than anything lasts. */
static int waits_of(const struct search *search, uint32_t state)
{
    const struct config *config = &search->space.config;
    return search->waits[state] == WAIT_ENDLESS ? 3 * config->ttl + 3 : config->progress_ticks;
}

static bool is_acquiring(const struct walk *walk)
{
    struct state_space *space = &walk->search->space;
    for (int i = 0; i < space->config.clients; i++)
        if (space_client(space, walk->words[i])->phase == PHASE_ACQUIRING)
            return true;
    return false;
}

static void show_stuck(struct walk *walk, uint32_t state)
{
    int waits = waits_of(walk->search, state), tries = SHOWN_TICKS_MAX;
    int events = walk->finding->events;
    walk->search->successors.take = show_take;
    for (int i = 0; i < SHOWN_STEPS_MAX; i++) {
        walk->rank = RANK_NEVER;
        successors_expand(&walk->search->successors, walk->words);
        bool is_over =
            walk->has_asked && walk->rank == RANK_WAIT && (!is_acquiring(walk) || tries-- == 0);
        if (walk->rank == RANK_NEVER || is_over)
            break;
        walk->has_asked |= walk->rank == RANK_ASK;
        if (walk->found.kind == ACTION_TICK)
            walk->has_waited = --waits <= 0;
        take_step(walk);
    }
    walk->finding->events = events;
}

/* Makes every step of the path, but for what shows that its end is stuck. */
static void walk_way(struct walk *walk, const struct violation *violation)
{
    const struct fingerprint_set *visited = &walk->search->visited;
    uint32_t length = 0;
    for (uint32_t i = violation->state; i != STATE_NONE; i = fingerprint_set_parent(visited, i))
        length++;
    uint32_t *way = memory_new(length, sizeof *way);
    uint32_t at = length;
    for (uint32_t i = violation->state; i != STATE_NONE; i = fingerprint_set_parent(visited, i))
        way[--at] = i;
    for (uint32_t i = 1; i < length; i++) {
        walk->wanted = way[i];
        go(walk);
    }
    free(way);
    if (violation->step < 0)
        return;
    walk->wanted = STATE_NONE;
    walk->wanted_step = violation->step;
    go(walk);
}

void witness_build(struct search *search, const struct violation *violation,
                   struct explore_finding *finding)
{
    struct walk walk;
    walk_open(&walk, search, finding);
    walk_way(&walk, violation);
    if (violation->step >= 0)
        return;
    finding->is_endless = search->waits[violation->state] == WAIT_ENDLESS;
    show_stuck(&walk, violation->state);
}

void witness_trace(struct search *search, const struct violation *violation, struct trace *trace)
{
    struct explore_finding finding = {0};
    struct walk walk;
    walk_open(&walk, search, &finding);
    walk.trace = trace;
    walk_way(&walk, violation);
    free(finding.choices);
}
