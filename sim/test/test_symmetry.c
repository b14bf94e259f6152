/* test_symmetry.c - a step that is sorted beside the state before it ends up as if it were sorted
 * from nothing, and as its records say; clients that are equal are told apart by who mentions them.
 */

/* before cmocka.h, which has a macro named like our enum fail */
#include "explore/reduce/symmetry.h"
#include "test/breadth_first.h"
#include "test/probe.h"

enum { STATES = 1500, LOCALS = 400 };

/* On a walk. */
struct symmetry_met {
    int steps, moved;   /* moved: columns of them */
    int ties;           /* equal clients that somebody tells apart */
    int ties_of_fences; /* the fence order alone */
};

struct symmetry_walk {
    struct breadth breadth;
    unsigned reductions; /* that the states are sorted by; the stepper leaves them as they are */
    struct symmetry symmetry;
    struct symmetry_met met;
};

/* Everybody is where it is said that he went, and the servers stay there. */
static void check_servers(struct symmetry_walk *stage, const uint32_t *words)
{
    struct state_space *space = &stage->breadth.space;
    const int clients = space->config.clients;
    uint32_t sorted[WORDS_MAX], again[WORDS_MAX];
    uint8_t positions[EXPLORE_CLIENTS_MAX], numbers[SERVERS_MAX];
    memcpy(sorted, words, sizeof sorted);
    symmetry_sort(space, REDUCE_SERVERS, sorted, positions, numbers);
    for (int i = 0; i < clients; i++)
        assert_int_equal(sorted[i], projections_renumber(space, words[i], numbers));
    for (int s = 0; s < space->config.servers; s++)
        assert_int_equal(sorted[clients + numbers[s]], words[clients + s]);
    if (space->config.section != SECTION_NOTHING)
        assert_int_equal(numbers[SERVER_ONE], SERVER_ONE);
    memcpy(again, sorted, sizeof again);
    symmetry_sort(space, REDUCE_SERVERS, again, positions, numbers);
    assert_memory_equal(again, sorted, sizeof again);
}

static void check_clients(struct symmetry_walk *stage, const uint32_t *words)
{
    struct state_space *space = &stage->breadth.space;
    const int clients = space->config.clients;
    uint32_t sorted[WORDS_MAX];
    uint8_t positions[EXPLORE_CLIENTS_MAX], numbers[SERVERS_MAX];
    memcpy(sorted, words, sizeof sorted);
    symmetry_sort(space, REDUCE_CLIENTS, sorted, positions, numbers);
    for (int i = 0; i < clients; i++)
        assert_int_equal(sorted[positions[i]], space_rename_client(space, words[i], positions));
    for (int s = 0; s < space->config.servers; s++)
        assert_int_equal(sorted[clients + s],
                         space_rename_server(space, words[clients + s], positions));
}

/* What the others have of two clients changes places, and nothing else. */
static void swap_mentions(struct symmetry_walk *stage, uint32_t *words, int i, int k)
{
    struct state_space *space = &stage->breadth.space;
    const int clients = space->config.clients;
    uint8_t swapped[EXPLORE_CLIENTS_MAX], stay[SERVERS_MAX];
    symmetry_none(swapped, stay);
    swapped[i] = (uint8_t)k;
    swapped[k] = (uint8_t)i;
    for (int c = 0; c < clients; c++)
        words[c] = space_rename_client(space, words[c], swapped);
    for (int s = 0; s < space->config.servers; s++)
        words[clients + s] = space_rename_server(space, words[clients + s], swapped);
    if (space_has_fences(space))
        *space_fences_of(space, words) =
            space_rename_fences(space, *space_fences_of(space, words), swapped);
}

/* Whichever of two equal clients it is that servers and the fence order mention, it is one state.
 */
static void check_tie(struct symmetry_walk *stage, const uint32_t *words, int i, int k)
{
    struct state_space *space = &stage->breadth.space;
    const size_t word = sizeof *words, clients = (size_t)space->config.clients;
    const size_t server_states = clients + (size_t)space->config.servers;
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
    stage->met.ties_of_fences += is_told_apart && memcmp(other, words, server_states * word) == 0;
    symmetry_sort(space, REDUCE_CLIENTS, sorted, positions, numbers);
    symmetry_sort(space, REDUCE_CLIENTS, other, positions, numbers);
    assert_memory_equal(sorted, other, sizeof sorted);
}

static void check_ties(struct symmetry_walk *stage, const uint32_t *words)
{
    for (int i = 0; i < stage->breadth.space.config.clients; i++)
        for (int k = i + 1; k < stage->breadth.space.config.clients; k++)
            if (words[i] == words[k])
                check_tie(stage, words, i, k);
}

