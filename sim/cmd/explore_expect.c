/* explore_expect.c - see explore_expect.h. */
#include "cmd/explore_expect.h"

#include "run/cell_result.h"
#include "run/walk.h"
#include "worker/session.h"

void explore_expect_replays(struct worker_replays *replays, struct cells *cells, int first,
                            const struct worker_program *program)
{
    unsigned acting[SESSION_EXPECTED_MAX];
    struct run next;
    int count = 0;
    for (int i = first; i < cells->count && count < SESSION_EXPECTED_MAX; i++) {
        const struct cell *cell = &cells->rows[i];
        const struct explore_outcome *outcome = &cell->searches[cell->options.section].outcome;
        const struct run run = confirm_run(&cell->options, outcome, cell_clients);
        const struct history_head head = walk_head(&run, program);
        const struct confirm_world world = worker_replays_world(replays, &head);
        if (i == first)
            next = run;
        if (run.has_replica == next.has_replica)
            count += confirm_expected(&world, &run, outcome->findings, acting + count,
                                      SESSION_EXPECTED_MAX - count);
    }
    if (first < cells->count)
        worker_replays_expect(replays, &next, acting, count);
}
