/* steps.c - see steps.h. */
#include "explore/steps.h"

#include "explore/expansion.h"
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
        if (!has_slot)
            continue;
        const struct fault_kind *kind = fault_kind((enum fault)i);
        uint32_t bits = BUDGET_MASK << (BUDGET_BITS * stepper->slot_of[i]);
        /* Where it only follows, what follows is risky, not the budget. */
        bool is_risky = kind->strikes_all_replies && kind->follows.count == 0;
        stepper->risky_budgets |= is_risky ? bits : 0;
        stepper->reply_budgets |= kind->strikes_all_replies || kind->strikes_replies ? bits : 0;
        stepper->order_budgets |= kind->meets_everything ? bits : 0;
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

int stepper_breaks(const struct stepper *stepper, const uint32_t *words)
{
    struct space *space = stepper->space;
    const struct setting *setting = &space->setting;
    int breaks = 0;
    for (int i = 0; i < FAULT_COUNT; i++)
        if (setting->breakers >> i & 1 && stepper->slot_of[i] >= 0)
            breaks += (int)(words[space_words(space) - 1] >> (BUDGET_BITS * stepper->slot_of[i]) &
                            BUDGET_MASK);
    for (int s = 0; s < setting->servers && setting->has_replica; s++)
        breaks += space_post(space, words[setting->clients + s])->has_follow;
    return breaks;
}

bool stepper_wants_lock(const struct stepper *stepper, const uint32_t *words)
{
    for (int i = 0; i < stepper->space->setting.clients; i++)
        if (space_place(stepper->space, words[i])->can_begin)
            return true;
    return false;
}

bool stepper_has_holder(const struct stepper *stepper, const uint32_t *words)
{
    for (int i = 0; i < stepper->space->setting.clients; i++)
        if (space_place(stepper->space, words[i])->phase == PHASE_HOLDING)
            return true;
    return false;
}

static inline bool can_pay(const struct expansion *it, const struct move *move)
{
    return move->kind != MOVE_STRIKE || has_budget(it, (enum fault)move->fault);
}

/* --- heirs: what expansion_client() would do, where that is little --- */

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
    ring_push(it->ring, words, it->ring->from, false);
    return true;
}

static inline bool must_be_whole(const struct expansion *it)
{
    return it->is_sorted || it->space->can_states_be_wrong;
}

/* False: expansion_client() must see to it. Nothing sleeps in the state after it. */
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
        expansion_client(it, client, &move);
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

static inline bool expand_clients(struct expansion *it, unsigned unheard)
{
    struct heirs *heirs = &it->space->heirs;
    const int clients = it->space->setting.clients;
    const bool is_poor = it->words[space_words(it->space) - 1] == 0;
    bool is_urgent = false;
    for (int i = 0; i < clients; i++) {
        const struct heir_key key = {it->words[i], it->words[clients], i};
        const struct heir_list *list = it->ring ? heirs_of(heirs, it->space, key) : NULL;
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
            expansion_server(it, server, &move);
    }
}

/* Can something befall all replies of a server at once? Then nobody waits before it hears them. */
static bool is_risky(const struct expansion *it)
{
    uint32_t budget = it->words[space_words(it->space) - 1];
    return budget & it->stepper->risky_budgets || expansion_risky_servers(it, it->words);
}

/* False: every order matters. */
static bool expand_turns(struct expansion *it)
{
    struct turn turns[TURNS_MAX];
    uint32_t budget = it->words[space_words(it->space) - 1];
    if (budget & it->stepper->order_budgets)
        return false;
    int count = turns_list(it->space, it->words, expansion_payable(it, budget), turns);
    for (int i = 0; i < count; i++)
        expansion_turn(it, &turns[i]);
    return count >= 0;
}

/* A client that waited for all its replies hears them now, and nothing else happens. */
static bool expand_hearing(struct expansion *it)
{
    for (int i = 0; i < it->space->setting.clients; i++) {
        const struct place place = *space_place(it->space, it->words[i]);
        for (uint32_t m = 0; place.is_hearing && m < place.moves_count; m++) {
            const struct move move = it->space->moves[place.moves_start + m];
            if (move.hearing == HEARD_BY_PATIENT)
                expansion_client(it, i, &move);
        }
        if (place.is_hearing)
            return true;
    }
    return false;
}

static inline void expansion_open(struct expansion *it, const struct stepper *stepper,
                                  const uint32_t *words)
{
    it->stepper = stepper;
    it->space = stepper->space;
    it->words = words;
    it->words_even = visited_even(space_words(it->space));
    it->ring = stepper->space->heirs.are_too_many ? NULL : stepper->ring;
    it->is_sorted = stepper->reductions & (REDUCE_CLIENTS | REDUCE_SERVERS);
    it->lead = LEAD_NOBODY;
    it->doomed = -1;
    it->violated_before = 0;
    it->has_granted = it->has_waited = false;
}

/* --- most states: near.h --- */

/* Where all steps go on as they are, and in every order. */
static inline bool is_near(const struct stepper *stepper)
{
    const struct space *space = stepper->space;
    return stepper->ring && stepper->reductions == 0 && !space->setting.is_ordered &&
           !space->heirs.are_too_many && !space->can_states_be_wrong;
}

static void step_near(const struct near *near, int client, const struct heir *heir)
{
    struct expansion it;
    if (heir->hearing == HEARD_BY_PATIENT)
        return;
    expansion_open(&it, near->context, near->words);
    step_heir(&it, client, heir);
}

/* False: nothing was done. */
static inline bool expand_near(const struct stepper *stepper, const uint32_t *words)
{
    struct space *space = stepper->space;
    const struct near near = {space, stepper->ring, words, step_near, stepper};
    ring_approach(stepper->ring, words);
    enum near_end end = near_expand(&near);
    if (end == NEAR_UNDONE)
        return false;
    if (end == NEAR_URGENT && space_post(space, words[space->setting.clients])->moves_count == 0)
        return true;
    struct expansion it;
    expansion_open(&it, stepper, words);
    expand_server(&it, 0);
    if (end != NEAR_URGENT)
        expansion_time(&it);
    return true;
}

void stepper_expand(struct stepper *stepper, const uint32_t *words)
{
    struct expansion it;
    if (is_near(stepper) && expand_near(stepper, words))
        return;
    expansion_open(&it, stepper, words);
    if (it.is_sorted)
        canon_open(&it.canon, it.space, stepper->reductions, words);
    const struct setting *setting = &stepper->space->setting;
    if (it.ring && !it.is_sorted)
        ring_approach(it.ring, words);
    bool is_patient =
        stepper->reductions & REDUCE_PATIENT && (setting->is_ordered || !is_risky(&it));
    if (is_patient && expand_hearing(&it))
        return;
    if (setting->is_ordered && expand_turns(&it))
        return;
    it.lead = LEAD_NOBODY;
    it.doomed = -1;
    unsigned unheard = is_patient ? HEARD_BY_IMPATIENT : HEARD_BY_PATIENT;
    bool is_urgent = expand_clients(&it, unheard);
    for (int s = 0; s < setting->servers; s++)
        expand_server(&it, s);
    if (!is_urgent)
        expansion_time(&it);
}
