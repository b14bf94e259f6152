/* set_ifeq_delex.c - "SET key token NX PX ttl", released by the server's own compare-and-delete
 * command. Follows: Redis documentation, DELEX (8.4); Valkey documentation, DELIFEQ (9.0). A server
 * that knows neither answers with an error, which the release reports as "unsupported"; the lock
 * then ends with its lease. */
#include "schemes/parts.h"

struct set_ifeq_delex {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct set_ifeq_delex, fields);

enum step { START, ASKED, HELD, COMPARED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct set_ifeq_delex *self = state;

    SCRIPT(self);

    /* SET key token NX PX ttl */
    out_set_nx_px(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    if (!moment_is_ok(in)) {
        out_no_set(out, in);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    AWAIT(self, HELD);

    /* DELEX key IFEQ token, or DELIFEQ key token: 1 it was mine, 0 it was not. */
    out_send(
        out, LANE_MAIN, SERVER_ONE,
        (struct command){.verb = lease->server_kind == SERVER_VALKEY ? VERB_DELIFEQ : VERB_DELEX,
                         .value = lease->token});
    AWAIT(self, COMPARED);
    out_compared(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_set_ifeq_delex = {
    .name = "set-ifeq-delex",
    .summary = "SET token NX PX; released by DELEX IFEQ (Redis 8.4) or DELIFEQ (Valkey 9)",
    .source = "Redis documentation, DELEX; Valkey documentation, DELIFEQ",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .promises_expiry = true,
    .promises_token = true,
    .needs_delex = true,
};
