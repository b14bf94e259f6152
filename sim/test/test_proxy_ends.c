/* test_proxy_ends.c - how links end, and what stops them: cuts by FIN and RST, silence,
 * half-closes, resets, a server that is not there, a peer that does not read. The test plays the
 * upstream. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "proxy_wire.h"

#include "base/random.h"

#include <poll.h>

static void cut_with_rst_is_rst(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[1] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\nB\r\n");
    wire_expect(&wire, server, "A\r\n");
    proxy_link_cut(wire.hears.link, PROXY_RST);
    assert_int_equal(wire_end(&wire, client), ECONNRESET);
    assert_int_equal(wire_end(&wire, server),
                     0); /* what went on is not taken back: FIN; B never came */
    assert_int_equal(wire.hears.closed, 1);
    close(client);
    close(server);
    wire_close(&wire);
}

/* Unread bytes from the client would turn a close into RST: FIN must stay FIN, behind the last
 * reply. */
static void cut_with_fin_is_fin(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[1] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\nB\r\n");
    wire_expect(&wire, server, "A\r\n");
    wire_say(&wire, server, "+a\r\n");
    WIRE_UNTIL(&wire, wire.hears.replies_count == 1);
    proxy_link_cut(wire.hears.link, PROXY_FIN);
    wire_say(&wire, client, "C\r\n");
    wire_expect(&wire, client, "+a\r\n");
    wire_say(&wire, client, "D\r\n");
    assert_int_equal(wire_end(&wire, client), 0);
    assert_int_equal(wire_end(&wire, server), 0);
    close(client);
    close(server);
    wire_close(&wire);
}

/* Who has counted an end finds it at the client, and need not look again. */
static void an_end_is_counted_behind_it(void **state)
{
    (void)state;
    if (wire_is_carried)
        skip(); /* see proxy_carry() */
    for (int how = PROXY_FIN; how <= PROXY_RST; how++) {
        struct proxy_wire wire;
        wire_open(&wire, 0);
        int client = wire_client(&wire), server = wire_accept(&wire);
        wire_say(&wire, client, "A\r\n");
        wire_expect(&wire, server, "A\r\n");
        proxy_link_cut(wire.hears.link, (enum proxy_cut)how);
        assert_int_equal(proxy_traffic(wire.proxy).ended, 0);
        WIRE_UNTIL(&wire, proxy_traffic(wire.proxy).ended > 0);
        struct pollfd row = {.fd = client, .events = POLLIN};
        assert_int_equal(poll(&row, 1, 0), 1);
        close(client);
        close(server);
        wire_close(&wire);
    }
}

static void cut_inside_a_hook(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    wire_expect(&wire, server, "A\r\n");
    wire.hears.cuts_in_hook = true;
    wire.hears.cut_in_hook = PROXY_RST;
    wire_say(&wire, client, "B\r\nC\r\n");
    assert_int_equal(wire_end(&wire, client), ECONNRESET);
    assert_int_equal(wire_end(&wire, server), 0);
    assert_int_equal(wire.hears.requests_count, 2);
    close(client);
    close(server);
    wire_close(&wire);
}

static void silence_passes_nothing_and_closes_nothing(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    wire_expect(&wire, server, "A\r\n");
    proxy_link_silence(wire.hears.link);
    wire_say(&wire, client, "B\r\n");
    wire_say(&wire, server, "+a\r\n");
    wire_expect_nothing(&wire, client);
    wire_expect_nothing(&wire, server);
    assert_int_equal(wire.hears.closed, 0);
    proxy_link_speak(wire.hears.link); /* and nothing was lost */
    wire_expect(&wire, client, "+a\r\n");
    wire_expect(&wire, server, "B\r\n");
    proxy_link_silence(wire.hears.link);
    close(client);
    wire_expect_nothing(&wire, server); /* a half-open peer is not told */
    close(server);
    wire_close(&wire);
}

static void half_closes_go_through(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n*1\r\n$3\r\nha"); /* a request that will never be whole */
    shutdown(client, SHUT_WR);
    wire_expect(&wire, server, "A\r\n*1\r\n$3\r\nha");
    assert_int_equal(wire_end(&wire, server), 0);
    wire_say(&wire, server, "+a\r\n"); /* the other half is still open */
    wire_expect(&wire, client, "+a\r\n");
    close(server);
    assert_int_equal(wire_end(&wire, client), 0);
    WIRE_UNTIL(&wire, wire.hears.closed == 1);
    close(client);

    client = wire_client(&wire), server = wire_accept(&wire);
    shutdown(server, SHUT_WR);
    assert_int_equal(wire_end(&wire, client), 0);
    wire_say(&wire, client, "B\r\n");
    wire_expect(&wire, server, "B\r\n");
    close(client);
    assert_int_equal(wire_end(&wire, server), 0);
    close(server);
    wire_close(&wire);
}

