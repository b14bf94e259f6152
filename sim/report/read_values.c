/* read_values.c - the values of a results.json, each of the kind that it must be; what is wrong is
 * told with its place. */
#include "report/json_parts.h"

#include "base/json_place.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/suggest.h"
#include "base/text_place.h"

#include <math.h>
#include <string.h>

enum { SECONDS_MAX = 1000000000 };

void read_bad(struct results_reading *reading, const char *key, const char *words)
{
    const char *dot = *reading->place && *key ? "." : "";
    const char *colon = *reading->place || *key ? ": " : ""; /* of the whole: it has no name */
    if (reading->fail)
        return;
    const char *at =
        json_place_find(reading->bytes, reading->size, reading->place, *key ? key : NULL);
    const struct text_place place = text_place_of(reading->bytes, at);
    reading->fail = failure_set(reading->failure, FAIL_INPUT, "%s:%d:%d: %s%s%s%s%s", reading->path,
                                place.line, place.column, reading->place, dot, key, colon, words);
}

json_t *read_member(struct results_reading *reading, json_t *object, const char *key)
{
    json_t *found = json_object_get(object, key);
    if (!found)
        read_bad(reading, key, "is missing");
    return found;
}

int64_t read_number(struct results_reading *reading, json_t *object, const char *key)
{
    json_t *found = read_member(reading, object, key);
    if (found && (!json_is_integer(found) || json_integer_value(found) < 0))
        read_bad(reading, key, "wants a whole number, 0 or more");
    return json_integer_value(found);
}

int64_t read_seconds_us(struct results_reading *reading, json_t *object, const char *key)
{
    json_t *found = read_member(reading, object, key);
    double value = json_number_value(found);
    if (found && !(json_is_number(found) && value >= 0 && value < SECONDS_MAX)) {
        read_bad(reading, key, "wants a number of seconds");
        return 0;
    }
    return llround(value * 1e6);
}

bool read_truth(struct results_reading *reading, json_t *object, const char *key)
{
    json_t *found = read_member(reading, object, key);
    if (found && !json_is_boolean(found))
        read_bad(reading, key, "wants true or false");
    return json_is_true(found);
}

char *read_text_or_null(struct results_reading *reading, json_t *object, const char *key)
{
    json_t *found = read_member(reading, object, key);
    if (found && !json_is_string(found) && !json_is_null(found))
        read_bad(reading, key, "wants a text or null");
    return json_is_string(found) ? memory_text(json_string_value(found)) : NULL;
}

void read_short_text(struct results_reading *reading, json_t *object, const char *key, char *text,
                     size_t size)
{
    json_t *found = read_member(reading, object, key);
    if (found && !json_is_string(found))
        read_bad(reading, key, "wants a text");
    else if (json_string_length(found) >= size)
        read_bad(reading, key, "is too long");
    else if (found)
        memcpy(text, json_string_value(found), json_string_length(found) + 1);
}

void read_only_keys(struct results_reading *reading, json_t *object, const char *const *known,
                    size_t count)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object)) {
        read_bad(reading, "", "wants an object");
        return;
    }
    json_object_foreach(object, key, value)
    {
        if (names_row(known, sizeof *known, count, key) >= 0)
            continue;
        char words[SUGGEST_BYTES + 20], suggestion[SUGGEST_BYTES];
        (void)snprintf(words, sizeof words, "is unknown here%s",
                       suggest_words(suggest_nearest(key, known, count), "", suggestion));
        read_bad(reading, key, words);
    }
}

enum verdict read_verdict(struct results_reading *reading, json_t *object, const char *key)
{
    enum verdict verdict = VERDICT_UNKNOWN;
    const char *name = json_string_value(read_member(reading, object, key));
    if (!name || !verdict_read(name, &verdict))
        read_bad(reading, key, "wants holds, unknown, violated or not_applicable");
    return verdict;
}

char **read_texts(struct results_reading *reading, json_t *object, const char *key, int *count)
{
    json_t *list = read_member(reading, object, key), *line;
    char **texts = memory_new(json_array_size(list), sizeof *texts);
    size_t i;
    if (list && !json_is_array(list))
        read_bad(reading, key, "wants a list of sentences");
    *count = 0;
    json_array_foreach(list, i, line)
    {
        if (!json_is_string(line))
            read_bad(reading, key, "wants a list of sentences");
        texts[(*count)++] = memory_text(json_is_string(line) ? json_string_value(line) : "");
    }
    return texts;
}

enum property read_property_name(struct results_reading *reading, json_t *object)
{
    enum property property = PROPERTY_MUTUAL_EXCLUSION;
    const char *name = json_string_value(read_member(reading, object, "property"));
    if (!name || !property_read(name, &property))
        read_bad(reading, "property", "wants the name of a property");
    return property;
}

enum cause read_cause(struct results_reading *reading, json_t *object)
{
    enum cause cause = CAUSE_NONE;
    json_t *found = read_member(reading, object, "cause");
    if (!json_is_null(found) &&
        (!json_is_string(found) || !cause_read(json_string_value(found), &cause)))
        read_bad(reading, "cause", "wants the name of a cause or null");
    return cause;
}

enum fail_on read_fail_on(struct results_reading *reading, json_t *object)
{
    enum fail_on fail_on = FAIL_ON_UNSAID;
    json_t *found = json_object_get(object, "fail_on");
    if (found && (!json_is_string(found) || fail_on_read(json_string_value(found), &fail_on, NULL)))
        read_bad(reading, "fail_on", "wants scheme, deployment, bug, any or never");
    return fail_on;
}

int read_origin(struct results_reading *reading, json_t *object, const struct results *results)
{
    if (!json_object_get(object, "origin"))
        return 0;
    int64_t origin = read_number(reading, object, "origin");
    if (origin < results->origins_count)
        return (int)origin;
    read_bad(reading, "origin", "wants the place of one of the origins");
    return 0;
}

char *read_optional_text(struct results_reading *reading, json_t *object, const char *key)
{
    return json_object_get(object, key) ? read_text_or_null(reading, object, key) : NULL;
}

char *read_folder(struct results_reading *reading, json_t *object)
{
    return read_optional_text(reading, object, "folder");
}

void read_within(struct results_reading *reading, const char *key, char *place)
{
    memcpy(place, reading->place, PLACE_MAX);
    snprintf(reading->place, sizeof reading->place, "%.100s%s%.50s", place, *place ? "." : "", key);
}

json_t *read_enter(struct results_reading *reading, json_t *object, const char *key, char *place)
{
    json_t *found = read_member(reading, object, key);
    memcpy(place, reading->place, PLACE_MAX);
    if (reading->version > 1) /* version 1 had it all in the row itself */
        read_within(reading, key, place);
    return found;
}

void read_leave(struct results_reading *reading, const char *place)
{
    memcpy(reading->place, place, PLACE_MAX);
}

int64_t read_number_or(struct results_reading *reading, json_t *object, const char *key,
                       int64_t other)
{
    return json_is_null(read_member(reading, object, key)) ? other
                                                           : read_number(reading, object, key);
}

bool read_truth_or_null(struct results_reading *reading, json_t *object, const char *key,
                        bool *is_null)
{
    *is_null = json_is_null(read_member(reading, object, key));
    return !*is_null && read_truth(reading, object, key);
}
