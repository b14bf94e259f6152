/* random_walk.h - a random run of a scheme in the simulated world: choices of all kinds, faults of
 * messages, clients and servers among them, and the events that come of it. */
#ifndef PICKLOCK_TEST_RANDOM_WALK_H
#define PICKLOCK_TEST_RANDOM_WALK_H

#include "base/random.h"
#include "test/trace.h"
#include "world/simulated.h"

#include <stdio.h>

enum { RANDOM_WALK_CLIENTS = 3, RANDOM_WALK_LEASE_US = 300000, RANDOM_WALK_CHOICES = 250 };

static char random_walk_names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B", "C"};

struct random_walk {
    struct run run;
    struct world *world;
    struct event_trace trace;
    struct random random;
};

static inline int random_walk_draw(struct random_walk *walk, int bound)
{
    return (int)random_below(&walk->random, (uint64_t)bound);
}

/* Mostly a message goes one stop further. */
static inline struct choice random_walk_draw_of_message(struct random_walk *walk,
                                                        const struct message *message)
{
    static const enum choice_kind kinds[] = {CHOICE_DUPLICATE, CHOICE_ANSWER_ERROR,
                                             CHOICE_GIVE_UP,   CHOICE_LOSE_REQUEST,
                                             CHOICE_RESEND,    CHOICE_LOSE_REPLY};
    struct choice choice = {.kind = CHOICE_GIVE_UP,
                            .client = message->client,
                            .server = message->server,
                            .verb = message->command.verb};
    if (message->state == MESSAGE_REQUEST)
        choice.kind = message->is_abandoned ? CHOICE_ARRIVE_LATE : CHOICE_ARRIVE;
    if (message->state == MESSAGE_REPLY)
        choice.kind = CHOICE_HEAR;
    if (random_walk_draw(walk, 6) == 0)
        choice.kind = kinds[random_walk_draw(walk, sizeof kinds / sizeof *kinds)];
    if (choice.kind == CHOICE_ANSWER_ERROR)
        choice.error = (enum reply_error)(1 + random_walk_draw(walk, ERROR_COUNT - 1));
    return choice;
}

static inline struct choice random_walk_draw_of_client(struct random_walk *walk, int client)
{
    static const enum choice_kind works[] = {CHOICE_WRITE, CHOICE_READ_COUNTER,
                                             CHOICE_WRITE_COUNTER};
    struct client_view view = walk->world->ops->client(walk->world, client);
    struct choice choice = {.kind = CHOICE_WAKE, .client = client, .server = -1};
    if (view.phase == PHASE_IDLE)
        choice.kind = CHOICE_ACQUIRE;
    if (view.phase == PHASE_HOLDING)
        choice.kind = random_walk_draw(walk, 3) ? CHOICE_RELEASE : works[random_walk_draw(walk, 3)];
    if (random_walk_draw(walk, 20) == 0)
        choice.kind = random_walk_draw(walk, 2) ? CHOICE_CRASH : CHOICE_CLIENT_CLOCK;
    if (choice.kind == CHOICE_CLIENT_CLOCK)
        choice.amount_us = 1000000 * (random_walk_draw(walk, 5) - 2);
    return choice;
}

static inline struct choice random_walk_draw_of_server(struct random_walk *walk)
{
    static const enum choice_kind kinds[] = {CHOICE_RESTART, CHOICE_EVICT, CHOICE_CUT_REPLICA,
                                             CHOICE_FAILOVER, CHOICE_SERVER_CLOCK};
    struct choice choice = {.kind = kinds[random_walk_draw(walk, sizeof kinds / sizeof *kinds)],
                            .client = -1,
                            .server = random_walk_draw(walk, walk->run.servers)};
    if (choice.kind == CHOICE_SERVER_CLOCK)
        choice.amount_us = 100000 * (random_walk_draw(walk, 5) - 2);
    return choice;
}

static inline struct choice random_walk_draw_choice(struct random_walk *walk)
{
    int client = random_walk_draw(walk, RANDOM_WALK_CLIENTS), dice = random_walk_draw(walk, 80);
    struct message all[MESSAGES_MAX];
    int count = walk->world->ops->messages(walk->world, client, all);
    if (dice < 5)
        return (struct choice){.kind = CHOICE_TIME,
                               .client = -1,
                               .server = -1,
                               .amount_us = 1000 * (1 + random_walk_draw(walk, 1200))};
    if (dice == 5)
        return random_walk_draw_of_server(walk);
    return count == 0 || dice < 8
               ? random_walk_draw_of_client(walk, client)
               : random_walk_draw_of_message(walk, &all[random_walk_draw(walk, count)]);
}

static inline struct history_head random_walk_head(const struct random_walk *walk)
{
    const struct run *run = &walk->run;
    struct history_head head = {.clients = run->clients,
                                .servers = run->servers,
                                .locks = 1,
                                .names = random_walk_names,
                                .lease_us = run->lease_us,
                                .unit_us = run->scheme->unit_us,
                                .has_all_commands = true};
    snprintf(head.scheme, sizeof head.scheme, "%s", run->scheme->name);
    return head;
}

/* walk: the caller frees its trace's events. */
static inline void random_walk_make(struct random_walk *walk, const struct scheme *scheme,
                                    uint64_t seed)
{
    struct failure why;
    *walk = (struct random_walk){.random = {.seed = seed}};
    walk->run = (struct run){.scheme = scheme,
                             .clients = RANDOM_WALK_CLIENTS,
                             .servers = scheme->needs_quorum ? 3 : 1,
                             .names = random_walk_names,
                             .lease_us = scheme_lease_us(scheme, RANDOM_WALK_LEASE_US),
                             .seed = seed,
                             .has_replica = true,
                             .has_delex = true,
                             .sink = {.take = trace_take, .context = &walk->trace}};
    walk->world = world_simulated_new(&walk->run);
    for (int i = 0; i < RANDOM_WALK_CHOICES; i++) {
        struct choice choice = random_walk_draw_choice(walk);
        (void)walk->world->ops->apply(walk->world, &choice, &why);
    }
    walk->world->ops->free(walk->world);
}

#endif
