/* explore_print.h - what `picklock explore` prints: the matrix, the witnesses, the JSON. */
#ifndef PICKLOCK_CMD_EXPLORE_PRINT_H
#define PICKLOCK_CMD_EXPLORE_PRINT_H

#include "cmd/explore_cells.h"

#include <stdio.h>

/* A line a scheme and fault: the word, and how much was looked at. */
void explore_print_matrix(FILE *out, const struct cells *cells);

/* The choices and sentences of every violated property. */
void explore_print_witnesses(FILE *out, const struct cells *cells);

/* "picklock.explore/1"; path "-" is stdout. */
enum fail explore_print_json(const char *path, const struct cells *cells, struct failure *failure);

#endif
