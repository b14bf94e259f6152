/* evident_words.c - which commands are evident (evident.c), and of which key. */
#include "watch/internal.h"

#include "base/memory.h"
#include "redis/resp.h"

#include <string.h>

/* --- what the words say --- */

/* Two letters, in any case; 0: it is no such word. */
static int letters_at(const struct request_words *words, int at)
{
    return words->lengths[at] == 2 ? (words->at[at][0] & ~0x20) << 8 | (words->at[at][1] & ~0x20)
                                   : 0;
}

/* 0: it is something else. */
static int64_t number_at(const struct request_words *words, int at)
{
    int64_t number = 0;
    if (at >= words->count || words->lengths[at] > 12)
        return 0;
    const char *end = words->at[at] + words->lengths[at];
    for (const char *digit = words->at[at]; digit < end; digit++) {
        if (*digit < '0' || *digit > '9')
            return 0;
        number = 10 * number + (*digit - '0');
    }
    return number;
}

enum { LETTERS_NX = 'N' << 8 | 'X', LETTERS_PX = 'P' << 8 | 'X', LETTERS_EX = 'E' << 8 | 'X' };

/* SET key value NX [PX ms | EX s], in any order. */
static bool is_set_nx(const struct request_words *words, int64_t *lease_us)
{
    bool has_nx = false;
    for (int i = 3; i < words->count; i++) {
        const int letters = letters_at(words, i);
        if (letters == LETTERS_NX && !has_nx) {
            has_nx = true;
        } else if ((letters == LETTERS_PX || letters == LETTERS_EX) && *lease_us == INT64_MAX) {
            *lease_us = number_at(words, ++i) * (letters == LETTERS_PX ? 1000 : 1000000);
            if (!*lease_us)
                return false;
        } else {
            return false;
        }
    }
    return has_nx;
}

static bool is_lock_key(const struct keys *keys, const char *word, size_t length)
{
    return length && keys_matches(keys, word, length) &&
           !(keys->fences.text && keys_is_fence(keys, word, length));
}

/* Where in it the lock's key stands, and nothing that could mean another one. */
static bool names_one(const struct watched_run *watching, int at)
{
    const struct keys *keys = &watching->keys;
    const char *const *words = watching->words.at;
    const size_t *lengths = watching->words.lengths;
    if (!is_lock_key(keys, words[at], lengths[at]))
        return false;
    for (int i = 1, count = watching->words.count; i < count; i++)
        if (i != at && keys_matches(keys, words[i], lengths[i]))
            return false;
    return true;
}

/* EVAL text 1 key token, EVALSHA digest 1 key token. */
static bool is_release(struct watched_run *watching, const char *name)
{
    const struct request_words *words = &watching->words;
    if (words->count != 5 || !words_is(words, 2, "1") || words->lengths[4] < TOKEN_LEAST)
        return false;
    if (strcmp(name, "EVALSHA") == 0)
        return scripts_is_release_digest(&watching->scripts, words->at[1], words->lengths[1]);
    return strcmp(name, "EVAL") == 0 &&
           scripts_is_release(&watching->scripts, watching->keys.control, words->at[1],
                              words->lengths[1]);
}

static bool is_set(const char *name)
{
    return memcmp(name, "SET", sizeof "SET") == 0;
}

/* Where its key stands among the words that were read; 0: it is no such command. */
static int evident_key(struct watched_run *watching, const char *name, int64_t *lease_us)
{
    const struct request_words *words = &watching->words;
    *lease_us = INT64_MAX;
    if (words->count < 3)
        return 0;
    if (name[0] == 'E')
        return words->count == 5 && names_one(watching, 3) && is_release(watching, name) ? 3 : 0;
    if (!names_one(watching, 1))
        return 0;
    if (is_set(name))
        return is_set_nx(words, lease_us);
    return strcmp(name, "SETNX") == 0 && words->count == 3;
}

/* --- the row of the key --- */

/* Nothing that must be alone with the key is with the server. */
static bool is_free(const struct watched_run *watching, int row)
{
    const struct watched_request *current = watching->current;
    for (int i = 0; current && i < current->keys_count; i++)
        if (current->keys[i] == row)
            return false;
    return true;
}

