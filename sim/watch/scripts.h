/* scripts.h - scripts that are known. One everybody releases a lock with: it deletes the key where
 * it holds the token, and says 1, or else changes nothing and says 0. So its answer says what it
 * did.
 *
 * Known by its text, in whatever way that is laid out, and by the digest that the server gives it.
 */
#ifndef PICKLOCK_WATCH_SCRIPTS_H
#define PICKLOCK_WATCH_SCRIPTS_H

#include "redis/opaque.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

enum { SCRIPTS_MAX = 8, SCRIPT_TEXT_MAX = 512, SCRIPT_DIGEST = 40 };

struct scripts {
    int count;
    struct known_script {
        char text[SCRIPT_TEXT_MAX];
        size_t length;
        char digest[SCRIPT_DIGEST + 1];
    } known[SCRIPTS_MAX];
    int granting_count; /* scripts that made locks; of more than there is room for the first */
    struct granting_script {
        char text[VALUE_TEXT_MAX]; /* the digest of what names it in a command */
        int token_at;              /* the word of its commands that holds the token */
    } granting[SCRIPTS_MAX];
};

/* Is it such a script? The server (control, borrowed) is asked for its digest once: it is about to
 * load it anyway. */
bool scripts_is_release(struct scripts *scripts, redisContext *control, const char *text,
                        size_t length);
bool scripts_is_release_digest(const struct scripts *scripts, const char *digest, size_t length);

/* A script made a lock, with the token in that word. */
void scripts_granted(struct scripts *scripts, const char *text, int token_at);
/* In which word of its commands is the token, by what was seen of it? 0: it made no lock yet. */
int scripts_token_at(const struct scripts *scripts, const char *text);

#endif
