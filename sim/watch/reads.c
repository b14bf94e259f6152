/* reads.c - see reads.h. */
#include "watch/reads.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "watch/internal.h"

#include <assert.h>
#include <stdlib.h>

enum { SIZE_AT_FIRST = 64 };

struct watched_reads *reads_new(struct read_log *log)
{
    struct watched_reads *reads = memory_new(1, sizeof *reads);
    reads->follower = read_follower_new(log);
    reads->size = SIZE_AT_FIRST;
    reads->rows = memory_new(reads->size, sizeof *reads->rows);
    return reads;
}

void reads_free(struct watched_reads *reads)
{
    if (!reads)
        return;
    read_follower_free(reads->follower);
    free(reads->rows);
    free(reads);
}

void reads_join(struct watched_reads *reads, struct watched_link *link)
{
    (void)reads_look(reads);
    read_follower_join(reads->follower, link->own_port, &link->stream, link);
}

void reads_leave(struct watched_reads *reads, const struct watched_link *link)
{
    assert(link->line.read == link->line.sent);
    read_follower_leave(reads->follower, link->own_port, &link->stream);
}

static struct completed_commands *at(const struct watched_reads *reads, uint32_t number)
{
    return &reads->rows[number & (reads->size - 1)];
}

static void grow(struct watched_reads *reads)
{
    struct watched_reads larger = *reads;
    larger.size = 2 * reads->size;
    larger.rows = memory_new(larger.size, sizeof *larger.rows);
    for (uint32_t number = reads->first; number != reads->end; number++)
        *at(&larger, number) = *at(reads, number);
    free(reads->rows);
    *reads = larger;
}

/* The next ones of its line that were not read yet. */
static void append(struct watched_reads *reads, struct watched_link *link, uint32_t count,
                   int64_t time_us)
{
    if (!count)
        return;
    if (reads->end - reads->first == reads->size)
        grow(reads);
    link->line.read += count;
    evident_line_at(&link->line, link->line.read - 1)->ends_read = true;
    *at(reads, reads->end++) =
        (struct completed_commands){.link = link, .count = count, .time_us = time_us};
}

void reads_guess(struct watched_reads *reads, struct watched_link *link)
{
    append(reads, link, 1, monotonic_us());
}

void reads_end(struct watched_reads *reads)
{
    read_follower_end(reads->follower);
}

/* How many more of its commands the server has read whole. */
static uint32_t count_read(const struct watched_link *link)
{
    const struct evident_line *line = &link->line;
    uint32_t number = line->read;
    if (number != line->sent && evident_line_at(line, line->sent - 1)->end <= link->stream.read)
        return line->sent - number; /* all, most of the time */
    while (number != line->sent && evident_line_at(line, number)->end <= link->stream.read)
        number++;
    return number - line->read;
}

bool reads_look(struct watched_reads *reads)
{
    struct read_stream *stream;
    int64_t time_us;
    while ((stream = read_follower_next(reads->follower, &time_us)))
        append(reads, stream->owner, count_read(stream->owner), time_us);
    return !read_follower_is_lost(reads->follower);
}

void reads_take(struct watched_reads *reads)
{
    assert(reads->first != reads->end);
    reads->first++;
}
