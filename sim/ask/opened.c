/* opened.c - see opened.h. */
#include "ask/opened.h"

#include "ask/cache.h"
#include "base/infile.h"
#include "base/memory.h"
#include "worker/time_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LOG_MAX = 256 << 20,
    BYTES_MAX = 1 << 20,
    MARK_SIZE = sizeof((struct opened_file *)NULL)->mark
};

/* --- added --- */

static void print_mark(char *mark, const struct stat *file)
{
    (void)snprintf(mark, MARK_SIZE, "%lld %lld.%09ld", (long long)file->st_size,
                   (long long)file->st_mtim.tv_sec, file->st_mtim.tv_nsec);
}

/* As it is now; "": it is not there. */
static void mark_now(char *mark, const char *path)
{
    struct stat file;
    *mark = '\0';
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        print_mark(mark, &file);
}

/* Takes path. */
static void add(struct opened *opened, char *path, const char *mark)
{
    if (opened->count == opened->room) {
        opened->room = opened->room ? 2 * opened->room : 256;
        opened->files = memory_resize(opened->files, (size_t)opened->room, sizeof *opened->files);
    }
    struct opened_file *file = &opened->files[opened->count++];
    file->path = path;
    (void)snprintf(file->mark, sizeof file->mark, "%s", mark);
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_of_no_file(const char *path, const char *ours)
{
    return begins_with(path, "/proc/") || begins_with(path, "/sys/") ||
           begins_with(path, "/dev/") || (ours && begins_with(path, ours));
}

/* "lib/__pycache__/lock.cpython-311.pyc" is what "lib/lock.py" was; the caller frees. NULL: it is
 * no such file. */
static char *source_of(const char *path)
{
    static const char cache[] = "/__pycache__/";
    const char *found = strstr(path, cache);
    const char *name = found ? found + sizeof cache - 1 : NULL;
    if (!name || strchr(name, '/') || !strchr(name, '.'))
        return NULL;
    return memory_format("%.*s/%.*s.py", (int)(found - path), path, (int)strcspn(name, "."), name);
}

static void add_opened(struct opened *opened, const char *path, const char *mark)
{
    char now[MARK_SIZE] = "", *source = source_of(path);
    if (source)
        mark_now(now, source);
    if (*now) {
        add(opened, source, now);
        return;
    }
    free(source);
    add(opened, memory_text(path), mark);
}

/* Of a file's bytes; "-": it is larger than that, or cannot be read. Whoever checks it out anew
 * gives it another time. */
static void digest_now(char text[24], const char *path)
{
    struct failure ignored = {0};
    char *bytes;
    size_t size;
    (void)snprintf(text, 24, "-");
    if (infile_read(path, BYTES_MAX, &bytes, &size, &ignored))
        return;
    (void)snprintf(text, 24, "%016" PRIx64, cache_digest(CACHE_DIGEST_START, bytes, size));
    free(bytes);
}

/* "size seconds.nanoseconds path": where the path begins; NULL: it is no such line. */
static char *cut_mark(char *line)
{
    char *space = strchr(line, ' ');
    space = space ? strchr(space + 1, ' ') : NULL;
    if (!space || space - line >= MARK_SIZE)
        return NULL;
    *space = '\0';
    return space + 1;
}

/* Takes lines apart; ours may be NULL. What cannot be read is a file that is never the same. */
static void add_lines(struct opened *opened, char *lines, const char *ours)
{
    char *rest = lines;
    for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *path = cut_mark(line);
        if (!path || *path != '/')
            add(opened, memory_text("a file with a line break in its name"), "?");
        else if (!is_of_no_file(path, ours))
            add_opened(opened, path, line);
    }
}

void opened_add_log(struct opened *opened, const char *folder)
{
    struct failure ignored = {0};
    char *path = memory_format("%s/" OPENED_LOG, folder), *ours = memory_format("%s/", folder);
    char *bytes;
    size_t size;
    if (!infile_read(path, LOG_MAX, &bytes, &size, &ignored)) {
        add_lines(opened, bytes, ours);
        free(bytes);
    }
    free(path);
    free(ours);
}

