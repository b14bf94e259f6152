/* watch_multi_del.c - "SET key token NX PX ttl", released by WATCH, GET, and a transaction around
 * the DEL. Follows: Redis documentation, Transactions; Carlson 2013; redis-py 2.10, Lock. Safe
 * in this order: any change of the key behind the WATCH, its expiry included, aborts the EXEC. */
#include "schemes/parts.h"

struct watch_multi_del {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct watch_multi_del, fields);

enum step { START, ASKED, HELD, WATCHED, READ, UNWATCHED, UNWATCHED_AFTER_TROUBLE, EXECUTED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct watch_multi_del *self = state;

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

    /* WATCH key, before it is read */
    out_send(out, LANE_MAIN, SERVER_ONE, (struct command){.verb = VERB_WATCH});
    AWAIT(self, WATCHED);
    if (!moment_is_ok(in)) {
        out_no_answer(out, in);
        SCRIPT_RETURN(self);
    }

    /* GET key: mine? If not, UNWATCH: a watch left behind would abort the next release. */
    out_get(out, SERVER_ONE);
    AWAIT(self, READ);
    if (!moment_is_value(in, lease->token)) {
        out_send(out, LANE_MAIN, SERVER_ONE, (struct command){.verb = VERB_UNWATCH});
        if (moment_is_nil(in) || moment_is_reply(in, REPLY_VALUE)) {
            AWAIT(self, UNWATCHED);
            out_not_mine(out);
            SCRIPT_RETURN(self);
        }
        AWAIT(self, UNWATCHED_AFTER_TROUBLE);
        out_failed(out);
        SCRIPT_RETURN(self);
    }

    /* MULTI; DEL key; EXEC: nil when the key has changed since the WATCH, so that nothing was
     * deleted. */
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

const struct scheme scheme_watch_multi_del = {
    .name = "watch-multi-del",
    .summary = "SET token NX PX; released by WATCH, GET, MULTI, DEL, EXEC",
    .source = "Redis documentation, Transactions; Carlson 2013, Redis in Action, section 6.2; "
              "redis-py 2.10, Lock",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE,
    .unit_us = UNIT_MILLISECOND_US,
    .promises_expiry = true,
    .promises_token = true,
};
