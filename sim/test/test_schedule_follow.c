/* test_schedule_follow.c - schedules of one scheme, followed with another one in the simulated
 * world: what is made in the place of what, what is left out, and what is never followed. */
#include "scenario/schedule_follow.h"
#include "scenario/sentence.h"
#include "world/simulated.h"

/* behind our headers: its macro fail() would spoil "enum fail (*apply)(..)" */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 4096 };

static char names[ACTORS_MAX][NAME_MAX_BYTES] = {"A", "B"};

struct following {
    enum fail fail;
    char choices[TEXT_MAX], differences[TEXT_MAX]; /* one a line */
    struct failure failure;
};

static void append(char *text, const char *line)
{
    const size_t used = strlen(text);
    assert_true(used + strlen(line) + 2 < TEXT_MAX);
    (void)snprintf(text + used, TEXT_MAX - used, "%s\n", line);
}

static void take_choice(void *context, const struct choice *choice)
{
    char line[SENTENCE_MAX];
    append(context, choice_print(choice, (const char(*)[64])names, line, sizeof line));
}

static void ignore(void *context, const struct event *event)
{
    (void)context;
    (void)event;
}

static struct schedule *read_choices(const char *choices)
{
    char path[] = "/tmp/picklock-follow-XXXXXX";
    struct schedule *schedule = NULL;
    struct failure failure = {0};
    const int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    assert_non_null(file);
    fprintf(file,
            "picklock schedule 1\nscheme: set-nx-ex-del\nlease: 1s\nclients: A B\nservers: 1\n"
            "seed: 7\nforeign: yes\n---\n%send\n",
            choices);
    assert_int_equal(fclose(file), 0);
    if (schedule_read(path, NULL, &schedule, &failure))
        fail_msg("%s", failure.text);
    (void)unlink(path);
    return schedule;
}

static struct following *follow(const char *scheme, const char *choices)
{
    struct following *done = calloc(1, sizeof *done);
    assert_non_null(done);
    struct schedule *schedule = read_choices(choices);
    struct followed followed;
    struct run run = {.scheme = scheme_named(scheme),
                      .clients = 2,
                      .servers = 1,
                      .names = names,
                      .lease_us = 1000000,
                      .seed = 7,
                      .sink = {.take = ignore}};
    struct world *world = world_simulated_new(&run);
    done->fail = schedule_follow(
        schedule, "s", world, (struct choice_sink){.take = take_choice, .context = done->choices},
        &followed, &done->failure);
    for (int i = 0; i < followed.count; i++)
        append(done->differences, followed.differences[i]);
    followed_close(&followed);
    world->ops->free(world);
    schedule_free(schedule);
    return done;
}

static void follows(const char *scheme, const char *choices, const char *made,
                    const char *differences)
{
    struct following *done = follow(scheme, choices);
    if (done->fail)
        fail_msg("%s", done->failure.text);
    assert_string_equal(done->choices, made);
    assert_string_equal(done->differences, differences);
    free(done);
}

static void loses(const char *scheme, const char *choices, const char *words)
{
    struct following *done = follow(scheme, choices);
    assert_int_equal(done->fail, FAIL_UNKNOWN);
    assert_string_equal(done->failure.text, words);
    free(done);
}

#define A_HAS_IT "A acquires\nA's SET reaches server 1\nA hears SET from server 1\n"
#define LATE_DELETE                                                                                \
    A_HAS_IT "time passes 1.1s\nB acquires\nB's SET reaches server 1\nA releases\n"                \
             "A's DEL reaches server 1\n"

static void a_lock_that_has_not_changed_is_replayed_exactly(void **state)
{
    (void)state;
    follows("set-nx-ex-del", LATE_DELETE, LATE_DELETE, "");
}

/* And runs to its end, behind the last choice. */
static void what_changes_the_lock_stands_for_what_changed_it(void **state)
{
    (void)state;
    follows("set-nx-px-cad", LATE_DELETE,
            A_HAS_IT
            "time passes 1.1s\nB acquires\nB's SET reaches server 1\nA releases\n"
            "A's compare-and-delete reaches server 1\nA hears compare-and-delete from server 1\n",
            "A's release sends compare-and-delete to server 1, not DEL\n");
}

