/* command.h - the typed commands and replies: what a scheme says to Redis, and what it hears.
 *
 * A command is flat (a few integers), so that it can be copied, hashed and compared; the same
 * command is executed by the model of a server (model.h) and encoded for a real one. Knows neither
 * sockets nor clocks. Source: the Redis command reference; replies were tried on
 * redis-server 7.0.15. */
#ifndef PICKLOCK_REDIS_COMMAND_H
#define PICKLOCK_REDIS_COMMAND_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value that a key holds is an integer; two are not numbers. Text: decimal, "" for VALUE_EMPTY.
 */
#define VALUE_NIL   INT64_MIN       /* no value: the key does not exist, or is of another type */
#define VALUE_EMPTY (INT64_MIN + 1) /* the empty string: what an undefined variable becomes */

enum verb {
#define VERB(id, ...) VERB_##id,
#include "redis/commands.def"
#undef VERB
    VERB_COUNT
};

/* What a command can do to the lock key. */
enum effect { EFFECT_READ, EFFECT_SET, EFFECT_EXPIRE, EFFECT_DELETE };

/* What it looks at before it does that. */
enum compares {
    COMPARES_NOTHING,
    COMPARES_ABSENCE, /* acts where there is no key */
    COMPARES_VALUE,   /* acts where the key holds command.value */
    COMPARES_FENCE,   /* acts where the key holds no fence above command.number */
    COMPARES_WATCHED, /* acts where no watched key has changed */
};

/* What it does to the expiry of its key. */
enum expiry {
    EXPIRY_NONE,   /* gives it none: what is written has none, or keeps the one that it had */
    EXPIRY_WITH,   /* sets it, in one with what it writes */
    EXPIRY_THEN,   /* sets it by a second command where the first has written; one that fails leaves
                      a key without expiry */
    EXPIRY_ANYWAY, /* the same, and also where the first has not written */
};

/* The keys of one lock. On the wire: PREFIX + "lock", "fence", ... */
enum key { KEY_LOCK, KEY_FENCE, KEY_COUNTER, KEY_LIST, KEY_RESOURCE, KEY_COUNT };

struct command {
    enum verb verb;
    enum key key;
    int64_t value;  /* written, or compared with */
    int64_t number; /* FENCED_SET: the fence of the writer */
    int64_t ttl_us; /* what SET .. PX/EX, EXPIRE, ... are given; may be 0 or negative */
};

enum reply_kind {
    REPLY_NIL,         /* "$-1", or an EXEC that was aborted */
    REPLY_OK,          /* "+OK" */
    REPLY_INTEGER,     /* ":n"; value = n */
    REPLY_VALUE,       /* a bulk string; value = what it says */
    REPLY_TRANSACTION, /* EXEC of MULTI_*: value = the first element, second = the last one */
    REPLY_ERROR,       /* "-..."; error says which */
};

enum reply_error {
    ERROR_NONE,
    ERROR_WRONGTYPE,
    ERROR_OOM,
    ERROR_NOSCRIPT,
    ERROR_READONLY,
    ERROR_LOADING,
    ERROR_MISCONF,
    ERROR_CROSSSLOT,
    ERROR_NOAUTH,
    ERROR_UNSUPPORTED, /* unknown command, or a syntax that this server does not know */
    ERROR_EXPIRE,      /* "invalid expire time" */
    ERROR_OTHER,
    ERROR_COUNT
};

struct reply {
    enum reply_kind kind;
    enum reply_error error;
    int64_t value;
    int64_t second;
};

/* Static texts; never NULL for values of the enums. */
const char *verb_id(enum verb verb);   /* "SET_NX_PX": unique */
const char *verb_name(enum verb verb); /* "SET", "compare-and-delete": not unique */
enum effect verb_effect(enum verb verb);
enum compares verb_compares(enum verb verb);
enum expiry verb_expiry(enum verb verb);
/* SCRIPT LOAD, UNWATCH and WAIT are of no key, whatever command.key says. */
bool verb_names_key(enum verb verb);
/* Is it a reply that the command can have? An error always is. */
bool verb_answers(enum verb verb, enum reply_kind kind);
/* The same of the whole reply: what says whether it acted on one key says 0 or 1. */
bool verb_can_answer(enum verb verb, const struct reply *reply);
bool reply_is_same(const struct reply *one, const struct reply *two);
bool command_is_same(const struct command *one, const struct command *two);

