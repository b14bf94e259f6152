/* test_timeline_text.c - the diagram on a terminal: every sign in its place, never wider than 100
 * columns, and nothing but ASCII where the terminal shows nothing else. */
#include "report/report.h"
#include "report/text.h"
#include "test/sample_results.h"

#include <stdlib.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h> /* last: its fail() is a macro */

#include "test/report_common.h"

enum { COLUMNS = 100 };

static char *printed(const char *name, int64_t first_index, enum charset charset)
{
    struct failure failure = {0};
    char *text = NULL, *path = path_of(name);
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (report_timeline(out, path, first_index, charset, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(fclose(out), 0);
    free(path);
    return text;
}

static void expect_lines(const char *text, const char *const *lines)
{
    char *copy = memory_text(text), *rest = copy, *line;
    for (; *lines && (line = strsep(&rest, "\n")); lines++)
        assert_string_equal(line, *lines);
    assert_null(*lines);
    free(copy);
}

/* --- histories by hand --- */

struct hand {
    struct history_writer *writer;
    struct sample_history history;
    char names[26][NAME_MAX_BYTES];
};

static void begin(struct hand *hand, const char *name, int clients, int servers)
{
    struct failure failure = {0};
    struct history_head head = {.scheme = "redlock",
                                .scenario = "test",
                                .world = "sim",
                                .clients = clients,
                                .servers = servers,
                                .locks = 1,
                                .names = hand->names,
                                .lease_us = 300000,
                                .unit_us = 1000};
    for (int i = 0; i < clients; i++)
        if (!*hand->names[i])
            snprintf(hand->names[i], NAME_MAX_BYTES, "%c", 'A' + i);
    char *path = path_of(name);
    if (history_writer_new(&hand->writer, path, &head, &failure))
        fail_msg("%s", failure.text);
    free(path);
    hand->history = (struct sample_history){.sink = history_writer_sink(hand->writer)};
}

static void end(struct hand *hand)
{
    assert_int_equal(history_writer_close(hand->writer, NULL), FAIL_NONE);
}

static void call(struct hand *hand, int client)
{
    hand->history.time_us += 100;
    sample_event(&hand->history,
                 (struct event){.kind = EVENT_CALL, .client = client, .server = -1});
}

static void fault(struct hand *hand, const char *name, int client, int server)
{
    struct event event = {.kind = EVENT_FAULT, .client = client, .server = server};
    event.command.verb = VERB_SET_NX_PX;
    assert_true(fault_read(name, &event.fault));
    hand->history.time_us += 100;
    sample_event(&hand->history, event);
}

/* kind: SEND stays in the instant of what is before it, the rest take 0.1 ms. */
static void message(struct hand *hand, enum event_kind kind, int client, int server)
{
    struct event event = {
        .kind = kind,
        .client = client,
        .server = server,
        .command = {.verb = VERB_SET_NX_PX, .value = 5, .ttl_us = 300000},
        .reply = {.kind = REPLY_OK},
    };
    hand->history.time_us += kind == EVENT_SEND ? 0 : 100;
    sample_event(&hand->history, event);
}

/* --- pictures --- */

/* Three clients 9 apart from column 11, the server at 38 (9 more), its messages in column 36; the
 * overlap at 45, words at 48: the longest has 48 characters, so that the widest step fits. A's own
 * lease ends 300 ms behind its call, its key 300 ms behind its SET. */
static const char *const double_delete[] = {
    "       ms  A        B        C        server",
    "      0.1  ├────────────────────────╮ ·         A acquires: SET lock 17 NX PX 300",
    "      0.2  ·        ·        ·      ├▶A         the server executes A's SET → OK",
    "      0.3  ▄◀╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╯ A         A hears OK: it has the lock",
    " ⋮ 299 ms  █        ·        ·        A",
    "    300.1  ░        ·        ·        A         A's own lease ends",
    "    300.2  ░        ·        ·        ·         A's key expires",
    "    301.4  ░        ├───────────────╮ ·         B acquires: SET lock 18 NX PX 300",
    "    301.5  ░        ·        ·      ├▶B         the server executes B's SET → OK",
    "    301.6  ░        ▄◀╌╌╌╌╌╌╌╌╌╌╌╌╌╌╯ B      !  B hears OK: it has the lock",
    "    301.7  ├────────█───────────────╮ B         A releases: DEL lock",
    "    301.8  ·        █        ·      ├▶✗         the server executes A's DEL → 1, removes B's "
    "key",
    "    301.9  ·◀╌╌╌╌╌╌╌█╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╯ ·         A hears 1: released",
    "    302.0  ·        █        ├──────╮ ·         C acquires: SET lock 19 NX PX 300",
    "    302.1  ·        █        ·      ├▶C         the server executes C's SET → OK",
    "▶   302.2  ·        █        ▄◀╌╌╌╌╌╯ C      !! C hears OK: it has the lock",
    "",
    "  █ believes that it has the lock   ░ and its own lease is over   A whose key the server has",
    "  ! two hold at once, not both within their leases   !! two hold at once, both within their "
    "leases",
    "  ▶ seen here",
    "",
    NULL};

static void the_double_delete_in_box_characters(void **state)
{
    (void)state;
    char *text =
        printed("histories/b.jsonl", sample.rows[1].properties[1].first_index, CHARSET_UTF8);
    expect_lines(text, double_delete);
    free(text);
}

static void the_same_in_ascii(void **state)
{
    (void)state;
    char *text =
        printed("histories/b.jsonl", sample.rows[1].properties[1].first_index, CHARSET_ASCII);
    for (const char *at = text; *at; at++)
        assert_in_range(*at, '\n', '~');
    expect_in(text, "\n      0.1  +------------------------+ .         A acquires: SET lock 17");
    expect_in(text, "\n      0.2  .        .        .      +>A         the server executes A's SET "
                    "-> OK\n");
    expect_in(text, "\n : 299 ms  #        .        .        A\n");
    expect_in(text, "\n    301.6  :        #<--------------+ B      !  B hears OK");
    expect_in(text, "\n    301.8  .        #        .      +>x         the server executes A's DEL "
                    "-> 1, removes B's key\n");
    expect_in(text, "\n>   302.2  .        #        #<-----+ C      !! C hears OK");
    free(text);
}

/* A compared delete: nobody is struck, two never hold within their leases, nothing was seen. */
static void a_good_release_is_not_marked(void **state)
{
    (void)state;
    char *text = printed("histories/a.jsonl", -1, CHARSET_UTF8);
    expect_not_in(text, "!!");
    expect_not_in(text, "✗");
    expect_not_in(text, "▶ seen");
    expect_in(text, "compare-and-delete → 0\n");
    free(text);
}

/* The longest words have 50 characters: a step of 9 would put them at column 52, 8 at 48. Clients
 * at 11 and 19, servers at 27, 35, 43, each message two columns before its server. The second SET
 * is lost, the third is still under way in the end. */
static const char *const three_servers[] = {
    "       ms  A       B       s1      s2      s3",
    "      0.1  ├─────────────┬───────┬───────╮ ·    A acquires: SET lock 5 NX PX 300 to server 1, "
    "2, 3",
    "      0.2  ·       ·     ├▶A     │ ·     │ ·    server 1 executes A's SET → OK",
    "*     0.3  ·       ·     ╎ A     ✗ ·     │ ·    A's SET to server 2 is lost",
    "      0.4  ·◀╌╌╌╌╌╌╌╌╌╌╌╌╯ A       ·     │ ·    A hears OK from server 1",
    "",
    "  A whose key the server has   * injected",
    "",
    NULL};

static void three_servers_fan_out(void **state)
{
    (void)state;
    struct hand hand = {0};
    begin(&hand, "three.jsonl", 2, 3);
    call(&hand, 0);
    for (int server = 0; server < 3; server++)
        message(&hand, EVENT_SEND, 0, server);
    message(&hand, EVENT_EXECUTE, 0, 0);
    fault(&hand, "lose-request", 0, 1);
    message(&hand, EVENT_HEAR, 0, 0);
    end(&hand);
    char *text = printed("three.jsonl", -1, CHARSET_UTF8);
    expect_lines(text, three_servers);
    free(text);
}

/* The story has three servers, the lock asks the first: the others have no column. */
static void a_server_that_nobody_asks_has_no_column(void **state)
{
    (void)state;
    struct hand hand = {0};
    begin(&hand, "one_of_three.jsonl", 2, 3);
    call(&hand, 0);
    message(&hand, EVENT_SEND, 0, 0);
    message(&hand, EVENT_EXECUTE, 0, 0);
    end(&hand);
    char *text = printed("one_of_three.jsonl", -1, CHARSET_UTF8);
    expect_in(text, "       ms  A        B        s1\n");
    expect_in(text, "A acquires: SET lock 5 NX PX 300 to server 1\n");
    free(text);
}

/* Both SETs are under way at once: what arrives first has the lane beside the server (column 27),
 * the reply keeps it, and both cross A's (column 26), which is under way still in the end. */
static const char *const two_lanes[] = {
    "       ms  A        B        server",
    "      0.1  ├──────────────╮  ·         A acquires: SET lock 5 NX PX 300",
    "      0.2  ·        ├─────┼╮ ·         B acquires: SET lock 5 NX PX 300",
    "      0.3  ·        ·     │├▶B         the server executes B's SET → OK",
    "      0.4  ·        ·◀╌╌╌╌┼╯ B         B hears OK",
    NULL};

static void messages_side_by_side_do_not_mix(void **state)
{
    (void)state;
    struct hand hand = {0};
    begin(&hand, "lanes.jsonl", 2, 1);
    call(&hand, 0);
    message(&hand, EVENT_SEND, 0, 0);
    call(&hand, 1);
    message(&hand, EVENT_SEND, 1, 0);
    message(&hand, EVENT_EXECUTE, 1, 0);
    message(&hand, EVENT_HEAR, 1, 0);
    end(&hand);
    char *text = printed("lanes.jsonl", -1, CHARSET_UTF8);
    expect_lines(text, two_lanes);
    free(text);
}

/* The worlds tell a resend twice, as a fault and as what is sent: one message, and none is left. */
static const char *const resent[] = {
    "       ms  A        server",
    "      0.1  ├──────╮ ·         A acquires: SET lock 5 NX PX 300",
    "*     0.2  ·      ✗ ·         A's SET to server 1 is lost",
    "*     0.3  ·        ·         A resends SET to server 1",
    "      0.3  ├──────╮ ·         A sends SET lock 5 NX PX 300",
    "      0.4  ·      ╰▶A         the server executes A's SET → OK",
    "",
    NULL};

static void a_resend_is_one_message(void **state)
{
    (void)state;
    struct hand hand = {0};
    begin(&hand, "resent.jsonl", 1, 1);
    call(&hand, 0);
    message(&hand, EVENT_SEND, 0, 0);
    fault(&hand, "lose-request", 0, 0);
    fault(&hand, "resend", 0, 0);
    message(&hand, EVENT_SEND, 0, 0);
    message(&hand, EVENT_EXECUTE, 0, 0);
    end(&hand);
    char *text = printed("resent.jsonl", -1, CHARSET_UTF8);
    expect_lines(text, resent);
    free(text);
}

/* --- room --- */

/* One client asks all servers at once: the words grow with the servers. */
static char *crowd(int clients, int servers, enum charset charset)
{
    struct hand hand = {0};
    snprintf(hand.names[0], NAME_MAX_BYTES, "a-rather-long-name-with-a-number-at-its-end-1234");
    begin(&hand, "crowd.jsonl", clients, servers);
    call(&hand, 0);
    for (int server = 0; server < servers; server++)
        message(&hand, EVENT_SEND, 0, server);
    message(&hand, EVENT_EXECUTE, 0, servers - 1);
    end(&hand);
    return printed("crowd.jsonl", -1, charset);
}

static void no_line_is_too_wide(void **state)
{
    (void)state;
    int drawn = 0, listed = 0;
    for (int clients = 1; clients <= 12; clients++)
        for (int servers = 1; servers <= SERVERS_MAX; servers++)
            for (int utf8 = 0; utf8 < 2; utf8++) {
                char *text = crowd(clients, servers, utf8 ? CHARSET_UTF8 : CHARSET_ASCII);
                bool is_list = strstr(text, "do not fit side by side");
                listed += is_list;
                drawn += !is_list;
                /* the owner under the server: the end of a long name with a number */
                assert_int_equal(strstr(text, utf8 ? "▶234" : ">234") != NULL, !is_list);
                char *rest = text, *line;
                while ((line = strsep(&rest, "\n")))
                    assert_in_range(text_width(line), 0, COLUMNS);
                free(text);
            }
    assert_in_range(drawn, 1, 12 * SERVERS_MAX * 2);
    assert_in_range(listed, 1, 12 * SERVERS_MAX * 2);
}

/* 12 clients 4 apart end at column 55, 7 servers at least 4 apart at 83: 12 columns are left, and
 * words want 30. What needs no columns stays: times, marks, overlaps. */
static void too_many_columns_become_a_list(void **state)
{
    (void)state;
    struct hand hand = {0};
    begin(&hand, "wide.jsonl", 12, 7);
    call(&hand, 11);
    message(&hand, EVENT_SEND, 11, 6);
    message(&hand, EVENT_EXECUTE, 11, 6);
    end(&hand);
    const char *const lines[] = {
        "(12 clients and 7 servers do not fit side by side: the events alone)",
        "       ms",
        "      0.1     L acquires: SET lock 5 NX PX 300 to server 7",
        ">     0.2     server 7 executes L's SET -> OK",
        "",
        "  > seen here",
        "",
        NULL};
    char *text = printed("wide.jsonl", 2, CHARSET_ASCII);
    expect_lines(text, lines);
    free(text);
}

static void a_long_history_without_a_place_says_so(void **state)
{
    (void)state;
    struct hand hand = {0};
    begin(&hand, "long.jsonl", 1, 1);
    for (int i = 0; i < 400; i++) {
        hand.history.attempts[0]++;
        call(&hand, 0);
    }
    end(&hand);
    char *text = printed("long.jsonl", -1, CHARSET_ASCII);
    assert_string_equal(text, "(too long to be drawn, and no violation says where to look)\n");
    free(text);
}

static void what_is_no_history_is_told(void **state)
{
    (void)state;
    struct failure failure = {0};
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    assert_int_equal(report_timeline(out, "/no/such/history", -1, CHARSET_UTF8, &failure),
                     FAIL_INPUT);
    expect_in(failure.text, "/no/such/history");
    fclose(out);
}

/* --- rows of results --- */

static void rows_are_chosen_by_name(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct timeline_choice choice = {.run_folder = folder};
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    int all = -1, some = -1, none = -1;
    assert_int_equal(report_timelines(out, &sample, &choice, CHARSET_UTF8, &all, &failure),
                     FAIL_NONE);
    choice.scheme = "set-nx-ex-del";
    assert_int_equal(report_timelines(out, &sample, &choice, CHARSET_UTF8, &some, &failure),
                     FAIL_NONE);
    choice.scheme = "no-such-scheme";
    assert_int_equal(report_timelines(out, &sample, &choice, CHARSET_UTF8, &none, &failure),
                     FAIL_NONE);
    int violated = 0, named = 0;
    for (int i = 0; i < sample.rows_count; i++) {
        const struct result_row *row = &sample.rows[i];
        bool is_drawn = row->history && row->verdict == VERDICT_VIOLATED;
        violated += is_drawn;
        named += is_drawn && !strcmp(row->scheme, "set-nx-ex-del");
    }
    assert_int_equal(all, violated);
    assert_int_equal(some, named);
    assert_true(some > 0);
    assert_int_equal(none, 0);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_double_delete_in_box_characters),
        cmocka_unit_test(the_same_in_ascii),
        cmocka_unit_test(a_good_release_is_not_marked),
        cmocka_unit_test(three_servers_fan_out),
        cmocka_unit_test(a_server_that_nobody_asks_has_no_column),
        cmocka_unit_test(messages_side_by_side_do_not_mix),
        cmocka_unit_test(a_resend_is_one_message),
        cmocka_unit_test(no_line_is_too_wide),
        cmocka_unit_test(too_many_columns_become_a_list),
        cmocka_unit_test(a_long_history_without_a_place_says_so),
        cmocka_unit_test(what_is_no_history_is_told),
        cmocka_unit_test(rows_are_chosen_by_name),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
