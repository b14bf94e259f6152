/* merge_same.h - when two rows of different run folders are the same, and come to the same. */
#ifndef PICKLOCK_REPORT_MERGE_SAME_H
#define PICKLOCK_REPORT_MERGE_SAME_H

#include "run/result.h"

/* What one command line came to in one folder, or in all shards of a campaign. */
struct body {
    struct results results; /* rows are owned, until they are moved */
    bool *is_dropped;       /* a row: its double counts; owned */
    char *name;             /* the folders, for messages; owned */
};

/* Made by the same version, command, world, server and seed. */
bool same_conditions(const struct results *a, const struct results *b);

/* Made by the same command line, as far as it says what is run. */
bool same_campaign(const struct results *a, const struct results *b);

/* Which of two rows of the same run or cell counts. */
enum settled { SETTLED_EQUAL, SETTLED_FIRST, SETTLED_SECOND, SETTLED_DIFFER };
enum settled settle_rows(const struct result_row *a, const struct result_row *b);

#endif
