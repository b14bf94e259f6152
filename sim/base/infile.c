/* infile.c - see infile.h. */
#include "base/infile.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { ROOM_FIRST = 64 * 1024 };

static enum fail cannot_read(const char *path, struct failure *failure)
{
    return failure_set(failure, FAIL_INPUT, "%.600s: %s", path, strerror(errno));
}

/* One without a name: whoever made it has its other end. */
static bool is_nameless_pipe(int descriptor)
{
    struct statfs about;
    return fstatfs(descriptor, &about) == 0 && about.f_type == PIPEFS_MAGIC;
}

static enum fail refuse_kind(const char *path, int descriptor, struct failure *failure)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0)
        return cannot_read(path, failure);
    if (S_ISDIR(about.st_mode))
        return failure_set(failure, FAIL_INPUT, "%.600s: is a directory, not a file", path);
    if (S_ISREG(about.st_mode) || (S_ISFIFO(about.st_mode) && is_nameless_pipe(descriptor)))
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT, "%.600s: is not a regular file but a %s", path,
                       S_ISFIFO(about.st_mode) ? "named pipe" : "device");
}

/* Not blocking while it is opened: a named pipe without a writer must not stop us here. */
static enum fail open_descriptor(const char *path, int *descriptor, struct failure *failure)
{
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*descriptor < 0)
        return cannot_read(path, failure);
    enum fail fail = refuse_kind(path, *descriptor, failure);
    if (!fail && fcntl(*descriptor, F_SETFL, 0) != 0)
        fail = cannot_read(path, failure);
    if (fail)
        (void)close(*descriptor); /* only read from: nothing is lost */
    return fail;
}

enum fail infile_open(const char *path, FILE **file, struct failure *failure)
{
    int descriptor;
    enum fail fail = open_descriptor(path, &descriptor, failure);
    if (fail)
        return fail;
    *file = fdopen(descriptor, "r");
    if (*file)
        return FAIL_NONE;
    fail = cannot_read(path, failure);
    (void)close(descriptor);
    return fail;
}

enum fail infile_check(const char *path, struct failure *failure)
{
    int descriptor;
    enum fail fail = open_descriptor(path, &descriptor, failure);
    if (!fail)
        (void)close(descriptor);
    return fail;
}

bool infile_is_pipe(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISFIFO(about.st_mode);
}

void infile_beginning(const char *path, char *text, size_t room)
{
    struct stat about;
    FILE *file = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "re") : NULL;
    text[file ? fread(text, 1, room - 1, file) : 0] = '\0';
    if (file)
        (void)fclose(file); /* only read from */
}

/* Up to one byte more than may be: then it is too large. */
static enum fail read_all(const char *path, int descriptor, size_t bytes_max, char **bytes,
                          size_t *size, struct failure *failure)
{
    size_t room = 0;
    for (*size = 0; *size <= bytes_max;) {
        if (*size == room) {
            room = room ? 2 * room : ROOM_FIRST;
            *bytes = memory_resize(*bytes, room + 1, 1);
        }
        ssize_t got = read(descriptor, *bytes + *size, room - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(path, failure);
        if (got == 0)
            return FAIL_NONE;
        *size += (size_t)got;
    }
    return failure_set(failure, FAIL_INPUT, "%.600s: has more than %zu bytes, the limit", path,
                       bytes_max);
}

enum fail infile_read(const char *path, size_t bytes_max, char **bytes, size_t *size,
                      struct failure *failure)
{
    int descriptor;
    struct stat about;
    char *made = NULL;
    enum fail fail = open_descriptor(path, &descriptor, failure);
    if (fail)
        return fail;
    if (fstat(descriptor, &about) == 0 && about.st_size > (off_t)bytes_max)
        fail = failure_set(failure, FAIL_INPUT,
                           "%.600s: has %lld bytes; a file of this kind has at most %zu", path,
                           (long long)about.st_size, bytes_max);
    else
        fail = read_all(path, descriptor, bytes_max, &made, size, failure);
    (void)close(descriptor); /* only read from: nothing is lost */
    if (fail) {
        free(made);
        return fail;
    }
    made[*size] = 0;
    *bytes = made;
    return FAIL_NONE;
}
