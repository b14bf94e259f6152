/* access.c - see access.h. */
#include "checks/access.h"

static void called(struct access *access)
{
    access->is_called = true;
    access->is_executed = access->is_read = access->is_refused = access->is_unlike = false;
}

static void asked(struct access *access, const struct event *event)
{
    access->is_read = !event->opaque && event->command.verb == VERB_GET;
    access->is_unlike =
        !event->opaque && event->command.verb == VERB_SET && event->command.key == KEY_COUNTER &&
        access->heard_attempt == event->attempt && access->heard + 1 != event->command.value;
}

static void heard(struct access *access, const struct event *event)
{
    access->is_refused = event->reply.kind == REPLY_ERROR;
    if (!access->is_called || !access->is_read || access->is_refused ||
        !event_is_on(event, KEY_COUNTER))
        return;
    access->heard = event->reply.kind == REPLY_VALUE ? event->reply.value : 0;
    access->heard_attempt = event->attempt;
}

void access_event(struct access *access, const struct event *event)
{
    switch (event->kind) {
    case EVENT_CALL:
        called(access);
        break;
    case EVENT_SEND:
        asked(access, event);
        break;
    case EVENT_EXECUTE:
        access->is_executed = true;
        access->is_refused = event->reply.kind == REPLY_ERROR;
        break;
    case EVENT_HEAR:
        heard(access, event);
        break;
    case EVENT_RETURN:
        access->is_called = false;
        break;
    default:
        break;
    }
}

bool access_is_shown(const struct access *access)
{
    return (access->is_executed || access->is_read) && !access->is_refused;
}

bool access_is_unlike(const struct access *access, int attempt)
{
    return access->is_unlike && access->heard_attempt == attempt;
}
