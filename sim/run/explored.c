/* explored.c - see explored.h. */
#include "run/explored.h"

#include "base/memory.h"
#include "base/units.h"
#include "run/plugin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char explored_clients[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES] = {"A", "B", "C", "D", "E", "F"};

/* --- from a cell --- */

static void fill_witness(struct explored_property *made, const struct cell *cell)
{
    const struct explore_finding *finding = &cell->outcome.findings[made->property];
    const struct cell_witness *witness = &cell->witnesses[made->property];
    char line[256];
    made->cause = witness->cause;
    made->faults = finding->faults;
    made->steps = finding->events;
    made->is_shortest = finding->is_shortest;
    cell_found_by(cell, made->property, made->found_by, sizeof made->found_by);
    made->run = (int64_t)finding->run;
    made->choices = memory_new((size_t)finding->choices_count, sizeof *made->choices);
    made->choices_count = finding->choices_count;
    for (int i = 0; i < finding->choices_count; i++)
        made->choices[i] = memory_text(choice_print(&finding->choices[i],
                                                    (const char(*)[NAME_MAX_BYTES])explored_clients,
                                                    line, sizeof line));
    made->witness = memory_new((size_t)witness->lines, sizeof *made->witness);
    made->witness_lines = witness->lines;
    for (int i = 0; i < witness->lines; i++)
        made->witness[i] = memory_text(witness->text[i]);
    made->first_index = witness->first_index;
    made->is_replayed = witness->is_confirmed;
    made->trouble = witness->trouble ? memory_text(witness->trouble) : NULL;
}

static void fill_properties(struct explored *row, const struct cell *cell, const int *on_redis,
                            enum fail_on fail_on)
{
    enum property headline = PROPERTY_COUNT;
    cell_judge(cell, &headline);
    row->properties = memory_new(PROPERTY_COUNT, sizeof *row->properties);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        enum property property = (enum property)i;
        if (cell->ignored >> i & 1)
            continue;
        struct explored_property *made = &row->properties[row->properties_count++];
        *made = (struct explored_property){.property = property,
                                           .verdict = cell->outcome.findings[i].verdict,
                                           .is_headline = property == headline,
                                           .first_index = -1,
                                           .confirmed = (enum confirmed)on_redis[i]};
        enum section section;
        if (made->verdict == VERDICT_UNKNOWN && !cell_asks(cell, property, &section) &&
            !cell_promises(cell, property))
            made->verdict = VERDICT_NOT_APPLICABLE;
        if (made->verdict == VERDICT_UNKNOWN || made->verdict == VERDICT_NOT_APPLICABLE)
            cell_why(cell, property, made->why, sizeof made->why);
        if (made->verdict != VERDICT_VIOLATED)
            continue;
        fill_witness(made, cell);
        made->is_failure = fail_on_counts(fail_on, 1u << cause_blame(made->cause));
    }
}

void explored_fill(struct explored *row, const struct cell *cell, const int *on_redis,
                   enum fail_on fail_on)
{
    const struct explore_options *options = &cell->options;
    const struct explore_outcome *outcome = &cell->outcome;
    snprintf(row->scheme, sizeof row->scheme, "%s", options->scheme->name);
    const char *file = plugin_file(options->scheme);
    row->scheme_file = file ? memory_text(file) : NULL;
    row->is_unrated = file != NULL;
    row->is_naive = options->scheme->is_naive && !row->is_unrated;
    snprintf(row->faults, sizeof row->faults, "%s", cell->faults);
    cell_print(cell, row->words, sizeof row->words);
    row->has_one_section = cell->has_one_section;
    row->section = options->section;
    row->clients = options->clients;
    row->rounds = options->rounds;
    row->servers = options->servers;
    row->lease_ticks = outcome->lease_ticks;
    for (int i = 0; i < FAULT_COUNT; i++)
        row->faults_max += options->budget[i];
    row->states = (int64_t)outcome->states;
    row->transitions = (int64_t)outcome->transitions;
    snprintf(row->search, sizeof row->search, "%s", explore_search_name(options->search));
    row->seed = options->search == SEARCH_EXHAUSTIVE ? 0 : (int64_t)options->seed;
    row->runs = (int64_t)outcome->runs;
    row->new_per_1000 = (int64_t)outcome->new_per_1000;
    row->shorter_states = (int64_t)outcome->shorter_states;
    row->lost = outcome->lost;
    row->is_complete = outcome->end == END_COMPLETE;
    row->is_unsupported = outcome->end == END_UNSUPPORTED;
    snprintf(row->end, sizeof row->end, "%s", explore_end_words(outcome->end));
    cell_tried(cell, row->tried, sizeof row->tried);
    row->elapsed_us = cell->elapsed_us;
    row->fail_on = fail_on_for(fail_on, options->scheme, FAIL_ON_NEVER);
    fill_properties(row, cell, on_redis, row->fail_on);
}

