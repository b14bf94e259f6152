/* json_parts.h - what the files that write and read results.json share. */
#ifndef PICKLOCK_REPORT_JSON_PARTS_H
#define PICKLOCK_REPORT_JSON_PARTS_H

#include "run/result.h"

#include <jansson.h>

#define RESULTS_SCHEMA   "picklock.results/2"
#define RESULTS_SCHEMA_1 "picklock.results/1"

/* "run", ...; by enum result_kind. */
extern const char *const json_kinds[KIND_CELL + 1];

enum { PLACE_MAX = 160 };

/* The first failure is kept; everything after it reads zeros. */
struct results_reading {
    const char *path;
    const char *bytes; /* of the file */
    size_t size;
    struct failure *failure;
    enum fail fail;
    char place[PLACE_MAX]; /* "results[3].properties[0]" */
    int version;
    size_t row; /* its place in the file; of a cell of version 1 that of its first property */
};

/* What is wrong with that member of the object at the place, or ("") with that object: told with
 * line and column. */
void read_bad(struct results_reading *reading, const char *key, const char *words);

/* The value at key; missing is a failure, and NULL. */
json_t *read_member(struct results_reading *reading, json_t *object, const char *key);

/* Each of the kind its name says, else a failure; a text that comes back is the caller's to free.
 */
int64_t read_number(struct results_reading *reading, json_t *object, const char *key);
int64_t read_seconds_us(struct results_reading *reading, json_t *object, const char *key);
bool read_truth(struct results_reading *reading, json_t *object, const char *key);
char *read_text_or_null(struct results_reading *reading, json_t *object, const char *key);
void read_short_text(struct results_reading *reading, json_t *object, const char *key, char *text,
                     size_t size);
enum verdict read_verdict(struct results_reading *reading, json_t *object, const char *key);
/* A text that may be left out: then NULL. The caller frees. */
char *read_optional_text(struct results_reading *reading, json_t *object, const char *key);
/* "fail_on", where it is there. */
enum fail_on read_fail_on(struct results_reading *reading, json_t *object);
enum cause read_cause(struct results_reading *reading, json_t *object); /* null: CAUSE_NONE */
enum property read_property_name(struct results_reading *reading, json_t *object);
char **read_texts(struct results_reading *reading, json_t *object, const char *key, int *count);

/* What rows of merged results have beside: whose they are, and where their files are; 0 and NULL
 * elsewhere. */
int read_origin(struct results_reading *reading, json_t *object, const struct results *results);
char *read_folder(struct results_reading *reading, json_t *object);

/* Only the keys listed. */
void read_only_keys(struct results_reading *reading, json_t *object, const char *const *known,
                    size_t count);

#define READ_ONLY(reading, object, ...)                                                            \
    read_only_keys(reading, object, (const char *const[]){__VA_ARGS__},                            \
                   sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *))

/* Goes on within the object at key; place (PLACE_MAX bytes) keeps the place before. */
void read_within(struct results_reading *reading, const char *key, char *place);
/* The same of one that must be there: it is the value. */
json_t *read_enter(struct results_reading *reading, json_t *object, const char *key, char *place);
void read_leave(struct results_reading *reading, const char *place);

/* Of what may be null. */
int64_t read_number_or(struct results_reading *reading, json_t *object, const char *key,
                       int64_t other);
bool read_truth_or_null(struct results_reading *reading, json_t *object, const char *key,
                        bool *is_null);

/* Does what is read fit itself? read_sense.c */
void check_property(struct results_reading *reading, const struct result_property *property);
void check_row(struct results_reading *reading, const struct result_row *row); /* no cell */

/* Reads a row of version 2 into results. */
void read_row(struct results_reading *reading, json_t *object, struct results *results);

/* Rows (borrowed) of version 1 as rows of version 2, and where each of them stood; the caller drops
 * the one and frees the other. */
json_t *read_version_1(struct results_reading *reading, json_t *rows, size_t **first);

#endif
