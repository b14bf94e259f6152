/* test_proxy.c - the proxy's core, against an upstream that the test itself plays: relay, hold,
 * drop, answer, cut, silence, half-closes, back-pressure, many links. What a real server makes of
 * it: test_proxy_redis.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "proxy_wire.h"

#include "base/random.h"

static void requests_and_replies_pass(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "*2\r\n$3\r\nget\r\n$1\r\nk\r\nPING\r\n");
    wire_expect(&wire, server, "*2\r\n$3\r\nget\r\n$1\r\nk\r\nPING\r\n");
    wire_say(&wire, server, "$1\r\nv\r\n+PONG\r\n");
    wire_expect(&wire, client, "$1\r\nv\r\n+PONG\r\n");
    assert_string_equal(wire.hears.names[0], "GET");
    assert_string_equal(wire.hears.keys[0], "k");
    assert_string_equal(wire.hears.names[1], "PING");
    assert_string_equal(wire.hears.said, "1:$1\r\nv\r\n2:+PONG\r\n");
    assert_int_equal(wire.hears.notices, 0);
    close(client);
    assert_int_equal(wire_end(&wire, server), 0);
    close(server);
    WIRE_UNTIL(&wire, wire.hears.closed == 1);
    wire_close(&wire);
}

static void a_held_request_holds_the_later_ones(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[1] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\nB\r\nC\r\n");
    wire_expect(&wire, server, "A\r\n");
    wire_expect_nothing(&wire, server);
    assert_int_equal(wire.hears.requests_count, 2); /* C has not even been shown */
    assert_true(wire.hears.held->forwarded_us == 0);
    struct proxy_request *held = wire.hears.held;
    proxy_request_forward(held);
    assert_true(held->forwarded_us > 0); /* its reply has not come, so it is still there */
    wire_expect(&wire, server, "B\r\nC\r\n");
    wire_say(&wire, server, "+a\r\n+b\r\n+c\r\n");
    wire_expect(&wire, client, "+a\r\n+b\r\n+c\r\n");
    assert_string_equal(wire.hears.said, "1:+a\r\n2:+b\r\n3:+c\r\n");
    close(client);
    close(server);
    wire_close(&wire);
}

static void a_held_reply_holds_the_later_ones(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire, 0);
    wire.hears.replies[0] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\nB\r\n");
    wire_expect(&wire, server, "A\r\nB\r\n");
    wire_say(&wire, server, "+a\r\n+b\r\n");
    wire_expect_nothing(&wire, client);
    assert_int_equal(wire.hears.replies_count, 1);
    proxy_reply_forward(wire.hears.held_reply);
    wire_expect(&wire, client, "+a\r\n+b\r\n");
    close(client);
    close(server);
    wire_close(&wire);
}

static void dropped_ones_are_gone(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[0] = PROXY_DROP;
    wire.hears.requests[2] = PROXY_HOLD;
    wire.hears.replies[0] = PROXY_DROP;
    wire.hears.replies[1] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\nB\r\nC\r\nD\r\nE\r\n");
    wire_expect(&wire, server, "B\r\n");
    wire_settle(&wire);
    proxy_request_drop(wire.hears.held);
    wire_expect(&wire, server, "D\r\nE\r\n");
    wire_say(&wire, server, "+b\r\n+d\r\n+e\r\n");
    WIRE_UNTIL(&wire, wire.hears.held_reply);
    proxy_reply_drop(wire.hears.held_reply);
    wire_expect(&wire, client, "+e\r\n");
    assert_string_equal(wire.hears.said, "2:+b\r\n4:+d\r\n5:+e\r\n");
    close(client);
    close(server);
    wire_close(&wire);
}

