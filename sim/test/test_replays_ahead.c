/* Tests of replays that a child makes beside a search (run/replays_ahead.h): what it has replayed
 * is there when the cell is finished; what it has not, since it was killed, is replayed all the
 * same; and what another process told of replays is believed where it is whole. */
#include "run/replays_ahead.h"

#include "live/processor.h"
#include "run/cell_result.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/asked_worker.h"

struct beside_search {
    struct worker_asked asked;
    struct worker_scheme worker;
    struct worker_replays *replays;
    struct replays_ahead *ahead;
    struct cell cell;
};

/* A lock that whoever releases deletes, and a holder that is slow. */
static void searched_init(struct beside_search *it)
{
    struct failure failure;
    *it = (struct beside_search){0};
    (void)snprintf(it->asked.command, sizeof it->asked.command,
                   "/usr/bin/python3 sim/test/scheme_worker.py set-nx-ex-del");
    it->worker.program.command = it->asked.command;
    it->worker.scheme = (struct scheme){.name = "set-nx-ex-del", .unit_us = 1000};
    it->replays = worker_replays_new(&it->worker.program);
    it->ahead = replays_ahead_start(it->replays, &it->worker);
    const struct asking_options options = {.program = &it->worker.program, .servers = 1, .seed = 1};
    if (asking_new(&it->asked.asking, &options, &it->worker.scheme, &failure))
        fail_msg("%s", failure.text);
    cell_init(&it->cell, &it->worker.scheme);
    it->cell.has_one_section = true;
    it->cell.options.clients = 2;
    it->cell.options.reductions &= REDUCE_CLIENTS;
    it->cell.options.subject = asking_subject(it->asked.asking);
    it->cell.options.lease_ticks = asking_lease_ticks(it->asked.asking);
    assert_int_equal(cell_add_faults(&it->cell, "slow-work", &failure), FAIL_NONE);
    asking_expect(it->asked.asking, &it->cell.options);
    assert_int_equal(cell_search(&it->cell, it->cell.options.section, &failure), FAIL_NONE);
}

static void searched_close(struct beside_search *it)
{
    const int pid = replays_ahead_pid(it->ahead);
    cell_close(&it->cell);
    asking_free(it->asked.asking);
    replays_ahead_end(it->ahead);
    if (pid)
        assert_int_equal(kill(pid, 0), -1);
    worker_replays_free(it->replays);
}

static const struct explore_finding *found(const struct cell *cell)
{
    const struct explore_outcome *outcome = &cell->searches[cell->options.section].outcome;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (outcome->findings[i].verdict == VERDICT_VIOLATED && i != PROPERTY_PROGRESS)
            return &outcome->findings[i];
    fail_msg("nothing was found");
    return NULL;
}

static bool is_replayed(const struct beside_search *it)
{
    const struct cell *cell = &it->cell;
    const struct run run =
        confirm_run(&cell->options, &cell->searches[cell->options.section].outcome, cell_clients);
    return replay_memo_find(worker_replays_memo(it->replays), &run, found(cell), NULL);
}

static void finish(struct beside_search *it)
{
    struct cell_world in;
    int confirmed = 0;
    worker_replays_finish(it->replays, &it->cell, &in);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        confirmed += it->cell.witnesses[i].is_confirmed;
    assert_true(confirmed > 0);
    assert_null(it->cell.doubt);
}

/* It has started a process of its own: so it replays. */
static bool has_begun(int pid)
{
    char path[64];
    int child = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *children = fopen(path, "re");
    assert_non_null(children);
    (void)!fscanf(children, "%d", &child);
    (void)fclose(children);
    return child > 0;
}

static void what_a_child_has_replayed_is_there(void **state)
{
    struct beside_search it;
    (void)state;
    if (!processor_has_others())
        skip();
    searched_init(&it);
    replays_ahead_ask(it.ahead, &it.cell);
    while (!has_begun(replays_ahead_pid(it.ahead)))
        (void)usleep(1000);
    replays_ahead_take(it.ahead, &it.cell);
    assert_true(is_replayed(&it));
    finish(&it);
    searched_close(&it);
}

static void what_it_has_not_begun_is_not_waited_for(void **state)
{
    struct beside_search it;
    (void)state;
    if (!processor_has_others())
        skip();
    searched_init(&it);
    (void)kill(replays_ahead_pid(it.ahead), SIGSTOP);
    replays_ahead_ask(it.ahead, &it.cell);
    replays_ahead_take(it.ahead, &it.cell);
    assert_true(is_replayed(&it));
    finish(&it);
    searched_close(&it);
}

