/* answers.c - what the answer to an execution and the two looks at its key say together. */
#include "watch/can.h"
#include "watch/kinds.h"
#include "watch/tell.h"

#include "worker/look.h"

#include <string.h>

enum { EXPIRY_US = 2000 };

bool tell_is_grant_like(const struct telling *it)
{
    const char *name = it->seen->name;
    return kind_is_script(name) || strcmp(name, "EXEC") == 0 || strcmp(name, "SETNX") == 0 ||
           strcmp(name, "HSETNX") == 0 || strcmp(name, "MSETNX") == 0 ||
           (strcmp(name, "SET") == 0 && words_have(it->seen->words, "NX"));
}

bool tell_is_refusal(const struct telling *it)
{
    const struct request_words *words = it->seen->words;
    if (!words_set_says_old(words))
        return look_is_refusal(&it->reply);
    return words_have(words, "NX") ? it->reply.kind != REPLY_NIL && it->reply.kind != REPLY_ERROR
                                   : words_have(words, "XX") && it->reply.kind == REPLY_NIL;
}

bool tell_is_lock(const struct telling *it)
{
    const struct request_words *words = it->seen->words;
    const struct keys *keys = &it->watching->keys;
    const bool is_script = kind_is_script(it->seen->name);
    bool has_others = false, is_word = false;
    if (!is_script && strcmp(it->seen->name, "EXEC") != 0)
        return true;
    for (int i = is_script ? 3 : 1; i < words->count; i++) {
        char value[VALUE_TEXT_MAX];
        const bool is_it = words->lengths[i] == (size_t)it->key->name_length &&
                           memcmp(words->at[i], it->key->name, words->lengths[i]) == 0;
        has_others |= !is_it && keys_matches(keys, words->at[i], words->lengths[i]);
        (void)keys_value(keys, words->at[i], words->lengths[i], value);
        is_word |= strcmp(value, it->seen->behind->value) == 0;
    }
    return is_word ? !has_others || !it->seen->behind->is_list
                   : !has_others && !it->seen->behind->is_dump;
}

/* The key's time may have ended between the first look and the execution: a server counts whole
 * milliseconds. */
static bool may_have_ended(const struct seen_execution *seen)
{
    const int64_t window_us = seen->looked_us - seen->began_us + EXPIRY_US;
    return seen->before->is_there && seen->before->left_us <= window_us;
}

bool tell_has_ended(const struct telling *it, enum did did)
{
    if (!it->key->is_lock || !may_have_ended(it->seen))
        return false;
    if (did == DID_OVERWRITTEN)
        return true;
    return did == DID_DELETED &&
           (tell_is_refusal(it) ||
            holder_named(it->watching, it->seen->words, it->seen->key) != it->key->owner);
}

bool tell_is_too_short(const struct telling *it, enum did did)
{
    return !kind_is_script(it->seen->name) && tell_is_grant_like(it) && it->seen->reply &&
           it->reply.kind == REPLY_OK && !it->seen->behind->is_there && did != DID_DELETED &&
           strcmp(it->seen->name, "EXEC") != 0;
}

/* A SET NX or SETNX whose answer says whether it made the key. */
static bool is_asking(const struct telling *it)
{
    const char *name = it->seen->name;
    return (strcmp(name, "SET") == 0 || strcmp(name, "SETNX") == 0) && tell_is_grant_like(it) &&
           it->seen->words->count >= 3;
}

/* Of the scripts that are known: with one key, and the token behind it. */
static enum script_kind script_of(const struct telling *it)
{
    const struct request_words *words = it->seen->words;
    if (words->count < 5 || !words_is(words, 2, "1"))
        return SCRIPT_OTHER;
    const enum script_kind kind = scripts_of_command(
        &it->watching->scripts, it->watching->keys.control, it->seen->name, words);
    return kind == SCRIPT_RELEASES && words->count != 5 ? SCRIPT_OTHER : kind;
}

static bool is_number(const struct telling *it, int64_t number)
{
    return it->seen->reply && it->reply.kind == REPLY_INTEGER && it->reply.value == number;
}

bool tell_is_not_its(const struct telling *it, enum did did)
{
    const struct seen_execution *seen = it->seen;
    return !can_have_done(command_can(&(struct command_said){
                              .name = seen->name,
                              .words = seen->words,
                              .reply = seen->reply ? &it->reply : NULL,
                              .script = script_of(it),
                              .window_us = seen->looked_us - seen->began_us + EXPIRY_US}),
                          did);
}

/* Was that word of the command the key's value then? */
static bool has_value(const struct telling *it, const struct key_look *look, int at)
{
    char value[VALUE_TEXT_MAX];
    const struct request_words *words = it->seen->words;
    (void)keys_value(&it->watching->keys, words->at[at], words->lengths[at], value);
    return look->is_there && strcmp(look->value, value) == 0;
}

bool tell_is_contradicted(const struct telling *it, enum did did)
{
    const struct key_look *before = it->seen->before, *behind = it->seen->behind;
    if (it->seen->reply && is_asking(it) && !words_set_says_old(it->seen->words)) {
        const bool is_yes = it->reply.kind == REPLY_OK || is_number(it, 1);
        return is_yes ? behind->is_there && !has_value(it, behind, 2)
                      : look_is_refusal(&it->reply) && !before->is_there;
    }
    const enum script_kind script = script_of(it);
    if (!it->seen->reply || script == SCRIPT_OTHER || it->reply.kind == REPLY_ERROR)
        return false;
    const bool is_yes = is_number(it, 1);
    return (!is_yes && !is_number(it, 0)) ||
           (script == SCRIPT_RELEASES &&
            (has_value(it, behind, 4) || (is_yes && did != DID_DELETED)));
}
