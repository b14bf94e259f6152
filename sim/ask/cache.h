/* cache.h - answers that are kept from run to run, in a file of the user's own.
 *
 * A file is believed only when it is whole (its digest), the user's own, writable by nobody else,
 * and of exactly this question: the worker's command and its files, its folder and environment, the
 * programs that run it and the server, this picklock, the options (its key, compared as text); and
 * while each file that the worker opened is as it was (opened.h).
 * Whatever it says is still checked number by number (answers.h), and a share of it is asked again.
 * Private to this folder. */
#ifndef PICKLOCK_ASK_CACHE_H
#define PICKLOCK_ASK_CACHE_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache_subject {
    const char *command;      /* of the worker; all borrowed */
    const char *redis_server; /* NULL: the one on the PATH */
    const char *depends;      /* files and folders, "a.py,lib"; NULL: none */
    uint64_t seed;
    int64_t wait_us;
    int servers, lease_ticks;
};

enum { CACHE_WORDS_MAX = 256 };

/* Of bytes, behind those that made so_far; the first are behind CACHE_DIGEST_START. */
#define CACHE_DIGEST_START UINT64_C(0xcbf29ce484222325)
uint64_t cache_digest(uint64_t so_far, const char *bytes, size_t size);

struct cache {
    char *path, *key;            /* owned; path NULL: nothing is kept, nor read */
    char *opened;                /* owned; files that the answers rest on that were read; NULL: none
                                  * were */
    bool is_suspect;             /* what stands there is somebody else's: it is left alone */
    char words[CACHE_WORDS_MAX]; /* why a file was not believed, or not written; "" */
};

/* In PICKLOCK_CACHE, else in picklock/ under XDG_CACHE_HOME or ~/.cache; where PICKLOCK_CACHE is
 * empty, nowhere. FAIL_INPUT: a file of `depends` cannot be read. */
enum fail cache_open(struct cache *cache, const struct cache_subject *subject,
                     struct failure *failure);
void cache_shut(struct cache *cache);

/* *bytes: the caller frees; NULL: there is none, or it is not believed (words). */
void cache_read(struct cache *cache, char **bytes, size_t *size);
/* Replaces the file, whole or not at all. opened: as opened_print(). */
void cache_write(struct cache *cache, const char *opened, const char *bytes, size_t size);
/* None are kept: that file, which they rest on, changes. */
void cache_forbid(struct cache *cache, const char *path);
/* What it says is not so any more, in these words. */
void cache_drop(struct cache *cache, const char *words);

#endif
