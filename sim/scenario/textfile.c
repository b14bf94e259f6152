/* textfile.c - see textfile.h. */
#include "scenario/textfile.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Length of the well-formed UTF-8 character at at, 0: none. */
static int character_length(const unsigned char *at, size_t left)
{
    int length = at[0] < 0x80                    ? 1
                 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                 : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                 : 0;
    if (length == 0 || (size_t)length > left)
        return 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    /* overlong forms, surrogates, and what lies behind U+10FFFF */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90))
        return 0;
    return length;
}

enum fail textfile_check(const char *path, const char *bytes, size_t size, struct failure *failure)
{
    int line = 1, column = 1;
    for (size_t i = 0; i < size;) {
        const unsigned char *at = (const unsigned char *)bytes + i;
        int length = character_length(at, size - i);
        if (length == 0 || *at == 0)
            return failure_set(failure, FAIL_INPUT,
                               "%.600s:%d:%d: not a text file: the byte 0x%02x is not UTF-8 text",
                               path, line, column, *at);
        column++;
        if (*at == '\n') {
            line++;
            column = 1;
        }
        i += (size_t)length;
    }
    return FAIL_NONE;
}

static enum fail check_file(const char *path, const struct stat *status, size_t bytes_max,
                            struct failure *failure)
{
    if (S_ISDIR(status->st_mode))
        return failure_set(failure, FAIL_INPUT, "%.600s: is a directory, not a file", path);
    if (!S_ISREG(status->st_mode))
        return failure_set(failure, FAIL_INPUT, "%.600s: is not a regular file", path);
    if (status->st_size > (off_t)bytes_max)
        return failure_set(failure, FAIL_INPUT,
                           "%.600s: has %lld bytes; a file of this kind has at most %zu", path,
                           (long long)status->st_size, bytes_max);
    return FAIL_NONE;
}

static enum fail read_bytes(const char *path, int descriptor, size_t bytes_max, char *bytes,
                            size_t *size, struct failure *failure)
{
    for (*size = 0; *size <= bytes_max;) {
        ssize_t got = read(descriptor, bytes + *size, bytes_max + 1 - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failure_set(failure, FAIL_INPUT, "%.600s: %s", path, strerror(errno));
        if (got == 0)
            return FAIL_NONE;
        *size += (size_t)got;
    }
    return failure_set(failure, FAIL_INPUT, "%.600s: has more than %zu bytes, the limit, and grows",
                       path, bytes_max);
}

static enum fail read_descriptor(const char *path, int descriptor, size_t bytes_max, char **bytes,
                                 size_t *size, struct failure *failure)
{
    struct stat status;
    if (fstat(descriptor, &status))
        return failure_set(failure, FAIL_INPUT, "%.600s: %s", path, strerror(errno));
    enum fail fail = check_file(path, &status, bytes_max, failure);
    if (fail)
        return fail;
    char *room = memory_new(bytes_max + 2, 1);
    fail = read_bytes(path, descriptor, bytes_max, room, size, failure);
    if (!fail)
        fail = textfile_check(path, room, *size, failure);
    if (fail) {
        free(room);
        return fail;
    }
    *bytes = memory_resize(room, *size + 1, 1);
    (*bytes)[*size] = '\0';
    return FAIL_NONE;
}

enum fail textfile_read(const char *path, size_t bytes_max, char **bytes, size_t *size,
                        struct failure *failure)
{
    /* not blocking: a FIFO without a writer must not stop us here */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return failure_set(failure, FAIL_INPUT, "%.600s: %s", path, strerror(errno));
    enum fail fail = read_descriptor(path, descriptor, bytes_max, bytes, size, failure);
    if (close(descriptor) && !fail) {
        free(*bytes);
        *bytes = NULL;
        return failure_set(failure, FAIL_INPUT, "%.600s: %s", path, strerror(errno));
    }
    return fail;
}
