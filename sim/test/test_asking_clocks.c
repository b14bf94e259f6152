/* Tests of a worker decided by asking once (ask/): what its clocks say. */
#include "ask/asking_state.h"
#include "ask/phrase.h"
#include "explore/search/explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/asked_worker.h"

static struct remembered_step told_of(struct asking *asking, const struct history_edge *edge)
{
    struct remembered_step told;
    struct failure failure = {0};
    if (history_ask(&asking->worker, edge, &told, &failure))
        fail_msg("%s", failure.text);
    return told;
}

/* It lets go without a command when its lease of two ticks is over by its clock, which it looks at
 * when it begins, and then. The reply came a tick behind the beginning, and it did not look.
 * (Python reads a clock at every step by itself.) */
static void time_that_a_step_does_not_look_at_does_not_pass_twice(void **state)
{
    static const char ok[] = "+OK\r\n";
    struct worker_asked asked;
    struct failure failure = {0};
    const struct spoken_token none = {.length = 0};
    uint32_t reply;
    unsigned whose;
    (void)state;
    if (system("node --version > /dev/null 2>&1") != 0)
        skip();
    ask_for(&asked, NULL, "node sim/test/watchful_worker.js", 1);
    assert_int_equal(
        phrase_put(&asked.asking->book, ok, strlen(ok), &none, &none, &reply, &whose, &failure),
        FAIL_NONE);
    struct history_edge edge = {.happening = HAPPENS_ACQUIRE, .elapsed = ELAPSED_ANY};
    edge = (struct history_edge){.from = told_of(asked.asking, &edge).node,
                                 .happening = HAPPENS_REPLY,
                                 .reply = reply,
                                 .elapsed = ELAPSED_EACH};
    edge = (struct history_edge){.from = told_of(asked.asking, &edge).node,
                                 .happening = HAPPENS_RELEASE,
                                 .elapsed = ELAPSED_EACH + 1};
    assert_true(told_of(asked.asking, &edge).sent[0].command != 0);
    edge.elapsed = 2 * ELAPSED_EACH + 1;
    assert_true(told_of(asked.asking, &edge).has_ended);
    ask_again_and_end(&asked);
}

/* Its clock jumps, or drifts; and a reply is late besides, so that a validity was reckoned wrongly.
 * A monotonic clock does not jump. */
static void a_wrong_clock_comes_to_what_it_comes_to_by_its_steps(void **state)
{
    static const int clocks[] = {FAULT_CLIENT_CLOCK, FAULT_CLIENT_DRIFT};
    struct worker_asked wall, monotonic;
    struct explore_options options;
    struct explore_outcome by_asking, by_steps;
    (void)state;
    ask_for(&wall, "quorum_worker", "wall", 1);
    ask_for(&monotonic, "quorum_worker", "", 1);
    for (int i = 0; i < 4; i++) {
        const int fault = clocks[i / 2];
        struct explore_options own = options_of("redlock", fault);
        own.servers = 1;
        own.budget[FAULT_LATE_REPLY] = (uint8_t)(i % 2);
        search(&wall, &own, &options, &by_asking);
        own.lease_ticks = options.lease_ticks;
        run(&own, &by_steps);
        assert_int_equal(by_asking.end, END_COMPLETE);
        assert_int_equal(differences(fault_name((enum fault)fault), &own, &by_steps, &by_asking),
                         0);
        assert_int_equal(by_steps.findings[PROPERTY_FRESH_GRANT].verdict,
                         i % 2 ? VERDICT_VIOLATED : VERDICT_HOLDS);
        explore_outcome_free(&by_asking);
        search(&monotonic, &own, &options, &by_asking);
        assert_int_equal(by_asking.findings[PROPERTY_FRESH_GRANT].verdict,
                         fault == FAULT_CLIENT_DRIFT && i % 2 ? VERDICT_VIOLATED : VERDICT_HOLDS);
        explore_outcome_free(&by_asking);
        explore_outcome_free(&by_steps);
    }
    assert_true(asking_audit(wall.asking, share_again(10), 0) &&
                asking_audit(monotonic.asking, share_again(10), 0));
    if (asking_failure(wall.asking)->code || asking_failure(monotonic.asking)->code)
        fail_msg("%s%s", asking_failure(wall.asking)->text, asking_failure(monotonic.asking)->text);
    asking_free(wall.asking);
    asking_free(monotonic.asking);
}

static void search_late(struct worker_asked *asked, const int *faults)
{
    struct explore_options own = options_of("set-nx-px-cad", faults[0]), options;
    struct explore_outcome outcome;
    own.clients = 2;
    own.rounds = 1;
    own.budget[faults[1]] = 1;
    search(asked, &own, &options, &outcome);
    assert_int_equal(outcome.end, END_COMPLETE);
    explore_outcome_free(&outcome);
}

/* Behind a jump of its clock back its lease is over much later: of a search without jumps that says
 * nothing, whatever was searched before. */
static void what_comes_much_later_is_a_doubt_only_where_it_comes(void **state)
{
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "waiting_worker", "deletes-by-wall", 1);
    search_late(&asked, (int[]){FAULT_CLIENT_CLOCK, FAULT_SLOW_WORK});
    const char *doubt = asking_late_doubt(asked.asking);
    if (!doubt || !strstr(doubt, "its wall clock jumps by -"))
        fail_msg("%s", doubt ? doubt : "none");
    search_late(&asked, (int[]){FAULT_SLOW_WORK, FAULT_SLOW_WORK});
    assert_null(asking_late_doubt(asked.asking));
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_NONE);
    asking_free(asked.asking);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_that_a_step_does_not_look_at_does_not_pass_twice),
        cmocka_unit_test(a_wrong_clock_comes_to_what_it_comes_to_by_its_steps),
        cmocka_unit_test(what_comes_much_later_is_a_doubt_only_where_it_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
