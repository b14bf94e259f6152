/* Tests of what follows an attempt (ask/asking_ends.c): a worker whose timer runs on behind one
 * (trailing_worker.py) comes to what it comes to where nothing is taken for the same; and what was
 * taken for the same and is not is found out. And a timer by which a worker (keeping_worker.py)
 * connects anew. */
#include "base/random.h"

#include "test/asked_worker.h"

/* What came of it with these bounds. */
static struct asking_figures outcome_of(const char *program, const char *as, bool merges,
                                        const struct explore_options *own,
                                        struct explore_outcome *outcome)
{
    struct worker_asked asked;
    struct explore_options options;
    ask_as(&asked, program, as, 1, merges, 0);
    search(&asked, own, &options, outcome);
    if (!asking_failure(asked.asking)->code)
        assert_true(asking_audit(asked.asking, 5, 0));
    if (asking_failure(asked.asking)->code)
        fail_msg("%s: %s", as, asking_failure(asked.asking)->text);
    assert_null(asking_untried_delay(asked.asking));
    assert_int_equal(outcome->end, END_COMPLETE);
    const struct asking_figures figures = asking_figures(asked.asking);
    asking_free(asked.asking);
    return figures;
}

static struct asking_figures asked_outcome(const char *as, bool merges,
                                           const struct explore_options *own,
                                           struct explore_outcome *outcome)
{
    return outcome_of("trailing_worker", as, merges, own, outcome);
}

static struct explore_options bounds_of(int fault)
{
    struct explore_options options = options_of("set-nx-px-cad", fault);
    options.clients = 2;
    return options;
}

static struct asking_figures with_and_without(const char *as, int fault)
{
    struct explore_outcome joined, whole;
    const struct explore_options own = bounds_of(fault);
    const struct asking_figures with = asked_outcome(as, true, &own, &joined);
    const struct asking_figures without = asked_outcome(as, false, &own, &whole);
    assert_int_equal(differences(as, &own, &whole, &joined), 0);
    assert_int_equal(without.timed_ends, 0);
    explore_outcome_free(&joined);
    explore_outcome_free(&whole);
    return with;
}

static void a_timer_that_says_nothing_is_any_attempts(void **state)
{
    (void)state;
    LONG_ONLY();
    assert_true(with_and_without("trailing", FAULT_EVICT).timed_ends > 0);
}

static void who_minds_how_an_attempt_ended_is_told_apart(void **state)
{
    (void)state;
    assert_true(with_and_without("grudging", FAULT_SLOW_WORK).timed_ends > 0);
}

/* Workers and faults by lot. */
static void whatever_it_minds_it_comes_to_the_same(void **state)
{
    static const int faults[] = {NONE, FAULT_EVICT, FAULT_FLUSH_ALL, FAULT_SLOW_WORK, FAULT_CRASH};
    struct random random = {.seed = 11};
    const int draws = is_long() ? 60 : 1 / sample_every() + 1;
    (void)state;
    LONG_ONLY();
    for (int i = 0; i < draws; i++) {
        char as[32];
        (void)snprintf(as, sizeof as, "moody %u", (unsigned)random_below(&random, 1000));
        (void)with_and_without(as, faults[random_below(&random, sizeof faults / sizeof *faults)]);
    }
}

static struct failure failure_with(const char *as, int fault, int rounds)
{
    struct worker_asked asked;
    struct explore_options own = bounds_of(fault);
    own.rounds = rounds;
    ask_for(&asked, "trailing_worker", as, 1);
    return search_failure(&asked, &own, 5);
}

/* None of the ways on which they are compared has a release that finds nothing. */
static void what_only_another_way_shows_is_found_out(void **state)
{
    const struct failure failure = failure_with("sly", FAULT_EVICT, 2);
    (void)state;
    if (!strstr(failure.text,
                "what it does behind one attempt was taken for what it does behind another"))
        fail_msg("\"%s\"", failure.text);
}

/* Nothing is asked of who makes no attempt any more; who was refused does, for nothing. */
static void who_is_refused_tries_again_without_an_attempt_left(void **state)
{
    const struct failure failure = failure_with("growing", FAULT_STALL, 1);
    (void)state;
    if (!strstr(failure.text, "it does not close"))
        fail_msg("\"%s\"", failure.text);
}

