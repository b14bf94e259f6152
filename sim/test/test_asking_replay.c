/* Tests of walks that are replayed with the workers (ask/asking_replay.c): what a worker remembers
 * of an attempt before, on ways that nothing asks for, is found by them; and one that remembers
 * nothing does as it has answered. */
#include "run/walk.h"
#include "run/worker_replays.h"

#include "test/asked_worker.h"

enum { WALKS = 12, FEW = 4 };

static struct failure replay(const char *program, const char *as, int fault, int walks,
                             struct asking_replayed *replayed)
{
    static char names[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES] = {"A", "B"};
    struct worker_asked asked;
    struct explore_options own = options_of("set-nx-px-cad", fault), options;
    struct explore_outcome outcome;
    struct failure failure = {0};
    own.clients = 2;
    ask_for(&asked, program, as, 1);
    search(&asked, &own, &options, &outcome);
    assert_int_equal(outcome.end, END_COMPLETE);
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_NONE);
    struct worker_replays *replays = worker_replays_new(&asked.program);
    const struct run run = confirm_run(&options, &outcome, names);
    const struct history_head head = walk_head(&run, &asked.program);
    const struct confirm_world world = worker_replays_world(replays, &head);
    (void)asking_replay_walks(asked.asking, &options, &run, &world, walks, &failure);
    *replayed = asking_figures(asked.asking).replayed;
    worker_replays_free(replays);
    explore_outcome_free(&outcome);
    asking_free(asked.asking);
    return failure;
}

static void who_remembers_nothing_does_as_it_has_answered(void **state)
{
    struct asking_replayed replayed;
    (void)state;
    const struct failure failure =
        replay("scheme_worker", "set-nx-px-cad", FAULT_SLOW_WORK, WALKS, &replayed);
    if (failure.code)
        fail_msg("%s", failure.text);
    assert_in_range(replayed.same, FEW, WALKS);
    assert_int_equal(replayed.lost, 0);
}

static void who_sends_two_commands_at_once_does_as_it_has_answered(void **state)
{
    struct asking_replayed replayed;
    (void)state;
    const struct failure failure = replay("trailing_worker", "piping", NONE, WALKS, &replayed);
    if (failure.code)
        fail_msg("%s", failure.text);
    assert_in_range(replayed.same, FEW, WALKS);
}

static void expect(const char *as, int fault, int walks, const char *words)
{
    struct asking_replayed replayed;
    const struct failure failure = replay("trailing_worker", as, fault, walks, &replayed);
    if (failure.code != FAIL_UNKNOWN || !strstr(failure.text, words))
        fail_msg("%s: \"%s\"", as, failure.text);
    assert_int_equal(replayed.other, 1);
}

static void who_remembers_three_attempts_is_found_out(void **state)
{
    (void)state;
    expect("recalling", NONE, WALKS,
           "when it is asked to acquire it acquires, and waits for DEL lock");
}

/* A fault makes one failure in a walk: few of them must do. */
static void who_remembers_a_refusal_before_a_failure_is_found_out_by_few(void **state)
{
    (void)state;
    expect("impatient", FAULT_LOSE_REQUEST, FEW,
           "when it is asked to acquire it acquires, and waits for DEL lock");
}

static void a_token_that_comes_back_is_found_out(void **state)
{
    (void)state;
    expect("alternating", NONE, WALKS, "one that it has had in an attempt before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_remembers_nothing_does_as_it_has_answered),
        cmocka_unit_test(who_sends_two_commands_at_once_does_as_it_has_answered),
        cmocka_unit_test(who_remembers_three_attempts_is_found_out),
        cmocka_unit_test(who_remembers_a_refusal_before_a_failure_is_found_out_by_few),
        cmocka_unit_test(a_token_that_comes_back_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
