/* get_watch_multi_del.c - watch-multi-del with the GET before the WATCH.
 * Follows: nobody; it is what watch_multi_del.c becomes when two lines change places. What happens
 * between the GET and the WATCH is not watched, so the transaction deletes whatever lock stands
 * there. */
#include "schemes/parts.h"

struct get_watch_multi_del {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct get_watch_multi_del, fields);

enum step { START, ASKED, HELD, READ, WATCHED, EXECUTED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct get_watch_multi_del *self = state;

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

    /* GET key: mine? */
    out_get(out, SERVER_ONE);
    AWAIT(self, READ);
    if (!moment_is_value(in, lease->token)) {
        if (moment_is_nil(in) || moment_is_reply(in, REPLY_VALUE))
            out_not_mine(out);
        else
            out_no_answer(out, in);
        SCRIPT_RETURN(self);
    }

    /* WATCH key: too late, it may be another's already */
    out_send(out, LANE_MAIN, SERVER_ONE, (struct command){.verb = VERB_WATCH});
    AWAIT(self, WATCHED);
    if (!moment_is_ok(in)) {
        out_no_answer(out, in);
        SCRIPT_RETURN(self);
    }

    /* MULTI; DEL key; EXEC */
    out_send(out, LANE_MAIN, SERVER_ONE, (struct command){.verb = VERB_MULTI_DEL});
    AWAIT(self, EXECUTED);
    if (moment_is_reply(in, REPLY_TRANSACTION) && in->reply.value == 1)
        out_released(out);
    else if (moment_is_reply(in, REPLY_TRANSACTION) || moment_is_nil(in))
        out_not_mine(out);
    else
        out_no_answer(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_get_watch_multi_del = {
    .name = "get-watch-multi-del",
    .summary = "SET token NX PX; released by GET, WATCH, MULTI, DEL, EXEC",
    .source = "Redis documentation, Transactions, with two steps swapped",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .promises_token = true,
    .weakness = "what happens between the GET and the WATCH is not watched",
};
