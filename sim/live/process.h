/* process.h - one private redis-server process: started, asked whether it lives, killed.
 *
 * Binds loopback only, keeps nothing on disk but its log in the folder that it is given, and dies
 * with this process, also when this one is killed (PR_SET_PDEATHSIG). Ready means: it has answered,
 * and it is the process that we started. */
#ifndef PICKLOCK_LIVE_PROCESS_H
#define PICKLOCK_LIVE_PROCESS_H

#include "live/clock.h"
#include "live/folder.h"
#include "live/url.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>

enum { PROCESS_PATH_MAX = FOLDER_PATH_MAX + 64, VERSION_MAX = 32 };

struct process_options {
    const char *program;      /* NULL: redis-server on the PATH */
    const char *folder;       /* its working folder, made here */
    const char *shim;         /* the clock shim to preload, NULL: none */
    const char *page;         /* the file of its clock page */
    struct clock_page *clock; /* that page, mapped: the server is proved to follow it */
    int port;                 /* wanted; another one when that is taken; 0: any */
};

struct process {
    int pid; /* 0: not running */
    int port;
    char folder[PROCESS_PATH_MAX];
    char version[VERSION_MAX];
    redisContext *control; /* open from start to stop */
};

/* Starts it and waits until it is ready. From the main thread only: the kernel ties the death
 * signal to the thread. All borrowed. FAIL_UNAVAILABLE: no such program, not a redis-server, too
 * old, no free port, died at once (with the last words of its log), a clock that does not follow.
 */
enum fail process_start(struct process *process, const struct process_options *options,
                        struct failure *failure);

/* Is its time what the page (borrowed; frozen) says, to the microsecond? Else FAIL_UNAVAILABLE:
 * with a clock that is not steered no lease would end when the story says so, and all would hold.
 */
enum fail process_prove_clock(struct process *process, const struct clock_page *clock,
                              struct failure *failure);

/* SIGKILL, and waits for its end. Nothing when it is not running. */
void process_kill(struct process *process);

/* FAIL_NONE while it lives; else FAIL_UNAVAILABLE with how it ended and the last line of its log.
 */
enum fail process_check(struct process *process, struct failure *failure);

/* Its address, as a URL of its own. */
struct url process_url(const struct process *process);

#endif
