/* authors.c - whose a command is that names no token, and changes a lock.
 *
 * A pool gives any connection to any thread of a process, so a connection alone proves little. What
 * proves more: that the token was sent over it; and that pools do not reach across processes. */
#include "watch/internal.h"

#include <string.h>

/* --- others --- */

/* Who else was granted that lock, and has not released it: over this connection, and in this
 * process. */
struct others {
    int count, in_process, process_one, link_one;
};

static struct others others_of(const struct watched_run *watching, const struct watched_link *link,
                               int key)
{
    struct others others = {.process_one = NOBODY_KNOWN, .link_one = NOBODY_KNOWN};
    for (int h = 0; h < watching->holders_count; h++) {
        const struct holder *holder = &watching->holders[h];
        if (!holder->is_open || holder->key != key || watching->keys.rows[key].owner == h)
            continue;
        others.count++;
        if (link->peer.pid && holder->peer.pid == link->peer.pid) {
            others.in_process++;
            others.process_one = h;
        }
        if (holder->link == link->number)
            others.link_one = h;
    }
    return others;
}

bool holder_is_elsewhere(struct watched_run *watching, struct watched_link *link, int key)
{
    const struct peer_process *peer = watched_link_peer(link),
                              *own = &watching->holders[watching->keys.rows[key].owner].peer;
    return peer->pid && own->pid && peer->pid != own->pid;
}

bool holder_is_here(struct watched_run *watching, struct watched_link *link, int key)
{
    const struct peer_process *peer = watched_link_peer(link),
                              *own = &watching->holders[watching->keys.rows[key].owner].peer;
    return peer->pid && own->pid && peer->pid == own->pid;
}

void holder_refused(struct watched_run *watching, struct watched_link *link, int key)
{
    struct watched_key *row = &watching->keys.rows[key];
    if (!row->is_lock || (link->refused == row->granted && row->refused_count <= REFUSED_MAX))
        return; /* or it is noted already */
    watching->has_pool |= watching->holders[row->owner].link == link->number;
    const int pid = watched_link_peer(link)->pid;
    link->refused = row->granted;
    if (row->refused_count && row->refused_last == pid)
        return;
    for (int i = 0; i < REFUSED_MAX && i < row->refused_count; i++)
        if (row->refused[i] == pid)
            return;
    row->refused_last = row->refused[row->refused_count++ % REFUSED_MAX] = pid;
}

static bool was_refused(const struct watched_key *row, int pid)
{
    for (int i = 0; i < REFUSED_MAX && i < row->refused_count; i++)
        if (row->refused[i] == pid)
            return true;
    return false;
}

bool holder_has_asked(struct watched_run *watching, int holder, struct watched_link *link)
{
    const struct holder *it = &watching->holders[holder];
    const struct watched_key *row = &watching->keys.rows[it->key];
    if (!row->refused_count && !it->asked_count)
        return false; /* nobody has, and none needs to be looked for */
    const int pid = watched_link_peer(link)->pid;
    for (int i = 0; i < ASKED_MAX && i < it->asked_count; i++)
        if (it->asked[i] == pid)
            return true;
    return was_refused(row, pid);
}

/* --- connections that had the token --- */

/* NULL: it had not. */
static struct told_link *told_over(struct watched_key *row, uint64_t link)
{
    for (int i = 0; i < TOLD_MAX && i < row->told_count; i++)
        if (row->told[i].link == link)
            return &row->told[i];
    return NULL;
}

static void note_told(struct watched_key *row, uint64_t link, bool has_sent)
{
    struct told_link *told = told_over(row, link);
    if (!told) {
        told = &row->told[row->told_count++ % TOLD_MAX];
        *told = (struct told_link){.link = link};
    }
    told->has_sent |= has_sent;
}

void holder_sent(struct watched_run *watching, const struct watched_link *link, int key)
{
    note_told(&watching->keys.rows[key], link->number, true);
}

void holder_told(struct watched_run *watching, const struct watched_link *link, int key,
                 const char *reply, size_t length)
{
    struct watched_key *row = &watching->keys.rows[key];
    const char *token = watching->holders[row->owner].token;
    struct request_words words = {0};
    char value[VALUE_TEXT_MAX];
    if (told_over(row, link->number) || !reply || !holder_is_token(token))
        return;
    words_read_reply(&words, reply, length);
    for (int i = 0; i < words.count; i++)
        if (strcmp(keys_value(&watching->keys, words.at[i], words.lengths[i], value), token) == 0)
            note_told(row, link->number, false);
    words_free(&words);
}

static bool has_sent(struct watched_run *watching, const struct watched_link *link, int key)
{
    struct watched_key *row = &watching->keys.rows[key];
    const struct told_link *told = told_over(row, link->number);
    return watching->holders[row->owner].link == link->number || (told && told->has_sent);
}

/* Who reads the token, and deletes the lock then, has compared it, where it can be its owner. */
static bool has_token(struct watched_run *watching, struct watched_link *link, int key)
{
    return has_sent(watching, link, key) || (told_over(&watching->keys.rows[key], link->number) &&
                                             holder_is_here(watching, link, key));
}

bool holder_is_another(struct watched_run *watching, struct watched_link *link, int key)
{
    if (has_sent(watching, link, key))
        return false;
    if (!holder_is_here(watching, link, key))
        return true;
    return link->refused == watching->keys.rows[key].granted && !watching->has_pool;
}

/* --- whose it is --- */

struct author holder_author(struct watched_run *watching, struct watched_link *link, int key,
                            enum taking taking)
{
    const struct watched_key *row = &watching->keys.rows[key];
    const int owner = row->owner;
    const bool is_elsewhere = holder_is_elsewhere(watching, link, key);
    const struct peer_process *peer = watched_link_peer(link),
                              *own = &watching->holders[owner].peer;
    const struct others others = others_of(watching, link, key);
    struct author author = {
        .holder = owner, .has_token = has_token(watching, link, key), .suspect = NOBODY_KNOWN};
    if (link->refused == row->granted || was_refused(row, peer->pid))
        author.others = OTHERS_REFUSED;
    if (is_elsewhere && !author.has_token && others.in_process == 1)
        return (struct author){.holder = others.process_one, .is_proved = true};
    const bool is_refused = is_elsewhere && !author.has_token && others.in_process == 0 &&
                            was_refused(row, peer->pid) && !peer_may_be_kin(peer, own);
    const int refused = is_refused ? holder_of_process(watching, peer, key) : NOBODY_KNOWN;
    if (refused != NOBODY_KNOWN)
        return (struct author){.holder = refused, .is_refused = true, .suspect = NOBODY_KNOWN};
    const bool is_own_process = holder_is_here(watching, link, key);
    if (others.count > 0 && !(is_own_process && others.in_process == 0))
        author.others = OTHERS_GRANTED;
    const bool is_own_link = watching->holders[owner].link == link->number;
    if (author.others == NO_OTHER && !author.has_token && (!is_own_process || taking == TAKES_AWAY))
        author.others = is_own_process ? OTHERS_BESIDE : OTHERS_ELSEWHERE;
    if (!is_own_link && !(is_elsewhere && others.in_process == 0))
        author.suspect = others.link_one;
    return author;
}

bool holder_is_anothers_link(struct watched_run *watching, struct watched_link *link, int key)
{
    const struct watched_key *row = &watching->keys.rows[key];
    return watching->holders[row->owner].link != link->number &&
           (link->refused == row->granted ||
            others_of(watching, link, key).link_one != NOBODY_KNOWN);
}
