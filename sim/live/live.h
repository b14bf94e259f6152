/* live.h - the real world: redis-server processes, hiredis clients on a libuv loop, every command
 * through the fault proxy.
 *
 * Two ways to run: directed (behind scenario/world.h: all is held at the proxy, one choice at a
 * time) and free (stress: clients run by themselves, faults are drawn). Single-threaded. Servers
 * bind loopback on free ports and die with this process, also after SIGKILL. */
#ifndef PICKLOCK_LIVE_LIVE_H
#define PICKLOCK_LIVE_LIVE_H

#include "base/distribution.h"
#include "scenario/world.h"

#include <signal.h>
#include <stddef.h>

enum steering {
    STEERED, /* the servers' clocks are frozen and moved by the choices, through the preloaded shim
              */
    REAL_TIME, /* no shim: time passes for real */
    BENT_TIME, /* so it does, and through the shim a server's clock can run at another rate */
};

struct live_options {
    const char *redis_server; /* --redis-server PATH, or NULL: "redis-server" on the PATH */
    const char
        *url; /* --redis URL of an existing server, or NULL: private servers. Implies REAL_TIME */
    enum steering steering;
    const volatile int *stop; /* set by a signal handler: a directed run ends as FAIL_UNKNOWN. Kept;
                                 may be NULL */
};

/* The servers of a program run: started at first use, emptied and used again by the runs that
 * follow, stopped by live_free(). */
struct live;
enum fail live_new(struct live **live, const struct live_options *options, struct failure *failure);
/* "" before the first world, unless it was learned: a server is started, or asked, for that. Locks:
 * so many will be there. */
const char *live_server_version(const struct live *live);
enum fail live_learn_version(struct live *live, int locks, struct failure *failure);
/* Are the servers its own, so that its clients alone write to their keys? Not those of a URL. */
bool live_has_own_servers(const struct live *live);
void live_free(struct live *live);

/* Can a run of so many servers, with replicas, be made here, and that choice in it? Asks nobody.
 * FAIL_NOT_APPLICABLE: why not with somebody else's server, or where time is real. */
enum fail live_suits(const struct live *live, int servers, bool has_replica,
                     struct failure *failure);
enum fail live_can(const struct live *live, enum choice_kind kind, struct failure *failure);
/* Do leases run out in real time, so that a run takes as long as its story? */
bool live_is_real_time(const struct live *live);

/* A directed world on real servers. run is kept. Freed by ops->free; one at a time per live. */
enum fail world_live_new(struct world **world, struct live *live, const struct run *run,
                         struct failure *failure);

/* How far a server's expiry and our times may disagree in worlds of this live: for history_head. */
int64_t live_clock_error_us(const struct live *live);

/* Did the clocks of servers that nobody steers keep ours since the run began, or since they were
 * last compared? FAIL_UNKNOWN: what they did instead, and nothing can be concluded. Before the
 * world is freed. */
enum fail live_compare_clocks(struct live *live, struct failure *failure);

/* --- free running: stress --- */

struct stress_progress {
    int64_t elapsed_us, operations, grants;
    int64_t p99_us;         /* of the acquire calls so far */
    int64_t holders;        /* that believe to hold a lock now */
    int64_t faults;         /* that have struck so far */
    const char *violations; /* as a sentence says them; NULL: none yet, or not known. Borrowed */
    bool is_healing;        /* no more faults are drawn */
    /* Attempts that ended without a lock since then, where that is worth telling; else 0. */
    int64_t ungranted, ungranted_since_us;
};

/* Entries of the guarded list: a section that finds more deletes it. A run may last, and one
 * command more in so many sections is no load. */
enum { STRESS_LIST_MAX = 1000 };

/* Chances are per million of the thing that they strike; durations are drawn evenly from 0 .. 2 x
 * the mean. */
struct stress_options {
    const struct scheme *scheme;
    int clients, servers, locks;
    int64_t lease_us;
    int64_t duration_us; /* 0: until *stop */
    int64_t heal_us;     /* behind that, without faults; clients ask on */
    uint64_t seed;
    uint32_t pause_ppm; /* of critical sections: the holder stalls for about pause_us */
    int64_t pause_us;
    uint32_t delay_ppm; /* of commands: held at the proxy, before or after execution, for about
                           delay_us */
    int64_t delay_us;
    uint32_t lose_reply_ppm; /* of commands: executed, the reply lost, the connection reset */
    uint32_t lose_request_ppm;
    uint32_t crash_ppm; /* of operations: the client dies and is born again */
    /* Of commands: what strikes their server first, for about so long. What was asked for must be
     * possible there: stress_can(). */
#define SERVER_STRIKE(id, field, ...) uint32_t field##_ppm;
#define SERVER_OUTAGE(id, field, ...)                                                              \
    uint32_t field##_ppm;                                                                          \
    int64_t field##_us;
#include "live/server_strikes.def"
#undef SERVER_STRIKE
#undef SERVER_OUTAGE
    uint32_t drift_ppm;        /* of clients: their clocks gain, or lose, up to a tenth */
    uint32_t server_drift_ppm; /* of servers: theirs do, at least half as much; BENT_TIME only */
    /* Aimed: where a lock is most easily broken. */
    uint32_t pause_after_grant_ppm; /* of grants: the client stalls for about pause_us, at once */
    uint32_t stall_in_release_ppm;  /* of releases: it does so between two of their commands */
    uint32_t delay_past_lease_ppm;  /* of commands: late by one lease to two */
    int64_t timeout_us;             /* a client's command time-out */
    struct distribution think;      /* between attempts */
    struct distribution hold;       /* a section's work, between its writes and the release */
    struct event_sink sink;
    /* Called about once a second (may be NULL). */
    void (*progress)(void *context, const struct stress_progress *progress);
    void *progress_context;
    /* Called with it (may be NULL): clocks have kept ours up to here, so what was found until now
     * stands, whatever comes. */
    void (*proved)(void *context);
    void *proved_context;
    bool is_cluster;      /* servers: the masters of a Redis Cluster, and one server to clients */
    int proxy_processes;  /* at least so many hold the proxy's ends of connections (carrier.h) */
    bool is_near;         /* clients connect to the proxy by unix sockets (near_link.h) */
    bool is_direct;       /* without the proxy: no rate of a fault that is the network's */
    bool until_violation; /* the run may end behind the first that counts as a failure */
    /* Has enough been seen, so that the run may end? Asked ten times a second (may be NULL). */
    bool (*is_enough)(void *context);
    void *is_enough_context;
    const volatile int *stop; /* the signal, set by its handler: end early and cleanly */
};

