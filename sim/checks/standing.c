/* standing.c - see standing.h. The set of ways, and what every answer does to it; how an ownership
 * ends and begins is in standing_owner.c. */
#include "checks/standing_parts.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void clear(struct ways *ways)
{
    ways->count = 0;
    ways->is_full = false;
}

void standing_init(struct lock_answers *lock, struct standing_room *room)
{
    static const struct lock_way fresh = {
        .owner = FREE, .from_us = INT64_MIN, .until_us = INT64_MIN};
    *lock = (struct lock_answers){.room = room, .granted = FREE};
    ways_add(&lock->ways, &fresh);
}

void standing_close(struct lock_answers *lock)
{
    free(lock->ways.rows);
    free(lock->left.calls_us);
    free(lock->present);
}

/* --- who is there --- */

void standing_ask(struct lock_answers *lock, int client)
{
    if (lock->present_count == lock->present_size) {
        lock->present_size = lock->present_size ? 2 * lock->present_size : 8;
        lock->present =
            memory_resize(lock->present, (size_t)lock->present_size, sizeof *lock->present);
    }
    lock->room->askers[client].place = lock->present_count;
    lock->present[lock->present_count++] = client;
}

/* Who is not present has gone already. */
static void be_gone(struct lock_answers *lock, int client)
{
    struct asker *askers = lock->room->askers;
    const int place = askers[client].place;
    if (place >= lock->present_count || lock->present[place] != client)
        return;
    const int last = lock->present[--lock->present_count];
    lock->present[place] = last;
    askers[last].place = place;
}

static void list_rivals(struct lock_answers *lock)
{
    struct standing_room *room = lock->room;
    room->rivals_count = room->releasing_count = 0;
    for (int i = 0; i < lock->present_count; i++) {
        const struct asker *asker = &room->askers[lock->present[i]];
        if (!asker_may_have(asker))
            continue;
        const bool is_releasing = asker->release == ASKED_OPEN && !asker->is_release_excused;
        room->releasing_count += is_releasing;
        room->rivals[room->rivals_count++] =
            (struct rival){.client = lock->present[i],
                           .is_releasing = is_releasing,
                           .is_renewing = asker->is_renewing && !asker->is_renewal_excused,
                           .acquire_us = asker->acquire_us};
    }
}

/* --- the set of ways --- */

/* Only that is known from here on: whoever has asked before may be answered anything. */
static void start_anew(struct lock_answers *lock, struct lock_way way)
{
    clear(&lock->ways);
    ways_add(&lock->ways, &way);
    lock->is_lost = false;
    for (int i = 0; i < lock->present_count; i++) {
        struct asker *asker = &lock->room->askers[lock->present[i]];
        asker->is_excused |= asker->acquire == ASKED_OPEN;
        asker->is_release_excused |= asker->release == ASKED_OPEN;
        asker->is_renewal_excused |= asker->is_renewing;
    }
}

static struct lock_way owned(const struct lock_answers *lock, int client, int64_t since_us)
{
    struct lock_way way = {.owner = FREE, .from_us = INT64_MIN};
    standing_own(lock, &way, client, since_us);
    return way;
}

static struct lock_way freed(const struct lock_answers *lock, int64_t from_us)
{
    return (struct lock_way){.owner = FREE, .from_us = from_us, .until_us = lock->room->now_us};
}

/* The next ways are the ways; none is left: that one. */
static enum answers conclude(struct lock_answers *lock, struct lock_way otherwise)
{
    struct ways *next = &lock->room->next;
    if (next->is_full || lock->room->freed.is_full) {
        lock->is_lost = true;
        return ANSWERS_OPEN;
    }
    if (next->count == 0) {
        start_anew(lock, otherwise);
        return ANSWERS_CONTRADICT;
    }
    struct ways past = lock->ways;
    lock->ways = *next;
    *next = past;
    return ANSWERS_FIT;
}

/* The same; none is left: nothing is known until somebody is granted the lock. */
static enum answers conclude_or_lose(struct lock_answers *lock)
{
    const enum answers said = conclude(lock, freed(lock, INT64_MIN));
    lock->is_lost |= said == ANSWERS_CONTRADICT;
    return said;
}

