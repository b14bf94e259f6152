/* Tests of the virtual time of foreign processes: one (worker_child.c) waits in every way there is,
 * under the preloaded library, and statically linked with its calls answered; no wait takes real
 * time, and each ends when the page says so. */
#include "worker/program.h"
#include "worker/supervisor.h"
#include "worker/timekeeper.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

enum { REST_MS = 20000, ANSWER_MAX = 4096 };

struct child {
    struct timekeeper timekeeper;
    char folder[64];
    int pid, in, out;
};

/* What was built beside this program. */
static void find_built(char path[TIME_PATH_MAX], const char *name)
{
    char program[TIME_PATH_MAX / 2];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(length > 0);
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    (void)snprintf(path, TIME_PATH_MAX, "%s/../%s", program, name);
}

/* How a child is steered: by the preloaded library, or one without a C library to preload into, by
 * answers to its calls. Every test is made with both. */
static bool is_answered;

struct running {
    char shim[TIME_PATH_MAX], program[TIME_PATH_MAX];
    const char *name, *page;
    int in, out;
};

static void run_child(void *context)
{
    const struct running *running = context;
    (void)dup2(running->in, STDIN_FILENO);
    (void)dup2(running->out, STDOUT_FILENO);
    if (!is_answered) {
        (void)setenv("LD_PRELOAD", running->shim, 1);
        (void)setenv(TIME_VARIABLE, running->page, 1);
    }
    (void)execl(running->program, "child", running->name, (char *)NULL);
}

static void start(struct child *child, const char *name, int64_t now, uint64_t seed)
{
    char path[128], built[TIME_PATH_MAX];
    struct running running = {.name = name, .page = path};
    int in[2], out[2], tell[2], told = 0;
    const int parent = (int)getpid();
    struct failure failure = {0};
    (void)strcpy(child->folder, "/tmp/picklock-test-XXXXXX");
    assert_non_null(mkdtemp(child->folder));
    (void)snprintf(path, sizeof path, "%s/page", child->folder);
    assert_int_equal(timekeeper_open(&child->timekeeper, path, now, seed, &failure), FAIL_NONE);
    find_built(built, "picklock-time.so");
    /* LD_PRELOAD takes no blank and no colon. */
    (void)snprintf(running.shim, sizeof running.shim, "%s/time.so", child->folder);
    assert_int_equal(symlink(built, running.shim), 0);
    find_built(running.program, is_answered ? "worker-child-static" : "worker-child");
    assert_int_equal(program_lacks_library(running.program), is_answered);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
    running.in = in[0];
    running.out = out[1];
    child->pid = fork();
    if (child->pid == 0)
        supervisor_run(&(struct supervised){.parent = parent,
                                            .tell = tell[1],
                                            .page = is_answered ? path : NULL,
                                            .begin = run_child,
                                            .context = &running});
    assert_int_equal(read(tell[0], &told, sizeof told), sizeof told);
    assert_true(told > 0);
    (void)close(tell[0]);
    (void)close(tell[1]);
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
    (void)kill(child->pid, SIGTERM);
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
    assert_string_equal(text, "1767225602 1767225602500000 1048578500000\n");
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
    run("pipes", 0, 1, text);
    assert_string_equal(text, "pipes 0\n");
}

static void test_who_spins_on_the_clock_creeps(void **state)
{
    char text[ANSWER_MAX];
    (void)state;
    run("spins", 0, 1, text);
    assert_string_equal(text, "spun 2\n");
    run("spins", -14000, 1, text); /* before world time 0, where proofs are */
    assert_string_equal(text, "spun 2\n");
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

/* At a free port; only where it is to be connected to does anybody listen. */
static int bound(bool listens, uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, size), 0);
    assert_true(!listens || listen(descriptor, 1) == 0);
    assert_int_equal(getsockname(descriptor, (struct sockaddr *)&address, &size), 0);
    *port = address.sin_port;
    return descriptor;
}

/* Ruby calls connect() once more to hear how it went. What is counted twice would be waited for,
 * at each connection, until nobody could believe any more that it comes. */
static void test_who_asks_how_his_dial_went_dials_once(void **state)
{
    struct child child = {0};
    char text[ANSWER_MAX] = "";
    uint16_t ports[2];
    const int heard = bound(true, &ports[0]), deaf = bound(false, &ports[1]);
    (void)state;
    start(&child, "dials", 0, 1);
    timekeeper_allow_port(&child.timekeeper, ntohs(ports[0]));
    timekeeper_allow_port(&child.timekeeper, ntohs(ports[1]));
    assert_int_equal(write(child.in, ports, sizeof ports), sizeof ports);
    assert_true(read(child.out, text, sizeof text - 1) > 0);
    assert_string_equal(text, "dials done connected dials refused dials \n");
    assert_int_equal(atomic_load(&child.timekeeper.page->counts.connections), 3);
    assert_int_equal(atomic_load(&child.timekeeper.page->counts.closed), 2);
    (void)close(heard);
    (void)close(deaf);
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
    /* So that the kernel need not be asked what it has taken. */
    const struct time_thread *row = &child.timekeeper.page->threads[0];
    assert_true(atomic_load(&row->ticks_given) > 0);
    assert_int_equal(atomic_load(&row->ticks_taken), atomic_load(&row->ticks_given));
    stop(&child);
}

