/* cache.c - see cache.h. Source of the digest: the Fowler-Noll-Vo hash function, FNV-1a, 64 bits:
 * against damage, not against enemies; those cannot write where only the user can. */
#include "ask/cache.h"

#include "ask/opened.h"
#include "base/infile.h"
#include "base/memory.h"
#include "base/outfile.h"
#include "base/place.h"
#include "worker/program.h"
#include "worker/worker.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[] = "picklock answers 4\n";
enum { FILE_MAX = 64 << 20, PATH_SIZE = 4096 };

uint64_t cache_digest(uint64_t so_far, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        so_far = (so_far ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return so_far;
}

/* --- the key --- */

static void add(struct cache *cache, char *line)
{
    char *longer = memory_format("%s%s\n", cache->key, line);
    free(cache->key);
    free(line);
    cache->key = longer;
}

/* A program is large: by its place, size and time. */
static void add_program(struct cache *cache, const char *word)
{
    char path[PROGRAM_PATH_MAX];
    struct stat file = {0};
    const char *found = program_find(word, path);
    if (stat(found, &file) != 0)
        file.st_size = -1;
    add(cache, memory_format("program %s %lld %lld.%09ld", found, (long long)file.st_size,
                             (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec));
}

static enum fail add_file(struct cache *cache, const char *path, struct failure *failure)
{
    char *bytes;
    size_t size;
    if (infile_read(path, FILE_MAX, &bytes, &size, failure))
        return failure->code;
    add(cache, memory_format("file %s %zu %016" PRIx64, path, size,
                             cache_digest(CACHE_DIGEST_START, bytes, size)));
    free(bytes);
    return FAIL_NONE;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* kind NULL: any. */
static bool is_of_kind(const FTSENT *entry, const char *kind)
{
    const char *dot = strrchr(entry->fts_name, '.');
    return entry->fts_info == FTS_F && (!kind || (dot && strcmp(dot, kind) == 0));
}

/* A file of a tree: of --depends by its bytes; else by name and size, since what is opened of them
 * is compared (opened.h). */
static uint64_t add_entry(uint64_t sum, const FTSENT *entry, bool by_bytes)
{
    struct failure ignored = {0};
    char *bytes = NULL;
    size_t size = 0;
    char *line = memory_format("%s %lld\n", entry->fts_path, (long long)entry->fts_statp->st_size);
    sum = cache_digest(sum, line, strlen(line));
    free(line);
    if (by_bytes && !infile_read(entry->fts_path, FILE_MAX, &bytes, &size, &ignored))
        sum = cache_digest(sum, bytes, size);
    free(bytes);
    return sum;
}

/* All of a kind in a folder and below; hidden folders are not looked into. False: there are more
 * than that. */
static bool add_folder(struct cache *cache, char *folder, const char *kind)
{
    enum { LOOKED_AT_MAX = 20000, LEVELS_MAX = 6 };
    char *roots[] = {folder, NULL};
    uint64_t sum = CACHE_DIGEST_START;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    FTSENT *entry = NULL;
    for (int i = 0; tree && i < LOOKED_AT_MAX && (entry = fts_read(tree)); i++) {
        if (entry->fts_info == FTS_D && entry->fts_level > 0 &&
            (entry->fts_level > LEVELS_MAX || entry->fts_name[0] == '.' ||
             strcmp(entry->fts_name, "__pycache__") == 0))
            (void)fts_set(tree, entry, FTS_SKIP);
        if (!is_of_kind(entry, kind))
            continue;
        sum = add_entry(sum, entry, !kind);
    }
    if (tree)
        (void)fts_close(tree);
    add(cache, memory_format("%s %s %016" PRIx64, kind ? "beside" : "below", folder, sum));
    return entry == NULL;
}

/* What a file imports most often lies beside it, or below: all of the same kind there. A new one
 * may be imported in the place of one that was opened. */
static void add_neighbours(struct cache *cache, const char *path)
{
    const char *name = strrchr(path, '/'), *kind = strrchr(name ? name : path, '.');
    if (!kind)
        return;
    char *folder = name ? memory_format("%.*s/", (int)(name - path), path) : memory_text("./");
    (void)add_folder(cache, folder, kind);
    free(folder);
}

/* Words of the command that name files are the worker's own. */
static enum fail add_command(struct cache *cache, const char *command, struct failure *failure)
{
    char *words[WORKER_WORDS_MAX + 1];
    struct stat file;
    if (worker_split(command, words, failure))
        return failure->code;
    add(cache, memory_format("command %s", command));
    add_program(cache, words[0]);
    for (int i = 1; words[i]; i++) {
        struct failure ignored = {0};
        if (stat(words[i], &file) != 0 || !S_ISREG(file.st_mode))
            continue;
        (void)add_file(cache, words[i], &ignored);
        add_neighbours(cache, words[i]);
    }
    free(words[0]);
    return FAIL_NONE;
}

static enum fail add_dependency(struct cache *cache, char *name, struct failure *failure)
{
    struct stat file;
    if (stat(name, &file) != 0 || !S_ISDIR(file.st_mode))
        return add_file(cache, name, failure);
    return add_folder(cache, name, NULL) ? FAIL_NONE
                                         : failure_set(failure, FAIL_INPUT,
                                                       "%s: more than 20000 files: name those that "
                                                       "matter",
                                                       name);
}

static enum fail add_depends(struct cache *cache, const char *depends, struct failure *failure)
{
    char *names = memory_text(depends ? depends : ""), *rest = names;
    enum fail fail = FAIL_NONE;
    for (char *name = strtok_r(names, ",", &rest); name && !fail; name = strtok_r(NULL, ",", &rest))
        fail = add_dependency(cache, name, failure);
    free(names);
    return fail ? failure_wrap(failure, "--depends") : FAIL_NONE;
}

/* This program, and what it preloads into others. */
static void add_ourselves(struct cache *cache)
{
    char path[PLACE_BYTES];
    struct failure ignored = {0};
    (void)add_file(cache, "/proc/self/exe", &ignored);
    if (place_library("picklock-time.so", path))
        (void)add_file(cache, path, &ignored);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What changes from one terminal, or one run of a pipeline, to the next, and what is for us. */
static bool is_noise(const char *setting)
{
    static const char *const names[] = {"_=",          "PWD=",
                                        "OLDPWD=",     "SHLVL=",
                                        "COLUMNS=",    "LINES=",
                                        "TERM=",       "COLORTERM=",
                                        "WINDOWID=",   "SSH_",
                                        "XDG_SESSION", "DBUS_",
                                        "PICKLOCK_",   "PYTEST_CURRENT_TEST=",
                                        "GITHUB_",     "RUNNER_",
                                        "ACTIONS_",    "INPUT_",
                                        "CI_",         "GITLAB_",
                                        "BUILD_",      "INVOCATION_ID=",
                                        "JOURNAL_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(setting, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* A worker may go by any of it. As a number: there may be secrets in it. */
static void add_surroundings(struct cache *cache)
{
    char folder[PATH_SIZE];
    int count = 0;
    while (environ[count])
        count++;
    char **settings = memory_new((size_t)count + 1, sizeof *settings);
    memcpy(settings, environ, (size_t)count * sizeof *settings);
    qsort(settings, (size_t)count, sizeof *settings, compare_texts);
    uint64_t number = CACHE_DIGEST_START;
    for (int i = 0; i < count; i++)
        if (!is_noise(settings[i]))
            number = cache_digest(number, settings[i], strlen(settings[i]) + 1);
    free(settings);
    add(cache, memory_format("folder %s", getcwd(folder, sizeof folder) ? folder : "?"));
    add(cache, memory_format("environment %016" PRIx64, number));
}

/* --- where --- */

static char *folder_of(void)
{
    const char *own = getenv("PICKLOCK_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (own)
        return *own ? memory_text(own) : NULL;
    if (xdg && *xdg == '/')
        return memory_format("%s/picklock", xdg);
    return home && *home == '/' ? memory_format("%s/.cache/picklock", home) : NULL;
}

enum fail cache_open(struct cache *cache, const struct cache_subject *subject,
                     struct failure *failure)
{
    *cache = (struct cache){.key = memory_text("")};
    add(cache,
        memory_format("seed %" PRIu64 ", %d servers, %d ticks, waits %" PRId64, subject->seed,
                      subject->servers, subject->lease_ticks, subject->wait_us));
    add_ourselves(cache);
    add_program(cache, subject->redis_server ? subject->redis_server : "redis-server");
    add_surroundings(cache);
    if (add_command(cache, subject->command, failure) ||
        add_depends(cache, subject->depends, failure))
        return failure->code;
    char *folder = folder_of();
    if (folder)
        cache->path =
            memory_format("%s/%016" PRIx64 ".answers", folder,
                          cache_digest(CACHE_DIGEST_START, cache->key, strlen(cache->key)));
    free(folder);
    return FAIL_NONE;
}

void cache_shut(struct cache *cache)
{
    free(cache->path);
    free(cache->key);
    free(cache->opened);
    *cache = (struct cache){0};
}

/* --- read --- */

static void disbelieve(struct cache *cache, const char *why)
{
    (void)snprintf(cache->words, sizeof cache->words, "%.160s %s: it was not believed", cache->path,
                   why);
}

/* Who else could have written it? NULL: nobody. */
static const char *suspect(const char *path)
{
    struct stat file;
    if (lstat(path, &file) != 0)
        return "cannot be read";
    if (!S_ISREG(file.st_mode))
        return "is no plain file";
    if (file.st_uid != geteuid())
        return "belongs to somebody else";
    return file.st_mode & (S_IWGRP | S_IWOTH) ? "can be written by others" : NULL;
}

/* The file is: magic, the key's length and the key, the files that were opened, the answers, a
 * digest of all that. *opened, and what is behind it; NULL: it is not such a file, or of another
 * key. */
static const char *find_answers(const struct cache *cache, const char *bytes, size_t size,
                                const char **opened, size_t *length)
{
    const size_t key = strlen(cache->key) + 1, head = sizeof magic - 1 + key;
    uint64_t written;
    if (size < head + 1 + sizeof written || memcmp(bytes, magic, sizeof magic - 1) != 0)
        return NULL;
    const size_t before = size - sizeof written;
    memcpy(&written, bytes + before, sizeof written);
    if (written != cache_digest(CACHE_DIGEST_START, bytes, before) ||
        memcmp(bytes + sizeof magic - 1, cache->key, key) != 0)
        return NULL;
    const char *end = memchr(bytes + head, '\0', before - head);
    if (!end)
        return NULL;
    *opened = bytes + head;
    *length = before - (size_t)(end + 1 - bytes);
    return end + 1;
}

/* What the answers rest on is another one now. Takes path. */
static void tell_change(struct cache *cache, char *path)
{
    (void)snprintf(cache->words, sizeof cache->words,
                   "%.180s has changed, which the worker reads: all was asked anew", path);
    free(path);
}

void cache_read(struct cache *cache, char **bytes, size_t *size)
{
    struct failure failure = {0};
    char *all;
    size_t all_size;
    *bytes = NULL;
    if (!cache->path || access(cache->path, F_OK) != 0)
        return;
    const char *why = suspect(cache->path);
    cache->is_suspect = why != NULL;
    if (!why && infile_read(cache->path, FILE_MAX, &all, &all_size, &failure))
        why = "cannot be read";
    if (why) {
        disbelieve(cache, why);
        return;
    }
    const char *opened = NULL, *answers = find_answers(cache, all, all_size, &opened, size);
    char *changed = answers ? opened_changed(opened) : NULL;
    if (changed) {
        tell_change(cache, changed);
    } else if (answers) {
        *bytes = memory_new(*size + 1, 1);
        memcpy(*bytes, answers, *size);
        cache->opened = memory_text(opened);
    } else {
        disbelieve(cache, "is damaged, or of something else");
    }
    free(all);
}

/* --- written --- */

/* The folders that lead to the path, for the user alone. */
static void make_folders(const char *path)
{
    char *folder = memory_text(path);
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(folder, 0700);
        *at = '/';
    }
    free(folder);
}

static bool put(FILE *stream, const void *bytes, size_t size, uint64_t *so_far)
{
    *so_far = cache_digest(*so_far, bytes, size);
    return fwrite(bytes, 1, size, stream) == size;
}

void cache_write(struct cache *cache, const char *opened, const char *bytes, size_t size)
{
    struct failure failure = {0};
    struct outfile file;
    uint64_t sum = CACHE_DIGEST_START, ignored = 0;
    if (!cache->path || cache->is_suspect)
        return;
    make_folders(cache->path);
    enum fail fail = outfile_open(&file, cache->path, &failure);
    if (!fail) {
        const bool is_whole = put(file.stream, magic, sizeof magic - 1, &sum) &&
                              put(file.stream, cache->key, strlen(cache->key) + 1, &sum) &&
                              put(file.stream, opened, strlen(opened) + 1, &sum) &&
                              put(file.stream, bytes, size, &sum) &&
                              fchmod(file.fd, S_IRUSR | S_IWUSR) == 0;
        const uint64_t digest_of_all = sum;
        if (is_whole && put(file.stream, &digest_of_all, sizeof digest_of_all, &ignored)) {
            fail = outfile_shut(&file, &failure);
        } else {
            outfile_abandon(&file);
            fail = failure_set(&failure, FAIL_INTERNAL, "%s", strerror(errno));
        }
    }
    if (fail)
        (void)snprintf(cache->words, sizeof cache->words, "answers could not be kept: %.180s",
                       failure.text);
}

void cache_drop(struct cache *cache, const char *words)
{
    if (!cache->path)
        return;
    (void)unlink(cache->path);
    (void)snprintf(cache->words, sizeof cache->words, "%s", words);
}

void cache_forbid(struct cache *cache, const char *path)
{
    (void)unlink(cache->path);
    (void)snprintf(cache->words, sizeof cache->words,
                   "none are kept: %.180s, which the worker reads, changed meanwhile", path);
}
