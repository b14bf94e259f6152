/* baseline_file.c - see baseline_file.h. */
#include "run/baseline_file.h"

#include "base/infile.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/text_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BASELINE_BYTES_MAX = 16 << 20, FIELDS = 5 };

static const char *const kinds[] = {
    [KIND_RUN] = "run", [KIND_STRESS] = "stress", [KIND_CELL] = "cell"};

/* --- a line --- */

/* Words may stand behind it; a number that only begins like ours is another version's. */
static bool is_head(const char *line)
{
    static const char head[] = "# " BASELINE_HEAD;
    return !strncmp(line, head, sizeof head - 1) && strchr(": \t", line[sizeof head - 1]);
}

/* A blank would end the field, a number sign begin a comment, a backslash be an escape. */
static char *field(const char *text)
{
    char *made = memory_new(4 * strlen(text) + 2, 1), *to = made;
    if (!*text)
        *to++ = '-';
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte <= ' ' || byte == 0x7F || strchr("#\\", byte))
            to += sprintf(to, "\\x%02X", byte);
        else
            *to++ = (char)byte;
    }
    return made;
}

char *baseline_line(const struct result_row *row, const struct result_property *property,
                    enum cause cause)
{
    char *lock = field(result_lock(row)), *subject = field(row->subject);
    char *line = memory_format("%s %s %s %s %s", kinds[result_kind(row)], lock, subject,
                               property_name(property->property),
                               cause == CAUSE_NONE ? "-" : cause_name(cause));
    free(lock);
    free(subject);
    return line;
}

/* --- the file --- */

static enum fail bad(const struct baseline *baseline, int line, long column,
                     struct failure *failure, const char *wanted, const char *word)
{
    return failure_set(failure, FAIL_INPUT, "%s:%d:%ld: wants %s, not '%.60s'", baseline->path,
                       line, column, wanted, word);
}

