/* places.c - see places.h. */
#include "checks/places.h"

#include "base/limits.h"
#include "base/memory.h"

#include <stdlib.h>

enum { SLOTS = 4096 }; /* a power of two, more than twice as many as places */
_Static_assert(PLACES_MAX * 2 < SLOTS, "slots are searched until one is free");

struct places {
    int clients, count; /* of the head; places that are somebody's */
    int most;
    int slots[SLOTS]; /* by client and lock: the place, of those that are no client's first */
    struct place_taken {
        int client, lock; /* lock: NOBODY: it has not asked for any yet */
        int stray;        /* the last attempt there that no acquire began; 0: none */
        int next;         /* of the same client; NOBODY: the last */
    } taken[];            /* by place: the first ones are the clients' first */
};

struct places *places_new(struct history_head *head)
{
    const int64_t wanted = (int64_t)head->clients * (head->locks - 1);
    const int most = head->clients + (int)(wanted < PLACES_MAX ? wanted : PLACES_MAX);
    if (head->locks < 2)
        return NULL;
    struct places *made = memory_new(1, sizeof *made + (size_t)most * sizeof *made->taken);
    made->clients = made->count = head->clients;
    made->most = most;
    for (int i = 0; i < made->clients; i++)
        made->taken[i] = (struct place_taken){.client = i, .lock = NOBODY, .next = NOBODY};
    for (int i = 0; i < SLOTS; i++)
        made->slots[i] = NOBODY;
    head->clients = most;
    return made;
}

void places_free(struct places *places)
{
    free(places);
}

int places_client(const struct places *places, int place)
{
    return place < 0 ? place : places->taken[place].client;
}

/* Where that client's place at that lock is, or would be. */
static int *slot_of(struct places *places, int client, int lock)
{
    unsigned at = ((unsigned)client * 2654435761u ^ (unsigned)lock * 40503u) % SLOTS;
    for (; places->slots[at] != NOBODY; at = (at + 1) % SLOTS) {
        const struct place_taken *taken = &places->taken[places->slots[at]];
        if (taken->client == client && taken->lock == lock)
            break;
    }
    return &places->slots[at];
}

/* Its place at that lock; where it has none there, its first. */
static int place_at(struct places *places, int client, int lock)
{
    const int place = places->taken[client].lock == lock ? NOBODY : *slot_of(places, client, lock);
    return place == NOBODY ? client : place;
}

static int place_to_ask(struct places *places, struct ledger *ledger, const struct event *event)
{
    struct place_taken *first = &places->taken[event->client];
    const int place = place_at(places, event->client, event->lock);
    if (first->lock == NOBODY)
        first->lock = event->lock;
    if (place != event->client || first->lock == event->lock || event->is_inferred ||
        places->count == places->most)
        return place;
    const int made = places->count++;
    *slot_of(places, event->client, event->lock) = made;
    places->taken[made] =
        (struct place_taken){.client = event->client, .lock = event->lock, .next = first->next};
    first->next = made;
    ledger_copy_clock(ledger, made, event->client);
    return made;
}

static bool is_in(const struct places *places, const struct ledger *ledger, int place, int attempt)
{
    const struct ledger_client *client = &ledger->clients[place];
    return client->attempt == attempt || places->taken[place].stray == attempt ||
           (client->beside && client->beside->attempt == attempt);
}

/* Where the client is in that attempt: a return need not say of which lock it is. NOBODY: nowhere.
 */
static int place_in(const struct places *places, const struct ledger *ledger, int client, int here,
                    int attempt)
{
    if (is_in(places, ledger, here, attempt))
        return here;
    int place = client;
    while (place != NOBODY && !is_in(places, ledger, place, attempt))
        place = places->taken[place].next;
    return place;
}

/* Has it begun that attempt nowhere, nor a later one? */
static bool is_new(const struct places *places, const struct ledger *ledger, int client,
                   int attempt)
{
    int place = client;
    while (place != NOBODY && ledger->clients[place].last_attempt < attempt)
        place = places->taken[place].next;
    return place == NOBODY;
}

static bool befalls_all(const struct event *event)
{
    return !ledger_is_of_attempt(event) && event->kind != EVENT_NOTICE;
}

int places_first(struct places *places, struct ledger *ledger, const struct event *event)
{
    if (event->kind == EVENT_CALL && event->op == OP_ACQUIRE)
        return place_to_ask(places, ledger, event);
    if (event->client < 0 || befalls_all(event))
        return event->client;
    const int here = place_at(places, event->client, event->lock);
    const int place = place_in(places, ledger, event->client, here, event->attempt);
    if (place != NOBODY || event->kind != EVENT_CALL ||
        !is_new(places, ledger, event->client, event->attempt))
        return place == NOBODY ? here : place;
    /* It releases, or renews, what it has not asked for in this attempt. */
    const int made = place_to_ask(places, ledger, event);
    places->taken[made].stray = event->attempt;
    return made;
}

int places_next(const struct places *places, const struct event *event, int place)
{
    return place >= 0 && befalls_all(event) ? places->taken[place].next : NOBODY;
}
