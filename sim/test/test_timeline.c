/* test_timeline.c - the space-time diagram: the right bars, arrows and words, and only the
 * neighbourhood of a violation in a long history. */
#include "report/timeline.h"
#include "test/sample_results.h"

#include <stdlib.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h> /* last: its fail() is a macro */

#include "test/report_common.h"

static struct timeline *timeline_of(const char *name, int64_t first_index)
{
    struct failure failure = {0};
    struct timeline *timeline;
    char *path = path_of(name);
    if (timeline_new(&timeline, path, first_index, &failure))
        fail_msg("%s", failure.text);
    free(path);
    return timeline;
}

static const struct timeline_bar *bar_of(const struct timeline *timeline, enum bar_kind kind, int n)
{
    for (int i = 0; i < timeline->bars_count; i++)
        if (timeline->bars[i].kind == kind && n-- == 0)
            return &timeline->bars[i];
    return NULL;
}

static int row_with(const struct timeline *timeline, const char *text)
{
    for (int i = 0; i < timeline->rows_count; i++)
        if (strstr(timeline->rows[i].text, text))
            return i;
    fail_msg("no row says: %s", text);
    return -1;
}

static char *drawn(const struct timeline *timeline)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    timeline_print_svg(out, timeline, "a label <b>");
    assert_int_equal(fclose(out), 0);
    return text;
}

static void the_double_delete_is_drawn_as_it_was(void **state)
{
    (void)state;
    struct timeline *timeline =
        timeline_of("histories/b.jsonl", sample.rows[1].properties[1].first_index);
    assert_false(timeline->is_part);
    assert_int_equal(timeline->clients_count, 3);
    int lease_end = row_with(timeline, "A's own lease ends");
    int strike = row_with(timeline, "the server executes A's DEL → 1, removes B's key");
    int grant = row_with(timeline, "C hears OK: it has the lock");
    assert_int_equal(timeline->rows[lease_end].time_us, 300100); /* 100 us call + 300 ms */
    assert_int_equal(timeline->rows[strike].kind, ROW_ALERT);
    assert_true(timeline->rows[grant].is_violation);

    const struct timeline_bar *hold = bar_of(timeline, BAR_HOLD, 0); /* A's */
    assert_int_equal(hold->client, 0);
    assert_int_equal(hold->late_from, lease_end);
    assert_int_equal(hold->to, row_with(timeline, "A releases: DEL lock"));
    const struct timeline_bar *key = bar_of(timeline, BAR_KEY, 0),
                              *second = bar_of(timeline, BAR_KEY, 1);
    assert_int_equal(key->client, 0);
    assert_int_equal(key->to, row_with(timeline, "A's key expires"));
    assert_int_equal(second->client, 1);
    assert_int_equal(second->to, strike);                /* B's key ends with A's DEL */
    assert_true(bar_of(timeline, BAR_HOLD, 1)->is_open); /* B still believes */
    assert_int_equal(timeline->arrows_count, 8);         /* four commands, there and back */

    char *svg = drawn(timeline);
    expect_in(svg, "<rect class=\"overlap\" ");      /* B and C, inside their leases */
    expect_in(svg, "<rect class=\"overlap late\" "); /* A and B: an overrun */
    expect_in(svg, "<title>a label &lt;b&gt;</title>");
    free(svg);
    timeline_free(timeline);
}

static void a_compared_delete_strikes_nobody(void **state)
{
    (void)state;
    struct timeline *timeline = timeline_of("histories/a.jsonl", -1);
    int row = row_with(timeline, "the server executes A's compare-and-delete → 0");
    assert_int_equal(timeline->rows[row].kind, ROW_PLAIN);
    for (int i = 0; i < timeline->rows_count; i++) {
        assert_int_not_equal(timeline->rows[i].kind, ROW_ALERT);
        assert_false(timeline->rows[i].is_violation);
    }
    assert_true(bar_of(timeline, BAR_KEY, 1)->is_open); /* B's key stands */
    char *svg = drawn(timeline);
    expect_not_in(svg, "<rect class=\"overlap\" ");
    expect_in(svg, "<rect class=\"overlap late\" ");
    free(svg);
    timeline_free(timeline);
}

