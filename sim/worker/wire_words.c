/* wire_words.c - see wire_words.h. Source: the Redis serialization protocol, versions 2 and 3. */
#include "worker/wire_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORD_SHOWN_MAX = 48, ELEMENTS_SHOWN_MAX = 8, DEPTH_MAX = 4 };

/* What is left to be read. */
struct rest {
    const char *at, *end;
};

/* A line without its end. False: it has not come whole. */
static bool take_line(struct rest *rest, const char **line, size_t *length)
{
    const char *end = memchr(rest->at, '\r', (size_t)(rest->end - rest->at));
    if (!end || end + 2 > rest->end)
        return false;
    *line = rest->at;
    *length = (size_t)(end - rest->at);
    rest->at = end + 2;
    return true;
}

/* "*3" or "$12": the number behind that type. -1: it is not of it. */
static long take_number(struct rest *rest, char type)
{
    const char *line;
    size_t length;
    if (rest->at >= rest->end || *rest->at != type || !take_line(rest, &line, &length))
        return -1;
    return strtol(line + 1, NULL, 10);
}

struct wire_words wire_words_read(const char *bytes, size_t length)
{
    struct wire_words words = {0};
    struct rest rest = {.at = bytes, .end = bytes + length};
    for (;;) {
        if (words.count == words.wanted) {
            const long wanted = take_number(&rest, '*');
            if (wanted <= 0)
                break;
            words.wanted += (int)wanted;
            words.requests++;
        }
        if (words.count == WIRE_WORDS_MAX)
            break;
        const long size = take_number(&rest, '$');
        if (size < 0 || rest.end - rest.at < size)
            break;
        words.words[words.count] = rest.at;
        words.lengths[words.count++] = (size_t)size;
        rest.at += size + 2 <= rest.end - rest.at ? size + 2 : size;
    }
    return words;
}

bool wire_words_is(const struct wire_words *words, int at, const char *word)
{
    return at < words->count && words->lengths[at] == strlen(word) &&
           strncasecmp(words->words[at], word, words->lengths[at]) == 0;
}

/* --- for people --- */

struct text {
    char *bytes;
    size_t used, size;
};

static void put(struct text *text, const char *words)
{
    for (; *words && text->used + 1 < text->size; words++)
        text->bytes[text->used++] = *words;
    text->bytes[text->used] = '\0';
}

/* Printable as it is, quoted where it would not be one word, cut where it is long. */
static void put_word(struct text *text, const char *word, size_t length)
{
    const size_t shown = length < WORD_SHOWN_MAX ? length : WORD_SHOWN_MAX;
    bool is_plain = length > 0;
    for (size_t i = 0; i < shown; i++)
        is_plain = is_plain && word[i] > ' ' && word[i] <= '~' && word[i] != '"' && word[i] != '\\';
    if (!is_plain)
        put(text, "\"");
    for (size_t i = 0; i < shown; i++) {
        char one[8] = {word[i], '\0'};
        if (word[i] < ' ' || word[i] > '~')
            (void)snprintf(one, sizeof one, "\\x%02x", (unsigned)(unsigned char)word[i]);
        put(text, word[i] == '\n' ? "\\n" : one);
    }
    if (shown < length)
        put(text, "..");
    if (!is_plain)
        put(text, "\"");
}

const char *wire_request_print(const char *bytes, size_t length, char *text, size_t size)
{
    const struct wire_words words = wire_words_read(bytes, length);
    struct text made = {.bytes = text, .size = size};
    put(&made, "");
    for (int i = 0; i < words.count; i++) {
        put(&made, i ? " " : "");
        put_word(&made, words.words[i], words.lengths[i]);
    }
    if (!words.count)
        put_word(&made, bytes, length);
    else if (words.count < words.wanted)
        put(&made, " ..");
    return text;
}

static bool put_reply(struct text *text, struct rest *rest, int depth);

static bool put_elements(struct text *text, struct rest *rest, long count, int depth)
{
    put(text, "[");
    for (long i = 0; i < count; i++) {
        if (i == ELEMENTS_SHOWN_MAX || depth == DEPTH_MAX) {
            put(text, " ..]");
            return false;
        }
        put(text, i ? ", " : "");
        if (!put_reply(text, rest, depth + 1))
            return false;
    }
    put(text, "]");
    return true;
}

/* One value. False: what stands behind it cannot be found any more. Depth is bounded. */
static bool put_reply(struct text *text, struct rest *rest, int depth)
{
    const char type = rest->at < rest->end ? *rest->at : '\0', *line;
    size_t length;
    if (!take_line(rest, &line, &length))
        return false;
    const long number = strtol(line + 1, NULL, 10);
    switch (type) {
    case '$':
    case '=':
        if (number < 0) {
            put(text, "nil");
            return true;
        }
        length = (size_t)number < (size_t)(rest->end - rest->at) ? (size_t)number
                                                                 : (size_t)(rest->end - rest->at);
        put_word(text, rest->at, length);
        rest->at += length + 2 <= (size_t)(rest->end - rest->at) ? length + 2 : length;
        return true;
    case '*':
    case '~':
    case '>':
    case '%':
        if (number < 0) {
            put(text, "nil");
            return true;
        }
        return put_elements(text, rest, type == '%' ? 2 * number : number, depth);
    case '_':
        put(text, "nil");
        return true;
    case '-':
        put(text, "error: ");
        break;
    default:
        break;
    }
    char shown[200];
    (void)snprintf(shown, sizeof shown, "%.*s", (int)(length ? length - 1 : 0), line + 1);
    put(text, shown);
    return true;
}

const char *wire_reply_print(const char *bytes, size_t length, char *text, size_t size)
{
    struct text made = {.bytes = text, .size = size};
    struct rest rest = {.at = bytes, .end = bytes + length};
    put(&made, "");
    (void)put_reply(&made, &rest, 0);
    return text;
}
