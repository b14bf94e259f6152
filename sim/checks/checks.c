/* checks.c - feeds a history to the ledger and the properties, and ends in findings; see checks.h.
 */
#include "checks/checks.h"

#include "base/memory.h"
#include "checks/black_box.h"
#include "checks/contention.h"
#include "checks/coverage.h"
#include "checks/lost_holds.h"
#include "checks/places.h"
#include "checks/property.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct property_rules *const rules[PROPERTY_COUNT] = {
#define PROPERTY(id, file, ...) &rules_##file,
#include "checks/properties.def"
#undef PROPERTY
};

struct checks {
    struct history_head head; /* with the places of clients that have several locks at once */
    struct places *places;    /* NULL: there is one lock */
    struct ledger ledger;
    struct counters counters;
    struct monitor monitors[PROPERTY_COUNT];
    struct contention *contention;
    struct lost_holds *lost_holds;
    struct coverage *coverage;
    struct black_box *black_box; /* what is said where that has a gap */
    int64_t calls;
    int64_t
        *drifts;    /* of clocks that nobody has held a lock under yet: a client's, then servers' */
    bool has_grant; /* a server granted the lock, or a client was told so */
    bool has_loss;  /* a key went neither in its time nor by a command; or its client let it go */
    bool has_unheld_loss; /* of a lock that its client did not hold (yet), or whose holder learned
                             that it was lost, or crashed */
    bool has_faults;      /* strikes, and what follows from them */
    bool is_finished;
};

static bool is_loss(const struct fact *fact)
{
    return fact->kind == FACT_ENDED && fact->grant->ending != ENDING_EXPIRED &&
           fact->grant->ending != ENDING_DELETED;
}

static bool is_held(const struct ledger *ledger, const struct grant *grant)
{
    const struct ledger_client *client =
        grant->client == NOBODY ? NULL : &ledger->clients[grant->client];
    return client && client->is_holding && client->attempt == grant->attempt;
}

static void take_fact(void *context, const struct fact *fact)
{
    struct checks *checks = context;
    checks->has_grant |= fact->kind == FACT_GRANT || fact->kind == FACT_HOLD;
    checks->has_loss |= is_loss(fact);
    checks->has_unheld_loss |= is_loss(fact) && !is_held(&checks->ledger, fact->grant);
    checks->has_unheld_loss |= fact->kind == FACT_HOLD_ENDED && fact->event &&
                               fact->event->kind != EVENT_CALL &&
                               fact->event->result != RESULT_GRANTED;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (rules[i]->fact)
            rules[i]->fact(&checks->monitors[i], fact);
    black_box_fact(checks->black_box, fact);
}

struct checks *checks_new_for(const struct history_head *head, const struct scheme *scheme)
{
    struct checks *checks = memory_new(1, sizeof *checks);
    checks->head = *head;
    checks->places = places_new(&checks->head);
    head = checks->places ? &checks->head : head;
    ledger_init(&checks->ledger, head, scheme, take_fact, checks);
    checks->ledger.places = checks->places;
    checks->contention = contention_new(&checks->ledger);
    checks->lost_holds = lost_holds_new(&checks->ledger);
    checks->drifts = memory_new((size_t)head->clients + 1, sizeof *checks->drifts);
    checks->coverage = coverage_new(&checks->ledger);
    checks->black_box = black_box_new(&checks->ledger);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct monitor *monitor = &checks->monitors[i];
        monitor->rules = rules[i];
        monitor->ledger = &checks->ledger;
        monitor->counters = &checks->counters;
        monitor->finding.first_index = NO_INDEX;
        if (rules[i]->make)
            monitor->state = rules[i]->make(&checks->ledger);
    }
    return checks;
}

struct checks *checks_new(const struct history_head *head)
{
    return checks_new_for(head, scheme_named(head->scheme));
}

/* --- the counters --- */

/* Why the ledger is not to be believed; NULL: it is. */
static const char *gap_of(const struct checks *checks)
{
    const char *strange = ledger_strange(&checks->ledger);
    return strange ? strange : coverage_gap(checks->coverage);
}

