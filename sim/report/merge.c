/* merge.c - see merge.h. Read every folder, put the shards of each campaign together, settle what
 * is there twice, and hand all rows over to one results. */
#include "report/merge.h"

#include "base/memory.h"
#include "base/version.h"
#include "report/merge_same.h"
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* So many missing shards are named. */
enum { SHARDS_NAMED = 20 };

struct merge {
    struct results *inputs; /* one a folder */
    char **names;           /* the folders, borrowed */
    struct stat *places;    /* what the names stand for */
    int inputs_count;
    struct body *bodies;
    int bodies_count;
    struct results *merged;
    struct failure *failure;
};

/* --- texts that grow a list --- */

static void add_text(char ***texts, int *count, char *text)
{
    *texts = memory_resize(*texts, (size_t)*count + 1, sizeof **texts);
    (*texts)[(*count)++] = text;
}

static void note(struct merge *merge, char *text)
{
    add_text(&merge->merged->notes, &merge->merged->notes_count, text);
}

static void miss(struct merge *merge, char *text)
{
    add_text(&merge->merged->missing, &merge->merged->missing_count, text);
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
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

static enum fail read_folder(struct merge *merge, char *folder)
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
                           "%s: has no results.json: what ran there has not come to its end, or it "
                           "is no run folder",
                           folder);
    if (!fail)
        fail = report_read(path, results, merge->failure);
    free(path);
    if (fail)
        return fail;
    merge->names[merge->inputs_count] = folder;
    merge->places[merge->inputs_count++] = place;
    if (results->origins_count || results->notes_count || results->missing_count)
        return failure_set(merge->failure, FAIL_INPUT,
                           "%s: is a report of several run folders; name those", folder);
    return FAIL_NONE;
}

/* --- the shards of a campaign --- */

/* What is dealt out: a run, a cell, or with --frontier all cells of a scheme. */
static int item_end(const struct results *results, int from)
{
    if (results->rows_count)
        return from + 1;
    int end = from + 1;
    while (results->is_by_scheme && end < results->cells_count &&
           !strcmp(results->cells[end].scheme, results->cells[from].scheme))
        end++;
    return end;
}

static int rows_of(const struct results *results)
{
    return results->rows_count + results->cells_count;
}

static int items_of(const struct results *results)
{
    int items = 0;
    for (int from = 0; from < rows_of(results); from = item_end(results, from))
        items++;
    return items;
}

static void move_run(struct results *to, struct run_result *row, const char *folder)
{
    struct run_result *made = results_add(to);
    *made = *row;
    *row = (struct run_result){0};
    if (folder && !made->folder && (made->history || made->schedule))
        made->folder = memory_text(folder);
}

static void move_cell(struct results *to, struct explored *cell, const char *folder)
{
    struct explored *made = results_add_cell(to);
    *made = *cell;
    *cell = (struct explored){0};
    if (folder && !made->folder)
        made->folder = memory_text(folder);
}

/* Moves the item from..end; folder NULL: it stays the only one. */
static void move_item(struct results *to, struct results *of, int from, int end, const char *folder)
{
    for (int i = from; i < end; i++)
        if (of->rows_count)
            move_run(to, &of->rows[i], folder);
        else
            move_cell(to, &of->cells[i], folder);
}

static enum fail differ(struct merge *merge, const char *what, const char *scheme, const char *a,
                        const char *b)
{
    return failure_set(merge->failure, FAIL_INPUT,
                       "%s and %s differ in %s, %s, though the same command line made them: leave "
                       "one of them out",
                       a, b, scheme, what);
}

/* The same shard in two folders: row by row, what counts is what the first one has afterwards. */
static enum fail settle_twins(struct merge *merge, int first, int second)
{
    struct results *a = &merge->inputs[first], *b = &merge->inputs[second];
    for (int i = 0; i < a->rows_count && i < b->rows_count; i++)
        if (settle_runs(&a->rows[i], &b->rows[i]) == SETTLED_DIFFER)
            return differ(merge, b->rows[i].scenario, b->rows[i].scheme, merge->names[first],
                          merge->names[second]);
    for (int i = 0; i < a->cells_count && i < b->cells_count; i++) {
        enum settled settled = settle_cells(&a->cells[i], &b->cells[i]);
        if (settled == SETTLED_DIFFER)
            return differ(merge, b->cells[i].faults, b->cells[i].scheme, merge->names[first],
                          merge->names[second]);
        if (settled != SETTLED_SECOND)
            continue;
        struct explored cell = a->cells[i];
        a->cells[i] = b->cells[i];
        b->cells[i] = cell;
        a->cells[i].folder = memory_text(merge->names[second]);
    }
    return FAIL_NONE;
}

