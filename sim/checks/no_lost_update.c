/* no_lost_update.c - the guarded counter and list show every critical section exactly once.
 *
 * A section reads the counter and writes it back plus one. A write that is not "what was there,
 * plus one" has lost an update. A write that a library sent twice is one write. When the server
 * that keeps the counter forgets its keys, what the counter says is known again when somebody has
 * read or written it; and when a section reads less than was written, and writes that plus one, the
 * server has forgotten them unseen, or somebody unknown has written. Where it reads more, and in a
 * closed history, a line may be missing or was changed: nobody is blamed. Nor is anybody for such a
 * read that no write follows, the last one of a run among them: then it is unknown.
 *
 * What the list's entries do not fit (entries.h), and an access that was told "done" and that no
 * server was seen to execute, or that was answered with an error, blames nobody: a line may be
 * missing. Nor does a write of what is not what its section heard plus one. Then it is unknown. */
#include "checks/access.h"
#include "checks/entries.h"
#include "checks/overlap.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The last who wrote. */
struct writer {
    int client, attempt; /* NOBODY: none */
    int64_t value, time_us;
    bool was_holding;
};

struct guarded {
    bool is_known;             /* what the counter says */
    int64_t counter, since_us; /* and was told since */
    bool is_touched;           /* somebody may have written it */
    bool may_be_lost;          /* its server was seen to lose keys */
    int server;                /* that keeps it */
    struct writer last;
    int64_t pushes; /* entries of the list */
    struct writer pushed;
    struct entries entries;
    int64_t unsure; /* accesses without an answer, and what may have come twice */
};

/* With whom a client's hold last overlapped. */
struct company {
    int attempt; /* 0: with nobody */
    struct pair pair;
    bool is_open; /* one of them may have given the lock back (overlap.h) */
};

/* What a client's section read, where the counter was known to say something else. */
struct odd_read {
    int attempt, lock; /* attempt 0: none */
    int64_t value, time_us;
};

/* The first one that no write explained in time; client NOBODY: who looks when a run has ended. */
struct riddle {
    bool is_there;
    int client;
    struct odd_read read;
};

struct no_lost_update {
    bool saw_counter, saw_request; /* to the counter, or the list */
    struct odd_read *odd;          /* one a client */
    struct access *accesses;       /* likewise */
    int odd_count;
    struct riddle riddle;
    char unshown[STRANGE_BYTES], doubt[STRANGE_BYTES]; /* what proves too little; "" */
    struct guarded *locks;
    struct company overlaps[];
};

static void *make(const struct ledger *ledger)
{
    size_t clients = (size_t)ledger->head->clients, locks = (size_t)ledger->head->locks;
    struct no_lost_update *made = memory_new(
        1, sizeof *made + clients * sizeof *made->overlaps + clients * sizeof *made->odd +
               locks * sizeof *made->locks + clients * sizeof *made->accesses);
    made->odd = (struct odd_read *)(made->overlaps + clients);
    made->locks = (struct guarded *)(made->odd + clients);
    made->accesses = (struct access *)(made->locks + locks);
    for (size_t i = 0; i < locks; i++)
        made->locks[i].last.client = made->locks[i].pushed.client = NOBODY;
    return made;
}

static void fact(struct monitor *monitor, const struct fact *fact)
{
    const struct ledger *ledger = monitor->ledger;
    struct no_lost_update *self = monitor->state;
    if (fact->kind != FACT_HOLD)
        return;
    int other = ledger->locks[fact->lock].first_holder;
    for (; other != NOBODY; other = ledger->clients[other].next) {
        if (other == fact->client)
            continue;
        struct pair pair = pair_judge(ledger, fact->client, other);
        struct company company = {.pair = pair, .is_open = overlap_is_open(ledger, &pair)};
        company.pair.end = NULL; /* it will not live that long */
        company.attempt = ledger->clients[fact->client].attempt;
        self->overlaps[fact->client] = company;
        company.attempt = ledger->clients[other].attempt;
        self->overlaps[other] = company;
    }
}

