/* keys.c - see keys.h. Source: Redis documentation, PEXPIRETIME (since 7.0), PTTL, TIME. */
#include "watch/keys.h"

#include "proxy/glob.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Without PEXPIRETIME an expiry is the time and what is left, asked one behind the other. */
enum {
    TOLERANCE_US = 2000,
    GRANULE_US = 1000,
    MARGIN_US = 100000, /* a key that ends sooner is looked at */
    SLACK_US = 5000,    /* by their clock and ours an end may differ by that, and ... */
    DRIFT = 1000,       /* ... by one part in so many of the time since it was looked at */
    OVER_US = 1000000,  /* no key is there so long behind its time */
    NONE_EXPIRES = -2,  /* there is no such key; one more: it does not expire */
};

/* A key that lives longer, lives so long: 70 000 years, of which one may count on. */
#define MS_MAX (INT64_MAX / 4000)

static void set_pattern(struct key_pattern *pattern, const char *text)
{
    const size_t length = strlen(text);
    pattern->text = text;
    pattern->is_prefix = length && strcspn(text, "*?[\\") == length - 1 && text[length - 1] == '*';
    if (strchr(text, '[') || strchr(text, '\\'))
        return;
    for (const char *at = text; *at;) {
        const size_t run = strcspn(at, "*?");
        if (run > pattern->literal_length) {
            pattern->literal = at;
            pattern->literal_length = run;
        }
        at += run + (at[run] != '\0');
    }
}

void keys_set_patterns(struct keys *keys, const char *locks, const char *fences)
{
    set_pattern(&keys->locks, locks);
    if (fences)
        set_pattern(&keys->fences, fences);
    const bool is_prefix = !fences && keys->locks.is_prefix && keys->locks.literal_length;
    keys->first = is_prefix ? (unsigned char)*keys->locks.literal : -1;
}

static bool may_match(const struct key_pattern *pattern, const char *bytes, size_t length)
{
    return pattern->text && (!pattern->literal_length || memmem(bytes, length, pattern->literal,
                                                                pattern->literal_length) != NULL);
}

static bool matches(const struct key_pattern *pattern, const char *word, size_t length)
{
    const size_t literal = pattern->literal_length;
    if (pattern->is_prefix)
        return length >= literal && (!literal || memcmp(word, pattern->literal, literal) == 0);
    return pattern->text && glob_matches(pattern->text, strlen(pattern->text), word, length);
}

bool keys_may_match(const struct keys *keys, const char *bytes, size_t length)
{
    return may_match(&keys->locks, bytes, length) || may_match(&keys->fences, bytes, length);
}

bool keys_is_fence(const struct keys *keys, const char *word, size_t length)
{
    return matches(&keys->fences, word, length);
}

bool keys_match(const struct keys *keys, const char *word, size_t length)
{
    return matches(&keys->locks, word, length) || matches(&keys->fences, word, length);
}

static bool is_row(const struct watched_key *key, int database, const char *name, size_t length)
{
    return key->database == database && key->name_length == (int)length &&
           memcmp(key->name, name, length) == 0;
}

/* Eight bytes at a time, the last eight whatever was read of them. Of the product the upper bits
 * are taken: names that differ in their last letters alone differ there, and nowhere below. */
static unsigned bucket_of(const char *name, size_t length)
{
    uint64_t hash = length, part = 0;
    if (length < sizeof part) {
        for (size_t i = 0; i < length; i++)
            part = part << 8 | (unsigned char)name[i];
    } else {
        for (size_t at = 0; at + sizeof part < length; at += sizeof part) {
            memcpy(&part, name + at, sizeof part);
            hash = (hash ^ part) * UINT64_C(0x9e3779b97f4a7c15);
            hash ^= hash >> 32;
        }
        memcpy(&part, name + length - sizeof part, sizeof part);
    }
    return (unsigned)((hash ^ part) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - KEY_BUCKET_BITS));
}

/* Nobody finds it by its name any more. */
static void leave_bucket(struct keys *keys, int row)
{
    struct watched_key *key = &keys->rows[row];
    int16_t *bucket = &keys->buckets[bucket_of(key->name, (size_t)key->name_length)];
    if (*bucket == row + 1) {
        *bucket = (int16_t)key->next;
        return;
    }
    int at = *bucket - 1;
    while (keys->rows[at].next != row + 1)
        at = keys->rows[at].next - 1;
    keys->rows[at].next = key->next;
}