/* A client that went away has not taken its held request with it: the owner decides, then FIN
 * follows. */
static void a_fin_waits_behind_a_held_request(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[0] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    close(client);
    WIRE_UNTIL(&wire, wire.hears.held);
    wire_expect_nothing(&wire, server);
    assert_int_equal(wire.hears.closed, 0);
    proxy_request_forward(wire.hears.held);
    wire_expect(&wire, server, "A\r\n");
    assert_int_equal(wire_end(&wire, server), 0);
    wire_say(&wire, server, "+late\r\n");
    WIRE_UNTIL(&wire, wire.hears.replies_count == 1);
    close(server);
    WIRE_UNTIL(&wire, wire.hears.closed == 1);
    wire_close(&wire);
}

static void resets_go_through(void **state)
{
    (void)state;
    struct proxy_wire wire;
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, server, "+unasked\r\n");
    wire_expect(&wire, client, "+unasked\r\n");
    assert_non_null(strstr(wire.hears.notice, "no request asked for"));
    setsockopt(server, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(server);
    assert_int_equal(wire_end(&wire, client), ECONNRESET);
    close(client);

    client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    wire_expect(&wire, server, "A\r\n");
    setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(client);
    assert_int_equal(wire_end(&wire, server), ECONNRESET);
    close(server);
    WIRE_UNTIL(&wire, wire.hears.closed == 2);
    wire_close(&wire);
}

static void a_dial_that_fails_is_a_reset_and_a_notice(void **state)
{
    (void)state;
    struct proxy_wire wire;
    int nobody;
    wire_open(&wire, 0);
    close(wire_listen(&nobody));
    const struct proxy_address there = {.host = "127.0.0.1", .port = nobody};
    proxy_set_upstream(wire.proxy, &there);
    int client = wire_client(&wire);
    assert_int_equal(wire_end(&wire, client), ECONNRESET);
    assert_non_null(strstr(wire.hears.notice, "connection refused"));
    close(client);
    wire_close(&wire);
}

/* What the kernel answers who connects to the proxy: 0, or errno. */
static int answer_to_connect(struct proxy_wire *wire)
{
    const struct sockaddr_in there = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)proxy_port(wire->proxy)),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = connect(fd, (const struct sockaddr *)&there, sizeof there) == 0 ? 0 : errno;
    close(fd);
    return error;
}

/* The kernel refuses, nothing of ours; who is connected stays so; and the port stays the same. */
static void a_proxy_refuses_for_a_while(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    const int port = proxy_port(wire.proxy);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(answer_to_connect(&wire), 0);
        assert_int_equal(proxy_refuse(wire.proxy, NULL), FAIL_NONE);
        assert_int_equal(proxy_port(wire.proxy), port);
        assert_int_equal(answer_to_connect(&wire), ECONNREFUSED);
        wire_settle(&wire);
        assert_int_equal(answer_to_connect(&wire), ECONNREFUSED);
        wire_say(&wire, client, "A\r\n");
        wire_expect(&wire, server, "A\r\n");
        assert_int_equal(proxy_accept(wire.proxy, NULL), FAIL_NONE);
        assert_int_equal(proxy_accept(wire.proxy, NULL), FAIL_NONE);
        assert_int_equal(proxy_port(wire.proxy), port);
    }
    const int opened = wire.hears.opened;
    int second = wire_client(&wire);
    WIRE_UNTIL(&wire, wire.hears.opened > opened);
    close(second);
    close(client);
    close(server);
    assert_int_equal(proxy_refuse(wire.proxy, NULL), FAIL_NONE); /* and closes while it refuses */
    wire_close(&wire);
}

/* The pattern of a long body: any piece of it can be made again. */
static void fill(char *piece, size_t size, size_t from)
{
    for (size_t i = 0; i < size; i++)
        piece[i] = (char)(random_at(7, 0, (from + i) / 8) >> ((from + i) % 8 * 8));
}

