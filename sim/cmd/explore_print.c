/* explore_print.c - see explore_print.h. */
#include "cmd/explore_print.h"

#include "base/outfile.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

enum { WORD_MAX = 160 };

static const char names[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES] = {"A", "B", "C", "D", "E", "F"};

/* --- for people --- */

/* What --confirm found for all the witnesses of a cell; "" where there is none, or nobody asked. */
static const char *confirmed_words(const struct cells *cells, int at)
{
    const char *words = "";
    for (int p = 0; p < PROPERTY_COUNT; p++) {
        if (cells->on_redis[at][p] == 0)
            return "  NOT CONFIRMED";
        if (cells->on_redis[at][p] > 0)
            words = "  confirmed";
    }
    return words;
}

void explore_print_matrix(FILE *out, const struct cells *cells)
{
    char word[WORD_MAX];
    const struct scheme *last = NULL;
    for (int i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->rows[i];
        if (cell->options.scheme != last)
            fprintf(out, "%s%s\n", last ? "\n" : "", cell->options.scheme->name);
        last = cell->options.scheme;
        fprintf(out, "  %-24s %-40s %10" PRIu64 " states %11" PRIu64 " transitions%s\n",
                cell->faults, cell_print(cell, word, sizeof word), cell->outcome.states,
                cell->outcome.transitions, confirmed_words(cells, i));
    }
}

static void print_witness(FILE *out, const struct cell *cell, enum property property)
{
    const struct explore_finding *finding = &cell->outcome.findings[property];
    const struct cell_witness *witness = &cell->witnesses[property];
    char line[256];
    fprintf(out, "\n%s, %s: %s is violated (%s) in %d steps\n", cell->options.scheme->name,
            cell->faults, property_name(property), cause_name(witness->cause), finding->events);
    for (int i = 0; i < finding->choices_count; i++)
        fprintf(out, "  %3d  %s\n", i + 1,
                choice_print(&finding->choices[i], names, line, sizeof line));
    for (int i = 0; i < witness->lines; i++)
        fprintf(out, "  %s\n", witness->text[i]);
    if (witness->trouble)
        fprintf(out, "  NOT CONFIRMED, a defect of picklock: %s\n", witness->trouble);
}

void explore_print_witnesses(FILE *out, const struct cells *cells)
{
    for (int i = 0; i < cells->count; i++)
        for (int p = 0; p < PROPERTY_COUNT; p++)
            if (cells->rows[i].outcome.findings[p].verdict == VERDICT_VIOLATED)
                print_witness(out, &cells->rows[i], (enum property)p);
}

/* --- JSON --- */

static json_t *choices_json(const struct explore_finding *finding)
{
    char line[256];
    json_t *made = json_array();
    for (int i = 0; i < finding->choices_count; i++)
        json_array_append_new(
            made, json_string(choice_print(&finding->choices[i], names, line, sizeof line)));
    return made;
}

static json_t *row_json(const struct cells *cells, int at, enum property property)
{
    const struct cell *cell = &cells->rows[at];
    const struct explore_outcome *outcome = &cell->outcome;
    const struct explore_finding *finding = &outcome->findings[property];
    const struct cell_witness *witness = &cell->witnesses[property];
    bool is_violated = finding->verdict == VERDICT_VIOLATED;
    json_t *made = json_object();
    json_object_set_new(made, "scheme", json_string(cell->options.scheme->name));
    json_object_set_new(made, "fault", json_string(cell->faults));
    json_object_set_new(made, "property", json_string(property_name(property)));
    json_object_set_new(made, "verdict", json_string(verdict_name(finding->verdict)));
    json_object_set_new(made, "cause",
                        is_violated ? json_string(cause_name(witness->cause)) : json_null());
    json_object_set_new(made, "clients", json_integer(cell->options.clients));
    json_object_set_new(made, "rounds", json_integer(cell->options.rounds));
    json_object_set_new(made, "servers", json_integer(cell->options.servers));
    json_object_set_new(made, "faults", is_violated ? json_integer(finding->faults) : json_null());
    json_object_set_new(made, "states", json_integer((json_int_t)outcome->states));
    json_object_set_new(made, "transitions", json_integer((json_int_t)outcome->transitions));
    json_object_set_new(made, "states_lost", json_real(outcome->lost));
    json_object_set_new(made, "seconds", json_real((double)cell->elapsed_us / 1e6));
    json_object_set_new(made, "complete", json_boolean(outcome->end == END_COMPLETE));
    json_object_set_new(made, "end", json_string(explore_end_words(outcome->end)));
    json_object_set_new(made, "witness_steps",
                        is_violated ? json_integer(finding->events) : json_null());
    json_object_set_new(made, "replayed",
                        is_violated ? json_boolean(witness->is_confirmed) : json_null());
    int on_redis = cells->on_redis[at][property];
    json_object_set_new(made, "confirmed", on_redis < 0 ? json_null() : json_boolean(on_redis > 0));
    if (is_violated)
        json_object_set_new(made, "witness", choices_json(finding));
    return made;
}

enum fail explore_print_json(const char *path, const struct cells *cells, struct failure *failure)
{
    struct outfile file;
    json_t *results = json_array(), *made = json_object();
    for (int i = 0; i < cells->count; i++)
        for (int p = 0; p < PROPERTY_COUNT; p++)
            if (explore_judges((enum property)p) && !(cells->rows[i].ignored >> p & 1))
                json_array_append_new(results, row_json(cells, i, (enum property)p));
    json_object_set_new(made, "schema", json_string("picklock.explore/1"));
    json_object_set_new(made, "results", results);
    enum fail fail = outfile_open(&file, path, failure);
    if (!fail) {
        json_dumpf(made, file.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        fputc('\n', file.stream);
        fail = outfile_shut(&file, failure);
    }
    json_decref(made);
    return fail;
}
