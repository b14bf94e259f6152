/* expansion.c - see expansion.h. */
#include "explore/expansion.h"

#include "explore/order.h"
#include "explore/verdict.h"

#include <string.h>

static inline void step_open(struct expansion *it, const struct move *move, int client, int server)
{
    struct step_taken *step = &it->step;
    step->kind = move->kind;
    step->client = client;
    step->server = server;
    step->parcel = move->parcel;
    step->fault = move->fault;
    step->ticks = move->ticks;
    step->violated = 0;
    it->did = move->did;
    it->judged = 0;
    step->is_grant = step->is_unsupported = false;
    step->is_tick = move->kind == MOVE_TIME || it->has_waited;
    words_copy(step->words, it->words, it->words_even);
    if (move->kind == MOVE_STRIKE)
        *budget_of(it->space, step->words) -= 1u
                                              << (BUDGET_BITS * it->stepper->slot_of[move->fault]);
}

static struct roll_client roll_client(struct expansion *it, int client)
{
    const struct place before = *space_place(it->space, it->words[client]);
    const struct place after = *space_place(it->space, it->step.words[client]);
    return (struct roll_client){
        .is_owner = verdict_is_owner(it->space, it->step.words, client),
        .may_hold = after.phase == PHASE_ACQUIRING,
        .may_write = after.phase == PHASE_ACQUIRING || after.may_write,
        .may_write_before = after.may_write_before,
        .has_swapped = it->step.kind == MOVE_ARRIVE && after.has_swapped && !before.has_swapped,
    };
}

/* The roll of grants follows the step; returns what is violated by it. */
static unsigned step_roll(struct expansion *it)
{
    const struct step_taken *step = &it->step;
    struct roll_step roll = {.client = step->client,
                             .begins = step->kind == MOVE_ACQUIRE,
                             .is_granted = step->is_grant,
                             .judged = it->judged,
                             .forgets = it->did & DID_FORGET};
    if (step->is_grant)
        roll.fence = space_place(it->space, step->words[step->client])->fence;
    for (int i = 0; i < it->space->setting.clients; i++)
        roll.clients[i] = roll_client(it, i);
    bool is_violated = space_follow(it->space, space_roll_of(it->space, it->step.words), &roll);
    return is_violated ? 1u << PROPERTY_FENCE_ORDER : 0;
}

unsigned expansion_risky_servers(const struct expansion *it, const uint32_t *words)
{
    unsigned servers = 0;
    for (int s = 0; s < it->space->setting.servers && it->space->setting.has_replica; s++)
        servers |=
            (unsigned)space_post(it->space, words[it->space->setting.clients + s])->has_follow << s;
    return servers;
}

/* Replies that are only counted are so at once, unless something may befall them. */
static void step_count_replies(struct expansion *it)
{
    uint32_t *words = it->step.words;
    bool is_risky = *budget_of(it->space, words) & it->stepper->reply_budgets;
    unsigned unheard = is_risky ? ALL_SERVERS : expansion_risky_servers(it, words);
    for (int i = 0; i < it->space->setting.clients; i++)
        words[i] = order_count_replies(it->space, words[i], unheard);
}

static void step_forget_strays(struct expansion *it)
{
    uint32_t *words = it->step.words;
    const int clients = it->space->setting.clients;
    for (int i = 0; i < clients; i++)
        for (unsigned left = space_place(it->space, words[i])->strays; left; left &= left - 1) {
            int server = __builtin_ctz(left);
            words[i] = order_forget(it->space, words[i], i, server, words[clients + server]);
        }
}

static void step_lead(struct expansion *it)
{
    uint32_t *budget = budget_of(it->space, it->step.words);
    bool is_client = it->lead != LEAD_NOBODY && it->lead != LEAD_TIME;
    int lead = is_client ? it->step.new_position[it->lead - 1] + 1 : it->lead;
    *budget = turns_with_lead(*budget, lead);
}

uint32_t expansion_payable(const struct expansion *it, uint32_t budget)
{
    uint32_t faults = 0;
    for (int i = 0; i < FAULT_COUNT && turns_with_lead(budget, LEAD_NOBODY); i++) {
        int slot = it->stepper->slot_of[i];
        faults |= (uint32_t)(slot >= 0 && budget >> (BUDGET_BITS * slot) & BUDGET_MASK) << i;
    }
    return faults;
}

