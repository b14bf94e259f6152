/* timeline_words.c - see timeline_words.h. Words only: nothing here decides what a run means. */
#include "report/timeline_words.h"

#include "base/memory.h"
#include "base/units.h"
#include "checks/change.h"
#include "scenario/choice.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMAND_TEXT_MAX = 100,
    SERVER_TEXT_MAX = 24,
    TOKEN_NAME_MAX = NAME_MAX_BYTES + 16,
    TOKENS_TOLD = 6, /* more of them: the others go by the same rule */
};

/* A number this large is drawn at random (or an instant in microseconds, which nobody called a
 * token). */
static const int64_t token_least = 100000000000;

static void put(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list words;
    va_start(words, format);
    vsnprintf(text + used, TIMELINE_TEXT_MAX - used, format, words);
    va_end(words);
}

static const char *client_name(const struct timeline *timeline, int client)
{
    return client >= 0 && client < timeline->head.clients ? timeline->head.names[client] : "nobody";
}

/* "the server", or "server 2" where there are several. */
static const char *server_name(const struct timeline *timeline, int server, char *text)
{
    if (timeline->head.servers <= 1)
        return "the server";
    snprintf(text, SERVER_TEXT_MAX, "server %d", server + 1);
    return text;
}

static bool is_same_attempt(const struct event *one, const struct event *other)
{
    return one->client == other->client && one->attempt == other->attempt;
}

/* Is the token that an attempt has drawn (a number), or that it put into the lock key (a text), an
 * other one's, too? Then it is nobody's name. */
static bool is_shared(const struct timeline *timeline, const struct event *own, const char *text)
{
    for (int i = 0; i < timeline->events_count; i++) {
        const struct event *event = &timeline->events[i];
        if (event->op != OP_ACQUIRE || is_same_attempt(event, own))
            continue;
        if (text ? event->kind == EVENT_SEND && event->opaque && strstr(event->opaque->text, text)
                 : event->kind == EVENT_CALL && event->token == own->token)
            return true;
    }
    return false;
}

/* The name of the token of an attempt, "A1", by which rows call it. False: they do not. is_text: a
 * program put it into the lock key; else own draws it. */
static bool is_named(const struct timeline *timeline, const struct event *own, const char *token,
                     bool is_text, char name[TOKEN_NAME_MAX])
{
    snprintf(name, TOKEN_NAME_MAX, "%s%d", client_name(timeline, own->client), own->attempt);
    return strlen(name) < strlen(token) && !is_shared(timeline, own, is_text ? token : NULL);
}

/* Tokens are long random numbers; in a row they are called by their attempt: "A1". What is short
 * stays a number, and one that is drawn twice stays what it is. */
static void name_token(const struct timeline *timeline, int64_t value, char *text)
{
    char number[24], name[TOKEN_NAME_MAX], rest[TIMELINE_TEXT_MAX];
    snprintf(number, sizeof number, "%" PRId64, value);
    char *at = strstr(text, number);
    if (value < token_least || !at)
        return;
    for (int i = 0; i < timeline->events_count; i++) {
        const struct event *event = &timeline->events[i];
        if (event->kind != EVENT_CALL || event->op != OP_ACQUIRE || event->token != value)
            continue;
        if (!is_named(timeline, event, number, false, name))
            return;
        snprintf(rest, sizeof rest, "%s%s", name, at + strlen(number));
        memcpy(at, rest, strlen(rest) + 1); /* shorter than what stood there */
        return;
    }
}

/* What an attempt of a foreign program has put into the lock key, by that attempt's name. */
static void name_text(const struct timeline *timeline, const struct event *event, char *text)
{
    char name[TOKEN_NAME_MAX], rest[TIMELINE_TEXT_MAX];
    for (int i = 0; event->effects && i < event->effects->count; i++) {
        const char *token = event->effects->texts[i].new_value;
        const char *at = event->effects->on[i].key == KEY_LOCK ? strstr(text, token) : NULL;
        if (!at || !is_named(timeline, event, token, true, name))
            continue;
        snprintf(rest, sizeof rest, "%.*s%s%s", (int)(at - text), text, name, at + strlen(token));
        memcpy(text, rest, strlen(rest) + 1); /* shorter than what stood there */
    }
}

static void name_tokens(const struct timeline *timeline, const struct event *event, int64_t value,
                        char *text)
{
    if (!event->opaque)
        name_token(timeline, value, text);
    for (int i = 0; event->opaque && i < timeline->events_count; i++)
        name_text(timeline, &timeline->events[i], text);
}

