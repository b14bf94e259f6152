/* loss_notice.c - a client that promises to know is told of the loss by the end of its lease.
 *
 * Lost is a hold whose grant has ended at the server other than by its own release. Told is what
 * ends the belief. A timer that rings at the very end of the lease rings a little late: a twentieth
 * of the lease is forgiven. A client that is paused ("pause", with its length) can be told nothing
 * meanwhile: it is told in time when it is told as the pause ends. The same goes for the time that
 * a timer of its was due and could not ring, for the machine was busy (WAKE, with that time). A
 * lease ends by the true time: a client whose own clock runs slow knows late, and that is not
 * forgiven.
 *
 * A history that may lack lines may lack a pause, too: there a client must be seen to act when it
 * ought to know, and so much later, as is forgiven, not to know yet. Until then it is a doubt.
 *
 * Whose process is to end at a loss knows of it, at the latest, when it says so: as much time later
 * it has ended, or it goes on. Who is granted the lock again goes on, too. */
#include "checks/property.h"

#include "base/memory.h"

#include <string.h>

enum { FORGIVEN_PART = 20 };

struct promised_end {
    int64_t awake_us; /* it could be told something again, after its last pause */
    bool is_to_end;   /* it has said that its lock is lost, and promised to end then: */
    int64_t said_us;
    int64_t acts_us; /* when it was first seen to act behind its deadline, if it is behind that */
};

/* One a client. */
static void *make(const struct ledger *ledger)
{
    return memory_new((size_t)ledger->head->clients, sizeof(struct promised_end));
}

static int64_t forgiven_us(const struct ledger *ledger)
{
    return ledger->lease_us / FORGIVEN_PART + ledger->error_us;
}

/* When that client must know at the latest. */
static int64_t due_us(const struct monitor *monitor, int number)
{
    const struct ledger *ledger = monitor->ledger;
    const struct promised_end *told = monitor->state;
    const int64_t end_us = ledger->clients[number].own_end_us, awake_us = told[number].awake_us;
    if (end_us == NEVER_US)
        return NEVER_US;
    return (end_us > awake_us ? end_us : awake_us) + forgiven_us(ledger);
}

/* When it must know, or, if it has said so, have ended. */
static int64_t deadline_us(const struct monitor *monitor, int number)
{
    const struct promised_end *told = &((struct promised_end *)monitor->state)[number];
    const int64_t from_us = told->said_us > told->awake_us ? told->said_us : told->awake_us;
    return told->is_to_end ? from_us + forgiven_us(monitor->ledger) : due_us(monitor, number);
}

static void note_act(struct monitor *monitor, const struct event *event)
{
    struct promised_end *told = &((struct promised_end *)monitor->state)[event->client];
    const bool is_act = event->kind == EVENT_CALL || event->kind == EVENT_SEND ||
                        event->kind == EVENT_RETURN || event->kind == EVENT_WAKE;
    const int64_t until_us = deadline_us(monitor, event->client);
    if (is_act && told->acts_us <= until_us && event->time_us > until_us)
        told->acts_us = event->time_us;
}

/* May it have been paused until now, as far as is told? A pause that is missing came before it
 * acted, and then it had so long since; or behind that, and then it acted when it ought to know. */
static bool may_sleep(struct monitor *monitor, int number, int64_t time_us)
{
    const struct promised_end *told = &((struct promised_end *)monitor->state)[number];
    if (head_has_all(monitor->ledger->head) ||
        (told->acts_us > deadline_us(monitor, number) &&
         time_us > told->acts_us + forgiven_us(monitor->ledger)))
        return false;
    monitor->doubt = "A client did not know of its loss in time, and is not seen to have been "
                     "awake: a pause of its may be missing";
    return true;
}

static void goes_on(struct monitor *monitor, int number, int64_t time_us, int64_t index)
{
    const struct ledger *ledger = monitor->ledger;
    struct promised_end *told = &((struct promised_end *)monitor->state)[number];
    const char *name = client_name(ledger, number);
    struct finding *finding = &monitor->finding;
    told->is_to_end = false;
    if (!finding_hit(finding, CAUSE_NO_NOTICE, index))
        return;
    finding_say(finding, "%s said at %s that its lock is lost.", name, MS(told->said_us));
    finding_say(finding, "Its process goes on at %s.", MS(time_us));
    finding_say(finding, "%s promises that it ends when it knows of a loss.", name);
}

/* Of all who have said so, and not ended, by that time. */
static void look_for_ends(struct monitor *monitor, int64_t time_us, int64_t index)
{
    const struct ledger *ledger = monitor->ledger;
    const struct promised_end *all = monitor->state;
    for (int i = 0; i < ledger->head->clients; i++) {
        if (all[i].is_to_end && time_us > deadline_us(monitor, i) &&
            !may_sleep(monitor, i, time_us))
            goes_on(monitor, i, time_us, index);
    }
}

