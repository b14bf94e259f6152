/* resp_reference.h - a second, slow opinion on where a RESP frame ends: reads a whole buffer at
 * once, by the grammar.
 *
 * For test_resp.c and fuzz_resp.c. Shares no idea with redis/resp.c: that one is a machine fed byte
 * by byte. */
#ifndef PICKLOCK_TEST_RESP_REFERENCE_H
#define PICKLOCK_TEST_RESP_REFERENCE_H

#include "redis/resp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFERENCE_MORE = 0, REFERENCE_BAD = -1 };

/* Finds "\r\n" from at on. Its offset, or MORE, or BAD when a lone one of the two comes first. */
static inline long reference_line(const char *bytes, long at, long length)
{
    for (long i = at; i < length; i++) {
        if (bytes[i] == '\n')
            return REFERENCE_BAD;
        if (bytes[i] == '\r')
            return i + 1 == length ? REFERENCE_MORE : bytes[i + 1] == '\n' ? i : REFERENCE_BAD;
    }
    return REFERENCE_MORE;
}

/* The decimal number between at and end; false when it is none. */
static inline bool reference_number(const char *bytes, long at, long end, int64_t *number)
{
    char text[24], again[24];
    if (end - at < 1 || end - at > 20)
        return false;
    memcpy(text, bytes + at, (size_t)(end - at));
    text[end - at] = 0;
    *number = strtoll(text, NULL, 10);
    int used = snprintf(again, sizeof again, "%lld", (long long)*number);
    return used == end - at && !strcmp(text, again); /* one way to write each number */
}

static inline long reference_reply(const char *bytes, long at, long length, int depth);

static inline long reference_bulk(const char *bytes, long from, long length, int64_t size)
{
    if (size > length - from)
        return REFERENCE_MORE;
    long end = from + (long)size;
    if (end < length && bytes[end] != '\r')
        return REFERENCE_BAD;
    if (end + 1 < length && bytes[end + 1] != '\n')
        return REFERENCE_BAD;
    return end + 2 <= length ? end + 2 : REFERENCE_MORE;
}

static inline long reference_elements(const char *bytes, long at, long length, int64_t count,
                                      int depth)
{
    if (count > 0 && depth == RESP_DEPTH_MAX)
        return REFERENCE_BAD;
    for (; count > 0; count--) {
        at = reference_reply(bytes, at, length, depth + 1);
        if (at <= 0)
            return at;
    }
    return at;
}

/* The end of the element at at. */
static inline long reference_reply(const char *bytes, long at, long length, int depth)
{
    int64_t number;
    if (at >= length)
        return REFERENCE_MORE;
    char type = bytes[at];
    if (!type || !strchr("+-,(#_:$!=*%~|>", type) || (type == '>' && depth > 0))
        return REFERENCE_BAD;
    long line = reference_line(bytes, at + 1, length);
    if (line <= 0)
        return line;
    if (strchr("+-,(#_", type))
        return line + 2;
    if (!reference_number(bytes, at + 1, line, &number))
        return REFERENCE_BAD;
    if (type == ':')
        return line + 2;
    if (number < (type == '$' || type == '*' ? -1 : 0) || number > (int64_t)1 << 40)
        return REFERENCE_BAD;
    if (strchr("$!=", type))
        return number < 0 ? line + 2 : reference_bulk(bytes, line + 2, length, number);
    if (type == '%' || type == '|')
        number *= 2;
    long end = reference_elements(bytes, line + 2, length, number, depth);
    return type == '|' && end > 0 ? reference_reply(bytes, end, length, depth) : end;
}

static inline long reference_request(const char *bytes, long length)
{
    int64_t count, size;
    if (!length)
        return REFERENCE_MORE;
    if (bytes[0] != '*') {
        const char *end = memchr(bytes, '\n', (size_t)length);
        long run = end ? end - bytes : length;
        if (memchr(bytes, 0, (size_t)run) || run > RESP_INLINE_MAX)
            return REFERENCE_BAD;
        return end ? run + 1 : REFERENCE_MORE;
    }
    long line = reference_line(bytes, 1, length);
    if (line <= 0)
        return line;
    if (!reference_number(bytes, 1, line, &count) || count > RESP_COUNT_MAX)
        return REFERENCE_BAD;
    long at = line + 2;
    for (; count > 0; count--) {
        if (at == length)
            return REFERENCE_MORE;
        line = bytes[at] == '$' ? reference_line(bytes, at + 1, length) : REFERENCE_BAD;
        if (line <= 0)
            return line;
        if (!reference_number(bytes, at + 1, line, &size) || size < 0 || size > RESP_BULK_MAX)
            return REFERENCE_BAD;
        at = reference_bulk(bytes, line + 2, length, size);
        if (at <= 0)
            return at;
    }
    return at;
}

/* The length of the first frame of the buffer, or MORE, or BAD. It may say MORE where a machine
 * that reads byte by byte knows already that the bytes are bad. */
static inline long reference_frame(enum resp_side side, const char *bytes, size_t length)
{
    return side == RESP_REQUESTS ? reference_request(bytes, (long)length)
                                 : reference_reply(bytes, 0, (long)length, 0);
}

#endif
