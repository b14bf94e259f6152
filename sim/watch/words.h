/* words.h - the words of requests as they stand on the wire, however many there are.
 *
 * Arrays of texts, and inline commands split at blanks. Keeps pointers into the bytes that it was
 * given, never copies. */
#ifndef PICKLOCK_WATCH_WORDS_H
#define PICKLOCK_WATCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request_words {
    const char **at; /* not NUL-terminated; in bytes that somebody else keeps */
    size_t *lengths;
    int count, size;
};

/* The words of all requests in bytes, in their order, instead of those before. False: not all of
 * them are there. */
bool words_read(struct request_words *words, const char *bytes, size_t length);
/* The texts in a reply, those of lists, too, as far as they are there. */
void words_read_reply(struct request_words *words, const char *bytes, size_t length);
/* Those of requests, where somebody knows already where they stand in bytes. */
struct resp_span;
void words_take(struct request_words *words, const char *bytes, const struct resp_span *spans,
                int count);
void words_free(struct request_words *words);

/* Is it that word, in any case of its letters? */
bool words_is(const struct request_words *words, int at, const char *word);
/* Is it one of the arguments? */
bool words_have(const struct request_words *words, const char *word);
/* A plain DEL or UNLINK, which compares nothing. */
bool words_delete(const struct request_words *words);
/* A SET with GET: its answer is what was there, nil where nothing was. */
bool words_set_says_old(const struct request_words *words);

/* The lease as the command has it (PX, EX); INT64_MAX: it does not say. */
int64_t words_lease_us(const struct request_words *words);
/* The number in that word, in units of so many microseconds; below 0 it is 0. INT64_MAX: it is no
 * number, or too large. */
int64_t words_time_us(const struct request_words *words, int at, int64_t unit_us);

#endif
