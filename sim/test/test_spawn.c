/* test_spawn.c - what is waited for of a process that somebody has stopped. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "live/spawn.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Says who its child is; both are stopped then, and let go of the pipe behind that only. */
static int begin_stopped(int *from)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const int child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int grandchild = fork();
        if (grandchild != 0 && write(ends[1], &grandchild, sizeof grandchild) != sizeof grandchild)
            _exit(1);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)raise(SIGSTOP);
        if (grandchild != 0)
            (void)waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    (void)close(ends[1]);
    *from = ends[0];
    return child;
}

static void what_has_been_stopped_goes_on(void **state)
{
    (void)state;
    int from, grandchild = 0, status;
    const int child = begin_stopped(&from);
    assert_int_equal(spawn_read(from, child, 0, &grandchild, sizeof grandchild), sizeof grandchild);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    char more;
    assert_int_equal(spawn_read(from, child, grandchild, &more, 1), 0); /* both have ended */
    assert_int_equal(spawn_await_end(child), 0);
    (void)close(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_has_been_stopped_goes_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