static void begin(struct lock_answers *lock)
{
    clear(&lock->room->next);
    clear(&lock->room->freed);
    list_rivals(lock);
}

/* Those that were changed, without those that are not needed any more. */
static void tidy(struct lock_answers *lock)
{
    begin(lock);
    for (int i = 0; i < lock->ways.count; i++)
        ways_add(&lock->room->next, &lock->ways.rows[i]);
    struct ways past = lock->ways;
    lock->ways = lock->room->next;
    lock->room->next = past;
}

/* --- an attempt is left --- */

static void insert(struct left_calls *left, int64_t call_us)
{
    if (left->count == left->size) {
        left->size = left->size ? 2 * left->size : 16;
        left->calls_us = memory_resize(left->calls_us, (size_t)left->size, sizeof *left->calls_us);
    }
    int64_t at = left->count++;
    for (; at > 0 && left->calls_us[at - 1] > call_us; at--)
        left->calls_us[at] = left->calls_us[at - 1];
    left->calls_us[at] = call_us;
}

/* May what was left be that client's? */
static bool is_former(const struct lock_way *way, int client)
{
    return way->former == client || way->former == FREE;
}

/* Has that changed it? */
static bool leave_way(struct lock_way *way, const struct asker *asker, int client)
{
    bool has_had = way->owner == client || (standing_used(way, client) & USED_ACQUIRE);
    if (way->owner != client && !standing_used(way, client))
        return false;
    if (asker_may_have(asker) && has_had)
        way->spent++;
    standing_use(way, client, 0);
    if (way->owner != client)
        return true;
    way->owner = FORMER;
    way->former = client;
    int64_t released_us = later(way->from_us, asker->release_us);
    if (asker_may_release(asker) && released_us < way->ends_us)
        way->ends_us = released_us;
    return true;
}

void standing_leave(struct lock_answers *lock, int client)
{
    const struct asker *asker = &lock->room->askers[client];
    bool may_have = asker_may_have(asker);
    be_gone(lock, client);
    if (asker->acquire == ASKED_ENDED || asker->acquire == ASKED_TOO_LATE)
        return;
    if (may_have)
        insert(&lock->left, asker->called_us);
    bool is_changed = false;
    for (int i = 0; i < lock->ways.count; i++)
        is_changed |= leave_way(&lock->ways.rows[i], asker, client);
    if (is_changed)
        tidy(lock);
    lock->room->is_lenient |= may_have && asker->acquire_us > asker->called_us;
}

void standing_may_release(struct lock_answers *lock, int client)
{
    for (int i = 0; i < lock->ways.count; i++) {
        struct lock_way *way = &lock->ways.rows[i];
        const bool is_own =
            way->owner == client || (way->owner == FORMER && is_former(way, client));
        const int64_t released_us = later(way->from_us, lock->room->now_us);
        if (is_own && released_us < way->ends_us)
            way->ends_us = released_us;
    }
    tidy(lock);
}

void standing_ask_more(struct lock_answers *lock, int client)
{
    for (int i = 0; i < lock->ways.count; i++) {
        struct lock_way *way = &lock->ways.rows[i];
        standing_use(way, client, standing_used(way, client) & ~(unsigned)USED_IN_VAIN);
    }
}

/* --- answers --- */

/* What its client has left has it, or one of all that was left: it enters that again. */
static void reenter(struct lock_answers *lock, const struct lock_way *way, int client)
{
    struct lock_way made = *way;
    if (!is_former(way, client))
        return;
    lock->room->is_lenient |= way->former == FREE;
    made.owner = client;
    standing_lengthen(lock, &made, lock->room->askers[client].acquire_us);
    ways_add(&lock->room->next, &made);
}

