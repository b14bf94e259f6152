/* baseline_file.h - the file of known violations as it is read: a head, and a line a finding. */
#ifndef PICKLOCK_RUN_BASELINE_FILE_H
#define PICKLOCK_RUN_BASELINE_FILE_H

#include "run/baseline.h"

#define BASELINE_HEAD "picklock-baseline 1"

struct known {
    char *line; /* as it stands in the file */
    char *lock, *subject;
    enum result_kind kind;
    enum property property;
    enum cause cause;
};

struct baseline {
    const char *path;
    struct known *rows;
    int count;
};

/* The line of one finding of a row; the caller frees. */
char *baseline_line(const struct result_row *row, const struct result_property *property,
                    enum cause cause);

#endif
