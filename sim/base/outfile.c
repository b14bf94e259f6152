/* outfile.c - see outfile.h. Never replaces anything but a regular file. */
#include "base/outfile.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_TRIED_MAX = 100, PROC_NAME_MAX = 64, LINKS_MAX = 40 };

/* What a stream does when its buffer is full. stdio forgets the errno of a failed write by the time
 * that anybody asks; the outfile keeps the first one. */
static ssize_t stream_write(void *cookie, const char *bytes, size_t size)
{
    struct outfile *file = cookie;
    int fd = file->fd < 0 ? STDOUT_FILENO : file->fd;
    size_t done = 0;
    while (done < size && !file->error) {
        ssize_t wrote = write(fd, bytes + done, size - done);
        if (wrote < 0 && errno != EINTR)
            file->error = errno;
        else if (wrote > 0)
            done += (size_t)wrote;
    }
    if (!file->goes_back)
        file->size += (off_t)done;
    return file->error ? 0 : (ssize_t)size;
}

/* Where others cut the file, what comes goes to its new end, not behind a hole: so it stays shorter
 * than what was written. */
static int set_appends(const struct outfile *file)
{
    return fcntl(file->fd, F_SETFL, file->goes_back ? 0 : O_APPEND) == 0 ? 0 : errno;
}

/* What is no file cannot be gone back in. */
static int stream_seek(void *cookie, off64_t *offset, int whence)
{
    struct outfile *file = cookie;
    const off_t at = lseek(file->fd < 0 ? STDOUT_FILENO : file->fd, *offset, whence);
    *offset = at;
    if (at < 0)
        return -1;
    file->goes_back = whence != SEEK_END;
    return file->is_shown && set_appends(file) ? -1 : 0;
}

const char *outfile_loss(int fd, off_t written)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return NULL;
    return about.st_nlink == 0       ? "another program removed or replaced it"
           : about.st_size < written ? "another program cut it"
                                     : NULL;
}

static void look(struct outfile *file)
{
    if (!file->is_shown || file->loss)
        return;
    file->loss = outfile_loss(file->fd, file->size);
    if (file->loss && !file->error)
        file->error = ESTALE;
}

static const char *words_of(const struct outfile *file)
{
    if (!file->error)
        return NULL;
    return file->loss ? file->loss : strerror(file->error);
}

const char *outfile_why(struct outfile *file)
{
    look(file);
    return words_of(file);
}

/* Wrong path: the user's to mend. Anything else: ours, or the machine's. */
static enum fail code_of(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENAMETOOLONG:
    case ELOOP:
    case ENXIO:
        return FAIL_INPUT;
    default:
        return FAIL_INTERNAL;
    }
}

static enum fail cannot_write(const char *path, int error, struct failure *failure)
{
    return failure_set(failure, code_of(error), "%s: cannot be written: %s", path,
                       error == ENXIO ? "nobody reads it" : strerror(error));
}

static void release(struct outfile *file)
{
    free(file->path);
    free(file->target);
    free(file->temp);
    *file = (struct outfile){.fd = -1};
}

/* ".results.json.1234-0.part" beside target, a name that nobody else writes to. */
static char *part_name(const struct outfile *file, int n)
{
    const char *slash = strrchr(file->target, '/');
    const char *base = slash ? slash + 1 : file->target;
    int folder = (int)(base - file->target);
    return memory_format("%.*s.%s.%ld-%d.part", folder, file->target, base, (long)getpid(), n);
}

/* A file without a name in the folder of target, gone with us whatever ends us; -1: not here. */
static int open_nameless(const struct outfile *file)
{
    char proc[PROC_NAME_MAX];
    const char *slash = strrchr(file->target, '/');
    char *folder = slash ? memory_format("%.*s", (int)(slash - file->target) + 1, file->target)
                         : memory_text(".");
    int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    free(folder);
    if (fd < 0)
        return -1;
    (void)snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
    if (access(proc, F_OK) == 0)
        return fd;
    (void)close(fd); /* it could not be given a name */
    return -1;
}

