/* test_read_order.c - in which order a server reads is the order in which it executes: held to
 * replies that tell it; and what is made of the log of reads, row by row. */
#include "live/folder.h"
#include "live/process.h"
#include "live/read_order.h"

#include "base/memory.h"
#include "base/random.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Behind our own: its macro fail() would take "enum fail (*f)()" for a call of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* --- a real server --- */

enum {
    PEERS = 100,
    COMMANDS_EACH = 300,
    COMMANDS = PEERS * COMMANDS_EACH,
    STREAM_MAX = COMMANDS_EACH * 128,
    REST_MS = 20000,
};

/* What executes a command tells its number: in a pipeline, in a transaction, in a script. */
static const char *const forms[] = {
    "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n",
    "*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n$4\r\nEXEC\r\n",
    "*4\r\n$4\r\nEVAL\r\n$29\r\nreturn redis.call('INCR','n')\r\n$1\r\n0\r\n$1\r\nx\r\n",
};
enum { FORMS = sizeof forms / sizeof *forms };

struct peer {
    int descriptor, port;
    char stream[STREAM_MAX];
    size_t length, sent;
    size_t ends[COMMANDS_EACH]; /* in the stream */
    int numbers[COMMANDS_EACH]; /* as the replies say, from 1 */
    int heard;
    char rest[64]; /* of a reply that has not all come */
    size_t rest_length;
    uint32_t number; /* the server's */
    size_t read;
    int executed; /* as the log of reads says */
};

static struct peer *peers;
static struct process process;
static char folder[] = "/tmp/picklock-test-XXXXXX", shim[CLOCK_PATH_MAX];

static void peer_open(struct peer *peer, uint64_t stream)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)process.port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    memset(peer, 0, sizeof *peer);
    peer->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(peer->descriptor, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(getsockname(peer->descriptor, (struct sockaddr *)&own, &size), 0);
    peer->port = ntohs(own.sin_port);
    for (int i = 0; i < COMMANDS_EACH; i++) {
        const char *form = forms[random_at(1, stream, (uint64_t)i) % FORMS];
        memcpy(peer->stream + peer->length, form, strlen(form));
        peer->length += strlen(form);
        peer->ends[i] = peer->length;
    }
}

/* The numbers in what has come: ":7", and of a transaction its last line. */
static void hear(struct peer *peer)
{
    char bytes[4096];
    ssize_t got;
    memcpy(bytes, peer->rest, peer->rest_length);
    while ((got = recv(peer->descriptor, bytes + peer->rest_length,
                       sizeof bytes - peer->rest_length, MSG_DONTWAIT)) > 0) {
        const size_t length = peer->rest_length + (size_t)got;
        size_t begin = 0;
        for (size_t i = 0; i < length; i++) {
            if (bytes[i] != '\n')
                continue;
            if (bytes[begin] == ':')
                peer->numbers[peer->heard++] = atoi(bytes + begin + 1);
            begin = i + 1;
        }
        peer->rest_length = length - begin;
        assert_true(peer->rest_length <= sizeof peer->rest);
        memmove(bytes, bytes + begin, peer->rest_length);
        memcpy(peer->rest, bytes, peer->rest_length);
    }
}

static struct peer *peer_at(uint32_t number)
{
    for (int i = 0; i < PEERS; i++)
        if (peers[i].number == number)
            return &peers[i];
    return NULL;
}

/* The log's rows so far: each command gets the next number at the read that completes it. */
static void count_rows(uint64_t *next, int *number)
{
    for (const uint64_t written = atomic_load(&process.reads->written); *next < written; ++*next) {
        const struct read_row *row = &process.reads->rows[*next % READ_LOG_ROWS];
        struct peer *peer = NULL;
        for (int i = 0; row->is_accept && i < PEERS; i++)
            if (peers[i].port == row->port)
                peers[i].number = row->connection;
        if (!row->is_accept)
            peer = peer_at(row->connection);
        if (!peer)
            continue; /* the control connection */
        peer->read += (size_t)row->bytes;
        while (peer->executed < COMMANDS_EACH && peer->ends[peer->executed] <= peer->read) {
            ++*number;
            if (peer->heard > peer->executed)
                assert_int_equal(peer->numbers[peer->executed], *number);
            else
                peer->numbers[peer->executed] = -*number; /* not heard yet: held to it then */
            peer->executed++;
        }
    }
}

