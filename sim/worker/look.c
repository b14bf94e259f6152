/* look.c - see look.h. */
#include "worker/look.h"

#include "history/words.h"
#include "live/control.h"
#include "worker/wire_words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the key --- */

/* False: there is none any more. */
static bool take_value(const redisReply *reply, struct key_state *state)
{
    if (reply->type == REDIS_REPLY_STRING)
        (void)value_of_bytes(reply->str, reply->len, state->value);
    return reply->type == REDIS_REPLY_STRING;
}

static enum fail take_type(redisContext *control, struct key_state *state, bool *is_text,
                           struct failure *failure)
{
    redisReply *reply = control_answer(control, "TYPE", failure);
    if (!reply)
        return FAIL_UNAVAILABLE;
    *is_text = strcmp(reply->str, "string") == 0;
    state->is_there = strcmp(reply->str, "none") != 0;
    freeReplyObject(reply);
    return FAIL_NONE;
}

/* 146 000 years: what is added to it does not overflow. */
static const int64_t TTL_MAX_MS = INT64_MAX / 2000;

static enum fail take_expiry(redisContext *control, struct key_state *state,
                             struct failure *failure)
{
    redisReply *reply = control_answer(control, "PTTL", failure);
    if (!reply)
        return FAIL_UNAVAILABLE;
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0)
        state->ttl_us = reply->integer < TTL_MAX_MS ? reply->integer * 1000 : TTL_MAX_MS * 1000;
    freeReplyObject(reply);
    return FAIL_NONE;
}

/* All in one round trip; of what is no text GET is refused, and its value asked for again. */
enum fail look_at(redisContext *control, const struct lock_key *key, struct key_state *state,
                  struct failure *failure)
{
    struct failure refused;
    bool is_text = false;
    *state = (struct key_state){.ttl_us = TIME_NEVER};
    control_append(control, "TYPE %s", key->name);
    control_append(control, "PTTL %s", key->name);
    control_append(control, "GET %s", key->name);
    if (take_type(control, state, &is_text, failure) || take_expiry(control, state, failure))
        return FAIL_UNAVAILABLE;
    redisReply *value = control_answer(control, "GET", is_text ? failure : &refused);
    if (!value && !is_text)
        value = control_ask(control, failure, "DUMP %s", key->name);
    if (!value)
        return FAIL_UNAVAILABLE;
    state->is_there = take_value(value, state) && state->is_there;
    freeReplyObject(value);
    return FAIL_NONE;
}

/* A number that nothing ends: a fence is counted so, and no lock. */
static bool is_counter(const struct key_state *state)
{
    const char *at = state->value + (*state->value == '-');
    const size_t digits = strspn(at, "0123456789");
    return state->is_there && state->ttl_us == TIME_NEVER && digits && !at[digits];
}

/* Is that a lock's key, by a name made of the one that was told? *is_one: it is, and the shortest
 * until now. */
static enum fail weigh(redisContext *control, const redisReply *name, const char *told,
                       struct lock_key *found, struct failure *failure)
{
    struct lock_key key = {.is_known = true};
    struct key_state state;
    if (name->type != REDIS_REPLY_STRING || name->len >= sizeof key.name ||
        strlen(name->str) != name->len || !strstr(name->str, told) ||
        (found->is_known && strlen(found->name) <= name->len))
        return FAIL_NONE;
    memcpy(key.name, name->str, name->len + 1);
    if (look_at(control, &key, &state, failure))
        return failure->code;
    if (state.is_there && !is_counter(&state))
        *found = key;
    return FAIL_NONE;
}

static enum fail change_key(const struct lock_key *key, const char *told, struct failure *failure)
{
    return failure_set(failure, FAIL_UNKNOWN,
                       "it wrote the key '%s' first, which was taken for the lock's, and then "
                       "'%s', the one that it was told: what came before cannot be judged",
                       key->name, told);
}

