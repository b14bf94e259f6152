/* source.h - a history of any format that can be read, event by event. */
#ifndef PICKLOCK_HISTORY_SOURCE_H
#define PICKLOCK_HISTORY_SOURCE_H

#include "history/history.h"
#include "history/jepsen.h"

enum source_format {
#define SOURCE(id, name, words) SOURCE_##id,
#include "history/sources.def"
#undef SOURCE
    SOURCE_COUNT
};

struct source_options {
    enum source_format format;
    struct jepsen_options jepsen; /* language is the format's */
    struct follow *follow;        /* of ours: it is still written; kept. NULL: it is not */
};

struct history_source;

/* As history_reader_new(); the head's names belong to the source. A history of somebody else is
 * read twice: from a pipe it is copied to a file without a name first. */
enum fail history_source_new(struct history_source **source, const char *path,
                             const struct source_options *options, struct history_head *head,
                             struct failure *failure);
enum fail history_source_next(struct history_source *source, struct event *event, bool *is_end,
                              struct failure *failure);
/* As jepsen_reader_process(); -1: of ours, which has clients and no processes. */
int64_t history_source_process(const struct history_source *source);
/* As history_reader_end(); empty: of somebody else's. */
const struct history_doubts *history_source_end(const struct history_source *source);
/* As history_reader_was_cut(). */
bool history_source_was_cut(const struct history_source *source);
/* As jepsen_reader_note(). */
const char *history_source_note(const struct history_source *source);
void history_source_free(struct history_source *source);

/* The format that the file seems to have, by what it begins with; SOURCE_COUNT: cannot be said, or
 * is no file that can be read again. */
enum source_format history_source_guess(const char *path);

/* By name; FAIL_INPUT with a suggestion. */
enum fail source_format_read(const char *name, enum source_format *format, struct failure *failure);
enum fail source_model_read(const char *name, enum lock_model *model, struct failure *failure);

#endif
