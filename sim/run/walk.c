/* walk.c - see walk.h. */
#include "run/walk.h"

#include "base/memory.h"
#include "base/units.h"
#include "scenario/naming.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAIN_MAX = 64 };

void walk_close(struct worker_walk *walk)
{
    free(walk->events);
    memset(walk, 0, sizeof *walk);
}

bool walk_has(const struct worker_walk *walk, enum property property, enum cause cause)
{
    const struct finding *finding = &walk->findings[property];
    return finding->verdict == VERDICT_VIOLATED && finding->cause == cause;
}

struct choice *walk_choices(const struct worker_walk *walk, int *count)
{
    const int moves = walk->count + walk->waits;
    struct choice *choices = memory_new((size_t)moves + 1, sizeof *choices);
    *count = 0;
    for (int i = 0; i < moves; i++)
        if (walk->moves[i].kind == MOVE_CHOICE)
            choices[(*count)++] = walk->moves[i].choice;
    return choices;
}

/* --- what was seen --- */

static bool is_same_event(const struct seen_event *one, const struct seen_event *other)
{
    return one->time_us == other->time_us && one->number == other->number &&
           one->kind == other->kind && one->client == other->client &&
           one->server == other->server && one->op == other->op && one->result == other->result &&
           one->reply == other->reply && one->effects == other->effects &&
           strcmp(one->name, other->name) == 0;
}

static void say_event(const struct worker_walk *walk, int at, char *text, size_t size)
{
    char time[UNITS_TEXT_MAX], who[16] = "";
    if (at >= walk->events_count) {
        (void)snprintf(text, size, "nothing more");
        return;
    }
    const struct seen_event *seen = &walk->events[at];
    if (seen->client >= 0)
        (void)snprintf(who, sizeof who, "%c: ", 'A' + seen->client);
    (void)snprintf(text, size, "%s%s%s%s%s%s at %s", who, event_name((enum event_kind)seen->kind),
                   seen->name[0] ? " " : "", seen->name, seen->result ? ": " : "",
                   seen->result ? result_name((enum result)seen->result) : "",
                   units_print_ms(seen->time_us, time));
}

/* What of two events differs that are told in the same words, or "". */
static const char *hidden_difference(const struct worker_walk *one, const struct worker_walk *other,
                                     int at)
{
    if (at >= one->events_count || at >= other->events_count)
        return "";
    const struct seen_event *first = &one->events[at], *second = &other->events[at];
    if (first->server != second->server)
        return ", of another server";
    if (first->op != second->op)
        return ", of another operation";
    if (first->reply != second->reply || first->number != second->number)
        return ", with another reply";
    if (first->effects != second->effects)
        return ", with other effects";
    return first->time_us != second->time_us ? ", some microseconds apart" : "";
}

bool walk_differs(const struct worker_walk *one, const struct worker_walk *other, char *text,
                  size_t size)
{
    char first[128], second[128];
    int at = 0;
    while (at < one->events_count && at < other->events_count &&
           is_same_event(&one->events[at], &other->events[at]))
        at++;
    if (at == one->events_count && at == other->events_count)
        return false;
    say_event(one, at, first, sizeof first);
    say_event(other, at, second, sizeof second);
    (void)snprintf(text, size, "first \"%s\", then \"%s\"%s", first, second,
                   strcmp(first, second) == 0 ? hidden_difference(one, other, at) : "");
    return true;
}

/* --- one under way --- */

struct walk_recording {
    struct worker_walk *walk;
    struct checks *checks;
    bool is_over;
};

