/* black_box.c - see black_box.h: what is remembered of clients and locks, and what an event is held
 * against. */
#include "checks/black_box_parts.h"

#include "base/memory.h"

#include <stdlib.h>

/* A lease may end early by what clocks disagree. */
static struct answers_engine *engine_for(const struct ledger *ledger, int64_t least_us)
{
    struct answers_rules rules = {.is_quorum = ledger->quorum > 1,
                                  .ignores_misses = ledger->quorum > 1 || ledger->has_leases,
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
    made->lost_us = NEVER_US;
    for (size_t i = 0; i < clients; i++)
        made->clients[i].renewed = renewed_nothing;
    for (size_t i = 0; i < locks; i++)
        for (int k = 0; k < 2; k++)
            made->locks[i].last[k] = made->locks[i].held[k] =
                (struct sure){.client = NOBODY, .until_us = INT64_MIN};
    for (int i = 0; i < PROPERTY_COUNT; i++) {
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

const struct finding *black_box_finding(const struct black_box *box, enum property property)
{
    switch (property) {
    case PROPERTY_MUTUAL_EXCLUSION:
    case PROPERTY_LEASE_EXCLUSION:
    case PROPERTY_FRESH_GRANT:
    case PROPERTY_TRUTHFUL:
        return &box->findings[property];
    case PROPERTY_FENCE_ORDER: /* what a resource did with fences nobody saw */
        return box->findings[property].count > 0 ? &box->findings[property] : NULL;
    default:
        return NULL;
    }
}

/* --- what is said --- */

bool box_doubt(struct black_box *box, enum property property)
{
    struct finding *finding = &box->findings[property];
    if (finding->verdict != VERDICT_HOLDS)
        return false;
    finding->verdict = VERDICT_UNKNOWN;
    return true;
}

bool box_hit(struct black_box *box, enum property property, enum cause cause, int64_t index)
{
    struct finding *finding = &box->findings[property];
    if (box->lost_us != NEVER_US && (cause == CAUSE_BUG_OR_LOSS || cause == CAUSE_FENCE_DISORDER)) {
        if (box_doubt(box, property))
            finding_say(finding,
                        "A fault took a server's keys or moved its clock, at %s last: whether that "
                        "explains what was told nobody saw.",
                        MS(box->lost_us));
        return false;
    }
    if (finding->count == 0)
        finding->witness_lines = 0; /* a doubt */
    return finding_hit(finding, cause, index);
}

void box_say_called(const struct black_box *box, int client, const char *also,
                    struct finding *finding)
{
    const struct ledger *ledger = box->ledger;
    const struct ledger_client *who = &ledger->clients[client];
    const char *name = client_name(ledger, client);
    finding_say(finding, "%s called acquire at %s, and was told \"granted\" at %s%s.", name,
                MS(who->call_us), MS(who->held_us), also);
}

/* --- leases --- */

int64_t box_certain_end_us(const struct black_box *box, int client)
{
    const struct ledger *ledger = box->ledger;
    return ledger->has_lease ? ledger->clients[client].call_us + box->least_us : NEVER_US;
}

int64_t box_last_end_us(const struct black_box *box, int client)
{
    const struct ledger *ledger = box->ledger;
    if (!ledger->has_lease || box->may_renew)
        return NEVER_US;
    const int64_t renewed_us = box->clients[client].renewed.until_us;
    const int64_t end_us = ledger->clients[client].own_end_us;
    return renewed_us > end_us ? renewed_us : end_us;
}

bool box_is_certain(const struct black_box *box, int client, int64_t time_us)
{
    int64_t end_us = box_certain_end_us(box, client);
    return end_us == NEVER_US || time_us + box->ledger->error_us < end_us;
}

bool box_is_over(const struct black_box *box, int client, int64_t time_us)
{
    int64_t end_us = box_last_end_us(box, client);
    return end_us != NEVER_US && time_us - box->ledger->error_us >= end_us;
}

/* --- who may hold a lock, and who surely does --- */

static void attempt_begins(struct black_box *box, const struct event *event)
{
    box->clients[event->client].is_open = true; /* an earlier one that was not ended stays open */
    box->locks[event->lock].open++;
    box->locks[event->lock].asked++;
}

bool box_is_without(const struct black_box *box, const struct event *event)
{
    return event->attempt > box->ledger->clients[event->client].last_attempt &&
           event->op != OP_ACQUIRE;
}

/* An answer says that the attempt neither has the lock nor will come to have it. Whoever is refused
 * a lease or more after the call may have had it. */
static void attempt_ends(struct black_box *box, const struct event *event)
{
    struct box_lock *lock = &box->locks[box->ledger->clients[event->client].lock];
    if (!box->clients[event->client].is_open ||
        (event->result == RESULT_REFUSED && !box_is_certain(box, event->client, event->time_us)))
        return;
    box->clients[event->client].is_open = false;
    lock->open--;
    sure_note(lock->last, event->client, event->time_us);
}

static void hold_ended(struct black_box *box, const struct fact *fact)
{
    int64_t end_us = box_certain_end_us(box, fact->client);
    sure_note(box->locks[fact->lock].held, fact->client,
              fact->time_us < end_us ? fact->time_us : end_us);
}

/* --- contract --- */

/* Keys that go, or whose time does, are what else would be a bug, or a loss. */
static bool is_loss(const struct event *event)
{
    if (event->kind != EVENT_FAULT || event->server < 0 ||
        fault_blame(event->fault) != FAULT_OF_SERVER)
        return false;
    switch (fault_effect(event->fault)) {
    case FAULT_LOSES_KEYS:
    case FAULT_STEPS_CLOCK:
    case FAULT_SETS_RATE:
        return true;
    default:
        return false;
    }
}

void black_box_event(struct black_box *box, const struct event *event)
{
    if (is_loss(event))
        box->lost_us = event->time_us;
    if (event->client < 0 || box->ledger->has_two_at_once ||
        (event->attempt != box->ledger->clients[event->client].attempt &&
         !box_is_without(box, event)))
        return;
    if (event->kind == EVENT_CALL && event->op == OP_ACQUIRE) {
        attempt_begins(box, event);
        told_fences_called(box->fences, event);
    }
    if (event->kind != EVENT_CALL && event->kind != EVENT_RETURN)
        return;
    box_answered(box, event);
    if (event->op == OP_EXTEND) {
        renewed_note(&box->clients[event->client].renewed, event, box->ledger->lease_us);
        box_renewed(box, event);
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
        box_held(box, fact);
    if (fact->kind == FACT_HOLD_ENDED)
        hold_ended(box, fact);
}
