/* source.c - see source.h. */
#include "history/source.h"

#include "base/infile.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/suggest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES = 64 * 1024 };

struct history_source {
    struct history_reader *ours;
    struct jepsen_reader *jepsen;
};

static const char *const formats[] = {
#define SOURCE(id, name, words) name,
#include "history/sources.def"
#undef SOURCE
};

enum fail source_format_read(const char *name, enum source_format *format, struct failure *failure)
{
    char suggestion[SUGGEST_BYTES];
    if (names_read(NAMES_FIND(formats, name), format))
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT, "no history is of the format '%.40s'%s", name,
                       suggest_words(suggest_nearest(name, formats, SOURCE_COUNT),
                                     "; there are picklock, jepsen-edn and jepsen-json",
                                     suggestion));
}

enum fail source_model_read(const char *name, enum lock_model *model, struct failure *failure)
{
    char suggestion[SUGGEST_BYTES];
    const char *models[MODEL_COUNT];
    if (lock_model_read(name, model))
        return FAIL_NONE;
    for (int i = 0; i < MODEL_COUNT; i++)
        models[i] = lock_model_name((enum lock_model)i);
    return failure_set(failure, FAIL_INPUT, "there is no model '%.40s'%s", name,
                       suggest_words(suggest_nearest(name, models, MODEL_COUNT),
                                     "; there are mutex, owner-mutex, lease-lock and fenced-lock",
                                     suggestion));
}

/* A pipe as a file that can be read twice. Takes *file. */
static enum fail keep(const char *path, FILE **file, struct failure *failure)
{
    char bytes[COPY_BYTES];
    size_t size;
    FILE *kept = tmpfile();
    bool is_bad = !kept;
    while (!is_bad && (size = fread(bytes, 1, sizeof bytes, *file)) > 0)
        is_bad = fwrite(bytes, 1, size, kept) != size;
    is_bad = is_bad || ferror(*file) || fflush(kept) || fseek(kept, 0, SEEK_SET);
    (void)fclose(*file); /* only read from */
    if (is_bad) {
        enum fail fail =
            failure_set(failure, FAIL_INTERNAL, "%.600s: cannot be kept in a temporary file: %s",
                        path, strerror(errno));
        if (kept)
            (void)fclose(kept); /* given up */
        return fail;
    }
    *file = kept;
    return FAIL_NONE;
}

static enum fail open_jepsen(struct history_source *source, const char *path,
                             const struct source_options *options, struct history_head *head,
                             struct failure *failure)
{
    struct jepsen_options jepsen = options->jepsen;
    FILE *file;
    jepsen.language = options->format == SOURCE_JEPSEN_EDN ? FORM_EDN : FORM_JSON;
    enum fail fail = infile_open(path, &file, failure);
    if (!fail && fseek(file, 0, SEEK_CUR))
        fail = keep(path, &file, failure);
    return fail ? fail : jepsen_reader_new(&source->jepsen, file, path, &jepsen, head, failure);
}

static enum fail open_ours(struct history_source *source, const char *path, struct follow *follow,
                           struct history_head *head, struct failure *failure)
{
    return follow ? history_reader_follow(&source->ours, path, follow, head, failure)
                  : history_reader_new(&source->ours, path, head, failure);
}

/* What is no history of that format may be one of another. */
static enum fail with_hint(enum source_format format, const char *path, struct failure *failure)
{
    const enum source_format other = history_source_guess(path);
    if (other == SOURCE_COUNT || other == format)
        return FAIL_INPUT;
    char *said = memory_text(failure->text);
    failure_set(failure, FAIL_INPUT, "%s\nit looks like a history of another format: --format %s",
                said, formats[other]);
    free(said);
    return FAIL_INPUT;
}

enum fail history_source_new(struct history_source **source, const char *path,
                             const struct source_options *options, struct history_head *head,
                             struct failure *failure)
{
    struct history_source *made = memory_new(1, sizeof *made);
    enum fail fail = options->format == SOURCE_OURS
                         ? open_ours(made, path, options->follow, head, failure)
                         : open_jepsen(made, path, options, head, failure);
    if (fail) {
        free(made);
        return fail == FAIL_INPUT ? with_hint(options->format, path, failure) : fail;
    }
    *source = made;
    return FAIL_NONE;
}

enum fail history_source_next(struct history_source *source, struct event *event, bool *is_end,
                              struct failure *failure)
{
    return source->ours ? history_reader_next(source->ours, event, is_end, failure)
                        : jepsen_reader_next(source->jepsen, event, is_end, failure);
}

int64_t history_source_process(const struct history_source *source)
{
    return source->jepsen ? jepsen_reader_process(source->jepsen) : -1;
}

const struct history_doubts *history_source_end(const struct history_source *source)
{
    static const struct history_doubts nothing;
    return source->ours ? history_reader_end(source->ours) : &nothing;
}

bool history_source_was_cut(const struct history_source *source)
{
    return source->ours && history_reader_was_cut(source->ours);
}

const char *history_source_note(const struct history_source *source)
{
    return source->jepsen ? jepsen_reader_note(source->jepsen) : NULL;
}

void history_source_free(struct history_source *source)
{
    if (source->ours)
        history_reader_free(source->ours);
    if (source->jepsen)
        jepsen_reader_free(source->jepsen);
    free(source);
}
