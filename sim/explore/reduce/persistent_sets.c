/* persistent_sets.c - see persistent_sets.h. */
#include "explore/reduce/persistent_sets.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* A list in the making. */
struct selection_list {
    struct state_space *space;
    const uint32_t *words;
    uint32_t affordable; /* bit a fault */
    struct selection *selections;
    int size, count; /* there may be more than are kept */
};

static inline const struct client_facts *place_of(const struct selection_list *list, int client)
{
    return space_client(list->space, list->words[client]);
}

static inline int clients_of(const struct selection_list *list)
{
    return list->space->config.clients;
}

static inline uint32_t server_state_of(const struct selection_list *list, int server)
{
    return list->words[clients_of(list) + server];
}

static inline bool is_possible(const struct selection_list *list, const struct action *action)
{
    return action->kind != ACTION_INJECT || list->affordable >> action->fault & 1;
}

static void add(struct selection_list *list, int client, int server, uint32_t action, int owner)
{
    if (!is_possible(list, &list->space->actions[action]))
        return;
    if (list->count < list->size)
        list->selections[list->count] = (struct selection){.client = client,
                                                           .server = server,
                                                           .action = action,
                                                           .owner = owner,
                                                           .pending_disconnect = -1};
    list->count++;
}

static inline bool arrives_at(const struct action *action, int server)
{
    return action->kind == ACTION_ARRIVE && action->server == server;
}

/* All that happens at that server: what arrives there, of anybody, and what befalls itself. */
static void add_server(struct selection_list *list, int server, int owner)
{
    for (int i = 0; i < clients_of(list); i++) {
        const struct client_facts *facts = place_of(list, i);
        for (uint32_t m = facts->actions_start; m < facts->actions_start + facts->actions_count;
             m++)
            if (arrives_at(&list->space->actions[m], server))
                add(list, i, -1, m, owner);
    }
    const struct server_facts *server_facts =
        space_server(list->space, server_state_of(list, server));
    for (uint32_t m = server_facts->actions_start;
         m < server_facts->actions_start + server_facts->actions_count; m++)
        add(list, -1, server, m, owner);
}

/* What befalls the server, after some of what arrives there, or nothing. */
static void add_disconnect(struct selection_list *list, int server, int owner)
{
    int first = list->count;
    add_server(list, server, owner);
    for (int i = first; i < list->count && i < list->size; i++)
        if (list->selections[i].client >= 0)
            list->selections[i].pending_disconnect = server;
}

/* What a client can do itself, but hear what it will count in good time. */
static void add_own(struct selection_list *list, int client)
{
    const struct client_facts *facts = place_of(list, client);
    for (uint32_t m = facts->actions_start; m < facts->actions_start + facts->actions_count; m++) {
        const struct action *action = &list->space->actions[m];
        if (action->hearing != HEARD_ONE_BY_ONE && action->kind != ACTION_ARRIVE)
            add(list, client, -1, m, OWNER_NOBODY);
    }
}

static int count_arrivals(const struct selection_list *list, int server)
{
    int count = 0;
    for (int i = 0; i < clients_of(list); i++)
        count += (int)(place_of(list, i)->order.arrivals >> (4 * server) & 15);
    return count;
}

/* Can anything befall the server itself? */
static bool is_endangered(const struct selection_list *list, int server)
{
    const struct server_facts *server_facts =
        space_server_facts(list->space, server_state_of(list, server));
    return server_facts->has_delayed || server_facts->injections & list->affordable;
}

/* --- dependence --- */

enum { ARRIVALS_MAX = 4 };

/* What can arrive at a server, and what has come of it so far. */
struct server_arrivals {
    struct state_space *space;
    int count;
    struct {
        int client, message;
        bool is_awaited;
    } arrivals[ARRIVALS_MAX];
    uint32_t client_states[EXPLORE_CLIENTS_MAX], server_state;
};

/* False: there are too many. */
static bool arrivals_read(const struct selection_list *list, int server, struct server_arrivals *it)
{
    it->space = list->space;
    it->count = 0;
    it->server_state = server_state_of(list, server);
    for (int i = 0; i < clients_of(list); i++) {
        const struct client_facts *facts = place_of(list, i);
        it->client_states[i] = list->words[i];
        for (uint32_t m = facts->actions_start; m < facts->actions_start + facts->actions_count;
             m++) {
            const struct action *action = &list->space->actions[m];
            if (!arrives_at(action, server))
                continue;
            if (it->count == ARRIVALS_MAX)
                return false;
            it->arrivals[it->count].client = i;
            it->arrivals[it->count].message = action->message;
            it->arrivals[it->count++].is_awaited = action->is_awaited;
        }
    }
    return true;
}

