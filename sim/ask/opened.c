/* opened.c - see opened.h. */
#include "ask/opened.h"

#include "base/infile.h"
#include "base/memory.h"
#include "worker/time_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOG_MAX = 256 << 20, MARK_SIZE = sizeof((struct opened_file *)NULL)->mark };

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

void opened_add_text(struct opened *opened, const char *text)
{
    char *lines = memory_text(text);
    add_lines(opened, lines, NULL);
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
    for (int i = 0; i < opened->count; i++)
        size += strlen(opened->files[i].path) + MARK_SIZE + 2;
    char *text = memory_new(size, 1);
    for (int i = 0; i < opened->count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s %s\n", opened->files[i].mark,
                                 opened->files[i].path);
    return text;
}

void opened_close(struct opened *opened)
{
    for (int i = 0; i < opened->count; i++)
        free(opened->files[i].path);
    free(opened->files);
    *opened = (struct opened){0};
}

char *opened_changed(const char *text)
{
    char *lines = memory_text(text), *rest = lines, *changed = NULL;
    for (char *line = strtok_r(rest, "\n", &rest); line && !changed;
         line = strtok_r(NULL, "\n", &rest)) {
        char now[MARK_SIZE], *path = cut_mark(line);
        if (!path)
            continue;
        mark_now(now, path);
        if (strcmp(now, line) != 0)
            changed = memory_text(path);
    }
    free(lines);
    return changed;
}