/* The text of a value that a foreign program's command has found in a key, or put there; NULL:
 * nobody wrote it down. Borrowed from the timeline. */
static const char *text_of_value(const struct timeline *timeline, int64_t value)
{
    for (int i = 0; i < timeline->events_count; i++) {
        const struct effects *effects = timeline->events[i].effects;
        for (int k = 0; effects && k < effects->count; k++) {
            const char *old = effects->texts[k].old_value, *new = effects->texts[k].new_value;
            int64_t number;
            if (*old && value_number(old, &number) && number == value)
                return old;
            if (*new &&value_number(new, &number) && number == value)
                return new;
        }
    }
    return NULL;
}

/* What was read of a key is told as it stands there, by the name of the attempt that wrote it, and
 * never by the number that it is compared by. reply: COMMAND_TEXT_MAX bytes. */
static void print_reply(const struct timeline *timeline, const struct event *event, char *reply)
{
    const int64_t value = event->reply.value;
    if (!event->opaque || event->reply.kind != REPLY_VALUE) {
        reply_print(&event->reply, reply, COMMAND_TEXT_MAX);
        name_token(timeline, value, reply);
        return;
    }
    const char *text = text_of_value(timeline, value);
    if (!text && value > -token_least && value < token_least) {
        reply_print(&event->reply, reply, COMMAND_TEXT_MAX);
        return;
    }
    snprintf(reply, COMMAND_TEXT_MAX, "%s", text ? text : "a value");
    name_tokens(timeline, event, value, reply);
}

/* --- the key --- */

enum key_change words_key_change(const struct event *event)
{
    const struct key_effect effect = change_on(event, KEY_LOCK);
    if (did_is_expiry(effect.did))
        return KEY_EXTENDED;
    if (effect.did == DID_DELETED)
        return KEY_REMOVED;
    bool is_half = effect.did == DID_CREATED && effect.before == BEFORE_UNKNOWN;
    return change_is_write(&effect) && !is_half ? KEY_WRITTEN : KEY_KEPT;
}

bool words_expiry(const struct event *event, int64_t *ttl_us)
{
    const struct key_effect effect = change_on(event, KEY_LOCK);
    *ttl_us = effect.ttl_us;
    return change_is_any(&effect) && effect.has_ttl;
}

bool words_is_renewal(const struct event *event)
{
    if (event->opaque)
        return event->op == OP_EXTEND || event->lane == LANE_RENEW;
    return verb_effect(event->command.verb) == EFFECT_EXPIRE &&
           verb_compares(event->command.verb) == COMPARES_VALUE;
}

bool words_is_yes(const struct reply *reply)
{
    return reply->kind == REPLY_OK || reply_is_integer(reply, 1);
}

bool words_foreign_key(const struct timeline *timeline, const struct event *event, int holder,
                       char *text)
{
    if (event->kind != EVENT_EXECUTE || !event_is_on(event, KEY_LOCK) || holder < 0 ||
        holder == event->client)
        return false;
    const char *owner = client_name(timeline, holder);
    switch (words_key_change(event)) {
    case KEY_KEPT:
        return false;
    case KEY_WRITTEN:
        put(text, ", overwrites %s's key", owner);
        break;
    case KEY_EXTENDED:
        put(text, ", changes the expiry of %s's key", owner);
        break;
    case KEY_REMOVED:
        put(text, ", removes %s's key", owner);
        break;
    }
    return true;
}

void words_key_expires(const struct timeline *timeline, int server, int client, char *text)
{
    char name[SERVER_TEXT_MAX];
    put(text, "%s's key expires", client_name(timeline, client));
    if (timeline->head.servers > 1)
        put(text, " at %s", server_name(timeline, server, name));
}

/* The drawn client before that one, or behind it, in the same process; -1: none. */
static int find_mate(const struct timeline *timeline, int at, int step)
{
    char(*processes)[NAME_MAX_BYTES] = timeline->head.processes;
    for (int i = at + step; i >= 0 && i < timeline->clients_count; i += step)
        if (!strcmp(processes[timeline->clients[i]], processes[timeline->clients[at]]))
            return i;
    return -1;
}

static void add_words(char **text, const char *one, const char *two)
{
    char *longer = memory_format("%s%s%s", *text, one, two);
    free(*text);
    *text = longer;
}

