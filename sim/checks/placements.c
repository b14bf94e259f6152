/* placements.c - see placements.h.
 *
 * A walk over states (events passed, time, operations executed, owner, when its lease ends): from
 * each state whatever may happen next is tried, and each state once. */
#include "checks/placements.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { UNHELD = 0, NEVER = 63, SLOT_BITS = 12 }; /* at first: few histories need more */

struct tried {
    enum operation op;
    int call, answer; /* events; answer -1: none that counts */
    int refused;      /* the event by which it is executed, or never; -1: none */
    int own;          /* the acquire of the same attempt, of those that are tried; -1: none */
    enum result result;
    bool by_clock;    /* "not mine" of a release, when the lease that its attempt was granted is
                         over: it may have removed the lock */
    bool was_granted; /* the last that its client was told by its call is that it has the lock */
};

struct state {
    int passed, time, executed, owner, ends; /* owner: an acquire by its number + 1 */
    int reentered; /* the last acquire that was granted to its owner: any release that was called
                      since may be the last one, or not */
};

struct slot {
    uint32_t round, state;
};

struct placements {
    const struct event *events;
    int count, lease, operations;
    enum placements_lock lock;
    struct tried tried[PLACEMENTS_OPERATIONS];
    /* The states that were reached, and those yet to be tried: each half as many as slots. */
    uint32_t *states;
    struct state *stack;
    int states_count, waiting;
    struct slot *slots; /* where each is: of the first of them, those of this round */
    uint32_t round;
    int slot_bits, room_bits; /* of this walk; of the largest so far */
};

static void make_room(struct placements *placements, int bits)
{
    const size_t before = placements->slots ? (size_t)1 << placements->room_bits : 0;
    const size_t slots = (size_t)1 << bits;
    placements->room_bits = bits;
    placements->slots = memory_resize(placements->slots, slots, sizeof *placements->slots);
    memset(placements->slots + before, 0, (slots - before) * sizeof *placements->slots);
    placements->states = memory_resize(placements->states, slots / 2, sizeof *placements->states);
    placements->stack = memory_resize(placements->stack, slots / 2, sizeof *placements->stack);
}

struct placements *placements_new(void)
{
    struct placements *made = memory_new(1, sizeof *made);
    make_room(made, SLOT_BITS);
    return made;
}

void placements_free(struct placements *placements)
{
    free(placements->slots);
    free(placements->states);
    free(placements->stack);
    free(placements);
}

/* --- what is to be placed --- */

static int answer_of(const struct placements *placements, int call)
{
    const struct event *asked = &placements->events[call];
    for (int i = call + 1; i < placements->count; i++) {
        const struct event *event = &placements->events[i];
        if (event->client == asked->client)
            return event->kind == EVENT_RETURN && event->op == asked->op ? i : -1;
    }
    return -1;
}

static bool was_granted(const struct placements *placements, int call)
{
    for (int i = call - 1; i >= 0; i--) {
        const struct event *event = &placements->events[i];
        if (event->client != placements->events[call].client)
            continue;
        /* It was not answered, or nobody knows how. */
        if (event->kind == EVENT_CALL ? answer_of(placements, i) < 0
                                      : result_outcome(event->result) == OUTCOME_INFO)
            return false;
        if (event->result == RESULT_GRANTED || event->result == RESULT_RELEASED)
            return event->result == RESULT_GRANTED;
    }
    return false;
}

/* A grant, a renewal or a refusal that is told a lease after its call is one without an answer;
 * whose acquire is refused so late may have had the lock, but has it executed by then. */
static bool is_late(const struct placements *placements, const struct tried *tried)
{
    int64_t took =
        placements->events[tried->answer].time_us - placements->events[tried->call].time_us;
    return placements->lease && tried->op != OP_RELEASE && tried->own >= 0 &&
           (result_outcome(tried->result) == OUTCOME_OK || tried->result == RESULT_REFUSED) &&
           took >= placements->lease;
}

/* The acquire of that event's attempt, of those that are listed; -1: no acquire began it. */
static int own_of(const struct placements *placements, const struct event *event)
{
    for (int i = 0; i < placements->operations; i++) {
        const struct event *called = &placements->events[placements->tried[i].call];
        if (called->op == OP_ACQUIRE && called->client == event->client &&
            called->attempt == event->attempt)
            return i;
    }
    return -1;
}

static bool is_by_clock(const struct placements *placements, const struct tried *tried)
{
    if (tried->op != OP_RELEASE || tried->answer < 0 || tried->result != RESULT_NOT_MINE ||
        tried->own < 0 || !placements->lease)
        return false;
    const struct tried *own = &placements->tried[tried->own];
    const int64_t took =
        placements->events[tried->answer].time_us - placements->events[own->call].time_us;
    return own->answer >= 0 && own->answer < tried->call && own->result == RESULT_GRANTED &&
           took >= placements->lease;
}

