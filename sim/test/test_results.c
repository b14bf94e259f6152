/* test_results.c - results as data: what rows come to, and the exit status. */
#include "checks/finding.h"
#include "report/report.h"
#include "test/sample_results.h"

#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h> /* last: its fail() is a macro */

/* --- the exit status --- */

static enum fail status_of(int count, const int *as_expected, const enum verdict *verdicts)
{
    struct results results = {0};
    for (int i = 0; i < count; i++)
        sample_row(&results, "s", "x", false, verdicts[i], as_expected[i]);
    enum fail status = results_status(&results);
    results_free(&results);
    return status;
}

static void failed_outranks_unknown(void **state)
{
    (void)state;
    static const int yes_none_no[] = {AS_EXPECTED_YES, AS_EXPECTED_NONE, AS_EXPECTED_NO};
    static const enum verdict verdicts[] = {VERDICT_VIOLATED, VERDICT_UNKNOWN, VERDICT_HOLDS};
    assert_int_equal(status_of(1, yes_none_no, verdicts), FAIL_NONE);
    assert_int_equal(status_of(2, yes_none_no, verdicts), FAIL_UNKNOWN);
    assert_int_equal(status_of(3, yes_none_no, verdicts), FAIL_EXPECTATION);
    /* an overrun where nothing was expected is a warning; that nothing is known may be expected */
    assert_int_equal(status_of(1, (int[]){AS_EXPECTED_NONE}, verdicts), FAIL_NONE);
    assert_int_equal(status_of(1, (int[]){AS_EXPECTED_YES}, &verdicts[1]), FAIL_NONE);
}

/* Nothing was judged, nothing is known; but of a campaign nothing may fall to a shard. */
static void nothing_ran_is_unknown(void **state)
{
    (void)state;
    struct results empty = {0}, shard = {.shard = {.number = 1, .count = 2}};
    assert_int_equal(results_status(&empty), FAIL_UNKNOWN);
    assert_int_equal(results_status(&shard), FAIL_NONE);
}

/* What does not apply fails nothing and leaves nothing open; where nothing else is there, nothing
 * was concluded. A shard of a campaign cannot know that. */
static void what_does_not_apply_is_no_verdict(void **state)
{
    (void)state;
    static const int yes_none[] = {AS_EXPECTED_NONE, AS_EXPECTED_YES};
    static const enum verdict verdicts[] = {VERDICT_NOT_APPLICABLE, VERDICT_HOLDS};
    assert_int_equal(status_of(2, yes_none, verdicts), FAIL_NONE);
    assert_int_equal(status_of(1, yes_none, verdicts), FAIL_UNKNOWN);
    struct results shard = {.shard = {.number = 1, .count = 2}};
    struct result_row *row = results_add(&shard);
    result_set_not_applicable(row, "the scenario does not speak about it");
    assert_int_equal(result_standing(row), STANDING_NOT_APPLICABLE);
    assert_int_equal(results_status(&shard), FAIL_NONE);
    results_free(&shard);
}

/* That a server cannot run a scheme may be foreseen, or the model may not have a cell's fault: that
 * fails nothing beside what was judged, and alone it leaves the whole unknown. */
static void what_is_not_supported_is_no_verdict(void **state)
{
    (void)state;
    struct results results = {0};
    struct result_row *row =
        sample_row(&results, "s", "x", false, VERDICT_UNKNOWN, AS_EXPECTED_YES);
    row->is_unsupported = true;
    assert_int_equal(result_standing(row), STANDING_UNSUPPORTED);
    assert_int_equal(results_status(&results), FAIL_UNKNOWN);
    assert_non_null(strstr(results_nothing_judged(&results), "nothing was run: "));
    sample_row(&results, "s", "y", false, VERDICT_HOLDS, AS_EXPECTED_YES);
    assert_int_equal(results_status(&results), FAIL_NONE);
    assert_null(results_nothing_judged(&results));
    results.rows[0].as_expected = AS_EXPECTED_NONE; /* it was not foreseen */
    assert_int_equal(result_standing(&results.rows[0]), STANDING_UNKNOWN);
    results_free(&results);

    sample_cell(&results, "stall");
    results.rows[0].properties[0].is_failure = false;
    result_sum_up_cell(&results.rows[0]);
    results.rows[0].is_unsupported = true;
    assert_int_equal(results_status(&results), FAIL_NONE); /* what was found was found */
    results.rows[0].verdict = VERDICT_UNKNOWN;
    assert_int_equal(result_standing(&results.rows[0]), STANDING_UNSUPPORTED);
    assert_int_equal(results_status(&results), FAIL_UNKNOWN);
    results_free(&results);
}

