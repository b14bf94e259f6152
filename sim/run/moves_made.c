/* moves_made.c - see moves.h: a move is made, and what may still be done behind it. */
#include "run/moves.h"

#include "scenario/naming.h"

#include <string.h>

static void begin_pause(struct moves_state *state, struct world *world, const struct move *move)
{
    struct message messages[MESSAGES_MAX];
    struct pause pause = {
        .fault = move->fault, .choice = move->choice, .number = -1, .since = state->times};
    if (move->fault == FAULT_LATE_REQUEST || move->fault == FAULT_LATE_REPLY) {
        int count = world->ops->messages(world, move->choice.client, messages);
        int at = naming_find(&move->choice, messages, count);
        pause.number = at < 0 ? -1 : messages[at].number;
    }
    state->pauses[state->pauses_count++] = pause;
}

static void end_pause(struct moves_state *state, const struct move *move)
{
    int kept = 0;
    for (int i = 0; i < state->pauses_count; i++)
        if (!choice_is_same(&state->pauses[i].choice, &move->choice))
            state->pauses[kept++] = state->pauses[i];
    state->pauses_count = kept;
}

static void note_dials(struct moves_state *state, const struct choice *choice,
                       const struct client_view *before, const struct client_view *view)
{
    if (choice->kind == CHOICE_HOLD_DIALS || choice->kind == CHOICE_ANSWER_DIALS)
        state->held_dials[choice->client] ^= 1u << choice->server;
    if (view->connecting & ~before->connecting)
        state->dials_since[choice->client] = state->times;
}

static void note_server(struct moves_state *state, const struct choice *choice)
{
    const int server = choice->server;
    const enum fault fault = choice_fault(choice->kind);
    if (server < 0 || fault == FAULT_NONE || fault_blame(fault) != FAULT_OF_SERVER)
        return;
    if (fault_effect(fault) == FAULT_PUTS_OUT_OF_REACH)
        state->reach[server] =
            fault_breaks(fault) == FAULT_BREAKS_ALL ? REACH_REFUSED : REACH_SILENT;
    else if (fault_ends_outage(fault))
        state->reach[server] = REACH_OPEN;
    if (fault_effect(fault) == FAULT_SAVES_KEYS)
        state->has_saved[server] = true;
    else if (fault_breaks(fault) == FAULT_BREAKS_ALL && fault_forgets(fault))
        state->has_saved[server] = false;
    if (fault_effect(fault) == FAULT_CUTS_REPLICA)
        state->is_cut[server] = true;
    else if (fault_keys(fault) == FAULT_KEYS_REPLICAS)
        state->is_cut[server] = state->has_replica[server] = false;
}

enum fail moves_make(struct moves_state *state, struct world *world, const struct move *move,
                     bool *is_made, struct failure *failure)
{
    const struct choice *choice = &move->choice;
    *is_made = true;
    if (move->fault != FAULT_NONE)
        state->budget[move->fault]--;
    if (move->kind != MOVE_CHOICE) {
        if (move->kind == MOVE_PAUSE)
            begin_pause(state, world, move);
        else
            end_pause(state, move);
        return FAIL_NONE;
    }
    struct client_view before = {0};
    if (choice->client >= 0)
        before = world->ops->client(world, choice->client);
    enum fail fail = world->ops->apply(world, choice, failure);
    if (fail == FAIL_UNKNOWN &&
        (choice->kind == CHOICE_EVICT || choice->kind == CHOICE_HALF_OPEN)) {
        state->budget[move->fault]++;
        state->has_nothing[move->fault] = true;
        *is_made = false;
        return FAIL_NONE;
    }
    if (fail)
        return fail;
    memset(state->has_nothing, 0, sizeof state->has_nothing);
    const enum fault fault = choice_fault(choice->kind);
    if (choice->kind == CHOICE_TIME)
        state->is_broken = false;
    else if (fault != FAULT_NONE && fault_breaks(fault) == FAULT_BREAKS_ALL)
        state->is_broken = true;
    state->times += choice->kind == CHOICE_TIME;
    state->ticks += choice->kind == CHOICE_TIME && choice->amount_us == moves_tick_us(state->run);
    note_server(state, choice);
    struct client_view view = {0};
    if (choice->client >= 0) {
        view = world->ops->client(world, choice->client);
        moves_note_access(state, choice, &before, &view);
        note_dials(state, choice, &before, &view);
    }
    if (before.phase == PHASE_ACQUIRING || choice->kind == CHOICE_ACQUIRE)
        state->refused[choice->client] +=
            view.phase == PHASE_IDLE &&
            (view.last == RESULT_REFUSED || view.last == RESULT_CANCELLED);
    return FAIL_NONE;
}
