/* form_scalar.c - see form.h: texts, numbers, words and characters. */
#include "history/form_parts.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char hex_digits[] = "0123456789abcdef0123456789ABCDEF";

static enum fail take_code(struct form_reader *reader, unsigned *code, struct failure *failure)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = form_peek(reader);
        const char *place = digit > 0 ? strchr(hex_digits, digit) : NULL;
        if (!place)
            return form_refuse(reader, reader->next, failure, "\\u wants four hexadecimal digits");
        (void)form_take(reader);
        *code = *code << 4 | (unsigned)((place - hex_digits) % 16);
    }
    return FAIL_NONE;
}

/* The first half of a pair, as put_code() wrote it just before; 0: there is none. */
static unsigned first_half(const char *bytes, size_t size)
{
    const unsigned char *at = (const unsigned char *)bytes + size - 3;
    if (size < 3 || at[0] != 0xed || at[1] < 0xa0 || at[1] > 0xaf)
        return 0;
    return 0xd000 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
}

/* As UTF-8. Half a pair that is alone is none, and yet no other text's bytes. */
static void put_code(unsigned code, char *bytes, size_t *size)
{
    const unsigned first = code >> 10 == 0xdc00 >> 10 ? first_half(bytes, *size) : 0;
    if (first) {
        code = 0x10000 + ((first & 0x3ff) << 10 | (code & 0x3ff));
        *size -= 3;
        bytes[(*size)++] = (char)(0xf0 | code >> 18);
        bytes[(*size)++] = (char)(0x80 | (code >> 12 & 0x3f));
        bytes[(*size)++] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[(*size)++] = (char)(0x80 | (code & 0x3f));
        return;
    }
    if (code < 0x80) {
        bytes[(*size)++] = (char)code;
        return;
    }
    if (code < 0x800) {
        bytes[(*size)++] = (char)(0xc0 | code >> 6);
    } else {
        bytes[(*size)++] = (char)(0xe0 | code >> 12);
        bytes[(*size)++] = (char)(0x80 | (code >> 6 & 0x3f));
    }
    bytes[(*size)++] = (char)(0x80 | (code & 0x3f));
}

static enum fail take_escape(struct form_reader *reader, char *bytes, size_t *size,
                             struct failure *failure)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const int byte = form_peek(reader);
    const char *at = byte > 0 ? strchr(names, byte) : NULL;
    unsigned code = 0;
    if (!at && byte != 'u')
        return form_refuse(reader, reader->next, failure, "no such escape in a text");
    (void)form_take(reader);
    if (at) {
        bytes[(*size)++] = meant[at - names];
        return FAIL_NONE;
    }
    if (take_code(reader, &code, failure))
        return failure->code;
    put_code(code, bytes, size);
    return FAIL_NONE;
}

static enum fail take_text(struct form_reader *reader, char *bytes, size_t *size,
                           struct failure *failure)
{
    int byte;
    *size = 0;
    while ((byte = form_peek(reader)) != '"') {
        if (byte == EOF)
            return form_refuse(reader, reader->next, failure,
                               "the file ends within a text: it was cut off");
        if (form_is_full(reader))
            return form_refuse_length(reader, failure);
        (void)form_take(reader);
        enum fail fail = FAIL_NONE;
        if (byte == '\\')
            fail = take_escape(reader, bytes, size, failure);
        else
            bytes[(*size)++] = (char)byte;
        if (fail)
            return fail;
    }
    (void)form_take(reader);
    bytes[*size] = '\0';
    return FAIL_NONE;
}

enum fail form_take_token(struct form_reader *reader, char *bytes, size_t *size,
                          struct failure *failure)
{
    *size = 0;
    while (!form_ends_token(form_peek(reader)) && !form_is_blank(reader, form_peek(reader))) {
        if (form_is_full(reader))
            return form_refuse_length(reader, failure);
        bytes[(*size)++] = (char)form_take(reader);
    }
    bytes[*size] = '\0';
    if (*size == 0)
        return form_refuse(reader, reader->next, failure, "no value begins with byte %d",
                           form_peek(reader));
    return FAIL_NONE;
}

/* A word, and where it begins. */
struct written {
    char bytes[TOKEN_MAX];
    size_t size;
    struct form_place place;
};

static bool is_number(const char *bytes)
{
    const char *at = bytes + (*bytes == '-' || *bytes == '+');
    return *at >= '0' && *at <= '9';
}