enum fail look_choose_key(redisContext *control, const redisReply *names, const char *told,
                          struct lock_key *key, struct failure *failure)
{
    struct lock_key found = {.is_known = false};
    bool is_told_there = false;
    for (size_t i = 0; names->type == REDIS_REPLY_ARRAY && i < names->elements; i++)
        is_told_there |= strcmp(names->element[i]->str, told) == 0;
    if (key->is_known)
        return is_told_there && strcmp(key->name, told) != 0 ? change_key(key, told, failure)
                                                             : FAIL_NONE;
    for (size_t i = 0; !is_told_there && names->type == REDIS_REPLY_ARRAY && i < names->elements;
         i++)
        if (weigh(control, names->element[i], told, &found, failure))
            return failure->code;
    if (found.is_known)
        *key = found;
    key->is_known |= is_told_there;
    return FAIL_NONE;
}

/* Locks are told apart by a number at the end of their names: none of the others is meant; nor is
 * what critical sections write ("guarded"). */
static void note_other(const redisReply *names, const char *told, struct lock_key *key)
{
    char stem[LOOK_KEY_MAX];
    (void)snprintf(stem, sizeof stem, "%.*s", (int)strcspn(told, "0123456789"), told);
    for (size_t i = 0; i < names->elements && !key->other[0]; i++) {
        const char *name = names->element[i]->str;
        if (!strstr(name, stem) && strncmp(name, "guarded", strlen("guarded")) != 0)
            (void)snprintf(key->other, sizeof key->other, "%s", name);
    }
}

enum fail look_for_key(redisContext *control, const char *told, struct lock_key *key,
                       struct failure *failure)
{
    if (key->is_known && strcmp(key->name, told) == 0)
        return FAIL_NONE;
    redisReply *names = key->is_known ? control_ask(control, failure, "KEYS *%s*", told)
                                      : control_ask(control, failure, "KEYS *");
    if (!names)
        return FAIL_UNAVAILABLE;
    const enum fail fail = look_choose_key(control, names, told, key, failure);
    if (!key->is_known)
        note_other(names, told, key);
    freeReplyObject(names);
    return fail;
}

enum fail look_check_grant(const struct lock_key *key, const char *told, struct failure *failure)
{
    if (key->is_known || !key->other[0])
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN,
                       "it never wrote '%s', the key that it was told; it wrote '%.60s': use the "
                       "told key as it is, or with a prefix or suffix, since a lock under another "
                       "name cannot be judged",
                       told, key->other);
}

/* --- the command --- */

bool look_is_key(const char *name, bool is_known, const char *word, size_t length)
{
    const size_t own = strlen(name);
    if (is_known)
        return length == own && memcmp(word, name, own) == 0;
    for (size_t i = 0; i < length; i++)
        if (isspace((unsigned char)word[i]))
            return false;
    return memmem(word, length, name, own) != NULL;
}

struct opaque look_opaque(const struct lock_key *key, const char *name, const char *bytes,
                          size_t length)
{
    const struct wire_words words = wire_words_read(bytes, length);
    struct opaque opaque = {0};
    unsigned keys = 0;
    for (int i = 1; i < words.count; i++)
        if (look_is_key(key->name, key->is_known, words.words[i], words.lengths[i]))
            keys = 1u << KEY_LOCK;
    if (words.count)
        opaque_of_words(&opaque, words.words, words.lengths, words.count, keys);
    /* A transaction is called EXEC, and begins with MULTI. */
    (void)snprintf(opaque.name, sizeof opaque.name, "%s", name);
    return opaque;
}

/* --- what was done --- */

static enum effect wanted_by(enum worker_op op)
{
    if (op == WORKER_RELEASE)
        return EFFECT_DELETE;
    return op == WORKER_EXTEND ? EFFECT_EXPIRE : EFFECT_SET;
}

_Static_assert(TIME_NEVER == INT64_MAX, "key_difference says it so");

