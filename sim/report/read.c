/* read.c - reads a results.json back, strictly: whatever report_json() cannot have written is told
 * with its place. */
#include "report/report.h"

#include "base/infile.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "report/json_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS_MAX = 1000000000 };

void read_bad(struct reading *reading, const char *key, const char *words)
{
    if (!reading->fail)
        reading->fail = failure_set(reading->failure, FAIL_INPUT, "%s: %s%s%s: %s", reading->path,
                                    reading->place, *reading->place && *key ? "." : "", key, words);
}

json_t *read_member(struct reading *reading, json_t *object, const char *key)
{
    json_t *found = json_object_get(object, key);
    if (!found)
        read_bad(reading, key, "is missing");
    return found;
}

int64_t read_number(struct reading *reading, json_t *object, const char *key)
{
    json_t *found = read_member(reading, object, key);
    if (found && (!json_is_integer(found) || json_integer_value(found) < 0))
        read_bad(reading, key, "wants a whole number, 0 or more");
    return json_integer_value(found);
}

int64_t read_seconds_us(struct reading *reading, json_t *object, const char *key)
{
    json_t *found = read_member(reading, object, key);
    double value = json_number_value(found);
    if (found && !(json_is_number(found) && value >= 0 && value < SECONDS_MAX)) {
        read_bad(reading, key, "wants a number of seconds");
        return 0;
    }
    return llround(value * 1e6);
}

bool read_truth(struct reading *reading, json_t *object, const char *key)
{
    json_t *found = read_member(reading, object, key);
    if (found && !json_is_boolean(found))
        read_bad(reading, key, "wants true or false");
    return json_is_true(found);
}

char *read_text_or_null(struct reading *reading, json_t *object, const char *key)
{
    json_t *found = read_member(reading, object, key);
    if (found && !json_is_string(found) && !json_is_null(found))
        read_bad(reading, key, "wants a text or null");
    return json_is_string(found) ? memory_text(json_string_value(found)) : NULL;
}

void read_short_text(struct reading *reading, json_t *object, const char *key, char *text,
                     size_t size)
{
    json_t *found = read_member(reading, object, key);
    if (found && !json_is_string(found))
        read_bad(reading, key, "wants a text");
    else if (json_string_length(found) >= size)
        read_bad(reading, key, "is too long");
    else if (found)
        memcpy(text, json_string_value(found), json_string_length(found) + 1);
}

void read_only_keys(struct reading *reading, json_t *object, const char *const *known, size_t count)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object)) {
        read_bad(reading, "", "wants an object");
        return;
    }
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        while (i < count && strcmp(known[i], key) != 0)
            i++;
        if (i < count)
            continue;
        char words[PLACE_MAX];
        const char *near = suggest_nearest(key, known, count);
        snprintf(words, sizeof words, "is unknown here%s%s%s", near ? "; did you mean '" : "",
                 near ? near : "", near ? "'?" : "");
        read_bad(reading, key, words);
    }
}

enum verdict read_verdict(struct reading *reading, json_t *object, const char *key)
{
    enum verdict verdict = VERDICT_UNKNOWN;
    const char *name = json_string_value(read_member(reading, object, key));
    if (!name || !verdict_read(name, &verdict))
        read_bad(reading, key, "wants holds, unknown, violated or not_applicable");
    return verdict;
}

char **read_texts(struct reading *reading, json_t *object, const char *key, int *count)
{
    json_t *list = read_member(reading, object, key), *line;
    char **texts = memory_new(json_array_size(list), sizeof *texts);
    size_t i;
    if (list && !json_is_array(list))
        read_bad(reading, key, "wants a list of sentences");
    *count = 0;
    json_array_foreach(list, i, line)
    {
        if (!json_is_string(line))
            read_bad(reading, key, "wants a list of sentences");
        texts[(*count)++] = memory_text(json_is_string(line) ? json_string_value(line) : "");
    }
    return texts;
}

enum property read_property_name(struct reading *reading, json_t *object)
{
    enum property property = PROPERTY_MUTUAL_EXCLUSION;
    const char *name = json_string_value(read_member(reading, object, "property"));
    if (!name || !property_read(name, &property))
        read_bad(reading, "property", "wants the name of a property");
    return property;
}

enum cause read_cause(struct reading *reading, json_t *object)
{
    enum cause cause = CAUSE_NONE;
    json_t *found = read_member(reading, object, "cause");
    if (!json_is_null(found) &&
        (!json_is_string(found) || !cause_read(json_string_value(found), &cause)))
        read_bad(reading, "cause", "wants the name of a cause or null");
    return cause;
}

enum fail_on read_fail_on(struct reading *reading, json_t *object)
{
    enum fail_on fail_on = FAIL_ON_UNSAID;
    json_t *found = json_object_get(object, "fail_on");
    if (found && (!json_is_string(found) || fail_on_read(json_string_value(found), &fail_on, NULL)))
        read_bad(reading, "fail_on", "wants scheme, deployment, bug, any or never");
    return fail_on;
}

