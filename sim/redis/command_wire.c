/* command_wire.c - typed commands to RESP2 and RESP replies to typed replies, by one table.
 *
 * Never executes anything and never reads a socket: bytes in the caller's memory only. Scripts
 * travel whole, as EVAL: a server that has restarted or flushed its scripts still knows what to do.
 * One of them can be had by its SHA1 as well: that is what a server forgets.
 * Source: the Redis command reference; replies were tried on redis-server 7.0.15. */
#include "redis/command_wire.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- encoding --- */

struct request_writer {
    char *bytes;
    size_t length;
    int expiry_s;
};

static void put(struct request_writer *writer, const char *bytes, size_t length)
{
    assert(length <= COMMAND_BYTES_MAX - writer->length);
    memcpy(writer->bytes + writer->length, bytes, length);
    writer->length += length;
}

enum { DIGITS_MAX = 20 }; /* of any int64_t, its sign included */

/* Its digits, without a zero behind them; returns how many. For each command several are written,
 * and a general format costs more than all else of it. */
static size_t print_integer(int64_t integer, char text[DIGITS_MAX])
{
    char digits[DIGITS_MAX];
    uint64_t left = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    size_t at = DIGITS_MAX;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (integer < 0)
        digits[--at] = '-';
    memcpy(text, digits + at, DIGITS_MAX - at);
    return DIGITS_MAX - at;
}

static void put_header(struct request_writer *writer, char type, size_t count)
{
    char digits[DIGITS_MAX];
    const size_t length = print_integer((int64_t)count, digits);
    put(writer, &type, 1);
    put(writer, digits, length);
    put(writer, "\r\n", 2);
}

static void put_bulk(struct request_writer *writer, const char *text, size_t length)
{
    put_header(writer, '$', length);
    put(writer, text, length);
    put(writer, "\r\n", 2);
}

static void put_text(struct request_writer *writer, const char *text)
{
    put_bulk(writer, text, strlen(text));
}

static void put_integer(struct request_writer *writer, int64_t integer)
{
    char digits[DIGITS_MAX];
    put_bulk(writer, digits, print_integer(integer, digits));
}

static void put_value(struct request_writer *writer, int64_t value)
{
    assert(value != VALUE_NIL);
    if (value == VALUE_EMPTY)
        put_text(writer, "");
    else
        put_integer(writer, value);
}

static void put_key(struct request_writer *writer, const char *prefix, enum key key)
{
    const char *name = key_name(key);
    const size_t before = strlen(prefix), length = strlen(name);
    put_header(writer, '$', before + length);
    put(writer, prefix, before);
    put(writer, name, length);
    put(writer, "\r\n", 2);
}

static void put_word(struct request_writer *writer, const struct command *command,
                     const char *prefix, const char *word, size_t length)
{
    if (word[0] != '%') {
        put_bulk(writer, word, length);
        return;
    }
    switch ((enum wire_part)word[1]) {
    case WIRE_KEY:
        put_key(writer, prefix, command->key);
        return;
    case WIRE_FENCE_KEY:
        put_key(writer, prefix, KEY_FENCE);
        return;
    case WIRE_VALUE:
        put_value(writer, command->value);
        return;
    case WIRE_NUMBER:
        assert(command->number >= 0);
        put_integer(writer, command->number);
        return;
    case WIRE_SECONDS:
        assert(command->ttl_us % 1000000 == 0);
        put_integer(writer, command->ttl_us / 1000000);
        return;
    case WIRE_MILLISECONDS:
        assert(command->ttl_us % 1000 == 0);
        put_integer(writer, command->ttl_us / 1000);
        return;
    case WIRE_SCRIPT:
        put_text(writer, verb_row(command->verb)->script->text);
        return;
    case WIRE_SHA:
        put_text(writer, verb_row(command->verb)->script->sha);
        return;
    case WIRE_EXPIRY:
        put_integer(writer, writer->expiry_s);
        return;
    }
    assert(false && "a part that the table does not know");
}

/* How many words up to the end of the request. */
static size_t count_words(const char *wire)
{
    size_t count = 1;
    for (; *wire != '\0' && *wire != ';'; wire++)
        count += *wire == ' ' && wire[1] != ';';
    return count;
}

int64_t command_ttl_unit_us(enum verb verb)
{
    const char *wire = verb_row(verb)->wire;
    for (const char *at = wire; (at = strchr(at, '%')) != NULL; at++) {
        if (at[1] == WIRE_SECONDS)
            return 1000000;
        if (at[1] == WIRE_MILLISECONDS)
            return 1000;
    }
    return 0;
}

