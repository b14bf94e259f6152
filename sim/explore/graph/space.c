/* space.c - see space.h. */
#include "explore/graph/space.h"

#include "base/memory.h"
#include "explore/model/declared.h"
#include "explore/model/faults/fault.h"
#include "world/contract.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FACTS_FIRST = 1024 };

void space_init(struct state_space *space, const struct explore_options *options)
{
    memset(space, 0, sizeof *space);
    config_init(&space->config, options);
    fault_prepare(&space->config, options);
    space->words = options->clients + options->servers + space_has_fences(space) + 1;
    space->can_states_be_wrong = options->scheme->promises_notice;
    intern_init(&space->client_states);
    intern_init(&space->server_states);
    intern_init(&space->fences);
    for (int i = 0; i < MEMO_COUNT; i++)
        memo_init(&space->memos[i]);
    projections_init(&space->projections, options->servers);
    successor_cache_init(&space->cache, options->clients);
    space->client_facts_size = space->server_facts_size = space->actions_size = FACTS_FIRST;
    space->client_facts = memory_new(space->client_facts_size, sizeof *space->client_facts);
    space->server_facts = memory_new(space->server_facts_size, sizeof *space->server_facts);
    space->actions = memory_new(space->actions_size, sizeof *space->actions);
    space->enabled = memory_new(ACTIONS_MAX, sizeof *space->enabled);
}

void space_close(struct state_space *space)
{
    intern_close(&space->client_states);
    intern_close(&space->server_states);
    intern_close(&space->fences);
    for (int i = 0; i < MEMO_COUNT; i++)
        memo_close(&space->memos[i]);
    projections_close(&space->projections);
    successor_cache_close(&space->cache);
    free(space->client_facts);
    free(space->server_facts);
    free(space->actions);
    free(space->enabled);
}

size_t space_bytes(const struct state_space *space)
{
    size_t bytes = 0;
    for (int i = 0; i < MEMO_COUNT; i++)
        bytes += memo_bytes(&space->memos[i]);
    return bytes + intern_bytes(&space->client_states) + intern_bytes(&space->server_states) +
           intern_bytes(&space->fences) + space->client_facts_size * sizeof *space->client_facts +
           space->server_facts_size * sizeof *space->server_facts +
           space->actions_size * sizeof *space->actions + projections_bytes(&space->projections) +
           successor_cache_bytes(&space->cache) + ACTIONS_MAX * sizeof *space->enabled;
}

enum fail space_fail(const struct state_space *space, struct failure *failure)
{
    const struct scheme *scheme = space->config.scheme;
    struct failure rule;
    char slip[256];
    contract_fail(scheme, space->violation, space->violation_at, &rule);
    return failure_set(failure, rule.code, "%s%s", rule.text,
                       declared_print(scheme, space->violation_slip, slip, sizeof slip));
}

/* --- records in, numbers out --- */

void space_read_client(const struct state_space *space, uint32_t number,
                       struct client_state *client_state)
{
    memset(client_state, 0, sizeof *client_state);
    intern_get(&space->client_states, number, client_state);
}

uint32_t space_number_client(struct state_space *space, const struct client_state *client_state)
{
    uint32_t before = space->client_states.count;
    uint32_t number =
        intern_put(&space->client_states, client_state, client_state_size(client_state));
    assert(number < 1 << ID_BITS);
    while (number >= space->client_facts_size) {
        space->client_facts_size *= 2;
        space->client_facts = memory_resize(space->client_facts, space->client_facts_size,
                                            sizeof *space->client_facts);
    }
    if (number == before) {
        space->client_facts[number].is_known = false;
        projections_add(&space->projections, number);
    }
    return number;
}