static void read_line(const struct child *child, char line[64])
{
    ssize_t got = read(child->out, line, 63);
    line[got > 0 ? got : 0] = '\0';
}

/* A handler of SIGCHLD takes the last child while its thread waits: then nothing tells that the
 * thread goes on but the handler's own call. */
static void test_a_handler_that_takes_a_child_is_no_rest(void **state)
{
    struct child child = {0};
    char line[64];
    (void)state;
    start(&child, "reaps", 0, 1);
    read_line(&child, line);
    const int taken = (int)strtol(line, NULL, 10);
    assert_true(taken > 1);
    assert_true(timekeeper_wait_for_rest(&child.timekeeper, REST_MS));
    assert_int_equal(kill(taken, SIGTERM), 0);
    read_line(&child, line);
    assert_string_equal(line, "taken\n");
    assert_false(timekeeper_is_at_rest(&child.timekeeper));
    assert_int_equal(kill(atomic_load(&child.timekeeper.page->pid), SIGUSR1), 0);
    assert_true(timekeeper_wait_for_rest(&child.timekeeper, REST_MS));
    stop(&child);
}

static void begin_wait(struct time_page *page)
{
    atomic_store(&page->threads[0].epoch, atomic_load(&page->epoch));
    atomic_store(&page->threads[0].wait, TIME_DESCRIPTORS);
    atomic_fetch_add(&page->changes, 1);
    atomic_store(&page->running, 0);
}

static void end_wait(struct time_page *page)
{
    atomic_store(&page->running, 1);
    atomic_store(&page->threads[0].wait, TIME_RUNS);
    atomic_fetch_add(&page->changes, 1);
}

/* The kernel wakes a thread (a connection broke) at the moment at which we make it look, and it
 * waits again before our tick is in its FIFO: that ends its new wait, too, so it is no rest. Here
 * the test is the thread, and takes the worst way each time. */
static void test_a_tick_that_nobody_has_taken_is_no_rest(void **state)
{
    char folder[] = "/tmp/picklock-test-XXXXXX", path[64], fifo[80], command[80], byte;
    struct timekeeper timekeeper;
    struct failure failure = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/page", folder);
    (void)snprintf(fifo, sizeof fifo, "%s.0", path);
    assert_int_equal(timekeeper_open(&timekeeper, path, 0, 1, &failure), FAIL_NONE);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const int tick = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(tick >= 0);
    struct time_page *page = timekeeper.page;
    atomic_store(&page->pid, (int32_t)getpid());
    atomic_store(&page->threads[0].tid, (int32_t)getpid());
    atomic_store(&page->threads[0].until_us, TIME_NEVER);
    begin_wait(page);
    assert_true(timekeeper_is_at_rest(&timekeeper));
    timekeeper_look_again(&timekeeper);
    end_wait(page); /* the kernel was first; its FIFO showed nothing */
    assert_false(timekeeper_is_at_rest(&timekeeper));
    begin_wait(page);
    assert_false(timekeeper_is_at_rest(&timekeeper));
    end_wait(page);
    assert_int_equal(read(tick, &byte, 1), 1);
    assert_int_equal(read(tick, &byte, 1),
                     -1); /* one is enough, however often it was made to look */
    begin_wait(page);
    assert_true(timekeeper_is_at_rest(&timekeeper));
    (void)close(tick);
    timekeeper_shut(&timekeeper);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
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
        strstr(timekeeper_describe(&child.timekeeper, text, sizeof text), " until 250.0 ms"));
    assert_int_equal(timekeeper_next_us(&child.timekeeper), 250000);
    stop(&child);
}

int main(void)
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
        cmocka_unit_test(test_who_asks_how_his_dial_went_dials_once),
        cmocka_unit_test(test_what_is_delivered_is_taken_before_the_rest),
        cmocka_unit_test(test_a_handler_that_takes_a_child_is_no_rest),
        cmocka_unit_test(test_a_tick_that_nobody_has_taken_is_no_rest),
        cmocka_unit_test(test_words),
    };
    const int failed = cmocka_run_group_tests_name("worker_time", tests, NULL, NULL);
    is_answered = true;
    return failed + cmocka_run_group_tests_name("worker_time_answered", tests, NULL, NULL);
}
