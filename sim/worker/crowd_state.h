/* crowd_state.h - what the files of a crowd share. Private to this folder. */
#ifndef PICKLOCK_WORKER_CROWD_STATE_H
#define PICKLOCK_WORKER_CROWD_STATE_H

#include "base/histogram.h"
#include "base/timers.h"
#include "live/healing.h"
#include "live/held_up.h"
#include "live/injected_wait.h"
#include "live/servers.h"
#include "worker/crowd.h"
#include "worker/guarded.h"
#include "worker/key_watch.h"

struct member;

/* A timer that knows what to do. */
struct crowd_timer {
    struct timer timer; /* first */
    void (*rings)(struct crowd_timer *timer);
    void *owner;
};

/* A connection of a member's, as its proxy sees it. */
struct member_wire {
    struct member_wire *next; /* of its member */
    struct member *member;
    int server;
    struct proxy_link *link;
};

struct member_listener {
    struct member *member;
    int server;
    struct proxy *proxy;
};

enum member_place {
    MEMBER_BEGINS, /* its process does; it is not ready */
    MEMBER_THINKS,
    MEMBER_ACQUIRES,
    MEMBER_HOLDS,
    MEMBER_RELEASES,
    MEMBER_DEAD, /* between two processes */
};

/* A worker, and its endless loop. */
struct member {
    struct crowd *crowd;
    int number, lock;
    enum member_place place;
    struct worker *worker; /* NULL: dead */
    struct worker_events events;
    struct member_listener listeners[SERVERS_MAX];
    struct order *orders; /* oldest first */
    struct member_wire *wires;
    struct guarded_section guarded;
    struct crowd_timer next; /* think, pause, restart */
    struct injected_wait wait;
    struct own_delay own;
    int64_t asked_id; /* 0: it has answered */
    int64_t called_us, asked_us;
    int64_t commands, operations; /* what faults are drawn by */
    int attempt;
    int section;  /* how far its section is */
    int crash_in; /* so many moments from now; -1: not */
    bool is_paused, was_paused, is_lost;
};

enum order_place { ORDER_DELAYED, ORDER_QUEUED, ORDER_RUNNING, ORDER_ANSWERED };

/* A command on its way; or (wire NULL, is_access) one of a section. */
struct order {
    struct order *next;  /* of its member */
    struct order *after; /* in its queue */
    struct member *member;
    struct member_wire *wire;   /* NULL: its connection is gone: nobody waits for it */
    struct proxy_request *held; /* likewise */
    int server, attempt;
    enum order_place place;
    enum worker_op op;
    enum lane lane;
    struct opaque opaque;
    char *bytes;
    size_t length;
    char *reply; /* RESP; NULL: it has not been executed */
    size_t reply_length;
    struct reply heard;
    int64_t from_us; /* when the server got it */
    struct key_state before;
    enum struck strike; /* STRUCK_COUNT: none */
    bool is_late_reply; /* of STRUCK_DELAY: behind the execution */
    int64_t strike_us;
    struct crowd_timer delay;
    bool is_held_back; /* by a fault, and its member waits for it */
    bool is_ours;      /* in a queue of ours, likewise */
    bool is_handshake, is_access;
    struct command access;
};

struct crowd_queue {
    struct crowd *crowd;
    int server;
    struct order *first, *last, *running;
    int64_t running_until_us; /* an answer that has not come by then never will */
    enum server_reach reach;
    struct crowd_timer outage;
    struct server_wire late, section; /* of ours */
    struct key_watch *watches;        /* one a lock */
};

struct crowd_lock {
    struct lock_key key;
    char name[32], guarded_prefix[32];
};

struct crowd {
    uv_loop_t loop;
    uv_timer_t tick;
    bool has_loop;
    struct servers servers;
    const struct stress_options *options;
    bool has_seen_enough;
    struct worker_program *program;
    char helpers[PROCESS_PATH_MAX];
    struct member *members;
    struct crowd_lock *locks;
    struct lock_healing *healing; /* a lock each */
    struct crowd_queue queues[SERVERS_MAX];
    struct timers timers;
    struct held_up held_up;
    int64_t rings_late_us; /* the timer that rings now */
    struct histogram latency;
    int64_t began_us, events, operations, grants;
    int64_t struck[STRUCK_COUNT];
    int started;
    bool is_running, is_healing, is_ending, is_closing;
    struct failure failure, doubt; /* doubt: nothing can be concluded, and why */
};

