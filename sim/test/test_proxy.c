/* test_proxy.c - the proxy's core, against an upstream that the test itself plays: relay, hold,
 * drop, answer, copies, pieces, bad bytes, many links. How links end: test_proxy_ends.c. What a
 * real server makes of it: test_proxy_redis.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "proxy_wire.h"

static void requests_and_replies_pass(void **state)
{
    (void)state;
    struct proxy_wire wire;
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

/* Without a turn of the loop; also an end is seen, as it is. */
static void what_a_client_has_written_can_be_taken(void **state)
{
    (void)state;
    if (wire_is_carried)
        skip(); /* nothing is here to be taken */
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    struct proxy_wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    wire_expect(&wire, server, "A\r\n");
    proxy_link_take(wire.hears.link); /* nothing there */
    assert_int_equal(wire.hears.requests_count, 1);
    assert_int_equal(send(client, "B\r\n", 3, MSG_NOSIGNAL), 3);
    proxy_link_take(wire.hears.link);
    assert_int_equal(wire.hears.requests_count, 2);
    wire_expect(&wire, server, "B\r\n");
    assert_int_equal(setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, (socklen_t)sizeof at_once),
                     0);
    close(client);
    proxy_link_take(wire.hears.link);
    assert_int_equal(wire_end(&wire, server), ECONNRESET);
    close(server);
    WIRE_UNTIL(&wire, wire.hears.closed == 1);
    wire_close(&wire);
}

/* The loop leaves it alone; where reading goes on again, it looks again. */
static void a_client_that_is_not_watched_is_only_taken(void **state)
{
    (void)state;
    if (wire_is_carried)
        skip(); /* it is watched all the same */
    struct proxy_wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    wire_expect(&wire, server, "A\r\n");
    proxy_link_watch(wire.hears.link, false);
    wire_say(&wire, client, "B\r\n");
    wire_expect_nothing(&wire, server);
    assert_int_equal(wire.hears.requests_count, 1);
    proxy_link_take(wire.hears.link);
    wire_expect(&wire, server, "B\r\n");
    wire_say(&wire, client, "C\r\n");
    wire_expect_nothing(&wire, server);
    proxy_link_watch(wire.hears.link, true);
    wire_expect(&wire, server, "C\r\n");
    proxy_link_watch(wire.hears.link, false);
    proxy_link_silence(wire.hears.link);
    wire_say(&wire, client, "D\r\n");
    proxy_link_speak(wire.hears.link);
    wire_expect(&wire, server, "D\r\n");
    close(client);
    assert_int_equal(wire_end(&wire, server), 0);
    close(server);
    WIRE_UNTIL(&wire, wire.hears.closed == 1);
    wire_close(&wire);
}

static void an_owner_is_told_what_a_client_can_read(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    wire_expect(&wire, server, "A\r\n");
    assert_int_equal(wire.hears.tellings, 0);
    wire.hears.replies[0] = PROXY_HOLD;
    wire_say(&wire, server, "+1\r\n");
    WIRE_UNTIL(&wire, wire.hears.held_reply);
    assert_int_equal(wire.hears.tellings, 0);
    proxy_reply_forward(wire.hears.held_reply);
    WIRE_UNTIL(&wire, wire.hears.tellings == 1);
    wire_expect(&wire, client, "+1\r\n");
    wire_say(&wire, client, "B\r\n");
    wire_expect(&wire, server, "B\r\n");
    wire_say(&wire, server, "+2\r\n");
    WIRE_UNTIL(&wire, wire.hears.settled_behind == 2);
    char bytes[5];
    if (!wire_is_carried) /* it is there */
        assert_int_equal(recv(client, bytes, sizeof bytes, 0), 4);
    close(client);
    close(server);
    wire_close(&wire);
}

/* What is silent is not read. */
static void nothing_is_taken_of_a_silent_one(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    wire_expect(&wire, server, "A\r\n");
    proxy_link_silence(wire.hears.link);
    assert_int_equal(send(client, "B\r\n", 3, MSG_NOSIGNAL), 3);
    proxy_link_take(wire.hears.link);
    assert_int_equal(wire.hears.requests_count, 1);
    proxy_link_speak(wire.hears.link);
    wire_expect(&wire, server, "B\r\n");
    close(client);
    close(server);
    wire_close(&wire);
}

