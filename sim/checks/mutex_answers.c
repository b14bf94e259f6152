/* mutex_answers.c - see mutex_answers.h. */
#include "checks/mutex_answers.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { USED_MAX = 12, WAYS_MAX = 512 };
enum {
    NOBODY_KNOWN = -1, /* has locked it: none, or one that was not told, or either of two */
    LEFT = -2,         /* one whose acquire is left without an answer */
};

/* One way in which all answers so far can be explained. */
struct mutex_way {
    bool is_locked;
    int by;             /* the client that has locked it, or NOBODY_KNOWN */
    int untold;         /* locked: who may give it back at any time, since it was not told of it: a
                           client, LEFT, or NOBODY_KNOWN */
    int64_t changed_us; /* since when it is so, at the latest */
    int64_t acquires;   /* left without an answer, that can have their effect yet */
    int64_t releases;
    int used_count;
    struct mutex_used {
        int client, is_back; /* it has given back what it got */
    } used[USED_MAX]; /* whose operation has had its effect, and is not answered; by client */
};

struct mutex_ways {
    struct mutex_way *rows;
    int count, size;
    bool is_full; /* there were more */
};

/* A client and its operation. */
struct mutex_asker {
    int lock;
    enum operation op;
    bool is_open;     /* not answered, and may have its effect */
    bool is_excused;  /* called before the engine lost track: its answer proves nothing */
    bool was_granted; /* the last that it was told of the lock is that it has it */
    int64_t called_us;
};

struct mutex_lock {
    struct mutex_ways ways;
    int64_t acquires, releases; /* left without an answer, in all */
    int *present;               /* clients whose operation is open */
    int present_count, present_size;
};

struct mutex_answers {
    struct mutex_asker *askers;
    struct mutex_lock *locks;
    int locks_count;
    struct mutex_ways next, reached;
    int64_t now_us; /* of the event in hand */
    bool is_lenient;
};

/* --- ways --- */

/* Whatever the other one can come to, this one can. */
static bool is_as_good(const struct mutex_way *one, const struct mutex_way *other)
{
    return one->is_locked == other->is_locked &&
           (one->by == other->by || one->by == NOBODY_KNOWN) &&
           (one->untold == other->untold || one->untold == LEFT) &&
           one->changed_us >= other->changed_us && one->acquires >= other->acquires &&
           one->releases >= other->releases && one->used_count == other->used_count &&
           !memcmp(one->used, other->used, (size_t)one->used_count * sizeof *one->used);
}

static void add(struct mutex_ways *ways, const struct mutex_way *way)
{
    for (int i = 0; i < ways->count; i++)
        if (is_as_good(&ways->rows[i], way))
            return;
    for (int i = ways->count - 1; i >= 0; i--)
        if (is_as_good(way, &ways->rows[i]))
            ways->rows[i] = ways->rows[--ways->count];
    if (ways->count == WAYS_MAX) {
        ways->is_full = true;
        return;
    }
    if (ways->count == ways->size) {
        ways->size = ways->size ? 2 * ways->size : 2;
        ways->rows = memory_resize(ways->rows, (size_t)ways->size, sizeof *ways->rows);
    }
    ways->rows[ways->count++] = *way;
}

static int place_of(const struct mutex_way *way, int client)
{
    int at = 0;
    while (at < way->used_count && way->used[at].client < client)
        at++;
    return at;
}

static bool is_used(const struct mutex_way *way, int client)
{
    const int at = place_of(way, client);
    return at < way->used_count && way->used[at].client == client;
}

/* False: there is no room for it. */
static bool use(struct mutex_way *way, int client)
{
    const int at = place_of(way, client);
    if (way->used_count == USED_MAX)
        return false;
    memmove(&way->used[at + 1], &way->used[at], (size_t)(way->used_count - at) * sizeof *way->used);
    way->used[at] = (struct mutex_used){.client = client};
    way->used_count++;
    return true;
}

