/* test_history_pieces.c - a history in pieces that cannot be written on: what was written by then
 * is read as far as it goes, and nothing stands behind it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/history_text.h"

#include <signal.h>
#include <sys/resource.h>

static char names[1][NAME_MAX_BYTES] = {"A"};

static struct history_writer *write_pieces(int64_t piece_bytes)
{
    const struct history_head head = {.scenario = "a story",
                                      .world = "redis",
                                      .clients = 1,
                                      .servers = 1,
                                      .locks = 1,
                                      .lease_us = 300000,
                                      .unit_us = 1000,
                                      .is_streamed = true,
                                      .names = names};
    struct history_writer *writer;
    struct failure failure;
    assert_int_equal(history_writer_new(&writer, path, &head, &failure), FAIL_NONE);
    history_writer_rotate(writer, piece_bytes);
    assert_int_equal(history_writer_show(writer, &failure), FAIL_NONE);
    return writer;
}

/* Each call of an attempt of its own; *written counts them. */
static void take_calls(struct history_writer *writer, int count, int *written)
{
    struct event_sink sink = history_writer_sink(writer);
    for (int i = 0; i < count; i++, (*written)++) {
        const struct event event = {.index = *written,
                                    .time_us = *written,
                                    .from_us = *written,
                                    .kind = EVENT_CALL,
                                    .client = 0,
                                    .server = -1,
                                    .attempt = *written,
                                    .op = OP_ACQUIRE};
        sink.take(sink.context, &event);
    }
}

/* The events that can be read; failure: why no more can. */
static int read_pieces(struct failure *failure)
{
    struct history_reader *reader;
    struct history_head head;
    struct event event;
    bool is_end = false;
    int read = 0;
    assert_int_equal(history_reader_new(&reader, path, &head, failure), FAIL_NONE);
    while (history_reader_next(reader, &event, &is_end, failure) == FAIL_NONE && !is_end)
        read++;
    history_reader_free(reader);
    assert_false(is_end);
    return read;
}

/* Removes the pieces; how many there were. Where there is one behind a hole, the folder stays, and
 * remove_folder() fails. */
static int remove_pieces(void)
{
    char piece[sizeof path + 16];
    if (unlink(path) != 0)
        return 0;
    for (int number = 2;; number++) {
        snprintf(piece, sizeof piece, "%s.%d", path, number);
        if (unlink(piece) != 0)
            return number - 1;
    }
}

static void an_abandoned_piece_leaves_those_before_it(void **state)
{
    struct failure failure;
    int written = 0;
    (void)state;
    struct history_writer *writer = write_pieces(1);
    take_calls(writer, 3, &written);
    history_writer_abandon(writer);
    assert_int_equal(read_pieces(&failure), 3);
    assert_int_equal(failure.code, FAIL_UNKNOWN);
    assert_non_null(strstr(failure.text, "the history has no end: it goes on in "));
    assert_non_null(strstr(failure.text, "history.4, which is not there"));
    assert_int_equal(remove_pieces(), 3);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The limit on a file's size stands for a disk that is full for a while. */
static void the_first_piece_that_cannot_be_written_is_the_last(void **state)
{
    enum { CALLS_OF_PIECES = 3000, PIECE_BYTES = 64 * 1024 };
    struct failure failure;
    int written = 0;
    (void)state;
    struct history_writer *writer = write_pieces(PIECE_BYTES);
    take_calls(writer, CALLS_OF_PIECES, &written); /* some are in place, one is being put there */
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    limit_file_size(1000);
    take_calls(writer, CALLS_OF_PIECES, &written);
    limit_file_size(RLIM_INFINITY);
    signal(SIGXFSZ, handler);
    take_calls(writer, CALLS_OF_PIECES, &written);
    assert_int_equal(history_writer_close(writer, &failure), FAIL_INTERNAL);
    assert_non_null(strstr(failure.text, "cannot be written: File too large; `picklock check` "
                                         "judges what is there of it"));
    const int read = read_pieces(&failure);
    assert_int_equal(failure.code, FAIL_UNKNOWN);
    assert_non_null(strstr(failure.text, "could not write on"));
    const int pieces = remove_pieces(), of_a_piece = read / pieces;
    assert_in_range(pieces, 2, CALLS_OF_PIECES / of_a_piece);
    assert_true(read <= CALLS_OF_PIECES);
    assert_int_equal(rmdir(folder), 0); /* none behind the hole, and no temporary file */
    assert_int_equal(mkdir(folder, 0700), 0);
}

/* Where it is the first one, too. */
static void a_first_piece_stays_as_far_as_it_was_written(void **state)
{
    enum { LIMIT = 1000 };
    struct failure failure;
    int written = 0;
    (void)state;
    struct history_writer *writer = write_pieces(1000000);
    take_calls(writer, 1, &written);
    history_writer_prove(writer);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    limit_file_size(LIMIT);
    take_calls(writer, LIMIT, &written);
    const enum fail fail = history_writer_close(writer, &failure);
    limit_file_size(RLIM_INFINITY);
    signal(SIGXFSZ, handler);
    assert_int_equal(fail, FAIL_INTERNAL);
    assert_in_range(read_pieces(&failure), 2, LIMIT / 2);
    assert_int_equal(failure.code, FAIL_UNKNOWN);
    assert_int_equal(remove_pieces(), 1);
}

/* Of one that cannot be written at all nothing stands there: not even that it is one. */
static void without_room_for_its_head_it_is_not_begun(void **state)
{
    const struct history_head head = {.scenario = "a story",
                                      .clients = 1,
                                      .servers = 1,
                                      .locks = 1,
                                      .is_streamed = true,
                                      .names = names};
    struct history_writer *writer;
    struct failure failure;
    (void)state;
    assert_int_equal(history_writer_new(&writer, path, &head, &failure), FAIL_NONE);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    limit_file_size(20);
    const enum fail fail = history_writer_show(writer, &failure);
    limit_file_size(RLIM_INFINITY);
    signal(SIGXFSZ, handler);
    assert_int_equal(fail, FAIL_INTERNAL);
    assert_non_null(strstr(failure.text, "cannot be written: File too large"));
    history_writer_abandon(writer);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abandoned_piece_leaves_those_before_it),
        cmocka_unit_test(the_first_piece_that_cannot_be_written_is_the_last),
        cmocka_unit_test(a_first_piece_stays_as_far_as_it_was_written),
        cmocka_unit_test(without_room_for_its_head_it_is_not_begun),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
