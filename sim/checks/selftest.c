/* selftest.c - see selftest.h.
 *
 * Histories are drawn by running clients against a lock in small steps of time; then, in most of
 * them, one thing is made untrue. So about half of them can be explained, and the others nearly. */
#include "checks/selftest.h"

#include "base/memory.h"
#include "base/random.h"
#include "checks/answers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 4, LOCKS = 2, LEASE_MAX = 6 };

static const int TIME_STEPS[] = {2, 4}, LOST[] = {12, 4};

struct selftest_room {
    struct answers_rules rules;
    struct placements *placements;
};

struct selftest_room *selftest_new(void)
{
    struct selftest_room *room = memory_new(1, sizeof *room);
    room->placements = placements_new();
    return room;
}

void selftest_free(struct selftest_room *room)
{
    placements_free(room->placements);
    free(room);
}

/* --- drawing --- */

struct drawn_client {
    int attempt, lock;         /* its own; the attempt may be one that no acquire began */
    int last, last_lock;       /* the latest attempt: it may have gone back to one before */
    int granted, granted_lock; /* the attempt that was; 0: none */
    bool is_asking, is_executed;
    int64_t called;
    enum operation op;
    enum result result;
};

struct selftest_draft {
    struct random random;
    struct selftest_history *history;
    struct drawn_client clients[CLIENTS];
    int64_t now;
    struct {
        int64_t ends;
        int owner, owner_attempt; /* -1: free */
        int entered;              /* again, so many times */
    } locks[LOCKS];
    int calls;
    bool is_of_client; /* the lock is had by a client, in whatever attempt */
    int clients_count; /* few do more each: what is entered again is released as often */
    int time_step;     /* where it is long, more is told when a lease is over */
    int lost;          /* one of so many operations is never answered */
};

static void put(struct selftest_draft *draw, enum event_kind kind, int client, enum result result)
{
    struct selftest_history *history = draw->history;
    const struct drawn_client *who = &draw->clients[client];
    assert(history->count < SELFTEST_EVENTS);
    history->events[history->count] = (struct event){.index = history->count,
                                                     .time_us = draw->now,
                                                     .from_us = draw->now,
                                                     .kind = kind,
                                                     .client = client,
                                                     .server = -1,
                                                     .lock = who->lock,
                                                     .attempt = who->attempt,
                                                     .op = who->op,
                                                     .result = result};
    history->count++;
}

static bool is_anybodys(const struct selftest_history *history)
{
    return history->lock == PLACEMENTS_ANYBODYS;
}

static bool is_clients(const struct selftest_history *history)
{
    return history->lock == PLACEMENTS_CLIENTS || history->lock == PLACEMENTS_REENTRANT;
}

static void call(struct selftest_draft *draw, int client)
{
    struct drawn_client *who = &draw->clients[client];
    const struct selftest_history *history = draw->history;
    /* Who never asked, or is somebody else in the same place, may release all the same. */
    bool strays = !is_anybodys(history) && random_below(&draw->random, 16) == 0;
    bool begins = !strays &&
                  ((who->last == 0 && !is_anybodys(history)) || random_below(&draw->random, 5) < 2);
    who->op = begins ? OP_ACQUIRE : random_below(&draw->random, 3) == 0 ? OP_EXTEND : OP_RELEASE;
    who->last += begins || strays;
    if (begins)
        who->last_lock = (int)random_below(&draw->random, (uint64_t)history->locks);
    /* Who has asked again for what it has may go back to that. */
    bool goes_back = !begins && !strays && who->granted && random_below(&draw->random, 4) == 0;
    who->attempt = goes_back ? who->granted : who->last;
    who->lock = goes_back ? who->granted_lock : who->last_lock;
    const struct event *last = history->count ? &history->events[history->count - 1] : NULL;
    if (last && last->kind == EVENT_RETURN && last->time_us == draw->now)
        draw->now++; /* else either may have been first */
    who->is_asking = true;
    who->is_executed = false;
    who->called = draw->now;
    draw->calls++;
    put(draw, EVENT_CALL, client, RESULT_NONE);
}

