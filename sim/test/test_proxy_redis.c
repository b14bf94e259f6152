/* test_proxy_redis.c - the proxy before a real redis-server: each request meets its own replies,
 * and what was held, dropped or cut has, or has not, been executed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "proxy_wire.h"

static struct redis redis;

static int start(void **state)
{
    (void)state;
    redis_start(&redis);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    redis_stop(&redis);
    return 0;
}

/* What is asked; what the hook must have heard, "n:reply" for each. NULL: whatever, see requests
 * and notice. */
struct dialogue {
    const char *name, *asked, *heard;
    const char
        *ends; /* the last bytes that the client gets: what the server sends when all is done */
    const char *notice;
};

#define SUBSCRIBED(channel, count) "*3\r\n$9\r\nsubscribe\r\n$1\r\n" channel "\r\n:" #count "\r\n"
#define UNSUBSCRIBED(channel, count)                                                               \
    "*3\r\n$11\r\nunsubscribe\r\n$1\r\n" channel "\r\n:" #count "\r\n"
#define DONE      "$4\r\ndone\r\n"
#define PONG_DONE "*2\r\n$4\r\npong\r\n" DONE

static const struct dialogue exchanges[] = {
    {"empty lines and *0 have no reply", "\r\n*0\r\nGET a\r\n\r\n*-1\r\nPING done\r\n",
     "1:$-1\r\n2:" DONE, DONE, NULL},
    {"CLIENT REPLY OFF", "CLIENT REPLY OFF\r\nPING\r\nNOSUCH\r\nCLIENT REPLY ON\r\nPING done\r\n",
     "4:+OK\r\n5:" DONE, DONE, NULL},
    {"CLIENT REPLY SKIP", "CLIENT REPLY SKIP\r\nPING a\r\nPING b\r\nPING done\r\n",
     "3:$1\r\nb\r\n4:" DONE, DONE, NULL},
    {"an empty line uses up a skip", "CLIENT REPLY SKIP\r\n\r\nPING a\r\nPING done\r\n",
     "2:$1\r\na\r\n3:" DONE, DONE, NULL},
    {"SKIP twice, then ON",
     "CLIENT REPLY SKIP\r\nCLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING done\r\n",
     "3:+OK\r\n4:" DONE, DONE, NULL},
    {"SKIP means nothing under OFF",
     "CLIENT REPLY OFF\r\nCLIENT REPLY SKIP\r\nPING\r\nCLIENT REPLY ON\r\nPING done\r\n",
     "4:+OK\r\n5:" DONE, DONE, NULL},
    {"CLIENT REPLY wrongly said", "CLIENT REPLY\r\nPING done\r\n", NULL, DONE, NULL},
    {"SUBSCRIBE has a reply a channel", "SUBSCRIBE a b\r\nPING done\r\n",
     "1:" SUBSCRIBED("a", 1) "1:" SUBSCRIBED("b", 2) "2:" PONG_DONE, PONG_DONE, NULL},
    {"SUBSCRIBE without a channel is refused", "SUBSCRIBE\r\nPING done\r\n", NULL, DONE, NULL},
    {"UNSUBSCRIBE has as many as there are",
     "SUBSCRIBE a a b\r\nUNSUBSCRIBE\r\nUNSUBSCRIBE\r\nPING done\r\n", NULL, DONE, NULL},
    {"channels and patterns are counted apart",
     "SUBSCRIBE a b\r\nPSUBSCRIBE x*\r\nUNSUBSCRIBE\r\nPUNSUBSCRIBE\r\nPING done\r\n", NULL, DONE,
     NULL},
    {"shard channels",
     "SSUBSCRIBE a b\r\nSUBSCRIBE c\r\nSUNSUBSCRIBE\r\nUNSUBSCRIBE\r\nPING done\r\n", NULL, DONE,
     NULL},
    {"confirmations come although replies are off",
     "CLIENT REPLY OFF\r\nSUBSCRIBE a\r\nUNSUBSCRIBE a\r\nCLIENT REPLY ON\r\nPING done\r\n",
     "2:" SUBSCRIBED("a", 1) "3:" UNSUBSCRIBED("a", 0) "4:+OK\r\n5:" DONE, DONE, NULL},
    {"a muted SUBSCRIBE that is refused has none",
     "CLIENT REPLY OFF\r\nSUBSCRIBE\r\nCLIENT REPLY ON\r\nPING done\r\n", "3:+OK\r\n4:" DONE, DONE,
     NULL},
    {"a muted SUBSCRIBE without the right to it has none",
     "ACL SETUSER u on nopass +@all\r\nAUTH u x\r\nCLIENT REPLY OFF\r\nSUBSCRIBE a\r\n"
     "CLIENT REPLY ON\r\nPING done\r\n",
     "1:+OK\r\n2:+OK\r\n5:+OK\r\n6:" DONE, DONE, NULL},
    {"RESET ends what there was",
     "CLIENT REPLY OFF\r\nMULTI\r\nRESET\r\nSUBSCRIBE a\r\nRESET\r\nPING done\r\n",
     "3:+RESET\r\n4:" SUBSCRIBED("a", 1) "5:+RESET\r\n6:" DONE, DONE, NULL},
    {"a transaction", "MULTI\r\nSET k v\r\nWATCH x\r\nEXEC\r\nPING done\r\n", NULL, DONE, NULL},
    {"EXEC without MULTI", "EXEC\r\nDISCARD\r\nPING done\r\n", NULL, DONE, NULL},
    {"own messages come between replies (RESP3)",
     "HELLO 3\r\nSUBSCRIBE a\r\nPUBLISH a hi\r\nPING done\r\n", NULL, DONE, NULL},
    {"a push is no reply, but the confirmation is one",
     "HELLO 3\r\nCLIENT TRACKING ON\r\nGET t\r\nSET t 1\r\nSUBSCRIBE a\r\nPING done\r\n", NULL,
     DONE, NULL},
    {"attributes belong to the reply behind them",
     "HELLO 3\r\nDEBUG PROTOCOL attrib\r\nPING done\r\n", NULL, DONE, NULL},
    {"back to RESP2 while subscribed",
     "HELLO 3\r\nSUBSCRIBE a\r\nHELLO 2\r\nPING\r\nUNSUBSCRIBE\r\nPING done\r\n", NULL, DONE, NULL},
    {"a blocking command answers in its turn", "BLPOP nothing 0.05\r\nPING done\r\n",
     "1:*-1\r\n2:" DONE, DONE, NULL},
    {"SUBSCRIBE inside MULTI breaks the frames of EXEC",
     "MULTI\r\nSUBSCRIBE a b\r\nEXEC\r\nPING done\r\n", "1:+OK\r\n2:+QUEUED\r\n", PONG_DONE,
     "EXEC: what follows has no frames"},
    {"MONITOR is a feed behind its reply", "MONITOR\r\nPING done\r\n", "1:+OK\r\n", "\"done\"\r\n",
     "MONITOR: what follows has no frames"},
    {"PSYNC is a feed", "GET a\r\nPSYNC ? -1\r\n", "1:$-1\r\n", NULL, "PSYNC: what follows"},
};

