/* fence_lock.c - the lock and a fencing token in one script; compare-and-delete: the token grows
 * with the grants. Follows: M. Kleppmann, "How to do distributed locking"; schemes/fenced.c. */
#include "test/mutants/mutants.h"

struct fence_lock {
    int64_t at;    /* enum step */
    int64_t fence; /* fence_minted_first only */
};

static const enum scheme_field fields[] = {FIELD_STEP, FIELD_COUNT};
FIELDS_FIT(struct fence_lock, fields);

enum step { START, MINTED, ASKED, HELD, COMPARED };

static void fence_ask(enum planted planted, const struct lease *lease, struct outbox *out)
{
    if (MUTANT(fence_minted_first))
        out_set_nx_px(out, SERVER_ONE, lease);
    else
        out_send(out, LANE_MAIN, SERVER_ONE,
                 (struct command){
                     .verb = VERB_SET_MINT, .value = lease->token, .ttl_us = lease->ttl_us});
}

static void run(struct fence_lock *self, enum planted planted, const struct lease *lease,
                const struct moment *in, struct outbox *out)
{
    SCRIPT(self);

    if (MUTANT(fence_minted_first)) {
        out_send(out, LANE_MAIN, SERVER_ONE, (struct command){.verb = VERB_INCR, .key = KEY_FENCE});
        AWAIT(self, MINTED);
        if (!moment_is_reply(in, REPLY_INTEGER)) {
            out_no_answer(out, in);
            SCRIPT_RETURN(self);
        }
        self->fence = in->reply.value;
    }
    fence_ask(planted, lease, out);
    AWAIT(self, ASKED);
    if (!moment_is_ok(in) && !moment_is_reply(in, REPLY_INTEGER)) {
        if (MUTANT(fence_lost_is_refusal) && in->kind != MOMENT_REPLY)
            out_refused(out);
        else
            out_no_set(out, in);
        SCRIPT_RETURN(self);
    }
    out_granted_with_fence(out, MUTANT(fence_minted_first) ? self->fence : in->reply.value);
    AWAIT(self, HELD);

    out_compare_and_delete(out, SERVER_ONE, lease);
    AWAIT(self, COMPARED);
    out_compared(out, in);

    SCRIPT_END(self);
}

#define FENCE_LOCK(id)                                                                             \
    MUTANT_STEP(id, run)                                                                           \
    const struct scheme scheme_##id = {                                                            \
        .name = #id,                                                                               \
        .summary = "a script: SET token NX PX and INCR of the fence; compare-and-delete",          \
        .source = "sim/test/mutants/fence_lock.c",                                                 \
        .step = step_##id,                                                                         \
        FIELDS_OF(fields),                                                                         \
        .token = TOKEN_UNIQUE,                                                                     \
        .unit_us = UNIT_MILLISECOND_US,                                                            \
        .promises_expiry = true,                                                                   \
        .promises_token = true,                                                                    \
        .mints_fence = true,                                                                       \
    };

FENCE_LOCK(fence_lock)
FENCE_LOCK(fence_minted_first)
FENCE_LOCK(fence_lost_is_refusal)
