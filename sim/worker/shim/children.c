/* children.c - a program takes the status of a child that has ended.
 *
 * It may do so in a handler of SIGCHLD, in the middle of a wait, and a shell does. Then nothing of
 * the child is left to be seen, and its parent still looks as if it waited: whoever watches must
 * not take that for rest. So the wait ends first. Sources: wait4(2), signal-safety(7). */
#include "worker/shim/shim.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    shim_interrupt_wait();
    return (pid_t)syscall(SYS_wait4, pid, status, options, usage);
}

pid_t wait3(int *status, int options, struct rusage *usage)
{
    return wait4(-1, status, options, usage);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    return wait4(pid, status, options, NULL);
}

pid_t wait(int *status)
{
    return wait4(-1, status, 0, NULL);
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    shim_interrupt_wait();
    return (int)syscall(SYS_waitid, type, id, info, options, NULL);
}
