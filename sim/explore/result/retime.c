/* retime.c - see retime.h. */
#include "explore/result/retime.h"

#include "base/memory.h"

#include <stdlib.h>

static bool is_of(const struct choice *choice, enum choice_kind kind)
{
    return choice->kind == kind;
}

bool retime_is_wanted(const struct explore_finding *way, bool rounds_waits)
{
    bool is_wanted = false;
    for (int i = 0; i < way->choices_count; i++)
        is_wanted |= is_of(&way->choices[i], CHOICE_WAKE) ||
                     (rounds_waits && is_of(&way->choices[i], CHOICE_TIME));
    return is_wanted;
}

/* One that passed when so many choices were made. */
struct made_tick {
    int choice;
    int64_t began_us;
};

struct retimed {
    const struct explore_finding *way;
    struct world *world;
    int clients;
    struct choice *choices; /* that were made */
    int count;
    int64_t grid_us; /* where the search's ticks have come to, in the world's time */
    int64_t lease_us, tick_us;
    struct made_tick *ticks;
    int ticks_count;
    bool is_other;
};

static int64_t now_us(const struct retimed *it)
{
    return it->world->ops->now_us(it->world);
}

static int64_t due_us(const struct retimed *it, int client)
{
    return it->world->ops->client(it->world, client).wake_us;
}

/* When the last of the timers is due that ring between that tick and the next one; the tick's own
 * end, where none does by then. */
static int64_t cut_us(const struct retimed *it, int at, int64_t end_us)
{
    int64_t last_us = -1;
    for (int i = at + 1; i < it->way->choices_count; i++) {
        const struct choice *choice = &it->way->choices[i];
        if (is_of(choice, CHOICE_TIME))
            break;
        if (is_of(choice, CHOICE_WAKE) && due_us(it, choice->client) > last_us &&
            due_us(it, choice->client) <= end_us)
            last_us = due_us(it, choice->client);
    }
    return last_us < 0 ? end_us : last_us;
}

static bool rings_before_tick(const struct retimed *it, int at, int client)
{
    for (int i = at + 1; i < it->way->choices_count; i++) {
        const struct choice *choice = &it->way->choices[i];
        if (is_of(choice, CHOICE_TIME))
            break;
        if (is_of(choice, CHOICE_WAKE) && choice->client == client)
            return true;
    }
    return false;
}

/* When the first of the timers is due that are running, and do not ring behind that tick; until_us,
 * where none is by then. */
static int64_t missed_us(const struct retimed *it, int at, int64_t until_us)
{
    for (int i = 0; i < it->clients; i++)
        if (due_us(it, i) < until_us && !rings_before_tick(it, at, i))
            until_us = due_us(it, i);
    return until_us;
}

static enum fail make(struct retimed *it, const struct choice *choice, struct failure *failure)
{
    it->choices = memory_resize(it->choices, (size_t)it->count + 1, sizeof *it->choices);
    it->choices[it->count++] = *choice;
    return it->world->ops->apply(it->world, choice, failure);
}

static enum fail pass_until(struct retimed *it, int64_t until_us, struct failure *failure)
{
    const struct choice time = {
        .kind = CHOICE_TIME, .client = -1, .server = -1, .amount_us = until_us - now_us(it)};
    return time.amount_us > 0 ? make(it, &time, failure) : FAIL_NONE;
}

enum { SERVER_CLOCK_US = 1000 }; /* a key is gone when the millisecond is over that it ends in */

/* A wait is shorter than the tick that passes in it, and something ends with that tick: a lease, as
 * many ticks ago. Then it ends half way through the wait, and the tick before takes so much longer.
 */
static void move_earlier(struct retimed *it, int64_t wait_us)
{
    const int ticks = (int)((it->lease_us + it->tick_us - 1) / it->tick_us);
    const int first = it->ticks_count - ticks;
    if (first < 0 || it->ticks_count < 2)
        return;
    const int64_t passed_us = it->ticks[it->ticks_count - 1].began_us - it->ticks[first].began_us;
    it->choices[it->ticks[it->ticks_count - 2].choice].amount_us +=
        it->lease_us + SERVER_CLOCK_US - passed_us - wait_us / 2;
    it->choices[it->ticks[it->ticks_count - 1].choice].amount_us = wait_us;
    it->is_other = true;
}

