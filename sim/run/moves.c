/* moves.c - see moves.h. */
#include "run/moves.h"

#include "scenario/naming.h"

#include <assert.h>
#include <string.h>

enum { GRID_US = 1000, DOUBLE_SPEED_US = 1000000, TICKS_OVER = MOVES_LEASE_TICKS + 1 };

int64_t moves_tick_us(const struct run *run)
{
    const int64_t lease_us = run->lease_us + run->lease_us / 100;
    return (lease_us / MOVES_LEASE_TICKS / GRID_US + 1) * GRID_US;
}

void moves_begin(struct moves_state *state, const struct run *run,
                 const struct moves_bounds *bounds, const uint8_t *budget)
{
    *state = (struct moves_state){.run = run, .bounds = *bounds};
    memcpy(state->budget, budget, sizeof state->budget);
    for (int i = 0; i < run->servers; i++)
        state->has_replica[i] = run->has_replica;
}

bool moves_have_fault(enum fault fault)
{
    return fault != FAULT_RESEND && fault != FAULT_SAME_TOKEN && fault != FAULT_CLIENT_PAUSE;
}

bool move_is_same(const struct move *one, const struct move *other)
{
    if (one->kind != other->kind || one->fault != other->fault)
        return false;
    if (one->choice.kind == CHOICE_TIME && other->choice.kind == CHOICE_TIME)
        return true;
    return choice_is_same(&one->choice, &other->choice);
}

/* --- one list --- */

struct move_listing {
    struct moves_state *state;
    struct world *world;
    struct move *moves;
    int count;
    int64_t now_us, next_us; /* when the next timer of anybody who is not stalled is due */
    bool is_any_due, is_section_due, has_late;
    /* Of the client in hand. */
    int client;
    struct client_view view;
    struct message messages[MESSAGES_MAX];
    int messages_count;
    bool is_stalled;
};

static struct move *add(struct move_listing *list, enum choice_kind kind, int client, int server)
{
    static struct move none;
    if (list->count == MOVES_MAX)
        return &none;
    struct move *move = &list->moves[list->count++];
    *move = (struct move){.fault = FAULT_NONE,
                          .choice = {.kind = kind, .client = client, .server = server}};
    return move;
}

static void add_due(struct move_listing *list, enum choice_kind kind, int client, int server)
{
    add(list, kind, client, server)->is_due = true;
    list->is_any_due = true;
}

/* Of a critical section: see list_time(). */
static void add_section(struct move_listing *list, enum choice_kind kind)
{
    add(list, kind, list->client, -1)->is_due = true;
    list->is_section_due = true;
}

static bool is_affordable(const struct move_listing *list, enum fault fault)
{
    return list->state->budget[fault] > 0;
}

static const struct pause *find_pause(const struct moves_state *state, enum fault fault, int client,
                                      int number)
{
    for (int i = 0; i < state->pauses_count; i++) {
        const struct pause *pause = &state->pauses[i];
        if (pause->fault == fault && pause->choice.client == client && pause->number == number)
            return pause;
    }
    return NULL;
}

static bool may_pass(const struct moves_state *state)
{
    return state->times < MOVES_TIMES_MAX && state->ticks < state->bounds.ticks;
}

/* --- of a client --- */

static bool may_acquire(const struct move_listing *list)
{
    const int refused = list->state->refused[list->client];
    const int counted = list->view.attempt - refused;
    return counted < list->state->bounds.rounds && refused <= list->state->bounds.spare;
}

static void add_pause(struct move_listing *list, enum fault fault, const struct choice *choice)
{
    if (list->state->pauses_count == EXPLORE_FAULTS_MAX || !is_affordable(list, fault))
        return;
    struct move *move = add(list, choice->kind, choice->client, choice->server);
    move->kind = MOVE_PAUSE;
    move->fault = fault;
    move->choice = *choice;
}

static void list_holder(struct move_listing *list)
{
    const struct choice release = {.kind = CHOICE_RELEASE, .client = list->client, .server = -1};
    const enum choice_kind access = moves_next_access(list->state, list->client);
    if (list->view.is_accessing || find_pause(list->state, FAULT_SLOW_WORK, list->client, -1))
        return;
    if (list->state->bounds.has_extends && !list->state->has_extended[list->client])
        add_section(list, CHOICE_EXTEND);
    if (access != CHOICE_COUNT) {
        add_section(list, access);
        return;
    }
    add_section(list, CHOICE_RELEASE);
    add_pause(list, FAULT_SLOW_WORK, &release);
}

