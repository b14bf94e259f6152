/* apply.c - see apply.h. */
#include "explore/graph/apply.h"

#include "explore/graph/properties.h"

#include <string.h>

static inline void step_open(struct expansion *it, const struct action *action, int client,
                             int server)
{
    struct successor *step = &it->step;
    step->kind = action->kind;
    step->client = client;
    step->server = server;
    step->message = action->message;
    step->fault = action->fault;
    step->ticks = action->ticks;
    step->violated = 0;
    it->did = action->did;
    it->observed = 0;
    step->is_grant = step->is_unsupported = false;
    step->is_tick = action->kind == ACTION_TICK || it->has_waited;
    words_copy(step->words, it->words, it->words_even);
    if (action->kind == ACTION_INJECT)
        *budget_of(it->space, step->words) -=
            1u << (BUDGET_BITS * it->successors->slot_of[action->fault]);
}

static struct fence_client fence_client(struct expansion *it, int client)
{
    const struct client_facts before = *space_client(it->space, it->words[client]);
    const struct client_facts after = *space_client(it->space, it->step.words[client]);
    return (struct fence_client){
        .is_owner = properties_is_owner(it->space, it->step.words, client),
        .may_hold = after.phase == PHASE_ACQUIRING,
        .may_write = after.phase == PHASE_ACQUIRING || after.may_write,
        .may_write_before = after.may_write_before,
        .has_swapped = it->step.kind == ACTION_ARRIVE && after.has_swapped && !before.has_swapped,
    };
}

/* The fence order of grants follows the step; returns what is violated by it. */
static unsigned step_fences(struct expansion *it)
{
    const struct successor *step = &it->step;
    struct fence_step fences = {.client = step->client,
                                .begins = step->kind == ACTION_ACQUIRE,
                                .is_granted = step->is_grant,
                                .observed = it->observed,
                                .forgets = it->did & DID_FORGET};
    if (step->is_grant)
        fences.fence = space_client(it->space, step->words[step->client])->fence;
    for (int i = 0; i < it->space->config.clients; i++)
        fences.clients[i] = fence_client(it, i);
    bool is_violated = space_follow(it->space, space_fences_of(it->space, it->step.words), &fences);
    return is_violated ? 1u << PROPERTY_FENCE_ORDER : 0;
}

bool apply_has_risky_server(const struct expansion *it, const uint32_t *words)
{
    const struct config *config = &it->space->config;
    for (int s = 0; s < config->servers && (config->has_replica || config->saves); s++)
        if (space_server(it->space, words[config->clients + s])->has_delayed)
            return true;
    return false;
}

bool apply_wants_every_order(const struct expansion *it, const uint32_t *words)
{
    const struct config *config = &it->space->config;
    for (int s = 0; s < config->servers; s++)
        if (space_server_facts(it->space, words[config->clients + s])->reach != REACH_OPEN)
            return true;
    return words[space_words(it->space) - 1] & it->successors->dependent_budgets;
}

/* What stands for the state after the step. */
static void step_represent(struct expansion *it)
{
    uint32_t *words = it->step.words;
    bool may_be_struck = *budget_of(it->space, words) & it->successors->reply_budgets;
    bool may_be_lost = apply_has_risky_server(it, words);
    partial_order_hooks.represent(it->space, words, !may_be_struck && !may_be_lost);
}

static void step_owner(struct expansion *it)
{
    uint32_t *budget = budget_of(it->space, it->step.words);
    bool is_client = it->owner != OWNER_NOBODY && it->owner != OWNER_TIME;
    int owner = is_client ? it->step.new_position[it->owner - 1] + 1 : it->owner;
    *budget = persistent_with_owner(*budget, owner);
}

uint32_t apply_affordable(const struct expansion *it, uint32_t budget)
{
    uint32_t faults = 0;
    for (int i = 0; i < FAULT_COUNT && persistent_with_owner(budget, OWNER_NOBODY); i++) {
        int slot = it->successors->slot_of[i];
        faults |= (uint32_t)(slot >= 0 && budget >> (BUDGET_BITS * slot) & BUDGET_MASK) << i;
    }
    return faults;
}

/* Goes on from the state after the step, as part of the same step. */
static void step_on(const struct expansion *it, const struct selection *selections, int count)
{
    for (int i = 0; i < count; i++) {
        struct expansion next = *it;
        next.words = it->step.words;
        next.violated_before |= it->step.violated;
        next.has_granted |= it->step.is_grant;
        next.has_waited |= it->step.is_tick;
        apply_selection(&next, &selections[i]);
    }
}

static void step_towards_disconnect(const struct expansion *it, uint32_t faults)
{
    struct selection selections[DISCONNECT_SELECTIONS_MAX];
    int count = partial_order_hooks.select_before_disconnect(
        it->space, it->step.words, faults, it->pending_disconnect, it->owner, selections);
    step_on(it, selections, count);
}

