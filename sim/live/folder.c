/* folder.c - see folder.h. */
#include "live/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_PREFIX "picklock-servers-"

enum { DESCRIPTORS_WALK = 16, TRIES = 10 };

static const char *parent_folder(void)
{
    const char *path = getenv("TMPDIR");
    /* A unix socket or a clock page must not outgrow its path, so an odd TMPDIR is not followed.
     * Nor is one that a library could not be preloaded from: LD_PRELOAD splits at blanks and
     * colons, and expands $LIB. */
    bool is_good = path && *path == '/' && strlen(path) < FOLDER_PATH_MAX / 2;
    return is_good && !strpbrk(path, " :$") ? path : "/tmp";
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    /* What cannot be removed stays: the next start tries again. */
    (void)remove(path);
    return 0;
}

static void remove_all(const char *path)
{
    (void)nftw(path, remove_one, DESCRIPTORS_WALK, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Opens and locks the folder; -1 when somebody holds it, or it is not ours. */
static int hold(const char *path)
{
    struct stat opened, named;
    int held = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (held < 0)
        return -1;
    /* Between opening and locking it may have been removed, and its name used again. */
    if (fstat(held, &opened) == 0 && opened.st_uid == geteuid() &&
        flock(held, LOCK_EX | LOCK_NB) == 0 && lstat(path, &named) == 0 &&
        named.st_ino == opened.st_ino && named.st_dev == opened.st_dev)
        return held;
    (void)close(held);
    return -1;
}

/* A name proves nothing: a folder without the mark is somebody else's. */
static bool has_mark(int held)
{
    return faccessat(held, FOLDER_MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool set_mark(int held)
{
    int mark = openat(held, FOLDER_MARK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return mark >= 0 && close(mark) == 0;
}

static void sweep_stale(const char *parent)
{
    DIR *rows = opendir(parent);
    if (!rows)
        return;
    for (struct dirent *row; (row = readdir(rows));) {
        char path[FOLDER_PATH_MAX];
        if (strncmp(row->d_name, FOLDER_PREFIX, sizeof FOLDER_PREFIX - 1) != 0)
            continue;
        int printed = snprintf(path, sizeof path, "%s/%s", parent, row->d_name);
        if (printed < 0 || printed >= (int)sizeof path)
            continue;
        int held = hold(path);
        if (held < 0)
            continue;
        if (has_mark(held))
            remove_all(path);
        (void)close(held);
    }
    (void)closedir(rows);
}

static void sweep(const void *path, int told)
{
    (void)told;
    remove_all(path);
}

enum fail folder_open(struct folder *folder, struct failure *failure)
{
    const char *parent = parent_folder();
    sweep_stale(parent);
    for (int i = 0; i < TRIES; i++) {
        (void)snprintf(folder->path, sizeof folder->path, "%s/" FOLDER_PREFIX "%d-XXXXXX", parent,
                       (int)getpid());
        if (!mkdtemp(folder->path))
            return failure_set(failure, FAIL_UNAVAILABLE,
                               "no temporary folder can be made in %s: %s", parent,
                               fail_of_temporary(errno));
        folder->held = hold(folder->path);
        /* Another start may look into it, whose it is, and hold it meanwhile: then once more. */
        if (folder->held < 0) {
            (void)rmdir(folder->path);
            continue;
        }
        if (!set_mark(folder->held))
            (void)failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", folder->path,
                              fail_of_temporary(errno));
        else if (!sweeper_start(&folder->sweeper, sweep, folder->path, failure))
            return FAIL_NONE;
        /* No descriptor may be left, and nothing else is there yet. */
        (void)unlinkat(folder->held, FOLDER_MARK, 0);
        (void)rmdir(folder->path);
        (void)close(folder->held);
        return failure ? failure->code : FAIL_UNAVAILABLE;
    }
    return failure_set(failure, FAIL_UNAVAILABLE, "no temporary folder can be kept in %s", parent);
}

void folder_shut(struct folder *folder)
{
    /* The sweeper does it; should somebody have killed it, we do. */
    if (!sweeper_end(&folder->sweeper))
        remove_all(folder->path);
    (void)close(folder->held);
    *folder = (struct folder){.held = -1};
}