/* Where nobody saw the servers, by what the clients were told. */
static bool is_contested(const struct checks *checks)
{
    return contention_is_seen(checks->contention) ||
           (gap_of(checks) && contention_is_told(checks->contention));
}

/* Keys that are lost strike who holds yet when somebody else asks for them. */
static void count_fault(struct checks *checks, const struct event *event)
{
    const struct ledger *ledger = &checks->ledger;
    checks->counters.faults_in_hold += lost_holds_event(checks->lost_holds, event);
    if (event->kind != EVENT_FAULT)
        return;
    checks->has_faults = true;
    if (!fault_is_strike(event->fault))
        return;
    checks->counters.faults++;
    checks->counters.struck[event->fault]++;
    bool is_in_hold = event->client >= 0 ? ledger->clients[event->client].is_holding : false;
    for (int i = 0; event->client < 0 && i < ledger->head->locks && !is_in_hold; i++)
        is_in_hold = ledger->locks[i].holders > 0;
    checks->counters.faults_in_hold += is_in_hold && !fault_forgets(event->fault);
    checks->counters.stalls_in_release += event->client >= 0 &&
                                          fault_effect(event->fault) == FAULT_PAUSES &&
                                          ledger->clients[event->client].is_releasing;
    if (!is_in_hold && fault_effect(event->fault) == FAULT_SETS_RATE)
        checks->drifts[event->client >= 0 ? event->client : ledger->head->clients]++;
}

/* A clock runs on at its rate: who holds under it later is struck as well. */
static void count_drifts(struct checks *checks, int64_t *drifts)
{
    checks->counters.faults_in_hold += *drifts;
    *drifts = 0;
}

static void count_return(struct checks *checks, const struct event *event)
{
    if (event->kind != EVENT_RETURN)
        return;
    checks->counters.operations++;
    switch (event->result) {
    case RESULT_GRANTED:
        checks->counters.grants++;
        count_drifts(checks, &checks->drifts[event->client]);
        count_drifts(checks, &checks->drifts[checks->ledger.head->clients]);
        break;
    case RESULT_REFUSED:
        checks->counters.refusals++;
        break;
    case RESULT_FAILED:
    case RESULT_UNSUPPORTED:
    case RESULT_CRASHED:
        checks->counters.errors++;
        checks->counters.unsupported += event->result == RESULT_UNSUPPORTED;
        break;
    default:
        break;
    }
}

/* Who is told "refused" of what a server has granted it has let that go: it came too late, or was
 * given back. Where it had it all the same, that is violated. */
static bool is_let_go(const struct ledger *ledger, const struct event *event)
{
    bool was_granted = false;
    if (event->kind != EVENT_RETURN || event->result != RESULT_REFUSED ||
        event->attempt != ledger->clients[event->client].attempt)
        return false;
    for (int s = 0; s < ledger->head->servers; s++)
        was_granted |= ledger_grant(ledger, event->client, s)->index != NO_INDEX;
    return was_granted;
}

/* --- contract --- */

static void take(struct checks *checks, const struct event *event)
{
    ledger_turn(&checks->ledger, event);
    ledger_event(&checks->ledger, event);
    checks->has_loss |= is_let_go(&checks->ledger, event);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (rules[i]->event)
            rules[i]->event(&checks->monitors[i], event);
    contention_event(checks->contention, event);
    coverage_event(checks->coverage, event);
    black_box_event(checks->black_box, event);
    ledger_turn_back(&checks->ledger, event->client);
}

static void take_at_places(struct checks *checks, const struct event *event)
{
    struct event here = *event;
    here.client = places_first(checks->places, &checks->ledger, event);
    do {
        take(checks, &here);
        here.client = places_next(checks->places, event, here.client);
    } while (here.client != NOBODY);
}

void checks_event(struct checks *checks, const struct event *event)
{
    assert(!checks->is_finished);
    checks->calls += event->kind == EVENT_CALL && event->op == OP_ACQUIRE;
    count_fault(checks, event);
    if (checks->places)
        take_at_places(checks, event);
    else
        take(checks, event);
    count_return(checks, event);
}

static void sink_take(void *context, const struct event *event)
{
    checks_event(context, event);
}