static int hex(char digit)
{
    const char *digits = "0123456789ABCDEF", *at = digit ? strchr(digits, digit) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* What field() made, undone in place; "-" alone is an empty one. */
static void unfield(char *text)
{
    char *to = text;
    if (!strcmp(text, "-"))
        *text = '\0';
    for (const char *at = text; *at; to++) {
        bool is_escape = at[0] == '\\' && at[1] == 'x' && hex(at[2]) >= 0 && hex(at[3]) >= 0;
        *to = is_escape ? (char)(16 * hex(at[2]) + hex(at[3])) : *at;
        at += is_escape ? 4 : 1;
    }
    *to = '\0';
}

static void drop(struct known *known)
{
    free(known->line);
    free(known->above);
    free(known->behind);
    free(known->lock);
    free(known->subject);
}

/* words: the fields of text, cut out of a copy of it. */
static enum fail read_fields(struct baseline *baseline, int number, char *const words[FIELDS],
                             const char *start, struct known *known, struct failure *failure)
{
    int kind = NAMES_FIND(kinds, words[0]);
    if (kind < 0)
        return bad(baseline, number, words[0] - start + 1, failure, "run, stress or cell",
                   words[0]);
    known->kind = (enum result_kind)kind;
    if (!property_read(words[3], &known->property))
        return bad(baseline, number, words[3] - start + 1, failure,
                   "a property (`picklock list properties`)", words[3]);
    if (strcmp(words[4], "-") != 0 && !cause_read(words[4], &known->cause))
        return bad(baseline, number, words[4] - start + 1, failure,
                   "a cause (`picklock list causes`)", words[4]);
    unfield(words[1]);
    unfield(words[2]);
    known->lock = memory_text(words[1]);
    known->subject = memory_text(words[2]);
    return FAIL_NONE;
}

static enum fail read_line(struct baseline *baseline, int number, const char *text,
                           struct failure *failure)
{
    char *copy = memory_text(text), *rest = copy, *words[FIELDS + 1] = {0};
    struct known known = {0};
    int count = 0;
    enum fail fail = FAIL_NONE;
    for (char *word; count <= FIELDS && (word = strsep(&rest, " \t"));)
        if (*word)
            words[count++] = word;
    if (count != FIELDS)
        fail = failure_set(failure, FAIL_INPUT,
                           "%s:%d:1: wants five words: run, stress or cell, the lock, the scenario "
                           "or faults, the property, the cause; has %s%d",
                           baseline->path, number, count > FIELDS ? "more than " : "",
                           count > FIELDS ? FIELDS : count);
    else
        fail = read_fields(baseline, number, words, copy, &known, failure);
    free(copy);
    if (fail) {
        drop(&known);
        return fail;
    }
    known.line = memory_text(text);
    baseline->rows =
        memory_resize(baseline->rows, (size_t)baseline->count + 1, sizeof *baseline->rows);
    baseline->rows[baseline->count++] = known;
    return FAIL_NONE;
}

/* What stands there for a reader is kept, with the line that it is about: behind it, or above. */
static void keep_comment(struct baseline *baseline, int number, const char *comment)
{
    if (number == 1 || (number == 2 && strcmp(comment, BASELINE_SECOND) == 0))
        return;
    char *above = baseline->above;
    baseline->above = memory_format("%s%s\n", above ? above : "", comment);
    free(above);
}

static enum fail read_commented(struct baseline *baseline, int number, char *line,
                                struct failure *failure)
{
    char *at = strchr(line, '#'), *comment = at ? memory_text(at) : NULL;
    enum fail fail = FAIL_NONE;
    if (at)
        *at = '\0';
    for (size_t end = strlen(line); end > 0 && strchr(" \t", line[end - 1]); end--)
        line[end - 1] = '\0';
    if (*line && !(fail = read_line(baseline, number, line, failure))) {
        struct known *known = &baseline->rows[baseline->count - 1];
        known->above = baseline->above;
        known->behind = comment;
        baseline->above = comment = NULL;
    } else if (!fail && comment) {
        keep_comment(baseline, number, comment);
    }
    free(comment);
    return fail;
}

static enum fail read_lines(struct baseline *baseline, char *bytes, size_t size,
                            struct failure *failure)
{
    char *rest = bytes;
    int number = 0;
    const struct text_place zero = text_place_of(bytes, bytes + strlen(bytes));
    if (strlen(bytes) != size)
        return failure_set(failure, FAIL_INPUT, "%s:%d:%d: a zero byte: this is no text file",
                           baseline->path, zero.line, zero.column);
    for (char *line; (line = strsep(&rest, "\n"));) {
        line[strcspn(line, "\r")] = '\0';
        if (number++ == 0 && !is_head(line))
            return failure_set(failure, FAIL_INPUT,
                               "%s:1:1: wants '# " BASELINE_HEAD
                               "', which --update-baseline writes",
                               baseline->path);
        const enum fail fail = read_commented(baseline, number, line, failure);
        if (fail)
            return fail;
    }
    return FAIL_NONE;
}

enum fail baseline_read(const char *path, bool is_new, struct baseline **baseline,
                        struct failure *failure)
{
    char *bytes = NULL;
    size_t size;
    *baseline = memory_new(1, sizeof **baseline);
    (*baseline)->path = path;
    if (is_new && access(path, F_OK) != 0)
        return FAIL_NONE;
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        baseline_free(*baseline);
        *baseline = NULL;
        return failure_set(failure, FAIL_INPUT,
                           "%s: there is no such file; --update-baseline writes one, with what is "
                           "found now",
                           path);
    }
    enum fail fail = infile_read(path, BASELINE_BYTES_MAX, &bytes, &size, failure);
    if (!fail)
        fail = read_lines(*baseline, bytes, size, failure);
    free(bytes);
    if (fail) {
        baseline_free(*baseline);
        *baseline = NULL;
    }
    return fail;
}

void baseline_free(struct baseline *baseline)
{
    if (!baseline)
        return;
    for (int i = 0; i < baseline->count; i++)
        drop(&baseline->rows[i]);
    free(baseline->rows);
    free(baseline->above);
    free(baseline);
}
