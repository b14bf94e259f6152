/* test_explore_walks.c - the two statements of each property, and the two of what messages and
 * clients do, held to each other over random walks (explore_walk.h): every scheme with every fault,
 * every choice; and random runs of anything, schemes with
 * planted bugs and other wrong locks among them.
 *
 * PICKLOCK_RUNS=N makes so many random runs (each a scheme, its faults and its bounds, a search and
 * its walks) and as many times the walks as that is more than RUNS, or fewer; PICKLOCK_SEED=N
 * others. That the walks come to what they are for is asserted where they are not fewer. */
#include "schemes/stamp_getset.h"
#include "test/explore_walk.h"
#include "test/mutants/mutants.h"
#include "test/sample.h"
#include "test/wrong_locks.h"

/* Of sim/test/mutants. */
#define BASE(id, words)                                      extern const struct scheme scheme_##id;
#define PLANT(id, base, faults, broken, cause, events, slip) extern const struct scheme scheme_##id;
#define STORY(id, base, property, cause, slip)               extern const struct scheme scheme_##id;
#define SILENT(id, base, change)                             extern const struct scheme scheme_##id;
#include "test/mutants/mutants.def"
#undef BASE
#undef PLANT
#undef STORY
#undef SILENT

/* --- every scheme with every fault --- */

static const struct walk_plan plain_pace = {.walks = 50,
                                            .seed = 20260101,
                                            .steps = 60,
                                            .fault_weight = 2,
                                            .tick_weight = WALK_WEIGHT,
                                            .counts_right = true};
static const struct walk_plan section_pace = {.walks = 20,
                                              .seed = 20260101,
                                              .steps = 60,
                                              .fault_weight = 2,
                                              .tick_weight = WALK_WEIGHT,
                                              .counts_right = true};
static const struct walk_plan long_pace = {.walks = 500,
                                           .seed = 777,
                                           .steps = WALK_STEPS_MAX,
                                           .fault_weight = 2,
                                           .tick_weight = WALK_WEIGHT,
                                           .counts_right = true};

/* Where time passes: who is late for it. */
static const struct walk_plan slow_pace = {
    .walks = 400, .seed = 20260101, .steps = 60, .fault_weight = WALK_WEIGHT, .tick_weight = 30};

static const struct walk_plan drift_pace = {
    .walks = 2000, .seed = 20260101, .steps = 80, .fault_weight = 5, .tick_weight = 20};

enum { RUNS = 150 };

static uint64_t runs_wanted(void)
{
    return sample_number("PICKLOCK_RUNS", RUNS);
}

static bool all_are_made(void)
{
    return runs_wanted() >= RUNS;
}

static unsigned walk_share(const struct explore_options *options, uint64_t states_max,
                           const struct walk_plan *pace)
{
    struct walk_plan plan = *pace;
    plan.walks = plan.walks * runs_wanted() / RUNS + !all_are_made();
    return walk_all(options, states_max, &plan);
}

static void assert_shown(unsigned violated, enum property property)
{
    if (all_are_made())
        assert_true(violated >> property & 1);
}

static unsigned walk(const struct explore_options *of, const struct walk_plan *pace,
                     const enum fault *faults, int faults_count)
{
    struct explore_options options = *of;
    options.rounds = 3;
    options.lease_ticks = of->scheme->promises_notice ? 3 : 2;
    for (int i = 0; i < faults_count; i++)
        options.budget[faults[i]]++;
    return walk_share(&options, 0, pace);
}

static unsigned walk_every_fault(const struct explore_options *of)
{
    const struct walk_plan *pace = of->section == SECTION_NOTHING ? &plain_pace : &section_pace;
    unsigned violated = walk(of, pace, NULL, 0);
    for (int i = 0; i < FAULT_COUNT; i++) {
        const enum fault one[] = {(enum fault)i, (enum fault)i};
        if (is_in_sample())
            violated |= walk(of, pace, one, 2);
        const enum fault other[] = {(enum fault)i, FAULT_STALL, FAULT_LATE_REQUEST};
        if (is_in_sample())
            violated |= walk(of, pace, other, 3);
    }
    return violated;
}

