/* explore_asking_note.h - what the cells of a worker that was decided by asking once rest on, in
 * words. */
#ifndef PICKLOCK_CMD_EXPLORE_ASKING_NOTE_H
#define PICKLOCK_CMD_EXPLORE_ASKING_NOTE_H

#include "cmd/explore_asking.h"

/* What "safe" rests on, and why cells are unknown, in sentences: notes of the results. */
void explore_asking_note(struct results *results, const struct explore_asking *asking,
                         const struct cells *cells);

#endif