/* Has a script that does not name it been with the server since the lock was left? Then it is
 * looked at before it is released. */
static bool is_doubtful(const struct watched_run *watching, int row)
{
    const struct watched_key *key = &watching->keys.rows[row];
    return key->is_lock && (watching->blind || key->left_known != watching->keys.knowledge);
}

static bool may_be(const struct watched_link *link, const char *name, size_t length)
{
    return (name[0] == 'S' || name[0] == 'E') && length <= EVIDENT_MAX && link->watching->reads &&
           link->own_port;
}

/* The row of its key, of the words that were read; NO_KEY: it is no such request, or must wait. */
static int row_of(struct watched_link *link, const char *name, int64_t *lease_us)
{
    struct watched_run *watching = link->watching;
    const struct request_words *words = &watching->words;
    const int at = evident_key(watching, name, lease_us);
    if (!at)
        return NO_KEY;
    const int row = keys_row(&watching->keys, link->database, words->at[at], words->lengths[at]);
    return row != NO_KEY && is_free(watching, row) &&
                   !(name[0] == 'E' && is_doubtful(watching, row))
               ? row
               : NO_KEY;
}

/* Where the key of "SET key ..." stands, and how much is behind it. */
struct key_place {
    const char *key;
    size_t key_length, rest_length;
};

static struct key_place place_of(const struct proxy_request *request)
{
    const struct resp_span *key = &request->words[1];
    return (struct key_place){.key = request->bytes + key->offset,
                              .key_length = key->length,
                              .rest_length = request->length - key->offset - key->length};
}

/* Is it the newest one again, but for the key? */
static bool is_alike(const struct evident_again *again, const struct proxy_request *request,
                     const struct key_place *at)
{
    return again && again->words == request->words_count && again->rest_length == at->rest_length &&
           is_set(request->name) &&
           memcmp(again->bytes + again->key_length, at->key + at->key_length, at->rest_length) == 0;
}

/* The row of one that is alike. */
static int row_again(const struct watched_link *link, const struct key_place *at)
{
    const struct evident_again *again = link->again;
    struct keys *keys = &link->watching->keys;
    if (again->key_length == at->key_length && again->database == link->database &&
        again->reused == keys->reused && memcmp(again->bytes, at->key, at->key_length) == 0)
        return again->row;
    return is_lock_key(keys, at->key, at->key_length)
               ? keys_row(keys, link->database, at->key, at->key_length)
               : NO_KEY;
}

static void keep_again(struct watched_link *link, const struct proxy_request *request,
                       const struct key_place *at, int row, int64_t lease_us)
{
    if (!link->again)
        link->again = memory_new(1, sizeof *link->again);
    struct evident_again *again = link->again;
    again->words = request->words_count;
    again->row = row;
    again->database = link->database;
    again->reused = link->watching->keys.reused;
    again->lease_us = lease_us;
    again->key_length = at->key_length;
    again->rest_length = at->rest_length;
    memcpy(again->bytes, at->key, at->key_length + at->rest_length);
}

int evident_row(struct watched_link *link, const struct proxy_request *request, int64_t *lease_us)
{
    struct watched_run *watching = link->watching;
    if (!may_be(link, request->name, request->length) || request->words_count < 3)
        return NO_KEY;
    const struct key_place at = place_of(request);
    if (is_alike(link->again, request, &at)) {
        const int row = row_again(link, &at);
        *lease_us = link->again->lease_us;
        return row != NO_KEY && is_free(watching, row) ? row : NO_KEY;
    }
    if (!keys_match(&watching->keys, request->first_key, request->first_key_length))
        return NO_KEY;
    words_take(&watching->words, request->bytes, request->words, request->words_count);
    const int row = row_of(link, request->name, lease_us);
    if (row != NO_KEY && is_set(request->name))
        keep_again(link, request, &at, row, *lease_us);
    return row;
}

int evident_row_of(const struct watched_request *turn, int64_t *lease_us)
{
    struct watched_link *link = turn->link;
    if (!may_be(link, turn->name, turn->length) ||
        !words_read(&link->watching->words, turn->bytes, turn->length))
        return NO_KEY;
    return row_of(link, turn->name, lease_us);
}
