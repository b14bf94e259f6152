/* test_checks_sure.c - tests of checks/sure.c, held to what it stands for: the ends of all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "checks/ledger.h"
#include "checks/sure.h"

enum { CLIENTS = 4, ENDS = 8, HISTORIES = 500 };

static void two_ends_tell_what_all_would(void **state)
{
    struct random random = {.seed = 1};
    (void)state;
    for (int n = 0; n < HISTORIES; n++) {
        struct sure two[2] = {{NOBODY, INT64_MIN}, {NOBODY, INT64_MIN}};
        int64_t all[CLIENTS] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
        for (int i = 0; i < ENDS; i++) {
            const int client = (int)random_below(&random, CLIENTS);
            const int64_t until_us = (int64_t)random_below(&random, ENDS);
            sure_note(two, client, until_us);
            all[client] = until_us > all[client] ? until_us : all[client];
            for (int who = 0; who < CLIENTS; who++) {
                int64_t latest_us = INT64_MIN;
                for (int other = 0; other < CLIENTS; other++)
                    if (other != who && all[other] > latest_us)
                        latest_us = all[other];
                assert_int_equal(sure_of_others(two, who), latest_us);
            }
        }
    }
}

static void renews(struct renewed *renewed, enum event_kind kind, enum result result)
{
    renewed_note(renewed, &(struct event){.kind = kind, .result = result, .time_us = 100}, 30);
}

/* Until it is answered it may last for ever; refused, as long as before. */
static void what_is_renewed_lasts_from_its_answer(void **state)
{
    struct renewed renewed = renewed_nothing;
    (void)state;
    renews(&renewed, EVENT_CALL, RESULT_NONE);
    assert_int_equal(renewed.until_us, NEVER_US);
    renews(&renewed, EVENT_RETURN, RESULT_REFUSED);
    assert_int_equal(renewed.until_us, INT64_MIN);
    renews(&renewed, EVENT_CALL, RESULT_NONE);
    renews(&renewed, EVENT_RETURN, RESULT_DONE);
    assert_int_equal(renewed.until_us, 130);
    renews(&renewed, EVENT_CALL, RESULT_NONE);
    renews(&renewed, EVENT_RETURN, RESULT_REFUSED);
    assert_int_equal(renewed.until_us, 130);
    renews(&renewed, EVENT_CALL, RESULT_NONE);
    renews(&renewed, EVENT_RETURN, RESULT_FAILED); /* nobody knows */
    assert_int_equal(renewed.until_us, NEVER_US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ends_tell_what_all_would),
        cmocka_unit_test(what_is_renewed_lasts_from_its_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