static void list_work(struct move_listing *list)
{
    if (list->is_stalled)
        return;
    if (list->view.phase == PHASE_IDLE && may_acquire(list))
        (void)add(list, CHOICE_ACQUIRE, list->client, -1);
    if (list->view.phase == PHASE_HOLDING)
        list_holder(list);
    if (list->view.phase == PHASE_ACQUIRING && list->state->bounds.has_cancels &&
        !list->state->has_cancelled[list->client])
        (void)add(list, CHOICE_CANCEL, list->client, -1);
    if (list->view.wake_us <= list->now_us)
        add_due(list, CHOICE_WAKE, list->client, -1);
    else if (list->view.wake_us < list->next_us)
        list->next_us = list->view.wake_us;
}

/* It jumps, ahead or back; it runs at half its speed, or at twice, once. */
static void list_clock(struct move_listing *list)
{
    const int64_t jump_us = TICKS_OVER * moves_tick_us(list->state->run);
    const struct choice rows[] = {{CHOICE_CLIENT_CLOCK, .amount_us = jump_us},
                                  {CHOICE_CLIENT_CLOCK, .amount_us = -jump_us},
                                  {CHOICE_CLIENT_DRIFT, .amount_us = -500000},
                                  {CHOICE_CLIENT_DRIFT, .amount_us = 1000000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const enum fault fault = choice_fault(rows[i].kind);
        const bool has = fault == FAULT_CLIENT_DRIFT && list->state->has_drifted[list->client];
        if (has || !is_affordable(list, fault))
            continue;
        struct move *move = add(list, rows[i].kind, list->client, -1);
        move->fault = fault;
        move->choice.amount_us = rows[i].amount_us;
    }
}

/* Who has no connection to a server dials it for what he does next; and who has ended one by
 * himself does so again. An acquire that has not begun is late by itself. */
static bool is_to_dial(const struct move_listing *list, int server)
{
    const unsigned dials = ~list->view.connected | list->view.redials;
    const unsigned held = list->state->held_dials[list->client];
    return list->view.phase != PHASE_IDLE && (dials & ~held) >> server & 1;
}

static void list_connections(struct move_listing *list)
{
    const bool is_new = list->state->dials_since[list->client] == list->state->times;
    const unsigned connecting = list->view.connecting;
    list->has_late |= connecting != 0;
    for (int i = 0; i < list->state->run->servers; i++) {
        if (is_affordable(list, FAULT_HALF_OPEN) && list->view.attempt > 0 &&
            !list->state->has_nothing[FAULT_HALF_OPEN])
            add(list, CHOICE_HALF_OPEN, list->client, i)->fault = FAULT_HALF_OPEN;
        if (connecting >> i & 1 && !(is_new && may_pass(list->state)))
            (void)add(list, CHOICE_ANSWER_DIALS, list->client, i);
        if (is_affordable(list, FAULT_SLOW_DIAL) && is_to_dial(list, i))
            add(list, CHOICE_HOLD_DIALS, list->client, i)->fault = FAULT_SLOW_DIAL;
    }
}

static void list_client_faults(struct move_listing *list)
{
    const enum phase phase = list->view.phase;
    const struct choice whole = {.kind = CHOICE_CRASH, .client = list->client, .server = -1};
    if (phase != PHASE_IDLE && !list->is_stalled)
        add_pause(list, FAULT_STALL, &whole);
    list_connections(list);
    if (phase != PHASE_IDLE && is_affordable(list, FAULT_CRASH))
        add(list, CHOICE_CRASH, list->client, -1)->fault = FAULT_CRASH;
    list_clock(list);
}

/* --- of a message --- */

static bool is_first(const struct move_listing *list, int at)
{
    const struct message *message = &list->messages[at];
    for (int i = 0; i < at; i++)
        if (list->messages[i].connection == message->connection &&
            list->messages[i].state == message->state)
            return false;
    return true;
}

/* A choice names the oldest of its name: the others have to wait for it. */
static struct move *add_about(struct move_listing *list, enum choice_kind kind, int at)
{
    static struct move none;
    const struct choice choice = naming_choice(kind, &list->messages[at]);
    if (naming_find(&choice, list->messages, list->messages_count) != at)
        return &none;
    struct move *move = add(list, kind, choice.client, choice.server);
    move->choice = choice;
    return move;
}

static void add_fault(struct move_listing *list, enum fault fault, enum choice_kind kind, int at)
{
    if (is_affordable(list, fault))
        add_about(list, kind, at)->fault = fault;
}

static void add_way(struct move_listing *list, enum choice_kind kind, int at, enum fault fault)
{
    const struct choice choice = naming_choice(kind, &list->messages[at]);
    struct move *move = add_about(list, kind, at);
    move->is_due = true;
    list->is_any_due = true;
    if (naming_find(&choice, list->messages, list->messages_count) == at)
        add_pause(list, fault, &choice);
}

static void list_request(struct move_listing *list, int at, bool is_held)
{
    const struct message *message = &list->messages[at];
    const bool is_free = is_first(list, at) && !is_held;
    if (message->is_abandoned) {
        list->has_late = true;
        if (is_free)
            (void)add_about(list, CHOICE_ARRIVE_LATE, at);
        return;
    }
    if (is_free)
        add_way(list, CHOICE_ARRIVE, at, FAULT_LATE_REQUEST);
    if (is_free)
        add_fault(list, FAULT_DUPLICATE, CHOICE_DUPLICATE, at);
    if (is_free && is_affordable(list, FAULT_ANSWER_ERROR)) {
        struct move *move = add_about(list, CHOICE_ANSWER_ERROR, at);
        move->fault = FAULT_ANSWER_ERROR;
        move->choice.error = ERROR_LOADING;
    }
    add_fault(list, FAULT_LOSE_REQUEST, CHOICE_LOSE_REQUEST, at);
}

static void list_reply(struct move_listing *list, int at, bool is_held)
{
    if (is_first(list, at) && !is_held && !list->is_stalled)
        add_way(list, CHOICE_HEAR, at, FAULT_LATE_REPLY);
    add_fault(list, FAULT_LOSE_REPLY, CHOICE_LOSE_REPLY, at);
}

static void list_message(struct move_listing *list, int at)
{
    const struct message *message = &list->messages[at];
    const bool is_silent = list->state->reach[message->server] != REACH_OPEN;
    const bool is_late =
        find_pause(list->state, FAULT_LATE_REQUEST, list->client, message->number) ||
        find_pause(list->state, FAULT_LATE_REPLY, list->client, message->number);
    if (message->is_silent)
        return; /* its client finds out by itself, or never */
    if (message->state == MESSAGE_VOID) {
        if (!list->is_stalled) {
            add_about(list, CHOICE_GIVE_UP, at)->is_due = true;
            list->is_any_due = true;
        }
        return;
    }
    if ((is_silent || is_late) && !message->is_abandoned && !list->is_stalled)
        (void)add_about(list, CHOICE_GIVE_UP, at);
    if (message->state == MESSAGE_REQUEST)
        list_request(list, at, is_silent || is_late);
    else if (message->state == MESSAGE_REPLY)
        list_reply(list, at, is_silent || is_late);
}

static void list_client(struct move_listing *list, int client)
{
    const struct world_ops *ops = list->world->ops;
    list->client = client;
    list->view = ops->client(list->world, client);
    list->messages_count = ops->messages(list->world, client, list->messages);
    list->is_stalled = find_pause(list->state, FAULT_STALL, client, -1) != NULL;
    if (list->view.phase == PHASE_DEAD ||
        list->messages_count + LANE_COUNT * list->state->run->servers > MESSAGES_MAX)
        return;
    list_work(list);
    for (int i = 0; i < list->messages_count; i++)
        list_message(list, i);
    list_client_faults(list);
}

/* --- of servers, and of time --- */

/* What a fault becomes when it is injected; the rest of it comes later. */
static enum choice_kind begins_as(enum fault fault)
{
    enum choice_kind choices[FAULT_CHOICES_MAX];
    const int count = fault_becomes(fault, choices);
    assert(count > 0);
    return choices[0];
}

static bool can_strike(const struct moves_state *state, enum choice_kind kind, int server)
{
    const enum fault fault = choice_fault(kind);
    if (choice_needs_replica(kind) && (!state->has_replica[server] || state->is_cut[server]))
        return false;
    if (fault_effect(fault) == FAULT_SAVES_KEYS && state->has_saved[server])
        return false;
    if (fault_keys(fault) == FAULT_KEYS_LOCK_LOST && state->has_nothing[fault])
        return false;
    const bool is_within_reach = fault_effect(fault) == FAULT_PUTS_OUT_OF_REACH ||
                                 fault_effect(fault) == FAULT_ENDS_CONNECTIONS;
    return !is_within_reach || state->reach[server] == REACH_OPEN;
}

static int64_t clock_amount_us(const struct moves_state *state, enum choice_kind kind)
{
    const enum fault_effect effect = fault_effect(choice_fault(kind));
    return effect == FAULT_STEPS_CLOCK ? MOVES_LEASE_TICKS * moves_tick_us(state->run)
           : effect == FAULT_SETS_RATE ? DOUBLE_SPEED_US
                                       : 0;
}

static void list_server(struct move_listing *list, int server)
{
    const struct moves_state *state = list->state;
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++) {
        if (fault_blame(fault) != FAULT_OF_SERVER || !is_affordable(list, fault) ||
            !can_strike(state, begins_as(fault), server))
            continue;
        struct move *move = add(list, begins_as(fault), -1, server);
        move->fault = fault;
        move->choice.amount_us = clock_amount_us(state, move->choice.kind);
    }
    if (state->is_cut[server])
        (void)add(list, CHOICE_FAILOVER, -1, server);
    if (state->has_saved[server])
        (void)add(list, CHOICE_RESTART_OLD, -1, server);
    if (state->reach[server] != REACH_OPEN)
        (void)add(list, CHOICE_REACH, -1, server);
}

