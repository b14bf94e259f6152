/* test_proxy_unseen.c - requests that an owner lets pass unseen, among those that he looks at: what
 * each is answered still belongs to it, and what is held in front of them holds them, too. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "proxy_wire.h"

static void open_wire(struct proxy_wire *wire, int *client, int *server)
{
    wire_open(wire, 0);
    wire->hears.lets_pass_unseen = true;
    *client = wire_client(wire);
    *server = wire_accept(wire);
}

static void close_wire(struct proxy_wire *wire, int client, int server)
{
    close(client);
    close(server);
    wire_close(wire);
}

static void relay(struct proxy_wire *wire, int from, int to, const char *text)
{
    wire_say(wire, from, text);
    wire_expect(wire, to, text);
}

/* Whatever is in a piece, its other side has it whole before the next one begins. */
static void relay_in_pieces(struct proxy_wire *wire, int from, int to, const char *text,
                            struct random *random)
{
    char passed[4096];
    const size_t all = strlen(text);
    for (size_t at = 0; at < all;) {
        const size_t wanted = 1 + (size_t)random_below(random, 90);
        const size_t piece = wanted < all - at ? wanted : all - at;
        const uint64_t reads = proxy_reads(wire->proxy);
        wire_send(wire, from, text + at, piece);
        WIRE_UNTIL(wire, proxy_reads(wire->proxy) > reads);
        at += piece;
    }
    wire_receive(wire, to, passed, all);
    assert_memory_equal(passed, text, all);
}

#define GET(key)        "*2\r\n$3\r\nGET\r\n$2\r\n" key "\r\n"
#define SET(key, value) "*3\r\n$3\r\nset\r\n$2\r\n" key "\r\n$1\r\n" value "\r\n"

/* Each has its own number, and all are counted. */
static void replies_belong_to_who_asked(void **state)
{
    (void)state;
    struct proxy_wire wire;
    int client, server;
    open_wire(&wire, &client, &server);
    relay(&wire, client, server, GET("u1") SET("u2", "x") GET("s3") GET("u4") GET("s5") GET("u6"));
    relay(&wire, server, client, "$1\r\n1\r\n+OK\r\n$1\r\n3\r\n*1\r\n:4\r\n$-1\r\n-ERR six\r\n");
    assert_int_equal(wire.hears.requests_count, 2);
    assert_string_equal(wire.hears.keys[1], "s5");
    assert_string_equal(wire.hears.said, "3:$1\r\n3\r\n5:$-1\r\n");
    const struct proxy_traffic traffic = proxy_traffic(wire.proxy);
    assert_int_equal(traffic.requests, 6);
    assert_int_equal(traffic.replies, 6);
    assert_int_equal(wire.hears.notices, 0);
    close_wire(&wire, client, server);
}

/* Where the number of replies may be another one the owner is not asked: the hook asserts it. */
static void not_where_replies_are_odd(void **state)
{
    (void)state;
    struct proxy_wire wire;
    int client, server;
    open_wire(&wire, &client, &server);
    relay(&wire, client, server,
          GET("u1") "*1\r\n$5\r\nmulti\r\n" GET("u2") "*1\r\n$4\r\nEXEC\r\n");
    relay(&wire, server, client, "$1\r\n1\r\n+OK\r\n+QUEUED\r\n*1\r\n$1\r\n2\r\n");
    assert_string_equal(wire.hears.said, "2:+OK\r\n3:+QUEUED\r\n4:*1\r\n$1\r\n2\r\n");
    relay(&wire, client, server,
          "CLIENT REPLY SKIP\r\n" GET("u5") GET("u6") "GET u7\r\n" GET("s8"));
    relay(&wire, server, client, "$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n");
    assert_string_equal(wire.hears.said + strlen("2:+OK\r\n3:+QUEUED\r\n4:*1\r\n$1\r\n2\r\n"),
                        "8:$1\r\n7\r\n9:$1\r\n8\r\n");
    assert_int_equal(wire.hears.notices, 0);
    close_wire(&wire, client, server);
}

