/* explore_print.h - the witnesses that `picklock explore` prints on stdout; the matrix is the
 * report's. */
#ifndef PICKLOCK_CMD_EXPLORE_PRINT_H
#define PICKLOCK_CMD_EXPLORE_PRINT_H

#include "run/result.h"

/* Of a violated property of a cell its choices, its sentences, and its diagram where it has a
 * history (relative to folder). */
enum fail explore_print_witness(const struct result_row *cell,
                                const struct result_property *property, const char *folder,
                                struct failure *failure);

/* Of every violated property its choices, its sentences, and its diagram where it has a history
 * (relative to folder). */
enum fail explore_print_witnesses(const struct results *results, const char *folder,
                                  struct failure *failure);

#endif