/* Does it take effect? */
static bool is_done(struct selftest_draft *draw, int client)
{
    const struct drawn_client *who = &draw->clients[client];
    const int owner = draw->locks[who->lock].owner;
    const bool is_reentrant = draw->history->lock == PLACEMENTS_REENTRANT;
    if (who->op == OP_ACQUIRE)
        return owner < 0 || (is_reentrant && owner == client && random_below(&draw->random, 4) > 0);
    if (is_anybodys(draw->history)) /* "not mine" may be so of what another one has locked */
        return owner == client || (owner >= 0 && random_below(&draw->random, 4) > 0);
    return owner == client &&
           (draw->is_of_client || draw->locks[who->lock].owner_attempt == who->attempt ||
            draw->locks[who->lock].entered > 0);
}

static void execute(struct selftest_draft *draw, int client)
{
    struct drawn_client *who = &draw->clients[client];
    const bool does = is_done(draw, client);
    const bool is_again = does && draw->locks[who->lock].owner >= 0;
    who->is_executed = true;
    who->result = who->op == OP_ACQUIRE   ? (does ? RESULT_GRANTED : RESULT_REFUSED)
                  : !does                 ? RESULT_NOT_MINE
                  : who->op == OP_RELEASE ? RESULT_RELEASED
                                          : RESULT_DONE;
    if (does && who->op == OP_RELEASE && draw->locks[who->lock].entered > 0) {
        draw->locks[who->lock].entered--;
    } else if (does && who->op == OP_RELEASE) {
        draw->locks[who->lock].owner = -1;
    } else if (does && who->op == OP_ACQUIRE && is_again) {
        draw->locks[who->lock].entered++;
    } else if (does && who->op == OP_ACQUIRE) {
        draw->locks[who->lock].owner = client;
        draw->locks[who->lock].owner_attempt = who->attempt;
        draw->locks[who->lock].entered = 0;
    }
    if (does && who->op != OP_RELEASE)
        draw->locks[who->lock].ends = draw->now + draw->history->lease;
}

/* May it give back what it was granted, before it is told? A careful client does, where it hears no
 * answer in time, and says that it failed, or heard it too late, and refuses. */
static bool may_tidy(const struct selftest_draft *draw, const struct drawn_client *who, int client)
{
    return who->op == OP_ACQUIRE && who->result == RESULT_GRANTED &&
           draw->locks[who->lock].owner == client &&
           draw->locks[who->lock].owner_attempt == who->attempt &&
           draw->locks[who->lock].entered == 0;
}

static void tidy(struct selftest_draft *draw, int client)
{
    struct drawn_client *who = &draw->clients[client];
    const int64_t lease = draw->history->lease;
    const bool is_too_late = lease && draw->now - who->called >= lease;
    draw->locks[who->lock].owner = -1;
    who->result = is_too_late ? RESULT_REFUSED : RESULT_FAILED;
}

static void answer(struct selftest_draft *draw, int client)
{
    struct drawn_client *who = &draw->clients[client];
    who->is_asking = false;
    if (who->op == OP_ACQUIRE && who->result == RESULT_GRANTED) {
        who->granted = who->attempt;
        who->granted_lock = who->lock;
    }
    put(draw, EVENT_RETURN, client,
        random_below(&draw->random, 8) == 0 ? RESULT_FAILED : who->result);
}

