/* follower_messages.c - see follower.h: what a command of a schedule is now. */
#include "scenario/follower.h"

#include "base/memory.h"
#include "scenario/naming.h"

#include <stdio.h>
#include <string.h>

enum {
    EXTRA_MAX = 64, /* commands that an operation takes more than it did: more are no end */
    NO_MESSAGE = -1,
};

/* What a command of the schedule is now. */
struct counterpart {
    int client, server, operation; /* operation: the client's, by number, in the schedule */
    int number;                    /* message.number, or NO_MESSAGE: it is left out */
    char was[OPAQUE_NAME_MAX], is[OPAQUE_NAME_MAX];
};

static enum fail make_about(struct follower *follower, enum choice_kind kind,
                            const struct message *message)
{
    struct choice choice = naming_choice(kind, message);
    if (kind == CHOICE_ANSWER_ERROR)
        choice.error = follower->schedule->choices[follower->at].error;
    return follower_make(follower, &choice);
}

/* What may be a transaction on the lock shows that only when it has been executed. */
static bool changes_lock(const struct message *message)
{
    return naming_effect(message) != EFFECT_READ || naming_is_command(message, "EXEC");
}

/* Does the operation under way name that command (NULL: one that changes the lock) of the server
 * again? What comes late may do so behind its end. */
static bool is_named_later(const struct follower *follower, int client, int server,
                           const char *command)
{
    int at = follower->at;
    const struct choice *now = &follower->schedule->choices[at], *next;
    bool is_over = false;
    while ((next = follower_next(follower, client, &at))) {
        is_over |= follower_begins(next->kind);
        if (!naming_is_about_message(next->kind) || next->server != server ||
            (is_over && next->kind != CHOICE_ARRIVE_LATE))
            continue;
        const char *name = choice_command(next);
        if (strcmp(name, choice_command(now)) != 0 &&
            (command ? !strcmp(name, command) : !naming_only_reads(name)))
            return true;
    }
    return false;
}

/* --- commands and what they are now --- */

static void pair(struct follower *follower, const struct choice *choice,
                 const struct message *message)
{
    struct actor_part *part = &follower->parts[choice->client];
    follower->counterparts =
        memory_resize(follower->counterparts, (size_t)follower->counterparts_count + 1,
                      sizeof *follower->counterparts);
    struct counterpart *made = &follower->counterparts[follower->counterparts_count++];
    *made = (struct counterpart){.client = choice->client,
                                 .server = choice->server,
                                 .operation = part->operation,
                                 .number = message ? message->number : NO_MESSAGE};
    (void)snprintf(made->was, sizeof made->was, "%s", choice_command(choice));
    (void)snprintf(made->is, sizeof made->is, "%s", message ? naming_command(message) : "");
    part->is_changed |= !message || !message->is_abandoned;
    if (message)
        follower_tell(follower, memory_format("%s's %s sends %s to server %d, not %s",
                                              follower_name(follower, choice->client),
                                              operation_name(message->op), made->is,
                                              choice->server + 1, made->was));
    else
        follower_tell(follower, memory_format("%s's %s sends no %s to server %d",
                                              follower_name(follower, choice->client),
                                              follower_operation(follower, choice->client),
                                              made->was, choice->server + 1));
}

static const struct counterpart *counterpart_of(const struct follower *follower,
                                                const struct choice *choice)
{
    for (int i = follower->counterparts_count - 1; i >= 0; i--) {
        const struct counterpart *it = &follower->counterparts[i];
        if (it->client == choice->client && it->server == choice->server &&
            !strcmp(it->was, choice_command(choice)))
            return it;
    }
    return NULL;
}

/* The place of the message that stands for the choice's; -1: none does. */
static int find_counterpart(const struct follower *follower, const struct choice *choice,
                            const struct message *messages, int count)
{
    const struct counterpart *now = counterpart_of(follower, choice);
    for (int i = 0; now && i < count; i++)
        if (messages[i].number == now->number && naming_suits(choice, &messages[i]) &&
            naming_is_command(&messages[i], now->is))
            return i;
    return -1;
}

/* The only one that the choice could mean; -1: there is none, -2: it is one of several. */
static int find_only(const struct choice *choice, const struct message *messages, int count)
{
    int found = -1;
    for (int i = 0; i < count; i++)
        if (naming_suits(choice, &messages[i]))
            found = found == -1 ? i : -2;
    return found;
}

/* --- an operation that takes more commands than it did --- */

static enum fail insert(struct follower *follower, const struct message *message)
{
    const int client = message->client;
    follower->parts[client].is_changed = true;
    follower_tell(follower, memory_format("%s's %s sends %s to server %d, too",
                                          follower_name(follower, client),
                                          follower_operation(follower, client),
                                          naming_command(message), message->server + 1));
    return make_about(follower, CHOICE_ARRIVE, message);
}

