/* command.c - names of commands, effects, keys and errors, and how a command or a reply reads in
 * words.
 *
 * Never knows what a command does (model.c) nor how it travels (command_wire.c).
 * Source: commands.def. */
#include "redis/command.h"

#include "base/names.h"
#include "redis/command_wire.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define LUA(id, sha, text) static const struct lua lua_##id = {sha, text};
#include "redis/commands.def"
#undef LUA

static const struct verb_row rows[VERB_COUNT] = {
#define VERB(id, name, arguments, wire, script, guarded, shown, answers, effect, compares, expiry, \
             run, traits)                                                                          \
    {#id, name, wire, &lua_##script, guarded, shown, answers, effect, compares, expiry},
#include "redis/commands.def"
#undef VERB
};

static const char *const effects[] = {"read", "set", "expire", "delete"};
enum { EFFECT_COUNT = sizeof effects / sizeof effects[0] };

static const char *const keys[KEY_COUNT] = {"lock", "fence", "counter", "list", "resource"};

/* As on the wire where the wire has a code; what arrives as plain "ERR" has a word of ours, without
 * spaces. */
static const char *const errors[ERROR_COUNT] = {
    [ERROR_NONE] = "none",
    [ERROR_WRONGTYPE] = "WRONGTYPE",
    [ERROR_OOM] = "OOM",
    [ERROR_NOSCRIPT] = "NOSCRIPT",
    [ERROR_READONLY] = "READONLY",
    [ERROR_LOADING] = "LOADING",
    [ERROR_MISCONF] = "MISCONF",
    [ERROR_CROSSSLOT] = "CROSSSLOT",
    [ERROR_NOAUTH] = "NOAUTH",
    [ERROR_UNSUPPORTED] = "unsupported",
    [ERROR_EXPIRE] = "expire-time",
    [ERROR_OTHER] = "ERR",
};

const struct verb_row *verb_row(enum verb verb)
{
    assert((unsigned)verb < VERB_COUNT);
    return &rows[verb];
}

const char *verb_id(enum verb verb)
{
    return verb_row(verb)->id;
}

const char *verb_name(enum verb verb)
{
    return verb_row(verb)->name;
}

enum effect verb_effect(enum verb verb)
{
    return verb_row(verb)->effect;
}

enum compares verb_compares(enum verb verb)
{
    return verb_row(verb)->compares;
}

enum expiry verb_expiry(enum verb verb)
{
    return verb_row(verb)->expiry;
}

bool verb_names_key(enum verb verb)
{
    return strstr(verb_row(verb)->wire, "%k") != NULL;
}

bool verb_answers(enum verb verb, enum reply_kind kind)
{
    static const int answers[] = {
        [REPLY_NIL] = ANSWER_NIL,
        [REPLY_OK] = ANSWER_OK | ANSWER_SHA,
        [REPLY_INTEGER] = ANSWER_INTEGER,
        [REPLY_VALUE] = ANSWER_VALUE,
        [REPLY_TRANSACTION] = ANSWER_TRANSACTION,
        [REPLY_ERROR] = ANSWERS_ALL,
    };
    return (verb_row(verb)->answers & answers[kind]) != 0;
}

bool verb_can_answer(enum verb verb, const struct reply *reply)
{
    const bool says_whether =
        !verb_answers(verb, REPLY_NIL) &&
        (verb_effect(verb) != EFFECT_READ || verb_compares(verb) != COMPARES_NOTHING);
    return verb_answers(verb, reply->kind) && (reply->kind != REPLY_INTEGER || !says_whether ||
                                               reply->value == 0 || reply->value == 1);
}

bool reply_is_same(const struct reply *one, const struct reply *two)
{
    switch (one->kind == two->kind ? one->kind : REPLY_ERROR) {
    case REPLY_NIL:
    case REPLY_OK:
        return true;
    case REPLY_INTEGER:
    case REPLY_VALUE:
        return one->value == two->value;
    case REPLY_TRANSACTION:
        return one->value == two->value && one->second == two->second;
    default:
        return one->kind == two->kind && one->error == two->error;
    }
}

bool command_is_same(const struct command *one, const struct command *two)
{
    return one->verb == two->verb && one->key == two->key && one->value == two->value &&
           one->number == two->number && one->ttl_us == two->ttl_us;
}

bool verb_swaps(enum verb verb)
{
    return verb_effect(verb) == EFFECT_SET && verb_answers(verb, REPLY_VALUE);
}