/* The judge: a run that its scheme could not follow says nothing, unless something is violated
 * already; a property that does not apply is not taken for one that holds. */
static void judged(enum standing wanted, const struct finding *findings,
                   const struct judging *judging)
{
    struct results results = {0};
    struct result_row *row = results_add(&results);
    result_judge(row, findings, judging);
    assert_int_equal(result_standing(row), wanted);
    results_free(&results);
}

/* What holds did so up to there, and every property says where that was. */
static void what_was_not_played_is_unknown(const struct finding *findings)
{
    struct results results = {0};
    const struct judging cut[] = {{.not_applicable = "at its end", .fail_on = FAIL_ON_SCHEME},
                                  {.interrupted = "at its end", .fail_on = FAIL_ON_SCHEME},
                                  {.fail_on = FAIL_ON_SCHEME}};
    for (int i = 0; i < 3; i++) {
        struct result_row *row = results_add(&results);
        result_judge(row, findings, &cut[i]);
        for (int k = 0; k < row->properties_count; k++) {
            const struct result_property *property = &row->properties[k];
            const bool is_violated = property->property == PROPERTY_RELEASE_OWN;
            assert_int_equal(property->verdict, is_violated ? VERDICT_VIOLATED
                                                : i == 2    ? VERDICT_HOLDS
                                                            : VERDICT_UNKNOWN);
            assert_int_equal(property->witness_lines, i == 2 ? 0 : 1);
            if (i < 2)
                assert_string_equal(property->witness[0],
                                    "Not all of it could be judged: at its end.");
        }
        assert_true(row->properties_count > 1);
    }
    results_free(&results);
}

static void a_run_that_cannot_be_followed(void **state)
{
    (void)state;
    static struct finding findings[PROPERTY_COUNT];
    struct expectation expectation = {.is_expected = {[PROPERTY_NO_ORPHAN] = true}};
    const struct judging follows = {.expectation = &expectation}, cannot = {.not_applicable = "no"};
    findings[PROPERTY_NO_ORPHAN].verdict = VERDICT_NOT_APPLICABLE;
    judged(STANDING_UNSTATED, findings, &(struct judging){0});
    judged(STANDING_NOT_APPLICABLE, findings, &cannot);
    judged(STANDING_UNKNOWN, findings, &(struct judging){.error = "no"});
    judged(STANDING_UNKNOWN, findings, &follows); /* "holds" was expected */
    expectation.verdicts[PROPERTY_NO_ORPHAN] = VERDICT_NOT_APPLICABLE;
    judged(STANDING_EXPECTED, findings, &follows);
    expectation.verdicts[PROPERTY_NO_ORPHAN] = VERDICT_UNKNOWN; /* what older files say of it */
    judged(STANDING_EXPECTED, findings, &follows);
    findings[PROPERTY_RELEASE_OWN] = (struct finding){.verdict = VERDICT_VIOLATED,
                                                      .count = 1,
                                                      .cause = CAUSE_UNLOCK_BUG,
                                                      .blames = 1u << BLAME_SCHEME};
    judged(STANDING_UNEXPECTED, findings,
           &(struct judging){.not_applicable = "no", .fail_on = FAIL_ON_SCHEME});
    judged(STANDING_NOT_APPLICABLE, findings, &cannot);
    what_was_not_played_is_unknown(findings);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        findings[i] = (struct finding){.verdict = VERDICT_NOT_APPLICABLE};
    judged(STANDING_NOT_APPLICABLE, findings, &(struct judging){0});
}

/* A row a policy, a column what there was: nobody's fault, the deployment's, the scheme's behind
 * it. */
