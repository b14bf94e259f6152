/* no_orphan.c - after a failed acquire or a finished release no key with that token survives.
 *
 * A key is an orphan when its client does not know (any more) that it has it. It is put down only
 * when it stays until it expires, or until the end of the history: a late command of its own may
 * still remove it.
 *
 * A lost, late or repeated message has its price, and the price is a key that stays until its lease
 * ends: nobody's fault. Where nothing has befallen the attempt, the scheme did not give it back. */
#include "checks/cause.h"
#include "checks/property.h"

#include "base/memory.h"

/* What is known of the last grant of a lock key. */
struct orphan {
    int64_t grant; /* its index; NO_INDEX: no orphan */
    int64_t since_us;
    enum operation op; /* that returned */
    enum result result;
    bool has_come_late; /* after the return: what was told was true then */
    bool was_smooth;    /* nothing had befallen that attempt by then */
};

/* What has befallen a client's last attempt. */
struct fortune {
    bool is_struck;    /* by a fault of its own, or of a server */
    int64_t called_us; /* its operation under way */
};

struct orphanage {
    struct fortune *fortunes; /* one a client; behind the orphans */
    struct orphan orphans[];  /* one a lock key */
};

static void *make(const struct ledger *ledger)
{
    size_t keys = (size_t)ledger->head->locks * (size_t)ledger->head->servers;
    size_t orphans_bytes = keys * sizeof(struct orphan);
    struct orphanage *self = memory_new(
        1, sizeof *self + orphans_bytes + (size_t)ledger->head->clients * sizeof(struct fortune));
    self->fortunes = (void *)&self->orphans[keys];
    for (size_t i = 0; i < keys; i++)
        self->orphans[i].grant = NO_INDEX;
    return self;
}

static struct orphan *orphan_at(struct inquiry *inquiry, int lock, int server)
{
    struct orphanage *self = inquiry->state;
    return &self->orphans[lock * inquiry->ledger->head->servers + server];
}

/* "failed" promises nothing, and a quorum may be missed and leave a key; any other answer says that
 * the key is not, or no longer, the client's. */
static enum cause cause_of(const struct ledger *ledger, const struct orphan *orphan)
{
    bool is_open = result_outcome(orphan->result) == OUTCOME_INFO || ledger->quorum > 1;
    if (orphan->has_come_late || orphan->result == RESULT_UNSUPPORTED)
        return CAUSE_LEFTOVER;
    if (!is_open)
        return CAUSE_UNTRUE_ANSWER;
    return orphan->was_smooth ? CAUSE_UNRELEASED : CAUSE_LEFTOVER;
}

/* Of a foreign library nobody knows what befell its messages. Late is what takes a lease. */
static bool is_smooth(const struct ledger *ledger, const struct fortune *fortune, int64_t time_us)
{
    return ledger->scheme && !fortune->is_struck && time_us - fortune->called_us < ledger->lease_us;
}

static void hit(struct inquiry *inquiry, const struct grant *grant, const struct orphan *orphan,
                int64_t index, const char *fate)
{
    const struct ledger *ledger = inquiry->ledger;
    struct finding *finding = &inquiry->finding;
    enum cause cause = cause_of(ledger, orphan);
    if (!finding_hit(finding, cause, index))
        return;
    const char *name = client_name(ledger, grant->client);
    finding_say(finding, "%s's %s stood in the lock key since %s.", name, SENT(&grant->command),
                MS(grant->time_us));
    finding_say(finding, "%s's %s returned \"%s\" at %s: %s does not know that it has the lock.",
                name, operation_name(orphan->op), result_name(orphan->result), MS(orphan->since_us),
                name);
    finding_say(finding, "%s", fate);
    if (cause == CAUSE_UNRELEASED)
        finding_say(finding, "None of %s's messages was lost, late or sent twice.", name);
    finding_say(finding, "%s of %s: nobody can have the lock meanwhile.",
                cause == CAUSE_UNRELEASED ? "Unreleased key" : "Leftover", name);
}

static void note_fortune(struct inquiry *inquiry, const struct event *event)
{
    struct orphanage *self = inquiry->state;
    int clients = inquiry->ledger->head->clients;
    if (event->kind == EVENT_CALL) {
        struct fortune *fortune = &self->fortunes[event->client];
        fortune->called_us = event->time_us;
        fortune->is_struck &= event->op != OP_ACQUIRE;
    }
    if (event->kind == EVENT_FAULT && event->client >= 0)
        self->fortunes[event->client].is_struck = true;
    for (int i = 0; event->kind == EVENT_FAULT && event->client < 0 && i < clients; i++)
        self->fortunes[i].is_struck = true;
}

