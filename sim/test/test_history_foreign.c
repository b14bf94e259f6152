/* test_history_foreign.c - what version 2 of a history has added for foreign lock programs: read as
 * strictly as the rest. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/history_text.h"

/* --- what is refused --- */

#define EXECUTE(more)                                                                              \
    NEW "{\"i\":0,\"t\":5,\"kind\":\"execute\",\"client\":0,\"server\":0,\"op\":\"acquire\","      \
        "\"reply\":\"ok\"," more "}\n{\"end\":1}\n"
#define EVAL      "\"opaque\":{\"name\":\"EVAL\",\"keys\":[\"lock\"]}"
#define DID(more) EXECUTE(EVAL ",\"effects\":[{\"key\":\"lock\"," more "}]")

static void bad_effects_are_refused_with_column_and_advice(void **state)
{
    static const struct {
        const char *text, *field, *words; /* the column is that of the field's last place */
    } rows[] = {
        {DID("\"did\":\"creatd\""), "\"did\"", "'did' knows no 'creatd'; did you mean 'created'?"},
        {DID("\"did\":\"created\""), NULL, "an effect 'created' wants 'new'"},
        {DID("\"did\":\"deleted\",\"nwe\":1"), "\"nwe\"", "no field 'nwe'; did you mean 'new'?"},
        {DID("\"did\":\"deleted\",\"new\":1"), NULL, "an effect 'deleted' has no 'new'"},
        {DID("\"did\":\"lengthened\""), NULL, "an effect 'lengthened' wants 'ttl'"},
        {DID("\"did\":\"deleted\",\"before\":\"absent\""), NULL, "that was absent before"},
        {DID("\"did\":\"overwritten\",\"before\":\"absent\",\"new\":\"a1\""), NULL,
         "that was absent before"},
        {DID("\"did\":\"created\",\"new\":1,\"old\":2"), NULL, "that was present before"},
        {DID("\"did\":\"refused\",\"old\":1,\"unlike\":2"), NULL, "not both"},
        {DID("\"did\":\"read\",\"old\":\"a\\u0001\""), "\"old\"", "'old' is no value"},
        {DID("\"did\":\"read\",\"old\":\"a\\\\b\""), "\"old\"", "'old' is no value"},
        {DID("\"did\":\"read\",\"old\":true"), "\"old\"", "'old' wants a whole number"},
        {DID("\"did\":\"read\"},{\"key\":\"lock\",\"did\":\"read\""), NULL, "two effects"},
        {DID("\"did\":\"read\"},{\"key\":\"fence\",\"did\":\"read\""), NULL,
         "not among the command's 'keys'"},
        {EXECUTE(EVAL ",\"effects\":[{\"did\":\"read\"}]"), NULL, "wants 'key' and 'did'"},
        {EXECUTE(EVAL ",\"effects\":[7]"), NULL, "an effect is an object"},
        {EXECUTE(EVAL ",\"effects\":{}"), "\"effects\"", "wants a list"},
        {EXECUTE(EVAL ",\"verb\":\"GET\",\"key\":\"lock\""), NULL,
         "an opaque command has no 'verb'"},
        {EXECUTE("\"verb\":\"GET\",\"key\":\"lock\",\"effects\":[]"), NULL, "of an opaque command"},
        {EXECUTE("\"opaque\":{\"name\":\"EVAL\"}"), "\"opaque\"", "wants 'name' and 'keys'"},
        {EXECUTE("\"opaque\":{\"name\":\"\",\"keys\":[]}"), "\"opaque\"",
         "wants 'name' and 'keys'"},
        {EXECUTE("\"opaque\":{\"name\":\"E\\u001b\",\"keys\":[]}"), "\"name\"", "not printable"},
        {EXECUTE("\"opaque\":{\"name\":\"E\",\"keys\":[\"look\"]}"), "\"keys\"",
         "no key 'look'; did you mean 'lock'?"},
        {EXECUTE("\"opaque\":{\"name\":\"E\",\"keys\":[\"lock\",\"lock\"]}"), "\"keys\"", "twice"},
        {EXECUTE("\"opaque\":{\"name\":\"E\",\"keys\":[],\"digest\":\"1f\"}"), "\"digest\"",
         "16 digits"},
        {EXECUTE("\"opaque\":[]"), "\"opaque\"", "'opaque' wants an object"},
        {EXECUTE(EVAL ",\"inferred\":true"), NULL, "never 'inferred'"},
        {EXECUTE(EVAL ",\"inferred\":1"), "\"inferred\"", "wants true or false"},
        {EXECUTE(EVAL ",\"efects\":[]"), "\"efects\"", "did you mean 'effects'?"},
        {EXECUTE(""), NULL, "not JSON"},
    };
    (void)state;
    struct failure failure;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char place[sizeof path + 32];
        const char *line = strchr(rows[i].text, '\n') + 1;
        const char *found = rows[i].field ? strstr(line, rows[i].field) : NULL;
        assert_int_equal(read_all(rows[i].text, &failure), FAIL_INPUT);
        for (const char *at = found; at; at = strstr(at + 1, rows[i].field))
            found = at;
        snprintf(place, sizeof place, "%s:2:%d: ", path, found ? (int)(found - line) + 1 : 0);
        if ((found && strncmp(failure.text, place, strlen(place)) != 0) ||
            !strstr(failure.text, rows[i].words))
            fail_msg("row %zu: wanted %s \"%s\", got: %s", i, place, rows[i].words, failure.text);
    }
    assert_int_equal(read_all(DID("\"did\":\"read\""), &failure), FAIL_NONE);
    assert_int_equal(read_all(EXECUTE(EVAL), &failure), FAIL_NONE);
}