/* Does it write over whatever was there, and answer with that? */
bool verb_swaps(enum verb verb);
int verb_requests(enum verb verb);           /* requests (and replies) on the wire, at least 1 */
const char *effect_name(enum effect effect); /* "read", "set", "expire", "delete" */
const char *key_name(enum key key);          /* "lock", "fence", ... */
const char *reply_error_name(enum reply_error e); /* "OOM", ... as on the wire */

/* Read back a name; false when there is none. verb_read takes the first row with that name. */
bool verb_id_read(const char *id, enum verb *verb);
bool verb_read(const char *name, enum verb *verb);
bool effect_read(const char *name, enum effect *effect);
bool key_read(const char *name, enum key *key);
bool reply_error_read(const char *name, enum reply_error *error);

/* Prints the command as a person would type it ("SET lock 17 NX PX 300", "compare-and-delete lock
 * 17") or the reply
 * ("nil", "OK", "1", "-OOM", "[1, 1]"); the empty value is printed as "". At most size bytes with
 * the final 0 (a longer text is cut); returns text. */
const char *command_print(const struct command *command, char *text, size_t size);
const char *reply_print(const struct reply *reply, char *text, size_t size);

enum { COMMAND_BYTES_MAX = 2048, KEY_PREFIX_MAX = 64 };

/* Encodes all requests of the command as RESP2 arrays, one after the other, with keys under prefix
 * (at most KEY_PREFIX_MAX bytes). Returns the length, at most COMMAND_BYTES_MAX. bytes:
 * COMMAND_BYTES_MAX. ttl_us must be whole seconds where the table says so and whole milliseconds
 * elsewhere, a fence is not negative: anything else is wrong code. */
size_t command_encode(const struct command *command, const char *prefix, char *bytes);

/* What the command counts its time to live in: ttl_us is a multiple of it. 0: it has none. */
int64_t command_ttl_unit_us(enum verb verb);

/* The same for a server that is to forget what a lock guards (fence, counter, list, resource):
 * where the command writes such a key, the key has expiry_s seconds left behind it. Never of a lock
 * key: that is the scheme's business. *requests is one more than verb_requests() where an EXPIRE
 * follows; its reply is no part of the command's. */
size_t command_encode_expiring(const struct command *command, const char *prefix, int expiry_s,
                               char *bytes, int *requests);

/* One reply element as hiredis or the proxy's own framer sees it. */
struct wire_reply {
    char type;        /* '+', '-', ':', '$', '*'; RESP3's '_' is told as '$' with text NULL */
    const char *text; /* '+', '-', '$': the bytes, NULL for nil; borrowed */
    size_t length;
    int64_t integer;                   /* ':' */
    const struct wire_reply *elements; /* '*': borrowed, NULL for a nil array */
    size_t count;
};

/* Turns the verb_requests(verb) replies of one command into one typed reply. A reply that no row of
 * the table knows becomes REPLY_ERROR / ERROR_OTHER; an error in any of a transaction's replies is
 * the reply. A text that is not one of our values (a foreign client wrote it) becomes a fingerprint
 * below every number that we write: equal texts are equal values, and no value of ours. All
 * borrowed. */
struct reply command_decode(enum verb verb, const struct wire_reply *replies, size_t count);

/* What a key's bytes are as a value: a number of ours, VALUE_EMPTY, or that fingerprint. Bytes
 * borrowed. */
int64_t command_value(const char *text, size_t length);

/* The fingerprint of a text with that digest (FNV-1a, 64 bits): 61 bits of it, between VALUE_EMPTY
 * and every number of ours. */
int64_t command_fingerprint(uint64_t digest);

/* The error as a server says it, a whole RESP line; decodes to the same error. Never of ERROR_NONE.
 */
const char *command_error_line(enum reply_error error);

/* Does a server that refuses commands with this error still accept MULTI? Then it queues none of
 * what follows, and EXEC fails with "EXECABORT" and ends the connection's WATCH. */
bool command_lets_multi_in(enum reply_error error);

static inline bool reply_is_ok(const struct reply *reply)
{
    return reply->kind == REPLY_OK;
}

static inline bool reply_is_integer(const struct reply *reply, int64_t value)
{
    return reply->kind == REPLY_INTEGER && reply->value == value;
}

#endif