/* Starts a history of two clients and one server at path_of(name). */
static void begin(struct sample_history *history, struct history_writer **writer, const char *name,
                  int clients, char (*names)[NAME_MAX_BYTES])
{
    struct failure failure = {0};
    struct history_head head = {.scheme = "set-nx-px-cad",
                                .scenario = "test",
                                .world = "sim",
                                .clients = clients,
                                .servers = 1,
                                .locks = 1,
                                .names = names,
                                .lease_us = 300000,
                                .unit_us = 1000};
    char *path = path_of(name);
    if (history_writer_new(writer, path, &head, &failure))
        fail_msg("%s", failure.text);
    *history = (struct sample_history){.sink = history_writer_sink(*writer)};
    free(path);
}

/* Both got the lock at once; A's own lease ends first. */
static void an_overlap_changes_when_a_lease_ends(void **state)
{
    (void)state;
    char names[2][NAME_MAX_BYTES] = {"A", "B"};
    struct history_writer *writer;
    struct sample_history history;
    begin(&history, &writer, "overlap.jsonl", 2, names);
    sample_acquire(&history, 0);
    sample_acquire(&history, 1);
    history.time_us += 299800;
    sample_operation(&history, 1, OP_RELEASE, (struct command){.verb = VERB_DEL},
                     (struct reply){.kind = REPLY_INTEGER, .value = 1},
                     RESULT_RELEASED); /* behind the end of A's lease, before that of B's */
    assert_int_equal(history_writer_close(writer, NULL), FAIL_NONE);
    struct timeline *timeline = timeline_of("overlap.jsonl", -1);
    int start = row_with(timeline, "B hears OK"), late = row_with(timeline, "A's own lease ends"),
        end = row_with(timeline, "B releases");
    assert_int_equal(timeline->overlaps_count, 2);
    const struct timeline_overlap *both = &timeline->overlaps[0], *one = &timeline->overlaps[1];
    assert_false(both->is_late);
    assert_int_equal(both->from, start);
    assert_int_equal(both->to, late);
    assert_true(one->is_late);
    assert_int_equal(one->from, late);
    assert_int_equal(one->to, end);
    assert_int_equal(timeline->rows[start - 1].overlap, OVERLAP_NONE);
    assert_int_equal(timeline->rows[start].overlap, OVERLAP_FULL);
    assert_int_equal(timeline->rows[late].overlap, OVERLAP_LATE);
    assert_int_equal(timeline->rows[end].overlap, OVERLAP_NONE);
    assert_string_equal(timeline->rows[late].gap, "299 ms");
    char *svg = drawn(timeline);
    expect_in(svg, "<rect class=\"overlap\" ");
    expect_in(svg, "<rect class=\"overlap late\" ");
    free(svg);
    timeline_free(timeline);
}

/* --- faults --- */

static void fault(struct sample_history *history, const char *name, int client, int server,
                  enum verb verb, int64_t amount_us)
{
    struct event event = {
        .kind = EVENT_FAULT, .client = client, .server = server, .amount_us = amount_us};
    event.command.verb = verb;
    assert_true(fault_read(name, &event.fault));
    history->time_us += 100;
    sample_event(history, event);
}

static void faults_end_what_they_end(void **state)
{
    (void)state;
    char names[2][NAME_MAX_BYTES] = {"A", "B"};
    struct history_writer *writer;
    struct sample_history history;
    struct command set = {.verb = VERB_SET_NX_PX, .value = 5, .ttl_us = 300000};
    begin(&history, &writer, "faults.jsonl", 2, names);
    sample_acquire(&history, 0);
    fault(&history, "server-clock", -1, 0, VERB_GET, 250000); /* the key expires at 50 ms */
    fault(&history, "crash", 0, -1, VERB_GET, 0);
    history.time_us += 100000;
    struct event event = {.kind = EVENT_CALL, .client = 1, .server = -1, .op = OP_ACQUIRE};
    sample_event(&history, event);
    event = (struct event){
        .kind = EVENT_SEND, .client = 1, .server = 0, .op = OP_ACQUIRE, .command = set};
    sample_event(&history, event);
    fault(&history, "lose-request", 1, 0, VERB_SET_NX_PX, 0);
    fault(&history, "restart-empty", -1, 0, VERB_GET, 0);
    assert_int_equal(history_writer_close(writer, NULL), FAIL_NONE);

    struct timeline *timeline = timeline_of("faults.jsonl", -1);
    const struct timeline_bar *hold = bar_of(timeline, BAR_HOLD, 0),
                              *key = bar_of(timeline, BAR_KEY, 0);
    assert_int_equal(hold->to, row_with(timeline, "A crashes"));
    assert_int_equal(hold->late_from, -1); /* dead before its lease ended: no lease end is told */
    int expiry = row_with(timeline, "A's key expires");
    assert_int_equal(key->to, expiry);
    assert_int_equal(timeline->rows[expiry].time_us,
                     50200); /* executed at 0.2 ms, 300 - 250 ms later */
    assert_int_equal(timeline->rows[row_with(timeline, "B's SET to server 1 is lost")].kind,
                     ROW_FAULT);
    assert_int_equal(timeline->arrows[timeline->arrows_count - 1].kind, ARROW_REQUEST_LOST);
    row_with(timeline, "server 1 restarts empty");
    timeline_free(timeline);
}

