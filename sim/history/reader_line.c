/* reader_line.c - the lines of a log file, found where they were read to; see reader.h. */
#include "history/follow.h"
#include "history/reader.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum line_wait { WAITS, WAITS_NOT };

/* More of the file behind what is there; *has_more false at its end. */
static enum fail read_more(struct history_reader *reader, enum line_wait wait, bool *has_more,
                           struct failure *failure)
{
    if (reader->begin > 0) {
        reader->filled -= reader->begin;
        memmove(reader->room, reader->room + reader->begin, reader->filled);
        reader->begin = 0;
    }
    char *free_room = reader->room + reader->filled;
    ssize_t got;
    do
        got = !reader->follow ? read(fileno(reader->file), free_room, READER_BYTES)
              : wait == WAITS ? follow_read(reader->follow, free_room, READER_BYTES)
                              : follow_read_now(reader->follow, free_room, READER_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return failure_set(failure, FAIL_INPUT, "%s: cannot be read: %s", reader->path,
                           strerror(errno));
    reader->filled += (size_t)got;
    *has_more = got > 0;
    return FAIL_NONE;
}

enum fail reader_line(struct history_reader *reader, size_t most, bool *is_there,
                      struct failure *failure)
{
    const char *end = NULL;
    bool has_more = true;
    size_t looked = 0;
    reader->place = (struct place){0};
    reader->line++;
    while (has_more && !end && looked <= most) {
        const size_t there = reader->filled - reader->begin;
        end = memchr(reader->room + reader->begin + looked, '\n', there - looked);
        looked = there;
        if (!end && looked <= most && read_more(reader, WAITS, &has_more, failure))
            return failure->code;
    }
    reader->bytes = reader->room + reader->begin;
    reader->size = end ? (size_t)(end - reader->bytes) : looked;
    reader->place.column = reader->size > most ? most + 1 : !end ? reader->size + 1 : 0;
    if (reader->size > most)
        return reader_refuses(reader, failure,
                              "a line longer than %zu bytes: not a history of ours", most);
    *is_there = end;
    reader->is_cut = !end;
    reader->begin += reader->size + (end != NULL);
    if (!end && reader->size > 0)
        return reader_refuses(reader, failure,
                              "the file ends in the middle of a line: it was cut off");
    return FAIL_NONE;
}

enum fail reader_ends_here(const struct history_reader *reader, struct failure *failure)
{
    if (!reader->is_cut || !reader->is_streamed || reader->follow)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "the history has no end: its writer was killed, could not write on, or has "
                       "not ended yet");
}

enum fail reader_nothing_more(struct history_reader *reader, struct failure *failure)
{
    bool has_more = reader->filled > reader->begin;
    if (!has_more && read_more(reader, WAITS_NOT, &has_more, failure))
        return failure->code;
    reader->line++;
    reader->place = (struct place){.column = 1};
    return has_more ? reader_refuses(reader, failure,
                                     "something stands behind the end line, which is the last")
                    : FAIL_NONE;
}

/* From 1. Where a word is to blame, of its beginning: jansson tells its end. */
static size_t column_of_error(const struct history_reader *reader, const json_error_t *error)
{
    size_t end = (size_t)error->position;
    if (end > reader->size || !isalnum((unsigned char)reader->bytes[end - 1]))
        return end;
    while (end > 1 && isalnum((unsigned char)reader->bytes[end - 2]))
        end--;
    return end;
}

enum fail reader_parse(struct history_reader *reader, json_t **object, struct failure *failure)
{
    json_error_t error;
    *object = json_loadb(reader->bytes, reader->size, JSON_REJECT_DUPLICATES, &error);
    if (!*object) {
        reader->place.column = error.position > 0 ? column_of_error(reader, &error) : 0;
        return reader_refuses(reader, failure, "not JSON: %s", error.text);
    }
    if (json_is_object(*object))
        return FAIL_NONE;
    json_decref(*object);
    return reader_refuses(reader, failure, "a line of a history is a JSON object");
}

enum fail reader_only(struct history_reader *reader, json_t *object, const char *const *names,
                      int count, struct failure *failure)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        int i = 0;
        while (i < count && strcmp(names[i], name) != 0)
            i++;
        if (i < count)
            continue;
        reader_at(reader, name);
        return reader_refuses(reader, failure, "a line with '%s' has no other field than its own",
                              names[0]);
    }
    return FAIL_NONE;
}
