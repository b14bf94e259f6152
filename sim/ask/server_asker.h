/* server_asker.h - a real redis-server, asked once for each (keys, command).
 *
 * A question is put to it with the keys that it is about, and no others, while its clock stands
 * still: what it answers, and what is there behind it, is remembered. Times are ticks, tokens have
 * no names but "the asker's" and "another's". */
#ifndef PICKLOCK_ASK_SERVER_ASKER_H
#define PICKLOCK_ASK_SERVER_ASKER_H

#include "ask/phrase.h"
#include "explore/model/config.h"
#include "redis/command.h"
#include "worker/key_watch.h"
#include "worker/server_wire.h"
#include "worker/session.h"
#include "worker/wire_words.h"

#include <hiredis/hiredis.h>

enum { SCRIPTS_MAX = 8, NO_TICKS = -1, FORMS_MAX = 250, BESIDE_BYTES_MAX = 4096 };

/* The lock key, and what else its server knows. */
enum kept_value { KEPT_ABSENT, KEPT_OWN, KEPT_OTHER, KEPT_LITERAL };

struct kept {
    int32_t value;    /* enum kept_value */
    uint32_t form;    /* its type, and what is in it beside the token, from 1; 0: it is absent */
    int32_t left;     /* ticks, up to LEFT_FAR; NO_TICKS: it does not expire, or is absent */
    uint32_t scripts; /* bit a script that the server knows */
    uint32_t beside;  /* the other keys, from 1; 0: there are none */
};

/* What its connection has under WATCH: nothing, the lock key, one that has changed since. */
enum watching { WATCHING_NOTHING, WATCHING_KEY, WATCHING_CHANGED };

/* What a command means to its connection. */
enum command_kind { COMMAND_ORDINARY, COMMAND_WATCH, COMMAND_UNWATCH, COMMAND_TRANSACTION };

struct server_question {
    struct kept kept;
    uint32_t command; /* a phrase */
    int32_t watching; /* of a transaction: enum watching; else 0 */
};

struct server_told {
    struct kept kept;     /* behind it */
    uint32_t reply;       /* a phrase */
    uint32_t whose;       /* WHOSE_NONE, or the token in it */
    enum reply_kind kind; /* REPLY_ERROR, REPLY_NIL ("no": nil, or no positive number), REPLY_OK */
    enum reply_error error;
    uint32_t writes;  /* to the lock key: bits enum look_write */
    uint32_t left_ms; /* kept.left, exactly; 0: it is in ticks alone */
};

struct server_asker {
    const struct session *session;  /* borrowed: what its workers set connections to */
    redisContext *control;          /* borrowed */
    struct server_wire wire;        /* that it is asked over */
    struct phrasebook *book;        /* borrowed */
    struct spoken_token own, other; /* that stand for tokens in questions */
    char told[LOOK_KEY_MAX];        /* the name that workers were told */
    char key[LOOK_KEY_MAX];         /* that of the lock key; until it is known, as told */
    bool knows_key;
    bool has_far_keys; /* there was a key that lives for LEFT_FAR ticks, or more */
    struct key_watch watch;
    int64_t tick_us;
    struct intern_table questions, forms, others;
    struct server_told *answers; /* by number of their question */
    char *scripts[SCRIPTS_MAX];  /* owned; their bodies */
    char shas[SCRIPTS_MAX][48];
    int scripts_count;
    int scripts_first;    /* so many of them the workers load while they begin */
    struct failure noted; /* what is wrong with those */
    uint64_t asked, audited;
};

/* key: the name that the workers were told. */
void server_asker_init(struct server_asker *asker, struct phrasebook *book, const char *key,
                       int64_t tick_us);
/* A command that was executed while the workers began: scripts stay known. */
void server_asker_note(struct server_asker *asker, const char *bytes, size_t length);
/* The session's first server is asked, at that address. */
enum fail server_asker_open(struct server_asker *asker, struct session *session, const char *host,
                            int port, struct failure *failure);
void server_asker_close(struct server_asker *asker);
/* The name of the lock's key, from the keys that an attempt has left there: else it is learned from
 * what is asked. */
enum fail server_asker_learn_key(struct server_asker *asker, struct failure *failure);

enum command_kind server_command_kind(const struct server_asker *asker, uint32_t command);

/* Asks, or remembers. FAIL_UNKNOWN: what it answered, or did, cannot be kept, and why. */
enum fail server_ask(struct server_asker *asker, const struct server_question *question,
                     struct server_told *told, struct failure *failure);

/* Asks that question, which was asked, again. FAIL_UNKNOWN: the answer is another one. */
enum fail server_ask_again(struct server_asker *asker, uint32_t number, struct failure *failure);

/* --- private to the asker --- */
/* Puts it to the server, asked before or not. */
enum fail server_put_question(struct server_asker *asker, const struct server_question *question,
                              struct server_told *told, struct failure *failure);
bool server_told_is_same(const struct server_told *one, const struct server_told *two);

/* --- token_pairs.c; private to the asker --- */
/* Another's token is in the lock: does the server say and do the same with other tokens in the
 * places of these two? FAIL_UNKNOWN: it does not. */
enum fail token_pairs_ask(struct server_asker *asker, const struct server_question *question,
                          const struct server_told *before, struct failure *failure);

/* --- server_scripts.c; private to the asker --- */
enum fail scripts_load(struct server_asker *asker, int script, struct failure *failure);
/* What the request made known was learned. */
enum fail scripts_note(struct server_asker *asker, const struct wire_words *words,
                       struct failure *failure);
/* *known: those that it knows now, bits. */
enum fail scripts_take(struct server_asker *asker, uint32_t *known, struct failure *failure);

/* --- keys_beside.c; private to the asker --- */
/* Without a token in them: counters of fences, marks that expire by themselves. FAIL_UNKNOWN: there
 * is something else. names: of all keys. */
enum fail keys_beside_take(struct server_asker *asker, const redisReply *names, uint32_t *beside,
                           struct failure *failure);
enum fail keys_beside_put(struct server_asker *asker, uint32_t beside, struct failure *failure);
/* The same keys, so many ticks later. */
uint32_t keys_beside_age(struct server_asker *asker, uint32_t beside, int ticks);
/* Are these the bytes of such keys? For those that come from a file. */
bool keys_beside_are_whole(const char *bytes, size_t size);

#endif
