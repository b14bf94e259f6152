/* worker_child.c - what test_worker_time.c runs under the preloaded library: waits in every way
 * there is, and prints what it saw. Never sanitised: the sanitizer's own library must come first.
 */
#include "worker/time_page.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
    const struct timespec instant = {.tv_sec = TIME_MONOTONIC_US / 1000000 + 3};
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

/* The same through pipes: the kernel wakes them. */
static void hand_on(const int from[2], const int to[2])
{
    char byte;
    struct pollfd row = {.fd = from[0], .events = POLLIN};
    for (int i = 0; i < 2000; i++) {
        (void)poll(&row, 1, 1000);
        (void)!read(from[0], &byte, 1);
        (void)!write(to[1], &byte, 1);
    }
}

static void *hands_back(void *context)
{
    int(*pipes)[2] = context;
    hand_on(pipes[0], pipes[1]);
    return NULL;
}

static void child_pipes(void)
{
    int pipes[2][2];
    pthread_t thread;
    const int64_t begin_us = now_us();
    (void)!pipe(pipes[0]);
    (void)!pipe(pipes[1]);
    (void)pthread_create(&thread, NULL, hands_back, pipes);
    (void)!write(pipes[0][1], "", 1);
    hand_on(pipes[1], pipes[0]);
    (void)pthread_join(thread, NULL);
    printf("pipes %" PRId64 "\n", now_us() - begin_us);
}

static void child_spins(void)
{
    const int64_t begin_us = now_us();
    int64_t end_us;
    do
        end_us = now_us();
    while (end_us <= begin_us + 1);
    printf("spun %" PRId64 "\n", end_us - begin_us);
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

/* Tells what became of a connection that is made without waiting, as often as asked. */
static void dial(uint16_t port, int times)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = port, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    for (int i = 0; i < times; i++) {
        struct pollfd row = {.fd = descriptor, .events = POLLOUT};
        const int done = connect(descriptor, (struct sockaddr *)&address, sizeof address);
        const int said = done ? errno : 0;
        printf("%s ", said == EINPROGRESS    ? "dials"
                      : said == EISCONN      ? "connected"
                      : said == ECONNREFUSED ? "refused"
                                             : "done");
        (void)poll(&row, 1, -1);
    }
    (void)close(descriptor);
}

/* Two ports on its standard input: somebody listens at the first. */
static void child_dials(void)
{
    uint16_t ports[2];
    if (read(STDIN_FILENO, ports, sizeof ports) != sizeof ports)
        return;
    dial(ports[0], 3);
    dial(ports[1], 3);
    printf("\n");
}

/* Answers each byte of its standard input. */
static void child_echoes(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) == 1)
        printf("%c %" PRId64 "\n", byte, now_us()), fflush(stdout);
}

static volatile sig_atomic_t may_return;

static void on_go(int number)
{
    (void)number;
    may_return = 1;
}

/* As a shell does: takes the status where the signal comes, and is slow to return. */
static void on_child(int number)
{
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    (void)!write(STDOUT_FILENO, "taken\n", 6);
    while (!may_return)
        ;
}

/* Waits for its standard input, while a child of its ends. */
static void child_reaps(void)
{
    struct pollfd row = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_go}, NULL);
    (void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_child, .sa_flags = SA_RESTART},
                    NULL);
    const pid_t child = fork();
    if (child == 0)
        _exit(pause());
    printf("%d\n", (int)child), fflush(stdout);
    while (poll(&row, 1, -1) < 0)
        ;
}

static const struct {
    const char *name;
    void (*run)(void);
} children[] = {
    {"clocks", child_clocks},     {"sleeps", child_sleeps}, {"descriptors", child_descriptors},
    {"threads", child_threads},   {"spins", child_spins},   {"pingpong", child_pingpong},
    {"connects", child_connects}, {"random", child_random}, {"echoes", child_echoes},
    {"pipes", child_pipes},       {"reaps", child_reaps},   {"dials", child_dials},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof children / sizeof *children; i++)
        if (strcmp(children[i].name, argv[1]) == 0) {
            children[i].run();
            return fflush(stdout) == 0 ? 0 : 1;
        }
    return 64;
}
