/* read.c - reads a results.json back, strictly: whatever report_json() cannot have written, now or
 * in version 1, is told with its place. */
#include "report/report.h"

#include "base/infile.h"
#include "base/memory.h"
#include "report/json_parts.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_KEYS                                                                                  \
    "picklock", "command", "world", "server", "seed", "invocation", "started", "seconds", "shard"

static void read_shard(struct results_reading *reading, json_t *object, struct results *results)
{
    json_t *shard = json_object_get(object, "shard");
    char place[PLACE_MAX];
    if (!shard)
        return;
    read_within(reading, "shard", place);
    READ_ONLY(reading, shard, "number", "of", "whole", "unit", "campaign");
    int64_t number = read_number(reading, shard, "number"), of = read_number(reading, shard, "of");
    if (number < 1 || number > of || of > SHARDS_MAX)
        read_bad(reading, "number", "wants 1 to the number of shards");
    results->shard = (struct shard){.number = (int)number, .count = (int)of};
    results->whole = read_number(reading, shard, "whole");
    const char *unit = json_string_value(read_member(reading, shard, "unit"));
    if (!unit || (strcmp(unit, "row") != 0 && strcmp(unit, "scheme") != 0))
        read_bad(reading, "unit", "wants row or scheme");
    results->is_by_scheme = unit && !strcmp(unit, "scheme");
    results->campaign = read_text_or_null(reading, shard, "campaign");
    read_leave(reading, place);
}

/* What made the rows: the head of the file, or of one of its origins. */
static void read_head(struct results_reading *reading, json_t *object, struct results *results)
{
    read_short_text(reading, object, "picklock", results->picklock, sizeof results->picklock);
    read_short_text(reading, object, "command", results->command, sizeof results->command);
    read_short_text(reading, object, "world", results->world, sizeof results->world);
    read_short_text(reading, object, "server", results->server_version,
                    sizeof results->server_version);
    read_short_text(reading, object, "started", results->started, sizeof results->started);
    results->seed = (uint64_t)read_number(reading, object, "seed");
    results->invocation = read_text_or_null(reading, object, "invocation");
    results->elapsed_us = read_seconds_us(reading, object, "seconds");
    read_shard(reading, object, results);
}

static json_t *optional_list(struct results_reading *reading, json_t *object, const char *key)
{
    json_t *list = json_object_get(object, key);
    if (list && !json_is_array(list))
        read_bad(reading, key, "wants a list");
    return list;
}

static void read_origins(struct results_reading *reading, json_t *whole, struct results *results)
{
    json_t *list = optional_list(reading, whole, "origins"), *origin;
    results->origins = memory_new(json_array_size(list), sizeof *results->origins);
    size_t i;
    json_array_foreach(list, i, origin)
    {
        snprintf(reading->place, sizeof reading->place, "origins[%zu]", i);
        READ_ONLY(reading, origin, HEAD_KEYS);
        read_head(reading, origin, &results->origins[results->origins_count++]);
    }
    *reading->place = 0;
    if (json_object_get(whole, "notes"))
        results->notes = read_texts(reading, whole, "notes", &results->notes_count);
    if (json_object_get(whole, "missing"))
        results->missing = read_texts(reading, whole, "missing", &results->missing_count);
}

static void read_interrupted(struct results_reading *reading, json_t *whole,
                             struct results *results)
{
    json_t *ended = json_object_get(whole, "interrupted");
    struct interruption read = {0};
    char place[PLACE_MAX];
    if (!ended)
        return;
    read_within(reading, "interrupted", place);
    READ_ONLY(reading, ended, "why", "done", "of", "unit");
    json_t *why = read_member(reading, ended, "why");
    if (why && !json_is_string(why))
        read_bad(reading, "why", "wants a text");
    read_short_text(reading, ended, "unit", read.unit, sizeof read.unit);
    read.done = read_number(reading, ended, "done");
    read.of = read_number(reading, ended, "of");
    results_interrupt(results, json_is_string(why) ? json_string_value(why) : "", read.unit,
                      read.done, read.of);
    read_leave(reading, place);
}

static int read_version(struct results_reading *reading, json_t *whole)
{
    const char *schema = json_string_value(read_member(reading, whole, "schema"));
    if (schema && !strcmp(schema, RESULTS_SCHEMA_1))
        return 1;
    if (!schema || strcmp(schema, RESULTS_SCHEMA) != 0)
        read_bad(reading, "schema", "wants \"" RESULTS_SCHEMA "\" or \"" RESULTS_SCHEMA_1 "\"");
    return 2;
}

static void read_rows(struct results_reading *reading, json_t *whole, struct results *results)
{
    json_t *rows = read_member(reading, whole, "results"), *row;
    size_t *first = NULL; /* of version 1: where each row stood, or the first of a cell */
    if (rows && !json_is_array(rows))
        read_bad(reading, "results", "wants a list");
    if (reading->version == 1)
        rows = read_version_1(reading, rows, &first);
    size_t i;
    json_array_foreach(rows, i, row)
    {
        reading->row = first ? first[i] : i;
        snprintf(reading->place, sizeof reading->place, "results[%zu]", reading->row);
        read_row(reading, row, results);
    }
    if (reading->version == 1)
        json_decref(rows);
    free(first);
}

static void read_whole(struct results_reading *reading, json_t *whole, struct results *results)
{
    READ_ONLY(reading, whole, "schema", HEAD_KEYS, "results", "origins", "notes", "missing",
              "interrupted");
    reading->version = read_version(reading, whole);
    read_head(reading, whole, results);
    read_origins(reading, whole, results);
    read_interrupted(reading, whole, results);
    read_rows(reading, whole, results);
}

enum fail report_read(const char *path, struct results *results, struct failure *failure)
{
    struct results_reading reading = {.path = path, .failure = failure};
    json_error_t error;
    char *bytes;
    *results = (struct results){0};
    if (infile_read(path, RESULTS_BYTES_MAX, &bytes, &reading.size, failure))
        return failure->code;
    json_t *whole = json_loadb(bytes, reading.size, JSON_REJECT_DUPLICATES, &error);
    reading.bytes = bytes;
    if (whole)
        read_whole(&reading, whole, results);
    else
        reading.fail =
            failure_set(failure, FAIL_INPUT, "%s:%d:%d: %s", path, error.line > 0 ? error.line : 1,
                        error.column > 0 ? error.column : 1, error.text);
    free(bytes);
    json_decref(whole);
    if (reading.fail)
        results_free(results);
    return reading.fail;
}
