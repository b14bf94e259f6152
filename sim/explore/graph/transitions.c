/* transitions.c - the memoized transitions of space.h: what an execution, a broken
 * connection, a tick or a renaming makes of a client state or a server state, computed once. */
#include "explore/graph/space.h"

#include "explore/model/subject.h"
#include "explore/model/workload.h"

#include <string.h>

enum { ID_MASK = (1 << ID_BITS) - 1 };

/* --- executions --- */

static uint64_t pack(uint32_t client_state, uint32_t server_state, unsigned observed)
{
    return (uint64_t)client_state | (uint64_t)server_state << ID_BITS |
           (uint64_t)observed << (2 * ID_BITS);
}

static unsigned unpack(uint64_t packed, uint32_t *client_state, uint32_t *server_state)
{
    *client_state = (uint32_t)packed & ID_MASK;
    *server_state = (uint32_t)(packed >> ID_BITS) & ID_MASK;
    return (unsigned)(packed >> (2 * ID_BITS));
}

static uint64_t execute(struct state_space *space, const struct transition *it)
{
    struct client_state client;
    struct server_state before, after;
    space_read_client(space, it->client_state, &client);
    space_read_server(space, it->server_state, &before);
    after = before;
    const struct packed_message *message = &client.messages[it->how];
    struct command command = message_command(message);
    /* Its own token; another's has its name. */
    if (is_token(command.value) && token_position(command.value) == POSITION_SELF)
        command.value = token_at(command.value, it->position);
    bool is_elsewhere = message_is_abandoned(message) && !message_keeps_watch(message);
    struct subject *subject = space->config.subject;
    struct reply reply = subject->execute(subject, &space->config, &after,
                                          is_elsewhere ? SERVER_NO_WATCH : it->position, &command);
    if (is_token(reply.value) && token_position(reply.value) == it->position)
        reply.value = token_at(reply.value, POSITION_SELF);
    unsigned observed = ghost_execution(&space->config, &client, (int)it->how, it->position, &reply,
                                        &before, &after);
    if (space->config.has_partial_order && !message_is_abandoned(message))
        client.flags |= CLIENT_ANSWERED;
    actions_answered(&client, &space->config, (int)it->how, &reply);
    uint32_t number = space_number_client(space, &client);
    return pack(number, space_number_server(space, &after), observed);
}

unsigned space_arrive(struct state_space *space, uint32_t *client_state, int message,
                      uint32_t *server_state, int position)
{
    uint64_t key = pack(*client_state, *server_state, (unsigned)(message << 3 | position));
    uint64_t made = space_memoized(space, MEMO_ARRIVALS, key, execute,
                                   &(struct transition){.client_state = *client_state,
                                                        .server_state = *server_state,
                                                        .position = position,
                                                        .how = (unsigned)message});
    return unpack(made, client_state, server_state);
}

static uint64_t end_acquire(struct state_space *space, const struct transition *it)
{
    struct client_state client;
    struct server_state after;
    space_read_client(space, it->client_state, &client);
    space_read_server(space, it->server_state, &after);
    ghost_return(&space->config, &client, it->position, (enum ghost_return)it->how, &after);
    return space_number_server(space, &after);
}

uint32_t space_return(struct state_space *space, uint32_t client_state, int position,
                      enum ghost_return how, uint32_t server_state)
{
    uint64_t key = pack(client_state, server_state, (unsigned)how << 3 | (unsigned)position);
    return (uint32_t)space_memoized(space, MEMO_RETURNS, key, end_acquire,
                                    &(struct transition){.client_state = client_state,
                                                         .server_state = server_state,
                                                         .position = position,
                                                         .how = how});
}

/* --- connections that break --- */

static uint64_t disconnect(struct state_space *space, const struct transition *it)
{
    struct server_state after;
    space_read_server(space, it->server_state, &after);
    server_state_disconnect(&after, it->position);
    return space_number_server(space, &after);
}

uint32_t space_disconnect(struct state_space *space, uint32_t server_state, int position)
{
    uint64_t key = (uint64_t)server_state << 4 | (uint64_t)position;
    return (uint32_t)space_memoized(
        space, MEMO_DISCONNECTS, key, disconnect,
        &(struct transition){.server_state = server_state, .position = position});
}