struct event_sink checks_sink(struct checks *checks)
{
    return (struct event_sink){.take = sink_take, .context = checks};
}

/* Why nothing could have been found; NULL: it could. */
static const char *vacuous(const struct checks *checks, const struct property_rules *of)
{
    if (checks->calls == 0)
        return "nobody tried to acquire the lock: nothing could be found";
    if (of->is_about_grants && !checks->has_grant)
        return "no acquire was granted: nothing could be found";
    if (!of->is_about_two)
        return NULL;
    if (checks->counters.grants == 0)
        return "no acquire was granted: no two holds could overlap";
    return is_contested(checks)
               ? NULL
               : "the run showed no contention: nobody's request for a lock reached a server while "
                 "another client held it";
}

/* Do calls and returns alone, or the world itself, say it? */
static bool needs_no_server(const struct monitor *monitor)
{
    return monitor->rules == &rules_no_crash || monitor->finding.cause == CAUSE_ENDLESS_WAIT;
}

static void conclude_unseen(const struct checks *checks, enum property property, const char *gap,
                            const char *vacuity, struct finding *finding)
{
    /* What was inferred proves nothing where the wire has a gap; nor do calls of which some are
     * missing. */
    const bool is_no_proof = checks->ledger.has_inferred || checks->ledger.lacks_calls;
    const struct finding *proved =
        is_no_proof ? NULL : black_box_finding(checks->black_box, property);
    *finding = (struct finding){.verdict = VERDICT_UNKNOWN, .first_index = NO_INDEX};
    /* That some lock can have answered so is no proof that this one did; what came behind two
     * attempts at once was not looked at; and a return that is missing may have been a grant. */
    if (proved && proved->verdict == VERDICT_HOLDS &&
        (property == PROPERTY_TRUTHFUL || checks->ledger.has_two_at_once ||
         checks->ledger.lacks_returns))
        proved = NULL;
    if (proved && (proved->verdict == VERDICT_VIOLATED || !vacuity))
        *finding = *proved;
    else if (vacuity)
        finding_say(finding, "%s.", vacuity);
    if (finding->verdict == VERDICT_UNKNOWN && !vacuity)
        finding_say(finding, "%s: calls and returns alone do not tell.", gap);
}

static const char *excuse_of(const struct monitor *monitor)
{
    if (monitor->excuse && !monitor->finding.count)
        return monitor->excuse;
    return monitor->rules->excused ? monitor->rules->excused(monitor) : NULL;
}

/* What a client was told no lock can have answered; the servers' side knows of nothing that was
 * wrong, nor contradicts itself, and no key that was lost explains it: then a fault may, or one of
 * the two engines is wrong. A loss explains all but that somebody was granted the lock, where whose
 * it was believed to hold it: then two do, and that is a violation. */
static bool do_engines_disagree(const struct checks *checks)
{
    const unsigned by_loss =
        CONTRADICTS_OTHER | (checks->has_unheld_loss ? (unsigned)CONTRADICTS_GRANT : 0);
    bool is_explained =
        checks->ledger.has_inferred || gap_of(checks) || ledger_impossible(&checks->ledger);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        is_explained |= checks->monitors[i].finding.count > 0 &&
                        (i != PROPERTY_ALWAYS_EXPIRES || checks->head.lease_us > 0);
    return !is_explained &&
           (black_box_contradictions(checks->black_box) & ~(checks->has_loss ? by_loss : 0));
}

static void conclude_disagreement(const struct checks *checks, struct finding *finding)
{
    const struct finding *answers = black_box_finding(checks->black_box, PROPERTY_TRUTHFUL);
    *finding = *answers;
    finding->verdict = VERDICT_UNKNOWN;
    finding->count = 0;
    finding->cause = CAUSE_NONE;
    finding->blames = finding->causes = 0;
    finding->first_index = NO_INDEX;
    if (checks->ledger.has_stranger || ledger_stranger(&checks->ledger))
        finding_say(finding,
                    "The servers did nothing that is wrong; somebody whom the history does "
                    "not know wrote a key: whether that explains it nobody saw.");
    else if (checks->has_faults)
        finding_say(finding, "The servers did nothing that is wrong: whether a fault explains it "
                             "nobody saw.");
    else
        finding_say(finding,
                    "But what the servers did explains it: picklock's two engines disagree. "
                    "A defect of picklock, please report it with this history.");
}