static void reads_are_executions(void **state)
{
    (void)state;
    static int told[PEERS][COMMANDS_EACH];
    uint64_t next = 0, drawn = 0;
    int number = 0, heard = 0;
    for (int i = 0; i < PEERS; i++)
        peer_open(&peers[i], (uint64_t)i);
    while (heard < COMMANDS) {
        /* A piece of any length of somebody's stream: commands are cut anywhere. */
        for (int i = 0; i < PEERS; i++) {
            const uint64_t draw = random_at(2, 0, drawn++);
            struct peer *peer = &peers[draw % PEERS];
            size_t piece = 1 + (draw >> 20) % 400;
            if (piece > peer->length - peer->sent)
                piece = peer->length - peer->sent;
            if (piece)
                assert_int_equal(
                    send(peer->descriptor, peer->stream + peer->sent, piece, MSG_NOSIGNAL), piece);
            peer->sent += piece;
        }
        const uint64_t seen = next;
        heard = 0;
        for (int i = 0; i < PEERS; i++) {
            const int before = peers[i].heard;
            int kept[COMMANDS_EACH];
            memcpy(kept, peers[i].numbers, sizeof kept);
            hear(&peers[i]);
            /* What the log said of it before it was heard. */
            for (int j = before; j < peers[i].heard && j < peers[i].executed; j++)
                assert_int_equal(kept[j], -peers[i].numbers[j]);
            heard += peers[i].heard;
        }
        count_rows(&next, &number);
        assert_true(next - seen < READ_LOG_ROWS);
    }
    assert_int_equal(number, COMMANDS);
    for (int i = 0; i < PEERS; i++) {
        memcpy(told[i], peers[i].numbers, sizeof told[i]);
        for (int j = 0; j < COMMANDS_EACH; j++)
            assert_true(told[i][j] > (j ? told[i][j - 1] : 0));
        (void)close(peers[i].descriptor);
    }
}

/* A port that is used again is another connection to the server. */
static void a_restart_begins_another_log(void **state)
{
    (void)state;
    struct failure why = {0};
    const struct process_options options = {.folder = folder, .shim = shim};
    /* Each was accepted and read from. */
    assert_true(atomic_load(&process.reads->written) >= 2 * PEERS);
    process_kill(&process);
    assert_null(process.reads);
    assert_int_equal(process_start(&process, &options, &why), FAIL_NONE);
    const uint64_t before = atomic_load(&process.reads->written);
    assert_true(before < 1000);
    freeReplyObject(redisCommand(process.control, "PING"));
    assert_int_equal(atomic_load(&process.reads->written), before + 1);
    assert_int_equal(process.reads->rows[before].bytes, strlen("*1\r\n$4\r\nPING\r\n"));
}

static int server_start(void **state)
{
    struct failure why = {0};
    (void)state;
    peers = memory_new(PEERS, sizeof *peers);
    if (!mkdtemp(folder) || clock_shim_find(shim, &why))
        return -1;
    const struct process_options options = {.folder = folder, .shim = shim};
    return process_start(&process, &options, &why) ? -1 : 0;
}

