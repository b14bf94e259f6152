/* answers.c - what the answer to an execution and the two looks at its key say together. */
#include "watch/can.h"
#include "watch/kinds.h"
#include "watch/tell.h"

#include "worker/look.h"

#include <string.h>

enum { EXPIRY_US = 2000, IN_TEXT_US = 10000 };

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

static bool is_key(const struct telling *it, int at)
{
    const struct request_words *words = it->seen->words;
    return words->lengths[at] == (size_t)it->key->name_length &&
           memcmp(words->at[at], it->key->name, words->lengths[at]) == 0;
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
        has_others |= !is_key(it, i) && keys_matches(keys, words->at[i], words->lengths[i]);
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

/* A SET NX or SETNX whose answer says whether it made the key. */
static bool is_asking(const struct telling *it)
{
    const char *name = it->seen->name;
    return (strcmp(name, "SET") == 0 || strcmp(name, "SETNX") == 0) && tell_is_grant_like(it) &&
           it->seen->words->count >= 3;
}

static const struct known_script *text_of(const struct telling *it)
{
    return scripts_of_command(&it->watching->scripts, it->seen->name, it->seen->words);
}

/* Of the scripts that are known: with one key, and the token behind it. */
static enum script_kind script_of(const struct telling *it)
{
    const struct request_words *words = it->seen->words;
    if (words->count < 5 || !words_is(words, 2, "1"))
        return SCRIPT_OTHER;
    const struct known_script *script = text_of(it);
    if (!script || (script->kind == SCRIPT_RELEASES && words->count != 5))
        return SCRIPT_OTHER;
    return script->kind;
}

static bool is_number(const struct telling *it, int64_t number)
{
    return it->seen->reply && it->reply.kind == REPLY_INTEGER && it->reply.value == number;
}

/* reply: NULL: whatever it says. */
static struct command_said said_with(const struct telling *it, const struct reply *reply)
{
    const struct seen_execution *seen = it->seen;
    return (struct command_said){.name = seen->name,
                                 .words = seen->words,
                                 .reply = reply,
                                 .script = script_of(it),
                                 .text = text_of(it),
                                 .window_us = seen->looked_us - seen->began_us + EXPIRY_US};
}

/* Bits enum can_bit. */
static unsigned can_with(const struct telling *it, const struct reply *reply)
{
    const struct command_said said = said_with(it, reply);
    return command_can(&said);
}

static unsigned can(const struct telling *it)
{
    return can_with(it, it->seen->reply ? &it->reply : NULL);
}

bool tell_is_release(const struct telling *it)
{
    return kind_is_script(it->seen->name) &&
           (can_with(it, NULL) & (CAN_DELETE | CAN_EXPIRE)) == CAN_DELETE;
}

bool tell_is_not_its(const struct telling *it, enum did did)
{
    return !can_have_done(can(it), did);
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

/* --- what proves that the command did it --- */

/* Has it so much to live, where it was given that at some time since the first look? */
static bool is_left_of(const struct telling *it, int64_t given_us)
{
    const struct seen_execution *seen = it->seen;
    const int64_t past_us = watching_now_us(it->watching) - seen->began_us;
    return seen->behind->left_us <= given_us + EXPIRY_US &&
           seen->behind->left_us >= given_us - past_us - EXPIRY_US;
}

/* Is that number, in ms or s, how long the key is to live, by how much longer, or until when? */
static bool is_its_time(const struct telling *it, const struct request_words *words, int at)
{
    static const int64_t units_us[] = {1000, 1000000};
    const struct key_look *before = it->seen->before, *behind = it->seen->behind;
    for (size_t i = 0; i < sizeof units_us / sizeof *units_us; i++) {
        const int64_t time_us = words_time_us(words, at, units_us[i]);
        const bool is_added = before->left_us < INT64_MAX / 2 && time_us < INT64_MAX / 2;
        if (time_us < INT64_MAX / 2 &&
            (is_left_of(it, time_us) || (is_added && is_left_of(it, before->left_us + time_us)) ||
             (behind->expires_us >= time_us - EXPIRY_US &&
              behind->expires_us <= time_us + EXPIRY_US)))
            return true;
    }
    return false;
}

/* The next number in a script's text, from *at on (digits: kept by the caller). Count 0: there is
 * none; else *at is behind it. */
static struct request_words number_in(const struct known_script *script, size_t *at,
                                      const char **digits, size_t *run)
{
    const size_t length = script ? script->length : 0;
    for (; *at < length; (*at)++) {
        *digits = script->text + *at;
        for (*run = 0; *at + *run < length && (*digits)[*run] >= '0' && (*digits)[*run] <= '9';)
            (*run)++;
        if (!*run)
            continue;
        *at += *run;
        return (struct request_words){.at = digits, .lengths = run, .count = 1};
    }
    return (struct request_words){0};
}

/* Does a script's text have it in it? */
static bool text_has_time(const struct telling *it)
{
    const char *digits;
    size_t at = 0, run;
    struct request_words number;
    while ((number = number_in(text_of(it), &at, &digits, &run)).count)
        if (is_its_time(it, &number, 0))
            return true;
    return false;
}

/* --- what was gone before it could be looked at --- */

bool tell_is_too_short(const struct telling *it, enum did did)
{
    return !kind_is_script(it->seen->name) && tell_is_grant_like(it) && it->seen->reply &&
           it->reply.kind == REPLY_OK && !it->seen->behind->is_there && did != DID_DELETED &&
           strcmp(it->seen->name, "EXEC") != 0;
}

/* The shorter one: that, or the number in that word. */
static int64_t shorter_us(int64_t shortest_us, const struct request_words *words, int at,
                          int64_t unit_us)
{
    const int64_t time_us = words_time_us(words, at, unit_us);
    return time_us > 0 && time_us < shortest_us ? time_us : shortest_us;
}

/* The shortest time for which it may have let a key live. Of a script the least of its numbers, in
 * ms (those below 10 in its text are others'; 0: that is not known), of a transaction what its
 * commands say. INT64_MAX: none. */
static int64_t shortest_us(const struct telling *it)
{
    static const struct {
        const char *word;
        int behind; /* so many words: the time ... */
        int64_t unit_us;
    } gives[] = {{"PX", 1, 1000},     {"EX", 1, 1000000},     {"PEXPIRE", 2, 1000},
                 {"PSETEX", 2, 1000}, {"EXPIRE", 2, 1000000}, {"SETEX", 2, 1000000}};
    const struct request_words *words = it->seen->words;
    const bool is_script = kind_is_script(it->seen->name);
    const struct known_script *script = is_script ? text_of(it) : NULL;
    int64_t shortest = INT64_MAX;
    const char *digits;
    size_t at = 0, run;
    struct request_words number;
    if (is_script && !(script && script->length))
        return 0;
    for (int i = is_script ? 3 : 1; i < words->count; i++) {
        if (is_script)
            shortest = shorter_us(shortest, words, i, 1000);
        for (size_t k = 0; !is_script && k < sizeof gives / sizeof *gives; k++)
            if (words_is(words, i, gives[k].word))
                shortest = shorter_us(shortest, words, i + gives[k].behind, gives[k].unit_us);
    }
    while ((number = number_in(script, &at, &digits, &run)).count)
        if (words_time_us(&number, 0, 1000) >= IN_TEXT_US)
            shortest = shorter_us(shortest, &number, 0, 1000);
    return shortest;
}

bool tell_may_be_too_short(const struct telling *it, bool asks)
{
    const struct seen_execution *seen = it->seen;
    const bool is_script = kind_is_script(seen->name);
    if ((!is_script && strcmp(seen->name, "EXEC") != 0) || seen->before->is_there ||
        seen->behind->is_there || it->reply.kind == REPLY_ERROR)
        return false;
    if (is_script ? !(can(it) & CAN_WRITE) || (!asks && tell_is_refusal(it))
                  : !holder_asks(seen->words, it->key->name, seen->is_guarded) ||
                        it->reply.kind == REPLY_NIL)
        return false;
    return shortest_us(it) <= seen->looked_us - seen->began_us + EXPIRY_US;
}

/* Is it one of its words until when the key lives? */
static bool says_time(const struct telling *it)
{
    const struct request_words *words = it->seen->words;
    const bool is_script = kind_is_script(it->seen->name);
    if (it->seen->behind->left_us == INT64_MAX)
        return false;
    for (int i = is_script ? 3 : 2; i < words->count; i++)
        if (is_its_time(it, words, i))
            return true;
    return is_script && text_has_time(it);
}

/* Is one of these in a transaction, with the key behind it ("DEL key")? names: NULL at the end. */
static bool transaction_has(const struct telling *it, const char *const *names)
{
    const struct request_words *words = it->seen->words;
    for (int i = 0; i + 1 < words->count; i++)
        for (int n = 0; is_key(it, i + 1) && names[n]; n++)
            if (words_is(words, i, names[n]))
                return true;
    return false;
}

static bool has_time(const struct request_words *words)
{
    return words_have(words, "PX") || words_have(words, "EX") || words_have(words, "PXAT") ||
           words_have(words, "EXAT");
}

/* Does the key end as a command says that sets it, or sets when it ends? */
static bool ends_as_said(const struct telling *it)
{
    static const char *const endless[] = {"SETNX", "HSETNX", "MSETNX", "GETSET", "MSET", "PERSIST"};
    const struct request_words *words = it->seen->words;
    const char *name = it->seen->name;
    const bool is_endless = it->seen->behind->left_us == INT64_MAX;
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++)
        if (strcmp(name, endless[i]) == 0)
            return is_endless;
    if (strcmp(name, "GETEX") == 0 && words_have(words, "PERSIST"))
        return is_endless;
    if (strcmp(name, "SET") == 0 && !has_time(words) && !words_have(words, "KEEPTTL"))
        return is_endless;
    return says_time(it);
}

static bool is_its_value(const struct telling *it)
{
    for (int i = 2; i < it->seen->words->count; i++)
        if (has_value(it, it->seen->behind, i))
            return true;
    return false;
}

static const char *const expiring[] = {"EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", NULL};

/* Does it set when the key ends, whatever stands there, and is that how it ends? */
static bool sets_end(const struct telling *it)
{
    static const char *const taking[] = {"PERSIST", NULL};
    if (strcmp(it->seen->name, "EXEC") == 0)
        return it->seen->behind->left_us == INT64_MAX
                   ? transaction_has(it, taking)
                   : transaction_has(it, expiring) && says_time(it);
    return !(kind_is_script(it->seen->name) && tell_is_refusal(it)) && ends_as_said(it);
}

bool tell_may_expire(const struct telling *it)
{
    const struct request_words *words = it->seen->words;
    const char *name = it->seen->name;
    if (strcmp(name, "EXEC") == 0)
        return transaction_has(it, expiring);
    if (kind_is_script(name))
        return can_with(it, NULL) & CAN_EXPIRE;
    for (int i = 0; expiring[i]; i++)
        if (strcmp(name, expiring[i]) == 0)
            return true;
    return (strcmp(name, "SET") == 0 || strcmp(name, "GETEX") == 0) && has_time(words) &&
           !words_have(words, "NX");
}

/* Does the answer say that it took the key away? */
static bool says_deleted(const struct telling *it)
{
    static const char *const deleting[] = {"DEL", "UNLINK", NULL};
    const struct request_words *words = it->seen->words;
    const char *name = it->seen->name;
    const enum script_kind script = script_of(it);
    if (script != SCRIPT_OTHER)
        return is_number(it, 1) && has_value(it, it->seen->before, 4);
    if (strcmp(name, "EXEC") == 0) /* nobody had changed what it watched */
        return it->seen->is_guarded && transaction_has(it, deleting);
    if (words_delete(words))
        return is_number(it, words->count - 1);
    if (strcmp(name, "GETDEL") == 0)
        return it->reply.kind != REPLY_NIL;
    if (strcmp(name, "FLUSHALL") == 0 || strcmp(name, "FLUSHDB") == 0)
        return it->reply.kind == REPLY_OK &&
               (name[5] == 'A' || it->key->database == it->seen->link->database);
    return strstr(name, "EXPIRE") && is_number(it, 1); /* it was over at once */
}

bool tell_is_proved(const struct telling *it, enum did did)
{
    if (!it->seen->reply || it->reply.kind == REPLY_ERROR)
        return false;
    if (did == DID_DELETED)
        return says_deleted(it);
    if (did == DID_CREATED || did == DID_OVERWRITTEN)
        return is_its_value(it) && ends_as_said(it);
    return sets_end(it);
}

int64_t tell_gave_us(const struct telling *it)
{
    const struct seen_execution *seen = it->seen;
    const struct command_said said = said_with(it, seen->reply ? &it->reply : NULL);
    const int64_t clock_us = seen->before->clock_us + seen->sent_us - seen->began_us;
    if (!seen->before->is_there || tell_is_grant_like(it) ||
        (strcmp(seen->name, "SET") == 0 && !has_value(it, seen->before, 2)))
        return 0;
    return command_gave_us(&said, clock_us);
}

bool tell_ends_as_said(const struct telling *it)
{
    return it->seen->behind->is_there && sets_end(it);
}

bool tell_only_deletes(const struct telling *it)
{
    return can(it) == CAN_DELETE && it->seen->reply && it->reply.kind != REPLY_ERROR &&
           !tell_is_refusal(it);
}
