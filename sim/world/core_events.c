/* core_events.c - the events of a directed world. See core_state.h. */
#include "world/core_state.h"

struct event core_event(const struct core *core, enum event_kind kind, int client, int server)
{
    return (struct event){.kind = kind,
                          .time_us = core->now_us,
                          .from_us = core->now_us,
                          .client = client,
                          .server = server};
}

struct event core_client_event(const struct core *core, enum event_kind kind, int client)
{
    const struct client_view view = core_view(core, client);
    struct event event = core_event(core, kind, client, -1);
    event.attempt = view.attempt;
    event.token = view.token;
    event.token_text = view.token_text;
    return event;
}

struct event core_message_event(const struct core *core, enum event_kind kind,
                                const struct message *message)
{
    struct event event = core_event(core, kind, message->client, message->server);
    event.attempt = message->attempt;
    event.op = message->op;
    event.lane = message->lane;
    event.command = message->command;
    event.opaque = message->opaque.name[0] ? &message->opaque : NULL;
    event.token = message->token;
    event.token_text = message->token_text;
    return event;
}

void core_write(struct core *core, struct event *event)
{
    event->index = core->events++;
    if (core->run->sink.take)
        core->run->sink.take(core->run->sink.context, event);
}

void core_write_operation(struct core *core, enum event_kind kind, int client, enum operation op,
                          enum result result)
{
    struct event event = core_client_event(core, kind, client);
    event.op = op;
    event.result = result;
    if (kind != EVENT_CALL)
        event.fence = core_view(core, client).fence;
    core_write(core, &event);
}
