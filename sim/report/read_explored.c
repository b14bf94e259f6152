/* read_explored.c - the explorer's rows of a results.json. What a cell's rows say of the cell they
 * must all say alike. */
#include "report/json_parts.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* "" where it is null or, in what an older picklock wrote, not there. */
static void read_words(struct reading *reading, json_t *object, const char *key, char *text,
                       size_t size)
{
    json_t *found = json_object_get(object, key);
    if (found && !json_is_null(found))
        read_short_text(reading, object, key, text, size);
}

bool read_is_explored(json_t *object)
{
    return json_object_get(object, "cell") != NULL;
}

static void read_cell(struct reading *reading, json_t *object, struct explored *cell)
{
    read_short_text(reading, object, "scheme", cell->scheme, sizeof cell->scheme);
    read_short_text(reading, object, "fault", cell->faults, sizeof cell->faults);
    read_short_text(reading, object, "cell", cell->words, sizeof cell->words);
#define BOUND(name, member)  cell->member = read_number(reading, object, name);
#define FIGURE(name, member) cell->member = read_number(reading, object, name);
#include "run/explored.def"
#undef BOUND
#undef FIGURE
    read_short_text(reading, object, "search", cell->search, sizeof cell->search);
    json_t *section = read_member(reading, object, "section");
    cell->has_one_section = json_is_string(section);
    if (!json_is_null(section) &&
        !(json_is_string(section) && section_read(json_string_value(section), &cell->section)))
        read_bad(reading, "section", "wants none, write, counter or null");
    json_t *lost = read_member(reading, object, "states_lost");
    cell->lost = json_number_value(lost);
    if (lost && !(json_is_number(lost) && cell->lost >= 0))
        read_bad(reading, "states_lost", "wants a number, 0 or more");
    cell->elapsed_us = read_seconds_us(reading, object, "seconds");
    cell->is_complete = read_truth(reading, object, "complete");
    read_short_text(reading, object, "end", cell->end, sizeof cell->end);
    read_words(reading, object, "tried", cell->tried, sizeof cell->tried);
    cell->is_unsupported = read_truth(reading, object, "unsupported");
    cell->is_unrated = json_is_null(read_member(reading, object, "naive"));
    cell->is_naive = !cell->is_unrated && read_truth(reading, object, "naive");
    cell->fail_on = read_fail_on(reading, object);
    cell->scheme_file = read_optional_text(reading, object, "scheme_file");
}

/* A row goes on with the cell before it unless that one has the property already, or is another. */
static bool goes_on(const struct explored *last, const struct explored *read,
                    enum property property)
{
    for (int i = 0; i < last->properties_count; i++)
        if (last->properties[i].property == property)
            return false;
    return explored_is_same_cell(last, read) && last->origin == read->origin;
}

static bool says_the_same(const struct explored *a, const struct explored *b)
{
#define BOUND(name, member)
#define FIGURE(name, member)                                                                       \
    if (a->member != b->member)                                                                    \
        return false;
#include "run/explored.def"
#undef BOUND
#undef FIGURE
    return a->is_complete == b->is_complete && a->is_unsupported == b->is_unsupported &&
           a->elapsed_us == b->elapsed_us && a->fail_on == b->fail_on &&
           !strcmp(a->words, b->words) && !strcmp(a->end, b->end);
}

static int64_t number_or(struct reading *reading, json_t *object, const char *key, int64_t other)
{
    return json_is_null(read_member(reading, object, key)) ? other
                                                           : read_number(reading, object, key);
}

static bool is_true_or_null(struct reading *reading, json_t *object, const char *key, bool *is_null)
{
    *is_null = json_is_null(read_member(reading, object, key));
    return !*is_null && read_truth(reading, object, key);
}

static void read_finding(struct reading *reading, json_t *object,
                         struct explored_property *property)
{
    bool is_null;
    property->verdict = read_verdict(reading, object, "verdict");
    property->cause = read_cause(reading, object);
    bool is_expected = is_true_or_null(reading, object, "as_expected", &is_null);
    if (is_expected)
        read_bad(reading, "as_expected", "wants false or null: nothing is expected of a cell");
    property->is_failure = !is_null;
    property->is_headline = read_truth(reading, object, "headline");
    property->faults = number_or(reading, object, "faults", 0);
    property->steps = number_or(reading, object, "witness_steps", 0);
    property->is_shortest = is_true_or_null(reading, object, "shortest", &is_null);
    property->run = number_or(reading, object, "found_in_run", 0);
    read_words(reading, object, "found_by", property->found_by, sizeof property->found_by);
    if (property->verdict == VERDICT_UNKNOWN || property->verdict == VERDICT_NOT_APPLICABLE)
        read_short_text(reading, object, "why", property->why, sizeof property->why);
    property->is_replayed = is_true_or_null(reading, object, "replayed", &is_null);
    bool is_seen = is_true_or_null(reading, object, "confirmed", &is_null);
    property->confirmed = is_null ? CONFIRMED_NOT_ASKED : is_seen ? CONFIRMED_YES : CONFIRMED_NO;
    char *unconfirmed = read_text_or_null(reading, object, "unconfirmed");
    if (unconfirmed && !is_null)
        read_bad(reading, "unconfirmed", "wants null where \"confirmed\" says true or false");
    if (unconfirmed)
        property->confirmed = explored_unconfirmed_read(unconfirmed);
    free(unconfirmed);
    property->trouble = read_text_or_null(reading, object, "trouble");
    property->choices = read_texts(reading, object, "witness", &property->choices_count);
    property->witness = read_texts(reading, object, "sentences", &property->witness_lines);
    property->first_index = number_or(reading, object, "event", -1);
    property->schedule = read_text_or_null(reading, object, "schedule");
    property->history = read_text_or_null(reading, object, "history");
}

static const char *const row_keys[] = {
    "scheme",  "fault",         "property",    "verdict",      "cause",       "as_expected",
    "cell",
#define BOUND(name, member)  name,
#define FIGURE(name, member) name,
#include "run/explored.def"
#undef BOUND
#undef FIGURE
    "section", "search",        "shortest",    "found_in_run", "why",         "states_lost",
    "seconds", "complete",      "end",         "unsupported",  "naive",       "headline",
    "faults",  "witness_steps", "replayed",    "confirmed",    "unconfirmed", "trouble",
    "witness", "sentences",     "event",       "schedule",     "history",     "origin",
    "folder",  "fail_on",       "scheme_file", "found_by",     "tried"};

void read_explored(struct reading *reading, json_t *object, struct results *results)
{
    read_only_keys(reading, object, row_keys, sizeof row_keys / sizeof *row_keys);
    struct explored read = {0};
    read_cell(reading, object, &read);
    read.origin = read_origin(reading, object, results);
    enum property property = read_property_name(reading, object);
    struct explored *cell = results->cells_count ? &results->cells[results->cells_count - 1] : NULL;
    if (!cell || !goes_on(cell, &read, property)) {
        cell = results_add_cell(results);
        *cell = read;
        cell->properties = memory_new(PROPERTY_COUNT, sizeof *cell->properties);
        cell->folder = read_folder(reading, object);
    } else if (!says_the_same(cell, &read)) {
        read_bad(reading, "", "says something else of its cell than the row before");
    }
    if (cell->scheme_file != read.scheme_file)
        free(read.scheme_file);
    struct explored_property *made = &cell->properties[cell->properties_count++];
    *made = (struct explored_property){.property = property};
    read_finding(reading, object, made);
}
