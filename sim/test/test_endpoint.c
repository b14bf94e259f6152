/* test_endpoint.c - an eager endpoint: its clients hear, write and are read without the loop, which
 * looks only for what was not there yet. The upstream is played by the test. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "live/endpoint.h"
#include "proxy_wire.h"

static int delivered;
static int64_t answered;
static bool holds;
static struct exchange *held;

static void on_arrived(struct exchange *exchange)
{
    exchange_execute(exchange);
}

static void on_executed(struct exchange *exchange)
{
    answered = exchange->reply.value;
    if (holds)
        held = exchange;
    else
        exchange_deliver(exchange);
}

static void on_delivered(struct exchange *exchange)
{
    delivered++;
    exchange_let_go(exchange);
}

static const struct connection_events events = {
    .arrived = on_arrived, .executed = on_executed, .delivered = on_delivered};

struct eager_stage {
    struct proxy_wire wire; /* its loop, and the listening socket of the upstream */
    struct endpoint endpoint;
    struct connection *connection;
    int server;
};

enum stage_way { THROUGH_PROXY, DIRECTLY };

static void stage_open_by(struct eager_stage *stage, enum stage_way way)
{
    struct failure why = {0};
    memset(stage, 0, sizeof *stage);
    delivered = 0;
    holds = false;
    held = NULL;
    assert_int_equal(uv_loop_init(&stage->wire.loop), 0);
    stage->wire.upstream = wire_listen(&stage->wire.upstream_port);
    const struct proxy_address upstream = {.host = "127.0.0.1", .port = stage->wire.upstream_port};
    assert_int_equal(endpoint_open(&stage->endpoint, &stage->wire.loop, 0, &upstream, NULL, &why),
                     FAIL_NONE);
    stage->endpoint.events = &events;
    stage->endpoint.is_eager = way == THROUGH_PROXY;
    stage->endpoint.direct_port = way == DIRECTLY ? stage->wire.upstream_port : 0;
    assert_int_equal(connection_new(&stage->connection, &stage->endpoint, stage, &why), FAIL_NONE);
    stage->server = wire_accept(&stage->wire);
}

static void stage_open(struct eager_stage *stage)
{
    stage_open_by(stage, THROUGH_PROXY);
}

static void stage_close(struct eager_stage *stage)
{
    if (stage->connection)
        connection_cut(stage->connection);
    WIRE_UNTIL(&stage->wire, stage->endpoint.connections == 0);
    close(stage->server);
    close(stage->wire.upstream);
    endpoint_shut(&stage->endpoint);
    assert_int_equal(uv_run(&stage->wire.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&stage->wire.loop), 0);
    endpoint_free(&stage->endpoint);
}

static void asks(struct eager_stage *stage)
{
    const struct command command = {.verb = VERB_GET, .key = KEY_LOCK};
    (void)connection_send(stage->connection, stage, &command, "p:");
    wire_expect(&stage->wire, stage->server, "*2\r\n$3\r\nGET\r\n$6\r\np:lock\r\n");
}

static void the_loop_need_not_look(void **state)
{
    (void)state;
    struct eager_stage stage;
    stage_open(&stage);
    for (int i = 1; i <= 3; i++) {
        asks(&stage);
        wire_say(&stage.wire, stage.server, "$1\r\n7\r\n");
        WIRE_UNTIL(&stage.wire, delivered == i);
        assert_true(stage.connection->is_unwatched);
    }
    stage_close(&stage);
}

/* Bytes that were let go, and have not arrived when they are to be heard, are not lost. */
static void what_is_not_there_yet_is_looked_for(void **state)
{
    (void)state;
    struct eager_stage stage;
    stage_open(&stage);
    asks(&stage);
    wire_say(&stage.wire, stage.server, "$1\r\n7\r\n");
    WIRE_UNTIL(&stage.wire, delivered == 1);
    assert_true(stage.connection->is_unwatched);
    holds = true;
    asks(&stage);
    wire_say(&stage.wire, stage.server, "$1\r\n8\r\n");
    WIRE_UNTIL(&stage.wire, held);
    proxy_link_silence(stage.connection->link);
    exchange_deliver(held);
    connection_is_due(stage.connection, DUE_HEAR); /* so told() says too early */
    endpoint_move(&stage.endpoint);
    assert_int_equal(delivered, 1);
    assert_false(stage.connection->is_unwatched);
    stage.endpoint.is_eager = false; /* and now it says nothing */
    proxy_link_speak(stage.connection->link);
    WIRE_UNTIL(&stage.wire, delivered == 2);
    stage_close(&stage);
}

