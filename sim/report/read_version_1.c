/* read_version_1.c - rows of a results.json of version 1, made to rows of version 2.
 *
 * A stress run had its figures in the row; a cell had a row for each of its properties, and what is
 * the cell's stood in all of them alike. */
#include "report/json_parts.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum part { IN_ROW, IN_STRESS, IN_SEARCH, IN_PROPERTY };

struct old_key {
    const char *name;
    enum part part;
    const char *renamed; /* or NULL: its name now is the same */
    bool is_optional;
};

static const struct old_key run_keys[] = {
    {"scenario", IN_ROW, NULL, false},      {"scheme", IN_ROW, NULL, false},
    {"naive", IN_ROW, NULL, false},         {"verdict", IN_ROW, NULL, false},
    {"as_expected", IN_ROW, NULL, false},   {"unsupported", IN_ROW, NULL, false},
    {"trouble", IN_ROW, NULL, false},       {"seconds", IN_ROW, NULL, false},
    {"properties", IN_ROW, NULL, false},    {"schedule", IN_ROW, NULL, false},
    {"history", IN_ROW, NULL, false},       {"story", IN_ROW, NULL, false},
    {"source", IN_ROW, NULL, false},        {"path", IN_ROW, NULL, false},
    {"origin", IN_ROW, NULL, true},         {"folder", IN_ROW, NULL, true},
    {"not_applicable", IN_ROW, NULL, true}, {"fail_on", IN_ROW, NULL, true},
    {"scheme_file", IN_ROW, NULL, true},
};

/* A run's first, then these. */
static const struct old_key stress_keys[] = {
#define COUNT(name, member) {name, IN_STRESS, NULL, false},
#include "run/stress.def"
#undef COUNT
    {"latency_us", IN_STRESS, NULL, false},
};

static const struct old_key cell_keys[] = {
    {"scheme", IN_ROW, NULL, false},
    {"fault", IN_ROW, NULL, false},
    {"naive", IN_ROW, NULL, false},
    {"unsupported", IN_ROW, NULL, false},
    {"seconds", IN_ROW, NULL, false},
    {"fail_on", IN_ROW, NULL, true},
    {"scheme_file", IN_ROW, NULL, true},
    {"origin", IN_ROW, NULL, true},
    {"folder", IN_ROW, NULL, true},
#define BOUND(name, member)  {name, IN_SEARCH, NULL, false},
#define FIGURE(name, member) {name, IN_SEARCH, NULL, false},
#include "run/search.def"
#undef BOUND
#undef FIGURE
    {"cell", IN_SEARCH, "words", false},
    {"search", IN_SEARCH, "method", false},
    {"section", IN_SEARCH, NULL, false},
    {"states_lost", IN_SEARCH, "expected_omissions", false},
    {"complete", IN_SEARCH, NULL, false},
    {"end", IN_SEARCH, NULL, false},
    {"tried", IN_SEARCH, NULL, true},
    {"property", IN_PROPERTY, NULL, false},
    {"verdict", IN_PROPERTY, NULL, false},
    {"as_expected", IN_PROPERTY, "failed", false},
    {"cause", IN_PROPERTY, NULL, false},
    {"event", IN_PROPERTY, NULL, false},
    {"sentences", IN_PROPERTY, "witness", false},
    {"witness", IN_PROPERTY, "choices", false},
    {"why", IN_PROPERTY, NULL, true},
    {"headline", IN_PROPERTY, NULL, false},
    {"faults", IN_PROPERTY, NULL, false},
    {"witness_steps", IN_PROPERTY, NULL, false},
    {"shortest", IN_PROPERTY, NULL, false},
    {"found_by", IN_PROPERTY, NULL, true},
    {"found_in_run", IN_PROPERTY, NULL, false},
    {"replayed", IN_PROPERTY, NULL, false},
    {"confirmed", IN_PROPERTY, NULL, false},
    {"unconfirmed", IN_PROPERTY, NULL, false},
    {"trouble", IN_PROPERTY, NULL, false},
    {"schedule", IN_PROPERTY, NULL, false},
    {"history", IN_PROPERTY, NULL, false},
};

enum {
    RUN_KEYS = sizeof run_keys / sizeof *run_keys,
    STRESS_KEYS = sizeof stress_keys / sizeof *stress_keys,
    CELL_KEYS = sizeof cell_keys / sizeof *cell_keys,
    KEYS_MOST = RUN_KEYS + STRESS_KEYS + CELL_KEYS,
};

/* The keys in a list, of them only that there are any others. */
struct key_list {
    struct old_key keys[KEYS_MOST];
    size_t count;
};

static void add_keys(struct key_list *list, const struct old_key *keys, size_t count)
{
    memcpy(list->keys + list->count, keys, count * sizeof *keys);
    list->count += count;
}

