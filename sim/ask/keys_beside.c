/* keys_beside.c - the keys that a server has beside that of the lock, as one number. */
#include "ask/server_asker.h"

#include "live/control.h"

#include <stdlib.h>
#include <string.h>

enum { BESIDE_MAX = 8, BESIDE_BYTES_MAX = 1024 };

/* Names and values, each with a NUL behind it, by name. */
struct beside {
    char bytes[BESIDE_BYTES_MAX];
    size_t used;
};

static enum fail refuse(const char *name, const char *why, struct failure *failure)
{
    return failure_set(failure, FAIL_UNKNOWN,
                       "it keeps a key '%.60s' beside the lock's, which %s: that is not decided by "
                       "asking yet",
                       name, why);
}

static bool has_token(const redisReply *value, const struct spoken_token *token)
{
    return token->length && memmem(value->str, value->len, token->bytes, token->length);
}

static enum fail take_text(const struct server_asker *asker, const char *name,
                           const redisReply *value, struct beside *beside, struct failure *failure)
{
    const size_t length = strlen(name) + 1;
    if (has_token(value, &asker->own) || has_token(value, &asker->other))
        return refuse(name, "has a token in it", failure);
    if (memchr(value->str, '\0', value->len) ||
        beside->used + length + value->len + 1 > sizeof beside->bytes)
        return refuse(name, "is too long", failure);
    memcpy(beside->bytes + beside->used, name, length);
    memcpy(beside->bytes + beside->used + length, value->str, value->len + 1);
    beside->used += length + value->len + 1;
    return FAIL_NONE;
}

static enum fail take_key(struct server_asker *asker, const char *name, struct beside *beside,
                          struct failure *failure)
{
    redisReply *type = control_ask(asker->control, failure, "TYPE %s", name);
    if (!type)
        return failure->code;
    const bool is_text = strcmp(type->str, "string") == 0;
    freeReplyObject(type);
    if (!is_text)
        return refuse(name, "is no text", failure);
    const int64_t left_ms = control_integer(asker->control, failure, "PTTL %s", name);
    if (left_ms == INT64_MIN)
        return failure->code;
    if (left_ms >= 0)
        return refuse(name, "expires", failure);
    redisReply *value = control_ask(asker->control, failure, "GET %s", name);
    if (!value)
        return failure->code;
    const enum fail fail = take_text(asker, name, value, beside, failure);
    freeReplyObject(value);
    return fail;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum fail keys_beside_take(struct server_asker *asker, const redisReply *names, uint32_t *number,
                           struct failure *failure)
{
    const char *found[BESIDE_MAX];
    size_t count = 0;
    struct beside beside = {.used = 0};
    for (size_t i = 0; i < names->elements; i++) {
        if (strcmp(names->element[i]->str, asker->key) == 0)
            continue;
        if (count == BESIDE_MAX)
            return refuse(names->element[i]->str, "is one of many", failure);
        found[count++] = names->element[i]->str;
    }
    qsort(found, count, sizeof *found, by_name);
    for (size_t i = 0; i < count; i++)
        if (take_key(asker, found[i], &beside, failure))
            return failure->code;
    *number = count ? intern_put(&asker->others, beside.bytes, beside.used) + 1 : 0;
    return FAIL_NONE;
}

enum fail keys_beside_put(struct server_asker *asker, uint32_t number, struct failure *failure)
{
    char bytes[BESIDE_BYTES_MAX];
    const size_t size = intern_get(&asker->others, number - 1, bytes);
    for (const char *at = bytes; at < bytes + size;) {
        const char *value = at + strlen(at) + 1;
        if (control_do(asker->control, failure, "SET %s %s", at, value))
            return failure->code;
        at = value + strlen(value) + 1;
    }
    return FAIL_NONE;
}
