/* directed_events.c - the directed real world's events, and what a client's step leads to. See
 * directed.h. */
#include "live/directed.h"

#include "world/contract.h"

struct event directed_event(const struct directed *directed, enum event_kind kind, int client,
                            int server)
{
    return (struct event){.kind = kind,
                          .time_us = directed->now_us,
                          .from_us = directed->now_us,
                          .client = client,
                          .server = server};
}

void directed_write(struct directed *directed, struct event *event)
{
    event->index = directed->events++;
    if (directed->run->sink.take)
        directed->run->sink.take(directed->run->sink.context, event);
}

struct event directed_flight_event(const struct directed *directed, enum event_kind kind,
                                   const struct flight *flight)
{
    const struct message *message = &flight->message;
    struct event event = directed_event(directed, kind, message->client, message->server);
    event.attempt = flight->attempt;
    event.op = flight->op;
    event.lane = message->lane;
    event.command = message->command;
    event.token = flight->token;
    return event;
}

void directed_operation(struct directed *directed, enum event_kind kind, int client,
                        enum operation op, enum result result)
{
    const struct client *who = &directed->actors[client].client;
    struct event event = directed_event(directed, kind, client, -1);
    event.op = op;
    event.attempt = who->attempt;
    event.token = who->lease.token;
    event.result = result;
    if (kind != EVENT_CALL)
        event.fence = who->fence;
    directed_write(directed, &event);
}

void directed_news(struct directed *directed, int client, const struct client_news *news)
{
    const struct client *who = &directed->actors[client].client;
    if (news->violation)
        contract_fail(who->scheme, news->violation, news->at, &directed->trouble);
    if (news->has_returned)
        directed_operation(directed, EVENT_RETURN, client, news->op, news->result);
    if (news->has_noticed_loss)
        directed_operation(directed, EVENT_NOTICE, client, OP_EXTEND, RESULT_NONE);
    for (int i = 0; i < news->sends_count; i++) {
        const struct ask *ask = &news->sends[i];
        const struct flight flight = {.message = {.client = client,
                                                  .server = ask->server,
                                                  .lane = ask->lane,
                                                  .command = ask->command},
                                      .op = client_operation(who, ask->lane),
                                      .attempt = who->attempt,
                                      .token = who->lease.token};
        directed_send(directed, &flight);
    }
    if (news->is_stranded)
        directed_operation(directed, EVENT_STRAND, client, client_operation(who, LANE_MAIN),
                           RESULT_NONE);
}

void directed_tell(struct directed *directed, const struct flight *flight, enum moment_kind kind)
{
    int number = flight->message.client;
    struct client *client = &directed->actors[number].client;
    if (flight->op == OP_ACCESS) {
        /* A lost answer to an access ends like an error: nobody knows what happened. */
        const struct reply lost = {.kind = REPLY_ERROR, .error = ERROR_OTHER};
        enum result result = client_accessed(client, &flight->message.command,
                                             kind == MOMENT_REPLY ? &flight->reply : &lost);
        directed_operation(directed, EVENT_RETURN, number, OP_ACCESS, result);
        return;
    }
    /* An earlier attempt is over: what comes for it is recorded, and resumes nothing. */
    if (flight->attempt != client->attempt)
        return;
    const struct moment moment = {.kind = kind,
                                  .server = flight->message.server,
                                  .verb = flight->message.command.verb,
                                  .reply = flight->reply};
    struct client_news news;
    client_tell(client, &moment, directed->now_us, &news);
    directed_news(directed, number, &news);
}