/* Something happens to one of the clients, or time passes. */
static void step(struct selftest_draft *draw)
{
    int client = (int)random_below(&draw->random, (uint64_t)draw->clients_count);
    struct drawn_client *who = &draw->clients[client];
    if (random_below(&draw->random, 3) == 0 && draw->now + draw->time_step <= PLACEMENTS_TIME)
        draw->now += 1 + (int64_t)random_below(&draw->random, (uint64_t)draw->time_step);
    for (int i = 0; draw->history->lease && i < draw->history->locks; i++)
        if (draw->locks[i].owner >= 0 && draw->now >= draw->locks[i].ends &&
            random_below(&draw->random, 2))
            draw->locks[i].owner = -1;
    if (!who->is_asking) {
        if (draw->calls < PLACEMENTS_OPERATIONS && draw->now < PLACEMENTS_TIME)
            call(draw, client);
    } else if (!who->is_executed) {
        if (random_below(&draw->random, (uint64_t)draw->lost) == 0) { /* perhaps not executed */
            who->is_asking = false;
            if (random_below(&draw->random, 2))
                put(draw, EVENT_RETURN, client, RESULT_FAILED);
        } else {
            execute(draw, client);
        }
    } else if (may_tidy(draw, who, client) && random_below(&draw->random, 12) == 0) {
        tidy(draw, client);
    } else {
        answer(draw, client);
    }
}

static enum result other_result(enum operation op, enum result result)
{
    bool is_ok = result_outcome(result) == OUTCOME_OK;
    if (op == OP_ACQUIRE)
        return is_ok ? RESULT_REFUSED : RESULT_GRANTED;
    return is_ok ? RESULT_NOT_MINE : op == OP_RELEASE ? RESULT_RELEASED : RESULT_DONE;
}

/* An answer becomes another one. */
static void make_untrue(struct selftest_draft *draw)
{
    struct selftest_history *history = draw->history;
    struct event *event = &history->events[random_below(&draw->random, (uint64_t)history->count)];
    if (event->kind == EVENT_RETURN)
        event->result = other_result(event->op, event->result);
}

void selftest_draw(uint64_t seed, int64_t number, struct selftest_history *history)
{
    struct selftest_draft draw = {.random = {.seed = seed, .stream = (uint64_t)number},
                                  .history = history};
    for (int i = 0; i < LOCKS; i++)
        draw.locks[i].owner = -1;
    history->count = 0;
    history->lease = (int64_t)random_below(&draw.random, LEASE_MAX);
    history->lock = history->lease == 0 && random_below(&draw.random, 2) ? PLACEMENTS_ANYBODYS
                    : random_below(&draw.random, 4) < 3                  ? PLACEMENTS_OWNED
                    : random_below(&draw.random, 3) == 0                 ? PLACEMENTS_CLIENTS
                                                                         : PLACEMENTS_REENTRANT;
    draw.is_of_client = is_clients(history) && random_below(&draw.random, 2) == 0;
    draw.clients_count = is_clients(history) ? 2 + (int)random_below(&draw.random, 2) : CLIENTS;
    draw.time_step = TIME_STEPS[random_below(&draw.random, 4) == 0];
    draw.lost = LOST[random_below(&draw.random, 3) == 0];
    history->locks =
        history->lock == PLACEMENTS_OWNED && random_below(&draw.random, 4) == 0 ? LOCKS : 1;
    int steps = 8 + (int)random_below(&draw.random, 32);
    for (int i = 0; i < steps && history->count < SELFTEST_EVENTS; i++)
        step(&draw);
    if (history->count > 0 && random_below(&draw.random, 4) > 0)
        make_untrue(&draw);
}

/* --- judging --- */

static enum answers by_engine(struct answers_rules rules, const struct selftest_history *history,
                              bool *is_lenient)
{
    rules.lease_us = history->lease;
    rules.anybody_releases = is_anybodys(history);
    rules.may_be_reentered |= history->lock == PLACEMENTS_REENTRANT;
    rules.releases_former |= is_clients(history);
    struct answers_engine *engine = answers_new(rules, CLIENTS, history->locks);
    enum answers said = ANSWERS_FIT;
    for (int i = 0; i < history->count && said != ANSWERS_CONTRADICT; i++)
        said = answers_event(engine, &history->events[i]);
    *is_lenient = answers_are_lenient(engine);
    answers_free(engine);
    return said;
}

struct judgement {
    bool engine_contradicts, is_lenient, can_be;
};