enum answers standing_granted(struct lock_answers *lock, int client, bool may_reenter)
{
    struct asker *asker = &lock->room->askers[client];
    if (lock->is_lost) {
        start_anew(lock, owned(lock, client, asker->acquire_us));
        return ANSWERS_FIT;
    }
    begin(lock);
    for (int i = 0; i < lock->ways.count; i++) {
        const struct lock_way *way = &lock->ways.rows[i];
        if (way->owner == FORMER && may_reenter)
            reenter(lock, way, client);
        struct lock_way made = *way;
        if (way->owner == client) {
            standing_tell(lock, &made);
            ways_add(&lock->room->next, &made);
        } else if (!standing_used(way, client)) {
            standing_give(lock, way, client);
        }
    }
    return conclude(lock, owned(lock, client, asker->acquire_us));
}

/* Keeps the ways in which that acquire has had no effect: of those, none is as good as another. Do
 * all that are kept explain its refusal? */
static enum answers drop_granted(struct lock_answers *lock, int client, bool *do_explain)
{
    struct ways *ways = &lock->ways;
    int kept = 0;
    *do_explain = true;
    for (int i = 0; i < ways->count; i++) {
        const struct lock_way *way = &ways->rows[i];
        if (way->owner == client || standing_used(way, client))
            continue;
        *do_explain = *do_explain && standing_explains(lock, way, client);
        if (kept < i)
            ways->rows[kept] = *way;
        kept++;
    }
    ways->count = kept;
    if (kept > 0)
        return ANSWERS_FIT;
    start_anew(lock, freed(lock, INT64_MIN));
    lock->is_lost = true;
    return ANSWERS_CONTRADICT;
}

enum answers standing_refused(struct lock_answers *lock, int client, bool is_silent)
{
    struct asker *asker = &lock->room->askers[client];
    asker->acquire = ASKED_ENDED;
    be_gone(lock, client);
    if (lock->is_lost)
        return ANSWERS_FIT;
    bool do_explain;
    if (drop_granted(lock, client, &do_explain))
        return ANSWERS_CONTRADICT;
    if (is_silent || do_explain)
        return ANSWERS_FIT;
    begin(lock);
    for (int i = 0; i < lock->ways.count; i++)
        standing_refuse(lock, &lock->ways.rows[i], client);
    if (lock->room->next.count > 0 || lock->room->next.is_full || lock->room->freed.is_full)
        return conclude_or_lose(lock);
    return ANSWERS_CONTRADICT; /* and nothing is concluded from it */
}

enum answers standing_too_late(struct lock_answers *lock, int client)
{
    if (!lock->is_lost) {
        begin(lock);
        for (int i = 0; i < lock->ways.count; i++) {
            struct lock_way made = lock->ways.rows[i];
            if (made.owner != client && !standing_used(&made, client))
                standing_give(lock, &made, client);
            standing_use(&made, client, 0);
            ways_add(&lock->room->next, &made);
        }
        struct ways *next = &lock->room->next;
        for (int i = 0; i < next->count; i++)
            if (next->rows[i].owner == client) {
                next->rows[i].owner = FORMER;
                next->rows[i].former = REFUSED;
            }
    }
    lock->room->askers[client].acquire = ASKED_TOO_LATE;
    be_gone(lock, client);
    if (lock->is_lost)
        return ANSWERS_FIT;
    const enum answers said = conclude_or_lose(lock);
    tidy(lock);
    return said;
}

/* An effect of the attempt is told; where it need not have the lock, it may have got it before. */
static void take_back(struct lock_answers *lock, const struct lock_way *way, int client)
{
    const struct asker *asker = &lock->room->askers[client];
    struct lock_way made = *way;
    if (standing_used(way, client) & USED_RELEASE) {
        standing_use(&made, client, 0);
        ways_add(&lock->room->next, &made);
    } else if (way->owner == client && !(standing_used(way, client) & USED_IN_VAIN)) {
        made = (struct lock_way){.owner = FREE,
                                 .from_us = later(way->from_us, asker->release_us),
                                 .until_us = lock->room->now_us,
                                 .spent = way->spent,
                                 .used_count = way->used_count};
        memcpy(made.used, way->used, sizeof made.used);
        ways_add(&lock->room->next, &made);
    } else if (asker_may_have(asker) && !standing_used(way, client)) {
        standing_give_back(lock, way, client);
    }
}

