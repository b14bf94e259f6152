/* holders.c - who holds locks, by their tokens. */
#include "watch/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool holder_is_token(const char *value)
{
    return strlen(value) >= TOKEN_LEAST;
}

const struct peer_process *watched_link_peer(struct watched_link *link)
{
    if (!link->has_peer && link->peer_port)
        peer_find(&link->watching->peers, link->peer_port, link->watching->port, &link->peer);
    link->has_peer = true;
    return &link->peer;
}

/* Of a token: most of two differ in their first bytes. */
static bool has_token(const struct holder *holder, const char *token)
{
    return memcmp(holder->token, token, TOKEN_LEAST) == 0 && strcmp(holder->token, token) == 0;
}

int holder_named(const struct watched_run *watching, const struct request_words *words, int key)
{
    const struct watched_key *row = &watching->keys.rows[key];
    int found = NOBODY_KNOWN;
    for (int i = 0; i < words->count; i++) {
        char value[VALUE_TEXT_MAX];
        if (words->lengths[i] < TOKEN_LEAST)
            continue;
        (void)keys_value(&watching->keys, words->at[i], words->lengths[i], value);
        if (!holder_is_token(value))
            continue;
        for (int h = 0; h < watching->holders_count; h++) {
            if (!has_token(&watching->holders[h], value))
                continue;
            if (row->is_lock && row->owner == h)
                return h;
            if (found == NOBODY_KNOWN || watching->holders[found].key != key)
                found = h;
        }
    }
    return found;
}

/* --- who asks for a lock by a script or a transaction --- */

static uint64_t digest_of(const struct request_words *words, int at)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < words->lengths[at]; i++)
        hash = (hash ^ (unsigned char)words->at[at][i]) * 1099511628211u;
    return hash;
}

void holder_granted_by(struct watched_run *watching, const struct request_words *words, int key,
                       const char *token)
{
    struct watched_key *row = &watching->keys.rows[key];
    char value[VALUE_TEXT_MAX];
    row->token_at = 0;
    if (words->count < 2 || !holder_is_token(token))
        return;
    row->script = digest_of(words, 1);
    for (int i = 2; i < words->count && !row->token_at; i++)
        if (strcmp(keys_value(&watching->keys, words->at[i], words->lengths[i], value), token) == 0)
            row->token_at = i;
}

/* A command that writes to a lock: only where there is none, only where there is one, whatever is
 * there, or a field beside others. */
enum writes { WRITES_NOTHING, WRITES_NX, WRITES_XX, WRITES_OVER, WRITES_FIELD };

static enum writes set_writes(const struct request_words *words, int at)
{
    for (int i = at + 3; i < at + 6; i++)
        if (words_is(words, i, "NX") || words_is(words, i, "XX"))
            return words_is(words, i, "NX") ? WRITES_NX : WRITES_XX;
    return WRITES_OVER;
}

/* What the command at that place of a transaction writes to the lock ("SETNX lock token"); value:
 * the place of the word that it writes. */
static enum writes writes_at(const struct request_words *words, int at, const char *lock,
                             int *value)
{
    static const struct {
        const char *name;
        int value;
        enum writes writes;
    } rows[] = {{"SETNX", 2, WRITES_NX},    {"HSETNX", 2, WRITES_NX},  {"HSET", 2, WRITES_FIELD},
                {"GETSET", 2, WRITES_OVER}, {"SETEX", 3, WRITES_OVER}, {"PSETEX", 3, WRITES_OVER}};
    if (at + 2 >= words->count || words->lengths[at + 1] != strlen(lock) ||
        memcmp(words->at[at + 1], lock, words->lengths[at + 1]) != 0)
        return WRITES_NOTHING;
    *value = at + 2;
    if (words_is(words, at, "SET"))
        return set_writes(words, at);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *value = at + rows[i].value;
        if (words_is(words, at, rows[i].name) && *value < words->count)
            return rows[i].writes;
    }
    return WRITES_NOTHING;
}