/* Of the two only the first one's key had gone. */
static void show_holder(struct no_lost_update *self, int client, int attempt)
{
    struct company *company = &self->overlaps[client];
    if (company->attempt != attempt || company->pair.first != client)
        return;
    company->is_open = false;
    self->overlaps[company->pair.second].is_open &=
        self->overlaps[company->pair.second].pair.first != client;
}

static struct writer writer_of(const struct ledger *ledger, const struct event *event,
                               int64_t value)
{
    const struct ledger_client *client = &ledger->clients[event->client];
    return (struct writer){.client = event->client,
                           .attempt = event->attempt,
                           .value = value,
                           .time_us = event->time_us,
                           .was_holding = client->is_holding && client->attempt == event->attempt};
}

static bool is_same(const struct writer *one, const struct writer *two)
{
    return one->client == two->client && one->attempt == two->attempt && one->value == two->value;
}

/* --- reads that no write explains --- */

static void odd_clear(struct no_lost_update *self, struct odd_read *odd)
{
    self->odd_count -= odd->attempt != 0;
    odd->attempt = 0;
}

static void remain_odd(struct no_lost_update *self, int client, const struct odd_read *odd)
{
    if (!self->riddle.is_there && !self->locks[odd->lock].may_be_lost)
        self->riddle = (struct riddle){.is_there = true, .client = client, .read = *odd};
}

/* Nobody wrote it before a closed history. */
static bool is_new(const struct ledger *ledger, const struct guarded *lock)
{
    return ledger->is_closed && !lock->is_touched && !lock->is_known;
}

/* A read that began when the last write was over must show it. */
static bool is_odd(const struct ledger *ledger, const struct guarded *lock,
                   const struct event *event, int64_t value)
{
    if (!lock->is_known)
        return is_new(ledger, lock) && value != 0;
    return value != lock->counter && event->from_us >= lock->since_us;
}

static void note_read(struct monitor *monitor, const struct event *event, int64_t value)
{
    struct no_lost_update *self = monitor->state;
    const struct odd_read read = {
        .attempt = event->attempt, .lock = event->lock, .value = value, .time_us = event->time_us};
    struct odd_read *odd = event->client >= 0 ? &self->odd[event->client] : NULL;
    if (odd && odd->attempt != 0) {
        remain_odd(self, event->client, odd);
        odd_clear(self, odd);
    }
    if (!is_odd(monitor->ledger, &self->locks[event->lock], event, value))
        return;
    if (!odd) {
        remain_odd(self, NOBODY, &read);
        return;
    }
    *odd = read;
    self->odd_count++;
}

static bool is_explained(const struct odd_read *odd, const struct event *event, int64_t value)
{
    return odd->lock == event->lock && odd->value == value && event->from_us <= odd->time_us;
}

/* Replies cross: it may have been read what is told to be written only now. */
static void explain_reads(struct monitor *monitor, const struct event *event, int64_t value)
{
    struct no_lost_update *self = monitor->state;
    for (int i = 0; i < monitor->ledger->head->clients && self->odd_count > 0; i++)
        if (self->odd[i].attempt != 0 && is_explained(&self->odd[i], event, value))
            odd_clear(self, &self->odd[i]);
    if (self->riddle.is_there && is_explained(&self->riddle.read, event, value))
        self->riddle.is_there = false;
}

static const struct odd_read *find_odd(const struct no_lost_update *self, const struct event *event,
                                       int64_t written)
{
    const struct odd_read *odd = &self->odd[event->client];
    bool is_its = odd->attempt != 0 && odd->attempt == event->attempt && odd->lock == event->lock &&
                  odd->value + 1 == written;
    return is_its ? odd : NULL;
}