static void judge_agrees_with_checks(void **state)
{
    (void)state;
    for (int section = 0; section < SECTION_COUNT; section++) {
        unsigned violated = 0;
        for (int i = 0; i < schemes_count; i++) {
            const struct explore_options of = {
                .scheme = schemes[i], .clients = 3, .servers = 1, .section = (enum section)section};
            if (!schemes[i]->needs_quorum)
                violated |= walk_every_fault(&of);
        }
        static const enum fault slow[] = {FAULT_SLOW_WORK};
        const struct explore_options late = {.scheme = &scheme_timer_rings_once,
                                             .clients = 2,
                                             .servers = 1,
                                             .section = (enum section)section};
        violated |= walk(&late, &slow_pace, slow, 1);
        /* The walks go where each of them can be violated; progress: below. */
        for (int i = 0; i < PROPERTY_COUNT && all_are_made(); i++)
            if (explore_judges((enum section)section, (enum property)i) && i != PROPERTY_PROGRESS &&
                !(violated >> i & 1))
                fail_msg("no walk violated %s", property_name((enum property)i));
    }
}

static void judge_agrees_with_checks_on_quorums(void **state)
{
    (void)state;
    for (int section = 0; section < SECTION_COUNT; section++) {
        const struct explore_options of = {.scheme = scheme_named("redlock"),
                                           .clients = 2,
                                           .servers = 3,
                                           .section = (enum section)section};
        walk_every_fault(&of);
    }
}

/* A replica brings back a lock of an attempt that was refused long ago. */
static void judge_agrees_with_checks_on_long_walks(void **state)
{
    (void)state;
    static const enum fault failovers[] = {FAULT_FAILOVER, FAULT_FAILOVER};
    for (int section = 0; section < SECTION_COUNT; section++) {
        const struct explore_options of = {.scheme = scheme_named("redlock"),
                                           .clients = 2,
                                           .servers = 3,
                                           .section = (enum section)section};
        walk(&of, &long_pace, failovers, 2);
    }
}

/* Whoever is told "not mine" for one server's word is told what is not so where a majority has its
 * lock, or has removed it in the same release and could not say so. Of these a server that dies and
 * comes back with its keys has its lock all along, also where another fault would bring it back. */
static void not_mine_is_judged_by_what_each_server_had(void **state)
{
    static const enum fault faults[] = {FAULT_LOSE_REQUEST, FAULT_RESTART_AOF, FAULT_RESTART_OLD};
    static const struct walk_plan pace = {
        .walks = 4000, .seed = 7, .steps = 80, .fault_weight = 5, .tick_weight = 5};
    const struct explore_options of = {
        .scheme = &scheme_quorum_off_by_one, .clients = 2, .servers = 3};
    (void)state;
    assert_shown(walk(&of, &pace, faults, 3), PROPERTY_TRUTHFUL);
}

/* And two servers, or one of them twice, lose what they knew. */
static void what_servers_lose_is_no_split_grant(void **state)
{
    (void)state;
    static const enum fault losses[] = {FAULT_SERVER_CLOCK, FAULT_RESTART, FAULT_FAILOVER,
                                        FAULT_EVICT};
    const struct explore_options of = {
        .scheme = scheme_named("redlock"), .clients = 2, .servers = 3};
    unsigned violated = 0;
    for (int i = 0; i < 4; i++)
        for (int k = i; k < 4; k++)
            violated |= walk(&of, &long_pace, (const enum fault[]){losses[i], losses[k]}, 2);
    assert_shown(violated, PROPERTY_LEASE_EXCLUSION);
}

/* --- random runs --- */

static const struct scheme *const mutants[] = {
#define BASE(id, words)                                      &scheme_##id,
#define PLANT(id, base, faults, broken, cause, events, slip) &scheme_##id,
#define STORY(id, base, property, cause, slip)               &scheme_##id,
#define SILENT(id, base, change)                             &scheme_##id,
#include "test/mutants/mutants.def"
#undef BASE
#undef PLANT
#undef STORY
#undef SILENT
};

WRONG_LOCK(ttl_threefold, .ttl_halves = 6)
WRONG_LOCK(ttl_tenfold, .ttl_halves = 20)
WRONG_LOCK(ttl_short, .ttl_halves = 1)
WRONG_LOCK(ttl_never, .ttl_halves = 0)
WRONG_LOCK(tries_again, .ttl_halves = 2, .tries_again = true)
WRONG_LOCK(tries_for_ever, .ttl_halves = 0, .tries_again = true)
WRONG_LOCK(never_acquired, .ttl_halves = 0, .expects = ANSWER_OTHER)
WRONG_LOCK(refused_on_time_out, .ttl_halves = 2, .refuses_on_time_out = true)
WRONG_LOCK(cleans_up, .ttl_halves = 2, .cleans_up = true)
FENCED_LOCK(fence_refused_on_time_out, .ttl_halves = 2, .refuses_on_time_out = true)
FENCED_LOCK(fence_tenfold, .ttl_halves = 20)
WRONG_LOCK(overwrites, .overwrites = true)

