/* reader_place.c - where in a line of a log file what is refused stands, and what may have been
 * meant. See reader.h. */
#include "history/reader.h"

#include "base/suggest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* Where the first { stands at or behind that place, outside texts; the end of the line: nowhere. */
static size_t find_brace(const struct history_reader *reader, size_t from)
{
    bool is_text = false;
    for (; from < reader->size; from++) {
        char byte = reader->bytes[from];
        if (is_text && byte == '\\')
            from++;
        else if (byte == '"')
            is_text = !is_text;
        else if (byte == '{' && !is_text)
            break;
    }
    return from;
}

/* Is that place behind a name, and not a value: does a colon follow? */
static bool is_name(const struct history_reader *reader, size_t end)
{
    while (end < reader->size && (reader->bytes[end] == ' ' || reader->bytes[end] == '\t'))
        end++;
    return end < reader->size && reader->bytes[end] == ':';
}

/* Where the field of that name stands; the end of the line: nowhere that can be found. */
static size_t find_field(const struct history_reader *reader, const char *name, size_t from)
{
    char quoted[2 * NAME_MAX_BYTES];
    int length = snprintf(quoted, sizeof quoted, "\"%s\"", name);
    if (length < 0 || (size_t)length >= sizeof quoted)
        return reader->size;
    for (; from + (size_t)length <= reader->size; from++)
        if (!memcmp(reader->bytes + from, quoted, (size_t)length) &&
            is_name(reader, from + (size_t)length))
            return from;
    return reader->size;
}

static size_t column_of(const struct history_reader *reader)
{
    const struct place *place = &reader->place;
    size_t at = 0;
    if (place->column > 0 || (!place->outer && !place->field))
        return place->column;
    if (place->outer)
        at = find_field(reader, place->outer, 0);
    for (int i = 0; i < place->nth; i++)
        at = find_brace(reader, at + (i > 0));
    if (place->field)
        at = find_field(reader, place->field, at);
    return at < reader->size ? at + 1 : 0;
}

enum fail reader_refuses(struct history_reader *reader, struct failure *failure, const char *format,
                         ...)
{
    char words[512];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    const size_t column = column_of(reader); /* 0: it is all of the line */
    return failure_set(failure, FAIL_INPUT, "%s:%" PRId64 ":%zu: %s", reader->path, reader->line,
                       column ? column : 1, words);
}

void reader_at(struct history_reader *reader, const char *name)
{
    reader->place = (struct place){.field = name};
}

void reader_within(struct history_reader *reader, const char *outer, int nth, const char *name)
{
    reader->place = (struct place){.outer = outer, .nth = nth, .field = name};
}

enum fail reader_unknown(struct history_reader *reader, const char *what, const char *word,
                         const char *const *words, int count, struct failure *failure)
{
    char suggestion[SUGGEST_BYTES];
    const char *nearest = suggest_nearest(word, words, (size_t)count);
    return reader_refuses(reader, failure, "%s '%.40s'%s", what, word,
                          suggest_words(nearest, "", suggestion));
}

enum fail reader_other(struct history_reader *reader, const char *what, const char *name,
                       const char *const *names, int count, int known, struct failure *failure)
{
    bool is_refused = suggest_slip(name, names, (size_t)count) != NULL;
    for (int i = 0; i < count; i++)
        is_refused |= !strcmp(name, names[i]);
    return is_refused ? reader_unknown(reader, what, name, names, known, failure) : FAIL_NONE;
}
