/* black_box.c - see black_box.h. */
#include "checks/black_box.h"

#include "base/memory.h"
#include "checks/answers.h"
#include "checks/sure.h"
#include "checks/told_fences.h"

#include <stdio.h>
#include <stdlib.h>

struct box_lock {
    int64_t asked;       /* attempts that have begun */
    int open;            /* attempts that may hold it, or come to hold it */
    struct sure last[2]; /* when the last one of those ended; of two clients, the latest first */
    struct sure held[2]; /* when the last certain hold ended; the same */
};

/* The properties that are judged here. */
static const enum property judged[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION,
                                       PROPERTY_FRESH_GRANT, PROPERTY_TRUTHFUL,
                                       PROPERTY_FENCE_ORDER};
enum { JUDGED = sizeof judged / sizeof *judged };

struct black_box {
    const struct ledger *ledger;
    bool may_renew;   /* a lease may end later than anybody says */
    int64_t least_us; /* of a lease; where each grant has its own, nobody saw how long: 0 */
    struct finding findings[JUDGED];
    struct box_lock *locks;
    struct told_fences *fences;
    struct answers_engine *answers; /* NULL: clients judge stamps, and no lock is like that */
    int64_t overlap_index;   /* of the last grant that two certain holds are told of; NO_INDEX */
    unsigned contradictions; /* enum contradiction: what no lock can have answered */
    struct box_client {
        bool is_open;           /* its last attempt is one of those */
        struct renewed renewed; /* since it was granted the lock */
    } clients[];
};

/* A lease may end early by what clocks disagree. */
static struct answers_engine *engine_for(const struct ledger *ledger, int64_t least_us)
{
    struct answers_rules rules = {.ignores_misses = ledger->quorum > 1,
                                  .doubts_late_releases = true,
                                  .releases_former = true,
                                  .may_be_reentered = !ledger->head->refuses_holder,
                                  .anybody_releases = ledger->head->anybody_releases};
    if (ledger->has_stamps)
        return NULL;
    if (ledger->has_lease)
        rules.lease_us = least_us > ledger->error_us ? least_us - ledger->error_us : 1;
    return answers_new(rules, ledger->head->clients, ledger->head->locks);
}

struct black_box *black_box_new(const struct ledger *ledger)
{
    size_t clients = (size_t)ledger->head->clients, locks = (size_t)ledger->head->locks;
    struct black_box *made = memory_new(1, sizeof *made + clients * sizeof *made->clients);
    made->ledger = ledger;
    made->may_renew = ledger_promises(ledger, PROMISE_EXTENDS) || ledger->has_leases;
    made->least_us = ledger->has_leases ? 0 : ledger->lease_us;
    made->locks = memory_new(locks, sizeof *made->locks);
    made->fences = told_fences_new(ledger->head->clients, ledger->head->locks);
    made->answers = engine_for(ledger, made->least_us);
    made->overlap_index = NO_INDEX;
    for (size_t i = 0; i < clients; i++)
        made->clients[i].renewed = renewed_nothing;
    for (size_t i = 0; i < locks; i++)
        for (int k = 0; k < 2; k++)
            made->locks[i].last[k] = made->locks[i].held[k] =
                (struct sure){.client = NOBODY, .until_us = INT64_MIN};
    for (int i = 0; i < JUDGED; i++) {
        made->findings[i].verdict = VERDICT_HOLDS;
        made->findings[i].first_index = NO_INDEX;
    }
    return made;
}

void black_box_free(struct black_box *box)
{
    if (box->answers)
        answers_free(box->answers);
    told_fences_free(box->fences);
    free(box->locks);
    free(box);
}

static struct finding *finding_of(struct black_box *box, enum property property)
{
    int at = 0;
    while (judged[at] != property)
        at++;
    return &box->findings[at];
}

const struct finding *black_box_finding(const struct black_box *box, enum property property)
{
    for (int i = 0; i < JUDGED; i++) /* what a resource did with fences nobody saw */
        if (judged[i] == property &&
            (property != PROPERTY_FENCE_ORDER || box->findings[i].count > 0))
            return &box->findings[i];
    return NULL;
}

/* --- what is said --- */

