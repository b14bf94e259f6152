/* scripts.h - the script that everybody releases a lock with: it deletes the key where it holds the
 * token, and says 1, or else changes nothing and says 0. So its answer says what it did.
 *
 * Known by its text, in whatever way that is laid out, and by the digest that the server gives it.
 */
#ifndef PICKLOCK_WATCH_SCRIPTS_H
#define PICKLOCK_WATCH_SCRIPTS_H

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
};

/* Is it such a script? The server (control, borrowed) is asked for its digest once: it is about to
 * load it anyway. */
bool scripts_is_release(struct scripts *scripts, redisContext *control, const char *text,
                        size_t length);
bool scripts_is_release_digest(const struct scripts *scripts, const char *digest, size_t length);

#endif
