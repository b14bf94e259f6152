/* test_conclusion.h - what `picklock test` prints at its end: what was violated, the verdict in
 * words, the shortest counterexample, what to do about it, how to replay it. */
#ifndef PICKLOCK_CMD_TEST_CONCLUSION_H
#define PICKLOCK_CMD_TEST_CONCLUSION_H

#include "run/result.h"

/* folder: where the report was written; NULL: it could not be. FAIL_INPUT: a history cannot be
 * drawn. */
enum fail test_conclusion_print(const struct results *results, const char *folder,
                                struct failure *failure);

#endif
