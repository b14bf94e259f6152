/* opened.c - which files the worker opens to read: its answers rest on them (ask/opened.h). A line
 * a file, "size seconds.nanoseconds path", in a log beside the folders of all workers; processes
 * that it has started write theirs, too. Nothing is kept open: descriptors are the program's. */
#include "worker/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Two folders up from the page: "FOLDER/worker-1/time" has it in "FOLDER/opened". */
static bool find_log(char *path, size_t size)
{
    const size_t length = strlen(shim_path);
    if (length + sizeof OPENED_LOG > size)
        return false;
    (void)strcpy(path, shim_path);
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    (void)strcat(path, "/" OPENED_LOG);
    return true;
}

static void put(const char *line, size_t size)
{
    char log[TIME_PATH_MAX];
    if (!find_log(log, sizeof log))
        return;
    const long descriptor = syscall(SYS_openat, (long)AT_FDCWD, log,
                                    (long)(O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC), 0600L);
    if (descriptor < 0)
        return;
    (void)syscall(SYS_write, descriptor, line, size);
    (void)syscall(SYS_close, descriptor);
}

void shim_has_opened(int descriptor, int flags)
{
    char link[40], path[PATH_MAX], line[PATH_MAX + 80];
    const int saved = errno;
    struct stat file;
    if (!*shim_path || descriptor < 0 || (flags & O_ACCMODE) == O_WRONLY ||
        fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) {
        errno = saved;
        return;
    }
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0 && path[0] == '/') {
        path[length] = '\0';
        /* One that no line can name is named by none: a reader takes that for a change. */
        const int size = snprintf(line, sizeof line, "%lld %lld.%09ld %s\n",
                                  (long long)file.st_size, (long long)file.st_mtim.tv_sec,
                                  file.st_mtim.tv_nsec, strchr(path, '\n') ? "" : path);
        put(line, (size_t)size);
    }
    errno = saved;
}