/* Of the campaign of input `at`: which input is shard `number`, or -1. Settles twins. */
static enum fail find_shard(struct merge *merge, int at, int number, int *found)
{
    const struct results *campaign = &merge->inputs[at];
    *found = -1;
    for (int i = at; i < merge->inputs_count; i++) {
        struct results *input = &merge->inputs[i];
        if (input->shard.number != number || !same_campaign(input, campaign))
            continue;
        if (*found < 0) {
            *found = i;
            continue;
        }
        bool is_longer = rows_of(input) > rows_of(&merge->inputs[*found]);
        if (settle_twins(merge, is_longer ? i : *found, is_longer ? *found : i))
            return merge->failure->code;
        note(merge,
             memory_format("Shard %d/%d is there twice, in %s and in %s; it counts once.", number,
                           input->shard.count, merge->names[*found], merge->names[i]));
        if (is_longer)
            *found = i;
    }
    return FAIL_NONE;
}

/* A shard that is there, but not all of it. */
static void check_shard(struct merge *merge, const struct results *campaign, int number, int found)
{
    struct shard shard = {.number = number, .count = campaign->shard.count};
    int64_t wanted = shard_size(&shard, campaign->whole);
    int there = items_of(&merge->inputs[found]);
    if (there < wanted)
        miss(merge, memory_format("Shard %d/%d of `%s` ended early: %d of its %" PRId64
                                  " result%s are in %s.",
                                  number, shard.count, campaign->campaign, there, wanted,
                                  plural(wanted), merge->names[found]));
}

/* Those that are not there at all, in one sentence; shards[number - 1] is -1. */
static void check_missing(struct merge *merge, const struct results *campaign, const int *shards)
{
    int count = campaign->shard.count, missing = 0;
    int64_t results = 0;
    char *names = memory_text("");
    for (int i = 0; i < count; i++) {
        if (shards[i] >= 0)
            continue;
        results += shard_size(&(struct shard){i + 1, count}, campaign->whole);
        if (++missing > SHARDS_NAMED)
            continue;
        char *longer = memory_format("%s%s%d/%d", names, missing > 1 ? ", " : "", i + 1, count);
        free(names);
        names = longer;
    }
    if (missing)
        miss(merge, memory_format("Shard%s %s%s of `%s` %s missing: %" PRId64 " of %" PRId64
                                  " results are not here.",
                                  plural(missing), names,
                                  missing > SHARDS_NAMED ? " and others" : "", campaign->campaign,
                                  missing == 1 ? "is" : "are", results, campaign->whole));
    free(names);
}

/* " --shard K/N" is what the whole campaign's command line lacks. */
static char *without_shard(const char *line)
{
    const char *at = line ? strstr(line, " --shard") : NULL;
    if (!at)
        return line ? memory_text(line) : NULL;
    const char *end = at + 1 + strcspn(at + 1, " =");
    end += *end ? 1 + strcspn(end + 1, " ") : 0;
    return memory_format("%.*s%s", (int)(at - line), line, end);
}

/* What results say of themselves, without rows; the texts are copies. */
static struct results head_of(const struct results *from)
{
    struct results head = *from;
    head.invocation = from->invocation ? memory_text(from->invocation) : NULL;
    head.campaign = from->campaign ? memory_text(from->campaign) : NULL;
    head.rows = NULL;
    head.cells = NULL;
    head.origins = NULL;
    head.notes = head.missing = NULL;
    head.rows_count = head.cells_count = head.origins_count = 0;
    head.notes_count = head.missing_count = 0;
    return head;
}

/* The head of a body: of one shard as it is, of several without a shard, from the first start on.
 */
