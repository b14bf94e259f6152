/* form.h - reads EDN or JSON, one value at a time, from a file of any size.
 *
 * What is read is a jansson value: a keyword, symbol or character is its text without its colon or
 * backslash, a list, vector or set is an array, a map is an object whose keys are texts, nil is
 * null. A float, a ratio and a number with too many digits for an integer are a real, as near as
 * one is. A tag (#inst, #jepsen.history.Op) is passed over, and so are comments and what #_
 * discards. Never: recursion; more memory than FORM_BYTES_MAX of text take. */
#ifndef PICKLOCK_HISTORY_FORM_H
#define PICKLOCK_HISTORY_FORM_H

#include "base/fail.h"
#include "base/limits.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { FORM_DEPTH_MAX = 32, FORM_BYTES_MAX = HISTORY_LINE_MAX, FORM_BUFFER = 64 * 1024 };

enum form_language { FORM_EDN, FORM_JSON };

/* Both from 1. */
struct form_place {
    int64_t line, column;
};

/* Where a field of the value in hand stands, where that is a map. */
struct form_field {
    char name[16]; /* cut off where it is longer */
    struct form_place place, value_place;
};
enum { FORM_FIELDS_MAX = 32 }; /* of further ones the place is not known */

struct form_reader {
    FILE *file;       /* borrowed */
    const char *path; /* borrowed */
    enum form_language language;
    struct form_place next;    /* of the byte that is read next */
    struct form_place began;   /* where the value in hand did */
    int64_t bytes;             /* of it */
    bool has_begun, is_within; /* the list that holds the values */
    struct form_field fields[FORM_FIELDS_MAX];
    int fields_count;
    size_t at, filled; /* of the buffer: what is read next, and up to where it is */
    char buffer[FORM_BUFFER + 1];
};

void form_init(struct form_reader *reader, FILE *file, const char *path,
               enum form_language language);

/* The next value: *value is the caller's, or NULL at the end. Where the text begins with a vector
 * or a list, its elements are the values. FAIL_INPUT with path:line:column. */
enum fail form_next(struct form_reader *reader, json_t **value, struct failure *failure);

/* For a reader of plain values. Where the next one is a map that follows another value: so much
 * text from there on, up to a NUL; NULL: it is no map, or the first value. What of it was a whole
 * value is then taken; else nothing, and form_next() reads the same. */
const char *form_ahead(struct form_reader *reader);
void form_take_plain(struct form_reader *reader, size_t size); /* on one line */

/* FAIL_INPUT with that place. */
enum fail form_refuse(const struct form_reader *reader, struct form_place place,
                      struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Where what that field of the value in hand is stands, or its name; the last one of that name: it
 * is the one that is too many. Where it has no such field, where the value began. */
struct form_place form_place_of_value(const struct form_reader *reader, const char *field);
struct form_place form_place_of_name(const struct form_reader *reader, const char *field);

#endif