/* Goes on from the state after the step, as part of the same step. */
static void step_on(const struct expansion *it, const struct turn *turns, int count)
{
    for (int i = 0; i < count; i++) {
        struct expansion next = *it;
        next.words = it->step.words;
        next.violated_before |= it->step.violated;
        next.has_granted |= it->step.is_grant;
        next.has_waited |= it->step.is_tick;
        expansion_turn(&next, &turns[i]);
    }
}

static void step_towards_doom(const struct expansion *it, uint32_t faults)
{
    struct turn turns[DOOM_MAX];
    int count = turns_before_doom(it->space, it->step.words, faults, it->doomed, it->lead, turns);
    step_on(it, turns, count);
}

/* False: the state after the step is one to be kept. */
static bool is_stepped_over(struct expansion *it)
{
    struct turn only;
    uint32_t *words = it->step.words, *budget = budget_of(it->space, words);
    uint32_t faults = expansion_payable(it, *budget);
    *budget = turns_with_lead(*budget, it->lead);
    if (it->doomed >= 0) {
        step_towards_doom(it, faults);
        return true;
    }
    if (it->step.kind == MOVE_STRIKE || *budget & it->stepper->order_budgets ||
        !turns_only(it->space, words, faults, &only))
        return false;
    step_on(it, &only, 1);
    return true;
}

static inline void step_close(struct expansion *it)
{
    if (it->space->setting.is_ordered) {
        uint32_t *budget = budget_of(it->space, it->step.words);
        *budget = turns_with_lead(*budget, LEAD_NOBODY);
        step_count_replies(it);
        step_forget_strays(it);
        it->step.violated |= verdict_of_state(it->space, it->step.words) | it->violated_before;
        it->step.is_grant |= it->has_granted;
        if (is_stepped_over(it))
            return;
    }
    if (space_has_roll(it->space))
        it->step.violated |= step_roll(it);
    it->step.violated |= verdict_of_state(it->space, it->step.words);
    if (it->is_sorted)
        canon_step(&it->canon, it->step.words, it->step.new_position, it->step.new_number);
    else
        canon_none(it->step.new_position, it->step.new_number);
    if (it->space->setting.is_ordered)
        step_lead(it);
    it->stepper->take(it->stepper->context, &it->step);
}

/* A scheme with stamps claims by GETSET, and its acquire's return decides. */
static void step_return(struct expansion *it, int client, unsigned did)
{
    const struct place *before = space_place(it->space, it->words[client]);
    if (!(did & (DID_GRANT | DID_RETURN)) || before->phase != PHASE_ACQUIRING ||
        !it->space->setting.scheme->uses_client_clock)
        return;
    enum judge_return how = did & DID_GRANT    ? RETURN_GRANTED
                            : did & DID_REFUSE ? RETURN_REFUSED
                                               : RETURN_OTHER;
    uint32_t *post = &it->step.words[it->space->setting.clients];
    *post = space_return(it->space, it->words[client], client, how, *post);
}

static void step_disconnect(struct expansion *it, int client, int server)
{
    const struct setting *setting = &it->space->setting;
    for (int s = 0; s < setting->servers; s++) {
        uint32_t *post = &it->step.words[setting->clients + s];
        if ((server == NO_SERVER || server == s) && space_note(it->space, *post)->is_watched)
            *post = space_disconnect(it->space, *post, client);
    }
}

static bool is_claim_of(const struct claim *claim, int client, uint8_t rounds)
{
    return claim->owner == client + 1 && claim->rounds == rounds;
}

/* A clean refusal is free: the attempt is made again. One that left a key behind was not clean, be
 * it with a replica that was cut off meanwhile, and the next attempt has another token than that
 * key. */
static void step_refused(struct expansion *it, int client)
{
    const struct setting *setting = &it->space->setting;
    uint8_t rounds = space_place(it->space, it->words[client])->rounds;
    uint32_t *after = &it->step.words[client];
    if (setting->scheme->uses_client_clock || space_place(it->space, *after)->rounds == rounds)
        return;
    for (int s = 0; s < setting->servers; s++) {
        const struct post_note *note = space_note(it->space, it->words[setting->clients + s]);
        if (!is_claim_of(&note->claim, client, rounds) && !is_claim_of(&note->kept, client, rounds))
            continue;
        *after = space_spend_round(it->space, *after);
        return;
    }
}

