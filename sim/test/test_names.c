/* test_names.c - a name finds its row, and nobody else's; what is nearly right is suggested. */
#include "base/names.h"
#include "base/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_name_finds_its_row(void **state)
{
    static const char *const names[] = {NULL, "set", "", "del"};
    static const struct {
        int rank;
        const char *name;
    } rows[] = {{7, "one"}, {8, NULL}, {9, "three"}};
    (void)state;

    assert_int_equal(NAMES_FIND(names, "set"), 1);
    assert_int_equal(NAMES_FIND(names, ""), 2);
    assert_int_equal(NAMES_FIND(names, "del"), 3);
    assert_int_equal(NAMES_FIND(names, "de"), -1);
    assert_int_equal(NAMES_FIND(names, "delete"), -1);
    assert_int_equal(names_row(names, sizeof *names, 3, "del"), -1);
    assert_int_equal(NAMES_FIND_ROW(rows, "three"), 2);
    assert_int_equal(NAMES_FIND_ROW(rows, "two"), -1);
    enum { FIRST, SECOND } which = SECOND;
    assert_false(names_read(-1, &which));
    assert_int_equal(which, SECOND);
    assert_true(names_read(0, &which));
    assert_int_equal(which, FIRST);
}

static void what_is_near_is_suggested_else_the_other_words_stand(void **state)
{
    static const char *const names[] = {"acquires", "releases"};
    char words[SUGGEST_BYTES];
    (void)state;

    const char *nearest = suggest_nearest("aquires", names, 2);
    assert_string_equal(suggest_words(nearest, "; else", words), "; did you mean 'acquires'?");
    nearest = suggest_nearest("crashes", names, 2);
    assert_string_equal(suggest_words(nearest, "; else", words), "; else");
    assert_string_equal(suggest_words("", "", words), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_finds_its_row),
        cmocka_unit_test(what_is_near_is_suggested_else_the_other_words_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
