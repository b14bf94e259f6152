/* test_scenario.c - the scenario reader: what it takes, and the whole message for everything that
 * it refuses. Hostile bytes: test_scenario_hostile.c. */
#include "base/suggest.h"
#include "test/scenario_text.h"

static void refuses(const char *text, const char *message)
{
    const char *words = refusal(text, strlen(text));
    if (!strstr(words, message))
        fail_msg("wanted: %s\nsays:   %s", message, words);
}

/* --- what it takes --- */

static void a_whole_scenario(void **state)
{
    (void)state;
    struct scenario *scenario =
        reads("# A stalls for longer than its lease;\n#B gets the lock.\n#\n#   indented\n\n# not "
              "the story\n"
              "name: a\n"
              "source: a page, \"the lock expires\"\n"
              "lease: 1.5s\n"
              "clients: [A, B, worker1]\n"
              "servers: 5\n"
              "replica: yes\n"
              "same-token: [A, worker1]\n"
              "steps:\n"
              "  - A acquires\n"
              "  - worker1 releases, stalls before the delete\n"
              "  - server 5 fails over\n"
              "expect:\n"
              "  set-nx-ex-del: { release-own: violated, lease-exclusion: unknown }\n"
              "  set-ifeq-delex: unsupported\n");
    assert_string_equal(scenario->path, path);
    assert_string_equal(scenario->name, "a");
    assert_string_equal(scenario->source, "a page, \"the lock expires\"");
    assert_string_equal(scenario->story,
                        "A stalls for longer than its lease;\nB gets the lock.\n\n  indented");
    assert_int_equal(scenario->lease_us, 1500000);
    assert_int_equal(scenario->clients, 3);
    assert_string_equal(scenario->names[2], "worker1");
    assert_int_equal(scenario->servers, 5);
    assert_true(scenario->has_replica);
    assert_int_equal(scenario->same_token, 1u << 0 | 1u << 2);
    assert_int_equal(scenario->steps_count, 3);
    assert_int_equal(scenario->steps[1].kind, STEP_RELEASES);
    assert_int_equal(scenario->steps[1].client, 2);
    assert_int_equal(scenario->steps[1].stall, STALL_BEFORE);
    assert_int_equal(scenario->steps[1].line, 16);
    assert_int_equal(scenario->steps[1].column, 5);
    assert_int_equal(scenario->steps[2].server, 4);
    assert_int_equal(scenario->expectations_count, 2);
    const struct expectation *naive = scenario_expects(scenario, scheme_named("set-nx-ex-del"));
    assert_non_null(naive);
    assert_true(naive->is_expected[PROPERTY_RELEASE_OWN]);
    assert_int_equal(naive->verdicts[PROPERTY_RELEASE_OWN], VERDICT_VIOLATED);
    assert_int_equal(naive->verdicts[PROPERTY_LEASE_EXCLUSION], VERDICT_UNKNOWN);
    assert_false(naive->is_expected[PROPERTY_TRUTHFUL]);
    assert_false(naive->is_unsupported);
    assert_true(scenario_expects(scenario, scheme_named("set-ifeq-delex"))->is_unsupported);
    assert_null(scenario_expects(scenario, scheme_named("redlock")));
    scenario_free(scenario);
}

static void what_may_be_left_out(void **state)
{
    (void)state;
    struct scenario *scenario = reads(HEAD STEPS EXPECT);
    assert_string_equal(scenario->story, "");
    assert_int_equal(scenario->servers, 1);
    assert_false(scenario->has_replica);
    assert_int_equal(scenario->same_token, 0);
    scenario_free(scenario);
}

static void the_order_of_keys_is_free(void **state)
{
    (void)state;
    struct scenario *scenario =
        reads("---\r\n" EXPECT
              "steps: [\"B acquires\", 'server 3 restarts empty']\nservers: 3\n" HEAD "...\n");
    assert_int_equal(scenario->steps[0].client, 1);
    assert_int_equal(scenario->steps[1].server, 2);
    scenario_free(scenario);
}

/* --- what it refuses --- */

static void the_whole_message_with_its_caret(void **state)
{
    (void)state;
    const char *text = "name: a\nsource: x\nlease: 300\nclients: [A]\n" STEPS EXPECT;
    assert_string_equal(refusal(text, strlen(text)),
                        ":3:8: 'lease' wants a duration such as 250ms or 10s: '300' has no unit; "
                        "a duration ends in us, ms, s, min or h\n"
                        "  lease: 300\n"
                        "         ^\n"
                        "  did you mean '300ms'?");
    text = HEAD "steps:\n  - A acquires\n  - \"B relaeses\"\n" EXPECT;
    assert_string_equal(refusal(text, strlen(text)), ":7:8: no step says 'B relaeses'\n"
                                                     "    - \"B relaeses\"\n"
                                                     "         ^\n"
                                                     "  did you mean 'B releases'?");
    text = HEAD STEPS "expect:\n  set-nx-ex-dell: { release-own: holds }\n";
    assert_string_equal(refusal(text, strlen(text)), ":8:3: unknown scheme 'set-nx-ex-dell'\n"
                                                     "    set-nx-ex-dell: { release-own: holds }\n"
                                                     "    ^\n"
                                                     "  did you mean 'set-nx-ex-del'?");
}

