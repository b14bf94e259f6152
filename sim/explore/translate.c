/* translate.c - see translate.h. */
#include "explore/translate.h"

#include "explore/fault.h"

#include <assert.h>
#include <string.h>

/* Whole seconds suit every scheme: EX, EXPIRE and stamps count in them. */
enum { UNIT_US = 1000000, SLACK_US = UNIT_US / 100 };

int64_t translate_lease_us(const struct setting *setting)
{
    return (int64_t)setting->ttl * UNIT_US;
}

int64_t translate_tick_us(const struct setting *setting)
{
    (void)setting;
    return UNIT_US + SLACK_US;
}

static struct fault_text text_of(const struct step_taken *step)
{
    static const enum choice_kind own[] = {
        [MOVE_TIME] = CHOICE_TIME,
        [MOVE_ACQUIRE] = CHOICE_ACQUIRE,
        [MOVE_RELEASE] = CHOICE_RELEASE,
        [MOVE_WAKE] = CHOICE_WAKE,
        [MOVE_ARRIVE] = CHOICE_ARRIVE,
        [MOVE_HEAR] = CHOICE_HEAR,
        [MOVE_GIVE_UP] = CHOICE_GIVE_UP,
        [MOVE_WRITE] = CHOICE_WRITE,
        [MOVE_READ_COUNTER] = CHOICE_READ_COUNTER,
        [MOVE_WRITE_COUNTER] = CHOICE_WRITE_COUNTER,
    };
    switch (step->kind) {
    case MOVE_STRIKE:
        return fault_kind((enum fault)step->fault)->becomes;
    case MOVE_FOLLOW:
        return fault_kind((enum fault)step->fault)->follows;
    default:
        return (struct fault_text){1, {own[step->kind]}};
    }
}

static enum reply_error error_of(const struct step_taken *step)
{
    return step->kind == MOVE_STRIKE ? fault_kind((enum fault)step->fault)->error : ERROR_NONE;
}

/* A server's keys are gone just past their end. */
static int64_t amount_us(const struct setting *setting, enum choice_kind kind, int ticks)
{
    switch (kind) {
    case CHOICE_TIME:
        return translate_tick_us(setting);
    case CHOICE_CLIENT_CLOCK:
        return ticks * UNIT_US;
    case CHOICE_SERVER_CLOCK:
        return ticks * UNIT_US + SLACK_US;
    default:
        return 0;
    }
}

static struct parcel parcel_of(const struct space *space, const uint32_t *words,
                               const struct step_taken *step)
{
    struct local local;
    memset(&local, 0, sizeof local);
    pool_get(&space->locals, words[step->client], &local);
    assert(step->parcel >= 0 && step->parcel < local.count);
    return local.parcels[step->parcel];
}

/* What nobody waits for is named as such. */
static enum choice_kind naming(enum choice_kind kind, const struct parcel *parcel)
{
    return kind == CHOICE_ARRIVE && parcel_is_late(parcel) ? CHOICE_ARRIVE_LATE : kind;
}

int translate_step(const struct space *space, const uint32_t *words, const struct step_taken *step,
                   struct choice *choices)
{
    const struct fault_text text = text_of(step);
    struct parcel parcel = {0};
    if (step->parcel >= 0)
        parcel = parcel_of(space, words, step);
    for (int i = 0; i < text.count; i++)
        choices[i] =
            (struct choice){.kind = naming(text.choices[i], &parcel),
                            .client = step->client,
                            .server = step->server,
                            .verb = parcel.verb,
                            .error = error_of(step),
                            .amount_us = amount_us(&space->setting, text.choices[i], step->ticks)};
    return text.count;
}
