/* outbox.c - what a step may ask for: fills the outbox, nothing else. Whether it may be asked for
 * is found out by whoever takes it (world/contract.h): a user's scheme is input, and no reason to
 * stop the program. */
#include "schemes/scheme.h"

const char *contract_words(enum contract_violation violation)
{
    static const char *const words[CONTRACT_COUNT] = {
        [CONTRACT_NONE] = "broke none",
#define CONTRACT(id, words) [CONTRACT_##id] = words,
#include "schemes/contract.def"
#undef CONTRACT
    };
    assert((unsigned)violation < CONTRACT_COUNT);
    return words[violation];
}

static struct ask *out_next(struct outbox *out, enum ask_kind kind)
{
    /* What is too much goes behind the others, one over the other. */
    struct ask *ask = &out->asks[out->count < OUTBOX_MAX ? out->count : OUTBOX_MAX];
    out->count += out->count <= OUTBOX_MAX;
    *ask = (struct ask){.kind = kind};
    return ask;
}

void out_send(struct outbox *out, enum lane lane, int server, struct command command)
{
    struct ask *ask = out_next(out, ASK_SEND);
    ask->lane = lane;
    ask->server = server;
    ask->command = command;
}

void out_setnx(struct outbox *out, int server, int64_t value)
{
    out_send(out, LANE_MAIN, server, (struct command){.verb = VERB_SETNX, .value = value});
}

void out_set_nx_px(struct outbox *out, int server, const struct lease *lease)
{
    out_send(
        out, LANE_MAIN, server,
        (struct command){.verb = VERB_SET_NX_PX, .value = lease->token, .ttl_us = lease->ttl_us});
}

void out_set_nx_ex(struct outbox *out, int server, const struct lease *lease)
{
    out_send(
        out, LANE_MAIN, server,
        (struct command){.verb = VERB_SET_NX_EX, .value = lease->token, .ttl_us = lease->ttl_us});
}

void out_get(struct outbox *out, int server)
{
    out_send(out, LANE_MAIN, server, (struct command){.verb = VERB_GET});
}

void out_getset(struct outbox *out, int server, int64_t value)
{
    out_send(out, LANE_MAIN, server, (struct command){.verb = VERB_GETSET, .value = value});
}

void out_expire(struct outbox *out, int server, int64_t ttl_us)
{
    out_send(out, LANE_MAIN, server, (struct command){.verb = VERB_EXPIRE, .ttl_us = ttl_us});
}

void out_del(struct outbox *out, int server)
{
    out_send(out, LANE_MAIN, server, (struct command){.verb = VERB_DEL});
}

void out_compare_and_delete(struct outbox *out, int server, const struct lease *lease)
{
    out_send(out, LANE_MAIN, server,
             (struct command){.verb = VERB_COMPARE_DELETE, .value = lease->token});
}

void out_compare_and_delete_by_sha(struct outbox *out, int server, const struct lease *lease)
{
    out_send(out, LANE_MAIN, server,
             (struct command){.verb = VERB_COMPARE_DELETE_SHA, .value = lease->token});
}

void out_compare_and_expire(struct outbox *out, enum lane lane, int server,
                            const struct lease *lease)
{
    out_send(out, lane, server,
             (struct command){
                 .verb = VERB_COMPARE_EXPIRE, .value = lease->token, .ttl_us = lease->ttl_us});
}

void out_sleep(struct outbox *out, int64_t sleep_us)
{
    out_next(out, ASK_SLEEP)->sleep_us = sleep_us;
}

void out_granted(struct outbox *out)
{
    out_next(out, ASK_GRANTED);
}

void out_granted_with_fence(struct outbox *out, int64_t fence)
{
    out_next(out, ASK_GRANTED)->fence = fence;
}

void out_refused(struct outbox *out)
{
    out_next(out, ASK_REFUSED);
}

void out_failed(struct outbox *out)
{
    out_next(out, ASK_FAILED);
}

void out_released(struct outbox *out)
{
    out_next(out, ASK_RELEASED);
}

void out_not_mine(struct outbox *out)
{
    out_next(out, ASK_NOT_MINE);
}

void out_lost(struct outbox *out)
{
    out_next(out, ASK_LOST);
}

void out_unsupported(struct outbox *out)
{
    out_next(out, ASK_UNSUPPORTED);
}

void out_crashed(struct outbox *out)
{
    out_next(out, ASK_CRASHED);
}
