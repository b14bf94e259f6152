/* report_common.h - what the tests of the reports share: a folder with the sample in it, and
 * looking into files. */
#ifndef PICKLOCK_TEST_REPORT_COMMON_H
#define PICKLOCK_TEST_REPORT_COMMON_H

static char folder[] = "/tmp/picklock-report-XXXXXX";
static struct results sample;

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    sample_results(&sample, folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    results_free(&sample);
    char *command = memory_format("rm -rf '%s'", folder);
    int status = system(command);
    free(command);
    return status;
}

static char *path_of(const char *name)
{
    return memory_format("%s/%s", folder, name);
}

__attribute__((unused)) static char *text_of(const char *path)
{
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    char *text = memory_new(1 << 20, 1);
    size_t size = fread(text, 1, (1 << 20) - 1, in);
    fclose(in);
    assert_true(size < (1 << 20) - 1);
    text[size] = 0;
    return text;
}

static void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("not found: %s", part);
}

__attribute__((unused)) static void expect_not_in(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("must not be there: %s", part);
}

#endif