static void without_one_it_is_replayed_all_the_same(void **state)
{
    struct beside_search it;
    (void)state;
    searched_init(&it);
    replays_ahead_end(it.ahead);
    it.ahead = NULL;
    replays_ahead_ask(it.ahead, &it.cell);
    replays_ahead_take(it.ahead, &it.cell);
    assert_false(is_replayed(&it));
    finish(&it);
    searched_close(&it);
}

/* Its descriptors are closed by then; whose child it is waits for it. */
static void kill_child(int pid)
{
    siginfo_t ended;
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
}

/* Before it was asked, and behind that. */
static void so_it_is_where_the_child_was_killed(void **state)
{
    (void)state;
    if (!processor_has_others())
        skip();
    for (int is_asked = 0; is_asked < 2; is_asked++) {
        struct beside_search it;
        searched_init(&it);
        (void)kill(replays_ahead_pid(it.ahead), SIGSTOP);
        if (!is_asked)
            kill_child(replays_ahead_pid(it.ahead));
        replays_ahead_ask(it.ahead, &it.cell);
        kill_child(replays_ahead_pid(it.ahead));
        replays_ahead_take(it.ahead, &it.cell);
        assert_int_equal(replays_ahead_pid(it.ahead) == 0, is_asked);
        assert_false(is_replayed(&it));
        finish(&it);
        searched_close(&it);
    }
}

/* --- what is told of replays, as bytes --- */

static struct choice choices[] = {{.kind = CHOICE_TIME, .amount_us = 1},
                                  {.kind = CHOICE_WAKE, .client = 1}};
static const struct explore_finding way = {.choices = choices, .choices_count = 2},
                                    longer_way = {.choices = choices, .choices_count = 1};
static const struct run of_run = {.clients = 2, .servers = 1};

static char *told(size_t *size)
{
    struct replay_memo *memo = replay_memo_new();
    static struct finding findings[PROPERTY_COUNT] = {{.count = 7}};
    const struct retimed_way retimed = {
        .choices = choices + 1, .choices_count = 1, .is_other = true};
    replay_memo_put(memo, &of_run, &way, findings, true, strdup("file"));
    replay_memo_put_retimed(memo, &of_run, &way, RETIME_CUT, &retimed);
    replay_memo_put(memo, &of_run, &longer_way, findings, false, NULL);
    char *bytes = replay_memo_pack(memo, size);
    size_t none;
    char *nothing = replay_memo_pack(memo, &none);
    assert_int_equal(none, 0);
    free(nothing);
    replay_memo_free(memo);
    return bytes;
}

static void what_is_whole_is_taken(void **state)
{
    struct replay_memo *memo = replay_memo_new();
    struct retimed_way retimed;
    size_t size;
    bool lacks = false;
    (void)state;
    char *bytes = told(&size);
    assert_true(replay_memo_unpack(memo, bytes, size));
    free(bytes);
    assert_int_equal(replay_memo_find(memo, &of_run, &way, &lacks)->count, 7);
    assert_true(lacks);
    assert_string_equal(replay_memo_file(memo, &of_run, &way), "file");
    assert_non_null(replay_memo_find(memo, &of_run, &longer_way, &lacks));
    assert_false(lacks);
    assert_null(replay_memo_file(memo, &of_run, &longer_way));
    assert_false(replay_memo_find_retimed(memo, &of_run, &way, RETIME_FILL, &retimed));
    assert_true(replay_memo_find_retimed(memo, &of_run, &way, RETIME_CUT, &retimed));
    assert_true(retimed.is_other && retimed.choices_count == 1);
    assert_int_equal(retimed.choices[0].kind, CHOICE_WAKE);
    assert_false(replay_memo_find_retimed(memo, &of_run, &longer_way, RETIME_CUT, &retimed));
    replay_memo_free(memo);
}

enum { CUTS = 50 };

static void what_is_cut_off_is_not(void **state)
{
    struct replay_memo *memo = replay_memo_new();
    size_t size;
    (void)state;
    char *bytes = told(&size);
    for (size_t i = 1; i < CUTS; i++)
        assert_false(replay_memo_unpack(memo, bytes, size / CUTS * i + 1));
    assert_false(replay_memo_unpack(memo, bytes, size - 1));
    assert_null(replay_memo_find(memo, &of_run, &way, NULL));
    free(bytes);
    replay_memo_free(memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_child_has_replayed_is_there),
        cmocka_unit_test(what_it_has_not_begun_is_not_waited_for),
        cmocka_unit_test(without_one_it_is_replayed_all_the_same),
        cmocka_unit_test(so_it_is_where_the_child_was_killed),
        cmocka_unit_test(what_is_whole_is_taken),
        cmocka_unit_test(what_is_cut_off_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
