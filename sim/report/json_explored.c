/* json_explored.c - the explorer's rows in results.json: one a property of a cell, so that a row
 * can be read by itself; what is the cell's stands in each of them. */
#include "report/json_parts.h"

static json_t *number_if(bool is_given, int64_t value)
{
    return is_given ? json_integer(value) : json_null();
}

static void add_cell(json_t *made, const struct explored *cell)
{
    json_object_set_new(made, "cell", json_text_or_null(cell->words));
#define BOUND(name, member)  json_object_set_new(made, name, json_integer(cell->member));
#define FIGURE(name, member) json_object_set_new(made, name, json_integer(cell->member));
#include "run/explored.def"
#undef BOUND
#undef FIGURE
    json_object_set_new(made, "search", json_text_or_null(cell->search));
    json_object_set_new(made, "section", json_text_or_null(explored_section(cell)));
    json_object_set_new(made, "states_lost", json_real(cell->lost));
    json_object_set_new(made, "seconds", json_seconds(cell->elapsed_us));
    json_object_set_new(made, "complete", json_boolean(cell->is_complete));
    json_object_set_new(made, "end", json_text_or_null(cell->end));
    json_object_set_new(made, "tried", json_text_or_null(*cell->tried ? cell->tried : NULL));
    json_object_set_new(made, "unsupported", json_boolean(cell->is_unsupported));
    json_object_set_new(made, "naive",
                        cell->is_unrated ? json_null() : json_boolean(cell->is_naive));
    if (cell->scheme_file)
        json_object_set_new(made, "scheme_file", json_text_or_null(cell->scheme_file));
    if (cell->fail_on != FAIL_ON_UNSAID)
        json_object_set_new(made, "fail_on", json_string(fail_on_name(cell->fail_on)));
}

json_t *json_explored(const struct explored *cell, const struct explored_property *property)
{
    bool is_violated = property->verdict == VERDICT_VIOLATED;
    json_t *made = json_object();
    json_object_set_new(made, "scheme", json_text_or_null(cell->scheme));
    json_object_set_new(made, "fault", json_text_or_null(cell->faults));
    json_object_set_new(made, "property", json_string(property_name(property->property)));
    json_object_set_new(made, "verdict", json_string(verdict_name(property->verdict)));
    json_object_set_new(made, "cause",
                        is_violated ? json_string(cause_name(property->cause)) : json_null());
    json_object_set_new(made, "as_expected", property->is_failure ? json_false() : json_null());
    add_cell(made, cell);
    json_object_set_new(made, "headline", json_boolean(property->is_headline));
    json_object_set_new(made, "faults", number_if(is_violated, property->faults));
    json_object_set_new(made, "witness_steps", number_if(is_violated, property->steps));
    json_object_set_new(made, "shortest",
                        is_violated ? json_boolean(property->is_shortest) : json_null());
    json_object_set_new(made, "found_in_run", number_if(property->run > 0, property->run));
    json_object_set_new(made, "found_by",
                        json_text_or_null(*property->found_by ? property->found_by : NULL));
    json_object_set_new(made, "why", json_text_or_null(*property->why ? property->why : NULL));
    json_object_set_new(made, "replayed",
                        is_violated ? json_boolean(property->is_replayed) : json_null());
    json_object_set_new(made, "confirmed",
                        property->confirmed == CONFIRMED_NOT_ASKED || explored_unconfirmed(property)
                            ? json_null()
                            : json_boolean(property->confirmed == CONFIRMED_YES));
    json_object_set_new(made, "unconfirmed", json_text_or_null(explored_unconfirmed(property)));
    json_object_set_new(made, "trouble", json_text_or_null(property->trouble));
    json_object_set_new(made, "witness", json_texts(property->choices, property->choices_count));
    json_object_set_new(made, "sentences", json_texts(property->witness, property->witness_lines));
    json_object_set_new(made, "event", number_if(property->first_index > 0, property->first_index));
    json_object_set_new(made, "schedule", json_text_or_null(property->schedule));
    json_object_set_new(made, "history", json_text_or_null(property->history));
    return made;
}