/* A pause of a message that is over, or that nobody waits for any more, is over. */
static void drop_pauses(struct moves_state *state, struct world *world)
{
    struct message messages[MESSAGES_MAX];
    int kept = 0;
    for (int i = 0; i < state->pauses_count; i++) {
        const struct pause pause = state->pauses[i];
        const struct client_view view = world->ops->client(world, pause.choice.client);
        bool is_there =
            pause.number < 0 &&
            (pause.fault == FAULT_STALL ? view.phase != PHASE_DEAD : view.phase == PHASE_HOLDING);
        int count =
            pause.number < 0 ? 0 : world->ops->messages(world, pause.choice.client, messages);
        const enum message_state state_of =
            pause.fault == FAULT_LATE_REPLY ? MESSAGE_REPLY : MESSAGE_REQUEST;
        for (int k = 0; k < count; k++)
            is_there |= messages[k].number == pause.number && messages[k].state == state_of &&
                        !messages[k].is_abandoned;
        if (is_there)
            state->pauses[kept++] = pause;
    }
    state->pauses_count = kept;
}

static void list_pauses(struct move_listing *list)
{
    for (int i = 0; i < list->state->pauses_count; i++) {
        const struct pause *pause = &list->state->pauses[i];
        if (pause->since == list->state->times && may_pass(list->state))
            continue; /* all that it could bring about comes without it, too */
        struct move *move = add(list, pause->choice.kind, -1, -1);
        move->kind = MOVE_GO_ON;
        move->choice = pause->choice;
    }
}

