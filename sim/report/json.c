/* json.c - results.json: the shape that other programs rely on; reports/results.schema.json
 * describes it. */
#include "report/report.h"

#include "report/json_parts.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* Digits of a number of seconds: microseconds stay exact up to some days. */
enum { REAL_DIGITS = 12 };

const char *const json_kinds[KIND_CELL + 1] = {
    [KIND_RUN] = "run", [KIND_STRESS] = "stress", [KIND_CELL] = "cell"};

static json_t *text_or_null(const char *text)
{
    if (!text)
        return json_null();
    char *clean = text_clean(text);
    json_t *made = json_string(clean);
    free(clean);
    return made;
}

static json_t *seconds(int64_t us)
{
    return json_real((double)us / 1e6);
}

static json_t *texts(char *const *lines, int count)
{
    json_t *made = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(made, text_or_null(lines[i]));
    return made;
}

static json_t *number_if(bool is_given, int64_t value)
{
    return is_given ? json_integer(value) : json_null();
}

static json_t *truth_if(bool is_given, bool value)
{
    return is_given ? json_boolean(value) : json_null();
}

/* What the witness of a cell's property is, and how it was found and confirmed. */
static void add_witness(json_t *made, const struct result_property *property, bool is_headline)
{
    bool is_violated = property->verdict == VERDICT_VIOLATED;
    bool is_confirmed = property->confirmed == CONFIRMED_YES;
    json_object_set_new(made, "why", text_or_null(property->why));
    json_object_set_new(made, "headline", json_boolean(is_headline));
    json_object_set_new(made, "failed", json_boolean(property->is_failure));
    json_object_set_new(made, "faults", number_if(is_violated, property->faults));
    json_object_set_new(made, "witness_steps", number_if(is_violated, property->steps));
    json_object_set_new(made, "shortest", truth_if(is_violated, property->is_shortest));
    json_object_set_new(made, "found_by", text_or_null(property->found_by));
    json_object_set_new(made, "found_in_run", number_if(property->run > 0, property->run));
    json_object_set_new(made, "choices", texts(property->choices, property->choices_count));
    json_object_set_new(made, "replayed", truth_if(is_violated, property->is_replayed));
    json_object_set_new(
        made, "confirmed",
        truth_if(is_confirmed || property->confirmed == CONFIRMED_NO, is_confirmed));
    json_object_set_new(made, "unconfirmed", text_or_null(result_unconfirmed(property->confirmed)));
    json_object_set_new(made, "trouble", text_or_null(property->error));
    json_object_set_new(made, "schedule", text_or_null(property->schedule));
    json_object_set_new(made, "history", text_or_null(property->history));
}

static json_t *causes_json(unsigned causes)
{
    json_t *made = json_array();
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        if (causes >> cause & 1)
            json_array_append_new(made, json_string(cause_name((enum cause)cause)));
    return made;
}

static json_t *property_json(const struct result_property *property, const struct result_row *row)
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
    if (property->causes & (property->causes - 1))
        json_object_set_new(made, "causes", causes_json(property->causes));
    if (property->known)
        json_object_set_new(made, "known", causes_json(property->known));
    json_object_set_new(
        made, "event",
        number_if(property->count > 0 && property->first_index > 0, property->first_index));
    json_object_set_new(made, "witness", texts(property->witness, property->witness_lines));
    if (row->search)
        add_witness(made, property, property == result_cell_headline(row));
    return made;
}

static json_t *numbers_json(const int64_t *numbers, int count)
{
    json_t *made = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(made, json_integer(numbers[i]));
    return made;
}

static json_t *series_json(const struct series *series)
{
    json_t *made = json_object(), *parts = json_array();
    for (int i = 0; i < series->parts_count; i++) {
        json_t *part = json_object();
#define PART(name, member) json_object_set_new(part, name, json_integer(series->parts[i].member));
#include "run/series.def"
#undef PART
        json_array_append_new(parts, part);
    }
    json_object_set_new(made, "part_us", json_integer(series->part_us));
    json_object_set_new(made, "parts", parts);
    json_object_set_new(made, "waits", numbers_json(series->waits, SERIES_STEPS));
    json_object_set_new(made, "holds", numbers_json(series->holds, SERIES_STEPS));
    if (series_has_holds(series)) {
        json_object_set_new(made, "holders", numbers_json(series->holders, series->parts_count));
        json_object_set_new(made, "held_us", numbers_json(series->held_us, series->parts_count));
    }
    if (series->parts_count && series->memory_kb[0])
        json_object_set_new(made, "memory_kb",
                            numbers_json(series->memory_kb, series->parts_count));
    return made;
}

