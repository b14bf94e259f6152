/* merge_shards.c - the shards of a campaign put together again: which are there, which are there
 * twice, which are not; their rows in the order of the whole list. */
#include "report/merge_parts.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So many missing shards are named. */
enum { SHARDS_NAMED = 20 };

/* --- what is dealt out --- */

/* What is dealt out: a run, a cell, or with --frontier all cells of a scheme. */
static int item_end(const struct results *results, int from)
{
    int end = from + 1;
    while (results->is_by_scheme && results->rows[from].search && end < results->rows_count &&
           !strcmp(results->rows[end].scheme, results->rows[from].scheme))
        end++;
    return end;
}

static int items_of(const struct results *results)
{
    int items = 0;
    for (int from = 0; from < results->rows_count; from = item_end(results, from))
        items++;
    return items;
}

/* Does any path stand in it? */
static bool has_files(const struct result_row *row)
{
    return row->history || row->schedule || row->search;
}

void merge_move(struct results *to, struct result_row *row, const char *folder)
{
    struct result_row *made = results_add(to);
    *made = *row;
    *row = (struct result_row){0};
    if (folder && !made->folder && has_files(made))
        made->folder = memory_text(folder);
}

enum fail merge_refuse(struct merge *merge, const struct result_row *row, const char *a,
                       const char *b)
{
    return failure_set(merge->failure, FAIL_INPUT,
                       "%s and %s differ in %s, %s, though the same command line made them: leave "
                       "one of them out",
                       a, b, result_lock(row), row->subject);
}

/* The same shard in two folders: row by row, what counts is what the first one has afterwards. */
static enum fail settle_twins(struct merge *merge, int first, int second)
{
    struct results *a = &merge->inputs[first], *b = &merge->inputs[second];
    for (int i = 0; i < a->rows_count && i < b->rows_count; i++) {
        enum settled settled = settle_rows(&a->rows[i], &b->rows[i]);
        if (settled == SETTLED_DIFFER)
            return merge_refuse(merge, &b->rows[i], merge->names[first], merge->names[second]);
        if (settled != SETTLED_SECOND)
            continue;
        struct result_row row = a->rows[i];
        a->rows[i] = b->rows[i];
        b->rows[i] = row;
        free(a->rows[i].folder);
        a->rows[i].folder = memory_text(merge->names[second]);
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
        bool is_longer = input->rows_count > merge->inputs[*found].rows_count;
        if (settle_twins(merge, is_longer ? i : *found, is_longer ? *found : i))
            return merge->failure->code;
        merge_note(merge, memory_format(
                              "Shard %d/%d is there twice, in %s and in %s; it counts once.",
                              number, input->shard.count, merge->names[*found], merge->names[i]));
        if (is_longer)
            *found = i;
    }
    return FAIL_NONE;
}

/* One folder alone says so itself. Among several it is said whose it was: what all of them come to
 * has no other place for it. */
static bool check_interrupted(struct merge *merge, int at)
{
    struct results *input = &merge->inputs[at];
    char *words = view_interrupted_words(input);
    if (!words)
        return false;
    if (merge->inputs_count > 1) {
        merge_miss(merge,
                   memory_format("What ran in %s was interrupted: %s.", merge->names[at], words));
        free(input->interrupted.why);
        input->interrupted = (struct interruption){0};
    }
    free(words);
    return true;
}

/* A shard that is there, but not all of it. */
static void check_shard(struct merge *merge, const struct results *campaign, int number, int found)
{
    if (check_interrupted(merge, found))
        return;
    struct shard shard = {.number = number, .count = campaign->shard.count};
    int64_t wanted = shard_size(&shard, campaign->whole);
    int there = items_of(&merge->inputs[found]);
    if (there < wanted)
        merge_miss(merge, memory_format("Shard %d/%d of `%s` ended early: %d of its %" PRId64
                                        " result%s are in %s.",
                                        number, shard.count, campaign->campaign, there, wanted,
                                        units_plural(wanted), merge->names[found]));
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
        merge_miss(merge,
                   memory_format("Shard%s %s%s of `%s` %s missing: %" PRId64 " of %" PRId64
                                 " results are not here.",
                                 units_plural(missing), names,
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

struct results merge_head(const struct results *from)
{
    struct results head = *from;
    head.invocation = from->invocation ? memory_text(from->invocation) : NULL;
    head.campaign = from->campaign ? memory_text(from->campaign) : NULL;
    if (from->interrupted.why)
        head.interrupted.why = memory_text(from->interrupted.why);
    head.rows = NULL;
    head.origins = NULL;
    head.notes = head.missing = NULL;
    head.rows_count = head.origins_count = 0;
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
            head = merge_head(input);
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
        if (shards[k] < 0 || at[k] >= merge->inputs[shards[k]].rows_count)
            continue;
        struct results *input = &merge->inputs[shards[k]];
        int from = at[k];
        at[k] = item_end(input, from);
        for (int i = from; i < at[k]; i++)
            merge_move(&body->results, &input->rows[i],
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
    check_interrupted(merge, at);
    const char *folder = merge->inputs_count == 1 ? NULL : merge->names[at];
    body->results = merge_head(input);
    body->name = memory_text(merge->names[at]);
    for (int i = 0; i < input->rows_count; i++)
        merge_move(&body->results, &input->rows[i], folder);
}

enum fail merge_add_bodies(struct merge *merge)
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
