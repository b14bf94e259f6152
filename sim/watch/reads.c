/* reads.c - see reads.h. */
#include "watch/reads.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "watch/internal.h"

#include <assert.h>
#include <stdlib.h>

struct watched_reads {
    struct read_follower *follower;
    struct watched_request *first, *last;
};

struct watched_reads *reads_new(struct read_log *log)
{
    struct watched_reads *reads = memory_new(1, sizeof *reads);
    reads->follower = read_follower_new(log);
    return reads;
}

void reads_free(struct watched_reads *reads)
{
    if (!reads)
        return;
    read_follower_free(reads->follower);
    free(reads);
}

void reads_join(struct watched_reads *reads, struct watched_link *link)
{
    (void)reads_look(reads);
    read_follower_join(reads->follower, link->own_port, &link->stream, link);
}

void reads_leave(struct watched_reads *reads, const struct watched_link *link)
{
    assert(!link->unread_first);
    read_follower_leave(reads->follower, link->own_port, &link->stream);
}

void reads_sent(struct watched_request *request)
{
    struct watched_link *link = request->link;
    request->next = NULL;
    if (link->unread_last)
        link->unread_last->next = request;
    else
        link->unread_first = request;
    link->unread_last = request;
}

void reads_drop(struct watched_request *request)
{
    struct watched_link *link = request->link;
    assert(link->unread_first == request);
    link->unread_first = request->next;
    if (!link->unread_first)
        link->unread_last = NULL;
}

static uint64_t end_of(const struct watched_request *request)
{
    return request->request ? proxy_request_end(request->request) : request->end;
}

static void append(struct watched_reads *reads, struct watched_request *request, int64_t time_us)
{
    reads_drop(request);
    request->is_read = true;
    request->read_us = time_us;
    request->next = NULL;
    if (reads->last)
        reads->last->next = request;
    else
        reads->first = request;
    reads->last = request;
}

void reads_guess(struct watched_reads *reads, struct watched_request *request)
{
    append(reads, request, monotonic_us());
}

void reads_end(struct watched_reads *reads)
{
    read_follower_end(reads->follower);
}

bool reads_look(struct watched_reads *reads)
{
    struct read_stream *stream;
    int64_t time_us;
    while ((stream = read_follower_next(reads->follower, &time_us))) {
        struct watched_link *link = stream->owner;
        while (link->unread_first && end_of(link->unread_first) <= stream->read)
            append(reads, link->unread_first, time_us);
    }
    return !read_follower_is_lost(reads->follower);
}

struct watched_request *reads_first(const struct watched_reads *reads)
{
    return reads->first;
}

void reads_take(struct watched_reads *reads)
{
    assert(reads->first);
    reads->first = reads->first->next;
    if (!reads->first)
        reads->last = NULL;
}
