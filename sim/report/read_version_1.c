/* read_version_1.c - rows of a results.json of version 1, made to rows of version 2; whatever is
 * wrong with them the reader of version 2 finds.
 *
 * A stress run had its figures in the row; a cell had a row for each of its properties, and what is
 * the cell's stood in all of them alike. */
#include "report/json_parts.h"

#include "base/memory.h"
#include "base/names.h"

#include <stdio.h>
#include <string.h>

/* Each list ends with NULL. */
static const char *const stress_keys[] = {
#define COUNT(name, member) name,
#include "run/stress.def"
#undef COUNT
    "latency_us", NULL};

static const char *const search_keys[] = {
#define BOUND(name, member)  name,
#define FIGURE(name, member) name,
#include "run/search.def"
#undef BOUND
#undef FIGURE
    "cell", "search", "section", "states_lost", "complete", "end", "tried", NULL};

static const char *const property_keys[] = {
    "property", "verdict",      "as_expected", "cause",     "event",         "sentences",
    "witness",  "why",          "headline",    "faults",    "witness_steps", "shortest",
    "found_by", "found_in_run", "replayed",    "confirmed", "unconfirmed",   "trouble",
    "schedule", "history",      NULL};

/* What stands elsewhere goes by another name there. */
static const char *name_now(const char *key)
{
    static const struct {
        const char *name, *now;
    } renamed[] = {
        {"cell", "words"},         {"search", "method"},     {"states_lost", "expected_omissions"},
        {"as_expected", "failed"}, {"sentences", "witness"}, {"witness", "choices"},
    };
    int row = NAMES_FIND_ROW(renamed, key);
    return row >= 0 ? renamed[row].now : key;
}

/* What older programs left out is null. */
static bool is_optional(const char *key)
{
    return !strcmp(key, "tried") || !strcmp(key, "found_by") || !strcmp(key, "why");
}

static json_t *move(struct results_reading *reading, json_t *from, const char *const *keys)
{
    json_t *made = json_object();
    for (; *keys; keys++) {
        json_t *value = json_object_get(from, *keys);
        if (!value && !is_optional(*keys))
            read_bad(reading, *keys, "is missing");
        if (value)
            json_object_set(made, name_now(*keys), value);
        else
            json_object_set_new(made, name_now(*keys), json_null());
        json_object_del(from, *keys);
    }
    return made;
}

/* Keys that only version 2 has. */
static void refuse_new(struct results_reading *reading, json_t *row, const char *part)
{
    const char *const names[] = {"kind", "worker", "inferred", part};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_object_get(row, names[i]))
            read_bad(reading, names[i], "is unknown here");
}

/* Each takes a row of its own. */
static void make_run(struct results_reading *reading, json_t *row)
{
    bool is_stress = json_object_get(row, "latency_us") != NULL;
    refuse_new(reading, row, "stress");
    if (is_stress)
        json_object_set_new(row, "stress", move(reading, row, stress_keys));
    json_object_set_new(row, "kind", json_string(json_kinds[is_stress ? KIND_STRESS : KIND_RUN]));
}

/* --- cells --- */

/* The property that the row speaks of, which is taken out of it. */
static json_t *make_cell(struct results_reading *reading, json_t *row)
{
    refuse_new(reading, row, "properties");
    json_t *property = move(reading, row, property_keys);
    json_object_set_new(row, "search", move(reading, row, search_keys));
    json_object_set_new(row, "kind", json_string(json_kinds[KIND_CELL]));
    json_object_set_new(row, "trouble", json_null());
    json_object_set_new(row, "verdict", json_string(verdict_name(VERDICT_UNKNOWN)));
    json_object_set_new(row, "as_expected", json_null());
    json_t *failed = json_object_get(property, "failed");
    if (!json_is_false(failed) && !json_is_null(failed))
        read_bad(reading, "as_expected", "wants false or null: nothing is expected of a cell");
    const char *verdict = json_string_value(json_object_get(property, "verdict"));
    bool is_violated = verdict && !strcmp(verdict, verdict_name(VERDICT_VIOLATED));
    json_object_set_new(property, "failed", json_boolean(json_is_false(failed)));
    json_object_set_new(property, "expected", json_null());
    json_object_set_new(property, "count", json_integer(is_violated));
    return property;
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
static bool goes_on(struct results_reading *reading, json_t *last, json_t *cell, json_t *property)
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

json_t *read_version_1(struct results_reading *reading, json_t *rows, size_t **first)
{
    json_t *made = json_array(), *old, *last = NULL;
    size_t i;
    *first = memory_new(json_array_size(rows) + 1, sizeof **first);
    json_array_foreach(rows, i, old)
    {
        snprintf(reading->place, sizeof reading->place, "results[%zu]", i);
        if (!json_is_object(old))
            read_bad(reading, "", "wants an object");
        if (reading->fail)
            break;
        json_t *row = json_copy(old);
        json_t *property = json_object_get(row, "cell") ? make_cell(reading, row) : NULL;
        if (!property)
            make_run(reading, row);
        if (property && last && goes_on(reading, last, row, property)) {
            json_decref(row);
        } else {
            if (property)
                json_object_set_new(row, "properties", json_pack("[O]", property));
            (*first)[json_array_size(made)] = i;
            json_array_append_new(made, row);
            last = property ? row : NULL;
        }
        json_decref(property);
    }
    *reading->place = 0;
    return made;
}
