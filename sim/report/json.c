/* json.c - results.json: the shape that other programs rely on; reports/results.schema.json
 * describes it. */
#include "report/report.h"

#include "base/outfile.h"
#include "base/version.h"
#include "report/json_parts.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* Digits of a number of seconds: microseconds stay exact up to some days. */
enum { REAL_DIGITS = 12 };

json_t *json_text_or_null(const char *text)
{
    if (!text)
        return json_null();
    char *clean = text_clean(text);
    json_t *made = json_string(clean);
    free(clean);
    return made;
}

json_t *json_seconds(int64_t us)
{
    return json_real((double)us / 1e6);
}

json_t *json_texts(char *const *texts, int count)
{
    json_t *made = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(made, json_text_or_null(texts[i]));
    return made;
}

static json_t *property_json(const struct property_result *property)
{
    json_t *made = json_object();
    json_object_set_new(made, "property", json_string(property_name(property->property)));
    json_object_set_new(made, "verdict", json_string(verdict_name(property->verdict)));
    json_object_set_new(made, "expected",
                        property->expected == EXPECTED_NOTHING
                            ? json_null()
                            : json_string(verdict_name((enum verdict)property->expected)));
    json_object_set_new(made, "count", json_integer(property->count));
    json_object_set_new(made, "cause",
                        property->cause == CAUSE_NONE ? json_null()
                                                      : json_string(cause_name(property->cause)));
    json_object_set_new(made, "event",
                        property->count > 0 && property->first_index > 0
                            ? json_integer(property->first_index)
                            : json_null());
    json_object_set_new(made, "witness", json_texts(property->witness, property->witness_lines));
    return made;
}

static void add_figures(json_t *row, const struct stress_figures *figures)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {
        {"clients", figures->clients},
        {"operations", figures->operations},
        {"grants", figures->grants},
        {"refusals", figures->refusals},
        {"errors", figures->errors},
        {"overruns", figures->overruns},
        {"foreign_releases", figures->foreign_releases},
        {"lost_updates", figures->lost_updates},
        {"operations_per_second", figures->operations_per_second},
        {"faults", figures->faults},
        {"faults_in_hold", figures->faults_in_hold},
        {"contended", figures->contended},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        json_object_set_new(row, counts[i].name, json_integer(counts[i].value));
    const struct latency *latency = &figures->latency_us;
    json_t *made = json_object();
    json_object_set_new(made, "p50", json_integer(latency->p50));
    json_object_set_new(made, "p99", json_integer(latency->p99));
    json_object_set_new(made, "p999", json_integer(latency->p999));
    json_object_set_new(made, "max", json_integer(latency->max));
    json_object_set_new(row, "latency_us", made);
}

static json_t *row_json(const struct run_result *row)
{
    json_t *made = json_object(), *properties = json_array();
    for (int i = 0; i < row->properties_count; i++)
        json_array_append_new(properties, property_json(&row->properties[i]));
    json_object_set_new(made, "scenario", json_text_or_null(row->scenario));
    json_object_set_new(made, "scheme", json_text_or_null(row->scheme));
    json_object_set_new(made, "naive", row->is_unrated ? json_null() : json_boolean(row->is_naive));
    json_object_set_new(made, "verdict", json_string(verdict_name(row->verdict)));
    json_object_set_new(made, "as_expected",
                        row->as_expected == AS_EXPECTED_NONE
                            ? json_null()
                            : json_boolean(row->as_expected == AS_EXPECTED_YES));
    json_object_set_new(made, "unsupported", json_boolean(row->is_unsupported));
    json_object_set_new(made, "trouble", json_text_or_null(row->trouble));
    json_object_set_new(made, "seconds", json_seconds(row->elapsed_us));
    json_object_set_new(made, "properties", properties);
    json_object_set_new(made, "schedule", json_text_or_null(row->schedule));
    json_object_set_new(made, "history", json_text_or_null(row->history));
    json_object_set_new(made, "story", json_text_or_null(row->story));
    json_object_set_new(made, "source", json_text_or_null(row->source));
    json_object_set_new(made, "path", json_text_or_null(row->path));
    if (row->scheme_file)
        json_object_set_new(made, "scheme_file", json_text_or_null(row->scheme_file));
    if (row->fail_on != FAIL_ON_UNSAID)
        json_object_set_new(made, "fail_on", json_string(fail_on_name(row->fail_on)));
    if (row->not_applicable)
        json_object_set_new(made, "not_applicable", json_text_or_null(row->not_applicable));
    if (row->is_stress)
        add_figures(made, &row->stress);
    return made;
}

