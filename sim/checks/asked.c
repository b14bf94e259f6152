/* asked.c - see asked.h. */
#include "checks/asked.h"

/* Who looked may have gone on. A script that changed nothing has decided so: it could have. */
static bool is_look(const struct event *event)
{
    return event->opaque ? opaque_is_read(event->opaque->name)
                         : verb_effect(event->command.verb) == EFFECT_READ;
}

void asked_note(struct operation_asked *asked, const struct event *event, bool is_current)
{
    if (event->kind == EVENT_CALL) {
        *asked = (struct operation_asked){0};
    } else if (event->kind == EVENT_SEND) {
        asked->is_sent = true;
    } else if (event->kind == EVENT_FAULT ||
               (event->kind == EVENT_HEAR && event->reply.kind == REPLY_ERROR)) {
        asked->is_explained = true;
    } else if (event->kind == EVENT_EXECUTE && is_current && event_is_on(event, KEY_LOCK)) {
        asked->is_executed = true;
        asked->is_decided |= !is_look(event);
    }
}

bool asked_may_lack(const struct operation_asked *asked, const struct ledger *ledger,
                    enum result result, bool is_awaiting)
{
    if (head_is_simulated(ledger->head) || asked->is_decided || asked->is_explained)
        return false;
    const bool is_unseen = asked->is_executed ? is_awaiting : asked->is_sent;
    if (result == RESULT_RELEASED)
        return !ledger->head->has_all_commands || (is_unseen && !ledger->is_struck);
    return !ledger->head->has_all_commands && (is_unseen || !ledger->has_sends);
}
