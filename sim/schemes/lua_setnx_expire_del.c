/* lua_setnx_expire_del.c - SETNX and EXPIRE in one script; released by a plain DEL.
 * Follows: Redis documentation, Scripting with Lua; redis-py 2.10, LuaLock. The script is atomic
 * but not all-or-nothing: an error in EXPIRE leaves the key set. The ttl goes in as KEYS[3], a slip
 * that is often copied (a cluster refuses it). */
#include "schemes/parts.h"

struct lua_setnx_expire_del {
    int64_t at; /* enum step */
};

static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct lua_setnx_expire_del, fields);

enum step { START, ASKED, HELD, DELETED };

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct lua_setnx_expire_del *self = state;

    SCRIPT(self);

    /* Script: setnx key value; when that said 1, expire key ttl; return what setnx said. */
    out_send(out, LANE_MAIN, SERVER_ONE,
             (struct command){
                 .verb = VERB_LUA_SETNX_EXPIRE, .value = lease->token, .ttl_us = lease->ttl_us});
    AWAIT(self, ASKED);
    if (!moment_is_integer(in, 1)) {
        out_no_setnx(out, in);
        SCRIPT_RETURN(self);
    }
    out_granted(out);
    AWAIT(self, HELD);

    /* DEL key, whoever it belongs to. */
    out_del(out, SERVER_ONE);
    AWAIT(self, DELETED);
    out_deleted(out, in);

    SCRIPT_END(self);
}

const struct scheme scheme_lua_setnx_expire_del = {
    .name = "lua-setnx-expire-del",
    .summary = "a script: setnx, and expire when it won; released by DEL",
    .source = "Redis documentation, Scripting with Lua; redis-py 2.10, LuaLock",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_FIXED,
    .unit_us = UNIT_SECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .weakness = "DEL removes anybody's lock; an error in EXPIRE leaves a lock for ever",
};
