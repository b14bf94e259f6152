/* change.c - see change.h. */
#include "checks/change.h"

/* "1 it was there, 0 it was not", of a command that does what when it was. */
static struct change when_present(const struct reply *reply, enum change_kind what)
{
    if (reply->kind != REPLY_INTEGER && reply->kind != REPLY_TRANSACTION)
        return (struct change){0};
    if (reply->value > 0)
        return (struct change){.before = BEFORE_PRESENT, .kind = what};
    return (struct change){.before = BEFORE_ABSENT};
}

/* Commands that compare first: 0 says "absent or another value". */
static struct change when_equal(const struct command *command, const struct reply *reply,
                                enum change_kind what)
{
    if (reply->kind != REPLY_INTEGER)
        return (struct change){0};
    if (reply->value > 0)
        return (struct change){
            .before = BEFORE_PRESENT, .kind = what, .has_value = true, .value = command->value};
    return (struct change){.is_unlike = true, .value = command->value};
}

/* Commands that write when there was no key. */
static struct change when_absent(const struct command *command, bool was_absent, bool was_present,
                                 bool has_ttl)
{
    if (was_present)
        return (struct change){.before = BEFORE_PRESENT};
    if (!was_absent)
        return (struct change){0};
    return (struct change){.before = BEFORE_ABSENT,
                           .kind = CHANGE_WRITE,
                           .has_ttl = has_ttl,
                           .ttl_us = command->ttl_us};
}

static struct change with_expiry(struct change change, const struct command *command)
{
    if (change.kind != CHANGE_EXPIRY)
        return change;
    change.has_ttl = true;
    change.ttl_us = command->ttl_us;
    if (command->ttl_us <= 0) /* "EXPIRE k 0" deletes, and says 1 */
        change.kind = CHANGE_DELETE;
    return change;
}

static struct change multi_setnx_expire(const struct command *command, const struct reply *reply)
{
    if (reply->kind == REPLY_ERROR && reply->error == ERROR_EXPIRE)
        return (struct change){.kind = CHANGE_WRITE_IF_NEW};
    if (reply->kind != REPLY_TRANSACTION)
        return (struct change){0};
    if (reply->value == 1)
        return when_absent(command, true, false, true);
    struct change change = {.before = BEFORE_PRESENT, .kind = CHANGE_EXPIRY};
    return with_expiry(change, command);
}

static struct change swap(const struct reply *reply)
{
    if (reply->kind == REPLY_NIL)
        return (struct change){.kind = CHANGE_SWAP, .before = BEFORE_ABSENT};
    if (reply->kind == REPLY_VALUE)
        return (struct change){.kind = CHANGE_SWAP,
                               .before = BEFORE_PRESENT,
                               .has_value = true,
                               .value = reply->value};
    return (struct change){0};
}

static struct change get(const struct reply *reply)
{
    struct change change = swap(reply);
    change.kind = CHANGE_NONE;
    return change;
}

struct change change_read(const struct command *command, const struct reply *reply)
{
    bool is_nil = reply->kind == REPLY_NIL, is_ok = reply->kind == REPLY_OK;
    switch (command->verb) {
    case VERB_SETNX:
        return when_absent(command, reply_is_integer(reply, 1), reply_is_integer(reply, 0), false);
    case VERB_SET_NX_PX:
    case VERB_SET_NX_EX:
        return when_absent(command, is_ok, is_nil, true);
    case VERB_SET_MINT:
        return when_absent(command, reply->kind == REPLY_INTEGER, is_nil, true);
    case VERB_LUA_SETNX_EXPIRE:
        if (reply->kind == REPLY_ERROR && reply->error == ERROR_EXPIRE)
            return (struct change){.kind = CHANGE_WRITE_IF_NEW};
        return when_absent(command, reply_is_integer(reply, 1), reply_is_integer(reply, 0), true);
    case VERB_MULTI_SETNX_EXPIRE:
        return multi_setnx_expire(command, reply);
    case VERB_SET:
        return (struct change){.kind = is_ok ? CHANGE_WRITE : CHANGE_NONE};
    case VERB_GET:
        return get(reply);
    case VERB_GETSET:
        return swap(reply);
    case VERB_DEL:
    case VERB_MULTI_DEL:
        return when_present(reply, CHANGE_DELETE);
    case VERB_EXPIRE:
    case VERB_PEXPIRE:
        return with_expiry(when_present(reply, CHANGE_EXPIRY), command);
    case VERB_COMPARE_DELETE:
    case VERB_COMPARE_DELETE_SHA:
    case VERB_DELEX:
    case VERB_DELIFEQ:
        return when_equal(command, reply, CHANGE_DELETE);
    case VERB_COMPARE_EXPIRE:
        return with_expiry(when_equal(command, reply, CHANGE_EXPIRY), command);
    default:
        return (struct change){0};
    }
}