int read_origin(struct reading *reading, json_t *object, const struct results *results)
{
    if (!json_object_get(object, "origin"))
        return 0;
    int64_t origin = read_number(reading, object, "origin");
    if (origin < results->origins_count)
        return (int)origin;
    read_bad(reading, "origin", "wants the place of one of the origins");
    return 0;
}

char *read_optional_text(struct reading *reading, json_t *object, const char *key)
{
    return json_object_get(object, key) ? read_text_or_null(reading, object, key) : NULL;
}

char *read_folder(struct reading *reading, json_t *object)
{
    return read_optional_text(reading, object, "folder");
}

static void read_property(struct reading *reading, json_t *object, struct property_result *property)
{
    READ_ONLY(reading, object, "property", "verdict", "expected", "count", "cause", "event",
              "witness");
    property->property = read_property_name(reading, object);
    property->verdict = read_verdict(reading, object, "verdict");
    property->expected = json_is_null(read_member(reading, object, "expected"))
                             ? EXPECTED_NOTHING
                             : (int)read_verdict(reading, object, "expected");
    property->count = read_number(reading, object, "count");
    property->first_index = json_is_null(read_member(reading, object, "event"))
                                ? -1
                                : read_number(reading, object, "event");
    property->cause = read_cause(reading, object);
    property->witness = read_texts(reading, object, "witness", &property->witness_lines);
}

static void read_properties(struct reading *reading, json_t *list, struct run_result *row)
{
    char place[PLACE_MAX];
    if (list && !json_is_array(list))
        read_bad(reading, "properties", "wants a list");
    row->properties = memory_new(json_array_size(list), sizeof *row->properties);
    memcpy(place, reading->place, sizeof place);
    size_t i;
    json_t *object;
    json_array_foreach(list, i, object)
    {
        snprintf(reading->place, sizeof reading->place, "%.100s.properties[%zu]", place, i);
        read_property(reading, object, &row->properties[row->properties_count++]);
    }
    memcpy(reading->place, place, sizeof place);
}

static void read_figures(struct reading *reading, json_t *object, struct stress_figures *figures)
{
    int64_t clients = read_number(reading, object, "clients");
    if (clients > CLIENTS_MAX)
        read_bad(reading, "clients", "is more than a run can have");
    figures->clients = (int)clients;
    figures->operations = read_number(reading, object, "operations");
    figures->grants = read_number(reading, object, "grants");
    figures->refusals = read_number(reading, object, "refusals");
    figures->errors = read_number(reading, object, "errors");
    figures->overruns = read_number(reading, object, "overruns");
    figures->foreign_releases = read_number(reading, object, "foreign_releases");
    figures->lost_updates = read_number(reading, object, "lost_updates");
    figures->operations_per_second = read_number(reading, object, "operations_per_second");
    figures->faults = read_number(reading, object, "faults");
    figures->faults_in_hold = read_number(reading, object, "faults_in_hold");
    figures->contended = read_number(reading, object, "contended");
    json_t *latency = read_member(reading, object, "latency_us");
    if (!latency)
        return;
    READ_ONLY(reading, latency, "p50", "p99", "p999", "max");
    figures->latency_us = (struct latency){.p50 = read_number(reading, latency, "p50"),
                                           .p99 = read_number(reading, latency, "p99"),
                                           .p999 = read_number(reading, latency, "p999"),
                                           .max = read_number(reading, latency, "max")};
}

#define ROW_KEYS                                                                                   \
    "scenario", "scheme", "naive", "verdict", "as_expected", "unsupported", "trouble", "seconds",  \
        "properties", "schedule", "history", "story", "source", "path", "origin", "folder",        \
        "not_applicable", "fail_on", "scheme_file"
#define HEAD_KEYS                                                                                  \
    "picklock", "command", "world", "server", "seed", "invocation", "started", "seconds", "shard"
#define FIGURE_KEYS                                                                                \
    "clients", "operations", "grants", "refusals", "errors", "overruns", "foreign_releases",       \
        "lost_updates", "operations_per_second", "faults", "faults_in_hold", "contended",          \
        "latency_us"

