/* test_confirm.c - one way is replayed once, and again wherever anything differs, or somebody
 * listens. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/result/cell.h"
#include "world/simulated.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

struct opened_worlds {
    int opened, ended;
    unsigned acting; /* in the last */
    enum fail last;
};

static enum fail open_counted(void *context, const struct run *run, unsigned acting,
                              struct world **world, struct failure *failure)
{
    struct opened_worlds *worlds = context;
    (void)failure;
    worlds->acting = acting;
    worlds->opened++;
    *world = world_simulated_new(run);
    return FAIL_NONE;
}

static void end_counted(void *context, enum fail fail)
{
    struct opened_worlds *worlds = context;
    worlds->ended++;
    worlds->last = fail;
}

static void hear(void *context, const struct event *event)
{
    (void)event;
    ++*(int *)context;
}

/* A plain DEL behind a lease that was outlived, searched anew for each test. */
struct searched {
    struct cell cell;
    char names[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES];
    struct finding findings[PROPERTY_COUNT];
};

static int search(void **state)
{
    struct searched *made = calloc(1, sizeof *made);
    struct cell *cell = &made->cell;
    struct failure failure = {0};
    for (int i = 0; i < EXPLORE_CLIENTS_MAX; i++)
        made->names[i][0] = (char)('A' + i);
    cell_init(cell, scheme_named("set-nx-ex-del"));
    cell->options.clients = 2;
    if (cell_add_faults(cell, "slow-work", &failure) ||
        cell_search(cell, SECTION_NOTHING, &failure))
        fail_msg("%s", failure.text);
    cell_finish(cell);
    assert_int_equal(cell->outcome.findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_VIOLATED);
    *state = made;
    return 0;
}

static int close_searched(void **state)
{
    struct searched *made = *state;
    cell_close(&made->cell);
    free(made);
    return 0;
}

static void one_way_is_replayed_once(void **state)
{
    struct searched *searched = *state;
    struct cell *cell = &searched->cell;
    struct opened_worlds worlds = {0};
    struct failure failure = {0};
    struct run run = confirm_run(&cell->options, &cell->outcome, searched->names);
    struct explore_finding way = cell->outcome.findings[PROPERTY_RELEASE_OWN];
    struct finding *first = searched->findings;
    struct finding *again = calloc(PROPERTY_COUNT, sizeof *again);
    struct confirm_world world = {
        .open = open_counted, .ended = end_counted, .context = &worlds, .memo = replay_memo_new()};

    assert_int_equal(confirm(&run, &way, &world, first, &failure), FAIL_NONE);
    assert_int_equal(confirm(&run, &way, &world, again, &failure), FAIL_NONE);
    assert_int_equal(worlds.opened, 1);
    assert_int_equal(again[PROPERTY_RELEASE_OWN].verdict, VERDICT_VIOLATED);
    assert_int_equal(again[PROPERTY_RELEASE_OWN].cause, CAUSE_UNLOCK_BUG);
    assert_memory_equal(first, again, PROPERTY_COUNT * sizeof *first);

    /* Who writes it down hears all of it. */
    int heard = 0;
    const struct event_sink also = {.take = hear, .context = &heard};
    struct confirm_world loud = world;
    loud.also = &also;
    assert_int_equal(confirm(&run, &way, &loud, again, &failure), FAIL_NONE);
    assert_int_equal(worlds.opened, 2);
    assert_true(heard > way.choices_count);

    /* A choice less is another way, which shows nothing; a third client is another run. */
    way.choices_count--;
    assert_int_equal(confirm(&run, &way, &world, again, &failure), FAIL_NONE);
    assert_int_equal(again[PROPERTY_RELEASE_OWN].verdict, VERDICT_HOLDS);
    run.clients++;
    assert_int_equal(confirm(&run, &way, &world, again, &failure), FAIL_NONE);
    assert_int_equal(worlds.opened, 4);

    /* What came to no end is not remembered: the last choice, as the first one. */
    struct choice wrong = cell->outcome.findings[PROPERTY_RELEASE_OWN].choices[way.choices_count];
    const struct explore_finding bad = {.choices = &wrong, .choices_count = 1};
    for (int i = 0; i < 2; i++)
        assert_int_not_equal(confirm(&run, &bad, &world, again, &failure), FAIL_NONE);
    assert_int_equal(worlds.opened, 6);
    assert_int_equal(worlds.ended, 6);
    assert_int_not_equal(worlds.last, FAIL_NONE);

    replay_memo_free(world.memo);
    free(again);
}