/* otherwise: who may give it back, where that client may. */
static void answer(struct mutex_way *way, int client, int otherwise)
{
    const int at = place_of(way, client);
    if (way->untold == client)
        way->untold = otherwise;
    way->used_count--;
    memmove(&way->used[at], &way->used[at + 1], (size_t)(way->used_count - at) * sizeof *way->used);
}

/* --- what an answer asks for --- */

/* client: who did it. Who asked for the lock before it became free may have had it before. */
static void turn(const struct mutex_answers *mutex, struct mutex_way *way, int client)
{
    const bool is_known = client != NOBODY_KNOWN && !way->is_locked &&
                          way->changed_us < mutex->askers[client].called_us;
    way->is_locked = !way->is_locked;
    way->by = is_known ? client : NOBODY_KNOWN;
    way->untold = NOBODY_KNOWN;
    way->changed_us = mutex->now_us;
}

/* Who has locked it and was not told has given it back, by now. */
static void give_back(const struct mutex_answers *mutex, struct mutex_way *way)
{
    if (way->untold != LEFT)
        way->used[place_of(way, way->untold)].is_back = true;
    turn(mutex, way, NOBODY_KNOWN);
}

/* To the ways that are reached: those in which somebody has turned it, by now. Who is answered has
 * not done it himself. */
static void reach_turned(struct mutex_answers *mutex, const struct mutex_lock *lock,
                         const struct mutex_way *way, int but)
{
    const bool is_locked = !way->is_locked;
    const enum operation wanted = is_locked ? OP_ACQUIRE : OP_RELEASE;
    for (int i = 0; i < lock->present_count; i++) {
        const int client = lock->present[i];
        struct mutex_way made = *way;
        if (client == but || mutex->askers[client].op != wanted || is_used(way, client))
            continue;
        turn(mutex, &made, client);
        made.untold = is_locked ? client : NOBODY_KNOWN;
        if (use(&made, client))
            add(&mutex->reached, &made);
        else
            mutex->reached.is_full = true;
    }
    struct mutex_way made = *way;
    if (way->untold != NOBODY_KNOWN) {
        give_back(mutex, &made);
        add(&mutex->reached, &made);
        made = *way;
    }
    int64_t *left = is_locked ? &made.acquires : &made.releases;
    if (*left > 0) {
        --*left;
        turn(mutex, &made, NOBODY_KNOWN);
        made.untold = is_locked ? LEFT : NOBODY_KNOWN;
        add(&mutex->reached, &made);
    }
}

/* Those in which, by now, it is locked, or free, after that one. */
static void reach(struct mutex_answers *mutex, const struct mutex_lock *lock,
                  const struct mutex_way *way, bool is_locked, int but)
{
    mutex->reached.count = 0;
    if (way->is_locked == is_locked)
        add(&mutex->reached, way);
    else
        reach_turned(mutex, lock, way, but);
}

/* It took effect: where the lock was as it must be, the other way round. A release: or what it was
 * locked by was given back, and it is another one's that was released. */
static void take_effect(struct mutex_answers *mutex, const struct mutex_lock *lock,
                        const struct mutex_way *way, int client)
{
    struct mutex_way made = *way;
    if (is_used(way, client)) {
        const bool is_back = way->used[place_of(way, client)].is_back;
        answer(&made, client, NOBODY_KNOWN);
        if (!is_back)
            add(&mutex->next, &made);
        return;
    }
    reach(mutex, lock, way, mutex->askers[client].op == OP_RELEASE, client);
    if (mutex->askers[client].op == OP_RELEASE && way->untold != NOBODY_KNOWN) {
        give_back(mutex, &made);
        reach_turned(mutex, lock, &made, client);
    }
    for (int i = 0; i < mutex->reached.count; i++) {
        made = mutex->reached.rows[i];
        turn(mutex, &made, client);
        add(&mutex->next, &made);
    }
}

/* It had no effect; the lock was locked, or free, at some moment since its call. */
static void see(struct mutex_answers *mutex, const struct mutex_lock *lock,
                const struct mutex_way *way, int client, bool is_locked)
{
    if (is_used(way, client))
        return;
    if (way->is_locked == is_locked || way->changed_us >= mutex->askers[client].called_us) {
        add(&mutex->next, way);
        return;
    }
    reach(mutex, lock, way, is_locked, client);
    for (int i = 0; i < mutex->reached.count; i++)
        add(&mutex->next, &mutex->reached.rows[i]);
}

