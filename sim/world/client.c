/* client.c - see client.h. */
#include "world/client.h"

#include "base/random.h"
#include "world/contract.h"
#include "world/stepping.h"

#include <assert.h>
#include <string.h>

void client_init(struct client *client, const struct scheme *scheme, const struct lease *lease)
{
    memset(client, 0, sizeof *client);
    client->scheme = scheme;
    client->lease = *lease;
    client->wake_us = INT64_MAX;
}

/* Unique by its shape: 25 random bits, then 22 of the attempt, then 14 of the client, below 2^62.
 */
static int64_t unique_token(const struct run *run, int client, int attempt)
{
    uint64_t drawn = random_at(run->seed, (uint64_t)client, (uint64_t)attempt) >> 39;
    uint64_t number = (uint64_t)attempt & 0x3fffff, who = (uint64_t)client & 0x3fff;
    return (int64_t)((uint64_t)1 << 61 | drawn << 36 | number << 14 | who);
}

int64_t client_token(const struct run *run, int client, int attempt)
{
    switch (run->scheme->token) {
    case TOKEN_UNIQUE:
    case TOKEN_CLIENT: /* a worker draws its own */
        return unique_token(run, client, attempt);
    case TOKEN_EMPTY:
        return VALUE_EMPTY;
    case TOKEN_FIXED:
        return 1;
    case TOKEN_WEAK:
        break;
    }
    struct random random = {.seed = run->seed, .stream = (uint64_t)client};
    random.next = (uint64_t)attempt << 8; /* room for the redraws of one number */
    if (client < ACTORS_MAX && (run->same_token >> client & 1)) {
        random.stream = ACTORS_MAX + 1; /* one stream, and one number of it, for all of them */
        random.next = 0;
    }
    return 1 + (int64_t)random_below(&random, 100000);
}

enum { SECOND_US = 1000000 };

static int64_t own_us(const struct client *client, int64_t now_us)
{
    return client->epoch_us + now_us + client->skew_us +
           (now_us - client->rate_since_us) * client->gains_us / SECOND_US;
}

/* When its own clock has gone on by so much. */
static int64_t due_us(const struct client *client, int64_t now_us, int64_t own_us)
{
    if (client->gains_us == 0)
        return now_us + own_us;
    int64_t rate = SECOND_US + client->gains_us;
    return now_us + own_us / rate * SECOND_US + (own_us % rate * SECOND_US + rate - 1) / rate;
}

void client_set_rate(struct client *client, int64_t gains_us, int64_t now_us)
{
    int64_t left_us = client->wake_us == INT64_MAX ? 0 : client->wake_us - now_us;
    left_us += left_us * client->gains_us / SECOND_US;
    client->skew_us = own_us(client, now_us) - client->epoch_us - now_us;
    client->rate_since_us = now_us;
    client->gains_us = gains_us;
    if (client->wake_us != INT64_MAX && left_us > 0)
        client->wake_us = due_us(client, now_us, left_us);
}

static void client_returns(struct client *client, enum phase phase, enum operation op,
                           enum result result, struct step_result *step)
{
    client->phase = phase;
    client->last = result;
    step->has_returned = true;
    step->op = op;
    step->result = result;
}

/* An attempt or a release ends without the lock. */
static void client_ends(struct client *client, enum result result, struct step_result *step)
{
    enum operation op = client->phase == PHASE_RELEASING ? OP_RELEASE : OP_ACQUIRE;
    if (client->phase == PHASE_ACQUIRING || client->phase == PHASE_RELEASING)
        client_returns(client, PHASE_IDLE, op, result, step);
}

static void client_take(struct client *client, const struct ask *ask, int64_t now_us,
                        struct step_result *step)
{
    switch (ask->kind) {
    case ASK_SEND:
        step->requests[step->requests_count++] =
            (struct request){.server = ask->server, .lane = ask->lane, .command = ask->command};
        client->awaited++;
        break;
    case ASK_SLEEP:
        client->wake_us =
            ask->sleep_us == SLEEP_NEVER ? INT64_MAX : due_us(client, now_us, ask->sleep_us);
        break;
    case ASK_GRANTED:
        client->fence = ask->fence;
        client_returns(client, PHASE_HOLDING, OP_ACQUIRE, RESULT_GRANTED, step);
        break;
    case ASK_REFUSED:
        client_ends(client, RESULT_REFUSED, step);
        break;
    case ASK_FAILED:
        client_ends(client, RESULT_FAILED, step);
        break;
    case ASK_RELEASED:
        client_ends(client, RESULT_RELEASED, step);
        break;
    case ASK_NOT_MINE:
        client_ends(client, RESULT_NOT_MINE, step);
        break;
    case ASK_UNSUPPORTED:
        client_ends(client, RESULT_UNSUPPORTED, step);
        break;
    case ASK_CRASHED:
        client_ends(client, RESULT_CRASHED, step);
        break;
    case ASK_LOST:
        if (client->phase == PHASE_HOLDING) {
            client->phase = PHASE_IDLE;
            step->has_noticed_loss = true;
        }
        break;
    }
}