int holder_asks(const struct request_words *words, const char *lock, bool is_guarded)
{
    int value;
    for (int i = 0; i < words->count; i++) {
        const enum writes writes = writes_at(words, i, lock, &value);
        if (writes == WRITES_NX ||
            (is_guarded && (writes == WRITES_OVER || writes == WRITES_FIELD)))
            return value;
    }
    return 0;
}

bool holder_overwrites(const struct request_words *words, const char *lock)
{
    int value;
    for (int i = 0; i < words->count; i++)
        if (writes_at(words, i, lock, &value) == WRITES_OVER)
            return true;
    return false;
}

int holder_stranger(const struct watched_run *watching, const char *name,
                    const struct request_words *words, int key)
{
    const struct watched_key *row = &watching->keys.rows[key];
    char value[VALUE_TEXT_MAX];
    int at = 0;
    if (strcmp(name, "EXEC") != 0)
        at = row->token_at < words->count && digest_of(words, 1) == row->script ? row->token_at : 0;
    else
        at = holder_asks(words, row->name, false);
    if (!at || words->lengths[at] < TOKEN_LEAST)
        return 0;
    (void)keys_value(&watching->keys, words->at[at], words->lengths[at], value);
    return strcmp(value, watching->holders[row->owner].token) == 0 ? 0 : at;
}

/* --- places --- */

void holder_name(const struct watched_run *watching, int number, char *name)
{
    const bool is_behind = watching->unknown != NOBODY_KNOWN && number > watching->unknown;
    const int place = number - is_behind;
    const char letter = (char)('A' + place % 26);
    if (place < 26)
        (void)snprintf(name, sizeof(struct holder){0}.name, "%c", letter);
    else
        (void)snprintf(name, sizeof(struct holder){0}.name, "%c%d", letter, place / 26 + 1);
}

static bool owns(const struct watched_run *watching, int holder)
{
    for (int i = 0; i < watching->keys.count; i++)
        if (watching->keys.rows[i].is_lock && watching->keys.rows[i].owner == holder)
            return true;
    return false;
}

/* Of one whose lock is over, and of whom nothing is to be learned any more. */
static bool is_free(const struct watched_run *watching, int number)
{
    const struct holder *holder = &watching->holders[number];
    return number != watching->unknown && !holder->is_open && !question_is_open(holder->goes_on) &&
           !owns(watching, number);
}

/* A place is that of one process: the history says whose. What takes longest is asked last. */
static int free_place(struct watched_run *watching, const char *label)
{
    int oldest = NOBODY_KNOWN;
    for (int i = 0; i < watching->holders_count; i++) {
        const struct holder *holder = &watching->holders[i];
        const bool is_older =
            oldest == NOBODY_KNOWN || holder->used < watching->holders[oldest].used;
        if (is_older && !holder->is_open && strcmp(holder->peer.label, label) == 0 &&
            is_free(watching, i))
            oldest = i;
    }
    if (oldest == NOBODY_KNOWN && watching->holders_count < HOLDERS_MAX)
        return watching->holders_count++;
    return oldest;
}

void holder_settle(struct watched_run *watching, struct holder *holder)
{
    story_drop(holder->goes_on);
    holder->goes_on = NULL;
    if (watching->outcome->open)
        free(holder->doubt);
    else
        watching->outcome->open = holder->doubt;
    holder->doubt = NULL;
}

static int give_place(struct watched_run *watching, const struct peer_process *peer)
{
    const int place = free_place(watching, peer->label);
    if (place == NOBODY_KNOWN) {
        watching_missed(watching, "more than %d locks are held, or were never released",
                        HOLDERS_MAX);
        return NOBODY_KNOWN;
    }
    struct holder *holder = &watching->holders[place];
    holder_settle(watching, holder);
    *holder = (struct holder){.peer = *peer, .attempt = holder->attempt, .key = NO_KEY};
    holder_name(watching, place, holder->name);
    return place;
}

