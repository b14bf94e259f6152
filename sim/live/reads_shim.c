/* reads_shim.c - preloaded into redis-server beside the clock: it tells in which order it reads.
 *
 * See read_log.h. No allocation; the kernel is asked directly, but for the time, which
 * clock_shim.c tells. Without the environment variable it changes nothing. Sources: accept(2),
 * read(2), close(2); redis 7.0, anet.c and connection.c. */
#define CLOCK_SHIM
#include "live/read_log.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_UNAVAILABLE = 69, DESCRIPTORS_MAX = 65536, MICROSECONDS = 1000000 };

static struct read_log *reads;
static struct {
    uint32_t connection; /* 0: none of those that were accepted */
    uint16_t port;
} accepted[DESCRIPTORS_MAX];
static uint32_t connections;

__attribute__((constructor)) static void reads_open(void)
{
    const char *path = getenv(READS_VARIABLE);
    if (!path)
        return;
    const int descriptor = open(path, O_RDWR | O_CLOEXEC);
    void *memory = MAP_FAILED;
    if (descriptor >= 0) {
        memory =
            mmap(NULL, sizeof(struct read_log), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        (void)syscall(SYS_close, descriptor);
    }
    if (memory == MAP_FAILED) {
        static const char words[] = "picklock-clock: the ring of reads cannot be mapped\n";
        (void)!write(STDERR_FILENO, words, sizeof words - 1);
        _exit(EXIT_UNAVAILABLE);
    }
    reads = memory;
}

static void put(struct read_row row)
{
    struct timespec now = {0};
    const uint64_t number = atomic_load_explicit(&reads->written, memory_order_relaxed);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    row.time_us = (int64_t)now.tv_sec * MICROSECONDS + now.tv_nsec / 1000;
    reads->rows[number % READ_LOG_ROWS] = row;
    atomic_store(&reads->written, number + 1);
}

static uint16_t port_of(const struct sockaddr_storage *peer)
{
    if (peer->ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)peer)->sin_port);
    if (peer->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)peer)->sin6_port);
    return 0;
}

static void note(int descriptor)
{
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    if (!reads || descriptor < 0 || descriptor >= DESCRIPTORS_MAX ||
        getpeername(descriptor, (struct sockaddr *)&peer, &size) != 0)
        return;
    accepted[descriptor].connection = ++connections;
    accepted[descriptor].port = port_of(&peer);
    put((struct read_row){
        .connection = connections, .port = accepted[descriptor].port, .is_accept = 1});
}

int accept4(int listener, __SOCKADDR_ARG peer, socklen_t *restrict size, int flags)
{
    const int descriptor = (int)syscall(SYS_accept4, listener, peer.__sockaddr__, size, flags);
    if (reads && descriptor >= 0)
        (void)atomic_fetch_add(&reads->accepted, 1);
    note(descriptor);
    return descriptor;
}

int accept(int listener, __SOCKADDR_ARG peer, socklen_t *restrict size)
{
    return accept4(listener, peer, size, 0);
}

ssize_t read(int descriptor, void *bytes, size_t size)
{
    const ssize_t got = syscall(SYS_read, descriptor, bytes, size);
    const bool is_seen = reads && got > 0 && descriptor < DESCRIPTORS_MAX;
    if (is_seen && accepted[descriptor].connection)
        put((struct read_row){.connection = accepted[descriptor].connection,
                              .port = accepted[descriptor].port,
                              .bytes = got});
    return got;
}

int close(int descriptor)
{
    if (descriptor >= 0 && descriptor < DESCRIPTORS_MAX)
        accepted[descriptor].connection = 0;
    return (int)syscall(SYS_close, descriptor);
}