/* It may have had its effect now, or before, or never: nobody knows. */
static void excuse(struct mutex_answers *mutex, const struct mutex_way *way, int client)
{
    struct mutex_way made = *way;
    if (is_used(way, client)) {
        answer(&made, client, LEFT);
        add(&mutex->next, &made);
        return;
    }
    add(&mutex->next, way);
    if (way->is_locked == (mutex->askers[client].op == OP_RELEASE)) {
        turn(mutex, &made, client);
        add(&mutex->next, &made);
    }
}

/* Nobody is told any more. */
static void leave(struct mutex_answers *mutex, const struct mutex_way *way, int client)
{
    struct mutex_way made = *way;
    if (is_used(way, client))
        answer(&made, client, LEFT);
    else
        ++*(mutex->askers[client].op == OP_ACQUIRE ? &made.acquires : &made.releases);
    add(&mutex->next, &made);
}

static void be_gone(struct mutex_lock *lock, int client)
{
    for (int i = 0; i < lock->present_count; i++)
        if (lock->present[i] == client) {
            lock->present[i] = lock->present[--lock->present_count];
            return;
        }
}

static void begin(struct mutex_answers *mutex)
{
    mutex->next.count = mutex->reached.count = 0;
    mutex->next.is_full = mutex->reached.is_full = false;
}

static void keep(struct mutex_answers *mutex, struct mutex_lock *lock)
{
    struct mutex_ways past = lock->ways;
    lock->ways = mutex->next;
    mutex->next = past;
}

/* Only that is known from here on: whoever has asked before may be answered anything. */
static void start_anew(struct mutex_answers *mutex, struct mutex_lock *lock, bool may_be_free,
                       bool may_be_locked)
{
    begin(mutex);
    for (int i = 0; i < 2; i++)
        if (i == 0 ? may_be_free : may_be_locked)
            add(&mutex->next, &(struct mutex_way){.is_locked = i,
                                                  .by = NOBODY_KNOWN,
                                                  .untold = NOBODY_KNOWN,
                                                  .changed_us = mutex->now_us,
                                                  .acquires = lock->acquires,
                                                  .releases = lock->releases});
    keep(mutex, lock);
    for (int i = 0; i < lock->present_count; i++)
        mutex->askers[lock->present[i]].is_excused = true;
}

static enum answers conclude(struct mutex_answers *mutex, struct mutex_lock *lock,
                             const struct event *event)
{
    const bool is_full = mutex->next.is_full || mutex->reached.is_full;
    const bool is_granted = event->result == RESULT_GRANTED && !is_full;
    const bool is_released = event->result == RESULT_RELEASED && !is_full;
    if (mutex->next.count > 0 && !is_full) {
        keep(mutex, lock);
        return ANSWERS_FIT;
    }
    start_anew(mutex, lock, !is_granted, !is_released);
    return is_full ? ANSWERS_OPEN : ANSWERS_CONTRADICT;
}

/* --- events --- */

static void leave_all(struct mutex_answers *mutex, int client)
{
    struct mutex_asker *asker = &mutex->askers[client];
    struct mutex_lock *lock = &mutex->locks[asker->lock];
    if (!asker->is_open)
        return;
    asker->is_open = asker->was_granted = false;
    be_gone(lock, client);
    if (asker->op != OP_ACQUIRE && asker->op != OP_RELEASE)
        return;
    ++*(asker->op == OP_ACQUIRE ? &lock->acquires : &lock->releases);
    begin(mutex);
    for (int i = 0; i < lock->ways.count; i++)
        leave(mutex, &lock->ways.rows[i], client);
    keep(mutex, lock);
}

