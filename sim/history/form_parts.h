/* form_parts.h - what the files of the reader of EDN and JSON share: form.c, form_scalar.c,
 * form_place.c. Private to this folder. */
#ifndef PICKLOCK_HISTORY_FORM_PARTS_H
#define PICKLOCK_HISTORY_FORM_PARTS_H

#include "history/form.h"

enum { NO_BYTE = EOF - 1, TOKEN_MAX = FORM_BYTES_MAX + 16 };

/* FAIL_INPUT: with another byte the value in hand is longer than one may be. */
enum fail form_refuse_length(const struct form_reader *reader, struct failure *failure);

/* A word up to its end: TOKEN_MAX bytes. */
enum fail form_take_token(struct form_reader *reader, char *bytes, size_t *size,
                          struct failure *failure);
/* A text, a number, a word or a character: *value is the caller's. */
enum fail form_take_scalar(struct form_reader *reader, json_t **value, struct failure *failure);

/* The value in hand may have no byte more. */
static inline bool form_is_full(const struct form_reader *reader)
{
    return reader->bytes >= FORM_BYTES_MAX;
}

static inline int form_peek(struct form_reader *reader)
{
    if (reader->look == NO_BYTE)
        reader->look = getc_unlocked(reader->file);
    return reader->look;
}

static inline int form_take(struct form_reader *reader)
{
    int byte = form_peek(reader);
    reader->look = NO_BYTE;
    reader->bytes++;
    reader->next.column++;
    if (byte == '\n') {
        reader->next.line++;
        reader->next.column = 1;
    }
    return byte;
}

static inline bool form_is_blank(const struct form_reader *reader, int byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == ',' ||
           (reader->language == FORM_JSON && byte == ':');
}

static inline bool form_ends_token(int byte)
{
    switch (byte) {
    case ',':
    case '(':
    case ')':
    case '[':
    case ']':
    case '{':
    case '}':
    case '"':
    case ';':
        return true;
    default:
        return byte <= ' '; /* EOF is, too */
    }
}

#endif
