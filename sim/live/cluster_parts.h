/* cluster_parts.h - what the files of the cluster share. Private to this folder. */
#ifndef PICKLOCK_LIVE_CLUSTER_PARTS_H
#define PICKLOCK_LIVE_CLUSTER_PARTS_H

#include "live/cluster.h"

static inline struct process *node_of(struct servers *servers, int row)
{
    return &servers->rows[row].process;
}

static inline enum fail of_node(int row, struct failure *failure)
{
    return failure_wrap(failure, "server %d", row + 1);
}

/* Of clocks that run: they stand still, all at one instant, and go on from where they would be. */
void cluster_stop_clocks(struct servers *servers);
void cluster_let_clocks_run(struct servers *servers);

/* The slot of key (borrowed), as that row says; below 0: it does not answer. */
int64_t cluster_slot(struct servers *servers, int row, const char *key, struct failure *failure);

/* Until all nodes that live say that the slot of key is row's. */
enum fail cluster_wait_for_owner(struct servers *servers, const char *key, int row,
                                 struct failure *failure);

#endif
