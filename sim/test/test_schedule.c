/* test_schedule.c - schedule files: written, read back, refused line by line, and applied to a
 * world. */
#include "scenario/schedule.h"
#include "scenario/sentence.h"

/* behind our headers: its macro fail() would spoil "enum fail (*apply)(..)" */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/picklock-schedule-XXXXXX";
static char path[128];

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B", "worker1"};

#define HEAD                                                                                       \
    "picklock schedule 1\nscheme: set-nx-ex-del\nlease: 1s\nclients: A B worker1\nservers: "       \
    "2\nseed: 7\n"

static const struct choice choices[] = {
    {CHOICE_ACQUIRE, 0, -1, 0, 0, 0, ""},
    {CHOICE_ARRIVE, 0, 1, VERB_SET_NX_PX, 0, 0, ""},
    {CHOICE_TIME, -1, -1, 0, 1001000, 0, ""},
    {CHOICE_SERVER_CLOCK, -1, 0, 0, -5000000, 0, ""},
    {CHOICE_LOSE_REPLY, 2, 0, VERB_DEL, 0, 0, ""},
    {CHOICE_DUPLICATE, 1, 0, VERB_DEL, 0, 0, ""},
    {CHOICE_ANSWER_ERROR, 0, 1, VERB_EXPIRE, 0, ERROR_LOADING, ""},
};
enum { CHOICES = sizeof choices / sizeof choices[0] };

