/* test_report.c - the output formats: whole, escaped, in step with the tables, and never half
 * written.
 *
 * `test_report --sample DIR` writes a run folder with every kind of row, for
 * harness/test_report.py. */
#include "report/report.h"
#include "report/text.h"
#include "test/sample_results.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <setjmp.h>
#include <cmocka.h> /* last: its fail() is a macro */

#include "test/report_common.h"

static enum fail print_to(enum format format, const char *path, struct failure *failure)
{
    return report_write(format, path, &sample, folder, failure);
}

static char *printed(enum format format, const char *name)
{
    struct failure failure = {0};
    char *path = path_of(name);
    if (print_to(format, path, &failure))
        fail_msg("%s", failure.text);
    char *text = text_of(path);
    free(path);
    return text;
}

static char *terminal_text(int colours)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    report_terminal(out, &sample, colours);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* --- texts --- */

static void broken_bytes_become_harmless(void **state)
{
    static const struct {
        const char *given, *wanted;
    } rows[] = {
        {"plain, naïve, 日本, 😀", "plain, naïve, 日本, 😀"},
        {"a\xff"
         "b",
         "a\xEF\xBF\xBD"
         "b"},
        {"cut \xE2\x82", "cut \xEF\xBF\xBD\xEF\xBF\xBD"},   /* the end of a text stays the end */
        {"long \xC0\xAF", "long \xEF\xBF\xBD\xEF\xBF\xBD"}, /* "/" in two bytes */
        {"half \xED\xA0\x80", "half \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* a surrogate */
        {"\033[31mred\033[0m \x07\x7f\xC2\x9B", "[31mred[0m "}, /* no escape reaches a terminal */
        {"left \xE2\x80\xAEthgir", "left thgir"},               /* nothing turns the line round */
        {"a\tb\nc", "a b\nc"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *clean = text_clean(rows[i].given);
        assert_string_equal(clean, rows[i].wanted);
        free(clean);
    }
    assert_int_equal(text_width("日本\xff"), 3);
    assert_null(text_clean(NULL));
}

static void what_is_put_into_a_format_is_escaped(void **state)
{
    char *text = NULL;
    const char *nothing = *state;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    text_format(out, TEXT_MARKUP, "<b>%s</b>%s %3d %.0e %" PRId64 "<p>", "<i> & %d", nothing, 7,
                0.5, INT64_MIN);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "<b>&lt;i&gt; &amp; %d</b>   7 5e-01 -9223372036854775808<p>");
    free(text);
}

/* --- the terminal --- */

static void the_terminal_summary_fits(void **state)
{
    (void)state;
    char *text = terminal_text(0), *rest = text, *line;
    expect_in(text,
              "expired-lease-double-delete\n  naive  set-nx-ex-del   violated     release-own   ");
    expect_in(text, "safe   set-nx-px-cad   holds  ");
    expect_in(text, "late-grant        NOT expected\n");
    expect_in(text, "unsupported");
    expect_in(text, "11 runs: 4 as expected, 3 not, 1 unknown, 1 without failure, 1 not supported");
    expect_in(text, "fresh-grant is violated (late-grant), expected holds\n");
    expect_in(text, "NOT expected: hand-over, python3 locks/redis_py.py --key 'a b'\n");
    expect_in(text, "Holds are inferred from commands, since nobody told of them: python3 locks/");
    expect_in(text, "A was told at 310.0 ms");
    expect_in(text, "scenarios/late-grant.yaml:9:5: A goes on"); /* why it is unknown */
    expect_in(text, "200 connected clients, 900 faults (20 pause, 880 delay), 45 inside a hold");
    expect_in(text, "kept clients waiting for 24.1 s of their 24.7 s");
    expect_not_in(text, "\033"); /* neither ours nor theirs */
    while ((line = strsep(&rest, "\n")))
        if (text_width(line) > 100)
            fail_msg("too wide: %s", line);
    free(text);
}

static void colours_only_when_asked_for(void **state)
{
    (void)state;
    char *text = terminal_text(1);
    expect_in(text, "\033[31mviolated\033[0m");
    expect_in(text, "\033[32mholds\033[0m");
    expect_in(text, "\033[1;31mNOT expected\033[0m");
    expect_in(text, " `|*_\\ [31m "); /* theirs are taken out even so */
    free(text);
}

/* --- the others --- */

static void markdown_has_the_rows_and_escapes(void **state)
{
    (void)state;
    char *text = printed(FORMAT_MARKDOWN, "report.md");
    expect_in(text,
              "## picklock: 1 of 2 naive schemes broke the lock by their own doing; setnx-del is "
              "not decided. 0 of 3 safe schemes did, but 1 of them "
              "fails in other ways \\(late-grant\\). python3 ");
    expect_in(text, "3 of 9 verdicts are not as expected, 1 could not be judged. 1 run is "
                    "not supported by this server. ");
    expect_in(text,
              "| expired-lease-double-delete | naive | set-nx-ex-del | ✗ violated | release-own | "
              "unlock-bug | as expected |\n");
    expect_in(text, "| fresh-grant | late-grant | **NOT expected** |\n");
    expect_in(text,
              "| set-nx-ex-del | 200 | 123456 | 12345 | 4321 | 12 | 7 | 3 | 850 us | 12.4 ms | ✗ "
              "violated |\n");
    expect_in(text, " Holds are inferred from commands,");
    expect_in(text, "&lt;script&gt;");
    expect_in(text, "\\`\\|\\*\\_\\\\");
    expect_not_in(text, "<script");
    free(text);
}

static void junit_counts_and_escapes(void **state)
{
    (void)state;
    char *text = printed(FORMAT_JUNIT, "junit.xml");
    expect_in(
        text,
        "<testsuites name=\"picklock\" tests=\"11\" failures=\"3\" errors=\"1\" skipped=\"2\"");
    expect_in(
        text,
        "<testsuite name=\"late-grant\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\"");
    expect_in(text, "timestamp=\"2026-01-31T12:00:00\"");
    expect_in(text, "<failure message=\"fresh-grant is violated (late-grant), expected holds\" "
                    "type=\"late-grant\">");
    expect_in(text, "<skipped message=\"not supported by this server\">");
    expect_in(text, "name=\"odd &quot;name&quot; &amp; &lt;b&gt;\"");
    expect_in(text, "]]&gt;");
    expect_not_in(text, "\033");
    expect_not_in(text, "<script");
    free(text);
}

static void html_is_whole_and_escaped(void **state)
{
    (void)state;
    char *text = printed(FORMAT_HTML, "index.html");
    expect_in(text, "<h1 class=\"bad\">1 of 2 naive schemes broke the lock by their own doing; "
                    "setnx-del is not "
                    "decided. ");
    expect_in(text, "python3 locks/redis_py.py --key &#39;a b&#39;</h3>");
    expect_in(text, "Holds are inferred from the commands: nobody told of them.</p>");
    expect_in(text, "href=\"#expired-lease-double-delete--set-nx-ex-del\"");
    expect_in(text, "<article id=\"expired-lease-double-delete--set-nx-ex-del\"");
    expect_in(text,
              "picklock run --scheme set-nx-ex-del scenarios/expired-lease-double-delete.yaml");
    expect_in(text, "removes B&#39;s key</text>");
    expect_in(text, "odd &quot;name&quot; &amp; &lt;b&gt;");
    expect_not_in(text, "<script>window");
    expect_not_in(text, "<img");
    expect_not_in(text, "{{");
    expect_not_in(text, "http:");
    expect_not_in(text, "https:");
    expect_in(text, "; faults kept clients waiting for 24.1 s of their 24.7 s; 110000 contended");
    expect_in(text, "</html>");
    free(text);
}

/* The count is there all the same: a safe scheme is not red for what its clients' long work lost.
 */
static void lost_updates_are_red_where_the_scheme_lost_them(void **state)
{
    struct result_property *lost = NULL;
    (void)state;
    for (int i = 0; i < sample.rows_count; i++)
        for (int k = 0; k < sample.rows[i].properties_count; k++)
            if (sample.rows[i].properties[k].property == PROPERTY_NO_LOST_UPDATE)
                lost = &sample.rows[i].properties[k];
    assert_non_null(lost);
    const enum cause was = lost->cause;
    static const enum cause causes[] = {CAUSE_UNLOCK_BUG, CAUSE_OVERRUN, CAUSE_LOST_GRANT};
    for (int i = 0; i < 3; i++) {
        lost->cause = causes[i];
        char *text = printed(FORMAT_HTML, "index.html");
        expect_in(text, i == 0 ? "<td class=\"number bad\" data-rank=\"3\">3</td>"
                               : "<td class=\"number\" data-rank=\"3\">3</td>");
        free(text);
    }
    lost->cause = was;
}

static void a_full_disk_is_told_by_every_format(void **state)
{
    (void)state;
    for (int format = 0; format < FORMAT_COUNT; format++) {
        struct failure failure = {0};
        assert_int_equal(print_to((enum format)format, "/dev/full", &failure), FAIL_INTERNAL);
        assert_string_equal(failure.text, "/dev/full: cannot be written: No space left on device");
        assert_int_equal(print_to((enum format)format, "/no/such/file", &failure), FAIL_INPUT);
        expect_in(failure.text, "/no/such/file: cannot be written: No such file or directory");
    }
}

/* --- run folders --- */

static void a_run_folder_is_always_a_new_one(void **state)
{
    (void)state;
    struct failure failure = {0};
    char *out = path_of("deep/runs"), *first, *second, *third;
    assert_int_equal(report_folder_new(out, "run", &first, &failure), FAIL_NONE);
    assert_int_equal(report_folder_new(out, "run", &second, &failure), FAIL_NONE);
    assert_int_equal(report_folder_new(out, "a/b c", &third, &failure), FAIL_NONE);
    assert_string_not_equal(first, second);
    expect_in(first, "/deep/runs/2");
    expect_in(first, "Z-run");
    expect_in(third, "Z-a-b-c"); /* no further folder, no blank */
    struct stat about;
    assert_int_equal(stat(second, &about), 0);
    assert_true(S_ISDIR(about.st_mode));
    free(out);
    free(first);
    free(second);
    free(third);
}

static void latest_points_at_the_newest_folder(void **state)
{
    (void)state;
    struct failure failure = {0};
    char *out = path_of("linked"), *link = path_of("linked/latest"), *folders[2], target[256];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(report_folder_new(out, "run", &folders[i], &failure), FAIL_NONE);
        assert_int_equal(report_folder_latest(folders[i], &failure), FAIL_NONE);
        ssize_t size = readlink(link, target, sizeof target - 1);
        assert_true(size > 0);
        target[size] = 0;
        assert_string_equal(target,
                            strrchr(folders[i], '/') + 1); /* relative: the tree can be moved */
    }
    assert_int_equal(unlink(link), 0);
    assert_int_equal(mkdir(link, 0777), 0); /* somebody's own folder is not replaced */
    assert_int_equal(report_folder_latest(folders[0], &failure), FAIL_INPUT);
    expect_in(failure.text, "latest: the link cannot be put there");
    free(out);
    free(link);
    free(folders[0]);
    free(folders[1]);
}