static void bad_foreign_heads_are_refused(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {HEAD_OF("2", ",\"promises\":[\"expry\"]"),
         "no lock promises 'expry'; did you mean 'expiry'?"},
        {HEAD_OF("2", ",\"promises\":[\"fence\",\"fence\"]"), "twice"},
        {HEAD_OF("2", ",\"promises\":\"fence\""), "wants a list"},
        {HEAD_OF("2", ",\"processes\":[]"), "one for each client"},
        {HEAD_OF("2", ",\"proceses\":[\"p\"]"), "did you mean 'processes'?"},
        {HEAD_OF("2", ",\"Closed\":true"), "did you mean 'closed'?"},
        {HEAD_OF("1", ",\"processes\":[\"p\"]"), "unknown field 'processes'"},
        {HEAD_OF("3", ""), "'picklock.history/2' and 'picklock.history/1'"},
    };
    (void)state;
    struct failure failure;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(read_all(rows[i].text, &failure), FAIL_INPUT);
        if (!strstr(failure.text, rows[i].words))
            fail_msg("row %zu: wanted \"%s\", got: %s", i, rows[i].words, failure.text);
    }
    assert_int_equal(
        read_all(HEAD_OF("2", ",\"promises\":[],\"processes\":[\"p\"]") "{\"end\":0}\n", &failure),
        FAIL_NONE);
}

/* What is new is refused where the head says version 1. */
static void version_1_knows_nothing_foreign(void **state)
{
    static const char *const fields[] = {"\"inferred\":true", "\"effects\":[]", EVAL,
                                         "\"token\":\"a text\""};
    (void)state;
    struct failure failure;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (int is_new = 0; is_new < 2; is_new++) {
            char text[1024];
            snprintf(text, sizeof text,
                     "%s{\"i\":0,\"t\":5,\"kind\":\"call\",\"client\":0,\"op\":\"acquire\",%s}\n",
                     is_new ? NEW : HEAD, fields[i]);
            assert_int_equal(read_all(text, &failure), FAIL_INPUT);
            bool is_refused = strstr(failure.text, "has no field") ||
                              strstr(failure.text, "wants a whole number");
            assert_int_equal(is_refused, !is_new);
        }
}

/* --- values --- */