static struct schedule *make_schedule(void)
{
    const struct run run = {.scheme = scheme_named("set-nx-ex-del"),
                            .clients = 3,
                            .servers = 2,
                            .names = names,
                            .lease_us = 1000000,
                            .seed = UINT64_MAX,
                            .same_token = 5,
                            .has_replica = true,
                            .has_delex = true};
    struct schedule *schedule = schedule_new(&run);
    for (int i = 0; i < CHOICES; i++)
        schedule_add(schedule, &choices[i]);
    return schedule;
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void refuses(const char *text, const char *message)
{
    struct schedule *schedule = NULL;
    struct failure failure = {0};
    char wanted[1000];
    write_file(text);
    assert_int_equal(schedule_read(path, NULL, &schedule, &failure), FAIL_INPUT);
    assert_null(schedule);
    snprintf(wanted, sizeof wanted, "%s:%s", path, message);
    if (strncmp(failure.text, wanted, strlen(wanted)))
        fail_msg("wanted: %s\nsays:   %s", wanted, failure.text);
}

static void a_schedule_is_a_readable_file(void **state)
{
    (void)state;
    char bytes[2000] = "";
    struct failure failure;
    struct schedule *schedule = make_schedule();
    assert_int_equal(schedule_write(schedule, path, &failure), FAIL_NONE);
    schedule_free(schedule);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(bytes, 1, sizeof bytes - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(bytes, "picklock schedule 1\n"
                               "scheme: set-nx-ex-del\n"
                               "lease: 1s\n"
                               "clients: A B worker1\n"
                               "servers: 2\n"
                               "seed: 18446744073709551615\n"
                               "same-token: A worker1\n"
                               "replica: yes\n"
                               "delex: yes\n"
                               "---\n"
                               "A acquires\n"
                               "A's SET reaches server 2\n"
                               "time passes 1.001s\n"
                               "server 1's clock jumps -5s\n"
                               "worker1's reply to DEL from server 1 is lost\n"
                               "B's DEL to server 1 is sent twice\n"
                               "A's EXPIRE to server 2 is answered with LOADING\n"
                               "end\n");
}

static void what_was_written_reads_back(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct schedule *made = make_schedule(), *back = NULL;
    assert_int_equal(schedule_write(made, path, &failure), FAIL_NONE);
    if (schedule_read(path, NULL, &back, &failure))
        fail_msg("%s", failure.text);
    assert_ptr_equal(back->scheme, made->scheme);
    assert_int_equal(back->clients, 3);
    assert_int_equal(back->servers, 2);
    assert_string_equal(back->names[2], "worker1");
    assert_int_equal(back->lease_us, made->lease_us);
    assert_true(back->seed == UINT64_MAX);
    assert_int_equal(back->same_token, 5);
    assert_true(back->has_replica);
    assert_true(back->has_delex);
    assert_int_equal(back->choices_count, CHOICES);
    for (int i = 0; i < CHOICES; i++) {
        assert_true(choice_is_same(&back->choices[i], &choices[i]));
        assert_int_equal(back->lines[i], 11 + i);
        assert_int_equal(made->lines[i], 0);
    }
    schedule_free(made);
    schedule_free(back);
}

/* A command that nobody here knows reads back where the head says so; one that is known, as itself.
 */
static void a_foreign_programs_commands_read_back(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct schedule *schedule = make_schedule(), *back;
    const struct choice lock = {
        .kind = CHOICE_ARRIVE, .client = 1, .server = 1, .opaque = "LOCK.ACQUIRE"};
    const struct choice set = {.kind = CHOICE_GIVE_UP, .verb = VERB_SET_NX_PX};
    schedule_add(schedule, &lock);
    schedule_add(schedule, &set);
    assert_int_equal(schedule_write(schedule, path, &failure), FAIL_NONE);
    if (schedule_read(path, NULL, &back, &failure))
        fail_msg("%s", failure.text);
    assert_true(back->is_foreign);
    assert_int_equal(back->choices_count, CHOICES + 2);
    assert_true(choice_is_same(&back->choices[CHOICES], &lock));
    assert_string_equal(choice_command(&back->choices[CHOICES]), "LOCK.ACQUIRE");
    assert_string_equal(choice_command(&back->choices[CHOICES + 1]), "SET");
    assert_string_equal(back->choices[CHOICES + 1].opaque, "");
    schedule_free(schedule);
    schedule_free(back);
    refuses(HEAD "---\nA's LOCK reaches server 1\nend\n", "8:5: 'LOCK' is not a command");
    refuses(HEAD "foreign: yes\n---\nA's Lock reaches server 1\nend\n",
            "9:5: 'Lock' is not a command");
    refuses(HEAD "foreign: maybe\n---\nend\n", "7:10: 'foreign' wants yes or no");
}

static void edited_by_hand(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct schedule *schedule = NULL;
    write_file(HEAD "---\r\n\n# a remark\n  A acquires  \n\tB's lease is 2s\r\nA crashes\nend");
    if (schedule_read(path, NULL, &schedule, &failure))
        fail_msg("%s", failure.text);
    assert_int_equal(schedule->choices_count, 3);
    assert_int_equal(schedule->lines[0], 10);
    assert_int_equal(schedule->choices[1].kind, CHOICE_LEASE);
    assert_int_equal(schedule->choices[2].kind, CHOICE_CRASH);
    assert_false(schedule->has_replica);
    schedule_free(schedule);
}

static void many_choices(void **state)
{
    (void)state;
    struct schedule *schedule = make_schedule();
    for (int i = CHOICES; i < 5000; i++)
        schedule_add(schedule, &(struct choice){.kind = CHOICE_TIME, .amount_us = i});
    for (int i = CHOICES; i < 5000; i++)
        assert_int_equal(schedule->choices[i].amount_us, i);
    schedule_free(schedule);
}

static void wrong_files_say_the_place(void **state)
{
    (void)state;
    refuses("", "1:1: the file is empty");
    refuses("A acquires\n", "1:1: not a schedule: the first line of one is 'picklock schedule 1'");
    refuses("picklock schedule 2\n",
            "1:19: a schedule of version '2'; this picklock reads version 1");
    refuses("picklock schedule 1\n", "1:20: the line 'scheme' is missing");
    refuses("picklock schedule 1\nscheme: set-nx-ex-dell\n",
            "2:9: unknown scheme 'set-nx-ex-dell'; did you mean 'set-nx-ex-del'?");
    refuses("picklock schedule 1\nscheme: my_lock\n", /* which is not far from redlock */
            "2:9: unknown scheme 'my_lock': one from a file is named with --scheme FILE.so, "
            "a worker with --worker COMMAND");
    refuses("picklock schedule 1\nlease: 1s\n",
            "2:1: the line 'scheme: ..' must come before 'lease'");
    refuses("picklock schedule 1\nscheme: redlock\nlease: 1\n", "3:8: 'lease' wants a duration");
    refuses("picklock schedule 1\nscheme: redlock\nlease: -1s\n",
            "3:8: 'lease' wants a duration above 0");
    refuses(
        "picklock schedule 1\nscheme: set-nx-ex-del\nlease: 300ms\n",
        "3:8: '300ms' cannot be a lease of set-nx-ex-del, which counts in whole seconds; did you "
        "mean '1s'?");
    refuses("picklock schedule 1\nscheme: redlock\nlease: 1s\nclients: A A\n",
            "4:12: client 'A' is named twice");
    refuses("picklock schedule 1\nscheme: redlock\nlease: 1s\nclients: A-1\n",
            "4:10: 'A-1' is not a client's name");
    refuses("picklock schedule 1\nscheme: redlock\nlease: 1s\nclients:\n",
            "4:9: 'clients' wants names such as A B C");
    refuses("picklock schedule 1\nscheme: redlock\nlease: 1s\nclients: A\nservers: 8\n",
            "5:10: 'servers' wants a number from 1 to 7");
    refuses("picklock schedule 1\nscheme: redlock\nlease: 1s\nclients: A\nservers: 1\nseed: -1\n",
            "6:7: 'seed' wants a number");
    refuses("picklock schedule 1\nscheme: redlock\nlease: 1s\nclients: A\nservers: 1\nseed: "
            "18446744073709551616\n",
            "6:7: 'seed' wants a number");
    refuses(HEAD, "6:8: the line '---' is missing");
    refuses(HEAD "A acquires\n", "7:1: 'key: value' or the line '---' was expected");
    refuses(HEAD "seeds: 1\n", "7:1: unknown key 'seeds'; did you mean 'seed'?");
    refuses(HEAD "seed: 1\n", "7:1: 'seed' is repeated, or comes too late");
    refuses(HEAD "same-token: A Z\n", "7:15: 'Z' is not a client");
    refuses(HEAD "replica: maybe\n", "7:10: 'replica' wants yes or no");
    refuses(HEAD "delex: maybe\n", "7:8: 'delex' wants yes or no");
    refuses(HEAD "replica: no\nsame-token: A B\n",
            "8:1: 'same-token' is repeated, or comes too late");
    refuses(HEAD "---\nA acquires\nA aquires\n",
            "9:3: no choice says 'A aquires'; did you mean 'A acquires'?");
    refuses(HEAD "---\nA's SET reaches server 3\n", "8:17: there is no server 3");
    refuses(HEAD "---\n \t C acquires\n", "8:4: 'C' is not a client");
    refuses(HEAD "---\nC acquires\n", "8:1: 'C' is not a client; the clients are A, B, worker1");
    refuses(HEAD "---\nA acquires\xff\n", "8:11: not a text file");
    refuses(HEAD "---\nA acquires\nA's SET reaches ser", "9:17: ");
    refuses(HEAD "---\nA acquires\n", "8:11: the line 'end' is missing: the file is cut off");
    refuses(HEAD "---\nend\nA acquires\n", "9:1: text follows the line 'end'");
    refuses("picklock schedule 1\nscheme: \x1b[31m\n", "2:9: unknown scheme '?[31m'");
}

static void files_that_cannot_be_read_or_written(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct schedule *schedule = NULL;
    assert_int_equal(schedule_read(folder, NULL, &schedule, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "is a directory"));
    assert_int_equal(schedule_read("/nowhere/s", NULL, &schedule, &failure), FAIL_INPUT);
    assert_string_equal(failure.text, "/nowhere/s: No such file or directory");
    schedule = make_schedule();
    assert_int_not_equal(schedule_write(schedule, "/nowhere/s", &failure), FAIL_NONE);
    assert_non_null(strstr(failure.text, "/nowhere"));
    assert_int_not_equal(schedule_write(schedule, "/dev/full", &failure), FAIL_NONE);
    assert_non_null(strstr(failure.text, "/dev/full"));
    schedule_free(schedule);
}

/* --- applied --- */

/* A world that takes choices until it has had enough. */
struct counting {
    struct world world;
    int takes, taken;
    const char *cannot; /* NULL: it can do all */
};

static enum fail counting_apply(struct world *world, const struct choice *choice,
                                struct failure *failure)
{
    struct counting *counting = (struct counting *)world;
    if (counting->taken == counting->takes)
        return failure_set(failure, FAIL_UNKNOWN, "the world has had enough");
    assert_int_equal(choice->kind, choices[counting->taken].kind);
    counting->taken++;
    return FAIL_NONE;
}

static enum fail counting_can(struct world *world, enum choice_kind kind, struct failure *failure)
{
    const struct counting *counting = (const struct counting *)world;
    if (counting->cannot && kind == CHOICE_SERVER_CLOCK)
        return failure_set(failure, FAIL_UNKNOWN, "%s", counting->cannot);
    return FAIL_NONE;
}

static const struct world_ops counting_ops = {.apply = counting_apply, .can = counting_can};

static void applied_in_order(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct counting counting = {.world = {.ops = &counting_ops}, .takes = CHOICES};
    struct schedule *schedule = make_schedule();
    assert_int_equal(schedule_apply(schedule, "s", &counting.world, &failure), FAIL_NONE);
    assert_int_equal(counting.taken, CHOICES);
    schedule_free(schedule);
}

static void a_choice_that_is_not_possible(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct counting counting = {.world = {.ops = &counting_ops}, .takes = 2};
    struct schedule *made = make_schedule(), *back = NULL;
    assert_int_equal(schedule_write(made, path, &failure), FAIL_NONE);
    assert_int_equal(schedule_read(path, NULL, &back, &failure), FAIL_NONE);
    assert_int_equal(schedule_apply(back, "file", &counting.world, &failure), FAIL_UNKNOWN);
    assert_string_equal(failure.text, "file:13: time passes 1.001s: the world has had enough");
    assert_int_equal(failure.code, FAIL_UNKNOWN);
    counting = (struct counting){.world = {.ops = &counting_ops},
                                 .takes = CHOICES,
                                 .cannot = "no clock here can be stepped"};
    assert_int_equal(schedule_apply(back, "file", &counting.world, &failure), FAIL_UNKNOWN);
    assert_string_equal(failure.text,
                        "file:14: server 1's clock jumps -5s: no clock here can be stepped");
    assert_int_equal(counting.taken, 3);
    schedule_free(made);
    schedule_free(back);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/a.schedule", folder);
    return 0;
}

/* Nothing else may be left: rmdir() would fail on a temporary file. */
static int remove_folder(void **state)
{
    (void)state;
    return unlink(path) || rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schedule_is_a_readable_file),
        cmocka_unit_test(what_was_written_reads_back),
        cmocka_unit_test(a_foreign_programs_commands_read_back),
        cmocka_unit_test(edited_by_hand),
        cmocka_unit_test(many_choices),
        cmocka_unit_test(wrong_files_say_the_place),
        cmocka_unit_test(files_that_cannot_be_read_or_written),
        cmocka_unit_test(applied_in_order),
        cmocka_unit_test(a_choice_that_is_not_possible),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
