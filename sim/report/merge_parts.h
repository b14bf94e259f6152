/* merge_parts.h - between merge.c, which reads, settles what is there twice and joins, and
 * merge_shards.c, which puts the shards of campaigns together. */
#ifndef PICKLOCK_REPORT_MERGE_PARTS_H
#define PICKLOCK_REPORT_MERGE_PARTS_H

#include "report/merge_same.h"

#include <sys/stat.h>

/* A merge under way. */
struct merge {
    struct results *inputs; /* one a folder */
    char **names;           /* the folders, borrowed */
    struct stat *places;    /* what the names stand for */
    int inputs_count;
    struct body *bodies;
    int bodies_count;
    struct results *merged;
    struct failure *failure;
};

/* Every input becomes a body, or a part of one; what is missing is noted. FAIL_INPUT: two folders
 * contradict each other. */
enum fail merge_add_bodies(struct merge *merge);

/* Each takes text: what a reader must know, what is missing. */
void merge_note(struct merge *merge, char *text);
void merge_miss(struct merge *merge, char *text);

/* Moves a row, which is zeroed. folder: what its paths are relative to from now on; NULL: as
 * before.
 */
void merge_move(struct results *to, struct result_row *row, const char *folder);

/* What results say of themselves, without rows; the texts are copies. */
struct results merge_head(const struct results *from);

/* FAIL_INPUT: the row should be the same in a and in b, and differs. */
enum fail merge_refuse(struct merge *merge, const struct result_row *row, const char *a,
                       const char *b);

#endif