/* Locks know nothing of each other. */
static bool is_explained(struct selftest_room *room, const struct selftest_history *history,
                         int lock)
{
    struct event events[SELFTEST_EVENTS];
    int count = 0;
    for (int i = 0; i < history->count; i++)
        if (history->events[i].lock == lock)
            events[count++] = history->events[i];
    return placements_exist(room->placements, events, count, history->lease, history->lock);
}

static struct judgement judge(struct selftest_room *room, const struct selftest_history *history)
{
    struct judgement judgement;
    judgement.engine_contradicts =
        by_engine(room->rules, history, &judgement.is_lenient) == ANSWERS_CONTRADICT;
    judgement.can_be = true;
    for (int i = 0; i < history->locks; i++)
        judgement.can_be &= is_explained(room, history, i);
    return judgement;
}

/* A contradiction must be one, and none may be missed but where the engine says so itself. */
static bool is_wrong(const struct judgement *judgement)
{
    return judgement->engine_contradicts ? judgement->can_be
                                         : !judgement->can_be && !judgement->is_lenient;
}

static bool disagrees(struct selftest_room *room, const struct selftest_history *history)
{
    struct judgement judgement = judge(room, history);
    return is_wrong(&judgement);
}

/* --- shrinking --- */

/* Without that event; without an operation's call its answer goes as well, and without an
 * acquire's all of its attempt. */
static void leave_out(const struct selftest_history *history, int which,
                      struct selftest_history *made)
{
    const struct event *gone = &history->events[which];
    bool is_open = gone->kind == EVENT_CALL;
    *made = *history;
    made->count = 0;
    for (int i = 0; i < history->count; i++) {
        const struct event *event = &history->events[i];
        bool is_same =
            i > which && event->client == gone->client && event->attempt == gone->attempt;
        bool goes = i == which || (is_same && is_open && event->kind == EVENT_RETURN) ||
                    (is_same && gone->kind == EVENT_CALL && gone->op == OP_ACQUIRE);
        is_open &= !is_same;
        if (goes)
            continue;
        made->events[made->count] = *event;
        made->events[made->count].index = made->count;
        made->count++;
    }
}

static void shrink(struct selftest_room *room, struct selftest_history *history)
{
    for (int i = 0; i < history->count; i++) {
        struct selftest_history made;
        leave_out(history, i, &made);
        if (disagrees(room, &made)) {
            *history = made;
            i = -1;
        }
    }
}

/* --- contract --- */

void selftest_go(struct selftest_room *room, struct selftest *selftest, int64_t histories)
{
    struct selftest_history history;
    room->rules = selftest->planted;
    for (int64_t i = 0; i < histories && selftest->disagreements == 0; i++) {
        selftest_draw(selftest->seed, selftest->histories, &history);
        struct judgement judgement = judge(room, &history);
        selftest->histories++;
        selftest->contradictory += !judgement.can_be;
        selftest->lenient += !judgement.can_be && !judgement.engine_contradicts;
        if (!is_wrong(&judgement))
            continue;
        selftest->disagreements++;
        shrink(room, &history);
        selftest->smallest = history;
        selftest->engine_contradicts = judge(room, &history).engine_contradicts;
    }
}

const char *selftest_print(const struct selftest_history *history, char *text)
{
    static const char *const kinds[] = {"", ", by whatever attempt its holder releases it",
                                        ", its holder may be granted it again",
                                        ", anybody may release it"};
    size_t used = (size_t)snprintf(text, SELFTEST_TEXT, "lease %d%s\n", (int)history->lease,
                                   kinds[history->lock]);
    for (int i = 0; i < history->count && used < SELFTEST_TEXT; i++) {
        const struct event *event = &history->events[i];
        used += (size_t)snprintf(text + used, SELFTEST_TEXT - used, "%3d  %c.%d %-7s %s%s%s\n",
                                 (int)event->time_us, 'A' + event->client, event->attempt,
                                 operation_name(event->op), event->lock ? "of another lock " : "",
                                 event->kind == EVENT_CALL ? "?" : "is told: ",
                                 event->kind == EVENT_CALL ? "" : result_name(event->result));
    }
    return text;
}