/* "3/4": as near as a real is. */
static bool read_ratio(const char *bytes, double *real)
{
    char *end;
    const char *slash = strchr(bytes, '/');
    if (!slash || slash[1] < '0' || slash[1] > '9')
        return false;
    const double above = strtod(bytes, &end);
    if (end != slash)
        return false;
    const double below = strtod(slash + 1, &end);
    *real = above / below;
    return !*end && below > 0 && isfinite(*real);
}

static bool read_real(const char *bytes, double *real)
{
    char *end;
    *real = strtod(bytes, &end);
    if (isinf(*real)) /* more than there are: nobody asks how many */
        *real = *real > 0 ? DBL_MAX : -DBL_MAX;
    return !*end;
}

static enum fail number(const struct form_reader *reader, struct written *word, json_t **value,
                        struct failure *failure)
{
    const bool is_edn = reader->language == FORM_EDN;
    char *end, *last = &word->bytes[word->size - 1], *bytes = word->bytes;
    const char suffix = *last;
    double real;
    if (is_edn && (suffix == 'N' || suffix == 'M')) /* EDN's big ones */
        *last = '\0';
    errno = 0;
    long long whole = strtoll(bytes, &end, 10);
    if (!*end && !errno) {
        *value = json_integer(whole);
        return FAIL_NONE;
    }
    const bool is_real = read_real(bytes, &real) || (is_edn && read_ratio(bytes, &real));
    *last = suffix;
    if (!is_real)
        return form_refuse(reader, word->place, failure, "'%.40s' is no number", bytes);
    *value = json_real(real);
    return FAIL_NONE;
}

/* The bytes as they are: one whose bytes are no UTF-8 is a text all the same. */
static json_t *text_of(const char *bytes, size_t size)
{
    return json_stringn_nocheck(bytes, size);
}

static enum fail read_word(const struct form_reader *reader, struct written *word, json_t **value,
                           struct failure *failure)
{
    const char *bytes = word->bytes;
    if (is_number(bytes))
        return number(reader, word, value, failure);
    if (!strcmp(bytes, "nil") || !strcmp(bytes, "null"))
        *value = json_null();
    else if (!strcmp(bytes, "true") || !strcmp(bytes, "false"))
        *value = json_boolean(bytes[0] == 't');
    else if (reader->language == FORM_JSON)
        return form_refuse(reader, word->place, failure, "'%.40s' is no JSON", bytes);
    else
        *value = text_of(bytes + (*bytes == ':'), word->size - (*bytes == ':'));
    return FAIL_NONE;
}

/* A letter, which may have several bytes, its code, or the name of one. */
static bool is_character(const char *bytes, size_t size)
{
    static const char *const names[] = {"newline", "return",    "space",
                                        "tab",     "backspace", "formfeed"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(bytes, names[i]))
            return true;
    const bool is_code = bytes[0] == 'u' && size == 5 && strspn(bytes + 1, hex_digits) == 4;
    const bool is_octal = bytes[0] == 'o' && size <= 4 && strspn(bytes + 1, "01234567") == size - 1;
    size_t letters = 0;
    for (size_t i = 0; i < size; i++)
        letters += ((unsigned char)bytes[i] & 0xc0) != 0x80;
    return is_code || is_octal || letters <= 1;
}

/* Behind a backslash; a bracket is a letter, too. */
static enum fail take_character(struct form_reader *reader, struct form_place place, json_t **value,
                                struct failure *failure)
{
    char bytes[16];
    size_t size = 1;
    if (form_peek(reader) == EOF)
        return form_refuse(reader, reader->next, failure,
                           "the file ends within a value: it was cut off");
    bytes[0] = (char)form_take(reader);
    while (!form_ends_token(form_peek(reader))) {
        const char byte = (char)form_take(reader);
        if (size + 1 < sizeof bytes)
            bytes[size++] = byte;
    }
    bytes[size] = '\0';
    if (!is_character(bytes, size))
        return form_refuse(reader, place, failure, "no character is called '\\%s'", bytes);
    *value = text_of(bytes, size);
    return FAIL_NONE;
}

enum fail form_take_scalar(struct form_reader *reader, json_t **value, struct failure *failure)
{
    struct written word;
    enum fail fail;
    word.place = reader->next;
    if (form_peek(reader) == '"') {
        (void)form_take(reader);
        fail = take_text(reader, word.bytes, &word.size, failure);
        if (!fail)
            *value = text_of(word.bytes, word.size);
        return fail;
    }
    if (form_peek(reader) == '\\' && reader->language == FORM_EDN) {
        (void)form_take(reader);
        return take_character(reader, word.place, value, failure);
    }
    fail = form_take_token(reader, word.bytes, &word.size, failure);
    return fail ? fail : read_word(reader, &word, value, failure);
}