static void *begin_record(void *context, const struct history_head *head, struct event_sink *sink)
{
    *sink = (struct event_sink){.take = hear, .context = context};
    return head->clients == 2 ? context : NULL;
}

static char *end_record(void *context, void *record, enum fail fail)
{
    assert_ptr_equal(record, context);
    assert_true(*(int *)context > 0);
    return fail ? NULL : strdup("a file");
}

static void what_is_replayed_is_written_down_once(void **state)
{
    struct searched *searched = *state;
    struct cell *cell = &searched->cell;
    int heard = 0;
    struct failure failure = {0};
    struct run run = confirm_run(&cell->options, &cell->outcome, searched->names);
    const struct explore_finding *way = &cell->outcome.findings[PROPERTY_RELEASE_OWN];
    struct finding *findings = searched->findings;
    const struct replay_recorder recorder = {
        .begin = begin_record, .end = end_record, .context = &heard};
    struct confirm_world world = {.memo = replay_memo_new(), .recorder = &recorder};

    assert_null(replay_memo_file(world.memo, &run, way));
    assert_int_equal(confirm(&run, way, &world, findings, &failure), FAIL_NONE);
    assert_string_equal(replay_memo_file(world.memo, &run, way), "a file");
    const int once = heard;
    assert_int_equal(confirm(&run, way, &world, findings, &failure), FAIL_NONE);
    assert_int_equal(heard, once);
    run.clients++; /* of which it cannot */
    assert_int_equal(confirm(&run, way, &world, findings, &failure), FAIL_NONE);
    assert_int_equal(heard, once);
    assert_null(replay_memo_file(world.memo, &run, way));

    replay_memo_free(world.memo);
}

/* The way, and it but for its last choices, as two findings of one cell. */
struct two_ways {
    struct explore_finding wanted[PROPERTY_COUNT];
    const struct explore_finding *longer, *shorter;
};

static void make_two_ways(struct two_ways *ways, const struct explore_finding *way, int fewer)
{
    memset(ways, 0, sizeof *ways);
    ways->longer = &ways->wanted[PROPERTY_RELEASE_OWN];
    ways->shorter = &ways->wanted[PROPERTY_MUTUAL_EXCLUSION];
    ways->wanted[PROPERTY_RELEASE_OWN] = *way;
    ways->wanted[PROPERTY_MUTUAL_EXCLUSION] = *way;
    ways->wanted[PROPERTY_MUTUAL_EXCLUSION].choices_count -= fewer;
}

/* Each is judged when its choices are over, by what had happened until then. */
static void ways_that_begin_alike_share_a_replay(void **state)
{
    struct searched *searched = *state;
    struct cell *cell = &searched->cell;
    struct failure failure = {0};
    struct run run = confirm_run(&cell->options, &cell->outcome, searched->names);
    struct finding *findings = searched->findings;
    struct finding *alone = calloc(PROPERTY_COUNT, sizeof *alone);
    struct two_ways ways;
    make_two_ways(&ways, &cell->outcome.findings[PROPERTY_RELEASE_OWN], 1);
    for (int is_longer_first = 0; is_longer_first < 2; is_longer_first++) {
        struct opened_worlds worlds = {0};
        int heard = 0;
        const struct replay_recorder recorder = {
            .begin = begin_record, .end = end_record, .context = &heard};
        struct confirm_world world = {.open = open_counted,
                                      .context = &worlds,
                                      .memo = replay_memo_new(),
                                      .recorder = &recorder,
                                      .wanted = ways.wanted};
        for (int i = 0; i < 2; i++) {
            const bool is_longer = (i == 0) == is_longer_first;
            const struct explore_finding *way = is_longer ? ways.longer : ways.shorter;
            assert_int_equal(confirm(&run, way, &world, findings, &failure), FAIL_NONE);
            assert_int_equal(confirm(&run, way, NULL, alone, &failure), FAIL_NONE);
            assert_memory_equal(findings, alone, PROPERTY_COUNT * sizeof *alone);
            assert_int_equal(findings[PROPERTY_RELEASE_OWN].verdict,
                             is_longer ? VERDICT_VIOLATED : VERDICT_HOLDS);
        }
        assert_int_equal(worlds.opened, 1);
        assert_non_null(replay_memo_file(world.memo, &run, ways.longer));
        assert_non_null(replay_memo_file(world.memo, &run, ways.shorter));
        replay_memo_free(world.memo);
    }
    free(alone);
}

