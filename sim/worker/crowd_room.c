/* crowd_room.c - is there room for so many workers? Told by the first of them, which is ready: what
 * it has of its own, in memory, processes and threads. See crowd.h. Sources: proc(5), smaps_rollup;
 * Linux, cgroup v2, memory.max and pids.max; getrlimit(2). */
#include "worker/crowd_state.h"

#include "base/monotonic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    SPARE_MB = 200,          /* for the servers, and for us */
    SPARE_DESCRIPTORS = 200, /* servers, watches, files */
    DESCRIPTORS = 4,         /* of a worker: its pipes and its bell */
    DESCRIPTORS_SERVER = 5,  /* and for each server: a listener, two connections of two ends */
};

#define NO_LIMIT INT64_MAX

/* The number behind a name ("" : the first one) in a file; NO_LIMIT: there is none. */
static int64_t number_in(const char *path, const char *name)
{
    char line[256];
    int64_t found = NO_LIMIT;
    FILE *file = fopen(path, "re");
    while (file && found == NO_LIMIT && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 &&
            sscanf(line + strlen(name), "%" SCNd64, &found) != 1)
            found = NO_LIMIT;
    if (file)
        (void)fclose(file);
    return found;
}

static int64_t left_of(const char *limit, const char *used)
{
    const int64_t most = number_in(limit, ""), now = number_in(used, "");
    return most == NO_LIMIT || now == NO_LIMIT ? NO_LIMIT : most > now ? most - now : 0;
}

static int64_t least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static int64_t memory_left_kb(void)
{
    const int64_t group = left_of("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
    const int64_t kb = least(number_in("/proc/meminfo", "MemAvailable:"),
                             group == NO_LIMIT ? NO_LIMIT : group / 1024);
    return kb == NO_LIMIT ? NO_LIMIT : kb > SPARE_MB * 1024 ? kb - SPARE_MB * 1024 : 0;
}

/* Of that process alone: what others share is there already. */
static int64_t memory_of_kb(int pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    const int64_t dirty = number_in(path, "Private_Dirty:"),
                  clean = number_in(path, "Private_Clean:");
    return dirty == NO_LIMIT || clean == NO_LIMIT ? NO_LIMIT : dirty + clean;
}

static int64_t limit_of(int resource)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur > INT32_MAX)
        return NO_LIMIT;
    return (int64_t)limit.rlim_cur;
}

struct room {
    const char *what;
    int64_t left, each; /* NO_LIMIT: no limit; not known */
};

enum fail crowd_has_room(const struct crowd *crowd, struct failure *failure)
{
    char status[64];
    const int pid = worker_pid(crowd->members[0].worker), clients = crowd->options->clients;
    (void)snprintf(status, sizeof status, "/proc/%d/status", pid);
    const int64_t tasks = number_in(status, "Threads:");
    const int64_t files = limit_of(RLIMIT_NOFILE);
    const struct room rooms[] = {
        {"kB of memory", memory_left_kb(), memory_of_kb(pid)},
        /* One supervisor each. What the user runs beside us is not counted: the kernel counts it.
         */
        {"processes and threads",
         least(left_of("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids.current"),
               geteuid() ? limit_of(RLIMIT_NPROC) : NO_LIMIT),
         tasks == NO_LIMIT ? NO_LIMIT : tasks + 1},
        {"open files", files == NO_LIMIT ? NO_LIMIT : files - SPARE_DESCRIPTORS,
         DESCRIPTORS + DESCRIPTORS_SERVER * (int64_t)crowd->options->servers},
    };
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        const struct room *room = &rooms[i];
        if (room->left == NO_LIMIT || room->each == NO_LIMIT || room->each * clients <= room->left)
            continue;
        const int64_t fit = room->left > 0 ? room->left / room->each : 0;
        return failure_set(
            failure, FAIL_UNAVAILABLE,
            "%d workers need %" PRId64 " %s (%" PRId64 " each, as the first one has), and %" PRId64
            " are left here: %s%" PRId64 "%s",
            clients, room->each * clients, room->what, room->each, room->left > 0 ? room->left : 0,
            fit ? "--clients " : "not one fits (", fit, fit ? " fits" : ")");
    }
    return FAIL_NONE;
}
