/* contention.c - attempts for a lock that another client had; see contention.h. */
#include "checks/contention.h"

#include "base/memory.h"

#include <stdlib.h>

enum { SEVERAL = NOBODY - 1 };

/* Whose requests for a lock reached a server, and who was told so: NOBODY, one, or SEVERAL. */
struct askers {
    int served, granted, refused;
};

struct contention {
    const struct ledger *ledger;
    int *counted; /* a client's last contended attempt; 0: none */
    int64_t count;
    struct askers *askers; /* by lock */
    bool are_several;      /* of one lock: they were served */
    bool is_told;
};

struct contention *contention_new(const struct ledger *ledger)
{
    const struct history_head *head = ledger->head;
    struct contention *contention = memory_new(1, sizeof *contention);
    contention->ledger = ledger;
    contention->counted = memory_new((size_t)head->clients, sizeof *contention->counted);
    contention->askers = memory_new((size_t)head->locks, sizeof *contention->askers);
    for (int i = 0; i < head->locks; i++)
        contention->askers[i] =
            (struct askers){.served = NOBODY, .granted = NOBODY, .refused = NOBODY};
    return contention;
}

void contention_free(struct contention *contention)
{
    free(contention->counted);
    free(contention->askers);
    free(contention);
}

static bool is_believed(const struct ledger *ledger, const struct event *event)
{
    int other = ledger->locks[event->lock].first_holder;
    for (; other != NOBODY; other = ledger->clients[other].next)
        if (other != event->client)
            return true;
    return false;
}

static bool is_owned(const struct ledger *ledger, const struct event *event)
{
    const struct grant *grant = &ledger->locks[event->lock].keys[event->server].grant;
    return grant->index != NO_INDEX && grant->ending == ENDING_NONE && grant->client != NOBODY &&
           grant->client != event->client && ledger_is_owner(ledger, grant->client, event->time_us);
}

/* Nothing is executed for an error; and what names no key asks for no lock. */
static bool has_come(const struct event *event)
{
    return event_is_on(event, KEY_LOCK) && (event->opaque || verb_names_key(event->command.verb)) &&
           (event->kind == EVENT_EXECUTE ||
            (event->kind == EVENT_HEAR && event->reply.kind == REPLY_ERROR));
}

static bool is_another(int who, int client)
{
    return who != NOBODY && who != client;
}

static void add(int *who, int client)
{
    *who = is_another(*who, client) ? SEVERAL : client;
}

static void returned(struct contention *contention, const struct event *event)
{
    struct askers *lock = &contention->askers[event->lock];
    int *alike = event->result == RESULT_GRANTED ? &lock->granted : &lock->refused;
    const int unlike = event->result == RESULT_GRANTED ? lock->refused : lock->granted;
    if (event->result != RESULT_GRANTED && event->result != RESULT_REFUSED)
        return;
    contention->is_told |=
        is_another(unlike, event->client) ||
        (head_is_directed(contention->ledger->head) && is_another(*alike, event->client));
    add(alike, event->client);
}

static void came(struct contention *contention, const struct event *event)
{
    const struct ledger *ledger = contention->ledger;
    struct askers *lock = &contention->askers[event->lock];
    int *counted = &contention->counted[event->client];
    contention->are_several |= is_another(lock->served, event->client);
    add(&lock->served, event->client);
    if (*counted == event->attempt || (!is_believed(ledger, event) && !is_owned(ledger, event)))
        return;
    *counted = event->attempt;
    contention->count++;
}

void contention_event(struct contention *contention, const struct event *event)
{
    if (event->client < 0 || event->op != OP_ACQUIRE)
        return;
    if (event->kind == EVENT_RETURN)
        returned(contention, event);
    else if (has_come(event))
        came(contention, event);
}

int64_t contention_count(const struct contention *contention)
{
    return contention->count;
}

bool contention_is_seen(const struct contention *contention)
{
    return contention->count > 0 ||
           (head_is_directed(contention->ledger->head) && contention->are_several);
}

bool contention_is_told(const struct contention *contention)
{
    return contention->is_told;
}
