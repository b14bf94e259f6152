/* test_command.c - names, words, bytes and replies of the typed commands. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "redis/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ONE_S = 1000000, ONE_MS = 1000 };

static void names_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < VERB_COUNT; i++) {
        enum verb verb = VERB_COUNT;
        assert_true(verb_read(verb_name((enum verb)i), &verb));
        assert_string_equal(verb_name(verb), verb_name((enum verb)i));
        assert_true(verb_requests((enum verb)i) >= 1);
    }
    for (int i = EFFECT_READ; i <= EFFECT_DELETE; i++) {
        enum effect effect;
        assert_true(effect_read(effect_name((enum effect)i), &effect));
        assert_int_equal(effect, i);
    }
    for (int i = 0; i < KEY_COUNT; i++) {
        enum key key;
        assert_true(key_read(key_name((enum key)i), &key));
        assert_int_equal(key, i);
    }
    for (int i = 0; i < ERROR_COUNT; i++) {
        enum reply_error error;
        assert_true(reply_error_read(reply_error_name((enum reply_error)i), &error));
        assert_int_equal(error, i);
    }
}

static void a_name_of_several_rows_reads_as_the_first(void **state)
{
    (void)state;
    enum verb verb = VERB_COUNT;
    assert_true(verb_read("SET", &verb));
    assert_int_equal(verb, VERB_SET_NX_PX);
    assert_int_equal(verb_effect(VERB_SET_NX_PX), EFFECT_SET);
    assert_int_equal(verb_requests(VERB_MULTI_SETNX_EXPIRE), 4);
}

static void unknown_names_are_not_read(void **state)
{
    (void)state;
    enum verb verb = VERB_INCR;
    enum effect effect;
    enum key key;
    enum reply_error error;
    assert_false(verb_read("set", &verb)); /* names are exact */
    assert_false(verb_read("", &verb));
    assert_int_equal(verb, VERB_INCR);
    assert_false(effect_read("write", &effect));
    assert_false(key_read("Lock", &key));
    assert_false(reply_error_read("-OOM", &error));
}

static void check_printed(struct command command, const char *expected)
{
    char text[128];
    assert_string_equal(command_print(&command, text, sizeof text), expected);
}

static void commands_print_as_typed(void **state)
{
    (void)state;
    check_printed((struct command){.verb = VERB_SET_NX_PX, .value = 17, .ttl_us = 300 * ONE_MS},
                  "SET lock 17 NX PX 300");
    check_printed((struct command){.verb = VERB_SET_NX_EX, .value = -1, .ttl_us = 10 * ONE_S},
                  "SET lock -1 NX EX 10");
    check_printed((struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = VALUE_EMPTY},
                  "SET counter \"\"");
    check_printed((struct command){.verb = VERB_UNWATCH}, "UNWATCH");
    check_printed((struct command){.verb = VERB_COMPARE_DELETE, .value = 17},
                  "compare-and-delete lock 17");
    check_printed(
        (struct command){.verb = VERB_MULTI_SETNX_EXPIRE, .value = 5, .ttl_us = 2 * ONE_S},
        "multi-setnx-expire lock 5 2");
    check_printed((struct command){.verb = VERB_FENCED_SET, .key = KEY_RESOURCE, .number = 4},
                  "fenced-set resource 4");
    /* A time that Redis could not be told is shown as it is. */
    check_printed((struct command){.verb = VERB_PEXPIRE, .ttl_us = 3}, "PEXPIRE lock 3us");
}

static void printing_stays_within_the_text(void **state)
{
    (void)state;
    char text[16];
    memset(text, 'x', sizeof text);
    struct command command = {.verb = VERB_SET_NX_PX, .value = 17, .ttl_us = ONE_MS};
    command_print(&command, text, 8);
    assert_int_equal(text[7], '\0');
    assert_memory_equal(text, "SET loc", 7);
    assert_int_equal(text[8], 'x');
}

static void check_reply_printed(struct reply reply, const char *expected)
{
    char text[64];
    assert_string_equal(reply_print(&reply, text, sizeof text), expected);
}

