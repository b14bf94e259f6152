/* deduce.c - what an execution was: a grant, a release, an extension, a refusal; by whom, and of
 * whose lock. Told to the story as events; never a verdict. */
#include "watch/tell.h"
#include "watch/kinds.h"

#include "base/memory.h"
#include "worker/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A holder that has not come back so long after its lock was gone did not hold it then. */
enum { PATIENCE_US = 5000000 };

/* --- holders that come back, or do not --- */

/* A DEL that came over a connection that is another one's was not the holder's, where it releases
 * its lock itself, and nothing shows that connections are handed about, as those of a pool are. */
static bool is_proof(const struct telling *it, const struct holder *holder)
{
    return !holder->is_deleted ||
           (holder->is_anothers_link && !it->watching->has_pool && tell_is_release(it));
}

/* It acts as a holder does: what was asked about it is answered. */
static void comes_back(struct telling *it, int number)
{
    struct holder *holder = &it->watching->holders[number];
    it->watching->has_pool |= holder->link != it->seen->link->number;
    if (!question_is_open(holder->goes_on))
        return;
    if (!is_proof(it, holder)) {
        doubt_delete(it, holder);
        return;
    }
    question_answer(holder->goes_on, true);
    free(holder->doubt);
    holder->doubt = NULL;
    holder->is_open = true;
}

static struct condition ask(struct telling *it, int holder, int64_t within_us, enum when when)
{
    struct question **asked = &it->watching->holders[holder].goes_on;
    holder_settle(it->watching, &it->watching->holders[holder]);
    it->watching->holders[holder].is_deleted = false;
    *asked = story_ask(it->watching->story, it->seen->done_us + within_us);
    return (struct condition){.question = *asked, .when = when};
}

/* Somebody else is granted the lock: those who have not released it, and whose lease is over, held
 * it no more, unless they come back. */
static void ask_others(struct telling *it, int winner)
{
    struct watched_run *watching = it->watching;
    for (int h = 0; h < watching->holders_count; h++) {
        const struct holder *holder = &watching->holders[h];
        if (h == winner || !holder->is_open || holder->key != it->seen->key || holder->goes_on ||
            it->seen->done_us < holder->ends_us)
            continue;
        tell_event(it, h, EVENT_NOTICE, OP_ACQUIRE, RESULT_NONE, ask(it, h, PATIENCE_US, WHEN_NO));
    }
}

/* --- what it was --- */

static void begin_attempt(struct telling *it, int number)
{
    struct holder *holder = &it->watching->holders[number];
    holder_settle(it->watching, holder);
    holder->attempt++;
    holder->is_open = false;
    holder_asked(it->watching, number, it->seen->link, it->seen->key);
    *holder->first_token = '\0';
}

/* What names the script, sent as a text or by its digest (text: VALUE_TEXT_MAX). Returns text. */
static const char *script_text(const struct telling *it, char *text)
{
    const struct request_words *words = it->seen->words;
    if (scripts_digest(&it->watching->scripts, it->seen->name, words, text))
        return text;
    return value_digest(it->watching->keys.salt, words->at[1], words->lengths[1], text);
}

/* A script has made the lock: where its token is told, whoever runs it again asks for a lock. */
static void learn_script(struct telling *it)
{
    const struct request_words *words = it->seen->words;
    char text[VALUE_TEXT_MAX], value[VALUE_TEXT_MAX];
    if (!kind_is_script(it->seen->name) || !holder_is_token(it->seen->behind->value))
        return;
    for (int i = 2; i < words->count; i++) {
        (void)keys_value(&it->watching->keys, words->at[i], words->lengths[i], value);
        if (strcmp(value, it->seen->behind->value) != 0)
            continue;
        scripts_granted(&it->watching->scripts, script_text(it, text), i);
        return;
    }
}

/* The word that holds the token with which it asks for the lock; 0: it does not, or does more. */
static int asks_with(const struct telling *it)
{
    char text[VALUE_TEXT_MAX];
    int at = 2;
    if (strcmp(it->seen->name, "EXEC") == 0)
        at = holder_asks(it->seen->words, it->key->name,
                         it->seen->is_guarded && it->reply.kind == REPLY_NIL);
    else if (kind_is_script(it->seen->name))
        at = it->seen->words->count < 2
                 ? 0
                 : scripts_token_at(&it->watching->scripts, script_text(it, text));
    else if (!tell_is_grant_like(it))
        return 0;
    return at < it->seen->words->count ? at : 0;
}

