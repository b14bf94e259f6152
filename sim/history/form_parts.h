/* form_parts.h - what the files of the reader of EDN and JSON share: form.c, form_scalar.c,
 * form_place.c. Private to this folder. */
#ifndef PICKLOCK_HISTORY_FORM_PARTS_H
#define PICKLOCK_HISTORY_FORM_PARTS_H

#include "history/form.h"

enum { TOKEN_MAX = FORM_BYTES_MAX + 16 };

/* Reads on behind what is filled; false: there is no more. */
bool form_fill(struct form_reader *reader);

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
    return reader->at < reader->filled || form_fill(reader)
               ? (unsigned char)reader->buffer[reader->at]
               : EOF;
}

static inline int form_take(struct form_reader *reader)
{
    int byte = form_peek(reader);
    reader->at += byte != EOF;
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