/* What fails behind the end of a way is not about that way; what fails before it is. */
static void a_failure_is_of_the_ways_that_it_cuts_short(void **state)
{
    struct searched *searched = *state;
    struct cell *cell = &searched->cell;
    struct failure failure = {0};
    struct run run = confirm_run(&cell->options, &cell->outcome, searched->names);
    struct finding *findings = searched->findings;
    struct two_ways ways;
    const struct explore_finding *whole = &cell->outcome.findings[PROPERTY_RELEASE_OWN];
    struct choice *choices = calloc((size_t)whole->choices_count, sizeof *choices);
    for (int at = 0; at < 2; at++) {
        struct opened_worlds worlds = {0};
        make_two_ways(&ways, whole, 2);
        for (int i = 0; i < whole->choices_count; i++)
            choices[i] = whole->choices[i];
        /* its last choice cannot be the first one, nor the one before */
        choices[at ? 0 : whole->choices_count - 1] = whole->choices[whole->choices_count - 1];
        choices[at ? 0 : whole->choices_count - 2] = whole->choices[whole->choices_count - 1];
        ways.wanted[PROPERTY_RELEASE_OWN].choices = choices;
        ways.wanted[PROPERTY_MUTUAL_EXCLUSION].choices = choices;
        const struct confirm_world world = {.open = open_counted,
                                            .ended = end_counted,
                                            .context = &worlds,
                                            .memo = replay_memo_new(),
                                            .wanted = ways.wanted};
        const enum fail shorter = confirm(&run, ways.shorter, &world, findings, &failure);
        assert_int_equal(worlds.opened, 1);
        assert_int_not_equal(worlds.last, FAIL_NONE); /* the world is not to be used again */
        assert_int_equal(shorter == FAIL_NONE, !at);
        assert_int_not_equal(confirm(&run, ways.longer, &world, findings, &failure), FAIL_NONE);
        assert_int_equal(worlds.opened, 2);
        replay_memo_free(world.memo);
    }
    free(choices);
}

static void who_is_named_acts(void **state)
{
    struct searched *searched = *state;
    struct cell *cell = &searched->cell;
    struct failure failure = {0};
    struct opened_worlds worlds = {0};
    const struct confirm_world world = {.open = open_counted, .context = &worlds};
    struct run run = confirm_run(&cell->options, &cell->outcome, searched->names);
    struct finding *findings = searched->findings;
    struct explore_finding way = cell->outcome.findings[PROPERTY_RELEASE_OWN];
    assert_int_equal(confirm(&run, &way, &world, findings, &failure), FAIL_NONE);
    assert_int_equal(worlds.acting, 1u << 0 | 1u << 1);
    struct choice flush = {.kind = CHOICE_FLUSH_ALL};
    way = (struct explore_finding){.choices = &flush, .choices_count = 1};
    assert_int_equal(confirm(&run, &way, &world, findings, &failure), FAIL_NONE);
    assert_int_equal(worlds.acting, 0);
}

static int64_t late_us(void)
{
    return 2;
}

static void what_there_is_no_time_to_replay_is_no_finding(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        struct cell *cell = calloc(1, sizeof *cell);
        struct opened_worlds worlds = {0};
        struct failure failure = {0};
        const struct confirm_world world = {.open = open_counted, .context = &worlds};
        cell_init(cell, scheme_named("set-nx-ex-del"));
        cell->options.clients = 2;
        cell->world = &world;
        assert_int_equal(cell_add_faults(cell, "slow-work", &failure), FAIL_NONE);
        assert_int_equal(cell_search(cell, SECTION_NOTHING, &failure), FAIL_NONE);
        cell->options.now_us = late_us;
        cell->options.deadline_us = is_late ? 1 : 3;
        cell_finish(cell);
        const enum verdict verdict = cell->outcome.findings[PROPERTY_RELEASE_OWN].verdict;
        assert_int_equal(verdict, is_late ? VERDICT_UNKNOWN : VERDICT_VIOLATED);
        assert_int_equal(worlds.opened > 0, !is_late);
        if (is_late)
            assert_string_equal(cell->doubt,
                                "a violation of mutual-exclusion was found, and not "
                                "replayed: the time was up, and a larger --budget helps");
        cell_close(cell);
        free(cell);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_way_is_replayed_once, search, close_searched),
        cmocka_unit_test_setup_teardown(what_is_replayed_is_written_down_once, search,
                                        close_searched),
        cmocka_unit_test_setup_teardown(ways_that_begin_alike_share_a_replay, search,
                                        close_searched),
        cmocka_unit_test_setup_teardown(a_failure_is_of_the_ways_that_it_cuts_short, search,
                                        close_searched),
        cmocka_unit_test_setup_teardown(who_is_named_acts, search, close_searched),
        cmocka_unit_test(what_there_is_no_time_to_replay_is_no_finding)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