static enum did what_was_done(const struct execution_seen *seen)
{
    const struct key_state *before = seen->before, *behind = seen->behind;
    return did_between(
        &(struct key_difference){.was_there = before->is_there,
                                 .is_there = behind->is_there,
                                 .is_other = strcmp(before->value, behind->value) != 0,
                                 .ttl_before = before->ttl_us,
                                 .ttl_behind = behind->ttl_us,
                                 .by_operation = wanted_by(seen->op),
                                 .has_written_value = seen->writes & LOOK_WROTE_VALUE,
                                 .has_written_expiry = seen->writes & LOOK_WROTE_EXPIRY,
                                 .is_error = seen->is_error,
                                 .is_refusal = seen->is_refusal});
}

bool look_has_changed(const struct key_state *before, const struct key_state *behind)
{
    if (before->is_there != behind->is_there)
        return true;
    return before->is_there &&
           (before->ttl_us != behind->ttl_us || strcmp(before->value, behind->value) != 0);
}

void look_compare(const struct execution_seen *seen, struct effects *effects)
{
    const struct key_state *before = seen->before, *behind = seen->behind;
    struct key_effect *effect = &effects->on[0];
    *effects = (struct effects){.count = 1};
    effect->key = KEY_LOCK;
    effect->did = what_was_done(seen);
    effect->before = before->is_there ? BEFORE_PRESENT : BEFORE_ABSENT;
    effect->wanted = did_wants(effect->did, wanted_by(seen->op), seen->is_refusal);
    if (before->is_there) {
        effect->has_old = value_number(before->value, &effect->old_value);
        (void)strcpy(effects->texts[0].old_value, before->value);
    }
    const bool is_written = effect->did == DID_CREATED || effect->did == DID_OVERWRITTEN;
    if (is_written) {
        effect->has_new = value_number(behind->value, &effect->new_value);
        (void)strcpy(effects->texts[0].new_value, behind->value);
    }
    if (behind->is_there && behind->ttl_us != TIME_NEVER &&
        (is_written || did_is_expiry(effect->did))) {
        effect->has_ttl = true;
        effect->ttl_us = history_duration_us(behind->ttl_us);
    }
}

/* --- replies --- */

static struct reply of_text(const char *text, size_t length)
{
    char value[VALUE_TEXT_MAX];
    struct reply reply = {.kind = REPLY_VALUE};
    if (!value_number(value_of_bytes(text, length, value), &reply.value))
        reply.value = VALUE_EMPTY;
    return reply;
}

static struct reply of_error(const char *text, size_t length)
{
    const struct wire_reply error = {.type = '-', .text = text, .length = length};
    return command_decode(VERB_GET, &error, 1);
}

struct reply look_reply(const char *bytes, size_t length)
{
    const char *end = memchr(bytes, '\r', length);
    if (!end || !length)
        return (struct reply){.kind = REPLY_NIL};
    const size_t line = (size_t)(end - bytes) - 1;
    switch (*bytes) {
    case '_':
        return (struct reply){.kind = REPLY_NIL};
    case '+':
        if (line == 2 && memcmp(bytes + 1, "OK", 2) == 0)
            return (struct reply){.kind = REPLY_OK};
        return of_text(bytes + 1, line);
    case ':':
    case '#':
        return (struct reply){.kind = REPLY_INTEGER,
                              .value =
                                  *bytes == '#' ? bytes[1] == 't' : strtoll(bytes + 1, NULL, 10)};
    case '-':
        return of_error(bytes + 1, line);
    case '$': {
        const long long size = strtoll(bytes + 1, NULL, 10);
        const size_t there = length - (size_t)(end + 2 - bytes);
        if (size < 0)
            return (struct reply){.kind = REPLY_NIL};
        return of_text(end + 2, (size_t)size < there ? (size_t)size : there);
    }
    default: /* an array, or what stands for one: what it says is told by the effects */
        return (struct reply){.kind = bytes[1] == '-' ? REPLY_NIL : REPLY_OK};
    }
}