/* Reads until the last bytes are text (NULL: until something has come). Returns the length. */
static size_t read_to_end(struct proxy_wire *wire, int fd, const char *text, char *bytes,
                          size_t size)
{
    size_t length = 0, wanted = text ? strlen(text) : 1;
    int64_t until_ms = wire_now_ms() + PATIENCE_MS;
    while (length < wanted || (text && memcmp(bytes + length - wanted, text, wanted) != 0)) {
        uv_run(&wire->loop, UV_RUN_NOWAIT);
        ssize_t got = recv(fd, bytes + length, size - length, 0);
        assert_true(got > 0 || (got < 0 && errno == EAGAIN));
        if (wire_now_ms() > until_ms)
            fail_msg("the end '%s' never came; got '%.*s'", text, (int)length, bytes);
        length += got > 0 ? (size_t)got : 0;
    }
    return length;
}

static int count_requests(const char *asked)
{
    int count = 0;
    for (const char *line = asked; *line; line = strchr(line, '\n') + 1)
        count += *line != '\r' && *line != '*';
    return count;
}

/* What the hook heard must be replies of the requests in order, the last one's last. */
static void check_order(const struct dialogue *exchange, const struct hearer *hears)
{
    unsigned long long before = 0, number = 0;
    for (const char *at = hears->said; at && *at; at++) {
        /* "n:" begins a reply where a line begins and a RESP type follows */
        char type;
        bool is_begin = (at == hears->said || at[-1] == '\n') &&
                        sscanf(at, "%llu:%c", &number, &type) == 2 && strchr("+-$*%>|:_#~", type);
        if (!is_begin || *at < '0' || *at > '9')
            continue;
        if (number != before && number != before + 1)
            fail_msg("%s: %llu after %llu in %s", exchange->name, number, before, hears->said);
        before = number;
    }
    assert_int_equal(before, count_requests(exchange->asked));
}