static bool is_any_silent(const struct moves_state *state)
{
    bool is_any = false;
    for (int i = 0; i < state->run->servers; i++)
        is_any |= state->reach[i] != REACH_OPEN;
    return is_any;
}

/* Where connections broke, a section may last until the next timer rings: clients may wait for one
 * before they connect anew. */
static void list_time(struct move_listing *list)
{
    const bool is_wanted = list->state->pauses_count > 0 || list->has_late ||
                           list->next_us < INT64_MAX || is_any_silent(list->state);
    int64_t amount_us = moves_tick_us(list->state->run);
    const bool is_waiting_out = list->state->is_waiting_out;
    if (list->is_any_due || !is_wanted || !(may_pass(list->state) || is_waiting_out))
        return;
    const bool is_timer =
        list->next_us < INT64_MAX && (list->next_us - list->now_us < amount_us || is_waiting_out);
    if (list->is_section_due && !(list->state->is_broken && is_timer))
        return;
    if (is_timer)
        amount_us = list->next_us - list->now_us;
    add(list, CHOICE_TIME, -1, -1)->choice.amount_us = amount_us;
}

int moves_list(struct moves_state *state, struct world *world, struct move *moves)
{
    struct move_listing list = {.state = state,
                                .world = world,
                                .moves = moves,
                                .now_us = world->ops->now_us(world),
                                .next_us = INT64_MAX};
    drop_pauses(state, world);
    for (int i = 0; i < state->run->clients; i++)
        list_client(&list, i);
    list_pauses(&list);
    for (int i = 0; i < state->run->servers; i++)
        list_server(&list, i);
    list_time(&list);
    return list.count;
}
