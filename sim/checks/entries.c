/* entries.c - see entries.h. */
#include "checks/entries.h"

#include "checks/finding.h"

#include <inttypes.h>
#include <stdio.h>

/* An append may be answered behind one that came behind it. */
void entries_note(struct entries *entries, const struct event *event)
{
    const int64_t told = event->reply.value + entries->cut;
    const bool is_fewer =
        entries->appends > 0 && told <= entries->most && event->from_us >= entries->most_us;
    if (!entries->is_odd && (is_fewer || event->reply.value < 1)) {
        entries->is_odd = true;
        entries->odd_client = event->client;
        entries->odd = told;
        entries->odd_us = event->time_us;
        entries->odd_after = entries->most;
    }
    if (event->reply.value < 1)
        return;
    if (entries->appends++ == 0 || told < entries->least)
        entries->least = told;
    if (told <= entries->most)
        return;
    entries->most = told;
    entries->most_us = event->time_us;
}

void entries_note_cut(struct entries *entries, const struct event *event)
{
    if (event->reply.kind == REPLY_INTEGER && event->reply.value > 0)
        entries->cut = entries->most;
}

void entries_forgotten(struct entries *entries)
{
    entries->was_forgotten |= entries->appends > 0;
}

/* Where nobody else writes, the list was empty at first. */
static bool lacks_appends(const struct entries *entries, const struct ledger *ledger,
                          int64_t unsure)
{
    const int64_t told = ledger->is_closed ? entries->most : entries->most - entries->least + 1;
    return entries->appends > 0 && (told < entries->appends || told - entries->appends > unsure);
}

bool entries_doubt(const struct entries *entries, const struct ledger *ledger, int64_t unsure,
                   char *text)
{
    if (entries->was_forgotten || !(entries->is_odd || lacks_appends(entries, ledger, unsure)))
        return false;
    if (entries->is_odd)
        (void)snprintf(text, STRANGE_BYTES,
                       "%s's append at %s was told that the list has %" PRId64
                       " entries, and one before it %" PRId64,
                       client_name(ledger, entries->odd_client), MS(entries->odd_us), entries->odd,
                       entries->odd_after);
    else
        (void)snprintf(text, STRANGE_BYTES,
                       "the list was told to have %" PRId64 " entries, and %" PRId64
                       " appends were seen",
                       entries->most, entries->appends);
    return true;
}