static void read_row(struct reading *reading, json_t *object, struct results *results)
{
    struct run_result *row = results_add(results);
    row->is_stress = json_object_get(object, "latency_us") != NULL;
    if (row->is_stress)
        READ_ONLY(reading, object, ROW_KEYS, FIGURE_KEYS);
    else
        READ_ONLY(reading, object, ROW_KEYS);
    read_short_text(reading, object, "scenario", row->scenario, sizeof row->scenario);
    read_short_text(reading, object, "scheme", row->scheme, sizeof row->scheme);
    row->is_unrated = json_is_null(read_member(reading, object, "naive"));
    row->is_naive = !row->is_unrated && read_truth(reading, object, "naive");
    row->verdict = read_verdict(reading, object, "verdict");
    row->as_expected = AS_EXPECTED_NONE;
    if (!json_is_null(read_member(reading, object, "as_expected")))
        row->as_expected =
            read_truth(reading, object, "as_expected") ? AS_EXPECTED_YES : AS_EXPECTED_NO;
    row->is_unsupported = read_truth(reading, object, "unsupported");
    row->trouble = read_text_or_null(reading, object, "trouble");
    row->scheme_file = read_optional_text(reading, object, "scheme_file");
    row->not_applicable = read_optional_text(reading, object, "not_applicable");
    if (!row->not_applicable != (row->verdict != VERDICT_NOT_APPLICABLE))
        read_bad(reading, "not_applicable",
                 "says why the verdict is not_applicable, and only then");
    row->elapsed_us = read_seconds_us(reading, object, "seconds");
    row->schedule = read_text_or_null(reading, object, "schedule");
    row->history = read_text_or_null(reading, object, "history");
    row->story = read_text_or_null(reading, object, "story");
    row->source = read_text_or_null(reading, object, "source");
    row->path = read_text_or_null(reading, object, "path");
    row->fail_on = read_fail_on(reading, object);
    row->origin = read_origin(reading, object, results);
    row->folder = read_folder(reading, object);
    read_properties(reading, read_member(reading, object, "properties"), row);
    if (row->is_stress)
        read_figures(reading, object, &row->stress);
}

static void read_shard(struct reading *reading, json_t *object, struct results *results)
{
    json_t *shard = json_object_get(object, "shard");
    char place[PLACE_MAX];
    if (!shard)
        return;
    memcpy(place, reading->place, sizeof place);
    snprintf(reading->place, sizeof reading->place, "%.100s%sshard", place, *place ? "." : "");
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
    memcpy(reading->place, place, sizeof place);
}

/* What made the rows: the head of the file, or of one of its origins. */
static void read_head(struct reading *reading, json_t *object, struct results *results)
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

static json_t *optional_list(struct reading *reading, json_t *object, const char *key)
{
    json_t *list = json_object_get(object, key);
    if (list && !json_is_array(list))
        read_bad(reading, key, "wants a list");
    return list;
}

static void read_origins(struct reading *reading, json_t *whole, struct results *results)
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

static void read_interrupted(struct reading *reading, json_t *whole, struct results *results)
{
    json_t *ended = json_object_get(whole, "interrupted");
    struct interruption read = {0};
    if (!ended)
        return;
    snprintf(reading->place, sizeof reading->place, "interrupted");
    READ_ONLY(reading, ended, "why", "done", "of", "unit");
    json_t *why = read_member(reading, ended, "why");
    if (why && !json_is_string(why))
        read_bad(reading, "why", "wants a text");
    read_short_text(reading, ended, "unit", read.unit, sizeof read.unit);
    read.done = read_number(reading, ended, "done");
    read.of = read_number(reading, ended, "of");
    results_interrupt(results, json_is_string(why) ? json_string_value(why) : "", read.unit,
                      read.done, read.of);
    *reading->place = 0;
}

static void read_whole(struct reading *reading, json_t *whole, struct results *results)
{
    READ_ONLY(reading, whole, "schema", HEAD_KEYS, "results", "origins", "notes", "missing",
              "interrupted");
    const char *schema = json_string_value(read_member(reading, whole, "schema"));
    if (!schema || strcmp(schema, "picklock.results/1") != 0)
        read_bad(reading, "schema", "wants \"picklock.results/1\"");
    read_head(reading, whole, results);
    read_origins(reading, whole, results);
    read_interrupted(reading, whole, results);
    json_t *rows = read_member(reading, whole, "results"), *row;
    if (rows && !json_is_array(rows))
        read_bad(reading, "results", "wants a list");
    size_t i;
    json_array_foreach(rows, i, row)
    {
        snprintf(reading->place, sizeof reading->place, "results[%zu]", i);
        if (read_is_explored(row))
            read_explored(reading, row, results);
        else
            read_row(reading, row, results);
    }
}

enum fail report_read(const char *path, struct results *results, struct failure *failure)
{
    struct reading reading = {.path = path, .failure = failure};
    json_error_t error;
    char *bytes;
    size_t size;
    *results = (struct results){0};
    if (infile_read(path, RESULTS_BYTES_MAX, &bytes, &size, failure))
        return failure->code;
    json_t *whole = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
    free(bytes);
    if (!whole && error.line < 1)
        return failure_set(failure, FAIL_INPUT, "%s: %s", path, error.text);
    if (!whole)
        return failure_set(failure, FAIL_INPUT, "%s:%d:%d: %s", path, error.line, error.column,
                           error.text);
    read_whole(&reading, whole, results);
    json_decref(whole);
    if (reading.fail)
        results_free(results);
    return reading.fail;
}
