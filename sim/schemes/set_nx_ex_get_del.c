/* set_nx_ex_get_del.c - "SET key random NX EX ttl", released by GET, a comparison in the client,
 * and DEL. Follows: Redis documentation, SET, as often retold: "nearly perfect". Between the GET
 * and the DEL the lock can change hands. */
#include "schemes/parts.h"

struct set_nx_ex_get_del {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct set_nx_ex_get_del, fields);

enum step { START, ASKED, HELD, READ, DELETED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct set_nx_ex_get_del *self = state;

    SCRIPT(self);

    /* SET key random NX EX ttl */
    out_set_nx_ex(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    if (!moment_is_ok(in)) {
        out_no_set(out, in);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    AWAIT(self, HELD);

    /* if GET key is my random value ... */
    out_get(out, SERVER_ONE);
    AWAIT(self, READ);
    if (moment_is_nil(in) ||
        (moment_is_reply(in, REPLY_VALUE) && in->reply.value != lease->token)) {
        out_not_mine(out);
        SCRIPT_RETURN(self);
    }
    if (!moment_is_reply(in, REPLY_VALUE)) {
        out_no_answer(out, in);
        SCRIPT_RETURN(self);
    }

    /* ... then DEL key: which by now may be another's. */
    out_del(out, SERVER_ONE);
    AWAIT(self, DELETED);
    out_deleted(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_set_nx_ex_get_del = {
    .name = "set-nx-ex-get-del",
    .summary = "SET random NX EX; released by GET, compare, DEL",
    .source = "Redis documentation, SET, as often retold, the comparison made in the client",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_SECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .promises_token = true,
    .weakness = "the lock can change hands between the GET and the DEL",
};
