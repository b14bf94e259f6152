/* explore_print.h - what `picklock explore` prints: the matrix, the witnesses, the JSON. */
#ifndef PICKLOCK_CMD_EXPLORE_PRINT_H
#define PICKLOCK_CMD_EXPLORE_PRINT_H

#include "explore/matrix.h"

#include <stdio.h>

/* Cells, and what --confirm found: for each cell and property 1 confirmed, 0 not, -1 not asked. */
struct cells {
    struct cell *rows;
    int (*on_redis)[PROPERTY_COUNT];
    int count;
};

/* A line a scheme and fault: the word, and how much was looked at. */
void explore_print_matrix(FILE *out, const struct cells *cells);

/* The choices and sentences of every violated property. */
void explore_print_witnesses(FILE *out, const struct cells *cells);

/* "picklock.explore/1"; path "-" is stdout. */
enum fail explore_print_json(const char *path, const struct cells *cells, struct failure *failure);

#endif
