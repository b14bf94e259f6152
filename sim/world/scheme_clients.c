/* scheme_clients.c - see scheme_clients.h. */
#include "world/scheme_clients.h"

#include "base/memory.h"
#include "world/client.h"
#include "world/contract.h"

#include <stdlib.h>

struct scheme_clients {
    struct clients clients; /* first */
    const struct run *run;
    struct client rows[ACTORS_MAX];
};

static struct client *row_of(struct clients *clients, int client)
{
    return &((struct scheme_clients *)clients)->rows[client];
}

static struct client_view view_of(const struct clients *clients, int client)
{
    const struct client *row = &((const struct scheme_clients *)clients)->rows[client];
    return (struct client_view){.phase = row->phase,
                                .last = row->last,
                                .is_accessing = row->is_accessing,
                                .wake_us = row->wake_us,
                                .attempt = row->attempt,
                                .token = row->lease.token,
                                .fence = row->fence};
}

/* An earlier attempt is over: what comes for it resumes nothing. */
static void end_message(struct client *client, enum moment_kind kind, const struct message *message,
                        int64_t now_us, struct step_result *step)
{
    const struct moment moment = {.kind = kind,
                                  .server = message->server,
                                  .verb = message->command.verb,
                                  .reply = message->reply};
    if (message->attempt == client->attempt)
        client_tell(client, &moment, now_us, step);
}

static enum fail take_step(struct clients *clients, int number, enum moment_kind kind,
                           const struct message *message, int64_t now_us, struct step_result *step,
                           struct failure *failure)
{
    const struct run *run = ((struct scheme_clients *)clients)->run;
    struct client *client = row_of(clients, number);
    switch (kind) {
    case MOMENT_START:
        client_acquire(client, client_token(run, number, client->attempt + 1), now_us, step);
        break;
    case MOMENT_RELEASE:
        client_release(client, now_us, step);
        break;
    case MOMENT_WAKE:
        client_tell(client, &(struct moment){.kind = MOMENT_WAKE}, now_us, step);
        break;
    default:
        end_message(client, kind, message, now_us, step);
        break;
    }
    return step->violation ? contract_fail(run->scheme, step->violation, step->at, failure)
                           : FAIL_NONE;
}

static struct request access_begin(struct clients *clients, int client, enum choice_kind kind)
{
    return (struct request){.server = SERVER_ONE,
                            .lane = LANE_MAIN,
                            .op = OP_ACCESS,
                            .command = client_access(row_of(clients, client), client + 1, kind)};
}

static enum result access_end(struct clients *clients, int client, enum moment_kind kind,
                              const struct message *message)
{
    return client_accessed(row_of(clients, client), &message->command,
                           kind == MOMENT_REPLY ? &message->reply : NULL);
}

static void set_lease(struct clients *clients, int client, int64_t lease_us)
{
    client_set_lease(row_of(clients, client), lease_us);
}

static void jump_clock(struct clients *clients, int client, int64_t amount_us)
{
    row_of(clients, client)->skew_us += amount_us;
}

static void set_rate(struct clients *clients, int client, int64_t gains_us, int64_t now_us)
{
    client_set_rate(row_of(clients, client), gains_us, now_us);
}

static void crash(struct clients *clients, int client)
{
    client_crash(row_of(clients, client));
}

static void clients_free(struct clients *clients)
{
    free(clients);
}

static const struct clients_ops ops = {
    .view = view_of,
    .step = take_step,
    .access = access_begin,
    .accessed = access_end,
    .set_lease = set_lease,
    .jump_clock = jump_clock,
    .set_rate = set_rate,
    .crash = crash,
    .free = clients_free,
};

struct clients *scheme_clients_new(const struct run *run, int64_t epoch_us)
{
    struct scheme_clients *made = memory_new(1, sizeof *made);
    const struct lease lease = {.ttl_us = run->lease_us,
                                .unit_us = run->scheme->unit_us,
                                .servers = run->servers,
                                .server_kind = SERVER_REDIS};
    made->clients.ops = &ops;
    made->run = run;
    for (int i = 0; i < run->clients; i++) {
        client_init(&made->rows[i], run->scheme, &lease);
        made->rows[i].epoch_us = epoch_us;
    }
    return &made->clients;
}