static void conclude(const struct checks *checks, enum property property, struct finding *finding)
{
    const struct monitor *monitor = &checks->monitors[property];
    const char *gap = gap_of(checks);
    const char *excuse = excuse_of(monitor);
    const char *vacuity = vacuous(checks, monitor->rules);
    const char *unproved =
        !vacuity && monitor->rules->unproved ? monitor->rules->unproved(monitor) : monitor->doubt;
    if (unproved)
        vacuity = unproved;
    *finding = monitor->finding;
    if (property == PROPERTY_TRUTHFUL && do_engines_disagree(checks)) {
        conclude_disagreement(checks, finding);
        return;
    }
    if (!excuse && gap && !needs_no_server(monitor)) {
        conclude_unseen(checks, property, gap, vacuity, finding);
        return;
    }
    if (!excuse && !vacuity && finding->count == 0)
        vacuity = ledger_impossible(&checks->ledger); /* who answers so may have done anything */
    if (!excuse && (finding->count > 0 || !vacuity))
        return; /* violated, or holds */
    *finding = (struct finding){.verdict = excuse ? VERDICT_NOT_APPLICABLE : VERDICT_UNKNOWN,
                                .is_unproved = !excuse && unproved,
                                .first_index = NO_INDEX};
    finding_say(finding, "%s.", excuse ? excuse : vacuity);
}

int64_t checks_holders(const struct checks *checks)
{
    return checks->ledger.holders;
}

int64_t checks_struck(const struct checks *checks)
{
    return checks->counters.faults;
}

unsigned checks_violated(const struct checks *checks)
{
    unsigned violated = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct monitor *monitor = &checks->monitors[i];
        violated |= (unsigned)(monitor->finding.count > 0 && !excuse_of(monitor)) << i;
    }
    return violated;
}

const struct finding *checks_so_far(const struct checks *checks, enum property property)
{
    return &checks->monitors[property].finding;
}

const struct finding *checks_violation(const struct checks *checks, enum property property)
{
    const struct monitor *monitor = &checks->monitors[property];
    const struct finding *found = &monitor->finding;
    if (excuse_of(monitor))
        return NULL;
    if (gap_of(checks) && !needs_no_server(monitor))
        found = checks->ledger.has_inferred ? NULL : black_box_finding(checks->black_box, property);
    return found && found->count > 0 ? found : NULL;
}

void checks_break_off(struct checks *checks, struct finding *findings, struct counters *counters)
{
    assert(!checks->is_finished);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        conclude(checks, (enum property)i, &findings[i]);
    checks->counters.contended = contention_count(checks->contention);
    if (counters)
        *counters = checks->counters;
    checks->is_finished = true;
}

void checks_finish(struct checks *checks, int64_t end_us, struct finding *findings,
                   struct counters *counters)
{
    assert(!checks->is_finished);
    ledger_finish(&checks->ledger, end_us);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (rules[i]->finish)
            rules[i]->finish(&checks->monitors[i], end_us);
    checks_break_off(checks, findings, counters);
}

const char *checks_gap(const struct checks *checks)
{
    return gap_of(checks);
}

const char *checks_contradiction(const struct checks *checks)
{
    const char *found = ledger_impossible(&checks->ledger);
    found = found ? found : ledger_stranger(&checks->ledger);
    for (int i = 0; i < PROPERTY_COUNT && !found; i++) {
        const struct monitor *monitor = &checks->monitors[i];
        if (monitor->finding.count > 0 && monitor->rules->unproved && !excuse_of(monitor))
            found = monitor->rules->unproved(monitor);
    }
    return found;
}

void checks_free(struct checks *checks)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        free(checks->monitors[i].state);
    free(checks->drifts);
    contention_free(checks->contention);
    lost_holds_free(checks->lost_holds);
    coverage_free(checks->coverage);
    black_box_free(checks->black_box);
    ledger_close(&checks->ledger);
    places_free(checks->places);
    free(checks);
}
