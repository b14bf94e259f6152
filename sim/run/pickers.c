/* pickers.c - see pickers.h. */
#include "run/pickers.h"

#include <string.h>

enum { MILLION = 1000000, NOBODY = -1 };

static bool is_time(const struct move *move)
{
    return move->kind == MOVE_CHOICE && move->choice.kind == CHOICE_TIME;
}

static bool is_pause(const struct move *move)
{
    return move->kind == MOVE_PAUSE;
}

/* --- any --- */

static int pick_any(struct random *random, const struct move *moves, int count, bool has_faults)
{
    int wanted = 0;
    for (int i = 0; i < count; i++)
        wanted += moves[i].fault == FAULT_NONE || has_faults;
    if (!wanted)
        return -1;
    int nth = (int)random_below(random, (uint64_t)wanted);
    for (int i = 0; i < count; i++)
        if ((moves[i].fault == FAULT_NONE || has_faults) && nth-- == 0)
            return i;
    return -1;
}

static int uniform_pick(struct picker *picker, const struct move *moves, int count)
{
    struct uniform_picker *uniform = (struct uniform_picker *)picker;
    const bool has_faults = random_chance(&uniform->random, uniform->fault_chance);
    return pick_any(&uniform->random, moves, count, has_faults);
}

void uniform_begin(struct uniform_picker *picker, struct random random)
{
    static const uint32_t chances[] = {MILLION, MILLION / 4, MILLION / 16};
    *picker = (struct uniform_picker){.picker.pick = uniform_pick, .random = random};
    picker->fault_chance = chances[random_below(&picker->random, sizeof chances / sizeof *chances)];
}

/* --- PCT --- */

static bool is_at(const int *instants, int count, int now)
{
    for (int i = 0; i < count; i++)
        if (instants[i] == now)
            return true;
    return false;
}

/* Due, or not: a fault that strikes as soon as it can. */
static int pick_strike(struct pct_picker *pct, const struct move *moves, int count)
{
    int faults = 0;
    for (int i = 0; i < pct->strikes_count; i++) {
        if (pct->strikes[i] > pct->made)
            continue;
        for (int k = 0; k < count; k++)
            faults += moves[k].fault != FAULT_NONE;
        if (!faults)
            return -1;
        pct->strikes[i] = pct->strikes[--pct->strikes_count];
        int nth = (int)random_below(&pct->random, (uint64_t)faults);
        for (int k = 0; k < count; k++)
            if (moves[k].fault != FAULT_NONE && nth-- == 0)
                return k;
    }
    return -1;
}

static int client_of(const struct move *move)
{
    return move->choice.client;
}

static int highest(const struct pct_picker *pct, const struct move *moves, int count)
{
    int best = NOBODY;
    for (int i = 0; i < count; i++) {
        const int client = client_of(&moves[i]);
        if (client < 0 || moves[i].fault != FAULT_NONE)
            continue;
        if (best < 0 || pct->rank[client] > pct->rank[best])
            best = client;
    }
    return best;
}

static int find_time(const struct move *moves, int count)
{
    for (int i = 0; i < count; i++)
        if (is_time(&moves[i]))
            return i;
    return -1;
}

static int pick_of(struct pct_picker *pct, const struct move *moves, int count, int client)
{
    int wanted = 0, first = -1;
    for (int i = 0; i < count; i++) {
        if (client_of(&moves[i]) != client || moves[i].fault != FAULT_NONE)
            continue;
        if (random_below(&pct->random, (uint64_t)++wanted) == 0)
            first = i;
    }
    return first;
}

/* Nobody of the clients: who stands still goes on, a server, or time. */
static int pick_else(struct pct_picker *pct, const struct move *moves, int count)
{
    return pick_any(&pct->random, moves, count, false);
}

static void note_pick(struct pct_picker *pct, const struct move *move)
{
    pct->made++;
    pct->times_owed -= is_time(move) && pct->times_owed > 0;
    if (!is_pause(move) && move->choice.kind != CHOICE_HOLD_DIALS)
        return;
    pct->times_owed = MOVES_LEASE_TICKS + 1;
    if (is_pause(move) && move->choice.client >= 0)
        pct->rank[move->choice.client] = --pct->lowest;
}

/* Whoever waits for a connection stands back from then on, as whoever stalls does. */
static void note_dials(struct pct_picker *pct, const struct move *moves, int count)
{
    for (int i = 0; i < count; i++) {
        const int client = client_of(&moves[i]);
        if (moves[i].choice.kind != CHOICE_ANSWER_DIALS || pct->has_dialled[client])
            continue;
        pct->has_dialled[client] = true;
        pct->rank[client] = --pct->lowest;
    }
}

static int pct_choose(struct pct_picker *pct, const struct move *moves, int count)
{
    note_dials(pct, moves, count);
    const int strike = pick_strike(pct, moves, count);
    int client = highest(pct, moves, count);
    if (strike >= 0)
        return strike;
    if (client >= 0 && is_at(pct->changes, pct->changes_count, pct->made)) {
        pct->rank[client] = --pct->lowest;
        client = highest(pct, moves, count);
    }
    const int time = pct->times_owed > 0 || client < 0 ? find_time(moves, count) : -1;
    if (time >= 0)
        return time;
    return client >= 0 ? pick_of(pct, moves, count, client) : pick_else(pct, moves, count);
}

