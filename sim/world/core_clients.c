/* core_clients.c - what clients do in a directed world: start, go on, ring, return. See
 * core_state.h. */
#include "world/core_state.h"

#include "world/contract.h"
#include "world/rules.h"

/* --- what a step leads to --- */

void core_request(struct core *core, int client, enum operation op, int server, enum lane lane,
                  const struct command *command)
{
    const struct client *who = &core->slots[client].client;
    const struct message request = {.client = client,
                                    .server = server,
                                    .lane = lane,
                                    .command = *command,
                                    .op = op,
                                    .attempt = who->attempt,
                                    .token = who->lease.token};
    core_send(core, &request);
}

/* Writes what the client's step led to, and sends its requests. */
static void take_news(struct core *core, int client, const struct client_news *news)
{
    const struct client *who = &core->slots[client].client;
    if (news->violation)
        contract_fail(who->scheme, news->violation, news->at, &core->error);
    if (news->has_returned)
        core_write_operation(core, EVENT_RETURN, client, news->op, news->result);
    if (news->has_noticed_loss)
        core_write_operation(core, EVENT_NOTICE, client, OP_EXTEND, RESULT_NONE);
    for (int i = 0; i < news->sends_count; i++) {
        const struct ask *ask = &news->sends[i];
        core_request(core, client, client_operation(who, ask->lane), ask->server, ask->lane,
                     &ask->command);
    }
    if (news->is_stranded)
        core_write_operation(core, EVENT_STRAND, client, client_operation(who, LANE_MAIN),
                             RESULT_NONE);
}

/* A refused access ends like one that the server answered with an error: nobody knows. */
static void end_access(struct core *core, const struct message *message, enum moment_kind kind)
{
    const struct reply lost = {.kind = REPLY_ERROR, .error = ERROR_OTHER};
    enum result result = client_accessed(&core->slots[message->client].client, &message->command,
                                         kind == MOMENT_REPLY ? &message->reply : &lost);
    core_write_operation(core, EVENT_RETURN, message->client, OP_ACCESS, result);
}

void core_notify(struct core *core, const struct message *message, enum moment_kind kind)
{
    struct client *client = &core->slots[message->client].client;
    if (message->op == OP_ACCESS) {
        end_access(core, message, kind);
        return;
    }
    /* An earlier attempt is over: what comes for it is recorded, and resumes nothing. */
    if (message->attempt != client->attempt)
        return;
    const struct moment moment = {.kind = kind,
                                  .server = message->server,
                                  .verb = message->command.verb,
                                  .reply = message->reply};
    struct client_news news;
    client_tell(client, &moment, core->now_us, &news);
    take_news(core, message->client, &news);
}

/* --- choices --- */

static enum fail want_phase(const struct core *core, const struct choice *choice, enum phase phase,
                            struct failure *failure)
{
    return rules_want_phase(core->run, choice, &core->slots[choice->client].client, phase, failure);
}

static enum fail choose_acquire(struct core *core, const struct choice *choice,
                                struct failure *failure)
{
    struct client *client = &core->slots[choice->client].client;
    struct client_news news;
    if (want_phase(core, choice, PHASE_IDLE, failure))
        return FAIL_UNKNOWN;
    int64_t token = client_token(core->run, choice->client, client->attempt + 1);
    client_acquire(client, token, core->now_us, &news);
    core_write_operation(core, EVENT_CALL, choice->client, OP_ACQUIRE, RESULT_NONE);
    take_news(core, choice->client, &news);
    return FAIL_NONE;
}

static enum fail choose_lease(struct core *core, const struct choice *choice,
                              struct failure *failure)
{
    if (want_phase(core, choice, PHASE_IDLE, failure))
        return FAIL_UNKNOWN;
    if (choice->amount_us <= 0)
        return failure_set(failure, FAIL_UNKNOWN, "a lease is longer than nothing");
    client_set_lease(&core->slots[choice->client].client, choice->amount_us);
    return FAIL_NONE;
}

static enum fail choose_release(struct core *core, const struct choice *choice,
                                struct failure *failure)
{
    struct client_news news;
    if (want_phase(core, choice, PHASE_HOLDING, failure))
        return FAIL_UNKNOWN;
    core_write_operation(core, EVENT_CALL, choice->client, OP_RELEASE, RESULT_NONE);
    client_release(&core->slots[choice->client].client, core->now_us, &news);
    take_news(core, choice->client, &news);
    return FAIL_NONE;
}

/* WRITE, READ_COUNTER, WRITE_COUNTER: the critical section's own commands go to the first server.
 */
static enum fail choose_access(struct core *core, const struct choice *choice,
                               struct failure *failure)
{
    struct client *client = &core->slots[choice->client].client;
    if (want_phase(core, choice, PHASE_HOLDING, failure))
        return FAIL_UNKNOWN;
    const struct command command = client_access(client, choice->client + 1, choice->kind);
    core_write_operation(core, EVENT_CALL, choice->client, OP_ACCESS, RESULT_NONE);
    core_request(core, choice->client, OP_ACCESS, SERVER_ONE, LANE_MAIN, &command);
    return FAIL_NONE;
}

static enum fail choose_wake(struct core *core, const struct choice *choice,
                             struct failure *failure)
{
    struct client *client = &core->slots[choice->client].client;
    if (rules_want_timer(core->run, choice, client, core->now_us, failure))
        return FAIL_UNKNOWN;
    struct event rings = core_client_event(core, EVENT_WAKE, choice->client);
    core_write(core, &rings);
    struct client_news news;
    client_tell(client, &(struct moment){.kind = MOMENT_WAKE}, core->now_us, &news);
    take_news(core, choice->client, &news);
    return FAIL_NONE;
}

core_choice *core_client_choice(enum choice_kind kind)
{
    static core_choice *const choices[CHOICE_COUNT] = {
        [CHOICE_ACQUIRE] = choose_acquire,     [CHOICE_LEASE] = choose_lease,
        [CHOICE_RELEASE] = choose_release,     [CHOICE_WRITE] = choose_access,
        [CHOICE_READ_COUNTER] = choose_access, [CHOICE_WRITE_COUNTER] = choose_access,
        [CHOICE_WAKE] = choose_wake,
    };
    return choices[kind];
}