static void granted(struct telling *it, enum did did, bool is_grant)
{
    struct watched_run *watching = it->watching;
    const struct seen_execution *seen = it->seen;
    const int who = holder_for(watching, seen->behind->value, seen->link, seen->key);
    if (who == NOBODY_KNOWN)
        return;
    ask_others(it, who);
    if (watching->holders[who].is_open)
        doubt_twofold(it, who, TWOFOLD_GRANTED);
    begin_attempt(it, who);
    tell_effects(it, did, OP_ACQUIRE);
    tell_operation(it, who, OP_ACQUIRE, is_grant ? RESULT_GRANTED : RESULT_FAILED, always);
    watching->holders[who].is_open = is_grant && seen->heard == DELIVERED_NOW;
    it->key->is_lock = true;
    it->key->owner = who;
    it->key->refusals_told = 0;
    learn_script(it);
    it->key->granted = ++watching->outcome->grants;
    it->key->refused_count = it->key->told_count = 0;
    it->key->token_at = 0;
    if (kind_is_script(seen->name))
        holder_granted_by(watching, seen->words, seen->key, seen->behind->value);
    tell_leave_key(it);
    watching->holders[who].ends_us = it->key->ends_us;
}

/* Is it not proved to be the owner's? Then nobody can tell, and the verdict is unknown. */
static bool is_in_doubt(const struct telling *it, const struct author *author)
{
    return !it->seen->is_guarded && (author->others != NO_OTHER || author->suspect != NOBODY_KNOWN);
}

/* A DEL that is not the owner's, or not for all that is known: then its lock is gone by it, and
 * that is no next command of the owner's. */
static void tell_deleted(struct telling *it, int owner, struct question *question)
{
    const struct condition doubted = {question, WHEN_DOUBTED};
    tell_unknown(it, OP_RELEASE, (struct condition){question, WHEN_YES});
    tell_event(it, owner, EVENT_NOTICE, OP_ACQUIRE, RESULT_NONE, doubted);
    tell_event(it, owner, EVENT_EXECUTE, OP_RELEASE, RESULT_NONE, doubted);
}

static void released_by_owner(struct telling *it, int owner, bool is_named)
{
    struct watched_run *watching = it->watching;
    const int64_t left_us = it->seen->before->left_us;
    struct condition on = always;
    /* What it asks of the owner is open until its lease would have ended. */
    if (!is_named) {
        on = ask(it, owner, left_us < PATIENCE_US ? left_us : PATIENCE_US, WHEN_NO);
        watching->holders[owner].is_deleted = true;
        watching->holders[owner].is_anothers_link =
            holder_is_anothers_link(watching, it->seen->link, it->seen->key);
        watching->holders[owner].was_endless = left_us == INT64_MAX;
    } else {
        comes_back(it, owner);
    }
    tell_operation(it, owner, OP_RELEASE, RESULT_RELEASED, on);
    if (!is_named)
        tell_deleted(it, owner, on.question);
    watching->holders[owner].is_open = false;
    watching->outcome->releases++;
    watching->outcome->plain_deletes += words_delete(it->seen->words) && !it->seen->is_guarded;
}

static void deleted(struct telling *it)
{
    struct watched_run *watching = it->watching;
    const int named = holder_named(watching, it->seen->words, it->seen->key);
    const int owner = it->key->owner;
    struct author author = {.holder = named, .is_proved = true, .suspect = NOBODY_KNOWN};
    /* Who flushes tidies up: those of its own process have given back what they had. */
    if (named == NOBODY_KNOWN && it->seen->is_flush &&
        holder_is_here(watching, it->seen->link, it->seen->key))
        author = (struct author){.holder = owner, .suspect = NOBODY_KNOWN};
    else if (named == NOBODY_KNOWN)
        author = holder_author(watching, it->seen->link, it->seen->key, TAKES_AWAY);
    else if (named == owner)
        doubt_twofold(it, owner, TWOFOLD_NAMES);
    tell_effects(it, DID_DELETED, OP_RELEASE);
    if (author.holder == owner) {
        released_by_owner(it, owner, author.is_proved);
        if (!author.is_proved && is_in_doubt(it, &author)) {
            watching->outcome->doubtful_releases++;
            watching->holders[owner].doubt = doubt_author(it, &author, "released");
        }
    } else if (author.is_refused) {
        tell_event(it, author.holder, EVENT_EXECUTE, OP_RELEASE, RESULT_NONE, always);
    } else {
        comes_back(it, author.holder);
        tell_operation(it, author.holder, OP_RELEASE, RESULT_RELEASED, always);
        watching->holders[author.holder].is_open = false;
    }
    it->key->is_lock = false;
}

