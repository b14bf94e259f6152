/* test_carriers.c - a process that holds sockets, and ends, or is stopped: it is told, and why. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "proxy/carrier_parts.h"
#include "proxy/carrier_rows.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static uv_loop_t loop;
static volatile int stop;

static void tick(uv_timer_t *timer)
{
    (void)timer; /* the loop goes on: carriers alone do not keep it */
}

static struct carriers *two_of_them(uv_timer_t *ticks)
{
    struct carriers *carriers;
    struct failure why;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_timer_init(&loop, ticks), 0);
    assert_int_equal(uv_timer_start(ticks, tick, 1, 1), 0);
    assert_int_equal(carriers_start(&carriers, &loop, 2, &stop, &why), FAIL_NONE);
    assert_int_equal(carriers_check(carriers, &why), FAIL_NONE);
    return carriers;
}

static void end(struct carriers *carriers, uv_timer_t *ticks)
{
    (void)carriers_stop(carriers);
    uv_close((uv_handle_t *)ticks, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void waits_until_one_ends(const struct carriers *carriers, const char *words)
{
    struct failure why;
    while (!carriers_check(carriers, &why))
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_non_null(strstr(why.text, words));
    assert_int_equal(carriers_check(carriers, &why), FAIL_UNAVAILABLE); /* as often as asked */
}

static void one_that_is_killed_is_told_with_the_signal(void **state)
{
    uv_timer_t ticks;
    (void)state;
    struct carriers *carriers = two_of_them(&ticks);
    assert_int_equal(kill(carriers->rows[1].pid, SIGKILL), 0);
    waits_until_one_ends(carriers, "killed by signal 9");
    end(carriers, &ticks);
}

static void one_without_room_says_so(void **state)
{
    const struct rlimit few = {.rlim_cur = 6, .rlim_max = 6}; /* what it has open already */
    uv_timer_t ticks;
    struct flow nobody = {0};
    int sockets[2];
    (void)state;
    struct carriers *carriers = two_of_them(&ticks);
    assert_int_equal(prlimit(carriers->rows[0].pid, RLIMIT_NOFILE, &few, NULL), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    struct carried_side *carried = carried_new(carriers, sockets[0], &nobody);
    assert_ptr_equal(carried->carrier, &carriers->rows[0]);
    assert_int_equal(carriers_used(carriers), 1);
    waits_until_one_ends(carriers, "ulimit -n");
    carried_close(carried, false);
    assert_int_equal(carriers_used(carriers), 0);
    assert_int_equal(close(sockets[0]) + close(sockets[1]), 0);
    end(carriers, &ticks);
}

/* --- what is sent, and not asked about --- */

static struct carried_side *one_socket(struct carriers *carriers, int sockets[2], struct flow *flow)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
    struct carried_side *carried = carried_new(carriers, sockets[0], flow);
    assert_non_null(carried);
    return carried;
}

static void end_socket(struct carriers *carriers, struct carried_side *carried)
{
    struct failure why;
    carried_close(carried, false);
    while (!carriers_are_empty(carriers) && !carriers_check(carriers, &why))
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(carriers_check(carriers, &why), FAIL_NONE);
}

static void wrote(uv_write_t *write, int status)
{
    *(int *)write->data = status;
}

/* An empty write is done when that is written which was sent before it. */
static void what_is_sent_is_sure_behind_a_write(void **state)
{
    char bytes[CARRIED_SENT_MAX] = {0};
    const uv_buf_t nothing = uv_buf_init(NULL, 0);
    int sockets[2], status = 1;
    ssize_t filled = 0, got = 0, more;
    uv_write_t write = {.data = &status};
    uv_timer_t ticks;
    struct flow flow = {0};
    (void)state;
    struct carriers *carriers = two_of_them(&ticks);
    struct carried_side *carried = one_socket(carriers, sockets, &flow);
    while ((more = send(sockets[0], bytes, sizeof bytes, 0)) > 0)
        filled += more;
    assert_true(carried_is_sure(carried));
    assert_int_equal(carried_send(carried, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(carried_send(carried, bytes, 1), UV_EAGAIN); /* more than may be unsure */
    assert_false(carried_is_sure(carried));
    carried_write(carried, &write, &nothing, wrote);
    for (int i = 0; i < 10; i++)
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(status, 1); /* there is no room */
    while (got < filled + (ssize_t)sizeof bytes || status == 1) {
        more = recv(sockets[1], bytes, sizeof bytes, MSG_DONTWAIT);
        got += more > 0 ? more : 0;
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(status, 0);
    assert_true(carried_is_sure(carried));
    assert_int_equal(carried_send(carried, bytes, 1), 1);
    assert_int_equal(close(sockets[0]) + close(sockets[1]), 0);
    end_socket(carriers, carried);
    end(carriers, &ticks);
}

static void what_cannot_be_written_is_said_by_the_next(void **state)
{
    int sockets[2];
    ssize_t sent;
    uv_timer_t ticks;
    struct flow flow = {0};
    (void)state;
    struct carriers *carriers = two_of_them(&ticks);
    struct carried_side *carried = one_socket(carriers, sockets, &flow);
    assert_int_equal(close(sockets[0]) + close(sockets[1]), 0);
    assert_int_equal(carried_send(carried, "A", 1), 1);
    while ((sent = carried_send(carried, "", 0)) == 0)
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(sent, UV_EPIPE);
    assert_true(carried_is_sure(carried));
    end_socket(carriers, carried);
    end(carriers, &ticks);
}

/* --- one that is stopped, and neither ends nor answers --- */

static void one_that_is_stopped_is_ended_and_told(void **state)
{
    uv_timer_t ticks;
    (void)state;
    for (stop = 0; stop < 2; stop++) { /* with 1 it is waited for no longer than that */
        struct carriers *carriers = two_of_them(&ticks);
        assert_int_equal(kill(carriers->rows[1].pid, SIGSTOP), 0);
        waits_until_one_ends(carriers, stop ? "did not answer for 500ms" : "did not answer for 5s");
        end(carriers, &ticks);
        assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    }
    stop = 0;
}

static void stop_until(const struct carrier *carrier, int silent)
{
    assert_int_equal(kill(carrier->pid, SIGSTOP), 0);
    while (carrier->silent < silent)
        (void)uv_run(&loop, UV_RUN_ONCE);
}

/* What it was sent meanwhile, more than its channel takes, is as it would have been. */
static void one_that_is_stopped_for_a_while_goes_on(void **state)
{
    enum { SOCKETS = 800 };
    struct carried_side *carried[SOCKETS];
    struct failure why;
    uv_timer_t ticks;
    struct flow nobody = {0};
    int sockets[2];
    (void)state;
    struct carriers *carriers = two_of_them(&ticks);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    for (int i = 0; i < 2; i++)
        stop_until(&carriers->rows[i], 1);
    for (int i = 0; i < SOCKETS; i++)
        assert_non_null(carried[i] = carried_new(carriers, sockets[0], &nobody));
    assert_true(block_length(&carriers->rows[0].unsent) > 0);
    assert_in_range(carriers_held(carriers), 1, SOCKETS - 1); /* the others take room of ours */
    for (int i = 0; i < SOCKETS; i++)
        carried_close(carried[i], false);
    for (int i = 0; i < 2; i++) {
        stop_until(&carriers->rows[i], 10);
        assert_int_equal(kill(carriers->rows[i].pid, SIGCONT), 0);
    }
    while (!carriers_are_empty(carriers) && !carriers_check(carriers, &why))
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(carriers_check(carriers, &why), FAIL_NONE);
    assert_int_equal(carriers_held(carriers), 0);
    assert_int_equal(close(sockets[0]) + close(sockets[1]), 0);
    end(carriers, &ticks);
}

/* The first call of one that has begun. */
static bool stops_at_once;

pid_t __real_setsid(void);
pid_t __wrap_setsid(void);
pid_t __wrap_setsid(void)
{
    if (stops_at_once)
        (void)raise(SIGSTOP);
    return __real_setsid();
}

static void one_that_is_stopped_as_it_begins_is_not_waited_for(void **state)
{
    struct carriers *carriers;
    struct failure why;
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    stops_at_once = true;
    stop = 1;
    assert_int_equal(carriers_start(&carriers, &loop, 2, &stop, &why), FAIL_UNAVAILABLE);
    stops_at_once = false;
    stop = 0;
    assert_null(carriers);
    assert_non_null(strstr(why.text, "it did not begin in time"));
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_killed_is_told_with_the_signal),
        cmocka_unit_test(one_without_room_says_so),
        cmocka_unit_test(what_is_sent_is_sure_behind_a_write),
        cmocka_unit_test(what_cannot_be_written_is_said_by_the_next),
        cmocka_unit_test(one_that_is_stopped_is_ended_and_told),
        cmocka_unit_test(one_that_is_stopped_for_a_while_goes_on),
        cmocka_unit_test(one_that_is_stopped_as_it_begins_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
