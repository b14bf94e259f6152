/* test_results.c - results as data: the exit status, and results.json there and back, in step with
 * its schema. */
#include "checks/finding.h"
#include "report/merge.h"
#include "report/report.h"
#include "report/text.h"
#include "test/sample_results.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h> /* last: its fail() is a macro */

#include "test/report_common.h"

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
    /* an overrun where nothing was expected is a warning; a server that cannot run a scheme may be
     * expected */
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

static void a_run_that_cannot_be_followed(void **state)
{
    (void)state;
    static struct finding findings[PROPERTY_COUNT];
    struct expectation expectation = {.is_expected = {[PROPERTY_NO_ORPHAN] = true}};
    const struct judging follows = {.expectation = &expectation}, cannot = {.not_applicable = "no"};
    findings[PROPERTY_NO_ORPHAN].verdict = VERDICT_NOT_APPLICABLE;
    judged(STANDING_UNSTATED, findings, &(struct judging){0});
    judged(STANDING_NOT_APPLICABLE, findings, &cannot);
    judged(STANDING_UNKNOWN, findings, &(struct judging){.trouble = "no"});
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
    judged(STANDING_UNSTATED, findings, &vacuous); /* what was found was found */
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

/* A results.json in the folder; the caller frees its text. */
static char *printed(void)
{
    struct failure failure = {0};
    char *path = path_of("results.json");
    if (report_write(FORMAT_JSON, path, &sample, NULL, &failure))
        fail_msg("%s", failure.text);
    char *text = text_of(path);
    free(path);
    return text;
}

/* --- json --- */

static void json_comes_back_the_same(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct results again;
    char *text = printed(), *path = path_of("results.json");
    if (report_read(path, &again, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(again.rows_count, sample.rows_count);
    assert_int_equal(again.elapsed_us, sample.elapsed_us);
    assert_int_equal(again.rows[0].elapsed_us, 123456);
    assert_int_equal(again.rows[1].properties[1].first_index,
                     sample.rows[1].properties[1].first_index);
    assert_int_equal(again.rows[1].properties[1].cause, CAUSE_UNLOCK_BUG);
    assert_int_equal(again.rows[2].as_expected, AS_EXPECTED_NO);
    assert_true(again.rows[6].is_unsupported);
    assert_true(again.rows[10].stress != NULL);
    assert_int_equal(again.rows[10].stress->latency_us.p999, 80100);
    assert_int_equal(report_write(FORMAT_JSON, path, &again, NULL, &failure), FAIL_NONE);
    char *second = text_of(path);
    assert_string_equal(second, text); /* nothing is lost on the way */
    results_free(&again);
    free(second);
    free(text);
    free(path);
}

static void json_has_the_shape_that_others_rely_on(void **state)
{
    (void)state;
    char *text = printed();
    json_t *whole = json_loads(text, 0, NULL), *row, *property;
    assert_non_null(whole);
    assert_string_equal(json_string_value(json_object_get(whole, "schema")), "picklock.results/2");
    row = json_array_get(json_object_get(whole, "results"), 1);
    assert_string_equal(json_string_value(json_object_get(row, "scheme")), "set-nx-ex-del");
    assert_true(json_is_true(json_object_get(row, "as_expected")));
    assert_true(json_is_null(json_object_get(row, "schedule")));
    property = json_array_get(json_object_get(row, "properties"), 1);
    assert_string_equal(json_string_value(json_object_get(property, "cause")), "unlock-bug");
    assert_int_equal(json_array_size(json_object_get(property, "witness")), 2);
    row = json_array_get(json_object_get(whole, "results"), 0);
    property = json_array_get(json_object_get(row, "properties"), 0);
    assert_true(json_is_null(json_object_get(property, "cause")));
    assert_string_equal(json_string_value(json_object_get(row, "kind")), "run");
    assert_null(json_object_get(row, "stress")); /* figures are for stress rows */
    row = json_array_get(json_object_get(whole, "results"), 9);
    assert_true(json_is_null(json_object_get(row, "scheme"))); /* a worker is no scheme */
    assert_true(json_is_true(json_object_get(row, "inferred")));
    row = json_array_get(json_object_get(whole, "results"), 10);
    assert_string_equal(json_string_value(json_object_get(row, "kind")), "stress");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(row, "stress"), "clients")),
                     200);
    json_decref(whole);
    free(text);
}

