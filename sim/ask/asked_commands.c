/* asked_commands.c - see asked_commands.h. */
#include "ask/asked_commands.h"

#include "base/names.h"
#include "live/control.h"

#include <stdio.h>
#include <string.h>

/* As INFO commandstats writes them. PUBLISH: nobody hears it, for SUBSCRIBE is none of them. */
static const char *const asked[] = {
    /* strings */
    "get", "set", "setnx", "setex", "psetex", "getset", "getdel", "getex", "append", "strlen",
    "incr", "incrby", "incrbyfloat", "decr", "decrby", "mget", "mset", "msetnx", "setrange",
    "getrange", "substr", "setbit", "getbit", "bitcount", "bitpos", "bitop", "bitfield",
    "bitfield_ro", "delex",
    /* any key */
    "del", "unlink", "exists", "type", "expire", "pexpire", "persist", "ttl", "pttl", "rename",
    "renamenx", "copy", "touch", "object|encoding",
    /* hashes */
    "hset", "hsetnx", "hmset", "hget", "hmget", "hgetall", "hdel", "hexists", "hlen", "hincrby",
    "hincrbyfloat", "hkeys", "hvals", "hstrlen",
    /* lists */
    "lpush", "lpushx", "rpush", "rpushx", "lpop", "rpop", "llen", "lrange", "lindex", "lset",
    "lrem", "ltrim", "linsert", "lpos", "lmove", "rpoplpush", "lmpop",
    /* sets */
    "sadd", "srem", "sismember", "smismember", "scard", "smove", "sintercard", "sinterstore",
    "sunionstore", "sdiffstore",
    /* sorted sets */
    "zadd", "zrem", "zscore", "zmscore", "zrank", "zrevrank", "zcard", "zcount", "zlexcount",
    "zincrby", "zrange", "zrangebyscore", "zrevrange", "zrevrangebyscore", "zrangebylex",
    "zrevrangebylex", "zrangestore", "zremrangebyrank", "zremrangebyscore", "zremrangebylex",
    "zpopmin", "zpopmax", "zmpop", "zinterstore", "zunionstore",
    /* scripts and transactions */
    "eval", "evalsha", "eval_ro", "evalsha_ro", "script|load", "script|exists", "script|flush",
    "multi", "exec", "discard", "watch", "unwatch",
    /* the rest */
    "ping", "echo", "publish", "spublish", "flushall", "flushdb", "dbsize",
    /* our own */
    "config|resetstat", "info", "hello"};

static enum fail refuse(const char *name, size_t length, struct failure *failure)
{
    return failure_set(failure, FAIL_UNKNOWN,
                       "%.*s: only commands whose answer follows from the keys alone are decided "
                       "by asking (none that waits, subscribes, goes by the server's clock, by "
                       "chance, or by an order of the server's own); --search random runs it",
                       (int)(length < 40 ? length : 40), name);
}

/* "SET k v PXAT t": the server's clock as such. Of a transaction any word may be it. */
static bool has_moment(const struct wire_words *words)
{
    const bool has_options =
        words->requests > 1 || wire_words_is(words, 0, "SET") || wire_words_is(words, 0, "GETEX");
    for (int at = 2; has_options && at < words->count; at++)
        if (wire_words_is(words, at, "EXAT") || wire_words_is(words, at, "PXAT"))
            return true;
    return false;
}

/* "SCRIPT LOAD" is "script|load". */
static bool is_asked(const struct wire_words *words)
{
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const char *bar = strchr(asked[i], '|');
        char first[40];
        if (!bar && wire_words_is(words, 0, asked[i]))
            return true;
        if (!bar)
            continue;
        (void)snprintf(first, sizeof first, "%.*s", (int)(bar - asked[i]), asked[i]);
        if (wire_words_is(words, 0, first) && wire_words_is(words, 1, bar + 1))
            return true;
    }
    return false;
}

enum fail asked_commands_check(const struct wire_words *words, struct failure *failure)
{
    if (words->count < words->wanted)
        return failure_set(failure, FAIL_UNKNOWN, "a command of more than %d words", words->count);
    if (!words->count)
        return failure_set(failure, FAIL_UNKNOWN, "a request that is no array of texts");
    if (!is_asked(words))
        return refuse(words->words[0], words->lengths[0], failure);
    if (has_moment(words))
        return refuse("EXAT or PXAT", strlen("EXAT or PXAT"), failure);
    return FAIL_NONE;
}

enum fail asked_commands_begin(redisContext *control, struct failure *failure)
{
    return control_do(control, failure, "CONFIG RESETSTAT");
}

enum fail asked_commands_end(redisContext *control, struct failure *failure)
{
    static const char mark[] = "cmdstat_";
    redisReply *info = control_ask(control, failure, "INFO commandstats");
    if (!info)
        return failure->code;
    enum fail fail = FAIL_NONE;
    const char *at = info->str ? strstr(info->str, mark) : NULL;
    for (; at && !fail; at = strstr(at, mark)) {
        char name[40];
        at += sizeof mark - 1;
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ":"), at);
        if (NAMES_FIND(asked, name) < 0)
            fail = refuse(name, strlen(name), failure);
    }
    freeReplyObject(info);
    return fail;
}