/* Somebody asks for the lock with a token of its own, is refused, and changes its lease all the
 * same. False: it is not that. */
static bool extended_when_refused(struct telling *it, enum did did)
{
    struct watched_run *watching = it->watching;
    const struct request_words *words = it->seen->words;
    char value[VALUE_TEXT_MAX];
    const bool is_script = kind_is_script(it->seen->name);
    if (is_script ? !look_is_refusal(&it->reply) : strcmp(it->seen->name, "EXEC") != 0)
        return false;
    const int at = holder_stranger(watching, it->seen->name, words, it->seen->key);
    if (!at)
        return false;
    (void)keys_value(&watching->keys, words->at[at], words->lengths[at], value);
    const int who = holder_for(watching, value, it->seen->link, it->seen->key);
    if (who == NOBODY_KNOWN)
        return false;
    if (!watching->holders[who].is_open)
        begin_attempt(it, who);
    tell_effects(it, did, OP_ACQUIRE);
    if (watching->holders[who].is_open)
        tell_event(it, who, EVENT_EXECUTE, OP_EXTEND, RESULT_NONE, always);
    else
        tell_operation(it, who, OP_ACQUIRE, RESULT_REFUSED, always);
    watching->outcome->refusals++;
    return true;
}

static void extended(struct telling *it, enum did did)
{
    struct watched_run *watching = it->watching;
    const int named = holder_named(watching, it->seen->words, it->seen->key);
    if (named != it->key->owner && extended_when_refused(it, did)) {
        tell_leave_key(it);
        return;
    }
    const bool is_shorter = it->seen->behind->left_us < it->seen->before->left_us;
    struct author author = {.holder = named, .suspect = NOBODY_KNOWN};
    if (named == NOBODY_KNOWN)
        author = holder_author(watching, it->seen->link, it->seen->key,
                               is_shorter ? TAKES_AWAY : TAKES_NOTHING);
    else if (named == it->key->owner)
        doubt_twofold(it, named, TWOFOLD_NAMES);
    tell_leave_key(it);
    tell_effects(it, did, OP_EXTEND);
    if (author.holder == it->key->owner && is_in_doubt(it, &author))
        doubt_say(watching, doubt_author(it, &author, is_shorter ? "shortened" : "extended"));
    const bool is_sure = author.has_token && !is_in_doubt(it, &author);
    if (did == DID_UNEXPIRED && named == NOBODY_KNOWN && author.holder == it->key->owner &&
        !is_sure) {
        tell_unknown(it, OP_EXTEND, always); /* wrong, whoever it was: nobody is guessed */
    } else if (author.holder == it->key->owner) {
        comes_back(it, author.holder);
        watching->holders[author.holder].ends_us = it->key->ends_us;
        tell_operation(it, author.holder, OP_EXTEND, RESULT_DONE, always);
    } else {
        tell_event(it, author.holder, EVENT_EXECUTE, OP_EXTEND, RESULT_NONE, always);
    }
}

/* Does it write a value whatever was there, so that no holder renews its lock by it? */
static bool is_blind_write(const struct telling *it)
{
    const char *name = it->seen->name;
    if (strcmp(name, "EXEC") == 0)
        return !it->seen->is_guarded && holder_overwrites(it->seen->words, it->key->name);
    return !kind_is_script(name) &&
           !(strcmp(name, "SET") == 0 && words_have(it->seen->words, "XX"));
}

/* Is it the owner that writes its own key anew, for all that can be proved? */
static bool is_rewritten_by_owner(struct telling *it)
{
    const int named = holder_named(it->watching, it->seen->words, it->seen->key);
    if (named != NOBODY_KNOWN)
        return named == it->key->owner;
    return holder_with(it->watching, it->seen->behind->value) == NOBODY_KNOWN &&
           !(is_blind_write(it) ? holder_is_another(it->watching, it->seen->link, it->seen->key)
                                : holder_is_elsewhere(it->watching, it->seen->link, it->seen->key));
}

