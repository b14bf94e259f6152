/* schedule.c - see schedule.h. */
#include "explore/search/schedule.h"

#include "explore/model/faults/fault.h"
#include "explore/model/subject.h"

#include <assert.h>
#include <string.h>

/* Whole seconds suit every scheme: EX, EXPIRE and stamps count in them. */
enum { UNIT_US = 1000000, SLACK_US = UNIT_US / 100 };

int64_t translate_lease_us(const struct config *config)
{
    return (int64_t)config->ttl * UNIT_US;
}

int64_t translate_tick_us(const struct config *config)
{
    (void)config;
    return UNIT_US + SLACK_US;
}

static struct fault_text text_of(const struct successor *step)
{
    static const enum choice_kind own[] = {
        [ACTION_TICK] = CHOICE_TIME,
        [ACTION_ACQUIRE] = CHOICE_ACQUIRE,
        [ACTION_RELEASE] = CHOICE_RELEASE,
        [ACTION_EXTEND] = CHOICE_EXTEND,
        [ACTION_WAKE] = CHOICE_WAKE,
        [ACTION_ARRIVE] = CHOICE_ARRIVE,
        [ACTION_HEAR] = CHOICE_HEAR,
        [ACTION_GIVE_UP] = CHOICE_GIVE_UP,
        [ACTION_WRITE] = CHOICE_WRITE,
        [ACTION_READ_COUNTER] = CHOICE_READ_COUNTER,
        [ACTION_WRITE_COUNTER] = CHOICE_WRITE_COUNTER,
    };
    switch (step->kind) {
    case ACTION_INJECT:
        return fault_text((enum fault)step->fault);
    case ACTION_DELAYED:
        return fault_later_text((enum fault)step->fault);
    default:
        return (struct fault_text){1, {own[step->kind]}};
    }
}

static enum reply_error error_of(const struct successor *step)
{
    return step->kind == ACTION_INJECT ? fault_kind((enum fault)step->fault)->error : ERROR_NONE;
}

/* A server's keys are gone just past their end. */
static int64_t amount_us(const struct config *config, enum choice_kind kind, int ticks)
{
    switch (kind) {
    case CHOICE_TIME:
        return translate_tick_us(config);
    case CHOICE_CLIENT_CLOCK:
        return ticks * UNIT_US;
    case CHOICE_CLIENT_DRIFT:
    case CHOICE_SERVER_DRIFT:
        return ticks < 0 ? -UNIT_US / 2 : UNIT_US;
    case CHOICE_SERVER_CLOCK:
        return ticks * UNIT_US + SLACK_US;
    default:
        return 0;
    }
}

static struct packed_message message_of(const struct state_space *space, const uint32_t *words,
                                        const struct successor *step)
{
    struct client_state client_state;
    memset(&client_state, 0, sizeof client_state);
    intern_get(&space->client_states, words[step->client], &client_state);
    assert(step->message >= 0 && step->message < client_state.count);
    return client_state.messages[step->message];
}

/* What nobody waits for is named as such. */
static enum choice_kind naming(enum choice_kind kind, const struct packed_message *message)
{
    return kind == CHOICE_ARRIVE && message_is_abandoned(message) ? CHOICE_ARRIVE_LATE : kind;
}

/* Whose clock has drifted as far as it does, with the tick. */
static int end_drifts(const struct state_space *space, const uint32_t *words,
                      struct choice *choices)
{
    int count = 0;
    for (int i = 0; i < space->config.clients; i++) {
        struct client_state client_state;
        memset(&client_state, 0, sizeof client_state);
        intern_get(&space->client_states, words[i], &client_state);
        const uint8_t rate = client_state.rate;
        client_state_age(&client_state, &space->config, false);
        if (client_state.rate != rate)
            choices[count++] =
                (struct choice){.kind = CHOICE_CLIENT_DRIFT, .client = i, .server = -1};
    }
    return count;
}

int translate_step(const struct state_space *space, const uint32_t *words,
                   const struct successor *step, struct choice *choices)
{
    const struct fault_text text = text_of(step);
    struct packed_message message = {0};
    if (step->message >= 0)
        message = message_of(space, words, step);
    const bool is_opaque = message_is_opaque(&message);
    for (int i = 0; i < text.count; i++) {
        choices[i] =
            (struct choice){.kind = naming(text.choices[i], &message),
                            .client = step->client,
                            .server = step->server,
                            .verb = is_opaque ? 0 : message.verb,
                            .error = error_of(step),
                            .amount_us = amount_us(&space->config, text.choices[i], step->ticks)};
        if (is_opaque)
            subject_name(space->config.subject, message.verb, choices[i].opaque);
    }
    return text.count +
           (step->kind == ACTION_TICK ? end_drifts(space, words, &choices[text.count]) : 0);
}