static bool rounds_up(enum retime how)
{
    return how == RETIME_CUT || how == RETIME_CUT_UNHELD;
}

static bool is_held(const struct retimed *it)
{
    bool is_held = false;
    for (int i = 0; i < it->clients; i++)
        is_held |= it->world->ops->client(it->world, i).phase == PHASE_HOLDING;
    return is_held;
}

enum { SLACK_PARTS = 10 };

static enum fail make_tick(struct retimed *it, int at, enum retime how, struct failure *failure)
{
    const int64_t amount_us = it->way->choices[at].amount_us, began_us = now_us(it);
    it->tick_us = amount_us;
    it->grid_us += amount_us;
    const int64_t end_us = rounds_up(how) ? began_us + amount_us : it->grid_us;
    const int64_t due_us = cut_us(it, at, end_us);
    const bool is_cut = how == RETIME_CUT || (how == RETIME_CUT_UNHELD && !is_held(it));
    const int64_t until_us = is_cut ? missed_us(it, at, due_us) : end_us;
    it->is_other |= until_us != began_us + amount_us;
    if (until_us <= began_us)
        return FAIL_NONE;
    it->ticks = memory_resize(it->ticks, (size_t)it->ticks_count + 1, sizeof *it->ticks);
    it->ticks[it->ticks_count++] = (struct made_tick){.choice = it->count, .began_us = began_us};
    if (pass_until(it, until_us, failure))
        return failure->code;
    /* The search's ticks are a little longer than a part of the lease. */
    if (how == RETIME_FILL && due_us > began_us && due_us < until_us - amount_us / SLACK_PARTS)
        move_earlier(it, due_us - began_us);
    return FAIL_NONE;
}

static enum fail make_one(struct retimed *it, int at, enum retime how, struct failure *failure)
{
    const struct choice *choice = &it->way->choices[at];
    if (is_of(choice, CHOICE_TIME))
        return make_tick(it, at, how, failure);
    if (is_of(choice, CHOICE_WAKE) && !rounds_up(how)) {
        const int64_t until_us = due_us(it, choice->client);
        it->is_other |= until_us > now_us(it);
        if (until_us != INT64_MAX && pass_until(it, until_us, failure))
            return failure->code;
    }
    return make(it, choice, failure);
}

static void hear_nothing(void *context, const struct event *event)
{
    (void)context;
    (void)event;
}

static bool find_made(const struct run *run, struct explore_finding *way, enum retime how,
                      const struct confirm_world *world, bool *is_other)
{
    struct retimed_way made;
    if (!world->memo || !replay_memo_find_retimed(world->memo, run, way, (int)how, &made))
        return false;
    way->choices =
        memory_resize(way->choices, (size_t)made.choices_count + 1, sizeof *way->choices);
    for (int i = 0; i < made.choices_count; i++)
        way->choices[i] = made.choices[i];
    way->choices_count = made.choices_count;
    *is_other = made.is_other;
    return true;
}

bool retime(const struct run *given, struct explore_finding *way, enum retime how,
            const struct confirm_world *world)
{
    bool is_other;
    if (find_made(given, way, how, world, &is_other))
        return is_other;
    struct run run = *given;
    struct retimed it = {.way = way, .clients = given->clients, .lease_us = given->lease_us};
    struct failure failure = {0};
    int at = 0;
    run.sink = (struct event_sink){.take = hear_nothing};
    /* Nothing is concluded from this: clients that were used before will do. */
    enum fail fail = world->open(world->context, &run, 0, &it.world, &failure);
    if (!fail)
        it.grid_us = now_us(&it);
    for (; at < way->choices_count && !fail; at++)
        fail = make_one(&it, at, how, &failure);
    if (it.world)
        it.world->ops->free(it.world);
    if (world->ended)
        world->ended(world->context, fail);
    for (; at < way->choices_count; at++) {
        it.choices = memory_resize(it.choices, (size_t)it.count + 1, sizeof *it.choices);
        it.choices[it.count++] = way->choices[at];
    }
    const struct retimed_way made = {
        .choices = it.choices, .choices_count = it.count, .is_other = it.is_other};
    if (world->memo && !fail)
        replay_memo_put_retimed(world->memo, given, way, (int)how, &made);
    free(it.ticks);
    free(way->choices);
    way->choices = it.choices;
    way->choices_count = it.count;
    return it.is_other;
}