int holder_with(const struct watched_run *watching, const char *value)
{
    const int count = holder_is_token(value) ? watching->holders_count : 0;
    for (int i = 0; i < count; i++)
        if (has_token(&watching->holders[i], value))
            return i;
    return NOBODY_KNOWN;
}

int holder_with_first(const struct watched_run *watching, const char *value)
{
    for (int i = 0; i < watching->holders_count; i++)
        if (*watching->holders[i].first_token &&
            strcmp(watching->holders[i].first_token, value) == 0)
            return i;
    return NOBODY_KNOWN;
}

/* One token may be that of several locks at a time (a process' own): each has a holder then, for an
 * attempt is one at one lock. */
static int place_with(const struct watched_run *watching, const char *value, int key)
{
    int free_one = NOBODY_KNOWN;
    if (!holder_is_token(value))
        return NOBODY_KNOWN;
    for (int i = 0; i < watching->holders_count; i++) {
        if (!has_token(&watching->holders[i], value))
            continue;
        if (watching->holders[i].key == key)
            return i;
        if (free_one == NOBODY_KNOWN && is_free(watching, i))
            free_one = i;
    }
    return free_one;
}

int holder_for(struct watched_run *watching, const char *value, struct watched_link *link, int key)
{
    int place = place_with(watching, value, key);
    if (place == NOBODY_KNOWN)
        place = give_place(watching, watched_link_peer(link));
    if (place == NOBODY_KNOWN)
        return NOBODY_KNOWN;
    struct holder *holder = &watching->holders[place];
    watching->has_pool |= strcmp(holder->token, value) == 0 && holder->link != link->number;
    (void)strcpy(holder->token, value);
    holder->used = ++watching->uses;
    return place;
}

/* --- one token in two processes --- */

void holder_asked(struct watched_run *watching, int holder, struct watched_link *link, int key)
{
    struct holder *it = &watching->holders[holder];
    const struct peer_process *peer = watched_link_peer(link);
    if (it->key != key)
        it->asked_count = 0;
    else if (it->peer.pid && it->peer.pid != peer->pid)
        it->asked[it->asked_count++ % ASKED_MAX] = it->peer.pid;
    it->key = key;
    it->peer = *peer;
    it->link = link->number;
}

static bool has_end(const struct watched_run *watching, uint64_t number, int pid)
{
    for (const struct watched_link *link = watching->open; link; link = link->next)
        if (link->number == number)
            return peer_has(link->peer_port, proxy_port(watching->proxy), pid);
    return false;
}

bool holder_is_twofold(struct watched_run *watching, int holder, struct watched_link *link)
{
    const struct holder *it = &watching->holders[holder];
    const struct peer_process *peer = watched_link_peer(link);
    return peer->pid && it->peer.pid && peer->pid != it->peer.pid &&
           !has_end(watching, link->number, it->peer.pid) &&
           !has_end(watching, it->link, peer->pid);
}

int holder_unknown(struct watched_run *watching)
{
    if (watching->unknown != NOBODY_KNOWN)
        return watching->unknown;
    const struct peer_process nobody = {.label = ""};
    const int place =
        watching->holders_count < HOLDERS_MAX ? give_place(watching, &nobody) : NOBODY_KNOWN;
    if (place == NOBODY_KNOWN)
        return NOBODY_KNOWN;
    watching->unknown = place;
    return place;
}

int holder_of_process(struct watched_run *watching, const struct peer_process *peer, int key)
{
    for (int h = 0; h < watching->holders_count; h++) {
        const struct holder *holder = &watching->holders[h];
        if (holder->peer.pid == peer->pid && holder->key == key &&
            h != watching->keys.rows[key].owner)
            return h;
    }
    return give_place(watching, peer);
}
