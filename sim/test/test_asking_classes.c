/* Tests of classes of histories (ask/asking_classes.c): with them and without, a worker of a quorum
 * (quorum_worker.py) comes to the same; what does not commute stays apart. */
#include "ask/asking_state.h"
#include "ask/phrase.h"
#include "test/asked_worker.h"

#include <stdlib.h>

/* What came of that, in one cell of three servers. */
static struct asking_figures quorum_outcome(const char *as, bool merges, int learns, int fault,
                                            struct explore_outcome *outcome)
{
    struct worker_asked asked;
    struct explore_options options;
    const struct explore_options own = options_of("redlock", fault);
    ask_as(&asked, "quorum_worker", as, 3, merges, learns);
    search(&asked, &own, &options, outcome);
    if (!asking_failure(asked.asking)->code)
        assert_true(asking_audit(asked.asking, 5, 0));
    if (asking_failure(asked.asking)->code)
        fail_msg("%s: %s", as, asking_failure(asked.asking)->text);
    assert_int_equal(outcome->end, END_COMPLETE);
    const struct asking_figures figures = asking_figures(asked.asking);
    asking_free(asked.asking);
    return figures;
}

static void with_and_without_classes(const char *as, bool commutes)
{
    struct explore_outcome merged, whole;
    const struct explore_options options = options_of("redlock", NONE);
    const struct asking_figures with = quorum_outcome(as, true, 0, NONE, &merged);
    const struct asking_figures without = quorum_outcome(as, false, 0, NONE, &whole);
    assert_int_equal(differences(as, &options, &whole, &merged), 0);
    assert_true(with.joined > 0);
    assert_int_equal(with.apart == 0, commutes);
    assert_int_equal(without.classes, 0);
    assert_true(merged.states < whole.states);
    explore_outcome_free(&merged);
    explore_outcome_free(&whole);
}

/* Where one answer counts more than the others because it came first, or last, its orders are told
 * apart: of the one only what comes later shows that they differ. */
static void answers_that_commute_are_one_history(void **state)
{
    (void)state;
    LONG_ONLY();
    with_and_without_classes("", true);
}

static void answers_that_do_not_commute_stay_apart(void **state)
{
    (void)state;
    with_and_without_classes("first", false);
    if (is_long()) /* each order is another one: by when it minds time */
        with_and_without_classes("last", true);
}

static void who_said_what_is_renamed_with_its_server(void **state)
{
    (void)state;
    if (sample_every() > 1)
        skip();
    with_and_without_classes("tidy", true);
}

static void servers_that_are_told_apart_keep_their_places_in_a_class(void **state)
{
    (void)state;
    LONG_ONLY();
    with_and_without_classes("uneven", true);
}

/* --- the learned model --- */

/* One more for each of three servers: its idle connection breaks. */
enum { LEARNED_WITH_CUTS = LEARNED_WAYS + 3 };

static void a_learned_model_comes_to_the_same(void **state)
{
    static const int faults[] = {NONE, FAULT_LOSE_REPLY, FAULT_STALL, FAULT_RESTART};
    (void)state;
    LONG_ONLY();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct explore_outcome learned, by_steps;
        struct explore_options options = options_of("redlock", faults[i]);
        const int ways = faults[i] == FAULT_RESTART ? LEARNED_WITH_CUTS : LEARNED_WAYS;
        const struct asking_figures figures = quorum_outcome("", true, ways, faults[i], &learned);
        options.lease_ticks = 2;
        run(&options, &by_steps);
        assert_int_equal(differences("learned", &options, &by_steps, &learned), 0);
        assert_int_equal(figures.learned_ways, ways);
        assert_true(figures.joined > 0 && figures.walks > 0);
        explore_outcome_free(&learned);
        explore_outcome_free(&by_steps);
    }
}