static void whose_fault_a_failure_is(void **state)
{
    (void)state;
    static const enum cause causes[] = {CAUSE_OVERRUN, CAUSE_LOST_GRANT, CAUSE_UNLOCK_BUG};
    static const struct {
        const char *name;
        bool fails[3];
    } rows[] = {{"never", {false, false, false}},
                {"scheme", {false, false, true}},
                {"deployment", {false, true, true}},
                {"bug", {false, true, true}},
                {"any", {true, true, true}}};
    static struct finding findings[PROPERTY_COUNT];
    struct finding *finding = &findings[PROPERTY_LEASE_EXCLUSION];
    for (int seen = 0; seen < 3; seen++) {
        assert_true(finding_hit(finding, causes[seen], seen)); /* each graver than the last */
        assert_int_equal(finding->cause, causes[seen]);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct judging judging = {0};
            assert_int_equal(fail_on_read(rows[i].name, &judging.fail_on, NULL), FAIL_NONE);
            judged(rows[i].fails[seen] ? STANDING_UNEXPECTED : STANDING_UNSTATED, findings,
                   &judging);
        }
    }
    assert_false(finding_hit(finding, CAUSE_LOST_GRANT, 9));
    assert_int_equal(finding->cause, CAUSE_UNLOCK_BUG);
    assert_int_equal(finding->first_index, 2);
    struct failure failure;
    enum fail_on fail_on;
    assert_int_equal(fail_on_read("shceme", &fail_on, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "did you mean 'scheme'?"));
    assert_int_equal(fail_on_read(NULL, &fail_on, &failure), FAIL_NONE);
    assert_int_equal(fail_on, FAIL_ON_UNSAID);
    assert_int_equal(fail_on_for(fail_on, schemes[0], FAIL_ON_NEVER), FAIL_ON_NEVER);
}

static void a_stated_property_left_open_is_unknown(void **state)
{
    (void)state;
    struct results results = {0};
    struct result_row *row =
        sample_row(&results, "s", "x", false, VERDICT_VIOLATED, AS_EXPECTED_NONE);
    sample_property(row, PROPERTY_RELEASE_OWN, VERDICT_UNKNOWN, VERDICT_HOLDS, CAUSE_NONE, NULL);
    assert_int_equal(result_standing(row), STANDING_UNKNOWN);
    row->properties[0].expected = EXPECTED_NOTHING;
    assert_int_equal(result_standing(row), STANDING_UNSTATED);
    results_free(&results);
}