/* What nobody waits for is gone then, and those behind it move up. */
static unsigned arrivals_apply(struct server_arrivals *it, int arrival)
{
    int client = it->arrivals[arrival].client, message = it->arrivals[arrival].message;
    unsigned observed =
        space_arrive(it->space, &it->client_states[client], message, &it->server_state, client);
    if (observed & COUNTER_WRITTEN)
        space_recount_others(it->space, it->client_states, client);
    for (int i = 0; i < it->count && !it->arrivals[arrival].is_awaited; i++)
        it->arrivals[i].message -=
            it->arrivals[i].client == client && it->arrivals[i].message > message;
    return observed;
}

static bool are_independent(const struct server_arrivals *before, int one, int other)
{
    struct server_arrivals one_way = *before, other_way = *before;
    unsigned one_first = arrivals_apply(&one_way, one),
             other_first = arrivals_apply(&other_way, other);
    bool is_written = (one_first | other_first) & COUNTER_WRITTEN;
    if (one_way.server_state == before->server_state &&
        other_way.server_state == before->server_state && !is_written)
        return true; /* they only look */
    unsigned other_second = arrivals_apply(&one_way, other),
             one_second = arrivals_apply(&other_way, one);
    return one_first == one_second && other_first == other_second &&
           one_way.server_state == other_way.server_state &&
           memcmp(one_way.client_states, other_way.client_states,
                  (size_t)before->space->config.clients * sizeof *one_way.client_states) == 0;
}

/* Does it make no difference when that one arrives, whichever of the others have, in any order?
 * left: bit an arrival that has not yet. */
static bool is_independent_of_all(const struct server_arrivals *now, int one, unsigned left)
{
    for (int i = 0; i < now->count; i++) {
        if (i == one || !(left >> i & 1))
            continue;
        if (!are_independent(now, one, i))
            return false;
        struct server_arrivals next = *now;
        arrivals_apply(&next, i);
        if (!is_independent_of_all(&next, one, left & ~(1u << i)))
            return false;
    }
    return true;
}

/* Does it matter at that server when that client's request arrives? Two compare-and-deletes, say,
 * are independent. */
static bool is_dependent(const struct selection_list *list, int server, int client)
{
    struct server_arrivals arrived;
    if (is_endangered(list, server))
        return true;
    if (count_arrivals(list, server) == 1)
        return false;
    if (!arrivals_read(list, server, &arrived))
        return true;
    int one = 0;
    while (arrived.arrivals[one].client != client || !arrived.arrivals[one].is_awaited)
        one++;
    return !is_independent_of_all(&arrived, one, (1u << arrived.count) - 1);
}

/* --- who is next --- */

/* Who has asked that server: the owner, or anybody who must not keep time waiting. */
static int asker(const struct selection_list *list, int server, int owner)
{
    int client = owner - 1;
    if (owner == OWNER_TIME)
        for (client = 0; !(place_of(list, client)->order.asked >> server & 1);)
            client++;
    return client;
}

/* Of those servers, one where it is independent, or else the one where least arrives; -1: there are
 * none. */
static int least_dependent(const struct selection_list *list, unsigned servers, int owner,
                           bool *is_independent)
{
    int best = -1, fewest = INT_MAX;
    *is_independent = false;
    for (int s = 0; s < list->space->config.servers; s++) {
        if (!(servers >> s & 1))
            continue;
        *is_independent = !is_dependent(list, s, asker(list, s, owner));
        if (*is_independent)
            return s;
        int count = count_arrivals(list, s);
        if (count < fewest) {
            fewest = count;
            best = s;
        }
    }
    return best;
}

static unsigned asked_of_all(const struct selection_list *list)
{
    unsigned asked = 0;
    for (int i = 0; i < clients_of(list); i++)
        asked |= place_of(list, i)->order.asked;
    return asked;
}