static void note(struct worker_walk *walk, const struct event *event)
{
    struct seen_event seen = {.time_us = event->time_us,
                              .kind = (int)event->kind,
                              .client = event->client,
                              .server = event->server,
                              .op = (int)event->op,
                              .result = (int)event->result,
                              .reply = (int)event->reply.kind};
    if (event->reply.kind == REPLY_INTEGER)
        seen.number = event->reply.value;
    if (event->opaque)
        (void)snprintf(seen.name, sizeof seen.name, "%s", event->opaque->name);
    else if (event->kind == EVENT_FAULT)
        (void)snprintf(seen.name, sizeof seen.name, "%s", fault_name(event->fault));
    for (int i = 0; event->effects && i < event->effects->count; i++)
        seen.effects = seen.effects * DID_COUNT + (int)event->effects->on[i].did + 1;
    const int count = walk->events_count;
    if ((count & (count - 1)) == 0)
        walk->events = memory_resize(walk->events, count ? 2 * (size_t)count : 1, sizeof seen);
    walk->events[walk->events_count++] = seen;
}

static void take(void *context, const struct event *event)
{
    const struct walk_recording *recording = context;
    if (recording->is_over)
        return;
    checks_event(recording->checks, event);
    note(recording->walk, event);
}

void walk_describe(const struct worker_program *program, struct history_head *head)
{
    (void)snprintf(head->server_version, sizeof head->server_version, "%s",
                   program->server_version);
    (void)snprintf(head->program, sizeof head->program, "%.*s", (int)sizeof head->program - 1,
                   program->library);
    head->has_all_commands = true;
    head->has_promises = true;
    head->promises = worker_program_promises(program);
}

struct history_head walk_head(const struct run *run, const struct worker_program *program)
{
    struct history_head head = run_head(run, "redis");
    (void)snprintf(head.scenario, sizeof head.scenario, "explore");
    walk_describe(program, &head);
    return head;
}

/* What stands between two choices, as far as it is seen from outside. */
static uint64_t fingerprint(const struct moves_state *state, struct world *world)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    struct message messages[MESSAGES_MAX];
#define MIX(number) hash = (hash ^ (uint64_t)(number)) * UINT64_C(0x100000001b3)
    for (int i = 0; i < state->run->clients; i++) {
        const struct client_view view = world->ops->client(world, i);
        const int count = world->ops->messages(world, i, messages);
        MIX(view.phase);
        MIX(view.attempt);
        MIX(view.last);
        for (int k = 0; k < count; k++) {
            MIX((int)messages[k].state * 2 + messages[k].is_abandoned + 1);
            MIX(messages[k].reply.kind);
            for (const char *at = naming_command(&messages[k]); *at; at++)
                MIX(*at);
        }
        MIX(UINT8_MAX);
    }
    for (int i = 0; i < state->run->servers; i++)
        MIX(state->reach[i]);
    MIX(state->times);
    MIX(state->pauses_count);
#undef MIX
    return hash;
}

/* What keeps anybody waiting ends; nobody begins anything, and nothing strikes. NULL: there is
 * none.
 */
static const struct move *next_to_end(struct moves_state *state, struct world *world,
                                      struct move *moves)
{
    memset(state->dials_since, -1, sizeof state->dials_since); /* answered at once */
    const int count = moves_list(state, world, moves);
    const struct move *time = NULL;
    for (int i = 0; i < count; i++) {
        const enum choice_kind kind = moves[i].choice.kind;
        if (moves[i].is_due || moves[i].kind == MOVE_GO_ON || kind == CHOICE_REACH ||
            kind == CHOICE_ANSWER_DIALS)
            return &moves[i];
        if (kind == CHOICE_TIME)
            time = &moves[i];
    }
    return state->is_waiting_out ? time : NULL;
}

/* So that no operation is left pending: a worker that is asked nothing can be reset. */
static void drain(struct moves_state *state, struct world *world, struct move *moves)
{
    struct failure ignored;
    const struct move *move;
    bool is_made;
    state->is_waiting_out = false;
    for (int i = 0; i < DRAIN_MAX && (move = next_to_end(state, world, moves)); i++)
        if (moves_make(state, world, move, &is_made, &ignored))
            return;
}