static void what_is_published_stands_between_them(void **state)
{
    (void)state;
    struct proxy_wire wire;
    int client, server;
    open_wire(&wire, &client, &server);
    relay(&wire, client, server, "SUBSCRIBE u\r\n" GET("u2") GET("u3") GET("s4"));
    relay(&wire, server, client,
          "*3\r\n$9\r\nsubscribe\r\n$1\r\nu\r\n:1\r\n"
          "*3\r\n$7\r\nmessage\r\n$1\r\nu\r\n$1\r\nm\r\n$1\r\n2\r\n"
          "*3\r\n$7\r\nmessage\r\n$1\r\nu\r\n$1\r\nm\r\n$1\r\n3\r\n>1\r\n+p\r\n$1\r\n4\r\n");
    assert_string_equal(wire.hears.said + wire.hears.said_length - 9, "4:$1\r\n4\r\n");
    assert_int_equal(proxy_traffic(wire.proxy).replies, 4);
    assert_int_equal(wire.hears.notices, 0);
    close_wire(&wire, client, server);
}

static void what_is_held_holds_them(void **state)
{
    (void)state;
    struct proxy_wire wire;
    int client, server;
    open_wire(&wire, &client, &server);
    wire.hears.requests[0] = PROXY_HOLD;
    wire.hears.replies[0] = PROXY_HOLD;
    wire_say(&wire, client, GET("u1") GET("s2") GET("u3") GET("u4"));
    wire_expect(&wire, server, GET("u1"));
    WIRE_UNTIL(&wire, wire.hears.held);
    wire_expect_nothing(&wire, server);
    proxy_request_forward(wire.hears.held);
    wire_expect(&wire, server, GET("s2") GET("u3") GET("u4"));
    wire_say(&wire, server, "+1\r\n+2\r\n+3\r\n+4\r\n");
    wire_expect(&wire, client, "+1\r\n");
    WIRE_UNTIL(&wire, wire.hears.held_reply);
    wire_expect_nothing(&wire, client);
    proxy_reply_answer(wire.hears.held_reply, "-two\r\n", 6);
    wire_expect(&wire, client, "-two\r\n+3\r\n+4\r\n");
    close_wire(&wire, client, server);
}

/* An owner's answer comes in its turn, and what no request asked for is no reply of theirs. */
static void answers_and_strays_between_them(void **state)
{
    (void)state;
    struct proxy_wire wire;
    int client, server;
    open_wire(&wire, &client, &server);
    wire.hears.answer = "-no\r\n";
    wire.hears.requests[0] = PROXY_DROP;
    wire_say(&wire, client, GET("u1") GET("u2") GET("s3") GET("u4"));
    wire_expect(&wire, server, GET("u1") GET("u2") GET("u4"));
    wire_say(&wire, server, "+1\r\n");
    wire_expect(&wire, client, "+1\r\n");
    wire_expect_nothing(&wire, client);
    wire_say(&wire, server, "+2\r\n+4\r\n");
    wire_expect(&wire, client, "+2\r\n-no\r\n+4\r\n");
    assert_int_equal(wire.hears.notices, 0);
    relay(&wire, server, client, "+stray\r\n");
    assert_int_equal(wire.hears.notices, 1);
    close_wire(&wire, client, server);
}

/* A stream of them in pieces of any length, each answered with its own number. */
static void in_pieces(void **state)
{
    (void)state;
    enum { REQUESTS = 48, BYTES = 4096 };
    struct proxy_wire wire;
    int client, server;
    struct random random = {.seed = 12};
    char asked[BYTES] = "", answered[BYTES] = "", said[BYTES] = "";
    open_wire(&wire, &client, &server);
    for (int n = 1; n <= REQUESTS; n++) {
        const bool is_seen = random_below(&random, 4) == 0;
        char one[64];
        snprintf(one, sizeof one, "*2\r\n$3\r\nGET\r\n$12\r\n%c%011d\r\n", is_seen ? 's' : 'u', n);
        strcat(asked, one);
        snprintf(one, sizeof one, n % 3 ? ":%d\r\n" : "+number %d\r\n", n);
        strcat(answered, one);
        if (is_seen)
            snprintf(said + strlen(said), 80, "%d:%s", n, one);
    }
    relay_in_pieces(&wire, client, server, asked, &random);
    relay_in_pieces(&wire, server, client, answered, &random);
    assert_string_equal(wire.hears.said, said);
    assert_int_equal(proxy_traffic(wire.proxy).replies, REQUESTS);
    close_wire(&wire, client, server);
}