/* A row that was never used, else the one that has been without a lock for longest. */
static int free_row(struct keys *keys)
{
    int oldest = NO_KEY;
    if (keys->count < WATCHED_KEYS_MAX)
        return keys->count++;
    keys->reused++;
    for (int i = 0; i < WATCHED_KEYS_MAX; i++)
        if (!keys->rows[i].is_lock && !keys->rows[i].evident &&
            (oldest == NO_KEY || keys->rows[i].used < keys->rows[oldest].used))
            oldest = i;
    if (oldest != NO_KEY)
        leave_bucket(keys, oldest);
    return oldest;
}

const char *keys_value(const struct keys *keys, const char *bytes, size_t length, char *text)
{
    return keys->hides_values && length >= TOKEN_LEAST
               ? value_digest(keys->salt, bytes, length, text)
               : value_of_bytes(bytes, length, text);
}

void keys_hide_words(const struct keys *keys, const struct request_words *words,
                     struct opaque *opaque)
{
    const char *at[HIDDEN_WORDS_MAX];
    size_t lengths[HIDDEN_WORDS_MAX];
    char texts[HIDDEN_WORDS_MAX][VALUE_TEXT_MAX];
    struct opaque hidden;
    const int count = words->count < HIDDEN_WORDS_MAX ? words->count : HIDDEN_WORDS_MAX;
    for (int i = 0; i < count; i++) {
        const bool is_shown = i == 0 || words->lengths[i] < TOKEN_LEAST ||
                              keys_matches(keys, words->at[i], words->lengths[i]);
        at[i] =
            is_shown ? words->at[i] : keys_value(keys, words->at[i], words->lengths[i], texts[i]);
        lengths[i] = is_shown ? words->lengths[i] : strlen(texts[i]);
    }
    opaque_of_words(&hidden, at, lengths, count, 0);
    (void)strcpy(opaque->text, hidden.text);
    opaque->digest = hidden.digest;
}

static int row_in(const struct keys *keys, int16_t bucket, int database, const char *name,
                  size_t length)
{
    for (int at = bucket; at; at = keys->rows[at - 1].next)
        if (is_row(&keys->rows[at - 1], database, name, length))
            return at - 1;
    return NO_KEY;
}

int keys_find(const struct keys *keys, int database, const char *name, size_t length)
{
    return row_in(keys, keys->buckets[bucket_of(name, length)], database, name, length);
}

int keys_row(struct keys *keys, int database, const char *name, size_t length)
{
    if (length >= WATCHED_KEY_MAX)
        return NO_KEY;
    int16_t *bucket = &keys->buckets[bucket_of(name, length)];
    const int found = row_in(keys, *bucket, database, name, length);
    if (found != NO_KEY)
        return found;
    const int row = memchr(name, '\0', length) ? NO_KEY : free_row(keys);
    if (row == NO_KEY)
        return NO_KEY;
    struct watched_key *key = &keys->rows[row];
    *key = (struct watched_key){.is_used = true,
                                .database = database,
                                .name_length = (int)length,
                                .next = *bucket,
                                .used = ++keys->looks, /* else the next name would take it */
                                .is_fence = keys_is_fence(keys, name, length)};
    memcpy(key->name, name, length);
    *bucket = (int16_t)(row + 1);
    return row;
}

/* --- a look --- */

static enum fail take_type(struct keys *keys, char type[16], struct failure *failure)
{
    redisReply *reply = control_answer(keys->control, "TYPE", failure);
    if (!reply)
        return FAIL_UNAVAILABLE;
    const bool is_type = reply->type == REDIS_REPLY_STATUS;
    strncpy(type, is_type ? reply->str : "", 15);
    freeReplyObject(reply);
    return is_type ? FAIL_NONE
                   : failure_set(failure, FAIL_UNAVAILABLE, "it answers TYPE with no type");
}

static enum fail take_expiry(struct keys *keys, int64_t *ms, struct failure *failure)
{
    struct failure refused;
    const bool is_asking = !keys->lacks_expiretime;
    redisReply *reply =
        control_answer(keys->control, "PEXPIRETIME", is_asking ? &refused : failure);
    bool is_time = true;
    if (reply)
        is_time = reply->type == REDIS_REPLY_INTEGER && reply->integer >= NONE_EXPIRES;
    if (!is_time)
        failure_set(failure, FAIL_UNAVAILABLE, "it answers %s with no time",
                    is_asking ? "PEXPIRETIME" : "PTTL");
    if (reply)
        *ms = reply->integer;
    else if (is_asking && !keys->control->err)
        keys->lacks_expiretime = true; /* and this look is made again */
    else
        return failure_set(failure, FAIL_UNAVAILABLE, "the server does not say when keys expire");
    freeReplyObject(reply);
    return is_time ? FAIL_NONE : FAIL_UNAVAILABLE;
}

