/* load_clients.c - the endless loop of one client in a stress run: think, acquire, critical
 * section, release. See stress.h.
 *
 *     thinks -> acquires -> [writes, fenced] -> reads the counter -> writes it + 1 -> appends to
 * the list [-> cuts it, where it is long] -> works -> releases -> thinks
 *
 * Stalls and crashes strike between these. */
#include "live/stress.h"

#include "world/contract.h"

enum { CRASH_MOMENTS = 4 };

static void load_client_goes_on(struct load_client *load_client);
static void pause_ends(struct load_timer *timer);

/* --- events --- */

static void operation_event(struct load_client *load_client, enum event_kind kind,
                            enum operation op, enum result result)
{
    struct stress *stress = load_client->stress;
    struct event event = stress_event(stress, kind, load_client, -1);
    event.op = op;
    event.result = result;
    if (kind != EVENT_CALL)
        event.fence = load_client->client.fence;
    stress_write(stress, &event);
    if (kind == EVENT_RETURN)
        stress->operations++;
}

static void load_client_fault(struct load_client *load_client, enum fault fault, int64_t amount_us)
{
    struct event event = stress_event(load_client->stress, EVENT_FAULT, load_client, -1);
    event.amount_us = amount_us;
    event.fault = fault;
    stress_write(load_client->stress, &event);
}

static int64_t world_us(const struct load_client *load_client)
{
    return stress_now_us(load_client->stress);
}

/* --- crash --- */

static void restarted(struct load_timer *timer)
{
    struct load_client *load_client = timer->owner;
    load_wait_ends(load_client);
    load_client->client.phase = PHASE_IDLE;
    load_client->place = LOAD_THINKS;
    load_client_goes_on(load_client);
}

static void load_client_crashes(struct load_client *load_client)
{
    struct stress *stress = load_client->stress;
    if (stress->failure.code)
        return;
    stress->struck[STRUCK_CRASH]++;
    load_client_fault(load_client, FAULT_CRASH, 0);
    load_client->crash_in = -1;
    load_client->place = LOAD_DEAD;
    if (!load_client->is_paused)
        load_wait_begins(load_client);
    load_client->is_paused = load_client->is_working = false;
    client_crash(&load_client->client);
    timers_remove(&stress->timers, &load_client->wake.timer);
    lanes_drop(load_client);
    uint64_t drawn = stress_draw(stress, load_client->number, DRAW_CRASH, ~load_client->operations);
    load_client->next.rings = restarted;
    stress_timer(stress, &load_client->next, stress_spread(drawn, stress->options->lease_us));
}

/* One moment nearer to the crash that was drawn; true: it has struck. */
static bool crash_strikes(struct load_client *load_client)
{
    if (load_client->stress->is_healing)
        load_client->crash_in = -1;
    if (load_client->crash_in < 0 || load_client->crash_in-- > 0)
        return false;
    load_client_crashes(load_client);
    return true;
}

static void crash_draw(struct load_client *load_client)
{
    const struct stress *stress = load_client->stress;
    uint64_t drawn =
        stress_draw(stress, load_client->number, DRAW_CRASH, load_client->operations++);
    load_client->crash_in = -1;
    if (drawn % 1000000 < stress->options->crash_ppm)
        load_client->crash_in = (int)(drawn >> 40) % CRASH_MOMENTS;
}

/* --- what a step of the scheme leads to --- */

static void wake_set(struct load_client *load_client)
{
    struct stress *stress = load_client->stress;
    int64_t wake_us = load_client->client.wake_us;
    if (wake_us == INT64_MAX)
        timers_remove(&stress->timers, &load_client->wake.timer);
    else
        stress_timer(stress, &load_client->wake, wake_us - world_us(load_client));
}

static void count_return(struct load_client *load_client, const struct step_result *step)
{
    struct stress *stress = load_client->stress;
    if (step->op == OP_ACQUIRE)
        histogram_add(stress->latency, world_us(load_client) - load_client->called_us);
    if (step->result != RESULT_GRANTED)
        return;
    load_own_delay_tell(load_client);
    stress->grants++;
    if (stress->is_healing)
        healing_granted(&stress->healing[load_client->lock]);
}

static void take_step(struct load_client *load_client, const struct step_result *step)
{
    if (step->violation) {
        contract_fail(load_client->client.scheme, step->violation, step->at,
                      &load_client->stress->failure);
        return;
    }
    struct step_event events[STEP_EVENTS_MAX];
    int count = step_events(step, events);
    if (step->has_returned)
        count_return(load_client, step);
    for (int i = 0; i < count; i++) {
        const struct step_event *event = &events[i];
        if (event->kind == EVENT_SEND)
            load_request_send(load_client, event->request);
        else
            operation_event(load_client, event->kind, event->op, event->result);
    }
    wake_set(load_client);
    /* A crash that was drawn for the operation strikes at its end at the latest. */
    if (step->has_returned && load_client->crash_in >= 0 && !load_client->stress->is_healing) {
        load_client_crashes(load_client);
        return;
    }
    if (step->has_returned || step->has_noticed_loss)
        load_client_goes_on(load_client);
}