static void each_key(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {HEAD STEPS EXPECT "speed: 3\n", ":9:1: unknown key 'speed'"},
        {HEAD "server: 3\n" STEPS EXPECT, "did you mean 'servers'?"},
        {HEAD STEPS EXPECT "lease: 1s\n", ":9:1: 'lease' is repeated: it stands in line 3"},
        {"name: a\nsource: x\nlease: 1s\n" STEPS EXPECT, ":1:1: the key 'clients' is missing"},
        {HEAD EXPECT, "the key 'steps' is missing"},
        {HEAD STEPS, "the key 'expect' is missing"},
        {"[name, source]", ":1:1: a scenario is a mapping (name: .., steps: ..), not a list"},
        {"just text", "a scenario is a mapping (name: .., steps: ..), not text"},
        {"[a]: b", ":1:1: a key is text, not a list"},
        {"name: b\nsource: x\nlease: 1s\nclients: [A]\n" STEPS EXPECT,
         ":1:7: 'name' must be the file's own name, 'a'"},
        {"name: [a]\nsource: x\nlease: 1s\nclients: [A]\n" STEPS EXPECT,
         ":1:7: 'name' wants the file's name without .yaml, not a list"},
        {"name: a_b\nsource: x\nlease: 1s\nclients: [A]\n" STEPS EXPECT, ":1:8: 'name' is made of"},
        {"name: a\nsource:\nlease: 1s\nclients: [A]\n" STEPS EXPECT, "'source' wants a text"},
        {"name: a\nsource: x\nlease: {a: b}\nclients: [A]\n" STEPS EXPECT,
         ":3:8: 'lease' wants a duration such as 250ms or 10s, not a mapping"},
        {"name: a\nsource: x\nlease: 3 parsecs\nclients: [A]\n" STEPS EXPECT, "unknown unit"},
        {"name: a\nsource: x\nlease: 10us\nclients: [A]\n" STEPS EXPECT, "1ms at least"},
        {"name: a\nsource: x\nlease: -1s\nclients: [A]\n" STEPS EXPECT, "1ms at least"},
        {"name: a\nsource: x\nlease: 999h\nclients: [A]\n" STEPS EXPECT, "longer than 100h"},
        {"name: a\nsource: x\nlease: 1s\nclients: A\n" STEPS EXPECT,
         ":4:10: 'clients' wants a list of names, not text"},
        {"name: a\nsource: x\nlease: 1s\nclients: []\n" STEPS EXPECT,
         "'clients' wants 1 to 26 names, not 0"},
        {"name: a\nsource: x\nlease: 1s\nclients: [A, B, A]\n" STEPS EXPECT,
         ":4:17: client 'A' is named twice"},
        {"name: a\nsource: x\nlease: 1s\nclients: [A-1]\n" STEPS EXPECT,
         ":4:11: a client's name is letters and digits"},
        {"name: a\nsource: x\nlease: 1s\nclients: [server]\n" STEPS EXPECT, "not 'server'"},
        {"name: a\nsource: x\nlease: 1s\nclients: [[A]]\n" STEPS EXPECT,
         ":4:11: 'clients' wants names"},
        {HEAD "servers: 8\n" STEPS EXPECT, ":5:10: 'servers' wants a number from 1 to 7"},
        {HEAD "servers: 0\n" STEPS EXPECT, "'servers' wants a number from 1 to 7"},
        {HEAD "servers: three\n" STEPS EXPECT, "'servers' wants a number from 1 to 7"},
        {HEAD "servers: cluster\nreplica: yes\n" STEPS EXPECT,
         "masters of a cluster have no replicas"},
        {HEAD "servers: cluster\nsteps: [server 1 restarts empty]\n" EXPECT,
         "of a cluster only the slot is struck"},
        {HEAD "servers: 3\nsteps: [server 2 owns the slot]\n" EXPECT,
         "this step needs the line 'servers: cluster'"},
        {HEAD "replica: yess\n" STEPS EXPECT, "'replica' wants yes or no"},
        {HEAD "replica: yess\n" STEPS EXPECT, "did you mean 'yes'?"},
        {HEAD "same-token: [A]\n" STEPS EXPECT, "'same-token' wants two clients at least"},
        {HEAD "same-token: [A, C]\n" STEPS EXPECT, ":5:17: 'C' is not a client"},
        {HEAD "same-token: [A, A]\n" STEPS EXPECT, ":5:17: client 'A' is named twice"},
        {HEAD "same-token: A\n" STEPS EXPECT, "'same-token' wants a list of clients, not text"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        refuses(rows[i].text, rows[i].message);
}

static void each_step(void **state)
{
    (void)state;
    static const struct {
        const char *steps, *message;
    } rows[] = {
        {"steps: A acquires\n", ":5:8: 'steps' wants a list of sentences, not text"},
        {"steps: []\n", "'steps' wants 1 to 500 sentences, not 0"},
        {"steps:\n  - [A]\n", ":6:5: 'steps' wants sentences such as 'A acquires', not a list"},
        {"steps:\n  - A: acquires\n",
         "'steps' wants sentences such as 'A acquires', not a mapping"},
        {"steps:\n  -\n", "'steps' wants sentences such as 'A acquires', not nothing"},
        {"steps:\n  - A frobs\n", ":6:7: no step says 'A frobs'"},
        {"steps:\n  - C acquires\n", ":6:5: 'C' is not a client; the clients are A, B"},
        {"steps:\n  - A cannot reach server 2\n", ":6:20: there is no server 2"},
        {"steps:\n  - server fails over\n",
         "there is no replica: this step needs the line 'replica: yes'"},
        {"steps:\n  - server's replica is cut off\n", "there is no replica"},
        {"steps:\n  - time passes 3 parsecs\n", ":6:17: "},
        {"steps:\n  - A acquires, stalls before DELL\n", ":6:31: 'DELL' is not a command"},
        {"steps:\n  - A acquires, stalls before DELL\n", "did you mean 'DEL'?"},
        {"steps:\n  - 'A acquires,\n    stalls'\n", ":6:5: 'stalls' wants"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1000];
        snprintf(text, sizeof text, "%s%s%s", HEAD, rows[i].steps, EXPECT);
        refuses(text, rows[i].message);
    }
}

/* A scheme in a file that is not loaded keeps its name; one letter off a name of ours is a slip. */
static void a_scheme_that_is_not_loaded(void **state)
{
    (void)state;
    static const struct scheme mine = {.name = "my-lock"}, other = {.name = "other"};
    struct scenario *scenario = reads(HEAD STEPS "expect:\n  my-lock: { release-own: holds }\n");
    assert_null(scenario->expectations[0].scheme);
    assert_string_equal(scenario->expectations[0].name, "my-lock");
    assert_ptr_equal(scenario_expects(scenario, &mine), &scenario->expectations[0]);
    assert_null(scenario_expects(scenario, &other));
    scenario_free(scenario);
    for (int i = 0; i < schemes_count; i++) {
        assert_false(suggest_is_slip(schemes[i]->name, schemes[i]->name));
        assert_false(suggest_is_slip("my-lock", schemes[i]->name));
    }
    static const char *const slips[] = {"redlok",  "redlockk", "redlick",
                                        "redolck", "Xredlock", "RedLock"};
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++)
        assert_true(suggest_is_slip(slips[i], "redlock"));
    assert_false(suggest_is_slip("redlock-2", "redlock"));
}

