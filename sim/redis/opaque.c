/* opaque.c - see opaque.h. */
#include "redis/opaque.h"

#include "redis/command.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    ESCAPE_BYTES = 4, /* \xNN */
    DIGEST_DIGITS = 16,
    VALUE_HEAD_MAX = 40, /* of a long value */
    WORD_LONG = 48,      /* longer than most tokens and keys: a script, or data */
    WORD_HEAD_MAX = 32,  /* of such a word */
};

static const uint64_t digest_start = 14695981039346656037u; /* FNV-1a */

static uint64_t digest_more(uint64_t digest, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ (unsigned char)bytes[i]) * 1099511628211u;
    return digest;
}

/* The byte as text, at most ESCAPE_BYTES and the final 0; '#' introduces a digest. */
static size_t escape(char byte, bool is_value, char *text)
{
    const unsigned char it = (unsigned char)byte;
    const bool is_plain = it >= 0x20 && it <= 0x7e && it != '\\' && !(is_value && it == '#');
    if (is_plain) {
        text[0] = byte;
        text[1] = '\0';
        return 1;
    }
    (void)snprintf(text, ESCAPE_BYTES + 1, "\\x%02x", it);
    return ESCAPE_BYTES;
}

/* As much as fits below size; false: not all of it did. */
static bool append(char *text, size_t size, const char *bytes, size_t length, bool is_value)
{
    size_t used = strlen(text);
    for (size_t i = 0; i < length; i++) {
        char part[ESCAPE_BYTES + 1];
        size_t more = escape(bytes[i], is_value, part);
        if (used + more >= size)
            return false;
        memcpy(text + used, part, more + 1);
        used += more;
    }
    return true;
}

/* A long word is its beginning, each run of white space a blank, then '#' and 8 digits of the
 * digest of all of it: two scripts that begin alike can be told apart. */
static bool append_short(char *text, size_t size, const char *word, size_t length)
{
    char head[WORD_HEAD_MAX + ESCAPE_BYTES] = "", digest[DIGEST_DIGITS];
    bool is_behind_blank = true, fits = true;
    for (size_t i = 0; fits && i < length; i++) {
        const bool is_blank = isspace((unsigned char)word[i]);
        if (!is_blank || !is_behind_blank)
            fits = append(head, WORD_HEAD_MAX, is_blank ? " " : &word[i], 1, false);
        is_behind_blank = is_blank;
    }
    const uint64_t whole = digest_more(digest_start, word, length);
    snprintf(digest, sizeof digest, "#%08x", (unsigned)(whole ^ whole >> 32));
    return append(text, size, head, strlen(head), false) &&
           append(text, size, digest, strlen(digest), false);
}

/* As much as fits, with "..." in the place of the rest; false: not all of it did. */
static bool print_words(char *text, size_t size, const char *const *words, const size_t *lengths,
                        int count, bool is_short)
{
    static const char cut[] = "...";
    const size_t most = size - (sizeof cut - 1);
    bool fits = true;
    text[0] = '\0';
    for (int i = 0; fits && i < count; i++) {
        fits = i == 0 || append(text, most, " ", 1, false);
        fits = fits && (is_short && lengths[i] > WORD_LONG
                            ? append_short(text, most, words[i], lengths[i])
                            : append(text, most, words[i], lengths[i], false));
    }
    if (!fits)
        memcpy(text + strlen(text), cut, sizeof cut);
    return fits;
}

void opaque_of_words(struct opaque *opaque, const char *const *words, const size_t *lengths,
                     int count, unsigned keys)
{
    assert(count >= 1);
    *opaque = (struct opaque){.digest = digest_start, .keys = keys};
    append(opaque->name, sizeof opaque->name, words[0], lengths[0], false);
    for (char *at = opaque->name; *at; at++)
        *at = (char)(at > opaque->name && at[-1] == '\\' ? *at : toupper((unsigned char)*at));
    for (int i = 0; i < count; i++) {
        opaque->digest = digest_more(opaque->digest, words[i], lengths[i]);
        opaque->digest = digest_more(opaque->digest, "\r\n", 2);
    }
    if (!print_words(opaque->text, sizeof opaque->text, words, lengths, count, false))
        print_words(opaque->text, sizeof opaque->text, words, lengths, count, true);
}

bool opaque_is_same(const struct opaque *one, const struct opaque *two)
{
    bool is_known = one->digest != 0 && two->digest != 0;
    return !strcmp(one->name, two->name) &&
           (is_known ? one->digest == two->digest : !strcmp(one->text, two->text));
}

bool opaque_is_read(const char *name)
{
    static const char *const reads[] = {"GET", "EXISTS", "TTL", "PTTL", "TYPE", "STRLEN"};
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        if (strcmp(reads[i], name) == 0)
            return true;
    return false;
}

const char *opaque_words(const struct opaque *opaque)
{
    return opaque->text[0] ? opaque->text : opaque->name;
}

bool opaque_is_text(const char *text)
{
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
            return false;
    return true;
}

/* --- values --- */

const char *value_of_bytes(const char *bytes, size_t length, char *text)
{
    text[0] = '\0';
    if (append(text, VALUE_TEXT_MAX, bytes, length, true))
        return text;
    text[0] = '\0';
    append(text, VALUE_HEAD_MAX, bytes, length, true);
    size_t used = strlen(text);
    snprintf(text + used, VALUE_TEXT_MAX - used, "#%016llx",
             (unsigned long long)digest_more(digest_start, bytes, length));
    return text;
}

const char *value_digest(uint64_t salt, const char *bytes, size_t length, char *text)
{
    snprintf(text, VALUE_TEXT_MAX, "#%016llx",
             (unsigned long long)digest_more(digest_start ^ salt, bytes, length));
    return text;
}

/* Two digits of hexadecimal, or -1. */
static int read_byte(const char *text)
{
    static const char digits[] = "0123456789abcdef";
    const char *high = *text ? strchr(digits, text[0]) : NULL;
    const char *low = high && text[1] ? strchr(digits, text[1]) : NULL;
    return low ? (int)((high - digits) * 16 + (low - digits)) : -1;
}

static bool read_digest(const char *text, uint64_t *digest)
{
    *digest = 0;
    for (int i = 0; i < DIGEST_DIGITS; i += 2) {
        int byte = read_byte(text + i);
        if (byte < 0)
            return false;
        *digest = *digest << 8 | (unsigned)byte;
    }
    return text[DIGEST_DIGITS] == '\0';
}

bool value_number(const char *text, int64_t *number)
{
    char bytes[VALUE_TEXT_MAX];
    size_t length = 0;
    uint64_t digest;
    if (!opaque_is_text(text))
        return false;
    for (const char *at = text; *at && length < sizeof bytes; length++) {
        if (*at == '#') {
            if (!read_digest(at + 1, &digest))
                return false;
            *number = command_fingerprint(digest);
            return true;
        }
        int byte = at[0] == '\\' && at[1] == 'x' ? read_byte(at + 2) : -1;
        if (*at == '\\' && byte < 0)
            return false;
        bytes[length] = (char)(byte < 0 ? *at : byte);
        at += byte < 0 ? 1 : ESCAPE_BYTES;
    }
    *number = command_value(bytes, length);
    return length < sizeof bytes;
}
