/* folder.c - run folders: reports/runs/<time>-<name>/ and the `latest` link. Never writes into a
 * folder that was there before. */
#include "report/report.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SAME_SECOND_MAX = 10000, FOLDER_NAME_MAX = 100 };

static const char default_out[] = "reports/runs";

static enum fail cannot_make(const char *path, int error, struct failure *failure)
{
    enum fail fail =
        error == ENOSPC || error == EDQUOT || error == EIO ? FAIL_INTERNAL : FAIL_INPUT;
    return failure_set(failure, fail,
                       "%s: no run folder can be made there: %s; --out names another place", path,
                       strerror(error));
}

enum fail report_folder_make(const char *path, struct failure *failure)
{
    char *part = memory_text(path);
    int error = 0;
    for (char *at = part + 1; !error; at++) {
        if (*at != '/' && *at)
            continue;
        char end = *at;
        *at = 0;
        struct stat about;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            error = errno;
        else if (stat(part, &about) != 0)
            error = errno;
        else if (!S_ISDIR(about.st_mode))
            error = ENOTDIR;
        *at = end;
        if (!end)
            break;
    }
    free(part);
    return error ? cannot_make(path, error, failure) : FAIL_NONE;
}

/* The nearest that is there decides. */
enum fail report_folder_check(const char *out, struct failure *failure)
{
    char *path = memory_text(out ? out : default_out);
    struct stat about;
    int error = *path ? 0 : ENOENT;
    while (!error && stat(path, &about) != 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || !strcmp(path, ".") || !strcmp(path, "/"))
            error = errno;
        else if (slash)
            slash[slash == path] = 0;
        else
            strcpy(path, ".");
    }
    if (!error && !S_ISDIR(about.st_mode))
        error = ENOTDIR;
    if (!error && access(path, W_OK | X_OK) != 0)
        error = errno;
    free(path);
    return error ? cannot_make(out ? out : default_out, error, failure) : FAIL_NONE;
}

/* What may stand in a folder's name everywhere; the rest becomes a dash. */
static void plain_name(const char *name, char *plain)
{
    int size = 0;
    for (; *name && size < FOLDER_NAME_MAX; name++)
        plain[size++] = isalnum((unsigned char)*name) || strchr("._-", *name) ? *name : '-';
    plain[size] = 0;
}

enum fail report_folder_new(const char *out, const char *name, char **folder,
                            struct failure *failure)
{
    char plain[FOLDER_NAME_MAX + 1], when[32];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &parts);
    plain_name(name, plain);
    if (out && !*out)
        return failure_set(failure, FAIL_INPUT, "the folder for reports has an empty name");
    if (report_folder_make(out ? out : default_out, failure))
        return failure->code;
    const char *under = out ? out : default_out;
    const char *slash = under[strlen(under) - 1] == '/' ? "" : "/";
    for (int n = 1; n < SAME_SECOND_MAX; n++) {
        *folder = n == 1 ? memory_format("%s%s%s-%s", under, slash, when, plain)
                         : memory_format("%s%s%s-%s-%d", under, slash, when, plain, n);
        if (mkdir(*folder, 0777) == 0)
            return FAIL_NONE;
        int error = errno;
        free(*folder);
        *folder = NULL;
        if (error != EEXIST)
            return cannot_make(under, error, failure);
    }
    return cannot_make(under, EEXIST, failure);
}

enum fail report_folder_latest(const char *folder, struct failure *failure)
{
    const char *slash = strrchr(folder, '/');
    const char *base = slash ? slash + 1 : folder;
    int parent = (int)(base - folder);
    char *link = memory_format("%.*slatest", parent, folder);
    char *temp = memory_format("%.*s.latest.%ld", parent, folder, (long)getpid());
    enum fail fail = FAIL_NONE;
    if (unlink(temp) != 0 && errno != ENOENT)
        fail = failure_set(failure, FAIL_INPUT, "%s: cannot be removed: %s", temp, strerror(errno));
    else if (symlink(base, temp) != 0)
        fail = failure_set(failure, errno == ENOSPC ? FAIL_INTERNAL : FAIL_INPUT,
                           "%s: the link cannot be made: %s", link, strerror(errno));
    else if (rename(temp, link) != 0) {
        fail = failure_set(failure, FAIL_INPUT, "%s: the link cannot be put there: %s", link,
                           strerror(errno));
        unlink(temp); /* the failure above is what matters */
    }
    free(link);
    free(temp);
    return fail;
}
