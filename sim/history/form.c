/* form.c - see form.h. */
#include "history/form_parts.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 128 };

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
    *reader = (struct form_reader){
        .file = file, .path = path, .language = language, .next = {1, 1}, .began = {1, 1}};
}

bool form_fill(struct form_reader *reader)
{
    const size_t rest = reader->filled - reader->at;
    memmove(reader->buffer, reader->buffer + reader->at, rest);
    const size_t more = fread(reader->buffer + rest, 1, FORM_BUFFER - rest, reader->file);
    reader->at = 0;
    reader->filled = rest + more;
    reader->buffer[reader->filled] = '\0';
    return more > 0;
}

static void skip_blanks(struct form_reader *reader)
{
    for (;;) {
        int byte = form_peek(reader);
        if (reader->language == FORM_EDN && byte == ';')
            while (form_peek(reader) != '\n' && form_peek(reader) != EOF)
                (void)form_take(reader);
        else if (form_is_blank(reader, byte))
            (void)form_take(reader);
        else
            return;
    }
}

/* --- what holds others --- */

struct nest {
    struct open *open; /* FORM_DEPTH_MAX */
    int depth;
    int discards;           /* so many values from here on are not wanted */
    bool is_tagged;         /* a tag stands before the next one that is */
    bool repeats;           /* a map had that key before */
    struct form_place name; /* of the field in hand, of the outermost map */
    json_t *made;           /* the value, whole */
};