/* The lock goes on, under another value. */
static void rewritten(struct telling *it)
{
    struct watched_run *watching = it->watching;
    const int owner = it->key->owner;
    const struct key_look *behind = it->seen->behind;
    struct holder *holder = &watching->holders[owner];
    struct key_effect *effect = &it->effects.on[0];
    const bool is_blind = is_blind_write(it), is_endless = behind->left_us == INT64_MAX;
    bool is_doubted = false;
    if (holder_named(watching, it->seen->words, it->seen->key) == NOBODY_KNOWN) {
        struct author author = holder_author(watching, it->seen->link, it->seen->key,
                                             is_blind ? TAKES_AWAY : TAKES_NOTHING);
        if (is_blind && author.others == NO_OTHER)
            author.others = OTHERS_OVER;
        is_doubted = is_in_doubt(it, &author);
        if (is_doubted)
            doubt_say(watching, doubt_author(it, &author, is_blind ? "overwrote" : "renewed"));
        watching->outcome->rewrites += !is_blind;
        if (!*holder->first_token && holder_is_token(holder->token))
            (void)strcpy(holder->first_token, holder->token);
    }
    tell_effects(it, is_endless ? DID_UNEXPIRED : DID_EXPIRY_SET, OP_EXTEND);
    effect->has_new = value_number(behind->value, &effect->new_value);
    (void)strcpy(it->effects.texts[0].new_value, behind->value);
    tell_leave_key(it);
    (void)strcpy(holder->token, behind->value);
    holder->ends_us = it->key->ends_us;
    if (is_doubted && is_endless)
        tell_unknown(it, OP_EXTEND, always); /* as in extended() */
    else
        tell_operation(it, owner, OP_EXTEND, RESULT_DONE, always);
}

/* token_at: the word that holds it. */
static void refused_acquire(struct telling *it, int token_at)
{
    char value[VALUE_TEXT_MAX];
    const struct request_words *words = it->seen->words;
    struct watch_outcome *outcome = it->watching->outcome;
    if (!it->key->is_lock || !it->seen->reply)
        return;
    (void)keys_value(&it->watching->keys, words->at[token_at], words->lengths[token_at], value);
    if (it->key->refusals_told++ >= REFUSALS_TOLD) {
        outcome->refusals++;
        return;
    }
    const int who = holder_for(it->watching, value, it->seen->link, it->seen->key);
    if (who == NOBODY_KNOWN || it->watching->holders[who].is_open || who == it->key->owner)
        return;
    begin_attempt(it, who);
    tell_effects(it, DID_REFUSED, OP_ACQUIRE);
    tell_operation(it, who, OP_ACQUIRE, RESULT_REFUSED, always);
    outcome->refusals++;
}

/* Nothing differs: a refusal, a check, a release of what is gone. */
static void unchanged(struct telling *it)
{
    struct watched_run *watching = it->watching;
    const int named = holder_named(watching, it->seen->words, it->seen->key);
    const bool is_refusal = tell_is_refusal(it), is_script = kind_is_script(it->seen->name);
    const int token_at = asks_with(it);
    const bool is_owner = it->key->is_lock && it->key->owner == named;
    /* What a script answers when it refuses is its own business; a transaction lists answers. */
    const bool lists = is_script || strcmp(it->seen->name, "EXEC") == 0;
    const bool is_refused =
        token_at && !is_owner && (is_refusal || (lists && it->reply.kind != REPLY_ERROR));
    if (is_refused)
        holder_refused(watching, it->seen->link, it->seen->key);
    if (token_at && is_owner && it->reply.kind != REPLY_ERROR)
        doubt_twofold(it, named, TWOFOLD_ASKS);
    if (named != NOBODY_KNOWN && watching->holders[named].key == it->seen->key &&
        !(is_refused && is_script)) {
        /* Who asks for the lock again does not act as its holder. */
        if (tell_is_grant_like(it) && !is_script) {
            if (is_refused)
                refused_acquire(it, token_at);
            return;
        }
        comes_back(it, named);
        if (is_owner || !watching->holders[named].is_open || !is_refusal)
            return;
        tell_effects(it, DID_REFUSED, OP_RELEASE);
        tell_operation(it, named, OP_RELEASE, RESULT_NOT_MINE, always);
        watching->holders[named].is_open = false;
        return;
    }
    if (is_refused)
        refused_acquire(it, token_at);
}

