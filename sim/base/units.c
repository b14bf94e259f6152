/* units.c - see units.h. Integers only: no float decides anything. */
#include "base/units.h"

#include "base/names.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct time_unit {
    const char *name;
    int64_t us;
} units[] = {{"us", 1},       {"ms", 1000},      {"s", 1000000},
             {"m", 60000000}, {"min", 60000000}, {"h", HOUR_US}};
enum { UNITS_COUNT = sizeof units / sizeof units[0] };

static const int64_t duration_max_us = 100 * HOUR_US;

static const struct time_unit *unit_named(const char *name)
{
    int row = NAMES_FIND_ROW(units, name);
    return row < 0 ? NULL : &units[row];
}

enum fail units_read_duration(const char *text, int64_t *us, struct failure *failure)
{
    const char *at = text;
    bool minus = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    if (!isdigit((unsigned char)*at))
        return failure_set(failure, FAIL_INPUT, "'%.40s' is not a duration such as 250ms or 10s",
                           text);
    int64_t whole = 0, part = 0, part_of = 1;
    bool is_cut = false;
    for (; isdigit((unsigned char)*at); at++)
        if (whole <= duration_max_us)
            whole = whole * 10 + (*at - '0');
    if (*at == '.' && isdigit((unsigned char)at[1]))
        for (at++; isdigit((unsigned char)*at); at++) {
            if (part_of < 1000000) {
                part = part * 10 + (*at - '0');
                part_of *= 10;
            } else {
                is_cut |= *at != '0';
            }
        }
    const struct time_unit *unit = unit_named(at);
    if (!unit)
        return failure_set(failure, FAIL_INPUT,
                           "'%.40s' has %s%.20s%s; a duration ends in us, ms, s, min or h", text,
                           *at ? "the unknown unit '" : "no unit", at, *at ? "'" : "");
    if (whole > duration_max_us / unit->us)
        return failure_set(failure, FAIL_INPUT, "'%.40s' is longer than 100h", text);
    if (is_cut || part * unit->us % part_of)
        return failure_set(failure, FAIL_INPUT,
                           "'%.40s' is too fine: whole microseconds, six digits behind the point",
                           text);
    *us = whole * unit->us + part * unit->us / part_of;
    if (*us > duration_max_us)
        return failure_set(failure, FAIL_INPUT, "'%.40s' is longer than 100h", text);
    if (minus)
        *us = -*us;
    return FAIL_NONE;
}

bool units_read_rate(const char *text, uint32_t *ppm)
{
    uint32_t whole = 0, scale = 10000;
    if (!isdigit((unsigned char)*text))
        return false;
    for (; isdigit((unsigned char)*text) && whole <= 100; text++)
        whole = whole * 10 + (uint32_t)(*text - '0');
    *ppm = whole * scale;
    if (*text == '.' && isdigit((unsigned char)text[1]))
        for (text++; isdigit((unsigned char)*text) && scale > 1; text++) {
            scale /= 10;
            *ppm += (uint32_t)(*text - '0') * scale;
        }
    return !strcmp(text, "%") && *ppm <= 1000000;
}

const char *units_print_duration(int64_t us, char *text)
{
    uint64_t left = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    int unit = left >= 1000000 ? 2 : left >= 1000 ? 1 : 0, digits = unit * 3;
    uint64_t whole = left / (uint64_t)units[unit].us;
    unsigned part = (unsigned)(left % (uint64_t)units[unit].us);
    char six[16]; /* the part in millionths */
    snprintf(six, sizeof six, "%06u", part);
    const char *shown = six + 6 - digits;
    while (digits > 0 && shown[digits - 1] == '0')
        digits--;
    snprintf(text, UNITS_TEXT_MAX, "%s%" PRIu64 "%s%.*s%s", us < 0 ? "-" : "", whole,
             digits > 0 ? "." : "", digits, shown, units[unit].name);
    return text;
}

const char *units_print_ms(int64_t us, char *text)
{
    int64_t tenths = us / 100, size = tenths < 0 ? -tenths : tenths;
    snprintf(text, UNITS_TEXT_MAX, "%s%" PRId64 ".%" PRId64 " ms", tenths < 0 ? "-" : "", size / 10,
             size % 10);
    return text;
}

const char *units_print_rounded(int64_t us, char *text)
{
    assert(us >= 0);
    if (us < 1000)
        snprintf(text, UNITS_TEXT_MAX, "%" PRId64 " us", us);
    else if (us < 999500) /* no 1000 ms */
        snprintf(text, UNITS_TEXT_MAX, "%.3g ms", (double)us / 1e3);
    else if (us < INT64_C(999500000))
        snprintf(text, UNITS_TEXT_MAX, "%.3g s", (double)us / 1e6);
    else
        snprintf(text, UNITS_TEXT_MAX, "%" PRId64 " s", us / 1000000);
    return text;
}

const char *units_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}