/* Deals the values of a row out to the parts; what may be left out is null then. */
static void deal(struct reading *reading, json_t *row, const struct key_list *list,
                 json_t *const *parts)
{
    const char *names[KEYS_MOST];
    for (size_t i = 0; i < list->count; i++)
        names[i] = list->keys[i].name;
    read_only_keys(reading, row, names, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct old_key *key = &list->keys[i];
        json_t *value = json_object_get(row, key->name);
        if (!value && !key->is_optional)
            read_bad(reading, key->name, "is missing");
        if (value)
            json_object_set(parts[key->part], key->renamed ? key->renamed : key->name, value);
        else if (key->part != IN_ROW)
            json_object_set_new(parts[key->part], key->renamed ? key->renamed : key->name,
                                json_null());
    }
}

static json_t *run_of(struct reading *reading, json_t *row)
{
    bool is_stress = json_object_get(row, "latency_us") != NULL;
    json_t *made = json_object(), *figures = is_stress ? json_object() : NULL;
    struct key_list list = {0};
    add_keys(&list, run_keys, RUN_KEYS);
    if (is_stress)
        add_keys(&list, stress_keys, STRESS_KEYS);
    deal(reading, row, &list, (json_t *const[]){[IN_ROW] = made, [IN_STRESS] = figures});
    json_object_set_new(made, "kind", json_string(json_kinds[is_stress ? KIND_STRESS : KIND_RUN]));
    if (is_stress)
        json_object_set_new(made, "stress", figures);
    return made;
}

/* --- cells --- */

/* A cell without properties; its property comes beside it. */
static json_t *cell_of(struct reading *reading, json_t *row, json_t *property)
{
    json_t *made = json_object(), *search = json_object();
    struct key_list list = {0};
    add_keys(&list, cell_keys, CELL_KEYS);
    deal(reading, row, &list,
         (json_t *const[]){[IN_ROW] = made, [IN_SEARCH] = search, [IN_PROPERTY] = property});
    json_object_set_new(made, "kind", json_string(json_kinds[KIND_CELL]));
    json_object_set_new(made, "search", search);
    json_object_set_new(made, "trouble", json_null());
    json_object_set_new(made, "verdict", json_string(verdict_name(VERDICT_UNKNOWN)));
    json_object_set_new(made, "as_expected", json_null());
    json_t *failed = json_object_get(property, "failed");
    if (!json_is_false(failed) && !json_is_null(failed))
        read_bad(reading, "as_expected", "wants false or null: nothing is expected of a cell");
    bool is_failed = json_is_false(failed);
    const char *verdict = json_string_value(json_object_get(property, "verdict"));
    bool is_violated = verdict && !strcmp(verdict, verdict_name(VERDICT_VIOLATED));
    json_object_set_new(property, "failed", json_boolean(is_failed));
    json_object_set_new(property, "expected", json_null());
    json_object_set_new(property, "count", json_integer(is_violated));
    return made;
}

static bool is_alike(json_t *a, json_t *b, const char *key)
{
    json_t *one = json_object_get(a, key), *other = json_object_get(b, key);
    return one == other || json_equal(one, other);
}

static bool is_same_cell(json_t *a, json_t *b)
{
    json_t *one = json_object_get(a, "search"), *other = json_object_get(b, "search");
    bool is_same = is_alike(a, b, "scheme") && is_alike(a, b, "fault") &&
                   is_alike(a, b, "origin") && is_alike(one, other, "section") &&
                   is_alike(one, other, "method");
#define BOUND(name, member) is_same = is_same && is_alike(one, other, name);
#define FIGURE(name, member)
#include "run/search.def"
#undef BOUND
#undef FIGURE
    return is_same;
}

static bool has_property(json_t *properties, json_t *property)
{
    size_t i;
    json_t *other;
    json_array_foreach(properties, i, other) if (is_alike(other, property, "property")) return true;
    return false;
}

/* Takes the cell: a row goes on with the cell before it unless that one has the property already,
 * or is another. True: it does. properties: of the cell before, or NULL. */
static bool goes_on(struct reading *reading, json_t *last, json_t *cell, json_t *property)
{
    json_t *properties = json_object_get(last, "properties");
    if (!properties || !is_same_cell(last, cell) || has_property(properties, property))
        return false;
    json_object_set(cell, "properties", properties);
    if (!json_equal(last, cell))
        read_bad(reading, "", "says something else of its cell than the row before");
    json_array_append(properties, property);
    return true;
}

json_t *read_version_1(struct reading *reading, json_t *rows, size_t **first)
{
    json_t *made = json_array(), *row, *last = NULL;
    size_t i;
    *first = memory_new(json_array_size(rows) + 1, sizeof **first);
    json_array_foreach(rows, i, row)
    {
        snprintf(reading->place, sizeof reading->place, "results[%zu]", i);
        bool is_cell = json_object_get(row, "cell") != NULL;
        json_t *property = json_object();
        json_t *now = is_cell ? cell_of(reading, row, property) : run_of(reading, row);
        if (is_cell && last && goes_on(reading, last, now, property)) {
            json_decref(now);
        } else {
            if (is_cell)
                json_object_set_new(now, "properties", json_pack("[O]", property));
            (*first)[json_array_size(made)] = i;
            json_array_append_new(made, now);
            last = is_cell ? now : NULL;
        }
        json_decref(property);
        if (reading->fail)
            break;
    }
    *reading->place = 0;
    return made;
}