static void each_expectation(void **state)
{
    (void)state;
    static const struct {
        const char *expect, *message;
    } rows[] = {
        {"expect: {}\n", ":7:9: 'expect' speaks about no lock: name a scheme, or"},
        {"expect:\n", "'expect' wants { scheme: { property: verdict, .. }, .. }, not text"},
        {"expect: [redlock]\n", "not a list"},
        {"expect:\n  redlck: { release-own: holds }\n", ":8:3: unknown scheme 'redlck'"},
        {"expect:\n  '': { release-own: holds }\n", ":8:4: the name of a scheme has 1 to 63 bytes"},
        {"expect:\n  redlock: { relase-own: holds }\n", ":8:14: unknown property 'relase-own'"},
        {"expect:\n  redlock: { relase-own: holds }\n", "did you mean 'release-own'?"},
        {"expect:\n  redlock: { release-own: hold }\n", ":8:27: unknown verdict 'hold'"},
        {"expect:\n  redlock: { release-own: hold }\n", "did you mean 'holds'?"},
        {"expect:\n  redlock: { release-own: [holds] }\n",
         "'release-own' wants a verdict, not a list"},
        {"expect:\n  redlock: {}\n",
         ":8:12: 'redlock' wants { property: verdict, .. } or the word"},
        {"expect:\n  redlock: unsuported\n", "did you mean 'unsupported'?"},
        {"expect:\n  redlock: { truthful: holds }\n  redlock: { truthful: holds }\n",
         ":9:3: 'redlock' is repeated: it stands in line 8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1000];
        snprintf(text, sizeof text, "%s%s%s", HEAD, STEPS, rows[i].expect);
        refuses(text, rows[i].message);
    }
}

static void yaml_that_is_none_or_too_clever(void **state)
{
    (void)state;
    refuses("name: [a\n", ":2:1: not YAML: ");
    refuses("name: a\n\tsource: b\n", "not YAML: ");
    refuses("name: a\nname\n", "not YAML: ");
    refuses("a: \"unfinished\n", "not YAML: ");
    refuses("a: &x b\n", ":1:4: anchors (&name) are not used here");
    refuses("a: *x\n", ":1:4: aliases (*name) are not used here");
    refuses("a: !!str b\n", ":1:4: tags (!name) are not used here");
    refuses("%YAML 1.1\n---\na: b\n", ":1:1: directives (%YAML, %TAG) are not used here");
    refuses(HEAD STEPS EXPECT "---\na: b\n", ":9:1: a second document: a file holds one");
    refuses("a: \"b\\0c\"\n", "a text with a NUL character in it");
    refuses("[[[[[[[[[a]]]]]]]]]", "nested more than 8 deep");
    refuses("a: \"\\e[31m\\u009b\"\nname: \"\\e[31m\"\nname: b\n", ":3:1: 'name' is repeated");
    refuses("\"\\e[31mred\": 1\n", "unknown key '?[31mred'");
}

static void files_that_are_no_scenarios(void **state)
{
    (void)state;
    refuses("", ":1:1: the file is empty: nothing but 0 bytes");
    refuses("# a story\n\n  \n", ":1:1: the file is empty: nothing but blanks and comments");
    assert_non_null(strstr(refusal("name: \0", 7), ":1:7: not a text file: the byte 0x00"));
    assert_non_null(
        strstr(refusal("name: a\n\xff\xfe", 10), ":2:1: not a text file: the byte 0xff"));
    assert_non_null(strstr(refusal("\xc3", 1), "0xc3"));         /* cut off */
    assert_non_null(strstr(refusal("\xc0\xaf", 2), "0xc0"));     /* overlong */
    assert_non_null(strstr(refusal("\xed\xa0\x80", 3), "0xed")); /* half of a pair */
    assert_non_null(strstr(refusal("\x7f"
                                   "ELF\x02",
                                   5),
                           "not YAML: control characters"));
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    struct scenario *scenario = NULL;
    struct failure failure = {0};
    size_t size = SCENARIO_BYTES_MAX + 1;
    char *large = malloc(size);
    assert_non_null(large);
    memset(large, '#', size);
    refuses(HEAD STEPS EXPECT "x: y\n", "unknown key");
    assert_string_equal(refusal(large, size),
                        ": has 262145 bytes; a file of this kind has at most 262144");
    memset(large + SCENARIO_BYTES_MAX, '\n', 1);
    assert_non_null(strstr(refusal(large, SCENARIO_BYTES_MAX), "the file is empty"));
    free(large);
    assert_int_equal(scenario_read(folder, &scenario, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, ": is a directory, not a file"));
    assert_int_equal(scenario_read("/nowhere/a.yaml", &scenario, &failure), FAIL_INPUT);
    assert_string_equal(failure.text, "/nowhere/a.yaml: No such file or directory");
    assert_int_equal(scenario_read("/dev/null", &scenario, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "is not a regular file"));
    char fifo[160];
    snprintf(fifo, sizeof fifo, "%s/fifo.yaml", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(scenario_read(fifo, &scenario, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "is not a regular file"));
    assert_int_equal(unlink(fifo), 0);
    assert_null(scenario);
}

static void long_lines_are_shown_around_the_spot(void **state)
{
    (void)state;
    char text[3000];
    snprintf(text, sizeof text, "clients: [%*sA, B, A%*s]\nname: a\nsource: x\nlease: 1s\n%s%s",
             1000, "", 1000, "", STEPS, EXPECT);
    const char *words = refusal(text, strlen(text));
    assert_non_null(strstr(words, ":1:1017: client 'A' is named twice\n  ..."));
    const char *source = strstr(words, "\n  ..."), *caret = strrchr(words, '\n');
    assert_true(strlen(words) < 400);
    /* the caret stands under the second A */
    assert_int_equal(source[caret ? strlen(caret) - 1 : 0], 'A');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_scenario),
        cmocka_unit_test(what_may_be_left_out),
        cmocka_unit_test(the_order_of_keys_is_free),
        cmocka_unit_test(the_whole_message_with_its_caret),
        cmocka_unit_test(each_key),
        cmocka_unit_test(each_step),
        cmocka_unit_test(a_scheme_that_is_not_loaded),
        cmocka_unit_test(each_expectation),
        cmocka_unit_test(yaml_that_is_none_or_too_clever),
        cmocka_unit_test(files_that_are_no_scenarios),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(long_lines_are_shown_around_the_spot),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