/* The overlap that explains it: of the writer, or of the one that it wrote over. */
static const struct company *find_overlap(const struct no_lost_update *self,
                                          const struct writer *writer, const struct writer *last)
{
    const struct writer *const both[] = {writer, last};
    for (int i = 0; i < 2; i++) {
        if (both[i]->client == NOBODY)
            continue;
        const struct company *overlap = &self->overlaps[both[i]->client];
        if (overlap->attempt != 0 && overlap->attempt == both[i]->attempt)
            return overlap;
    }
    return NULL;
}

static void note_unlike(struct monitor *monitor, const struct writer *writer)
{
    struct no_lost_update *self = monitor->state;
    if (!self->unshown[0])
        (void)snprintf(self->unshown, sizeof self->unshown,
                       "%s wrote %" PRId64 " in the counter at %s, and had heard %" PRId64
                       ": no section does that",
                       client_name(monitor->ledger, writer->client), writer->value,
                       MS(writer->time_us), self->accesses[writer->client].heard);
}

static void note_open(struct monitor *monitor, const struct company *company,
                      const struct guarded *lock, const struct writer *writer)
{
    struct no_lost_update *self = monitor->state;
    const struct ledger *ledger = monitor->ledger;
    if (!self->unshown[0])
        (void)snprintf(self->unshown, sizeof self->unshown,
                       "%s wrote %" PRId64 " in the counter at %s, where %" PRId64
                       " was due, and whether %s held the lock still nobody saw",
                       client_name(ledger, writer->client), writer->value, MS(writer->time_us),
                       lock->counter + 1, client_name(ledger, company->pair.first));
}

static void lost(struct monitor *monitor, const struct event *event, const struct guarded *lock,
                 const struct writer *writer)
{
    const struct ledger *ledger = monitor->ledger;
    struct no_lost_update *self = monitor->state;
    const struct company *overlap = find_overlap(self, writer, &lock->last);
    bool is_late = !writer->was_holding || (lock->last.client != NOBODY && !lock->last.was_holding);
    const struct odd_read *odd = overlap ? NULL : find_odd(self, event, writer->value);
    enum cause cause = overlap   ? overlap->pair.cause
                       : odd     ? CAUSE_LOST_GRANT
                       : is_late ? CAUSE_OVERRUN
                                 : CAUSE_STALE_WRITE;
    struct finding *finding = &monitor->finding;
    if (access_is_unlike(&self->accesses[writer->client], writer->attempt)) {
        note_unlike(monitor, writer);
        return;
    }
    if (overlap && overlap->is_open) {
        note_open(monitor, overlap, lock, writer);
        return;
    }
    /* No server that forgets makes it more: a section that is missing may have. */
    if (odd && (ledger->is_closed || odd->value > lock->counter) && !lock->may_be_lost) {
        remain_odd(self, event->client, odd);
        return;
    }
    monitor->counters->lost_updates++;
    if (!finding_hit(finding, cause, event->index))
        return;
    const char *name = client_name(ledger, event->client);
    if (lock->last.client != NOBODY)
        finding_say(finding, "%s wrote the counter at %s: %" PRId64 ".",
                    client_name(ledger, lock->last.client), MS(lock->last.time_us), lock->counter);
    finding_say(finding, "%s wrote %" PRId64 " at %s, where %" PRId64 " was due%s.", name,
                writer->value, MS(event->time_us), lock->counter + 1,
                odd ? "" : ": it had read the counter before");
    if (odd)
        finding_say(finding,
                    "At %s it had read %" PRId64 ", which nobody had written. A server forgot its "
                    "keys, or somebody unknown changes them.",
                    MS(odd->time_us), odd->value);
    else if (overlap)
        finding_say(finding, "The holds of %s and %s overlapped. (%s,%s): %s.",
                    client_name(ledger, overlap->pair.first),
                    client_name(ledger, overlap->pair.second),
                    client_name(ledger, overlap->pair.first),
                    client_name(ledger, overlap->pair.second), cause_title(cause));
    else if (is_late)
        finding_say(finding, "%s's write came when its hold was over: only a fence stops that.",
                    writer->was_holding ? client_name(ledger, lock->last.client) : name);
}