static bool is_wake_due(const struct load_client *load_client)
{
    const int64_t wake_us = load_client->client.wake_us;
    return wake_us != INT64_MAX && load_client->place != LOAD_DEAD && !load_client->is_paused &&
           wake_us <= world_us(load_client);
}

/* How late its timer rings is this machine's doing: a pause that was drawn is not counted. */
static void load_client_wakes(struct load_client *load_client)
{
    struct step_result step;
    struct event event = stress_event(load_client->stress, EVENT_WAKE, load_client, -1);
    int64_t due_us = load_client->client.wake_us;
    if (due_us < load_client->awake_us)
        due_us = load_client->awake_us;
    if (due_us < event.time_us)
        event.amount_us = event.time_us - due_us;
    load_client->own.told_us += event.amount_us;
    stress_write(load_client->stress, &event);
    client_tell(&load_client->client, &(struct moment){.kind = MOMENT_WAKE}, world_us(load_client),
                &step);
    take_step(load_client, &step);
}

/* A timer that rang while this process had to wait for the machine, or while the client was paused,
 * rings first. */
static void load_client_wakes_first(struct load_client *load_client)
{
    if (is_wake_due(load_client))
        load_client_wakes(load_client);
}

static void wakes(struct load_timer *timer)
{
    struct load_client *load_client = timer->owner;
    if (load_client->is_paused)
        stress_timer(load_client->stress, timer, 1000);
    else if (!is_wake_due(load_client))
        wake_set(load_client);
    else
        load_client_wakes(load_client);
}

static void access_ended(struct load_client *load_client, const struct load_request *request,
                         const struct reply *reply)
{
    enum result result = client_accessed(&load_client->client, &request->command, reply);
    if (request->command.verb == VERB_RPUSH)
        load_client->entries = reply && reply->kind == REPLY_INTEGER ? reply->value : 0;
    operation_event(load_client, EVENT_RETURN, OP_ACCESS, result);
    load_client_goes_on(load_client);
}

void load_client_told(struct load_client *load_client, const struct load_request *request,
                      enum moment_kind kind, const struct reply *reply)
{
    struct step_result step;
    load_client_wakes_first(load_client);
    if (load_client->place == LOAD_DEAD || request->attempt != load_client->client.attempt)
        return;
    if (crash_strikes(load_client))
        return;
    if (request->op == OP_ACCESS) {
        access_ended(load_client, request, reply);
        return;
    }
    struct moment moment = {.kind = kind, .server = request->server, .verb = request->command.verb};
    if (reply)
        moment.reply = *reply;
    client_tell(&load_client->client, &moment, world_us(load_client), &step);
    take_step(load_client, &step);
}

/* --- the loop --- */

static void thought(struct load_timer *timer)
{
    load_client_goes_on(timer->owner);
}

static void pause_ends(struct load_timer *timer)
{
    struct load_client *load_client = timer->owner;
    load_client->is_paused = false;
    load_wait_ends(load_client);
    load_requests_resume(load_client);
    load_client_wakes_first(load_client);
    if (load_client->place != LOAD_DEAD)
        load_client_goes_on(load_client);
}

static void think(struct load_client *load_client)
{
    struct stress *stress = load_client->stress;
    uint64_t drawn =
        stress_draw(stress, load_client->number, DRAW_THINK, load_client->client.attempt);
    load_client->place = LOAD_THINKS;
    load_client->crash_in = -1;
    load_client->next.rings = thought;
    stress_timer(stress, &load_client->next, distribution_at(&stress->options->think, drawn));
}

static void acquire(struct load_client *load_client)
{
    struct stress *stress = load_client->stress;
    struct step_result step;
    int attempt = load_client->client.attempt + 1;
    load_client->lock = (int)(stress_draw(stress, load_client->number, DRAW_LOCK, attempt) %
                              (uint64_t)stress->options->locks);
    load_client->place = LOAD_ACQUIRES;
    load_client->was_paused = load_client->has_stalled_releasing = false;
    load_client->called_us = world_us(load_client);
    load_own_delay_begins(load_client);
    if (stress->is_healing)
        healing_asked(&stress->healing[load_client->lock], load_client->called_us);
    crash_draw(load_client);
    client_acquire(&load_client->client, client_token(&stress->run, load_client->number, attempt),
                   load_client->called_us, &step);
    operation_event(load_client, EVENT_CALL, OP_ACQUIRE, RESULT_NONE);
    take_step(load_client, &step);
    if (load_client->place == LOAD_ACQUIRES)
        (void)crash_strikes(load_client);
}