static struct results head_of_shards(const struct merge *merge, const int *shards, int count)
{
    struct results head = {0};
    int there = 0;
    for (int i = 0; i < count; i++) {
        if (shards[i] < 0)
            continue;
        const struct results *input = &merge->inputs[shards[i]];
        if (there++ == 0) {
            head = head_of(input);
            continue;
        }
        head.elapsed_us += input->elapsed_us;
        if (strcmp(input->started, head.started) < 0)
            memcpy(head.started, input->started, sizeof head.started);
    }
    if (there > 1 || count == 1) {
        char *line = without_shard(head.invocation);
        free(head.invocation);
        free(head.campaign);
        head.invocation = line;
        head.campaign = NULL;
        head.shard = (struct shard){0};
        head.whole = 0;
        head.is_by_scheme = false;
    }
    return head;
}

static struct body *add_body(struct merge *merge)
{
    merge->bodies =
        memory_resize(merge->bodies, (size_t)merge->bodies_count + 1, sizeof *merge->bodies);
    struct body *body = &merge->bodies[merge->bodies_count++];
    *body = (struct body){0};
    return body;
}

/* Deals the rows back in the order of the whole list. */
static void collect(struct merge *merge, struct body *body, const int *shards, int count,
                    int64_t whole)
{
    int *at = memory_new((size_t)count, sizeof *at);
    for (int64_t index = 0; index < whole; index++) {
        int k = 0;
        while (!shard_has(&(struct shard){k + 1, count}, index))
            k++;
        if (shards[k] < 0 || at[k] >= rows_of(&merge->inputs[shards[k]]))
            continue;
        struct results *input = &merge->inputs[shards[k]];
        int from = at[k];
        at[k] = item_end(input, from);
        move_item(&body->results, input, from, at[k],
                  merge->inputs_count == 1 ? NULL : merge->names[shards[k]]);
    }
    free(at);
}

static enum fail add_campaign(struct merge *merge, int at)
{
    const struct results campaign = merge->inputs[at]; /* a copy: the rows are moved away */
    int count = campaign.shard.count;
    int *shards = memory_new((size_t)count, sizeof *shards);
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < count && !fail; i++) {
        fail = find_shard(merge, at, i + 1, &shards[i]);
        if (!fail && shards[i] >= 0)
            check_shard(merge, &campaign, i + 1, shards[i]);
    }
    if (!fail) {
        check_missing(merge, &campaign, shards);
        struct body *body = add_body(merge);
        body->results = head_of_shards(merge, shards, count);
        body->name = memory_text(merge->names[at]);
        collect(merge, body, shards, count, campaign.whole);
    }
    free(shards);
    return fail;
}

/* A folder that is a whole by itself. */
static void add_whole(struct merge *merge, int at)
{
    struct results *input = &merge->inputs[at];
    struct body *body = add_body(merge);
    const char *folder = merge->inputs_count == 1 ? NULL : merge->names[at];
    body->results = head_of(input);
    body->name = memory_text(merge->names[at]);
    for (int i = 0; i < input->rows_count; i++)
        move_run(&body->results, &input->rows[i], folder);
    for (int i = 0; i < input->cells_count; i++)
        move_cell(&body->results, &input->cells[i], folder);
}

static enum fail add_bodies(struct merge *merge)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < merge->inputs_count && !fail; i++) {
        bool is_done = false;
        for (int before = 0; before < i && !is_done; before++)
            is_done = merge->inputs[i].shard.count &&
                      same_campaign(&merge->inputs[before], &merge->inputs[i]);
        if (is_done)
            continue;
        if (merge->inputs[i].shard.count)
            fail = add_campaign(merge, i);
        else
            add_whole(merge, i);
    }
    return fail;
}

/* --- what is there twice --- */

struct doubles {
    int equal, outranked;
};

/* Where the row has its double in the other body: the same run, and as often before as here (a
 * repeated run is not its own double); -1: nowhere. */
