/* read_rows.c - the rows of a results.json of version 2: runs, stress runs and cells. */
#include "report/json_parts.h"

#include "base/memory.h"
#include "base/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- properties --- */

/* What only a property of a cell has. */
static void read_witness(struct results_reading *reading, json_t *object,
                         struct result_property *property)
{
    bool is_null;
    property->why = read_text_or_null(reading, object, "why");
    (void)read_truth(reading, object, "headline"); /* result_cell_headline() says which */
    property->is_failure = read_truth(reading, object, "failed");
    property->faults = read_number_or(reading, object, "faults", 0);
    property->steps = read_number_or(reading, object, "witness_steps", 0);
    property->is_shortest = read_truth_or_null(reading, object, "shortest", &is_null);
    property->found_by = read_text_or_null(reading, object, "found_by");
    property->run = read_number_or(reading, object, "found_in_run", 0);
    property->choices = read_texts(reading, object, "choices", &property->choices_count);
    property->is_replayed = read_truth_or_null(reading, object, "replayed", &is_null);
    bool is_seen = read_truth_or_null(reading, object, "confirmed", &is_null);
    property->confirmed = is_null ? CONFIRMED_NOT_ASKED : is_seen ? CONFIRMED_YES : CONFIRMED_NO;
    char *unconfirmed = read_text_or_null(reading, object, "unconfirmed");
    if (unconfirmed && !is_null)
        read_bad(reading, "unconfirmed", "wants null where \"confirmed\" says true or false");
    if (unconfirmed)
        property->confirmed = result_unconfirmed_read(unconfirmed);
    free(unconfirmed);
    property->error = read_text_or_null(reading, object, "trouble");
    if (property->error && property->verdict != VERDICT_VIOLATED &&
        property->verdict != VERDICT_UNKNOWN)
        read_bad(reading, "trouble", "wants null where nothing was found that could be replayed");
    property->schedule = read_text_or_null(reading, object, "schedule");
    property->history = read_text_or_null(reading, object, "history");
}

#define PROPERTY_KEYS                                                                              \
    "property", "verdict", "expected", "count", "cause", "causes", "known", "event", "witness"

/* Left out where there are fewer: 0 then. */
static unsigned read_causes(struct results_reading *reading, json_t *object, const char *key,
                            size_t at_least, const char *wanted)
{
    json_t *list = json_object_get(object, key), *name;
    unsigned causes = 0;
    size_t i;
    enum cause cause;
    if (list && json_array_size(list) < at_least)
        read_bad(reading, key, wanted);
    json_array_foreach(list, i, name)
    {
        if (!json_is_string(name) || !cause_read(json_string_value(name), &cause))
            read_bad(reading, key, "wants the names of causes");
        else
            causes |= 1u << cause;
    }
    return causes;
}

static void read_all_causes(struct results_reading *reading, json_t *object,
                            struct result_property *property)
{
    const unsigned first = 1u << property->cause;
    property->causes =
        read_causes(reading, object, "causes", 2, "wants a list of two causes or more");
    property->known = read_causes(reading, object, "known", 1, "wants a list of causes");
    if (property->causes && !(property->causes & first))
        read_bad(reading, "causes", "has not the cause that \"cause\" names");
    if (property->known & ~(property->causes | first))
        read_bad(reading, "known", "has a cause that the property has not");
}

static void read_property(struct results_reading *reading, json_t *object, bool is_cell,
                          struct result_property *property)
{
    if (is_cell)
        READ_ONLY(reading, object, PROPERTY_KEYS, "why", "headline", "failed", "faults",
                  "witness_steps", "shortest", "found_by", "found_in_run", "choices", "replayed",
                  "confirmed", "unconfirmed", "trouble", "schedule", "history");
    else
        READ_ONLY(reading, object, PROPERTY_KEYS);
    property->property = read_property_name(reading, object);
    property->verdict = read_verdict(reading, object, "verdict");
    property->expected = json_is_null(read_member(reading, object, "expected"))
                             ? EXPECTED_NOTHING
                             : (int)read_verdict(reading, object, "expected");
    property->count = read_number(reading, object, "count");
    property->first_index = read_number_or(reading, object, "event", -1);
    property->cause = read_cause(reading, object);
    read_all_causes(reading, object, property);
    property->witness = read_texts(reading, object, "witness", &property->witness_lines);
    check_property(reading, property);
    if (is_cell)
        read_witness(reading, object, property);
}

