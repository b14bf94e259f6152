/* test_watch.c - `picklock watch`: the words of requests, be they hostile; events that wait for an
 * answer; which keys a pattern can mean. Whole runs are in harness/test_watch.py. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "watch/keys.h"
#include "watch/story.h"
#include "watch/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void words_are_those_of_all_requests(void **state)
{
    static const char bytes[] =
        "*2\r\n$3\r\nGET\r\n$5\r\na b\r\n\r\nPING  there\r\n*1\r\n$0\r\n\r\n";
    struct request_words words = {0};
    (void)state;
    assert_true(words_read(&words, bytes, sizeof bytes - 1));
    assert_int_equal(words.count, 5);
    assert_true(words_is(&words, 0, "get"));
    assert_int_equal(words.lengths[1], 5);
    assert_memory_equal(words.at[1], "a b\r\n", 5);
    assert_true(words_is(&words, 3, "there"));
    assert_int_equal(words.lengths[4], 0);
    words_free(&words);
}

static void texts_of_a_reply_are_read_whatever_stands_between(void **state)
{
    static const struct {
        const char *reply;
        int count;
        const char *last;
    } rows[] = {{"$3\r\na b\r\n", 1, "a b"},
                {"*3\r\n$-1\r\n:7\r\n*1\r\n$2\r\n\r\n\r\n", 1, "\r\n"},
                {"%1\r\n$1\r\na\r\n$1\r\nb\r\n", 2, "b"},
                {"+OK\r\n", 0, NULL},
                {"$-1\r\n", 0, NULL},
                {"$9\r\nab\r\n", 0, NULL},
                {"$", 0, NULL},
                {"", 0, NULL}};
    struct request_words words = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        words_read_reply(&words, rows[i].reply, strlen(rows[i].reply));
        assert_int_equal(words.count, rows[i].count);
        if (!words.count)
            continue;
        assert_int_equal(words.lengths[words.count - 1], strlen(rows[i].last));
        assert_memory_equal(words.at[words.count - 1], rows[i].last, strlen(rows[i].last));
    }
    words_free(&words);
}

static void words_that_are_not_there_are_not_read(void **state)
{
    static const char *const cut[] = {"*2\r\n$3\r\nGET\r\n$5\r\nab",
                                      "*1\r\n$9223372036854775807\r\nab\r\n",
                                      "*1\r\n$-1\r\n",
                                      "*1",
                                      "*9999999\r\n",
                                      "*1\r\n$3\r\nGE",
                                      "PING"};
    struct request_words words = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        char *exact = malloc(strlen(cut[i])); /* nothing stands behind it */
        assert_non_null(exact);
        memcpy(exact, cut[i], strlen(cut[i]));
        assert_false(words_read(&words, exact, strlen(cut[i])));
        free(exact);
    }
    words_free(&words);
}

static void patterns_are_looked_for_by_what_every_match_has(void **state)
{
    static const struct {
        const char *pattern, *bytes;
        bool may_match;
    } cases[] = {{"lock:*", "$6\r\nlock:1\r\n", true},
                 {"lock:*", "$5\r\nlock1\r\n", false},
                 {"*:lock:?", "$4\r\nlock\r\n", false},
                 {"*:lock:?", "a:lock:b", true},
                 {"*", "anything", true},
                 {"[ab]lock", "xlock", true},
                 {"a\\*b", "a*b", true}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct keys *keys = calloc(1, sizeof *keys);
        assert_non_null(keys);
        keys_set_patterns(keys, cases[i].pattern, NULL);
        assert_int_equal(keys_may_match(keys, cases[i].bytes, strlen(cases[i].bytes)),
                         cases[i].may_match);
        free(keys);
    }
}

static void a_key_has_one_row_while_others_lose_theirs(void **state)
{
    enum { NAMES = 3 * WATCHED_KEYS_MAX, LOCK = 7 };
    struct keys *keys = calloc(1, sizeof *keys);
    char name[24];
    (void)state;
    assert_non_null(keys);
    keys_set_patterns(keys, "lock:*", NULL);
    for (int i = 0; i < NAMES; i++) {
        const size_t length = (size_t)snprintf(name, sizeof name, "lock:%d", i);
        const int row = keys_row(keys, 0, name, length), other = keys_row(keys, 1, name, length);
        assert_int_not_equal(row, NO_KEY);
        assert_int_not_equal(row, other);
        assert_int_equal(keys_row(keys, 0, name, length), row);
        assert_int_equal(keys_row(keys, 1, name, length), other);
        assert_string_equal(keys->rows[row].name, name);
        keys->rows[row].is_lock = i == LOCK;
    }
    assert_int_equal(keys_row(keys, 0, "lock:7", 6), 2 * LOCK); /* it was never free */
    assert_int_equal(keys_row(keys, 0, "lock:\0", 6), NO_KEY);
    assert_true(keys->rows[2 * LOCK].is_lock);
    for (int i = 0; i < WATCHED_KEYS_MAX; i++)
        keys->rows[i].is_lock = true;
    assert_int_equal(keys_row(keys, 0, "lock:new", 8), NO_KEY);
    free(keys);
}

/* By two clocks that differ by a thousandth an end may come as much sooner. */
static void a_key_is_gone_early_where_no_clock_explains_it(void **state)
{
    enum { LEASE_US = 10000000, SLACK_US = 15000 };
    const struct watched_key lasting = {.ends_us = INT64_MAX},
                             key = {.left_us = 1000, .ends_us = 1000 + LEASE_US};
    (void)state;
    assert_true(key_is_gone_early(&lasting, LEASE_US));
    assert_true(key_is_gone_early(&key, key.ends_us - SLACK_US - 1));
    assert_false(key_is_gone_early(&key, key.ends_us - SLACK_US / 2));
    assert_false(key_is_gone_early(&key, key.ends_us));
}

