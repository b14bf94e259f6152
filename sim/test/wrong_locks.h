/* wrong_locks.h - small locks, each wrong in one way, for the tests that hold what the explorer
 * says to what checks/ says. Their twin with nothing wrong is set-nx-px-cad, or fenced. */
#ifndef PICKLOCK_TEST_WRONG_LOCKS_H
#define PICKLOCK_TEST_WRONG_LOCKS_H

#include "schemes/parts.h"

struct wrong_lock {
    int64_t at; /* enum wrong_step */
};

static const enum scheme_field wrong_fields[] = {FIELD_STEP};
FIELDS_FIT(struct wrong_lock, wrong_fields);

enum wrong_step {
    WRONG_START,
    WRONG_SLEPT,
    WRONG_ASKED,
    WRONG_WAITED,
    WRONG_ASKED_AGAIN,
    WRONG_CLEANED,
    WRONG_HELD,
    WRONG_COMPARED
};

enum wrong_answer { ANSWER_RIGHT, ANSWER_OTHER, ANSWER_NONE };

/* What is wrong with one. */
struct wrong {
    int ttl_halves;            /* time to live, in halves of the lease; 0: it never expires */
    enum wrong_answer expects; /* of the server: what it does not say, or nothing at all */
    bool mints_fence;          /* with the grant; that is not wrong */
    bool refuses_on_time_out;  /* and does not say "failed" */
    bool cleans_up;            /* says "refused" of all that is not the answer, behind a DEL */
    bool refuses_always;       /* the same of all that is not the answer */
    bool overwrites;           /* SET, whatever is there */
    bool releases_always;      /* "released", whatever became of it */
    bool asks_nonsense;        /* a script that the server does not have */
    bool tries_again;          /* half a lease later, for as long as it takes; that is not wrong */
    int sleeps_halves;         /* of the lease, before it asks at all */
};

static inline void wrong_ask(const struct wrong *wrong, const struct lease *lease,
                             struct outbox *out)
{
    struct lease own = *lease;
    own.ttl_us = lease->ttl_us * wrong->ttl_halves / 2;
    if (wrong->asks_nonsense)
        out_compare_and_delete_by_sha(out, SERVER_ONE, lease);
    else if (wrong->overwrites)
        out_send(out, LANE_MAIN, SERVER_ONE,
                 (struct command){.verb = VERB_SET, .value = lease->token});
    else if (wrong->ttl_halves == 0)
        out_setnx(out, SERVER_ONE, lease->token);
    else if (wrong->mints_fence)
        out_send(out, LANE_MAIN, SERVER_ONE,
                 (struct command){.verb = VERB_SET_MINT, .value = own.token, .ttl_us = own.ttl_us});
    else
        out_set_nx_px(out, SERVER_ONE, &own);
}

static inline bool wrong_is_granted(const struct wrong *wrong, const struct moment *in)
{
    if (wrong->expects == ANSWER_NONE)
        return false;
    if (wrong->mints_fence)
        return moment_is_reply(in, REPLY_INTEGER) && in->reply.value > 0;
    bool is_setnx = wrong->ttl_halves == 0 && !wrong->overwrites;
    bool is_right = wrong->expects == ANSWER_RIGHT;
    return is_setnx == is_right ? moment_is_integer(in, 1) : moment_is_ok(in);
}

static inline bool wrong_is_refused(const struct wrong *wrong, const struct moment *in)
{
    if (wrong->refuses_always || (in->kind != MOMENT_REPLY && wrong->refuses_on_time_out))
        return true;
    bool is_setnx = wrong->ttl_halves == 0 && !wrong->overwrites;
    bool is_right = wrong->expects == ANSWER_RIGHT;
    return is_setnx == is_right ? moment_is_integer(in, 0) : moment_is_nil(in);
}

static inline void wrong_run(const struct wrong *wrong, void *state, const struct lease *lease,
                             const struct moment *in, struct outbox *out)
{
    struct wrong_lock *self = state;

    SCRIPT(self);

    if (wrong->sleeps_halves > 0) {
        out_sleep(out, lease->ttl_us * wrong->sleeps_halves / 2);
        AWAIT(self, WRONG_SLEPT);
    }
    wrong_ask(wrong, lease, out);
    AWAIT(self, WRONG_ASKED);
    while (wrong->tries_again && wrong_is_refused(wrong, in)) {
        out_sleep(out, lease->ttl_us / 2);
        AWAIT(self, WRONG_WAITED);
        wrong_ask(wrong, lease, out);
        AWAIT(self, WRONG_ASKED_AGAIN);
    }
    if (!wrong_is_granted(wrong, in) && wrong->cleans_up) {
        out_del(out, SERVER_ONE);
        AWAIT(self, WRONG_CLEANED);
        out_refused(out);
        SCRIPT_RETURN(self);
    }
    if (!wrong_is_granted(wrong, in)) {
        if (wrong_is_refused(wrong, in))
            out_refused(out);
        else
            out_failed(out);
        SCRIPT_RETURN(self);
    }
    if (wrong->mints_fence)
        out_granted_with_fence(out, in->reply.value);
    else
        out_granted(out);
    AWAIT(self, WRONG_HELD);

    out_compare_and_delete(out, SERVER_ONE, lease);
    AWAIT(self, WRONG_COMPARED);
    if (wrong->releases_always)
        out_released(out);
    else
        out_compared(out, in);

    SCRIPT_END(self);
}

/* WRONG_LOCK(id, members of struct wrong) is scheme_##id; FENCED_LOCK mints a fence. */
#define WRONG_LOCK(id, ...)  WRONG_LOCK_THAT(id, false, __VA_ARGS__)
#define FENCED_LOCK(id, ...) WRONG_LOCK_THAT(id, true, __VA_ARGS__)
#define WRONG_LOCK_THAT(id, mints, ...)                                                            \
    static const struct wrong wrong_##id = {.mints_fence = mints, __VA_ARGS__};                    \
    static void step_##id(void *state, const struct lease *lease, const struct moment *in,         \
                          struct outbox *out)                                                      \
    {                                                                                              \
        wrong_run(&wrong_##id, state, lease, in, out);                                             \
    }                                                                                              \
    static const struct scheme scheme_##id = {                                                     \
        .name = #id,                                                                               \
        .summary = #id,                                                                            \
        .source = "sim/test/wrong_locks.h",                                                        \
        .step = step_##id,                                                                         \
        .fields = wrong_fields,                                                                    \
        .fields_count = 1,                                                                         \
        .token = TOKEN_UNIQUE,                                                                     \
        .unit_us = UNIT_MILLISECOND_US,                                                            \
        .promises_expiry = true,                                                                   \
        .promises_token = true,                                                                    \
        .mints_fence = mints,                                                                      \
    };

#endif
