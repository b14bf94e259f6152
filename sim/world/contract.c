/* contract.c - see contract.h. */
#include "world/contract.h"

#include <inttypes.h>

/* A timer that rings later never does in any run. */
#define SLEEP_LONGEST_US (INT64_C(365) * 24 * 3600 * 1000000)

/* In the explorer a lease is a few ticks, whatever the scheme counts in: there only a command that
 * counts in a larger unit is told. */
static bool can_carry(const struct client *client, const struct command *command)
{
    int64_t unit_us = command_ttl_unit_us(command->verb);
    bool is_in_ticks = client->lease.unit_us != client->scheme->unit_us;
    if (unit_us == 0 || (is_in_ticks && unit_us <= client->scheme->unit_us))
        return true;
    return command->ttl_us % unit_us == 0;
}

static enum contract_violation find_in_send(const struct client *client, const struct ask *ask)
{
    const struct command *command = &ask->command;
    if (ask->server < 0 || ask->server >= client->lease.servers)
        return CONTRACT_SERVER;
    bool is_known = (unsigned)ask->lane < LANE_COUNT && (unsigned)command->verb < VERB_COUNT &&
                    (unsigned)command->key < KEY_COUNT;
    if (!is_known)
        return CONTRACT_COMMAND;
    return can_carry(client, command) ? CONTRACT_NONE : CONTRACT_TTL;
}

static enum contract_violation find_in_sleep(int64_t sleep_us)
{
    bool is_good = sleep_us == SLEEP_NEVER || (sleep_us >= 0 && sleep_us <= SLEEP_LONGEST_US);
    return is_good ? CONTRACT_NONE : CONTRACT_SLEEP;
}

/* Phases in which an answer is waited for, as bits; 0: it is none. */
static unsigned waits_for(enum ask_kind kind)
{
    enum { ACQUIRING = 1 << PHASE_ACQUIRING, RELEASING = 1 << PHASE_RELEASING };
    switch (kind) {
    case ASK_GRANTED:
    case ASK_REFUSED:
        return ACQUIRING;
    case ASK_RELEASED:
    case ASK_NOT_MINE:
        return RELEASING;
    case ASK_FAILED:
    case ASK_UNSUPPORTED:
    case ASK_CRASHED:
        return ACQUIRING | RELEASING;
    default:
        return 0;
    }
}

static enum contract_violation find_in_ask(const struct client *client, const struct ask *ask,
                                           enum phase *phase)
{
    if ((unsigned)ask->kind > ASK_CRASHED)
        return CONTRACT_ASK;
    if (ask->kind == ASK_SEND)
        return find_in_send(client, ask);
    if (ask->kind == ASK_SLEEP)
        return find_in_sleep(ask->sleep_us);
    unsigned phases = waits_for(ask->kind);
    if (phases && !(phases >> *phase & 1))
        return ask->kind == ASK_GRANTED ? CONTRACT_GRANTED : CONTRACT_ANSWER;
    if (phases)
        *phase = ask->kind == ASK_GRANTED ? PHASE_HOLDING : PHASE_IDLE;
    return CONTRACT_NONE;
}

enum contract_violation contract_check(const struct client *client, const struct outbox *out)
{
    enum phase phase = client->phase;
    int sends = 0;
    if (client->state[0] == SCRIPT_LOST)
        return CONTRACT_STEP;
    if (out->count < 0 || out->count > OUTBOX_MAX)
        return CONTRACT_ASKS;
    for (int i = 0; i < out->count; i++) {
        enum contract_violation violation = find_in_ask(client, &out->asks[i], &phase);
        if (violation)
            return violation;
        sends += out->asks[i].kind == ASK_SEND;
    }
    return sends > LANE_COUNT * client->lease.servers ? CONTRACT_SENDS : CONTRACT_NONE;
}

enum fail contract_fail(const struct scheme *scheme, enum contract_violation violation, int64_t at,
                        struct failure *failure)
{
    return failure_set(failure, FAIL_INPUT,
                       "the scheme '%s' broke a rule at its step %" PRId64 ": it %s", scheme->name,
                       at, contract_words(violation));
}