static void replies_print(void **state)
{
    (void)state;
    check_reply_printed((struct reply){.kind = REPLY_NIL}, "nil");
    check_reply_printed((struct reply){.kind = REPLY_OK}, "OK");
    check_reply_printed((struct reply){.kind = REPLY_INTEGER, .value = -2}, "-2");
    check_reply_printed((struct reply){.kind = REPLY_VALUE, .value = VALUE_EMPTY}, "\"\"");
    check_reply_printed((struct reply){.kind = REPLY_TRANSACTION, .value = 1, .second = 0},
                        "[1, 0]");
    check_reply_printed((struct reply){.kind = REPLY_ERROR, .error = ERROR_OOM}, "-OOM");
}

static void check_encoded(struct command command, const char *prefix, const char *expected)
{
    char bytes[COMMAND_BYTES_MAX];
    size_t length = command_encode(&command, prefix, bytes);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(bytes, expected, length);
}

static void plain_commands_encode(void **state)
{
    (void)state;
    check_encoded((struct command){.verb = VERB_SET_NX_PX, .value = 17, .ttl_us = 300 * ONE_MS},
                  "p:",
                  "*6\r\n$3\r\nSET\r\n$6\r\np:lock\r\n$2\r\n17\r\n$2\r\nNX\r\n$2\r\nPX\r\n"
                  "$3\r\n300\r\n");
    check_encoded((struct command){.verb = VERB_EXPIRE, .ttl_us = -2 * ONE_S}, "",
                  "*3\r\n$6\r\nEXPIRE\r\n$4\r\nlock\r\n$2\r\n-2\r\n");
    check_encoded((struct command){.verb = VERB_SETNX, .key = KEY_LIST, .value = VALUE_EMPTY}, "",
                  "*3\r\n$5\r\nSETNX\r\n$4\r\nlist\r\n$0\r\n\r\n");
    check_encoded((struct command){.verb = VERB_UNWATCH}, "p:", "*1\r\n$7\r\nUNWATCH\r\n");
    check_encoded((struct command){.verb = VERB_DELEX, .value = 9}, "",
                  "*4\r\n$5\r\nDELEX\r\n$4\r\nlock\r\n$4\r\nIFEQ\r\n$1\r\n9\r\n");
}

static void transactions_encode_as_a_pipeline(void **state)
{
    (void)state;
    check_encoded(
        (struct command){.verb = VERB_MULTI_SETNX_EXPIRE, .value = 1, .ttl_us = 10 * ONE_S}, "",
        "*1\r\n$5\r\nMULTI\r\n"
        "*3\r\n$5\r\nSETNX\r\n$4\r\nlock\r\n$1\r\n1\r\n"
        "*3\r\n$6\r\nEXPIRE\r\n$4\r\nlock\r\n$2\r\n10\r\n"
        "*1\r\n$4\r\nEXEC\r\n");
    check_encoded((struct command){.verb = VERB_MULTI_DEL}, "",
                  "*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nDEL\r\n$4\r\nlock\r\n*1\r\n$4\r\nEXEC\r\n");
}

static void check_expiring(struct command command, const char *expected, int wanted_requests)
{
    char bytes[COMMAND_BYTES_MAX];
    int requests = 0;
    size_t length = command_encode_expiring(&command, "p:", 86400, bytes, &requests);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(bytes, expected, length);
    assert_int_equal(requests, wanted_requests);
}

