/* Tests of what picklock and a worker say to each other, as text; and of the worker's command line.
 */
#include "worker/look.h"
#include "worker/wire_words.h"
#include "worker/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct worker_answer read_answer(const char *line)
{
    struct worker_answer answer;
    struct failure failure = {0};
    assert_int_equal(protocol_read(line, strlen(line), &answer, &failure), FAIL_NONE);
    return answer;
}

static void refuses(const char *line, const char *words)
{
    struct worker_answer answer;
    struct failure failure = {0};
    assert_int_equal(protocol_read(line, strlen(line), &answer, &failure), FAIL_INPUT);
    if (!strstr(failure.text, words))
        fail_msg("'%s' does not say '%s'", failure.text, words);
}

static void test_answers(void **state)
{
    (void)state;
    struct worker_answer answer = read_answer(
        "{\"id\":1,\"ready\":true,\"promises\":[\"expiry\",\"fence\"],\"library\":\"a\\u0007b\"}");
    assert_int_equal(answer.kind, ANSWER_READY);
    assert_int_equal(answer.promises, 1u << WORKER_PROMISES_EXPIRY | 1u << WORKER_PROMISES_FENCE);
    assert_string_equal(answer.library, "a.b");
    answer = read_answer("{\"id\":2,\"ok\":true,\"fence\":12}");
    assert_int_equal(answer.kind, ANSWER_OK);
    assert_int_equal(answer.id, 2);
    assert_true(answer.has_fence);
    assert_int_equal(answer.fence, 12);
    answer = read_answer("{\"id\":3,\"ok\":false,\"fence\":null}");
    assert_int_equal(answer.kind, ANSWER_NOT_OK);
    assert_false(answer.has_fence);
    answer = read_answer(" {\"error\":\"timeout\",\"id\":4} ");
    assert_int_equal(answer.kind, ANSWER_ERROR);
    assert_string_equal(answer.error, "timeout");
    answer = read_answer("{\"id\":5,\"monotonic_us\":1,\"wall_us\":2}");
    assert_int_equal(answer.kind, ANSWER_TIME);
    assert_int_equal(answer.wall_us, 2);
    assert_int_equal(read_answer("{\"event\":\"lost\"}").kind, ANSWER_LOST);
}

static void test_what_is_no_answer(void **state)
{
    (void)state;
    refuses("hello", "this is no JSON: 'hello'");
    refuses("", "this is no JSON");
    refuses("3", "a line is a JSON object");
    refuses("{\"id\":1}", "an answer has one of");
    refuses("{\"ok\":true}", "'id' is missing");
    refuses("{\"id\":\"1\",\"ok\":true}", "'id' is the number");
    refuses("{\"id\":1,\"ok\":1}", "'ok' is true or false");
    refuses("{\"id\":1,\"ok\":true,\"fense\":3}", "unknown member 'fense', did you mean 'fence'");
    refuses("{\"id\":1,\"ok\":true,\"fence\":\"3\"}", "'fence' is a whole number");
    refuses("{\"id\":1,\"error\":3}", "'error' is a text");
    refuses("{\"event\":\"found\"}", "'event' is \"lost\"");
    refuses("{\"id\":1,\"ready\":false}", "'ready' is true");
    refuses("{\"id\":1,\"ready\":true,\"promises\":\"expiry\"}", "a list of words");
    refuses("{\"id\":1,\"ready\":true,\"promises\":[1]}", "a list of words");
    refuses("{\"id\":1,\"ready\":true,\"promises\":[\"fences\"]}", "did you mean 'fence'");
    refuses("{\"id\":1,\"ready\":true,\"promises\":[\"semaphore\"]}",
            "a lock that several may hold");
    refuses("{\"id\":1,\"wall_us\":2}", "come together");
    refuses("{\"id\":1,\"id\":2,\"ok\":true}", "this is no JSON");
}

static void prints(struct worker_request request, const char *expected)
{
    char *line = protocol_print(&request);
    assert_string_equal(line, expected);
    free(line);
}

static void test_requests(void **state)
{
    const struct worker_settings settings = {.key = "k",
                                             .client = 1,
                                             .name = "B",
                                             .ttl_us = 1500000,
                                             .work_us = 10000,
                                             .ports = {41001, 41002},
                                             .servers = 2};
    (void)state;
    prints((struct worker_request){.op = WORKER_INIT, .id = 1, .settings = &settings},
           "{\"op\":\"init\",\"id\":1,\"key\":\"k\",\"client\":1,\"name\":\"B\",\"ttl_ms\":1500,"
           "\"work_ms\":10,"
           "\"servers\":[\"127.0.0.1:41001\",\"127.0.0.1:41002\"],"
           "\"user\":\"default\",\"password\":\"picklock\"}\n");
    prints((struct worker_request){.op = WORKER_ACQUIRE, .id = 2, .wait_us = 250000},
           "{\"op\":\"acquire\",\"id\":2,\"wait_ms\":250}\n");
    prints((struct worker_request){.op = WORKER_RELEASE, .id = 3},
           "{\"op\":\"release\",\"id\":3}\n");
    prints((struct worker_request){.op = WORKER_CANCEL, .id = 4, .of = 2},
           "{\"op\":\"cancel\",\"id\":4,\"of\":2}\n");
}