static void run_exchange(const struct dialogue *exchange, size_t step)
{
    static char bytes[1 << 16];
    struct proxy_wire wire;
    wire_open(&wire, redis.port);
    int client = wire_client(&wire);
    for (size_t at = 0, length = strlen(exchange->asked); at < length; at += step)
        wire_send(&wire, client, exchange->asked + at, length - at < step ? length - at : step);
    read_to_end(&wire, client, exchange->ends, bytes, sizeof bytes);
    if (exchange->notice)
        WIRE_UNTIL(&wire, wire.hears.notices > 0);
    if (exchange->heard)
        assert_string_equal(wire.hears.said, exchange->heard);
    else
        check_order(exchange, &wire.hears);
    if (wire.hears.notices != (exchange->notice != NULL) ||
        (exchange->notice && !strstr(wire.hears.notice, exchange->notice)))
        fail_msg("%s: %d notices, the last '%s'", exchange->name, wire.hears.notices,
                 wire.hears.notice);
    close(client);
    wire_close(&wire);
}

static void every_request_meets_its_replies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exchanges / sizeof exchanges[0]; i++) {
        run_exchange(&exchanges[i], 1000);
        run_exchange(&exchanges[i], 3);
    }
}

static void transactions_are_seen(void **state)
{
    (void)state;
    static const bool inside[] = {false, true, true, true, false};
    char bytes[256];
    struct proxy_wire wire;
    wire_open(&wire, redis.port);
    int client = wire_client(&wire);
    wire_say(&wire, client, "MULTI\r\nSET k v\r\nINCR n\r\nEXEC\r\nPING done\r\n");
    read_to_end(&wire, client, DONE, bytes, sizeof bytes);
    for (int i = 0; i < 5; i++)
        assert_int_equal(wire.hears.in_transaction[i], inside[i]);
    close(client);
    wire_close(&wire);
}

static void passwords_are_not_shown(void **state)
{
    (void)state;
    char bytes[1024];
    struct proxy_wire wire;
    wire_open(&wire, redis.port);
    int client = wire_client(&wire);
    wire_say(&wire, client,
             "AUTH secret\r\nHELLO 2 AUTH user secret SETNAME bob\r\nCLIENT SETNAME alice\r\n"
             "EVAL \"return 1\" 1 key\r\nEVAL \"return 1\" 0\r\nPING done\r\n");
    read_to_end(&wire, client, DONE, bytes, sizeof bytes);
    assert_string_equal(wire.hears.keys[0], "");
    assert_string_equal(wire.hears.keys[1], "");
    assert_string_equal(wire.hears.keys[3], "key");
    assert_string_equal(wire.hears.keys[4], "");
    assert_string_equal(proxy_link_name(wire.hears.link), "alice");
    close(client);
    wire_close(&wire);
}

/* Asks the server itself, past the proxy. */
static void expect_at_server(struct proxy_wire *wire, const char *asked, const char *reply)
{
    int fd = wire_connect(redis.port);
    wire_say(wire, fd, asked);
    wire_expect(wire, fd, reply);
    close(fd);
}

static void executed_then_lost(void **state)
{
    (void)state;
    struct proxy_wire wire;
    for (int i = 0; i < 50; i++) {
        wire_open(&wire, redis.port);
        expect_at_server(&wire, "SET n 0\r\n", "+OK\r\n");
        wire.hears.replies[0] = PROXY_HOLD;
        int client = wire_client(&wire);
        wire_say(&wire, client, "INCR n\r\n");
        WIRE_UNTIL(&wire, wire.hears.held_reply);
        proxy_link_cut(wire.hears.link, PROXY_RST);
        assert_int_equal(wire_end(&wire, client), ECONNRESET);
        expect_at_server(&wire, "GET n\r\n", "$1\r\n1\r\n");
        close(client);
        wire_close(&wire);
    }
}

static void held_then_cut_is_never_executed(void **state)
{
    (void)state;
    struct proxy_wire wire;
    for (int how = PROXY_FIN; how <= PROXY_RST; how++) {
        wire_open(&wire, redis.port);
        expect_at_server(&wire, "SET n 0\r\n", "+OK\r\n");
        wire.hears.requests[1] = PROXY_HOLD;
        int client = wire_client(&wire);
        wire_say(&wire, client, "INCR n\r\nINCR n\r\nINCR n\r\n");
        WIRE_UNTIL(&wire, wire.hears.held && wire.hears.replies_count == 1);
        proxy_link_cut(wire.hears.link, (enum proxy_cut)how);
        WIRE_UNTIL(&wire, wire.hears.closed == 1);
        wire_settle(&wire);
        expect_at_server(&wire, "GET n\r\n", "$1\r\n1\r\n");
        close(client);
        wire_close(&wire);
    }
}