static void answers_wait_for_their_turn(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[1] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\nB\r\nC\r\n");
    wire_expect(&wire, server, "A\r\n");
    proxy_request_answer(wire.hears.held, "-OOM b\r\n", 8);
    wire_expect(&wire, server, "C\r\n");
    wire_expect_nothing(&wire, client); /* A's reply comes first */
    wire_say(&wire, server, "+a\r\n+c\r\n");
    wire_expect(&wire, client, "+a\r\n-OOM b\r\n+c\r\n");
    assert_string_equal(wire.hears.said, "1:+a\r\n3:+c\r\n");
    wire.hears.answer = "+at once\r\n"; /* nothing waits in front, and said inside the hook */
    wire_say(&wire, client, "D\r\n");
    wire_expect(&wire, client, "+at once\r\n");
    wire_expect_nothing(&wire, server);
    close(client);
    close(server);
    wire_close(&wire);
}

static void a_copy_goes_up_and_its_reply_nowhere(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire, 0);
    wire.hears.copies = 2;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    wire_expect(&wire, server, "A\r\nA\r\nA\r\n");
    wire.hears.copies = 0;
    wire_say(&wire, client, "B\r\n");
    wire_expect(&wire, server, "B\r\n");
    wire_say(&wire, server, "+1\r\n+2\r\n+3\r\n+b\r\n");
    wire_expect(&wire, client, "+1\r\n+b\r\n");
    assert_string_equal(wire.hears.said, "1:+1\r\n2:+b\r\n");
    close(client);
    close(server);
    wire_close(&wire);
}

