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

/* What the client holds ends here. */
static void end_hold(struct export *export, int client, int64_t time_us)
{
    const struct export_client *who = &export->clients[client];
    if (who->is_holding)
        slice(export, client, "holds", "", who->held_us, time_us);
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

/* A client has its name at each lock that it comes to. */
static void call(struct export *export, const struct event *event)
{
    const struct export_client *who = &export->clients[event->client];
    if (event->op == OP_ACQUIRE || event->op == OP_RELEASE)
        end_hold(export, event->client, event->time_us);
    if (who->attempt == 0)
        name_row(export, "thread_name", event->lock, event->client,
                 export->head->names[event->client]);
}

static void answer(struct export *export, const struct event *event)
{
    const struct export_client *who = &export->clients[event->client];
    char result[48];
    snprintf(result, sizeof result, ": %s", result_name(event->result));
    slice(export, event->client, operation_name(event->op), result, who->call_us, event->time_us);
    if (event->result == RESULT_RELEASED && export->head->anybody_releases && !who->was_holding)
        end_others(export, event->client);
    if (event->result == RESULT_GRANTED && export->head->lease_us)
        instant(export, event->lock, event->client, "own lease ends",
                who->call_us + export->head->lease_us);
}

static void other(struct export *export, const struct event *event)
{
    if (event->kind == EVENT_NOTICE)
        end_hold(export, event->client, event->time_us);
    if (event->kind == EVENT_FAULT)
        instant(export, event->lock, event->client, fault_name(event->fault), event->time_us);
}

static void open_left(struct export *export, int client)
{
    const struct export_client *who = &export->clients[client];
    end_hold(export, client, export->last_us);
    if (who->is_open)
        slice(export, client, operation_name(who->op), ": no answer", who->call_us,
              export->last_us);
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
                                             .end = end};
