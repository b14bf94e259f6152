/* black_box_holds.c - see black_box.h: two that believe at once, and grants that are told late. */
#include "checks/black_box_parts.h"

static void say_two(const struct black_box *box, int first, int second, const struct fact *fact,
                    struct finding *finding)
{
    box_say_called(box, first, "", finding);
    box_say_called(box, second, ", too", finding);
    finding_say(finding, "From %s on both believed to hold it.", MS(fact->time_us));
}

static void overlap_certain(struct black_box *box, const struct fact *fact, int other)
{
    static const enum property both[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION};
    const struct ledger *ledger = box->ledger;
    box->overlap_index = fact->index;
    for (int i = 0; i < 2; i++) {
        struct finding *finding = &box->findings[both[i]];
        if (!box_hit(box, both[i], CAUSE_BUG_OR_LOSS, fact->index))
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
    struct finding *finding = &box->findings[PROPERTY_MUTUAL_EXCLUSION];
    int over = is_late ? fact->client : other;
    if (!box_hit(box, PROPERTY_MUTUAL_EXCLUSION, is_late ? CAUSE_LATE_GRANT : CAUSE_OVERRUN,
                 fact->index))
        return;
    say_two(box, other, fact->client, fact, finding);
    finding_say(finding, "%s's own lease had ended at %s.", client_name(ledger, over),
                MS(box_last_end_us(box, over)));
    finding_say(finding, "%s in %s.", is_late ? "Late grant" : "Overrun",
                client_name(ledger, over));
}

static void overlap_doubtful(struct black_box *box, const struct fact *fact, int other)
{
    static const enum property both[] = {PROPERTY_MUTUAL_EXCLUSION, PROPERTY_LEASE_EXCLUSION};
    for (int i = 0; i < 2; i++) {
        struct finding *finding = &box->findings[both[i]];
        if (!box_doubt(box, both[i]))
            continue;
        say_two(box, other, fact->client, fact, finding);
        finding_say(finding, "Whether a lease was over by then nobody saw.");
    }
}

static void overlaps(struct black_box *box, const struct fact *fact, int other, bool is_late)
{
    const int client = fact->client;
    const int64_t time_us = fact->time_us;
    if (box_is_certain(box, client, time_us) && box_is_certain(box, other, time_us))
        overlap_certain(box, fact, other);
    else if (is_late || box_is_over(box, other, time_us))
        overlap_over(box, fact, other, is_late);
    else
        overlap_doubtful(box, fact, other);
}

/* It was told of its grant when that was not certain any more. */
static void granted_late(struct black_box *box, const struct fact *fact, bool is_late)
{
    const struct ledger *ledger = box->ledger;
    struct finding *finding = &box->findings[PROPERTY_FRESH_GRANT];
    if (is_late && box_hit(box, PROPERTY_FRESH_GRANT, CAUSE_LATE_GRANT, fact->index)) {
        box_say_called(box, fact->client, "", finding);
        finding_say(finding, "Its lease, of %s from the call, had ended at %s.",
                    MS(ledger->lease_us), MS(box_last_end_us(box, fact->client)));
        finding_say(finding, "Late grant in %s: the scheme must refuse it.",
                    client_name(ledger, fact->client));
    } else if (!is_late && box_doubt(box, PROPERTY_FRESH_GRANT)) {
        box_say_called(box, fact->client, "", finding);
        finding_say(finding,
                    "Whether there was lease left nobody saw: it may have asked long after "
                    "the call, or renewed.");
    }
}

void box_held(struct black_box *box, const struct fact *fact)
{
    const struct ledger *ledger = box->ledger;
    if (ledger->head->anybody_releases) /* who believes to hold it may be wrong, and no harm done */
        return;
    box->clients[fact->client].renewed = renewed_nothing;
    /* Late timers are the machine's delay. */
    bool is_late =
        box_is_over(box, fact->client, fact->time_us - ledger->clients[fact->client].rang_late_us);
    int other = ledger->locks[fact->lock].first_holder;
    for (; other != NOBODY; other = ledger->clients[other].next)
        if (other != fact->client)
            overlaps(box, fact, other, is_late);
    if (ledger->has_lease && !box_is_certain(box, fact->client, fact->time_us))
        granted_late(box, fact, is_late);
}

/* Two believe at once, one of them behind its lease: it may have another one now. */
void box_renewed(struct black_box *box, const struct event *event)
{
    const struct ledger *ledger = box->ledger;
    const struct ledger_client *client = &ledger->clients[event->client];
    if (event->kind != EVENT_CALL || !client->is_holding ||
        ledger->locks[client->lock].holders < 2 || !box_doubt(box, PROPERTY_LEASE_EXCLUSION))
        return;
    finding_say(&box->findings[PROPERTY_LEASE_EXCLUSION],
                "%s asked for its lease anew at %s, while another client believed to hold the "
                "lock. Whether it was given one nobody saw.",
                client_name(ledger, event->client), MS(event->time_us));
}