/* The value of what is no text is asked for by itself. */
static enum fail take_value(struct keys *keys, const char *name, const char *type,
                            struct key_look *look, struct failure *failure)
{
    struct failure refused;
    const bool is_text = strcmp(type, "string") == 0;
    redisReply *reply = control_answer(keys->control, "GET", is_text ? failure : &refused);
    if (!reply && is_text)
        return FAIL_UNAVAILABLE;
    const bool is_value = reply && reply->type == REDIS_REPLY_STRING;
    const bool is_answer = !is_text || is_value || reply->type == REDIS_REPLY_NIL;
    if (is_value)
        (void)keys_value(keys, reply->str, reply->len, look->value);
    look->is_there = is_value || !is_text;
    if (reply)
        freeReplyObject(reply);
    (void)name;
    return is_answer ? FAIL_NONE
                     : failure_set(failure, FAIL_UNAVAILABLE, "it answers GET with no text");
}

static enum fail take_time(struct keys *keys, int64_t *now_us, struct failure *failure)
{
    redisReply *reply = control_answer(keys->control, "TIME", failure);
    if (!reply)
        return FAIL_UNAVAILABLE;
    const enum fail fail = control_read_time(reply, now_us, failure);
    freeReplyObject(reply);
    return fail;
}

/* Of a hash with one field its name, of a list with one member that, of all else its dump. */
static enum fail look_inside(struct keys *keys, const char *name, const char *type,
                             struct key_look *look, struct failure *failure)
{
    static const char *const asks[][2] = {{"hash", "HKEYS %s"}, {"list", "LRANGE %s 0 1"}};
    redisReply *reply = NULL;
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
        if (strcmp(type, asks[i][0]) == 0)
            reply = control_ask(keys->control, failure, asks[i][1], name);
    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 &&
        reply->element[0]->type == REDIS_REPLY_STRING) {
        (void)keys_value(keys, reply->element[0]->str, reply->element[0]->len, look->value);
        look->is_list = *type == 'l';
        freeReplyObject(reply);
        return FAIL_NONE;
    }
    if (reply)
        freeReplyObject(reply);
    reply = control_ask(keys->control, failure, "DUMP %s", name);
    if (!reply)
        return FAIL_UNAVAILABLE;
    look->is_there = look->is_dump = reply->type == REDIS_REPLY_STRING;
    if (look->is_there)
        (void)keys_value(keys, reply->str, reply->len, look->value);
    freeReplyObject(reply);
    return FAIL_NONE;
}

/* A whole number and nothing else, of 64 bits. */
static void read_fence(const char *text, size_t length, struct key_look *look)
{
    char digits[24] = "", *end = digits;
    look->has_word = true;
    if (!length || length >= sizeof digits)
        return;
    memcpy(digits, text, length);
    errno = 0;
    look->fence = strtoll(digits, &end, 10);
    look->has_fence = end == digits + length && !errno;
    look->has_word = !look->has_fence;
}

static enum fail look_at_fence(struct keys *keys, const char *name, const char *type,
                               struct key_look *look, struct failure *failure)
{
    const bool is_hash = strcmp(type, "hash") == 0;
    redisReply *reply =
        control_ask(keys->control, failure, is_hash ? "HGET %s fence" : "GET %s", name);
    if (!reply)
        return FAIL_UNAVAILABLE;
    if (reply->type == REDIS_REPLY_STRING)
        read_fence(reply->str, reply->len, look);
    freeReplyObject(reply);
    return FAIL_NONE;
}

