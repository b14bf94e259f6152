/* options.c - see options.h. */
#include "cmd/options.h"

#include "cmd/cmd.h"
#include "cmd/help_text.h"

#include "base/distribution.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row *row_named(const struct option_row *rows, int count,
                                          const char *name, size_t length)
{
    for (int i = 0; i < count; i++)
        if (strlen(rows[i].name) == length && !memcmp(rows[i].name, name, length))
            return &rows[i];
    return NULL;
}

static bool has_option(const struct help_text *text, const char *name, size_t length)
{
    struct help_option option;
    for (size_t i = 0; i < text->count; i++)
        for (const char *at = text->parts[i].term; at && help_option_next(&at, &option);)
            if (strlen(option.name) == length && !memcmp(option.name, name, length))
                return true;
    return false;
}

/* "explore, test": the commands that have that option. To be freed. */
static char *commands_with(const char *name, size_t length)
{
    char *words = memory_text("");
    for (int i = 0; i < cmd_rows_count; i++) {
        struct help_text text = help_text_read(cmd_rows[i].help);
        if (has_option(&text, name, length)) {
            char *more = memory_format("%s%s%s", words, *words ? ", " : "", cmd_rows[i].name);
            free(words);
            words = more;
        }
        help_text_free(&text);
    }
    return words;
}

/* Of names only the letters are compared: dashes, which all have, make none of them nearer. */
static enum fail unknown_option(const struct option_row *rows, int count, const char *given,
                                struct failure *failure)
{
    const char **names = memory_new((size_t)count, sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = rows[i].name + strspn(rows[i].name, "-");
    char suggestion[SUGGEST_BYTES];
    const char *nearest = suggest_nearest(given + strspn(given, "-"), names, (size_t)count);
    for (int i = 0; nearest && i < count; i++)
        if (names[i] == nearest) {
            nearest = rows[i].name;
            break;
        }
    free(names);
    char *others = commands_with(given, strcspn(given, "="));
    if (*others)
        failure_set(failure, FAIL_INPUT, "unknown option '%s' here; it is an option of %s", given,
                    others);
    else
        failure_set(failure, FAIL_INPUT, "unknown option '%s'%s", given,
                    suggest_words(nearest, "; --help lists them", suggestion));
    free(others);
    return FAIL_INPUT;
}

static enum fail in_range(const struct option_row *row, const char *text, int64_t value,
                          struct failure *failure)
{
    char least[UNITS_TEXT_MAX], most[UNITS_TEXT_MAX];
    if ((row->least == 0 && row->most == 0) || (value >= row->least && value <= row->most))
        return FAIL_NONE;
    if (row->kind == KIND_DURATION)
        return failure_set(failure, FAIL_INPUT, "%s wants %s to %s, not '%s'", row->name,
                           units_print_duration(row->least, least),
                           units_print_duration(row->most, most), text);
    return failure_set(failure, FAIL_INPUT, "%s wants %" PRId64 " to %" PRId64 ", not '%s'",
                       row->name, row->least, row->most, text);
}

static enum fail take_number(const struct option_row *row, const char *text,
                             struct failure *failure)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || isspace((unsigned char)*text))
        return failure_set(failure, FAIL_INPUT, "%s wants a whole number, not '%s'", row->name,
                           text);
    *row->to.number = value;
    return in_range(row, text, value, failure);
}

static enum fail take_rate(const struct option_row *row, const char *text, struct failure *failure)
{
    if (!units_read_rate(text, row->to.rate))
        return failure_set(failure, FAIL_INPUT,
                           "%s wants a rate from 0%% to 100%%, such as 5%% or 0.0001%%, not '%s'",
                           row->name, text);
    return FAIL_NONE;
}

static enum fail take_value(const struct option_row *row, const char *text, struct failure *failure)
{
    switch (row->kind) {
    case KIND_FLAG:
        *row->to.flag = 1;
        return FAIL_NONE;
    case KIND_TEXT:
        *row->to.text = text;
        return FAIL_NONE;
    case KIND_NUMBER:
        return take_number(row, text, failure);
    case KIND_RATE:
        return take_rate(row, text, failure);
    case KIND_LENGTHS:
        if (distribution_read(text, row->most, row->to.lengths, failure))
            return failure_wrap(failure, "%s", row->name);
        return FAIL_NONE;
    case KIND_DURATION:
        if (strcmp(text, "0") == 0 && row->least == 0) { /* the same in any unit */
            *row->to.number = 0;
            return FAIL_NONE;
        }
        if (units_read_duration(text, row->to.number, failure))
            return failure_wrap(failure, "%s", row->name);
        return in_range(row, text, *row->to.number, failure);
    }
    return FAIL_INTERNAL;
}

/* given: of each row the value so far, or NULL. One that is judged by a part of what was said would
 * be judged wrongly: only the same value may be given again. */
static enum fail take_option(char **argv, int left, const struct option_row *rows, int count,
                             const char **given, int *taken, struct failure *failure)
{
    const char *word = argv[0], *equals = strchr(word, '=');
    const struct option_row *row =
        row_named(rows, count, word, equals ? (size_t)(equals - word) : strlen(word));
    if (!row)
        return unknown_option(rows, count, word, failure);
    if (row->kind == KIND_FLAG && equals)
        return failure_set(failure, FAIL_INPUT, "%s takes no value", row->name);
    if (row->kind != KIND_FLAG && !equals && left == 1)
        return failure_set(failure, FAIL_INPUT, "%s wants a value", row->name);
    const bool is_next = row->kind != KIND_FLAG && !equals;
    const char *value = equals ? equals + 1 : is_next ? argv[1] : "", **before = &given[row - rows];
    *taken = 1 + is_next;
    if (*before && strcmp(*before, value))
        return failure_set(failure, FAIL_INPUT, "%s is given twice: '%s' and '%s'", row->name,
                           *before, value);
    *before = value;
    return take_value(row, value, failure);
}

enum fail options_parse(int argc, char **argv, const struct option_row *rows, int count,
                        int *operands, struct failure *failure)
{
    const char **given = memory_new((size_t)count, sizeof *given);
    enum fail fail = FAIL_NONE;
    int kept = 0;
    bool only_operands = false;
    for (int i = 1, taken = 1; !fail && i < argc; i += taken) {
        taken = 1;
        if (only_operands || argv[i][0] != '-' || !argv[i][1])
            argv[1 + kept++] = argv[i];
        else if (!strcmp(argv[i], "--"))
            only_operands = true;
        else
            fail = take_option(argv + i, argc - i, rows, count, given, &taken, failure);
    }
    free(given);
    *operands = kept;
    return fail;
}
