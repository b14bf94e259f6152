/* form_place.c - where in its file a value, or a field of it, is refused; see form.h. */
#include "history/form_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum fail form_refuse(const struct form_reader *reader, int64_t line, int64_t column,
                      struct failure *failure, const char *format, va_list values)
{
    char words[512];
    vsnprintf(words, sizeof words, format, values);
    return failure_set(failure, FAIL_INPUT, "%.600s:%" PRId64 ":%" PRId64 ": %s", reader->path,
                       line, column, words);
}

enum fail form_refuses(const struct form_reader *reader, struct failure *failure,
                       const char *format, ...)
{
    va_list values;
    va_start(values, format);
    enum fail fail =
        form_refuse(reader, reader->at_line, reader->at_column, failure, format, values);
    va_end(values);
    return fail;
}

/* The last of that name: it is the one that is too many. */
static const struct form_field *find_field(const struct form_reader *reader, const char *name)
{
    for (int i = reader->fields_count - 1; i >= 0; i--)
        if (!strncmp(name, reader->fields[i].name, sizeof reader->fields[i].name - 1))
            return &reader->fields[i];
    return NULL;
}

enum fail form_refuses_field(const struct form_reader *reader, const char *name,
                             struct failure *failure, const char *format, ...)
{
    const struct form_field *field = find_field(reader, name);
    va_list values;
    va_start(values, format);
    enum fail fail =
        form_refuse(reader, field ? field->value_line : reader->at_line,
                    field ? field->value_column : reader->at_column, failure, format, values);
    va_end(values);
    return fail;
}

enum fail form_refuses_name(const struct form_reader *reader, const char *name,
                            struct failure *failure, const char *format, ...)
{
    const struct form_field *field = find_field(reader, name);
    va_list values;
    va_start(values, format);
    enum fail fail =
        form_refuse(reader, field ? field->line : reader->at_line,
                    field ? field->column : reader->at_column, failure, format, values);
    va_end(values);
    return fail;
}

enum fail form_refuse_here(const struct form_reader *reader, struct failure *failure,
                           const char *format, ...)
{
    va_list values;
    va_start(values, format);
    enum fail fail = form_refuse(reader, reader->line, reader->column, failure, format, values);
    va_end(values);
    return fail;
}

enum fail form_refuse_length(const struct form_reader *reader, struct failure *failure)
{
    return form_refuse_here(reader, failure, "a value longer than %d bytes", FORM_BYTES_MAX);
}