/* Where it is independent, that one request arrives. */
static void add_independent(struct selection_list *list, int server, int owner)
{
    int client = asker(list, server, owner);
    uint32_t m = place_of(list, client)->actions_start;
    while (!arrives_at(&list->space->actions[m], server) || !list->space->actions[m].is_awaited)
        m++;
    add(list, client, -1, m, owner);
}

/* False: nothing is left for which others may have to come first. */
static bool add_work(struct selection_list *list, unsigned servers, int owner)
{
    bool is_independent;
    int server = least_dependent(list, servers, owner, &is_independent);
    if (server < 0)
        return false;
    if (is_independent)
        add_independent(list, server, owner);
    else
        add_server(list, server, owner);
    return true;
}

/* Of those servers, which may break all their connections, or have a replica cut off first; and all
 * where a failover may follow: bits. What is sent before is lost by it, and what is sent later is
 * not. */
static unsigned breakable(const struct selection_list *list, unsigned servers)
{
    const struct config *config = &list->space->config;
    unsigned found = 0;
    for (int s = 0; s < config->servers && config->breakers; s++) {
        const struct server_facts *server_facts =
            space_server_facts(list->space, server_state_of(list, s));
        bool may_be_injected =
            servers >> s & 1 && server_facts->injections & list->affordable & config->breakers;
        found |= (unsigned)(may_be_injected || server_facts->has_delayed) << s;
    }
    return found;
}

/* Does it come to nothing more, with what a client does now, than that it hears and tells? */
static bool is_silent_end(const struct selection_list *list, int client)
{
    uint32_t client_state = list->words[client];
    for (int heard = 0; heard <= CLIENT_MESSAGES_MAX; heard++) {
        const struct client_facts facts = *space_client(list->space, client_state);
        uint32_t next = UNKNOWN_ID;
        for (uint32_t m = facts.actions_start; m < facts.actions_start + facts.actions_count; m++) {
            const struct action *action = &list->space->actions[m];
            if (!action->is_urgent || action->hearing == HEARD_ONE_BY_ONE)
                continue;
            if (next != UNKNOWN_ID)
                return false;
            next = action->to;
        }
        if (next == UNKNOWN_ID)
            return false;
        const struct client_facts after = *space_client(list->space, next);
        if (!after.is_hearing)
            return !after.order.asked && !after.order.is_acting;
        client_state = next;
    }
    return false;
}

/* May it be refused by what it does now? What it hears in one go is one action. */
static bool may_be_refused(const struct selection_list *list, uint32_t client_state)
{
    const struct client_facts facts = *space_client(list->space, client_state);
    for (uint32_t m = facts.actions_start; m < facts.actions_start + facts.actions_count; m++) {
        const struct action action = list->space->actions[m];
        struct client_state after;
        if (action.kind == ACTION_ARRIVE || !is_possible(list, &action) ||
            (facts.is_hearing && action.hearing != HEARD_IN_BATCH))
            continue;
        space_read_client(list->space, action.to, &after);
        if (after.rounds > facts.rounds ||
            (action.kind != ACTION_INJECT && after.flags & CLIENT_HEARING &&
             may_be_refused(list, action.to)))
            return true;
    }
    return false;
}

/* Where a key of its attempt is, when it may be refused by what it does now: a refusal is free
 * where all of them are gone (apply_client()). */
static unsigned left_by_refusal(const struct selection_list *list, int client)
{
    unsigned servers = 0;
    const uint8_t rounds = place_of(list, client)->rounds;
    for (int s = 0; s < list->space->config.servers; s++) {
        const struct server_facts *facts =
            space_server_facts(list->space, server_state_of(list, s));
        servers |= (unsigned)server_has_key_of(facts, client, rounds) << s;
    }
    const bool is_asking = place_of(list, client)->phase == PHASE_ACQUIRING;
    return servers && is_asking && may_be_refused(list, list->words[client]) ? servers : 0;
}

static void add_each(struct selection_list *list, unsigned servers, int owner,
                     void (*add_one)(struct selection_list *list, int server, int owner))
{
    for (int s = 0; s < list->space->config.servers; s++)
        if (servers >> s & 1)
            add_one(list, s, owner);
}

/* What the owner does next; false: it has nothing left to do that must come first. Its last action
 * may come before or after what nobody waits for, before or after what happens to a key that it
 * leaves behind, and before or after a server that has answered breaks its connections, or one
 * fails over. */