static void list(struct placements *placements)
{
    placements->operations = 0;
    for (int i = 0; i < placements->count; i++) {
        const struct event *event = &placements->events[i];
        if (event->kind != EVENT_CALL)
            continue;
        assert(placements->operations < PLACEMENTS_OPERATIONS && event->client < PLACEMENTS_EVENTS);
        struct tried *tried = &placements->tried[placements->operations];
        *tried = (struct tried){.op = event->op,
                                .call = i,
                                .answer = answer_of(placements, i),
                                .own = event->op == OP_ACQUIRE ? placements->operations
                                                               : own_of(placements, event),
                                .was_granted = was_granted(placements, i)};
        if (tried->answer >= 0)
            tried->result = placements->events[tried->answer].result;
        tried->refused = -1;
        if (tried->answer >= 0 && tried->result == RESULT_REFUSED && is_late(placements, tried))
            tried->refused = tried->answer;
        /* What such a client says of a release, or a renewal, says nothing either. */
        if (tried->op != OP_ACQUIRE && tried->own >= 0 &&
            placements->tried[tried->own].refused >= 0)
            tried->answer = -1;
        if (tried->answer >= 0 &&
            (result_outcome(tried->result) == OUTCOME_INFO || is_late(placements, tried)))
            tried->answer = -1;
        tried->by_clock = is_by_clock(placements, tried);
        placements->operations++;
    }
}

/* --- the walk --- */

/* No slot is taken any more: each has another round, or, where they begin again, none. */
static void forget(struct placements *placements)
{
    placements->round++;
    if (placements->round > 0)
        return;
    memset(placements->slots, 0, sizeof *placements->slots << placements->room_bits);
    placements->round = 1;
}

/* Has that state not been reached before? */
static bool is_new(struct placements *placements, uint32_t packed)
{
    const uint32_t last = ((uint32_t)1 << placements->slot_bits) - 1;
    uint32_t at = packed * 2654435761u >> (32 - placements->slot_bits);
    for (;; at = (at + 1) & last) {
        struct slot *slot = &placements->slots[at];
        if (slot->round != placements->round) {
            *slot = (struct slot){.round = placements->round, .state = packed};
            return true;
        }
        if (slot->state == packed)
            return false;
    }
}

/* Twice as many slots: all that were reached find new ones. */
static void grow(struct placements *placements)
{
    placements->slot_bits++;
    if (placements->slot_bits > placements->room_bits)
        make_room(placements, placements->slot_bits);
    forget(placements);
    for (int i = 0; i < placements->states_count; i++)
        (void)is_new(placements, placements->states[i]);
}

static void reach(struct placements *placements, struct state state)
{
    uint32_t packed = (uint32_t)((state.passed * 32 + state.time) * 256 + state.executed);
    packed = ((packed * 16 + (uint32_t)state.owner) * 16 + (uint32_t)state.reentered) * 64 +
             (uint32_t)state.ends;
    if (!is_new(placements, packed))
        return;
    placements->states[placements->states_count++] = packed;
    placements->stack[placements->waiting++] = state;
    if (placements->states_count == 1 << (placements->slot_bits - 1))
        grow(placements);
}

static int lease_end(const struct placements *placements, int time)
{
    int ends = time + placements->lease;
    return placements->lease && ends <= PLACEMENTS_TIME ? ends : NEVER;
}

/* Is the lock its client's, by any attempt but one that was refused? */
static bool is_clients_own(const struct placements *placements, const struct tried *tried,
                           const struct state *state)
{
    return state->owner != UNHELD && placements->tried[state->owner - 1].refused < 0 &&
           placements->events[placements->tried[state->owner - 1].call].client ==
               placements->events[tried->call].client;
}

static bool is_clients(const struct placements *placements)
{
    return placements->lock == PLACEMENTS_CLIENTS || placements->lock == PLACEMENTS_REENTRANT;
}

/* Does it take effect there? */
static bool is_possible(const struct placements *placements, const struct tried *tried,
                        const struct state *state)
{
    const bool is_own = is_clients_own(placements, tried, state);
    const bool is_since =
        state->owner != UNHELD && placements->tried[state->owner - 1].call < tried->call &&
        (!state->reentered || placements->tried[state->reentered - 1].call < tried->call);
    if (tried->op == OP_ACQUIRE)
        return state->owner == UNHELD || (placements->lock == PLACEMENTS_REENTRANT && is_own);
    if (placements->lock == PLACEMENTS_ANYBODYS)
        return state->owner != UNHELD;
    return is_since && (state->owner == tried->own + 1 || (is_clients(placements) && is_own));
}

