/* follow.c - see follow.h. */
#include "history/follow.h"

#include "base/infile.h"

#include <errno.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* Somebody may ask for an end, and not every file system tells of writes. */
enum { LOOK_AGAIN_MS = 200 };

static void watch(struct follow *it)
{
    it->changes = it->is_pipe ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (it->changes < 0 ||
        inotify_add_watch(it->changes, it->path, IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF) >= 0)
        return;
    (void)close(it->changes); /* it is looked at again all the same */
    it->changes = -1;
}

static bool has_no_writer(const struct follow *it)
{
    struct pollfd on = {.fd = it->descriptor, .events = POLLIN};
    return poll(&on, 1, 0) > 0 && on.revents == POLLHUP;
}

/* Why nothing more can come; NULL: it can. */
static const char *end_of(const struct follow *it)
{
    struct stat open_one, named;
    if (*it->stop)
        return "it was ended by a signal before the history's end line";
    if (it->is_pipe)
        return has_no_writer(it) ? "its writer ended before the history's end line" : NULL;
    if (fstat(it->descriptor, &open_one) || stat(it->path, &named))
        return "the file was removed before the history's end line";
    if (open_one.st_dev != named.st_dev || open_one.st_ino != named.st_ino)
        return "another file took its name before the history's end line";
    if (open_one.st_size < it->position)
        return "the file was cut while it was read";
    return NULL;
}

/* Bytes in a pipe, or a change of the file; a signal ends it, too. */
static void wait_for_more(const struct follow *it)
{
    char events[sizeof(struct inotify_event) + 256];
    struct pollfd on = {.fd = it->is_pipe ? it->descriptor : it->changes, .events = POLLIN};
    if (poll(&on, 1, LOOK_AGAIN_MS) > 0 && !it->is_pipe)
        while (read(it->changes, events, sizeof events) > 0)
            continue; /* that there was one is all */
}

/* Of a pipe: a read of an empty one would wait where no signal is looked for. */
static bool has_bytes(const struct follow *it)
{
    struct pollfd on = {.fd = it->descriptor, .events = POLLIN};
    return !it->is_pipe || poll(&on, 1, 0) > 0;
}

/* What was there when somebody said so is still read: it may be why he did. */
static void look_for_stop(struct follow *it)
{
    struct stat about;
    if (!*it->stop || it->last >= 0)
        return;
    it->last = it->position;
    if (!it->is_pipe && fstat(it->descriptor, &about) == 0 && about.st_size > it->position)
        it->last = about.st_size;
}

/* --- contract --- */

/* Up to where it ends. Below 0: it cannot be read. */
ssize_t follow_read_now(struct follow *it, char *bytes, size_t size)
{
    if (it->last >= 0 && (off_t)size > it->last - it->position)
        size = (size_t)(it->last - it->position);
    ssize_t got = size > 0 && has_bytes(it) ? read(it->descriptor, bytes, size) : 0;
    if (got > 0)
        it->position += got;
    return got < 0 && errno == EINTR ? 0 : got;
}

void follow_start(struct follow *it, const char *path, int descriptor)
{
    it->ended = NULL;
    it->path = path;
    it->descriptor = descriptor;
    it->position = 0;
    it->last = -1;
    it->is_pipe = infile_is_pipe(path);
    watch(it);
}

ssize_t follow_read(struct follow *it, char *bytes, size_t size)
{
    bool has_caught_up = false;
    for (;;) {
        look_for_stop(it);
        const char *ended = end_of(it); /* before the read: what came until then is not missed */
        ssize_t got = follow_read_now(it, bytes, size);
        if (got != 0)
            return got;
        if (!has_caught_up && it->caught_up)
            it->caught_up(it->context);
        has_caught_up = true;
        it->ended = ended;
        if (ended)
            return 0;
        wait_for_more(it);
    }
}

void follow_end(struct follow *it)
{
    if (it->changes >= 0)
        (void)close(it->changes);
}
