/* enabled.h - for tests that try actions in one order and in another: what is enabled in a state,
 * and the same action in the state after another one. */
#ifndef PICKLOCK_TEST_ENABLED_H
#define PICKLOCK_TEST_ENABLED_H

#include "test/breadth_first.h"

#include <string.h>

enum { ENABLED_MAX = EXPLORE_CLIENTS_MAX * ACTIONS_MAX + SERVERS_MAX * SERVER_ACTIONS_MAX };

/* An action, who does it (client: -1, the server itself), where it stands in the list of whoever
 * does it, and the server that it concerns. */
struct enabled {
    struct action action;
    int client, server, at;
};

struct enabled_list {
    struct enabled of[ENABLED_MAX];
    int count;
};

/* The actions of a client, or (client: -1) of a server; good until another list is made. */
static inline const struct action *enabled_actions(struct state_space *space, const uint32_t *words,
                                                   int client, int server, int *count)
{
    uint32_t start;
    if (client >= 0) {
        const struct client_facts *facts = space_client(space, words[client]);
        start = facts->actions_start;
        *count = facts->actions_count;
    } else {
        const struct server_facts *facts =
            space_server(space, words[space->config.clients + server]);
        start = facts->actions_start;
        *count = facts->actions_count;
    }
    return &space->actions[start];
}

static inline bool enabled_is_affordable(const struct successors *successors, const uint32_t *words,
                                         const struct action *action)
{
    uint32_t budget = words[space_words(successors->space) - 1];
    if (action->kind != ACTION_INJECT)
        return true;
    int slot = successors->slot_of[action->fault];
    return slot >= 0 && (budget >> (BUDGET_BITS * slot) & BUDGET_MASK) > 0;
}

static inline void enabled_add(struct enabled_list *list, const struct successors *successors,
                               const uint32_t *words, int client, int server)
{
    int count;
    enabled_actions(successors->space, words, client, server, &count);
    for (int i = 0; i < count; i++) {
        const struct action action =
            enabled_actions(successors->space, words, client, server, &count)[i];
        int concerned = client < 0                     ? server
                        : action.kind == ACTION_ARRIVE ? action.server
                                                       : NO_SERVER;
        if (enabled_is_affordable(successors, words, &action))
            list->of[list->count++] =
                (struct enabled){.action = action, .client = client, .server = concerned, .at = i};
    }
}

static inline void enabled_read(struct enabled_list *list, const struct successors *successors,
                                const uint32_t *words)
{
    const struct config *config = &successors->space->config;
    list->count = 0;
    for (int i = 0; i < config->clients; i++)
        enabled_add(list, successors, words, i, NO_SERVER);
    for (int s = 0; s < config->servers; s++)
        enabled_add(list, successors, words, -1, s);
}

/* Do both belong to one client, or to one server? */
static inline bool enabled_is_of_same(const struct enabled *one, const struct enabled *other)
{
    return one->client == other->client && (one->client >= 0 || one->server == other->server);
}

/* The same action in another state; false: it is not enabled there. */
static inline bool enabled_again(struct state_space *space, const uint32_t *words,
                                 const struct enabled *it, struct enabled *found)
{
    int count;
    const struct action *actions = enabled_actions(space, words, it->client, it->server, &count);
    for (int i = 0; i < count; i++) {
        *found = *it;
        found->action = actions[i];
        found->at = i;
        if (actions[i].kind == it->action.kind && actions[i].message == it->action.message &&
            actions[i].fault == it->action.fault && actions[i].ticks == it->action.ticks &&
            actions[i].hearing == it->action.hearing)
            return true;
    }
    return false;
}

#endif
