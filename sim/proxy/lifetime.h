/* lifetime.h - when a program that serves on a loop is to end: SIGINT, SIGTERM, SIGHUP (unless it
 * was started to survive that), or the death of its parent. */
#ifndef PICKLOCK_PROXY_LIFETIME_H
#define PICKLOCK_PROXY_LIFETIME_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct lifetime {
    uv_signal_t interrupt, terminate, hang_up;
    uv_timer_t parent_timer;
    pid_t parent;
    void (*over)(void *context, const char *why); /* may be called again */
    void (*hung_up)(void *context); /* SIGHUP is no end, but that; NULL: it is. Set before the start
                                     */
    void *context;
};

/* parent: getppid() when the program began. lifetime stays where it is until the loop has ended. */
void lifetime_start(struct lifetime *lifetime, uv_loop_t *loop, pid_t parent,
                    void (*over)(void *context, const char *why), void *context);
void lifetime_stop(struct lifetime *lifetime);

#endif
