/* prove.c - is the time that a worker's own language tells ours? See session_state.h.
 *
 * A program that drops the preloaded library would let every lease live for as long as it takes,
 * and a lock that forgets its lease would look safe. So it is asked what time it is, twice, around
 * a step. */
#include "worker/session_state.h"

#include "live/clock.h"

#include <inttypes.h>

/* How finely a language tells: milliseconds, which a fraction may have missed by one. */
enum { GRAIN_US = 1000 };

/* A clock that is not ours has gone on by as much, and by far more than a grain. */
enum { REAL_PAUSE_MS = 10 };

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

static bool is_near(int64_t told_us, int64_t true_us)
{
    return told_us >= true_us - GRAIN_US && told_us <= true_us + GRAIN_US;
}

static enum fail not_ours(const struct session *session, int client, int64_t passed_us,
                          const struct worker_answer *before, const struct worker_answer *after,
                          struct failure *failure)
{
    return failure_set(
        failure, FAIL_UNAVAILABLE,
        "worker %s does not live by our time: while %" PRId64
        " ms passed, its monotonic clock went on by %" PRId64 " us and its wall clock by %" PRId64
        " us. A program that drops LD_PRELOAD, or asks the kernel by itself behind a wrapper, "
        "cannot be steered",
        session->options.names[client], passed_us / 1000,
        after->monotonic_us - before->monotonic_us, after->wall_us - before->wall_us);
}

static bool has_passed(const struct worker_answer *before, const struct worker_answer *after,
                       int64_t passed_us)
{
    return is_near(after->monotonic_us - before->monotonic_us, passed_us) &&
           is_near(after->wall_us - before->wall_us, passed_us);
}

/* What is off by less than a grain may be told coarsely, or be a clock of the machine that happened
 * to go on by as much: ours stands while the machine's goes on. */
static enum fail prove_it_stands(struct session *session, int client,
                                 const struct worker_answer *last, struct failure *failure)
{
    struct worker_answer now;
    uv_sleep(REAL_PAUSE_MS);
    if (ask(session, client, &now, failure))
        return failure->code;
    return has_passed(last, &now, 0) ? FAIL_NONE
                                     : not_ours(session, client, 0, last, &now, failure);
}

enum fail session_prove_time(struct session *session, int client, struct failure *failure)
{
    struct worker_answer before, after;
    const int64_t now_us = session->now_us;
    if (ask(session, client, &before, failure) ||
        session_set_now(session, now_us + SESSION_PROOF_US, failure) ||
        ask(session, client, &after, failure))
        return failure->code;
    if (!has_passed(&before, &after, SESSION_PROOF_US) ||
        !is_near(after.wall_us, CLOCK_EPOCH_US + session_page_us(session)))
        return not_ours(session, client, SESSION_PROOF_US, &before, &after, failure);
    const bool is_exact = after.monotonic_us - before.monotonic_us == SESSION_PROOF_US &&
                          after.wall_us - before.wall_us == SESSION_PROOF_US;
    return is_exact ? FAIL_NONE : prove_it_stands(session, client, &after, failure);
}
