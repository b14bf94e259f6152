/* words.c - see words.h. Source: the Redis serialization protocol, requests. */
#include "watch/words.h"

#include "base/memory.h"
#include "redis/resp.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct words_left {
    const char *at, *end;
};

static void make_room(struct request_words *words, int count)
{
    if (count <= words->size)
        return;
    while (words->size < count)
        words->size = words->size ? 2 * words->size : 64;
    words->at = memory_resize(words->at, (size_t)words->size, sizeof *words->at);
    words->lengths = memory_resize(words->lengths, (size_t)words->size, sizeof *words->lengths);
}

static void add(struct request_words *words, const char *at, size_t length)
{
    make_room(words, words->count + 1);
    words->at[words->count] = at;
    words->lengths[words->count++] = length;
}

/* "*3\r\n" or "$12\r\n": the number. -1: it is not there, or not whole. */
static long number(struct words_left *rest, char type)
{
    const char *line = rest->at, *end = rest->end;
    if (line == end || *line != type)
        return -1;
    long value = 0;
    const char *at = line + 1;
    for (; at < end && *at >= '0' && *at <= '9' && value <= LONG_MAX / 10 - 1; at++)
        value = 10 * value + (*at - '0');
    if (at == line + 1 || at == end || (*at != '\r' && *at != '\n'))
        return -1;
    at += *at == '\r';
    if (at == end || *at != '\n')
        return -1;
    rest->at = at + 1;
    return value;
}

static bool read_text(struct request_words *words, struct words_left *rest)
{
    const long size = number(rest, '$');
    if (size < 0 || rest->end - rest->at < 2 || rest->end - rest->at - 2 < size)
        return false;
    add(words, rest->at, (size_t)size);
    rest->at += size + 2;
    return true;
}

static bool read_array(struct request_words *words, struct words_left *rest)
{
    const char *begin = rest->at;
    for (long left = number(rest, '*'); left > 0; left--)
        if (!read_text(words, rest))
            return false;
    return rest->at > begin;
}

static bool read_line(struct request_words *words, struct words_left *rest)
{
    const char *end = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));
    if (!end)
        return false;
    while (rest->at < end) {
        size_t length = 0;
        while (rest->at + length < end && !strchr(" \t\r", rest->at[length]))
            length++;
        if (length)
            add(words, rest->at, length);
        rest->at += length + 1;
    }
    rest->at = end + 1;
    return true;
}

bool words_read(struct request_words *words, const char *bytes, size_t length)
{
    struct words_left rest = {.at = bytes, .end = bytes + length};
    words->count = 0;
    while (rest.at < rest.end)
        if (*rest.at == '*' ? !read_array(words, &rest) : !read_line(words, &rest))
            return false;
    return true;
}

void words_read_reply(struct request_words *words, const char *bytes, size_t length)
{
    struct words_left rest = {.at = bytes, .end = bytes + length};
    words->count = 0;
    while (rest.at < rest.end) {
        if (read_text(words, &rest))
            continue;
        const char *end = memchr(rest.at, '\n', (size_t)(rest.end - rest.at));
        rest.at = end ? end + 1 : rest.end;
    }
}

void words_take(struct request_words *words, const char *bytes, const struct resp_span *spans,
                int count)
{
    make_room(words, count);
    const char **at = words->at;
    size_t *lengths = words->lengths;
    words->count = count;
    for (int i = 0; i < count; i++) {
        at[i] = bytes + spans[i].offset;
        lengths[i] = (size_t)spans[i].length;
    }
}

void words_free(struct request_words *words)
{
    free(words->at);
    free(words->lengths);
    *words = (struct request_words){0};
}

bool words_is(const struct request_words *words, int at, const char *word)
{
    /* Few words begin alike: letters of both cases differ in one bit. */
    return at < words->count && words->lengths[at] && !((words->at[at][0] ^ word[0]) & ~0x20) &&
           words->lengths[at] == strlen(word) &&
           strncasecmp(words->at[at], word, words->lengths[at]) == 0;
}

bool words_have(const struct request_words *words, const char *word)
{
    for (int i = 1; i < words->count; i++)
        if (words_is(words, i, word))
            return true;
    return false;
}

bool words_delete(const struct request_words *words)
{
    return words_is(words, 0, "DEL") || words_is(words, 0, "UNLINK");
}

bool words_set_says_old(const struct request_words *words)
{
    bool has_get = false;
    for (int i = 3; words_is(words, 0, "SET") && i < words->count; i++)
        has_get |= words_is(words, i, "GET");
    return has_get;
}

int64_t words_lease_us(const struct request_words *words)
{
    for (int i = 1; i + 1 < words->count; i++) {
        const bool is_ms = words_is(words, i, "PX");
        char digits[20] = "";
        if ((!is_ms && !words_is(words, i, "EX")) || words->lengths[i + 1] >= sizeof digits)
            continue;
        memcpy(digits, words->at[i + 1], words->lengths[i + 1]);
        const long long number = strtoll(digits, NULL, 10);
        if (number > 0 && number < INT64_MAX / 4000000)
            return number * (is_ms ? 1000 : 1000000);
    }
    return INT64_MAX;
}

int64_t words_time_us(const struct request_words *words, int at, int64_t unit_us)
{
    char digits[24] = "", *end = digits;
    if (at >= words->count || words->lengths[at] >= sizeof digits)
        return INT64_MAX;
    memcpy(digits, words->at[at], words->lengths[at]);
    const long long number = strtoll(digits, &end, 10);
    if (end == digits || *end || number > INT64_MAX / unit_us)
        return INT64_MAX;
    return number < 0 ? 0 : number * unit_us;
}