static int find_waiting(const struct moves_state *state, struct world *world)
{
    for (int i = 0; i < state->run->clients; i++)
        if (world->ops->client(world, i).is_kept_waiting)
            return i;
    return -1;
}

/* An operation that is pending is no end of a run: its time-out may be far, or there is none. */
static enum fail wait_out(struct moves_state *state, struct world *world, struct move *moves,
                          struct walk_recording *recording, unsigned known, struct failure *failure)
{
    struct worker_walk *walk = recording->walk;
    int client;
    state->is_waiting_out = true;
    while (!(checks_violated(recording->checks) & ~known) &&
           (client = find_waiting(state, world)) >= 0) {
        const struct move *move = next_to_end(state, world, moves);
        bool is_made;
        if (!move || walk->waits == WALK_WAITS_MAX)
            return failure_set(failure, FAIL_UNKNOWN,
                               "%s waits for what does not come, and whether that ends by itself "
                               "was not seen in %d steps of its process's timers: give its "
                               "commands a time-out",
                               state->run->names[client], walk->waits);
        if (moves_make(state, world, move, &is_made, failure))
            return failure->code;
        walk->moves[walk->count + walk->waits++] = *move;
    }
    return FAIL_NONE;
}

static enum fail go(const struct walk_maker *walker, struct picker *picker, struct world *world,
                    struct walk_recording *recording, struct failure *failure)
{
    struct worker_walk *walk = recording->walk;
    struct moves_state state;
    struct move *moves = memory_new(MOVES_MAX, sizeof *moves);
    enum fail fail = FAIL_NONE;
    struct moves_bounds bounds = walker->bounds;
    bounds.has_extends = worker_program_is_told_to_extend(walker->program);
    bounds.has_cancels = worker_program_is_cancelled(walker->program);
    moves_begin(&state, walker->run, &bounds, walker->budget);
    while (!fail && walk->count < WALK_MOVES_MAX) {
        const int count = moves_list(&state, world, moves);
        const int at = count ? picker->pick(picker, moves, count) : -1;
        bool is_made;
        if (at < 0)
            break;
        fail = moves_make(&state, world, &moves[at], &is_made, failure);
        if (fail || !is_made)
            continue;
        walk->moves[walk->count++] = moves[at];
        walk->faults += moves[at].fault != FAULT_NONE;
        if (walker->state)
            walker->state(walker->context, fingerprint(&state, world));
        if (checks_violated(recording->checks) & ~walker->known)
            break;
    }
    if (!fail && walker->is_patient)
        fail = wait_out(&state, world, moves, recording, walker->known, failure);
    recording->is_over = true;
    if (!fail) {
        checks_finish(recording->checks, world->ops->now_us(world), walk->findings, NULL);
        drain(&state, world, moves);
    }
    free(moves);
    return fail;
}

enum fail walk_make(const struct walk_maker *walker, struct picker *picker, bool is_fresh,
                    struct worker_walk *walk, struct failure *failure)
{
    struct walk_recording recording = {.walk = walk};
    struct run run = *walker->run;
    struct world *world;
    memset(walk, 0, sizeof *walk);
    run.sink = (struct event_sink){.take = take, .context = &recording};
    const unsigned fresh = is_fresh ? (1u << run.clients) - 1 : FRESH_NOBODY;
    enum fail fail = kept_workers_world(walker->kept, &world, &run, fresh, failure);
    if (fail)
        return fail;
    const struct history_head head = walk_head(&run, walker->program);
    recording.checks = checks_new_for(&head, NULL);
    fail = go(walker, picker, world, &recording, failure);
    checks_free(recording.checks);
    world->ops->free(world);
    if (!fail)
        fail = kept_workers_check_past(walker->kept, failure);
    if (fail)
        kept_workers_drop(walker->kept);
    /* It was ready, and then ended, or said what is no answer: so much of this run alone. */
    if (fail == FAIL_INPUT)
        fail = failure->code = FAIL_UNKNOWN;
    return fail;
}
