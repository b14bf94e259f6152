/* baseline_file.h - the file of known violations as it is read: a head, and a line a finding. */
#ifndef PICKLOCK_RUN_BASELINE_FILE_H
#define PICKLOCK_RUN_BASELINE_FILE_H

#include "run/baseline.h"

#define BASELINE_HEAD "picklock-baseline 1"
/* The second line of what picklock writes. */
#define BASELINE_SECOND "# the property, the cause. --update-baseline writes it."

struct known {
    char *line;   /* as it stands in the file, without its comment */
    char *above;  /* the comments above it, with their line ends; NULL: none */
    char *behind; /* the comment behind it; NULL: none */
    char *lock, *subject;
    enum result_kind kind;
    enum property property;
    enum cause cause;
};

struct baseline {
    const char *path;
    struct known *rows;
    int count;
    char *above; /* comments behind the last line */
};

/* The line of one finding of a row; the caller frees. */
char *baseline_line(const struct result_row *row, const struct result_property *property,
                    enum cause cause);

#endif