static void put_requests(struct request_writer *writer, const struct command *command,
                         const char *prefix, const char *wire)
{
    assert(strlen(prefix) <= KEY_PREFIX_MAX);
    put_header(writer, '*', count_words(wire));
    while (*wire != '\0') {
        size_t length = strcspn(wire, " ");
        const char *next = wire + length;
        next += *next == ' ';
        if (*wire == ';')
            put_header(writer, '*', count_words(next));
        else
            put_word(writer, command, prefix, wire, length);
        wire = next;
    }
}

size_t command_encode(const struct command *command, const char *prefix, char *bytes)
{
    struct request_writer writer = {.bytes = bytes};
    put_requests(&writer, command, prefix, verb_row(command->verb)->wire);
    return writer.length;
}

size_t command_encode_expiring(const struct command *command, const char *prefix, int expiry_s,
                               char *bytes, int *requests)
{
    char wire[WIRE_TEXT_MAX];
    struct request_writer writer = {.bytes = bytes, .expiry_s = expiry_s};
    const struct verb_row *row = verb_row(command->verb);
    bool is_guarded = command->key != KEY_LOCK || command->verb == VERB_SET_MINT;
    const char *more = is_guarded ? row->guarded : "";
    int length = snprintf(wire, sizeof wire, "%s%s", row->wire, more);
    assert(length > 0 && (size_t)length < sizeof wire);
    put_requests(&writer, command, prefix, wire);
    *requests = verb_requests(command->verb) + (strchr(more, ';') ? 1 : 0);
    return writer.length;
}

/* --- decoding --- */

struct error_row {
    const char *code;  /* the text begins with this word, or NULL: any */
    const char *words; /* and has these somewhere, or NULL */
    enum reply_error error;
};

/* First match wins. A script's errors carry the code of the command inside that failed. */
static const struct error_row error_rows[] = {
    {"WRONGTYPE", NULL, ERROR_WRONGTYPE},
    {"OOM", NULL, ERROR_OOM},
    {"NOSCRIPT", NULL, ERROR_NOSCRIPT},
    {"READONLY", NULL, ERROR_READONLY},
    {"LOADING", NULL, ERROR_LOADING},
    {"MISCONF", NULL, ERROR_MISCONF},
    {"CROSSSLOT", NULL, ERROR_CROSSSLOT},
    {"NOAUTH", NULL, ERROR_NOAUTH},
    {"WRONGPASS", NULL, ERROR_NOAUTH},
    {"NOPERM", NULL, ERROR_NOAUTH},
    {"ERR", "invalid expire time", ERROR_EXPIRE},
    {"ERR", "unknown command", ERROR_UNSUPPORTED},
    {"ERR", "Unknown Redis command", ERROR_UNSUPPORTED}, /* in a script */
    {"ERR", "syntax error", ERROR_UNSUPPORTED},
    {"ERR", "wrong number of arguments", ERROR_UNSUPPORTED},
    {"ERR", "should be of string type", ERROR_WRONGTYPE}, /* DELEX of Redis 8.4 */
};

static bool has_words(const char *text, size_t length, const char *words)
{
    return !words || memmem(text, length, words, strlen(words)) != NULL;
}

static bool has_code(const char *text, size_t length, const char *code)
{
    size_t wanted = strlen(code);
    return length >= wanted && memcmp(text, code, wanted) == 0 &&
           (length == wanted || text[wanted] == ' ');
}

static enum reply_error decode_error(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof error_rows / sizeof error_rows[0]; i++) {
        const struct error_row *row = &error_rows[i];
        if (has_code(text, length, row->code) && has_words(text, length, row->words))
            return row->error;
    }
    return ERROR_OTHER;
}

/* What redis-server 7.0.15 says, with the code that decodes to the error. */
static const struct {
    const char *line;
    bool lets_multi_in;
} refusals[ERROR_COUNT] = {
    [ERROR_WRONGTYPE] = {"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
                         false},
    [ERROR_OOM] = {"-OOM command not allowed when used memory > 'maxmemory'.\r\n", true},
    [ERROR_NOSCRIPT] = {"-NOSCRIPT No matching script. Please use EVAL.\r\n", false},
    [ERROR_READONLY] = {"-READONLY You can't write against a read only replica.\r\n", true},
    [ERROR_LOADING] = {"-LOADING Redis is loading the dataset in memory\r\n", true},
    [ERROR_MISCONF] = {"-MISCONF Redis is configured to save RDB snapshots, but it's currently "
                       "unable to persist to disk.\r\n",
                       true},
    [ERROR_CROSSSLOT] = {"-CROSSSLOT Keys in request don't hash to the same slot\r\n", false},
    [ERROR_NOAUTH] = {"-NOAUTH Authentication required.\r\n", false},
    [ERROR_UNSUPPORTED] = {"-ERR unknown command\r\n", false},
    [ERROR_EXPIRE] = {"-ERR invalid expire time\r\n", false},
    [ERROR_OTHER] = {"-ERR refused\r\n", false},
};

