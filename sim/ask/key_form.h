/* key_form.h - a key as it is put to a server in a question: any of the five plain types, whatever
 * is left of its expiry, with the token of an attempt in it as a symbol.
 *
 * Private to server_asker. Equal keys have equal forms, whoever's token is in them. */
#ifndef PICKLOCK_ASK_KEY_FORM_H
#define PICKLOCK_ASK_KEY_FORM_H

#include "ask/server_asker.h"

enum { FORM_BYTES_MAX = 2048 };

struct key_form {
    char bytes[FORM_BYTES_MAX]; /* its type, and its elements */
    size_t used;
    unsigned whose;   /* the token in it: WHOSE_NONE, OWN, or OTHER */
    int32_t left;     /* ticks, up to LEFT_FAR; NO_TICKS: it does not expire */
    uint32_t left_ms; /* the same, exactly; 0: it is LEFT_FAR, NO_TICKS, or not known */
};

/* The key as it stands there. FAIL_UNKNOWN: it cannot be kept, and why, as the end of a sentence:
 * "is too long". */
enum fail key_form_take(struct server_asker *asker, const char *name, struct key_form *form,
                        struct failure *failure);
/* Makes it, where no such key is. */
enum fail key_form_put(struct server_asker *asker, const char *name, const struct key_form *form,
                       struct failure *failure);
/* Are these the bytes of a form? For those that come from a file. */
bool key_form_is_whole(const char *bytes, size_t size);

#endif
