/* answers.c - see answers.h; how a lock can stand is in standing.c. */
#include "checks/answers.h"

#include "base/memory.h"
#include "checks/mutex_answers.h"
#include "checks/standing.h"

#include <assert.h>
#include <stdlib.h>

struct answers_engine {
    struct answers_rules rules;
    struct standing_room room;
    struct asker *askers; /* of the room */
    struct lock_answers *locks;
    int locks_count;
    struct mutex_answers *mutex; /* NULL: who has the lock releases it */
};

struct answers_engine *answers_new(struct answers_rules rules, int clients, int locks)
{
    struct answers_engine *made = memory_new(1, sizeof *made);
    assert(clients <= UINT16_MAX);
    made->rules = rules;
    made->rules.releases_former |= rules.may_be_reentered;
    if (rules.anybody_releases)
        made->mutex = mutex_answers_new(clients, locks);
    made->askers = memory_new((size_t)clients, sizeof *made->askers);
    made->room =
        (struct standing_room){.askers = made->askers,
                               .rivals = memory_new((size_t)clients, sizeof *made->room.rivals),
                               .picked = memory_new((size_t)clients, sizeof *made->room.picked),
                               .lease_us = rules.lease_us,
                               .is_quorum = rules.is_quorum};
    made->locks = memory_new((size_t)locks, sizeof *made->locks);
    made->locks_count = locks;
    for (int i = 0; i < locks; i++)
        standing_init(&made->locks[i], &made->room);
    return made;
}

void answers_free(struct answers_engine *engine)
{
    for (int i = 0; i < engine->locks_count; i++)
        standing_close(&engine->locks[i]);
    if (engine->mutex)
        mutex_answers_free(engine->mutex);
    free(engine->room.rivals);
    free(engine->room.picked);
    free(engine->room.next.rows);
    free(engine->room.freed.rows);
    free(engine->locks);
    free(engine->askers);
    free(engine);
}

bool answers_are_lenient(const struct answers_engine *engine)
{
    return engine->room.is_lenient || (engine->mutex && mutex_answers_are_lenient(engine->mutex));
}

bool answers_may_reenter(const struct answers_engine *engine, int client)
{
    return engine->askers[client].may_reenter;
}

/* --- what a client may have of a lock, by whatever attempt --- */

/* It was granted the lock for certain, and nobody else has been since. */
static bool keeps(const struct answers_engine *engine, int client)
{
    const struct asker *asker = &engine->askers[client];
    return asker->keeps != KEEPS_NOTHING && engine->locks[asker->lock].granted == client;
}

/* Once, and by its last attempt: no other one of its has it. */
static bool keeps_by_last(const struct answers_engine *engine, int client)
{
    const struct asker *asker = &engine->askers[client];
    return asker->acquire == ASKED_GRANTED && asker->keeps == KEEPS_ONCE && keeps(engine, client);
}

/* May an attempt before its last one have it, or come to have it? */
static bool may_keep(const struct answers_engine *engine, int client)
{
    return engine->askers[client].may_come ||
           (keeps(engine, client) && !keeps_by_last(engine, client));
}

/* --- calls --- */

static void acquire_called(struct answers_engine *engine, const struct event *event)
{
    struct asker *asker = &engine->askers[event->client];
    const bool is_same = asker->lock == event->lock;
    const struct asker before = *asker;
    if (asker->acquire != ASKED_NONE)
        standing_leave(&engine->locks[asker->lock], event->client);
    *asker = (struct asker){.lock = event->lock,
                            .attempt = event->attempt,
                            .acquire = ASKED_OPEN,
                            .keeps = is_same ? before.keeps : KEEPS_NOTHING,
                            .may_come = is_same && (before.may_come || asker_may_have(&before)),
                            .may_end = is_same && (before.may_end || asker_may_release(&before)),
                            .acquire_us = event->time_us,
                            .called_us = event->time_us};
    asker->may_reenter = engine->rules.may_be_reentered && may_keep(engine, event->client);
    standing_ask(&engine->locks[event->lock], event->client);
}