/* Replies that are told all the same: to whom each belongs, in their order, however they are
 * framed; and where each of their requests ends is known at once. */
static void told_to_whom_they_belong(void **state)
{
    (void)state;
    struct proxy_wire wire;
    int client, server;
    open_wire(&wire, &client, &server);
    relay(&wire, client, server,
          GET("ta") GET("ta") GET("u3") GET("tb") GET("s5") GET("ta") GET("ta"));
    relay(&wire, server, client,
          "$1\r\n1\r\n:2\r\n+3\r\n*1\r\n:4\r\n$-1\r\n-ERR six\r\n>1\r\n+p\r\n_\r\n");
    assert_string_equal(wire.hears.told, "a$1\r\n1\r\na:2\r\nb*1\r\n:4\r\na-ERR six\r\na_\r\n");
    assert_string_equal(wire.hears.said, "5:$-1\r\n");
    assert_int_equal(wire.hears.requests_count, 1);
    const uint64_t one = strlen(GET("ta"));
    const uint64_t ends[] = {one, 2 * one, 4 * one, 6 * one, 7 * one};
    assert_int_equal(wire.hears.told_asked, 5);
    assert_memory_equal(wire.hears.told_ends, ends, sizeof ends);
    assert_int_equal(proxy_traffic(wire.proxy).replies, 7);
    assert_int_equal(wire.hears.notices, 0);
    close_wire(&wire, client, server);
}

/* Replies alike, as many as there are in a piece; the last request may have another one's reply
 * behind it, and is told by itself. */
static void told_at_once_where_they_are_alike(void **state)
{
    (void)state;
    struct proxy_wire wire;
    int client, server;
    open_wire(&wire, &client, &server);
    relay(&wire, client, server, GET("ta") GET("ta") GET("ta") GET("ta") GET("ta") GET("tb"));
    relay(&wire, server, client, "$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n");
    assert_string_equal(wire.hears.told, "a$-1\r\na$-1\r\na$-1\r\na$-1\r\na$-1\r\nb$-1\r\n");
    assert_int_equal(wire.hears.told_at_once, 4);
    relay(&wire, client, server, GET("ta") GET("ta") GET("ta") GET("ta"));
    wire_say(&wire, server, "+OK\r\n+OK\r\n+NO\r\n$-");
    wire_expect(&wire, client, "+OK\r\n+OK\r\n+NO\r\n");
    wire_say(&wire, server, "1\r\n");
    wire_expect(&wire, client, "$-1\r\n");
    assert_string_equal(strchr(wire.hears.told, '+'), "+OK\r\na+OK\r\na+NO\r\na$-1\r\n");
    assert_int_equal(proxy_traffic(wire.proxy).replies, 10);
    assert_int_equal(wire.hears.notices, 0);
    close_wire(&wire, client, server);
}

/* What its owner knows again is shown to nobody: only whole ones, only behind one that has passed,
 * and not where another number of replies may come. */