/* Its expiry may have come already, and be what the answer was about: an EXEC that is aborted by it
 * tells the book nothing. */
static bool may_be_gone(const struct ledger *ledger, int lock, int server, int64_t time_us)
{
    int64_t expire_us = ledger->locks[lock].keys[server].expire_us;
    return expire_us != NEVER_US && time_us + ledger->error_us >= expire_us;
}

static void event(struct inquiry *inquiry, const struct event *event)
{
    const struct ledger *ledger = inquiry->ledger;
    const struct orphanage *self = inquiry->state;
    note_fortune(inquiry, event);
    if (event->kind != EVENT_RETURN || (event->op != OP_ACQUIRE && event->op != OP_RELEASE) ||
        event->result == RESULT_GRANTED)
        return;
    const struct ledger_client *client = &ledger->clients[event->client];
    bool was_smooth = is_smooth(ledger, &self->fortunes[event->client], event->time_us);
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = ledger_grant(ledger, event->client, s);
        if (event->attempt != client->attempt || grant->index == NO_INDEX ||
            grant->ending != ENDING_NONE || may_be_gone(ledger, client->lock, s, event->time_us))
            continue;
        *orphan_at(inquiry, client->lock, s) = (struct orphan){.grant = grant->index,
                                                               .since_us = event->time_us,
                                                               .op = event->op,
                                                               .result = event->result,
                                                               .was_smooth = was_smooth};
    }
}

/* A request that comes when its attempt is over: when its acquire has failed, or its release is
 * done. */
static void came_late(struct inquiry *inquiry, const struct fact *fact)
{
    const struct ledger_client *client = &inquiry->ledger->clients[fact->client];
    struct orphan *orphan = orphan_at(inquiry, fact->lock, fact->server);
    orphan->grant = NO_INDEX;
    if (client->attempt != fact->grant->attempt) {
        *orphan =
            (struct orphan){.since_us = fact->time_us, .op = OP_ACQUIRE, .result = RESULT_FAILED};
    } else if (client->is_dead || client->is_acquiring || client->acquired == RESULT_NONE) {
        return;
    } else if (client->acquired != RESULT_GRANTED) {
        *orphan = (struct orphan){
            .since_us = client->acquired_us, .op = OP_ACQUIRE, .result = client->acquired};
    } else if (client->released != RESULT_NONE) {
        *orphan = (struct orphan){
            .since_us = client->released_us, .op = OP_RELEASE, .result = client->released};
    } else {
        return;
    }
    orphan->grant = fact->grant->index;
    orphan->has_come_late = true;
}

static void fact(struct inquiry *inquiry, const struct fact *fact)
{
    if (fact->kind == FACT_GRANT)
        came_late(inquiry, fact);
    if (fact->kind != FACT_ENDED)
        return;
    struct orphan *orphan = orphan_at(inquiry, fact->lock, fact->server);
    const struct grant *grant = fact->grant;
    bool has_expired = grant->ending == ENDING_EXPIRED || grant->ending == ENDING_CUT ||
                       grant->ending == ENDING_SHORT || grant->ending == ENDING_CLOCK;
    if (orphan->grant == grant->index && has_expired)
        hit(inquiry, grant, orphan, fact->index, "It stayed until it expired.");
    orphan->grant = NO_INDEX;
}

static void finish(struct inquiry *inquiry, int64_t end_us)
{
    const struct ledger *ledger = inquiry->ledger;
    (void)end_us;
    for (int lock = 0; lock < ledger->head->locks; lock++)
        for (int s = 0; s < ledger->head->servers; s++) {
            const struct grant *grant = &ledger->locks[lock].keys[s].grant;
            const struct orphan *orphan = orphan_at(inquiry, lock, s);
            if (orphan->grant != NO_INDEX && orphan->grant == grant->index &&
                grant->ending == ENDING_NONE)
                hit(inquiry, grant, orphan, ledger->index,
                    "It was still there at the end of the history.");
        }
}

static const char *excused(const struct inquiry *inquiry)
{
    const struct scheme *scheme = inquiry->ledger->scheme;
    if (!scheme || scheme->promises_token)
        return NULL;
    return "the scheme's keys do not say which attempt wrote them";
}

const struct property_rules rules_no_orphan = {
    .make = make, .event = event, .fact = fact, .finish = finish, .excused = excused};