/* What came of it at an earlier question shows only when one server of three has lost the lock. */
static void a_model_is_learned_on_each_way(void **state)
{
    struct explore_outcome learned, whole;
    const struct explore_options options = options_of("redlock", NONE);
    (void)state;
    LONG_ONLY();
    (void)quorum_outcome("picky", true, LEARNED_WAYS, NONE, &learned);
    (void)quorum_outcome("picky", true, 0, NONE, &whole);
    assert_int_equal(differences("picky", &options, &whole, &learned), 0);
    explore_outcome_free(&learned);
    explore_outcome_free(&whole);
}

/* At its release all servers have said the same, and one of them counts alone: whose answer is lost
 * shows that. */
static void who_counts_for_more_changes_places_with_nobody(void **state)
{
    struct explore_outcome learned;
    (void)state;
    LONG_ONLY();
    const struct asking_figures figures =
        quorum_outcome("loyal", true, LEARNED_WAYS, FAULT_LOSE_REPLY, &learned);
    assert_true(figures.joined > 0 && figures.walks > 0);
    explore_outcome_free(&learned);
}

/* When a server restarts, in a model that so many ways have learned. */
static struct failure failure_through_a_restart(const char *as, int ways)
{
    struct worker_asked asked;
    const struct explore_options own = options_of("redlock", FAULT_RESTART);
    ask_as(&asked, "quorum_worker", as, 3, true, ways);
    return search_failure(&asked, &own, 0);
}

static void who_minds_which_idle_connection_is_told(void **state)
{
    const struct failure failure = failure_through_a_restart("trusting", LEARNED_WITH_CUTS);
    const char *why = failure.text;
    (void)state;
    LONG_ONLY();
    assert_non_null(strstr(why, "its idle connection breaks (server "));
    assert_non_null(strstr(why, "\" the worker minds that its idle connection broke: it sends "));
    assert_non_null(strstr(why, ", where it else sends EVAL"));
}

/* Where two of three had granted the lock, a release minds a connection that broke behind its
 * answer; where all had, it does not. Only the ways that break connections keep the two apart. */
static void idle_connections_break_on_ways_of_their_own(void **state)
{
    (void)state;
    if (is_long()) /* without these ways nobody sees it */
        assert_string_equal(failure_through_a_restart("wary", LEARNED_WAYS).text, "");
    assert_non_null(strstr(failure_through_a_restart("wary", LEARNED_WITH_CUTS).text,
                           "minds that its idle connection broke"));
}

/* A search that breaks none asks for none of these ways; one behind it that does asks for them. */
static void what_was_taken_for_one_is_asked_again_where_more_may_break(void **state)
{
    struct worker_asked asked;
    struct explore_options options;
    struct explore_outcome outcome;
    const struct explore_options prompt = options_of("redlock", NONE);
    const struct explore_options restarts = options_of("redlock", FAULT_RESTART);
    (void)state;
    LONG_ONLY();
    ask_as(&asked, "quorum_worker", "wary", 3, true, LEARNED_WITH_CUTS);
    search(&asked, &prompt, &options, &outcome);
    assert_string_equal(asking_failure(asked.asking)->text, "");
    explore_outcome_free(&outcome);
    assert_non_null(
        strstr(search_failure(&asked, &restarts, 0).text, "minds that its idle connection broke"));
}

static void a_model_that_is_not_the_worker_is_found_out(void **state)
{
    struct worker_asked asked;
    struct explore_options options;
    struct explore_outcome outcome;
    const struct explore_options own = options_of("redlock", NONE);
    (void)state;
    ask_as(&asked, "quorum_worker", "picky", 3, true, 1);
    search(&asked, &own, &options, &outcome);
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_NONE);
    (void)asking_audit(asked.asking, 5, 0);
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_UNKNOWN);
    assert_non_null(
        strstr(asking_failure(asked.asking)->text, "the learned model is not the worker"));
    explore_outcome_free(&outcome);
    asking_free(asked.asking);
}