/* What it waits for is an answer, a time-out, a connection that breaks, or its timer. */
static bool is_stranded(const struct client *client)
{
    bool is_under_way = client->phase == PHASE_ACQUIRING || client->phase == PHASE_RELEASING;
    return is_under_way && client->awaited == 0 && client->wake_us == INT64_MAX;
}

/* Which operation a command that the client sends now belongs to. */
static enum operation client_operation(const struct client *client, enum lane lane)
{
    if (lane == LANE_RENEW)
        return OP_EXTEND;
    return client->phase == PHASE_RELEASING ? OP_RELEASE : OP_ACQUIRE;
}

static void client_step(struct client *client, struct moment *moment, int64_t now_us,
                        struct step_result *step)
{
    struct outbox out = {0};
    moment->now_us = own_us(client, now_us);
    step->at = client->state[0];
    stepping_begin(client->scheme);
    client->scheme->step(client->state, &client->lease, moment, &out);
    stepping_end();
    step->violation = contract_check(client, &out);
    if (step->violation)
        return;
    for (int i = 0; i < out.count; i++)
        client_take(client, &out.asks[i], now_us, step);
    for (int i = 0; i < step->requests_count; i++)
        step->requests[i].op = client_operation(client, step->requests[i].lane);
    step->is_stranded = is_stranded(client);
    if (step->is_stranded)
        step->op = client_operation(client, LANE_MAIN);
}

void client_acquire(struct client *client, int64_t token, int64_t now_us, struct step_result *step)
{
    assert(client->phase == PHASE_IDLE);
    struct moment moment = {.kind = MOMENT_START};
    memset(step, 0, sizeof *step);
    memset(client->state, 0, sizeof client->state);
    client->lease.token = token;
    client->phase = PHASE_ACQUIRING;
    client->attempt++;
    client->awaited = 0;
    client->fence = 0;
    client->wake_us = INT64_MAX;
    client_step(client, &moment, now_us, step);
}

void client_set_lease(struct client *client, int64_t lease_us)
{
    assert(client->phase == PHASE_IDLE);
    assert(lease_us > 0);
    client->lease.ttl_us = lease_us;
}

void client_release(struct client *client, int64_t now_us, struct step_result *step)
{
    assert(client->phase == PHASE_HOLDING);
    struct moment moment = {.kind = MOMENT_RELEASE};
    memset(step, 0, sizeof *step);
    client->phase = PHASE_RELEASING;
    client_step(client, &moment, now_us, step);
}

void client_tell(struct client *client, const struct moment *moment, int64_t now_us,
                 struct step_result *step)
{
    struct moment told = *moment;
    memset(step, 0, sizeof *step);
    if (told.kind == MOMENT_WAKE) {
        client->wake_us = INT64_MAX;
    } else {
        assert(client->awaited > 0);
        client->awaited--;
    }
    client_step(client, &told, now_us, step);
}

struct command client_access(struct client *client, int number, enum choice_kind kind)
{
    client->is_accessing = true;
    switch (kind) {
    case CHOICE_READ_COUNTER:
        return (struct command){.verb = VERB_GET, .key = KEY_COUNTER};
    case CHOICE_WRITE_COUNTER:
        return (struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = client->counter + 1};
    default:
        if (!client->scheme->mints_fence)
            return (struct command){.verb = VERB_SET, .key = KEY_RESOURCE, .value = number};
        return (struct command){.verb = VERB_FENCED_SET,
                                .key = KEY_RESOURCE,
                                .value = client->fence,
                                .number = client->fence};
    }
}

enum result client_accessed(struct client *client, const struct command *command,
                            const struct reply *reply)
{
    client->is_accessing = false;
    if (!reply || reply->kind == REPLY_ERROR)
        return client->last = RESULT_FAILED;
    if (command->verb == VERB_GET && command->key == KEY_COUNTER)
        client->counter = reply->kind == REPLY_VALUE ? reply->value : 0;
    if (command->verb == VERB_FENCED_SET && reply_is_integer(reply, 0))
        return client->last = RESULT_STALE;
    return client->last = RESULT_DONE;
}

void client_crash(struct client *client)
{
    memset(client->state, 0, sizeof client->state);
    client->phase = PHASE_DEAD;
    client->wake_us = INT64_MAX;
    client->is_accessing = false;
    client->awaited = 0;
}