static void not_shown_where_they_repeat(void **state)
{
    (void)state;
    struct proxy_wire wire;
    int client, server;
    open_wire(&wire, &client, &server);
    wire.hears.repeats = "*2\r\n$3\r\nGET\r\n$2\r\nta";
    wire.hears.repeats_length = (int)strlen(GET("ta"));
    relay(&wire, client, server, GET("u1"));
    assert_int_equal(wire.hears.repeated, 0);
    relay(&wire, client, server,
          GET("ta") GET("ta") GET("ta") GET("tb") GET("ta") GET("s7") GET("ta"));
    assert_int_equal(wire.hears.repeated, 4);
    relay(&wire, server, client, ":1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n");
    assert_string_equal(wire.hears.told, "a:2\r\na:3\r\na:4\r\nb:5\r\na:6\r\na:8\r\n");
    assert_string_equal(wire.hears.said, "7::7\r\n");
    const uint64_t one = strlen(GET("ta"));
    const uint64_t ends[] = {2 * one, 3 * one, 4 * one, 5 * one, 6 * one, 8 * one};
    assert_memory_equal(wire.hears.told_ends, ends, sizeof ends);
    wire.hears.lets_pass_unseen = false;
    relay(&wire, client, server,
          "*1\r\n$5\r\nMULTI\r\n" GET("ta") GET("ta") "*1\r\n$4\r\nEXEC\r\n"
                                                      "CLIENT REPLY SKIP\r\n" GET("ta") GET("ta"));
    assert_int_equal(wire.hears.repeated, 5);
    assert_int_equal(proxy_traffic(wire.proxy).requests, 8 + 7);
    assert_int_equal(wire.hears.notices, 0);
    close_wire(&wire, client, server);
}

/* In pieces of any length. */
static void repeats_in_pieces(void **state)
{
    (void)state;
    enum { REQUESTS = 48, BYTES = 4096 };
    struct proxy_wire wire;
    int client, server;
    struct random random = {.seed = 5};
    char asked[BYTES] = "", answered[BYTES] = "", told[BYTES] = "";
    open_wire(&wire, &client, &server);
    wire.hears.repeats = "*2\r\n$3\r\nGET\r\n$12\r\nta";
    wire.hears.repeats_length = 32;
    for (int n = 1; n <= REQUESTS; n++) {
        static const char *const keys[] = {"ta", "ta", "ta", "ta", "tb", "us"};
        const char *key = keys[random_below(&random, 6)], *answer = n % 5 ? "$-1\r\n" : ":17\r\n";
        char one[64];
        snprintf(one, sizeof one, "*2\r\n$3\r\nGET\r\n$12\r\n%s%010d\r\n", key, n);
        strcat(asked, one);
        strcat(answered, answer);
        if (key[0] == 't')
            snprintf(told + strlen(told), 16, "%c%s", key[1], answer);
    }
    relay_in_pieces(&wire, client, server, asked, &random);
    assert_true(wire.hears.repeated > 0);
    relay_in_pieces(&wire, server, client, answered, &random);
    assert_string_equal(wire.hears.told, told);
    assert_int_equal(proxy_traffic(wire.proxy).requests, REQUESTS);
    assert_int_equal(proxy_traffic(wire.proxy).replies, REQUESTS);
    close_wire(&wire, client, server);
}

/* Their connection ends before they are answered: nothing is told, nothing is left. */
static void told_nothing_where_nothing_came(void **state)
{
    (void)state;
    struct proxy_wire wire;
    int client, server;
    open_wire(&wire, &client, &server);
    relay(&wire, client, server, GET("ta") GET("tb") GET("tb"));
    relay(&wire, server, client, "+1\r\n+2\r\n");
    close(server);
    (void)wire_end(&wire, client);
    assert_string_equal(wire.hears.told, "a+1\r\nb+2\r\n");
    close(client);
    wire_close(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_belong_to_who_asked),
        cmocka_unit_test(not_where_replies_are_odd),
        cmocka_unit_test(what_is_published_stands_between_them),
        cmocka_unit_test(what_is_held_holds_them),
        cmocka_unit_test(answers_and_strays_between_them),
        cmocka_unit_test(in_pieces),
        cmocka_unit_test(told_to_whom_they_belong),
        cmocka_unit_test(told_at_once_where_they_are_alike),
        cmocka_unit_test(not_shown_where_they_repeat),
        cmocka_unit_test(repeats_in_pieces),
        cmocka_unit_test(told_nothing_where_nothing_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