static void read_properties(struct results_reading *reading, json_t *object, struct result_row *row)
{
    json_t *list = read_member(reading, object, "properties"), *property;
    char place[PLACE_MAX];
    if (list && !json_is_array(list))
        read_bad(reading, "properties", "wants a list");
    row->properties = memory_new(json_array_size(list), sizeof *row->properties);
    memcpy(place, reading->place, sizeof place);
    size_t i;
    json_array_foreach(list, i, property)
    {
        if (reading->version == 1 && row->search)
            snprintf(reading->place, sizeof reading->place, "results[%zu]", reading->row + i);
        else
            snprintf(reading->place, sizeof reading->place, "%.100s.properties[%zu]", place, i);
        read_property(reading, property, row->search != NULL,
                      &row->properties[row->properties_count++]);
    }
    memcpy(reading->place, place, sizeof place);
}

/* --- stress --- */

static const char *const stress_keys[] = {
#define COUNT(name, member) name,
#include "run/stress.def"
#undef COUNT
    "latency_us", "series", "cpu_us", "injected_wait_us", "struck"};

static void read_numbers(struct results_reading *reading, json_t *object, const char *name,
                         int64_t *numbers, int count)
{
    json_t *array = read_member(reading, object, name);
    if (!json_is_array(array) || json_array_size(array) != (size_t)count)
        read_bad(reading, name, "has not a number for each length or part");
    for (size_t i = 0; i < json_array_size(array) && i < (size_t)count; i++) {
        numbers[i] = json_integer_value(json_array_get(array, i));
        if (!json_is_integer(json_array_get(array, i)) || numbers[i] < 0)
            read_bad(reading, name, "wants whole numbers, 0 or more");
    }
}

static void read_part(struct results_reading *reading, json_t *object, size_t number,
                      struct series_part *part)
{
    static const char *const keys[] = {
#define PART(name, member) name,
#include "run/series.def"
#undef PART
    };
    char place[PLACE_MAX], key[32];
    (void)snprintf(key, sizeof key, "parts[%zu]", number);
    read_within(reading, key, place);
    read_only_keys(reading, object, keys, sizeof keys / sizeof *keys);
#define PART(name, member) part->member = read_number(reading, object, name);
#include "run/series.def"
#undef PART
    read_leave(reading, place);
}

static void read_series(struct results_reading *reading, json_t *stress, struct series *series)
{
    char place[PLACE_MAX];
    json_t *object = read_enter(reading, stress, "series", place);
    READ_ONLY(reading, object, "part_us", "parts", "waits", "holds", "memory_kb", "holders",
              "held_us");
    json_t *parts = read_member(reading, object, "parts");
    series->part_us = read_number(reading, object, "part_us");
    if (series->part_us < 1)
        read_bad(reading, "part_us", "wants 1 or more");
    if (!json_is_array(parts) || json_array_size(parts) > SERIES_PARTS_MAX)
        read_bad(reading, "parts", "wants a list, no longer than a run has parts");
    for (size_t i = 0; i < json_array_size(parts) && i < SERIES_PARTS_MAX; i++)
        read_part(reading, json_array_get(parts, i), i, &series->parts[series->parts_count++]);
    read_numbers(reading, object, "waits", series->waits, SERIES_STEPS);
    read_numbers(reading, object, "holds", series->holds, SERIES_STEPS);
    if (json_object_get(object, "memory_kb")) /* older programs did not tell it */
        read_numbers(reading, object, "memory_kb", series->memory_kb, series->parts_count);
    if (json_object_get(object, "holders") || json_object_get(object, "held_us")) {
        read_numbers(reading, object, "holders", series->holders, series->parts_count);
        read_numbers(reading, object, "held_us", series->held_us, series->parts_count);
    }
    read_leave(reading, place);
}

/* Older programs did not tell it, and counted what follows from a fault, too. */
static void read_struck(struct results_reading *reading, json_t *stress,
                        struct stress_figures *figures)
{
    json_t *object = json_object_get(stress, "struck"), *count;
    const char *name;
    int64_t all = 0;
    if (!object)
        return;
    if (!json_is_object(object))
        read_bad(reading, "struck", "wants a count for each fault");
    json_object_foreach(object, name, count)
    {
        enum fault fault;
        const bool is_count = json_is_integer(count) && json_integer_value(count) > 0;
        if (!fault_read(name, &fault) || !is_count)
            read_bad(reading, "struck", "has what is no fault, or no count of one");
        else
            all += figures->struck[fault] = json_integer_value(count);
    }
    if (all != figures->faults)
        read_bad(reading, "struck", "does not add up to the faults");
}

