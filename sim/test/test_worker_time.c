/* Tests of the virtual time of foreign processes: this program, run again under the preloaded
 * library, waits in every way there is; no wait takes real time, and each ends when the page says
 * so. */
#include "worker/timekeeper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { REST_MS = 20000, ANSWER_MAX = 4096 };

/* --- what runs under the library; each prints what it saw --- */

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t now_us(void)
{
    return clock_us(CLOCK_MONOTONIC) - TIME_MONOTONIC_US;
}

static void say(const char *what)
{
    printf("%s %" PRId64 "\n", what, now_us());
    fflush(stdout);
}

static void child_clocks(void)
{
    printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", (int64_t)time(NULL), clock_us(CLOCK_REALTIME),
           clock_us(CLOCK_BOOTTIME));
}

static void child_sleeps(void)
{
    const struct timespec second = {.tv_sec = 1};
    const struct timespec instant = {.tv_sec = 1003};
    (void)usleep(250000);
    say("usleep");
    (void)nanosleep(&second, NULL);
    say("nanosleep");
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &instant, NULL);
    say("instant");
    (void)sleep(3600);
    say("sleep");
}

static void child_descriptors(void)
{
    int ends[2], epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    const struct itimerspec soon = {.it_value = {.tv_nsec = 500000000}};
    struct epoll_event event = {.events = EPOLLIN};
    struct timeval second = {.tv_sec = 1};
    struct pollfd row = {.events = POLLIN};
    char bytes[8];
    fd_set set;
    if (pipe(ends) != 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) != 0)
        _exit(1);
    row.fd = ends[0];
    printf("%d ", poll(&row, 1, 1500));
    say("poll");
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    printf("%d ", select(ends[0] + 1, &set, NULL, NULL, &second));
    say("select");
    printf("%d ", epoll_wait(epoll, &event, 1, 100));
    say("epoll");
    (void)timerfd_settime(timer, 0, &soon, NULL);
    printf("%d ", epoll_wait(epoll, &event, 1, 10000));
    say("timerfd");
    printf("%zd ", read(timer, bytes, sizeof bytes));
    say("read");
}

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    sem_t semaphore;
    int turns;
};

static void *wakes_later(void *context)
{
    struct shared *shared = context;
    (void)usleep(400000);
    (void)pthread_mutex_lock(&shared->mutex);
    shared->turns++;
    (void)pthread_cond_signal(&shared->cond);
    (void)pthread_mutex_unlock(&shared->mutex);
    (void)usleep(100000);
    (void)sem_post(&shared->semaphore);
    (void)usleep(200000);
    return NULL;
}

static void child_threads(void)
{
    struct shared shared = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct timespec until = {0};
    pthread_t thread;
    (void)sem_init(&shared.semaphore, 0, 0);
    if (pthread_create(&thread, NULL, wakes_later, &shared) != 0)
        _exit(1);
    (void)pthread_mutex_lock(&shared.mutex);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 300000000;
    printf("%d ", pthread_cond_timedwait(&shared.cond, &shared.mutex, &until) == ETIMEDOUT);
    say("late");
    while (!shared.turns)
        (void)pthread_cond_wait(&shared.cond, &shared.mutex);
    say("signalled");
    (void)pthread_mutex_unlock(&shared.mutex);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    printf("%d ", sem_timedwait(&shared.semaphore, &until));
    say("posted");
    (void)pthread_join(thread, NULL);
    say("joined");
}

/* Two threads wake each other: whoever takes a wake-up on its way for rest would let time pass. */
static void *answers(void *context)
{
    struct shared *shared = context;
    (void)pthread_mutex_lock(&shared->mutex);
    for (int i = 0; i < 2000; i++) {
        while (shared->turns % 2 == 0)
            (void)pthread_cond_wait(&shared->cond, &shared->mutex);
        shared->turns++;
        (void)pthread_cond_broadcast(&shared->cond);
    }
    (void)pthread_mutex_unlock(&shared->mutex);
    return NULL;
}

static void child_pingpong(void)
{
    struct shared shared = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    if (pthread_create(&thread, NULL, answers, &shared) != 0)
        _exit(1);
    (void)pthread_mutex_lock(&shared.mutex);
    for (int i = 0; i < 2000; i++) {
        while (shared.turns % 2 == 1) {
            struct timespec until;
            (void)clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec++;
            (void)pthread_cond_timedwait(&shared.cond, &shared.mutex, &until);
        }
        shared.turns++;
        (void)pthread_cond_broadcast(&shared.cond);
    }
    (void)pthread_mutex_unlock(&shared.mutex);
    (void)pthread_join(thread, NULL);
    say("turns");
}

