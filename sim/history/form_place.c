/* form_place.c - where in its file a value, or a field of it, is refused; see form.h. */
#include "history/form_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum fail form_refuse(const struct form_reader *reader, struct form_place place,
                      struct failure *failure, const char *format, ...)
{
    char words[512];
    va_list values;
    va_start(values, format);
    vsnprintf(words, sizeof words, format, values);
    va_end(values);
    return failure_set(failure, FAIL_INPUT, "%.600s:%" PRId64 ":%" PRId64 ": %s", reader->path,
                       place.line, place.column, words);
}

static const struct form_field *find_field(const struct form_reader *reader, const char *name)
{
    for (int i = reader->fields_count - 1; i >= 0; i--)
        if (!strncmp(name, reader->fields[i].name, sizeof reader->fields[i].name - 1))
            return &reader->fields[i];
    return NULL;
}

struct form_place form_place_of_value(const struct form_reader *reader, const char *field)
{
    const struct form_field *found = find_field(reader, field);
    return found ? found->value_place : reader->began;
}

struct form_place form_place_of_name(const struct form_reader *reader, const char *field)
{
    const struct form_field *found = find_field(reader, field);
    return found ? found->place : reader->began;
}

enum fail form_refuse_length(const struct form_reader *reader, struct failure *failure)
{
    return form_refuse(reader, reader->next, failure, "a value longer than %d bytes",
                       FORM_BYTES_MAX);
}