static void release(struct load_client *load_client)
{
    struct step_result step;
    load_client->place = LOAD_RELEASES;
    crash_draw(load_client);
    operation_event(load_client, EVENT_CALL, OP_RELEASE, RESULT_NONE);
    client_release(&load_client->client, world_us(load_client), &step);
    take_step(load_client, &step);
    if (load_client->place == LOAD_RELEASES)
        (void)crash_strikes(load_client);
}

static void access_begin(struct load_client *load_client, enum load_client_place place)
{
    struct client *client = &load_client->client;
    struct request request = {.server = SERVER_ONE, .lane = LANE_MAIN, .op = OP_ACCESS};
    load_client->place = place;
    switch (place) {
    case LOAD_WRITES_FENCED:
        request.command = client_access(client, load_client->number + 1, CHOICE_WRITE);
        break;
    case LOAD_READS:
        request.command = client_access(client, load_client->number + 1, CHOICE_READ_COUNTER);
        break;
    case LOAD_WRITES:
        request.command = client_access(client, load_client->number + 1, CHOICE_WRITE_COUNTER);
        break;
    case LOAD_CUTS:
        client->is_accessing = true;
        request.command = (struct command){.verb = VERB_DEL, .key = KEY_LIST};
        break;
    default: /* an id that no other section has */
        client->is_accessing = true;
        request.command =
            (struct command){.verb = VERB_RPUSH,
                             .key = KEY_LIST,
                             .value = (int64_t)client->attempt << 16 | (load_client->number + 1)};
        break;
    }
    operation_event(load_client, EVENT_CALL, OP_ACCESS, RESULT_NONE);
    load_request_send(load_client, &request);
}

/* From now on nothing of it happens, for about the mean length of a pause. */
static void stall(struct load_client *load_client, enum struck struck, uint64_t drawn)
{
    struct stress *stress = load_client->stress;
    const int64_t pause_us = stress_spread(drawn >> 20, stress->options->pause_us);
    load_client->was_paused = load_client->is_paused = true;
    load_client->awake_us = world_us(load_client) + pause_us;
    load_wait_begins(load_client);
    stress->struck[struck]++;
    load_client_fault(load_client, FAULT_PAUSE, pause_us);
    load_client->next.rings = pause_ends;
    stress_timer(stress, &load_client->next, pause_us);
}

/* Has one that is aimed been drawn for this attempt? Each kind draws its own. */
static bool aimed_strikes(const struct load_client *load_client, uint32_t ppm, enum struck struck,
                          uint64_t *drawn)
{
    const struct stress *stress = load_client->stress;
    const int64_t n = (int64_t)load_client->client.attempt * STRUCK_COUNT + (int64_t)struck;
    *drawn = stress_draw(stress, load_client->number, DRAW_AIMED, n);
    return !stress->is_healing && !load_client->was_paused && *drawn % 1000000 < ppm;
}

bool load_client_stalls_releasing(struct load_client *load_client)
{
    const uint32_t ppm = load_client->stress->options->stall_in_release_ppm;
    uint64_t drawn;
    if (!ppm || load_client->place != LOAD_RELEASES ||
        !aimed_strikes(load_client, ppm, STRUCK_IN_RELEASE, &drawn))
        return false;
    stall(load_client, STRUCK_PAUSE, drawn);
    load_client->has_stalled_releasing = true;
    return true;
}

static bool stalls_after_grant(struct load_client *load_client)
{
    const uint32_t ppm = load_client->stress->options->pause_after_grant_ppm;
    uint64_t drawn;
    if (!ppm || load_client->place != LOAD_ACQUIRES ||
        !aimed_strikes(load_client, ppm, STRUCK_AFTER_GRANT, &drawn))
        return false;
    stall(load_client, STRUCK_AFTER_GRANT, drawn);
    return true;
}

/* The holder stalls, once a section, before it reads or between reading and writing. */
static bool pause_strikes(struct load_client *load_client, enum load_client_place where)
{
    struct stress *stress = load_client->stress;
    uint64_t drawn =
        stress_draw(stress, load_client->number, DRAW_PAUSE, load_client->client.attempt);
    bool is_here = (drawn >> 63) == (where == LOAD_READS);
    if (stress->is_healing || load_client->was_paused || !is_here ||
        drawn % 1000000 >= stress->options->pause_ppm)
        return false;
    stall(load_client, STRUCK_PAUSE, drawn);
    return true;
}