/* A read that comes late, of an attempt that is over, is nobody's any more: whoever had read before
 * a server forgot may still write, and loses nothing by that. As workload_observe() of explore/. */
static bool is_of_now(const struct ledger *ledger, const struct event *event)
{
    return event->client < 0 || event->attempt == ledger->clients[event->client].attempt;
}

static void says(struct guarded *lock, int64_t value, int64_t since_us)
{
    lock->is_known = lock->is_touched = true;
    lock->counter = value;
    lock->since_us = since_us;
}

static void counted(struct monitor *monitor, const struct event *event)
{
    const struct ledger *ledger = monitor->ledger;
    struct no_lost_update *self = monitor->state;
    struct guarded *lock = &self->locks[event->lock];
    const struct key_effect effect = change_on(event, KEY_COUNTER);
    self->saw_counter = true;
    lock->server = event->server;
    if (change_is_write(&effect) && effect.is_told) { /* a step of one command loses nothing */
        says(lock, effect.new_value, event->time_us);
        return;
    }
    bool is_read = effect.did == DID_READ && effect.before != BEFORE_UNKNOWN;
    int64_t read = change_knows_old(&effect) ? effect.old_value : 0;
    if (is_read)
        note_read(monitor, event, read);
    if (is_read && !lock->is_known && is_of_now(ledger, event)) {
        lock->counter = is_new(ledger, lock) ? 0 : read;
        lock->is_known = true;
    }
    if (!change_is_write(&effect))
        return;
    struct writer writer = writer_of(ledger, event, effect.new_value);
    if (is_same(&writer, &lock->last))
        return; /* sent twice */
    monitor->counters->sections++;
    explain_reads(monitor, event, writer.value);
    if (lock->is_known && writer.value != lock->counter + 1)
        lost(monitor, event, lock, &writer);
    says(lock, writer.value, event->time_us);
    lock->is_known = !access_is_unlike(&self->accesses[writer.client], writer.attempt);
    lock->last = writer;
}

/* --- what was not shown --- */

static void appended(struct monitor *monitor, const struct event *event)
{
    const struct key_effect effect = change_on(event, KEY_LIST);
    struct no_lost_update *self = monitor->state;
    struct guarded *lock = &self->locks[event->lock];
    if (event->command.verb == VERB_DEL && !event->opaque)
        entries_note_cut(&lock->entries, event);
    if (effect.did != DID_APPENDED)
        return;
    struct writer writer = writer_of(monitor->ledger, event, effect.new_value);
    lock->pushes += !is_same(&writer, &lock->pushed);
    lock->pushed = writer;
    lock->server = event->server;
    if (!event->opaque)
        entries_note(&lock->entries, event);
}

/* Nothing is concluded from a counter of which a write may not have been seen. */
static void unshown(struct monitor *monitor, const struct event *event)
{
    struct no_lost_update *self = monitor->state;
    struct guarded *lock = &self->locks[event->lock];
    lock->is_known = false;
    lock->is_touched = true;
    lock->last.client = NOBODY;
    lock->unsure++;
    if (!self->unshown[0])
        (void)snprintf(self->unshown, sizeof self->unshown,
                       "%s's access was told \"done\" at %s, and nobody saw a server execute it",
                       client_name(monitor->ledger, event->client), MS(event->time_us));
}

static void accesses(struct monitor *monitor, const struct event *event)
{
    struct no_lost_update *self = monitor->state;
    struct access *access = &self->accesses[event->client];
    int64_t *unsure = &self->locks[event->lock].unsure;
    if (event->kind == EVENT_CALL) {
        ++*unsure;
    } else if (event->kind == EVENT_SEND) {
        self->saw_request |= event_is_on(event, KEY_COUNTER) || event_is_on(event, KEY_LIST);
    } else if (event->kind == EVENT_RETURN && access->is_called) {
        *unsure -= event->result == RESULT_DONE || event->result == RESULT_STALE;
        if (event->result == RESULT_DONE && !access_is_shown(access))
            unshown(monitor, event);
    }
    access_event(access, event);
}

