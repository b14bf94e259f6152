/* reader.c - reads a log file back, strictly; see history.h.
 *
 * Whoever reads events from a file relies on their bounds (a client that the
 * head knows, a lock below its number of locks): what is out of bounds,
 * unknown, missing or of another type is refused with file and line. */
#include "history/reader.h"

#include "base/bits.h"
#include "base/infile.h"
#include "base/memory.h"
#include "base/names.h"
#include "history/follow.h"
#include "history/words.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The head names every client, and its process: CLIENTS_MAX names of
 * NAME_MAX_BYTES, quoted, and the rest. */
enum { HEAD_LINE_MAX = 2 * CLIENTS_MAX * (NAME_MAX_BYTES + 3) + HISTORY_LINE_MAX };

/* --- values --- */

enum fail reader_number(struct history_reader *reader, const char *name, const json_t *value,
                        int64_t least, int64_t most, int64_t *number, struct failure *failure)
{
    if (!json_is_integer(value))
        return reader_refuses(reader, failure, "'%s' wants a whole number", name);
    *number = json_integer_value(value);
    if (*number < least || *number > most)
        return reader_refuses(reader, failure,
                              "'%s' is %" PRId64 "; it goes from %" PRId64 " to %" PRId64, name,
                              *number, least, most);
    return FAIL_NONE;
}

enum fail reader_text(struct history_reader *reader, const char *name, const json_t *value,
                      char *text, size_t size, struct failure *failure)
{
    if (!json_is_string(value))
        return reader_refuses(reader, failure, "'%s' wants a text", name);
    if (json_string_length(value) >= size)
        return reader_refuses(reader, failure, "'%s' is longer than %zu bytes", name, size - 1);
    memcpy(text, json_string_value(value), json_string_length(value) + 1);
    return FAIL_NONE;
}

enum fail reader_flag(struct history_reader *reader, const char *name, const json_t *value,
                      bool *flag, struct failure *failure)
{
    *flag = json_is_true(value);
    if (json_is_boolean(value))
        return FAIL_NONE;
    return reader_refuses(reader, failure, "'%s' wants true or false", name);
}

enum fail reader_value(struct history_reader *reader, const char *name, const json_t *value,
                       int64_t *number, char *text, struct failure *failure)
{
    text[0] = '\0';
    if (reader->version < 2 || !json_is_string(value))
        return reader_number(reader, name, value, INT64_MIN, INT64_MAX, number, failure);
    enum fail fail = reader_text(reader, name, value, text, VALUE_TEXT_MAX, failure);
    if (!fail && !value_number(text, number))
        fail = reader_refuses(reader, failure,
                              "'%s' is no value: printable ASCII, any other byte as \\xNN", name);
    return fail;
}

/* --- events --- */

/* One field of fields.def: which bit says that it was seen, and how a value
 * gets into the event. */
struct field {
    const char *name;
    int kinds;          /* that are not whole without it */
    const char *member; /* of the event, that it fills */
    enum fail (*take)(struct history_reader *reader, const char *name, const json_t *value,
                      struct event *event, struct failure *failure);
};

#define NUMBER(label, member, type, least, most)                                                   \
    static enum fail take_##label(struct history_reader *reader, const char *name,                 \
                                  const json_t *value, struct event *event,                        \
                                  struct failure *failure)                                         \
    {                                                                                              \
        int64_t number = 0;                                                                        \
        enum fail fail = reader_number(reader, name, value, least, most, &number, failure);        \
        if (!fail)                                                                                 \
            event->member = (type)number;                                                          \
        return fail;                                                                               \
    }
#define WORD(label, member, type, count, kinds, print, read)                                       \
    static enum fail take_##label(struct history_reader *reader, const char *name,                 \
                                  const json_t *value, struct event *event,                        \
                                  struct failure *failure)                                         \
    {                                                                                              \
        if (!json_is_string(value))                                                                \
            return reader_refuses(reader, failure, "'%s' wants a text", name);                     \
        if (read(json_string_value(value), &event->member))                                        \
            return FAIL_NONE;                                                                      \
        const char *words[count];                                                                  \
        for (int i = 0; i < (int)(count); i++)                                                     \
            words[i] = print((enum type)i);                                                        \
        return reader_unknown(reader, "'" #label "' knows no", json_string_value(value), words,    \
                              count, failure);                                                     \
    }
#define VALUE(label, member, text)                                                                 \
    static enum fail take_##label(struct history_reader *reader, const char *name,                 \
                                  const json_t *value, struct event *event,                        \
                                  struct failure *failure)                                         \
    {                                                                                              \
        enum fail fail = reader_value(reader, name, value, &event->member, reader->text, failure); \
        event->text = reader->text[0] ? reader->text : NULL;                                       \
        return fail;                                                                               \
    }