/* What was passed is executed even when the client's side is reset in the same breath. */
static void passed_then_cut_is_executed(void **state)
{
    (void)state;
    struct proxy_wire wire;
    for (int i = 0; i < 50; i++) {
        wire_open(&wire, redis.port);
        expect_at_server(&wire, "SET n 0\r\n", "+OK\r\n");
        int client = wire_client(&wire);
        wire_say(&wire, client, "PING done\r\n");
        wire_expect(&wire, client, DONE);
        wire.hears.requests[1] = PROXY_HOLD;
        wire_say(&wire, client, "INCR n\r\n");
        WIRE_UNTIL(&wire, wire.hears.held);
        proxy_request_forward(wire.hears.held);
        proxy_link_cut(wire.hears.link, PROXY_RST);
        assert_int_equal(wire_end(&wire, client), ECONNRESET);
        int fd = wire_connect(redis.port);
        char value[8] = "";
        do { /* the server has it; it need not have looked yet */
            wire_say(&wire, fd, "GET n\r\n");
            wire_receive(&wire, fd, value, 7);
        } while (value[4] != '1');
        close(fd);
        close(client);
        wire_close(&wire);
    }
}

/* An abandoned request arrives late: the client is gone, the command is still executed. */
static void a_late_request_is_executed(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, redis.port);
    expect_at_server(&wire, "SET n 0\r\n", "+OK\r\n");
    wire.hears.requests[0] = PROXY_HOLD;
    wire.hears.replies[0] = PROXY_HOLD;
    int client = wire_client(&wire);
    wire_say(&wire, client, "INCR n\r\n");
    WIRE_UNTIL(&wire, wire.hears.held);
    close(client);
    wire_settle(&wire);
    expect_at_server(&wire, "GET n\r\n", "$1\r\n0\r\n");
    proxy_request_forward(wire.hears.held);
    WIRE_UNTIL(&wire, wire.hears.held_reply);
    expect_at_server(&wire, "GET n\r\n", "$1\r\n1\r\n");
    proxy_reply_forward(wire.hears.held_reply); /* to nobody */
    WIRE_UNTIL(&wire, wire.hears.closed == 1);
    wire_close(&wire);
}

static void a_large_value_streams_through(void **state)
{
    (void)state;
    enum { SIZE = 20 << 20 };
    static char value[SIZE], got[SIZE];
    char head[64];
    struct proxy_wire wire;
    wire_open(&wire, redis.port);
    int client = wire_client(&wire);
    for (size_t i = 0; i < SIZE; i++)
        value[i] = (char)(i * 2654435761u >> 13);
    snprintf(head, sizeof head, "*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$%d\r\n", SIZE);
    wire_say(&wire, client, head);
    wire_send(&wire, client, value, SIZE);
    wire_say(&wire, client, "\r\nGET big\r\n");
    wire_expect(&wire, client, "+OK\r\n");
    snprintf(head, sizeof head, "$%d\r\n", SIZE);
    wire_expect(&wire, client, head);
    wire_receive(&wire, client, got, SIZE);
    assert_memory_equal(got, value, SIZE);
    wire_expect(&wire, client, "\r\n");
    assert_int_equal(wire.hears.replies_count, 2);
    close(client);
    wire_close(&wire);
}

static void quit_ends_the_link(void **state)
{
    (void)state;
    struct proxy_wire wire;
    wire_open(&wire, redis.port);
    int client = wire_client(&wire);
    wire_say(&wire, client, "QUIT\r\nPING\r\n");
    wire_expect(&wire, client, "+OK\r\n");
    int end = wire_end(&wire, client);
    assert_true(end == 0 || end == ECONNRESET); /* the server closes with PING unread, or not */
    close(client);
    WIRE_UNTIL(&wire, wire.hears.closed == 1);
    wire_close(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_meets_its_replies),
        cmocka_unit_test(transactions_are_seen),
        cmocka_unit_test(passwords_are_not_shown),
        cmocka_unit_test(executed_then_lost),
        cmocka_unit_test(held_then_cut_is_never_executed),
        cmocka_unit_test(passed_then_cut_is_executed),
        cmocka_unit_test(a_late_request_is_executed),
        cmocka_unit_test(a_large_value_streams_through),
        cmocka_unit_test(quit_ends_the_link),
    };
    int failed = cmocka_run_group_tests(tests, start, stop);
    wire_is_sent = true;
    failed += cmocka_run_group_tests_name("sent", tests, start, stop);
    wire_is_sent = false;
    wire_is_carried = true;
    return failed + cmocka_run_group_tests_name("carried", tests, start, stop);
}