/* A new file for what target is to hold; where the system has none without a name, one with. */
static int open_temp(struct outfile *file)
{
    int nameless = open_nameless(file);
    if (nameless >= 0)
        return nameless;
    for (int n = 0; n < NAMES_TRIED_MAX; n++) {
        file->temp = part_name(file, n);
        int fd = open(file->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
        free(file->temp);
        file->temp = NULL;
    }
    return -1;
}

/* Gives the file without a name its name: that of target, or, where there is a file, one to be
 * renamed. */
static int name_it(struct outfile *file)
{
    char proc[PROC_NAME_MAX];
    (void)snprintf(proc, sizeof proc, "/proc/self/fd/%d", file->fd);
    if (linkat(AT_FDCWD, proc, AT_FDCWD, file->target, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    for (int n = 0; errno == EEXIST && n < NAMES_TRIED_MAX; n++) {
        free(file->temp);
        file->temp = part_name(file, n);
        if (linkat(AT_FDCWD, proc, AT_FDCWD, file->temp, AT_SYMLINK_FOLLOW) == 0)
            return 0;
    }
    int error = errno;
    free(file->temp);
    file->temp = NULL;
    return error;
}

/* Where a file that is not there yet will be: a link may lead to it. Returns 0 or an errno. */
static int behind_links(const char *path, char **target)
{
    char text[PATH_MAX];
    *target = memory_text(path);
    for (int links = 0; links < LINKS_MAX; links++) {
        ssize_t length = readlink(*target, text, sizeof text);
        if (length < 0)
            return errno == EINVAL || errno == ENOENT ? 0 : errno;
        if (length == sizeof text)
            return ENAMETOOLONG;
        const char *slash = strrchr(*target, '/');
        const int folder = slash && text[0] != '/' ? (int)(slash + 1 - *target) : 0;
        char *next = memory_format("%.*s%.*s", folder, *target, (int)length, text);
        free(*target);
        *target = next;
    }
    return ELOOP;
}

/* Opens what is to be written to: a temporary file, or the device itself. Returns 0 or an errno. */
static int open_fd(struct outfile *file)
{
    struct stat about;
    bool exists = stat(file->path, &about) == 0;
    if (!exists && errno != ENOENT)
        return errno;
    if (exists && S_ISDIR(about.st_mode))
        return EISDIR;
    if (exists && !S_ISREG(about.st_mode)) {
        /* not blocking: a named pipe that nobody reads must not stop us here */
        file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        return file->fd < 0 || fcntl(file->fd, F_SETFL, 0) != 0 ? errno : 0;
    }
    /* a file that may not be written is not replaced either, even if its folder would let us */
    if (exists && access(file->path, W_OK) != 0)
        return errno;
    int error = exists ? 0 : behind_links(file->path, &file->target);
    if (error)
        return error;
    if (exists)
        file->target = realpath(file->path, NULL);
    if (!file->target)
        return errno;
    file->fd = open_temp(file);
    return file->fd < 0 ? errno : 0;
}

static bool is_null_device(const struct stat *about)
{
    struct stat null;
    return S_ISCHR(about->st_mode) && stat("/dev/null", &null) == 0 &&
           null.st_rdev == about->st_rdev;
}

static int stat_place(const char *path, struct stat *about)
{
    return strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, about) : stat(path, about);
}

/* Of a file that is not there yet: the folder, links resolved, and its name; NULL: no such folder.
 */
static char *place_of_new(const char *path)
{
    char *target;
    if (behind_links(path, &target)) {
        free(target);
        return NULL;
    }
    const char *slash = strrchr(target, '/');
    char *folder =
        slash ? memory_format("%.*s", (int)(slash - target) + 1, target) : memory_text(".");
    char *real = realpath(folder, NULL);
    char *place = real ? memory_format("%s/%s", real, slash ? slash + 1 : target) : NULL;
    free(folder);
    free(target);
    free(real);
    return place;
}

bool outfile_is_same(const char *one, const char *other)
{
    struct stat first, second;
    bool is_first = stat_place(one, &first) == 0, is_second = stat_place(other, &second) == 0;
    if (is_first && is_second)
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino &&
               (!is_null_device(&first) || strcmp(one, "-") == 0);
    if (is_first || is_second)
        return false;
    char *places[] = {place_of_new(one), place_of_new(other)};
    bool is_same = places[0] && places[1] && strcmp(places[0], places[1]) == 0;
    free(places[0]);
    free(places[1]);
    return is_same;
}

enum fail outfile_open(struct outfile *file, const char *path, struct failure *failure)
{
    *file = (struct outfile){.fd = -1};
    if (!*path)
        return failure_set(failure, FAIL_INPUT, "the empty path cannot be written");
    bool is_stdout = !strcmp(path, "-");
    file->path = memory_text(is_stdout ? "standard output" : path);
    int error = is_stdout ? 0 : open_fd(file);
    if (error) {
        enum fail fail = cannot_write(path, error, failure);
        release(file);
        return fail;
    }
    if (is_stdout)
        fflush(stdout); /* what others printed comes first */
    file->stream =
        fopencookie(file, "w", (cookie_io_functions_t){.write = stream_write, .seek = stream_seek});
    if (!file->stream) {
        enum fail fail = cannot_write(path, errno, failure);
        outfile_abandon(file);
        return fail;
    }
    return FAIL_NONE;
}

enum fail outfile_check(const char *path, struct failure *failure)
{
    struct outfile file;
    struct failure one;
    struct stat about;
    if (!strcmp(path, "-") ||
        (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)))
        return FAIL_NONE;
    const enum fail fail = outfile_open(&file, path, &one);
    if (!fail)
        outfile_abandon(&file);
    if (fail == FAIL_INPUT)
        *failure = one;
    return fail == FAIL_INPUT ? fail : FAIL_NONE;
}

enum fail outfile_clear(const char *path, struct failure *failure)
{
    struct stat about;
    if (!strcmp(path, "-") || stat(path, &about) != 0 || !S_ISREG(about.st_mode) ||
        access(path, W_OK) != 0)
        return FAIL_NONE;
    char *target = realpath(path, NULL);
    const bool is_gone = target && (unlink(target) == 0 || errno == ENOENT);
    const int error = errno;
    free(target);
    if (is_gone)
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT,
                       "%s: what an earlier run left there cannot be removed: %s", path,
                       strerror(error));
}