static void what_a_lock_guards_can_be_given_an_expiry(void **state)
{
    (void)state;
    check_expiring((struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = 7},
                   "*5\r\n$3\r\nSET\r\n$9\r\np:counter\r\n$1\r\n7\r\n$2\r\nEX\r\n$5\r\n86400\r\n",
                   1);
    check_expiring((struct command){.verb = VERB_INCR, .key = KEY_FENCE},
                   "*2\r\n$4\r\nINCR\r\n$7\r\np:fence\r\n"
                   "*3\r\n$6\r\nEXPIRE\r\n$7\r\np:fence\r\n$5\r\n86400\r\n",
                   2);
    /* The lock's own is the scheme's business; what reads needs none. */
    check_expiring((struct command){.verb = VERB_SETNX, .key = KEY_LOCK, .value = 7},
                   "*3\r\n$5\r\nSETNX\r\n$6\r\np:lock\r\n$1\r\n7\r\n", 1);
    check_expiring((struct command){.verb = VERB_GET, .key = KEY_COUNTER},
                   "*2\r\n$3\r\nGET\r\n$9\r\np:counter\r\n", 1);
}

/* What stands behind the script: its number of keys, keys, arguments. */
static void check_script_arguments(struct command command, const char *expected)
{
    char bytes[COMMAND_BYTES_MAX + 1];
    bytes[command_encode(&command, "p:", bytes)] = '\0';
    char *at = NULL, *script = strstr(bytes, "$4\r\nEVAL\r\n");
    assert_non_null(script);
    size_t length = (size_t)strtol(script + strlen("$4\r\nEVAL\r\n$"), &at, 10);
    assert_true(length > 20);
    assert_string_equal(at + 2 + length + 2, expected);
}

static void scripts_encode_with_keys_and_arguments(void **state)
{
    (void)state;
    check_script_arguments((struct command){.verb = VERB_COMPARE_DELETE, .value = 17},
                           "$1\r\n1\r\n$6\r\np:lock\r\n$2\r\n17\r\n");
    check_script_arguments(
        (struct command){.verb = VERB_LUA_SETNX_EXPIRE, .value = 17, .ttl_us = 5 * ONE_S},
        "$1\r\n3\r\n$6\r\np:lock\r\n$2\r\n17\r\n$1\r\n5\r\n");
    check_script_arguments(
        (struct command){.verb = VERB_SET_MINT, .value = 17, .ttl_us = 250 * ONE_MS},
        "$1\r\n2\r\n$6\r\np:lock\r\n$7\r\np:fence\r\n$2\r\n17\r\n$3\r\n250\r\n");
    check_script_arguments(
        (struct command){.verb = VERB_FENCED_SET, .key = KEY_RESOURCE, .number = 3},
        "$1\r\n1\r\n$10\r\np:resource\r\n$1\r\n3\r\n");
}

