/* read.c - reads a results.json back, strictly: whatever report_json() cannot have written is told
 * with its place. */
#include "report/report.h"

#include "base/memory.h"
#include "base/suggest.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PLACE_MAX = 160, SECONDS_MAX = 1000000000 };

/* The first failure is kept; everything after it reads zeros. */
struct reading {
    const char *path;
    struct failure *failure;
    enum fail fail;
    char place[PLACE_MAX]; /* "results[3].properties[0]" */
};

static void bad(struct reading *reading, const char *key, const char *words)
{
    if (!reading->fail)
        reading->fail = failure_set(reading->failure, FAIL_INPUT, "%s: %s%s%s: %s", reading->path,
                                    reading->place, *reading->place && *key ? "." : "", key, words);
}

static json_t *member(struct reading *reading, json_t *object, const char *key)
{
    json_t *found = json_object_get(object, key);
    if (!found)
        bad(reading, key, "is missing");
    return found;
}

static int64_t number(struct reading *reading, json_t *object, const char *key)
{
    json_t *found = member(reading, object, key);
    if (found && (!json_is_integer(found) || json_integer_value(found) < 0))
        bad(reading, key, "wants a whole number, 0 or more");
    return json_integer_value(found);
}

static int64_t seconds_us(struct reading *reading, json_t *object, const char *key)
{
    json_t *found = member(reading, object, key);
    double value = json_number_value(found);
    if (found && !(json_is_number(found) && value >= 0 && value < SECONDS_MAX)) {
        bad(reading, key, "wants a number of seconds");
        return 0;
    }
    return llround(value * 1e6);
}

static bool truth(struct reading *reading, json_t *object, const char *key)
{
    json_t *found = member(reading, object, key);
    if (found && !json_is_boolean(found))
        bad(reading, key, "wants true or false");
    return json_is_true(found);
}

/* A text or null; the caller frees. */
static char *text_or_null(struct reading *reading, json_t *object, const char *key)
{
    json_t *found = member(reading, object, key);
    if (found && !json_is_string(found) && !json_is_null(found))
        bad(reading, key, "wants a text or null");
    return json_is_string(found) ? memory_text(json_string_value(found)) : NULL;
}

static void short_text(struct reading *reading, json_t *object, const char *key, char *text,
                       size_t size)
{
    json_t *found = member(reading, object, key);
    if (found && !json_is_string(found))
        bad(reading, key, "wants a text");
    else if (json_string_length(found) >= size)
        bad(reading, key, "is too long");
    else if (found)
        memcpy(text, json_string_value(found), json_string_length(found) + 1);
}

/* Only the keys listed; NULL ends the list. */
static void only_keys(struct reading *reading, json_t *object, const char *const *known,
                      size_t count)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object)) {
        bad(reading, "", "wants an object");
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
        bad(reading, key, words);
    }
}

#define ONLY(reading, object, ...)                                                                 \
    only_keys(reading, object, (const char *const[]){__VA_ARGS__},                                 \
              sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *))

static enum verdict verdict_at(struct reading *reading, json_t *object, const char *key)
{
    enum verdict verdict = VERDICT_UNKNOWN;
    const char *name = json_string_value(member(reading, object, key));
    if (!name || !verdict_read(name, &verdict))
        bad(reading, key, "wants holds, unknown or violated");
    return verdict;
}

static void read_witness(struct reading *reading, json_t *list, struct property_result *property)
{
    if (list && !json_is_array(list))
        bad(reading, "witness", "wants a list of sentences");
    property->witness = memory_new(json_array_size(list), sizeof *property->witness);
    size_t i;
    json_t *line;
    json_array_foreach(list, i, line)
    {
        if (!json_is_string(line))
            bad(reading, "witness", "wants a list of sentences");
        property->witness[property->witness_lines++] =
            memory_text(json_is_string(line) ? json_string_value(line) : "");
    }
}

static void read_property(struct reading *reading, json_t *object, struct property_result *property)
{
    ONLY(reading, object, "property", "verdict", "expected", "count", "cause", "event", "witness");
    const char *name = json_string_value(member(reading, object, "property"));
    if (!name || !property_read(name, &property->property))
        bad(reading, "property", "wants the name of a property");
    property->verdict = verdict_at(reading, object, "verdict");
    property->expected = json_is_null(member(reading, object, "expected"))
                             ? EXPECTED_NOTHING
                             : (int)verdict_at(reading, object, "expected");
    property->count = number(reading, object, "count");
    property->first_index =
        json_is_null(member(reading, object, "event")) ? -1 : number(reading, object, "event");
    json_t *cause = member(reading, object, "cause");
    if (!json_is_null(cause) &&
        (!json_is_string(cause) || !cause_read(json_string_value(cause), &property->cause)))
        bad(reading, "cause", "wants the name of a cause or null");
    read_witness(reading, member(reading, object, "witness"), property);
}

