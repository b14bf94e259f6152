/* Tests of what a worker that is asked once (ask/) answers: "granted" is held to what its server
 * did, and "refused" to what was so while it asked. */
#include "ask/asking.h"
#include "explore/search/explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/asked_worker.h"

enum { HOLDS = -1 };

/* Two clients with two attempts each: after how many events "granted", or
 * another answer, is not so; HOLDS: never. */
static int events_to_untrue_answer(const char *name, int fault)
{
    struct worker_asked asked;
    struct explore_options options, own = options_of("set-nx-px-cad", fault);
    struct explore_outcome outcome;
    own.clients = own.rounds = 2;
    ask_for(&asked, "scheme_worker", name, 1);
    search(&asked, &own, &options, &outcome);
    if (asking_failure(asked.asking)->code)
        fail_msg("%s: %s", name, asking_failure(asked.asking)->text);
    const struct explore_finding finding = outcome.findings[PROPERTY_TRUTHFUL];
    const int events = finding.verdict == VERDICT_VIOLATED ? finding.events : HOLDS;
    assert_int_equal(outcome.end, END_COMPLETE);
    explore_outcome_free(&outcome);
    ask_again_and_end(&asked);
    return events;
}

/* A asks, its SET is executed, the reply is lost: it failed (4). It asks again (5), is refused (7),
 * reads its own key (9), and is told "granted". */
static void what_an_earlier_attempt_has_left_is_no_grant(void **state)
{
    (void)state;
    assert_int_equal(events_to_untrue_answer("one-token-left", FAULT_LOSE_REPLY), 9);
}

static void what_it_has_left_and_gives_a_lease_anew_is_one(void **state)
{
    (void)state;
    assert_int_equal(events_to_untrue_answer("one-token", FAULT_LOSE_REPLY), HOLDS);
}

/* The key is gone when its transaction is refused, and had been written since it was watched. */
static void who_watched_what_was_written_is_refused_truly(void **state)
{
    (void)state;
    assert_int_equal(events_to_untrue_answer("watch-multi-set", NONE), HOLDS);
    assert_int_equal(events_to_untrue_answer("watch-multi-set", FAULT_STALL), HOLDS);
}

/* Written before it asked. */
static void who_watches_since_an_earlier_attempt_is_refused_for_nothing(void **state)
{
    (void)state;
    assert_int_equal(events_to_untrue_answer("watch-for-ever", NONE), 21);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_earlier_attempt_has_left_is_no_grant),
        cmocka_unit_test(what_it_has_left_and_gives_a_lease_anew_is_one),
        cmocka_unit_test(who_watched_what_was_written_is_refused_truly),
        cmocka_unit_test(who_watches_since_an_earlier_attempt_is_refused_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