static void cut_with_rst_is_rst(void **state)
{
    (void)state;
    struct wire wire;
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
    struct wire wire;
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

static void cut_inside_a_hook(void **state)
{
    (void)state;
    struct wire wire;
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
    struct wire wire;
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
    struct wire wire;
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
    struct wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[0] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    close(client);
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
    struct wire wire;
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

static void bad_bytes_are_relayed_raw_with_a_notice(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n*1\r\n!what?");
    wire_expect(&wire, server, "A\r\n*1\r\n!what?");
    assert_int_equal(wire.hears.notices, 1);
    assert_non_null(strstr(wire.hears.notice, "relayed unread"));
    wire_say(&wire, client, "B\r\n");
    wire_expect(&wire, server, "B\r\n");
    wire_say(&wire, server, "+a\r\n-ERR Protocol error\r\n<no RESP>");
    wire_expect(&wire, client, "+a\r\n-ERR Protocol error\r\n<no RESP>");
    assert_string_equal(wire.hears.said, "1:+a\r\n");
    assert_int_equal(wire.hears.notices, 1);
    close(client);
    close(server);
    wire_close(&wire);
}

static void a_dial_that_fails_is_a_reset_and_a_notice(void **state)
{
    (void)state;
    struct wire wire;
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

/* The pattern of a long body: any piece of it can be made again. */
static void fill(char *piece, size_t size, size_t from)
{
    for (size_t i = 0; i < size; i++)
        piece[i] = (char)(random_at(7, 0, (from + i) / 8) >> ((from + i) % 8 * 8));
}

/* Sends until the proxy has stopped reading and the kernel is full. Returns how many bytes went. */
static size_t send_until_full(struct wire *wire, int fd, size_t most)
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
    struct wire wire;
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

static void parts_of_frames_can_go_first(void **state)
{
    (void)state;
    struct wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[0] = PROXY_HOLD;
    wire.hears.replies[0] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "ABCDEF\r\nB\r\n");
    WIRE_UNTIL(&wire, wire.hears.held);
    assert_int_equal(proxy_request_forward_part(wire.hears.held, 4), 4);
    wire_expect(&wire, server, "ABCD");
    assert_int_equal(proxy_request_forward_part(wire.hears.held, 100), 3); /* not the last byte */
    wire_expect(&wire, server, "EF\r");
    wire_expect_nothing(&wire, server);
    proxy_request_forward(wire.hears.held);
    wire_expect(&wire, server, "\nB\r\n");
    wire_say(&wire, server, "+reply\r\n+b\r\n");
    WIRE_UNTIL(&wire, wire.hears.held_reply);
    assert_int_equal(proxy_reply_forward_part(wire.hears.held_reply, 2), 2);
    proxy_link_cut(wire.hears.link, PROXY_FIN);
    wire_expect(&wire, client, "+r");
    assert_int_equal(wire_end(&wire, client), 0);
    close(client);
    close(server);
    wire_close(&wire);
}

static void many_links_at_once(void **state)
{
    (void)state;
    enum { LINKS = 1500 };
    static int clients[LINKS], servers[LINKS];
    struct wire wire;
    wire_open(&wire, 0);
    for (int i = 0; i < LINKS; i++) {
        clients[i] = wire_client(&wire);
        servers[i] = wire_accept(&wire);
    }
    assert_int_equal(wire.hears.opened, LINKS);
    for (int i = 0; i < LINKS; i++) {
        char request[32];
        snprintf(request, sizeof request, "GET %d\r\n", i);
        wire_say(&wire, clients[i], request);
    }
    for (int i = LINKS - 1; i >= 0; i--) { /* each link is one pair, whatever the order */
        char text[32];
        snprintf(text, sizeof text, "GET %d\r\n", i);
        wire_expect(&wire, servers[i], text);
        snprintf(text, sizeof text, "+%d\r\n", i);
        wire_say(&wire, servers[i], text);
        wire_expect(&wire, clients[i], text);
    }
    for (int i = 0; i < LINKS; i++)
        close(clients[i]);
    for (int i = 0; i < LINKS; i++) {
        assert_int_equal(wire_end(&wire, servers[i]), 0);
        close(servers[i]);
    }
    WIRE_UNTIL(&wire, wire.hears.closed == LINKS);
    wire_close(&wire);
}

static void addresses_are_read(void **state)
{
    (void)state;
    struct proxy_address address;
    struct failure failure;
    assert_int_equal(proxy_address_read("127.0.0.1:6379", &address, &failure), FAIL_NONE);
    assert_string_equal(address.host, "127.0.0.1");
    assert_int_equal(address.port, 6379);
    assert_int_equal(proxy_address_read("0", &address, &failure), FAIL_NONE);
    assert_string_equal(address.host, "127.0.0.1");
    assert_int_equal(address.port, 0);
    assert_int_equal(proxy_address_read("[::1]:7", &address, &failure), FAIL_NONE);
    assert_string_equal(address.host, "::1");
    assert_int_equal(proxy_address_read("unix:/a/b", &address, &failure), FAIL_NONE);
    assert_string_equal(address.path, "/a/b");
    const char *const wrong[] = {"", "host", "host:", "host:x", "host:65536", "host:-1", "unix:"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(proxy_address_read(wrong[i], &address, &failure), FAIL_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_and_replies_pass),
        cmocka_unit_test(a_held_request_holds_the_later_ones),
        cmocka_unit_test(a_held_reply_holds_the_later_ones),
        cmocka_unit_test(dropped_ones_are_gone),
        cmocka_unit_test(answers_wait_for_their_turn),
        cmocka_unit_test(a_copy_goes_up_and_its_reply_nowhere),
        cmocka_unit_test(cut_with_rst_is_rst),
        cmocka_unit_test(cut_with_fin_is_fin),
        cmocka_unit_test(cut_inside_a_hook),
        cmocka_unit_test(silence_passes_nothing_and_closes_nothing),
        cmocka_unit_test(half_closes_go_through),
        cmocka_unit_test(a_fin_waits_behind_a_held_request),
        cmocka_unit_test(resets_go_through),
        cmocka_unit_test(bad_bytes_are_relayed_raw_with_a_notice),
        cmocka_unit_test(a_dial_that_fails_is_a_reset_and_a_notice),
        cmocka_unit_test(back_pressure),
        cmocka_unit_test(parts_of_frames_can_go_first),
        cmocka_unit_test(many_links_at_once),
        cmocka_unit_test(addresses_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
