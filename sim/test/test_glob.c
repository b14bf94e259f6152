/* test_glob.c - key patterns: the cases of redis-server's own manual, the ones that hang a careless
 * matcher, and random ones, matched as redis-server itself does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "proxy/glob.h"
#include "test/proxy_wire.h"
#include "watch/keys.h"

#include <hiredis.h>
#include <string.h>

static const struct {
    const char *pattern, *text;
    bool matches;
} cases[] = {
    {"", "", true},
    {"", "a", false},
    {"*", "", true},
    {"*", "anything", true},
    {"h?llo", "hello", true},
    {"h?llo", "hllo", false},
    {"h*llo", "hllo", true},
    {"h*llo", "heeeello", true},
    {"h*llo", "heeeell", false},
    {"h[ae]llo", "hallo", true},
    {"h[ae]llo", "hillo", false},
    {"h[^e]llo", "hallo", true},
    {"h[^e]llo", "hello", false},
    {"h[a-b]llo", "hbllo", true},
    {"h[b-a]llo", "hallo", true},
    {"h[a-b]llo", "hcllo", false},
    {"a\\*b", "a*b", true},
    {"a\\*b", "axb", false},
    {"[\\]]", "]", true},
    {"[a", "a", true},
    {"a\\", "a\\", true},
    {"*a*b*c", "xxaxxbxxc", true},
    {"*a*b*c", "xxaxxcxxb", false},
    {"*abc", "ababc", true},
    {"lock:*:x", "lock:1:y:x", true},
    {"a**b", "ab", true},
    {"a?", "a", false},
    {"**", "", false},
    {"[a-]*", "ax", false}, /* a range up to "]", which ends no set */
    {"[a-]*", "_", true},
    {"[a-]]*", "_x", true},
    {"[]", "]", false},
    {"[^]", "]", true},
    {"[z-a]", "m", true},
    {"[a-\\]]", "]", false}, /* a range up to the backslash */
    {"[a-\\]]", "^]", true},
};

static void patterns_match_as_redis_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (glob_matches(cases[i].pattern, strlen(cases[i].pattern), cases[i].text,
                         strlen(cases[i].text)) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
}

static void zero_bytes_are_bytes(void **state)
{
    (void)state;
    assert_true(glob_matches("a*c", 3, "a\0c", 3));
    assert_false(glob_matches("a\0c", 3, "abc", 3));
    assert_true(glob_matches("a\0c", 3, "a\0c", 3));
}

/* Whatever matches begins with it, and nothing else is told to. */
static void what_a_pattern_begins_with(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *beginning;
    } begins[] = {{"", ""},       {"lock:1", "lock:1"}, {"lock:*", "lock:"}, {"a?c", "a"},
                  {"a[bc]", "a"}, {"a\\*b*", "a*b"},    {"a\\", "a\\"},      {"*a", ""}};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        char text[16];
        const size_t length = glob_beginning(begins[i].pattern, strlen(begins[i].pattern), text);
        assert_int_equal(length, strlen(begins[i].beginning));
        assert_memory_equal(text, begins[i].beginning, length);
    }
}

/* Exponential for a matcher that goes back to every star. */
static void many_stars_take_no_longer(void **state)
{
    (void)state;
    static char text[4000];
    memset(text, 'a', sizeof text);
    assert_false(glob_matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", 26, text, sizeof text));
}

/* --- as redis-server matches --- */

enum { ROUNDS = 20, TEXTS = 200, PATTERNS = 100, TEXT_MOST = 8, PATTERN_MOST = 10 };

struct glob_text {
    char bytes[PATTERN_MOST + 1];
    size_t length;
};

static struct glob_text draw(struct random *random, const char *alphabet, size_t letters,
                             size_t most)
{
    struct glob_text drawn = {.length = random_below(random, most + 1)};
    for (size_t i = 0; i < drawn.length; i++)
        drawn.bytes[i] = alphabet[random_below(random, letters)];
    return drawn;
}

static redisReply *answer_of(redisContext *redis, redisReply *reply)
{
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("redis-server: %s", reply ? reply->str : redis->errstr);
    return reply;
}

static bool has(const redisReply *found, const struct glob_text *text)
{
    for (size_t i = 0; i < found->elements; i++)
        if (found->element[i]->len == text->length &&
            memcmp(found->element[i]->str, text->bytes, text->length) == 0)
            return true;
    return false;
}

/* A pattern of watched keys is a C string. */
static void assert_watched(const struct keys *keys, const struct glob_text *text, bool is_match)
{
    assert_int_equal(keys_matches(keys, text->bytes, text->length), is_match);
    assert_true(!is_match || keys_may_match(keys, text->bytes, text->length));
}

static void compare(redisContext *redis, const struct glob_text *pattern,
                    const struct glob_text *texts)
{
    redisReply *found =
        answer_of(redis, redisCommand(redis, "KEYS %b", pattern->bytes, pattern->length));
    const bool is_string = !memchr(pattern->bytes, '\0', pattern->length);
    struct keys *keys = calloc(1, sizeof *keys);
    assert_non_null(keys);
    keys_set_patterns(keys, pattern->bytes, NULL);
    for (int i = 0; i < TEXTS; i++) {
        const bool is_match = has(found, &texts[i]);
        if (glob_matches(pattern->bytes, pattern->length, texts[i].bytes, texts[i].length) !=
            is_match)
            fail_msg("'%s' and '%s': redis-server says %d", pattern->bytes, texts[i].bytes,
                     is_match);
        if (is_string)
            assert_watched(keys, &texts[i], is_match);
    }
    free(keys);
    freeReplyObject(found);
}

static void random_patterns_match_as_redis_does(void **state)
{
    static const char of_texts[] = "aabc-]^\\[*?\x01\x80\xff",
                      of_patterns[] = "aabc--]^\\[[[]**?\x80\xff";
    struct random random = {.seed = 1};
    struct redis server;
    (void)state;
    redis_start(&server);
    redisContext *redis = redisConnect("127.0.0.1", server.port);
    assert_non_null(redis);
    for (int round = 0; round < ROUNDS; round++) {
        struct glob_text texts[TEXTS];
        freeReplyObject(answer_of(redis, redisCommand(redis, "FLUSHALL")));
        for (int i = 0; i < TEXTS; i++) {
            texts[i] = draw(&random, of_texts, sizeof of_texts, TEXT_MOST); /* the last 0, too */
            freeReplyObject(
                answer_of(redis, redisCommand(redis, "SET %b 1", texts[i].bytes, texts[i].length)));
        }
        for (int i = 0; i < PATTERNS; i++) {
            const struct glob_text pattern =
                draw(&random, of_patterns, sizeof of_patterns, PATTERN_MOST);
            compare(redis, &pattern, texts);
        }
    }
    redisFree(redis);
    redis_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_as_redis_does),
        cmocka_unit_test(zero_bytes_are_bytes),
        cmocka_unit_test(what_a_pattern_begins_with),
        cmocka_unit_test(many_stars_take_no_longer),
        cmocka_unit_test(random_patterns_match_as_redis_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
