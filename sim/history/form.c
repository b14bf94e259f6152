/* form.c - see form.h. */
#include "history/form.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NO_BYTE = EOF - 1, TOKEN_MAX = 4096, KEY_MAX = 128 };

/* What is open: a map waits for a key where key is empty. */
struct open {
    json_t *value;
    int close;                       /* the byte that ends it */
    bool is_map, has_key, is_tagged; /* tagged: what comes behind it is, for it is discarded */
    int discards;                    /* of the values from here on, with this one */
    char key[KEY_MAX];               /* cut off where it is longer: nobody looks for such a one */
};

void form_init(struct form_reader *reader, FILE *file, const char *path,
               enum form_language language)
{
    *reader = (struct form_reader){.file = file,
                                   .path = path,
                                   .language = language,
                                   .line = 1,
                                   .column = 1,
                                   .at_line = 1,
                                   .at_column = 1,
                                   .look = NO_BYTE};
}

/* At the byte that is read next. */
__attribute__((format(printf, 3, 4))) static enum fail
refuse_here(const struct form_reader *reader, struct failure *failure, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    enum fail fail = form_refuse(reader, reader->line, reader->column, failure, format, values);
    va_end(values);
    return fail;
}

/* --- bytes --- */

static int peek(struct form_reader *reader)
{
    if (reader->look == NO_BYTE)
        reader->look = getc_unlocked(reader->file);
    return reader->look;
}

static int take(struct form_reader *reader)
{
    int byte = peek(reader);
    reader->look = NO_BYTE;
    reader->bytes++;
    reader->column++;
    if (byte == '\n') {
        reader->line++;
        reader->column = 1;
    }
    return byte;
}

static bool is_blank(const struct form_reader *reader, int byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == ',' ||
           (reader->language == FORM_JSON && byte == ':');
}

static bool ends_token(int byte)
{
    return byte == EOF || byte <= ' ' || strchr(",()[]{}\";", byte) != NULL;
}

static void skip_blanks(struct form_reader *reader)
{
    for (;;) {
        int byte = peek(reader);
        if (reader->language == FORM_EDN && byte == ';')
            while (peek(reader) != '\n' && peek(reader) != EOF)
                (void)take(reader);
        else if (is_blank(reader, byte))
            (void)take(reader);
        else
            return;
    }
}

/* --- scalars --- */

static enum fail take_code(struct form_reader *reader, unsigned *code, struct failure *failure)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = peek(reader);
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *place = digit > 0 ? strchr(digits, digit) : NULL;
        if (!place)
            return refuse_here(reader, failure, "\\u wants four hexadecimal digits");
        (void)take(reader);
        *code = *code << 4 | (unsigned)((place - digits) % 16);
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
    const int byte = peek(reader);
    const char *at = byte > 0 ? strchr(names, byte) : NULL;
    unsigned code = 0;
    if (!at && byte != 'u')
        return refuse_here(reader, failure, "no such escape in a text");
    (void)take(reader);
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
    while ((byte = peek(reader)) != '"') {
        if (byte == EOF)
            return refuse_here(reader, failure, "the file ends within a text: it was cut off");
        if (*size + 4 >= TOKEN_MAX)
            return refuse_here(reader, failure, "a text longer than %d bytes", TOKEN_MAX - 4);
        (void)take(reader);
        enum fail fail = FAIL_NONE;
        if (byte == '\\')
            fail = take_escape(reader, bytes, size, failure);
        else
            bytes[(*size)++] = (char)byte;
        if (fail)
            return fail;
    }
    (void)take(reader);
    bytes[*size] = '\0';
    return FAIL_NONE;
}

static enum fail take_token(struct form_reader *reader, char *bytes, size_t *size,
                            struct failure *failure)
{
    *size = 0;
    while (!ends_token(peek(reader)) && !is_blank(reader, peek(reader)))
        if (*size + 1 < TOKEN_MAX)
            bytes[(*size)++] = (char)take(reader);
        else
            return refuse_here(reader, failure, "a word longer than %d bytes", TOKEN_MAX - 1);
    bytes[*size] = '\0';
    if (*size == 0)
        return refuse_here(reader, failure, "no value begins with byte %d", peek(reader));
    return FAIL_NONE;
}

static bool is_number(const char *bytes)
{
    const char *at = bytes + (*bytes == '-' || *bytes == '+');
    return *at >= '0' && *at <= '9';
}

static enum fail number(const struct form_reader *reader, char *bytes, size_t size, json_t **value,
                        struct failure *failure)
{
    char *end;
    if (bytes[size - 1] == 'N' || bytes[size - 1] == 'M') /* EDN's big ones */
        bytes[size - 1] = '\0';
    errno = 0;
    long long whole = strtoll(bytes, &end, 10);
    if (!*end && !errno) {
        *value = json_integer(whole);
        return FAIL_NONE;
    }
    errno = 0;
    double real = strtod(bytes, &end);
    if (*end || errno || !(*value = json_real(real)))
        return form_refuses(reader, failure, "'%.40s' is no number", bytes);
    return FAIL_NONE;
}