static int server_stop(void **state)
{
    char command[128];
    (void)state;
    process_kill(&process);
    free(peers);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* --- rows --- */

static struct read_log *rows_log;

static void put(struct read_row row)
{
    const uint64_t number = atomic_load(&rows_log->written);
    row.time_us = (int64_t)number + 1;
    rows_log->rows[number % READ_LOG_ROWS] = row;
    atomic_store(&rows_log->written, number + 1);
}

static void accepts(uint16_t port, uint32_t connection)
{
    put((struct read_row){.port = port, .connection = connection, .is_accept = 1});
}

static void reads(uint16_t port, uint32_t connection, int64_t bytes)
{
    put((struct read_row){.port = port, .connection = connection, .bytes = bytes});
}

static int rows_begin(void **state)
{
    rows_log = memory_new(1, sizeof *rows_log);
    *state = read_order_new(rows_log);
    return 0;
}

static int rows_end(void **state)
{
    read_order_free(*state);
    free(rows_log);
    return 0;
}

/* Two exchanges of one connection, which end after 10 and after 20 bytes. */
struct line {
    struct connection connection;
    struct exchange exchanges[2];
};

static void line_join(struct line *line, struct read_order *order, int port)
{
    memset(line, 0, sizeof *line);
    line->connection.server_port = port;
    line->connection.first = &line->exchanges[0];
    line->exchanges[0] =
        (struct exchange){.connection = &line->connection, .next = &line->exchanges[1], .end = 10};
    line->exchanges[1] = (struct exchange){.connection = &line->connection, .end = 20};
    read_order_join(order, &line->connection);
}

static void assert_next(struct read_order *order, const struct exchange *expected, int64_t read_us)
{
    assert_true(read_order_look(order));
    assert_ptr_equal(read_order_first(order), expected);
    if (!expected)
        return;
    assert_int_equal(expected->read_us, read_us);
    read_order_take(order);
}

static void a_command_is_executed_where_it_is_complete(void **state)
{
    struct read_order *order = *state;
    struct line a, b;
    line_join(&a, order, 5);
    line_join(&b, order, 6);
    assert_false(read_order_has_seen(&a.connection));
    accepts(5, 1);
    accepts(6, 2);
    reads(5, 1, 9);
    reads(6, 2, 20); /* both of it at once */
    assert_next(order, &b.exchanges[0], 4);
    reads(5, 1, 1);
    assert_next(order, &b.exchanges[1], 4);
    assert_next(order, &a.exchanges[0], 5);
    reads(5, 1, 9);
    assert_next(order, NULL, 0);
    reads(5, 1, 1);
    assert_next(order, &a.exchanges[1], 7);
    assert_next(order, NULL, 0);
    assert_true(read_order_has_seen(&a.connection));
}

static void another_connection_of_the_port_is_told_apart(void **state)
{
    struct read_order *order = *state;
    struct line old, new;
    accepts(5, 1); /* before it joined: looked at when it does */
    line_join(&old, order, 5);
    reads(5, 1, 5);
    assert_next(order, NULL, 0);
    read_order_leave(order, &old.connection);
    line_join(&new, order, 5);
    reads(5, 1, 20); /* the old one's rest, read late */
    assert_next(order, NULL, 0);
    accepts(5, 2);
    reads(5, 1, 20);
    reads(5, 2, 10);
    assert_next(order, &new.exchanges[0], 6);
    assert_next(order, NULL, 0);
}

/* A connection that was ended before anybody knew of it leaves its number behind. */
static void one_that_never_joined_is_not_taken_for_the_next(void **state)
{
    struct read_order *order = *state;
    struct line next, third;
    accepts(5, 1);
    line_join(&next, order, 5);
    accepts(5, 2);
    reads(5, 2, 10);
    assert_next(order, &next.exchanges[0], 3);
    read_order_leave(order, &next.connection);
    line_join(&third, order, 5);
    accepts(5, 3);
    reads(5, 3, 20);
    assert_next(order, &third.exchanges[0], 5);
    assert_next(order, &third.exchanges[1], 5);
}

static void who_leaves_is_not_waited_for(void **state)
{
    struct read_order *order = *state;
    struct line a, b;
    line_join(&a, order, 5);
    line_join(&b, order, 6);
    accepts(5, 1);
    accepts(6, 2);
    reads(5, 1, 10);
    reads(6, 2, 10);
    reads(5, 1, 10);
    assert_true(read_order_look(order));
    read_order_leave(order, &a.connection);
    assert_next(order, &b.exchanges[0], 4);
    reads(6, 2, 10);
    assert_next(order, &b.exchanges[1], 6);
    assert_next(order, NULL, 0);
}

static void a_log_that_wraps_is_followed(void **state)
{
    struct read_order *order = *state;
    struct line a;
    line_join(&a, order, 5);
    accepts(5, 1);
    for (int i = 0; i < 3 * READ_LOG_ROWS; i++) {
        reads(7, 9, 1); /* somebody else's */
        if (i % 1000 == 0)
            assert_true(read_order_look(order));
    }
    reads(5, 1, 10);
    assert_next(order, &a.exchanges[0], 3 * READ_LOG_ROWS + 2);
}

static void a_log_that_ran_over_is_lost(void **state)
{
    struct read_order *order = *state;
    struct line a;
    line_join(&a, order, 5);
    accepts(5, 1);
    for (int i = 0; i < READ_LOG_ROWS - 2; i++)
        reads(7, 9, 1);
    assert_true(read_order_look(order)); /* one less than there is room for */
    for (int i = 0; i < READ_LOG_ROWS; i++)
        reads(7, 9, 1);
    reads(5, 1, 10);
    assert_false(read_order_look(order));
    assert_false(read_order_look(order)); /* for good */
    assert_null(read_order_first(order));
}

int main(void)
{
    const struct CMUnitTest real[] = {
        cmocka_unit_test(reads_are_executions),
        cmocka_unit_test(a_restart_begins_another_log),
    };
    const struct CMUnitTest by_rows[] = {
        cmocka_unit_test_setup_teardown(a_command_is_executed_where_it_is_complete, rows_begin,
                                        rows_end),
        cmocka_unit_test_setup_teardown(one_that_never_joined_is_not_taken_for_the_next, rows_begin,
                                        rows_end),
        cmocka_unit_test_setup_teardown(another_connection_of_the_port_is_told_apart, rows_begin,
                                        rows_end),
        cmocka_unit_test_setup_teardown(who_leaves_is_not_waited_for, rows_begin, rows_end),
        cmocka_unit_test_setup_teardown(a_log_that_wraps_is_followed, rows_begin, rows_end),
        cmocka_unit_test_setup_teardown(a_log_that_ran_over_is_lost, rows_begin, rows_end),
    };
    const int failed = cmocka_run_group_tests_name("reads", real, server_start, server_stop);
    return failed + cmocka_run_group_tests_name("read_order", by_rows, NULL, NULL);
}
