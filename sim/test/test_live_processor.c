/* Tests of processes that take turns on one processor (live/processor.h). */
#include "live/processor.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int processors_of(int pid, cpu_set_t *set)
{
    assert_int_equal(sched_getaffinity(pid, sizeof *set, set), 0);
    return CPU_COUNT(set);
}

/* It sleeps until it is killed; what it may use is as it was begun. */
static int start_sleeper(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const int pid = fork();
    if (pid == 0) {
        processor_begin_child();
        (void)!write(ready[1], "", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static void stop_sleeper(int pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool has_one_only(void)
{
    cpu_set_t all;
    return processors_of(0, &all) < 2;
}

static void all_are_on_one_until_the_last_has_left(void **state)
{
    cpu_set_t before, now, of_child;
    (void)state;
    if (has_one_only())
        skip();
    (void)processors_of(0, &before);
    processor_join();
    processor_join();
    const int pid = start_sleeper();
    assert_true(processors_of(pid, &of_child) == CPU_COUNT(&before)); /* until it is taken */
    processor_take(pid);
    processor_take(pid);
    assert_int_equal(processors_of(0, &now), 1);
    assert_true(CPU_ISSET((size_t)processor_shared(), &now));
    assert_int_equal(processors_of(pid, &of_child), 1);
    assert_true(CPU_EQUAL(&now, &of_child));
    processor_leave();
    assert_int_equal(processors_of(0, &now), 1);
    processor_leave();
    (void)processors_of(0, &now);
    assert_true(CPU_EQUAL(&now, &before));
    assert_int_equal(processor_shared(), NO_PROCESSOR);
    stop_sleeper(pid);
}

/* We sleep, so that ours is little used: as where others use it. Each look may be one that stays.
 */
static void where_they_get_too_little_they_go_elsewhere_together(void **state)
{
    enum { LOOKS_MAX = 100, BETWEEN_US = 110000 };
    cpu_set_t now, of_child;
    (void)state;
    if (has_one_only())
        skip();
    processor_join();
    const int pid = start_sleeper(), first = processor_shared();
    processor_take(pid);
    for (int i = 0; i < LOOKS_MAX && processor_shared() == first; i++) {
        (void)usleep(BETWEEN_US);
        processor_look();
    }
    assert_int_not_equal(processor_shared(), first);
    (void)processors_of(0, &now);
    (void)processors_of(pid, &of_child);
    assert_true(CPU_ISSET((size_t)processor_shared(), &now));
    assert_true(CPU_EQUAL(&now, &of_child));
    processor_leave();
    stop_sleeper(pid);
}

static void who_stays_tries_no_other_one(void **state)
{
    enum { LOOKS = 8, BETWEEN_US = 110000 };
    (void)state;
    if (has_one_only())
        skip();
    processor_join();
    const int first = processor_shared();
    processor_stay();
    for (int i = 0; i < LOOKS; i++) {
        (void)usleep(BETWEEN_US);
        processor_look();
        assert_int_equal(processor_shared(), first);
    }
    processor_leave();
}

/* In a child, whose processors nobody else has to live with. */
static void one_that_is_left_to_others_is_not_used(void **state)
{
    int status;
    (void)state;
    if (has_one_only())
        skip();
    assert_true(processor_has_others());
    const int pid = fork();
    if (pid == 0) {
        cpu_set_t before, now, alone;
        (void)processors_of(0, &before);
        processor_avoid(NO_PROCESSOR);
        bool is_right = processors_of(0, &now) == CPU_COUNT(&before);
        const int first = sched_getcpu();
        processor_avoid(first);
        is_right &= processors_of(0, &now) == CPU_COUNT(&before) - 1;
        is_right &= !CPU_ISSET((size_t)first, &now);
        CPU_ZERO(&alone);
        CPU_SET((size_t)sched_getcpu(), &alone);
        (void)sched_setaffinity(0, sizeof alone, &alone);
        processor_avoid(sched_getcpu()); /* the only one */
        is_right &= processors_of(0, &now) == 1 && !processor_has_others();
        _exit(is_right ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void who_has_ended_is_not_looked_for(void **state)
{
    (void)state;
    processor_join();
    const int pid = start_sleeper();
    processor_take(pid);
    stop_sleeper(pid);
    (void)usleep(110000);
    processor_look();
    processor_take(0); /* nobody */
    processor_leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_on_one_until_the_last_has_left),
        cmocka_unit_test(where_they_get_too_little_they_go_elsewhere_together),
        cmocka_unit_test(who_stays_tries_no_other_one),
        cmocka_unit_test(one_that_is_left_to_others_is_not_used),
        cmocka_unit_test(who_has_ended_is_not_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
