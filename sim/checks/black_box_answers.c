/* black_box_answers.c - see black_box.h: answers that no lock can have given, and fencing tokens
 * that do not grow. */
#include "checks/black_box_parts.h"

static bool is_held_by_another(const struct black_box *box, const struct event *event)
{
    const struct ledger *ledger = box->ledger;
    if (ledger->head->anybody_releases)
        return false; /* nobody knows */
    const struct ledger_client *client = &ledger->clients[event->client];
    int other = ledger->locks[client->lock].first_holder;
    for (; other != NOBODY; other = ledger->clients[other].next) {
        int64_t end_us = box_certain_end_us(box, other);
        if (other != event->client && (end_us == NEVER_US || end_us > client->call_us))
            return true;
    }
    return sure_of_others(box->locks[client->lock].held, event->client) >= client->call_us;
}

static void refused(struct black_box *box, const struct event *event, bool contradicts)
{
    const struct ledger *ledger = box->ledger;
    const struct ledger_client *client = &ledger->clients[event->client];
    const struct box_lock *lock = &box->locks[client->lock];
    struct finding *finding = &box->findings[PROPERTY_TRUTHFUL];
    const char *name = client_name(ledger, event->client);
    /* By itself, whatever else was answered: its own attempt is one. */
    bool was_over = !ledger->head->anybody_releases && lock->open <= 1 &&
                    sure_of_others(lock->last, event->client) < client->call_us;
    bool is_first = lock->asked == 1;
    if (contradicts) {
        if (!box_hit(box, PROPERTY_TRUTHFUL, is_first ? CAUSE_UNTRUE_ANSWER : CAUSE_BUG_OR_LOSS,
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
        finding_say(finding, "One of these answers is not so, a lock came back, or a request came "
                             "twice or late. A bug, a loss, or the network: nobody saw the "
                             "servers.");
    } else if (!is_held_by_another(box, event) && box_doubt(box, PROPERTY_TRUTHFUL)) {
        finding_say(finding, "%s was told \"refused\" at %s; who held the lock nobody saw.", name,
                    MS(event->time_us));
    }
}

static void not_mine(struct black_box *box, const struct event *event, bool contradicts)
{
    const struct ledger *ledger = box->ledger;
    const struct ledger_client *client = &ledger->clients[event->client];
    struct finding *finding = &box->findings[PROPERTY_TRUTHFUL];
    const char *name = client_name(ledger, event->client);
    if (contradicts) {
        if (!box_hit(box, PROPERTY_TRUTHFUL, CAUSE_BUG_OR_LOSS, event->index))
            return;
        bool was_granted = client->acquired == RESULT_GRANTED;
        if (was_granted)
            box_say_called(box, event->client, "", finding);
        if (was_granted && ledger->has_lease && box_is_certain(box, event->client, event->time_us))
            finding_say(finding, "Its lock cannot have expired before %s.",
                        MS(box_certain_end_us(box, event->client)));
        finding_say(finding, "%s was told \"not mine\" at %s.", name, MS(event->time_us));
        finding_say(finding, "Its lock was lost before its time, or the answer is not so. A bug, "
                             "or a loss: nobody saw the servers.");
    } else if (box_doubt(box, PROPERTY_TRUTHFUL)) {
        finding_say(finding, "%s was told \"not mine\" at %s; whose the lock was nobody saw.", name,
                    MS(event->time_us));
    }
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
        if (box_hit(box, both[i], CAUSE_BUG_OR_LOSS, event->index))
            say_contradicted(box, event, "the lock cannot have been free", &box->findings[both[i]]);
}

/* Any other answer that does not go with those before. */
static void contradicted(struct black_box *box, const struct event *event)
{
    const struct ledger *ledger = box->ledger;
    const bool is_anybodys = ledger->head->anybody_releases;
    struct finding *finding = &box->findings[PROPERTY_TRUTHFUL];
    const char *name = client_name(ledger, event->client);
    if (is_anybodys && event->result == RESULT_GRANTED)
        granted_twice(box, event);
    if (event->index == box->overlap_index || /* that is told of already, as what it leads to */
        !box_hit(box, PROPERTY_TRUTHFUL, CAUSE_BUG_OR_LOSS, event->index))
        return;
    if (box_is_without(box, event) && !is_anybodys) {
        finding_say(finding, "%s was told \"%s\" at %s, and had %s.", name,
                    result_name(event->result), MS(event->time_us),
                    ledger->clients[event->client].last_attempt == 0
                        ? "never asked for the lock"
                        : "not asked for the lock in that attempt, nor has it by one before");
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
        is_told
            ? told_fences_granted(box->fences, event,
                                  box_is_certain(box, event->client, event->time_us), name,
                                  box->answers && answers_may_reenter(box->answers, event->client))
            : NULL;
    if (!first || !box_hit(box, PROPERTY_FENCE_ORDER, CAUSE_FENCE_DISORDER, event->index))
        return;
    struct finding *finding = &box->findings[PROPERTY_FENCE_ORDER];
    told_fences_explain(first, event, name, finding);
    finding_say(finding, "%s.", cause_title(CAUSE_FENCE_DISORDER));
}

void box_answered(struct black_box *box, const struct event *event)
{
    const bool contradicts =
        box->answers && answers_event(box->answers, event) == ANSWERS_CONTRADICT;
    if (contradicts && !box_is_without(box, event))
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
