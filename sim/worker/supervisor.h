/* supervisor.h - the process between us and a worker: whatever the worker starts ends with it.
 *
 *     picklock -> supervisor -> worker -> its children, and theirs
 *
 * A supervisor adopts what loses its parent (PR_SET_CHILD_SUBREAPER), so a process cannot get away
 * by a session of its own or by a parent that ends. It kills all of them when the worker ends, when
 * it is told (SIGTERM), and when picklock ends, however that does. Then it ends as the worker did.
 * Private to this folder. */
#ifndef PICKLOCK_WORKER_SUPERVISOR_H
#define PICKLOCK_WORKER_SUPERVISOR_H

#include <stdbool.h>

struct supervised {
    int parent; /* picklock's process id */
    /* The worker's process id is written there; 0 and less: the negative errno, or reason of
     * calls/calls.h, why there is none. */
    int tell;
    const char *page; /* whose calls are answered here, the file of its time; NULL: none are */
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

/* Asked by picklock: a process that that worker has started and that is still there, be it dead and
 * not waited for; 0: none. */
int supervisor_find_more(int supervisor, int worker);

/* The same: has the worker's own process ended? */
bool supervisor_has_lost(int worker);

#endif
