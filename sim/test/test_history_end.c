/* test_history_end.c - what the end of a history says comes back as it went in. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char names[1][NAME_MAX_BYTES] = {"A"};

static struct history_doubts written_and_read(const struct history_doubts *said)
{
    struct history_head head = {.scheme = "set-nx-px-cad",
                                .scenario = "stress",
                                .world = "redis",
                                .clients = 1,
                                .servers = 1,
                                .locks = 1,
                                .names = names,
                                .lease_us = 1000};
    struct event event = {.kind = EVENT_FAULT, .client = -1, .fault = FAULT_RESTART};
    char path[] = "/tmp/picklock-test-XXXXXX";
    struct history_writer *writer;
    struct history_reader *reader;
    struct failure failure;
    bool is_end = false;
    const int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    assert_int_equal(history_writer_new(&writer, path, &head, &failure), FAIL_NONE);
    struct event_sink sink = history_writer_sink(writer);
    sink.take(sink.context, &event);
    if (said)
        history_writer_say_end(writer, said);
    assert_int_equal(history_writer_close(writer, &failure), FAIL_NONE);
    assert_int_equal(history_reader_new(&reader, path, &head, &failure), FAIL_NONE);
    assert_string_equal(history_reader_end(reader)->incomplete, "");
    while (!is_end)
        assert_int_equal(history_reader_next(reader, &event, &is_end, &failure), FAIL_NONE);
    const struct history_doubts read = *history_reader_end(reader);
    history_reader_free(reader);
    assert_int_equal(unlink(path), 0);
    return read;
}

static void all_of_it_comes_back(void **state)
{
    struct history_doubts said = {.is_partly_proved = true, .proved = 1};
    (void)state;
    memset(said.incomplete, 'x', HISTORY_WHY_MAX - 1);
    (void)snprintf(said.vacuous, sizeof said.vacuous, "\"nothing\" \\ struck");
    const struct history_doubts read = written_and_read(&said);
    assert_string_equal(read.incomplete, said.incomplete);
    assert_string_equal(read.vacuous, said.vacuous);
    assert_true(read.is_partly_proved);
    assert_int_equal(read.proved, 1);
}

static void who_says_nothing_says_nothing(void **state)
{
    (void)state;
    const struct history_doubts read = written_and_read(NULL);
    assert_string_equal(read.incomplete, "");
    assert_string_equal(read.vacuous, "");
    assert_false(read.is_partly_proved);
}

/* Before its end line, or without one, a history says how much of it is proved. */
static void what_is_proved_is_read_where_there_is_no_end(void **state)
{
    const struct history_head head = {
        .clients = 1, .servers = 1, .locks = 1, .names = names, .is_streamed = true};
    char path[] = "/tmp/picklock-test-XXXXXX";
    struct history_writer *writer;
    struct history_reader *reader;
    struct history_head read;
    struct failure failure;
    struct event event;
    bool is_end = false;
    (void)state;
    const int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    assert_int_equal(history_writer_new(&writer, path, &head, &failure), FAIL_NONE);
    assert_int_equal(history_writer_show(writer, &failure), FAIL_NONE);
    const struct event_sink sink = history_writer_sink(writer);
    for (int i = 0; i < 4; i++) {
        if (i == 2)
            history_writer_prove(writer);
        sink.take(
            sink.context,
            &(struct event){.index = i, .kind = EVENT_FAULT, .client = -1, .fault = FAULT_RESTART});
    }
    assert_null(history_writer_flush(writer));
    assert_int_equal(history_reader_new(&reader, path, &read, &failure), FAIL_NONE);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(history_reader_next(reader, &event, &is_end, &failure), FAIL_NONE);
        assert_int_equal(history_reader_end(reader)->is_partly_proved, i >= 2);
        assert_int_equal(history_reader_end(reader)->proved, i >= 2 ? 2 : 0);
    }
    assert_int_equal(history_reader_next(reader, &event, &is_end, &failure), FAIL_UNKNOWN);
    history_reader_free(reader);
    history_writer_abandon(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_comes_back),
        cmocka_unit_test(who_says_nothing_says_nothing),
        cmocka_unit_test(what_is_proved_is_read_where_there_is_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