static void a_wrong_out_folder_is_bad_input(void **state)
{
    (void)state;
    struct failure failure = {0};
    char *made = NULL, *file = path_of("file"), *under = path_of("file/runs");
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(report_folder_new(file, "run", &made, &failure), FAIL_INPUT);
    expect_in(failure.text, "no run folder can be made there: Not a directory");
    assert_int_equal(report_folder_check(file, &failure), FAIL_INPUT);
    expect_in(failure.text, "no run folder can be made there: Not a directory");
    assert_int_equal(report_folder_check(under, &failure), FAIL_INPUT);
    assert_int_equal(report_folder_check("", &failure), FAIL_INPUT);
    assert_int_equal(report_folder_check("not/there/yet/", &failure), FAIL_NONE);
    assert_int_not_equal(access("not", F_OK), 0);
    assert_int_equal(report_folder_new(under, "run", &made, &failure), FAIL_INPUT);
    assert_int_equal(report_folder_new("/proc/nothing", "run", &made, &failure), FAIL_INPUT);
    expect_in(failure.text, "/proc/nothing");
    assert_int_equal(report_folder_new("", "run", &made, &failure), FAIL_INPUT);
    assert_null(made);
    free(file);
    free(under);
}

static int write_sample(const char *out)
{
    struct failure failure = {0};
    sample_results(&sample, out);
    enum fail fail = FAIL_NONE;
    for (int format = 0; format < FORMAT_COUNT && !fail; format++) {
        char *path = memory_format("%s/%s", out, report_file((enum format)format));
        fail = report_write((enum format)format, path, &sample, out, &failure);
        free(path);
    }
    if (fail)
        fprintf(stderr, "%s\n", failure.text);
    results_free(&sample);
    return (int)fail;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_bytes_become_harmless),
        cmocka_unit_test(what_is_put_into_a_format_is_escaped),
        cmocka_unit_test(the_terminal_summary_fits),
        cmocka_unit_test(colours_only_when_asked_for),
        cmocka_unit_test(markdown_has_the_rows_and_escapes),
        cmocka_unit_test(junit_counts_and_escapes),
        cmocka_unit_test(html_is_whole_and_escaped),
        cmocka_unit_test(lost_updates_are_red_where_the_scheme_lost_them),
        cmocka_unit_test(a_full_disk_is_told_by_every_format),
        cmocka_unit_test(a_run_folder_is_always_a_new_one),
        cmocka_unit_test(latest_points_at_the_newest_folder),
        cmocka_unit_test(a_wrong_out_folder_is_bad_input),
    };
    if (argc == 3 && !strcmp(argv[1], "--sample"))
        return write_sample(argv[2]);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
