/* Tests of ask/phrase.h: a token is a symbol in what a worker says. */
#include "ask/phrase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t put(struct phrasebook *book, const char *bytes, const struct spoken_token *own,
                    const struct spoken_token *other, unsigned *whose)
{
    struct failure failure = {0};
    uint32_t number;
    if (phrase_put(book, bytes, strlen(bytes), own, other, &number, whose, &failure))
        fail_msg("%s", failure.text);
    return number;
}

static void a_token_is_a_symbol_where_it_is_a_whole_text(void **state)
{
    struct phrasebook book;
    struct spoken_token a = {"A", 1}, b = {"B", 1}, none = {.length = 0};
    struct failure failure = {0};
    unsigned whose;
    size_t length;
    uint32_t number;
    (void)state;
    intern_init(&book.table);
    const uint32_t first = put(&book, "*2\r\n$3\r\nGAB\r\n$1\r\nA\r\n", &a, &b, &whose);
    assert_int_equal(whose, WHOSE_OWN);
    assert_int_equal(put(&book, "*2\r\n$3\r\nGAB\r\n$1\r\nB\r\n", &b, &a, &whose), first);
    assert_int_not_equal(put(&book, "*2\r\n$3\r\nGAB\r\n$1\r\nA\r\n", &b, &a, &whose), first);
    assert_int_equal(whose, WHOSE_OTHER);
    assert_int_not_equal(put(&book, "*2\r\n$3\r\nGAB\r\n$1\r\nA\r\n", &none, &none, &whose), first);
    assert_int_equal(whose, WHOSE_NONE);
    char *said = phrase_say(&book, first, &b, &a, &length);
    assert_string_equal(said, "*2\r\n$3\r\nGAB\r\n$1\r\nB\r\n");
    assert_int_equal(length, strlen(said));
    free(said);
    assert_int_equal(phrase_put(&book, "a\0b", 3, &a, &b, &number, &whose, &failure), FAIL_NONE);
    said = phrase_say(&book, number, &b, &a, &length);
    assert_int_equal(length, 3);
    assert_memory_equal(said, "a\0b", 3);
    free(said);
    const struct spoken_token long_one = {"0f9-zG", 6};
    assert_memory_equal(token_unlike(&long_one).bytes, "1a0-gH", 6);
    intern_close(&book.table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_a_symbol_where_it_is_a_whole_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
