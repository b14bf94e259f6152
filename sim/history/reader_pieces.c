/* reader_pieces.c - a history that goes on in another file; see reader.h and log_pieces.h. */
#include "history/reader.h"

#include "base/infile.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum fail take_chain(struct history_reader *reader, const json_t *object,
                            char chain[READER_CHAIN_MAX], struct failure *failure)
{
    const json_t *value = json_object_get(object, "chain");
    reader_at(reader, "chain");
    if (!value)
        return reader_refuses(reader, failure, "'chain' is missing");
    return reader_text(reader, "chain", value, chain, READER_CHAIN_MAX, failure);
}

/* name: that the line begins with. */
static enum fail check_count(struct history_reader *reader, json_t *object, const char *name,
                             struct failure *failure)
{
    const char *const only[] = {name, "events", "chain"};
    int64_t events = 0;
    if (reader_only(reader, object, only, 3, failure))
        return FAIL_INPUT;
    reader_at(reader, "events");
    enum fail fail = reader_number(reader, "events", json_object_get(object, "events"), 0,
                                   INT64_MAX, &events, failure);
    if (!fail && events != reader->events)
        fail = reader_refuses(reader, failure,
                              "%" PRId64 " events so far are told, there are %" PRId64, events,
                              reader->events);
    return fail;
}

/* The path of that name beside the file in hand; a name that leads elsewhere is refused. */
static enum fail path_beside(struct history_reader *reader, const json_t *next, char **path,
                             struct failure *failure)
{
    char name[READER_NAME_MAX];
    reader_at(reader, "next");
    if (reader_text(reader, "next", next, name, sizeof name, failure))
        return FAIL_INPUT;
    if (!*name || strchr(name, '/') || name[0] == '.')
        return reader_refuses(reader, failure, "'next' wants the name of a file beside this one");
    const char *slash = strrchr(reader->path, '/');
    *path =
        memory_format("%.*s%s", slash ? (int)(slash + 1 - reader->path) : 0, reader->path, name);
    return FAIL_NONE;
}

/* A piece is put into place when it is whole, so one that is not there is no slip. */
static enum fail open_next(struct history_reader *reader, const char *path, struct failure *failure)
{
    FILE *file;
    struct stat about;
    if (lstat(path, &about) != 0 && errno == ENOENT)
        return failure_set(failure, FAIL_UNKNOWN,
                           "the history has no end: it goes on in %s, which is not there; its "
                           "writer was killed, could not write on, or has not ended yet",
                           path);
    if (infile_open(path, &file, failure))
        return failure_wrap(failure, "%s: the history goes on in another file", reader->path);
    (void)fclose(reader->file); /* only read from */
    free(reader->path);
    reader->file = file;
    reader->path = memory_text(path);
    reader->line = 0;
    reader->begin = reader->filled = 0;
    return FAIL_NONE;
}

/* The first line of a piece: is it the one that follows? */
static enum fail take_first_line(struct history_reader *reader, const char *chain,
                                 struct failure *failure)
{
    json_t *object;
    bool is_there;
    int64_t number;
    char said[READER_CHAIN_MAX];
    enum fail fail = reader_line(reader, HISTORY_LINE_MAX, &is_there, failure);
    if (reader_ends_here(reader, failure))
        return FAIL_UNKNOWN;
    if (!fail && !is_there)
        return reader_refuses(reader, failure, "the file is empty: not a piece of a history");
    if (!fail)
        fail = reader_parse(reader, &object, failure);
    if (fail)
        return fail;
    const json_t *piece = json_object_get(object, "piece");
    reader_at(reader, piece ? "piece" : NULL);
    if (!piece)
        fail = reader_refuses(reader, failure, "is no piece %d of a history", reader->piece + 1);
    else
        fail = reader_number(reader, "piece", piece, reader->piece + 1, reader->piece + 1, &number,
                             failure);
    if (!fail)
        fail = check_count(reader, object, "piece", failure);
    if (!fail)
        fail = take_chain(reader, object, said, failure);
    if (!fail && strcmp(said, chain) != 0)
        fail = reader_refuses(reader, failure, "is a piece of another history");
    json_decref(object);
    reader->piece++;
    return fail;
}

enum fail reader_go_on(struct history_reader *reader, json_t *seam, struct failure *failure)
{
    char chain[READER_CHAIN_MAX], *path = NULL;
    reader_at(reader, "next");
    if (reader->follow)
        return reader_refuses(reader, failure,
                              "a history in pieces is read when it is whole: without --follow");
    enum fail fail = check_count(reader, seam, "next", failure);
    if (!fail)
        fail = take_chain(reader, seam, chain, failure);
    if (!fail)
        fail = path_beside(reader, json_object_get(seam, "next"), &path, failure);
    if (!fail)
        fail = reader_nothing_more(reader, failure);
    if (!fail)
        fail = open_next(reader, path, failure);
    free(path);
    return fail ? fail : take_first_line(reader, chain, failure);
}
