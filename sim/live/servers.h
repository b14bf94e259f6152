/* servers.h - the servers of a program run: private redis-server processes, or the one that a URL
 * names.
 *
 * Started at first use and used again by the runs that follow, each of which finds them as if just
 * started: that is shown, and a server that cannot be brought there is replaced (README.md here).
 * A private server is killed, emptied, promoted and starved at will; a server behind a URL is
 * somebody else's: only keys under our own prefix are touched there, and whatever would touch more
 * is refused. */
#ifndef PICKLOCK_LIVE_SERVERS_H
#define PICKLOCK_LIVE_SERVERS_H

#include "live/clock.h"
#include "live/live.h"
#include "live/pace.h"
#include "live/process.h"
#include "live/sweeper.h"
#include "proxy/proxy.h"

struct server {
    struct process process;
    struct process replica; /* pid 0: none */
    int64_t gains_us;       /* a second, its clock, where that runs */
    int number;             /* from 0 */
    /* The replica's link goes through a proxy of its own, so that it can be cut for real. */
    struct proxy *feed;
    struct servers *servers; /* borrowed: whose row this is */
    bool is_cut;
    redisContext *held; /* while it holds writes: one of ours that waits there; else NULL */
    char *saved;        /* the keys of its snapshot, a line each; NULL: it has saved none */
    int64_t cut_offset; /* how much of its primary's stream the replica had then */
    struct proxy_link *feed_link;
    bool is_dead; /* killed, and nobody takes its place in this run */
};

/* Processes that run, and that no row has: started ahead of the fault that will need one, or left
 * over by one. The oldest first. */
enum { SPARES_MAX = 8, SPARES_WANTED = 2 };

struct spares {
    struct process rows[SPARES_MAX];
    int count;
    int wanted; /* so many are kept ready; 0 until a fault has needed one */
};

/* What is so of a Redis Cluster that the rows are (cluster.h). */
struct cluster {
    char ids[3][41];
    int importer;         /* the row that a slot moves to; -1: none moves */
    int64_t moved, asked; /* redirections that clients have followed */
};

struct servers {
    uv_loop_t *loop;                  /* borrowed */
    uv_timer_t *tick;                 /* borrowed: wakes the loop while somebody waits */
    void (*meanwhile)(void *context); /* called while a replica, or a sentinel, is waited for;
                                         NULL: nothing else goes on */
    void *meanwhile_context;
    uv_fs_event_t *log; /* of a replica that is waited for: wakes the loop, too */
    int started;        /* processes so far: each has a folder of its own */
    const char *program;
    enum steering steering;
    bool is_foreign; /* a URL */
    struct url url;
    redisContext *foreign;  /* our connection to it */
    const char *prefix;     /* of our keys there; borrowed */
    int locks;              /* those of so many locks may be there */
    bool is_marked;         /* our mark is there: keys may be, too */
    int64_t renewed_us;     /* when it was renewed last */
    struct sweeper sweeper; /* takes our keys away should we be killed */
    struct folder folder;
    bool has_folder;
    char shim[PROCESS_PATH_MAX]; /* "": not linked yet */
    struct server rows[SERVERS_MAX];
    int count; /* that run now */
    struct spares spares;
    int64_t strangers; /* connections that processes which have ended had of nobody of ours */
    bool is_untold;    /* one of them did not tell, or which a sentinel had is not known */
    struct cluster cluster;
    struct pace paces[SERVERS_MAX]; /* of the last look at their clocks */
    char version[VERSION_MAX];
};

/* Reads the options and the prefix of our keys (borrowed; texts are kept): FAIL_INPUT for a bad
 * URL. Starts nothing yet. */
enum fail servers_open(struct servers *servers, const struct live_options *options,
                       const char *prefix, uv_loop_t *loop, uv_timer_t *tick,
                       struct failure *failure);

/* The loop has turned while somebody waits for a replica, or a sentinel. */
static inline void servers_meanwhile(const struct servers *servers)
{
    if (servers->meanwhile)
        servers->meanwhile(servers->meanwhile_context);
}

/* Stops what was started. feed proxies close on the loop: run it until it is empty. */
void servers_close(struct servers *servers);

/* Can there be so many, with replicas? FAIL_NOT_APPLICABLE: why not with the server behind a URL.
 */
enum fail servers_suit(const struct servers *servers, int count, bool has_replica,
                       struct failure *failure);

/* Behind servers_prepare(). FAIL_INPUT: no replica follows the server behind a URL, so WAIT would
 * never be answered with one there. */
enum fail servers_has_replica(struct servers *servers, struct failure *failure);

