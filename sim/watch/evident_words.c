/* evident_words.c - which commands are evident (evident.c), and of which key. */
#include "watch/internal.h"

#include "base/memory.h"
#include "redis/resp.h"

#include <assert.h>
#include <stdlib.h>
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
    const struct known_script *script = scripts_of_command(&watching->scripts, name, words);
    return script && script->kind == SCRIPT_RELEASES;
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

/* Where its key stands among the words that were read, and its row; 0: it is no such request, or
 * must wait. */
static int key_of(struct watched_link *link, const char *name, int *row, int64_t *lease_us)
{
    struct watched_run *watching = link->watching;
    const struct request_words *words = &watching->words;
    const int at = evident_key(watching, name, lease_us);
    if (!at)
        return 0;
    *row = keys_row(&watching->keys, link->database, words->at[at], words->lengths[at]);
    return *row != NO_KEY && is_free(watching, *row) &&
                   !(name[0] == 'E' && is_doubtful(watching, *row))
               ? at
               : 0;
}

/* --- its text --- */

void evident_text_drop(struct evident_text *text)
{
    if (text && --text->uses == 0)
        free(text);
}

/* Of the words that were read, which stand in bytes. */
static struct evident_text *text_new(const struct watched_run *watching, const char *name,
                                     const char *bytes, size_t length)
{
    const struct request_words *words = &watching->words;
    struct evident_text *text = memory_new(1, sizeof *text + length);
    assert(words->count <= EVIDENT_WORDS);
    text->words = words->count;
    for (int i = 0; i < words->count; i++)
        text->spans[i] =
            (struct resp_span){(uint64_t)(words->at[i] - bytes), (uint64_t)words->lengths[i]};
    text->length = length;
    memcpy(text->bytes, bytes, length);
    (void)strncpy(text->name, name, sizeof text->name - 1);
    return text;
}

/* NULL: it is not evident, or must wait. */
static struct evident_text *text_of(struct watched_link *link, const char *name, const char *bytes,
                                    size_t length, int *row)
{
    int64_t lease_us;
    const int at = key_of(link, name, row, &lease_us);
    if (!at)
        return NULL;
    struct evident_text *text = text_new(link->watching, name, bytes, length);
    text->key_at = at;
    text->row = *row;
    text->database = link->database;
    text->reused = link->watching->keys.reused;
    text->lease_us = lease_us;
    text->is_release = name[0] == 'E';
    return text;
}

void evident_words(struct watched_run *watching, const struct evident_command *command)
{
    const struct evident_text *text = command->text;
    const struct watched_key *key = &watching->keys.rows[command->row];
    words_take(&watching->words, text->bytes, text->spans, text->words);
    watching->words.at[text->key_at] = key->name;
    watching->words.lengths[text->key_at] = (size_t)key->name_length;
}

static bool is_same(const struct resp_span *one, const char *bytes, const struct resp_span *other,
                    const char *others)
{
    return one->length == other->length &&
           memcmp(bytes + one->offset, others + other->offset, one->length) == 0;
}

/* All behind the key. */
static struct resp_span rest_of(const struct resp_span *spans, size_t length)
{
    const uint64_t from = spans[1].offset + spans[1].length;
    return (struct resp_span){from, length - from};
}

/* Is it the newest SET again, but for the key, which may be longer or shorter? */
static bool is_alike(const struct evident_text *text, const struct proxy_request *request)
{
    if (!text || text->words != request->words_count || !is_set(request->name))
        return false;
    const struct resp_span rest = rest_of(text->spans, text->length);
    const struct resp_span others = rest_of(request->words, request->length);
    return is_same(&text->spans[0], text->bytes, &request->words[0], request->bytes) &&
           is_same(&rest, text->bytes, &others, request->bytes);
}

/* NO_KEY: it is none of a lock, or there is no room. */
static int row_of(struct watched_link *link, const char *key, size_t length)
{
    struct keys *keys = &link->watching->keys;
    const int row = length ? keys_find(keys, link->database, key, length) : NO_KEY;
    if (row != NO_KEY)
        return keys->rows[row].is_fence ? NO_KEY : row;
    return is_lock_key(keys, key, length) ? keys_row(keys, link->database, key, length) : NO_KEY;
}

int evident_row_again(struct watched_link *link, const char *bytes)
{
    struct watched_run *watching = link->watching;
    const struct evident_text *text = link->text;
    const size_t length = text->length;
    int row;
    if (memcmp(bytes, text->bytes, length) == 0 && text->database == link->database &&
        text->reused == watching->keys.reused) {
        row = text->row;
    } else {
        const struct resp_span *key = &text->spans[1];
        const uint64_t end = key->offset + key->length;
        if (memcmp(bytes, text->bytes, key->offset) != 0 ||
            memcmp(bytes + end, text->bytes + end, length - end) != 0)
            return NO_KEY;
        row = row_of(link, bytes + key->offset, key->length);
    }
    return row != NO_KEY && is_free(watching, row) ? row : NO_KEY;
}

struct evident_text *evident_read(struct watched_link *link, const struct proxy_request *request,
                                  int *row)
{
    struct watched_run *watching = link->watching;
    if (!may_be(link, request->name, request->length) || request->words_count < 3)
        return NULL;
    if (is_alike(link->text, request)) {
        const struct resp_span *key = &request->words[1];
        *row = row_of(link, request->bytes + key->offset, key->length);
        return *row != NO_KEY && is_free(watching, *row) ? link->text : NULL;
    }
    if (!keys_match(&watching->keys, request->first_key, request->first_key_length))
        return NULL;
    words_take(&watching->words, request->bytes, request->words, request->words_count);
    struct evident_text *text = text_of(link, request->name, request->bytes, request->length, row);
    if (text && is_set(request->name)) {
        evident_text_drop(link->text);
        text->uses++;
        link->text = text;
    }
    return text;
}

struct evident_text *evident_read_turn(const struct watched_request *turn, int *row)
{
    struct watched_link *link = turn->link;
    if (!may_be(link, turn->name, turn->length) ||
        !words_read(&link->watching->words, turn->bytes, turn->length))
        return NULL;
    return text_of(link, turn->name, turn->bytes, turn->length, row);
}
