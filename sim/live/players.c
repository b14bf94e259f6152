/* players.c - the endless loop of one client in a stress run: think, acquire, critical section,
 * release. See stress.h.
 *
 *     thinks -> acquires -> [writes, fenced] -> reads the counter -> writes it + 1 -> appends to
 * the list -> releases -> thinks
 *
 * Stalls and crashes strike between these. */
#include "live/stress.h"

#include "world/breach.h"

#include <assert.h>
#include <stdio.h>

enum { CRASH_MOMENTS = 4 };

static void player_goes_on(struct player *player);

/* --- events --- */

static void operation_event(struct player *player, enum event_kind kind, enum operation op,
                            enum result result)
{
    struct stress *stress = player->stress;
    struct event event = stress_event(stress, kind, player, -1);
    event.op = op;
    event.result = result;
    if (kind != EVENT_CALL)
        event.fence = player->client.fence;
    stress_write(stress, &event);
    if (kind == EVENT_RETURN)
        stress->operations++;
}

static void player_fault(struct player *player, const char *name, int64_t amount_us)
{
    struct event event = stress_event(player->stress, EVENT_FAULT, player, -1);
    event.amount_us = amount_us;
    (void)snprintf(event.fault, sizeof event.fault, "%s", name);
    stress_write(player->stress, &event);
}

static int64_t world_us(const struct player *player)
{
    return stress_now_us(player->stress);
}

/* --- crash --- */

static void reborn(struct alarm *alarm)
{
    struct player *player = alarm->owner;
    player->client.phase = PHASE_IDLE;
    player->place = PLAYER_THINKS;
    player_goes_on(player);
}

static void player_crashes(struct player *player)
{
    struct stress *stress = player->stress;
    if (stress->trouble.code)
        return;
    stress->struck[STRUCK_CRASH]++;
    player_fault(player, choice_name(CHOICE_CRASH), 0);
    player->crash_in = -1;
    player->place = PLAYER_DEAD;
    player->is_paused = false;
    client_crash(&player->client);
    timers_remove(&stress->timers, &player->wake.timer);
    lanes_drop(player);
    uint64_t drawn = stress_draw(stress, player->number, DRAW_CRASH, ~player->operations);
    player->next.rings = reborn;
    stress_alarm(stress, &player->next, stress_spread(drawn, stress->options->lease_us));
}

/* One moment nearer to the crash that was drawn; true: it has struck. */
static bool crash_strikes(struct player *player)
{
    if (player->crash_in < 0 || player->crash_in-- > 0)
        return false;
    player_crashes(player);
    return true;
}

static void crash_draw(struct player *player)
{
    const struct stress *stress = player->stress;
    uint64_t drawn = stress_draw(stress, player->number, DRAW_CRASH, player->operations++);
    player->crash_in = -1;
    if (drawn % 1000000 < stress->options->crash_ppm)
        player->crash_in = (int)(drawn >> 40) % CRASH_MOMENTS;
}

/* --- what a step of the scheme leads to --- */

static void wake_set(struct player *player)
{
    struct stress *stress = player->stress;
    int64_t wake_us = player->client.wake_us;
    if (wake_us == INT64_MAX)
        timers_remove(&stress->timers, &player->wake.timer);
    else
        stress_alarm(stress, &player->wake, wake_us - world_us(player));
}

static void returned(struct player *player, const struct client_news *news)
{
    struct stress *stress = player->stress;
    operation_event(player, EVENT_RETURN, news->op, news->result);
    if (news->op == OP_ACQUIRE)
        histogram_add(stress->latency, world_us(player) - player->called_us);
    if (news->result == RESULT_GRANTED)
        stress->grants++;
}

