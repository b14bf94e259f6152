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
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { FORM_DEPTH_MAX = 32, FORM_BYTES_MAX = HISTORY_LINE_MAX };

enum form_language { FORM_EDN, FORM_JSON };

/* Where a field of the value in hand stands, where that is a map. */
struct form_field {
    char name[16]; /* cut off where it is longer */
    int64_t line, column;
    int64_t value_line, value_column;
};
enum { FORM_FIELDS_MAX = 32 }; /* of further ones the place is not known */

struct form_reader {
    FILE *file;       /* borrowed */
    const char *path; /* borrowed */
    enum form_language language;
    int64_t line, column;       /* of the byte that is read next, from 1 */
    int64_t at_line, at_column; /* where the value in hand began */
    int64_t bytes;              /* of it */
    int look;                   /* a byte that was read too much; EOF - 1: none */
    bool has_begun, is_within;  /* the list that holds the values */
    struct form_field fields[FORM_FIELDS_MAX];
    int fields_count;
};

void form_init(struct form_reader *reader, FILE *file, const char *path,
               enum form_language language);

/* The next value: *value is the caller's, or NULL at the end. Where the text begins with a vector
 * or a list, its elements are the values. FAIL_INPUT with path:line:column. */
enum fail form_next(struct form_reader *reader, json_t **value, struct failure *failure);

/* FAIL_INPUT with that place. */
enum fail form_refuse(const struct form_reader *reader, int64_t line, int64_t column,
                      struct failure *failure, const char *format, va_list values);
/* FAIL_INPUT with the place where the value in hand began. */
enum fail form_refuses(const struct form_reader *reader, struct failure *failure,
                       const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same with the place of what that field is, or of its name; of the value, where it has no such
 * field. */
enum fail form_refuses_field(const struct form_reader *reader, const char *name,
                             struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
enum fail form_refuses_name(const struct form_reader *reader, const char *name,
                            struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