#include "history/fields.def"
#undef NUMBER
#undef WORD
#undef VALUE

static const struct field fields[] = {
#define NUMBER(label, member, type, least, most)             {#label, 0, #member, take_##label},
#define WORD(label, member, type, count, kinds, print, read) {#label, kinds, #member, take_##label},
#define VALUE(label, member, text)                           {#label, 0, #member, take_##label},
#include "history/fields.def"
#undef NUMBER
#undef WORD
#undef VALUE
};
enum { FIELDS = sizeof fields / sizeof fields[0] };
_Static_assert(FIELDS <= 32, "which fields are filled are the bits of an unsigned");

/* *is_taken: the field is one of those. */
static enum fail take_own(struct history_reader *reader, const char *name, const json_t *value,
                          struct event *event, int *seen, bool *is_taken, struct failure *failure)
{
    const struct {
        const char *name;
        int seen;
        int64_t least, most;
        int64_t *number;
    } rows[] = {
        {"i", SEEN_INDEX, 0, INT64_MAX, &event->index},
        {"t", SEEN_TIME, 0, HISTORY_LONGEST_US, &event->time_us},
        {"from", SEEN_FROM, -HISTORY_LONGEST_US, HISTORY_LONGEST_US, &event->from_us},
        {"client", 0, 0, reader->clients - 1, &(int64_t){0}},
        {"server", 0, 0, reader->servers - 1, &(int64_t){0}},
    };
    *is_taken = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) != 0)
            continue;
        enum fail fail = reader_number(reader, name, value, rows[i].least, rows[i].most,
                                       rows[i].number, failure);
        *seen |= rows[i].seen;
        if (!fail && name[0] == 'c')
            event->client = (int)*rows[i].number;
        if (!fail && name[0] == 's')
            event->server = (int)*rows[i].number;
        return fail;
    }
    if (!strcmp(name, "proved"))
        return reader_flag(reader, name, value, &reader->says_proved, failure);
    if (strcmp(name, "kind") != 0) {
        *is_taken = false;
        return FAIL_NONE;
    }
    *seen |= SEEN_KIND;
    if (!json_is_string(value))
        return reader_refuses(reader, failure, "'kind' wants a text");
    if (event_read(json_string_value(value), &event->kind))
        return FAIL_NONE;
    const char *names[EVENT_COUNT];
    for (int i = 0; i < EVENT_COUNT; i++)
        names[i] = event_name((enum event_kind)i);
    return reader_unknown(reader, "'kind' knows no", json_string_value(value), names, EVENT_COUNT,
                          failure);
}

static enum fail other_field(struct history_reader *reader, const char *name,
                             struct failure *failure)
{
    static const char *const others[] = {"i",    "t",      "kind",     "client", "server",
                                         "from", "proved", "inferred", "opaque", "effects"};
    enum { OTHERS = sizeof others / sizeof *others, FOREIGN = 3 };
    const char *names[FIELDS + OTHERS];
    for (int i = 0; i < FIELDS; i++)
        names[i] = fields[i].name;
    memcpy(names + FIELDS, others, sizeof others);
    const int known = FIELDS + OTHERS - (reader->version < 2 ? FOREIGN : 0);
    return reader_other(reader, "an event has no field", name, names, FIELDS + OTHERS, known,
                        failure);
}

static enum fail take_field(struct history_reader *reader, const char *name, const json_t *value,
                            struct event *event, int *seen, unsigned *filled,
                            struct failure *failure)
{
    bool is_taken;
    reader_at(reader, name);
    enum fail fail = take_own(reader, name, value, event, seen, &is_taken, failure);
    if (!fail && !is_taken)
        fail = reader_foreign(reader, name, value, event, &is_taken, failure);
    if (fail || is_taken)
        return fail;
    int row = NAMES_FIND_ROW(fields, name);
    if (row < 0)
        return other_field(reader, name, failure);
    *filled |= 1u << row;
    return fields[row].take(reader, name, value, event, failure);
}

/* A read of what the lock guards may be nobody's: it says what is there when a run has ended. */
static bool may_be_nobodys(const struct event *event)
{
    static const int of_clients =
        CALLS | SENDS | EXECUTES | HEARS | RETURNS | NOTICES | 1 << EVENT_EXIT;
    bool is_read = event->kind == EVENT_EXECUTE && !event->opaque &&
                   event->command.key != KEY_LOCK && event->command.verb == VERB_GET;
    return is_read || !(1 << event->kind & of_clients);
}

