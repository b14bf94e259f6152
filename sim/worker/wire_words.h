/* wire_words.h - requests and replies as they stand on the wire, read for people and for histories.
 */
#ifndef PICKLOCK_WORKER_WIRE_WORDS_H
#define PICKLOCK_WORKER_WIRE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { WIRE_WORDS_MAX = 64 };

/* The words of a request that is an array of texts; of a transaction those of all its requests. */
struct wire_words {
    const char *words[WIRE_WORDS_MAX]; /* in the request's own bytes; not NUL-terminated */
    size_t lengths[WIRE_WORDS_MAX];
    int count;    /* those that are there, at most WIRE_WORDS_MAX */
    int requests; /* that begin in it */
    int wanted;   /* that it has; more than count when it was cut, or has too many */
};

/* Reads a request (borrowed; may be cut). count 0: it is none. */
struct wire_words wire_words_read(const char *bytes, size_t length);

/* Is there such a word, in any case of its letters? */
bool wire_words_is(const struct wire_words *words, int at, const char *word);

/* For people: "SET lock 3f.. NX PX 1000"; long words are cut. At most size bytes; returns text. */
const char *wire_request_print(const char *bytes, size_t length, char *text, size_t size);
const char *wire_reply_print(const char *bytes, size_t length, char *text, size_t size);

#endif
