/* supervisor.h - the process between us and a worker: whatever the worker starts ends with it. So
 * it is of the command that `picklock watch` runs, as long as that does not end by itself.
 *
 *     picklock -> supervisor -> worker -> its children, and theirs
 *
 * A supervisor adopts what loses its parent (PR_SET_CHILD_SUBREAPER), so a process cannot get away
 * by a session of its own or by a parent that ends. It kills all of them when the worker ends, when
 * it is told (SIGTERM), and when picklock ends, however that does. Then it ends as the worker did.
 */
#ifndef PICKLOCK_WORKER_SUPERVISOR_H
#define PICKLOCK_WORKER_SUPERVISOR_H

#include <signal.h>
#include <stdbool.h>

enum { SUPERVISOR_LEAVE = SIGUSR1 };

struct supervised {
    int parent; /* picklock's process id */
    /* The worker's process id is written there; 0 and less: the negative errno, or reason of
     * calls/calls.h, why there is none. */
    int tell;
    const char *page; /* whose calls are answered here, the file of its time; NULL: none are */
    /* No worker, but somebody's command: it stays in picklock's session and process group. When it
     * has ended, its exit status is written to `ended`, or -N where signal N ended it, and all else
     * waits for what picklock says: SIGTERM, as ever, or SUPERVISOR_LEAVE: what it left behind
     * stays. Until then its process id is nobody else's. */
    bool is_command;
    int ended;
    /* Called in the worker's process, which runs its program there. */
    void (*begin)(void *context);
    void *context;
};

/* In the supervisor: does this signal, for which it waits, mean that it is to end? Who has died is
 * told by SIGCONT: it also wakes a supervisor that somebody has stopped. */
bool supervisor_is_to_end(int number, int parent);

/* In a child of picklock's, made by fork(): becomes the supervisor. The worker's process dies with
 * it. Everything is borrowed; keeps no descriptor open. */
_Noreturn void supervisor_run(const struct supervised *supervised);

/* In picklock: waits until that supervisor's worker runs its program; `tell` is where that is read.
 * 0 and its process id; else the errno, or reason of calls/calls.h, and the supervisor has ended.
 */
int supervisor_await_begin(int supervisor, int tell, int *worker);

/* Asked by picklock: a process that that worker has started and that is still there; unless
 * is_alive, be it dead and not waited for; 0: none. */
int supervisor_find_more(int supervisor, int worker, bool is_alive);

/* The same: has the worker's own process ended? */
bool supervisor_has_lost(int worker);

#endif
