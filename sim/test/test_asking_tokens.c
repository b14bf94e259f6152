/* Tests of what a server answers about two tokens (ask/token_pairs.c): a command that minds more of
 * them than whether they are the same is not decided by asking. */
#include "ask/asking_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "test/asked_worker.h"

#define DELETES_WHERE(WHAT)                                                                        \
    "local v, own = redis.call('GET',KEYS[1]) or '', ARGV[1] "                                     \
    "if " WHAT " then return redis.call('DEL',KEYS[1]) else return 0 end"

/* EVAL of that script with the lock's key and the own token. */
static uint32_t command_of(struct asking *asking, const char *script)
{
    const struct spoken_token *own = &asking->server.own;
    struct failure failure = {0};
    uint32_t number;
    unsigned whose;
    char bytes[1000];
    const int length =
        snprintf(bytes, sizeof bytes,
                 "*5\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n1\r\n$4\r\nlock\r\n$%zu\r\n"
                 "%.*s\r\n",
                 strlen(script), script, own->length, (int)own->length, own->bytes);
    assert_in_range(length, 1, sizeof bytes - 1);
    assert_int_equal(phrase_put(&asking->book, bytes, (size_t)length, own, &asking->server.other,
                                &number, &whose, &failure),
                     FAIL_NONE);
    assert_int_equal(whose, WHOSE_OWN);
    return number;
}

/* Of a script that finds that lock. */
static struct failure answer_to(struct asking *asking, const struct kept *kept, const char *script,
                                struct server_told *told)
{
    const struct server_question question = {.kept = *kept, .command = command_of(asking, script)};
    struct failure failure = {0};
    (void)server_ask(&asking->server, &question, told, &failure);
    return failure;
}

static void a_server_may_mind_only_whether_tokens_are_the_same(void **state)
{
    static const char *const fine[] = {DELETES_WHERE("v == own"), DELETES_WHERE("#v == #own"),
                                       DELETES_WHERE("v ~= ''")},
                             *const odd[] = {DELETES_WHERE("v <= own"), DELETES_WHERE("v >= own"),
                                             DELETES_WHERE("v:sub(1, 1) == own:sub(1, 1)"),
                                             DELETES_WHERE("v:sub(-1) == own:sub(-1)")};
    struct worker_asked asked;
    struct server_told told, taken;
    const struct kept nothing = {.left = NO_TICKS};
    (void)state;
    ask_for(&asked, "scheme_worker", "set-nx-px-cad", 1);
    struct failure failure = answer_to(
        asked.asking, &nothing, "return redis.call('SET', KEYS[1], ARGV[1], 'PX', 1000)", &taken);
    assert_string_equal(failure.text, "");
    assert_int_equal(taken.kept.value, KEPT_OWN);
    struct kept others = taken.kept;
    others.value = KEPT_OTHER;
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        failure = answer_to(asked.asking, &others, fine[i], &told);
        assert_string_equal(failure.text, "");
        assert_int_equal(told.kept.value, i == 0 ? KEPT_OTHER : KEPT_ABSENT);
    }
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        failure = answer_to(asked.asking, &others, odd[i], &told);
        assert_int_equal(failure.code, FAIL_UNKNOWN);
        assert_non_null(strstr(failure.text, "what its EVAL does goes by the bytes of two tokens"));
        failure = answer_to(asked.asking, &taken.kept, odd[i], &told); /* its own alone */
        assert_string_equal(failure.text, "");
        assert_int_equal(told.kept.value, KEPT_ABSENT);
    }
    asking_free(asked.asking);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_may_mind_only_whether_tokens_are_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
