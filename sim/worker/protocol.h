/* protocol.h - what picklock and a worker say to each other: a JSON object a line.
 *
 * Requests go to the worker's standard input, answers come from its standard output, in any order;
 * each answer names its request by the id. Pure: text in, struct out. docs/WORKERS.md is the page
 * for people, worker.schema.json the schema of both directions. */
#ifndef PICKLOCK_WORKER_PROTOCOL_H
#define PICKLOCK_WORKER_PROTOCOL_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum worker_op {
#define OP(id, name, words) WORKER_##id,
#include "worker/protocol.def"
};

enum worker_promise {
#define PROMISE(id, name, words) WORKER_PROMISES_##id,
#include "worker/protocol.def"
    WORKER_PROMISE_COUNT
};

enum { PROTOCOL_LINE_MAX = 64 * 1024, PROTOCOL_SERVERS_MAX = 16, PROTOCOL_TEXT_MAX = 256 };

struct worker_settings {
    const char *key;  /* of the lock; borrowed */
    int client;       /* from 0 */
    const char *name; /* the client's, "A"; borrowed */
    int64_t ttl_us, work_us;
    int ports[PROTOCOL_SERVERS_MAX]; /* of 127.0.0.1, one a server */
    int servers;
};

/* Who a connection may say that it is; it need not. init gives both, and the proxy compares. */
#define WORKER_USER     "default"
#define WORKER_PASSWORD "picklock"

struct worker_request {
    enum worker_op op;
    int64_t id;
    int64_t wait_us;                        /* ACQUIRE */
    int64_t of;                             /* CANCEL */
    const struct worker_settings *settings; /* INIT */
};

enum answer_kind {
    ANSWER_READY, /* to INIT and RESET */
    ANSWER_TIME,
    ANSWER_OK,
    ANSWER_NOT_OK, /* refused, or not mine: it is certain */
    ANSWER_ERROR,  /* it may have happened, or may happen later */
    ANSWER_LOST,   /* to nothing: the worker knows that its lock is gone */
};

struct worker_answer {
    enum answer_kind kind;
    int64_t id;        /* 0: LOST */
    unsigned promises; /* READY: bit enum worker_promise */
    bool has_fence;
    int64_t fence;
    int64_t monotonic_us, wall_us;   /* TIME */
    char error[PROTOCOL_TEXT_MAX];   /* ERROR: what the library said; may be cut */
    char library[PROTOCOL_TEXT_MAX]; /* READY: "redis-py 4.3.4 Lock", or "" */
};

/* The line (with its line feed) of a request. The caller frees. */
char *protocol_print(const struct worker_request *request);

/* Reads a line (borrowed; without its line feed). FAIL_INPUT: what is wrong with it, quoted. */
enum fail protocol_read(const char *line, size_t length, struct worker_answer *answer,
                        struct failure *failure);

const char *worker_op_name(enum worker_op op);

enum { PROMISES_TEXT_MAX = 200 };

/* "expiry, token", or "nothing". promises: bit enum worker_promise. Returns text. */
const char *worker_promises_print(unsigned promises, char text[PROMISES_TEXT_MAX]);

/* Each that is ready, for the first time or again, promises the same. FAIL_INPUT: this one does
 * not; op: INIT or RESET. */
enum fail worker_promises_stay(unsigned before, unsigned now, enum worker_op op,
                               struct failure *failure);

/* Somebody's bytes as text for people: cut, and what cannot be printed as dots. At most size bytes;
 * returns text. */
const char *protocol_quote(const char *bytes, size_t length, char *text, size_t size);

#endif