/* False: the state after the step is one to be kept. */
static bool is_stepped_over(struct expansion *it)
{
    struct selection only;
    uint32_t *words = it->step.words, *budget = budget_of(it->space, words);
    uint32_t faults = apply_affordable(it, *budget);
    *budget = persistent_with_owner(*budget, it->owner);
    if (it->pending_disconnect >= 0) {
        step_towards_disconnect(it, faults);
        return true;
    }
    if (it->step.kind == ACTION_INJECT || apply_wants_every_order(it, words) ||
        !partial_order_hooks.select_only(it->space, words, faults, &only))
        return false;
    step_on(it, &only, 1);
    return true;
}

/* The key is there after the step: nobody who asks then finds the lock free all along. */
static void step_take(struct expansion *it)
{
    if (!properties_is_key_there(it->space, it->step.words))
        return;
    for (int i = 0; i < it->space->config.clients; i++)
        it->step.words[i] = space_take(it->space, it->step.words[i]);
}

static inline void step_close(struct expansion *it)
{
    if (it->space->config.judges_guesses)
        step_take(it);
    if (it->space->config.has_partial_order) {
        uint32_t *budget = budget_of(it->space, it->step.words);
        *budget = persistent_with_owner(*budget, OWNER_NOBODY);
        step_represent(it);
        it->step.violated |= properties_of_state(it->space, it->step.words) | it->violated_before;
        it->step.is_grant |= it->has_granted;
        if (is_stepped_over(it))
            return;
    }
    if (space_has_fences(it->space))
        it->step.violated |= step_fences(it);
    it->step.violated |= properties_of_state(it->space, it->step.words);
    if (it->is_sorted)
        symmetry_hooks.step(&it->symmetry, it->step.words, it->step.new_position,
                            it->step.new_number);
    else
        symmetry_hooks.stay(it->step.new_position, it->step.new_number);
    if (it->space->config.has_partial_order)
        step_owner(it);
    it->successors->take(it->successors->context, &it->step);
}

/* A scheme with stamps claims by GETSET, and its acquire's return decides. */
static void step_return(struct expansion *it, int client, unsigned did)
{
    const struct client_facts *before = space_client(it->space, it->words[client]);
    if (!(did & (DID_GRANT | DID_RETURN)) || before->phase != PHASE_ACQUIRING ||
        !it->space->config.scheme->uses_client_clock)
        return;
    enum ghost_return how = did & DID_GRANT    ? RETURN_GRANTED
                            : did & DID_REFUSE ? RETURN_REFUSED
                                               : RETURN_OTHER;
    uint32_t *server_state = &it->step.words[it->space->config.clients];
    *server_state = space_return(it->space, it->words[client], client, how, *server_state);
}

static void step_disconnect(struct expansion *it, int client, int server)
{
    const struct config *config = &it->space->config;
    for (int s = 0; s < config->servers; s++) {
        uint32_t *server_state = &it->step.words[config->clients + s];
        if ((server == NO_SERVER || server == s) &&
            space_server_facts(it->space, *server_state)->is_watched)
            *server_state = space_disconnect(it->space, *server_state, client);
    }
}

/* A clean refusal is free: the attempt is made again. One that left a key behind was not clean, be
 * it with a replica that was cut off meanwhile, and the next attempt has another token than that
 * key. */
static void step_refused(struct expansion *it, int client)
{
    const struct config *config = &it->space->config;
    uint8_t rounds = space_client(it->space, it->words[client])->rounds;
    uint32_t *after = &it->step.words[client];
    if (config->scheme->uses_client_clock || space_client(it->space, *after)->rounds == rounds)
        return;
    for (int s = 0; s < config->servers; s++) {
        if (!server_has_key_of(space_server_facts(it->space, it->words[config->clients + s]),
                               client, rounds))
            continue;
        *after = space_spend_round(it->space, *after);
        return;
    }
}

/* The server that keeps the counter forgot its keys. */
static void step_forget(struct expansion *it)
{
    const struct config *config = &it->space->config;
    for (int i = 0; i < config->clients; i++)
        it->step.words[i] = space_recount(it->space, it->step.words[i], RECOUNT_FORGOTTEN);
}

void apply_client(struct expansion *it, int client, const struct action *action)
{
    const struct config *config = &it->space->config;
    struct successor *step = &it->step;
    step_open(it, action, client, action->server);
    if (action->kind == ACTION_ARRIVE) {
        uint32_t *server_state = &step->words[config->clients + action->server];
        it->observed =
            space_arrive(it->space, &step->words[client], action->message, server_state, client);
        step->violated = properties_of_execution(config, it->observed);
        if (it->observed & COUNTER_WRITTEN)
            space_recount_others(it->space, step->words, client);
        step_close(it);
        return;
    }
    step->words[client] = action->to;
    step->is_grant = action->did & DID_GRANT;
    step->is_unsupported = action->did & DID_UNSUPPORTED;
    if (action->did & DID_DISCONNECT)
        step_disconnect(it, client, action->server);
    if (action->did & (DID_GRANT | DID_RETURN)) {
        step->violated = properties_of_return(it->space, it->words, client, action->did);
        step_return(it, client, action->did);
    } else if (action->did & (DID_EXTEND | DID_NOT_MINE))
        step->violated |= properties_of_extend(it->space, it->words, client, action->did);
    if (action->did & DID_REFUSE)
        step_refused(it, client);
    if (action->did & DID_STRAND)
        step->violated |= 1u << PROPERTY_PROGRESS;
    step_close(it);
}