static enum fail look_once(struct keys *keys, const struct watched_key *key, struct key_look *look,
                           struct failure *failure)
{
    char type[16] = "";
    int64_t ms = -1, now_us = 0;
    *look = (struct key_look){.expires_us = INT64_MAX, .left_us = INT64_MAX};
    control_append(keys->control, "TYPE %s", key->name);
    control_append(keys->control, keys->lacks_expiretime ? "PTTL %s" : "PEXPIRETIME %s", key->name);
    control_append(keys->control, "GET %s", key->name);
    control_append(keys->control, "TIME");
    /* All are taken, else the next look would be answered by what is left; the first failure
     * counts.
     */
    struct failure others;
    enum fail fail = take_type(keys, type, failure);
    fail |= take_expiry(keys, &ms, fail ? &others : failure);
    fail |= take_value(keys, key->name, type, look, fail ? &others : failure);
    fail |= take_time(keys, &now_us, fail ? &others : failure);
    look->is_there &= !fail;
    look->clock_us = now_us;
    if (fail)
        return FAIL_UNAVAILABLE;
    if (strcmp(type, "none") == 0) {
        look->is_there = false;
        return FAIL_NONE;
    }
    if (strcmp(type, "string") != 0 && look_inside(keys, key->name, type, look, failure))
        return FAIL_UNAVAILABLE;
    if (key->is_fence && (strcmp(type, "string") == 0 || strcmp(type, "hash") == 0) &&
        look_at_fence(keys, key->name, type, look, failure))
        return FAIL_UNAVAILABLE;
    if (ms < 0)
        return look->is_there && ms == NONE_EXPIRES
                   ? failure_set(failure, FAIL_UNAVAILABLE,
                                 "it answers that there is no such key, and says what is in it")
                   : FAIL_NONE;
    if (ms > MS_MAX)
        ms = MS_MAX;
    look->expires_us = ms * 1000 + (keys->lacks_expiretime ? now_us : 0);
    look->left_us = look->expires_us - now_us - (keys->lacks_expiretime ? GRANULE_US : 0);
    return look->is_there && look->left_us < -OVER_US
               ? failure_set(failure, FAIL_UNAVAILABLE,
                             "it answers that the key's time was over long ago, and what is in it")
               : FAIL_NONE;
}

enum fail keys_look(struct keys *keys, int row, struct key_look *look, struct failure *failure)
{
    struct watched_key *key = &keys->rows[row];
    key->used = ++keys->looks;
    if (keys->database != key->database) {
        if (control_do(keys->control, failure, "SELECT %d", key->database))
            return FAIL_UNAVAILABLE;
        keys->database = key->database;
    }
    const bool was_lacking = keys->lacks_expiretime;
    enum fail fail = look_once(keys, key, look, failure);
    if (!fail && keys->lacks_expiretime != was_lacking)
        fail = look_once(keys, key, look, failure);
    return fail;
}

bool keys_recall(const struct keys *keys, int row, int64_t now_us, struct key_look *look)
{
    const struct watched_key *key = &keys->rows[row];
    if (!keys->is_ours || !key->last_us || key->known != keys->knowledge)
        return false;
    *look = key->last;
    look->clock_us += now_us - key->last_us;
    if (look->left_us != INT64_MAX)
        look->left_us -= now_us - key->last_us;
    return look->left_us > MARGIN_US;
}

void keys_keep(struct keys *keys, int row, const struct key_look *look, int64_t now_us)
{
    struct watched_key *key = &keys->rows[row];
    key->last = *look;
    key->last_us = now_us;
    key->known = keys->knowledge;
}

void keys_leave(const struct keys *keys, struct watched_key *key, const struct key_look *look,
                int64_t from_us, int64_t till_us)
{
    key->ends_us = look->left_us == INT64_MAX ? INT64_MAX : from_us + look->left_us;
    key->ends_later_us = till_us - from_us;
    key->left_us = till_us;
    key->left_known = keys->knowledge;
}

static int64_t slack_us(const struct watched_key *key, int64_t now_us)
{
    return SLACK_US + (now_us - key->left_us) / DRIFT;
}

bool key_may_last(const struct watched_key *key, int64_t at_us)
{
    return at_us <= key->ends_us ||
           at_us <= key->ends_us + key->ends_later_us + slack_us(key, at_us);
}

bool key_is_as_left(const struct watched_key *key, const struct key_look *look, int64_t from_us,
                    int64_t till_us)
{
    if (!look->is_there || key->ends_us == INT64_MAX || look->left_us == INT64_MAX)
        return !look->is_there || key->ends_us == look->left_us;
    return key_may_last(key, from_us + look->left_us) &&
           till_us + look->left_us >= key->ends_us - slack_us(key, till_us);
}

bool key_is_gone_early(const struct watched_key *key, int64_t at_us)
{
    return at_us < key->ends_us - slack_us(key, at_us);
}

void keys_forget(struct keys *keys)
{
    keys->knowledge++;
}

bool keys_is_same_expiry(const struct keys *keys, const struct key_look *one,
                         const struct key_look *other)
{
    if (one->expires_us == INT64_MAX || other->expires_us == INT64_MAX || !keys->lacks_expiretime)
        return one->expires_us == other->expires_us;
    return imaxabs(one->expires_us - other->expires_us) <= TOLERANCE_US;
}
