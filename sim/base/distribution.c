/* distribution.c - see distribution.h. */
#include "base/distribution.h"

#include "base/units.h"

#include <string.h>

static const char exponential[] = "exponential:";

static enum fail read_bound(const char *text, size_t length, int64_t most_us, int64_t *us,
                            struct failure *failure)
{
    char part[UNITS_TEXT_MAX], most[UNITS_TEXT_MAX];
    if (length >= sizeof part)
        return failure_set(failure, FAIL_INPUT, "'%s' is no duration", text);
    memcpy(part, text, length);
    part[length] = '\0';
    if (units_read_duration(part, us, failure))
        return failure->code;
    if (*us < 0 || *us > most_us)
        return failure_set(failure, FAIL_INPUT, "wants 0us to %s, not '%s'",
                           units_print_duration(most_us, most), part);
    return FAIL_NONE;
}

enum fail distribution_read(const char *text, int64_t most_us, struct distribution *made,
                            struct failure *failure)
{
    const char *dots = strstr(text, "..");
    *made = (struct distribution){.kind = DISTRIBUTION_CONSTANT};
    if (!strncmp(text, exponential, sizeof exponential - 1)) {
        made->kind = DISTRIBUTION_EXPONENTIAL;
        text += sizeof exponential - 1;
        return read_bound(text, strlen(text), most_us, &made->from_us, failure);
    }
    if (!dots)
        return read_bound(text, strlen(text), most_us, &made->from_us, failure);
    made->kind = DISTRIBUTION_UNIFORM;
    if (read_bound(text, (size_t)(dots - text), most_us, &made->from_us, failure) ||
        read_bound(dots + 2, strlen(dots + 2), most_us, &made->to_us, failure))
        return failure->code;
    if (made->to_us < made->from_us)
        return failure_set(failure, FAIL_INPUT, "'%s' ends before it begins", text);
    return FAIL_NONE;
}

/* log2 of a number of 1 or more, in parts of 65536: its fraction bit by bit, by squaring. */
static uint64_t log2_of(uint64_t number)
{
    const int whole = 63 - __builtin_clzll(number);
    /* 1 .. 2, in parts of 2^31 */
    uint64_t rest = whole > 31 ? number >> (whole - 31) : number << (31 - whole);
    uint64_t made = (uint64_t)whole;
    for (int i = 0; i < 16; i++) {
        rest = rest * rest >> 31;
        made = made << 1 | rest >> 32;
        rest >>= rest >> 32;
    }
    return made;
}

/* -ln(drawn / 2^64) means. */
static int64_t exponential_at(int64_t mean_us, uint64_t drawn)
{
    const uint64_t ln2 = 45426; /* in parts of 65536 */
    const uint64_t halvings = (64 << 16) - log2_of(drawn | 1);
    const uint64_t means = halvings * ln2 >> 16;
    return (int64_t)((uint64_t)mean_us * means >> 16);
}

int64_t distribution_at(const struct distribution *distribution, uint64_t drawn)
{
    const int64_t from_us = distribution->from_us;
    switch (distribution->kind) {
    case DISTRIBUTION_CONSTANT:
        return from_us;
    case DISTRIBUTION_UNIFORM:
        return from_us + (int64_t)(drawn % (uint64_t)(distribution->to_us - from_us + 1));
    case DISTRIBUTION_EXPONENTIAL:
        return exponential_at(from_us, drawn);
    }
    return 0;
}