/* May it have none there, all the same? */
static bool may_miss(const struct placements *placements, const struct tried *tried,
                     const struct state *state)
{
    const bool is_own = is_clients_own(placements, tried, state);
    if (is_clients(placements))
        return is_own && state->owner != tried->own + 1 && state->reentered != tried->own + 1;
    return placements->lock == PLACEMENTS_ANYBODYS && tried->op != OP_ACQUIRE &&
           (!tried->was_granted || (state->owner != UNHELD &&
                                    !(is_own && placements->tried[state->owner - 1].answer >= 0)));
}

/* Executed at this moment, it is answered as it was; without an answer it may do what it can. */
static bool is_answered_so(const struct placements *placements, const struct tried *tried,
                           const struct state *state)
{
    const bool is_ok = result_outcome(tried->result) == OUTCOME_OK;
    return tried->answer < 0 || tried->by_clock || is_possible(placements, tried, state) == is_ok ||
           (!is_ok && may_miss(placements, tried, state));
}

static void execute(struct placements *placements, struct state state, int number)
{
    const struct tried *tried = &placements->tried[number];
    const bool takes_effect =
        is_possible(placements, tried, &state) &&
        (tried->answer < 0 || tried->by_clock || result_outcome(tried->result) == OUTCOME_OK);
    state.executed |= 1 << number;
    if (takes_effect && state.reentered && tried->op == OP_RELEASE)
        reach(placements, state); /* it was not the last */
    if (takes_effect && tried->op == OP_ACQUIRE && state.owner != UNHELD) {
        if (state.reentered < number + 1) /* one that was called before may take effect later */
            state.reentered = number + 1;
        if (tried->answer >= 0) /* who asks again and is not answered has what it had */
            state.ends = lease_end(placements, state.time);
    } else if (takes_effect && tried->op == OP_RELEASE) {
        state.owner = UNHELD, state.ends = state.reentered = 0;
    } else if (takes_effect && tried->op == OP_ACQUIRE) {
        state.owner = number + 1;
        /* Whoever hears no answer, or hears it too late, may give the lock back at any time. */
        state.ends = tried->answer < 0 ? state.time : lease_end(placements, state.time);
    } else if (takes_effect && placements->lock != PLACEMENTS_ANYBODYS) {
        state.ends = lease_end(placements, state.time);
    }
    reach(placements, state);
}

/* Is every operation executed whose answer is the next event? */
static bool may_pass(const struct placements *placements, const struct state *state)
{
    for (int i = 0; i < placements->operations; i++)
        if (placements->tried[i].answer == state->passed &&
            result_outcome(placements->tried[i].result) != OUTCOME_INFO &&
            placements->tried[i].result != RESULT_UNSUPPORTED && !(state->executed >> i & 1))
            return false;
    return true;
}

static void step(struct placements *placements, const struct state *state)
{
    const struct state now = *state;
    struct state next = now;
    int until = (int)placements->events[now.passed].time_us;
    for (int i = 0; i < placements->operations; i++) {
        const struct tried *tried = &placements->tried[i];
        bool is_called = tried->call < now.passed;
        bool is_over = (tried->answer >= 0 && tried->answer < now.passed) ||
                       (tried->refused >= 0 && tried->refused < now.passed);
        if (is_called && !is_over && !(now.executed >> i & 1) &&
            tried->result != RESULT_UNSUPPORTED && is_answered_so(placements, tried, &now))
            execute(placements, now, i);
    }
    if (now.owner != UNHELD && now.ends <= now.time) {
        next.owner = UNHELD, next.ends = next.reentered = 0;
        reach(placements, next);
        next = now;
    }
    if (now.time < until)
        next.time++;
    else if (may_pass(placements, &now))
        next.passed++;
    reach(placements, next);
}

bool placements_exist(struct placements *placements, const struct event *events, int count,
                      int64_t lease, enum placements_lock lock)
{
    assert(!lease || lock != PLACEMENTS_ANYBODYS);
    assert(count <= PLACEMENTS_EVENTS && lease >= 0 && lease <= PLACEMENTS_TIME);
    placements->events = events;
    placements->count = count;
    placements->lease = (int)lease;
    placements->lock = lock;
    forget(placements);
    placements->waiting = placements->states_count = 0;
    placements->slot_bits = SLOT_BITS;
    list(placements);
    reach(placements, (struct state){.owner = UNHELD});
    while (placements->waiting > 0) {
        struct state state = placements->stack[--placements->waiting];
        if (state.passed == count)
            return true;
        step(placements, &state);
    }
    return false;
}