static void splits(const char *command, int count, const char *const *expected)
{
    char *words[WORKER_WORDS_MAX + 1];
    struct failure failure = {0};
    assert_int_equal(worker_split(command, words, &failure), FAIL_NONE);
    for (int i = 0; i < count; i++)
        assert_string_equal(words[i], expected[i]);
    assert_null(words[count]);
    free(words[0]);
}

static void test_command_lines(void **state)
{
    char *words[WORKER_WORDS_MAX + 1], many[3 * WORKER_WORDS_MAX + 3];
    struct failure failure = {0};
    (void)state;
    splits("  python3\tmy_lock.py ", 2, (const char *const[]){"python3", "my_lock.py"});
    splits("sh -c 'a | b > \"c\"'", 3, (const char *const[]){"sh", "-c", "a | b > \"c\""});
    splits("a \"b \\\" \\\\ \\n\" c\\ d '' e\"f\"'g'", 5,
           (const char *const[]){"a", "b \" \\ \\n", "c d", "", "efg"});
    assert_int_equal(worker_split("a 'b", words, &failure), FAIL_INPUT);
    assert_int_equal(worker_split("a; b", words, &failure), FAIL_INPUT);
    assert_int_equal(worker_split(" \n", words, &failure), FAIL_INPUT);
    memset(many, ' ', sizeof many);
    for (size_t i = 0; i <= WORKER_WORDS_MAX; i++)
        many[2 * i] = 'a';
    many[sizeof many - 1] = '\0';
    assert_int_equal(worker_split(many, words, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "too many words"));
}

static void shows_request(const char *bytes, const char *expected)
{
    char text[120];
    assert_string_equal(wire_request_print(bytes, strlen(bytes), text, sizeof text), expected);
}

static void shows_reply(const char *bytes, const char *expected)
{
    char text[120];
    assert_string_equal(wire_reply_print(bytes, strlen(bytes), text, sizeof text), expected);
}

static void test_words_of_the_wire(void **state)
{
    (void)state;
    shows_request("*2\r\n$3\r\nDEL\r\n$4\r\nlock\r\n", "DEL lock");
    shows_request("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\na\x01 \r\n", "SET k \"a\\x01 \"");
    shows_request("*2\r\n$3\r\nSET\r\n$100\r\nabc", "SET ..");
    shows_request("PING\r\n", "\"PING\\x0d\\n\"");
    shows_reply("+OK\r\n", "OK");
    shows_reply("$-1\r\n", "nil");
    shows_reply("_\r\n", "nil");
    shows_reply(":12\r\n", "12");
    shows_reply("-ERR no\r\n", "error: ERR no");
    shows_reply("$3\r\nabc\r\n", "abc");
    shows_reply("*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "[a, [1]]");
    shows_reply("%1\r\n+a\r\n:1\r\n", "[a, 1]");
    shows_reply("*9\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n",
                "[1, 2, 3, 4, 5, 6, 7, 8 ..]");
    shows_reply("$10\r\nab", "ab");
}

#define BEGINS "*1\r\n$5\r\nMULTI\r\n"
#define SETNX  "*3\r\n$5\r\nSETNX\r\n$4\r\nlock\r\n$1\r\nA\r\n"
#define GET    "*2\r\n$3\r\nGET\r\n$5\r\nother\r\n"
#define ENDS   "*1\r\n$4\r\nEXEC\r\n"

static bool refuses_by(const char *request, const char *reply)
{
    const struct exchange_seen seen = {.request = request,
                                       .request_length = strlen(request),
                                       .reply = reply,
                                       .reply_length = strlen(reply)};
    return look_refuses(&seen, "lock");
}

/* In a transaction the answer to what names the key counts. */
static void test_answers_that_refuse(void **state)
{
    (void)state;
    assert_true(refuses_by(SETNX, ":0\r\n"));
    assert_true(refuses_by(SETNX, "_\r\n"));
    assert_true(refuses_by(SETNX, "#f\r\n"));
    assert_false(refuses_by(SETNX, ":1\r\n"));
    assert_false(refuses_by(SETNX, "*1\r\n:0\r\n"));
    assert_true(refuses_by(BEGINS SETNX GET ENDS, "*2\r\n:0\r\n$1\r\nx\r\n"));
    assert_true(refuses_by(BEGINS GET SETNX ENDS, "*2\r\n*1\r\n*1\r\n:0\r\n:0\r\n"));
    assert_true(refuses_by(BEGINS SETNX ENDS, "*-1\r\n"));
    assert_false(refuses_by(BEGINS SETNX GET ENDS, "*2\r\n:1\r\n$-1\r\n"));
    assert_false(refuses_by(BEGINS SETNX ENDS, "-EXECABORT no\r\n"));
    assert_false(refuses_by(BEGINS GET SETNX ENDS, "*2\r\n$9\r\nx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),           cmocka_unit_test(test_what_is_no_answer),
        cmocka_unit_test(test_requests),          cmocka_unit_test(test_command_lines),
        cmocka_unit_test(test_words_of_the_wire), cmocka_unit_test(test_answers_that_refuse),
    };
    return cmocka_run_group_tests_name("worker_protocol", tests, NULL, NULL);
}