static void take_news(struct player *player, const struct client_news *news)
{
    if (news->breach) {
        breach_fail(player->client.scheme, news->breach, news->at, &player->stress->trouble);
        return;
    }
    if (news->has_returned)
        returned(player, news);
    if (news->has_noticed_loss)
        operation_event(player, EVENT_NOTICE, OP_EXTEND, RESULT_NONE);
    for (int i = 0; i < news->sends_count; i++) {
        const struct ask *ask = &news->sends[i];
        order_send(player, ask->server, ask->lane, client_operation(&player->client, ask->lane),
                   &ask->command);
    }
    if (news->is_stranded)
        operation_event(player, EVENT_STRAND, client_operation(&player->client, LANE_MAIN),
                        RESULT_NONE);
    wake_set(player);
    /* A crash that was drawn for the operation strikes at its end at the latest. */
    if (news->has_returned && player->crash_in >= 0) {
        player_crashes(player);
        return;
    }
    if (news->has_returned || news->has_noticed_loss)
        player_goes_on(player);
}

static bool is_wake_due(const struct player *player)
{
    return player->place != PLAYER_DEAD && !player->is_paused &&
           player->client.wake_us <= world_us(player);
}

/* How late its timer rings is this machine's doing: a pause that was drawn is not counted. */
static void player_wakes(struct player *player)
{
    struct client_news news;
    struct event event = stress_event(player->stress, EVENT_WAKE, player, -1);
    int64_t due_us = player->client.wake_us;
    if (due_us < player->awake_us)
        due_us = player->awake_us;
    if (due_us < event.time_us)
        event.amount_us = event.time_us - due_us;
    stress_write(player->stress, &event);
    client_tell(&player->client, &(struct moment){.kind = MOMENT_WAKE}, world_us(player), &news);
    take_news(player, &news);
}

static void wakes(struct alarm *alarm)
{
    struct player *player = alarm->owner;
    if (player->is_paused)
        stress_alarm(player->stress, alarm, 1000);
    else if (!is_wake_due(player))
        wake_set(player);
    else
        player_wakes(player);
}

static void access_ended(struct player *player, const struct order *order,
                         const struct reply *reply)
{
    const struct reply lost = {.kind = REPLY_ERROR, .error = ERROR_OTHER};
    enum result result = client_accessed(&player->client, &order->command, reply ? reply : &lost);
    operation_event(player, EVENT_RETURN, OP_ACCESS, result);
    player_goes_on(player);
}

void player_told(struct player *player, const struct order *order, enum moment_kind kind,
                 const struct reply *reply)
{
    struct client_news news;
    /* A timer that rang while this process had to wait for the machine rings first. */
    if (is_wake_due(player))
        player_wakes(player);
    if (player->place == PLAYER_DEAD || order->attempt != player->client.attempt)
        return;
    if (crash_strikes(player))
        return;
    if (order->op == OP_ACCESS) {
        access_ended(player, order, reply);
        return;
    }
    struct moment moment = {.kind = kind, .server = order->server, .verb = order->command.verb};
    if (reply)
        moment.reply = *reply;
    client_tell(&player->client, &moment, world_us(player), &news);
    take_news(player, &news);
}

/* --- the loop --- */

static void thought(struct alarm *alarm)
{
    player_goes_on(alarm->owner);
}

static void pause_ends(struct alarm *alarm)
{
    struct player *player = alarm->owner;
    player->is_paused = false;
    orders_resume(player);
    if (player->place != PLAYER_DEAD)
        player_goes_on(player);
}

static void think(struct player *player)
{
    struct stress *stress = player->stress;
    uint64_t drawn = stress_draw(stress, player->number, DRAW_THINK, player->client.attempt);
    player->place = PLAYER_THINKS;
    player->crash_in = -1;
    player->next.rings = thought;
    stress_alarm(stress, &player->next, stress_spread(drawn, stress->options->think_us));
}

static void acquire(struct player *player)
{
    struct stress *stress = player->stress;
    struct client_news news;
    int attempt = player->client.attempt + 1;
    player->lock = (int)(stress_draw(stress, player->number, DRAW_LOCK, attempt) %
                         (uint64_t)stress->options->locks);
    player->place = PLAYER_ACQUIRES;
    player->was_paused = false;
    player->called_us = world_us(player);
    crash_draw(player);
    client_acquire(&player->client, client_token(&stress->run, player->number, attempt),
                   player->called_us, &news);
    operation_event(player, EVENT_CALL, OP_ACQUIRE, RESULT_NONE);
    take_news(player, &news);
    if (player->place == PLAYER_ACQUIRES)
        (void)crash_strikes(player);
}