/* It may be so, or not: the first reason is kept, as long as nothing is violated. */
static bool doubt(struct black_box *box, enum property property)
{
    struct finding *finding = finding_of(box, property);
    if (finding->verdict != VERDICT_HOLDS)
        return false;
    finding->verdict = VERDICT_UNKNOWN;
    return true;
}

static bool hit(struct black_box *box, enum property property, enum cause cause, int64_t index)
{
    struct finding *finding = finding_of(box, property);
    if (finding->count == 0)
        finding->witness_lines = 0; /* a doubt */
    return finding_hit(finding, cause, index);
}

static void say_called(const struct black_box *box, int client, const char *also,
                       struct finding *finding)
{
    const struct ledger *ledger = box->ledger;
    const struct ledger_client *who = &ledger->clients[client];
    const char *name = client_name(ledger, client);
    finding_say(finding, "%s called acquire at %s, and was told \"granted\" at %s%s.", name,
                MS(who->call_us), MS(who->held_us), also);
}

/* --- leases --- */

/* Its key is there for certain until then. */
static int64_t certain_end_us(const struct black_box *box, int client)
{
    const struct ledger *ledger = box->ledger;
    return ledger->has_lease ? ledger->clients[client].call_us + box->least_us : NEVER_US;
}

/* Its lease is over for certain from then on. */
static int64_t last_end_us(const struct black_box *box, int client)
{
    const struct ledger *ledger = box->ledger;
    if (!ledger->has_lease || box->may_renew)
        return NEVER_US;
    const int64_t renewed_us = box->clients[client].renewed.until_us;
    const int64_t end_us = ledger->clients[client].own_end_us;
    return renewed_us > end_us ? renewed_us : end_us;
}

/* Two believe at once, one of them behind its lease: it may have another one now. */
static void renews_beside(struct black_box *box, const struct event *event)
{
    const struct ledger *ledger = box->ledger;
    const struct ledger_client *client = &ledger->clients[event->client];
    if (event->kind != EVENT_CALL || !client->is_holding ||
        ledger->locks[client->lock].holders < 2 || !doubt(box, PROPERTY_LEASE_EXCLUSION))
        return;
    finding_say(finding_of(box, PROPERTY_LEASE_EXCLUSION),
                "%s asked for its lease anew at %s, while another client believed to hold the "
                "lock. Whether it was given one nobody saw.",
                client_name(ledger, event->client), MS(event->time_us));
}

static bool is_certain(const struct black_box *box, int client, int64_t time_us)
{
    int64_t end_us = certain_end_us(box, client);
    return end_us == NEVER_US || time_us + box->ledger->error_us < end_us;
}

static bool is_over(const struct black_box *box, int client, int64_t time_us)
{
    int64_t end_us = last_end_us(box, client);
    return end_us != NEVER_US && time_us - box->ledger->error_us >= end_us;
}

/* --- two that believe at once --- */

static void say_two(const struct black_box *box, int first, int second, const struct fact *fact,
                    struct finding *finding)
{
    say_called(box, first, "", finding);
    say_called(box, second, ", too", finding);
    finding_say(finding, "From %s on both believed to hold it.", MS(fact->time_us));
}

static void overlap_certain(struct black_box *box, const struct fact *fact, int other)
{
    static const enum property both[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION};
    const struct ledger *ledger = box->ledger;
    box->overlap_index = fact->index;
    for (int i = 0; i < 2; i++) {
        struct finding *finding = finding_of(box, both[i]);
        if (!hit(box, both[i], CAUSE_BUG_OR_LOSS, fact->index))
            continue;
        say_two(box, other, fact->client, fact, finding);
        if (ledger->has_lease)
            finding_say(finding, "Neither lease, of %s from the call, was over by then.",
                        MS(ledger->lease_us));
        finding_say(finding, "No overrun explains that. A bug, or a loss: nobody saw the servers.");
    }
}

