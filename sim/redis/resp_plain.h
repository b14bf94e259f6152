/* resp_plain.h - heads and bulks as nearly all of them are, found at a glance: for resp.c, which
 * reads whatever these refuse. */
#ifndef PICKLOCK_REDIS_RESP_PLAIN_H
#define PICKLOCK_REDIS_RESP_PLAIN_H

#include "redis/resp.h"

#include <string.h>

/* The plain case at once: a type, a short number without a sign, CR LF, all at hand. Returns the
 * length of that head, 0 when it is another case. What it refuses, the machine judges. */
static inline size_t longer_head(const char *bytes, size_t length, int64_t *number)
{
    enum { DIGITS_MAX = 8 };
    size_t at = 1;
    int64_t value = 0;
    for (; at < length && at <= DIGITS_MAX && bytes[at] >= '0' && bytes[at] <= '9'; at++)
        value = value * 10 + (bytes[at] - '0');
    if (at == 1 || at + 1 >= length || bytes[at] != '\r' || bytes[at + 1] != '\n' ||
        (bytes[1] == '0' && at > 2))
        return 0;
    *number = value;
    return at + 2;
}

static inline bool ends_line(const char *at)
{
    return memcmp(at, "\r\n", 2) == 0;
}

/* Most are of one or two digits. */
static inline size_t plain_head(const char *bytes, size_t length, int64_t *number)
{
    if (length < 5)
        return longer_head(bytes, length, number);
    const unsigned first = (unsigned char)bytes[1] - (unsigned)'0';
    const unsigned second = (unsigned char)bytes[2] - (unsigned)'0';
    if (ends_line(bytes + 2) && first <= 9) {
        *number = first;
        return 4;
    }
    if (ends_line(bytes + 3) && first - 1 <= 8 && second <= 9) {
        *number = first * 10 + second;
        return 5;
    }
    return longer_head(bytes, length, number);
}

/* A plain head, its body, CR LF, all at hand. Returns the length of all three; 0: another case. */
static inline size_t plain_bulk(const char *bytes, size_t length, struct resp_span *body)
{
    int64_t size = 0;
    const size_t head = plain_head(bytes, length, &size);
    const size_t end = head + (size_t)size;
    if (!head || bytes[0] != '$' || length < end + 2 || !ends_line(bytes + end))
        return 0;
    *body = (struct resp_span){head, (uint64_t)size};
    return end + 2;
}

#endif
