/* merge.c - see merge.h. Read every folder, put the shards of each campaign together, settle what
 * is there twice, and hand all rows over to one results. */
#include "report/merge.h"

#include "base/memory.h"
#include "base/units.h"
#include "base/version.h"
#include "report/merge_parts.h"
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- texts that grow a list --- */

static void add_text(char ***texts, int *count, char *text)
{
    *texts = memory_resize(*texts, (size_t)*count + 1, sizeof **texts);
    (*texts)[(*count)++] = text;
}

void merge_note(struct merge *merge, char *text)
{
    results_note(merge->merged, text);
}

void merge_miss(struct merge *merge, char *text)
{
    add_text(&merge->merged->missing, &merge->merged->missing_count, text);
}

/* --- reading --- */

/* A link to a folder that was named already, or its name again. */
static bool is_known(const struct merge *merge, const struct stat *place)
{
    for (int i = 0; i < merge->inputs_count; i++)
        if (merge->places[i].st_dev == place->st_dev && merge->places[i].st_ino == place->st_ino)
            return true;
    return false;
}

static enum fail merge_folder(struct merge *merge, char *folder)
{
    struct stat place, file;
    if (stat(folder, &place) != 0)
        return failure_set(merge->failure, FAIL_INPUT, "%s: no such run folder: %s", folder,
                           strerror(errno));
    if (!S_ISDIR(place.st_mode))
        return failure_set(merge->failure, FAIL_INPUT, "%s: is a file, not a run folder", folder);
    if (is_known(merge, &place))
        return FAIL_NONE;
    char *path = memory_format("%s/results.json", folder);
    struct results *results = &merge->inputs[merge->inputs_count];
    enum fail fail = FAIL_NONE;
    if (stat(path, &file) != 0 && errno == ENOENT)
        fail = failure_set(merge->failure, FAIL_INPUT,
                           "%s: has no results.json: it is not a run folder, or the run there did "
                           "not end",
                           folder);
    if (!fail)
        fail = report_read(path, results, merge->failure);
    free(path);
    if (fail)
        return fail;
    merge->names[merge->inputs_count] = folder;
    merge->places[merge->inputs_count++] = place;
    const bool is_merged = strcmp(results->command, "report") == 0;
    if (results->origins_count || (is_merged && results->notes_count) || results->missing_count)
        return failure_set(merge->failure, FAIL_INPUT,
                           "%s: is a report of several run folders; name those", folder);
    return FAIL_NONE;
}

static bool is_noted_everywhere(const struct merge *merge, const char *note)
{
    for (int i = 0; i < merge->inputs_count; i++) {
        const struct results *results = &merge->inputs[i];
        int at = 0;
        while (at < results->notes_count && strcmp(results->notes[at], note) != 0)
            at++;
        if (at == results->notes_count)
            return false;
    }
    return true;
}

/* What only some of the folders note is told with the folder's name: it is of what ran there. */
static void take_notes(struct merge *merge)
{
    for (int i = 0; i < merge->inputs_count; i++)
        for (int k = 0; k < merge->inputs[i].notes_count; k++) {
            const char *note = merge->inputs[i].notes[k];
            merge_note(merge, is_noted_everywhere(merge, note)
                                  ? memory_text(note)
                                  : memory_format("%s: %s", merge->names[i], note));
        }
}

/* --- what is there twice --- */

struct doubles {
    int equal, outranked;
};

/* Where the row has its double in the other body: the same, and as often before as here (a repeated
 * run is not its own double); -1: nowhere. */
static int double_of(const struct results *others, const struct results *own, int at)
{
    int before = 0;
    for (int i = 0; i < at; i++)
        before += result_is_same(&own->rows[i], &own->rows[at]);
    for (int i = 0; i < others->rows_count; i++)
        if (result_is_same(&others->rows[i], &own->rows[at]) && before-- == 0)
            return i;
    return -1;
}

static enum fail settle_double(struct merge *merge, struct body *a, int row, struct body *b,
                               int twin, struct doubles *doubles)
{
    enum settled settled = settle_rows(&a->results.rows[row], &b->results.rows[twin]);
    if (settled == SETTLED_DIFFER && same_campaign(&a->results, &b->results))
        return merge_refuse(merge, &b->results.rows[twin], a->name, b->name);
    doubles->equal += settled == SETTLED_EQUAL;
    doubles->outranked += settled == SETTLED_FIRST || settled == SETTLED_SECOND;
    a->is_dropped[row] |= settled == SETTLED_SECOND;
    b->is_dropped[twin] |= settled == SETTLED_EQUAL || settled == SETTLED_FIRST;
    return FAIL_NONE;
}

static enum fail settle_bodies(struct merge *merge, struct body *a, struct body *b)
{
    struct doubles doubles = {0};
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < b->results.rows_count && !fail; i++) {
        int at = b->is_dropped[i] ? -1 : double_of(&a->results, &b->results, i);
        if (at >= 0 && !a->is_dropped[at])
            fail = settle_double(merge, a, at, b, i, &doubles);
    }
    if (doubles.equal)
        merge_note(merge,
                   memory_format("%d result%s of %s %s in %s too, and the same: counted once.",
                                 doubles.equal, units_plural(doubles.equal), b->name,
                                 doubles.equal == 1 ? "is" : "are", a->name));
    if (doubles.outranked)
        merge_note(merge,
                   memory_format("%d cell%s of %s and of %s: the search that came to its end "
                                 "counts.",
                                 doubles.outranked, units_plural(doubles.outranked), a->name,
                                 b->name));
    return fail;
}