/* The bytes as they are: one whose bytes are no UTF-8 is a text all the same. */
static json_t *text_of(const char *bytes, size_t size)
{
    return json_stringn_nocheck(bytes, size);
}

static enum fail word(const struct form_reader *reader, char *bytes, size_t size, json_t **value,
                      struct failure *failure)
{
    if (is_number(bytes))
        return number(reader, bytes, size, value, failure);
    if (!strcmp(bytes, "nil") || !strcmp(bytes, "null"))
        *value = json_null();
    else if (!strcmp(bytes, "true") || !strcmp(bytes, "false"))
        *value = json_boolean(bytes[0] == 't');
    else if (reader->language == FORM_JSON)
        return form_refuses(reader, failure, "'%.40s' is no JSON", bytes);
    else
        *value = text_of(bytes + (*bytes == ':' || *bytes == '\\'),
                         size - (*bytes == ':' || *bytes == '\\'));
    return FAIL_NONE;
}

static enum fail take_scalar(struct form_reader *reader, json_t **value, struct failure *failure)
{
    char bytes[TOKEN_MAX];
    size_t size;
    enum fail fail;
    if (peek(reader) == '"') {
        (void)take(reader);
        fail = take_text(reader, bytes, &size, failure);
        if (!fail)
            *value = text_of(bytes, size);
        return fail;
    }
    if (peek(reader) == '\\' && reader->language == FORM_EDN) {
        (void)take(reader);
        bytes[0] = (char)take(reader); /* a character, be it a bracket */
        *value = text_of(bytes, 1);
        while (!ends_token(peek(reader)))
            (void)take(reader);
        return FAIL_NONE;
    }
    fail = take_token(reader, bytes, &size, failure);
    return fail ? fail : word(reader, bytes, size, value, failure);
}

/* --- what holds others --- */

struct nest {
    struct open *open; /* FORM_DEPTH_MAX */
    int depth;
    int discards;   /* so many values from here on are not wanted */
    bool is_tagged; /* a tag stands before the next one that is */
    bool repeats;   /* a map had that key before */
    struct name_place {
        int64_t line, column;
    } name;       /* of the field in hand, of the outermost map */
    json_t *made; /* the value, whole */
};

static enum fail begin(const struct form_reader *reader, struct nest *nest, bool is_map, int close,
                       struct failure *failure)
{
    if (nest->depth == FORM_DEPTH_MAX)
        return form_refuses(reader, failure, "values nested deeper than %d", FORM_DEPTH_MAX);
    struct open *open = &nest->open[nest->depth++];
    open->value = is_map ? json_object() : json_array();
    open->close = close;
    open->is_map = is_map;
    open->has_key = false;
    open->discards = nest->discards;
    open->is_tagged = nest->discards && nest->is_tagged;
    nest->discards = 0;
    nest->is_tagged = false;
    return FAIL_NONE;
}

