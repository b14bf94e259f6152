/* baseline.c - see baseline.h. */
#include "run/baseline.h"

#include "base/infile.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BASELINE_HEAD "picklock-baseline 1"

enum { BASELINE_BYTES_MAX = 16 << 20, FIELDS = 5 };

static const char *const kinds[] = {
    [KIND_RUN] = "run", [KIND_STRESS] = "stress", [KIND_CELL] = "cell"};

struct known {
    char *line; /* as it stands in the file */
    char *lock, *subject;
    enum result_kind kind;
    enum property property;
    enum cause cause;
};

struct baseline {
    const char *path;
    struct known *rows;
    int count;
};

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

static char *line_of(const struct result_row *row, const struct result_property *property,
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

/* --- what of a row is a failure --- */

static unsigned causes_of(const struct result_property *property)
{
    return property->causes ? property->causes : 1u << property->cause;
}

/* The causes (bit enum cause) for which the property makes the row fail. */
static unsigned failing_causes(const struct result_row *row, const struct result_property *property)
{
    unsigned causes = causes_of(property), failing = 0;
    if (property->verdict != VERDICT_VIOLATED || row->as_expected != AS_EXPECTED_NO)
        return 0;
    if (row->search)
        return property->is_failure ? causes : 0;
    if (row->fail_on == FAIL_ON_UNSAID)
        return property->expected == VERDICT_VIOLATED ? 0 : causes;
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        if (causes >> cause & 1 &&
            fail_on_counts(row->fail_on, 1u << cause_blame((enum cause)cause)))
            failing |= 1u << cause;
    return failing;
}

/* A violation that a scenario states, and that is not there: no finding, and nothing to accept. */
static bool is_missed(const struct result_property *property)
{
    return property->expected == VERDICT_VIOLATED && property->verdict == VERDICT_HOLDS;
}

static bool is_of_row(const struct known *known, const struct result_row *row)
{
    return known->kind == result_kind(row) && !strcmp(known->subject, row->subject) &&
           !strcmp(known->lock, result_lock(row));
}

/* Which properties show a cause is chance where clients race in real time: known for one, it is
 * known for all. What has no cause is known by its property. */
static bool is_same(const struct known *known, const struct result_row *row,
                    const struct result_property *property, int cause)
{
    return is_of_row(known, row) && (int)known->cause == cause &&
           (known->property == property->property || (row->stress && cause != CAUSE_NONE));
}

static bool has(const struct baseline *baseline, const struct result_row *row,
                const struct result_property *property, int cause)
{
    for (int i = 0; i < baseline->count; i++)
        if (is_same(&baseline->rows[i], row, property, cause))
            return true;
    return false;
}

/* A sample (stress, a program that runs by itself) says nothing by not finding a violation. */
static bool is_sample(const struct result_row *row)
{
    return row->stress || row->is_inferred;
}

/* Was the known finding judged again by a row that could have shown it, and is gone? A sample, a
 * random search or one that was cut says nothing by not finding it; and a cell tells one cause of
 * each property. */
static bool is_gone_from(const struct known *known, const struct result_row *row)
{
    if (!is_of_row(known, row) || is_sample(row) || row->error || row->not_applicable ||
        (row->search && (!row->search->is_complete || search_is_random(row->search))))
        return false;
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        if (property->property != known->property)
            continue;
        return property->verdict == VERDICT_HOLDS ||
               (property->verdict == VERDICT_VIOLATED && !row->search &&
                !(failing_causes(row, property) >> known->cause & 1));
    }
    return false;
}

static bool is_found_in(const struct known *known, const struct result_row *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (is_same(known, row, &row->properties[i], (int)known->cause) &&
            failing_causes(row, &row->properties[i]) >> known->cause & 1)
            return true;
    return false;
}

static bool is_gone(const struct known *known, const struct results *results)
{
    bool is_gone = false;
    for (int i = 0; i < results->rows_count; i++) {
        if (is_found_in(known, &results->rows[i]))
            return false;
        is_gone |= is_gone_from(known, &results->rows[i]);
    }
    return is_gone;
}

/* By a sample that was judged, and did not come upon it. */
static bool is_unseen(const struct known *known, const struct results *results)
{
    bool is_unseen = false;
    for (int i = 0; i < results->rows_count; i++) {
        const struct result_row *row = &results->rows[i];
        if (is_found_in(known, row))
            return false;
        is_unseen |= is_of_row(known, row) && is_sample(row) && !row->error && !row->not_applicable;
    }
    return is_unseen;
}

/* --- applying --- */

/* What is found in the rows: how many, and the words of the new ones ("a; b"). */
struct tally {
    int known, fresh;
    char *words; /* NULL: none */
};

/* Takes list, which is NULL before the first. */
static char *listed(char *list, const char *word)
{
    char *longer = memory_format("%s%s%s", list ? list : "", list ? "; " : "", word);
    free(list);
    return longer;
}

static void count_row(const struct baseline *baseline, struct result_row *row, struct tally *all)
{
    struct tally tally = {.words = all->words};
    for (int i = 0; i < row->properties_count; i++) {
        struct result_property *property = &row->properties[i];
        unsigned failing = failing_causes(row, property);
        property->known = 0;
        tally.fresh += row->as_expected == AS_EXPECTED_NO && is_missed(property);
        for (int cause = 0; cause < CAUSE_COUNT; cause++) {
            if (!(failing >> cause & 1))
                continue;
            bool is_known = has(baseline, row, property, cause);
            tally.known += is_known;
            tally.fresh += !is_known;
            property->known |= is_known ? 1u << cause : 0;
            if (is_known)
                continue;
            char *line = line_of(row, property, (enum cause)cause);
            tally.words = listed(tally.words, line);
            free(line);
        }
    }
    row->is_known = tally.known > 0 && tally.fresh == 0;
    *all = (struct tally){
        .known = all->known + tally.known, .fresh = all->fresh + tally.fresh, .words = tally.words};
}