static void a_held_request_holds_the_later_ones(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[1] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\nB\r\nC\r\n");
    wire_expect(&wire, server, "A\r\n");
    WIRE_UNTIL(&wire, wire.hears.held);
    wire_expect_nothing(&wire, server);
    assert_int_equal(wire.hears.requests_count, 2); /* C has not even been shown */
    struct proxy_request *held = wire.hears.held;
    proxy_request_forward(held);
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
    struct proxy_wire wire;
    wire_open(&wire, 0);
    wire.hears.replies[0] = PROXY_HOLD;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\nB\r\n");
    wire_expect(&wire, server, "A\r\nB\r\n");
    wire_say(&wire, server, "+a\r\n+b\r\n");
    WIRE_UNTIL(&wire, wire.hears.held_reply);
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
    struct proxy_wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[0] = PROXY_DROP;
    wire.hears.requests[2] = PROXY_DROP;
    wire.hears.replies[0] = PROXY_DROP;
    wire.hears.replies[1] = PROXY_DROP;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\nB\r\nC\r\nD\r\nE\r\n");
    wire_expect(&wire, server, "B\r\nD\r\nE\r\n");
    wire_say(&wire, server, "+b\r\n+d\r\n+e\r\n");
    wire_expect(&wire, client, "+e\r\n");
    assert_string_equal(wire.hears.said, "2:+b\r\n4:+d\r\n5:+e\r\n");
    close(client);
    close(server);
    wire_close(&wire);
}

static void answers_wait_for_their_turn(void **state)
{
    (void)state;
    struct proxy_wire wire;
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
    struct proxy_wire wire;
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

static void bad_bytes_are_relayed_raw_with_a_notice(void **state)
{
    (void)state;
    struct proxy_wire wire;
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

/* A large request is dropped on its first part; what turns out to be no frame behind it is relayed,
 * it is not. */
static void bad_bytes_behind_a_dropped_part(void **state)
{
    (void)state;
    enum { SIZE = 40000 };
    static char body[SIZE];
    struct proxy_wire wire;
    wire_open(&wire, 0);
    wire.hears.requests[0] = PROXY_DROP;
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "*2\r\n$3\r\nGET\r\n$40000\r\n");
    wire_send(&wire, client, body, SIZE);
    WIRE_UNTIL(&wire, wire.hears.requests_count == 1);
    wire_settle(&wire);
    wire_say(&wire, client, "\rbad");
    wire_expect(&wire, server, "bad");
    assert_int_equal(wire.hears.notices, 1);
    close(client);
    close(server);
    wire_close(&wire);
}

/* The proxy's sockets are in this process: all TCP connections but the test's own two send without
 * delay. */
static void no_side_waits_to_fill_a_packet(void **state)
{
    (void)state;
    if (wire_is_carried)
        skip(); /* the sockets are not here */
    struct proxy_wire wire;
    int found = 0;
    wire_open(&wire, 0);
    int client = wire_client(&wire), server = wire_accept(&wire);
    wire_say(&wire, client, "A\r\n");
    wire_expect(&wire, server, "A\r\n");
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in peer;
        socklen_t size = sizeof peer;
        int no_delay = 0;
        socklen_t no_delay_size = sizeof no_delay;
        if (fd == client || fd == server || getpeername(fd, (struct sockaddr *)&peer, &size) < 0 ||
            peer.sin_family != AF_INET)
            continue;
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &no_delay_size), 0);
        assert_int_equal(no_delay != 0, 1);
        found++;
    }
    assert_int_equal(found, 2);
    close(client);
    close(server);
    wire_close(&wire);
}

static void parts_of_frames_can_go_first(void **state)
{
    (void)state;
    struct proxy_wire wire;
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
    struct proxy_wire wire;
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
        cmocka_unit_test(what_a_client_has_written_can_be_taken),
        cmocka_unit_test(nothing_is_taken_of_a_silent_one),
        cmocka_unit_test(a_client_that_is_not_watched_is_only_taken),
        cmocka_unit_test(an_owner_is_told_what_a_client_can_read),
        cmocka_unit_test(a_held_request_holds_the_later_ones),
        cmocka_unit_test(a_held_reply_holds_the_later_ones),
        cmocka_unit_test(dropped_ones_are_gone),
        cmocka_unit_test(answers_wait_for_their_turn),
        cmocka_unit_test(a_copy_goes_up_and_its_reply_nowhere),
        cmocka_unit_test(bad_bytes_are_relayed_raw_with_a_notice),
        cmocka_unit_test(bad_bytes_behind_a_dropped_part),
        cmocka_unit_test(no_side_waits_to_fill_a_packet),
        cmocka_unit_test(parts_of_frames_can_go_first),
        cmocka_unit_test(many_links_at_once),
        cmocka_unit_test(addresses_are_read),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    wire_is_sent = true;
    failed += cmocka_run_group_tests_name("sent", tests, NULL, NULL);
    wire_is_sent = false;
    wire_is_carried = true;
    return failed + cmocka_run_group_tests_name("carried", tests, NULL, NULL);
}