/* What made the rows. */
static void add_head(json_t *made, const struct results *results)
{
    json_object_set_new(made, "picklock", json_text_or_null(results->picklock));
    json_object_set_new(made, "command", json_text_or_null(results->command));
    json_object_set_new(made, "world", json_text_or_null(results->world));
    json_object_set_new(made, "server", json_text_or_null(results->server_version));
    json_object_set_new(made, "seed", json_integer((json_int_t)results->seed));
    json_object_set_new(made, "invocation", json_text_or_null(results->invocation));
    json_object_set_new(made, "started", json_text_or_null(results->started));
    json_object_set_new(made, "seconds", json_seconds(results->elapsed_us));
    if (!results->shard.count)
        return;
    json_t *shard = json_object();
    json_object_set_new(shard, "number", json_integer(results->shard.number));
    json_object_set_new(shard, "of", json_integer(results->shard.count));
    json_object_set_new(shard, "whole", json_integer(results->whole));
    json_object_set_new(shard, "unit", json_string(results->is_by_scheme ? "scheme" : "row"));
    json_object_set_new(shard, "campaign", json_text_or_null(results->campaign));
    json_object_set_new(made, "shard", shard);
}

/* Where a row of merged results comes from. */
static json_t *with_origin(const struct results *results, json_t *row, int origin,
                           const char *folder)
{
    if (results->origins_count)
        json_object_set_new(row, "origin", json_integer(origin));
    if (folder)
        json_object_set_new(row, "folder", json_text_or_null(folder));
    return row;
}

static json_t *rows_json(const struct results *results)
{
    json_t *rows = json_array();
    for (int i = 0; i < results->rows_count; i++) {
        const struct run_result *row = &results->rows[i];
        json_array_append_new(rows, with_origin(results, row_json(row), row->origin, row->folder));
    }
    for (int i = 0; i < results->cells_count; i++) {
        const struct explored *cell = &results->cells[i];
        for (int p = 0; p < cell->properties_count; p++)
            json_array_append_new(rows,
                                  with_origin(results, json_explored(cell, &cell->properties[p]),
                                              cell->origin, cell->folder));
    }
    return rows;
}

static json_t *results_json(const struct results *results)
{
    json_t *made = json_object();
    json_object_set_new(made, "schema", json_string("picklock.results/1"));
    add_head(made, results);
    if (results->origins_count) {
        json_t *origins = json_array();
        for (int i = 0; i < results->origins_count; i++) {
            json_t *origin = json_object();
            add_head(origin, &results->origins[i]);
            json_array_append_new(origins, origin);
        }
        json_object_set_new(made, "origins", origins);
    }
    const struct interruption *interrupted = &results->interrupted;
    if (interrupted->why) {
        json_t *ended = json_object();
        json_object_set_new(ended, "why", json_text_or_null(interrupted->why));
        json_object_set_new(ended, "done", json_integer(interrupted->done));
        json_object_set_new(ended, "of", json_integer(interrupted->of));
        json_object_set_new(ended, "unit", json_text_or_null(interrupted->unit));
        json_object_set_new(made, "interrupted", ended);
    }
    if (results->notes_count)
        json_object_set_new(made, "notes", json_texts(results->notes, results->notes_count));
    if (results->missing_count)
        json_object_set_new(made, "missing", json_texts(results->missing, results->missing_count));
    json_object_set_new(made, "results", rows_json(results));
    return made;
}

enum fail report_json(const char *path, const struct results *results, struct failure *failure)
{
    struct outfile file;
    if (results->seed > INT64_MAX)
        return failure_set(failure, FAIL_INPUT,
                           "%s: the seed %" PRIu64 " is larger than JSON readers take (2^63 - 1)",
                           path, results->seed);
    enum fail fail = outfile_open(&file, path, failure);
    if (fail)
        return fail;
    json_t *whole = results_json(results);
    int missed = json_dumpf(whole, file.stream, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS));
    json_decref(whole);
    fputc('\n', file.stream);
    fail = outfile_shut(&file, failure);
    if (!fail && missed)
        fail =
            failure_set(failure, FAIL_INTERNAL, "%s: the results could not be put into JSON", path);
    return fail;
}