/* The server that keeps the counter forgot its keys. */
static void step_forget(struct expansion *it)
{
    const struct setting *setting = &it->space->setting;
    for (int i = 0; i < setting->clients; i++)
        it->step.words[i] = space_recount(it->space, it->step.words[i], RECOUNT_FORGOTTEN);
}

void expansion_client(struct expansion *it, int client, const struct move *move)
{
    const struct setting *setting = &it->space->setting;
    struct step_taken *step = &it->step;
    step_open(it, move, client, move->server);
    if (move->kind == MOVE_ARRIVE) {
        uint32_t *post = &step->words[setting->clients + move->server];
        it->judged = space_arrive(it->space, &step->words[client], move->parcel, post, client);
        step->violated = verdict_of_execution(setting, it->judged);
        if (it->judged & COUNTER_WRITTEN)
            space_recount_others(it->space, step->words, client);
        step_close(it);
        return;
    }
    step->words[client] = move->to;
    step->is_grant = move->did & DID_GRANT;
    step->is_unsupported = move->did & DID_UNSUPPORTED;
    if (move->did & DID_DISCONNECT)
        step_disconnect(it, client, move->server);
    if (move->did & (DID_GRANT | DID_RETURN)) {
        step->violated = verdict_of_return(it->space, it->words, client, move->did);
        step_return(it, client, move->did);
    }
    if (move->did & DID_REFUSE)
        step_refused(it, client);
    if (move->did & DID_STRAND)
        step->violated |= 1u << PROPERTY_PROGRESS;
    step_close(it);
}

/* before: bit a client that hears the server just before that. */
static void step_server_after(struct expansion *it, int server, const struct move *move,
                              unsigned before)
{
    const struct setting *setting = &it->space->setting;
    step_open(it, move, -1, server);
    it->step.words[setting->clients + server] = move->to;
    for (int i = 0; move->did & DID_DISCONNECT && i < setting->clients; i++) {
        uint32_t *local = &it->step.words[i];
        if (before >> i & 1)
            *local = order_hear_server(it->space, *local, server);
        *local = space_break(it->space, *local, server);
    }
    if (move->did & DID_FORGET && setting->section == SECTION_COUNTER && server == SERVER_ONE)
        step_forget(it);
    step_close(it);
}

void expansion_server(struct expansion *it, int server, const struct move *move)
{
    const struct setting *setting = &it->space->setting;
    unsigned waiting = 0; /* bit a client that may hear it first */
    for (int i = 0; setting->is_ordered && move->did & DID_DISCONNECT && i < setting->clients; i++)
        waiting |= (unsigned)(order_hear_server(it->space, it->words[i], server) != it->words[i])
                   << i;
    unsigned before = 0;
    do {
        step_server_after(it, server, move, before);
        before = (before - waiting) & waiting; /* the next subset */
    } while (before != 0);
}

/* Stamps so long past that no comparison can tell how long stay where they are; else they would
 * grow old for ever. */
static bool are_stamps_kept(struct expansion *it)
{
    const struct setting *setting = &it->space->setting;
    int newest = -1;
    if (!setting->scheme->uses_client_clock)
        return false;
    for (int i = 0; i < setting->clients + setting->servers; i++) {
        int past = i < setting->clients ? space_place(it->space, it->words[i])->newest_past
                                        : space_note(it->space, it->words[i])->newest_past;
        if (past >= 0 && (newest < 0 || past < newest))
            newest = past;
    }
    return newest >= setting->past;
}

void expansion_time(struct expansion *it)
{
    static const struct move tick = {.kind = MOVE_TIME, .parcel = -1, .fault = NO_FAULT};
    const struct setting *setting = &it->space->setting;
    bool kept = are_stamps_kept(it);
    step_open(it, &tick, -1, -1);
    for (int i = 0; i < setting->clients; i++)
        it->step.words[i] = space_age_local(it->space, it->words[i], kept);
    for (int i = setting->clients; i < setting->clients + setting->servers; i++)
        it->step.words[i] = space_age_post(it->space, it->words[i], kept);
    step_close(it);
}

void expansion_turn(struct expansion *it, const struct turn *turn)
{
    const struct move move = it->space->moves[turn->move];
    it->lead = turn->lead;
    it->doomed = turn->doomed;
    if (turn->client >= 0)
        expansion_client(it, turn->client, &move);
    else
        expansion_server(it, turn->server, &move);
}