const char *command_error_line(enum reply_error error)
{
    assert((unsigned)error < ERROR_COUNT && error != ERROR_NONE);
    return refusals[error].line;
}

bool command_lets_multi_in(enum reply_error error)
{
    assert((unsigned)error < ERROR_COUNT);
    return refusals[error].lets_multi_in;
}

int64_t command_fingerprint(uint64_t digest)
{
    return VALUE_EMPTY + 1 + (int64_t)(digest >> 3);
}

static uint64_t digest_of(const char *text, size_t length)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

int64_t command_value(const char *text, size_t length)
{
    if (length == 0)
        return VALUE_EMPTY;
    char digits[DIGITS_MAX + 1], again[DIGITS_MAX];
    if (length < sizeof digits) {
        memcpy(digits, text, length);
        digits[length] = '\0';
        /* Only what prints back to the same bytes is a number: "007" and "+7" are other values. */
        const long long number = strtoll(digits, NULL, 10);
        if (print_integer(number, again) == length && memcmp(again, text, length) == 0 &&
            number > VALUE_EMPTY)
            return number;
    }
    return command_fingerprint(digest_of(text, length));
}

static struct reply error_reply(enum reply_error error)
{
    return (struct reply){.kind = REPLY_ERROR, .error = error};
}

static struct reply decode_transaction(const struct wire_reply *wire)
{
    if (!wire->elements)
        return (struct reply){.kind = REPLY_NIL};
    if (wire->count == 0)
        return error_reply(ERROR_OTHER);
    for (size_t i = 0; i < wire->count; i++) {
        const struct wire_reply *element = &wire->elements[i];
        if (element->type == '-')
            return error_reply(decode_error(element->text, element->length));
        if (element->type != ':')
            return error_reply(ERROR_OTHER);
    }
    return (struct reply){.kind = REPLY_TRANSACTION,
                          .value = wire->elements[0].integer,
                          .second = wire->elements[wire->count - 1].integer};
}

/* One reply element, whatever the command was. */
static struct reply decode_one(const struct wire_reply *wire)
{
    switch (wire->type) {
    case '+':
        if (wire->length == 2 && memcmp(wire->text, "OK", 2) == 0)
            return (struct reply){.kind = REPLY_OK};
        return error_reply(ERROR_OTHER);
    case '-':
        return error_reply(decode_error(wire->text, wire->length));
    case ':':
        return (struct reply){.kind = REPLY_INTEGER, .value = wire->integer};
    case '$':
        if (!wire->text)
            return (struct reply){.kind = REPLY_NIL};
        return (struct reply){.kind = REPLY_VALUE,
                              .value = command_value(wire->text, wire->length)};
    case '*':
        return decode_transaction(wire);
    default:
        return error_reply(ERROR_OTHER);
    }
}

static bool is_queued(const struct wire_reply *wire)
{
    return wire->type == '+' && wire->length == 6 && memcmp(wire->text, "QUEUED", 6) == 0;
}

/* "SCRIPT LOAD" says under which name the script is to be had: under ours, or it is another one. */
static struct reply decode_sha(const struct wire_reply *wire, const char *sha)
{
    if (wire->type == '-')
        return decode_one(wire);
    if (wire->type == '$' && wire->text && wire->length == strlen(sha) &&
        memcmp(wire->text, sha, wire->length) == 0)
        return (struct reply){.kind = REPLY_OK};
    return error_reply(ERROR_OTHER);
}

struct reply command_decode(enum verb verb, const struct wire_reply *replies, size_t count)
{
    const struct verb_row *row = verb_row(verb);
    assert(count == (size_t)verb_requests(verb));
    /* A pipeline: the reason stands where a command was refused; EXEC only says that there was one.
     */
    for (size_t i = 0; i + 1 < count; i++) {
        if (replies[i].type == '-')
            return decode_one(&replies[i]);
        bool is_as_expected =
            i == 0 ? decode_one(&replies[i]).kind == REPLY_OK : is_queued(&replies[i]);
        if (!is_as_expected)
            return error_reply(ERROR_OTHER);
    }
    if (row->answers == ANSWER_SHA)
        return decode_sha(&replies[count - 1], row->script->sha);
    struct reply reply = decode_one(&replies[count - 1]);
    return verb_answers(verb, reply.kind) ? reply : error_reply(ERROR_OTHER);
}
