/* reads_shim.c - preloaded into redis-server beside the clock: it tells in which order it reads,
 * and from which ports it is connected to.
 *
 * See read_log.h. No allocation; the kernel is asked directly, but for the time, which
 * clock_shim.c tells. Without the environment variable it changes nothing. Sources: accept(2),
 * connect(2), read(2), close(2); redis 7.0, anet.c and connection.c. */
#define CLOCK_SHIM
#include "base/dialled.h"
#include "live/read_log.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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

static uint16_t port_of(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
    if (address->sa_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
    return 0;
}

/* Of every connection, also of one whose other end is gone by now. */
static void note(int descriptor, uint16_t port)
{
    if (!reads || descriptor < 0)
        return;
    (void)atomic_fetch_add(read_log_strangers(reads, port), 1);
    (void)atomic_fetch_add(&reads->accepted, 1);
    if (descriptor >= DESCRIPTORS_MAX)
        return;
    accepted[descriptor].connection = ++connections;
    accepted[descriptor].port = port;
    put((struct read_row){.connection = connections, .port = port, .is_accept = 1});
}

int accept4(int listener, __SOCKADDR_ARG peer, socklen_t *restrict size, int flags)
{
    struct sockaddr_storage from = {0};
    socklen_t length = sizeof from;
    const int descriptor = (int)syscall(SYS_accept4, listener, &from, &length, flags);
    if (descriptor >= 0 && peer.__sockaddr__) {
        memcpy(peer.__sockaddr__, &from, length < *size ? length : *size);
        *size = length;
    }
    note(descriptor, port_of((const struct sockaddr *)&from));
    return descriptor;
}

int accept(int listener, __SOCKADDR_ARG peer, socklen_t *restrict size)
{
    return accept4(listener, peer, size, 0);
}

/* Bound before it dials, as it would be by dialling, and told of. */
static void tell_dial(int descriptor, const struct sockaddr *to)
{
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof own;
    if (to->sa_family != AF_INET || dialled_already(descriptor))
        return;
    (void)bind(descriptor, (const struct sockaddr *)&own, sizeof own);
    if (getsockname(descriptor, (struct sockaddr *)&own, &size) != 0)
        return;
    const uint32_t number = atomic_load(&reads->dialled);
    if (number < READ_LOG_DIALS)
        reads->dials[number] = (struct read_dial){.to = port_of(to), .from = ntohs(own.sin_port)};
    atomic_store(&reads->dialled, number + 1);
}

int connect(int descriptor, __CONST_SOCKADDR_ARG peer, socklen_t size)
{
    if (reads && atomic_load(&reads->tells_dials))
        tell_dial(descriptor, peer.__sockaddr__);
    return (int)syscall(SYS_connect, descriptor, peer.__sockaddr__, size);
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
