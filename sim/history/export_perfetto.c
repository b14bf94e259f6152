/* export_perfetto.c - a trace for the Perfetto UI: a process a lock, a thread a client; operations
 * and holds are slices, a hold's lease end and faults are instants. Times in us. */
#include "history/export.h"

#include <inttypes.h>

static void comma(struct export *export)
{
    fputs(export->written++ ? ",\n" : "\n", export->out);
}

static void name_row(struct export *export, const char *what, int lock, int client,
                     const char *name)
{
    comma(export);
    fprintf(export->out,
            "{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"args\": {\"name\": ",
            what, lock + 1, client + 1);
    export_text(export, name);
    fputs("}}", export->out);
}

static void begin(struct export *export)
{
    char name[32];
    fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [", export->out);
    for (int lock = 0; lock < export->head->locks; lock++) {
        snprintf(name, sizeof name, "lock %d", lock);
        name_row(export, "process_name", lock, 0, name);
    }
}

static void slice(struct export *export, int client, const char *name, const char *more,
                  int64_t from_us, int64_t until_us)
{
    const struct export_client *who = &export->clients[client];
    comma(export);
    fprintf(
        export->out,
        "{\"ph\": \"X\", \"name\": \"%s%s\", \"cat\": \"lock\", \"pid\": %d, \"tid\": %d, \"ts\": "
        "%" PRId64 ", \"dur\": %" PRId64 ", \"args\": {\"attempt\": %d}}",
        name, more, who->lock + 1, client + 1, from_us, until_us - from_us, who->attempt);
}

static void instant(struct export *export, int lock, int client, const char *name, int64_t time_us)
{
    comma(export);
    fprintf(export->out,
            "{\"ph\": \"i\", \"s\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": "
            "%" PRId64 "}",
            client < 0 ? "g" : "t", name, lock + 1, client + 1, time_us);
}

/* A client has its name at each lock that it comes to. */
static void name(struct export *export, int client)
{
    struct export_client *who = &export->clients[client];
    if (!who->is_named)
        name_row(export, "thread_name", who->lock, client, export->head->names[client]);
    who->is_named = true;
}

/* What the client holds ends here, or where its last slice ended: no slice is cut by another. An
 * operation under way goes on behind it. */
static void end_hold(struct export *export, int client, int64_t time_us)
{
    struct export_client *who = &export->clients[client];
    if (!who->is_holding)
        return;
    if (time_us < who->drawn_us)
        time_us = who->drawn_us;
    if (who->is_open && who->drawn_us < time_us)
        slice(export, client, operation_name(who->op), ": goes on", who->drawn_us, time_us);
    who->drawn_us = time_us;
    slice(export, client, "holds", "", who->held_us, time_us);
    if (export->head->lease_us)
        instant(export, who->lock, client, "own lease ends", who->lease_end_us);
    who->is_holding = false;
}

/* Somebody has released what others hold. */
static void end_others(struct export *export, int client)
{
    const struct export_client *who = &export->clients[client];
    for (int i = 0; i < export->head->clients; i++) {
        const struct export_client *other = &export->clients[i];
        if (i != client && export_look_at(export, i, who->lock))
            end_hold(export, i, who->call_us > other->held_us ? who->call_us : other->held_us);
    }
}

static void call(struct export *export, const struct event *event)
{
    name(export, event->client);
    if (event->op == OP_RELEASE)
        end_hold(export, event->client, event->time_us);
}

/* It counts from the call; one that has ended is told of, and then the new one. */
static void renew(struct export *export, const struct event *event)
{
    struct export_client *who = &export->clients[event->client];
    const int64_t end_us = who->call_us + export->head->lease_us;
    if (!who->is_holding || !export->head->lease_us || end_us <= who->lease_end_us)
        return;
    if (event->time_us >= who->lease_end_us)
        instant(export, event->lock, event->client, "own lease ends", who->lease_end_us);
    who->lease_end_us = end_us;
}

/* Who asks again for what he has, and is refused, or not answered, holds it as before. */
static void answer(struct export *export, const struct event *event)
{
    struct export_client *who = &export->clients[event->client];
    const bool is_granted = event->result == RESULT_GRANTED;
    char result[48];
    snprintf(result, sizeof result, ": %s", result_name(event->result));
    slice(export, event->client, operation_name(event->op), result, who->drawn_us, event->time_us);
    who->drawn_us = event->time_us;
    who->is_open = false;
    if (event->result == RESULT_RELEASED && export->head->anybody_releases && !who->was_holding)
        end_others(export, event->client);
    if (is_granted || (event->op == OP_EXTEND && event->result == RESULT_NOT_MINE))
        end_hold(export, event->client, event->time_us);
    if (is_granted)
        who->lease_end_us = who->call_us + export->head->lease_us;
    if (event->op == OP_EXTEND && event->result == RESULT_DONE)
        renew(export, event);
}

static void other(struct export *export, const struct event *event)
{
    const bool is_told = event->kind == EVENT_NOTICE || event->kind == EVENT_FAULT;
    if (is_told && event->client >= 0)
        name(export, event->client);
    if (event->kind == EVENT_NOTICE)
        end_hold(export, event->client, event->time_us);
    if (event->kind == EVENT_FAULT)
        instant(export, event->lock, event->client, fault_name(event->fault), event->time_us);
}

static void open_left(struct export *export, int client)
{
    const struct export_client *who = &export->clients[client];
    slice(export, client, operation_name(who->op), ": no answer", who->drawn_us, export->last_us);
}

static void gone(struct export *export, int client, const struct event *event)
{
    name(export, client);
    end_hold(export, client, event->time_us);
    instant(export, export->clients[client].lock, client,
            event->kind == EVENT_EXIT ? "exit" : fault_name(event->fault), event->time_us);
}

static void rest(struct export *export, int client)
{
    end_hold(export, client, export->last_us);
}

static void end(struct export *export)
{
    fputs("\n]}\n", export->out);
}

const struct export_rules export_perfetto = {.name = "perfetto",
                                             .begin = begin,
                                             .call = call,
                                             .answer = answer,
                                             .other = other,
                                             .open = open_left,
                                             .gone = gone,
                                             .rest = rest,
                                             .end = end};