static void overlap_over(struct black_box *box, const struct fact *fact, int other, bool is_late)
{
    const struct ledger *ledger = box->ledger;
    struct finding *finding = finding_of(box, PROPERTY_MUTUAL_EXCLUSION);
    int over = is_late ? fact->client : other;
    if (!hit(box, PROPERTY_MUTUAL_EXCLUSION, is_late ? CAUSE_LATE_GRANT : CAUSE_OVERRUN,
             fact->index))
        return;
    say_two(box, other, fact->client, fact, finding);
    finding_say(finding, "%s's own lease had ended at %s.", client_name(ledger, over),
                MS(last_end_us(box, over)));
    finding_say(finding, "%s in %s.", is_late ? "Late grant" : "Overrun",
                client_name(ledger, over));
}

static void overlap_doubtful(struct black_box *box, const struct fact *fact, int other)
{
    static const enum property both[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION};
    for (int i = 0; i < 2; i++) {
        struct finding *finding = finding_of(box, both[i]);
        if (!doubt(box, both[i]))
            continue;
        say_two(box, other, fact->client, fact, finding);
        finding_say(finding, "Whether a lease was over by then nobody saw.");
    }
}

static void held(struct black_box *box, const struct fact *fact)
{
    const struct ledger *ledger = box->ledger;
    if (ledger->head->anybody_releases) /* who believes to hold it may be wrong, and no harm done */
        return;
    box->clients[fact->client].renewed = renewed_nothing;
    bool is_late = is_over(box, fact->client, fact->time_us);
    int other = ledger->locks[fact->lock].first_holder;
    for (; other != NOBODY; other = ledger->clients[other].next) {
        if (other == fact->client)
            continue;
        if (is_certain(box, fact->client, fact->time_us) && is_certain(box, other, fact->time_us))
            overlap_certain(box, fact, other);
        else if (is_late || is_over(box, other, fact->time_us))
            overlap_over(box, fact, other, is_late);
        else
            overlap_doubtful(box, fact, other);
    }
    if (!ledger->has_lease || is_certain(box, fact->client, fact->time_us))
        return;
    struct finding *finding = finding_of(box, PROPERTY_FRESH_GRANT);
    if (is_late && hit(box, PROPERTY_FRESH_GRANT, CAUSE_LATE_GRANT, fact->index)) {
        say_called(box, fact->client, "", finding);
        finding_say(finding, "Its lease, of %s from the call, had ended at %s.",
                    MS(ledger->lease_us), MS(last_end_us(box, fact->client)));
        finding_say(finding, "Late grant in %s: the scheme must refuse it.",
                    client_name(ledger, fact->client));
    } else if (!is_late && doubt(box, PROPERTY_FRESH_GRANT)) {
        say_called(box, fact->client, "", finding);
        finding_say(finding,
                    "Whether there was lease left nobody saw: it may have asked long after "
                    "the call, or renewed.");
    }
}

/* --- who may hold a lock, and who surely does --- */

static void attempt_begins(struct black_box *box, const struct event *event)
{
    box->clients[event->client].is_open = true; /* an earlier one that was not ended stays open */
    box->locks[event->lock].open++;
    box->locks[event->lock].asked++;
}

/* An answer says that the attempt neither has the lock nor will come to have it. */
static void attempt_ends(struct black_box *box, const struct event *event)
{
    struct box_lock *lock = &box->locks[box->ledger->clients[event->client].lock];
    if (!box->clients[event->client].is_open)
        return;
    box->clients[event->client].is_open = false;
    lock->open--;
    sure_note(lock->last, event->client, event->time_us);
}

static bool is_held_by_another(const struct black_box *box, const struct event *event)
{
    const struct ledger *ledger = box->ledger;
    if (ledger->head->anybody_releases)
        return false; /* nobody knows */
    const struct ledger_client *client = &ledger->clients[event->client];
    int other = ledger->locks[client->lock].first_holder;
    for (; other != NOBODY; other = ledger->clients[other].next) {
        int64_t end_us = certain_end_us(box, other);
        if (other != event->client && (end_us == NEVER_US || end_us > client->call_us))
            return true;
    }
    return sure_of_others(box->locks[client->lock].held, event->client) >= client->call_us;
}

static void hold_ended(struct black_box *box, const struct fact *fact)
{
    int64_t end_us = certain_end_us(box, fact->client);
    sure_note(box->locks[fact->lock].held, fact->client,
              fact->time_us < end_us ? fact->time_us : end_us);
}

/* --- answers --- */

