/* test_glob.c - key patterns: the cases of redis-server's own manual, and the ones that hang a
 * careless matcher. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "proxy/glob.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_as_redis_does),
        cmocka_unit_test(zero_bytes_are_bytes),
        cmocka_unit_test(what_a_pattern_begins_with),
        cmocka_unit_test(many_stars_take_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