static uint64_t break_connection(struct state_space *space, const struct transition *it)
{
    struct subject *subject = space->config.subject;
    struct client_state after;
    space_read_client(space, it->client_state, &after);
    client_state_break(&after, it->server, LANE_COUNT);
    /* It comes behind what a release was answered. */
    if (it->brings_back && after.phase == PHASE_RELEASING)
        after.overtaken |= (uint8_t)(1u << it->server);
    if (subject->lose && after.phase != PHASE_DEAD && !client_state_waits_for(&after, it->server))
        subject->lose(subject, &space->config, &after, it->server);
    client_state_settle(&after, &space->config);
    return space_number_client(space, &after);
}

uint32_t space_break(struct state_space *space, uint32_t client_state, int server, bool brings_back)
{
    uint64_t key = (uint64_t)client_state << 5 | (uint64_t)brings_back << 4 | (uint64_t)server;
    return (uint32_t)space_memoized(space, MEMO_BREAKS, key, break_connection,
                                    &(struct transition){.client_state = client_state,
                                                         .server = server,
                                                         .brings_back = brings_back});
}

static uint64_t note_kept(struct state_space *space, const struct transition *it)
{
    struct server_state after;
    space_read_server(space, it->server_state, &after);
    server_state_note_kept(&after);
    return space_number_server(space, &after);
}

uint32_t space_note_kept(struct state_space *space, uint32_t server_state)
{
    return (uint32_t)space_memoized(space, MEMO_KEPT, server_state, note_kept,
                                    &(struct transition){.server_state = server_state});
}

static uint64_t reach(struct state_space *space, const struct transition *it)
{
    struct client_state after;
    space_read_client(space, it->client_state, &after);
    if (after.phase != PHASE_DEAD)
        client_state_reach(&after, it->server, (enum server_reach)it->how);
    return space_number_client(space, &after);
}

uint32_t space_reach(struct state_space *space, uint32_t client_state, int server,
                     enum server_reach how)
{
    uint64_t key = (uint64_t)client_state << 8 | (uint64_t)server << 4 | (uint64_t)how;
    return (uint32_t)space_memoized(
        space, MEMO_REACHES, key, reach,
        &(struct transition){.client_state = client_state, .server = server, .how = how});
}

/* --- whoever asks while the key is there --- */

static uint64_t take(struct state_space *space, const struct transition *it)
{
    struct client_state after;
    space_read_client(space, it->client_state, &after);
    after.flags |= CLIENT_TAKEN;
    return space_number_client(space, &after);
}

uint32_t space_take(struct state_space *space, uint32_t client_state)
{
    if (space_client(space, client_state)->phase != PHASE_ACQUIRING)
        return client_state;
    return (uint32_t)space_memoized(space, MEMO_TAKEN, client_state, take,
                                    &(struct transition){.client_state = client_state});
}

/* --- what critical sections did --- */

static uint64_t recount(struct state_space *space, const struct transition *it)
{
    struct client_state after;
    space_read_client(space, it->client_state, &after);
    if (it->how == RECOUNT_WRITTEN)
        workload_outdate(&after, &space->config);
    else
        workload_forget(&after);
    return space_number_client(space, &after);
}

uint32_t space_recount(struct state_space *space, uint32_t client_state, enum recount how)
{
    if (!space_client(space, client_state)->knows_counter)
        return client_state;
    uint64_t key = (uint64_t)client_state << 1 | (uint64_t)how;
    return (uint32_t)space_memoized(space, MEMO_RECOUNTS, key, recount,
                                    &(struct transition){.client_state = client_state, .how = how});
}

void space_recount_others(struct state_space *space, uint32_t *client_states, int position)
{
    for (int i = 0; i < space->config.clients; i++)
        if (i != position)
            client_states[i] = space_recount(space, client_states[i], RECOUNT_WRITTEN);
}

bool space_follow(struct state_space *space, uint32_t *number, const struct fence_step *step)
{
    struct ghost_fences fences;
    intern_get(&space->fences, *number, &fences);
    bool is_violated = ghost_fences_follow(&fences, space->config.clients, step);
    *number = intern_put(&space->fences, &fences, sizeof fences);
    return is_violated;
}