static void refused(struct black_box *box, const struct event *event, bool contradicts)
{
    const struct ledger *ledger = box->ledger;
    const struct ledger_client *client = &ledger->clients[event->client];
    const struct box_lock *lock = &box->locks[client->lock];
    struct finding *finding = finding_of(box, PROPERTY_TRUTHFUL);
    const char *name = client_name(ledger, event->client);
    /* By itself, whatever else was answered: its own attempt is one. */
    bool was_over = !ledger->head->anybody_releases && lock->open <= 1 &&
                    sure_of_others(lock->last, event->client) < client->call_us;
    bool is_first = lock->asked == 1;
    if (contradicts) {
        if (!hit(box, PROPERTY_TRUTHFUL, is_first ? CAUSE_UNTRUE_ANSWER : CAUSE_BUG_OR_LOSS,
                 event->index))
            return;
        finding_say(finding, "%s called acquire at %s, and was told \"refused\" at %s.", name,
                    MS(client->call_us), MS(event->time_us));
        if (is_first) {
            finding_say(finding, "Nobody held the lock: nobody had ever asked for it.");
            finding_say(finding, "Untrue answer to %s.", name);
            return;
        }
        finding_say(finding, was_over ? "Whoever had asked before had been told that he does not "
                                        "hold it."
                                      : "By what the others were told nobody can have held the "
                                        "lock at any time between.");
        finding_say(finding, "One of these answers is not so, or a lock came back. A bug, or a "
                             "loss: nobody saw the servers.");
    } else if (!is_held_by_another(box, event) && doubt(box, PROPERTY_TRUTHFUL)) {
        finding_say(finding, "%s was told \"refused\" at %s; who held the lock nobody saw.", name,
                    MS(event->time_us));
    }
}

static void not_mine(struct black_box *box, const struct event *event, bool contradicts)
{
    const struct ledger *ledger = box->ledger;
    const struct ledger_client *client = &ledger->clients[event->client];
    struct finding *finding = finding_of(box, PROPERTY_TRUTHFUL);
    const char *name = client_name(ledger, event->client);
    if (contradicts) {
        if (!hit(box, PROPERTY_TRUTHFUL, CAUSE_BUG_OR_LOSS, event->index))
            return;
        bool was_granted = client->acquired == RESULT_GRANTED;
        if (was_granted)
            say_called(box, event->client, "", finding);
        if (was_granted && ledger->has_lease && is_certain(box, event->client, event->time_us))
            finding_say(finding, "Its lock cannot have expired before %s.",
                        MS(certain_end_us(box, event->client)));
        finding_say(finding, "%s was told \"not mine\" at %s.", name, MS(event->time_us));
        finding_say(finding, "Its lock was lost before its time, or the answer is not so. A bug, "
                             "or a loss: nobody saw the servers.");
    } else if (doubt(box, PROPERTY_TRUTHFUL)) {
        finding_say(finding, "%s was told \"not mine\" at %s; whose the lock was nobody saw.", name,
                    MS(event->time_us));
    }
}

/* It has never asked for a lock. */
static bool is_without(const struct black_box *box, const struct event *event)
{
    return event->attempt > box->ledger->clients[event->client].last_attempt &&
           event->op != OP_ACQUIRE;
}

static void say_contradicted(const struct black_box *box, const struct event *event,
                             const char *cannot, struct finding *finding)
{
    const struct ledger_client *client = &box->ledger->clients[event->client];
    finding_say(finding, "%s called %s at %s, and was told \"%s\" at %s.",
                client_name(box->ledger, event->client), operation_name(event->op),
                MS(event->op == OP_ACQUIRE ? client->call_us : client->called_us),
                result_name(event->result), MS(event->time_us));
    finding_say(finding, "By what all were told before, %s at any time between.", cannot);
    finding_say(finding, "One of these answers is not so, or a lock was lost before its time. A "
                         "bug, or a loss: nobody saw the servers.");
}

/* Where anybody may release it, a grant of what nobody can have released is one to two. */
static void granted_twice(struct black_box *box, const struct event *event)
{
    static const enum property both[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION};
    box->overlap_index = event->index;
    for (int i = 0; i < 2; i++)
        if (hit(box, both[i], CAUSE_BUG_OR_LOSS, event->index))
            say_contradicted(box, event, "the lock cannot have been free",
                             finding_of(box, both[i]));
}