/* Is all there that such an event wants, and does it follow the one before? */
static enum fail check_event(struct history_reader *reader, struct event *event, int seen,
                             unsigned filled, struct failure *failure)
{
    static const int always = SEEN_INDEX | SEEN_TIME | SEEN_KIND;
    bool has_typed = false;
    reader_at(reader, NULL);
    if ((seen & always) != always)
        return reader_refuses(reader, failure, "an event wants 'i', 't' and 'kind'");
    for (int i = 0; i < FIELDS; i++) {
        bool is_filled = filled & 1u << i;
        has_typed |= is_filled && field_is_typed(fields[i].member);
        if ((fields[i].kinds & 1 << event->kind) && !is_filled &&
            !(event->opaque && field_is_typed(fields[i].member)))
            return reader_refuses(reader, failure, "an event of kind '%s' wants '%s'",
                                  event_name(event->kind), fields[i].name);
    }
    if (event->client < 0 && !may_be_nobodys(event))
        return reader_refuses(reader, failure, "an event of kind '%s' wants 'client'",
                              event_name(event->kind));
    if (event->server < 0 && (1 << event->kind) & (SENDS | EXECUTES | HEARS))
        return reader_refuses(reader, failure, "an event of kind '%s' wants 'server'",
                              event_name(event->kind));
    if (!(seen & SEEN_FROM))
        event->from_us = event->time_us;
    if (event->from_us > event->time_us) {
        reader_at(reader, "from");
        return reader_refuses(reader, failure, "'from' is later than 't'");
    }
    if (event->time_us < reader->last_us) {
        reader_at(reader, "t");
        return reader_refuses(reader, failure,
                              "'t' is %" PRId64 ", earlier than %" PRId64
                              " of the event before: time runs forwards",
                              event->time_us, reader->last_us);
    }
    if (event->lock >= reader->locks) {
        reader_at(reader, "lock");
        return reader_refuses(reader, failure, "'lock' is %d; the head knows %d", event->lock,
                              reader->locks);
    }
    if (event->index != reader->events) {
        reader_at(reader, "i");
        return reader_refuses(reader, failure,
                              "event %" PRId64 " where %" PRId64 " should follow: %s", event->index,
                              reader->events,
                              event->index < reader->events ? "that one stands above already"
                                                            : "what is between is missing");
    }
    return reader_calls_check(reader, event, failure)
               ? failure->code
               : reader_foreign_check(reader, event, has_typed, failure);
}

static enum fail end_event(struct history_reader *reader, struct event *event, int seen,
                           unsigned filled, struct failure *failure)
{
    enum fail fail = check_event(reader, event, seen, filled, failure);
    if (!fail && reader->says_proved)
        reader->end = (struct history_doubts){.is_partly_proved = true, .proved = reader->events};
    reader->says_proved = false;
    if (!fail)
        reader->events++;
    reader->last_us = event->time_us;
    return fail;
}

static enum fail take_event(struct history_reader *reader, json_t *object, struct event *event,
                            struct failure *failure)
{
    const char *name;
    json_t *value;
    int seen = 0;
    unsigned filled = 0;
    *event = (struct event){.client = -1, .server = -1};
    json_object_foreach(object, name, value)
    {
        enum fail fail = take_field(reader, name, value, event, &seen, &filled, failure);
        if (fail)
            return fail;
    }
    return end_event(reader, event, seen, filled, failure);
}

/* What it says besides. */
static enum fail take_end_words(struct history_reader *reader, json_t *object,
                                struct failure *failure)
{
    struct history_doubts *end = &reader->end;
    const struct {
        const char *name;
        char *text;
    } texts[] = {{"incomplete", end->incomplete}, {"vacuous", end->vacuous}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const json_t *text = json_object_get(object, texts[i].name);
        reader_at(reader, texts[i].name);
        if (text &&
            reader_text(reader, texts[i].name, text, texts[i].text, HISTORY_WHY_MAX, failure))
            return failure->code;
    }
    const json_t *proved = json_object_get(object, "proved");
    reader_at(reader, "proved");
    end->is_partly_proved = proved != NULL;
    if (!proved)
        return FAIL_NONE;
    if (!end->incomplete[0])
        return reader_refuses(reader, failure, "'proved' goes with 'incomplete', which says why");
    return reader_number(reader, "proved", proved, 0, reader->events, &end->proved, failure);
}

static enum fail take_end(struct history_reader *reader, json_t *object, struct failure *failure)
{
    static const char *const only[] = {"end", "incomplete", "proved", "vacuous"};
    const json_t *end = json_object_get(object, "end");
    int64_t events = 0;
    if (reader_only(reader, object, only, sizeof only / sizeof only[0], failure))
        return FAIL_INPUT;
    reader_at(reader, "end");
    enum fail fail = reader_number(reader, "end", end, 0, INT64_MAX, &events, failure);
    if (fail)
        return fail;
    if (events != reader->events)
        return reader_refuses(reader, failure,
                              "the end line counts %" PRId64 " events, there are %" PRId64, events,
                              reader->events);
    if (take_end_words(reader, object, failure))
        return FAIL_INPUT;
    reader->is_over = true;
    return reader_nothing_more(reader, failure);
}