/* Those that struck at all. */
static json_t *struck_json(const struct stress_figures *figures)
{
    json_t *made = json_object();
    for (int i = 0; i < FAULT_ROWS; i++)
        if (figures->struck[i] > 0)
            json_object_set_new(made, fault_name((enum fault)i), json_integer(figures->struck[i]));
    return made;
}

static json_t *stress_json(const struct stress_figures *figures)
{
    const struct latency *latency = &figures->latency_us;
    json_t *made = json_object(), *quantiles = json_object();
#define COUNT(name, member) json_object_set_new(made, name, json_integer(figures->member));
#include "run/stress.def"
#undef COUNT
    json_object_set_new(quantiles, "p50", json_integer(latency->p50));
    json_object_set_new(quantiles, "p99", json_integer(latency->p99));
    json_object_set_new(quantiles, "p999", json_integer(latency->p999));
    json_object_set_new(quantiles, "max", json_integer(latency->max));
    json_t *struck = struck_json(figures);
    if (json_object_size(struck))
        json_object_set(made, "struck", struck);
    json_decref(struck);
    json_object_set_new(made, "latency_us", quantiles);
    if (figures->cpu_us)
        json_object_set_new(made, "cpu_us", json_integer(figures->cpu_us));
    if (figures->injected_wait_us)
        json_object_set_new(made, "injected_wait_us", json_integer(figures->injected_wait_us));
    if (figures->series.part_us)
        json_object_set_new(made, "series", series_json(&figures->series));
    return made;
}

static json_t *search_json(const struct search_figures *search)
{
    json_t *made = json_object();
    json_object_set_new(made, "words", text_or_null(search->words));
    json_object_set_new(made, "method", text_or_null(search->method));
    json_object_set_new(made, "section", text_or_null(search_section(search)));
#define BOUND(name, member)  json_object_set_new(made, name, json_integer(search->member));
#define FIGURE(name, member) json_object_set_new(made, name, json_integer(search->member));
#include "run/search.def"
#undef BOUND
#undef FIGURE
    if (search->learned_ways)
        json_object_set_new(made, "learned_ways", json_integer(search->learned_ways));
    if (search->extends)
        json_object_set_new(made, "extends", json_integer(search->extends));
    if (search->cancels)
        json_object_set_new(made, "cancels", json_integer(search->cancels));
    json_object_set_new(made, "expected_omissions", json_real(search->omissions));
    json_object_set_new(made, "complete", json_boolean(search->is_complete));
    if (search->is_sampled)
        json_object_set_new(made, "sampled", json_true());
    json_object_set_new(made, "end", text_or_null(search->end));
    json_object_set_new(made, "tried", text_or_null(*search->tried ? search->tried : NULL));
    return made;
}

/* What a run and a stress run have and a cell has not. */
static void add_run(json_t *made, const struct result_row *row)
{
    json_object_set_new(made, "schedule", text_or_null(row->schedule));
    json_object_set_new(made, "history", text_or_null(row->history));
    json_object_set_new(made, "story", text_or_null(row->story));
    json_object_set_new(made, "source", text_or_null(row->source));
    json_object_set_new(made, "path", text_or_null(row->path));
    if (row->stress)
        json_object_set_new(made, "stress", stress_json(row->stress));
}

/* Left out where there is nothing to say. */
static void add_optional(json_t *made, const struct results *results, const struct result_row *row)
{
    if (row->worker)
        json_object_set_new(made, "worker", text_or_null(row->worker));
    if (row->is_inferred)
        json_object_set_new(made, "inferred", json_true());
    if (row->scheme_file)
        json_object_set_new(made, "scheme_file", text_or_null(row->scheme_file));
    if (row->fail_on != FAIL_ON_UNSAID)
        json_object_set_new(made, "fail_on", json_string(fail_on_name(row->fail_on)));
    if (row->is_known)
        json_object_set_new(made, "known", json_true());
    if (row->not_applicable)
        json_object_set_new(made, "not_applicable", text_or_null(row->not_applicable));
    if (results->origins_count)
        json_object_set_new(made, "origin", json_integer(row->origin));
    if (row->folder)
        json_object_set_new(made, "folder", text_or_null(row->folder));
}

