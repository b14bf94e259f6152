/* phrase.h - what workers and servers say to each other, as numbers, with tokens made symbols.
 *
 * "SET lock 3fa9.. NX PX 2000" of one attempt and that of the next are the same phrase: the token
 * of the attempt stands in it as "own". Equal phrases have equal numbers. */
#ifndef PICKLOCK_ASK_PHRASE_H
#define PICKLOCK_ASK_PHRASE_H

#include "base/bits.h"
#include "base/fail.h"
#include "explore/store/intern.h"

#include <stdbool.h>

/* What a session has cut is as long, and none. */
enum { SPOKEN_TOKEN_MAX = 512, PHRASE_MAX = 2 * 1024 * 1024 };

/* The bytes that stand for a token; length 0: there is none. */
struct spoken_token {
    char bytes[SPOKEN_TOKEN_MAX];
    size_t length;
};

/* Whose token. */
#define WHOSE(BIT)                                                                                 \
    BIT(WHOSE_OWN)   /* of the attempt that asks */                                                \
    BIT(WHOSE_OTHER) /* another one; of a history: none that it heard of in an attempt before */   \
    BIT(WHOSE_SAME)  /* of a history: the other one that it heard of last in an attempt before */  \
    BIT(WHOSE_EARLIER) /* of a history: its own, of an earlier attempt or try */
BITS(whose, WHOSE);
enum { WHOSE_NONE = 0 };

struct phrasebook {
    struct intern_table table;
};

/* The number of a phrase, from 1. bytes borrowed; whose: bits of those in it. FAIL_UNKNOWN: it is
 * too long. */
enum fail phrase_put(struct phrasebook *book, const char *bytes, size_t length,
                     const struct spoken_token *own, const struct spoken_token *other,
                     uint32_t *number, unsigned *whose, struct failure *failure);

/* The bytes again, with these tokens in them, and a NUL behind; the caller frees. */
char *phrase_say(const struct phrasebook *book, uint32_t number, const struct spoken_token *own,
                 const struct spoken_token *other, size_t *length);

/* Could a book have these bytes as one? For those that come from a file. */
bool phrase_is_whole(const char *bytes, size_t size);

bool token_is_same(const struct spoken_token *a, const struct spoken_token *b);

/* Another token of the same length, made of the same kinds of characters. */
struct spoken_token token_unlike(const struct spoken_token *token);

#endif
