/* fences.c - keys that hold the newest fence of something that is guarded: what a write made of it.
 */
#include "watch/internal.h"

#include <stdio.h>
#include <string.h>

static void note_restart(struct watched_run *watching, const struct seen_execution *seen,
                         const struct opaque *opaque)
{
    const struct watched_key *key = &watching->keys.rows[seen->key];
    if (seen->before->has_fence || seen->before->has_word ||
        key->highest_fence <= seen->behind->fence)
        return;
    watching->outcome->fences_back++;
    watching_note(
        watching,
        "%s at %.1f ms began the fence in %s anew with %lld: it had been %lld, and the key "
        "was gone",
        opaque_words(opaque), (double)seen->done_us / 1000, key->name,
        (long long)seen->behind->fence, (long long)key->highest_fence);
}

static void put(struct watched_run *watching, const struct seen_execution *seen,
                const struct opaque *opaque, int who)
{
    const struct key_look *before = seen->before, *behind = seen->behind;
    const struct effects effects = {
        .count = 1,
        .on = {{.key = KEY_RESOURCE,
                .did = before->is_there ? DID_OVERWRITTEN : DID_CREATED,
                .before = before->is_there ? BEFORE_PRESENT : BEFORE_ABSENT,
                .wanted = EFFECT_SET,
                .has_old = before->has_fence,
                .old_value = before->fence,
                .has_new = true,
                .new_value = behind->fence,
                .has_fence = true,
                .fence = behind->fence}}};
    const struct event event = {.time_us = seen->done_us,
                                .from_us = seen->sent_us,
                                .kind = EVENT_EXECUTE,
                                .client = who,
                                .lock = seen->key,
                                .attempt = watching->holders[who].attempt,
                                .op = OP_ACCESS,
                                .reply = {.kind = REPLY_OK},
                                .opaque = opaque,
                                .effects = &effects};
    story_put(watching->story, &event, NULL, ALWAYS);
}

/* What was written cannot be put in order: neither what it follows nor what follows it. */
static void note_word(struct watched_run *watching, const struct seen_execution *seen,
                      const struct opaque *opaque)
{
    const struct key_look *before = seen->before, *behind = seen->behind;
    const char *name = watching->keys.rows[seen->key].name;
    if (behind->has_word && (!before->has_word || strcmp(before->value, behind->value) != 0))
        watching_missed(
            watching,
            "%s wrote what is no whole number into %s, where a fence is kept: whether it "
            "was stale cannot be told",
            opaque_words(opaque), name);
    else if (before->has_word && behind->has_fence)
        watching_missed(
            watching, "%s wrote a fence into %s, over a word: whether it was stale cannot be told",
            opaque_words(opaque), name);
}

/* Something changed it since it was left so; that it has gone by itself is no change. */
static void note_unseen(struct watched_run *watching, const struct watched_key *key,
                        const struct key_look *before)
{
    char found[32] = "a word";
    if (!key->has_left_fence || !(before->has_word || before->has_fence) ||
        (before->has_fence && before->fence == key->left_fence))
        return;
    if (before->has_fence)
        (void)snprintf(found, sizeof found, "the fence %lld", (long long)before->fence);
    watching_missed(watching,
                    "%s was found with %s, and had been left with %lld: something that did not "
                    "name it (a script, or somebody past the proxy) changed it",
                    key->name, found, (long long)key->left_fence);
}

/* Is the fence that stands there one that the command wrote, by its words or its answer? */
static bool is_its_fence(const struct seen_execution *seen)
{
    const struct request_words *words = seen->words;
    char number[24], answer[28];
    const int length = snprintf(number, sizeof number, "%lld", (long long)seen->behind->fence);
    (void)snprintf(answer, sizeof answer, ":%s\r\n", number);
    for (int i = 2; i < words->count; i++)
        if (words->lengths[i] == (size_t)length &&
            memcmp(words->at[i], number, words->lengths[i]) == 0)
            return true;
    return seen->reply && seen->reply_length == strlen(answer) &&
           memcmp(seen->reply, answer, seen->reply_length) == 0;
}

/* Would somebody be blamed for a smaller fence that somebody else may have written? As
 * tell_doubt(). */
static const char *doubt(struct watched_run *watching, const struct seen_execution *seen)
{
    const int64_t fence = seen->behind->fence;
    if (!seen->before->is_there ||
        (fence >= watching->keys.rows[seen->key].highest_fence &&
         !(seen->before->has_fence && seen->before->fence > fence)) ||
        is_its_fence(seen))
        return NULL;
    return seen->is_beside ? DOUBT_BESIDE : watching_not_alone(watching);
}

void fence_changed(struct watched_run *watching, const struct seen_execution *seen,
                   const struct opaque *opaque)
{
    const struct key_look *before = seen->before, *behind = seen->behind;
    struct watched_key *key = &watching->keys.rows[seen->key];
    note_unseen(watching, key, before);
    note_word(watching, seen, opaque);
    key->has_left_fence = behind->has_fence;
    key->left_fence = behind->fence;
    if (!behind->has_fence || (before->has_fence && before->fence == behind->fence))
        return;
    const char *why = doubt(watching, seen);
    if (why) {
        watching_missed(watching,
                        "whether %s at %.1f ms wrote the fence %lld into %s, or somebody else did "
                        "in that instant, nobody can tell: %s",
                        opaque_words(opaque), (double)seen->done_us / 1000,
                        (long long)behind->fence, key->name, why);
        return;
    }
    const int named = holder_named(watching, seen->words, seen->key);
    const int who = named != NOBODY_KNOWN ? named : holder_unknown(watching);
    watching->outcome->fenced++;
    if (who != NOBODY_KNOWN)
        put(watching, seen, opaque, who);
    note_restart(watching, seen, opaque);
    if (behind->fence > key->highest_fence)
        key->highest_fence = behind->fence;
}
