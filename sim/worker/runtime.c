/* runtime.c - see runtime.h. Sources: node --v8-options, java -XX:+PrintFlagsFinal. */
#include "worker/runtime.h"

#include "base/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *runtime_package(const char *program)
{
    static const struct {
        const char *name, *package;
    } rows[] = {
        {"python3", "python3"},
        {"node", "nodejs"},
        {"nodejs", "nodejs"},
        {"ruby", "ruby"},
        {"java", "default-jre-headless"},
        {"go", "golang-go"},
    };
    static const char folder[] = "/usr/bin/"; /* where a package puts it; others are made by hand */
    const bool is_named = !strchr(program, '/') || !strncmp(program, folder, strlen(folder));
    int row = is_named ? NAMES_FIND_ROW(rows, base_of(program)) : -1;
    return row >= 0 ? rows[row].package : NULL;
}

/* V8: no threads and no timers of its own, and its Math.random() from our seed (0 would be none).
 * Not --single-threaded, which says the same of the threads, and of WebAssembly: with that V8 takes
 * nothing of what Node.js has compiled of its own modules ahead, and to begin takes a seventh
 * longer. (WebAssembly: picklock-clocks.js.) */
#define NODE_FLAGS                                                                                 \
    "--single-threaded-gc", "--no-concurrent-recompilation", "--no-memory-reducer",                \
        "--random-seed=%d"

/* The JVM: no ticks (statistics, safepoints, monitors), and no threads that compile. */
static const struct {
    const char *name, *mark;          /* the flag by which one is known that has them */
    const char *flags[RUNTIME_FLAGS]; /* %d: the seed */
    bool reads_clock;                 /* the monotonic one, whenever it goes on: libuv's loop */
} runtimes[] = {
    {"node", "--random-seed=", {NODE_FLAGS}, true},
    {"nodejs", "--random-seed=", {NODE_FLAGS}, true},
    {"java",
     "-XX:AsyncDeflationInterval=",
     {"-Xint", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:+UnlockDiagnosticVMOptions",
      "-XX:GuaranteedSafepointInterval=0", "-XX:AsyncDeflationInterval=0"},
     false},
};

/* -1: it is none of them. */
static int find(const char *program)
{
    return NAMES_FIND_ROW(runtimes, base_of(program));
}

static void put_flag(char text[RUNTIME_FLAG_BYTES], const char *flag, uint64_t seed)
{
    const char *number = strstr(flag, "%d");
    const int before = number ? (int)(number - flag) : (int)strlen(flag);
    (void)snprintf(text, RUNTIME_FLAG_BYTES, "%.*s", before, flag);
    if (number)
        (void)snprintf(text + before, RUNTIME_FLAG_BYTES - (size_t)before, "%d",
                       (int)(seed % INT32_MAX) + 1);
}

void runtime_add_flags(struct runtime_words *made, char *const *words, uint64_t seed)
{
    const int row = find(words[0]);
    int used = 0;
    made->words[used++] = words[0];
    for (int i = 0; row >= 0 && i < RUNTIME_FLAGS && runtimes[row].flags[i]; i++) {
        put_flag(made->flags[i], runtimes[row].flags[i], seed);
        made->words[used++] = made->flags[i];
    }
    for (int i = 1; words[i]; i++)
        made->words[used++] = words[i];
    made->words[used] = NULL;
}

static bool has_flag(int pid, const char *flag)
{
    char path[64], line[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = descriptor < 0 ? -1 : read(descriptor, line, sizeof line - 1);
    if (descriptor >= 0)
        (void)close(descriptor);
    if (got <= 0)
        return true; /* it has ended: that is told elsewhere */
    line[got] = '\0';
    for (const char *at = line; at < line + got; at += strlen(at) + 1)
        if (strncmp(at, flag, strlen(flag)) == 0)
            return true;
    return false;
}

/* The row of what that process runs; -1: it is none of them. */
static int find_running(int pid)
{
    char path[64], program[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t got = readlink(path, program, sizeof program - 1);
    program[got > 0 ? got : 0] = '\0';
    return find(program);
}

bool runtime_reads_clock(int pid)
{
    const int row = find_running(pid);
    return row >= 0 && runtimes[row].reads_clock;
}

const char *runtime_without_stack(int pid)
{
    const int row = find_running(pid);
    return row >= 0 ? runtimes[row].name : NULL;
}

const char *runtime_lacks_flags(int pid)
{
    const int row = find_running(pid);
    return row >= 0 && !has_flag(pid, runtimes[row].mark) ? runtimes[row].name : NULL;
}