static enum fail begin(struct form_reader *reader, struct nest *nest, bool is_map, int close,
                       struct failure *failure)
{
    if (nest->depth == FORM_DEPTH_MAX)
        return form_refuse(reader, reader->next, failure, "values nested deeper than %d",
                           FORM_DEPTH_MAX);
    (void)form_take(reader);
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

/* As much of a text as there is room for; snprintf() takes several times as long. */
static void copy_cut(char *to, size_t room, const char *text, size_t length)
{
    if (length >= room)
        length = room - 1;
    memcpy(to, text, length);
    to[length] = '\0';
}

/* The text of a key; a number's digits. */
static void key_of(const json_t *value, char *key)
{
    if (json_is_string(value))
        copy_cut(key, KEY_MAX, json_string_value(value), json_string_length(value));
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
    int byte = form_peek(reader);
    if (nest->depth == 0 || nest->open[nest->depth - 1].close != byte)
        return form_refuse(reader, reader->next, failure, "'%c' closes nothing that is open", byte);
    if (nest->discards || nest->is_tagged)
        return form_refuse(reader, reader->next, failure, "a '#' without its value");
    struct open *open = &nest->open[nest->depth - 1];
    if (open->is_map && open->has_key)
        return form_refuse(reader, reader->next, failure,
                           "a map with a key, '%.40s', that has no value", open->key);
    (void)form_take(reader);
    nest->depth--;
    nest->discards = open->discards;
    nest->is_tagged = open->is_tagged;
    put(nest, open->value);
    return FAIL_NONE;
}

/* "##NaN", "##Inf" or "##-Inf": a number that is none. */
static enum fail symbolic(struct form_reader *reader, struct nest *nest, struct failure *failure)
{
    char name[TOKEN_MAX];
    size_t size;
    (void)form_take(reader);
    if (form_take_token(reader, name, &size, failure))
        return failure->code;
    if (strcmp(name, "NaN") != 0 && strcmp(name, "Inf") != 0 && strcmp(name, "-Inf") != 0)
        return form_refuse(reader, reader->next, failure, "no value is called '##%.40s'", name);
    put(nest, json_real(0));
    return FAIL_NONE;
}

/* Behind '#': a set, something to discard, or a tag, which says nothing here. */
static enum fail hash(struct form_reader *reader, struct nest *nest, struct failure *failure)
{
    char tag[TOKEN_MAX];
    size_t size;
    (void)form_take(reader);
    if (form_peek(reader) == '{')
        return begin(reader, nest, false, '}', failure);
    if (form_peek(reader) == '#')
        return symbolic(reader, nest, failure);
    if (form_peek(reader) == '_') {
        (void)form_take(reader);
        nest->discards++;
        return FAIL_NONE;
    }
    if (form_ends_token(form_peek(reader)))
        return form_refuse(reader, reader->next, failure, "a '#' without its value");
    nest->is_tagged |= !nest->discards;
    return form_take_token(reader, tag, &size, failure);
}

/* A value of the outermost map begins here, or a name of it. */
static void note_place(struct form_reader *reader, struct nest *nest)
{
    const struct open *open = &nest->open[0];
    if (nest->depth != 1 || !open->is_map || nest->discards)
        return;
    if (!open->has_key) {
        nest->name = reader->next;
    } else if (reader->fields_count < FORM_FIELDS_MAX) {
        struct form_field *field = &reader->fields[reader->fields_count++];
        copy_cut(field->name, sizeof field->name, open->key, strlen(open->key));
        field->place = nest->name;
        field->value_place = reader->next;
    }
}

static enum fail step(struct form_reader *reader, struct nest *nest, struct failure *failure)
{
    int byte = form_peek(reader);
    json_t *value = NULL;
    if (byte == EOF)
        return form_refuse(reader, reader->next, failure,
                           "the file ends within a value: it was cut off");
    if (form_is_full(reader))
        return form_refuse_length(reader, failure);
    note_place(reader, nest);
    if (byte == '#' && reader->language == FORM_EDN)
        return hash(reader, nest, failure);
    if (byte == '{' || byte == '[' || (byte == '(' && reader->language == FORM_EDN))
        return begin(reader, nest, byte == '{',
                     byte == '{'   ? '}'
                     : byte == '[' ? ']'
                                   : ')',
                     failure);
    if (byte == '}' || byte == ']' || byte == ')')
        return end(reader, nest, failure);
    enum fail fail = form_take_scalar(reader, &value, failure);
    if (fail)
        return fail;
    put(nest, value);
    return FAIL_NONE;
}

static enum fail repeated(struct form_reader *reader, const struct nest *nest,
                          struct failure *failure)
{
    const char *key = nest->open[nest->depth - 1].key;
    const struct form_place place =
        nest->depth == 1 ? form_place_of_name(reader, key) : reader->next;
    return form_refuse(reader, place, failure, "'%.40s' twice: a map has a key once", key);
}

static enum fail take_value(struct form_reader *reader, json_t **value, struct failure *failure)
{
    struct open open[FORM_DEPTH_MAX];
    struct nest nest = {.open = open};
    enum fail fail = FAIL_NONE;
    reader->began = reader->next;
    reader->bytes = 0;
    reader->fields_count = 0;
    while (!fail && !nest.made) {
        fail = step(reader, &nest, failure);
        if (!fail && nest.repeats)
            fail = repeated(reader, &nest, failure);
        if (!nest.made)
            skip_blanks(reader);
        if (!fail && !nest.made && nest.depth == 0 && !nest.discards && !nest.is_tagged &&
            (form_peek(reader) == EOF || (reader->is_within && form_peek(reader) == ']')))
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

const char *form_ahead(struct form_reader *reader)
{
    enum { PLAIN_BYTES = 512 }; /* a longer one is cut, and so not plain */
    if (!reader->has_begun)
        return NULL;
    skip_blanks(reader);
    if (reader->filled - reader->at < PLAIN_BYTES)
        (void)form_fill(reader);
    return form_peek(reader) == '{' ? reader->buffer + reader->at : NULL;
}

void form_take_plain(struct form_reader *reader, size_t size)
{
    reader->began = reader->next;
    reader->bytes = (int64_t)size;
    reader->fields_count = 0;
    reader->at += size;
    reader->next.column += (int64_t)size;
}

enum fail form_next(struct form_reader *reader, json_t **value, struct failure *failure)
{
    *value = NULL;
    skip_blanks(reader);
    bool is_first = !reader->has_begun;
    reader->has_begun = true;
    if (is_first && (form_peek(reader) == '[' || form_peek(reader) == '(')) {
        (void)form_take(reader);
        reader->is_within = true;
        skip_blanks(reader);
    }
    reader->began = reader->next;
    if (reader->is_within && (form_peek(reader) == ']' || form_peek(reader) == ')')) {
        (void)form_take(reader);
        skip_blanks(reader);
        if (form_peek(reader) != EOF)
            return form_refuse(reader, reader->next, failure, "something stands behind the end");
        return FAIL_NONE;
    }
    if (form_peek(reader) == EOF && ferror(reader->file))
        return failure_set(failure, FAIL_INPUT, "%.600s: cannot be read: %s", reader->path,
                           strerror(errno));
    if (form_peek(reader) == EOF && reader->is_within)
        return form_refuse(reader, reader->next, failure,
                           "the file ends within its list: it was cut off");
    if (form_peek(reader) == EOF)
        return FAIL_NONE;
    return take_value(reader, value, failure);
}
