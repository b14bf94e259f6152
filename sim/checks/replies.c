/* replies.c - see replies.h. */
#include "checks/replies.h"

static bool is_of(const struct replied *replied, const struct event *event)
{
    return replied->attempt == event->attempt && replied->server == event->server;
}

/* The one that was noted so many before the newest. */
static const struct replied *noted(const struct replies *replies, int before)
{
    return &replies->kept[(replies->next - 1 - before + REPLIES_KEPT) % REPLIES_KEPT];
}

static bool is_it(const struct replied *replied, const struct event *event)
{
    return is_of(replied, event) && command_is_same(&replied->command, &event->command) &&
           reply_is_same(&replied->reply, &event->reply);
}

void replies_note(struct replies *replies, const struct event *event)
{
    struct replied *place = &replies->kept[replies->next];
    /* What is of attempts before need not be looked at, which is most of it: where one was noted
     * late, its attempt's are noted twice, and take a place more. */
    for (int i = 0; i < replies->count && noted(replies, i)->attempt >= event->attempt; i++)
        if (is_it(noted(replies, i), event))
            return;
    if (replies->count == REPLIES_KEPT && place->attempt > replies->forgotten)
        replies->forgotten = place->attempt;
    *place = (struct replied){event->attempt, event->server, event->command, event->reply};
    replies->next = (replies->next + 1) % REPLIES_KEPT;
    replies->count += replies->count < REPLIES_KEPT;
}

bool replies_explain(const struct replies *replies, const struct event *event)
{
    if (event->reply.kind == REPLY_ERROR || event->attempt <= replies->forgotten)
        return true;
    bool has_such = false;
    for (int i = 0; i < replies->count; i++) { /* mostly it is the newest one */
        const struct replied *replied = noted(replies, i);
        if (is_it(replied, event))
            return true;
        has_such |= is_of(replied, event) && replied->command.verb == event->command.verb &&
                    replied->command.key == event->command.key;
    }
    return !has_such && event_is_on(event, KEY_LOCK);
}