/* --- time --- */

uint32_t space_make_client_older(struct state_space *space, uint32_t client_state,
                                 bool are_stamps_kept)
{
    struct client_state after;
    space_read_client(space, client_state, &after);
    client_state_age(&after, &space->config, are_stamps_kept);
    uint32_t number = space_number_client(space, &after);
    space->client_facts[client_state].aged[are_stamps_kept] = number;
    return number;
}

uint32_t space_make_server_older(struct state_space *space, uint32_t server_state,
                                 bool are_stamps_kept)
{
    struct server_state after;
    space_read_server(space, server_state, &after);
    subject_pass(&space->config, &after, server_state_rate(&after));
    server_state_tick(&after, are_stamps_kept);
    uint32_t number = space_number_server(space, &after);
    space->server_facts[server_state].aged[are_stamps_kept] = number;
    return number;
}

/* --- places --- */

static uint64_t permutation_key(uint32_t number, const uint8_t *to, int count)
{
    uint64_t key = number;
    for (int i = 0; i < count; i++)
        key = key << 3 | to[i];
    return key;
}

static uint64_t rename_client(struct state_space *space, const struct transition *it)
{
    struct client_state after;
    space_read_client(space, it->client_state, &after);
    client_state_rename_clients(&after, it->order);
    return space_number_client(space, &after);
}

uint32_t space_rename_client(struct state_space *space, uint32_t client_state,
                             const uint8_t *new_position)
{
    uint64_t key = permutation_key(client_state, new_position, EXPLORE_CLIENTS_MAX);
    return (uint32_t)space_memoized(
        space, MEMO_RENAMED_CLIENT_STATES, key, rename_client,
        &(struct transition){.client_state = client_state, .order = new_position});
}

static uint64_t rename_server(struct state_space *space, const struct transition *it)
{
    struct server_state after;
    space_read_server(space, it->server_state, &after);
    server_state_rename(&after, it->order);
    return space_number_server(space, &after);
}

uint32_t space_rename_server(struct state_space *space, uint32_t server_state,
                             const uint8_t *new_position)
{
    uint64_t key = permutation_key(server_state, new_position, EXPLORE_CLIENTS_MAX);
    return (uint32_t)space_memoized(
        space, MEMO_RENAMED_SERVER_STATES, key, rename_server,
        &(struct transition){.server_state = server_state, .order = new_position});
}

static uint64_t rename_fences(struct state_space *space, const struct transition *it)
{
    struct ghost_fences after;
    intern_get(&space->fences, it->fences, &after);
    ghost_fences_rename(&after, it->order);
    return intern_put(&space->fences, &after, sizeof after);
}

uint32_t space_rename_fences(struct state_space *space, uint32_t fences,
                             const uint8_t *new_position)
{
    uint64_t key = permutation_key(fences, new_position, EXPLORE_CLIENTS_MAX);
    return (uint32_t)space_memoized(space, MEMO_RENAMED_FENCES, key, rename_fences,
                                    &(struct transition){.fences = fences, .order = new_position});
}

uint64_t space_fences_mentions(const struct state_space *space, uint32_t fences, int position)
{
    struct ghost_fences it;
    intern_get(&space->fences, fences, &it);
    const struct fence_entry *last = &it.last[position], *before = &it.before[position];
    assert(before->above == 0 && before->below == 0);
    return (uint64_t)before->flags << 56 | (uint64_t)before->rank << 48 |
           (uint64_t)last->below << 32 | (uint64_t)last->above << 16 | (uint64_t)last->flags << 8 |
           last->rank;
}

enum { KEY_SPENT = 1 }; /* above the bits of a key of clients */

static uint64_t spend_round(struct state_space *space, const struct transition *it)
{
    struct client_state after;
    space_read_client(space, it->client_state, &after);
    after.rounds--;
    return space_number_client(space, &after);
}

uint32_t space_spend_round(struct state_space *space, uint32_t client_state)
{
    uint64_t key = (uint64_t)client_state | (uint64_t)KEY_SPENT << 60;
    return (uint32_t)space_memoized(space, MEMO_RENAMED_CLIENT_STATES, key, spend_round,
                                    &(struct transition){.client_state = client_state});
}