static int pct_pick(struct picker *picker, const struct move *moves, int count)
{
    struct pct_picker *pct = (struct pct_picker *)picker;
    const int at = pct_choose(pct, moves, count);
    if (at >= 0)
        note_pick(pct, &moves[at]);
    return at;
}

void pct_begin(struct pct_picker *picker, struct random random, int length, int faults)
{
    memset(picker, 0, sizeof *picker);
    picker->picker.pick = pct_pick;
    picker->random = random;
    for (int i = 0; i < ACTORS_MAX; i++) {
        const int with = (int)random_below(&picker->random, (uint64_t)i + 1);
        picker->rank[i] = picker->rank[with];
        picker->rank[with] = i;
    }
    picker->changes_count =
        PCT_CHANGES_MIN + (int)random_below(&picker->random, PCT_CHANGES_MAX - PCT_CHANGES_MIN + 1);
    for (int i = 0; i < picker->changes_count; i++)
        picker->changes[i] = (int)random_below(&picker->random, (uint64_t)length);
    for (int i = 0; i < faults && i < EXPLORE_FAULTS_MAX; i++)
        picker->strikes[picker->strikes_count++] =
            (int)random_below(&picker->random, (uint64_t)length);
}

/* --- again --- */

static int replay_pick(struct picker *picker, const struct move *moves, int count)
{
    struct replay_picker *replay = (struct replay_picker *)picker;
    for (; replay->at < replay->count; replay->at++)
        for (int i = 0; i < count; i++)
            if (move_is_same(&moves[i], &replay->moves[replay->at])) {
                replay->at++;
                return i;
            }
    return -1;
}

void replay_begin(struct replay_picker *picker, const struct move *moves, int count)
{
    *picker = (struct replay_picker){.picker.pick = replay_pick, .moves = moves, .count = count};
}

/* --- systematically --- */

/* What comes first: the client that moved last, then others, then what need not be, then time. */
static int order_of(const struct bounded_picker *bounded, const struct move *move)
{
    if (move->fault != FAULT_NONE)
        return 4;
    if (is_time(move))
        return 3;
    if (!move->is_due)
        return 2;
    return client_of(move) != bounded->last;
}

/* The nth move in that order; the moves themselves stand in a fixed one. */
static int nth_move(const struct bounded_picker *bounded, const struct move *moves, int count,
                    int nth)
{
    for (int order = 0; order <= 4; order++)
        for (int i = 0; i < count; i++)
            if (order_of(bounded, &moves[i]) == order && nth-- == 0)
                return i;
    return -1;
}

static bool can_go_on(const struct bounded_picker *bounded, const struct move *moves, int count)
{
    for (int i = 0; i < count; i++)
        if (order_of(bounded, &moves[i]) == 0)
            return true;
    return false;
}

static int cost_of(const struct bounded_picker *bounded, const struct move *moves, int count,
                   int at)
{
    const bool is_preemption =
        client_of(&moves[at]) != bounded->last && can_go_on(bounded, moves, count);
    return moves[at].fault != FAULT_NONE || is_preemption;
}

/* From that number on, the next move that can be paid for; -1: none. */
static int affordable(const struct bounded_picker *bounded, const struct move *moves, int count,
                      int from)
{
    for (int nth = from; nth < count; nth++) {
        const int at = nth_move(bounded, moves, count, nth);
        if (bounded->spent + cost_of(bounded, moves, count, at) <= bounded->most)
            return nth;
    }
    return -1;
}

static int bounded_pick(struct picker *picker, const struct move *moves, int count)
{
    struct bounded_picker *bounded = (struct bounded_picker *)picker;
    if (bounded->depth == WALK_MOVES_MAX)
        return -1;
    struct bounded_step *step = &bounded->steps[bounded->depth];
    if (bounded->depth >= bounded->known)
        *step = (struct bounded_step){.at = affordable(bounded, moves, count, 0)};
    if (step->at < 0 || step->at >= count)
        return -1;
    const int at = nth_move(bounded, moves, count, step->at);
    step->next = affordable(bounded, moves, count, step->at + 1);
    bounded->spent += cost_of(bounded, moves, count, at);
    bounded->last = client_of(&moves[at]) >= 0 ? client_of(&moves[at]) : bounded->last;
    bounded->depth++;
    return at;
}

void bounded_begin(struct bounded_picker *picker)
{
    *picker = (struct bounded_picker){.picker.pick = bounded_pick, .last = NOBODY};
}

bool bounded_next(struct bounded_picker *picker, int most)
{
    int depth = picker->depth;
    while (depth > 0 && picker->steps[depth - 1].next < 0)
        depth--;
    if (depth > 0)
        picker->steps[depth - 1].at = picker->steps[depth - 1].next;
    else
        picker->most++;
    picker->known = depth;
    picker->depth = picker->spent = 0;
    picker->last = NOBODY;
    return picker->most <= most;
}
