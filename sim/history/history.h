/* history.h - the log file of a run: JSON Lines, one event a line.
 *
 * First line: the head, with "history": "picklock.history/2". Last line: {"end": N}, N events
 * before it, and maybe what of them cannot be concluded; a file without it was cut off and is
 * refused. Written under a temporary name and renamed when whole; or, where its head says
 * "streamed", at its place from the beginning: without its end it is that of a writer that was
 * killed, and nothing holds in it. An event there may say that all before it was "proved": without
 * the end, what is behind the last such event counts for nothing. Order = index. A history of
 * version 1, which knows no foreign programs, is read, too. reports/README.md tells of the format,
 * reports/history.schema.json is its schema. */
#ifndef PICKLOCK_HISTORY_HISTORY_H
#define PICKLOCK_HISTORY_HISTORY_H

#include "base/fail.h"
#include "history/event.h"

struct history_writer;

/* What the end line says besides how many events there are; all of it may be empty. */
struct history_doubts {
    char incomplete[HISTORY_WHY_MAX]; /* why whatever is not violated is unknown */
    char vacuous[HISTORY_WHY_MAX];    /* why no two holds can have been made to overlap */
    bool is_partly_proved;            /* what is incomplete: only the first ... */
    int64_t proved;                   /* ... so many events count at all */
};

/* Starts to write path (borrowed). *writer: the caller closes it. FAIL_INTERNAL when path is not
 * writable. */
enum fail history_writer_new(struct history_writer **writer, const char *path,
                             const struct history_head *head, struct failure *failure);

/* The same, streamed, with a head that may become another one as long as that fits in room bytes.
 */
enum fail history_writer_stream(struct history_writer **writer, const char *path, size_t room,
                                const struct history_head *head, struct failure *failure);
/* Puts one whose head says that it is streamed into place, as outfile_show() does: it is there
 * while it is written, whatever ends us. An abandoned one gives back what stood there, until that
 * is replaced for good. */
enum fail history_writer_show(struct history_writer *writer, struct failure *failure);
void history_writer_replace(struct history_writer *writer);
/* Of one with room for it. What does not fit, or cannot be written, fails the close. */
void history_writer_head(struct history_writer *writer, const struct history_head *head);
/* Whoever reads the file finds all that was taken so far. Or why not (outfile_why()), which fails
 * the close. */
const char *history_writer_flush(struct history_writer *writer);

/* All that was taken so far is proved, whatever comes; the next event says so. */
void history_writer_prove(struct history_writer *writer);

/* Of a streamed one, before it is shown: a file is at most about piece_bytes long, a head and a
 * line more. NAME.jsonl goes on in NAME.2.jsonl, and so on; the first that cannot be written is the
 * last, and the close says which. */
void history_writer_rotate(struct history_writer *writer, int64_t piece_bytes);

/* A sink that appends events to the file; event.index is written as it is. Errors are kept for the
 * close. */
struct event_sink history_writer_sink(struct history_writer *writer);

/* What the end line is to say (borrowed); a text that is too long is cut. */
void history_writer_say_end(struct history_writer *writer, const struct history_doubts *end);

/* Writes the end line, syncs, renames into place. Takes writer. On failure (disk full) nothing is
 * left at path, or, of a streamed one, what was written, without an end; of one without room for
 * another head the last part of that is given back where the disk is full. */
enum fail history_writer_close(struct history_writer *writer, struct failure *failure);

/* Gives the file up: removes the temporary file. Takes writer. */
void history_writer_abandon(struct history_writer *writer);

struct history_reader;
struct follow;

/* Opens path and reads the head (head->names belongs to the reader). Where it goes on in another
 * file, beside it, that is read behind it. FAIL_INPUT with file:line: what is wrong. */
enum fail history_reader_new(struct history_reader **reader, const char *path,
                             struct history_head *head, struct failure *failure);

/* The same of a file that is still written, which stays open behind its last line until it ends as
 * follow (kept) says. What is behind its end line is not read. FAIL_UNKNOWN: it has ended before
 * its head was there. */
enum fail history_reader_follow(struct history_reader **reader, const char *path,
                                struct follow *follow, struct history_head *head,
                                struct failure *failure);
/* Has it been refused because it ended before its end line? */
bool history_reader_was_cut(const struct history_reader *reader);

/* The next event, which points into the reader until the one after it is read: *is_end true behind
 * the last one. FAIL_INPUT: a bad line, no end line, a gap in the indexes. FAIL_UNKNOWN: there is
 * no more of it, and it has no end (of a streamed one, or one in pieces). */
enum fail history_reader_next(struct history_reader *reader, struct event *event, bool *is_end,
                              struct failure *failure);
/* What its end line says; before that, and where there is none, what is proved. Of the reader. */
const struct history_doubts *history_reader_end(const struct history_reader *reader);
/* From here on every line is read as JSON of any kind, which takes longer and says the same: to see
 * that it does. */
void history_reader_be_generic(struct history_reader *reader);
void history_reader_free(struct history_reader *reader);

#endif