/* Each refusal is like the one before, up to a number. As far as that is asked, the worker is told
 * apart from a new one; one that only counts further is not. */
static void what_it_does_behind_many_refusals_is_asked(void **state)
{
    static const struct {
        const char *as;
        int fault;
        bool is_found;
    } rows[] = {{"behind-refusals 6 breaks", NONE, true},
                {"behind-refusals 9 breaks", NONE, false},
                {"behind-a-failure", FAULT_LOSE_REPLY, true},
                /* long: */
                {"behind-refusals 3 breaks", NONE, true},
                {"behind-refusals 4 deletes", FAULT_SLOW_WORK, true},
                {"behind-a-failure", NONE, false}};
    const size_t count = is_long() ? sizeof rows / sizeof *rows : 3;
    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct worker_asked asked;
        struct explore_options own = bounds_of(rows[i].fault);
        ask_for(&asked, "scheme_worker", rows[i].as, 1);
        assert_int_equal(asking_figures(asked.asking).refusals, 6);
        const struct failure failure = search_failure(&asked, &own, 0);
        if (rows[i].is_found != (strstr(failure.text, "it does not close") != NULL))
            fail_msg("%s: \"%s\"", rows[i].as, failure.text);
    }
}

/* Who had the lock, and when that was: what it makes of that in a later attempt is no matter of
 * what a new one does. One that makes nothing of it is decided. */
static void what_it_remembers_of_a_holder_is_asked(void **state)
{
    static const struct {
        const char *as;
        int fault;
        const char *words;
    } rows[] = {{"times 6", NONE, "it remembers whose token it has heard of"},
                {"leases 1.2", NONE, "it remembers when an attempt was"},
                {"nothing", FAULT_SLOW_WORK, ""},
                /* long: */
                {"blind 3", NONE, "it remembers whose token it has heard of"},
                {"ago 0.7", FAULT_SLOW_WORK, "it remembers when an attempt was"}};
    const size_t count = is_long() ? sizeof rows / sizeof *rows : 3;
    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct worker_asked asked;
        const struct explore_options own = bounds_of(rows[i].fault);
        ask_for(&asked, "remembering_worker", rows[i].as, 1);
        const struct failure failure = search_failure(&asked, &own, 0);
        if (*rows[i].words ? !strstr(failure.text, rows[i].words) : failure.code)
            fail_msg("%s: \"%s\"", rows[i].as, failure.text);
    }
}

/* Where its verdicts differ from those of the scheme that it is, and the most further steps of a
 * witness. */
static int differs_from_scheme(const char *delay, int fault, int *further)
{
    struct explore_outcome asked, modelled;
    struct explore_options options = bounds_of(fault);
    int differ = 0;
    (void)outcome_of("keeping_worker", delay, true, &options, &asked);
    options.section = SECTION_NOTHING;
    run(&options, &modelled);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        const struct explore_finding *a = &asked.findings[i], *b = &modelled.findings[i];
        const int more = a->events - b->events;
        differ += a->verdict != b->verdict || a->faults != b->faults;
        *further = a->verdict == VERDICT_VIOLATED && more > *further ? more : *further;
    }
    explore_outcome_free(&asked);
    explore_outcome_free(&modelled);
    return differ;
}

/* Whoever waits for a timer before it connects anew meets who holds the lock still: it costs the
 * time that passes, a step. */
static void who_connects_anew_by_a_timer_comes_to_what_its_scheme_comes_to(void **state)
{
    static const struct {
        const char *delay;
        int fault;
    } rows[] = {{"0.05", FAULT_CLIENT_KILL}, {"0.9", FAULT_RESTART}};
    const size_t count = is_long() ? sizeof rows / sizeof *rows : 1;
    (void)state;
    for (size_t i = 0; i < count; i++) {
        int further = 0;
        assert_int_equal(differs_from_scheme(rows[i].delay, rows[i].fault, &further), 0);
        assert_in_range(further, 0, 1);
    }
}

