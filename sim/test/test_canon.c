/* test_canon.c - a step that is sorted beside the state before it ends up as if it were sorted from
 * nothing, and as its records say; clients that are equal are told apart by who mentions them. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/canon.h"
#include "test/breadth_first.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { STATES = 1500, LOCALS = 400 };

/* On a walk. */
struct met {
    int steps, moved; /* moved: columns of them */
    int ties;         /* equal clients that somebody tells apart */
    int ties_of_roll; /* the roll alone */
};

struct stage {
    struct breadth breadth;
    unsigned reductions; /* that the states are sorted by; the stepper leaves them as they are */
    struct canon canon;
    struct met met;
};

/* Everybody is where it is said that he went, and the servers stay there. */
static void check_servers(struct stage *stage, const uint32_t *words)
{
    struct space *space = &stage->breadth.space;
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
    struct space *space = &stage->breadth.space;
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

/* What the others have of two clients changes places, and nothing else. */
static void swap_mentions(struct stage *stage, uint32_t *words, int i, int k)
{
    struct space *space = &stage->breadth.space;
    const int clients = space->setting.clients;
    uint8_t swapped[EXPLORE_CLIENTS_MAX], stay[SERVERS_MAX];
    canon_none(swapped, stay);
    swapped[i] = (uint8_t)k;
    swapped[k] = (uint8_t)i;
    for (int c = 0; c < clients; c++)
        words[c] = space_rename_local(space, words[c], swapped);
    for (int s = 0; s < space->setting.servers; s++)
        words[clients + s] = space_rename_post(space, words[clients + s], swapped);
    if (space_has_roll(space))
        *space_roll_of(space, words) =
            space_rename_roll(space, *space_roll_of(space, words), swapped);
}

/* Whichever of two equal clients it is that servers and the roll mention, it is one state. */
static void check_tie(struct stage *stage, const uint32_t *words, int i, int k)
{
    struct space *space = &stage->breadth.space;
    const size_t word = sizeof *words, clients = (size_t)space->setting.clients;
    const size_t posts = clients + (size_t)space->setting.servers;
    uint32_t sorted[WORDS_MAX], other[WORDS_MAX];
    uint8_t positions[EXPLORE_CLIENTS_MAX], numbers[SERVERS_MAX];
    memcpy(sorted, words, sizeof sorted);
    memcpy(other, words, sizeof other);
    swap_mentions(stage, other, i, k);
    /* A client that knows one of them has another word now, and may belong elsewhere. */
    if (memcmp(other, words, clients * word) != 0)
        return;
    bool is_told_apart = memcmp(other, words, sizeof other) != 0;
    stage->met.ties += is_told_apart;
    stage->met.ties_of_roll += is_told_apart && memcmp(other, words, posts * word) == 0;
    canon_sort(space, REDUCE_CLIENTS, sorted, positions, numbers);
    canon_sort(space, REDUCE_CLIENTS, other, positions, numbers);
    assert_memory_equal(sorted, other, sizeof sorted);
}

static void check_ties(struct stage *stage, const uint32_t *words)
{
    for (int i = 0; i < stage->breadth.space.setting.clients; i++)
        for (int k = i + 1; k < stage->breadth.space.setting.clients; k++)
            if (words[i] == words[k])
                check_tie(stage, words, i, k);
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
    canon_sort(&stage->breadth.space, stage->reductions, alone, positions[1], numbers[1]);
    size_t size = (size_t)stage->breadth.visited.words * sizeof *alone;
    assert_memory_equal(beside, alone, size);
    assert_memory_equal(positions[0], positions[1], sizeof positions[0]);
    assert_memory_equal(numbers[0], numbers[1], sizeof numbers[0]);
    if (stage->breadth.space.setting.servers > 1)
        check_servers(stage, step->words);
    check_clients(stage, step->words);
    check_ties(stage, step->words);
    canon_none(places, stay);
    stage->met.steps++;
    stage->met.moved += memcmp(numbers[0], stay, sizeof stay) != 0;
    breadth_put(&stage->breadth, beside);
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
static struct met walk(const struct explore_options *options)
{
    static struct stage stage;
    memset(&stage, 0, sizeof stage);
    stage.reductions = options->reductions;
    breadth_open(&stage.breadth, options, take, &stage);
    stage.breadth.stepper.reductions &= ~(unsigned)(REDUCE_CLIENTS | REDUCE_SERVERS);
    while (breadth_next(&stage.breadth, STATES)) {
        canon_open(&stage.canon, &stage.breadth.space, stage.reductions, stage.breadth.words);
        stepper_expand(&stage.breadth.stepper, stage.breadth.words);
    }
    if (options->servers > 1)
        check_locals(&stage.breadth.space);
    breadth_close(&stage.breadth);
    return stage.met;
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
                                              .lease_ticks = 2,
                                              .reductions = REDUCE_ALL};
            options.section = (enum section)(fault % SECTION_COUNT);
            options.budget[fault]++;
            options.budget[FAULT_STALL]++;
            struct met met = walk(&options);
            assert_true(met.moved * 10 > met.steps);
        }
    }
}

static void equal_clients_are_told_apart_by_who_mentions_them(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int servers;
        enum fault fault;
        enum section section;
    } rows[] = {
        {"set-nx-px-cad", 1, FAULT_LOSE_REPLY, SECTION_NOTHING},
        {"redlock", 3, FAULT_LOSE_REPLY, SECTION_NOTHING},
        {"set-nx-px-cad", 1, FAULT_SLOW_WORK, SECTION_WRITE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct explore_options options = {.scheme = scheme_named(rows[i].scheme),
                                          .clients = 3,
                                          .rounds = 1,
                                          .servers = rows[i].servers,
                                          .lease_ticks = 2,
                                          .section = rows[i].section,
                                          .reductions = REDUCE_CLIENTS};
        options.budget[rows[i].fault] = 2;
        struct met met = walk(&options);
        assert_true(met.ties > met.ties_of_roll);
        assert_int_equal(met.ties_of_roll > 0, rows[i].section == SECTION_WRITE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_with_and_without_the_state_before),
        cmocka_unit_test(equal_clients_are_told_apart_by_who_mentions_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
