/* steps.c - see steps.h. */
#include "explore/steps.h"

#include "explore/canon.h"
#include "explore/fault.h"
#include "explore/near.h"
#include "explore/verdict.h"

#include <string.h>

void stepper_init(struct stepper *stepper, struct space *space,
                  const struct explore_options *options)
{
    memset(stepper, 0, sizeof *stepper);
    stepper->space = space;
    stepper->reductions = options->reductions;
    for (int i = 0; i < FAULT_COUNT; i++) {
        bool has_slot = options->budget[i] > 0 && fault_blame((enum fault)i) != FAULT_OF_RUN;
        stepper->slot_of[i] = has_slot ? stepper->slots++ : -1;
        if (has_slot && fault_kind((enum fault)i)->strikes_all_replies)
            stepper->risky_budgets |= BUDGET_MASK << (BUDGET_BITS * stepper->slot_of[i]);
    }
}

void stepper_start(const struct stepper *stepper, const struct explore_options *options,
                   uint32_t *words)
{
    space_start(stepper->space, words);
    uint32_t *budget = &words[space_words(stepper->space) - 1];
    for (int i = 0; i < FAULT_COUNT; i++)
        if (stepper->slot_of[i] >= 0)
            *budget |= (uint32_t)options->budget[i] << (BUDGET_BITS * stepper->slot_of[i]);
}

bool stepper_has_quick(const struct stepper *stepper)
{
    const struct setting *setting = &stepper->space->setting;
    return setting->servers == 1 && !setting->scheme->uses_client_clock &&
           !space_has_roll(stepper->space);
}

bool stepper_wants_lock(const struct stepper *stepper, const uint32_t *words)
{
    for (int i = 0; i < stepper->space->setting.clients; i++)
        if (space_place(stepper->space, words[i])->can_begin)
            return true;
    return false;
}

/* --- one step --- */

struct expansion {
    struct stepper *stepper;
    struct space *space;
    const uint32_t *words; /* before */
    int words_even;        /* how many of them, with the 0 after an odd number */
    struct step_taken step;
    unsigned did;      /* by the move: enum effect_bit */
    unsigned judged;   /* of an execution: enum judged */
    struct ring *ring; /* NULL: all steps are taken */
    bool is_sorted;    /* the states that follow */
    struct canon canon;
};

static uint32_t *budget_of(const struct space *space, uint32_t *words)
{
    return &words[space_words(space) - 1];
}

static inline bool has_budget(const struct expansion *it, enum fault fault)
{
    int slot = it->stepper->slot_of[fault];
    uint32_t budget = it->words[space_words(it->space) - 1];
    return slot >= 0 && (budget >> (BUDGET_BITS * slot) & BUDGET_MASK) > 0;
}

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