static void server_facts_fill(struct state_space *space, uint32_t number,
                              const struct server_state *server_state)
{
    struct server_facts *server_facts = &space->server_facts[number];
    memset(server_facts, 0, sizeof *server_facts);
    server_facts->newest_past = (int16_t)server_state_newest_past(server_state);
    server_facts->aged[0] = server_facts->aged[1] = UNKNOWN_ID;
    server_facts->ghost = server_state->keyspace.ghost;
    server_facts->is_back_if_refused = server_state->keyspace.is_tentative &&
                                       server_state->keyspace.previous.owner != GHOST_NOBODY;
    if (server_state->replica_state == REPLICA_CUT)
        server_facts->kept = server_state->replica.ghost;
    if (server_state->has_saved)
        server_facts->saved = server_state->saved.ghost;
    server_facts->is_watched = server_state->watching != 0;
    server_facts->reach = server_state->reach;
    server_facts->must_be_back = server_state->reach != REACH_OPEN && server_state->out_left == 0;
    server_facts->is_there = server_state->keyspace.type != MODEL_ABSENT;
    server_facts->is_endless = server_facts->is_there && server_state->keyspace.left == NO_TIME;
    server_facts->count = server_state->keyspace.counter;
    server_facts->is_count_known =
        server_state->keyspace.is_counter_known || !space->config.keeps_count;
    space->can_states_be_wrong |= server_facts->is_endless && space->config.scheme->promises_expiry;
    for (int i = 0; i < EXPLORE_CLIENTS_MAX; i++)
        server_facts->mentions[i] = server_state_mentions(server_state, i);
}

uint32_t space_number_server(struct state_space *space, const struct server_state *server_state)
{
    uint32_t before = space->server_states.count;
    uint32_t number = intern_put(&space->server_states, server_state, sizeof *server_state);
    assert(number < 1 << ID_BITS);
    while (number >= space->server_facts_size) {
        space->server_facts_size *= 2;
        space->server_facts = memory_resize(space->server_facts, space->server_facts_size,
                                            sizeof *space->server_facts);
    }
    if (number == before)
        server_facts_fill(space, number, server_state);
    return number;
}

void space_read_server(const struct state_space *space, uint32_t number,
                       struct server_state *server_state)
{
    intern_get(&space->server_states, number, server_state);
}

void space_start(struct state_space *space, uint32_t *words)
{
    struct client_state client_state;
    struct server_state server_state;
    const struct config *config = &space->config;
    const struct ghost_fences fences = {0};
    client_state_init(&client_state, config);
    /* Where nobody forgets it, the counter's value is always COUNTER_NOW. */
    server_state_init(&server_state, config->section == SECTION_COUNTER && !config->keeps_count);
    if (config->subject->begin)
        config->subject->begin(config->subject, &server_state);
    uint32_t client = space_number_client(space, &client_state),
             server = space_number_server(space, &server_state);
    int at = 0;
    for (int i = 0; i < config->clients; i++)
        words[at++] = client;
    for (int i = 0; i < config->servers; i++)
        words[at++] = server;
    if (space_has_fences(space))
        words[at++] = intern_put(&space->fences, &fences, sizeof fences);
    words[at] = 0;
}

/* --- moves --- */

/* Has it a write of the resource under way, of the attempt so long ago? */
static bool writes_resource(const struct client_state *client_state, int attempts_ago)
{
    for (int i = 0; i < client_state->count; i++) {
        const struct packed_message *message = &client_state->messages[i];
        if (message->op == OP_ACCESS && message->key == KEY_RESOURCE &&
            message->attempts_ago == attempts_ago)
            return true;
    }
    return false;
}

static bool knows_counter(const struct client_state *client_state)
{
    for (int i = 0; i < client_state->count; i++)
        if (client_state->messages[i].op == OP_ACCESS &&
            client_state->messages[i].key == KEY_COUNTER)
            return true;
    return client_state->stage == STAGE_READ;
}

static void client_facts_fill(struct client_facts *facts, const struct client_state *client_state,
                              const struct config *config)
{
    bool is_open = client_state->phase == PHASE_HOLDING && client_state->stage != STAGE_OVER;
    facts->newest_past = (int16_t)client_state_newest_past(client_state);
    facts->phase = client_state->phase;
    facts->rounds = client_state->rounds;
    facts->call_left = client_state->call_left;
    facts->deleted = client_state->deleted;
    facts->extended = client_state->extended;
    facts->extended_left = client_state->extended_left;
    facts->overtaken = client_state->overtaken;
    facts->refused_itself = client_state->refused_itself;
    facts->refused_behind = client_state->refused_behind;
    facts->refused_restored = client_state->refused_restored;
    facts->is_untold = config->judges_grants && !client_state->granted;
    facts->is_early = client_state_is_early(client_state);
    facts->is_hearing = client_state->flags & CLIENT_HEARING;
    facts->can_begin = client_state->phase == PHASE_IDLE && client_state->rounds > 0;
    facts->has_mentions = client_state_mentions(client_state);
    facts->has_swapped = client_state->flags & CLIENT_SWAPPED;
    facts->knows_counter = knows_counter(client_state);
    facts->may_write = is_open || writes_resource(client_state, 0);
    facts->may_write_before = writes_resource(client_state, 1);
    facts->fence = client_state->fence;
}

