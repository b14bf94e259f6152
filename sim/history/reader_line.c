/* reader_line.c - the lines of a log file, found where they were read to; see reader.h. */
#include "history/follow.h"
#include "history/reader.h"

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
