/* Tests of the answers that are asked for again while a search goes on (ask/asking_audit.c): what
 * differs then is told behind the searches, and does not disturb them. */
/* before cmocka.h, which has a macro named like our enum fail */
#include "ask/asking.h"
#include "explore/search/explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "test/asked_worker.h"

/* Of a hundred answers: so many that those of one small search are enough for a session. */
enum { MANY = 500 };

/* It is complete, and nothing went wrong. */
static void search_one(struct worker_asked *asked, int fault)
{
    struct explore_options own = options_of("set-nx-px-cad", fault), options;
    struct explore_outcome outcome;
    own.clients = 2;
    search(asked, &own, &options, &outcome);
    assert_int_equal(outcome.end, END_COMPLETE);
    assert_int_equal(asking_failure(asked->asking)->code, FAIL_NONE);
    explore_outcome_free(&outcome);
}

/* Searches; starts processes ahead; asks them, and searches on. Returns what was asked again. */
static uint64_t search_meanwhile(struct worker_asked *asked)
{
    search_one(asked, FAULT_STALL);
    asking_audit_ahead(asked->asking, MANY, 1); /* its time was over long ago */
    asking_audit_ahead(asked->asking, MANY, 0);
    assert_int_equal(asking_figures(asked->asking).audited, 0);
    const uint64_t executions = asking_figures(asked->asking).executions;
    asking_audit_ahead(asked->asking, MANY, 0);
    assert_int_equal(asking_figures(asked->asking).executions, executions);
    const uint64_t audited = asking_figures(asked->asking).audited;
    search_one(asked, FAULT_LOSE_REPLY);
    return audited;
}

static void answers_are_asked_for_again_while_it_is_searched(void **state)
{
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "scheme_worker", "set-nx-px-cad", 1);
    assert_true(search_meanwhile(&asked) > 0);
    assert_true(asking_audit(asked.asking, 1, 0));
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_NONE);
    asking_free(asked.asking);
}

/* The three clients of a search are alike: only the processes that were asked meanwhile are not. */
static void what_differs_then_is_told_behind_the_searches(void **state)
{
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "trailing_worker", "fourth", 1);
    (void)search_meanwhile(&asked);
    assert_true(asking_audit(asked.asking, 0, 0));
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_UNKNOWN);
    if (!strstr(asking_failure(asked.asking)->text, "two answers to one question"))
        fail_msg("%s", asking_failure(asked.asking)->text);
    assert_false(asking_go_on(asked.asking));
    asking_free(asked.asking);
}

/* Each costs a process: what was asked for beyond the share is what the last of them came by. */
static void no_more_is_asked_for_again_than_is_lacked(void **state)
{
    enum { SHARE = 10, LONGEST = 24 };
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "scheme_worker", "set-nx-px-cad", 1);
    search_one(&asked, FAULT_STALL);
    assert_true(asking_audit(asked.asking, SHARE, 0));
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_NONE);
    const struct asking_figures figures = asking_figures(asked.asking);
    assert_true(figures.audited * 100 >= (figures.histories + figures.questions) * SHARE);
    assert_true(figures.audited <= (figures.histories + figures.questions) * SHARE / 100 + LONGEST);
    asking_free(asked.asking);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_asked_for_again_while_it_is_searched),
        cmocka_unit_test(what_differs_then_is_told_behind_the_searches),
        cmocka_unit_test(no_more_is_asked_for_again_than_is_lacked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