/* Before a run: keys of locks 0 .. locks-1 may come to be. */
void servers_expect_locks(struct servers *servers, int locks);

/* Deletes our keys from somebody else's server; connects anew where the connection is lost. */
enum fail servers_clear(struct servers *servers, struct failure *failure);

/* Makes count servers (each with a replica in step, where asked for) run as if just started, the
 * clock at world time 0. */
enum fail servers_prepare(struct servers *servers, int count, bool has_replica,
                          struct failure *failure);

/* Where clients' connections go (through the front proxy). */
struct proxy_address servers_address(const struct servers *servers, int server);
redisContext *servers_control(const struct servers *servers, int server);

/* Moves every steered clock to world time now_us. */
void servers_set_clock(struct servers *servers, int64_t now_us);

/* What the server's steered clock says. */
int64_t servers_clock_us(const struct servers *servers, int server);

/* The server's clock, and its replica's, jump: a promotion shall not be a clock jump too. */
void servers_jump_clock(struct servers *servers, int server, int64_t amount_us);

/* Does the server, and its replica, follow the clock? FAIL_UNAVAILABLE: why not. Unsteered ones are
 * not asked. */
enum fail servers_prove_clock(struct servers *servers, int server, struct failure *failure);

/* BENT_TIME: its clock gains so much a second from here on. FAIL_UNKNOWN: it does not follow. */
enum fail servers_set_rate(struct servers *servers, int server, int64_t gains_us,
                           struct failure *failure);

/* BENT_TIME: its clock, and its replica's, jump ahead. FAIL_UNKNOWN: it has not gone on by that. */
enum fail servers_step_clock(struct servers *servers, int server, int64_t amount_us,
                             struct failure *failure);

/* Looks at the clocks of the servers 0 .. count-1, where nobody steers them. */
enum fail servers_look_at_clocks(struct servers *servers, int count, struct failure *failure);

/* The same, and did they keep ours since the last look? FAIL_UNKNOWN: what they did instead. */
enum fail servers_compare_clocks(struct servers *servers, int count, int64_t error_us,
                                 struct failure *failure);

/* FAIL_NONE while all of them live; else FAIL_UNAVAILABLE: which one ended, and how. */
enum fail servers_check(struct servers *servers, struct failure *failure);

/* Those of ours that have ended are no reason not to go on: the next run has others in their
 * places. */
void servers_bury(struct servers *servers);

/* --- faults; the caller breaks the clients' connections ---
 * Each looks whether it has struck: FAIL_UNKNOWN when it has not, with what is so instead. */

enum fail servers_can(const struct servers *servers, enum choice_kind kind,
                      struct failure *failure);
/* Another process, without keys and at another port, takes its place. In real time it is killed
 * with SIGKILL; where clocks are steered, its connections end, and it becomes a spare. */
enum fail servers_restart(struct servers *servers, int server, struct failure *failure);
/* The process is killed with SIGKILL, and another one loads what is in its append-only file, which
 * is switched on for that and whole by then: all keys, no scripts. FAIL_UNKNOWN: other keys than
 * before, and which. */
enum fail servers_restart_with_keys(struct servers *servers, int server, struct failure *failure);
/* SAVE: the file is kept for a restart. FAIL_UNKNOWN: none was written. */
enum fail servers_save_keys(struct servers *servers, int server, struct failure *failure);
/* Killed with SIGKILL, and another process loads that file: its keys, and no others, but for those
 * that real time has ended. FAIL_UNKNOWN: it has other keys, and which. */
enum fail servers_restart_with_saved(struct servers *servers, int server, struct failure *failure);
void servers_forget_saved(struct server *server);
enum fail servers_flush_keys(struct servers *servers, int server, struct failure *failure);
/* CLIENT KILL of all connections but ours. FAIL_UNKNOWN: fewer than least were ended. */
enum fail servers_kill_clients(struct servers *servers, int server, int least,
                               struct failure *failure);
enum fail servers_cut_replica(struct servers *servers, int server, struct failure *failure);
/* What is said to the server from here on has an offset that a replica that was cut off does not
 * acknowledge, also where it changes nothing. */
enum fail servers_outrun_replica(struct servers *servers, int server, struct failure *failure);
/* Every WAIT that stands at the server is answered, as if its time were over (CLIENT UNBLOCK). */
enum fail servers_end_waits(struct servers *servers, int server, struct failure *failure);
/* Another replica follows the one that was promoted, and is in step. */
enum fail servers_follow_promoted(struct servers *servers, int server, struct failure *failure);
/* The replica (in step, unless cut) is promoted and takes the row; the old primary's connections
 * end, and it becomes a spare. */
