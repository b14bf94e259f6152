/* merge.h - several run folders as one: the shards of a campaign put together again, other runs
 * side by side.
 *
 * The rules:
 * - Shards of one campaign (the same command line but for --shard and where the reports go, the
 *   same version, server and seed) become the whole again, rows in the order of the whole list. A
 *   shard that is not among the folders, or that ended early, is told in results->missing.
 * - What was made differently keeps its origin: results->origins, by which reports tell rows apart.
 * - The same run or cell twice under the same conditions (version, command, world, server, seed;
 *   of a cell every bound): it counts once, and a note says so, when both come to the same but for
 *   times. Of a cell the search that came to its end counts before one that did not. Two that
 *   differ are refused where the same command line made them, and both stay, each with its origin,
 *   where not. Stress runs are samples: of different folders they all stay, but a shard that is
 *   there twice is refused.
 * - A folder that is named twice, as by a link to it, is read once. */
#ifndef PICKLOCK_REPORT_MERGE_H
#define PICKLOCK_REPORT_MERGE_H

#include "run/result.h"

/* Reads and merges; folders are borrowed, count at least 1. FAIL_INPUT: a folder is missing, holds
 * no whole results, or contradicts another one. *merged: results_free. */
enum fail report_merge(char *const *folders, int count, struct results *merged,
                       struct failure *failure);

#endif
