/* test_json_place.c - where a value stands in a JSON text. */
#include "base/json_place.h"
#include "base/memory.h"
#include "base/text_place.h"

#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static const char text[] = "\n {\"a\": [1, \"]}\", {\"b\\\"\": {\"c\" : -2.5e3, \"d\": []}}],\n"
                           "\"\u00e4\u00e4\": {\"e.f\": null, \"g\": {}}, \"\": true}\n";
static const struct {
    const char *path, *name, *at;
    int line, column;
} rows[] = {
    {"", NULL, "{\"a\"", 2, 2},
    {"", "a", "\"a\"", 2, 3},
    {"a", NULL, "\"a\"", 2, 3},
    {"a[0]", NULL, "1,", 2, 9},
    {"a[1]", NULL, "\"]}\"", 2, 12},
    {"a[2]", "b\\\"", "\"b", 2, 19},
    {"a[2].b\\\"", "c", "\"c\"", 2, 27},
    {"a[2].b\\\".d", NULL, "\"d\"", 2, 41},
    {"a[2].b\\\".d", "x", "[]", 2, 46},
    {"a[3]", NULL, "[1", 2, 8},
    {"a[0][1]", "x", "1,", 2, 9},
    {"a.b", "c", "[1", 2, 8},
    {"", "x", "{\"a\"", 2, 2},
    {"\u00e4\u00e4", "e.f", "\"e.f\"", 3, 8},
    {"\u00e4\u00e4.e", "f", "{\"e.f\"", 3, 7},
    {"\u00e4\u00e4.g.h.i", NULL, "{}}", 3, 26},
    {"", "", "\"\": true", 3, 31},
};

static void a_value_is_found_in_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *at = json_place_find(text, sizeof text - 1, rows[i].path, rows[i].name);
        const struct text_place place = text_place_of(text, at);
        if (at != strstr(text, rows[i].at))
            fail_msg("row %zu: %s", i, at);
        assert_int_equal(place.line, rows[i].line);
        assert_int_equal(place.column, rows[i].column);
    }
}

static void nothing_is_read_behind_the_end(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof text; size++) {
        char *cut = memcpy(memory_new(size + !size, 1), text, size);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const char *at = json_place_find(cut, size, rows[i].path, rows[i].name);
            assert_true(at >= cut && at <= cut + size);
        }
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_found_in_its_text),
        cmocka_unit_test(nothing_is_read_behind_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