/* Has another process shown a file there that it still writes? Where the file system has no locks,
 * that cannot be told. */
static bool is_held(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    const bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(fd);
    return is_held;
}

static int exchange(const struct outfile *file)
{
    return renameat2(AT_FDCWD, file->temp, AT_FDCWD, file->target, RENAME_EXCHANGE) == 0 ? 0
                                                                                         : errno;
}

/* From temp to target; what stood there is at temp then. Returns 0 or an errno; EWOULDBLOCK: it is
 * held. Looked at before, so that nobody who reads there sees another file for a moment, and
 * behind, for who was there meanwhile. */
static int take_place(struct outfile *file)
{
    if (is_held(file->target))
        return EWOULDBLOCK;
    if (exchange(file) == 0) {
        if (!is_held(file->temp))
            return 0;
        const int error = exchange(file);
        return error ? error : EWOULDBLOCK;
    }
    if (rename(file->temp, file->target) != 0) /* it cannot exchange, or nothing stood there */
        return errno;
    free(file->temp);
    file->temp = NULL;
    return 0;
}

enum fail outfile_show(struct outfile *file, struct failure *failure)
{
    if (!file->target || file->is_shown)
        return FAIL_NONE;
    (void)flock(file->fd, LOCK_EX | LOCK_NB); /* nobody else knows it yet */
    int error = file->temp ? 0 : name_it(file);
    if (!error && file->temp)
        error = take_place(file);
    if (!error)
        error = set_appends(file);
    if (error == EWOULDBLOCK)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%s: another picklock writes it, and runs: end that one first, or name "
                           "another file",
                           file->path);
    if (error)
        return cannot_write(file->path, error, failure);
    file->is_shown = true;
    return FAIL_NONE;
}

void outfile_replace(struct outfile *file)
{
    if (!file->is_shown || !file->temp)
        return;
    (void)unlink(file->temp); /* nothing can be done about one that stays */
    free(file->temp);
    file->temp = NULL;
}

void outfile_give_back(struct outfile *file, off_t most)
{
    if (!file->is_shown || (file->error != ENOSPC && file->error != EDQUOT))
        return;
    const off_t room = file->size - file->size / 4;
    file->size -= room < most ? room : most;
    if (ftruncate(file->fd, file->size) != 0)
        return; /* it stays as long as it was */
}

/* Everything to the file and, where it can be, to the disk; then it may have a name. */
static void settle(struct outfile *file, bool is_given_up)
{
    if (fclose(file->stream) != 0 && !file->error)
        file->error = errno ? errno : EIO;
    file->stream = NULL;
    look(file);
    if (file->target && !file->error && fsync(file->fd) != 0)
        file->error = errno;
    if (file->target && !file->temp && !file->error && !is_given_up && !file->is_shown)
        file->error = name_it(file);
    if (file->fd >= 0 && close(file->fd) != 0 && !file->error)
        file->error = errno;
    file->fd = -1;
}

enum fail outfile_shut(struct outfile *file, struct failure *failure)
{
    outfile_replace(file);
    settle(file, false);
    if (!file->error && file->temp && rename(file->temp, file->target) != 0)
        file->error = errno;
    enum fail fail = FAIL_NONE;
    if (file->error) {
        fail = failure_set(failure, FAIL_INTERNAL, "%s: cannot be written: %s", file->path,
                           words_of(file));
        if (file->temp && unlink(file->temp) != 0 && errno != ENOENT)
            failure_wrap(failure, "a partial file is left at %s", file->temp);
    }
    release(file);
    return fail;
}

void outfile_abandon(struct outfile *file)
{
    if (file->stream)
        settle(file, true);
    else if (file->fd >= 0 && close(file->fd) != 0)
        file->error = errno;
    /* Nothing can be done about one that stays. */
    if (file->is_shown && file->temp)
        (void)rename(file->temp, file->target);
    else if (file->temp || file->is_shown)
        (void)unlink(file->temp ? file->temp : file->target);
    release(file);
}