static void free_texts(char **texts, int count)
{
    for (int i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void explored_close(struct explored *row)
{
    for (int i = 0; i < row->properties_count; i++) {
        struct explored_property *property = &row->properties[i];
        free_texts(property->choices, property->choices_count);
        free_texts(property->witness, property->witness_lines);
        free(property->trouble);
        free(property->schedule);
        free(property->history);
    }
    free(row->properties);
    free(row->folder);
    free(row->scheme_file);
}

/* --- what is asked about a row --- */

const struct explored_property *explored_headline(const struct explored *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].is_headline)
            return &row->properties[i];
    return NULL;
}

enum cell_word explored_word(const struct explored *row)
{
    const struct explored_property *headline = explored_headline(row);
    if (!headline)
        return row->is_complete ? CELL_SAFE : CELL_UNKNOWN;
    if (cause_blame(headline->cause) == BLAME_NOBODY)
        return CELL_INHERENT;
    return headline->property == PROPERTY_PROGRESS ? CELL_STUCK : CELL_BROKEN;
}

bool explored_has_defect(const struct explored *row)
{
    for (int i = 0; i < row->properties_count; i++) {
        const struct explored_property *property = &row->properties[i];
        if (property->trouble || property->confirmed == CONFIRMED_NO)
            return true;
    }
    return false;
}

static const char *const unconfirmed[] = {
    [CONFIRMED_NOT_ASKED + 1] = NULL,
    [CONFIRMED_NO + 1] = NULL,
    [CONFIRMED_YES + 1] = NULL,
    [CONFIRMED_LACKS + 1] = "this server does not know DELEX",
    [CONFIRMED_NOTHING + 1] = "no single way shows it",
};

const char *explored_unconfirmed(const struct explored_property *property)
{
    return unconfirmed[property->confirmed + 1];
}

enum confirmed explored_unconfirmed_read(const char *why)
{
    return strcmp(why, unconfirmed[CONFIRMED_NOTHING + 1]) == 0 ? CONFIRMED_NOTHING
                                                                : CONFIRMED_LACKS;
}

bool explored_is_open(const struct explored *row)
{
    return !row->is_complete && !row->is_unsupported;
}

bool explored_has_failure(const struct explored *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].is_failure)
            return true;
    return false;
}

bool explored_is_random(const struct explored *row)
{
    return strcmp(row->search, explore_search_name(SEARCH_EXHAUSTIVE)) != 0;
}

const char *explored_section(const struct explored *row)
{
    return row->has_one_section ? section_name(row->section) : NULL;
}

char *explored_bounds(const struct explored *row)
{
    const char *section = explored_section(row);
    char *search = explored_is_random(row)
                       ? memory_format(", %s search, seed %" PRId64, row->search, row->seed)
                       : memory_text("");
    char *bounds = memory_format(
        "%" PRId64 " client%s, %" PRId64 " round%s, %" PRId64 " server%s, lease of %" PRId64
        " tick%s%s%s%s",
        row->clients, units_plural(row->clients), row->rounds, units_plural(row->rounds),
        row->servers, units_plural(row->servers), row->lease_ticks, units_plural(row->lease_ticks),
        section ? ", section: " : "", section ? section : "", search);
    free(search);
    return bounds;
}

bool explored_is_same_cell(const struct explored *a, const struct explored *b)
{
#define BOUND(name, member)                                                                        \
    if (a->member != b->member)                                                                    \
        return false;
#define FIGURE(name, member)
#include "run/explored.def"
#undef BOUND
#undef FIGURE
    return a->has_one_section == b->has_one_section && a->section == b->section &&
           !strcmp(a->scheme, b->scheme) && !strcmp(a->faults, b->faults) &&
           !strcmp(a->search, b->search);
}