static void called(struct mutex_answers *mutex, const struct event *event)
{
    struct mutex_lock *lock = &mutex->locks[event->lock];
    leave_all(mutex, event->client);
    struct mutex_asker *asker = &mutex->askers[event->client];
    *asker = (struct mutex_asker){.lock = event->lock,
                                  .op = event->op,
                                  .is_open = true,
                                  .was_granted = asker->was_granted,
                                  .called_us = event->time_us};
    if (lock->present_count == lock->present_size) {
        lock->present_size = lock->present_size ? 2 * lock->present_size : 8;
        lock->present =
            memory_resize(lock->present, (size_t)lock->present_size, sizeof *lock->present);
    }
    lock->present[lock->present_count++] = event->client;
}

/* But that it had no effect. "Not mine" may be said of a lock that another one has locked, maybe
 * behind a release of this one's. */
static bool proves_nothing(struct mutex_answers *mutex, const struct mutex_way *way,
                           const struct event *event)
{
    if (event->result == RESULT_UNSUPPORTED)
        return true;
    if (event->result != RESULT_NOT_MINE)
        return false;
    const bool was_granted = mutex->askers[event->client].was_granted;
    mutex->is_lenient |= was_granted && way->is_locked && way->by == NOBODY_KNOWN;
    return !was_granted || (way->is_locked && way->by != event->client);
}

static void weigh(struct mutex_answers *mutex, const struct mutex_lock *lock,
                  const struct mutex_way *way, const struct event *event)
{
    const bool is_ok = result_outcome(event->result) == OUTCOME_OK;
    if (mutex->askers[event->client].is_excused)
        excuse(mutex, way, event->client);
    else if (is_ok && event->op != OP_EXTEND)
        take_effect(mutex, lock, way, event->client);
    else if (!proves_nothing(mutex, way, event))
        see(mutex, lock, way, event->client, event->op == OP_ACQUIRE || is_ok);
    else if (!is_used(way, event->client))
        add(&mutex->next, way);
}

static enum answers returned(struct mutex_answers *mutex, const struct event *event)
{
    struct mutex_asker *asker = &mutex->askers[event->client];
    struct mutex_lock *lock = &mutex->locks[asker->lock];
    if (!asker->is_open || asker->op != event->op)
        return ANSWERS_FIT;
    if (result_outcome(event->result) == OUTCOME_INFO) {
        leave_all(mutex, event->client);
        return ANSWERS_FIT;
    }
    asker->is_open = false;
    be_gone(lock, event->client);
    begin(mutex);
    for (int i = 0; i < lock->ways.count; i++)
        weigh(mutex, lock, &lock->ways.rows[i], event);
    if (event->op == OP_ACQUIRE ? event->result == RESULT_GRANTED
                                : event->result == RESULT_RELEASED)
        asker->was_granted = event->op == OP_ACQUIRE;
    return conclude(mutex, lock, event);
}

/* --- contract --- */

struct mutex_answers *mutex_answers_new(int clients, int locks)
{
    struct mutex_answers *made = memory_new(1, sizeof *made);
    made->askers = memory_new((size_t)clients, sizeof *made->askers);
    made->locks = memory_new((size_t)locks, sizeof *made->locks);
    made->locks_count = locks;
    for (int i = 0; i < locks; i++)
        add(&made->locks[i].ways, &(struct mutex_way){.by = NOBODY_KNOWN,
                                                      .untold = NOBODY_KNOWN,
                                                      .changed_us = INT64_MIN});
    return made;
}

void mutex_answers_free(struct mutex_answers *mutex)
{
    for (int i = 0; i < mutex->locks_count; i++) {
        free(mutex->locks[i].ways.rows);
        free(mutex->locks[i].present);
    }
    free(mutex->next.rows);
    free(mutex->reached.rows);
    free(mutex->locks);
    free(mutex->askers);
    free(mutex);
}

enum answers mutex_answers_event(struct mutex_answers *mutex, const struct event *event)
{
    mutex->now_us = event->time_us;
    if (event->kind == EVENT_CALL)
        called(mutex, event);
    return event->kind == EVENT_RETURN ? returned(mutex, event) : ANSWERS_FIT;
}

bool mutex_answers_are_lenient(const struct mutex_answers *mutex)
{
    return mutex->is_lenient;
}
