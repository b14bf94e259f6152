/* test_baseline.c - what a baseline says of stress runs, whose findings are chance: the rows are
 * written by hand, so nothing here is. */
#include "base/memory.h"
#include "run/baseline.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/picklock-baseline-XXXXXX";
static struct results results;

static void baseline_is(const char *lines)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "# picklock-baseline 1\n%s", lines);
    assert_int_equal(fclose(file), 0);
}

static void assert_baseline(const char *lines)
{
    char head[500], read[500];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int i = 0; i < 2; i++)
        assert_non_null(fgets(head, sizeof head, file));
    read[fread(read, 1, sizeof read - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(read, lines);
}

/* One run of set-nx-ex-del that violates these for that cause, and nothing else. */
static struct result_row *ran(int count, const enum property *violated, enum cause cause)
{
    results = (struct results){0};
    struct result_row *row = results_add(&results);
    snprintf(row->subject, sizeof row->subject, "stress");
    snprintf(row->scheme, sizeof row->scheme, "set-nx-ex-del");
    row->stress = memory_new(1, sizeof *row->stress);
    row->as_expected = count ? AS_EXPECTED_NO : AS_EXPECTED_NONE;
    row->fail_on = FAIL_ON_BUG;
    row->properties = memory_new((size_t)count + 1, sizeof *row->properties);
    row->properties_count = count;
    for (int i = 0; i < count; i++)
        row->properties[i] = (struct result_property){.property = violated[i],
                                                      .verdict = VERDICT_VIOLATED,
                                                      .expected = EXPECTED_NOTHING,
                                                      .cause = cause};
    return row;
}

static void apply(void)
{
    struct baseline *baseline;
    struct failure failure;
    assert_int_equal(baseline_read(path, false, &baseline, &failure), FAIL_NONE);
    baseline_apply(baseline, &results);
    baseline_free(baseline);
}

static bool is_noted(const char *words)
{
    for (int i = 0; i < results.notes_count; i++)
        if (strstr(results.notes[i], words))
            return true;
    return false;
}

#define KNOWN "stress set-nx-ex-del stress release-own unlock-bug"
static const enum property both[] = {PROPERTY_LEASE_EXCLUSION, PROPERTY_RELEASE_OWN};

/* The bug shows in another property than it did when it was accepted. */
static void a_cause_is_known_whatever_shows_it(void **state)
{
    struct failure failure;
    (void)state;
    baseline_is(KNOWN "\n");
    for (int count = 1; count <= 2; count++) {
        struct result_row *row = ran(count, both, CAUSE_UNLOCK_BUG);
        apply();
        assert_true(row->is_known && row->properties[0].known == 1u << CAUSE_UNLOCK_BUG);
        assert_false(is_noted("New") || is_noted("not seen"));
        assert_int_equal(baseline_update(path, &results, &failure), FAIL_NONE);
        assert_baseline(KNOWN "\n");
        results_free(&results);
    }
}

static void another_cause_is_new(void **state)
{
    (void)state;
    baseline_is(KNOWN "\n");
    struct result_row *row = ran(1, &both[1], CAUSE_STUCK);
    apply();
    assert_false(row->is_known);
    assert_true(is_noted("New: stress set-nx-ex-del stress release-own stuck."));
    assert_true(is_noted("not seen this time"));
    results_free(&results);
}

/* Of a cell, which was searched to its end, each property counts. */
static void what_is_no_sample_is_known_by_its_property(void **state)
{
    (void)state;
    baseline_is("run set-nx-ex-del stress release-own unlock-bug\n");
    struct result_row *row = ran(1, &both[0], CAUSE_UNLOCK_BUG);
    free(row->stress);
    row->stress = NULL;
    apply();
    assert_false(row->is_known || is_noted("not seen"));
    assert_true(is_noted("New: run set-nx-ex-del stress lease-exclusion unlock-bug."));
    results_free(&results);
}

/* Nothing fails by it, nothing is said to be fixed, and the line stays. */
static void what_is_not_seen_is_told_and_stays(void **state)
{
    struct failure failure;
    (void)state;
    baseline_is(KNOWN "\n");
    struct result_row *row = ran(0, NULL, CAUSE_NONE);
    apply();
    assert_int_equal(row->as_expected, AS_EXPECTED_NONE);
    assert_true(
        is_noted("Known, and not seen this time, which proves nothing of a sample: " KNOWN));
    assert_false(is_noted("Fixed"));
    assert_int_equal(baseline_update(path, &results, &failure), FAIL_NONE);
    assert_baseline(KNOWN "\n");
    results_free(&results);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cause_is_known_whatever_shows_it),
        cmocka_unit_test(another_cause_is_new),
        cmocka_unit_test(what_is_no_sample_is_known_by_its_property),
        cmocka_unit_test(what_is_not_seen_is_told_and_stays),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