static uint32_t history_of(struct asking *asking, struct history_edge *edges, size_t count)
{
    static const char ok[] = "+OK\r\n";
    const struct spoken_token none = {.length = 0};
    struct failure failure = {0};
    struct remembered_step told = {.node = NODE_ROOT};
    unsigned whose;
    for (size_t i = 0; i < count; i++) {
        edges[i].from = told.node;
        if (edges[i].happening == HAPPENS_REPLY &&
            phrase_put(&asking->book, ok, strlen(ok), &none, &none, &edges[i].reply, &whose,
                       &failure))
            fail_msg("%s", failure.text);
        if (history_ask(&asking->worker, &edges[i], &told, &failure))
            fail_msg("%s", failure.text);
    }
    return told.node;
}

/* An attempt that two servers have granted, each after so much time. */
static uint32_t attempt_behind(struct asking *asking, int32_t first, int32_t second)
{
    struct history_edge edges[] = {{.happening = HAPPENS_ACQUIRE, .elapsed = ELAPSED_ANY},
                                   {.happening = HAPPENS_REPLY, .server = 0, .elapsed = first},
                                   {.happening = HAPPENS_REPLY, .server = 1, .elapsed = second}};
    return history_of(asking, edges, sizeof edges / sizeof *edges);
}

static uint32_t class_of(struct asking *asking, uint32_t node)
{
    struct history_class it;
    struct failure failure = {0};
    if (asking_class(asking, node, &it, &failure))
        fail_msg("%s", failure.text);
    return it.node;
}

static uint32_t class_behind(struct asking *asking, int32_t first, int32_t second)
{
    return class_of(asking, attempt_behind(asking, first, second));
}

/* A release of what all have granted, or of what two have, and the connection to the third broke.
 */
static uint32_t release_behind(struct asking *asking, bool breaks)
{
    struct history_edge edges[] = {
        {.happening = HAPPENS_ACQUIRE, .elapsed = ELAPSED_ANY},
        {.happening = breaks ? HAPPENS_RESET : HAPPENS_REPLY, .server = 0},
        {.happening = HAPPENS_REPLY, .server = 1},
        {.happening = HAPPENS_REPLY, .server = 2},
        {.happening = HAPPENS_RELEASE}};
    return history_of(asking, edges, sizeof edges / sizeof *edges);
}

/* What was struck by the only fault is asked for less behind it; so it is taken for what was not,
 * and never the other way round. */
static void who_may_be_struck_yet_is_not_taken_for_who_was(void **state)
{
    const struct explore_options restarts = options_of("redlock", FAULT_RESTART);
    (void)state;
    for (int is_first = 0; is_first <= 1; is_first++) {
        struct worker_asked asked;
        ask_as(&asked, "quorum_worker", "", 3, true, LEARNED_WITH_CUTS);
        asking_expect(asked.asking, &restarts);
        const uint32_t one = class_of(asked.asking, release_behind(asked.asking, is_first));
        const uint32_t other = class_of(asked.asking, release_behind(asked.asking, !is_first));
        assert_int_equal(one == other, !is_first);
        asking_free(asked.asking);
    }
}

/* When the lease is over shows on no way, which take no time; so how long ago it asked is a part of
 * its class, and not at which answers that time passed. */
static void a_model_knows_how_long_ago_it_asked(void **state)
{
    struct worker_asked asked;
    (void)state;
    LONG_ONLY();
    ask_as(&asked, "quorum_worker", "watchful", 3, true, LEARNED_WAYS);
    const uint32_t early = class_behind(asked.asking, ELAPSED_EACH, 0);
    assert_int_not_equal(class_behind(asked.asking, 0, 0), early);
    assert_int_not_equal(class_behind(asked.asking, ELAPSED_EACH, ELAPSED_EACH), early);
    assert_int_equal(class_behind(asked.asking, 0, ELAPSED_EACH), early);
    asking_free(asked.asking);
}