/* A row that expects fresh-grant and the exclusion, each of them found as said. */
static void what_could_not_be_decided_excuses_what_is_missing(void **state)
{
    (void)state;
    static const struct {
        enum verdict exclusion, fresh, orphan; /* found; violated, violated, holds were expected */
        enum standing standing;
    } rows[] = {
        {VERDICT_VIOLATED, VERDICT_VIOLATED, VERDICT_HOLDS, STANDING_EXPECTED},
        {VERDICT_VIOLATED, VERDICT_HOLDS, VERDICT_HOLDS, STANDING_UNEXPECTED},
        {VERDICT_UNKNOWN, VERDICT_HOLDS, VERDICT_HOLDS, STANDING_UNKNOWN},
        {VERDICT_UNKNOWN, VERDICT_UNKNOWN, VERDICT_HOLDS, STANDING_UNKNOWN},
        {VERDICT_UNKNOWN, VERDICT_UNKNOWN, VERDICT_VIOLATED, STANDING_UNEXPECTED},
    };
    static struct finding findings[PROPERTY_COUNT];
    struct expectation expectation = {
        .is_expected = {[PROPERTY_MUTUAL_EXCLUSION] = true, [PROPERTY_FRESH_GRANT] = true},
        .verdicts = {[PROPERTY_MUTUAL_EXCLUSION] = VERDICT_VIOLATED,
                     [PROPERTY_FRESH_GRANT] = VERDICT_VIOLATED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        findings[PROPERTY_MUTUAL_EXCLUSION].verdict = rows[i].exclusion;
        findings[PROPERTY_FRESH_GRANT].verdict = rows[i].fresh;
        findings[PROPERTY_NO_ORPHAN].verdict = rows[i].orphan;
        judged(rows[i].standing, findings, &(struct judging){.expectation = &expectation});
    }
}

/* Nothing is expected, and a leftover is nobody's fault. */
static void a_leftover_does_not_outrank_an_exclusion_that_nobody_knows_of(void **state)
{
    (void)state;
    static const char reason[] = "no fault struck inside a hold";
    static struct finding findings[PROPERTY_COUNT];
    finding_hit(&findings[PROPERTY_NO_ORPHAN], CAUSE_LEFTOVER, 1);
    const struct judging bug = {.fail_on = FAIL_ON_BUG}, any = {.fail_on = FAIL_ON_ANY},
                         vacuous = {.fail_on = FAIL_ON_BUG, .vacuity = reason};
    judged(STANDING_UNSTATED, findings, &bug); /* both exclusions hold */
    judged(STANDING_UNKNOWN, findings, &vacuous);
    judged(STANDING_UNEXPECTED, findings, &any);
    findings[PROPERTY_MUTUAL_EXCLUSION].verdict = VERDICT_UNKNOWN;
    judged(STANDING_UNSTATED, findings, &bug);
    findings[PROPERTY_LEASE_EXCLUSION].verdict = VERDICT_UNKNOWN;
    judged(STANDING_UNKNOWN, findings, &bug);
    judged(STANDING_UNEXPECTED, findings, &any);
    finding_hit(&findings[PROPERTY_MUTUAL_EXCLUSION], CAUSE_OVERRUN, 1);
    judged(STANDING_UNSTATED, findings, &bug);
    judged(STANDING_UNKNOWN, findings, &vacuous); /* no more could be found */
}

/* Of a run and of its history alike: what is nobody's fault does not hide what was not seen. */
static void what_was_not_seen_outranks_what_is_nobodys_fault(void **state)
{
    (void)state;
    static struct finding findings[PROPERTY_COUNT];
    finding_hit(&findings[PROPERTY_MUTUAL_EXCLUSION], CAUSE_OVERRUN, 1);
    findings[PROPERTY_FRESH_GRANT] = (struct finding){.verdict = VERDICT_UNKNOWN};
    judged(STANDING_UNSTATED, findings, &(struct judging){.fail_on = FAIL_ON_BUG});
    findings[PROPERTY_FRESH_GRANT].is_unproved = true;
    finding_say(&findings[PROPERTY_FRESH_GRANT], "why");
    const char *gap = result_gap(findings, NULL);
    assert_string_equal(gap, "why");
    judged(STANDING_UNKNOWN, findings, &(struct judging){.fail_on = FAIL_ON_BUG, .gap = gap});
    judged(STANDING_UNEXPECTED, findings, &(struct judging){.fail_on = FAIL_ON_ANY, .gap = gap});
}

static void many_rows_are_kept(void **state)
{
    (void)state;
    struct results results = {0};
    for (int i = 0; i < 1000; i++)
        results_add(&results)->elapsed_us = i;
    assert_int_equal(results.rows_count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(results.rows[i].elapsed_us, i);
    results_free(&results);
}

/* A witness that does not replay is a defect of picklock, whatever else there is. */
static void the_status_of_cells(void **state)
{
    (void)state;
    struct results results = {0};
    sample_cell(&results, "stall");
    struct result_row *cell = &results.rows[0];
    cell->properties[0].is_failure = false;
    result_sum_up_cell(cell);
    assert_int_equal(results_status(&results), FAIL_NONE);
    cell->search->is_complete = false;
    assert_int_equal(results_status(&results), FAIL_UNKNOWN);
    cell->is_unsupported = true;
    assert_int_equal(results_status(&results), FAIL_NONE);
    cell->properties[0].is_failure = true;
    result_sum_up_cell(cell);
    assert_int_equal(results_status(&results), FAIL_EXPECTATION);
    cell->properties[0].confirmed = CONFIRMED_NO;
    assert_int_equal(results_status(&results), FAIL_INTERNAL);
    results_free(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_outranks_unknown),
        cmocka_unit_test(nothing_ran_is_unknown),
        cmocka_unit_test(what_is_not_supported_is_no_verdict),
        cmocka_unit_test(what_does_not_apply_is_no_verdict),
        cmocka_unit_test(a_run_that_cannot_be_followed),
        cmocka_unit_test(whose_fault_a_failure_is),
        cmocka_unit_test(a_stated_property_left_open_is_unknown),
        cmocka_unit_test(what_could_not_be_decided_excuses_what_is_missing),
        cmocka_unit_test(a_leftover_does_not_outrank_an_exclusion_that_nobody_knows_of),
        cmocka_unit_test(what_was_not_seen_outranks_what_is_nobodys_fault),
        cmocka_unit_test(many_rows_are_kept),
        cmocka_unit_test(the_status_of_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