static void take(void *context, const struct successor *step)
{
    struct symmetry_walk *stage = context;
    uint32_t beside[WORDS_MAX], alone[WORDS_MAX];
    uint8_t positions[2][EXPLORE_CLIENTS_MAX], numbers[2][SERVERS_MAX], stay[SERVERS_MAX];
    uint8_t client_facts[EXPLORE_CLIENTS_MAX];
    memcpy(beside, step->words, sizeof beside);
    memcpy(alone, step->words, sizeof alone);
    symmetry_step(&stage->symmetry, beside, positions[0], numbers[0]);
    symmetry_sort(&stage->breadth.space, stage->reductions, alone, positions[1], numbers[1]);
    size_t size = (size_t)stage->breadth.visited.words * sizeof *alone;
    assert_memory_equal(beside, alone, size);
    assert_memory_equal(positions[0], positions[1], sizeof positions[0]);
    assert_memory_equal(numbers[0], numbers[1], sizeof numbers[0]);
    if (stage->breadth.space.config.servers > 1)
        check_servers(stage, step->words);
    check_clients(stage, step->words);
    check_ties(stage, step->words);
    symmetry_none(client_facts, stay);
    stage->met.steps++;
    stage->met.moved += memcmp(numbers[0], stay, sizeof stay) != 0;
    breadth_put(&stage->breadth, beside);
}

/* Its projections are what they would be if they were asked for now, and it moves as its record
 * does. */
static void check_local(struct state_space *space, uint32_t client_state, int from, int to)
{
    struct projections *projections = &space->projections;
    struct client_state moved, record;
    memset(&moved, 0, sizeof moved);
    memset(&record, 0, sizeof record);
    space_read_client(space, client_state, &record);
    client_state_rename_servers(&record, projections->moved[from][to]);
    uint32_t after = projections_move(projections, space, client_state, from, to);
    space_read_client(space, after, &moved);
    assert_memory_equal(&moved, &record, sizeof record);
    assert_int_equal(projections_renumber(space, client_state, projections->moved[from][to]),
                     after);
    assert_int_equal(projections_move(projections, space, after, to, from), client_state);
    for (int s = 0; s < space->config.servers; s++) {
        uint32_t known = projections_row(projections, after)[s];
        projections_row(projections, after)[s] = UNKNOWN_ID;
        projections_ask(projections, space, after, s);
        assert_int_equal(projections_row(projections, after)[s], known);
    }
}

static void check_locals(struct state_space *space)
{
    int servers = space->config.servers;
    uint32_t count = space->client_states.count < LOCALS ? space->client_states.count : LOCALS;
    for (uint32_t i = 0; i < count; i++)
        for (int from = 0; from < servers && projections_has_all(&space->projections, i); from++)
            for (int to = 0; to < servers; to++)
                if (to != from)
                    check_local(space, i, from, to);
}

/* Breadth-first over the first states. */
static struct symmetry_met walk(const struct explore_options *options)
{
    static struct symmetry_walk stage;
    memset(&stage, 0, sizeof stage);
    stage.reductions = options->reductions;
    breadth_open(&stage.breadth, options, take, &stage);
    stage.breadth.successors.reductions &= ~(unsigned)(REDUCE_CLIENTS | REDUCE_SERVERS);
    while (breadth_next(&stage.breadth, STATES)) {
        symmetry_open(&stage.symmetry, &stage.breadth.space, stage.reductions, stage.breadth.words);
        successors_expand(&stage.breadth.successors, stage.breadth.words);
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
            struct symmetry_met met = walk(&options);
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
        struct symmetry_met met = walk(&options);
        assert_true(met.ties > met.ties_of_fences);
        assert_int_equal(met.ties_of_fences > 0, rows[i].section == SECTION_WRITE);
    }
}

/* Writes to the first server, and reads there what it has written. */
static void at_the_first(void *state, const struct lease *lease, const struct moment *in,
                         struct outbox *out)
{
    struct probe *self = state;
    enum { START, ASKED, ASKED_AGAIN };

    SCRIPT(self);
    out_set_nx_px(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    out_get(out, SERVER_ONE);
    AWAIT(self, ASKED_AGAIN);
    self->read = moment_is_reply(in, REPLY_VALUE) ? in->reply.value : 0;
    out_compare_and_delete(out, SERVER_ONE, lease);
    probe_end(moment_is_nil(in), out);
    SCRIPT_END(self);
}

static void servers_that_are_told_apart_stay_where_they_are(void **state)
{
    struct scheme scheme = probe_scheme("at-the-first", at_the_first);
    struct explore_options options = {
        .scheme = &scheme, .clients = 1, .rounds = 1, .servers = 3, .lease_ticks = 2};
    struct explore_outcome each, some;
    (void)state;
    scheme.is_even_handed = false;
    run(&options, &each);
    options.reductions = REDUCE_SERVERS;
    run(&options, &some);
    assert_int_equal(each.findings[PROPERTY_NO_CRASH].verdict, VERDICT_HOLDS);
    assert_int_equal(differences("servers told apart", &options, &each, &some), 0);
    explore_outcome_free(&each);
    explore_outcome_free(&some);
}

/* Two of three clients know the token of the third. */
static void who_names_another_client_goes_on_naming_it(void **state)
{
    const struct scheme scheme = probe_scheme("at-the-first", at_the_first);
    const struct explore_options options = {.scheme = &scheme,
                                            .clients = 3,
                                            .rounds = 2,
                                            .servers = 1,
                                            .lease_ticks = 2,
                                            .reductions = REDUCE_CLIENTS};
    (void)state;
    assert_true(walk(&options).steps > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_with_and_without_the_state_before),
        cmocka_unit_test(equal_clients_are_told_apart_by_who_mentions_them),
        cmocka_unit_test(servers_that_are_told_apart_stay_where_they_are),
        cmocka_unit_test(who_names_another_client_goes_on_naming_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