static void repeated(struct no_lost_update *self, const struct event *event)
{
    const enum fault_effect effect = fault_effect(event->fault);
    self->locks[event->lock].unsure += effect == FAULT_COPIES || effect == FAULT_SENDS_AGAIN;
}

static void forgotten(struct monitor *monitor, int server)
{
    struct no_lost_update *self = monitor->state;
    for (int i = 0; i < monitor->ledger->head->locks; i++) {
        struct guarded *lock = &self->locks[i];
        if (lock->server != server)
            continue;
        lock->is_known = false;
        lock->is_touched = lock->may_be_lost = true;
        lock->last.client = NOBODY;
        entries_forgotten(&lock->entries);
    }
}

static void event(struct monitor *monitor, const struct event *event)
{
    if (event->client >= 0 && overlap_shows_holder(event))
        show_holder(monitor->state, event->client, event->attempt);
    if (event->kind == EVENT_EXECUTE && event_is_on(event, KEY_COUNTER))
        counted(monitor, event);
    if (event->kind == EVENT_EXECUTE && event_is_on(event, KEY_LIST))
        appended(monitor, event);
    if (event->op == OP_ACCESS && event->client >= 0)
        accesses(monitor, event);
    if (event->kind == EVENT_FAULT && fault_forgets(event->fault))
        forgotten(monitor, event->server);
    if (event->kind == EVENT_FAULT)
        repeated(monitor->state, event);
}

static void finish(struct monitor *monitor, int64_t end_us)
{
    const struct no_lost_update *self = monitor->state;
    (void)end_us;
    for (int i = 0; i < monitor->ledger->head->locks && monitor->finding.count > 0; i++)
        if (self->locks[i].is_known && !self->locks[i].may_be_lost &&
            self->locks[i].pushes > self->locks[i].counter) {
            finding_say(&monitor->finding,
                        "%" PRId64 " entries were appended to the list; at the end the counter "
                        "says %" PRId64 ".",
                        self->locks[i].pushes, self->locks[i].counter);
            return;
        }
}

static const char *read_doubt(const struct monitor *monitor)
{
    struct no_lost_update *self = monitor->state;
    const struct riddle *riddle = &self->riddle;
    for (int i = 0; i < monitor->ledger->head->clients && self->odd_count > 0; i++)
        if (self->odd[i].attempt != 0)
            remain_odd(self, i, &self->odd[i]);
    if (!riddle->is_there)
        return NULL;
    (void)snprintf(self->doubt, sizeof self->doubt,
                   "%s found %" PRId64 " in the counter at %s, and nobody was seen to leave it so",
                   riddle->client == NOBODY ? "the run itself"
                                            : client_name(monitor->ledger, riddle->client),
                   riddle->read.value, MS(riddle->read.time_us));
    return self->doubt;
}

static const char *list_doubt(const struct monitor *monitor)
{
    struct no_lost_update *self = monitor->state;
    for (int i = 0; i < monitor->ledger->head->locks; i++) {
        const struct guarded *lock = &self->locks[i];
        if (entries_doubt(&lock->entries, monitor->ledger, lock->unsure, self->doubt))
            return self->doubt;
    }
    return NULL;
}

static const char *unproved(const struct monitor *monitor)
{
    const struct no_lost_update *self = monitor->state;
    if (self->unshown[0] && (self->saw_counter || self->saw_request))
        return self->unshown;
    const char *doubt = read_doubt(monitor);
    return doubt ? doubt : list_doubt(monitor);
}

static const char *excused(const struct monitor *monitor)
{
    const struct no_lost_update *self = monitor->state;
    return self->saw_counter || unproved(monitor) ? NULL : "nobody touched the guarded counter";
}

const struct property_rules rules_no_lost_update = {.make = make,
                                                    .event = event,
                                                    .fact = fact,
                                                    .finish = finish,
                                                    .excused = excused,
                                                    .unproved = unproved};
