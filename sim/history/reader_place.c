/* reader_place.c - where in a line of a log file what is refused stands, and what may have been
 * meant. See reader.h. */
#include "history/reader.h"

#include "base/json_place.h"
#include "base/suggest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* From 1. */
static size_t column_of(const struct history_reader *reader)
{
    const struct place *place = &reader->place;
    char path[NAME_MAX_BYTES] = "";
    if (place->column > 0)
        return place->column;
    if (!place->outer && !place->field)
        return 1; /* it is all of the line */
    if (place->outer && place->nth > 0)
        (void)snprintf(path, sizeof path, "%.40s[%d]", place->outer, place->nth - 1);
    else if (place->outer)
        (void)snprintf(path, sizeof path, "%.40s", place->outer);
    const char *at = json_place_find(reader->bytes, reader->size, path, place->field);
    return (size_t)(at - reader->bytes) + 1;
}

enum fail reader_refuses(struct history_reader *reader, struct failure *failure, const char *format,
                         ...)
{
    char words[512];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    return failure_set(failure, FAIL_INPUT, "%s:%" PRId64 ":%zu: %s", reader->path, reader->line,
                       column_of(reader), words);
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