/* Who acquires it yet, or holds it, has what the server has brought back. */
static bool is_kept_yet(struct expansion *it, int client, int server)
{
    const uint8_t phase = space_client(it->space, it->words[client])->phase;
    return (phase == PHASE_ACQUIRING || phase == PHASE_HOLDING) &&
           properties_brings_back(it->space, it->words, it->step.words, client, server);
}

/* before: bit a client that hears the server just before that. */
static void step_server_after(struct expansion *it, int server, const struct action *action,
                              unsigned before)
{
    const struct config *config = &it->space->config;
    const enum server_reach reach = space_server_facts(it->space, action->to)->reach;
    step_open(it, action, -1, server);
    uint32_t *server_state = &it->step.words[config->clients + server];
    *server_state = action->to;
    for (int i = 0; i < config->clients && action->did & DID_FORGET; i++)
        if (is_kept_yet(it, i, server))
            *server_state = space_note_kept(it->space, *server_state);
    for (int i = 0; i < config->clients; i++) {
        uint32_t *client_state = &it->step.words[i];
        if (before >> i & 1)
            *client_state = partial_order_hooks.hear_server(it->space, *client_state, server);
        if (action->did & DID_DISCONNECT)
            *client_state = space_break(
                it->space, *client_state, server,
                properties_brings_back(it->space, it->words, it->step.words, i, server));
        if (action->did & DID_REACH)
            *client_state = space_reach(it->space, *client_state, server, reach);
    }
    if (action->did & DID_FORGET && config->section == SECTION_COUNTER && server == SERVER_ONE)
        step_forget(it);
    step_close(it);
}

void apply_server(struct expansion *it, int server, const struct action *action)
{
    const struct config *config = &it->space->config;
    const bool hits_all_replies = action->did & (DID_DISCONNECT | DID_REACH);
    unsigned waiting = 0; /* bit a client that may hear it first */
    for (int i = 0; config->has_partial_order && hits_all_replies && i < config->clients; i++)
        waiting |= (unsigned)(partial_order_hooks.hear_server(it->space, it->words[i], server) !=
                              it->words[i])
                   << i;
    unsigned before = 0;
    do {
        step_server_after(it, server, action, before);
        before = (before - waiting) & waiting; /* the next subset */
    } while (before != 0);
}

/* Stamps so long past that no comparison can tell how long stay where they are; else they would
 * grow old for ever. */
static bool are_stamps_kept(struct expansion *it)
{
    const struct config *config = &it->space->config;
    int newest = -1;
    if (!config->scheme->uses_client_clock)
        return false;
    for (int i = 0; i < config->clients + config->servers; i++) {
        int past = i < config->clients ? space_client(it->space, it->words[i])->newest_past
                                       : space_server_facts(it->space, it->words[i])->newest_past;
        if (past >= 0 && (newest < 0 || past < newest))
            newest = past;
    }
    return newest >= config->past;
}

/* A timer that is due, but for less than a tick, rings before that: nobody was late yet. */
static bool is_on_time(const struct expansion *it)
{
    const uint32_t budget = it->words[space_words(it->space) - 1];
    bool is_early = false;
    for (int i = 0; i < it->space->config.clients; i++)
        is_early |= space_client(it->space, it->words[i])->is_early;
    return is_early && (budget & it->successors->delay_budgets) == it->successors->delays_at_first;
}

void apply_time(struct expansion *it)
{
    static const struct action tick = {.kind = ACTION_TICK, .message = -1, .fault = FAULT_NONE};
    const struct config *config = &it->space->config;
    for (int s = 0; s < config->servers; s++)
        if (space_server_facts(it->space, it->words[config->clients + s])->must_be_back)
            return;
    if (is_on_time(it))
        return;
    bool kept = are_stamps_kept(it);
    step_open(it, &tick, -1, -1);
    for (int i = 0; i < config->clients; i++)
        it->step.words[i] = space_age_client(it->space, it->words[i], kept);
    for (int i = config->clients; i < config->clients + config->servers; i++)
        it->step.words[i] = space_age_server(it->space, it->words[i], kept);
    step_close(it);
}

void apply_selection(struct expansion *it, const struct selection *selection)
{
    const struct action action = it->space->actions[selection->action];
    it->owner = selection->owner;
    it->pending_disconnect = selection->pending_disconnect;
    if (selection->client >= 0)
        apply_client(it, selection->client, &action);
    else
        apply_server(it, selection->server, &action);
}