/* --- contract --- */

void history_reader_be_generic(struct history_reader *reader)
{
    reader->is_generic = true;
}

/* A line that is not plainly an event: one all the same (whose 'end' or 'next' is somebody's own
 * field), the end, or a seam, behind which no event is in hand yet. */
static enum fail take_line(struct history_reader *reader, struct event *event, bool *is_seam,
                           struct failure *failure)
{
    json_t *object;
    enum fail fail = reader_parse(reader, &object, failure);
    if (fail)
        return fail;
    const bool is_event = json_object_get(object, "kind");
    const json_t *end = is_event ? NULL : json_object_get(object, "end");
    *is_seam = !is_event && !end && json_object_get(object, "next");
    if (end)
        fail = take_end(reader, object, failure);
    else if (*is_seam)
        fail = reader_go_on(reader, object, failure);
    else
        fail = take_event(reader, object, event, failure);
    json_decref(object);
    return fail;
}

enum fail history_reader_next(struct history_reader *reader, struct event *event, bool *is_end,
                              struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    bool is_there, is_seam = !reader->is_over;
    while (!fail && is_seam) {
        struct plain_event plain;
        is_seam = false;
        fail = reader_line(reader, HISTORY_LINE_MAX, &is_there, failure);
        if (reader_ends_here(reader, failure))
            return FAIL_UNKNOWN;
        if (!fail && !is_there)
            return reader_refuses(reader, failure, "no end line: the file was cut off");
        if (!fail && !reader->is_generic && reader_plain(reader, &plain)) {
            *event = plain.event;
            *is_end = false;
            return end_event(reader, event, (int)plain.seen, plain.filled, failure);
        }
        if (!fail)
            fail = take_line(reader, event, &is_seam, failure);
    }
    *is_end = reader->is_over;
    return fail;
}

static enum fail read_head(struct history_reader *reader, struct history_head *head,
                           struct failure *failure)
{
    json_t *object;
    bool is_there;
    enum fail fail = reader_line(reader, HEAD_LINE_MAX, &is_there, failure);
    if (!fail && !is_there)
        return reader_refuses(reader, failure, "the file is empty: not a history");
    if (!fail)
        fail = reader_parse(reader, &object, failure);
    if (fail)
        return fail;
    reader_at(reader, "piece");
    if (json_object_get(object, "piece") && !json_object_get(object, "history"))
        fail = reader_refuses(reader, failure,
                              "is a later piece of a history: name the first file of it");
    else
        fail = reader_head(reader, object, head, failure);
    json_decref(object);
    return fail;
}

static enum fail start(struct history_reader **reader, const char *path, struct follow *follow,
                       struct history_head *head, struct failure *failure)
{
    FILE *file;
    if (infile_open(path, &file, failure))
        return failure->code;
    struct history_reader *made = memory_new(1, sizeof *made);
    made->file = file;
    made->path = memory_text(path);
    made->room = memory_new(HEAD_LINE_MAX + READER_BYTES + 1, 1);
    made->follow = follow;
    made->piece = 1;
    if (follow)
        follow_start(follow, made->path, fileno(file));
    *head = (struct history_head){0};
    enum fail fail = read_head(made, head, failure);
    if (!fail) {
        *reader = made;
        return FAIL_NONE;
    }
    if (made->is_cut && follow && follow->ended)
        fail = failure_set(failure, FAIL_UNKNOWN, "%.600s: %s, and before its head", path,
                           follow->ended);
    history_reader_free(made);
    head->names = head->processes = NULL;
    return fail;
}

enum fail history_reader_new(struct history_reader **reader, const char *path,
                             struct history_head *head, struct failure *failure)
{
    return start(reader, path, NULL, head, failure);
}

enum fail history_reader_follow(struct history_reader **reader, const char *path,
                                struct follow *follow, struct history_head *head,
                                struct failure *failure)
{
    return start(reader, path, follow, head, failure);
}

const struct history_doubts *history_reader_end(const struct history_reader *reader)
{
    return &reader->end;
}

bool history_reader_was_cut(const struct history_reader *reader)
{
    return reader->is_cut;
}

void history_reader_free(struct history_reader *reader)
{
    if (reader->follow)
        follow_end(reader->follow);
    /* Only read from: nothing is lost when the close fails. */
    (void)fclose(reader->file);
    free(reader->names);
    free(reader->calls);
    free(reader->processes);
    free(reader->room);
    free(reader->path);
    free(reader);
}