/* It releases, or renews, what any of its attempts has, or may have. */
static void former_called(struct answers_engine *engine, struct asker *asker,
                          const struct event *event)
{
    engine->room.is_lenient = true;
    if (event->op != OP_RELEASE)
        return;
    if (asker->lock == event->lock && asker->release == ASKED_NONE) {
        asker->release = ASKED_UNANSWERED;
        asker->release_us = event->time_us;
    }
    standing_may_release(&engine->locks[event->lock], event->client);
}

/* Of a second release, or of a renewal of what it may have released, or may not have, nothing
 * follows; nor of either, where the attempt was refused too late. */
static void more_called(struct answers_engine *engine, struct asker *asker,
                        const struct event *event)
{
    const bool is_former = engine->rules.releases_former && may_keep(engine, event->client);
    const bool was_too_late = asker->acquire == ASKED_TOO_LATE;
    const bool is_plain =
        asker->release == ASKED_NONE && !was_too_late &&
        (!is_former || (event->op == OP_EXTEND && keeps_by_last(engine, event->client)));
    engine->room.is_lenient |= is_former || !(is_plain || was_too_late);
    standing_ask_more(&engine->locks[asker->lock], event->client);
    if (event->op == OP_EXTEND) {
        asker->is_renewing = is_plain;
        asker->renew_us = event->time_us;
    } else if (is_plain) {
        asker->release = ASKED_OPEN;
        asker->release_us = event->time_us;
    } else {
        asker->is_release_excused = true;
    }
    if (is_former)
        former_called(engine, asker, event);
}

/* In a later attempt, which no acquire began: another one's, in the same place, or the client's
 * that has the lock by an earlier one. Of which lock that is is known of the last one alone. */
static void called_without(struct answers_engine *engine, struct asker *asker,
                           const struct event *event)
{
    const bool may_be_former = engine->rules.releases_former && asker->acquire != ASKED_NONE &&
                               (asker->lock != event->lock || asker_may_have(asker) ||
                                asker->may_come || keeps(engine, event->client));
    asker->is_without = !may_be_former;
    if (may_be_former)
        former_called(engine, asker, event);
}

static void called(struct answers_engine *engine, const struct event *event)
{
    struct asker *asker = &engine->askers[event->client];
    const bool is_more = event->op == OP_RELEASE || event->op == OP_EXTEND;
    asker->is_without = false;
    if (event->op == OP_ACQUIRE)
        acquire_called(engine, event);
    else if (is_more && (asker->acquire == ASKED_NONE || event->attempt > asker->attempt))
        called_without(engine, asker, event);
    else if (is_more && event->attempt < asker->attempt)
        former_called(engine, asker, event);
    else if (is_more)
        more_called(engine, asker, event);
}

/* --- returns --- */

static bool is_late(const struct answers_engine *engine, int64_t call_us)
{
    return engine->rules.lease_us && engine->room.now_us - call_us >= engine->rules.lease_us;
}

/* It may have had the lock, and given it back: of its own release nothing follows. */
static enum answers refused_too_late(struct answers_engine *engine, int client)
{
    struct asker *asker = &engine->askers[client];
    asker->is_release_excused |= asker->release == ASKED_OPEN;
    return standing_too_late(&engine->locks[asker->lock], client);
}

static enum answers acquire_returned(struct answers_engine *engine, const struct event *event)
{
    struct asker *asker = &engine->askers[event->client];
    struct lock_answers *lock = &engine->locks[asker->lock];
    if (asker->acquire != ASKED_OPEN)
        return ANSWERS_FIT;
    switch (result_outcome(event->result)) {
    case OUTCOME_INFO:
        asker->acquire = ASKED_UNANSWERED;
        return ANSWERS_FIT;
    case OUTCOME_OK:
        if (asker->is_excused || is_late(engine, asker->acquire_us)) {
            asker->acquire = ASKED_UNANSWERED;
            return ANSWERS_FIT;
        }
        asker->acquire = ASKED_GRANTED;
        asker->keeps = asker->may_reenter &&
                               (keeps(engine, event->client) || (asker->may_come && asker->may_end))
                           ? KEEPS_OFTEN
                           : KEEPS_ONCE;
        engine->room.is_lenient |= asker->keeps == KEEPS_OFTEN;
        lock->granted = event->client;
        return standing_granted(lock, event->client, asker->may_reenter);
    default:
        if (event->result == RESULT_REFUSED && is_late(engine, asker->called_us))
            return refused_too_late(engine, event->client);
        asker->was_refused = true;
        return standing_refused(lock, event->client,
                                event->result != RESULT_REFUSED || engine->rules.ignores_misses);
    }
}