static void cells_come_back_the_same(void **state)
{
    (void)state;
    struct results results = {.seed = 3}, again;
    struct failure failure = {0};
    char *path = path_of("cells.json");
    sample_cell(&results, "stall");
    sample_cell(&results, "stall+crash");
    sample_cell(&results, "stall+crash"); /* the same again is another cell */
    assert_int_equal(report_write(FORMAT_JSON, path, &results, NULL, &failure), FAIL_NONE);
    char *text = text_of(path);
    if (report_read(path, &again, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(again.rows_count, 3);
    assert_int_equal(again.rows[1].properties_count, 2);
    assert_true(again.rows[0].search->states == INT64_C(5000000000));
    assert_int_equal(results_status(&again), FAIL_EXPECTATION);
    assert_int_equal(report_write(FORMAT_JSON, path, &again, NULL, &failure), FAIL_NONE);
    char *second = text_of(path);
    assert_string_equal(second, text);
    results_free(&again);
    results_free(&results);
    free(second);
    free(text);
    free(path);
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

/* Replaces the first `from` of a good file and expects to be told where it is bad. */
static void expect_refused(const char *good, const char *from, const char *to, const char *words)
{
    struct results results;
    struct failure failure = {0};
    char *path = path_of("bad.json");
    const char *at = strstr(good, from);
    assert_non_null(at);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(report_read(path, &results, &failure), FAIL_INPUT);
    expect_in(failure.text, path);
    expect_in(failure.text, words);
    assert_int_equal(results.rows_count, 0);
    free(path);
}

static void bad_json_is_told_with_its_place(void **state)
{
    static const struct {
        const char *from, *to, *words;
    } rows[] = {
        {"results/2", "results/3", "schema: wants \"picklock.results/2\" or"},
        {"results/2", "results/1", "results[0].kind: is unknown here"},
        {"\"kind\": \"run\"", "\"kind\": \"cell\"", "results[0].scenario: is unknown here"},
        {"\"kind\": \"run\"", "\"kind\": \"ran\"", "results[0].kind: wants run, stress or cell"},
        {"\"scheme\": null", "\"scheme\": \"a\"", "results[9].scheme: wants null where a worker"},
        {"\"worker\":", "\"workers\":", "did you mean 'worker'?"},
        {"\"naive\": false", "\"naive\": 0", "results[0].naive: wants true or false"},
        {"\"scheme\": \"set-nx-ex-del\"", "\"scheme\": null", "results[1].scheme: wants a text"},
        {"\"seconds\": 0.123456", "\"seconds\": -1",
         "results[0].seconds: wants a number of seconds"},
        {"\"property\": \"mutual-exclusion\"", "\"property\": \"exclusion\"",
         "results[1].properties[0].property: wants the name of a property"},
        {"\"cause\": \"unlock-bug\"", "\"cause\": \"bug\"", "results[1].properties[0].cause"},
        {"\"verdict\": \"violated\"", "\"verdict\": \"broken\"",
         "wants holds, unknown, violated or not_applicable"},
        {"\"lost_updates\": 3", "\"lost_update\": 3", "did you mean 'lost_updates'?"},
        {"\"witness\": [", "\"witness\": 3, \"more\": [", "is unknown here"},
        {"\"seed\": 1,", "", "seed: is missing"},
        {"\"seed\": 1,", "\"seed\": 1, \"seed\": 2,", "duplicate object key"},
        {"{", "", "bad.json:"},
        {"}\n", "", "bad.json:"},
    };
    (void)state;
    char *good = printed();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_refused(good, rows[i].from, rows[i].to, rows[i].words);
    struct results results;
    struct failure failure = {0};
    assert_int_equal(report_read(folder, &results, &failure), FAIL_INPUT);
    expect_in(failure.text, "is a directory");
    assert_int_equal(report_read("/no/such/results.json", &results, &failure), FAIL_INPUT);
    expect_in(failure.text, "/no/such/results.json");
    free(good);
}

/* What a cell says of itself is what its properties come to. */
static void a_cell_that_contradicts_itself_is_refused(void **state)
{
    (void)state;
    struct results results = {0};
    struct failure failure = {0};
    char *path = path_of("cells.json");
    sample_cell(&results, "stall");
    assert_int_equal(report_write(FORMAT_JSON, path, &results, NULL, &failure), FAIL_NONE);
    char *good = text_of(path);
    expect_refused(good, "\"verdict\": \"violated\"", "\"verdict\": \"holds\"",
                   "results[0].verdict: is not what the properties come to");
    expect_refused(good, "\"as_expected\": false", "\"as_expected\": null",
                   "results[0].as_expected: wants false where a property failed");
    expect_refused(good, "\"failed\": true", "\"failed\": false", "results[0].as_expected");
    expect_refused(good, "\"states\": 5000000000", "\"states\": -1",
                   "results[0].search.states: wants a whole number");
    expect_refused(good, "\"choices\": [", "\"choice\": [",
                   "results[0].properties[0].choice: is unknown here; did you mean 'choices'?");
    results_free(&results);
    free(good);
    free(path);
}

/* --- version 1, as older programs wrote it --- */

static void version_1_is_read(const char *name, int rows, enum fail status)
{
    struct results results, again;
    struct failure failure = {0};
    char *old = memory_format("sim/test/results1/%s/results.json", name);
    char *path = path_of("version_2.json");
    if (report_read(old, &results, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(results.rows_count, rows);
    assert_int_equal(results_status(&results), status);
    assert_int_equal(report_write(FORMAT_JSON, path, &results, NULL, &failure), FAIL_NONE);
    char *text = text_of(path);
    expect_in(text, "picklock.results/2");
    if (report_read(path, &again, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(report_write(FORMAT_JSON, path, &again, NULL, &failure), FAIL_NONE);
    char *second = text_of(path);
    assert_string_equal(second, text); /* what was version 1 is version 2 now, and stays the same */
    results_free(&results);
    results_free(&again);
    free(second);
    free(text);
    free(path);
    free(old);
}

static void version_1_stays_readable(void **state)
{
    (void)state;
    version_1_is_read("run", 6, FAIL_NONE);
    version_1_is_read("stress", 1, FAIL_NONE);
    version_1_is_read("explore", 2, FAIL_EXPECTATION);
    version_1_is_read("cut", 1, FAIL_UNKNOWN);
}

static void cells_of_version_1_are_put_together(void **state)
{
    (void)state;
    struct results results;
    struct failure failure = {0};
    if (report_read("sim/test/results1/explore/results.json", &results, &failure))
        fail_msg("%s", failure.text);
    const struct result_row *broken = &results.rows[1];
    const struct result_property *headline = result_cell_headline(broken);
    assert_string_equal(broken->subject, "stall");
    assert_string_equal(broken->scheme, "set-nx-ex-del");
    assert_int_equal(result_cell_word(&results.rows[0]), CELL_SAFE);
    assert_int_equal(result_cell_word(broken), CELL_BROKEN);
    assert_int_equal(broken->as_expected, AS_EXPECTED_NO);
    assert_int_equal(broken->verdict, VERDICT_VIOLATED);
    assert_int_equal(headline->cause, CAUSE_UNLOCK_BUG);
    assert_int_equal(headline->count, 1);
    assert_true(headline->choices_count > headline->witness_lines);
    assert_int_equal(headline->confirmed, CONFIRMED_YES);
    assert_true(broken->search->omissions > 0);
    assert_int_equal(broken->search->clients, 3);
    results_free(&results);
}

/* The same campaign, once as an older program wrote it and once as this one does. */
static void version_1_merges_with_version_2(void **state)
{
    (void)state;
    struct results results;
    struct failure failure = {0};
    char *folder_2 = path_of("version_2"), *path = path_of("version_2/results.json");
    char *folders[] = {"sim/test/results1/explore", folder_2, "sim/test/results1/cut"};
    assert_int_equal(mkdir(folder_2, 0777), 0);
    assert_int_equal(report_read("sim/test/results1/explore/results.json", &results, &failure),
                     FAIL_NONE);
    assert_int_equal(report_write(FORMAT_JSON, path, &results, NULL, &failure), FAIL_NONE);
    results_free(&results);
    if (report_merge(folders, 3, &results, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(results.rows_count, 3);
    assert_int_equal(results.notes_count, 1);
    expect_in(results.notes[0], "2 results of");
    expect_in(results.notes[0], "are in sim/test/results1/explore too, and the same");
    results_free(&results);
    free(folder_2);
    free(path);
}

static void bad_version_1_is_told_with_its_place(void **state)
{
    static const struct {
        const char *from, *to, *words;
    } rows[] = {
        {"\"states_lost\":", "\"states_lose\":", "[0].states_lost: is missing"},
        {"\"cell\":", "\"cells\": 1, \"cell\":", "[1]: says something else of its cell"},
        {"\"cell\":", "\"kind\": \"cell\", \"cell\":", "[0].kind: is unknown here"},
        {"\"cell\": \"safe\"", "\"cell\": \"unsafe\"", "[1]: says something else of its cell"},
        {"\"as_expected\": null", "\"as_expected\": true", "[0].as_expected: wants false or null"},
        {"\"confirmed\": null", "\"confirmed\": 1", "[0].confirmed: wants true or false"},
        {"\"clients\": 3", "\"clients\": \"3\"", "[0].clients: wants a whole number"},
        {"\"confirmed\": true", "\"confirmed\": 3", "].confirmed: wants true or false"},
        {"\"headline\": true,", "", "].headline: is missing"},
    };
    (void)state;
    char *good = text_of("sim/test/results1/explore/results.json");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_refused(good, rows[i].from, rows[i].to, rows[i].words);
    free(good);
    good = text_of("sim/test/results1/run/results.json");
    expect_refused(good, "\"naive\":", "\"native\": 1, \"naive\":",
                   "results[0].native: is unknown here; did you mean 'naive'?");
    expect_refused(
        good, "\"naive\":", "\"worker\": \"a\", \"naive\":", "results[0].worker: is unknown here");
    free(good);
    good = text_of("sim/test/results1/stress/results.json");
    expect_refused(good, "\"grants\":", "\"grant\":", "results[0].grants: is missing");
    expect_refused(good, "\"operations\": ", "\"operations\": -",
                   "results[0].operations: wants a whole number");
    free(good);
}

static void a_seed_that_json_cannot_hold_is_told(void **state)
{
    (void)state;
    struct results results = {.seed = UINT64_MAX};
    struct failure failure = {0};
    char *path = path_of("seed.json");
    assert_int_equal(report_write(FORMAT_JSON, path, &results, NULL, &failure), FAIL_INPUT);
    expect_in(failure.text, "18446744073709551615");
    assert_int_not_equal(access(path, F_OK), 0);
    free(path);
}

/* The words of a schema are those of a table, all of them and no others. */
static void expect_words(json_t *schema, const char *def, const char *field,
                         const char *(*name)(int), int count)
{
    json_t *of = json_object_get(json_object_get(schema, "$defs"), def);
    json_t *list =
        json_object_get(json_object_get(json_object_get(of, "properties"), field), "enum");
    size_t texts = 0, i;
    json_t *word;
    assert_non_null(list);
    json_array_foreach(list, i, word) texts += json_is_string(word);
    for (int row = 0; row < count; row++) {
        bool is_there = false;
        json_array_foreach(list, i, word) is_there |=
            json_is_string(word) && !strcmp(json_string_value(word), name(row));
        if (!is_there)
            fail_msg("the schema lacks %s '%s'", field, name(row));
    }
    assert_int_equal(texts, count);
}

static const char *name_of_property(int row)
{
    return property_name((enum property)row);
}

static const char *name_of_cause(int row)
{
    return cause_name((enum cause)(row + 1)); /* "none" is null */
}

static const char *name_of_event(int row)
{
    return event_name((enum event_kind)row);
}

static const char *name_of_verb(int row)
{
    return verb_id((enum verb)row);
}

static const char *name_of_result(int row)
{
    return result_name((enum result)row);
}

static const char *name_of_error(int row)
{
    return reply_error_name((enum reply_error)row);
}

static void schemas_are_in_step_with_the_tables(void **state)
{
    (void)state;
    json_t *results = json_load_file("reports/results.schema.json", 0, NULL);
    json_t *history = json_load_file("reports/history.schema.json", 0, NULL);
    assert_non_null(results);
    assert_non_null(history);
    expect_words(results, "property", "property", name_of_property, PROPERTY_COUNT);
    expect_words(results, "property", "cause", name_of_cause, CAUSE_COUNT - 1);
    expect_words(history, "event", "kind", name_of_event, EVENT_COUNT);
    expect_words(history, "event", "verb", name_of_verb, VERB_COUNT);
    expect_words(history, "event", "result", name_of_result, RESULT_COUNT);
    expect_words(history, "event", "error", name_of_error, ERROR_COUNT);
    json_decref(results);
    json_decref(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_outranks_unknown),
        cmocka_unit_test(nothing_ran_is_unknown),
        cmocka_unit_test(what_does_not_apply_is_no_verdict),
        cmocka_unit_test(a_run_that_cannot_be_followed),
        cmocka_unit_test(whose_fault_a_failure_is),
        cmocka_unit_test(a_stated_property_left_open_is_unknown),
        cmocka_unit_test(what_could_not_be_decided_excuses_what_is_missing),
        cmocka_unit_test(a_leftover_does_not_outrank_an_exclusion_that_nobody_knows_of),
        cmocka_unit_test(many_rows_are_kept),
        cmocka_unit_test(json_comes_back_the_same),
        cmocka_unit_test(json_has_the_shape_that_others_rely_on),
        cmocka_unit_test(cells_come_back_the_same),
        cmocka_unit_test(the_status_of_cells),
        cmocka_unit_test(bad_json_is_told_with_its_place),
        cmocka_unit_test(a_cell_that_contradicts_itself_is_refused),
        cmocka_unit_test(version_1_stays_readable),
        cmocka_unit_test(cells_of_version_1_are_put_together),
        cmocka_unit_test(version_1_merges_with_version_2),
        cmocka_unit_test(bad_version_1_is_told_with_its_place),
        cmocka_unit_test(a_seed_that_json_cannot_hold_is_told),
        cmocka_unit_test(schemas_are_in_step_with_the_tables),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