/* One stop further of an operation; *is_moved: there was one. */
static enum fail move_on(struct follower *follower, int client, bool *is_moved)
{
    struct message messages[MESSAGES_MAX];
    const int count = follower->world->ops->messages(follower->world, client, messages);
    *is_moved = true;
    for (int i = 0; i < count; i++) {
        if (messages[i].is_abandoned)
            continue;
        if (messages[i].state == MESSAGE_REQUEST)
            return insert(follower, &messages[i]);
        if (messages[i].state == MESSAGE_REPLY)
            return make_about(follower, CHOICE_HEAR, &messages[i]);
        if (messages[i].state == MESSAGE_VOID)
            return make_about(follower, CHOICE_GIVE_UP, &messages[i]);
    }
    const struct choice wake = {.kind = CHOICE_WAKE, .client = client, .server = -1};
    if (follower_view(follower, client).wake_us <= follower->world->ops->now_us(follower->world))
        return follower_make(follower, &wake);
    *is_moved = false;
    return FAIL_NONE;
}

/* The client's changed operation, to its end. */
enum fail follower_finish(struct follower *follower, int client)
{
    const struct actor_part *part = &follower->parts[client];
    bool is_moved = true;
    for (int i = 0; i < EXTRA_MAX && is_moved; i++) {
        if (!part->is_changed || part->is_left_out || follower_is_over(follower, client))
            return FAIL_NONE;
        enum fail fail = move_on(follower, client, &is_moved);
        if (fail)
            return fail;
    }
    return follower_lost(follower, "%s's %s comes to no end", follower_name(follower, client),
                         follower_operation(follower, client));
}

/* --- choices about messages --- */

/* Can such a choice be the first that the schedule says of a command? */
static bool is_first_of_command(enum choice_kind kind)
{
    return kind == CHOICE_ARRIVE || kind == CHOICE_LOSE_REQUEST || kind == CHOICE_DUPLICATE ||
           kind == CHOICE_ANSWER_ERROR || kind == CHOICE_GIVE_UP;
}

/* What the client sends to the server now, in the place of the choice's command. *is_done: the
 * choice is left out, or made. */
static enum fail align(struct follower *follower, const struct choice *choice, bool *is_done)
{
    const char *command = choice_command(choice);
    for (int i = 0; i < EXTRA_MAX; i++) {
        struct message messages[MESSAGES_MAX];
        const int count = follower->world->ops->messages(follower->world, choice->client, messages);
        int at = naming_find(choice, messages, count);
        for (int k = 0; at < 0 && k < count; k++)
            if (!messages[k].is_abandoned && messages[k].state == MESSAGE_REQUEST &&
                naming_suits(choice, &messages[k]))
                at = k;
        if (at < 0)
            return FAIL_NONE;
        const struct message *now = &messages[at];
        *is_done = true;
        if (naming_is_command(now, command))
            return follower_make(follower, choice);
        const bool is_reader = naming_only_reads(command);
        if (is_named_later(follower, choice->client, choice->server, naming_command(now)) ||
            (is_reader && changes_lock(now) &&
             is_named_later(follower, choice->client, choice->server, NULL))) {
            pair(follower, choice, NULL);
            return FAIL_NONE;
        }
        if (is_reader || changes_lock(now)) {
            pair(follower, choice, now);
            return make_about(follower, choice->kind, now);
        }
        *is_done = false;
        enum fail fail = insert(follower, now);
        bool is_moved;
        if (!fail)
            fail = move_on(follower, choice->client, &is_moved);
        if (fail)
            return fail;
    }
    return follower_lost(follower, "%s sends no end of commands that only read",
                         follower_name(follower, choice->client));
}

/* A choice about a command that is not there. */
static enum fail leave_out(struct follower *follower, const struct choice *choice)
{
    const int client = choice->client;
    const struct actor_part *part = &follower->parts[client];
    const struct counterpart *now = counterpart_of(follower, choice);
    if (part->is_left_out || (now && now->number == NO_MESSAGE))
        return FAIL_NONE;
    if (part->begun == CHOICE_COUNT || !follower_is_over(follower, client))
        return follower_lost(
            follower, "%s has no %s at server %d, and nothing that could stand for it",
            follower_name(follower, client), choice_command(choice), choice->server + 1);
    if (follower_refuse_error(follower, client))
        return FAIL_UNKNOWN;
    if (!now)
        pair(follower, choice, NULL);
    return FAIL_NONE;
}

enum fail follower_message(struct follower *follower, const struct choice *choice)
{
    struct message messages[MESSAGES_MAX];
    const int count = follower->world->ops->messages(follower->world, choice->client, messages);
    const struct counterpart *now = counterpart_of(follower, choice);
    bool is_done = false;
    if (naming_find(choice, messages, count) >= 0)
        return follower_make(follower, choice);
    int at = find_counterpart(follower, choice, messages, count);
    if (at >= 0)
        return make_about(follower, choice->kind, &messages[at]);
    if (now && now->number == NO_MESSAGE &&
        now->operation == follower->parts[choice->client].operation)
        return FAIL_NONE;
    if (is_first_of_command(choice->kind)) {
        enum fail fail = align(follower, choice, &is_done);
        if (fail || is_done)
            return fail;
        return leave_out(follower, choice);
    }
    at = find_only(choice, messages, count);
    if (at == -2)
        return follower_lost(
            follower, "%s has more than one command at server %d that could be its %s",
            follower_name(follower, choice->client), choice->server + 1, choice_command(choice));
    if (at < 0)
        return leave_out(follower, choice);
    pair(follower, choice, &messages[at]);
    return make_about(follower, choice->kind, &messages[at]);
}