/* What happened to the key was that command's doing. */
static void tell(struct telling *it, enum did did, bool is_contradicted)
{
    struct watched_run *watching = it->watching;
    if (did == DID_CREATED && tell_is_grant_like(it) && tell_is_lock(it) &&
        !(is_contradicted && tell_is_refusal(it))) {
        granted(it, did, true);
    } else if (!it->key->is_lock) {
        if (did == DID_CREATED || did == DID_OVERWRITTEN || did == DID_DELETED)
            watching->outcome->plain++;
        else
            unchanged(it);
    } else if (did == DID_OVERWRITTEN) {
        if (is_rewritten_by_owner(it))
            rewritten(it);
        else
            granted(it, did, tell_is_grant_like(it));
    } else if (did == DID_DELETED) {
        deleted(it);
    } else if (did_is_expiry(did)) {
        extended(it, did);
    } else {
        unchanged(it);
    }
}

/* How the key stood when the command came, as far as what befell it then may be the command's
 * doing. */
static const struct key_look *stood(struct telling *it, enum did did)
{
    if (tell_has_ended(it, did)) {
        it->key->is_lock = false;
        return &no_such_key;
    }
    if (tell_is_not_its(it, did))
        return tell_changed_beside(it, did);
    const char *why = tell_doubt(it, did);
    return why ? tell_doubted(it, did, why) : it->seen->before;
}

void deduce(struct watched_run *watching, const struct seen_execution *seen)
{
    struct telling it = {
        .watching = watching, .seen = seen, .key = &watching->keys.rows[seen->key]};
    if (!seen->words->count)
        return;
    opaque_of_words(&it.opaque, seen->words->at, seen->words->lengths, seen->words->count,
                    1u << (it.key->is_fence ? KEY_RESOURCE : KEY_LOCK));
    (void)snprintf(it.opaque.name, sizeof it.opaque.name, "%s", seen->name);
    if (watching->keys.hides_values)
        keys_hide_words(&watching->keys, seen->words, &it.opaque);
    if (seen->reply)
        it.reply = look_reply(seen->reply, seen->reply_length);
    else
        it.reply = (struct reply){.kind = REPLY_OK};
    if (watching->keys.hides_values && it.reply.kind == REPLY_VALUE)
        it.reply.value = VALUE_EMPTY;
    if (it.key->is_fence) {
        fence_changed(watching, seen, &it.opaque);
        story_flush(watching->story, seen->done_us);
        return;
    }
    if (it.key->is_lock && !seen->before->is_there)
        tell_found_gone(&it);
    doubt_rewrite(&it);
    enum did did = tell_did(&it, EFFECT_READ);
    struct seen_execution after = *seen;
    struct key_look said;
    const bool is_changed_behind = tell_changed_behind(&it, did, &said),
               stays = did != DID_DELETED && did != DID_OVERWRITTEN;
    if (is_changed_behind) {
        it.seen = &after;
        after.behind = &said;
        did = DID_EXPIRY_SET;
    } else {
        after.before = stood(&it, did);
    }
    if (after.before != seen->before) {
        it.seen = &after;
        did = tell_did(&it, EFFECT_READ);
    }
    const bool is_contradicted = tell_is_contradicted(&it, did);
    if (is_contradicted)
        watching_missed(watching,
                        "%s was answered otherwise than its key shows: whoever answered "
                        "is not the server that was looked at",
                        opaque_words(&it.opaque));
    if (tell_is_too_short(&it, did))
        watching_missed(watching, "%s: the lock was gone before it could be looked at",
                        opaque_words(&it.opaque));
    if (tell_may_be_too_short(&it, asks_with(&it) != 0))
        watching_missed(watching,
                        "%s: a lock that it may have made was gone before it could be looked at",
                        opaque_words(&it.opaque));
    doubt_late_expiry(&it, did);
    if (it.key->is_lock && holder_named(watching, seen->words, seen->key) == it.key->owner)
        holder_sent(watching, seen->link, seen->key);
    tell(&it, did, is_contradicted);
    it.key->is_lock &= stays || !is_changed_behind;
    if (it.key->is_lock)
        holder_told(watching, seen->link, seen->key, seen->reply, seen->reply_length);
    story_flush(watching->story, seen->done_us);
}
