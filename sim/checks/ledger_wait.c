/* ledger_wait.c - see ledger.h: executions of a real-time history that nothing explains yet.
 *
 * A server answers many clients in one turn of its loop, and their replies are read in any order: a
 * SET NX that succeeded can stand before the DEL that made it possible. Such a one waits for the
 * other, until it is certain that nothing older can come. So does a compare that found another key
 * than its client's own: if nothing explains it, the server has lost the key, or somebody unknown
 * has taken it away. Who was told of it is told the truth meanwhile. */
#include "checks/ledger_parts.h"

#include "base/memory.h"

#include <string.h>

enum {
    REORDER_MAX_US = 50 * 1000, /* how long an execution waits for one that explains it */
    WAITING_MAX = 64,           /* of a lock: the replies that one turn of a loop reads */
};

/* An execution, and a copy of all that its event points to. */
struct waiting {
    struct event event;
    struct key_effect effect;
    struct opaque opaque; /* its name "": the command is typed */
};

static struct execution execution_of(struct waiting *waiting)
{
    waiting->event.opaque = waiting->opaque.name[0] ? &waiting->opaque : NULL;
    return (struct execution){.event = &waiting->event, .effect = waiting->effect};
}

static struct waiting waiting_take(struct ledger_lock *lock, int at)
{
    struct waiting taken = lock->waiting[at];
    lock->waiting_count--;
    memmove(&lock->waiting[at], &lock->waiting[at + 1],
            (size_t)(lock->waiting_count - at) * sizeof taken);
    return taken;
}

static void apply_taken(struct ledger *ledger, struct ledger_lock *lock, int at)
{
    struct waiting taken = waiting_take(lock, at);
    const struct execution execution = execution_of(&taken);
    const int in_hand = ledger->clients[taken.event.client].attempt;
    ledger_turn(ledger, &taken.event);
    ledger_apply(ledger, &execution);
    ledger_turn_to(ledger, taken.event.client, in_hand);
}

/* Whatever can be explained by now. */
static void retry(struct ledger *ledger, struct ledger_lock *lock)
{
    for (int i = 0; i < lock->waiting_count;) {
        const struct execution execution = execution_of(&lock->waiting[i]);
        if (ledger_explains(ledger, &execution) != EXPLAINED) {
            i++;
            continue;
        }
        apply_taken(ledger, lock, i);
        i = 0;
    }
}

static void force_first(struct ledger *ledger, struct ledger_lock *lock)
{
    apply_taken(ledger, lock, 0);
    retry(ledger, lock);
}

void ledger_settle(struct ledger *ledger, int lock)
{
    while (ledger->locks[lock].waiting_count > 0)
        force_first(ledger, &ledger->locks[lock]);
}

/* Nothing that comes from here on can have happened before the first that waits. */
static bool is_overdue(const struct ledger_lock *lock, const struct event *event)
{
    const struct event *first = &lock->waiting[0].event;
    return event->time_us - first->time_us > REORDER_MAX_US ||
           (event->server == first->server &&
            (event->from_us > first->time_us || event->client == first->client));
}

static void wait_for_more(struct ledger *ledger, struct ledger_lock *lock,
                          const struct execution *execution)
{
    if (lock->waiting_count == WAITING_MAX)
        force_first(ledger, lock);
    if (lock->waiting_count == lock->waiting_size) {
        lock->waiting_size = lock->waiting_size ? 2 * lock->waiting_size : 4;
        lock->waiting =
            memory_resize(lock->waiting, (size_t)lock->waiting_size, sizeof *lock->waiting);
    }
    struct waiting *added = &lock->waiting[lock->waiting_count++];
    *added = (struct waiting){.event = *execution->event, .effect = execution->effect};
    added->event.effects = NULL;
    added->event.token_text = NULL;
    if (execution->event->opaque)
        added->opaque = *execution->event->opaque;
}

/* The server says that the client's own key is gone: why, a later event may tell. */
static void lose(struct ledger *ledger, const struct event *event)
{
    struct ledger_client *client = &ledger->clients[event->client];
    if (client->attempt == event->attempt)
        client->lost |= 1u << event->server;
}

void ledger_execute(struct ledger *ledger, const struct execution *execution)
{
    const struct event *event = execution->event;
    struct ledger_lock *lock = &ledger->locks[event->lock];
    while (lock->waiting_count > 0 && is_overdue(lock, event))
        force_first(ledger, lock);
    /* Steered histories are exact: there a reply that the book does not explain is news. */
    bool is_precise = event->from_us == event->time_us;
    enum explained explained = is_precise ? EXPLAINED : ledger_explains(ledger, execution);
    if (explained == UNEXPLAINED || explained == UNEXPLAINED_LOSS)
        wait_for_more(ledger, lock, execution);
    if (explained == UNEXPLAINED_LOSS)
        lose(ledger, event);
    if (explained == UNEXPLAINED_HARMLESS)
        ledger_doubt(ledger, execution);
    if (explained == UNEXPLAINED_LOSS || explained == UNEXPLAINED_HARMLESS)
        ledger_look(ledger, execution);
    if (explained != EXPLAINED)
        return;
    ledger_apply(ledger, execution);
    if (lock->waiting_count > 0)
        retry(ledger, lock);
}