static void a_script_goes_by_its_sha(void **state)
{
    (void)state;
    char bytes[COMMAND_BYTES_MAX + 1];
    const struct command by_sha = {.verb = VERB_COMPARE_DELETE_SHA, .value = 17},
                         load = {.verb = VERB_SCRIPT_LOAD};
    bytes[command_encode(&by_sha, "p:", bytes)] = '\0';
    assert_string_equal(bytes, "*5\r\n$7\r\nEVALSHA\r\n"
                               "$40\r\n2e47b373b4dbd63ee966d2eb9fe24ed6a138ad4e\r\n"
                               "$1\r\n1\r\n$6\r\np:lock\r\n$2\r\n17\r\n");
    bytes[command_encode(&load, "p:", bytes)] = '\0';
    assert_int_equal(strncmp(bytes, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$", 27), 0);
    assert_true(verb_names_key(VERB_COMPARE_DELETE_SHA) && !verb_names_key(VERB_SCRIPT_LOAD));
    assert_true(!verb_names_key(VERB_WAIT) && !verb_names_key(VERB_UNWATCH));
}

/* Counts the arrays at the top level; walks every length on the way. */
static int count_requests(const char *bytes, size_t length)
{
    int requests = 0;
    for (const char *at = bytes, *end = bytes + length; at < end; requests++) {
        char *next = NULL;
        assert_int_equal(*at, '*');
        long words = strtol(at + 1, &next, 10);
        at = next + 2;
        for (; words > 0; words--) {
            assert_int_equal(*at, '$');
            long bulk = strtol(at + 1, &next, 10);
            at = next + 2 + bulk;
            assert_memory_equal(at, "\r\n", 2);
            at += 2;
        }
    }
    return requests;
}

static void every_row_encodes_its_requests_within_the_limit(void **state)
{
    (void)state;
    char prefix[KEY_PREFIX_MAX + 1] = {0}, bytes[COMMAND_BYTES_MAX];
    memset(prefix, 'x', KEY_PREFIX_MAX);
    for (int i = 0; i < VERB_COUNT; i++) {
        struct command command = {.verb = (enum verb)i,
                                  .key = KEY_RESOURCE,
                                  .value = INT64_MIN + 2,
                                  .number = INT64_MAX,
                                  .ttl_us = INT64_MIN / ONE_S * ONE_S};
        size_t length = command_encode(&command, prefix, bytes);
        assert_int_equal(count_requests(bytes, length), verb_requests(command.verb));
        int requests = 0;
        length = command_encode_expiring(&command, prefix, INT32_MAX, bytes, &requests);
        assert_int_equal(count_requests(bytes, length), requests);
    }
}

/* --- decoding --- */

static struct wire_reply text_of(char type, const char *text)
{
    return (struct wire_reply){.type = type, .text = text, .length = text ? strlen(text) : 0};
}

static struct wire_reply integer_of(int64_t integer)
{
    return (struct wire_reply){.type = ':', .integer = integer};
}

static struct reply decode_one(enum verb verb, struct wire_reply wire)
{
    return command_decode(verb, &wire, 1);
}

/* What the proxy says in a server's place. */
static void refusals_decode_to_their_error(void **state)
{
    (void)state;
    for (int i = ERROR_NONE + 1; i < ERROR_COUNT; i++) {
        const char *line = command_error_line((enum reply_error)i);
        size_t length = strlen(line);
        assert_int_equal(line[0], '-');
        assert_string_equal(line + length - 2, "\r\n");
        struct wire_reply wire = {.type = '-', .text = line + 1, .length = length - 3};
        struct reply reply = decode_one(VERB_GET, wire);
        assert_int_equal(reply.kind, REPLY_ERROR);
        assert_int_equal(reply.error, i);
    }
}

static void plain_replies_decode(void **state)
{
    (void)state;
    assert_int_equal(decode_one(VERB_SET_NX_PX, text_of('+', "OK")).kind, REPLY_OK);
    assert_int_equal(decode_one(VERB_SET_NX_PX, text_of('$', NULL)).kind, REPLY_NIL);
    struct reply one = decode_one(VERB_DEL, integer_of(1));
    assert_true(reply_is_integer(&one, 1));
    struct reply value = decode_one(VERB_GET, text_of('$', "-42"));
    assert_int_equal(value.kind, REPLY_VALUE);
    assert_int_equal(value.value, -42);
    value = decode_one(VERB_GETSET, text_of('$', ""));
    assert_int_equal(value.kind, REPLY_VALUE);
    assert_true(value.value == VALUE_EMPTY);
    assert_int_equal(decode_one(VERB_SET_MINT, text_of('$', NULL)).kind, REPLY_NIL);
    /* SCRIPT LOAD answers with the name of what it got: of another script it is no answer. */
    struct wire_reply sha = text_of('$', "2e47b373b4dbd63ee966d2eb9fe24ed6a138ad4e");
    assert_int_equal(decode_one(VERB_SCRIPT_LOAD, sha).kind, REPLY_OK);
    sha = text_of('$', "3e47b373b4dbd63ee966d2eb9fe24ed6a138ad4e");
    assert_int_equal(decode_one(VERB_SCRIPT_LOAD, sha).error, ERROR_OTHER);
    assert_int_equal(decode_one(VERB_SCRIPT_LOAD, text_of('$', NULL)).error, ERROR_OTHER);
    assert_int_equal(decode_one(VERB_SCRIPT_LOAD, text_of('-', "LOADING no")).error, ERROR_LOADING);
}

/* GET of what a SET wrote, of numbers where the count of digits changes. */
static void numbers_of_any_length_travel_there_and_back(void **state)
{
    (void)state;
    static const int64_t numbers[] = {0,
                                      1,
                                      9,
                                      10,
                                      99,
                                      100,
                                      -1,
                                      -9,
                                      -10,
                                      -100,
                                      12345,
                                      1 << 30,
                                      INT64_MAX,
                                      INT64_MIN / 10,
                                      VALUE_EMPTY + 1};
    char bytes[COMMAND_BYTES_MAX + 1], text[32], expected[64];
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const struct command set = {.verb = VERB_SET, .key = KEY_COUNTER, .value = numbers[i]};
        const int length = snprintf(text, sizeof text, "%lld", (long long)numbers[i]);
        snprintf(expected, sizeof expected, "\r\n$%d\r\n%s\r\n", length, text);
        bytes[command_encode(&set, "p:", bytes)] = '\0';
        assert_non_null(strstr(bytes, expected));
        assert_true(command_value(text, (size_t)length) == numbers[i]);
    }
}

static void foreign_values_are_no_values_of_ours(void **state)
{
    (void)state;
    static const char *const foreign[] = {"hello",
                                          "007",
                                          "+7",
                                          "-0",
                                          " 7",
                                          "7 ",
                                          "1e3",
                                          "9223372036854775808",
                                          "-9223372036854775808"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        struct reply once = decode_one(VERB_GET, text_of('$', foreign[i]));
        struct reply twice = decode_one(VERB_GET, text_of('$', foreign[i]));
        assert_int_equal(once.kind, REPLY_VALUE);
        assert_true(once.value == twice.value);
        assert_true(once.value > VALUE_EMPTY && once.value < -(INT64_C(1) << 62));
    }
    struct reply a = decode_one(VERB_GET, text_of('$', "a")),
                 b = decode_one(VERB_GET, text_of('$', "b"));
    assert_true(a.value != b.value);
    assert_true(decode_one(VERB_GET, text_of('$', "9223372036854775807")).value == INT64_MAX);
}

static void unexpected_replies_are_errors(void **state)
{
    (void)state;
    /* Each is right for another command. */
    struct reply reply = decode_one(VERB_DEL, text_of('+', "OK"));
    assert_int_equal(reply.kind, REPLY_ERROR);
    assert_int_equal(reply.error, ERROR_OTHER);
    assert_int_equal(decode_one(VERB_SET, text_of('$', NULL)).error, ERROR_OTHER);
    assert_int_equal(decode_one(VERB_GET, integer_of(1)).error, ERROR_OTHER);
    assert_int_equal(decode_one(VERB_SET, text_of('+', "QUEUED")).error, ERROR_OTHER);
    struct wire_reply one = integer_of(1), array = {.type = '*', .elements = &one, .count = 1};
    assert_int_equal(decode_one(VERB_GET, array).error, ERROR_OTHER);
    array.count = 0;
    assert_int_equal(decode_one(VERB_GET, array).error, ERROR_OTHER);
    assert_int_equal(decode_one(VERB_GET, text_of('%', "")).error, ERROR_OTHER);
}

static void errors_decode_to_what_they_mean(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum reply_error error;
    } rows[] = {
        {"WRONGTYPE Operation against a key holding the wrong kind of value", ERROR_WRONGTYPE},
        {"OOM command not allowed when used memory > 'maxmemory'.", ERROR_OOM},
        {"NOSCRIPT No matching script. Please use EVAL.", ERROR_NOSCRIPT},
        {"READONLY You can't write against a read only replica.", ERROR_READONLY},
        {"LOADING Redis is loading the dataset in memory", ERROR_LOADING},
        {"MISCONF Errors writing to the AOF file", ERROR_MISCONF},
        {"CROSSSLOT Keys in request don't hash to the same slot", ERROR_CROSSSLOT},
        {"NOAUTH Authentication required.", ERROR_NOAUTH},
        {"WRONGPASS invalid username-password pair or user is disabled.", ERROR_NOAUTH},
        {"NOPERM this user has no permissions to run the 'set' command", ERROR_NOAUTH},
        {"ERR invalid expire time in 'set' command", ERROR_EXPIRE},
        {"ERR unknown command 'DELEX', with args beginning with: 'lock' ", ERROR_UNSUPPORTED},
        {"ERR syntax error", ERROR_UNSUPPORTED},
        {"ERR wrong number of arguments for 'set' command", ERROR_UNSUPPORTED},
        {"ERR value is not an integer or out of range", ERROR_OTHER},
        {"OOMPH is not OOM", ERROR_OTHER},
        {"ERR a key named OOM", ERROR_OTHER},
        {"BUSY Redis is busy running a script.", ERROR_OTHER},
        {"", ERROR_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct reply reply = decode_one(VERB_SET, text_of('-', rows[i].text));
        assert_int_equal(reply.kind, REPLY_ERROR);
        assert_int_equal(reply.error, rows[i].error);
    }
}

static struct reply decode_setnx_expire(struct wire_reply second, struct wire_reply exec)
{
    struct wire_reply wires[] = {text_of('+', "OK"), second, text_of('+', "QUEUED"), exec};
    return command_decode(VERB_MULTI_SETNX_EXPIRE, wires, 4);
}

static void transactions_decode(void **state)
{
    (void)state;
    struct wire_reply queued = text_of('+', "QUEUED");
    struct wire_reply elements[] = {integer_of(0), integer_of(1)};
    struct wire_reply exec = {.type = '*', .elements = elements, .count = 2};
    struct reply reply = decode_setnx_expire(queued, exec);
    assert_int_equal(reply.kind, REPLY_TRANSACTION);
    assert_int_equal(reply.value, 0);
    assert_int_equal(reply.second, 1);

    struct wire_reply aborted = {.type = '*'};
    assert_int_equal(decode_setnx_expire(queued, aborted).kind, REPLY_NIL);
    /* The same in RESP3. */
    assert_int_equal(decode_setnx_expire(queued, text_of('$', NULL)).kind, REPLY_NIL);
}

static void a_refused_transaction_says_why(void **state)
{
    (void)state;
    struct wire_reply full = text_of('-', "OOM command not allowed"),
                      discarded = text_of('-', "EXECABORT Transaction discarded"),
                      queued = text_of('+', "QUEUED");
    assert_int_equal(decode_setnx_expire(full, discarded).error, ERROR_OOM);
    /* An error inside EXEC, though the other command was executed. */
    struct wire_reply elements[] = {integer_of(1), text_of('-', "WRONGTYPE Operation against")};
    struct wire_reply exec = {.type = '*', .elements = elements, .count = 2};
    assert_int_equal(decode_setnx_expire(queued, exec).error, ERROR_WRONGTYPE);
    /* Not queued, not refused: no server of ours. */
    assert_int_equal(decode_setnx_expire(text_of('+', "OK"), exec).error, ERROR_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_read_back),
        cmocka_unit_test(a_name_of_several_rows_reads_as_the_first),
        cmocka_unit_test(unknown_names_are_not_read),
        cmocka_unit_test(commands_print_as_typed),
        cmocka_unit_test(printing_stays_within_the_text),
        cmocka_unit_test(replies_print),
        cmocka_unit_test(plain_commands_encode),
        cmocka_unit_test(transactions_encode_as_a_pipeline),
        cmocka_unit_test(what_a_lock_guards_can_be_given_an_expiry),
        cmocka_unit_test(scripts_encode_with_keys_and_arguments),
        cmocka_unit_test(a_script_goes_by_its_sha),
        cmocka_unit_test(refusals_decode_to_their_error),
        cmocka_unit_test(every_row_encodes_its_requests_within_the_limit),
        cmocka_unit_test(plain_replies_decode),
        cmocka_unit_test(numbers_of_any_length_travel_there_and_back),
        cmocka_unit_test(foreign_values_are_no_values_of_ours),
        cmocka_unit_test(unexpected_replies_are_errors),
        cmocka_unit_test(errors_decode_to_what_they_mean),
        cmocka_unit_test(transactions_decode),
        cmocka_unit_test(a_refused_transaction_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
