/* resp_plain.h - heads, bulks and requests as nearly all of them are, found at a glance: for
 * resp.c, which reads whatever these refuse. */
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

/* A whole request of few words, all plain. */
static inline size_t plain_request(struct resp *resp, const char *bytes, size_t length)
{
    enum { WORDS_MAX = 16 };
    int64_t count = 0;
    struct resp_span body;
    size_t at = bytes[0] == '*' ? plain_head(bytes, length, &count) : 0;
    if (!at || count == 0 || count > WORDS_MAX)
        return 0;
    for (int i = 0; i < count; i++) {
        const size_t one = at < length ? plain_bulk(bytes + at, length - at, &body) : 0;
        if (!one)
            return 0;
        if (i < RESP_SPANS_MAX)
            resp->spans[i] = (struct resp_span){at + body.offset, body.length};
        at += one;
    }
    resp->spans_count = (int)(count < RESP_SPANS_MAX ? count : RESP_SPANS_MAX);
    resp->count = count;
    resp->integer = 0;
    return at;
}

static inline void keep_heads(struct resp *resp, const char *bytes)
{
    size_t at = 0;
    for (int i = 0; i < resp->spans_count; i++) {
        const size_t length = (size_t)resp->spans[i].offset - at;
        if (length > sizeof resp->heads[i])
            return;
        resp->heads[i] = resp->head_masks[i] = 0;
        memcpy(&resp->heads[i], bytes + at, length);
        memset(&resp->head_masks[i], 0xff, length);
        at += length + (size_t)resp->spans[i].length;
    }
    resp->has_heads = true;
}

/* A whole request with the same heads as the newest one at the same places: all that was found of
 * that is so of this one. Behind the beginning of a head there are 8 bytes at least. */
static inline bool is_alike(const struct resp *resp, const char *bytes, size_t length)
{
    uint64_t differs = 0;
    size_t at = 0;
    if (!resp->has_heads || length < resp->seen)
        return false;
    for (int i = 0; i < resp->spans_count; i++) {
        uint64_t head;
        memcpy(&head, bytes + at, sizeof head);
        differs |= (head ^ resp->heads[i]) & resp->head_masks[i];
        at = (size_t)(resp->spans[i].offset + resp->spans[i].length);
    }
    return !differs && ends_line(bytes + at);
}

/* Clients send requests of few forms, often one and the same again and again. */
static inline size_t request_like_others(struct resp *resp, const char *bytes, size_t length)
{
    const uint64_t before = resp->seen;
    if (is_alike(resp, bytes, length))
        return (size_t)before;
    resp->has_heads = false;
    const size_t all = plain_request(resp, bytes, length);
    if (all && all == before && resp->count == resp->spans_count)
        keep_heads(resp, bytes);
    return all;
}

#endif
