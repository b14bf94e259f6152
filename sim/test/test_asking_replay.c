/* Tests of what is asked for behind a search: attempts one behind the other (asking_sequences.c),
 * and walks that are replayed with all workers (asking_replay.c). What a worker remembers of
 * attempts before, in orders that nothing else asks for, is found; and one that remembers nothing
 * does as it has answered. PICKLOCK_LONG: more orders, and one more fault. */
#include "run/walk.h"
#include "run/worker_replays.h"

#include "test/asked_worker.h"

enum { WALKS = 4, SEQUENCES = 100 };

static struct failure look(const char *program, const char *as, int fault, int rounds,
                           struct asking_figures *figures)
{
    static char names[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES] = {"A", "B"};
    struct worker_asked asked;
    struct explore_options own = options_of("set-nx-px-cad", fault), options;
    struct explore_outcome outcome;
    struct failure failure = {0};
    own.clients = 2;
    own.rounds = rounds;
    ask_for(&asked, program, as, 1);
    search(&asked, &own, &options, &outcome);
    assert_int_equal(outcome.end, END_COMPLETE);
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_NONE);
    struct worker_replays *replays = worker_replays_new(&asked.program);
    const struct run run = confirm_run(&options, &outcome, names);
    const struct history_head head = walk_head(&run, &asked.program);
    const struct confirm_world world = worker_replays_world(replays, &head);
    if (!asking_ask_sequences(asked.asking, &options, SEQUENCES, &failure))
        (void)asking_replay_walks(asked.asking, &options, &run, &world, WALKS, &failure);
    *figures = asking_figures(asked.asking);
    worker_replays_free(replays);
    explore_outcome_free(&outcome);
    asking_free(asked.asking);
    return failure;
}

static void expect_nothing(const char *program, const char *as, int fault)
{
    struct asking_figures figures;
    const struct failure failure = look(program, as, fault, 2, &figures);
    if (failure.code)
        fail_msg("%s: \"%s\"", as, failure.text);
    assert_true(figures.sequences.sequences > 0);
    assert_int_equal(figures.sequences.left, 0);
    assert_int_equal(figures.replayed.same, WALKS);
    assert_int_equal(figures.replayed.lost, 0);
}

static void who_remembers_nothing_does_as_it_has_answered(void **state)
{
    (void)state;
    if (is_long())
        expect_nothing("scheme_worker", "set-nx-px-cad", FAULT_SLOW_WORK);
    expect_nothing("scheme_worker", "set-nx-px-cad", FAULT_LOSE_REPLY);
}

static void who_sends_two_commands_at_once_does_as_it_has_answered(void **state)
{
    (void)state;
    LONG_ONLY();
    expect_nothing("trailing_worker", "piping", NONE);
}

static void expect(const char *as, int fault, int rounds, const char *words)
{
    struct asking_figures figures;
    const struct failure failure = look("trailing_worker", as, fault, rounds, &figures);
    if (failure.code != FAIL_UNKNOWN || !strstr(failure.text, words) ||
        !strstr(failure.text, "one behind the other"))
        fail_msg("%s: \"%s\"", as, failure.text);
}

static void what_is_remembered_of_ends_in_an_order_is_found_out(void **state)
{
    static const char deletes[] = "when it is asked to acquire, it sends DEL lock";
    (void)state;
    expect("behind rgr", NONE, 2, deletes);
    expect("behind re", FAULT_LOSE_REQUEST, 2, deletes);
    if (is_long()) {
        expect("behind gre", FAULT_LOSE_REQUEST, 3, deletes);
        expect("behind rgr slowly", NONE, 2, deletes);
    }
}

/* Each of them is made as slow as a search has it, where the worker looks at a clock. */
static void how_long_an_attempt_took_may_be_remembered_too(void **state)
{
    (void)state;
    LONG_ONLY();
    expect_nothing("trailing_worker", "behind never timed", FAULT_SLOW_WORK);
    expect("behind hrr timed", FAULT_SLOW_WORK, 2,
           "when it is asked to acquire, it sends DEL lock");
}

/* Where a connection breaks, so do those beside it. */
static void another_connection_that_breaks_with_one_is_found_out(void **state)
{
    (void)state;
    LONG_ONLY();
    expect_nothing("trailing_worker", "apart", FAULT_LOSE_REPLY);
    expect("apart blindly", FAULT_LOSE_REPLY, 2,
           "granted, failed; when it is asked to acquire, it sends nothing, answers an error");
}

/* A is asked for all the rest. */
static void what_only_another_client_remembers_is_found_out(void **state)
{
    (void)state;
    LONG_ONLY();
    expect("behind e of-b", FAULT_LOSE_REQUEST, 2, "B, whose operations ended so far");
}

static void a_token_that_comes_back_is_found_out(void **state)
{
    (void)state;
    expect("alternating", NONE, 2, "a token that it has had in an attempt before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_remembers_nothing_does_as_it_has_answered),
        cmocka_unit_test(who_sends_two_commands_at_once_does_as_it_has_answered),
        cmocka_unit_test(what_is_remembered_of_ends_in_an_order_is_found_out),
        cmocka_unit_test(how_long_an_attempt_took_may_be_remembered_too),
        cmocka_unit_test(another_connection_that_breaks_with_one_is_found_out),
        cmocka_unit_test(what_only_another_client_remembers_is_found_out),
        cmocka_unit_test(a_token_that_comes_back_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
