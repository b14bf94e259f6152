/* runtime.c - see runtime.h. Source: node --v8-options. */
#include "worker/runtime.h"

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
        const char *program, *package;
    } rows[] = {
        {"python3", "python3"},
        {"node", "nodejs"},
        {"nodejs", "nodejs"},
        {"ruby", "ruby"},
        {"java", "default-jre-headless"},
        {"go", "golang-go"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].program, base_of(program)) == 0)
            return rows[i].package;
    return NULL;
}

static bool is_node(const char *program)
{
    return strcmp(base_of(program), "node") == 0 || strcmp(base_of(program), "nodejs") == 0;
}

/* No threads and no timers of V8's own, and its Math.random() from our seed (0 would be none). */
static int node_flags(char flags[RUNTIME_FLAGS][RUNTIME_FLAG_BYTES], uint64_t seed)
{
    (void)snprintf(flags[0], RUNTIME_FLAG_BYTES, "--single-threaded");
    (void)snprintf(flags[1], RUNTIME_FLAG_BYTES, "--no-memory-reducer");
    (void)snprintf(flags[2], RUNTIME_FLAG_BYTES, "--random-seed=%d", (int)(seed % INT32_MAX) + 1);
    return RUNTIME_FLAGS;
}

void runtime_add_flags(struct runtime_words *made, char *const *words, uint64_t seed)
{
    int used = 0;
    made->words[used++] = words[0];
    const int flags = is_node(words[0]) ? node_flags(made->flags, seed) : 0;
    for (int i = 0; i < flags; i++)
        made->words[used++] = made->flags[i];
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

const char *runtime_lacks_flags(int pid)
{
    char path[64], program[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t got = readlink(path, program, sizeof program - 1);
    program[got > 0 ? got : 0] = '\0';
    return is_node(program) && !has_flag(pid, "--random-seed=") ? "node" : NULL;
}