/* Takes words; NULL: there is nothing to say. */
static void note(struct results *results, const char *head, char *words)
{
    if (words)
        results_note(results, memory_format("%s: %s.", head, words));
    free(words);
}

void baseline_apply(const struct baseline *baseline, struct results *results)
{
    struct tally tally = {0};
    char *gone = NULL, *unseen = NULL;
    for (int i = 0; i < results->rows_count; i++)
        count_row(baseline, &results->rows[i], &tally);
    for (int i = 0; i < baseline->count; i++)
        if (is_gone(&baseline->rows[i], results))
            gone = listed(gone, baseline->rows[i].line);
        else if (is_unseen(&baseline->rows[i], results))
            unseen = listed(unseen, baseline->rows[i].line);
    if (tally.known)
        results_note(results,
                     memory_format("%d violation%s known, and accepted by %s.", tally.known,
                                   tally.known == 1 ? " is" : "s are", baseline->path));
    note(results, "New", tally.words);
    note(results, "Fixed, and to be taken out with --update-baseline", gone);
    note(results, "Known, and not seen this time, which proves nothing of a sample", unseen);
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

static enum fail read_lines(struct baseline *baseline, char *bytes, size_t size,
                            struct failure *failure)
{
    char *rest = bytes;
    int number = 0;
    if (strlen(bytes) != size)
        return failure_set(failure, FAIL_INPUT, "%s: is no text: it has a zero byte at %zu",
                           baseline->path, strlen(bytes));
    for (char *line; (line = strsep(&rest, "\n"));) {
        line[strcspn(line, "\r")] = '\0';
        if (number++ == 0 && !is_head(line))
            return failure_set(failure, FAIL_INPUT,
                               "%s:1:1: wants '# " BASELINE_HEAD
                               "', which --update-baseline writes",
                               baseline->path);
        char *comment = strchr(line, '#');
        if (comment)
            *comment = '\0';
        for (size_t end = strlen(line); end > 0 && strchr(" \t", line[end - 1]); end--)
            line[end - 1] = '\0';
        if (line[strspn(line, " \t")] && read_line(baseline, number, line, failure))
            return FAIL_INPUT;
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
    free(baseline);
}

/* --- writing --- */

struct baseline_lines {
    char **texts;
    size_t count;
};

static void add_line(struct baseline_lines *lines, char *text)
{
    lines->texts = memory_resize(lines->texts, lines->count + 1, sizeof *lines->texts);
    lines->texts[lines->count++] = text;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct baseline_lines all_lines(const struct baseline *baseline,
                                       const struct results *results)
{
    struct baseline_lines lines = {0};
    for (int i = 0; i < baseline->count; i++)
        if (!is_gone(&baseline->rows[i], results))
            add_line(&lines, memory_text(baseline->rows[i].line));
    for (int i = 0; i < results->rows_count; i++) {
        const struct result_row *row = &results->rows[i];
        for (int k = 0; k < row->properties_count; k++) {
            unsigned failing = failing_causes(row, &row->properties[k]);
            for (int cause = 0; cause < CAUSE_COUNT; cause++)
                if (failing >> cause & 1 && !has(baseline, row, &row->properties[k], cause))
                    add_line(&lines, line_of(row, &row->properties[k], (enum cause)cause));
        }
    }
    if (lines.count)
        qsort(lines.texts, lines.count, sizeof *lines.texts, compare_lines);
    return lines;
}

/* Holds the folder of the file: the file itself is replaced. Where a file system has no such locks
 * two writers meet only between reading and writing, which is short. -1: there is nothing to hold.
 */
static int hold_folder(const char *path)
{
    char *real = realpath(path, NULL), *name = real ? real : memory_text(path);
    char *slash = strrchr(name, '/');
    if (slash)
        slash[slash == name] = '\0';
    const int folder = open(slash ? name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0 && flock(folder, LOCK_EX) != 0 && errno == EINTR)
        ;
    free(name);
    return folder;
}

static enum fail write_lines(const struct baseline *baseline, const struct results *results,
                             struct failure *failure)
{
    struct outfile file;
    if (outfile_open(&file, baseline->path, failure))
        return failure->code;
    struct baseline_lines lines = all_lines(baseline, results);
    fprintf(file.stream,
            "# " BASELINE_HEAD ": violations that are known, a line each: what was done, the lock, "
            "the scenario or faults,\n# the property, the cause. --update-baseline writes it.\n");
    for (size_t i = 0; i < lines.count; i++) {
        if (i == 0 || strcmp(lines.texts[i], lines.texts[i - 1]) != 0)
            fprintf(file.stream, "%s\n", lines.texts[i]);
    }
    for (size_t i = 0; i < lines.count; i++)
        free(lines.texts[i]);
    free(lines.texts);
    return outfile_shut(&file, failure);
}

enum fail baseline_update(const char *path, const struct results *results, struct failure *failure)
{
    struct baseline *now = NULL;
    const int held = hold_folder(path);
    enum fail fail = baseline_read(path, true, &now, failure);
    if (!fail)
        fail = write_lines(now, results, failure);
    baseline_free(now);
    if (held >= 0)
        (void)close(held);
    return fail;
}