/* Sends until the proxy has stopped reading and the kernel is full. Returns how many bytes went. */
static size_t send_until_full(struct proxy_wire *wire, int fd, size_t most)
{
    static char piece[1 << 14];
    size_t sent = 0;
    for (int refused = 0; refused < 3 && sent < most;) {
        fill(piece, sizeof piece, sent);
        ssize_t put = send(fd, piece, sizeof piece, MSG_NOSIGNAL);
        refused = put < 0 ? refused + 1 : 0;
        if (put > 0)
            sent += (size_t)put;
        else
            wire_settle(wire);
    }
    return sent;
}

/* A peer that does not read stops the other side's reading; nothing is lost, and memory stays
 * bounded. */
static void back_pressure(void **state)
{
    (void)state;
    enum { TOTAL = 64 << 20 };
    static char expected[1 << 14], got[1 << 14];
    const char *head = "*2\r\n$3\r\nSET\r\n$67108864\r\n";
    struct proxy_wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, head);
    size_t sent = send_until_full(&wire, client, TOTAL);
    assert_in_range(sent, 1 << 16, TOTAL / 2); /* the kernel's buffers, and little more */
    wire_expect(&wire, server, head);
    for (size_t received = 0; received < sent;) {
        size_t size = sent - received < sizeof got ? sent - received : sizeof got;
        wire_receive(&wire, server, got, size);
        fill(expected, size, received);
        assert_memory_equal(got, expected, size);
        received += size;
    }
    close(client);
    close(server);
    wire_close(&wire);
}

/* Who is answered by the owner alone never comes to the server, ends as if one had said so, and is
 * dialled for with the first request that passes. */
static void a_late_dial_waits_for_what_passes(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    proxy_dial_late(wire.proxy);
    wire.hears.answer = "+mine\r\n";
    int client = wire_client(&wire), other = wire_client(&wire);
    struct pollfd dialled = {.fd = wire.upstream, .events = POLLIN};
    wire_say(&wire, client, "A\r\n");
    wire_expect(&wire, client, "+mine\r\n");
    assert_int_equal(shutdown(client, SHUT_WR), 0);
    assert_int_equal(wire_end(&wire, client), 0);
    WIRE_UNTIL(&wire, wire.hears.closed == 1);
    assert_int_equal(poll(&dialled, 1, 0), 0);
    wire.hears.answer = NULL;
    wire_say(&wire, other, "B\r\n");
    int server = wire_accept(&wire);
    wire_expect(&wire, server, "B\r\n");
    wire_say(&wire, server, "+b\r\n");
    wire_expect(&wire, other, "+b\r\n");
    assert_int_equal(shutdown(other, SHUT_WR), 0);
    assert_int_equal(wire_end(&wire, server), 0);
    assert_int_equal(shutdown(server, SHUT_WR), 0);
    assert_int_equal(wire_end(&wire, other), 0);
    WIRE_UNTIL(&wire, wire.hears.closed == 2);
    assert_int_equal(wire.hears.notices, 0);
    close(client);
    close(other);
    close(server);
    wire_close(&wire);
}

/* The server is not there when it comes to that: told as of any other dial. */
static void a_late_dial_that_fails_is_a_reset_and_a_notice(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    proxy_dial_late(wire.proxy);
    close(wire.upstream);
    wire.upstream = -1;
    int client = wire_client(&wire);
    WIRE_UNTIL(&wire, wire.hears.opened == 1);
    assert_int_equal(wire.hears.notices, 0);
    wire_say(&wire, client, "A\r\n");
    assert_int_equal(wire_end(&wire, client), ECONNRESET);
    assert_int_equal(wire.hears.notices, 1);
    close(client);
    wire_close(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_with_rst_is_rst),
        cmocka_unit_test(cut_with_fin_is_fin),
        cmocka_unit_test(an_end_is_counted_behind_it),
        cmocka_unit_test(cut_inside_a_hook),
        cmocka_unit_test(silence_passes_nothing_and_closes_nothing),
        cmocka_unit_test(half_closes_go_through),
        cmocka_unit_test(a_fin_waits_behind_a_held_request),
        cmocka_unit_test(resets_go_through),
        cmocka_unit_test(a_dial_that_fails_is_a_reset_and_a_notice),
        cmocka_unit_test(a_late_dial_waits_for_what_passes),
        cmocka_unit_test(a_late_dial_that_fails_is_a_reset_and_a_notice),
        cmocka_unit_test(a_proxy_refuses_for_a_while),
        cmocka_unit_test(back_pressure),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    wire_is_sent = true;
    failed += cmocka_run_group_tests_name("sent", tests, NULL, NULL);
    wire_is_sent = false;
    wire_is_carried = true;
    return failed + cmocka_run_group_tests_name("carried", tests, NULL, NULL);
}