static void actions_reserve(struct state_space *space, int count)
{
    while (space->actions_count + (uint32_t)count > space->actions_size) {
        space->actions_size *= 2;
        space->actions = memory_resize(space->actions, space->actions_size, sizeof *space->actions);
    }
}

/* Replies that are heard in a batch come before the faults: no fault strikes in between. */
static int list_actions(struct state_space *space, const struct client_state *client_state)
{
    struct action_list list = {.client_state = client_state,
                               .config = &space->config,
                               .enabled = space->enabled,
                               .fault = FAULT_NONE};
    actions_list_own(&list);
    if (space->config.is_eager)
        eager_replies_hooks.filter(&list);
    actions_list_faults(&list);
    if (space->config.has_partial_order)
        partial_order_hooks.filter(&list);
    return list.count;
}

void space_list_client(struct state_space *space, uint32_t number)
{
    struct client_state client_state;
    space_read_client(space, number, &client_state);
    int count = list_actions(space, &client_state);
    actions_reserve(space, count);
    struct client_facts facts = {.actions_start = space->actions_count,
                                 .actions_count = (uint16_t)count,
                                 .is_known = true,
                                 .aged = {UNKNOWN_ID, UNKNOWN_ID}};
    client_facts_fill(&facts, &client_state, &space->config);
    for (int i = 0; i < count; i++) {
        const struct enabled_action *action = &space->enabled[i];
        if (action->did >= DID_VIOLATE && !space->violation) {
            space->violation = violation_of_did(action->did);
            space->violation_slip = action->did >> DID_SLIP_SHIFT;
            space->violation_at = action->kind == ACTION_ACQUIRE ? 0 : client_state.fields[0];
        }
        uint32_t to =
            action->kind == ACTION_ARRIVE ? number : space_number_client(space, &action->after);
        space->actions[space->actions_count++] =
            (struct action){.to = to,
                            .did = action->did & ((1u << DID_SLIP_SHIFT) - 1),
                            .kind = (uint8_t)action->kind,
                            .message = (int8_t)action->message,
                            .server = (int8_t)action->server,
                            .fault = (int8_t)action->fault,
                            .ticks = (int8_t)action->ticks,
                            .is_urgent = action->is_urgent,
                            .hearing = (uint8_t)action->hearing};
        facts.is_urgent |= action->is_urgent;
    }
    if (space->config.has_partial_order)
        partial_order_hooks.annotate(space, &facts, &client_state);
    if (space->config.has_lower_bound)
        lower_bound_hooks.annotate(space, &facts, &client_state);
    space->client_facts[number] = facts;
}

void space_list_server(struct state_space *space, uint32_t number)
{
    struct server_state server_state;
    space_read_server(space, number, &server_state);
    int count = actions_list_server(&server_state, &space->config, space->server_enabled);
    uint32_t start = space->actions_count;
    bool has_delayed = false;
    uint32_t injections = 0;
    actions_reserve(space, count);
    for (int i = 0; i < count; i++) {
        const struct enabled_server_action *action = &space->server_enabled[i];
        space->actions[space->actions_count++] = (struct action){
            .to = space_number_server(space, &action->after),
            .did = (action->breaks ? DID_DISCONNECT : 0) | (action->forgets ? DID_FORGET : 0) |
                   (action->after.reach != server_state.reach ? DID_REACH : 0),
            .kind = (uint8_t)action->kind,
            .message = -1,
            .fault = (int8_t)action->fault,
            .ticks = (int8_t)action->ticks};
        has_delayed |= action->kind == ACTION_DELAYED;
        injections |= (uint32_t)(action->kind == ACTION_INJECT) << action->fault;
    }
    struct server_facts *server_facts = &space->server_facts[number];
    server_facts->actions_start = start;
    server_facts->actions_count = (uint16_t)count;
    server_facts->has_delayed = has_delayed;
    server_facts->injections = injections;
    server_facts->is_known = true;
}
