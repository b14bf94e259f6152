/* print.c - an event as a line for people; see history.h. */
#include "history/history.h"

#include "base/units.h"
#include "history/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_WORDS_MAX = 128, WHO_WIDTH = 8 };

struct line {
    char *text;
    size_t size, used;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    int length = vsnprintf(line->text + line->used, line->size - line->used, format, words);
    va_end(words);
    if (length > 0)
        line->used += (size_t)length;
    if (line->used >= line->size)
        line->used = line->size - 1;
}

static void add_command(struct line *line, const struct event *event)
{
    char words[COMMAND_WORDS_MAX];
    add(line, "%s", event_command(event, words, sizeof words));
}

static void add_effects(struct line *line, const struct event *event)
{
    for (int i = 0; event->effects && i < event->effects->count; i++)
        add(line, "%s%s %s", i ? ", " : " (", key_name(event->effects->on[i].key),
            did_name(event->effects->on[i].did));
    if (event->effects && event->effects->count > 0)
        add(line, ")");
}

static void add_reply(struct line *line, const struct reply *reply)
{
    char words[COMMAND_WORDS_MAX];
    add(line, "%s", reply_print(reply, words, sizeof words));
}

static void add_operation(struct line *line, const struct event *event)
{
    if (event->kind == EVENT_CALL) {
        add(line, "%ss", event->op == OP_ACCESS ? "acces" : operation_name(event->op));
        if (event->op == OP_ACQUIRE)
            add(line, " (attempt %d)", event->attempt);
        return;
    }
    add(line, "%s: %s", operation_name(event->op), result_name(event->result));
    if (event->result == RESULT_GRANTED && event->fence != 0)
        add(line, ", fence %" PRId64, event->fence);
}

static void add_fault(struct line *line, const struct event *event)
{
    char duration[UNITS_TEXT_MAX];
    add(line, "! %s", fault_name(event->fault));
    if (event->amount_us != 0)
        add(line, " %s", units_print_duration(event->amount_us, duration));
    static const struct command none;
    if (event->client >= 0 && event->server >= 0 &&
        (event->opaque || memcmp(&event->command, &none, sizeof none) != 0)) {
        add(line, ": ");
        add_command(line, event);
    }
}

static void add_what(struct line *line, const struct event *event)
{
    char duration[UNITS_TEXT_MAX];
    switch (event->kind) {
    case EVENT_CALL:
    case EVENT_RETURN:
        add_operation(line, event);
        break;
    case EVENT_SEND:
        add(line, "-> ");
        add_command(line, event);
        break;
    case EVENT_EXECUTE:
        add_command(line, event);
        add(line, " -> ");
        add_reply(line, &event->reply);
        add_effects(line, event);
        break;
    case EVENT_HEAR:
        add(line, "<- ");
        add_reply(line, &event->reply);
        add(line, " to ");
        add_command(line, event);
        break;
    case EVENT_NOTICE:
        add(line, "is told that it lost the lock");
        break;
    case EVENT_STRAND:
        add(line, "%s: waits for what can never come", operation_name(event->op));
        break;
    case EVENT_WAKE:
        add(line, "timer rings");
        break;
    case EVENT_TIME:
        add(line, "time passes: %s", units_print_duration(event->amount_us, duration));
        break;
    case EVENT_FAULT:
        add_fault(line, event);
        break;
    case EVENT_COUNT:
        break;
    }
}

const char *event_print(const struct history_head *head, const struct event *event, char *text,
                        size_t size)
{
    struct line line = {.text = text, .size = size};
    char time[UNITS_TEXT_MAX];
    const char *who =
        event->client >= 0 && event->client < head->clients ? head->names[event->client] : "";
    text[0] = '\0';
    add(&line, "%11s  %-*s ", units_print_ms(event->time_us, time), WHO_WIDTH, who);
    add_what(&line, event);
    if (event->server >= 0)
        add(&line, "%s server %d",
            event->kind == EVENT_SEND   ? " to"
            : event->kind == EVENT_HEAR ? " from"
                                        : " at",
            event->server + 1);
    if (event->is_inferred)
        add(&line, " (inferred)");
    if (head->locks > 1 && event->client >= 0)
        add(&line, ", lock %d", event->lock + 1);
    return text;
}