/* Did a signal end it before its time, after so long? A run without a time is told to end by one:
 * that is its end, but for SIGHUP, as a terminal that hangs up tells nothing. */
static inline bool stress_is_cut_short(const struct stress_options *options, int64_t elapsed_us)
{
    const int number = options->stop ? *options->stop : 0;
    if (!options->duration_us)
        return number == SIGHUP;
    return number && elapsed_us < options->duration_us + options->heal_us;
}

/* Set: nothing is waited for as long as else. NULL: a signal is the end that the run was to have.
 */
static inline const volatile int *stress_hurried_by(const struct stress_options *options)
{
    return options->duration_us ? options->stop : NULL;
}

struct latency {
    int64_t p50, p99, p999, max; /* us, of acquire calls */
};

/* What strikes in a free run. */
enum struck {
    STRUCK_PAUSE,
    STRUCK_DELAY,
    STRUCK_REPLY,
    STRUCK_REQUEST,
    STRUCK_CRASH,
#define SERVER_STRIKE(id, ...) STRUCK_##id,
#define SERVER_OUTAGE(id, ...) STRUCK_##id,
#include "live/server_strikes.def"
#undef SERVER_STRIKE
#undef SERVER_OUTAGE
    STRUCK_CLIENT_DRIFT,
    STRUCK_SERVER_DRIFT,
    STRUCK_AFTER_GRANT,
    STRUCK_IN_RELEASE,
    STRUCK_PAST_LEASE,
    STRUCK_COUNT
};

struct stress_outcome {
    int clients; /* that every server has answered: all, or the run has failed */
    int64_t elapsed_us;
    int64_t injected_wait_us; /* faults kept clients waiting so long, all together, up to then */
    struct latency latency_us;
    bool was_stopped;     /* stress_is_cut_short() */
    bool has_seen_enough; /* is_enough() ended it */
    struct failure ended; /* FAIL_UNKNOWN: why it ended before its time (no signal): a process that
                             it needs is gone. It is in doubt then */
    /* Locks that were asked for while it healed, long enough before its end; and those of them that
     * nobody was granted then. */
    int healed_of, unhealed;
    /* FAIL_UNKNOWN: nothing can be concluded from what came behind the last proved(), and why: a
     * server's clock did not keep ours, a fault did not strike. */
    struct failure doubt;
    int64_t struck[STRUCK_COUNT]; /* so often */
    int64_t connections_refused;
    int64_t moved, asked; /* redirections that clients followed, of a cluster */
    /* Workers that had been asked for something, and had not answered for two leases in the end;
     * and who had been asked for how long, and for what. */
    struct {
        int workers, first; /* from 0 */
        enum operation op;
        int64_t for_us;
    } unanswered;
    int proxy_processes; /* so many held the proxy's ends of connections; 0: we did, or nobody */
    int64_t proxy_processes_cpu_us;
    bool was_one_at_a_time; /* so many commands were with a server: it does not tell its order */
};

/* The rows of server_strikes.def. */
enum server_strike {
    SERVER_STRIKE_NONE,
#define SERVER_STRIKE(id, ...) SERVER_STRIKE_##id,
#define SERVER_OUTAGE(id, ...) SERVER_STRIKE_##id,
#include "live/server_strikes.def"
#undef SERVER_STRIKE
#undef SERVER_OUTAGE
    SERVER_STRIKE_COUNT
};

struct server_strike_row {
    const char *option, *rates, *never;
    bool wants_proxy;
    enum choice_kind choice;
    enum struck struck;
    size_t ppm_at, us_at; /* in struct stress_options; us_at 0: it is done at once */
};
extern const struct server_strike_row server_strike_rows[SERVER_STRIKE_COUNT];

/* How often the options ask for it, and for how long on average (0: at once). */
uint32_t server_strike_ppm(const struct stress_options *options, enum server_strike strike);
int64_t server_strike_us(const struct stress_options *options, enum server_strike strike);

/* Can all that the options ask for be done to the servers? FAIL_NOT_APPLICABLE: what cannot, and
 * why. */
enum fail stress_can(const struct live *live, const struct stress_options *options,
                     struct failure *failure);

enum fail live_stress(struct live *live, const struct stress_options *options,
                      struct stress_outcome *outcome, struct failure *failure);

#endif
