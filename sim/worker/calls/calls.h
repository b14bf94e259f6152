/* calls.h - the time of a program that the C library is no part of (Go, static binaries): its
 * system calls are answered from outside.
 *
 *     worker -- clock_gettime(), futex(), read() .. --> kernel: seccomp filter
 *        ^                                                  | SECCOMP_RET_USER_NOTIF
 *        +------- a value, or "go on" -------- supervisor <-+
 *
 * The worker's process gives itself a filter before it runs its program (calls_give). Each call
 * that tells the time, waits, or leads to another thread or socket stops there, and its thread
 * stands still until the supervisor (supervisor.c) answers. What the kernel tells without a call,
 * the vDSO's clocks, is overwritten with calls when a program begins. So nothing is preloaded, and
 * nobody needs ptrace().
 *
 * One thread runs at a time: who wakes another goes on until it waits itself. So a run can be had
 * again, and rest is known: no thread runs, and none could. To picklock the supervisor looks like
 * one thread of the preloaded library (time_page.h), that waits for descriptors until the next of
 * the worker's threads is due.
 *
 * Sources: seccomp_unotify(2), process_vm_readv(2), pidfd_getfd(2), vdso(7). Private to this folder
 * and to worker/. */
#ifndef PICKLOCK_WORKER_CALLS_CALLS_H
#define PICKLOCK_WORKER_CALLS_CALLS_H

#include <signal.h>

/* Why calls cannot be answered here, as what supervisor_run() tells instead of an errno. */
enum { CALLS_NO_FILTER = 1 << 16, CALLS_NO_ACCESS = 1 << 17 };

/* In the worker's process, before it runs its program: every call of the table stops from here on,
 * and the other end of the socket gets what answers them. 0, or what to tell (an errno with
 * CALLS_NO_FILTER). */
int calls_give(int socket);

struct calls;

/* In the supervisor. page: the file of the worker's time (borrowed). NULL: *error says why, to be
 * told; ECHILD: the worker's process has ended, and told why. Never freed: the process ends. */
struct calls *calls_take(int worker, int socket, const char *page, int *error);

/* Answers until the worker's process has ended: its wait status; or -1 when a signal said so
 * (supervisor.h). parent: picklock; waited: every signal, all blocked. */
int calls_serve(struct calls *calls, int parent, const sigset_t *waited);

#endif
