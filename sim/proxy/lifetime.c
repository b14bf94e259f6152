/* lifetime.c - see lifetime.h. */
#include "proxy/lifetime.h"

#include <assert.h>
#include <signal.h>
#include <unistd.h>

enum {
    PARENT_ASKED_MS = 250
}; /* a death signal of the kernel follows the parent's thread, not the parent */

static void on_signal(uv_signal_t *signal, int number)
{
    struct lifetime *lifetime = signal->data;
    if (number == SIGHUP && lifetime->hung_up) {
        lifetime->hung_up(lifetime->context);
        return;
    }
    lifetime->over(lifetime->context, number == SIGINT    ? "interrupted"
                                      : number == SIGTERM ? "terminated"
                                                          : "the terminal hung up");
}

static void on_parent_timer(uv_timer_t *timer)
{
    struct lifetime *lifetime = timer->data;
    if (getppid() != lifetime->parent)
        lifetime->over(lifetime->context, "the parent is gone");
}

/* Is SIGHUP to be survived, as under nohup(1)? */
static bool is_hang_up_ignored(void)
{
    struct sigaction now;
    return sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void lifetime_start(struct lifetime *lifetime, uv_loop_t *loop, pid_t parent,
                    void (*over)(void *context, const char *why), void *context)
{
    lifetime->parent = parent;
    lifetime->over = over;
    lifetime->context = context;
    lifetime->interrupt.data = lifetime->terminate.data = lifetime->hang_up.data =
        lifetime->parent_timer.data = lifetime;
    int error =
        uv_signal_init(loop, &lifetime->interrupt) | uv_signal_init(loop, &lifetime->terminate) |
        uv_signal_init(loop, &lifetime->hang_up) | uv_timer_init(loop, &lifetime->parent_timer) |
        uv_signal_start(&lifetime->interrupt, on_signal, SIGINT) |
        uv_signal_start(&lifetime->terminate, on_signal, SIGTERM) |
        uv_timer_start(&lifetime->parent_timer, on_parent_timer, PARENT_ASKED_MS, PARENT_ASKED_MS);
    if (lifetime->hung_up || !is_hang_up_ignored())
        error |= uv_signal_start(&lifetime->hang_up, on_signal, SIGHUP);
    assert(!error);
}

void lifetime_stop(struct lifetime *lifetime)
{
    uv_close((uv_handle_t *)&lifetime->interrupt, NULL);
    uv_close((uv_handle_t *)&lifetime->terminate, NULL);
    uv_close((uv_handle_t *)&lifetime->hang_up, NULL);
    uv_close((uv_handle_t *)&lifetime->parent_timer, NULL);
}
