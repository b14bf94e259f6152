/* cell_result.c - see cell_result.h. Judges nothing: the cell's verdicts are the explorer's. */
#include "run/cell_result.h"

#include "base/memory.h"

#include <stdio.h>

char cell_clients[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES] = {"A", "B", "C", "D", "E", "F"};

/* NULL where it is empty. */
static char *text_if_any(const char *text)
{
    return *text ? memory_text(text) : NULL;
}

static void fill_witness(struct result_property *made, const struct cell *cell)
{
    const struct explore_finding *finding = &cell->outcome.findings[made->property];
    const struct cell_witness *witness = &cell->witnesses[made->property];
    char line[256];
    made->count = 1;
    made->cause = witness->cause;
    made->faults = finding->faults;
    made->steps = finding->events;
    made->is_shortest = finding->is_shortest;
    made->found_by = text_if_any(cell_found_by(cell, made->property, line, sizeof line));
    made->run = (int64_t)finding->run;
    made->choices = memory_new((size_t)finding->choices_count, sizeof *made->choices);
    made->choices_count = finding->choices_count;
    for (int i = 0; i < finding->choices_count; i++)
        made->choices[i] = memory_text(choice_print(
            &finding->choices[i], (const char(*)[NAME_MAX_BYTES])cell_clients, line, sizeof line));
    made->witness = memory_new((size_t)witness->lines, sizeof *made->witness);
    made->witness_lines = witness->lines;
    for (int i = 0; i < witness->lines; i++)
        made->witness[i] = memory_text(witness->text[i]);
    made->first_index = witness->first_index;
    made->is_replayed = witness->is_confirmed;
    made->error = witness->error ? memory_text(witness->error) : NULL;
}

static void fill_property(struct result_property *made, const struct cell *cell,
                          enum fail_on fail_on)
{
    enum property property = made->property;
    enum section section;
    char why[CELL_WHY_MAX];
    if (made->verdict == VERDICT_UNKNOWN && !cell_asks(cell, property, &section) &&
        !cell_promises(cell, property))
        made->verdict = VERDICT_NOT_APPLICABLE;
    if (made->verdict == VERDICT_UNKNOWN || made->verdict == VERDICT_NOT_APPLICABLE)
        made->why = text_if_any(cell_why(cell, property, why, sizeof why));
    if (made->verdict != VERDICT_VIOLATED)
        return;
    fill_witness(made, cell);
    made->is_failure = fail_on_counts(fail_on, 1u << cause_blame(made->cause));
}

static void fill_properties(struct result_row *row, const struct cell *cell,
                            const enum confirmed *on_redis)
{
    row->properties = memory_new(PROPERTY_COUNT, sizeof *row->properties);
    row->as_expected = AS_EXPECTED_NONE;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        if (cell->ignored >> i & 1)
            continue;
        struct result_property *made = &row->properties[row->properties_count++];
        *made = (struct result_property){.property = (enum property)i,
                                         .verdict = cell->outcome.findings[i].verdict,
                                         .expected = EXPECTED_NOTHING,
                                         .first_index = -1,
                                         .confirmed = on_redis[i]};
        fill_property(made, cell, row->fail_on);
    }
    result_sum_up_cell(row);
}

static void fill_search(struct search_figures *search, const struct cell *cell)
{
    const struct explore_options *options = &cell->options;
    const struct explore_outcome *outcome = &cell->outcome;
    cell_print_silent(cell, search->words, sizeof search->words);
    search->has_one_section = cell->has_one_section;
    search->section = options->section;
    search->learned_ways = cell->learned_ways;
    search->extends = options->has_extends;
    search->cancels = options->has_cancels;
    search->clients = options->clients;
    search->rounds = options->rounds;
    search->servers = options->servers;
    search->lease_ticks = outcome->lease_ticks;
    for (int i = 0; i < FAULT_COUNT; i++)
        search->faults_max += options->budget[i];
    search->states = (int64_t)outcome->states;
    search->transitions = (int64_t)outcome->transitions;
    snprintf(search->method, sizeof search->method, "%s", explore_search_name(options->search));
    search->seed = options->search == SEARCH_EXHAUSTIVE ? 0 : (int64_t)options->seed;
    search->runs = (int64_t)outcome->runs;
    search->new_per_1000 = (int64_t)outcome->new_per_1000;
    search->shorter_states = (int64_t)outcome->shorter_states;
    search->omissions = outcome->lost;
    search->is_complete = outcome->end == END_COMPLETE;
    search->is_sampled = cell_is_sampled(cell);
    snprintf(search->end, sizeof search->end, "%s", explore_end_words(outcome->end));
    cell_tried(cell, search->tried, sizeof search->tried);
}

void result_add_cell(struct results *results, const struct cell *cell,
                     const enum confirmed *on_redis, enum fail_on fail_on)
{
    const struct scheme *scheme = cell->options.scheme;
    struct result_row *row = results_add(results);
    result_name_row(row, cell->faults, scheme);
    row->is_unsupported =
        cell->outcome.end == END_UNSUPPORTED || cell->outcome.end == END_NOT_MODELLED;
    row->fail_on = fail_on;
    row->elapsed_us = cell->elapsed_us;
    row->search = memory_new(1, sizeof *row->search);
    fill_search(row->search, cell);
    fill_properties(row, cell, on_redis);
    result_name_causes(row);
}
