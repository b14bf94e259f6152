/* json_parts.h - what the files that write and read results.json share. */
#ifndef PICKLOCK_REPORT_JSON_PARTS_H
#define PICKLOCK_REPORT_JSON_PARTS_H

#include "run/result.h"

#include <jansson.h>

/* --- writing: json.c, json_explored.c --- */

json_t *json_text_or_null(const char *text);
json_t *json_texts(char *const *texts, int count);
json_t *json_seconds(int64_t us);

/* The row of a cell's property. */
json_t *json_explored(const struct explored *cell, const struct explored_property *property);

/* --- reading: read.c, read_explored.c --- */

enum { PLACE_MAX = 160 };

/* The first failure is kept; everything after it reads zeros. */
struct reading {
    const char *path;
    struct failure *failure;
    enum fail fail;
    char place[PLACE_MAX]; /* "results[3].properties[0]" */
};

void read_bad(struct reading *reading, const char *key, const char *words);

/* The value at key; missing is a failure, and NULL. */
json_t *read_member(struct reading *reading, json_t *object, const char *key);

/* Each of the kind its name says, else a failure; a text that comes back is the caller's to free.
 */
int64_t read_number(struct reading *reading, json_t *object, const char *key);
int64_t read_seconds_us(struct reading *reading, json_t *object, const char *key);
bool read_truth(struct reading *reading, json_t *object, const char *key);
char *read_text_or_null(struct reading *reading, json_t *object, const char *key);
void read_short_text(struct reading *reading, json_t *object, const char *key, char *text,
                     size_t size);
enum verdict read_verdict(struct reading *reading, json_t *object, const char *key);
/* A text that may be left out: then NULL. The caller frees. */
char *read_optional_text(struct reading *reading, json_t *object, const char *key);
/* "fail_on", where it is there. */
enum fail_on read_fail_on(struct reading *reading, json_t *object);
enum cause read_cause(struct reading *reading, json_t *object); /* null: CAUSE_NONE */
enum property read_property_name(struct reading *reading, json_t *object);
char **read_texts(struct reading *reading, json_t *object, const char *key, int *count);

/* What rows of merged results have beside: whose they are, and where their files are; 0 and NULL
 * elsewhere. */
int read_origin(struct reading *reading, json_t *object, const struct results *results);
char *read_folder(struct reading *reading, json_t *object);

/* Only the keys listed. */
void read_only_keys(struct reading *reading, json_t *object, const char *const *known,
                    size_t count);

#define READ_ONLY(reading, object, ...)                                                            \
    read_only_keys(reading, object, (const char *const[]){__VA_ARGS__},                            \
                   sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *))

/* Is it the row of an explorer's cell? */
bool read_is_explored(json_t *object);

/* Reads such a row into its cell: the last one of results, or a new one. */
void read_explored(struct reading *reading, json_t *object, struct results *results);

#endif
