/* translate.c - see translate.h. */
#include "explore/translate.h"

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

/* What every kind of move is in a schedule; -1: a pause. */
static const int choice_of[] = {
    [MOVE_TIME] = CHOICE_TIME,
    [MOVE_ACQUIRE] = CHOICE_ACQUIRE,
    [MOVE_RELEASE] = CHOICE_RELEASE,
    [MOVE_WAKE] = CHOICE_WAKE,
    [MOVE_ARRIVE] = CHOICE_ARRIVE,
    [MOVE_HEAR] = CHOICE_HEAR,
    [MOVE_GIVE_UP] = CHOICE_GIVE_UP,
    [MOVE_SLOW] = -1,
    [MOVE_STALL] = -1,
    [MOVE_LATE] = -1,
    [MOVE_LOSE] = CHOICE_LOSE_REQUEST,
    [MOVE_RESEND] = CHOICE_RESEND,
    [MOVE_CRASH] = CHOICE_CRASH,
    [MOVE_CLOCK_AHEAD] = CHOICE_CLIENT_CLOCK,
    [MOVE_CLOCK_BACK] = CHOICE_CLIENT_CLOCK,
    [MOVE_SERVER_CLOCK] = CHOICE_SERVER_CLOCK,
    [MOVE_RESTART] = CHOICE_RESTART,
    [MOVE_CUT] = CHOICE_CUT_REPLICA,
    [MOVE_FAILOVER] = CHOICE_FAILOVER,
    [MOVE_EVICT] = CHOICE_EVICT,
};

static int64_t amount_us(const struct setting *setting, enum move_kind kind)
{
    switch (kind) {
    case MOVE_TIME:
        return translate_tick_us(setting);
    case MOVE_CLOCK_AHEAD:
        return setting->jump * UNIT_US;
    case MOVE_CLOCK_BACK:
        return -setting->jump * UNIT_US;
    case MOVE_SERVER_CLOCK:
        return setting->ttl * UNIT_US + SLACK_US;
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

static bool is_about_parcel(enum move_kind kind)
{
    return kind == MOVE_ARRIVE || kind == MOVE_HEAR || kind == MOVE_GIVE_UP || kind == MOVE_LOSE ||
           kind == MOVE_RESEND;
}

int translate_step(const struct space *space, const uint32_t *words, const struct step_taken *step,
                   struct choice *choices)
{
    int kind = choice_of[step->kind], count = 0;
    if (kind < 0)
        return 0;
    struct choice choice = {.kind = (enum choice_kind)kind,
                            .client = step->client,
                            .server = step->server,
                            .amount_us = amount_us(&space->setting, step->kind)};
    if (is_about_parcel(step->kind)) {
        struct parcel parcel = parcel_of(space, words, step);
        choice.verb = parcel.verb;
        if (step->kind == MOVE_LOSE && parcel.state == MESSAGE_REPLY)
            choice.kind = CHOICE_LOSE_REPLY;
    }
    if (step->kind == MOVE_RESEND) {
        choices[count] = choice;
        choices[count++].kind = CHOICE_LOSE_REPLY;
    }
    choices[count++] = choice;
    return count;
}