char *words_processes(const struct timeline *timeline)
{
    if (!timeline->head.processes)
        return NULL;
    char *text = memory_text("");
    for (int first = 0; first < timeline->clients_count; first++) {
        if (find_mate(timeline, first, -1) >= 0)
            continue;
        bool is_one = true;
        for (int i = first; i >= 0; i = find_mate(timeline, i, 1)) {
            const char *before = i == first                       ? first ? "; " : ""
                                 : find_mate(timeline, i, 1) >= 0 ? ", "
                                                                  : " and ";
            add_words(&text, before, client_name(timeline, timeline->clients[i]));
            is_one &= i == first;
        }
        add_words(&text, is_one ? " runs in " : " run in ",
                  timeline->head.processes[timeline->clients[first]]);
    }
    add_words(&text, ".", "");
    return text;
}

/* Does a row call a token so? */
static bool is_in_rows(const struct timeline *timeline, const char *name)
{
    const size_t length = strlen(name);
    for (int i = 0; i < timeline->rows_count; i++) {
        const char *text = timeline->rows[i].text;
        for (const char *at = text; (at = strstr(at, name)); at += length)
            if ((at == text || !isalnum((unsigned char)at[-1])) &&
                !isalnum((unsigned char)at[length]))
                return true;
    }
    return false;
}

/* The token that an event shows first; NULL: none. number: 24 bytes. */
static const char *token_of(const struct event *event, bool *is_text, char *number)
{
    *is_text = event->effects != NULL;
    for (int i = 0; *is_text && i < event->effects->count; i++)
        if (event->effects->on[i].key == KEY_LOCK && *event->effects->texts[i].new_value)
            return event->effects->texts[i].new_value;
    if (event->kind != EVENT_CALL || event->op != OP_ACQUIRE || event->token < token_least)
        return NULL;
    snprintf(number, 24, "%" PRId64, event->token);
    return number;
}

char *words_tokens(const struct timeline *timeline)
{
    char *text = memory_text(""), number[24], name[TOKEN_NAME_MAX];
    int told = 0;
    for (int i = 0; i < timeline->events_count && told <= TOKENS_TOLD; i++) {
        bool is_text;
        const struct event *event = &timeline->events[i];
        const char *token = token_of(event, &is_text, number);
        char *words =
            token && is_named(timeline, event, token, is_text, name) && is_in_rows(timeline, name)
                ? memory_format("%s is %s", name, token)
                : NULL;
        if (words && !strstr(text, words)) {
            const bool is_last = ++told > TOKENS_TOLD;
            add_words(&text, *text ? ", " : "Tokens: ", is_last ? "and so on" : words);
        }
        free(words);
    }
    if (*text) {
        add_words(&text, ".", "");
        return text;
    }
    free(text);
    return NULL;
}

void words_lease_ends(const struct timeline *timeline, int client, char *text)
{
    put(text, "%s's own lease ends", client_name(timeline, client));
}

/* --- events --- */

static void put_call(const struct timeline *timeline, const struct event *event, char *text)
{
    static const char *const verbs[OP_COUNT] = {[OP_ACQUIRE] = "acquires",
                                                [OP_RELEASE] = "releases",
                                                [OP_EXTEND] = "extends",
                                                [OP_ACCESS] = "works"};
    put(text, "%s%s %s", *text ? "; " : "", client_name(timeline, event->client), verbs[event->op]);
}

static void put_send(const struct timeline *timeline, const struct event *event,
                     const struct event *last, char *text)
{
    char command[COMMAND_TEXT_MAX], name[SERVER_TEXT_MAX];
    event_command(event, command, sizeof command);
    name_tokens(timeline, event, event->command.value, command);
    if (last && last->kind == EVENT_SEND && event_is_same_command(last, event)) {
        put(text, ", %d", event->server + 1);
        return;
    }
    if (last && last->kind == EVENT_CALL)
        put(text, ": %s", command);
    else if (last)
        put(text, ", sends %s", command);
    else
        put(text, "%s sends %s", client_name(timeline, event->client), command);
    if (timeline->head.servers > 1)
        put(text, " to %s", server_name(timeline, event->server, name));
}

static void put_execute(const struct timeline *timeline, const struct event *event, char *text)
{
    char reply[COMMAND_TEXT_MAX], name[SERVER_TEXT_MAX];
    print_reply(timeline, event, reply);
    put(text, "%s executes %s's %s → %s", server_name(timeline, event->server, name),
        client_name(timeline, event->client), event_command_name(event), reply);
    const struct key_effect effect = change_on(event, KEY_LOCK);
    if (event->opaque && effect.did != DID_NOTHING)
        put(text, " (%s)", did_name(effect.did));
}

