/* test_send_thread.c - a thread that sends: all of it, in order, never past what a full socket did
 * not take; and what it could not send comes back whole. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "proxy/send_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SOCKETS = 50,
    ROUNDS = 1000,
    HELD = 100, /* rows that a socket has room for */
    ROW = 8,
    ROWS_MAX = 100000,
    LARGEST = 496
};

static uv_loop_t loop;
static int returned;                   /* how often */
static struct outlet *returned_outlet; /* the last */

static struct send_thread *thread;
static uv_timer_t ticks; /* the loop goes on: a thread alone does not keep it */

static void tick(uv_timer_t *timer)
{
    (void)timer;
}

static void came_back(struct outlet *outlet)
{
    send_thread_settle(thread, outlet);
    returned++;
    returned_outlet = outlet;
}

static void begin(unsigned few)
{
    struct failure failure;
    returned = 0;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_timer_init(&loop, &ticks), 0);
    assert_int_equal(uv_timer_start(&ticks, tick, 1, 1), 0);
    assert_int_equal(send_thread_start(&thread, &loop, few, came_back, &failure), FAIL_NONE);
}

static void end(void)
{
    send_thread_stop(thread);
    uv_close((uv_handle_t *)&ticks, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0); /* no handle is left */
}

static void pair(int sockets[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
}

static void shut(const int sockets[2])
{
    assert_int_equal(close(sockets[0]) + close(sockets[1]), 0);
}

static const char *row(int number)
{
    static char text[ROW + 1];
    (void)snprintf(text, sizeof text, "%07d ", number);
    return text;
}

static bool hand(struct outlet *outlet, int socket, int number)
{
    return send_thread_take(thread, outlet, socket, row(number), ROW);
}

/* Reads rows from first on, as long as there are some; returns the number behind the last. */
static int read_rows(int socket, int first)
{
    char text[ROW + 1] = {0};
    while (recv(socket, text, ROW, MSG_DONTWAIT | MSG_WAITALL) == ROW)
        assert_string_equal(text, row(first++));
    assert_int_equal(errno, EAGAIN);
    return first;
}

/* More than the ring has room for, too: what is refused is sent by whoever asks. */
static void all_goes_in_order(void **state)
{
    static struct outlet outlets[SOCKETS];
    static int sockets[SOCKETS][2], read_up_to[SOCKETS];
    int handed = 0;
    (void)state;
    begin(0);
    for (int i = 0; i < SOCKETS; i++) {
        pair(sockets[i]);
        outlets[i] = (struct outlet){0};
        read_up_to[i] = 0;
    }
    for (int n = 0; n < ROUNDS; n++) {
        for (int i = 0; i < SOCKETS; i++) {
            if (hand(&outlets[i], sockets[i][0], n)) {
                handed++;
                continue;
            }
            send_thread_settle(thread, &outlets[i]);
            assert_false(outlets[i].has_returned);
            assert_int_equal(send(sockets[i][0], row(n), ROW, MSG_NOSIGNAL), ROW);
        }
        for (int i = 0; n % HELD == 0 && i < SOCKETS; i++) {
            send_thread_settle(thread, &outlets[i]);
            read_up_to[i] = read_rows(sockets[i][1], read_up_to[i]);
        }
    }
    for (int i = 0; i < SOCKETS; i++) {
        send_thread_settle(thread, &outlets[i]);
        assert_false(outlets[i].has_returned);
        assert_int_equal(read_rows(sockets[i][1], read_up_to[i]), ROUNDS);
        shut(sockets[i]);
    }
    assert_true(handed > SOCKETS * ROUNDS / 10);
    assert_int_equal(returned, 0);
    end();
}

/* What the kernel took and what came back are what was handed, once each, in order. */
static void what_a_full_socket_does_not_take_comes_back(void **state)
{
    struct outlet outlet = {0};
    int sockets[2], rows = 0;
    (void)state;
    begin(0);
    pair(sockets);
    while (!returned && rows < ROWS_MAX) {
        rows += hand(&outlet, sockets[0], rows);
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(returned, 1);
    assert_ptr_equal(returned_outlet, &outlet);
    assert_int_equal(outlet.error, 0);
    assert_false(hand(&outlet, sockets[0], rows)); /* before it was seen to, nothing goes past it */
    char *all = malloc((size_t)rows * ROW);
    size_t taken = 0;
    ssize_t got;
    assert_non_null(all);
    while ((got = recv(sockets[1], all + taken, (size_t)rows * ROW - taken, MSG_DONTWAIT)) > 0)
        taken += (size_t)got;
    assert_true(taken > 0);
    assert_int_equal(taken + outlet.left_length, (size_t)rows * ROW);
    memcpy(all + taken, outlet.left, outlet.left_length);
    for (int n = 0; n < rows; n++)
        assert_memory_equal(all + n * ROW, row(n), ROW);
    free(all);
    free(outlet.left);
    outlet = (struct outlet){0};
    assert_true(hand(&outlet, sockets[0], 0)); /* seen to: it goes on */
    send_thread_settle(thread, &outlet);
    assert_int_equal(read_rows(sockets[1], 0), 1);
    shut(sockets);
    end();
}

/* Begins; returns the socket. */
static int hand_to_who_is_gone(struct outlet *outlet)
{
    int sockets[2];
    begin(0);
    pair(sockets);
    assert_int_equal(close(sockets[1]), 0);
    assert_true(hand(outlet, sockets[0], 0));
    return sockets[0];
}

static void a_peer_that_is_gone_is_told(void **state)
{
    struct outlet outlet = {0};
    (void)state;
    const int socket = hand_to_who_is_gone(&outlet);
    send_thread_settle(thread, &outlet);
    assert_true(outlet.has_returned);
    assert_int_equal(outlet.error, EPIPE);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(returned, 0); /* who has asked is not told once more */
    free(outlet.left);
    assert_int_equal(close(socket), 0);
    end();
}

static void what_came_back_is_told_at_the_end_at_the_latest(void **state)
{
    struct outlet outlet = {0};
    (void)state;
    const int socket = hand_to_who_is_gone(&outlet);
    end();
    assert_int_equal(returned, 1);
    assert_int_equal(outlet.error, EPIPE);
    free(outlet.left);
    assert_int_equal(close(socket), 0);
}

/* The first few of each turn, and what is too large for a piece of the ring. */
static void few_and_large_pieces_are_refused(void **state)
{
    static char large[LARGEST + 1];
    struct outlet outlet = {0};
    int sockets[2];
    (void)state;
    begin(2);
    pair(sockets);
    for (int turn = 0; turn < 3; turn++) {
        assert_false(hand(&outlet, sockets[0], 0));
        assert_false(hand(&outlet, sockets[0], 0));
        assert_true(hand(&outlet, sockets[0], 0));
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(hand(&outlet, sockets[0], 0) + hand(&outlet, sockets[0], 0), 0);
    assert_false(send_thread_take(thread, &outlet, sockets[0], large, sizeof large));
    assert_true(send_thread_take(thread, &outlet, sockets[0], large, LARGEST));
    send_thread_settle(thread, &outlet);
    shut(sockets);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_goes_in_order),
        cmocka_unit_test(what_a_full_socket_does_not_take_comes_back),
        cmocka_unit_test(a_peer_that_is_gone_is_told),
        cmocka_unit_test(what_came_back_is_told_at_the_end_at_the_latest),
        cmocka_unit_test(few_and_large_pieces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