static inline void step_close(struct expansion *it)
{
    if (space_has_roll(it->space))
        it->step.violated |= step_roll(it);
    it->step.violated |= verdict_of_state(it->space, it->step.words);
    if (it->is_sorted)
        canon_step(&it->canon, it->step.words, it->step.new_position, it->step.new_number);
    else
        canon_none(it->step.new_position, it->step.new_number);
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

/* What other clients have read of the counter is of before. */
static void step_count(struct expansion *it, int writer)
{
    for (int i = 0; i < it->space->setting.clients; i++)
        if (i != writer)
            it->step.words[i] = space_recount(it->space, it->step.words[i], RECOUNT_WRITTEN);
}

/* A server forgot its keys: which of them it had does not matter to checks/. */
static void step_forget(struct expansion *it)
{
    const struct setting *setting = &it->space->setting;
    if (setting->section != SECTION_COUNTER)
        return;
    uint32_t *first = &it->step.words[setting->clients];
    *first = space_unknown(it->space, *first);
    for (int i = 0; i < setting->clients; i++)
        it->step.words[i] = space_recount(it->space, it->step.words[i], RECOUNT_FORGOTTEN);
}

static void step_client(struct expansion *it, int client, const struct move *move)
{
    const struct setting *setting = &it->space->setting;
    struct step_taken *step = &it->step;
    step_open(it, move, client, move->server);
    if (move->kind == MOVE_ARRIVE) {
        uint32_t *post = &step->words[setting->clients + move->server];
        it->judged = space_arrive(it->space, &step->words[client], move->parcel, post, client);
        step->violated = verdict_of_execution(setting, it->judged);
        if (it->judged & COUNTER_WRITTEN)
            step_count(it, client);
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

static void step_server(struct expansion *it, int server, const struct move *move)
{
    const struct setting *setting = &it->space->setting;
    step_open(it, move, -1, server);
    it->step.words[setting->clients + server] = move->to;
    for (int i = 0; move->did & DID_DISCONNECT && i < setting->clients; i++)
        it->step.words[i] = space_break(it->space, it->step.words[i], server);
    if (move->did & DID_FORGET)
        step_forget(it);
    step_close(it);
}

static inline bool can_pay(const struct expansion *it, const struct move *move)
{
    return move->kind != MOVE_STRIKE || has_budget(it, (enum fault)move->fault);
}

/* --- heirs: what step_client() would do, where that is little --- */

/* Does anybody hold the lock but that one? */
static inline bool is_contested(struct expansion *it, int client)
{
    for (int i = 0; i < it->space->setting.clients; i++)
        if (i != client && space_place(it->space, it->words[i])->phase == PHASE_HOLDING)
            return true;
    return false;
}

/* Where the state after it must be looked at whole. False: something is wrong with it. */
static bool push_whole(struct expansion *it, int client, const struct heir *heir)
{
    uint32_t words[WORDS_MAX];
    words_copy(words, it->words, it->words_even);
    words[client] = heir->local;
    words[it->space->setting.clients] = heir->post;
    if (verdict_of_state(it->space, words))
        return false;
    if (it->is_sorted)
        canon_sort(it->space, it->stepper->reductions, words, it->step.new_position,
                   it->step.new_number);
    ring_push(it->ring, words, it->ring->from);
    return true;
}

static inline bool must_be_whole(const struct expansion *it)
{
    return it->is_sorted || it->space->can_states_be_wrong;
}

/* False: step_client() must see to it. Nothing sleeps in the state after it. */
static bool push_heir(struct expansion *it, int client, const struct heir *heir)
{
    if (heir->kind == HEIR_SLOW || (heir->kind == HEIR_GRANT && is_contested(it, client)))
        return false;
    if (!must_be_whole(it))
        ring_push_near(it->ring, heir, client, it->space->setting.clients);
    else if (!push_whole(it, client, heir))
        return false;
    it->ring->has_grant |= heir->kind == HEIR_GRANT;
    return true;
}

static inline void move_client(struct expansion *it, int client, uint32_t m)
{
    const struct move move = it->space->moves[m];
    if (can_pay(it, &move))
        step_client(it, client, &move);
}

static void step_heir(void *context, int client, const struct heir *heir)
{
    struct expansion *it = context;
    if (!push_heir(it, client, heir))
        move_client(it, client,
                    space_place(it->space, it->words[client])->moves_start + heir->move);
}

static inline void expand_list(struct expansion *it, int client, const struct heir *heir,
                               const struct heir *end, unsigned unheard)
{
    for (; heir < end; heir++)
        if (heir->hearing != unheard)
            step_heir(it, client, heir);
}

/* Returns whether one of the moves is urgent. */
static bool expand_client(struct expansion *it, int client, unsigned unheard)
{
    const struct place place = *space_place(it->space, it->words[client]);
    for (uint32_t m = place.moves_start; m < place.moves_start + place.moves_count; m++)
        if (it->space->moves[m].hearing != unheard)
            move_client(it, client, m);
    return place.is_urgent;
}

static void step_unless_patient(void *context, int client, const struct heir *heir)
{
    if (heir->hearing != HEARD_BY_PATIENT)
        step_heir(context, client, heir);
}

static enum near_end expand_near(struct expansion *it, unsigned unheard)
{
    const struct near near = {.space = it->space,
                              .ring = it->ring,
                              .words = it->words,
                              .step = step_unless_patient,
                              .context = it};
    if (!it->ring || must_be_whole(it) || unheard != HEARD_BY_PATIENT)
        return NEAR_UNDONE;
    return near_expand(&near);
}

static inline bool expand_clients(struct expansion *it, unsigned unheard)
{
    enum near_end near = expand_near(it, unheard);
    if (near != NEAR_UNDONE)
        return near == NEAR_URGENT;
    struct heirs *heirs = &it->space->heirs;
    const int clients = it->space->setting.clients;
    const bool is_poor = it->words[space_words(it->space) - 1] == 0;
    bool is_urgent = false;
    for (int i = 0; i < clients; i++) {
        const struct heir_list *list =
            it->ring ? heirs_of(heirs, it->space, it->words[i], it->words[clients], i) : NULL;
        if (!list || !ring_has_room(it->ring, list->counts[HEIR_RICH])) {
            is_urgent |= expand_client(it, i, unheard);
            continue;
        }
        is_urgent |= (list->notes[HEIR_RICH] & LIST_URGENT) != 0;
        const struct heir *first = &heirs->heirs[list->start];
        expand_list(it, i, first, first + list->counts[is_poor ? HEIR_POOR : HEIR_RICH], unheard);
    }
    return is_urgent;
}

static void expand_server(struct expansion *it, int server)
{
    const struct post_note *note =
        space_post(it->space, it->words[it->space->setting.clients + server]);
    uint32_t start = note->moves_start, end = start + note->moves_count;
    for (uint32_t m = start; m < end; m++) {
        const struct move move = it->space->moves[m];
        if (can_pay(it, &move))
            step_server(it, server, &move);
    }
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

static void expand_time(struct expansion *it)
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

/* Can something befall all replies of a server at once? Then nobody waits before it hears them. */
static bool is_risky(const struct expansion *it)
{
    const struct setting *setting = &it->space->setting;
    uint32_t budget = it->words[space_words(it->space) - 1];
    if (budget & it->stepper->risky_budgets)
        return true;
    for (int s = 0; s < setting->servers; s++)
        if (space_post(it->space, it->words[setting->clients + s])->has_follow)
            return true;
    return false;
}

/* A client that waited for all its replies hears them now, and nothing else happens. */
static bool expand_hearing(struct expansion *it)
{
    for (int i = 0; i < it->space->setting.clients; i++) {
        const struct place place = *space_place(it->space, it->words[i]);
        for (uint32_t m = 0; place.is_hearing && m < place.moves_count; m++) {
            const struct move move = it->space->moves[place.moves_start + m];
            if (move.hearing == HEARD_BY_PATIENT)
                step_client(it, i, &move);
        }
        if (place.is_hearing)
            return true;
    }
    return false;
}

void stepper_expand(struct stepper *stepper, const uint32_t *words)
{
    struct expansion it;
    it.stepper = stepper;
    it.space = stepper->space;
    it.words = words;
    it.words_even = (int)(((unsigned)space_words(it.space) + 1) & ~1u);
    it.ring = stepper->space->heirs.are_too_many ? NULL : stepper->ring;
    it.is_sorted = stepper->reductions & (REDUCE_CLIENTS | REDUCE_SERVERS);
    if (it.is_sorted)
        canon_open(&it.canon, it.space, stepper->reductions, words);
    const struct setting *setting = &stepper->space->setting;
    if (it.ring && !it.is_sorted)
        ring_approach(it.ring, words);
    bool is_patient = stepper->reductions & REDUCE_PATIENT && !is_risky(&it);
    if (is_patient && expand_hearing(&it))
        return;
    unsigned unheard = is_patient ? HEARD_BY_IMPATIENT : HEARD_BY_PATIENT;
    bool is_urgent = expand_clients(&it, unheard);
    for (int s = 0; s < setting->servers; s++)
        expand_server(&it, s);
    if (!is_urgent)
        expand_time(&it);
}