/* So the script runs where the DEL ran, behind B's grant. */
static void what_only_read_is_left_out(void **state)
{
    (void)state;
    follows("set-nx-px-cad",
            A_HAS_IT "A releases\nA's GET reaches server 1\nA hears GET from server 1\n"
                     "time passes 1.1s\nB acquires\nB's SET reaches server 1\n"
                     "A's DEL reaches server 1\n",
            A_HAS_IT
            "A releases\ntime passes 1.1s\nB acquires\nB's SET reaches server 1\n"
            "A's compare-and-delete reaches server 1\nA hears compare-and-delete from server 1\n",
            "A's release sends no GET to server 1\nA's release sends compare-and-delete to server "
            "1, not DEL\n");
}

static void what_comes_late_is_late(void **state)
{
    (void)state;
    follows(
        "set-nx-px-cad",
        A_HAS_IT "A releases\nA gives up on DEL at server 1\ntime passes 1.1s\nB acquires\n"
                 "B's SET reaches server 1\nA's late DEL reaches server 1\n",
        A_HAS_IT
        "A releases\nA gives up on compare-and-delete at server 1\ntime passes 1.1s\nB acquires\n"
        "B's SET reaches server 1\nA's late compare-and-delete reaches server 1\n",
        "A's release sends compare-and-delete to server 1, not DEL\n");
}

/* The crash strikes behind the command that is still there. */
static void a_command_that_is_no_longer_sent_is_left_out(void **state)
{
    (void)state;
    follows("set-nx-ex-del",
            "A acquires\nA's SETNX reaches server 1\nA hears SETNX from server 1\n"
            "A's EXPIRE to server 1 is lost\nA crashes\n",
            "A acquires\nA's SET reaches server 1\nA hears SET from server 1\nA crashes\n",
            "A's acquire sends SET to server 1, not SETNX\n"
            "A's acquire sends no EXPIRE to server 1\n");
}

/* Before A goes on: the schedule has its acquire over by then. */
static void an_operation_that_takes_more_is_run_to_its_end(void **state)
{
    (void)state;
    follows("setnx-expire-del", A_HAS_IT "A releases\nA's DEL reaches server 1\n",
            "A acquires\nA's SETNX reaches server 1\nA hears SETNX from server 1\n"
            "A's EXPIRE reaches server 1\nA hears EXPIRE from server 1\n"
            "A releases\nA's DEL reaches server 1\n",
            "A's acquire sends SETNX to server 1, not SET\n"
            "A's acquire sends EXPIRE to server 1, too\n");
}

/* Nothing is due then: B was refused because A has the lock. */
static void what_a_refused_client_did_is_left_out(void **state)
{
    (void)state;
    follows("set-nx-ex-del",
            A_HAS_IT "B acquires\nB's SET reaches server 1\nB hears SET from server 1\n"
                     "B releases\nB's DEL reaches server 1\n",
            A_HAS_IT "B acquires\nB's SET reaches server 1\nB hears SET from server 1\n",
            "B is refused now: its release is left out\n");
}

/* A's key is still there, and nobody has the lock: why is B refused? */
static void what_is_refused_for_no_reason_is_not_followed(void **state)
{
    (void)state;
    loses("set-nx-ex-del",
          A_HAS_IT "A releases\nB acquires\nB's SET reaches server 1\nA's DEL reaches server 1\n"
                   "A hears DEL from server 1\nB hears SET from server 1\nB releases\n",
          "s:18: B releases: B is refused now, though nobody has the lock");
}

static void what_is_not_there_is_not_followed(void **state)
{
    (void)state;
    loses("set-nx-ex-del", "A acquires\nA hears SET from server 1\n",
          "s:10: A hears SET from server 1: A has no SET at server 1, and nothing that could stand "
          "for it");
    loses("set-nx-ex-del", "A's SET reaches server 1\n",
          "s:9: A's SET reaches server 1: A has no SET at server 1, and nothing that could stand "
          "for it");
    loses("set-nx-ex-del", A_HAS_IT "A acquires\n", "s:12: A acquires: A is holding, not idle");
    loses("set-nx-ex-del", "server 1 evicts the lock\n",
          "s:9: server 1 evicts the lock: server 1 has no lock key to evict");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_that_has_not_changed_is_replayed_exactly),
        cmocka_unit_test(what_changes_the_lock_stands_for_what_changed_it),
        cmocka_unit_test(what_only_read_is_left_out),
        cmocka_unit_test(what_comes_late_is_late),
        cmocka_unit_test(a_command_that_is_no_longer_sent_is_left_out),
        cmocka_unit_test(an_operation_that_takes_more_is_run_to_its_end),
        cmocka_unit_test(what_a_refused_client_did_is_left_out),
        cmocka_unit_test(what_is_refused_for_no_reason_is_not_followed),
        cmocka_unit_test(what_is_not_there_is_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
