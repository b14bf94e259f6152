/* read_sense.c - does what a results.json says of a row fit what it says elsewhere? Whoever wrote
 * or changed it by hand is told where it contradicts itself; nothing of it is believed then. */
#include "report/json_parts.h"

#include <stdio.h>
#include <string.h>

void check_property(struct results_reading *reading, const struct result_property *property)
{
    const bool is_violated = property->verdict == VERDICT_VIOLATED;
    if (is_violated != (property->count > 0))
        read_bad(reading, "count",
                 is_violated ? "is 0, and the verdict is violated"
                             : "says that there are violations, and the verdict "
                               "is another one");
    if (is_violated != (property->cause != CAUSE_NONE))
        read_bad(reading, "cause",
                 is_violated ? "is null, and the verdict is violated"
                             : "is given, and nothing is violated");
}

static const struct result_property *find(const struct result_row *row, enum property property)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].property == property)
            return &row->properties[i];
    return NULL;
}

static void check_twice(struct results_reading *reading, const struct result_row *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (find(row, row->properties[i].property) != &row->properties[i])
            read_bad(reading, "properties", "has one of them twice");
}

/* The worst of those that apply; of a run that went wrong it is unknown. */
static void check_verdict(struct results_reading *reading, const struct result_row *row)
{
    enum verdict worst = VERDICT_HOLDS;
    for (int i = 0; i < row->properties_count; i++) {
        const enum verdict verdict = row->properties[i].verdict;
        if (verdict != VERDICT_NOT_APPLICABLE && verdict > worst)
            worst = verdict;
    }
    if (row->verdict == VERDICT_NOT_APPLICABLE)
        return;
    if (row->error || row->is_unsupported)
        worst = worst == VERDICT_VIOLATED ? worst : VERDICT_UNKNOWN;
    if (row->verdict != worst)
        read_bad(reading, "verdict", "is not what the properties come to");
}

/* Is it another one than was stated? Where nothing was: is it violated? */
static bool differs(const struct result_property *property)
{
    if (property->expected == EXPECTED_NOTHING)
        return property->verdict == VERDICT_VIOLATED;
    return property->expected != (int)property->verdict;
}

static bool is_decided(const struct result_property *property)
{
    return property->verdict == VERDICT_HOLDS || property->verdict == VERDICT_VIOLATED;
}

static void check_expected(struct results_reading *reading, const struct result_row *row)
{
    bool has_difference = false, has_decided_difference = false;
    for (int i = 0; i < row->properties_count; i++) {
        has_difference |= differs(&row->properties[i]);
        has_decided_difference |= differs(&row->properties[i]) && is_decided(&row->properties[i]);
    }
    if (row->as_expected == AS_EXPECTED_YES && has_decided_difference)
        read_bad(reading, "as_expected", "is true, and a property is not as expected");
    if (row->as_expected == AS_EXPECTED_NO && !has_difference)
        read_bad(reading, "as_expected", "is false, and every property is as expected");
}

static void check_holds(struct results_reading *reading, const struct stress_figures *figures)
{
    const struct series *series = &figures->series;
    char place[PLACE_MAX];
    read_within(reading, "series", place);
    for (int i = 0; i < series->parts_count; i++) {
        const int64_t holders = series->holders[i];
        if (holders > figures->clients)
            read_bad(reading, "holders", "are more than the clients");
        else if (series->held_us[i] > 0 &&
                 (!holders || (series->held_us[i] - 1) / holders >= series->part_us))
            read_bad(reading, "held_us", "is longer than so many holders can have held");
    }
    read_leave(reading, place);
}

/* What was counted is seen by the property that is about it. */
static void check_figures(struct results_reading *reading, const struct result_row *row)
{
    const struct stress_figures *figures = row->stress;
    const struct {
        int64_t count;
        enum property property;
        const char *key;
    } rows[] = {{figures->overruns, PROPERTY_MUTUAL_EXCLUSION, "overruns"},
                {figures->foreign_releases, PROPERTY_RELEASE_OWN, "foreign_releases"},
                {figures->lost_updates, PROPERTY_NO_LOST_UPDATE, "lost_updates"}};
    char words[120], place[PLACE_MAX];
    read_within(reading, "stress", place);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct result_property *property = find(row, rows[i].property);
        if (rows[i].count <= 0 || !property || property->verdict != VERDICT_HOLDS)
            continue;
        (void)snprintf(words, sizeof words, "counts some, and %s holds",
                       property_name(rows[i].property));
        read_bad(reading, rows[i].key, words);
    }
    if (figures->grants > figures->operations)
        read_bad(reading, "grants", "are more than the operations");
    if (figures->faults_in_hold > figures->faults)
        read_bad(reading, "faults_in_hold", "are more than the faults");
    if (figures->injected_wait_us > figures->clients * (row->elapsed_us + 1)) /* rounded */
        read_bad(reading, "injected_wait_us", "is more than all clients had");
    check_holds(reading, figures);
    read_leave(reading, place);
}

void check_row(struct results_reading *reading, const struct result_row *row)
{
    check_twice(reading, row);
    check_verdict(reading, row);
    check_expected(reading, row);
    if (row->stress)
        check_figures(reading, row);
}