static int longest_bucket(const struct keys *keys)
{
    int longest = 0;
    for (int i = 0; i < KEY_BUCKETS; i++) {
        int length = 0;
        for (int at = keys->buckets[i]; at; at = keys->rows[at - 1].next)
            length++;
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Numbers behind a common beginning, of any length, with leading zeros or without. */
static void keys_that_differ_in_few_letters_share_no_bucket(void **state)
{
    static const char *const forms[] = {"lock:%d",        "lock:%03d",         "lock:%012d",
                                        "lock:%d:orders", "lock:order-%d:row", "lock:%016d"};
    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        struct keys *keys = calloc(1, sizeof *keys);
        char name[40];
        assert_non_null(keys);
        keys_set_patterns(keys, "lock:*", NULL);
        for (int i = 0; i < 200; i++) {
            (void)snprintf(name, sizeof name, forms[f], i);
            const int row = keys_row(keys, 0, name, strlen(name));
            assert_int_equal(keys_find(keys, 0, name, strlen(name)), row);
            assert_int_equal(keys_find(keys, 1, name, strlen(name)), NO_KEY);
        }
        assert_true(longest_bucket(keys) <= 4);
        free(keys);
    }
}

/* --- a story --- */

static const struct event told = {.kind = EVENT_CALL, .op = OP_ACQUIRE, .server = -1};

static void tell(struct watched_story *story, int64_t time_us, struct question *question,
                 enum when when)
{
    struct event event = told;
    event.time_us = event.from_us = time_us;
    story_put(story, &event, question, when);
}

/* The times of the events in the file, one behind the other. */
static void times_in(const char *path, char *times, size_t size)
{
    char line[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    times[0] = '\0';
    while (fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "\"t\":");
        if (at)
            (void)snprintf(times + strlen(times), size - strlen(times), "%ld ",
                           strtol(at + 4, NULL, 10));
    }
    (void)fclose(file);
}

static char names[1][NAME_MAX_BYTES] = {"A"};
static const struct history_head head = {
    .scenario = "watch", .world = "redis", .clients = 1, .servers = 1, .locks = 1, .names = names};

/* A folder of its own, and the path of a history in it. */
static void make_folder(char *folder, char *path, size_t size)
{
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, size, "%s/history", folder);
}

static void events_wait_in_their_order_for_an_answer(void **state)
{
    char folder[] = "/tmp/test_watch-XXXXXX", path[64], times[128];
    struct history_writer *writer;
    struct failure failure;
    (void)state;
    make_folder(folder, path, sizeof path);
    assert_int_equal(history_writer_stream(&writer, path, 4096, &head, &failure), FAIL_NONE);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(history_writer_show(writer, &failure), FAIL_NONE);
    assert_int_equal(access(path, F_OK), 0);
    struct watched_story *story = story_new(writer);
    struct question *first = story_ask(story, 100), *second = story_ask(story, 1000);
    tell(story, 1, NULL, ALWAYS);
    tell(story, 2, first, WHEN_YES);
    tell(story, 3, first, WHEN_NO);
    tell(story, 4, second, WHEN_NO);
    tell(story, 5, second, WHEN_YES);
    tell(story, 6, NULL, ALWAYS);
    question_answer(second, true);
    story_flush(story, 99);
    assert_true(question_is_open(first)); /* and what is behind it waits, answered or not */
    story_flush(story, 100);
    assert_false(question_is_open(first));
    story_drop(first);
    story_drop(second);
    assert_int_equal(story_free(story), 4);
    head.names[0][0] = 'B';
    history_writer_head(writer, &head);
    assert_int_equal(history_writer_close(writer, &failure), FAIL_NONE);
    times_in(path, times, sizeof times);
    assert_string_equal(times, "1 3 5 6 ");

    struct history_reader *reader;
    struct history_head read;
    assert_int_equal(history_reader_new(&reader, path, &read, &failure), FAIL_NONE);
    assert_string_equal(read.names[0], "B");
    history_reader_free(reader);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_head_that_has_no_room_is_no_history(void **state)
{
    char folder[] = "/tmp/test_watch-XXXXXX", path[64];
    struct history_writer *writer;
    struct failure failure;
    (void)state;
    make_folder(folder, path, sizeof path);
    assert_int_equal(history_writer_stream(&writer, path, 40, &head, &failure), FAIL_NONE);
    assert_int_equal(history_writer_show(writer, &failure), FAIL_NONE);
    history_writer_head(writer, &head);
    assert_int_equal(history_writer_close(writer, &failure), FAIL_INTERNAL);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_all_requests),
        cmocka_unit_test(texts_of_a_reply_are_read_whatever_stands_between),
        cmocka_unit_test(words_that_are_not_there_are_not_read),
        cmocka_unit_test(patterns_are_looked_for_by_what_every_match_has),
        cmocka_unit_test(a_key_has_one_row_while_others_lose_theirs),
        cmocka_unit_test(a_key_is_gone_early_where_no_clock_explains_it),
        cmocka_unit_test(keys_that_differ_in_few_letters_share_no_bucket),
        cmocka_unit_test(events_wait_in_their_order_for_an_answer),
        cmocka_unit_test(a_head_that_has_no_room_is_no_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
