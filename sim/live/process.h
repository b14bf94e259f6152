/* process.h - one private redis-server process: started, asked whether it lives, killed.
 *
 * Binds loopback only, keeps nothing on disk but its log in the folder that it is given, and dies
 * with this process, also when this one is killed (PR_SET_PDEATHSIG). Ready means: it has answered,
 * and it is the process that we started. */
#ifndef PICKLOCK_LIVE_PROCESS_H
#define PICKLOCK_LIVE_PROCESS_H

#include "live/clock.h"
#include "live/folder.h"
#include "live/read_log.h"
#include "live/url.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>

/* What it may evict once its memory is limited; it is not, but by a fault. */
#define PROCESS_POLICY "volatile-lfu"
/* What it tells subscribers of: all writes, key by key (worker/key_watch.c). */
#define PROCESS_EVENTS "KA"

enum { PROCESS_PATH_MAX = FOLDER_PATH_MAX + 64, VERSION_MAX = 32 };

struct process_options {
    const char *program; /* NULL: redis-server on the PATH */
    const char *folder;  /* its working folder, made here */
    const char *shim;    /* the clock shim to preload, NULL: none */
    int port;            /* wanted; another one when that is taken; 0: any */
    bool has_aof;        /* it loads its append-only file, and writes it on */
    bool is_clustered;   /* a node of a Redis Cluster, which knows no other one yet */
};

struct process {
    int pid; /* 0: not running */
    int port;
    int bus_port; /* at which the other nodes of its cluster reach it; 0: it is in none */
    char folder[PROCESS_PATH_MAX];
    char version[VERSION_MAX];
    redisContext *control; /* open from ready to stop */
    /* What its clock says, to be moved by us; it stands at world time 0 at first. NULL: no shim. */
    struct clock_page *clock;
    bool is_stopped;        /* by process_stop() */
    struct read_log *reads; /* in which order it reads; NULL: no shim, or no room for it */
    bool tells_peers;       /* its log does tell who connects: process_strangers() */
    int64_t strangers;      /* by its end */
    bool is_alone;          /* there were none when it had accepted so many: */
    uint32_t alone_at;
    char *settings; /* as it was when it was ready: process_reset() */
    int64_t calls;  /* by then, and when that was compared last, of commands that change them */
};

/* Starts it and waits until it is ready. From the main thread only: the kernel ties the death
 * signal to the thread. All borrowed. FAIL_UNAVAILABLE: no such program, not a redis-server, too
 * old, no free port, died at once (with the last words of its log), a clock that does not follow.
 */
enum fail process_start(struct process *process, const struct process_options *options,
                        struct failure *failure);

/* The same in two parts: the process runs; and it is ready, which nobody has waited for in between.
 * Its port may turn out to be taken: then the second part fails, as for any other reason. */
enum fail process_begin(struct process *process, const struct process_options *options,
                        struct failure *failure);
enum fail process_finish(struct process *process, struct failure *failure);

/* Is its time what its clock page says, to the microsecond? Else FAIL_UNAVAILABLE: with a clock
 * that is not steered no lease would end when the story says so, and all would hold. */
enum fail process_prove_clock(struct process *process, struct failure *failure);

/* Between two runs: ends all connections but ours, deletes all keys and scripts, takes back what
 * faults have set, and proves it: as one that has just started (but for its clock, which is proved
 * by itself). A primary keeps the replica that it has, or loses all. FAIL_UNKNOWN: what is left or
 * refused, and it is to be replaced; FAIL_UNAVAILABLE: it does not answer. */
enum fail process_reset(struct process *process, bool keeps_replica, struct failure *failure);

/* Is a replica in that state, which has it from its primary? Asks only. */
enum fail process_prove_blank_replica(struct process *process, struct failure *failure);

/* A connection of our own to it, as control_open(). */
enum fail process_dial(struct process *process, redisContext **control, struct failure *failure);
/* We have begun a connection to it from that port of ours (0: none). Whoever does, says so. */
void process_note_dial(struct process *process, int from);
/* Connections that it has accepted from ports from which we began none, so far, or by its end: all
 * that have said anything to it are among them. -1: it does not tell. */
int64_t process_strangers(const struct process *process);
/* It tells, and there was none before whatever it has executed so far. Costs little. */
bool process_has_only_ours(struct process *process);

/* SIGSTOP, and SIGCONT (nothing when it is not stopped): waits until the system says that it stands
 * still, or goes on. While it stands still it must not be asked anything. FAIL_UNAVAILABLE: it has
 * ended. */
enum fail process_stop(struct process *process, struct failure *failure);
enum fail process_go_on(struct process *process, struct failure *failure);

/* SIGKILL, and waits for its end. Nothing when it is not running. */
void process_kill(struct process *process);

/* FAIL_NONE while it lives; else FAIL_UNAVAILABLE with how it ended and the last line of its log.
 */
enum fail process_check(struct process *process, struct failure *failure);

/* Its address, as a URL of its own. */
struct url process_url(const struct process *process);

/* --- between the files of a process --- */

#define PROCESS_PORT_TAKEN "Address already in use"
#define PROCESS_NOT_ALONE  "somebody else has connected to it before it was ready"

void process_log_path(const struct process *process, char *path, size_t size);

/* On 127.0.0.1, now; 0: there is none. */
int process_free_port(void);

/* process_ready.c: runs, answers, is the one that was started, and of a version that will do; and
 * follows its clock page, twice around a step of it: once could be an accident. */
enum fail process_await_ready(struct process *process, struct failure *failure);
/* Where what this points to is set (by a signal's handler), a process is waited for no longer than
 * it usually takes. Kept until another is given; NULL: nothing is heeded. */
void process_heed(const volatile int *stop);
enum fail process_prove_steered(struct process *process, struct failure *failure);

/* process_settings.c: keeps what its settings are now, to hold it to them; whether they are so. */
enum fail process_note_settings(struct process *process, struct failure *failure);
enum fail process_prove_settings(struct process *process, struct failure *failure);

/* Has nobody called a command that changes settings since either of these? Appended first, then
 * answered; CALLS_UNTOLD: this server does not tell, so somebody may have. */
#define CALLS_UNTOLD INT64_C(-1)
void process_append_calls(struct process *process);
enum fail process_look_at_calls(struct process *process, bool *is_untouched,
                                struct failure *failure);

#endif