static int broken;

static void on_broken(struct connection *connection)
{
    (void)connection;
    broken++;
}

/* Also while nothing is on its way. */
static void an_end_that_the_server_makes_is_heard(void **state)
{
    (void)state;
    static const struct connection_events told = {.arrived = on_arrived,
                                                  .executed = on_executed,
                                                  .delivered = on_delivered,
                                                  .broken = on_broken};
    for (int is_asking = 0; is_asking < 2; is_asking++) {
        struct eager_stage stage;
        stage_open(&stage);
        stage.endpoint.events = &told;
        broken = 0;
        asks(&stage);
        wire_say(&stage.wire, stage.server, "$1\r\n7\r\n");
        WIRE_UNTIL(&stage.wire, delivered == 1);
        assert_true(stage.connection->is_unwatched);
        if (is_asking)
            asks(&stage);
        assert_int_equal(shutdown(stage.server, SHUT_WR), 0);
        WIRE_UNTIL(&stage.wire, broken == 1);
        WIRE_UNTIL(&stage.wire, stage.endpoint.connections == 0);
        stage.connection = NULL;
        stage_close(&stage);
    }
}

/* --- client_end.c --- */

static void goes_bare(struct eager_stage *stage)
{
    asks(stage);
    wire_say(&stage->wire, stage->server, "$1\r\n7\r\n");
    WIRE_UNTIL(&stage->wire, delivered == 1);
    assert_true(connection_is_bare(stage->connection));
}

static void a_reply_in_pieces_is_heard_whole(void **state)
{
    static const char *const pieces[] = {"$", "2", "\r", "\n4", "2\r", "\n"};
    (void)state;
    struct eager_stage stage;
    stage_open_by(&stage, DIRECTLY);
    goes_bare(&stage);
    asks(&stage);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        const size_t kept = stage.connection->part.length;
        assert_int_equal(delivered, 1);
        wire_say(&stage.wire, stage.server, pieces[i]);
        WIRE_UNTIL(&stage.wire, delivered == 2 || stage.connection->part.length > kept);
    }
    assert_int_equal(delivered, 2);
    assert_int_equal(answered, 42);
    assert_int_equal(stage.connection->part.length, 0);
    asks(&stage);
    asks(&stage);
    wire_say(&stage.wire, stage.server, "$1\r\n3\r\n$1\r\n4\r\n");
    WIRE_UNTIL(&stage.wire, delivered == 4);
    assert_int_equal(answered, 4);
    stage_close(&stage);
}

/* Nor is what cannot be read: the connection ends, and what it said proves nothing. */
static void a_reply_to_nobody_is_none(void **state)
{
    static const char *const replies[] = {"+OK\r\n", "!!\r\n"};
    static const struct connection_events told = {
        .executed = on_executed, .delivered = on_delivered, .broken = on_broken};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct eager_stage stage;
        stage_open_by(&stage, DIRECTLY);
        stage.endpoint.events = &told;
        broken = 0;
        goes_bare(&stage);
        wire_say(&stage.wire, stage.server, replies[i]);
        WIRE_UNTIL(&stage.wire, broken == 1);
        assert_true(stage.endpoint.is_misread);
        WIRE_UNTIL(&stage.wire, stage.endpoint.connections == 0);
        stage.connection = NULL;
        stage_close(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_need_not_look),
        cmocka_unit_test(what_is_not_there_yet_is_looked_for),
        cmocka_unit_test(an_end_that_the_server_makes_is_heard),
        cmocka_unit_test(a_reply_in_pieces_is_heard_whole),
        cmocka_unit_test(a_reply_to_nobody_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
