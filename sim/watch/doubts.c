/* doubts.c - what nobody can tell of who did what, in words. */
#include "watch/kinds.h"
#include "watch/tell.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void doubt_say(struct watched_run *watching, char *words)
{
    if (watching->outcome->open)
        free(words);
    else
        watching->outcome->open = words;
}

char *doubt_author(const struct telling *it, const struct author *author, const char *did)
{
    static const char *const others[] = {
        [NO_OTHER] = "that had been granted it before and had not released it",
        [OTHERS_GRANTED] = "that had been granted it before and had not released it",
        [OTHERS_REFUSED] = "that had been refused it in the same process",
        [OTHERS_ELSEWHERE] = "over a connection not seen to be of the process that has it",
        [OTHERS_BESIDE] = "over another connection of its process",
        [OTHERS_OVER] = "that is given the same connection"};
    const struct holder *holders = it->watching->holders;
    const char *name = author->suspect == NOBODY_KNOWN ? "" : holders[author->suspect].name;
    const bool has_token = holder_is_token(holders[it->key->owner].token);
    return memory_format(
        "%s at %.1f ms names %s, so unknown who sent it: whether %s %s its own lock by it, "
        "or %s%s %s, nobody can tell",
        opaque_words(&it->opaque), (double)it->seen->done_us / 1000,
        has_token ? "no token" : "a lock whose value is shorter than 8 bytes, and so no token",
        holders[it->key->owner].name, did, *name ? name : "another one",
        *name ? ", over whose connection it came, and" : "",
        others[*name ? OTHERS_GRANTED : author->others]);
}

void doubt_twofold(struct telling *it, int holder, enum twofold what)
{
    static const char *const words[] = {
        [TWOFOLD_GRANTED] = "is granted the lock with the token of",
        [TWOFOLD_ASKS] = "asks for the lock with the token of",
        [TWOFOLD_NAMES] = "has asked for the lock itself, and names the token of"};
    static const char *const of_holder[] = {[TWOFOLD_GRANTED] = "which has not released it",
                                            [TWOFOLD_ASKS] = "which has it",
                                            [TWOFOLD_NAMES] = "which was granted it"};
    struct watched_run *watching = it->watching;
    struct watched_link *link = it->seen->link;
    if (watching->outcome->open ||
        (what == TWOFOLD_NAMES && !holder_has_asked(watching, holder, link)) ||
        !holder_is_twofold(watching, holder, link))
        return;
    const struct holder *own = &watching->holders[holder];
    doubt_say(
        watching,
        memory_format("%s at %.1f ms: %s %s %s, %s, in another process (%s): whether both are "
                      "one client, nobody can tell",
                      opaque_words(&it->opaque), (double)it->seen->done_us / 1000,
                      watched_link_peer(link)->label, words[what], own->name, of_holder[what],
                      own->peer.label));
}

/* Whose lock a DEL without a token took away may be told by what it does now, and is not. */
static void doubt_deleted(struct telling *it, struct holder *holder, const char *does,
                          const char *looks)
{
    if (holder->doubt)
        return;
    it->watching->outcome->doubtful_releases++;
    holder->doubt = memory_format(
        "%s at %.1f ms %s %s, whose lock a command without a token had deleted: whether %s had "
        "released it so%s, or another one had deleted it, nobody can tell",
        opaque_words(&it->opaque), (double)it->seen->done_us / 1000, does, holder->name,
        holder->name, looks);
}

void doubt_delete(struct telling *it, struct holder *holder)
{
    doubt_deleted(it, holder, "names the token of", ", and looks once more");
}

/* Does it come from that holder, for all that is known, and not from who has the lock now? */
static bool may_come_from(const struct telling *it, int number)
{
    const struct watched_run *watching = it->watching;
    const struct holder *holder = &watching->holders[number];
    const int named = holder_named(watching, it->seen->words, it->seen->key);
    const uint64_t link = it->seen->link->number;
    const int pid = watched_link_peer(it->seen->link)->pid;
    if (named != NOBODY_KNOWN)
        return named == number;
    if (it->key->is_lock && !watching->has_pool && watching->holders[it->key->owner].link == link)
        return false;
    return holder->link == link || (pid && holder->peer.pid == pid);
}

void doubt_late_expiry(struct telling *it, enum did did)
{
    struct watched_run *watching = it->watching;
    if (!tell_may_expire(it) || (did == DID_CREATED && tell_is_grant_like(it)))
        return;
    for (int h = 0; h < watching->holders_count; h++) {
        struct holder *holder = &watching->holders[h];
        if (holder->key == it->seen->key && question_is_open(holder->goes_on) &&
            holder->is_deleted && holder->was_endless && may_come_from(it, h)) {
            question_doubt(holder->goes_on);
            doubt_deleted(it, holder, "may give a time to live to the lock of", "");
        }
    }
}

void doubt_rewrite(struct telling *it)
{
    const struct request_words *words = it->seen->words;
    char value[VALUE_TEXT_MAX];
    if (!it->watching->outcome->rewrites ||
        (!kind_is_script(it->seen->name) && tell_is_grant_like(it)))
        return; /* who asks for the lock again */
    for (int i = 1; i < words->count; i++) {
        (void)keys_value(&it->watching->keys, words->at[i], words->lengths[i], value);
        const int who = holder_with_first(it->watching, value);
        if (who == NOBODY_KNOWN || it->watching->holders[who].key != it->seen->key)
            continue;
        const char *name = it->watching->holders[who].name;
        doubt_say(
            it->watching,
            memory_format("%s at %.1f ms names the value with which %s was granted its lock, "
                          "and which a command that names nobody had replaced: whether %s had "
                          "replaced it, or another one had overwritten its lock, nobody can "
                          "tell",
                          opaque_words(&it->opaque), (double)it->seen->done_us / 1000, name, name));
    }
}