static void child_spins(void)
{
    const int64_t end_us = now_us() + 1;
    while (now_us() <= end_us)
        ;
    printf("spun\n");
}

static void child_random(void)
{
    uint64_t drawn = 0;
    (void)!getrandom(&drawn, sizeof drawn, 0);
    printf("%016" PRIx64 "\n", drawn);
}

static void child_connects(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(1), .sin_addr = {.s_addr = htonl(0x0a000001)}};
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    int done = connect(descriptor, (struct sockaddr *)&address, sizeof address);
    printf("%d %d\n", done, errno == ECONNREFUSED);
}

/* Answers each byte of its standard input. */
static void child_echoes(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) == 1)
        printf("%c %" PRId64 "\n", byte, now_us()), fflush(stdout);
}

static const struct {
    const char *name;
    void (*run)(void);
} children[] = {
    {"clocks", child_clocks},     {"sleeps", child_sleeps}, {"descriptors", child_descriptors},
    {"threads", child_threads},   {"spins", child_spins},   {"pingpong", child_pingpong},
    {"connects", child_connects}, {"random", child_random}, {"echoes", child_echoes},
};

/* --- who steers them --- */

struct child {
    struct timekeeper timekeeper;
    char folder[64];
    int pid, in, out;
};

static void shim_of(char path[TIME_PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, TIME_PATH_MAX - 32);
    assert_true(length > 0);
    path[length] = '\0';
    (void)strcpy(strrchr(path, '/'), "/../picklock-time.so");
}

