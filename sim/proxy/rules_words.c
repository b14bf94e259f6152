/* rules_words.c - see rules_words.h: words, quotes, escapes, and what is said when something is
 * wrong. */
#include "proxy/rules_words.h"

#include "base/infile.h"
#include "base/memory.h"
#include "base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fail line_wrong(const struct rules_line *line, int column, struct failure *failure,
                     const char *format, ...)
{
    char words[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    if (!line->path)
        return failure_set(failure, FAIL_INPUT, "%s", words);
    return failure_set(failure, FAIL_INPUT, "%s:%d:%d: %s", line->path, line->number,
                       column ? column : 1, words);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static int hex_digit(char byte)
{
    if (!isxdigit((unsigned char)byte))
        return -1;
    return isdigit((unsigned char)byte) ? byte - '0' : tolower((unsigned char)byte) - 'a' + 10;
}

/* The escape behind a backslash at *at; false when it is none. */
static bool read_escape(const char *text, size_t length, size_t *at, char *byte)
{
    static const char from[] = "rnt0\\\"", to[] = "\r\n\t\0\\\"";
    char escape = *at < length ? text[*at] : 0;
    const char *known = escape ? strchr(from, escape) : NULL;
    if (known) {
        *byte = to[known - from];
        (*at)++;
        return true;
    }
    if (escape != 'x' || *at + 2 >= length || hex_digit(text[*at + 1]) < 0 ||
        hex_digit(text[*at + 2]) < 0)
        return false;
    *byte = (char)(hex_digit(text[*at + 1]) * 16 + hex_digit(text[*at + 2]));
    *at += 3;
    return true;
}

static enum fail split_word(struct rules_line *line, const char *text, size_t length, size_t *at,
                            struct failure *failure)
{
    struct word *word = &line->words[line->count];
    bool is_quoted = false;
    word->column = (int)*at + 1;
    word->length = 0;
    for (; *at < length && (is_quoted || !is_blank(text[*at])); (*at)++) {
        char byte = text[*at];
        if (byte == '"') {
            is_quoted = !is_quoted;
            continue;
        }
        if (word->length + 1 == WORD_MAX)
            return line_wrong(line, word->column, failure, "a word of more than %d bytes",
                              WORD_MAX - 1);
        if (is_quoted && byte == '\\') {
            size_t escape = *at + 1;
            if (!read_escape(text, length, &escape, &byte))
                return line_wrong(line, (int)*at + 1, failure,
                                  "an unknown escape; there are \\r \\n \\t \\0 \\\\ \\\" \\xHH");
            *at = escape - 1;
        }
        word->text[word->length++] = byte;
    }
    word->text[word->length] = 0;
    if (is_quoted)
        return line_wrong(line, word->column, failure, "a quote that does not end");
    line->count++;
    return FAIL_NONE;
}

enum fail line_split(struct rules_line *line, const char *text, size_t length,
                     struct failure *failure)
{
    line->count = 0;
    return line_split_more(line, text, length, failure);
}

enum fail line_word(struct rules_line *line, const char *text, struct failure *failure)
{
    const size_t length = strlen(text);
    if (line->count == WORDS_MAX)
        return line_wrong(line, 0, failure, "more than %d words", WORDS_MAX);
    if (length >= WORD_MAX)
        return line_wrong(line, 0, failure, "a word of more than %d bytes", WORD_MAX - 1);
    struct word *word = &line->words[line->count++];
    word->column = 1;
    word->length = length;
    memcpy(word->text, text, length + 1);
    return FAIL_NONE;
}

enum fail line_split_more(struct rules_line *line, const char *text, size_t length,
                          struct failure *failure)
{
    for (size_t at = 0;;) {
        while (at < length && is_blank(text[at]))
            at++;
        if (at == length || text[at] == '#')
            return FAIL_NONE;
        if (line->count == WORDS_MAX)
            return line_wrong(line, (int)at + 1, failure, "more than %d words", WORDS_MAX);
        if (split_word(line, text, length, &at, failure))
            return FAIL_INPUT;
    }
}

static enum fail each_line(struct rules_line *line, const char *text, size_t length,
                           line_taker *take, void *context, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (size_t at = 0; at < length && !fail;) {
        const char *feed = memchr(text + at, '\n', length - at);
        const size_t end = feed ? (size_t)(feed - text) : length;
        line->number++;
        if (memchr(text + at, 0, end - at))
            return line_wrong(line, 0, failure, "a zero byte: this is no text file");
        fail = line_split(line, text + at, end - at, failure);
        if (!fail && line->count)
            fail = take(context, line, failure);
        at = end + 1;
    }
    return fail;
}

enum fail lines_read(const char *path, line_taker *take, void *context, struct failure *failure)
{
    char *text = NULL;
    size_t length = 0;
    struct rules_line *line = memory_new(1, sizeof *line);
    line->path = path;
    enum fail fail = infile_read(path, RULES_BYTES_MAX, &text, &length, failure);
    if (!fail)
        fail = each_line(line, text, length, take, context, failure);
    free(text);
    free(line);
    return fail;
}

bool word_read_count(const char *text, uint64_t *count)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    *count = strtoull(text, &end, 10);
    return !errno && !*end && *count > 0 && *count <= INT64_MAX;
}

const char *word_near(const char *word, const char *const *candidates, size_t count, char *text)
{
    const char *nearest = suggest_nearest(word, candidates, count);
    if (nearest)
        return suggest_words(nearest, "", text);
    int used = snprintf(text, 512, "; there are");
    for (size_t i = 0; i < count && used < 480; i++)
        used += snprintf(text + used, 512 - (size_t)used, " %s", candidates[i]);
    return text;
}