static void read_properties(struct reading *reading, json_t *list, struct run_result *row)
{
    char place[PLACE_MAX];
    if (list && !json_is_array(list))
        bad(reading, "properties", "wants a list");
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
    int64_t clients = number(reading, object, "clients");
    if (clients > CLIENTS_MAX)
        bad(reading, "clients", "is more than a run can have");
    figures->clients = (int)clients;
    figures->operations = number(reading, object, "operations");
    figures->grants = number(reading, object, "grants");
    figures->refusals = number(reading, object, "refusals");
    figures->errors = number(reading, object, "errors");
    figures->overruns = number(reading, object, "overruns");
    figures->foreign_releases = number(reading, object, "foreign_releases");
    figures->lost_updates = number(reading, object, "lost_updates");
    figures->operations_per_second = number(reading, object, "operations_per_second");
    figures->faults = number(reading, object, "faults");
    figures->faults_in_hold = number(reading, object, "faults_in_hold");
    figures->contended = number(reading, object, "contended");
    json_t *latency = member(reading, object, "latency_us");
    if (!latency)
        return;
    ONLY(reading, latency, "p50", "p99", "p999", "max");
    figures->latency_us = (struct latency){.p50 = number(reading, latency, "p50"),
                                           .p99 = number(reading, latency, "p99"),
                                           .p999 = number(reading, latency, "p999"),
                                           .max = number(reading, latency, "max")};
}

#define ROW_KEYS                                                                                   \
    "scenario", "scheme", "naive", "verdict", "as_expected", "unsupported", "trouble", "seconds",  \
        "properties", "schedule", "history", "story", "source", "path"
#define FIGURE_KEYS                                                                                \
    "clients", "operations", "grants", "refusals", "errors", "overruns", "foreign_releases",       \
        "lost_updates", "operations_per_second", "faults", "faults_in_hold", "contended",          \
        "latency_us"

static void read_row(struct reading *reading, json_t *object, struct run_result *row)
{
    row->is_stress = json_object_get(object, "latency_us") != NULL;
    if (row->is_stress)
        ONLY(reading, object, ROW_KEYS, FIGURE_KEYS);
    else
        ONLY(reading, object, ROW_KEYS);
    short_text(reading, object, "scenario", row->scenario, sizeof row->scenario);
    short_text(reading, object, "scheme", row->scheme, sizeof row->scheme);
    row->is_naive = truth(reading, object, "naive");
    row->verdict = verdict_at(reading, object, "verdict");
    row->as_expected = AS_EXPECTED_NONE;
    if (!json_is_null(member(reading, object, "as_expected")))
        row->as_expected = truth(reading, object, "as_expected") ? AS_EXPECTED_YES : AS_EXPECTED_NO;
    row->is_unsupported = truth(reading, object, "unsupported");
    row->trouble = text_or_null(reading, object, "trouble");
    row->elapsed_us = seconds_us(reading, object, "seconds");
    row->schedule = text_or_null(reading, object, "schedule");
    row->history = text_or_null(reading, object, "history");
    row->story = text_or_null(reading, object, "story");
    row->source = text_or_null(reading, object, "source");
    row->path = text_or_null(reading, object, "path");
    read_properties(reading, member(reading, object, "properties"), row);
    if (row->is_stress)
        read_figures(reading, object, &row->stress);
}

static void read_whole(struct reading *reading, json_t *whole, struct results *results)
{
    ONLY(reading, whole, "schema", "picklock", "command", "world", "server", "seed", "invocation",
         "started", "seconds", "results");
    const char *schema = json_string_value(member(reading, whole, "schema"));
    if (!schema || strcmp(schema, "picklock.results/1") != 0)
        bad(reading, "schema", "wants \"picklock.results/1\"");
    if (!json_is_string(member(reading, whole, "picklock")))
        bad(reading, "picklock", "wants a text");
    short_text(reading, whole, "command", results->command, sizeof results->command);
    short_text(reading, whole, "world", results->world, sizeof results->world);
    short_text(reading, whole, "server", results->server_version, sizeof results->server_version);
    short_text(reading, whole, "started", results->started, sizeof results->started);
    results->seed = (uint64_t)number(reading, whole, "seed");
    results->invocation = text_or_null(reading, whole, "invocation");
    results->elapsed_us = seconds_us(reading, whole, "seconds");
    json_t *rows = member(reading, whole, "results"), *row;
    if (rows && !json_is_array(rows))
        bad(reading, "results", "wants a list");
    size_t i;
    json_array_foreach(rows, i, row)
    {
        snprintf(reading->place, sizeof reading->place, "results[%zu]", i);
        read_row(reading, row, results_add(results));
    }
}

enum fail report_read(const char *path, struct results *results, struct failure *failure)
{
    struct reading reading = {.path = path, .failure = failure};
    json_error_t error;
    struct stat about;
    *results = (struct results){0};
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return failure_set(failure, FAIL_INPUT, "%s: is a folder, not a results.json", path);
    json_t *whole = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
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