static void start(struct child *child, const char *name, int64_t now, uint64_t seed)
{
    char path[128], shim[TIME_PATH_MAX];
    int in[2], out[2];
    struct failure failure = {0};
    (void)strcpy(child->folder, "/tmp/picklock-test-XXXXXX");
    assert_non_null(mkdtemp(child->folder));
    (void)snprintf(path, sizeof path, "%s/page", child->folder);
    assert_int_equal(timekeeper_open(&child->timekeeper, path, now, seed, &failure), FAIL_NONE);
    shim_of(shim);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    child->pid = fork();
    if (child->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)setenv("LD_PRELOAD", shim, 1);
        (void)setenv(TIME_VARIABLE, path, 1);
        (void)execl("/proc/self/exe", "child", name, (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    child->in = in[1];
    child->out = out[0];
}

static void stop(struct child *child)
{
    char command[128];
    (void)close(child->in);
    (void)close(child->out);
    (void)kill(child->pid, SIGKILL);
    (void)waitpid(child->pid, NULL, 0);
    timekeeper_shut(&child->timekeeper);
    (void)snprintf(command, sizeof command, "rm -r %s", child->folder);
    assert_int_equal(system(command), 0);
}

/* Until it ends: time goes on to where its next thread does. What it printed is in text. */
static void run(const char *name, int64_t now, uint64_t seed, char text[ANSWER_MAX])
{
    struct child child = {0};
    int status, is_over = 0;
    start(&child, name, now, seed);
    while (!is_over) {
        int64_t next_us;
        is_over = waitpid(child.pid, &status, WNOHANG) == child.pid;
        if (is_over || !timekeeper_wait_for_rest(&child.timekeeper, 5))
            continue;
        next_us = timekeeper_next_us(&child.timekeeper);
        assert_int_not_equal(next_us, TIME_NEVER);
        timekeeper_set_now(&child.timekeeper, next_us);
    }
    assert_int_equal(status, 0);
    ssize_t got = read(child.out, text, ANSWER_MAX - 1);
    assert_true(got >= 0);
    text[got] = '\0';
    stop(&child);
}

static void test_clocks(void **state)
{
    char text[ANSWER_MAX];
    (void)state;
    run("clocks", 2500000, 1, text);
    assert_string_equal(text, "1767225602 1767225602500000 1002500000\n");
}

static void test_sleeps(void **state)
{
    char text[ANSWER_MAX];
    (void)state;
    run("sleeps", 0, 1, text);
    assert_string_equal(text,
                        "usleep 250000\nnanosleep 1250000\ninstant 3000000\nsleep 3603000000\n");
}

static void test_descriptors(void **state)
{
    char text[ANSWER_MAX];
    (void)state;
    run("descriptors", 0, 1, text);
    assert_string_equal(text,
                        "0 poll 1500000\n0 select 2500000\n0 epoll 2600000\n1 timerfd 3100000\n"
                        "8 read 3100000\n");
}

static void test_threads(void **state)
{
    char text[ANSWER_MAX];
    (void)state;
    run("threads", 0, 1, text);
    assert_string_equal(text, "1 late 300000\nsignalled 400000\n0 posted 500000\njoined 700000\n");
}

static void test_a_wake_up_on_its_way_is_no_rest(void **state)
{
    char text[ANSWER_MAX];
    (void)state;
    run("pingpong", 0, 1, text);
    assert_string_equal(text, "turns 0\n");
}

static void test_who_spins_on_the_clock_creeps(void **state)
{
    char text[ANSWER_MAX];
    (void)state;
    run("spins", 0, 1, text);
    assert_string_equal(text, "spun\n");
}

static void test_random_is_the_seed_s(void **state)
{
    char first[ANSWER_MAX], again[ANSWER_MAX], other[ANSWER_MAX];
    (void)state;
    run("random", 0, 7, first);
    run("random", 0, 7, again);
    run("random", 0, 8, other);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
}

static void test_no_connection_past_the_proxy(void **state)
{
    struct child child = {0};
    char text[ANSWER_MAX] = "";
    (void)state;
    start(&child, "connects", 0, 1);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    assert_true(read(child.out, text, sizeof text - 1) > 0);
    assert_string_equal(text, "-1 1\n");
    assert_int_equal(atomic_load(&child.timekeeper.page->counts.refused), 1);
    assert_string_equal(child.timekeeper.page->refused, "10.0.0.1:1");
    child.pid = fork(); /* a child that stop() can end */
    if (child.pid == 0)
        _exit(0);
    stop(&child);
}

/* What was written is always seen before the next rest, however the machine schedules. */
static void test_what_is_delivered_is_taken_before_the_rest(void **state)
{
    struct child child = {0};
    char line[64], expected[64];
    (void)state;
    start(&child, "echoes", 0, 1);
    assert_true(timekeeper_wait_for_rest(&child.timekeeper, REST_MS));
    for (int i = 0; i < 1000; i++) {
        const char byte = (char)('a' + i % 26);
        timekeeper_set_now(&child.timekeeper, i * 1000);
        assert_int_equal(write(child.in, &byte, 1), 1);
        timekeeper_look_again(&child.timekeeper);
        assert_true(timekeeper_wait_for_rest(&child.timekeeper, REST_MS));
        struct pollfd row = {.fd = child.out, .events = POLLIN};
        assert_int_equal(poll(&row, 1, 0), 1);
        ssize_t got = read(child.out, line, sizeof line - 1);
        line[got > 0 ? got : 0] = '\0';
        (void)snprintf(expected, sizeof expected, "%c %d\n", byte, i * 1000);
        assert_string_equal(line, expected);
        assert_int_equal(timekeeper_next_us(&child.timekeeper), TIME_NEVER);
    }
    stop(&child);
}

/* A process that never waits is not at rest, and its threads are named. */
static void test_words(void **state)
{
    struct child child = {0};
    char text[200];
    (void)state;
    start(&child, "sleeps", 0, 1);
    assert_true(timekeeper_wait_for_rest(&child.timekeeper, REST_MS));
    assert_non_null(
        strstr(timekeeper_describe(&child.timekeeper, text, sizeof text), "sleeps until 250.0 ms"));
    assert_int_equal(timekeeper_next_us(&child.timekeeper), 250000);
    stop(&child);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_sleeps),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_a_wake_up_on_its_way_is_no_rest),
        cmocka_unit_test(test_who_spins_on_the_clock_creeps),
        cmocka_unit_test(test_random_is_the_seed_s),
        cmocka_unit_test(test_no_connection_past_the_proxy),
        cmocka_unit_test(test_what_is_delivered_is_taken_before_the_rest),
        cmocka_unit_test(test_words),
    };
    if (argc == 2)
        for (size_t i = 0; i < sizeof children / sizeof *children; i++)
            if (strcmp(children[i].name, argv[1]) == 0) {
                children[i].run();
                (void)fflush(stdout);
                return 0;
            }
    return cmocka_run_group_tests_name("worker_time", tests, NULL, NULL);
}
