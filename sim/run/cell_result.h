/* cell_result.h - the row of a cell that the explorer searched. */
#ifndef PICKLOCK_RUN_CELL_RESULT_H
#define PICKLOCK_RUN_CELL_RESULT_H

#include "run/result.h"

/* The names of the clients, as in every schedule that the explorer writes. */
extern char cell_clients[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES];

/* Appends the cell's row. Nothing is expected of a cell: fail_on says what counts as failed;
 * UNSAID: nothing. cell and on_redis (PROPERTY_COUNT) are borrowed. */
void result_add_cell(struct results *results, const struct cell *cell,
                     const enum confirmed *on_redis, enum fail_on fail_on);

#endif