static json_t *row_json(const struct results *results, const struct result_row *row)
{
    json_t *made = json_object(), *properties = json_array();
    for (int i = 0; i < row->properties_count; i++)
        json_array_append_new(properties, property_json(&row->properties[i], row));
    json_object_set_new(made, "kind", json_string(json_kinds[result_kind(row)]));
    json_object_set_new(made, row->search ? "fault" : "scenario", text_or_null(row->subject));
    json_object_set_new(made, "scheme", text_or_null(*row->scheme ? row->scheme : NULL));
    json_object_set_new(made, "naive", truth_if(!row->is_unrated, row->is_naive));
    json_object_set_new(made, "verdict", json_string(verdict_name(row->verdict)));
    json_object_set_new(
        made, "as_expected",
        truth_if(row->as_expected != AS_EXPECTED_NONE, row->as_expected == AS_EXPECTED_YES));
    json_object_set_new(made, "unsupported", json_boolean(row->is_unsupported));
    json_object_set_new(made, "trouble", text_or_null(row->error));
    json_object_set_new(made, "seconds", seconds(row->elapsed_us));
    json_object_set_new(made, "properties", properties);
    if (row->search)
        json_object_set_new(made, "search", search_json(row->search));
    else
        add_run(made, row);
    add_optional(made, results, row);
    return made;
}

/* What made the rows. */
static void add_head(json_t *made, const struct results *results)
{
    json_object_set_new(made, "picklock", text_or_null(results->picklock));
    json_object_set_new(made, "command", text_or_null(results->command));
    json_object_set_new(made, "world", text_or_null(results->world));
    json_object_set_new(made, "server", text_or_null(results->server_version));
    json_object_set_new(made, "seed", json_integer((json_int_t)results->seed));
    json_object_set_new(made, "invocation", text_or_null(results->invocation));
    json_object_set_new(made, "started", text_or_null(results->started));
    json_object_set_new(made, "seconds", seconds(results->elapsed_us));
    if (!results->shard.count)
        return;
    json_t *shard = json_object();
    json_object_set_new(shard, "number", json_integer(results->shard.number));
    json_object_set_new(shard, "of", json_integer(results->shard.count));
    json_object_set_new(shard, "whole", json_integer(results->whole));
    json_object_set_new(shard, "unit", json_string(results->is_by_scheme ? "scheme" : "row"));
    json_object_set_new(shard, "campaign", text_or_null(results->campaign));
    json_object_set_new(made, "shard", shard);
}

static json_t *results_json(const struct results *results)
{
    json_t *made = json_object();
    json_object_set_new(made, "schema", json_string(RESULTS_SCHEMA));
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
        json_object_set_new(ended, "why", text_or_null(interrupted->why));
        json_object_set_new(ended, "done", json_integer(interrupted->done));
        json_object_set_new(ended, "of", json_integer(interrupted->of));
        json_object_set_new(ended, "unit", text_or_null(interrupted->unit));
        json_object_set_new(made, "interrupted", ended);
    }
    if (results->notes_count)
        json_object_set_new(made, "notes", texts(results->notes, results->notes_count));
    if (results->missing_count)
        json_object_set_new(made, "missing", texts(results->missing, results->missing_count));
    json_t *rows = json_array();
    for (int i = 0; i < results->rows_count; i++)
        json_array_append_new(rows, row_json(results, &results->rows[i]));
    json_object_set_new(made, "results", rows);
    return made;
}

enum fail report_json(const struct report *report, struct failure *failure)
{
    const struct results *results = report->results;
    if (results->seed > INT64_MAX)
        return failure_set(failure, FAIL_INPUT,
                           "%s: the seed %" PRIu64 " is larger than JSON readers take (2^63 - 1)",
                           report->path, results->seed);
    json_t *whole = results_json(results);
    int missed = json_dumpf(whole, report->out, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS));
    json_decref(whole);
    fputc('\n', report->out);
    if (missed && !ferror(report->out))
        return failure_set(failure, FAIL_INTERNAL, "%s: the results could not be put into JSON",
                           report->path);
    return FAIL_NONE;
}
