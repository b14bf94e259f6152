/* reader_plain.c - the lines that picklock writes itself, read without a tree
 * of JSON values; see reader.h.
 *
 * A plain line is one flat object of whole numbers and of texts without
 * escapes. Whatever else a line is, and whatever is wrong with one, is left to
 * reader.c, which reads it from its beginning: here nothing is refused. */
#include "history/reader.h"

#include "history/words.h"

#include <limits.h>
#include <string.h>

enum { DIGITS_MAX = 18 };

struct plain_cursor {
    const char *at, *end;
};

/* A name or a text, which is not ended by a 0. */
struct plain_text {
    const char *bytes;
    size_t size;
};

static bool take_byte(struct plain_cursor *cursor, char byte)
{
    if (cursor->at == cursor->end || *cursor->at != byte)
        return false;
    cursor->at++;
    return true;
}

static bool take_text(struct plain_cursor *cursor, struct plain_text *text)
{
    if (!take_byte(cursor, '"'))
        return false;
    text->bytes = cursor->at;
    while (cursor->at < cursor->end && *cursor->at >= ' ' && *cursor->at < 0x7f &&
           *cursor->at != '"' && *cursor->at != '\\')
        cursor->at++;
    text->size = (size_t)(cursor->at - text->bytes);
    return take_byte(cursor, '"');
}

static bool take_number(struct plain_cursor *cursor, int64_t *number)
{
    bool is_negative = take_byte(cursor, '-');
    const char *first = cursor->at;
    *number = 0;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9' &&
           cursor->at - first < DIGITS_MAX)
        *number = 10 * *number + (*cursor->at++ - '0');
    bool is_canonical = *first != '0' || (cursor->at - first == 1 && !is_negative);
    if (is_negative)
        *number = -*number;
    return cursor->at > first && is_canonical &&
           (cursor->at == cursor->end || *cursor->at == ',' || *cursor->at == '}');
}

static bool is_named(const struct plain_text *text, const char *name, size_t size)
{
    return text->size == size && !memcmp(text->bytes, name, size);
}
#define IS_NAMED(text, name) is_named(text, name, sizeof name - 1)

/* --- fields --- */

struct plain_value {
    bool is_text;
    int64_t number;
    char text[NAME_MAX_BYTES];
};

static bool is_within(const struct plain_value *value, int64_t least, int64_t most)
{
    return !value->is_text && value->number >= least && value->number <= most;
}

#define NUMBER(label, member, type, least, most)                                                   \
    static bool plain_##label(const struct plain_value *value, struct event *event)                \
    {                                                                                              \
        if (!is_within(value, least, most))                                                        \
            return false;                                                                          \
        event->member = (type)value->number;                                                       \
        return true;                                                                               \
    }
#define WORD(label, member, type, count, kinds, print, read)                                       \
    static bool plain_##label(const struct plain_value *value, struct event *event)                \
    {                                                                                              \
        return value->is_text && read(value->text, &event->member);                                \
    }
#define VALUE(label, member, text)                                                                 \
    static bool plain_##label(const struct plain_value *value, struct event *event)                \
    {                                                                                              \
        event->member = value->number;                                                             \
        return !value->is_text;                                                                    \
    }
#include "history/fields.def"
#undef NUMBER
#undef WORD
#undef VALUE

static const struct {
    const char *name;
    size_t size; /* of the name */
    bool (*take)(const struct plain_value *value, struct event *event);
} rows[] = {
#define NUMBER(label, member, type, least, most) {#label, sizeof #label - 1, plain_##label},
#define WORD(label, member, type, count, kinds, print, read)                                       \
    {#label, sizeof #label - 1, plain_##label},
#define VALUE(label, member, text) {#label, sizeof #label - 1, plain_##label},
#include "history/fields.def"
#undef NUMBER
#undef WORD
#undef VALUE
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Of the fields that fields.def does not have. again: it was there already. */
static bool take_own(const struct history_reader *reader, const struct plain_text *name,
                     const struct plain_value *value, struct plain_event *made)
{
    struct event *event = &made->event;
    unsigned bit;
    bool is_good;
    if (IS_NAMED(name, "i")) {
        bit = SEEN_INDEX;
        is_good = is_within(value, 0, INT64_MAX);
        event->index = value->number;
    } else if (IS_NAMED(name, "t")) {
        bit = SEEN_TIME;
        is_good = is_within(value, 0, HISTORY_LONGEST_US);
        event->time_us = value->number;
    } else if (IS_NAMED(name, "kind")) {
        bit = SEEN_KIND;
        is_good = value->is_text && event_read(value->text, &event->kind);
    } else if (IS_NAMED(name, "from")) {
        bit = SEEN_FROM;
        is_good = is_within(value, -HISTORY_LONGEST_US, HISTORY_LONGEST_US);
        event->from_us = value->number;
    } else if (IS_NAMED(name, "client")) {
        bit = SEEN_CLIENT;
        is_good = is_within(value, 0, reader->clients - 1);
        event->client = (int)value->number;
    } else if (IS_NAMED(name, "server")) {
        bit = SEEN_SERVER;
        is_good = is_within(value, 0, reader->servers - 1);
        event->server = (int)value->number;
    } else {
        return false;
    }
    bool is_new = !(made->seen & bit);
    made->seen |= bit;
    return is_good && is_new;
}

/* first: where the search begins; fields stand in their order, mostly. */
static bool take_row(const struct plain_text *name, const struct plain_value *value, int *first,
                     struct plain_event *made)
{
    for (int i = 0; i < ROWS; i++) {
        int row = (*first + i) % ROWS;
        if (!is_named(name, rows[row].name, rows[row].size))
            continue;
        bool is_new = !(made->filled & 1u << row);
        made->filled |= 1u << row;
        *first = row + 1;
        return is_new && rows[row].take(value, &made->event);
    }
    return false;
}

static bool take_value(struct plain_cursor *cursor, struct plain_value *value)
{
    struct plain_text text;
    value->is_text = cursor->at < cursor->end && *cursor->at == '"';
    if (!value->is_text)
        return take_number(cursor, &value->number);
    value->number = 0;
    if (!take_text(cursor, &text) || text.size >= sizeof value->text)
        return false;
    memcpy(value->text, text.bytes, text.size);
    value->text[text.size] = '\0';
    return true;
}

bool reader_plain(const struct history_reader *reader, struct plain_event *made)
{
    struct plain_cursor cursor = {.at = reader->bytes, .end = reader->bytes + reader->size};
    int first = 0;
    *made = (struct plain_event){.event = {.client = -1, .server = -1}};
    if (!take_byte(&cursor, '{'))
        return false;
    do {
        struct plain_text name;
        struct plain_value value;
        (void)take_byte(&cursor, ' ');
        if (!take_text(&cursor, &name) || !take_byte(&cursor, ':'))
            return false;
        (void)take_byte(&cursor, ' ');
        if (!take_value(&cursor, &value))
            return false;
        if (!take_own(reader, &name, &value, made) && !take_row(&name, &value, &first, made))
            return false;
    } while (take_byte(&cursor, ','));
    return take_byte(&cursor, '}') && cursor.at == cursor.end;
}