/* --- crowd.c --- */
int64_t crowd_now_us(const struct crowd *crowd);
/* member NULL: nobody's. */
struct event crowd_event(const struct crowd *crowd, enum event_kind kind,
                         const struct member *member, int server);
void crowd_write(struct crowd *crowd, struct event *event);
void crowd_fault(struct crowd *crowd, const struct member *member, int server, enum fault fault,
                 int64_t amount_us);
void crowd_timer_set(struct crowd *crowd, struct crowd_timer *timer, int64_t in_us);
enum crowd_draw { CROWD_COMMAND, CROWD_PAUSE, CROWD_CRASH, CROWD_THINK };
uint64_t crowd_draw(const struct crowd *crowd, int number, enum crowd_draw draw, int64_t n);
int64_t crowd_spread(uint64_t drawn, int64_t mean_us); /* 0 .. twice the mean */
/* The first that goes wrong stays. */
void crowd_doubt(struct crowd *crowd, const struct failure *why);
void crowd_fail(struct crowd *crowd, const struct failure *why);
/* One turn of the loop: what is due, what has come; sleeps until until_us at most. */
void crowd_turn(struct crowd *crowd, int64_t until_us);

/* --- crowd_members.c --- */
/* A process for it: it has said nothing yet. */
enum fail member_begin(struct member *member, struct failure *failure);
void member_start(struct member *member, int64_t in_us);
/* Its access has ended. */
void member_accessed(struct member *member, const struct order *order);
bool member_is_busy(const struct member *member); /* something of its is with a server */
/* No more faults are drawn, and those that have not struck yet do not. */
void member_heals(struct member *member);
/* One more of those by which crashes are drawn. */
void member_moment(struct member *member);
/* The crash that it was to have, if any, now that nothing of it is with a server. */
void member_crash_if_due(struct member *member);

/* --- crowd_waits.c --- */
/* A fault keeps it waiting, maybe one more; that one does no longer. */
void member_wait_begins(struct member *member);
void member_wait_ends(struct member *member);
/* It waits for an order that is in a queue of ours; no longer. May be said again. */
void order_queue_begins(struct order *order);
void order_queue_ends(struct order *order);
/* Of what we keep it waiting for: counts from here on; puts down what was not told yet, where that
 * may matter. */
void member_own_delay_begins(struct member *member);
void member_own_delay_tell(struct member *member);

/* --- crowd_orders.c --- */
/* Does anybody wait for its answer? */
bool order_is_waited_for(const struct order *order);
enum fail member_listen(struct member *member, int server, struct failure *failure);
void member_access(struct member *member, const struct command *command);
void orders_drop(struct member *member); /* none is with a server */
void orders_heal(struct member *member); /* what was drawn for them does not strike any more */
struct event order_event(const struct order *order, enum event_kind kind);
void order_write(const struct order *order, enum event_kind kind);
/* Tells of a fault that has struck it. */
void order_struck(const struct order *order, enum fault fault, int64_t amount_us);
void order_delay(struct order *order, void (*then)(struct crowd_timer *timer));
/* A fault holds it back, maybe it is said again; nothing does any more, or nobody waits for it. */
void order_hold_back(struct order *order);
void order_let_on(struct order *order);
void order_dequeue(struct order *order);
void order_free(struct order *order);
/* The connection is reset, and what is on it lost; of struck (may be NULL) an event has told. */
void wire_cut(struct member_wire *wire, const struct order *struck);

/* --- crowd_queues.c --- */
/* Whatever can go to a server, or has come from one. */
void crowd_pump(struct crowd *crowd);
void queue_open(struct crowd_queue *queue); /* ends an outage, where there is one */

/* --- crowd_room.c --- */
/* Is there room for all of them, going by the first, which is ready? FAIL_UNAVAILABLE. */
enum fail crowd_has_room(const struct crowd *crowd, struct failure *failure);

#endif