static const struct scheme *const wrong_locks[] = {
    &scheme_ttl_threefold,  &scheme_ttl_tenfold,         &scheme_ttl_short,
    &scheme_ttl_never,      &scheme_tries_again,         &scheme_tries_for_ever,
    &scheme_never_acquired, &scheme_refused_on_time_out, &scheme_fence_refused_on_time_out,
    &scheme_fence_tenfold,  &scheme_overwrites,          &scheme_cleans_up};

enum {
    MUTANTS = sizeof mutants / sizeof *mutants,
    WRONG_LOCKS = sizeof wrong_locks / sizeof *wrong_locks,
    STATES_MAX = 60000, /* of a run; more, and progress is not compared */
};

static int draw_below(struct random *random, int bound)
{
    return (int)random_below(random, (uint64_t)bound);
}

/* The wrong locks as often as all others together: they are small, and go where few others do. */
static const struct scheme *draw_scheme(struct random *random)
{
    int at = draw_below(random, 3 * WRONG_LOCKS + MUTANTS + schemes_count);
    if (at < 3 * WRONG_LOCKS)
        return wrong_locks[at % WRONG_LOCKS];
    at -= 3 * WRONG_LOCKS;
    return at < MUTANTS ? mutants[at] : schemes[at - MUTANTS];
}

static struct explore_options draw_options(struct random *random)
{
    const struct scheme *scheme = draw_scheme(random);
    struct explore_options options = {.scheme = scheme,
                                      .clients = 2 + (draw_below(random, 4) == 0),
                                      .rounds = 2 + draw_below(random, 2),
                                      .servers = scheme->needs_quorum ? 3 : 1,
                                      .section = (enum section)draw_below(random, SECTION_COUNT),
                                      .lease_ticks =
                                          2 + scheme->promises_notice + draw_below(random, 2)};
    for (int faults = draw_below(random, 4); faults > 0; faults--)
        options.budget[draw_below(random, FAULT_COUNT)]++;
    return options;
}

/* Whoever says "refused" without an answer has not made a server forget its fences: a grant that
 * outlives its lease is still told from the next one. */
static void a_guess_is_not_a_loss(void **state)
{
    static const enum fault others[] = {FAULT_LOSE_REQUEST, FAULT_LATE_REQUEST, FAULT_LOSE_REPLY};
    unsigned violated = 0;
    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct explore_options of = {.scheme = &scheme_fence_refused_on_time_out,
                                           .clients = 2,
                                           .servers = 1,
                                           .section = SECTION_WRITE};
        violated |= walk(&of, &slow_pace, (const enum fault[]){FAULT_SLOW_WORK, others[i]}, 2);
        violated |= walk(&of, &slow_pace, (const enum fault[]){FAULT_STALL, others[i]}, 2);
    }
    assert_shown(violated, PROPERTY_TRUTHFUL); /* it has guessed */
}

/* Whoever takes away the key first, and says "refused" then: it is not so where nobody's key was
 * there since it asked, its own neither. */
static void a_guess_is_judged_by_all_that_was_there(void **state)
{
    static const enum fault others[] = {FAULT_LOSE_REQUEST, FAULT_LATE_REQUEST, FAULT_LOSE_REPLY,
                                        FAULT_LATE_REPLY,   FAULT_FAILOVER,     FAULT_RESTART_OLD};
    unsigned violated = 0;
    (void)state;
    for (int i = 0; i < 6; i++) {
        const struct explore_options of = {.scheme = &scheme_cleans_up, .clients = 2, .servers = 1};
        violated |= walk(&of, &slow_pace, (const enum fault[]){others[i], FAULT_LOSE_REPLY}, 2);
        violated |= walk(&of, &slow_pace, (const enum fault[]){others[i], FAULT_STALL}, 2);
    }
    assert_shown(violated, PROPERTY_TRUTHFUL);
}

/* When the time of a key is over, "not mine" is so, though the release removed it itself: whether
 * it did when that time was over, or in time, and was told so behind that. */
