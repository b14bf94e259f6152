/* key_form.c - a key of any type as one text, with tokens made symbols: its type, and its elements,
 * those without an order of their own in the order of their bytes. See key_form.h. */
#include "ask/key_form.h"

#include "live/control.h"

#include <stdlib.h>
#include <string.h>

/* How a type is read and made. Source: Redis documentation, "Redis data types". */
struct form_type {
    const char *name, *read, *add;
    char letter;
    int width;      /* elements that belong together */
    bool has_order; /* of its own */
};

static const struct form_type types[] = {
    {"string", "GET %s", "SET", 's', 1, true},
    {"hash", "HGETALL %s", "HSET", 'h', 2, false},
    {"list", "LRANGE %s 0 -1", "RPUSH", 'l', 1, true},
    {"set", "SMEMBERS %s", "SADD", 'e', 1, false},
    {"zset", "ZRANGE %s 0 -1 WITHSCORES", "ZADD", 'z', 2, true},
};
enum { TYPES = sizeof types / sizeof *types, UNITS_MAX = 64, ELEMENT_HEAD = 3 };

/* What an element begins with: a token, or a text with its length behind it. */
enum { ELEMENT_TOKEN = '*', ELEMENT_TEXT = '=' };

/* --- read --- */

static bool is_whose_token(const redisReply *element, const struct spoken_token *token)
{
    return token->length && element->len == token->length &&
           memcmp(element->str, token->bytes, token->length) == 0;
}

static bool has_token(const redisReply *element, const struct spoken_token *token)
{
    return token->length && memmem(element->str, element->len, token->bytes, token->length);
}

static enum fail take_element(const struct server_asker *asker, const redisReply *element,
                              struct key_form *form, struct failure *failure)
{
    const bool is_own = is_whose_token(element, &asker->own),
               is_other = is_whose_token(element, &asker->other);
    if (form->used + ELEMENT_HEAD + element->len > sizeof form->bytes)
        return failure_set(failure, FAIL_UNKNOWN, "is too long");
    if (is_own || is_other) {
        form->bytes[form->used++] = ELEMENT_TOKEN;
        form->whose |= is_own ? WHOSE_OWN : WHOSE_OTHER;
        return FAIL_NONE;
    }
    if (has_token(element, &asker->own) || has_token(element, &asker->other))
        return failure_set(failure, FAIL_UNKNOWN, "has a token within a longer text");
    form->bytes[form->used++] = ELEMENT_TEXT;
    form->bytes[form->used++] = (char)(element->len >> 8);
    form->bytes[form->used++] = (char)element->len;
    memcpy(form->bytes + form->used, element->str, element->len);
    form->used += element->len;
    return FAIL_NONE;
}

/* Elements that belong together, in the form's bytes. */
struct unit {
    size_t begin, length;
};

static void sort_units(struct key_form *form, struct unit *units, size_t count)
{
    char sorted[FORM_BYTES_MAX];
    size_t used = 1;
    for (size_t i = 0; i < count; i++) {
        size_t least = i;
        for (size_t j = i; j < count; j++) {
            const size_t a = units[least].length, b = units[j].length;
            const int order = memcmp(form->bytes + units[j].begin, form->bytes + units[least].begin,
                                     a < b ? a : b);
            if (order < 0 || (order == 0 && b < a))
                least = j;
        }
        const struct unit unit = units[least];
        units[least] = units[i];
        memcpy(sorted + used, form->bytes + unit.begin, unit.length);
        used += unit.length;
    }
    memcpy(form->bytes + 1, sorted + 1, used - 1);
}

static enum fail take_elements(const struct server_asker *asker, const struct form_type *type,
                               const redisReply *reply, struct key_form *form,
                               struct failure *failure)
{
    struct unit units[UNITS_MAX];
    const size_t all = reply->type == REDIS_REPLY_ARRAY ? reply->elements : 1;
    const size_t count = all / (size_t)type->width;
    if (count > UNITS_MAX)
        return failure_set(failure, FAIL_UNKNOWN, "has more than %d elements", UNITS_MAX);
    form->bytes[form->used++] = type->letter;
    for (size_t i = 0; i < count; i++) {
        units[i].begin = form->used;
        for (size_t j = 0; j < (size_t)type->width; j++) {
            const redisReply *element = reply->type == REDIS_REPLY_ARRAY
                                            ? reply->element[i * (size_t)type->width + j]
                                            : reply;
            if (take_element(asker, element, form, failure))
                return failure->code;
        }
        units[i].length = form->used - units[i].begin;
    }
    if (!type->has_order)
        sort_units(form, units, count);
    if (form->whose == (WHOSE_OWN | WHOSE_OTHER))
        return failure_set(failure, FAIL_UNKNOWN, "has the tokens of two attempts in it");
    return FAIL_NONE;
}

