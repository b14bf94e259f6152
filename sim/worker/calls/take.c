/* take.c - what answers the calls of a worker, and what reaches into it. See calls.h. */
#include "worker/calls/state.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* --- the worker's memory and files --- */

static bool move(const struct calls *calls, uint64_t there, void *here, size_t size, bool is_write)
{
    const struct iovec local = {.iov_base = here, .iov_len = size};
    const struct iovec remote = {.iov_base = (void *)(uintptr_t)there, .iov_len = size};
    const ssize_t moved = is_write ? process_vm_writev(calls->worker, &local, 1, &remote, 1, 0)
                                   : process_vm_readv(calls->worker, &local, 1, &remote, 1, 0);
    return moved == (ssize_t)size;
}

bool calls_read(const struct calls *calls, uint64_t from, void *to, size_t size)
{
    return size == 0 || move(calls, from, to, size, false);
}

bool calls_write(const struct calls *calls, uint64_t to, const void *from, size_t size)
{
    return size == 0 || move(calls, to, (void *)(uintptr_t)from, size, true);
}

int calls_borrow(const struct calls *calls, int descriptor)
{
    return pidfd_getfd(calls->pidfd, descriptor, 0);
}

/* --- the beginning --- */

static int receive_descriptor(int socket)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control = {0};
    char byte;
    int descriptor = -1;
    struct iovec row = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &row,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    while ((got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    const struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head && head->cmsg_type == SCM_RIGHTS)
        memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    return descriptor;
}

static int open_fifo(const char *page, const char *suffix)
{
    char path[TIME_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s.%s", page, suffix);
    if (mkfifo(path, 0600) != 0 && errno != EEXIST)
        return -1;
    return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

static struct time_page *map_page(const char *path)
{
    const int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    void *page =
        mmap(NULL, sizeof(struct time_page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    (void)close(descriptor);
    return page == MAP_FAILED ? NULL : page;
}

/* May we look into it, and write there? */
static bool has_access(const struct calls *calls)
{
    char path[64], byte = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/mem", calls->worker);
    const int memory = open(path, O_RDWR | O_CLOEXEC);
    const int own = memory < 0 ? -1 : calls_borrow(calls, calls->listener);
    /* The child is a copy of us: what lies here lies there. */
    const bool has = memory >= 0 && calls_read(calls, (uint64_t)(uintptr_t)path, &byte, 1);
    const int error = errno;
    if (own >= 0)
        (void)close(own);
    if (memory >= 0)
        (void)close(memory);
    errno = error;
    return has && (own >= 0 || error == EBADF);
}

struct calls *calls_take(int worker, int socket, const char *page, int *error)
{
    struct calls *calls = memory_new(1, sizeof *calls);
    *calls = (struct calls){.worker = worker, .memory = -1};
    calls->listener = receive_descriptor(socket);
    calls->pidfd = pidfd_open(worker, 0);
    calls->page = map_page(page);
    calls->bell = open_fifo(page, "bell");
    calls->tick = open_fifo(page, "0");
    *error = 0;
    if (calls->listener < 0)
        *error = ECHILD;
    else if (!calls->page || calls->bell < 0 || calls->tick < 0)
        *error = errno;
    else if (calls->pidfd < 0 || !has_access(calls))
        *error = errno | CALLS_NO_ACCESS;
    if (*error)
        return NULL;
#ifdef SECCOMP_IOCTL_NOTIF_SET_FLAGS
    (void)ioctl(calls->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
                SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP); /* a little faster, from Linux 6.6 on */
#endif
    atomic_store(&calls->page->is_answered, 1);
    atomic_store(&calls->page->running, 1);
    return calls;
}