static void not_mine_is_so_when_its_time_is_over(void **state)
{
    static const enum fault late[] = {FAULT_STALL, FAULT_LATE_REPLY, FAULT_LATE_REQUEST};
    const struct scheme *const locks[] = {&scheme_ttl_threefold, scheme_named("set-nx-px-cad")};
    unsigned violated = 0;
    (void)state;
    for (int i = 0; i < 6; i++) {
        const struct explore_options of = {.scheme = locks[i % 2], .clients = 2, .servers = 1};
        const enum fault faults[] = {FAULT_RESEND, FAULT_STALL, FAULT_STALL, late[i / 2]};
        violated |= walk(&of, &slow_pace, faults, 4);
    }
    assert_shown(violated, PROPERTY_TRUTHFUL);
}

/* Nobody could have told it of what a copy grants once more, when what the first one granted is
 * gone: "refused" is so. */
static void what_a_copy_grants_once_more_is_a_leftover(void **state)
{
    static const enum fault others[] = {FAULT_LOSE_REQUEST, FAULT_LOSE_REPLY, FAULT_EVICT,
                                        FAULT_LATE_REQUEST};
    unsigned violated = 0;
    (void)state;
    for (int i = 0; i < 8; i++) {
        const struct explore_options of = {.scheme = i % 2 ? &scheme_unlocked_not_released
                                                           : &scheme_cleans_up,
                                           .clients = 2,
                                           .servers = i % 2 ? 3 : 1};
        const enum fault faults[] = {FAULT_DUPLICATE, FAULT_LOSE_REPLY, others[i / 2]};
        violated |= walk(&of, &slow_pace, faults, 3);
    }
    assert_shown(violated, PROPERTY_TRUTHFUL);
}

/* stamp-getset, which says "refused" of a stamp that it has taken over. */
static void refuses_what_it_has(void *state, const struct lease *lease, const struct moment *in,
                                struct outbox *out)
{
    stamp_getset_run(state, DELETE_BEFORE_STAMP, lease, in, out);
    if (in->kind == MOMENT_REPLY && in->verb == VERB_GETSET && out->asks[0].kind == ASK_GRANTED)
        out->asks[0].kind = ASK_REFUSED;
}

static const struct scheme scheme_refuses_what_it_has = {
    .name = "refuses-what-it-has",
    .summary = "refuses-what-it-has",
    .source = "sim/test/test_explore_walks.c",
    .step = refuses_what_it_has,
    FIELDS_OF(stamp_getset_fields),
    .token = TOKEN_FIXED,
    .unit_us = UNIT_SECOND_US,
    .uses_client_clock = true,
};

/* Whose stamp it was, his lock it is again, and he may delete it. */
static void a_stamp_taken_over_for_nothing_is_its_former_owners(void **state)
{
    static const enum fault faults[] = {FAULT_CLIENT_CLOCK, FAULT_STALL};
    const struct explore_options of = {
        .scheme = &scheme_refuses_what_it_has, .clients = 2, .servers = 1};
    static const struct walk_plan pace = {.walks = 100, /* one of them shows it, of this seed */
                                          .seed = 29,
                                          .steps = 60,
                                          .fault_weight = WALK_WEIGHT,
                                          .tick_weight = 30};
    (void)state;
    unsigned violated = walk(&of, &pace, faults, 2);
    assert_shown(violated, PROPERTY_EXTEND_OWN); /* the stamp of one who had the lock */
}

/* A copy of its DEL takes away what it was granted behind that DEL: it was granted it. */
static void who_lost_it_to_a_copy_was_granted_it(void **state)
{
    static const enum fault faults[] = {FAULT_DUPLICATE, FAULT_DUPLICATE, FAULT_CRASH};
    const struct explore_options of = {
        .scheme = scheme_named("stamp-del-setnx"), .clients = 3, .servers = 1};
    static const struct walk_plan pace = {
        .walks = 100, .seed = 39, .steps = 80, .fault_weight = 5, .tick_weight = 20};
    (void)state;
    unsigned violated = walk(&of, &pace, faults, 3);
    assert_shown(violated, PROPERTY_LEASE_EXCLUSION); /* another one was, too */
}

/* A third of such leases is due within a tick; what is left of it runs at another rate. */
static void a_timer_within_a_tick_follows_its_clock(void **state)
{
    (void)state;
    for (int lease = 4; lease <= 5; lease++) {
        struct explore_options of = {.scheme = &scheme_renewed_lock,
                                     .clients = 2,
                                     .rounds = 2,
                                     .servers = 1,
                                     .section = SECTION_COUNTER,
                                     .lease_ticks = lease};
        of.budget[FAULT_CLIENT_DRIFT] = of.budget[FAULT_SLOW_WORK] = 1;
        (void)walk_share(&of, 0, &drift_pace);
    }
}