static void follow_end(struct monitor *monitor, const struct event *event)
{
    struct promised_end *told = &((struct promised_end *)monitor->state)[event->client];
    if (event->kind == EVENT_NOTICE && !event->is_inferred) {
        told->is_to_end = true;
        told->said_us = event->time_us;
    }
    if (event->kind == EVENT_EXIT ||
        (event->kind == EVENT_FAULT && fault_effect(event->fault) == FAULT_KILLS))
        told->is_to_end = false;
    if (told->is_to_end && event->kind == EVENT_RETURN && event->op == OP_ACQUIRE &&
        event->result == RESULT_GRANTED)
        goes_on(monitor, event->client, event->time_us, event->index);
}

static void event(struct monitor *monitor, const struct event *event)
{
    struct promised_end *told = monitor->state;
    const bool is_to_exit =
        !monitor->ledger->scheme && ledger_promises(monitor->ledger, PROMISE_EXITS);
    if (event->client >= 0 && event->kind == EVENT_FAULT &&
        fault_effect(event->fault) == FAULT_PAUSES)
        told[event->client].awake_us = event->time_us + event->amount_us;
    /* A timer that the scheme had set for later than that is no excuse. */
    if (event->client >= 0 && event->kind == EVENT_WAKE && event->amount_us > 0 &&
        event->time_us - event->amount_us <= due_us(monitor, event->client))
        told[event->client].awake_us = event->time_us;
    if (is_to_exit)
        look_for_ends(monitor, event->time_us, event->index);
    if (event->client >= 0 && is_to_exit)
        follow_end(monitor, event);
    if (event->client >= 0)
        note_act(monitor, event);
}

/* The grant whose end lost the lock; NULL: it is not lost. */
static const struct grant *find_loss(const struct ledger *ledger, int client)
{
    int owned = 0;
    const struct grant *lost = NULL;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct grant *grant = ledger_grant(ledger, client, s);
        if (grant->index != NO_INDEX && grant->ending == ENDING_NONE)
            owned++;
        else if (grant->index != NO_INDEX && !lost)
            lost = grant;
    }
    return owned < ledger->quorum ? lost : NULL;
}

/* Also what time alone has ended, and nobody has looked at yet. */
static bool has_run_out(const struct ledger *ledger, int client, int64_t time_us)
{
    int running = 0;
    for (int s = 0; s < ledger->head->servers; s++) {
        const struct ledger_key *key = &ledger->locks[ledger->clients[client].lock].keys[s];
        const struct grant *grant = ledger_grant(ledger, client, s);
        running += grant == &key->grant && grant->index != NO_INDEX && time_us <= key->latest_us;
    }
    return running < ledger->quorum;
}

static void judge(struct monitor *monitor, int number, int64_t told_us, int64_t index, bool is_told)
{
    const struct ledger *ledger = monitor->ledger;
    const struct ledger_client *client = &ledger->clients[number];
    if (client->is_inferred || told_us <= due_us(monitor, number))
        return;
    const struct grant *lost = find_loss(ledger, number);
    if ((!lost && !has_run_out(ledger, number, told_us)) || may_sleep(monitor, number, told_us))
        return;
    struct finding *finding = &monitor->finding;
    if (!finding_hit(finding, CAUSE_NO_NOTICE, index))
        return;
    const char *name = client_name(ledger, number);
    finding_say(finding, "%s was granted the lock at %s.", name, MS(client->held_us));
    finding_say(finding, "Its own lease ended at %s.", MS(client->own_end_us));
    finding_say_clock(finding, ledger, number);
    if (lost)
        finding_say(finding, "Its lock was gone at the server at %s.", MS(lost->ended_us));
    else
        finding_say(finding, "Its lock had run out at the server by %s.", MS(told_us));
    finding_say(finding, "%s %s %s.", name,
                is_told ? "believed to hold it until" : "still believed to hold it at",
                MS(told_us));
    finding_say(finding, "No notice to %s, which the scheme promises.", name);
}

static void fact(struct monitor *monitor, const struct fact *fact)
{
    if (fact->kind == FACT_HOLD_ENDED)
        judge(monitor, fact->client, fact->time_us, fact->index, true);
}

static void finish(struct monitor *monitor, int64_t end_us)
{
    const struct ledger *ledger = monitor->ledger;
    for (int i = 0; i < ledger->head->clients; i++)
        if (ledger->clients[i].is_holding)
            judge(monitor, i, end_us, ledger->index, false);
    look_for_ends(monitor, end_us, ledger->index);
}

static const char *excused(const struct monitor *monitor)
{
    if (ledger_promises(monitor->ledger, PROMISE_NOTICE))
        return ledger_untold(monitor->ledger);
    return "the scheme does not promise to tell its holder of a loss";
}

const struct property_rules rules_loss_notice = {.make = make,
                                                 .event = event,
                                                 .fact = fact,
                                                 .finish = finish,
                                                 .excused = excused,
                                                 .is_about_grants = true};