static void put_hear(const struct timeline *timeline, const struct event *event, char *text)
{
    char reply[COMMAND_TEXT_MAX], name[SERVER_TEXT_MAX];
    print_reply(timeline, event, reply);
    put(text, "%s hears %s", client_name(timeline, event->client), reply);
    if (timeline->head.servers > 1)
        put(text, " from %s", server_name(timeline, event->server, name));
}

static void put_return(const struct timeline *timeline, const struct event *event,
                       const struct event *last, char *text)
{
    static const char *const ends[RESULT_COUNT] = {
        [RESULT_GRANTED] = "it has the lock",
        [RESULT_REFUSED] = "refused",
        [RESULT_RELEASED] = "released",
        [RESULT_NOT_MINE] = "not its lock any more",
        [RESULT_DONE] = "done",
        [RESULT_STALE] = "refused as stale",
        [RESULT_FAILED] = "failed, outcome unknown",
        [RESULT_CANCELLED] = "cancelled",
        [RESULT_UNSUPPORTED] = "not supported",
        [RESULT_CRASHED] = "its own code trips",
    };
    if (!last)
        put(text, "%s", client_name(timeline, event->client));
    if (event->op == OP_EXTEND && event->result == RESULT_DONE)
        put(text, ": extended");
    else
        put(text, ": %s", ends[event->result] ? ends[event->result] : "returns");
    if (event->result == RESULT_GRANTED && event->fence > 0)
        put(text, " with fence %lld", (long long)event->fence);
}

/* Somebody else's history need not say whom a fault has struck. */
static bool names_victims(const struct event *event, enum choice_kind kind)
{
    return (event->client >= 0 || !choice_names_client(kind)) &&
           (event->server >= 0 || !choice_names_server(kind));
}

/* As the schedule would say it, where the fault is a choice. */
static void put_fault(const struct timeline *timeline, const struct event *event, char *text)
{
    char line[COMMAND_TEXT_MAX], amount[UNITS_TEXT_MAX];
    enum choice_kind kind;
    if (!event->opaque && choice_of_fault(event->fault, &kind) && names_victims(event, kind)) {
        struct choice choice = {.kind = kind,
                                .client = event->client,
                                .server = event->server,
                                .verb = event->command.verb,
                                .amount_us = event->amount_us,
                                .error = event->reply.error};
        put(text, "%s",
            choice_print(&choice, (const char(*)[NAME_MAX_BYTES])timeline->head.names, line,
                         sizeof line));
        return;
    }
    put(text, "%s", fault_name(event->fault));
    if (event->client >= 0)
        put(text, " strikes %s%s%s", client_name(timeline, event->client),
            event->opaque ? "'s " : "", event->opaque ? event->opaque->name : "");
    if (event->amount_us)
        put(text, ", %s", units_print_duration(event->amount_us, amount));
}

void words_event(const struct timeline *timeline, const struct event *event,
                 const struct event *last, char *text)
{
    switch (event->kind) {
    case EVENT_CALL:
        put_call(timeline, event, text);
        break;
    case EVENT_SEND:
        put_send(timeline, event, last, text);
        break;
    case EVENT_EXECUTE:
        put_execute(timeline, event, text);
        break;
    case EVENT_HEAR:
        put_hear(timeline, event, text);
        break;
    case EVENT_RETURN:
        put_return(timeline, event, last, text);
        break;
    case EVENT_NOTICE:
        put(text,
            event->is_inferred ? "%s%s, not heard of any more, is taken to have stopped"
                               : "%s%s is told that it lost the lock",
            *text ? "; " : "", client_name(timeline, event->client));
        break;
    case EVENT_EXIT:
        put(text, "%s%s's process ends", *text ? "; " : "", client_name(timeline, event->client));
        break;
    case EVENT_STRAND:
        put(text, "%s%s waits for nothing", *text ? "; " : "",
            client_name(timeline, event->client));
        break;
    case EVENT_WAKE:
        put(text,
            event->amount_us > 0 ? "%s goes on late, as this machine was busy" : "%s's timer rings",
            client_name(timeline, event->client));
        break;
    case EVENT_FAULT:
        put_fault(timeline, event, text);
        break;
    case EVENT_TIME:
    case EVENT_COUNT:
        break;
    }
}