/* Any other answer that does not go with those before. */
static void contradicted(struct black_box *box, const struct event *event)
{
    const struct ledger *ledger = box->ledger;
    const bool is_anybodys = ledger->head->anybody_releases;
    struct finding *finding = finding_of(box, PROPERTY_TRUTHFUL);
    const char *name = client_name(ledger, event->client);
    if (is_anybodys && event->result == RESULT_GRANTED)
        granted_twice(box, event);
    if (event->index == box->overlap_index || /* that is told of already, as what it leads to */
        !hit(box, PROPERTY_TRUTHFUL, CAUSE_BUG_OR_LOSS, event->index))
        return;
    if (is_without(box, event) && !is_anybodys) {
        finding_say(finding, "%s was told \"%s\" at %s, and had never asked for the lock.", name,
                    result_name(event->result), MS(event->time_us));
        finding_say(finding, "That answer is not so. A bug: nobody saw the servers.");
        return;
    }
    say_contradicted(box, event,
                     event->op == OP_ACQUIRE ? "the lock cannot have been free"
                     : is_anybodys           ? "it cannot have been locked"
                                             : "it cannot have had the lock",
                     finding);
}

static void fenced(struct black_box *box, const struct event *event)
{
    const char *name = client_name(box->ledger, event->client);
    const bool is_told = event->has_fence || event->fence; /* of our own lines 0 is none */
    const struct told_fence *first =
        is_told ? told_fences_granted(box->fences, event,
                                      is_certain(box, event->client, event->time_us), name,
                                      ledger_may_reenter(box->ledger, event->client))
                : NULL;
    if (!first || !hit(box, PROPERTY_FENCE_ORDER, CAUSE_FENCE_DISORDER, event->index))
        return;
    struct finding *finding = finding_of(box, PROPERTY_FENCE_ORDER);
    told_fences_explain(first, event, name, finding);
    finding_say(finding, "%s.", cause_title(CAUSE_FENCE_DISORDER));
}

static void answered(struct black_box *box, const struct event *event)
{
    bool contradicts = box->answers && answers_event(box->answers, event) == ANSWERS_CONTRADICT;
    if (contradicts && !is_without(box, event))
        box->contradictions |=
            event->result == RESULT_GRANTED ? CONTRADICTS_GRANT : CONTRADICTS_OTHER;
    if (event->kind != EVENT_RETURN)
        return;
    if (event->result == RESULT_GRANTED)
        fenced(box, event);
    if (event->result == RESULT_REFUSED)
        refused(box, event, contradicts);
    else if (event->result == RESULT_NOT_MINE)
        not_mine(box, event, contradicts);
    else if (contradicts)
        contradicted(box, event);
}

/* --- contract --- */

void black_box_event(struct black_box *box, const struct event *event)
{
    if (event->client < 0 || box->ledger->has_two_at_once ||
        (event->attempt != box->ledger->clients[event->client].attempt && !is_without(box, event)))
        return;
    if (event->kind == EVENT_CALL && event->op == OP_ACQUIRE) {
        attempt_begins(box, event);
        told_fences_called(box->fences, event);
    }
    if (event->kind != EVENT_CALL && event->kind != EVENT_RETURN)
        return;
    answered(box, event);
    if (event->op == OP_EXTEND) {
        renewed_note(&box->clients[event->client].renewed, event, box->ledger->lease_us);
        renews_beside(box, event);
    }
    if (event->kind != EVENT_RETURN)
        return;
    if (event->result == RESULT_REFUSED || event->result == RESULT_UNSUPPORTED ||
        event->result == RESULT_RELEASED || event->result == RESULT_NOT_MINE)
        attempt_ends(box, event);
}

unsigned black_box_contradictions(const struct black_box *box)
{
    return box->contradictions;
}

void black_box_fact(struct black_box *box, const struct fact *fact)
{
    if (fact->kind == FACT_HOLD && !box->ledger->has_two_at_once)
        held(box, fact);
    if (fact->kind == FACT_HOLD_ENDED)
        hold_ended(box, fact);
}