static const struct form_type *type_named(const char *name)
{
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

/* In whole ticks, rounded up. */
static enum fail take_left(struct server_asker *asker, const char *name, struct key_form *form,
                           struct failure *failure)
{
    const int64_t left_ms = control_integer(asker->control, failure, "PTTL %s", name);
    if (left_ms == INT64_MIN)
        return failure->code;
    form->left = NO_TICKS;
    if (left_ms >= LEFT_FAR * asker->tick_us / 1000) {
        form->left = LEFT_FAR;
        asker->has_far_keys = true;
    } else if (left_ms >= 0) {
        form->left = (int32_t)((left_ms * 1000 + asker->tick_us - 1) / asker->tick_us);
        form->left_ms = (uint32_t)left_ms;
    }
    return FAIL_NONE;
}

enum fail key_form_take(struct server_asker *asker, const char *name, struct key_form *form,
                        struct failure *failure)
{
    form->used = 0;
    form->left_ms = 0;
    form->whose = WHOSE_NONE;
    redisReply *said = control_ask(asker->control, failure, "TYPE %s", name);
    if (!said)
        return failure->code;
    const struct form_type *type = type_named(said->str);
    if (!type)
        failure_set(failure, FAIL_UNKNOWN, "is a %.20s", said->str);
    freeReplyObject(said);
    redisReply *reply = type ? control_ask(asker->control, failure, type->read, name) : NULL;
    if (!reply)
        return failure->code;
    const enum fail fail = take_elements(asker, type, reply, form, failure);
    freeReplyObject(reply);
    return fail ? fail : take_left(asker, name, form, failure);
}

/* --- made --- */

/* The next element; returns what is behind it. */
static const char *next_element(const char *at, const struct spoken_token *token,
                                const char **element, size_t *length)
{
    if (*at == ELEMENT_TOKEN) {
        *element = token->bytes;
        *length = token->length;
        return at + 1;
    }
    *length = (size_t)(unsigned char)at[1] << 8 | (unsigned char)at[2];
    *element = at + ELEMENT_HEAD;
    return *element + *length;
}

static enum fail add_unit(struct server_asker *asker, const struct form_type *type,
                          const char *name, const char *const *elements, const size_t *lengths,
                          struct failure *failure)
{
    const int second = type->width - 1;
    /* Of a sorted set the score stands first. */
    const int first = type->letter == 'z' ? second : 0;
    if (!second)
        return control_do(asker->control, failure, "%s %s %b", type->add, name, elements[0],
                          lengths[0]);
    return control_do(asker->control, failure, "%s %s %b %b", type->add, name, elements[first],
                      lengths[first], elements[second - first], lengths[second - first]);
}

enum fail key_form_put(struct server_asker *asker, const char *name, const struct key_form *form,
                       struct failure *failure)
{
    const struct spoken_token *token = form->whose == WHOSE_OTHER ? &asker->other : &asker->own;
    const struct form_type *type = types;
    const char *at = form->bytes + 1, *elements[2];
    size_t lengths[2];
    while (type->letter != form->bytes[0])
        type++;
    while (at < form->bytes + form->used) {
        for (int i = 0; i < type->width; i++)
            at = next_element(at, token, &elements[i], &lengths[i]);
        if (add_unit(asker, type, name, elements, lengths, failure))
            return failure->code;
    }
    if (form->left == NO_TICKS)
        return FAIL_NONE;
    return control_do(asker->control, failure, "PEXPIRE %s %lld", name,
                      (long long)form->left * asker->tick_us / 1000);
}

bool key_form_is_whole(const char *bytes, size_t size)
{
    size_t at = 1;
    int type = 0, elements = 0;
    while (type < TYPES && size && types[type].letter != bytes[0])
        type++;
    if (!size || type == TYPES || size > FORM_BYTES_MAX)
        return false;
    for (; at < size; elements++) {
        if (bytes[at] != ELEMENT_TOKEN && (bytes[at] != ELEMENT_TEXT || size - at < ELEMENT_HEAD))
            return false;
        at += bytes[at] == ELEMENT_TOKEN
                  ? 1
                  : ELEMENT_HEAD +
                        ((size_t)(unsigned char)bytes[at + 1] << 8 | (unsigned char)bytes[at + 2]);
    }
    return at == size && elements > 0 && elements % types[type].width == 0;
}