/* Each time it may be asked once more: what comes of it then is what comes of it at once. */
static void a_class_is_there_when_all_was_asked(void **state)
{
    struct worker_asked asked;
    struct history_class it;
    struct failure failure = {0};
    int failed = 0;
    (void)state;
    ask_as(&asked, "quorum_worker", "", 3, true, LEARNED_WAYS);
    const uint32_t node = attempt_behind(asked.asking, 0, 0);
    struct worker_asker *worker = &asked.asking->worker;
    for (worker->runs_max = worker->runs; asking_class(asked.asking, node, &it, &failure);
         worker->runs_max = worker->runs + 1)
        assert_true(failed++ < 50);
    assert_true(failed > LEARNED_WAYS);
    assert_int_equal(it.like[1], 0); /* it has said the same as the first one */
    assert_int_equal(it.like[2], 2);
    asking_free(asked.asking);
}

static enum happening operation_at(const struct worker_asker *worker, uint32_t node)
{
    struct history_edge edge = worker_asker_edge(worker, node);
    while (!happening_asks((enum happening)edge.happening))
        edge = worker_asker_edge(worker, edge.from);
    return (enum happening)edge.happening;
}

/* Behind its only attempt it does nothing, whatever came before: it is no class with any other. */
static void who_makes_no_attempt_any_more_is_not_asked_to_go_on(void **state)
{
    struct worker_asked asked;
    struct explore_options options, own = options_of("redlock", NONE);
    struct explore_outcome outcome;
    int ends = 0;
    (void)state;
    own.rounds = 1;
    ask_as(&asked, "quorum_worker", "", 3, true, LEARNED_WAYS);
    search(&asked, &own, &options, &outcome);
    const struct worker_asker *worker = &asked.asking->worker;
    for (uint32_t node = 1; node <= worker->questions.count; node++) {
        const struct history_edge edge = worker_asker_edge(worker, node);
        const bool is_end =
            operation_at(worker, node) == HAPPENS_RELEASE && worker->answers[node - 1].has_ended;
        ends += is_end;
        if (edge.from != NODE_ROOT && edge.happening == HAPPENS_ACQUIRE)
            assert_true(operation_at(worker, edge.from) != HAPPENS_RELEASE);
    }
    assert_true(ends > 0);
    explore_outcome_free(&outcome);
    asking_free(asked.asking);
}

static bool is_even_handed(const char *as)
{
    struct worker_asked asked;
    ask_for(&asked, "quorum_worker", as, 3);
    const bool is = asking_figures(asked.asking).is_even_handed;
    asking_free(asked.asking);
    return is;
}

static void whether_servers_are_treated_alike_is_measured(void **state)
{
    (void)state;
    assert_true(is_even_handed(""));
    assert_false(is_even_handed("uneven"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_that_commute_are_one_history),
        cmocka_unit_test(answers_that_do_not_commute_stay_apart),
        cmocka_unit_test(who_said_what_is_renamed_with_its_server),
        cmocka_unit_test(servers_that_are_told_apart_keep_their_places_in_a_class),
        cmocka_unit_test(a_learned_model_comes_to_the_same),
        cmocka_unit_test(a_model_is_learned_on_each_way),
        cmocka_unit_test(who_counts_for_more_changes_places_with_nobody),
        cmocka_unit_test(who_minds_which_idle_connection_is_told),
        cmocka_unit_test(idle_connections_break_on_ways_of_their_own),
        cmocka_unit_test(what_was_taken_for_one_is_asked_again_where_more_may_break),
        cmocka_unit_test(a_model_that_is_not_the_worker_is_found_out),
        cmocka_unit_test(a_model_knows_how_long_ago_it_asked),
        cmocka_unit_test(who_may_be_struck_yet_is_not_taken_for_who_was),
        cmocka_unit_test(a_class_is_there_when_all_was_asked),
        cmocka_unit_test(who_makes_no_attempt_any_more_is_not_asked_to_go_on),
        cmocka_unit_test(whether_servers_are_treated_alike_is_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
