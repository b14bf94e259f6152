/* log_pieces.c - see log_pieces.h. */
#include "history/log_pieces.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static const char ending[] = ".jsonl";

struct log_pieces {
    char *first_path, *next_path;
    int64_t piece_bytes;
    uint64_t chain;
    int number;
    struct failure failure; /* of the first piece that could not be written */
    bool has_closing;
    pthread_t closing;
    struct outfile *whole; /* that is brought to the disk meanwhile */
    struct failure whole_failure;
};

static uint64_t draw(void)
{
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn)
        drawn = (uint64_t)time(NULL); /* it names a run, and guards nothing */
    return drawn;
}

static char *path_of(const struct log_pieces *pieces, int number)
{
    const char *path = pieces->first_path;
    const size_t length = strlen(path), tail = sizeof ending - 1;
    const bool has_ending = length > tail && !strcmp(path + length - tail, ending);
    return memory_format("%.*s.%d%s", (int)(has_ending ? length - tail : length), path, number,
                         has_ending ? ending : "");
}

struct log_pieces *log_pieces_new(const char *first_path, int64_t piece_bytes)
{
    struct log_pieces *pieces = memory_new(1, sizeof *pieces);
    pieces->first_path = memory_text(first_path);
    pieces->piece_bytes = piece_bytes;
    pieces->chain = draw();
    pieces->number = 1;
    pieces->next_path = path_of(pieces, 2);
    return pieces;
}

bool log_pieces_is_full(const struct log_pieces *pieces, uint64_t bytes)
{
    return bytes >= (uint64_t)pieces->piece_bytes;
}

const char *log_pieces_next_name(const struct log_pieces *pieces)
{
    const char *slash = strrchr(pieces->next_path, '/');
    return slash ? slash + 1 : pieces->next_path;
}

int log_pieces_number(const struct log_pieces *pieces)
{
    return pieces->number;
}

uint64_t log_pieces_chain(const struct log_pieces *pieces)
{
    return pieces->chain;
}

static void keep(struct log_pieces *pieces, const struct failure *failure)
{
    if (!pieces->failure.code && failure->code)
        pieces->failure = *failure;
}

static void *shut(void *context)
{
    struct log_pieces *pieces = context;
    (void)outfile_shut(pieces->whole, &pieces->whole_failure); /* wait_for_closing() looks */
    return NULL;
}

static void wait_for_closing(struct log_pieces *pieces)
{
    if (pieces->has_closing)
        pthread_join(pieces->closing, NULL);
    pieces->has_closing = false;
    keep(pieces, &pieces->whole_failure);
    pieces->whole_failure.code = FAIL_NONE;
    free(pieces->whole);
    pieces->whole = NULL;
}

/* The last one here and now. */
static void begin_closing(struct log_pieces *pieces, struct outfile *file, bool is_last)
{
    pieces->whole = file;
    pieces->has_closing = !is_last && pthread_create(&pieces->closing, NULL, shut, pieces) == 0;
    if (!pieces->has_closing)
        (void)shut(pieces);
}

static struct outfile *open_next(struct log_pieces *pieces)
{
    struct outfile *next = memory_new(1, sizeof *next);
    struct failure failure;
    enum fail fail = outfile_open(next, pieces->next_path, &failure);
    if (!fail && outfile_show(next, &failure)) {
        outfile_abandon(next);
        fail = failure.code;
    }
    if (!fail) {
        outfile_replace(next);
        return next;
    }
    keep(pieces, &failure);
    free(next);
    return NULL;
}

struct outfile *log_pieces_turn(struct log_pieces *pieces, struct outfile *file)
{
    wait_for_closing(pieces);
    begin_closing(pieces, file, false);
    struct outfile *next = pieces->failure.code ? NULL : open_next(pieces);
    pieces->number++;
    free(pieces->next_path);
    pieces->next_path = path_of(pieces, pieces->number + 1);
    return next;
}

enum fail log_pieces_close(struct log_pieces *pieces, struct outfile *file, struct failure *failure)
{
    wait_for_closing(pieces);
    if (file)
        begin_closing(pieces, file, true);
    wait_for_closing(pieces);
    const enum fail fail = pieces->failure.code;
    if (fail)
        *failure = pieces->failure;
    free(pieces->first_path);
    free(pieces->next_path);
    free(pieces);
    return fail;
}
