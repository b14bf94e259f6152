/* prove.c - is the time that a worker's own language tells ours? See session_state.h.
 *
 * A program that drops the preloaded library would let every lease live for as long as it takes,
 * and a lock that forgets its lease would look safe. So it is asked what time it is, twice, around
 * a step. */
#include "worker/session_state.h"

#include "live/clock.h"

#include <inttypes.h>

/* How finely a language tells: milliseconds. */
enum { GRAIN_US = 1000 };

static enum fail ask(struct session *session, int client, struct worker_answer *answer,
                     struct failure *failure)
{
    if (session_ask(session, client, (struct worker_request){.op = WORKER_TIME}, failure))
        return failure->code;
    if (session_is_asked(session, client))
        return failure_set(failure, FAIL_UNKNOWN, "worker %s does not answer \"time\"",
                           session->options.names[client]);
    *answer = *session_answer(session, client);
    return FAIL_NONE;
}

enum fail session_prove_time(struct session *session, int client, struct failure *failure)
{
    struct worker_answer before, after;
    const int64_t now_us = session->now_us;
    if (ask(session, client, &before, failure) ||
        session_set_now(session, now_us + SESSION_PROOF_US, failure) ||
        ask(session, client, &after, failure))
        return failure->code;
    const int64_t wall_us = after.wall_us - before.wall_us;
    const int64_t monotonic_us = after.monotonic_us - before.monotonic_us;
    const int64_t off_us = after.wall_us - (CLOCK_EPOCH_US + session_page_us(session));
    if (monotonic_us == SESSION_PROOF_US && wall_us == SESSION_PROOF_US && off_us <= 0 &&
        off_us > -GRAIN_US)
        return FAIL_NONE;
    return failure_set(
        failure, FAIL_UNAVAILABLE,
        "worker %s does not live by our time: while 7 ms passed, its monotonic clock went "
        "on by %" PRId64 " us and its wall clock by %" PRId64
        " us. A program that drops LD_PRELOAD, or asks the kernel by itself behind a wrapper, "
        "cannot be steered",
        session->options.names[client], monotonic_us, wall_us);
}
