/* replies.c - see replies.h. */
#include "checks/replies.h"

static bool is_of(const struct replied *replied, const struct event *event)
{
    return replied->attempt == event->attempt && replied->server == event->server;
}

static bool has(const struct replies *replies, const struct event *event)
{
    for (int i = 0; i < replies->count; i++) {
        const struct replied *replied = &replies->kept[i];
        if (is_of(replied, event) && command_is_same(&replied->command, &event->command) &&
            reply_is_same(&replied->reply, &event->reply))
            return true;
    }
    return false;
}

void replies_note(struct replies *replies, const struct event *event)
{
    struct replied *place = &replies->kept[replies->next];
    if (has(replies, event))
        return;
    if (replies->count == REPLIES_KEPT && place->attempt > replies->forgotten)
        replies->forgotten = place->attempt;
    *place = (struct replied){event->attempt, event->server, event->command, event->reply};
    replies->next = (replies->next + 1) % REPLIES_KEPT;
    replies->count += replies->count < REPLIES_KEPT;
}

bool replies_explain(const struct replies *replies, const struct event *event)
{
    bool has_such = false;
    if (event->reply.kind == REPLY_ERROR || event->attempt <= replies->forgotten)
        return true;
    for (int i = 0; i < replies->count; i++) {
        const struct replied *replied = &replies->kept[i];
        has_such |= is_of(replied, event) && replied->command.verb == event->command.verb &&
                    replied->command.key == event->command.key;
    }
    return !has_such || has(replies, event);
}