static void a_value_is_the_same_as_bytes_and_as_text(void **state)
{
    static const struct {
        const char *bytes, *text;
    } rows[] = {
        {"", ""},
        {"17", "17"},
        {"-3", "-3"},
        {"007", "007"},
        {"f00", "f00"},
        {"a b", "a b"},
        {"a\\b", "a\\x5cb"},
        {"a#b", "a\\x23b"},
        {"\n", "\\x0a"},
        {"\xc3\xab", "\\xc3\\xab"},
    };
    char text[VALUE_TEXT_MAX], other[VALUE_TEXT_MAX], bytes[200];
    int64_t number;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].bytes);
        assert_string_equal(value_of_bytes(rows[i].bytes, length, text), rows[i].text);
        assert_true(value_number(text, &number));
        assert_int_equal(number, command_value(rows[i].bytes, length));
    }
    /* A long one is its beginning and a digest: still the same value, and another's is another. */
    memset(bytes, 'x', sizeof bytes);
    assert_true(value_number(value_of_bytes(bytes, sizeof bytes, text), &number));
    assert_int_equal(number, command_value(bytes, sizeof bytes));
    bytes[sizeof bytes - 1] = 'y';
    assert_string_not_equal(value_of_bytes(bytes, sizeof bytes, other), text);
    static const char *const bad[] = {"a\\b", "a\\x5",   "a#0", "a#0123456789abcdeg",
                                      "\n",   "\xc3\xab"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(value_number(bad[i], &number));
}

static void a_long_command_is_told_by_the_digest_of_its_long_word(void **state)
{
    static const char check[] =
        "\n  if redis.call('get',\n KEYS[1]) == ARGV[1] then return redis.call(";
    char one_script[200], other_script[200];
    const char *words[] = {"eval", one_script, "1", "lock", "5e1f0c9b3c0247f2a5b1c3d4e5f60718"};
    const size_t lengths[] = {4, sizeof check - 1 + 20, 1, 4, 32};
    struct opaque one, two, again;
    (void)state;
    (void)snprintf(one_script, sizeof one_script, "%s%-20s", check, "'del', KEYS[1])");
    (void)snprintf(other_script, sizeof other_script, "%s%-20s", check, "'expire', KEYS[1])");
    opaque_of_words(&one, words, lengths, 5, 1u << KEY_LOCK);
    opaque_of_words(&again, words, lengths, 5, 1u << KEY_LOCK);
    words[1] = other_script;
    opaque_of_words(&two, words, lengths, 5, 1u << KEY_LOCK);
    const char *begin = "eval if redis.call('get', KEYS[1]) ";
    const char *end = " 1 lock 5e1f0c9b3c0247f2a5b1c3d4e5f60718";
    assert_int_equal(strncmp(one.text, begin, strlen(begin)), 0);
    assert_string_equal(one.text + strlen(one.text) - strlen(end), end);
    assert_string_equal(one.text, again.text);
    assert_string_not_equal(one.text, two.text);
    assert_false(opaque_is_same(&one, &two));
}

static void a_command_of_many_words_is_cut_but_not_its_digest(void **state)
{
    enum { COUNT = 40 };
    const char *words[COUNT];
    size_t lengths[COUNT];
    struct opaque one, two, three;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        words[i] = i ? "abcdef" : "mset";
        lengths[i] = i ? 6 : 4;
    }
    opaque_of_words(&one, words, lengths, COUNT, 1u << KEY_LOCK);
    words[COUNT - 1] = "abcdeg";
    opaque_of_words(&two, words, lengths, COUNT, 1u << KEY_LOCK);
    opaque_of_words(&three, words, lengths, 2, 1u << KEY_LOCK);
    assert_string_equal(one.name, "MSET");
    assert_string_equal(three.text, "mset abcdef");
    assert_int_equal(strncmp(one.text, "mset abcdef abcdef", 18), 0);
    assert_string_equal(one.text + strlen(one.text) - 3, "...");
    assert_string_equal(one.text, two.text);
    assert_true(opaque_is_same(&one, &one));
    assert_false(opaque_is_same(&one, &two));
    one.digest = 0; /* nobody counted its bytes: what is known is the same */
    assert_true(opaque_is_same(&one, &two));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_effects_are_refused_with_column_and_advice),
        cmocka_unit_test(bad_foreign_heads_are_refused),
        cmocka_unit_test(version_1_knows_nothing_foreign),
        cmocka_unit_test(a_value_is_the_same_as_bytes_and_as_text),
        cmocka_unit_test(a_long_command_is_told_by_the_digest_of_its_long_word),
        cmocka_unit_test(a_command_of_many_words_is_cut_but_not_its_digest),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
