/* timers.c - timerfd: armed in virtual time. See shim.h.
 *
 * The real timer stays unarmed; when its instant has come it is armed to ring at once, so that
 * poll() and read() show it. A timer with an interval rings once for each look, however many
 * intervals have gone by. Source: timerfd_create(2). */
#include "worker/shim/shim.h"

#include "worker/time_rules.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { TIMERS_MAX = 32 };

struct shim_timer {
    int descriptor; /* 1 + it; 0: none */
    clockid_t clock;
    int64_t due_us; /* TIME_NEVER: not armed */
    int64_t interval_us;
};

static struct shim_timer timers[TIMERS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct shim_timer *find(int descriptor)
{
    for (int i = 0; i < TIMERS_MAX; i++)
        if (timers[i].descriptor == 1 + descriptor)
            return &timers[i];
    return NULL;
}

static void ring_real(const struct shim_timer *timer)
{
    const struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    (void)syscall(SYS_timerfd_settime, timer->descriptor - 1, 0, &soon, NULL);
}

int64_t shim_timers_next_us(void)
{
    int64_t next_us = TIME_NEVER, now_us = shim_now_us();
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < TIMERS_MAX; i++) {
        struct shim_timer *timer = &timers[i];
        if (!timer->descriptor)
            continue;
        if (timer->due_us <= now_us) {
            ring_real(timer);
            timer->due_us = timer->interval_us ? now_us + timer->interval_us : TIME_NEVER;
        }
        if (timer->due_us < next_us)
            next_us = timer->due_us;
    }
    (void)pthread_mutex_unlock(&lock);
    return next_us;
}

void shim_timers_closed(int descriptor)
{
    (void)pthread_mutex_lock(&lock);
    struct shim_timer *timer = find(descriptor);
    if (timer)
        timer->descriptor = 0;
    (void)pthread_mutex_unlock(&lock);
}

int timerfd_create(clockid_t clock, int flags)
{
    int descriptor = (int)syscall(SYS_timerfd_create, CLOCK_MONOTONIC, flags);
    if (!shim_page || descriptor < 0)
        return descriptor;
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < TIMERS_MAX; i++)
        if (!timers[i].descriptor) {
            timers[i] = (struct shim_timer){
                .descriptor = 1 + descriptor, .clock = clock, .due_us = TIME_NEVER};
            break;
        }
    (void)pthread_mutex_unlock(&lock);
    return descriptor;
}

static void tell(const struct shim_timer *timer, struct itimerspec *told)
{
    int64_t left_us = timer->due_us == TIME_NEVER ? 0 : timer->due_us - shim_now_us();
    if (timer->due_us != TIME_NEVER && left_us <= 0)
        left_us = 1;
    told->it_value = time_of_us(left_us);
    told->it_interval = time_of_us(timer->interval_us);
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *wanted,
                    struct itimerspec *before)
{
    (void)pthread_mutex_lock(&lock);
    struct shim_timer *timer = shim_page ? find(descriptor) : NULL;
    if (timer) {
        const struct itimerspec off = {0};
        if (before)
            tell(timer, before);
        const bool is_armed = wanted->it_value.tv_sec || wanted->it_value.tv_nsec;
        const bool is_instant = flags & TFD_TIMER_ABSTIME;
        timer->interval_us = time_up_us(&wanted->it_interval);
        timer->due_us = !is_armed    ? TIME_NEVER
                        : is_instant ? shim_instant(timer->clock, &wanted->it_value)
                                     : shim_after(&wanted->it_value);
        (void)syscall(SYS_timerfd_settime, descriptor, 0, &off, NULL);
    }
    (void)pthread_mutex_unlock(&lock);
    return timer ? 0 : (int)syscall(SYS_timerfd_settime, descriptor, flags, wanted, before);
}

int timerfd_gettime(int descriptor, struct itimerspec *told)
{
    (void)pthread_mutex_lock(&lock);
    const struct shim_timer *timer = shim_page ? find(descriptor) : NULL;
    if (timer)
        tell(timer, told);
    (void)pthread_mutex_unlock(&lock);
    return timer ? 0 : (int)syscall(SYS_timerfd_gettime, descriptor, told);
}
