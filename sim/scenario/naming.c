/* naming.c - see naming.h. */
#include "scenario/naming.h"

#include "base/names.h"

#include <assert.h>
#include <string.h>

/* What a choice about a message wants of it. */
static const struct wanted_message {
    const char *words; /* NULL: the choice is about no message */
    enum message_state state;
    bool is_any_state;
    bool is_waited_for, is_late; /* only such a one; neither: the waited-for one first */
} wants[CHOICE_COUNT] = {
    [CHOICE_ARRIVE] = {.words = "a request on its way", .state = MESSAGE_REQUEST},
    [CHOICE_ARRIVE_LATE] = {.words = "a late request on its way",
                            .state = MESSAGE_REQUEST,
                            .is_late = true},
    [CHOICE_HEAR] = {.words = "a reply on its way", .state = MESSAGE_REPLY},
    [CHOICE_GIVE_UP] = {.words = "a command that it waits for",
                        .is_any_state = true,
                        .is_waited_for = true},
    [CHOICE_LOSE_REQUEST] = {.words = "a request on its way", .state = MESSAGE_REQUEST},
    [CHOICE_LOSE_REPLY] = {.words = "a reply on its way", .state = MESSAGE_REPLY},
    [CHOICE_RESEND] = {.words = "a lost command", .state = MESSAGE_VOID},
    [CHOICE_DUPLICATE] = {.words = "a request on its way", .state = MESSAGE_REQUEST},
    [CHOICE_ANSWER_ERROR] = {.words = "a request that it waits for",
                             .state = MESSAGE_REQUEST,
                             .is_waited_for = true},
};

const char *naming_command(const struct message *message)
{
    return message->opaque.name[0] ? message->opaque.name : verb_name(message->command.verb);
}

bool naming_is_command(const struct message *message, const char *name)
{
    return strcmp(naming_command(message), name) == 0;
}

bool naming_only_reads(const char *name)
{
    static const char *const names[] = {"GET",     "EXISTS", "TTL",     "PTTL",   "TYPE",   "HGET",
                                        "HEXISTS", "HLEN",   "HGETALL", "LRANGE", "ZSCORE", "WATCH",
                                        "UNWATCH", "PING",   "TIME",    "SCRIPT"};
    return NAMES_FIND(names, name) >= 0;
}

enum effect naming_effect(const struct message *message)
{
    static const enum effect effects[OP_COUNT] = {[OP_ACQUIRE] = EFFECT_SET,
                                                  [OP_RELEASE] = EFFECT_DELETE,
                                                  [OP_EXTEND] = EFFECT_EXPIRE,
                                                  [OP_ACCESS] = EFFECT_READ};
    if (!message->opaque.name[0])
        return verb_effect(message->command.verb);
    const bool is_on_lock = message->opaque.keys >> KEY_LOCK & 1;
    return is_on_lock && !naming_only_reads(message->opaque.name) ? effects[message->op]
                                                                  : EFFECT_READ;
}

static bool is_wanted(const struct wanted_message *wanted, const struct message *message)
{
    if (wanted->is_waited_for && message->is_abandoned)
        return false;
    if (message->is_silent && !wanted->is_any_state)
        return false;
    if (wanted->is_late && !message->is_abandoned)
        return false;
    return wanted->is_any_state || message->state == wanted->state;
}

bool naming_suits(const struct choice *choice, const struct message *message)
{
    return message->server == choice->server && is_wanted(&wants[choice->kind], message);
}

bool naming_is_about_message(enum choice_kind kind)
{
    return wants[kind].words != NULL;
}

struct choice naming_choice(enum choice_kind kind, const struct message *message)
{
    struct choice choice = {.kind = kind,
                            .client = message->client,
                            .server = message->server,
                            .verb = message->command.verb};
    memcpy(choice.opaque, message->opaque.name, sizeof choice.opaque);
    return choice;
}

int naming_find(const struct choice *choice, const struct message *messages, int count)
{
    int late = -1;
    assert(naming_is_about_message(choice->kind));
    for (int i = 0; i < count; i++) {
        const struct message *message = &messages[i];
        if (!naming_suits(choice, message) || !naming_is_command(message, choice_command(choice)))
            continue;
        if (!message->is_abandoned)
            return i;
        if (late < 0)
            late = i;
    }
    return late;
}

int naming_find_or_say(const struct choice *choice, const struct message *messages, int count,
                       const char *name, struct failure *failure)
{
    int found = naming_find(choice, messages, count);
    if (found < 0)
        failure_set(failure, FAIL_UNKNOWN, "%s has no %s at server %d that is %s", name,
                    choice_command(choice), choice->server + 1, wants[choice->kind].words);
    return found;
}
