/* test_results_json.c - results.json there and back, of this version and of the first, in step with
 * its schema. */
#include "base/memory.h"
#include "base/text_place.h"
#include "report/merge.h"
#include "report/report.h"
#include "test/sample_results.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h> /* last: its fail() is a macro */

#include "test/report_common.h"

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
    assert_memory_equal(&again.rows[10].stress->series, &sample.rows[10].stress->series,
                        sizeof(struct series));
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

/* Replaces the first `from` of a good file and expects to be told where it is bad: the line and
 * column of `to`, where words have its name. */
static void expect_refused(const char *good, const char *from, const char *to, const char *words)
{
    struct results results;
    struct failure failure = {0};
    char name[40] = "", place[40];
    int line = 0, column = 0;
    char *path = path_of("bad.json");
    const char *at = strstr(good, from);
    assert_non_null(at);
    char *bad = memory_format("%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(bad, out) >= 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(report_read(path, &results, &failure), FAIL_INPUT);
    expect_in(failure.text, path);
    expect_in(failure.text, words);
    assert_int_equal(sscanf(failure.text + strlen(path), ":%d:%d: ", &line, &column), 2);
    const bool has_name = sscanf(to, "\"%37[a-z_]", name) == 1;
    const char *told = has_name ? strstr(words, strcat(name, ": ")) : NULL;
    if (told && (told == words || told[-1] == '.')) {
        const struct text_place changed = text_place_of(bad, bad + (at - good));
        (void)snprintf(place, sizeof place, ":%d:%d: ", changed.line, changed.column);
        expect_in(failure.text, place);
    }
    assert_int_equal(results.rows_count, 0);
    free(bad);
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
        {"\"scheme\": null", "\"scheme\": 3", "results[9].scheme: wants a text"},
        {"\"worker\": \"python3 locks/redis_py.py --key 'a b'\",", "",
         "results[9].scheme: wants a text"},
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

/* Each of these is well-formed, and no run can have left it: what is changed stands elsewhere, too.
 */
static void a_row_that_contradicts_itself_is_refused(void **state)
{
    static const struct {
        const char *from, *to, *words;
    } rows[] = {
        {"\"verdict\": \"violated\"", "\"verdict\": \"holds\"",
         "results[1].verdict: is not what the properties come to"},
        {"\"count\": 0", "\"count\": 3",
         "results[0].properties[0].count: says that there are violations"},
        {"\"count\": 1", "\"count\": 0", "count: is 0, and the verdict is violated"},
        {"\"cause\": \"unlock-bug\"", "\"cause\": null",
         "results[1].properties[0].cause: is null, and the verdict is violated"},
        {"\"cause\": null", "\"cause\": \"overrun\"",
         "results[0].properties[0].cause: is given, and nothing is violated"},
        {"\"expected\": \"violated\"", "\"expected\": null",
         "results[1].as_expected: is true, and a property is not as expected"},
        {"\"as_expected\": true", "\"as_expected\": false",
         "results[0].as_expected: is false, and every property is as expected"},
        {"\"property\": \"mutual-exclusion\"", "\"property\": \"release-own\"",
         "results[1].properties: has one of them twice"},
        {"\"faults_in_hold\": 45", "\"faults_in_hold\": 901",
         "stress.faults_in_hold: are more than the faults"},
        {"\"pause\": 20", "\"pause\": 21", "struck: does not add up to the faults"},
        {"\"pause\": 20", "\"paused\": 20", "struck: has what is no fault, or no count of one"},
        {"\"grants\": 4321", "\"grants\": 123457", "stress.grants: are more than the operations"},
        {"\"p99\": ", "\"p99\": -", "stress.latency_us.p99: wants a whole number"},
        {"\"part_us\": 200000", "\"part_us\": 0", "stress.series.part_us: wants 1 or more"},
        {"\"part_us\": 200000", "\"part_us\": -5", "part_us: "},
        {"\"violations\": 4", "\"violation\": 4",
         ".stress.series.parts[1].violation: is unknown here"},
        {"\"violations\": 4", "\"violations\": \"4\"", "violations: "},
        {"\"waits\": [", "\"waits\": [ 7,", "waits: has not a number for each length"},
        {"\"holds\": [", "\"holds\": [ 7,", "holds: has not a number for each length"},
        {"\"memory_kb\": [", "\"memory_kb\": [ 7,", "memory_kb: has not a number for each"},
        {"\"holders\": [", "\"holders\": [ 7,", "holders: has not a number for each"},
        {"\"holders\": [", "\"holder\": [", "series.holder: is unknown here"},
        {"\"held_us\": [", "\"held_us\": [ 7,", "held_us: has not a number for each"},
        {"\"held_us\": [\n            1300000", "\"held_us\": [\n            1600001",
         "stress.series.held_us: is longer than so many holders can have held"},
        {"\"holders\": [\n            8", "\"holders\": [\n            0",
         "series.held_us: is longer"},
        {"\"holders\": [\n            8", "\"holders\": [\n            201",
         "stress.series.holders: are more than the clients"},
        {"\"cpu_us\": 4500000", "\"cpu_us\": -1", "cpu_us: "},
        {"\"injected_wait_us\": 24100000", "\"injected_wait_us\": 99241000000",
         "stress.injected_wait_us: is more than all clients had"},
        {"\"injected_wait_us\": 24100000", "\"injected_wait_us\": \"1\"", "injected_wait_us: "},
    };
    (void)state;
    char *good = printed();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_refused(good, rows[i].from, rows[i].to, rows[i].words);
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
    expect_refused(good, "\"complete\": true", "\"complete\": true, \"sampled\": true",
                   "results[0].search.sampled: goes with random runs, which are never complete");
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
        cmocka_unit_test(json_comes_back_the_same),
        cmocka_unit_test(json_has_the_shape_that_others_rely_on),
        cmocka_unit_test(cells_come_back_the_same),
        cmocka_unit_test(bad_json_is_told_with_its_place),
        cmocka_unit_test(a_row_that_contradicts_itself_is_refused),
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
