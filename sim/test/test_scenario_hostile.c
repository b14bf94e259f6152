/* test_scenario_hostile.c - the scenario reader over hostile bytes: a scenario, or refused with a
 * text that names the file. */
#include "base/random.h"
#include "test/scenario_text.h"

static const char seed_text[] =
    "# story\nname: a\nsource: \"x \\u00e4 'y'\"\nlease: 300ms\nclients: [A, B, C]\nservers: "
    "3\nreplica: yes\n"
    "same-token: [A, B]\nsteps:\n  - A acquires, stalls before the delete\n  - A's clock jumps -2 "
    "leases\n"
    "  - server 2's replica is cut off\n  - 'A crashes'\n"
    "expect:\n  redlock: { release-own: holds, progress: violated }\n  fenced: unsupported\n";

/* Either it is a scenario, or it is refused with a text that names the file: never anything else.
 */
static int survives(const char *bytes, size_t size)
{
    struct scenario *scenario = NULL;
    struct failure failure = {0};
    write_file(bytes, size);
    enum fail fail = scenario_read(path, &scenario, &failure);
    if (fail == FAIL_NONE) {
        assert_non_null(scenario);
        assert_true(scenario->steps_count > 0 && scenario->clients > 0);
        scenario_free(scenario);
        return 1;
    }
    assert_int_equal(fail, FAIL_INPUT);
    assert_int_equal(strncmp(failure.text, path, strlen(path)), 0);
    return 0;
}

static void mutations_do_no_harm(void **state)
{
    (void)state;
    static const char likely[] = ":-[]{},'\"#&*!|>%@`\n\t \\\0\x80\xff\xc2\xe2";
    struct random random = {.seed = 1};
    int taken = 0;
    for (int round = 0; round < 3000; round++) {
        char bytes[2 * sizeof seed_text];
        size_t size = sizeof seed_text - 1;
        memcpy(bytes, seed_text, size);
        for (uint64_t change = random_below(&random, 4); change < 4; change++) {
            size_t at = (size_t)random_below(&random, size);
            size_t run = 1 + (size_t)random_below(&random, 8);
            if (random_chance(&random, 300000) && at + run < size) {
                memmove(bytes + at, bytes + at + run, size - at - run);
                size -= run;
            } else if (random_chance(&random, 300000) && size + run < sizeof bytes &&
                       at + run < size) {
                memmove(bytes + at + run, bytes + at, size - at);
                size += run;
            } else {
                bytes[at] = likely[random_below(&random, sizeof likely - 1)];
            }
        }
        taken += survives(bytes, size);
    }
    /* neither are all of them broken, nor none */
    assert_true(taken > 0 && taken < 3000);
    assert_int_equal(survives(seed_text, sizeof seed_text - 1), 1);
}

static void random_bytes_do_no_harm(void **state)
{
    (void)state;
    static const char letters[] = "[]{}:,-\n \"'aA#?|>&*!";
    struct random random = {.seed = 2};
    for (int round = 0; round < 1000; round++) {
        char bytes[200];
        size_t size = (size_t)random_below(&random, sizeof bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] = round % 2 ? letters[random_below(&random, sizeof letters - 1)]
                                 : (char)random_below(&random, 256);
        assert_int_equal(survives(bytes, size), 0);
    }
}

/* As large as a file may be, and as nasty for a parser as we know how. */
static void large_files_end(void **state)
{
    (void)state;
    static const char *const units[] = {"[",   "{a: ", "- ",  "? ",      "a: b\n", "- A acquires\n",
                                        "\"",  "a,",   "&a ", "--- a\n", "b\n",    "# c\n",
                                        "[a, "};
    size_t size = SCENARIO_BYTES_MAX;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        for (size_t i = 0; i < size; i++)
            bytes[i] = units[u][i % strlen(units[u])];
        assert_int_equal(survives(bytes, size), 0);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutations_do_no_harm),
        cmocka_unit_test(random_bytes_do_no_harm),
        cmocka_unit_test(large_files_end),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