/* "digest path", cut there: where the path begins; NULL: it is no such text. */
static char *cut_digest(char *text)
{
    char *space = text ? strchr(text, ' ') : NULL;
    if (!space)
        return NULL;
    *space = '\0';
    return space + 1;
}

void opened_add_text(struct opened *opened, const char *text)
{
    char *lines = memory_text(text), *rest = lines, mark[MARK_SIZE];
    for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *path = cut_digest(cut_mark(line));
        if (!path)
            continue;
        mark_now(mark, path);
        add(opened, memory_text(path), mark);
    }
    free(lines);
}

void opened_add_maps(struct opened *opened, int pid)
{
    char name[40], line[8192], mark[MARK_SIZE];
    (void)snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *file = fopen(name, "re");
    while (file && fgets(line, sizeof line, file)) {
        char *path = strchr(line, '/');
        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        mark_now(mark, path);
        if (*mark && !is_of_no_file(path, NULL) && !strstr(path, "/picklock-servers-"))
            add(opened, memory_text(path), mark);
    }
    if (file)
        (void)fclose(file);
}

/* --- settled --- */

static int by_path_and_mark(const void *a, const void *b)
{
    const struct opened_file *one = a, *other = b;
    const int order = strcmp(one->path, other->path);
    return order ? order : strcmp(one->mark, other->mark);
}

const char *opened_settle(struct opened *opened)
{
    const char *changed = NULL;
    int kept = 0;
    qsort(opened->files, (size_t)opened->count, sizeof *opened->files, by_path_and_mark);
    for (int i = 0; i < opened->count; i++) {
        struct opened_file *file = &opened->files[i];
        struct opened_file *last = kept ? &opened->files[kept - 1] : NULL;
        char now[MARK_SIZE];
        const bool is_again = last && !strcmp(last->path, file->path);
        if (is_again && strcmp(last->mark, file->mark) != 0)
            changed = last->path;
        mark_now(now, file->path);
        if (is_again || (!*now && *file->path == '/')) {
            free(file->path);
            continue;
        }
        opened->files[kept] = *file;
        if (strcmp(now, file->mark) != 0)
            changed = opened->files[kept].path;
        kept++;
    }
    opened->count = kept;
    return changed;
}

char *opened_print(const struct opened *opened)
{
    size_t size = 1, used = 0;
    char digest[24];
    for (int i = 0; i < opened->count; i++)
        size += strlen(opened->files[i].path) + MARK_SIZE + sizeof digest + 3;
    char *text = memory_new(size, 1);
    for (int i = 0; i < opened->count; i++) {
        const struct opened_file *file = &opened->files[i];
        digest_now(digest, file->path);
        used += (size_t)snprintf(text + used, size - used, "%s %s %s\n", file->mark, digest,
                                 file->path);
    }
    return text;
}

void opened_close(struct opened *opened)
{
    for (int i = 0; i < opened->count; i++)
        free(opened->files[i].path);
    free(opened->files);
    *opened = (struct opened){0};
}

/* Of the same size, and the same bytes? */
static bool has_same_bytes(const char *mark, const char *now, const char *digest, const char *path)
{
    char text[24];
    const size_t size = strcspn(mark, " ");
    if (strncmp(mark, now, size + 1) != 0 || !strcmp(digest, "-"))
        return false;
    digest_now(text, path);
    return !strcmp(text, digest);
}

char *opened_changed(const char *text)
{
    char *lines = memory_text(text), *rest = lines, *changed = NULL;
    for (char *line = strtok_r(rest, "\n", &rest); line && !changed;
         line = strtok_r(NULL, "\n", &rest)) {
        char now[MARK_SIZE], *digest = cut_mark(line), *path = cut_digest(digest);
        if (!path)
            continue;
        mark_now(now, path);
        if (strcmp(now, line) != 0 && !has_same_bytes(line, now, digest, path))
            changed = memory_text(path);
    }
    free(lines);
    return changed;
}
