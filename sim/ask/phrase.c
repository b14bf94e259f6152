/* phrase.c - see phrase.h. A token is kept as two bytes, NUL and whose it is; NUL as NUL and
 * PLAIN_NUL. */
#include "ask/phrase.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Texts stand between ends of lines on the wire. */
enum { END_OF_LINE = 2, PLAIN_NUL = 0x7f };

static bool is_line_end(const char *at)
{
    return memcmp(at, "\r\n", END_OF_LINE) == 0;
}

static bool is_at(const struct spoken_token *token, const char *begin, const char *at,
                  const char *end)
{
    return token->length > 0 && at - begin >= END_OF_LINE &&
           (size_t)(end - at) >= token->length + END_OF_LINE && is_line_end(at - END_OF_LINE) &&
           is_line_end(at + token->length) && memcmp(at, token->bytes, token->length) == 0;
}

enum fail phrase_put(struct phrasebook *book, const char *bytes, size_t length,
                     const struct spoken_token *own, const struct spoken_token *other,
                     uint32_t *number, unsigned *whose, struct failure *failure)
{
    const char *end = bytes + length;
    size_t used = 0;
    *whose = WHOSE_NONE;
    if (length >= PHRASE_MAX)
        return failure_set(failure, FAIL_UNKNOWN, "a command or a reply of %d bytes or more",
                           PHRASE_MAX);
    char *phrase = memory_new(2 * length + 1, 1); /* each byte a NUL */
    for (const char *at = bytes; at < end;) {
        const unsigned found = is_at(own, bytes, at, end)     ? WHOSE_OWN
                               : is_at(other, bytes, at, end) ? WHOSE_OTHER
                                                              : WHOSE_NONE;
        if (found) {
            phrase[used++] = '\0';
            phrase[used++] = (char)found;
            at += found == WHOSE_OWN ? own->length : other->length;
            *whose |= found;
        } else {
            phrase[used++] = *at;
            if (!*at++)
                phrase[used++] = PLAIN_NUL;
        }
    }
    if (used <= PHRASE_MAX)
        *number = intern_put(&book->table, phrase, used) + 1;
    free(phrase);
    return used <= PHRASE_MAX
               ? FAIL_NONE
               : failure_set(failure, FAIL_UNKNOWN, "a command or a reply full of NUL bytes");
}

char *phrase_say(const struct phrasebook *book, uint32_t number, const struct spoken_token *own,
                 const struct spoken_token *other, size_t *length)
{
    assert(number > 0);
    const size_t size = intern_size(&book->table, number - 1);
    char *phrase = memory_new(size, 1);
    (void)intern_get(&book->table, number - 1, phrase);
    size_t used = 0, symbols = 0;
    for (size_t i = 0; i < size; i++)
        symbols += !phrase[i];
    char *said = memory_new(symbols * SPOKEN_TOKEN_MAX + size + 1, 1);
    for (size_t i = 0; i < size; i++) {
        if (phrase[i]) {
            said[used++] = phrase[i];
            continue;
        }
        if (phrase[++i] == PLAIN_NUL) {
            said[used++] = '\0';
            continue;
        }
        const struct spoken_token *token = phrase[i] == WHOSE_OWN ? own : other;
        memcpy(said + used, token->bytes, token->length);
        used += token->length;
    }
    said[used] = '\0';
    free(phrase);
    *length = used;
    return said;
}

bool phrase_is_whole(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i])
            continue;
        if (++i == size ||
            (bytes[i] != WHOSE_OWN && bytes[i] != WHOSE_OTHER && bytes[i] != PLAIN_NUL))
            return false;
    }
    return size <= PHRASE_MAX;
}

bool token_is_same(const struct spoken_token *a, const struct spoken_token *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* The next one of its kind, round and round. */
static char next_in(char c, char first, char last)
{
    return c == last ? first : (char)(c + 1);
}

static char unlike(char c)
{
    if (c >= '0' && c <= '9')
        return next_in(c, '0', '9');
    if (c >= 'a' && c <= 'f')
        return next_in(c, 'a', 'f');
    if (c >= 'A' && c <= 'F')
        return next_in(c, 'A', 'F');
    if (c >= 'g' && c <= 'z')
        return next_in(c, 'g', 'z');
    if (c >= 'G' && c <= 'Z')
        return next_in(c, 'G', 'Z');
    return c < ' ' || c > '~' ? (char)(c ^ 1) : c;
}

struct spoken_token token_unlike(const struct spoken_token *token)
{
    struct spoken_token other = *token;
    for (size_t i = 0; i < other.length; i++)
        other.bytes[i] = unlike(other.bytes[i]);
    return other;
}