/* --- work, as long as was drawn for the attempt --- */

static void worked(struct load_timer *timer)
{
    struct load_client *load_client = timer->owner;
    load_client_wakes_first(load_client);
    if (!load_client->is_working)
        return; /* it has gone on, for its lock is lost, or has crashed */
    load_client->is_working = false;
    load_client_goes_on(load_client);
}

static bool has_work(struct load_client *load_client)
{
    struct stress *stress = load_client->stress;
    const struct distribution *hold = &stress->options->hold;
    const int64_t work_us = distribution_at(
        hold, stress_draw(stress, load_client->number, DRAW_HOLD, load_client->client.attempt));
    if ((load_client->place != LOAD_APPENDS && load_client->place != LOAD_CUTS) || work_us <= 0)
        return false;
    load_client->place = LOAD_WORKS;
    load_client->is_working = true;
    load_client->next.rings = worked;
    stress_timer(stress, &load_client->next, work_us);
    return true;
}

/* The next part of the critical section, when the last one ended well; else the release. */
static void section_goes_on(struct load_client *load_client)
{
    bool was_done =
        load_client->client.last == RESULT_DONE || load_client->client.last == RESULT_GRANTED;
    enum load_client_place next = LOAD_RELEASES;
    if (stalls_after_grant(load_client))
        return;
    if (was_done && load_client->place == LOAD_APPENDS && load_client->entries >= STRESS_LIST_MAX)
        next = LOAD_CUTS;
    else if (was_done && has_work(load_client))
        return;
    else if (was_done && load_client->place == LOAD_ACQUIRES)
        next = load_client->client.scheme->mints_fence ? LOAD_WRITES_FENCED : LOAD_READS;
    else if (was_done && load_client->place < LOAD_APPENDS)
        next = load_client->place + 1;
    if (next == LOAD_RELEASES)
        release(load_client);
    else if (!pause_strikes(load_client, next))
        access_begin(load_client, next);
}

/* What comes next, when nothing is under way. */
static void load_client_goes_on(struct load_client *load_client)
{
    if (load_client->is_paused || load_client->client.is_accessing)
        return;
    if (load_client->is_working && load_client->client.phase == PHASE_HOLDING)
        return;
    load_client->is_working = false; /* who has noticed that the lock is lost works no more */
    switch (load_client->client.phase) {
    case PHASE_HOLDING:
        section_goes_on(load_client);
        break;
    case PHASE_IDLE:
        if (load_client->place != LOAD_THINKS)
            think(load_client);
        else if (!load_client->stress->is_ending && !timer_is_set(&load_client->next.timer))
            acquire(load_client);
        break;
    case PHASE_ACQUIRING:
    case PHASE_RELEASING:
    case PHASE_DEAD:
        break;
    }
}

void load_client_init(struct load_client *load_client, struct stress *stress, int number)
{
    const struct stress_options *options = stress->options;
    const struct lease lease = {.ttl_us = options->lease_us,
                                .unit_us = options->scheme->unit_us,
                                .servers = options->servers,
                                .server_kind = SERVER_REDIS};
    load_client->stress = stress;
    load_client->number = number;
    load_client->crash_in = -1;
    load_client->wake = (struct load_timer){.rings = wakes, .owner = load_client};
    load_client->next = (struct load_timer){.rings = thought, .owner = load_client};
    client_init(&load_client->client, options->scheme, &lease);
}

void load_client_drifts(struct load_client *load_client)
{
    struct stress *stress = load_client->stress;
    uint64_t drawn = stress_draw(stress, load_client->number, DRAW_DRIFT, 0);
    if (drawn % 1000000 >= stress->options->drift_ppm)
        return;
    int64_t gains_us = (int64_t)((drawn >> 24) % (2 * DRIFT_US + 1)) - DRIFT_US;
    stress->struck[STRUCK_CLIENT_DRIFT]++;
    client_set_rate(&load_client->client, gains_us, world_us(load_client));
    load_client_fault(load_client, FAULT_CLIENT_DRIFT, gains_us);
}

void load_client_begin(struct load_client *load_client)
{
    struct stress *stress = load_client->stress;
    const struct distribution *think = &stress->options->think;
    const uint64_t drawn = stress_draw(stress, load_client->number, DRAW_THINK, 0);
    const bool is_constant = think->kind == DISTRIBUTION_CONSTANT;
    const struct distribution first = is_constant ? distribution_about(think->from_us) : *think;
    stress_timer(stress, &load_client->next, distribution_at(&first, drawn));
}