int verb_requests(enum verb verb)
{
    int count = 1;
    for (const char *at = verb_row(verb)->wire; (at = strchr(at, ';')) != NULL; at++)
        count++;
    return count;
}

const char *effect_name(enum effect effect)
{
    assert((unsigned)effect < EFFECT_COUNT);
    return effects[effect];
}

const char *key_name(enum key key)
{
    assert((unsigned)key < KEY_COUNT);
    return keys[key];
}

const char *reply_error_name(enum reply_error e)
{
    assert((unsigned)e < ERROR_COUNT);
    return errors[e];
}

bool verb_read(const char *name, enum verb *verb)
{
    return names_read(NAMES_FIND_ROW(rows, name), verb);
}

bool verb_id_read(const char *id, enum verb *verb)
{
    return names_read(names_row(&rows[0].id, sizeof *rows, VERB_COUNT, id), verb);
}

bool effect_read(const char *name, enum effect *effect)
{
    return names_read(NAMES_FIND(effects, name), effect);
}

bool key_read(const char *name, enum key *key)
{
    return names_read(NAMES_FIND(keys, name), key);
}

bool reply_error_read(const char *name, enum reply_error *error)
{
    return names_read(NAMES_FIND(errors, name), error);
}

enum { WORD_MAX = 40 };

static const char *value_print(int64_t value, char *word)
{
    if (value == VALUE_EMPTY)
        return strcpy(word, "\"\"");
    if (value == VALUE_NIL)
        return strcpy(word, "nil");
    snprintf(word, WORD_MAX, "%lld", (long long)value);
    return word;
}

/* Whole units as Redis is told them; a remainder (the explorer's ticks) is not hidden. */
static const char *ttl_print(int64_t ttl_us, int64_t unit_us, char *word)
{
    if (ttl_us % unit_us == 0)
        snprintf(word, WORD_MAX, "%lld", (long long)(ttl_us / unit_us));
    else
        snprintf(word, WORD_MAX, "%lldus", (long long)ttl_us);
    return word;
}

/* What a word of the wire table stands for in print; scratch: WORD_MAX bytes. */
static const char *word_print(const struct command *command, const char *part, char *scratch)
{
    if (part[0] != '%')
        return part;
    switch ((enum wire_part)part[1]) {
    case WIRE_KEY:
        return key_name(command->key);
    case WIRE_FENCE_KEY:
        return key_name(KEY_FENCE);
    case WIRE_VALUE:
        return value_print(command->value, scratch);
    case WIRE_NUMBER:
        return value_print(command->number, scratch);
    case WIRE_SECONDS:
        return ttl_print(command->ttl_us, 1000000, scratch);
    case WIRE_MILLISECONDS:
        return ttl_print(command->ttl_us, 1000, scratch);
    case WIRE_SCRIPT:
    case WIRE_SHA:
    case WIRE_EXPIRY:
        break;
    }
    assert(false && "a part that people are not shown");
    return part;
}

const char *command_print(const struct command *command, char *text, size_t size)
{
    assert(size > 0);
    char shown[WIRE_TEXT_MAX];
    const struct verb_row *row = verb_row(command->verb);
    snprintf(shown, sizeof shown, "%s", row->shown[0] ? row->shown : row->wire);
    size_t at = 0;
    text[0] = '\0';
    char *rest = NULL;
    for (char *part = strtok_r(shown, " ", &rest); part; part = strtok_r(NULL, " ", &rest)) {
        char scratch[WORD_MAX];
        const char *word = word_print(command, part, scratch);
        int length = snprintf(text + at, size - at, "%s%s", at > 0 ? " " : "", word);
        if (length < 0 || (size_t)length >= size - at)
            break;
        at += (size_t)length;
    }
    return text;
}

const char *reply_print(const struct reply *reply, char *text, size_t size)
{
    char first[WORD_MAX], second[WORD_MAX];
    switch (reply->kind) {
    case REPLY_NIL:
        snprintf(text, size, "nil");
        break;
    case REPLY_OK:
        snprintf(text, size, "OK");
        break;
    case REPLY_INTEGER:
        snprintf(text, size, "%lld", (long long)reply->value);
        break;
    case REPLY_VALUE:
        snprintf(text, size, "%s", value_print(reply->value, first));
        break;
    case REPLY_TRANSACTION:
        snprintf(text, size, "[%s, %s]", value_print(reply->value, first),
                 value_print(reply->second, second));
        break;
    case REPLY_ERROR:
        snprintf(text, size, "-%s", reply_error_name(reply->error));
        break;
    }
    return text;
}
