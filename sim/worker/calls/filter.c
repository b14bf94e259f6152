/* filter.c - the calls that stop, and the filter that stops them. See calls.h.
 *
 * Sources: seccomp(2), bpf(4); the table of calls of x86-64. What is in it only because a program
 * or a thread begins with it stands at the end. */
#include "worker/calls/state.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

const struct call_row call_table[] = {
    {SYS_clock_gettime, on_clock_gettime},
    {SYS_gettimeofday, on_gettimeofday},
    {SYS_nanosleep, on_nanosleep},
    {SYS_clock_nanosleep, on_clock_nanosleep},
    {SYS_sched_yield, on_sched_yield},
    {SYS_getrandom, on_getrandom},
    {SYS_io_uring_setup, on_io_uring_setup},
    {SYS_futex, on_futex},
    {SYS_ppoll, on_ppoll},
    {SYS_pselect6, on_pselect6},
    {SYS_epoll_pwait, on_epoll_wait},
    {SYS_epoll_pwait2, on_epoll_pwait2},
    {SYS_timerfd_settime, on_timerfd_settime},
    {SYS_connect, on_connect},
    {SYS_close, on_close},
    {SYS_read, on_read},
    {SYS_write, on_write},
    {SYS_readv, on_readv},
    {SYS_writev, on_writev},
    {SYS_recvfrom, on_recvfrom},
    {SYS_sendto, on_sendto},
    {SYS_recvmsg, on_recvmsg},
    {SYS_clone, on_clone},
    {SYS_clone3, on_clone3},
    {SYS_execve, on_exec},
    {SYS_execveat, on_exec},
    {SYS_exit, on_end},
#ifdef __x86_64__
    {SYS_time, on_time},
    {SYS_poll, on_poll},
    {SYS_select, on_select},
    {SYS_epoll_wait, on_epoll_wait},
    {SYS_fork, on_fork},
    {SYS_vfork, on_fork},
    {SYS_arch_prctl, on_any},
#endif
    {SYS_brk, on_any},
    {SYS_gettid, on_any},
    {SYS_rseq, on_any},
    {SYS_set_robust_list, on_any},
    {SYS_set_tid_address, on_any},
};

enum { ROWS = sizeof call_table / sizeof *call_table };
const size_t call_rows = ROWS;

#ifdef __x86_64__
enum { ARCHITECTURE = (int)AUDIT_ARCH_X86_64 };
#else
enum { ARCHITECTURE = 0 };
#endif

/* Load the architecture; another one ends. Load the number; if it is one of the table, notify. */
static int install(void)
{
    enum { HEAD = 4, LENGTH = HEAD + ROWS + 2 };
    struct sock_filter code[LENGTH] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (int i = 0; i < ROWS; i++)
        code[HEAD + i] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call_table[i].number,
                                         (unsigned char)(ROWS - i), 0);
    code[HEAD + ROWS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[HEAD + ROWS + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    const struct sock_fprog program = {.len = LENGTH, .filter = code};
    if (!ARCHITECTURE) {
        errno = ENOSYS;
        return -1;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

/* By a call that is not in the table: nobody answers yet. */
static int send_descriptor(int socket, int descriptor)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control = {0};
    char byte = 0;
    struct iovec row = {.iov_base = &byte, .iov_len = 1};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &row,
                                          .msg_iovlen = 1,
                                          .msg_control = control.bytes,
                                          .msg_controllen = sizeof control.bytes}};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message.msg_hdr);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    return sendmmsg(socket, &message, 1, 0) == 1 ? 0 : errno;
}

int calls_give(int socket)
{
    (void)personality(ADDR_NO_RANDOMIZE); /* addresses are in hashes and in traces, too */
    const int listener = install();
    if (listener < 0)
        return errno | CALLS_NO_FILTER;
    return send_descriptor(socket, listener); /* ours closes with the exec */
}
