/* beside.c - what somebody else did to a key while a command was on its way to it, or may have
 * done.
 *
 * What differs between the two looks is the command's doing where it can be (can.h), and where its
 * answer proves it, or nobody else was there (alone.h). */
#include "watch/kinds.h"
#include "watch/tell.h"

#include "base/memory.h"

#include <stdlib.h>

void tell_leave_key(const struct telling *it)
{
    keys_leave(&it->watching->keys, it->key, it->seen->behind, it->seen->looked_us,
               watching_now_us(it->watching));
}

void tell_found_gone(struct telling *it)
{
    it->key->is_lock = false;
    if (key_is_gone_early(it->key, it->seen->done_us))
        watching_missed(it->watching,
                        "'%s' was found gone before its time, and nobody was seen to delete it: a "
                        "script that does not name it, a command that waits, or somebody past the "
                        "proxy",
                        it->key->name);
}

/* The lock goes on where it has another lease, and no value but its own. */
static void leave_changed(struct telling *it, enum did did)
{
    if (!it->key->is_lock)
        return;
    it->key->is_lock = did_is_expiry(did);
    tell_leave_key(it);
}

/* Where another value is found the answer may have been about that one: only the owner's own is
 * told. */
static bool is_of_owner(struct telling *it)
{
    const struct seen_execution *seen = it->seen;
    const int named = holder_named(it->watching, seen->words, seen->key);
    return (named == NOBODY_KNOWN
                ? holder_author(it->watching, seen->link, seen->key, TAKES_NOTHING).holder
                : named) == it->key->owner;
}

bool tell_changed_behind(struct telling *it, enum did did, struct key_look *said)
{
    const struct seen_execution *seen = it->seen;
    const int64_t gave_us = it->key->is_lock ? tell_gave_us(it) : 0;
    if (!gave_us || tell_ends_as_said(it) ||
        ((did == DID_DELETED || did == DID_OVERWRITTEN) && !is_of_owner(it)))
        return false;
    watching_missed(it->watching,
                    "'%s' was found otherwise than %s at %.1f ms had left it by its answer: a "
                    "script that does not name it, or somebody past the proxy, had changed it",
                    it->key->name, opaque_words(&it->opaque), (double)seen->done_us / 1000);
    *said = *seen->before;
    said->left_us = gave_us - (seen->looked_us - seen->sent_us);
    return true;
}

const struct key_look *tell_changed_beside(struct telling *it, enum did did)
{
    const bool is_refused = tell_is_refusal(it) || it->reply.kind == REPLY_ERROR,
               is_made = tell_is_grant_like(it) && !kind_is_script(it->seen->name) && !is_refused;
    if (it->key->is_lock && (is_made || (is_refused && did == DID_DELETED))) {
        tell_found_gone(it);
    } else if (it->key->is_lock) {
        watching_missed(it->watching,
                        "'%s' was changed while %s was on its way, which cannot do that: a script "
                        "that does not name it, or somebody past the proxy",
                        it->key->name, it->seen->name);
        leave_changed(it, did);
    }
    return is_made ? &no_such_key : it->seen->behind;
}

/* Is it told as the doing of whoever holds the lock, or is granted it, so that nobody is blamed for
 * it, now or later? */
static bool is_own(const struct telling *it, enum did did)
{
    if (did == DID_CREATED)
        return it->seen->behind->left_us != INT64_MAX && !tell_is_refusal(it);
    return (did == DID_DELETED || did == DID_OVERWRITTEN || did == DID_LENGTHENED) &&
           holder_named(it->watching, it->seen->words, it->seen->key) == it->key->owner;
}

/* The caller frees. */
static char *doubt_words(const struct telling *it, enum did did)
{
    return memory_format("whether %s at %.1f ms %s '%s', or somebody else did in that instant, "
                         "nobody can tell",
                         opaque_words(&it->opaque), (double)it->seen->done_us / 1000,
                         did == DID_CREATED   ? "made"
                         : did == DID_DELETED ? "deleted"
                                              : "changed",
                         it->key->name);
}

/* It is proved in the end, or not. */
static void note_unproved(struct telling *it, enum did did)
{
    /* Whoever took the lock away, its holder had sent its release. */
    if (!it->watching->unproved && !(did == DID_DELETED && tell_only_deletes(it)))
        it->watching->unproved = doubt_words(it, did);
}

const char *tell_doubt(struct telling *it, enum did did)
{
    const struct watched_run *watching = it->watching;
    const bool is_grant = did == DID_CREATED && tell_is_grant_like(it) && tell_is_lock(it);
    const bool is_change = did == DID_DELETED || did == DID_OVERWRITTEN || did_is_expiry(did);
    if ((watching->keys.is_ours && !it->seen->is_beside) ||
        !(is_grant || (is_change && it->key->is_lock)) || tell_is_proved(it, did))
        return NULL;
    if (is_own(it, did)) {
        note_unproved(it, did);
        return NULL;
    }
    if (it->seen->is_beside)
        return DOUBT_BESIDE;
    return watching_not_alone(it->watching);
}

const struct key_look *tell_doubted(struct telling *it, enum did did, const char *why)
{
    char *words = doubt_words(it, did);
    watching_missed(it->watching, "%s: %s", words, why);
    free(words);
    leave_changed(it, did);
    return it->seen->behind;
}