static void read_latency(struct results_reading *reading, json_t *stress, struct latency *latency)
{
    char place[PLACE_MAX];
    json_t *object = read_enter(reading, stress, "latency_us", place);
    READ_ONLY(reading, object, "p50", "p99", "p999", "max");
    *latency = (struct latency){.p50 = read_number(reading, object, "p50"),
                                .p99 = read_number(reading, object, "p99"),
                                .p999 = read_number(reading, object, "p999"),
                                .max = read_number(reading, object, "max")};
    read_leave(reading, place);
}

static void read_stress(struct results_reading *reading, json_t *row,
                        struct stress_figures *figures)
{
    char place[PLACE_MAX];
    json_t *object = read_enter(reading, row, "stress", place);
    read_only_keys(reading, object, stress_keys, sizeof stress_keys / sizeof *stress_keys);
#define COUNT(name, member) figures->member = read_number(reading, object, name);
#include "run/stress.def"
#undef COUNT
    if (figures->clients > CLIENTS_MAX)
        read_bad(reading, "clients", "is more than a run can have");
    read_latency(reading, object, &figures->latency_us);
    read_struck(reading, object, figures);
    if (json_object_get(object, "cpu_us"))
        figures->cpu_us = read_number(reading, object, "cpu_us");
    if (json_object_get(object, "injected_wait_us"))
        figures->injected_wait_us = read_number(reading, object, "injected_wait_us");
    if (json_object_get(object, "series"))
        read_series(reading, object, &figures->series);
    read_leave(reading, place);
}

/* --- cells --- */

static const char *const search_keys[] = {
#define BOUND(name, member)  name,
#define FIGURE(name, member) name,
#include "run/search.def"
#undef BOUND
#undef FIGURE
    "words",    "method",  "section", "expected_omissions",
    "complete", "end",     "tried",   "learned_ways",
    "extends",  "cancels", "sampled"};

static void read_search(struct results_reading *reading, json_t *row, struct search_figures *search)
{
    char place[PLACE_MAX];
    json_t *object = read_enter(reading, row, "search", place);
    read_only_keys(reading, object, search_keys, sizeof search_keys / sizeof *search_keys);
    read_short_text(reading, object, "words", search->words, sizeof search->words);
    read_short_text(reading, object, "method", search->method, sizeof search->method);
#define BOUND(name, member)  search->member = read_number(reading, object, name);
#define FIGURE(name, member) search->member = read_number(reading, object, name);
#include "run/search.def"
#undef BOUND
#undef FIGURE
    if (json_object_get(object, "learned_ways")) /* where something was */
        search->learned_ways = read_number(reading, object, "learned_ways");
    if (json_object_get(object, "extends"))
        search->extends = read_number(reading, object, "extends");
    if (json_object_get(object, "cancels"))
        search->cancels = read_number(reading, object, "cancels");
    json_t *section = read_member(reading, object, "section");
    search->has_one_section = json_is_string(section);
    if (!json_is_null(section) &&
        !(json_is_string(section) && section_read(json_string_value(section), &search->section)))
        read_bad(reading, "section", "wants none, write, counter or null");
    json_t *omissions = read_member(reading, object, "expected_omissions");
    search->omissions = json_number_value(omissions);
    if (omissions && !(json_is_number(omissions) && search->omissions >= 0))
        read_bad(reading, "expected_omissions", "wants a number, 0 or more");
    search->is_complete = read_truth(reading, object, "complete");
    if (json_object_get(object, "sampled"))
        search->is_sampled = read_truth(reading, object, "sampled");
    if (search->is_sampled && (search->is_complete || !search_is_random(search)))
        read_bad(reading, "sampled", "goes with random runs, which are never complete");
    read_short_text(reading, object, "end", search->end, sizeof search->end);
    if (!json_is_null(read_member(reading, object, "tried")))
        read_short_text(reading, object, "tried", search->tried, sizeof search->tried);
    read_leave(reading, place);
}

/* A cell's verdict is what its properties come to. */
static void check_sum(struct results_reading *reading, struct result_row *row)
{
    struct result_row said = *row;
    result_sum_up_cell(row);
    if (reading->version == 1)
        return; /* rows of properties did not say it */
    if (said.verdict != row->verdict)
        read_bad(reading, "verdict", "is not what the properties come to");
    if (said.as_expected != row->as_expected)
        read_bad(reading, "as_expected", "wants false where a property failed, else null");
}

