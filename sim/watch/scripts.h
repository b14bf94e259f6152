/* scripts.h - scripts whose text was seen, by their digest, too; of these, some are known:
 * everybody releases a lock, or extends it, with them.
 *
 * Where the key holds the token those delete it, or set when it ends, and say 1; else they change
 * nothing and say 0. So the answer says what was done. They are known by their text, in whatever
 * way that is laid out. */
#ifndef PICKLOCK_WATCH_SCRIPTS_H
#define PICKLOCK_WATCH_SCRIPTS_H

#include "base/fail.h"
#include "redis/opaque.h"

#include <stdbool.h>
#include <stddef.h>

struct request_words;

enum script_kind { SCRIPT_OTHER, SCRIPT_RELEASES, SCRIPT_EXTENDS };

enum { SCRIPTS_MAX = 64, GRANTING_MAX = 16, SCRIPT_TEXT_MAX = 512, SCRIPT_DIGEST = 40 };

struct scripts {
    int count, next; /* which one the next takes the place of */
    struct known_script {
        char text[SCRIPT_TEXT_MAX];
        size_t length; /* 0: its text is not there */
        enum script_kind kind;
        char digest[SCRIPT_DIGEST + 1]; /* by which EVALSHA names it */
    } known[SCRIPTS_MAX];
    int granting_count; /* scripts that made locks; of more than there is room for the first */
    struct granting_script {
        char text[VALUE_TEXT_MAX]; /* what names it */
        int token_at;              /* the word of its commands that holds the token */
    } granting[GRANTING_MAX];
};

/* Before the first text is seen. FAIL_UNAVAILABLE: nothing makes digests here. */
enum fail scripts_begin(struct failure *failure);

/* A text was seen (copied). Returns it until the next one is seen; NULL: it is too long. */
const struct known_script *scripts_see(struct scripts *scripts, const char *text, size_t length);
/* The one that a command runs ("EVAL text ..", "EVALSHA digest .."). NULL: it is not known, or it
 * runs none. */
const struct known_script *scripts_of_command(struct scripts *scripts, const char *name,
                                              const struct request_words *words);
/* The digest of the script that such a command runs, whichever of the two it is (digest:
 * SCRIPT_DIGEST + 1). False: it runs none. */
bool scripts_digest(struct scripts *scripts, const char *name, const struct request_words *words,
                    char *digest);
/* Its text without blanks, in lower case, with one kind of quotes (plain: SCRIPT_TEXT_MAX). False:
 * it is too long. */
bool scripts_plain(const char *text, size_t length, char *plain);

/* A script made a lock, with the token in that word. text: what names it (VALUE_TEXT_MAX). */
void scripts_granted(struct scripts *scripts, const char *text, int token_at);
/* In which word of its commands is the token, by what was seen of it? 0: it made no lock yet. */
int scripts_token_at(const struct scripts *scripts, const char *text);

#endif