/* A copy travels from where it was made, a refusal comes back from where it was given; what nobody
 * waits for is heard by nobody. */
static void copies_and_refusals_are_drawn(void **state)
{
    (void)state;
    char names[2][NAME_MAX_BYTES] = {"A", "B"};
    struct history_writer *writer;
    struct sample_history history;
    struct command del = {.verb = VERB_DEL};
    begin(&history, &writer, "copies.jsonl", 2, names);
    struct event sent = {.kind = EVENT_SEND, .server = 0, .op = OP_RELEASE, .command = del};
    struct event executed = sent, heard = sent;
    executed.kind = EVENT_EXECUTE;
    heard.kind = EVENT_HEAR;
    sample_event(&history, sent);
    fault(&history, "duplicate", 0, 0, VERB_DEL, 0);
    sample_event(&history, executed);
    sample_event(&history, executed);
    sample_event(&history, heard);
    sample_event(&history, sent);
    fault(&history, "answer-error", 0, 0, VERB_DEL, 0);
    sample_event(&history, heard);
    assert_int_equal(history_writer_close(writer, NULL), FAIL_NONE);

    struct timeline *timeline = timeline_of("copies.jsonl", -1);
    static const enum arrow_kind kinds[] = {ARROW_REQUEST, ARROW_REQUEST, ARROW_REPLY,
                                            ARROW_REQUEST, ARROW_REPLY};
    int copied = row_with(timeline, "A's DEL to server 1 is sent twice");
    int refused = row_with(timeline, "A's DEL to server 1 is answered with");
    assert_int_equal(timeline->arrows_count, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(timeline->arrows[i].kind, kinds[i]);
    assert_int_equal(timeline->arrows[1].from, copied);
    assert_int_equal(timeline->arrows[2].from, timeline->arrows[0].to);
    assert_int_equal(timeline->arrows[3].to, refused);
    assert_int_equal(timeline->arrows[4].from, refused);
    timeline_free(timeline);
}

/* A renewal's answer puts the end of the lease off, to a lease behind its request. Without it, or
 * with a refusal (0), the lease ends when it would have; a late one takes the word back. */
static void a_renewal_moves_the_end_of_the_lease(void **state)
{
    (void)state;
    static const struct {
        int64_t sent_us, replied, released_us; /* sent_us -1: none */
        int ends;                              /* how often the lease is said to end */
        int64_t end_us;                        /* the last time */
        bool is_late;                          /* the hold is beyond its lease in the end */
    } rows[] = {
        {-1, 0, 700000, 1, 300100, true},     {100000, 1, 700000, 1, 400000, true},
        {100000, 0, 700000, 1, 300100, true}, {299000, 1, 700000, 1, 599000, true},
        {350000, 1, 700000, 2, 650000, true}, {350000, 1, 500000, 1, 300100, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char names[1][NAME_MAX_BYTES] = {"A"};
        struct history_writer *writer;
        struct sample_history history;
        struct command extend = {.verb = VERB_COMPARE_EXPIRE, .value = 5, .ttl_us = 300000};
        struct reply reply = {.kind = REPLY_INTEGER, .value = rows[i].replied};
        begin(&history, &writer, "renewed.jsonl", 1, names);
        sample_acquire(&history, 0);
        if (rows[i].sent_us >= 0) {
            history.time_us = rows[i].sent_us;
            sample_command(&history, 0, OP_EXTEND, extend, reply);
        }
        history.time_us = rows[i].released_us;
        struct event release = {.kind = EVENT_CALL, .server = -1, .op = OP_RELEASE};
        sample_event(&history, release);
        assert_int_equal(history_writer_close(writer, NULL), FAIL_NONE);

        struct timeline *timeline = timeline_of("renewed.jsonl", -1);
        int ends = 0, last = -1;
        for (int row = 0; row < timeline->rows_count; row++)
            if (strstr(timeline->rows[row].text, "A's own lease ends")) {
                last = row;
                ends++;
            }
        assert_int_equal(ends, rows[i].ends);
        assert_int_equal(timeline->rows[last].time_us, rows[i].end_us);
        assert_int_equal(bar_of(timeline, BAR_HOLD, 0)->late_from, rows[i].is_late ? last : -1);
        timeline_free(timeline);
    }
}

/* --- long histories --- */

enum { CROWD = 50, ROUNDS = 200 };

/* CROWD clients ask in turn; c1 gets the lock, c2 deletes its key, c3 gets the lock. Returns the
 * index of that grant. */
static int64_t write_crowd(void)
{
    char(*names)[NAME_MAX_BYTES] = memory_new(CROWD, NAME_MAX_BYTES);
    struct history_writer *writer;
    struct sample_history history;
    struct command set = {.verb = VERB_SET_NX_PX, .value = 1, .ttl_us = 300000};
    struct command del = {.verb = VERB_DEL};
    int64_t violation = -1;
    for (int i = 0; i < CROWD; i++)
        snprintf(names[i], NAME_MAX_BYTES, "c%d", i + 1);
    begin(&history, &writer, "crowd.jsonl", CROWD, names);
    for (int round = 0; round < ROUNDS; round++) {
        for (int client = 20; client < CROWD; client++) {
            struct event call = {
                .kind = EVENT_CALL, .client = client, .server = -1, .op = OP_ACQUIRE};
            history.time_us += 10;
            history.attempts[client]++;
            sample_event(&history, call);
        }
        if (round != ROUNDS / 2)
            continue;
        struct sample_history *at = &history;
        sample_event(
            at, (struct event){.kind = EVENT_CALL, .client = 0, .server = -1, .op = OP_ACQUIRE});
        sample_command(at, 0, OP_ACQUIRE, set, (struct reply){.kind = REPLY_OK});
        sample_event(at, (struct event){.kind = EVENT_RETURN,
                                        .client = 0,
                                        .server = -1,
                                        .op = OP_ACQUIRE,
                                        .result = RESULT_GRANTED});
        sample_operation(at, 1, OP_RELEASE, del, (struct reply){.kind = REPLY_INTEGER, .value = 1},
                         RESULT_RELEASED);
        sample_operation(at, 2, OP_ACQUIRE, set, (struct reply){.kind = REPLY_OK}, RESULT_GRANTED);
        violation = at->index - 1;
    }
    assert_int_equal(history_writer_close(writer, NULL), FAIL_NONE);
    free(names);
    return violation;
}

static void a_long_history_is_drawn_around_the_violation(void **state)
{
    (void)state;
    int64_t violation = write_crowd();
    struct timeline *timeline = timeline_of("crowd.jsonl", violation);
    assert_non_null(timeline);
    assert_true(timeline->is_part);
    assert_int_equal(timeline->clients_count,
                     3); /* those whose turns they were; nobody who only asked */
    for (int i = 0; i < 3; i++)
        assert_in_range(timeline->clients[i], 0, 2);
    assert_in_range(timeline->rows_count, 8, 20);
    row_with(timeline, "the server executes c2's DEL → 1, removes c1's key");
    assert_true(timeline->rows[row_with(timeline, "c3 hears OK: it has the lock")].is_violation);
    timeline_free(timeline);
    assert_null(timeline_of("crowd.jsonl", -1)); /* nothing says where to look */
}

static void a_cut_history_is_told(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct timeline *timeline;
    char *whole = path_of("histories/a.jsonl"), *path = path_of("cut.jsonl"),
         *text = text_of(whole);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fwrite(text, 1, strlen(text) / 2, out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(timeline_new(&timeline, path, -1, &failure), FAIL_INPUT);
    assert_null(timeline);
    expect_in(failure.text, "cut.jsonl:");
    assert_int_equal(timeline_new(&timeline, "/no/such/history", -1, &failure), FAIL_INPUT);
    free(whole);
    free(path);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_double_delete_is_drawn_as_it_was),
        cmocka_unit_test(a_compared_delete_strikes_nobody),
        cmocka_unit_test(an_overlap_changes_when_a_lease_ends),
        cmocka_unit_test(faults_end_what_they_end),
        cmocka_unit_test(copies_and_refusals_are_drawn),
        cmocka_unit_test(a_renewal_moves_the_end_of_the_lease),
        cmocka_unit_test(a_long_history_is_drawn_around_the_violation),
        cmocka_unit_test(a_cut_history_is_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
