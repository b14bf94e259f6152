/* scenario_text.h - for test_scenario*.c: a text as a scenario file, read. */
#ifndef PICKLOCK_TEST_SCENARIO_TEXT_H
#define PICKLOCK_TEST_SCENARIO_TEXT_H

#include "scenario/scenario.h"

/* behind our headers: its macro fail() would spoil "enum fail (*apply)(..)" */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/picklock-scenario-XXXXXX";
static char path[128];

#define HEAD   "name: a\nsource: a page\nlease: 300ms\nclients: [A, B]\n"
#define STEPS  "steps:\n  - A acquires\n"
#define EXPECT "expect:\n  set-nx-px-cad: { release-own: holds }\n"

static inline void write_file(const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline struct scenario *reads(const char *text)
{
    struct scenario *scenario = NULL;
    struct failure failure = {0};
    write_file(text, strlen(text));
    if (scenario_read(path, &scenario, &failure))
        fail_msg("%s", failure.text);
    return scenario;
}

/* The message, behind "folder/a.yaml". */
static inline const char *refusal(const char *bytes, size_t size)
{
    static struct failure failure;
    struct scenario *scenario = NULL;
    write_file(bytes, size);
    assert_int_equal(scenario_read(path, &scenario, &failure), FAIL_INPUT);
    assert_null(scenario);
    assert_int_equal(strncmp(failure.text, path, strlen(path)), 0);
    return failure.text + strlen(path);
}

static inline int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/a.yaml", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    return unlink(path) || rmdir(folder);
}

#endif
