/* resp_inline.c - the words of an inline command, as redis-server splits them. See resp.h. */
#include "redis/resp.h"

#include <ctype.h>
#include <limits.h>

/* The word that begins at *at; false when its quotes do not end as they must. */
static bool split_word(const char *line, size_t length, size_t *at, struct resp_span *word)
{
    char quote = line[*at] == '"' || line[*at] == '\'' ? line[*at] : 0;
    size_t i = *at + (quote ? 1 : 0), from = i;
    for (; i < length; i++) {
        if (quote && line[i] == '\\' && i + 1 < length && (quote == '"' || line[i + 1] == '\'')) {
            i++;
        } else if (quote && line[i] == quote) {
            *word = (struct resp_span){from, i - from};
            *at = i + 1;
            return *at == length || isspace((unsigned char)line[*at]);
        } else if (!quote && isspace((unsigned char)line[i])) {
            break;
        } else if (!quote && (line[i] == '"' || line[i] == '\'')) {
            return false; /* quotes in the middle of a word: rare, and not worth a guess */
        }
    }
    *word = (struct resp_span){from, i - from};
    *at = i;
    return !quote;
}

int resp_split_inline(const char *line, size_t length, struct resp_span *spans, int max)
{
    int words = 0;
    size_t at = 0;
    for (;;) {
        while (at < length && isspace((unsigned char)line[at]))
            at++;
        if (at == length)
            return words;
        struct resp_span word;
        if (words == INT_MAX || !split_word(line, length, &at, &word))
            return -1;
        if (words < max)
            spans[words] = word;
        words++;
    }
}