static enum fail settle_all(struct merge *merge)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < merge->bodies_count; i++)
        merge->bodies[i].is_dropped = memory_new((size_t)merge->bodies[i].results.rows_count + 1,
                                                 sizeof *merge->bodies[i].is_dropped);
    for (int i = 0; i < merge->bodies_count; i++)
        for (int k = i + 1; k < merge->bodies_count && !fail; k++)
            if (same_conditions(&merge->bodies[i].results, &merge->bodies[k].results))
                fail = settle_bodies(merge, &merge->bodies[i], &merge->bodies[k]);
    return fail;
}

/* --- all in one --- */

static int kept_of(const struct body *body)
{
    int kept = 0;
    for (int i = 0; i < body->results.rows_count; i++)
        kept += !body->is_dropped[i];
    return kept;
}

/* The same, but for what was noted on the way. */
static void become(struct results *merged, const struct results *body)
{
    char **notes = merged->notes, **missing = merged->missing;
    int notes_count = merged->notes_count, missing_count = merged->missing_count;
    *merged = merge_head(body);
    merged->notes = notes;
    merged->missing = missing;
    merged->notes_count = notes_count;
    merged->missing_count = missing_count;
}

/* What all have in common; where they have not, the origins tell. */
static void fill_common(struct merge *merge)
{
    struct results *merged = merge->merged;
    const struct results *first = &merge->bodies[0].results;
    memcpy(merged->world, first->world, sizeof merged->world);
    memcpy(merged->server_version, first->server_version, sizeof merged->server_version);
    merged->seed = first->seed;
    snprintf(merged->picklock, sizeof merged->picklock, "%s", PICKLOCK_VERSION);
    snprintf(merged->command, sizeof merged->command, "report");
    char *line = memory_text("picklock report");
    for (int i = 0; i < merge->inputs_count; i++) {
        char *longer = memory_format("%s %s", line, merge->names[i]);
        free(line);
        line = longer;
    }
    merged->invocation = line;
    for (int i = 0; i < merge->bodies_count; i++) {
        const struct results *body = &merge->bodies[i].results;
        merged->elapsed_us += body->elapsed_us;
        if (strcmp(body->world, merged->world) != 0)
            snprintf(merged->world, sizeof merged->world, "mixed");
        if (strcmp(body->server_version, merged->server_version) != 0)
            *merged->server_version = 0;
        if (body->seed != merged->seed)
            merged->seed = 0;
    }
}

static void take_rows(struct merge *merge, struct body *body, int origin)
{
    for (int i = 0; i < body->results.rows_count; i++) {
        if (body->is_dropped[i])
            continue;
        merge_move(merge->merged, &body->results.rows[i], NULL);
        merge->merged->rows[merge->merged->rows_count - 1].origin = origin;
    }
}

static void join(struct merge *merge)
{
    struct results *merged = merge->merged;
    int used = 0, only = 0;
    for (int i = 0; i < merge->bodies_count; i++)
        if (kept_of(&merge->bodies[i]) || merge->bodies_count == 1) {
            used++;
            only = i;
        }
    if (used <= 1) {
        become(merged, &merge->bodies[only].results);
        take_rows(merge, &merge->bodies[only], 0);
        return;
    }
    fill_common(merge);
    merged->origins = memory_new((size_t)used, sizeof *merged->origins);
    for (int i = 0; i < merge->bodies_count; i++) {
        if (!kept_of(&merge->bodies[i]))
            continue;
        merged->origins[merged->origins_count] = merge_head(&merge->bodies[i].results);
        take_rows(merge, &merge->bodies[i], merged->origins_count++);
    }
}

static void merge_close(struct merge *merge)
{
    for (int i = 0; i < merge->inputs_count; i++)
        results_free(&merge->inputs[i]);
    for (int i = 0; i < merge->bodies_count; i++) {
        results_free(&merge->bodies[i].results);
        free(merge->bodies[i].is_dropped);
        free(merge->bodies[i].name);
    }
    free(merge->inputs);
    free(merge->names);
    free(merge->places);
    free(merge->bodies);
}

enum fail report_merge(char *const *folders, int count, struct results *merged,
                       struct failure *failure)
{
    struct merge merge = {.inputs = memory_new((size_t)count, sizeof *merge.inputs),
                          .names = memory_new((size_t)count, sizeof *merge.names),
                          .places = memory_new((size_t)count, sizeof *merge.places),
                          .merged = merged,
                          .failure = failure};
    enum fail fail = FAIL_NONE;
    *merged = (struct results){0};
    for (int i = 0; i < count && !fail; i++)
        fail = merge_folder(&merge, folders[i]);
    take_notes(&merge);
    if (!fail)
        fail = merge_add_bodies(&merge);
    if (!fail)
        fail = settle_all(&merge);
    if (!fail)
        join(&merge);
    merge_close(&merge);
    if (fail)
        results_free(merged);
    return fail;
}
