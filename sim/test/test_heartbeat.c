/* test_heartbeat.c - what is told while a command waits: time alone brings the next line. The time
 * is the test's own, so that no other work on the machine matters. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/monotonic.h"
#include "cmd/heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_US = 1000000, SILENT_AT_MOST_US = 5 * SECOND_US };

/* --- time --- */

static int64_t now_us;                /* the mutex of who waits is held where both threads run */
static sem_t waits;                   /* posted whenever the thread begins to wait */
static pthread_mutex_t *waiting_with; /* of the thread */
static pthread_cond_t *waiting_for;
static int64_t waiting_until_us;

int64_t __wrap_monotonic_us(void);
int64_t __wrap_monotonic_us(void)
{
    return now_us;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    waiting_for = cond;
    waiting_with = mutex;
    waiting_until_us = until->tv_sec * (int64_t)SECOND_US + until->tv_nsec / 1000;
    if (now_us >= waiting_until_us)
        return ETIMEDOUT;
    sem_post(&waits);
    pthread_cond_wait(cond, mutex);
    return now_us >= waiting_until_us ? ETIMEDOUT : 0;
}

/* As long as may be silent at most; the thread waits again then. */
static void time_passes(void)
{
    pthread_mutex_lock(waiting_with);
    assert_true(waiting_until_us <= now_us + SILENT_AT_MOST_US);
    now_us = waiting_until_us;
    pthread_cond_signal(waiting_for);
    pthread_mutex_unlock(waiting_with);
    sem_wait(&waits);
}

/* --- standard error --- */

static int ours, its, before;

static void stderr_becomes(int fd)
{
    before = dup(STDERR_FILENO);
    assert_true(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
}

static void stderr_is_back(void)
{
    assert_true(dup2(before, STDERR_FILENO) == STDERR_FILENO);
    close(before);
    close(its);
}

/* Waits for that text, which is all that is there. */
static void assert_said(const char *text)
{
    char said[200];
    size_t size = 0;
    while (size < strlen(text)) {
        ssize_t more = read(ours, said + size, strlen(text) - size);
        assert_true(more > 0);
        size += (size_t)more;
    }
    said[size] = '\0';
    assert_string_equal(said, text);
}

static void begin(void)
{
    now_us = 1000 * (int64_t)SECOND_US;
    assert_int_equal(sem_init(&waits, 0, 0), 0);
    heartbeat_begin();
    sem_wait(&waits);
}

/* A file has the last words again, as often as time goes by, and none of what is over before. */
static void a_file_has_a_line_by_time(void **state)
{
    (void)state;
    int ends[2];
    char left;
    assert_int_equal(pipe(ends), 0);
    ours = ends[0];
    its = ends[1];
    stderr_becomes(its);
    begin();
    heartbeat_say("asks a worker");
    heartbeat_say("waits for it");
    time_passes();
    assert_said("waits for it\n");
    time_passes();
    assert_said("waits for it\n");
    heartbeat_say("%s", "");
    time_passes();
    heartbeat_say("asks another");
    time_passes();
    assert_said("asks another\n");
    struct heartbeat_figures figures = HEARTBEAT_FIGURES;
    figures.what = "stall";
    figures.done = 2;
    figures.of = 6;
    figures.runs = 41;
    figures.runs_max = 100;
    figures.states = 512;
    figures.left_us = 40000000;
    figures.is_at_most = true;
    heartbeat_tell(&figures);
    time_passes();
    assert_said("3/6 stall: 41 of 100 runs, 512 states, at most 40 s left\n");
    figures.runs = figures.runs_max = -1;
    figures.search_left_us = 7000000;
    figures.is_at_least = true;
    heartbeat_tell(&figures);
    time_passes();
    assert_said("3/6 stall: 512 states, at least 7 s left of it, at most 40 s left of all\n");
    figures.is_at_least = false;
    figures.left_us = -1;
    heartbeat_tell(&figures);
    time_passes();
    assert_said("3/6 stall: 512 states, about 7 s left of it\n");
    heartbeat_end();
    stderr_is_back();
    assert_int_equal(read(ours, &left, 1), 0);
    close(ours);
}

/* There a line changes: what is told at once, and then for how long that has been so. */
static void a_terminal_has_a_line_that_changes(void **state)
{
    (void)state;
    ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(ours >= 0 && grantpt(ours) == 0 && unlockpt(ours) == 0);
    its = open(ptsname(ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(its >= 0);
    stderr_becomes(its);
    begin();
    heartbeat_say("waits for it");
    assert_said("\r\033[Kwaits for it");
    time_passes();
    assert_said("\r\033[Kwaits for it (for 4 s)");
    time_passes();
    assert_said("\r\033[Kwaits for it (for 8 s)");
    heartbeat_end();
    assert_said("\r\033[K");
    stderr_is_back();
    close(ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_a_line_by_time),
        cmocka_unit_test(a_terminal_has_a_line_that_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
