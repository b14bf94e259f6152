/* history_text.h - history files of a test's own: a head, lines, and what the reader says to them.
 */
#ifndef PICKLOCK_TEST_HISTORY_TEXT_H
#define PICKLOCK_TEST_HISTORY_TEXT_H

#include "history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/picklock-history-XXXXXX";
static char path[sizeof folder + 16];

#define HEAD_OF(version, more)                                                                     \
    "{\"history\":\"picklock.history/" version                                                     \
    "\",\"scheme\":\"x\",\"scenario\":\"\",\"world\":\"sim\","                                     \
    "\"server_version\":\"\",\"clients\":1,\"servers\":1,\"locks\":1,\"lease_us\":1,"              \
    "\"unit_us\":1,\"clock_error_us\":0,\"seed\":\"1\",\"names\":[\"A\"]" more "}\n"
#define HEAD HEAD_OF("1", "")
#define NEW  HEAD_OF("2", "")

static inline int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/history", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

/* Reads the file to its end or to the first failure. */
static inline enum fail read_all(const char *text, struct failure *failure)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    struct history_reader *reader;
    struct history_head run;
    enum fail fail = history_reader_new(&reader, path, &run, failure);
    if (fail)
        return fail;
    struct event event;
    for (bool is_end = false; !is_end && !fail;)
        fail = history_reader_next(reader, &event, &is_end, failure);
    history_reader_free(reader);
    return fail;
}

#endif
