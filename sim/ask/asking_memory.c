/* asking_memory.c - what a worker remembers of an attempt that has ended: by whose token it was
 * refused, and when that was. A lock that takes over from a holder whom it has seen too often, or
 * for too long, does so. In the search it is a new one behind an attempt, so it may not mind. */
#include "ask/asking_twins.h"
#include "base/memory.h"

#include <stdio.h>

/* Two that were told the same and did not do the same: behind which history, and what each did. */
struct apart {
    char history[600], did[600], other[600];
};

/* False: they did not differ, or not again in new processes; why is in failure. */
static bool tell_apart(const struct twins *pair, uint32_t end, struct apart *apart,
                       struct failure *failure)
{
    const struct worker_asker *worker = &pair->asking->worker;
    char happened[200];
    if (!pair->have_differed || twins_ask_again(pair, failure) != FAIL_UNKNOWN)
        return false;
    worker_asker_tell_step(worker, pair->apart[0], happened, sizeof happened, apart->did,
                           sizeof apart->did);
    worker_asker_tell_step(worker, pair->apart[1], happened, sizeof happened, apart->other,
                           sizeof apart->other);
    (void)worker_asker_tell(worker, end, apart->history, sizeof apart->history);
    return true;
}

/* --- whose token --- */

static enum fail tell_whose(const struct twins *pair, uint32_t end, struct failure *failure)
{
    struct apart apart;
    if (!tell_apart(pair, end, &apart, failure))
        return failure->code;
    return failure_set(failure, FAIL_UNKNOWN,
                       "it remembers whose token it has heard of: after \"%s\", when it hears of "
                       "that token again in a later attempt, it %s, where it else %s. That is not "
                       "decided by asking yet; --search random runs it",
                       apart.history, apart.did, apart.other);
}

/* The same holder refuses it so often, or always another one. */
static enum fail compare_refusals(struct asking *asking, uint32_t end, int refusals, bool extends,
                                  struct failure *failure)
{
    struct twins pair = {
        .asking = asking, .node = end, .fresh = end, .repeats = {[0] = true, [1] = false}};
    if (asking_end_refused(&pair, refusals, extends, failure))
        return tell_whose(&pair, end, failure);
    return FAIL_NONE;
}

/* As often as is asked; of the first of its kind each number of times. */
static enum fail compare_whose(struct asking *asking, uint32_t end, bool is_first,
                               struct failure *failure)
{
    const int refusals = asking_refusals(asking);
    for (int times = is_first ? 1 : refusals; times <= refusals; times++)
        if (compare_refusals(asking, end, times, false, failure) ||
            (asking_extend(asking) == EXTEND_IS_ASKED &&
             compare_refusals(asking, end, times, true, failure)))
            return failure->code;
    return FAIL_NONE;
}

/* --- how long ago --- */

static enum fail tell_when(const struct twins *pair, uint32_t end, int ticks,
                           struct failure *failure)
{
    struct apart apart;
    if (!tell_apart(pair, end, &apart, failure))
        return failure->code;
    return failure_set(failure, FAIL_UNKNOWN,
                       "it remembers when an attempt was: after \"%s\", when the next one begins "
                       "%.2f leases later, it %s, where a new one %s. That is not decided by "
                       "asking yet; --search random runs it",
                       apart.history, (double)ticks / pair->asking->lease_ticks, apart.did,
                       apart.other);
}

/* As much time passes as a search tells apart; behind a failure, or a connection that broke, the
 * longest alone. Whoever refuses it has refused it before. In turn the next lock is extended, and
 * not. */
static enum fail compare_when(struct asking *asking, uint32_t end, struct failure *failure)
{
    const int longest = asking->lease_ticks + PAST_TICKS;
    const bool can_extend = asking_extend(asking) == EXTEND_IS_ASKED;
    const bool has_failed = asking->worker.answers[end - 1].answer == ANSWER_ERROR ||
                            asking_shows(asking, end, STRUCK_BY_BREAK);
    for (int ticks = has_failed ? longest : 1; ticks <= longest; ticks++) {
        struct twins pair = {.asking = asking,
                             .node = end,
                             .fresh = NODE_ROOT,
                             .elapsed = ticks * ELAPSED_EACH,
                             .repeats = {true, true}};
        if (asking_end_refused(&pair, 1, can_extend && ticks % 2 == 0, failure))
            return tell_when(&pair, end, ticks, failure);
    }
    return FAIL_NONE;
}

/* --- both --- */

static bool is_compared(struct history_ends *ends, uint32_t node)
{
    while (ends->compared_count <= node) {
        ends->are_compared =
            memory_resize(ends->are_compared, ends->compared_count + 1, sizeof *ends->are_compared);
        ends->are_compared[ends->compared_count++] = false;
    }
    return ends->are_compared[node];
}

enum fail asking_compare_memory(struct asking *asking, uint32_t node, struct failure *failure)
{
    struct history_ends *ends = &asking->ends;
    if (is_compared(ends, node))
        return FAIL_NONE;
    const bool has_heard = worker_asker_has_heard(&asking->worker, node, false);
    const bool is_first = asking_is_first_end(asking, node);
    const struct remembered_step at = asking->worker.answers[node - 1];
    if (has_heard && compare_whose(asking, node, is_first, failure))
        return failure->code;
    /* The search knows how long ago it was as long as a timer runs. */
    if (at.has_moment && at.timer_us == TIME_NEVER && (has_heard || is_first) &&
        compare_when(asking, node, failure))
        return failure->code;
    ends->are_compared[node] = true;
    return FAIL_NONE;
}