/* On this grid it rings when the lease is over: what is not found then is not known. A search
 * without that fault says nothing of it. */
static void who_connects_anew_later_than_a_tick_is_told(void **state)
{
    struct worker_asked asked;
    struct explore_options options, own = bounds_of(FAULT_RESTART), without = bounds_of(NONE);
    struct explore_outcome outcome;
    (void)state;
    own.rounds = without.rounds = 1;
    ask_for(&asked, "keeping_worker", "1.9", 1);
    search(&asked, &own, &options, &outcome);
    explore_outcome_free(&outcome);
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_NONE);
    assert_non_null(asking_untried_delay(asked.asking));
    assert_non_null(strstr(asking_untried_delay(asked.asking), "between 1s and 2s (a lease)"));
    search(&asked, &without, &options, &outcome);
    explore_outcome_free(&outcome);
    assert_null(asking_untried_delay(asked.asking));
    asking_free(asked.asking);
}

/* Whoever only connects anew, by a timer that takes a tick, is not asked again with waits that add
 * up, whatever it is that waits for that: here the acquire behind the one that failed. */
static void who_waits_only_to_connect_anew_rounds_no_waits(void **state)
{
    static const struct {
        const char *delays;
        bool rounds;
    } rows[] = {{"0.05", false}, {"0.05 1.2", true}};
    (void)state;
    LONG_ONLY();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct worker_asked asked;
        struct explore_options options, own = bounds_of(FAULT_LOSE_REQUEST);
        struct explore_outcome outcome;
        ask_for(&asked, "keeping_worker", rows[i].delays, 1);
        search(&asked, &own, &options, &outcome);
        explore_outcome_free(&outcome);
        if (asking_failure(asked.asking)->code)
            fail_msg("%s: %s", rows[i].delays, asking_failure(asked.asking)->text);
        assert_int_equal(asking_rounds_waits(asked.asking), rows[i].rounds);
        asking_free(asked.asking);
    }
}

/* That it does otherwise at the second time a search of one fault need not ask for, and does not;
 * one of two is told. */
static void minds_the_second(const char *as, int fault)
{
    struct worker_asked asked;
    struct explore_options options, own = bounds_of(fault);
    struct explore_outcome outcome, modelled;
    own.section = SECTION_NOTHING;
    ask_for(&asked, "trailing_worker", as, 1);
    search(&asked, &own, &options, &outcome);
    if (asking_failure(asked.asking)->code)
        fail_msg("%s: %s", as, asking_failure(asked.asking)->text);
    run(&own, &modelled);
    assert_int_equal(differences(as, &own, &modelled, &outcome), 0);
    explore_outcome_free(&outcome);
    explore_outcome_free(&modelled);
    own.budget[fault] = 2;
    const struct failure failure = search_failure(&asked, &own, 0);
    if (!strstr(failure.text, "it does not close"))
        fail_msg("%s: \"%s\"", as, failure.text);
}

static void what_only_a_second_fault_shows_is_asked_where_there_may_be_one(void **state)
{
    (void)state;
    LONG_ONLY();
    minds_the_second("twice late", FAULT_SLOW_WORK);
    minds_the_second("twice broken", FAULT_RESTART);
    minds_the_second("twice jumped", FAULT_CLIENT_CLOCK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_that_says_nothing_is_any_attempts),
        cmocka_unit_test(who_minds_how_an_attempt_ended_is_told_apart),
        cmocka_unit_test(whatever_it_minds_it_comes_to_the_same),
        cmocka_unit_test(what_only_another_way_shows_is_found_out),
        cmocka_unit_test(who_is_refused_tries_again_without_an_attempt_left),
        cmocka_unit_test(what_it_does_behind_many_refusals_is_asked),
        cmocka_unit_test(what_it_remembers_of_a_holder_is_asked),
        cmocka_unit_test(what_only_a_second_fault_shows_is_asked_where_there_may_be_one),
        cmocka_unit_test(who_connects_anew_by_a_timer_comes_to_what_its_scheme_comes_to),
        cmocka_unit_test(who_connects_anew_later_than_a_tick_is_told),
        cmocka_unit_test(who_waits_only_to_connect_anew_rounds_no_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