static bool add_owned(struct selection_list *list, int client)
{
    const struct client_facts facts = *place_of(list, client);
    if (add_work(list, facts.order.asked | facts.order.asked_late, client + 1))
        return true;
    if (!facts.order.is_acting)
        return false;
    unsigned sent_to = is_silent_end(list, client) ? facts.order.unheard : ALL_SERVERS;
    unsigned dependent = facts.order.abandoned | left_by_refusal(list, client);
    unsigned pending_disconnect = breakable(list, sent_to) & ~dependent;
    add_own(list, client);
    add_each(list, dependent, client + 1, add_server);
    add_each(list, pending_disconnect, client + 1, add_disconnect);
    return true;
}

/* What must happen before a tick. */
static bool add_before_time(struct selection_list *list)
{
    return add_work(list, asked_of_all(list), OWNER_TIME);
}

static bool add_owner_set(struct selection_list *list, int owner)
{
    return owner == OWNER_TIME ? add_before_time(list) : add_owned(list, owner - 1);
}

/* Somebody becomes the owner, or does what needs none. */
static bool add_any(struct selection_list *list)
{
    bool must_move = false, is_anybody_free = false;
    unsigned dependent = 0;
    if (asked_of_all(list) == 0)
        return false;
    for (int i = 0; i < clients_of(list); i++) {
        const struct client_facts facts = *place_of(list, i);
        add_own(list, i);
        if (facts.order.asked || facts.order.asked_late)
            add_owned(list, i);
        must_move |= facts.order.asked && !facts.order.is_held_up;
        if (!facts.order.asked)
            dependent |= facts.order.abandoned | left_by_refusal(list, i);
        is_anybody_free |= !facts.order.asked;
    }
    add_each(list, dependent, OWNER_NOBODY, add_server);
    if (is_anybody_free)
        add_each(list, breakable(list, ALL_SERVERS) & ~dependent, OWNER_NOBODY, add_disconnect);
    if (!must_move)
        add_before_time(list);
    return true;
}

/* Places are listed before any is looked at: pointers to them stay good. */
static void list_all(const struct selection_list *list)
{
    for (int i = 0; i < clients_of(list); i++)
        space_client(list->space, list->words[i]);
    for (int s = 0; s < list->space->config.servers; s++)
        space_server(list->space, server_state_of(list, s));
}

int persistent_sets_list(struct state_space *space, const uint32_t *words, uint32_t affordable,
                         struct selection *selections)
{
    struct selection_list list = {space, words, affordable, selections, SELECTIONS_MAX, 0};
    list_all(&list);
    int owner = persistent_owner(words[space_words(space) - 1]);
    bool is_owned_set = owner != OWNER_NOBODY && add_owner_set(&list, owner);
    if (!is_owned_set && !add_any(&list))
        return -1;
    assert(list.count <= SELECTIONS_MAX);
    return list.count;
}

/* A client that hears its replies in turn does nothing else. */
static void add_hearing(struct selection_list *list, int client)
{
    const struct client_facts *facts = place_of(list, client);
    for (uint32_t m = facts->actions_start; m < facts->actions_start + facts->actions_count; m++)
        if (list->space->actions[m].hearing == HEARD_IN_BATCH)
            add(list, client, -1, m, OWNER_NOBODY);
}

int persistent_sets_before_disconnect(struct state_space *space, const uint32_t *words,
                                      uint32_t affordable, int server, int owner,
                                      struct selection *selections)
{
    struct selection_list list = {space, words, affordable, selections, DISCONNECT_SELECTIONS_MAX,
                                  0};
    list_all(&list);
    add_disconnect(&list, server, owner);
    assert(list.count <= DISCONNECT_SELECTIONS_MAX);
    return list.count;
}

bool persistent_sets_only(struct state_space *space, const uint32_t *words, uint32_t affordable,
                          struct selection *selection)
{
    struct selection_list list = {space, words, affordable, selection, 1, 0};
    int owner = persistent_owner(words[space_words(space) - 1]);
    for (int i = 0; i < clients_of(&list) && list.count == 0; i++)
        if (place_of(&list, i)->is_hearing)
            add_hearing(&list, i);
    if (list.count == 0 && owner == OWNER_NOBODY)
        return false;
    list_all(&list);
    return (list.count > 0 || add_owner_set(&list, owner)) && list.count == 1;
}
