/* test_canon.c - a step that is sorted beside the state before it ends up as if it were sorted from
 * nothing, and as its records say. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/canon.h"
#include "explore/steps.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { STATES = 1500, LOCALS = 400 };

struct stage {
    struct space space;
    struct stepper stepper;
    struct visited visited;
    unsigned reductions; /* that the states are sorted by; the stepper leaves them as they are */
    struct canon canon;
    int steps, moved; /* moved: columns of them */
};

static void put(struct stage *stage, const uint32_t *words)
{
    bool is_new;
    visited_put(&stage->visited, visited_print(&stage->visited, words), words, 0, &is_new);
}

/* Everybody is where it is said that he went, and the servers stay there. */
static void check_servers(struct stage *stage, const uint32_t *words)
{
    struct space *space = &stage->space;
    const int clients = space->setting.clients;
    uint32_t sorted[WORDS_MAX], again[WORDS_MAX];
    uint8_t positions[EXPLORE_CLIENTS_MAX], numbers[SERVERS_MAX];
    memcpy(sorted, words, sizeof sorted);
    canon_sort(space, REDUCE_SERVERS, sorted, positions, numbers);
    for (int i = 0; i < clients; i++)
        assert_int_equal(sorted[i], columns_renumber(space, words[i], numbers));
    for (int s = 0; s < space->setting.servers; s++)
        assert_int_equal(sorted[clients + numbers[s]], words[clients + s]);
    memcpy(again, sorted, sizeof again);
    canon_sort(space, REDUCE_SERVERS, again, positions, numbers);
    assert_memory_equal(again, sorted, sizeof again);
}

static void check_clients(struct stage *stage, const uint32_t *words)
{
    struct space *space = &stage->space;
    const int clients = space->setting.clients;
    uint32_t sorted[WORDS_MAX];
    uint8_t positions[EXPLORE_CLIENTS_MAX], numbers[SERVERS_MAX];
    memcpy(sorted, words, sizeof sorted);
    canon_sort(space, REDUCE_CLIENTS, sorted, positions, numbers);
    for (int i = 0; i < clients; i++)
        assert_int_equal(sorted[positions[i]], space_rename_local(space, words[i], positions));
    for (int s = 0; s < space->setting.servers; s++)
        assert_int_equal(sorted[clients + s],
                         space_rename_post(space, words[clients + s], positions));
}

static void take(void *context, const struct step_taken *step)
{
    struct stage *stage = context;
    uint32_t beside[WORDS_MAX], alone[WORDS_MAX];
    uint8_t positions[2][EXPLORE_CLIENTS_MAX], numbers[2][SERVERS_MAX], stay[SERVERS_MAX];
    uint8_t places[EXPLORE_CLIENTS_MAX];
    memcpy(beside, step->words, sizeof beside);
    memcpy(alone, step->words, sizeof alone);
    canon_step(&stage->canon, beside, positions[0], numbers[0]);
    canon_sort(&stage->space, stage->reductions, alone, positions[1], numbers[1]);
    size_t size = (size_t)stage->visited.words * sizeof *alone;
    assert_memory_equal(beside, alone, size);
    assert_memory_equal(positions[0], positions[1], sizeof positions[0]);
    assert_memory_equal(numbers[0], numbers[1], sizeof numbers[0]);
    check_servers(stage, step->words);
    check_clients(stage, step->words);
    canon_none(places, stay);
    stage->steps++;
    stage->moved += memcmp(numbers[0], stay, sizeof stay) != 0;
    put(stage, beside);
}

/* Its slices are what they would be if they were asked for now, and it moves as its record does. */
static void check_local(struct space *space, uint32_t local, int from, int to)
{
    struct columns *columns = &space->columns;
    struct local moved, record;
    memset(&moved, 0, sizeof moved);
    memset(&record, 0, sizeof record);
    space_read_local(space, local, &record);
    local_rename_servers(&record, columns->moved[from][to]);
    uint32_t after = columns_move(columns, space, local, from, to);
    space_read_local(space, after, &moved);
    assert_memory_equal(&moved, &record, sizeof record);
    assert_int_equal(columns_renumber(space, local, columns->moved[from][to]), after);
    assert_int_equal(columns_move(columns, space, after, to, from), local);
    for (int s = 0; s < space->setting.servers; s++) {
        uint32_t known = columns_row(columns, after)[s];
        columns_row(columns, after)[s] = UNKNOWN_ID;
        columns_ask_slice(columns, space, after, s);
        assert_int_equal(columns_row(columns, after)[s], known);
    }
}

static void check_locals(struct space *space)
{
    int servers = space->setting.servers;
    uint32_t count = space->locals.count < LOCALS ? space->locals.count : LOCALS;
    for (uint32_t i = 0; i < count; i++)
        for (int from = 0; from < servers && columns_has_slices(&space->columns, i); from++)
            for (int to = 0; to < servers; to++)
                if (to != from)
                    check_local(space, i, from, to);
}

/* Breadth-first over the first states. */
static void walk(const struct explore_options *options)
{
    static struct stage stage;
    uint32_t words[WORDS_MAX] = {0};
    memset(&stage, 0, sizeof stage);
    stage.reductions = options->reductions;
    space_init(&stage.space, options);
    stepper_init(&stage.stepper, &stage.space, options);
    stage.stepper.reductions &= ~(unsigned)(REDUCE_CLIENTS | REDUCE_SERVERS);
    stage.stepper.take = take;
    stage.stepper.context = &stage;
    visited_init(&stage.visited, space_words(&stage.space), 1, true);
    stage.space.heirs.visited = &stage.visited;
    stepper_start(&stage.stepper, options, words);
    put(&stage, words);
    for (uint32_t i = 0; i < stage.visited.count && i < STATES; i++) {
        memcpy(words, visited_words(&stage.visited, i),
               (size_t)stage.visited.words * sizeof *words);
        canon_open(&stage.canon, &stage.space, stage.reductions, words);
        stepper_expand(&stage.stepper, words);
    }
    assert_true(stage.moved * 10 > stage.steps);
    check_locals(&stage.space);
    visited_close(&stage.visited);
    space_close(&stage.space);
}

static void same_with_and_without_the_state_before(void **state)
{
    (void)state;
    for (int fault = 0; fault < FAULT_COUNT; fault++) {
        for (int servers = 3; servers <= 5; servers += 2) {
            struct explore_options options = {.scheme = scheme_named("redlock"),
                                              .clients = 2 + fault % 2,
                                              .rounds = 2,
                                              .servers = servers,
                                              .reductions = REDUCE_ALL};
            options.section = (enum section)(fault % SECTION_COUNT);
            options.budget[fault]++;
            options.budget[FAULT_STALL]++;
            walk(&options);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_with_and_without_the_state_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