/* --- rows --- */

#define ROW_KEYS                                                                                   \
    "kind", "scheme", "worker", "inferred", "naive", "verdict", "as_expected", "unsupported",      \
        "trouble", "seconds", "properties", "not_applicable", "fail_on", "scheme_file", "origin",  \
        "folder", "known"
#define RUN_KEYS "scenario", "schedule", "history", "story", "source", "path"

static enum result_kind read_kind(struct results_reading *reading, json_t *object)
{
    const char *name = json_string_value(read_member(reading, object, "kind"));
    int kind = name ? NAMES_FIND(json_kinds, name) : -1;
    if (kind >= 0)
        return (enum result_kind)kind;
    read_bad(reading, "kind", "wants run, stress or cell");
    return KIND_RUN;
}

static void read_keys(struct results_reading *reading, json_t *object, enum result_kind kind)
{
    switch (kind) {
    case KIND_RUN:
        READ_ONLY(reading, object, ROW_KEYS, RUN_KEYS);
        break;
    case KIND_STRESS:
        READ_ONLY(reading, object, ROW_KEYS, RUN_KEYS, "stress");
        break;
    case KIND_CELL:
        READ_ONLY(reading, object, ROW_KEYS, "fault", "search");
        break;
    }
}

/* A scheme's name; of a worker its command, and its name if it has one. */
static void read_lock(struct results_reading *reading, json_t *object, struct result_row *row)
{
    row->worker = read_optional_text(reading, object, "worker");
    if (!row->worker || !json_is_null(read_member(reading, object, "scheme")))
        read_short_text(reading, object, "scheme", row->scheme, sizeof row->scheme);
    if (json_object_get(object, "inferred"))
        row->is_inferred = read_truth(reading, object, "inferred");
    row->is_unrated = json_is_null(read_member(reading, object, "naive"));
    row->is_naive = !row->is_unrated && read_truth(reading, object, "naive");
    row->scheme_file = read_optional_text(reading, object, "scheme_file");
}

static void read_run(struct results_reading *reading, json_t *object, struct result_row *row)
{
    row->schedule = read_text_or_null(reading, object, "schedule");
    row->history = read_text_or_null(reading, object, "history");
    row->story = read_text_or_null(reading, object, "story");
    row->source = read_text_or_null(reading, object, "source");
    row->path = read_text_or_null(reading, object, "path");
    if (row->stress)
        read_stress(reading, object, row->stress);
}

static void read_verdicts(struct results_reading *reading, json_t *object, struct result_row *row)
{
    bool is_null;
    row->verdict = read_verdict(reading, object, "verdict");
    bool is_expected = read_truth_or_null(reading, object, "as_expected", &is_null);
    row->as_expected = is_null ? AS_EXPECTED_NONE : is_expected ? AS_EXPECTED_YES : AS_EXPECTED_NO;
    row->is_unsupported = read_truth(reading, object, "unsupported");
    row->error = read_text_or_null(reading, object, "trouble");
    row->not_applicable = read_optional_text(reading, object, "not_applicable");
    if (!row->not_applicable != (row->verdict != VERDICT_NOT_APPLICABLE))
        read_bad(reading, "not_applicable",
                 "says why the verdict is not_applicable, and only then");
    row->fail_on = read_fail_on(reading, object);
    row->is_known = json_object_get(object, "known") && read_truth(reading, object, "known");
    if (row->is_known && row->as_expected != AS_EXPECTED_NO)
        read_bad(reading, "known", "is said of what is not as expected, and only of that");
}

void read_row(struct results_reading *reading, json_t *object, struct results *results)
{
    struct result_row *row = results_add(results);
    enum result_kind kind = read_kind(reading, object);
    read_keys(reading, object, kind);
    if (kind == KIND_STRESS)
        row->stress = memory_new(1, sizeof *row->stress);
    if (kind == KIND_CELL)
        row->search = memory_new(1, sizeof *row->search);
    read_short_text(reading, object, row->search ? "fault" : "scenario", row->subject,
                    sizeof row->subject);
    read_lock(reading, object, row);
    read_verdicts(reading, object, row);
    row->elapsed_us = read_seconds_us(reading, object, "seconds");
    row->origin = read_origin(reading, object, results);
    row->folder = read_folder(reading, object);
    read_properties(reading, object, row);
    if (row->search) {
        read_search(reading, object, row->search);
        check_sum(reading, row);
        result_name_causes(row);
    } else {
        read_run(reading, object, row);
        check_row(reading, row);
    }
}