static int double_of(const struct results *others, const struct results *own, int at)
{
    int before = 0;
    for (int i = 0; i < at; i++)
        before += same_run(&own->rows[i], &own->rows[at]);
    for (int i = 0; i < others->rows_count; i++)
        if (same_run(&others->rows[i], &own->rows[at]) && before-- == 0)
            return i;
    return -1;
}

static enum fail settle_double(struct merge *merge, struct body *a, int row, struct body *b,
                               int twin, enum settled settled, struct doubles *doubles)
{
    const struct results *results = &b->results;
    bool is_cell = twin >= results->rows_count;
    if (settled == SETTLED_DIFFER && same_campaign(&a->results, results)) {
        const struct explored *cell = is_cell ? &results->cells[twin - results->rows_count] : NULL;
        return differ(merge, cell ? cell->faults : results->rows[twin].scenario,
                      cell ? cell->scheme : results->rows[twin].scheme, a->name, b->name);
    }
    doubles->equal += settled == SETTLED_EQUAL;
    doubles->outranked += settled == SETTLED_FIRST || settled == SETTLED_SECOND;
    a->is_dropped[row] |= settled == SETTLED_SECOND;
    b->is_dropped[twin] |= settled == SETTLED_EQUAL || settled == SETTLED_FIRST;
    return FAIL_NONE;
}

static enum fail settle_bodies(struct merge *merge, struct body *a, struct body *b)
{
    struct results *first = &a->results, *second = &b->results;
    struct doubles doubles = {0};
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < second->rows_count && !fail; i++) {
        int at = b->is_dropped[i] ? -1 : double_of(first, second, i);
        if (at >= 0 && !a->is_dropped[at])
            fail = settle_double(merge, a, at, b, i,
                                 settle_runs(&first->rows[at], &second->rows[i]), &doubles);
    }
    for (int i = 0; i < second->cells_count && !fail; i++)
        for (int k = 0; k < first->cells_count && !fail; k++) {
            int row = first->rows_count + k, twin = second->rows_count + i;
            if (!a->is_dropped[row] && !b->is_dropped[twin] &&
                explored_is_same_cell(&first->cells[k], &second->cells[i]))
                fail = settle_double(merge, a, row, b, twin,
                                     settle_cells(&first->cells[k], &second->cells[i]), &doubles);
        }
    if (doubles.equal)
        note(merge, memory_format("%d result%s of %s %s in %s too, and the same: counted once.",
                                  doubles.equal, plural(doubles.equal), b->name,
                                  doubles.equal == 1 ? "is" : "are", a->name));
    if (doubles.outranked)
        note(merge, memory_format("%d cell%s of %s and of %s: the search that came to its end "
                                  "counts.",
                                  doubles.outranked, plural(doubles.outranked), a->name, b->name));
    return fail;
}

static enum fail settle_all(struct merge *merge)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < merge->bodies_count; i++)
        merge->bodies[i].is_dropped = memory_new((size_t)rows_of(&merge->bodies[i].results) + 1,
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
    for (int i = 0; i < rows_of(&body->results); i++)
        kept += !body->is_dropped[i];
    return kept;
}

/* The same, but for what was noted on the way. */
static void become(struct results *merged, const struct results *body)
{
    char **notes = merged->notes, **missing = merged->missing;
    int notes_count = merged->notes_count, missing_count = merged->missing_count;
    *merged = head_of(body);
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
    struct results *from = &body->results;
    for (int i = 0; i < from->rows_count; i++) {
        if (body->is_dropped[i])
            continue;
        move_run(merge->merged, &from->rows[i], NULL);
        merge->merged->rows[merge->merged->rows_count - 1].origin = origin;
    }
    for (int i = 0; i < from->cells_count; i++) {
        if (body->is_dropped[from->rows_count + i])
            continue;
        move_cell(merge->merged, &from->cells[i], NULL);
        merge->merged->cells[merge->merged->cells_count - 1].origin = origin;
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
        merged->origins[merged->origins_count] = head_of(&merge->bodies[i].results);
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
        fail = read_folder(&merge, folders[i]);
    if (!fail)
        fail = add_bodies(&merge);
    if (!fail)
        fail = settle_all(&merge);
    if (!fail)
        join(&merge);
    merge_close(&merge);
    if (fail)
        results_free(merged);
    return fail;
}
