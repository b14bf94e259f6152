/* reader.h - what the parts of the reader of a log file share; see history.h. */
#ifndef PICKLOCK_HISTORY_READER_H
#define PICKLOCK_HISTORY_READER_H

#include "history/history.h"

#include <jansson.h>
#include <stdio.h>

struct history_reader {
    FILE *file;
    char *path;
    int64_t line;    /* of the one in hand, from 1 */
    int64_t last_us; /* of the event before */
    int64_t events;
    bool is_over;
    int clients, servers, locks;
    char (*names)[NAME_MAX_BYTES];
    size_t size; /* of the line in hand */
    char *bytes;
};

/* FAIL_INPUT with "path:line: " and the words. */
enum fail reader_refuses(struct history_reader *reader, struct failure *failure, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

/* A value of the field of that name. */
enum fail reader_number(struct history_reader *reader, const char *name, const json_t *value,
                        int64_t least, int64_t most, int64_t *number, struct failure *failure);
enum fail reader_text(struct history_reader *reader, const char *name, const json_t *value,
                      char *text, size_t size, struct failure *failure);

/* Fills *head from the first line, parsed. */
enum fail reader_head(struct history_reader *reader, json_t *object, struct history_head *head,
                      struct failure *failure);

#endif