/* A holder dies, and its key stays for three leases. A reply takes so long that less than a bound
 * is left of them when somebody can ask again, and is refused. */
static void who_is_on_the_way_waits_too(void **state)
{
    static const struct walk_plan pace = {
        .walks = 500, .seed = 1, .steps = 40, .fault_weight = 10, .tick_weight = 20};
    struct explore_options of = {
        .scheme = &scheme_ttl_threefold, .clients = 2, .rounds = 2, .servers = 1, .lease_ticks = 2};
    (void)state;
    of.budget[FAULT_CRASH] = of.budget[FAULT_LATE_REPLY] = 1;
    assert_shown(walk_share(&of, STATES_MAX, &pace), PROPERTY_PROGRESS);
    assert_true(walks_stuck_under_way > 0 || !all_are_made());
}

static void both_agree_on_random_runs(void **state)
{
    uint64_t runs = runs_wanted(), seed = sample_number("PICKLOCK_SEED", 20261124);
    unsigned violated = 0;
    (void)state;
    print_message("%" PRIu64 " runs, seed %" PRIu64 "\n", runs, seed);
    for (uint64_t n = 0; n < runs; n++) {
        struct random random = {.seed = seed, .stream = n};
        const struct explore_options options = draw_options(&random);
        const struct walk_plan pace = {.walks = 150,
                                       .seed = random_next(&random),
                                       .steps = 80,
                                       .fault_weight = 2 + draw_below(&random, 4),
                                       .tick_weight = 5 << draw_below(&random, 3),
                                       .witnesses = 10};
        violated |= walk_all(&options, options.servers == 1 ? STATES_MAX : 0, &pace);
    }
    for (int i = 0; i < PROPERTY_COUNT && all_are_made(); i++)
        if (!(violated >> i & 1) && i != PROPERTY_LOSS_NOTICE)
            fail_msg("no run violated %s", property_name((enum property)i));
}

/* All that follows from any choice was compared (explore_same.h). The explorer never makes a lease
 * of a client's own, nobody asks a scheme to extend, cancels it, or strikes its connections, a
 * stopped server is to it the same as a silent one, a failover is the same whoever promotes, and it
 * has no cluster. */
static bool is_never_made(int kind)
{
    return kind == CHOICE_LEASE || kind == CHOICE_EXTEND || kind == CHOICE_CANCEL ||
           kind == CHOICE_HALF_OPEN || kind == CHOICE_HOLD_DIALS || kind == CHOICE_ANSWER_DIALS ||
           kind == CHOICE_STOP || kind == CHOICE_SENTINEL ||
           choice_needs_cluster((enum choice_kind)kind);
}

static void every_choice_was_walked(void **state)
{
    (void)state;
    for (int kind = 0; kind < CHOICE_COUNT && all_are_made(); kind++)
        if (!is_never_made(kind) && walk_choices_made[kind] < 100 / sample_every())
            fail_msg("%s was made %" PRId64 " times", choice_name((enum choice_kind)kind),
                     walk_choices_made[kind]);
    assert_int_equal(walk_choices_made[CHOICE_LEASE], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judge_agrees_with_checks),
        cmocka_unit_test(judge_agrees_with_checks_on_quorums),
        cmocka_unit_test(judge_agrees_with_checks_on_long_walks),
        cmocka_unit_test(not_mine_is_judged_by_what_each_server_had),
        cmocka_unit_test(what_servers_lose_is_no_split_grant),
        cmocka_unit_test(a_guess_is_not_a_loss),
        cmocka_unit_test(a_guess_is_judged_by_all_that_was_there),
        cmocka_unit_test(not_mine_is_so_when_its_time_is_over),
        cmocka_unit_test(what_a_copy_grants_once_more_is_a_leftover),
        cmocka_unit_test(a_stamp_taken_over_for_nothing_is_its_former_owners),
        cmocka_unit_test(who_lost_it_to_a_copy_was_granted_it),
        cmocka_unit_test(a_timer_within_a_tick_follows_its_clock),
        cmocka_unit_test(who_is_on_the_way_waits_too),
        cmocka_unit_test(both_agree_on_random_runs),
        cmocka_unit_test(every_choice_was_walked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