/* The text of a key; a number's digits. */
static void key_of(const json_t *value, char *key)
{
    if (json_is_string(value))
        snprintf(key, KEY_MAX, "%.127s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(key, KEY_MAX, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(key, KEY_MAX, "?");
}

/* Takes value to where it belongs. */
static void put(struct nest *nest, json_t *value)
{
    if (nest->discards) {
        nest->discards--;
        json_decref(value);
        return;
    }
    nest->is_tagged = false;
    if (nest->depth == 0) {
        nest->made = value;
        return;
    }
    struct open *open = &nest->open[nest->depth - 1];
    if (!open->is_map) {
        json_array_append_new(open->value, value);
    } else if (open->has_key) {
        /* Words only: what is no text has no key of its own here. */
        nest->repeats |= isalpha((unsigned char)open->key[0]) && strlen(open->key) < KEY_MAX - 1 &&
                         json_object_get(open->value, open->key);
        json_object_set_new_nocheck(open->value, open->key, value);
        open->has_key = false;
    } else {
        key_of(value, open->key);
        open->has_key = true;
        json_decref(value);
    }
}

static enum fail end(struct form_reader *reader, struct nest *nest, struct failure *failure)
{
    int byte = peek(reader);
    if (nest->depth == 0 || nest->open[nest->depth - 1].close != byte)
        return refuse_here(reader, failure, "'%c' closes nothing that is open", byte);
    if (nest->discards || nest->is_tagged)
        return refuse_here(reader, failure, "a '#' without its value");
    struct open *open = &nest->open[nest->depth - 1];
    if (open->is_map && open->has_key)
        return refuse_here(reader, failure, "a map with a key, '%.40s', that has no value",
                           open->key);
    (void)take(reader);
    nest->depth--;
    nest->discards = open->discards;
    nest->is_tagged = open->is_tagged;
    put(nest, open->value);
    return FAIL_NONE;
}

/* Behind '#': a set, something to discard, or a tag, which says nothing here. */
static enum fail hash(struct form_reader *reader, struct nest *nest, struct failure *failure)
{
    char tag[TOKEN_MAX];
    size_t size;
    (void)take(reader);
    if (peek(reader) == '{') {
        (void)take(reader);
        return begin(reader, nest, false, '}', failure);
    }
    if (peek(reader) == '_') {
        (void)take(reader);
        nest->discards++;
        return FAIL_NONE;
    }
    if (ends_token(peek(reader)))
        return refuse_here(reader, failure, "a '#' without its value");
    nest->is_tagged |= !nest->discards;
    return take_token(reader, tag, &size, failure);
}

/* A value of the outermost map begins here, or a name of it. */
static void note_place(struct form_reader *reader, struct nest *nest)
{
    const struct open *open = &nest->open[0];
    if (nest->depth != 1 || !open->is_map || nest->discards)
        return;
    if (!open->has_key) {
        nest->name = (struct name_place){.line = reader->line, .column = reader->column};
    } else if (reader->fields_count < FORM_FIELDS_MAX) {
        struct form_field *field = &reader->fields[reader->fields_count++];
        snprintf(field->name, sizeof field->name, "%.15s", open->key);
        field->line = nest->name.line;
        field->column = nest->name.column;
        field->value_line = reader->line;
        field->value_column = reader->column;
    }
}

static enum fail step(struct form_reader *reader, struct nest *nest, struct failure *failure)
{
    int byte = peek(reader);
    json_t *value = NULL;
    if (byte == EOF)
        return refuse_here(reader, failure, "the file ends within a value: it was cut off");
    if (reader->bytes > FORM_BYTES_MAX)
        return form_refuses(reader, failure, "a value longer than %d bytes", FORM_BYTES_MAX);
    if (byte == '#' && reader->language == FORM_EDN)
        return hash(reader, nest, failure);
    note_place(reader, nest);
    if (byte == '{' || byte == '[' || (byte == '(' && reader->language == FORM_EDN)) {
        (void)take(reader);
        return begin(reader, nest, byte == '{',
                     byte == '{'   ? '}'
                     : byte == '[' ? ']'
                                   : ')',
                     failure);
    }
    if (byte == '}' || byte == ']' || byte == ')')
        return end(reader, nest, failure);
    enum fail fail = take_scalar(reader, &value, failure);
    if (fail)
        return fail;
    put(nest, value);
    return FAIL_NONE;
}

static enum fail repeated(struct form_reader *reader, const struct nest *nest,
                          struct failure *failure)
{
    const char *key = nest->open[nest->depth - 1].key;
    return nest->depth == 1
               ? form_refuses_name(reader, key, failure, "'%.40s' twice: a map has a key once", key)
               : refuse_here(reader, failure, "'%.40s' twice: a map has a key once", key);
}

static enum fail take_value(struct form_reader *reader, json_t **value, struct failure *failure)
{
    struct open open[FORM_DEPTH_MAX];
    struct nest nest = {.open = open};
    enum fail fail = FAIL_NONE;
    reader->at_line = reader->line;
    reader->at_column = reader->column;
    reader->bytes = 0;
    reader->fields_count = 0;
    while (!fail && !nest.made) {
        fail = step(reader, &nest, failure);
        if (!fail && nest.repeats)
            fail = repeated(reader, &nest, failure);
        if (!nest.made)
            skip_blanks(reader);
        if (!fail && !nest.made && nest.depth == 0 && !nest.discards && !nest.is_tagged &&
            (peek(reader) == EOF || (reader->is_within && peek(reader) == ']')))
            return FAIL_NONE; /* nothing but what was discarded */
    }
    for (int i = 0; fail && i < nest.depth; i++)
        json_decref(open[i].value);
    if (fail && nest.made)
        json_decref(nest.made);
    *value = fail ? NULL : nest.made;
    return fail;
}

/* --- contract --- */

enum fail form_next(struct form_reader *reader, json_t **value, struct failure *failure)
{
    *value = NULL;
    skip_blanks(reader);
    bool is_first = !reader->has_begun;
    reader->has_begun = true;
    if (is_first && (peek(reader) == '[' || peek(reader) == '(')) {
        (void)take(reader);
        reader->is_within = true;
        skip_blanks(reader);
    }
    reader->at_line = reader->line;
    reader->at_column = reader->column;
    if (reader->is_within && (peek(reader) == ']' || peek(reader) == ')')) {
        (void)take(reader);
        skip_blanks(reader);
        if (peek(reader) != EOF)
            return refuse_here(reader, failure, "something stands behind the end");
        return FAIL_NONE;
    }
    if (peek(reader) == EOF && ferror(reader->file))
        return failure_set(failure, FAIL_INPUT, "%.600s: cannot be read: %s", reader->path,
                           strerror(errno));
    if (peek(reader) == EOF && reader->is_within)
        return refuse_here(reader, failure, "the file ends within its list: it was cut off");
    if (peek(reader) == EOF)
        return FAIL_NONE;
    return take_value(reader, value, failure);
}