enum fail servers_failover(struct servers *servers, int server, struct failure *failure);
/* A redis-sentinel is started, the primary is killed with SIGKILL, and the sentinel promotes the
 * replica (in step, unless cut), which takes the row. FAIL_UNKNOWN: it does not. */
enum fail servers_failover_by_sentinel(struct servers *servers, int server,
                                       struct failure *failure);
/* CLIENT PAUSE of all that may write, for as long as nobody says that it goes on. FAIL_UNKNOWN: it
 * does not hold a command of ours, which is there to be held. */
enum fail servers_hold_writes(struct servers *servers, int server, struct failure *failure);
/* Ends that: FAIL_UNKNOWN: what it held was not executed then. Nothing where it holds none. */
enum fail servers_let_write(struct servers *servers, int server, struct failure *failure);
/* Its process stands still, and goes on, from either (nothing where it does neither). */
enum fail servers_stop(struct servers *servers, int server, struct failure *failure);
enum fail servers_go_on(struct servers *servers, int server, struct failure *failure);
/* Memory pressure until the server has evicted key. */
enum fail servers_evict(struct servers *servers, int server, const char *key,
                        struct failure *failure);
/* Memory pressure until it has evicted keys that have an expiry, any of them; evicted: how many, 0
 * where it has none. */
enum fail servers_press(struct servers *servers, int server, int64_t *evicted,
                        struct failure *failure);
enum fail servers_flush_scripts(struct servers *servers, int server, struct failure *failure);

/* The process takes the row; what its clock says stays what it was, and its replica, if it has one,
 * follows it. */
enum fail servers_seat(struct servers *servers, int server, const struct process *next,
                       const struct clock_page *was, struct failure *failure);

/* A replica that was cut off has heard nothing since; another one is in step. Runs the loop. */
enum fail servers_before_promotion(struct servers *servers, int server, struct failure *failure);
/* It takes the row of its primary, whose process is nobody's by then, and is one itself. */
enum fail servers_seat_replica(struct servers *servers, int server, struct failure *failure);

/* --- strangers.c --- */

/* We have begun a connection to the process at that port, if there is one, from that port of ours.
 */
void servers_note_dial(struct servers *servers, int port, int from);
/* The same of one of hiredis; NULL: nothing. */
void servers_note_context(struct servers *servers, const redisContext *context);
/* As process_kill(), of one that clients may have talked to. */
void servers_end_process(struct servers *servers, struct process *process);
/* Have all processes, those in reserve and those that have ended, too, had no connections but those
 * that were told of? FAIL_UNKNOWN: not so; FAIL_UNAVAILABLE: one does not tell. */
enum fail servers_find_strangers(const struct servers *servers, struct failure *failure);
/* As process_has_only_ours(). */
bool servers_has_only_ours(struct servers *servers, int server);

/* --- replica.c --- */

/* A spare begins to follow its primary. */
enum fail replica_begin(struct servers *servers, struct server *server, struct failure *failure);
/* Runs the loop until the replica has all that its primary has. */
enum fail replica_wait_in_step(struct servers *servers, struct server *server,
                               struct failure *failure);
/* The same, and its primary has been told so, as a client's WAIT has it be told; nothing where
 * there is no replica, or it is cut off. */
enum fail replica_acknowledge(struct servers *servers, int server, struct failure *failure);
/* Makes it ask its primary again at once, not at its own pace. */
enum fail replica_reconnect(struct server *server, struct failure *failure);
/* It follows nobody any more and becomes a spare. Nothing where there is none. */
void replica_release(struct servers *servers, struct server *server);

/* --- spares.c --- */

/* A process as if just started, at world time 0: a spare, or a new one. */
enum fail spares_take(struct servers *servers, struct process *process, struct failure *failure);
/* Takes process (not running: nothing): its connections end, and it replicates nobody. */
void spares_park(struct servers *servers, struct process *process);
/* A new process in the folder, which may hold what it is to load; with an append-only file or not.
 */
enum fail spares_start_in(struct servers *servers, struct process *process, const char *folder,
                          bool has_aof, struct failure *failure);
/* A folder for it (size PROCESS_PATH_MAX), made. */
enum fail spares_folder(struct servers *servers, char *folder, struct failure *failure);
/* Begins to start as many as are missing of count; whoever takes one learns of the failure. */
void spares_begin(struct servers *servers, int count);
/* Begins one of those that are wanted, so that it is ready when it is needed. */
void spares_refill(struct servers *servers);
void spares_close(struct servers *servers);

/* Makes the link to the clock shim in our folder. */
enum fail servers_link_shim(struct servers *servers, struct failure *failure);

#endif