static void release(struct player *player)
{
    struct client_news news;
    player->place = PLAYER_RELEASES;
    crash_draw(player);
    operation_event(player, EVENT_CALL, OP_RELEASE, RESULT_NONE);
    client_release(&player->client, world_us(player), &news);
    take_news(player, &news);
    if (player->place == PLAYER_RELEASES)
        (void)crash_strikes(player);
}

static void access_begin(struct player *player, enum player_place place)
{
    struct client *client = &player->client;
    struct command command;
    player->place = place;
    switch (place) {
    case PLAYER_WRITES_FENCED:
        command = client_access(client, player->number + 1, CHOICE_WRITE);
        break;
    case PLAYER_READS:
        command = client_access(client, player->number + 1, CHOICE_READ_COUNTER);
        break;
    case PLAYER_WRITES:
        command = client_access(client, player->number + 1, CHOICE_WRITE_COUNTER);
        break;
    default: /* an id that no other section has */
        client->is_accessing = true;
        command = (struct command){.verb = VERB_RPUSH,
                                   .key = KEY_LIST,
                                   .value = (int64_t)client->attempt << 16 | (player->number + 1)};
        break;
    }
    operation_event(player, EVENT_CALL, OP_ACCESS, RESULT_NONE);
    order_send(player, 0, LANE_MAIN, OP_ACCESS, &command);
}

/* The holder stalls, once a section, before it reads or between reading and writing. */
static bool pause_strikes(struct player *player, enum player_place where)
{
    struct stress *stress = player->stress;
    uint64_t drawn = stress_draw(stress, player->number, DRAW_PAUSE, player->client.attempt);
    bool is_here = (drawn >> 63) == (where == PLAYER_READS);
    if (player->was_paused || !is_here || drawn % 1000000 >= stress->options->pause_ppm)
        return false;
    int64_t pause_us = stress_spread(drawn >> 20, stress->options->pause_us);
    player->was_paused = player->is_paused = true;
    player->awake_us = world_us(player) + pause_us;
    stress->struck[STRUCK_PAUSE]++;
    player_fault(player, "pause", pause_us);
    player->next.rings = pause_ends;
    stress_alarm(stress, &player->next, pause_us);
    return true;
}

/* The next part of the critical section, when the last one ended well; else the release. */
static void section_goes_on(struct player *player)
{
    bool was_done = player->client.last == RESULT_DONE || player->client.last == RESULT_GRANTED;
    enum player_place next = PLAYER_RELEASES;
    if (was_done && player->place == PLAYER_ACQUIRES)
        next = player->client.scheme->mints_fence ? PLAYER_WRITES_FENCED : PLAYER_READS;
    else if (was_done && player->place < PLAYER_APPENDS)
        next = player->place + 1;
    if (next == PLAYER_RELEASES)
        release(player);
    else if (!pause_strikes(player, next))
        access_begin(player, next);
}

/* What comes next, when nothing is under way. */
static void player_goes_on(struct player *player)
{
    if (player->is_paused || player->client.is_accessing)
        return;
    switch (player->client.phase) {
    case PHASE_HOLDING:
        section_goes_on(player);
        break;
    case PHASE_IDLE:
        if (player->place != PLAYER_THINKS)
            think(player);
        else if (!player->stress->is_ending && !timer_is_set(&player->next.timer))
            acquire(player);
        break;
    case PHASE_ACQUIRING:
    case PHASE_RELEASING:
    case PHASE_DEAD:
        break;
    }
}

void player_init(struct player *player, struct stress *stress, int number)
{
    const struct stress_options *options = stress->options;
    const struct lease lease = {.ttl_us = options->lease_us,
                                .unit_us = options->scheme->unit_us,
                                .servers = options->servers,
                                .server_kind = SERVER_REDIS};
    player->stress = stress;
    player->number = number;
    player->crash_in = -1;
    player->wake = (struct alarm){.rings = wakes, .owner = player};
    player->next = (struct alarm){.rings = thought, .owner = player};
    client_init(&player->client, options->scheme, &lease);
}

void player_start(struct player *player, int64_t in_us)
{
    stress_alarm(player->stress, &player->next, in_us);
}
