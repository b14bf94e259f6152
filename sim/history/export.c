/* export.c - see export.h. */
#include "history/export.h"

#include "base/memory.h"
#include "base/suggest.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct export_rules *const formats[] = {
#define EXPORT(name, words) &export_##name,
#include "history/exports.def"
#undef EXPORT
};
enum { NO_LOCK = -1, FORMATS_COUNT = sizeof formats / sizeof *formats };

enum fail export_named(const char *name, const struct export_rules **rules, struct failure *failure)
{
    char suggestion[SUGGEST_BYTES];
    const char *names[FORMATS_COUNT];
    for (int i = 0; i < FORMATS_COUNT; i++) {
        names[i] = formats[i]->name;
        if (!strcmp(name, names[i])) {
            *rules = formats[i];
            return FAIL_NONE;
        }
    }
    return failure_set(failure, FAIL_INPUT, "a history is not converted to '%.40s'%s", name,
                       suggest_words(suggest_nearest(name, names, FORMATS_COUNT),
                                     "; there are knossos, porcupine and perfetto", suggestion));
}

void export_text(struct export *export, const char *text)
{
    json_t *value = json_string(text);
    if (value)
        json_dumpf(value, export->out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    else
        fputs("\"?\"", export->out); /* no UTF-8 */
    json_decref(value);
}

void export_start(struct export *export, const struct export_rules *rules, FILE *out,
                  const struct history_head *head)
{
    *export = (struct export){.out = out, .head = head, .last_us = -1};
    export->clients = memory_new((size_t)head->clients, sizeof *export->clients);
    for (int i = 0; i < head->clients; i++)
        export->clients[i].lock = NO_LOCK;
    if (rules->begin)
        rules->begin(export);
}

static void change_places(struct export_client *place, struct export_client *other)
{
    const struct export_client was = *place, is = *other;
    *place = is;
    *other = was;
    place->next = was.next;
    other->next = is.next;
}

bool export_look_at(struct export *export, int client, int lock)
{
    struct export_client *place = &export->clients[client], *other = place->next;
    if (place->lock == lock)
        return true;
    while (other && other->lock != lock)
        other = other->next;
    if (other)
        change_places(place, other);
    return other;
}

/* The same, which has come there now. */
static void come_to(struct export *export, int client, int lock)
{
    struct export_client *place = &export->clients[client];
    if (export_look_at(export, client, lock))
        return;
    if (place->lock != NO_LOCK) {
        struct export_client *made = memory_new(1, sizeof *made);
        *made = *place;
        *place = (struct export_client){.next = made};
    }
    place->lock = lock;
}

int64_t export_stamp_ns(const struct export *export)
{
    const int64_t order_max = 999;
    return export->last_us * 1000 + (export->order < order_max ? export->order : order_max);
}

bool export_is_of_another(const struct export_client *client)
{
    return client->op != OP_ACQUIRE && client->owner != 0 && client->attempt != client->owner;
}

void export_retire(struct export_client *client)
{
    client->may_come |= client->op == OP_ACQUIRE;
    client->retired++;
    client->owner = client->is_holding ? EXPORT_NO_ATTEMPT : 0;
}

static void called(struct export *export, const struct event *event)
{
    struct export_client *client = &export->clients[event->client];
    client->was_holding = client->is_holding;
    client->is_holding &= event->op != OP_RELEASE;
    client->is_open = true;
    client->op = event->op;
    client->attempt = event->attempt;
    client->call_us = client->drawn_us = event->time_us;
    client->call_ns = export_stamp_ns(export);
    client->renewals += event->op == OP_EXTEND;
}

/* Where anybody may release: the hold of another one. */
static void end_others(struct export *export, int client)
{
    for (int i = 0; i < export->head->clients; i++)
        if (export_look_at(export, i, export->clients[client].lock))
            export->clients[i].is_holding &= i == client;
}

/* It is another's now. */
static void end_stays(struct export *export, int client)
{
    const int lock = export->clients[client].lock;
    for (int i = 0; i < export->head->clients; i++)
        if (i != client && export_look_at(export, i, lock))
            export->clients[i].may_stay = false;
}

/* Which attempt has the lock, by what it was told; one without an answer has ended. Of a lock that
 * was entered again nobody says which. */
static void pass_on(struct export_client *client, enum result result)
{
    if (client->op == OP_ACQUIRE && result == RESULT_GRANTED)
        client->owner = client->is_holding ? EXPORT_NO_ATTEMPT : client->attempt;
    else if (result_outcome(result) == OUTCOME_INFO)
        export_retire(client);
    else if (client->op == OP_RELEASE && client->attempt == client->owner &&
             result != RESULT_UNSUPPORTED)
        client->owner = 0;
}

static void answered(struct export *export, const struct event *event)
{
    struct export_client *client = &export->clients[event->client];
    const enum outcome outcome = result_outcome(event->result);
    const bool is_ok = outcome == OUTCOME_OK;
    client->is_open = false;
    client->return_ns = export_stamp_ns(export);
    client->drawn_us = event->time_us;
    if (event->op == OP_ACCESS)
        return;
    pass_on(client, event->result);
    if (event->op == OP_RELEASE && outcome == OUTCOME_INFO && client->was_holding) {
        client->may_stay = true;
        export->stay++;
    }
    if (event->op == OP_RELEASE && is_ok && export->head->anybody_releases && !client->was_holding)
        end_others(export, event->client);
    if (event->op == OP_EXTEND && event->result == RESULT_NOT_MINE)
        client->is_holding = false;
    if (event->op != OP_ACQUIRE || !is_ok)
        return;
    client->is_holding = true;
    client->held_us = event->time_us;
    if (export->stay)
        end_stays(export, event->client);
}

/* No answer comes any more to what is open. */
static void give_up(struct export *export, const struct export_rules *rules, int number)
{
    struct export_client *client = &export->clients[number];
    if (!client->is_open)
        return;
    if (rules->open)
        rules->open(export, number);
    client->is_open = false;
    client->drawn_us = export->last_us;
    if (client->op != OP_ACCESS)
        export_retire(client);
}

/* The client's process has ended: at each lock. */
static void leave(struct export *export, const struct export_rules *rules,
                  const struct event *event)
{
    struct export_client *place = &export->clients[event->client];
    int count = 0;
    come_to(export, event->client, event->lock);
    for (struct export_client *at = place; at; at = at->next)
        count++;
    int *locks = memory_new((size_t)count, sizeof *locks);
    count = 0;
    for (struct export_client *at = place; at; at = at->next)
        locks[count++] = at->lock;
    for (int i = 0; i < count; i++) {
        (void)export_look_at(export, event->client, locks[i]);
        give_up(export, rules, event->client);
        if (rules->gone)
            rules->gone(export, event->client, event);
        place->is_holding = false;
        place->owner = 0;
    }
    free(locks);
}

static bool is_end_of_process(const struct event *event)
{
    return event->client >= 0 &&
           (event->kind == EVENT_EXIT ||
            (event->kind == EVENT_FAULT && fault_effect(event->fault) == FAULT_KILLS));
}

static bool is_answer(struct export *export, const struct event *event)
{
    if (event->kind != EVENT_RETURN || event->client < 0 ||
        !export_look_at(export, event->client, event->lock))
        return false;
    const struct export_client *client = &export->clients[event->client];
    return client->is_open && client->op == event->op && client->attempt == event->attempt;
}

void export_event(struct export *export, const struct export_rules *rules,
                  const struct event *event)
{
    struct export_client *client = event->client >= 0 ? &export->clients[event->client] : NULL;
    export->order = event->time_us == export->last_us ? export->order + 1 : 0;
    export->last_us = event->time_us;
    if (client &&
        (event->kind == EVENT_CALL || event->kind == EVENT_NOTICE || event->kind == EVENT_FAULT))
        come_to(export, event->client, event->lock);
    if (is_end_of_process(event)) {
        leave(export, rules, event);
    } else if (client && event->kind == EVENT_CALL) {
        give_up(export, rules, event->client);
        if (rules->call)
            rules->call(export, event);
        called(export, event);
    } else if (is_answer(export, event)) {
        if (rules->answer)
            rules->answer(export, event);
        answered(export, event);
    } else if (rules->other) {
        rules->other(export, event);
        if (client && event->kind == EVENT_NOTICE)
            client->is_holding = false;
    }
}

/* At each lock that it came to. */
static void finish(struct export *export, const struct export_rules *rules, int client)
{
    struct export_client *place = &export->clients[client], *other;
    for (;;) {
        give_up(export, rules, client);
        if (place->is_holding && rules->rest)
            rules->rest(export, client);
        other = place->next;
        if (!other)
            return;
        *place = *other;
        free(other);
    }
}

void export_finish(struct export *export, const struct export_rules *rules)
{
    for (int i = 0; i < export->head->clients; i++)
        finish(export, rules, i);
    if (rules->end)
        rules->end(export);
    free(export->clients);
}