static enum answers release_returned(struct answers_engine *engine, const struct event *event)
{
    struct asker *asker = &engine->askers[event->client];
    struct lock_answers *lock = &engine->locks[asker->lock];
    if (asker->release != ASKED_OPEN)
        return ANSWERS_FIT;
    enum outcome outcome = result_outcome(event->result);
    /* Who was refused has had nothing, however late it is; but of several servers, one may have
     * missed what gave its key back, and have it yet. */
    bool is_doubted = (engine->rules.is_quorum && asker->acquire == ASKED_ENDED) ||
                      (engine->rules.doubts_late_releases && !asker->was_refused &&
                       is_late(engine, asker->called_us));
    if (outcome == OUTCOME_INFO || asker->is_release_excused ||
        (outcome == OUTCOME_OK && is_doubted) ||
        (outcome == OUTCOME_FAIL && engine->rules.ignores_misses)) {
        standing_unanswered(lock, event->client);
        return ANSWERS_FIT;
    }
    if (outcome == OUTCOME_OK)
        return standing_released(lock, event->client);
    if (event->result == RESULT_UNSUPPORTED)
        return standing_not_released(lock, event->client);
    const bool by_clock = asker->acquire == ASKED_GRANTED && is_late(engine, asker->called_us);
    asker->keeps = KEEPS_NOTHING;
    return standing_not_mine(lock, event->client, by_clock ? NOT_MINE_BY_CLOCK : NOT_MINE_RELEASED);
}

static enum answers renewal_returned(struct answers_engine *engine, const struct event *event)
{
    struct asker *asker = &engine->askers[event->client];
    struct lock_answers *lock = &engine->locks[asker->lock];
    bool was_asked = asker->is_renewing && !asker->is_renewal_excused;
    asker->is_renewing = asker->is_renewal_excused = false;
    if (!was_asked)
        return ANSWERS_FIT;
    /* Where an earlier attempt may have it, that one may be what was renewed. */
    if (result_outcome(event->result) == OUTCOME_OK)
        return is_late(engine, asker->renew_us) ||
                       (engine->rules.releases_former && may_keep(engine, event->client))
                   ? ANSWERS_FIT
                   : standing_renewed(lock, event->client);
    if (event->result != RESULT_NOT_MINE || engine->rules.ignores_misses)
        return ANSWERS_FIT;
    asker->keeps = KEEPS_NOTHING;
    return standing_not_mine(lock, event->client, NOT_MINE_RENEWED);
}

static enum answers returned(struct answers_engine *engine, const struct event *event)
{
    struct asker *asker = &engine->askers[event->client];
    if (asker->is_without && event->op != OP_ACQUIRE && result_outcome(event->result) == OUTCOME_OK)
        return ANSWERS_CONTRADICT;
    if (event->result == RESULT_RELEASED && asker->keeps == KEEPS_ONCE)
        asker->keeps = KEEPS_NOTHING; /* by whatever attempt */
    if (event->attempt != asker->attempt)
        return ANSWERS_FIT;
    return event->op == OP_ACQUIRE   ? acquire_returned(engine, event)
           : event->op == OP_RELEASE ? release_returned(engine, event)
           : event->op == OP_EXTEND  ? renewal_returned(engine, event)
                                     : ANSWERS_FIT;
}

enum answers answers_event(struct answers_engine *engine, const struct event *event)
{
    enum answers said = ANSWERS_FIT;
    if (event->client < 0 || event->is_inferred)
        return ANSWERS_FIT;
    engine->room.now_us = event->time_us;
    if (engine->mutex)
        said = mutex_answers_event(engine->mutex, event);
    else if (event->kind == EVENT_CALL)
        called(engine, event);
    else if (event->kind == EVENT_RETURN)
        said = returned(engine, event);
    engine->room.is_lenient |= said == ANSWERS_OPEN;
    return said;
}