enum answers standing_released(struct lock_answers *lock, int client)
{
    struct asker *asker = &lock->room->askers[client];
    enum answers said = ANSWERS_FIT;
    if (!lock->is_lost) {
        begin(lock);
        for (int i = 0; i < lock->ways.count; i++)
            take_back(lock, &lock->ways.rows[i], client);
    }
    asker->acquire = ASKED_ENDED;
    asker->release = ASKED_NONE;
    be_gone(lock, client);
    if (!lock->is_lost)
        said = conclude(lock, freed(lock, asker->release_us));
    return said;
}

enum answers standing_not_released(struct lock_answers *lock, int client)
{
    struct asker *asker = &lock->room->askers[client];
    asker->release = ASKED_NONE;
    if (lock->is_lost)
        return ANSWERS_FIT;
    begin(lock);
    for (int i = 0; i < lock->ways.count; i++)
        if (!(standing_used(&lock->ways.rows[i], client) & USED_RELEASE))
            ways_add(&lock->room->next, &lock->ways.rows[i]);
    return conclude_or_lose(lock);
}

/* What it has is not its own: not any more, or it was not yet. */
static void miss(struct lock_answers *lock, const struct lock_way *way, int client)
{
    struct lock_way made = *way;
    if (standing_used(way, client) & USED_IN_VAIN) {
        standing_use(&made, client, 0);
        ways_add(&lock->room->next, &made);
    } else {
        standing_expire(lock, &lock->room->next, way);
    }
}

enum answers standing_not_mine(struct lock_answers *lock, int client, enum not_mine what)
{
    struct asker *asker = &lock->room->askers[client];
    const bool is_release = what != NOT_MINE_RENEWED;
    enum answers said = ANSWERS_FIT;
    if (!lock->is_lost) {
        begin(lock);
        for (int i = 0; i < lock->ways.count; i++) {
            const struct lock_way *way = &lock->ways.rows[i];
            if (what == NOT_MINE_BY_CLOCK)
                take_back(lock, way, client);
            if (way->owner == client)
                miss(lock, way, client);
            else if (!is_release || !(standing_used(way, client) & USED_RELEASE))
                ways_add(&lock->room->next, way);
            if (way->owner != client && asker_may_have(asker) && !standing_used(way, client))
                standing_give_until_expired(lock, way, client);
        }
    }
    /* What comes later than that comes after it. */
    asker->acquire_us = later(asker->acquire_us, is_release ? asker->release_us : asker->renew_us);
    if (is_release) {
        asker->release = ASKED_NONE;
        if (asker->acquire == ASKED_GRANTED) {
            asker->acquire = ASKED_ENDED;
            be_gone(lock, client);
        }
    }
    if (!lock->is_lost)
        said = conclude_or_lose(lock);
    return said;
}

enum answers standing_renewed(struct lock_answers *lock, int client)
{
    const struct asker *asker = &lock->room->askers[client];
    if (lock->is_lost)
        return ANSWERS_FIT;
    begin(lock);
    for (int i = 0; i < lock->ways.count; i++) {
        const struct lock_way *way = &lock->ways.rows[i];
        if (way->owner == client && !standing_used(way, client))
            ways_add(&lock->room->next, way);
        else if (asker_may_have(asker) && !standing_used(way, client))
            standing_give(lock, way, client);
    }
    struct ways *next = &lock->room->next;
    for (int i = 0; i < next->count; i++)
        standing_lengthen(lock, &next->rows[i], asker->renew_us);
    return conclude(lock, owned(lock, client, asker->renew_us));
}

void standing_unanswered(struct lock_answers *lock, int client)
{
    struct asker *asker = &lock->room->askers[client];
    asker->release = ASKED_UNANSWERED;
    for (int i = 0; i < lock->ways.count; i++) {
        struct lock_way *way = &lock->ways.rows[i];
        standing_use(way, client, standing_used(way, client) & USED_ACQUIRE);
    }
    tidy(lock);
}
