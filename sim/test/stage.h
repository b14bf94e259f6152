/* stage.h - a run in the simulated world, the choices of a test, and the events that came of them,
 * one a line. Included by the tests of the simulated world, behind cmocka.h. */
#ifndef PICKLOCK_TEST_STAGE_H
#define PICKLOCK_TEST_STAGE_H

#include "world/client.h"
#include "world/simulated.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRACE_MAX = 8192, LEASE_US = 300000 };

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B", "C"};

/* A run, its world, and the events since the last look, one a line. */
struct stage {
    struct run run;
    struct world *world;
    char trace[TRACE_MAX];
    int64_t next_index;
};

static inline void stage_take(void *context, const struct event *event)
{
    struct stage *stage = context;
    size_t used = strlen(stage->trace);
    char *end = stage->trace + used;
    size_t room = sizeof stage->trace - used;
    char command[128] = "", reply[64] = "";
    assert_int_equal(event->index, stage->next_index++);
    assert_int_equal(event->time_us, event->from_us);
    const char *who = event->client < 0 ? "-" : names[event->client];
    const char *verb = verb_name(event->command.verb);
    reply_print(&event->reply, reply, sizeof reply);
    switch (event->kind) {
    case EVENT_CALL:
    case EVENT_STRAND:
        snprintf(command, sizeof command, "%s %d", operation_name(event->op), event->attempt);
        break;
    case EVENT_RETURN:
        snprintf(command, sizeof command, "%s %d %s", operation_name(event->op), event->attempt,
                 result_name(event->result));
        break;
    case EVENT_SEND:
        snprintf(command, sizeof command, "%s to %d", verb, event->server);
        break;
    case EVENT_EXECUTE:
        snprintf(command, sizeof command, "%s at %d for %s %d -> %s", verb, event->server,
                 operation_name(event->op), event->attempt, reply);
        break;
    case EVENT_HEAR:
        snprintf(command, sizeof command, "%s from %d -> %s", verb, event->server, reply);
        break;
    case EVENT_FAULT:
        snprintf(command, sizeof command, "%s %d %" PRId64 "%s%s", fault_name(event->fault),
                 event->server, event->amount_us, event->reply.error ? " " : "",
                 event->reply.error ? reply : "");
        break;
    case EVENT_TIME:
        snprintf(command, sizeof command, "%" PRId64, event->amount_us);
        break;
    default:
        break;
    }
    snprintf(end, room, "%s %s%s%s\n", who, event_name(event->kind), *command ? " " : "", command);
}

static inline void stage_open(struct stage *stage, const char *scheme, int servers)
{
    memset(stage, 0, sizeof *stage);
    stage->run = (struct run){.scheme = scheme_named(scheme),
                              .clients = 3,
                              .servers = servers,
                              .names = names,
                              .seed = 1,
                              .has_replica = true,
                              .sink = {.take = stage_take, .context = stage}};
    assert_non_null(stage->run.scheme);
    stage->run.lease_us = scheme_lease_us(stage->run.scheme, LEASE_US);
    stage->world = world_simulated_new(&stage->run);
}

static inline void stage_close(struct stage *stage)
{
    stage->world->ops->free(stage->world);
}

static inline void does(struct stage *stage, struct choice choice)
{
    struct failure failure = {0};
    enum fail fail = stage->world->ops->apply(stage->world, &choice, &failure);
    if (fail)
        fail_msg("%s: %s", choice_name(choice.kind), failure.text);
}

/* The choice is refused with a text that says so, and nothing changes. */
static inline void refuses(struct stage *stage, struct choice choice, const char *words)
{
    struct failure failure = {0};
    int64_t now_us = stage->world->ops->now_us(stage->world), index = stage->next_index;
    assert_int_equal(stage->world->ops->apply(stage->world, &choice, &failure), FAIL_UNKNOWN);
    assert_non_null(strstr(failure.text, words));
    assert_int_equal(stage->world->ops->now_us(stage->world), now_us);
    assert_int_equal(stage->next_index, index);
}

static inline void saw(struct stage *stage, const char *trace)
{
    assert_string_equal(stage->trace, trace);
    stage->trace[0] = 0;
}

static inline void forget(struct stage *stage)
{
    stage->trace[0] = 0;
}

static inline void plain(struct stage *stage, enum choice_kind kind, int client)
{
    does(stage, (struct choice){.kind = kind, .client = client, .server = -1});
}

static inline struct choice about(enum choice_kind kind, int client, enum verb verb, int server)
{
    return (struct choice){.kind = kind, .client = client, .verb = verb, .server = server};
}

static inline struct choice refusal(enum verb verb, enum reply_error error)
{
    return (struct choice){.kind = CHOICE_ANSWER_ERROR, .verb = verb, .error = error};
}

static inline struct choice of_server(enum choice_kind kind, int server, int64_t amount_us)
{
    return (struct choice){.kind = kind, .client = -1, .server = server, .amount_us = amount_us};
}

static inline void passes(struct stage *stage, int64_t amount_us)
{
    does(stage, of_server(CHOICE_TIME, -1, amount_us));
}

static inline void round_trip(struct stage *stage, int client, enum verb verb, int server)
{
    does(stage, about(CHOICE_ARRIVE, client, verb, server));
    does(stage, about(CHOICE_HEAR, client, verb, server));
}

static inline void acquires(struct stage *stage, int client)
{
    plain(stage, CHOICE_ACQUIRE, client);
    round_trip(stage, client, VERB_SET_NX_PX, SERVER_ONE);
}

static inline void releases(struct stage *stage, int client, enum verb verb)
{
    plain(stage, CHOICE_RELEASE, client);
    round_trip(stage, client, verb, SERVER_ONE);
}

static inline struct client_view view(struct stage *stage, int client)
{
    return stage->world->ops->client(stage->world, client);
}

static inline int messages(struct stage *stage, int client, struct message *all)
{
    return stage->world->ops->messages(stage->world, client, all);
}

#endif
