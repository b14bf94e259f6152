/* units.h - durations: int64_t microseconds inside, "250ms" outside; and nouns behind a number. */
#ifndef PICKLOCK_BASE_UNITS_H
#define PICKLOCK_BASE_UNITS_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNITS_TEXT_MAX = 64 };

#define HOUR_US INT64_C(3600000000)
#define DAY_US  (24 * HOUR_US)

/* Reads "250ms", "1.5s", "10us", "2m", "1h"; a sign is allowed. FAIL_INPUT with what was expected
 * (no unit, unknown unit, not a number, parts of a microsecond, out of range +-100 h). Needs the
 * whole of text (borrowed).
 */
enum fail units_read_duration(const char *text, int64_t *us, struct failure *failure);

/* Reads "5%", "0.0001%" as parts per million; nothing finer, nothing above 100%. */
bool units_read_rate(const char *text, uint32_t *ppm);

/* Prints the shortest exact form that reads back: "250ms", "1.5s", "10us". text: UNITS_TEXT_MAX
 * bytes. */
const char *units_print_duration(int64_t us, char *text);

/* Prints for sentences, milliseconds with one digit: "312.4 ms". text: UNITS_TEXT_MAX bytes. */
const char *units_print_ms(int64_t us, char *text);

/* Prints for tables and plots, three digits: "14 us", "1.23 ms", "262 ms", "7.6 s". us: not
 * negative. text: UNITS_TEXT_MAX bytes. */
const char *units_print_rounded(int64_t us, char *text);

/* What a noun behind that number ends in: "" or "s". */
const char *units_plural(int64_t count);

#endif
