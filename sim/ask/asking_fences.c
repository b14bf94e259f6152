/* asking_fences.c - fences by asking. Each is what one history was answered with: its value goes by
 * the counter that the worker heard of, which is in the history, and in the server's keys. Nothing
 * else hangs on it, so a fence that is not that is no reason to stop: its order alone is in doubt.
 * And what critical sections guard: no key that the worker knows of. See asking_state.h. */
#include "ask/asking_state.h"
#include "explore/model/ghost_fences.h"

#include <inttypes.h>
#include <stdio.h>

/* The first reason stays. */
static void doubt(struct worker_asker *asker, const char *history, const char *what)
{
    if (!asker->fence_doubt[0])
        (void)snprintf(asker->fence_doubt, sizeof asker->fence_doubt, "%s: after \"%s\" %s",
                       "the order of its fences is not known", history, what);
}

static const char *say(const struct remembered_step *step, char *text, size_t size)
{
    if (step->has_fence)
        (void)snprintf(text, size, "%" PRId64, step->fence);
    else
        (void)snprintf(text, size, "none");
    return text;
}

void worker_asker_compare_fences(struct worker_asker *asker, uint32_t from,
                                 const struct remembered_step *a, const struct remembered_step *b)
{
    char history[600], one[24], two[24], what[200];
    if (asker->fence_doubt[0] || (a->has_fence == b->has_fence && a->fence == b->fence))
        return;
    (void)snprintf(what, sizeof what,
                   "its fence was once %s, and once %s, so that it hangs on more than what the "
                   "worker was asked and answered",
                   say(a, one, sizeof one), say(b, two, sizeof two));
    doubt(asker, worker_asker_tell(asker, from, history, sizeof history), what);
}

/* Is that one of those that are judged? */
static bool is_judged(struct asking *asking, const struct remembered_step *told)
{
    char history[600], what[200];
    if (told->has_fence && told->fence > 0 && told->fence <= FENCE_MAX)
        return true;
    if (told->has_fence)
        (void)snprintf(what, sizeof what,
                       "its fence is %" PRId64
                       ", and by asking only those from 1 to %d are judged; "
                       "--search random --section write runs it",
                       told->fence, FENCE_MAX);
    else
        (void)snprintf(what, sizeof what, "it was granted the lock without a fence");
    doubt(&asking->worker, worker_asker_tell(&asking->worker, told->node, history, sizeof history),
          what);
    return false;
}

static bool promises_fence(const struct asking *asking)
{
    return asking->program->promises & 1u << WORKER_PROMISES_FENCE;
}

void asking_take_fence(struct asking *asking, const struct remembered_step *told,
                       const struct step_result *step, struct client_state *client_state)
{
    const bool is_grant =
        step->has_returned && step->op == OP_ACQUIRE && step->result == RESULT_GRANTED;
    if (client_state->phase != PHASE_HOLDING)
        client_state->fence = 0;
    else if (is_grant && promises_fence(asking) && asking->servers == 1)
        client_state->fence = is_judged(asking, told) ? (int32_t)told->fence : 0;
}

const char *asking_fence_doubt(const struct asking *asking)
{
    if (!promises_fence(asking))
        return NULL;
    if (asking->servers > 1)
        return "the order of fences that come from several servers is not decided by asking yet: "
               "--search random --section write runs it";
    return asking->worker.fence_doubt[0] ? asking->worker.fence_doubt : NULL;
}

/* --- what critical sections guard --- */

struct reply asking_execute_section(const struct config *config, struct server_state *server_state,
                                    const struct command *command)
{
    struct server_state guarded = *server_state;
    struct keyspace *keyspace = &server_state->keyspace;
    const struct reply reply =
        subject_in_c.execute(&subject_in_c, config, &guarded, SERVER_NO_WATCH, command);
    keyspace->resource = guarded.keyspace.resource;
    keyspace->counter = guarded.keyspace.counter;
    keyspace->has_counter = guarded.keyspace.has_counter;
    return reply;
}
