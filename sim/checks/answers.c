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
    bool is_lenient;
    struct mutex_answers *mutex; /* NULL: who has the lock releases it */
};

struct answers_engine *answers_new(struct answers_rules rules, int clients, int locks)
{
    struct answers_engine *made = memory_new(1, sizeof *made);
    made->rules = rules;
    if (rules.anybody_releases)
        made->mutex = mutex_answers_new(clients, locks);
    made->askers = memory_new((size_t)clients, sizeof *made->askers);
    made->room = (struct standing_room){.askers = made->askers, .lease_us = rules.lease_us};
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
    free(engine->room.next.rows);
    free(engine->room.freed.rows);
    free(engine->locks);
    free(engine->askers);
    free(engine);
}

bool answers_are_lenient(const struct answers_engine *engine)
{
    return engine->is_lenient || (engine->mutex && mutex_answers_are_lenient(engine->mutex));
}

/* --- calls --- */

static void acquire_called(struct answers_engine *engine, const struct event *event)
{
    struct asker *asker = &engine->askers[event->client];
    const bool is_same = asker->lock == event->lock;
    const bool has_lock = asker->has_lock && is_same;
    const bool has_left =
        is_same && (asker->has_left || asker_may_have(asker) || asker->release != ASKED_NONE);
    if (asker->acquire != ASKED_NONE && standing_leave(&engine->locks[asker->lock], event->client))
        engine->is_lenient = true;
    *asker = (struct asker){.lock = event->lock,
                            .attempt = event->attempt,
                            .acquire = ASKED_OPEN,
                            .has_lock = has_lock,
                            .has_left = has_left,
                            .is_reentering = engine->rules.may_be_reentered && has_lock,
                            .acquire_us = event->time_us,
                            .called_us = event->time_us};
    standing_ask(&engine->locks[event->lock], event->client);
}

/* Who has asked again for what it has, or may have, releases that, by whatever attempt: from here
 * on nobody knows what there is to be released. */
static void former_called(struct answers_engine *engine, struct asker *asker,
                          const struct event *event)
{
    engine->is_lenient = true;
    if (event->op != OP_RELEASE)
        return;
    asker->has_lock = false;
    asker->has_left = true;
    standing_lose(&engine->locks[event->lock]);
}

/* A second release, or a renewal of what it may have released, or may not have: nothing follows. */
static void more_called(struct answers_engine *engine, struct asker *asker,
                        const struct event *event)
{
    bool is_former = event->op == OP_RELEASE && engine->rules.releases_former &&
                     (asker->has_left || (asker->has_lock && asker->acquire != ASKED_GRANTED));
    if (is_former)
        former_called(engine, asker, event);
    asker->has_lock &= event->op != OP_RELEASE;
    /* Who has entered again is answered anything, also once another one has the lock. */
    const bool is_inside = engine->locks[asker->lock].reentrant == event->client;
    /* What it has left, or has, may have been entered again. */
    const bool may_be_former = engine->rules.may_be_reentered && asker_may_have(asker) &&
                               (asker->has_left || asker->has_lock);
    bool is_plain = asker->release == ASKED_NONE && !is_former && !is_inside &&
                    (event->op == OP_RELEASE || !may_be_former);
    engine->is_lenient |= !is_plain;
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
}

static void called(struct answers_engine *engine, const struct event *event)
{
    struct asker *asker = &engine->askers[event->client];
    bool is_more = event->op == OP_RELEASE || event->op == OP_EXTEND;
    /* A later attempt that no acquire began is another one's, in the same place. */
    asker->is_without =
        is_more && (asker->acquire == ASKED_NONE || event->attempt > asker->attempt);
    if (event->op == OP_ACQUIRE)
        acquire_called(engine, event);
    else if (is_more && event->attempt < asker->attempt)
        former_called(engine, asker, event);
    else if (is_more && asker->acquire != ASKED_NONE && event->attempt == asker->attempt)
        more_called(engine, asker, event);
}

/* --- returns --- */

static bool is_late(const struct answers_engine *engine, int64_t call_us)
{
    return engine->rules.lease_us && engine->room.now_us - call_us >= engine->rules.lease_us;
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
        asker->has_lock = true;
        if (asker->is_excused || is_late(engine, asker->acquire_us))
            asker->acquire = ASKED_UNANSWERED;
        else
            asker->acquire = ASKED_GRANTED;
        if (asker->is_reentering || lock->reentrant == event->client)
            return standing_reentered(lock, event->client);
        if (asker->acquire == ASKED_UNANSWERED)
            return ANSWERS_FIT;
        return standing_granted(lock, event->client,
                                engine->rules.may_be_reentered && asker->has_left);
    default:
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
    /* Who was refused has had nothing, however late it is. */
    bool is_doubted = outcome == OUTCOME_OK && engine->rules.doubts_late_releases &&
                      !asker->was_refused && is_late(engine, asker->called_us);
    if (outcome == OUTCOME_INFO || asker->is_release_excused || is_doubted ||
        (outcome == OUTCOME_FAIL && engine->rules.ignores_misses)) {
        standing_unanswered(lock, event->client);
        return ANSWERS_FIT;
    }
    if (outcome == OUTCOME_OK)
        return standing_released(lock, event->client);
    if (event->result == RESULT_UNSUPPORTED)
        return standing_not_released(lock, event->client);
    return standing_not_mine(lock, event->client, true);
}

static enum answers renewal_returned(struct answers_engine *engine, const struct event *event)
{
    struct asker *asker = &engine->askers[event->client];
    struct lock_answers *lock = &engine->locks[asker->lock];
    bool was_asked = asker->is_renewing && !asker->is_renewal_excused;
    asker->is_renewing = asker->is_renewal_excused = false;
    if (!was_asked)
        return ANSWERS_FIT;
    if (result_outcome(event->result) == OUTCOME_OK)
        return is_late(engine, asker->renew_us) ? ANSWERS_FIT
                                                : standing_renewed(lock, event->client);
    if (event->result == RESULT_NOT_MINE && !engine->rules.ignores_misses)
        return standing_not_mine(lock, event->client, false);
    return ANSWERS_FIT;
}

/* Nobody has a lock that he never asked for, nor one that was refused him, whoever has it. */
static bool is_of_nothing(const struct answers_engine *engine, const struct event *event)
{
    const struct asker *asker = &engine->askers[event->client];
    const bool is_doubted = engine->rules.ignores_misses || asker->has_lock || asker->has_left ||
                            (event->op == OP_EXTEND && is_late(engine, asker->renew_us));
    const bool was_refused = asker->was_refused && event->attempt == asker->attempt &&
                             engine->locks[asker->lock].is_lost &&
                             engine->locks[asker->lock].reentrant != event->client;
    return (asker->is_without || (was_refused && !is_doubted)) && event->op != OP_ACQUIRE &&
           result_outcome(event->result) == OUTCOME_OK;
}

static enum answers returned(struct answers_engine *engine, const struct event *event)
{
    if (is_of_nothing(engine, event))
        return ANSWERS_CONTRADICT;
    if (event->attempt != engine->askers[event->client].attempt)
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
    engine->is_lenient |= said == ANSWERS_OPEN;
    return said;
}
