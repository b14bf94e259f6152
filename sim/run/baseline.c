/* baseline.c - see baseline.h. */
#include "run/baseline.h"

#include "base/memory.h"
#include "base/outfile.h"
#include "run/baseline_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

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

/* Does the row show it, as a failure or not? */
static bool is_shown_in(const struct known *known, const struct result_row *row)
{
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].verdict == VERDICT_VIOLATED &&
            causes_of(&row->properties[i]) >> known->cause & 1 &&
            is_same(known, row, &row->properties[i], (int)known->cause))
            return true;
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

/* Was the known finding judged again by a row that could have shown it, and is not there? A sample,
 * a random search or one that was cut says nothing by not finding it; and a cell tells one cause of
 * each property. */
static bool is_gone_from(const struct known *known, const struct result_row *row)
{
    if (!is_of_row(known, row) || is_sample(row) || row->error || row->not_applicable ||
        (row->search && (!row->search->is_complete || search_is_random(row->search))))
        return false;
    for (int i = 0; i < row->properties_count; i++)
        if (row->properties[i].property == known->property)
            return row->properties[i].verdict == VERDICT_HOLDS ||
                   (row->properties[i].verdict == VERDICT_VIOLATED && !row->search);
    return false;
}

/* What became of a finding that is known. */
enum known_fate {
    FATE_UNJUDGED,
    FATE_UNSEEN,    /* by a sample that was judged, and did not come upon it */
    FATE_GONE,      /* judged again, and not there */
    FATE_UNCOUNTED, /* there, and no failure: a scenario states it, or --fail-on leaves it out */
    FATE_FOUND
};

static enum known_fate fate_in(const struct known *known, const struct result_row *row)
{
    return is_found_in(known, row)    ? FATE_FOUND
           : is_shown_in(known, row)  ? FATE_UNCOUNTED
           : is_gone_from(known, row) ? FATE_GONE
           : is_of_row(known, row) && is_sample(row) && !row->error && !row->not_applicable
               ? FATE_UNSEEN
               : FATE_UNJUDGED;
}

/* Of several rows that one counts in which most of it is seen. */
static enum known_fate fate_of(const struct known *known, const struct results *results)
{
    enum known_fate fate = FATE_UNJUDGED;
    for (int i = 0; i < results->rows_count; i++) {
        const enum known_fate one = fate_in(known, &results->rows[i]);
        fate = one > fate ? one : fate;
    }
    return fate;
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
            char *line = baseline_line(row, property, (enum cause)cause);
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

/* The caller frees; NULL: none has that one. */
static char *with_fate(const struct baseline *baseline, const struct results *results,
                       enum known_fate fate)
{
    char *list = NULL;
    for (int i = 0; i < baseline->count; i++)
        if (fate_of(&baseline->rows[i], results) == fate)
            list = listed(list, baseline->rows[i].line);
    return list;
}

void baseline_apply(const struct baseline *baseline, struct results *results)
{
    struct tally tally = {0};
    for (int i = 0; i < results->rows_count; i++)
        count_row(baseline, &results->rows[i], &tally);
    if (tally.known)
        results_note(results,
                     memory_format("%d violation%s known, and accepted by %s.", tally.known,
                                   tally.known == 1 ? " is" : "s are", baseline->path));
    note(results, "New", tally.words);
    note(results, "Fixed, and to be taken out with --update-baseline",
         with_fate(baseline, results, FATE_GONE));
    note(results,
         "Known, and still there, but no failure here, since the scenario states it or --fail-on "
         "leaves it out",
         with_fate(baseline, results, FATE_UNCOUNTED));
    note(results, "Known, and not seen this time, which proves nothing of a sample",
         with_fate(baseline, results, FATE_UNSEEN));
}

/* --- writing --- */

struct baseline_line {
    char *text;
    const struct known *known; /* its comments; NULL: it is new */
};

struct baseline_lines {
    struct baseline_line *rows;
    size_t count;
};

static void add_line(struct baseline_lines *lines, char *text, const struct known *known)
{
    lines->rows = memory_resize(lines->rows, lines->count + 1, sizeof *lines->rows);
    lines->rows[lines->count++] = (struct baseline_line){.text = text, .known = known};
}

static int compare_lines(const void *a, const void *b)
{
    const struct baseline_line *one = a, *other = b;
    return strcmp(one->text, other->text);
}

static struct baseline_lines all_lines(const struct baseline *baseline,
                                       const struct results *results)
{
    struct baseline_lines lines = {0};
    for (int i = 0; i < baseline->count; i++)
        if (fate_of(&baseline->rows[i], results) != FATE_GONE)
            add_line(&lines, memory_text(baseline->rows[i].line), &baseline->rows[i]);
    for (int i = 0; i < results->rows_count; i++) {
        const struct result_row *row = &results->rows[i];
        for (int k = 0; k < row->properties_count; k++) {
            unsigned failing = failing_causes(row, &row->properties[k]);
            for (int cause = 0; cause < CAUSE_COUNT; cause++)
                if (failing >> cause & 1 && !has(baseline, row, &row->properties[k], cause))
                    add_line(&lines, baseline_line(row, &row->properties[k], (enum cause)cause),
                             NULL);
        }
    }
    if (lines.count)
        qsort(lines.rows, lines.count, sizeof *lines.rows, compare_lines);
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
            "the scenario or faults,\n" BASELINE_SECOND "\n");
    for (size_t i = 0; i < lines.count; i++) {
        const struct known *known = lines.rows[i].known;
        const bool is_commented = known && (known->above || known->behind);
        if (i == 0 || is_commented || strcmp(lines.rows[i].text, lines.rows[i - 1].text) != 0)
            fprintf(file.stream, "%s%s%s%s\n", known && known->above ? known->above : "",
                    lines.rows[i].text, known && known->behind ? "  " : "",
                    known && known->behind ? known->behind : "");
    }
    if (baseline->above)
        fputs(baseline->above, file.stream);
    for (size_t i = 0; i < lines.count; i++)
        free(lines.rows[i].text);
    free(lines.rows);
    return outfile_shut(&file, failure);
}

enum fail baseline_update(const char *path, struct results *results, struct failure *failure)
{
    struct baseline *now = NULL;
    const int held = hold_folder(path);
    enum fail fail = baseline_read(path, true, &now, failure);
    if (!fail)
        fail = write_lines(now, results, failure);
    if (!fail)
        note(results, "Fixed, and taken out", with_fate(now, results, FATE_GONE));
    baseline_free(now);
    if (held >= 0)
        (void)close(held);
    return fail;
}
