/* test_explore.c - the explorer: what it must find and must not, witnesses that replay, limits. */

/* before cmocka.h, which has a macro named like our enum fail */
#include "test/explore_replay.h"
#include "test/explore_run.h"
#include "test/sample.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

/* --- what is known --- */

/* Claims of ARTICLES and of HAZARDS, and what repairs each: scheme, fault, property, verdict.
 */
static const struct {
    const char *scheme;
    int fault;
    enum property property;
    enum verdict verdict;
} known[] = {
    /* A plain DEL is safe until something is slow; a compare-and-delete stays safe, but for the
       overrun. */
    {"set-nx-ex-del", NONE, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"set-nx-ex-del", NONE, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    {"set-nx-ex-del", FAULT_SLOW_WORK, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    {"set-nx-ex-del", FAULT_STALL, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    {"set-nx-ex-del", FAULT_STALL, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-ex-del", FAULT_RESEND, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_SLOW_WORK, PROPERTY_MUTUAL_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_SLOW_WORK, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_STALL, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_STALL, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_RESEND, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    /* The gap between GET and DEL; WATCH closes it, when it comes first. */
    {"set-nx-ex-get-del", FAULT_STALL, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    {"watch-multi-del", FAULT_STALL, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    {"get-watch-multi-del", FAULT_STALL, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    /* Tokens that collide make the comparison worthless. */
    {"set-nx-px-cad-weak-token", FAULT_SLOW_WORK, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    {"set-nx-px-cad-empty-token", FAULT_SLOW_WORK, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    /* A crash between two steps leaves a key for ever; one command, or a script, does not. */
    {"setnx-expire-del", FAULT_CRASH, PROPERTY_ALWAYS_EXPIRES, VERDICT_VIOLATED},
    {"setnx-expire-del", FAULT_CRASH, PROPERTY_PROGRESS, VERDICT_VIOLATED},
    {"lua-setnx-expire-del", FAULT_CRASH, PROPERTY_ALWAYS_EXPIRES, VERDICT_HOLDS},
    {"lua-setnx-expire-del", FAULT_CRASH, PROPERTY_PROGRESS, VERDICT_HOLDS},
    {"setnx-del", FAULT_CRASH, PROPERTY_PROGRESS, VERDICT_VIOLATED},
    {"setnx-del", NONE, PROPERTY_PROGRESS, VERDICT_HOLDS},
    {"set-nx-ex-del", FAULT_CRASH, PROPERTY_PROGRESS, VERDICT_HOLDS},
    /* Every loser refreshes the winner's expiry. */
    {"multi-setnx-expire-del", NONE, PROPERTY_EXTEND_OWN, VERDICT_VIOLATED},
    {"lua-setnx-expire-del", NONE, PROPERTY_EXTEND_OWN, VERDICT_HOLDS},
    /* A nil between SETNX and GET trips the source's code. */
    {"stamp-getset", NONE, PROPERTY_NO_CRASH, VERDICT_VIOLATED},
    {"stamp-del-setnx", NONE, PROPERTY_NO_CRASH, VERDICT_HOLDS},
    {"stamp-getset", NONE, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"stamp-getset", FAULT_STALL, PROPERTY_EXTEND_OWN, VERDICT_VIOLATED},
    {"stamp-getset", FAULT_CLIENT_CLOCK, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_CLIENT_CLOCK, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    /* Late grants: who does not look at the clock believes them; redlock looks. */
    {"set-nx-px-cad", FAULT_LATE_REPLY, PROPERTY_FRESH_GRANT, VERDICT_VIOLATED},
    {"redlock", FAULT_LATE_REPLY, PROPERTY_FRESH_GRANT, VERDICT_HOLDS},
    {"redlock", NONE, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"redlock", FAULT_LOSE_REQUEST, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"redlock", FAULT_RESTART, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"redlock", FAULT_SERVER_CLOCK, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    /* A lost reply leaves a key behind; sent again, the client is refused for its own. */
    {"set-nx-px-cad", FAULT_LOSE_REPLY, PROPERTY_NO_ORPHAN, VERDICT_VIOLATED},
    {"set-nx-px-cad", NONE, PROPERTY_NO_ORPHAN, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_RESEND, PROPERTY_TRUTHFUL, VERDICT_VIOLATED},
    {"set-nx-px-cad", NONE, PROPERTY_TRUTHFUL, VERDICT_HOLDS},
    /* Sent twice: refused for its own, once more; and a transaction without its WATCH. */
    {"set-nx-px-cad", FAULT_DUPLICATE, PROPERTY_TRUTHFUL, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_DUPLICATE, PROPERTY_RELEASE_OWN, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_DUPLICATE, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"watch-multi-del", FAULT_DUPLICATE, PROPERTY_RELEASE_OWN, VERDICT_VIOLATED},
    /* Refused half way: one command has no half. What stops a timer must not hang on an answer. */
    {"setnx-expire-del", FAULT_ANSWER_ERROR, PROPERTY_PROGRESS, VERDICT_VIOLATED},
    {"lua-setnx-expire-del", FAULT_ANSWER_ERROR, PROPERTY_ALWAYS_EXPIRES, VERDICT_HOLDS},
    {"set-nx-px-cad", FAULT_ANSWER_ERROR, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"watchdog", FAULT_ANSWER_ERROR, PROPERTY_PROGRESS, VERDICT_VIOLATED},
    {"watchdog-guarded", FAULT_ANSWER_ERROR, PROPERTY_PROGRESS, VERDICT_HOLDS},
    /* The server forgets. */
    {"set-nx-px-cad", FAULT_RESTART, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_FAILOVER, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_EVICT, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    {"set-nx-px-cad", FAULT_SERVER_CLOCK, PROPERTY_LEASE_EXCLUSION, VERDICT_VIOLATED},
    /* Out of reach: renewals fail, and whoever has set no end believes for ever. */
    {"watchdog", FAULT_SILENT_SERVER, PROPERTY_MUTUAL_EXCLUSION, VERDICT_VIOLATED},
    {"watchdog", FAULT_REFUSING_SERVER, PROPERTY_MUTUAL_EXCLUSION, VERDICT_VIOLATED},
    {"watchdog-guarded", FAULT_SILENT_SERVER, PROPERTY_LOSS_NOTICE, VERDICT_HOLDS},
    {"watchdog-guarded", FAULT_REFUSING_SERVER, PROPERTY_LOSS_NOTICE, VERDICT_HOLDS},
    {"redlock", FAULT_SILENT_SERVER, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    {"redlock", FAULT_REFUSING_SERVER, PROPERTY_LEASE_EXCLUSION, VERDICT_HOLDS},
    /* A script that is not known has to be sent whole. */
    {"set-nx-px-evalsha", FAULT_FLUSH_SCRIPTS, PROPERTY_NO_ORPHAN, VERDICT_VIOLATED},
    {"set-nx-px-evalsha", FAULT_FLUSH_SCRIPTS, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"set-nx-px-evalsha-eval", FAULT_FLUSH_SCRIPTS, PROPERTY_NO_ORPHAN, VERDICT_HOLDS},
    /* A watchdog that renews, and one that also tells. */
    {"watchdog", FAULT_SLOW_WORK, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"watchdog", FAULT_EVICT, PROPERTY_LOSS_NOTICE, VERDICT_HOLDS},
    {"watchdog-guarded", FAULT_SLOW_WORK, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS},
    {"watchdog-guarded", FAULT_LATE_REPLY, PROPERTY_FRESH_GRANT, VERDICT_HOLDS},
};

static void finds_what_is_known(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct explore_options options = options_of(known[i].scheme, known[i].fault);
        struct explore_outcome outcome;
        run(&options, &outcome);
        enum verdict verdict = outcome.findings[known[i].property].verdict;
        if (verdict != known[i].verdict) {
            print_error("%s with %s: %s %s, not %s\n", known[i].scheme,
                        known[i].fault == NONE ? "no fault"
                                               : fault_name((enum fault)known[i].fault),
                        property_name(known[i].property), verdict_name(verdict),
                        verdict_name(known[i].verdict));
            wrong++;
        }
        explore_outcome_free(&outcome);
    }
    assert_int_equal(wrong, 0);
}

/* What each fault is good for: a scheme that holds without it and is broken with it. */
static const struct {
    const char *scheme;
    enum property property;
    int beside; /* a fault that strikes in both: FAULT + 1 */
} broken_by[FAULT_COUNT] = {
    [FAULT_SLOW_WORK] = {"set-nx-ex-del", PROPERTY_RELEASE_OWN, 0},
    [FAULT_STALL] = {"set-nx-ex-get-del", PROPERTY_RELEASE_OWN, 0},
    [FAULT_LATE_REQUEST] = {"setnx-del", PROPERTY_PROGRESS, 0},
    [FAULT_LATE_REPLY] = {"set-nx-px-cad", PROPERTY_FRESH_GRANT, 0},
    [FAULT_LOSE_REQUEST] = {"setnx-del", PROPERTY_PROGRESS, 0},
    [FAULT_LOSE_REPLY] = {"set-nx-px-cad", PROPERTY_NO_ORPHAN, 0},
    [FAULT_RESEND] = {"set-nx-px-cad", PROPERTY_TRUTHFUL, 0},
    [FAULT_DUPLICATE] = {"set-nx-ex-del", PROPERTY_RELEASE_OWN, 0},
    [FAULT_ANSWER_ERROR] = {"setnx-expire-del", PROPERTY_ALWAYS_EXPIRES, 0},
    [FAULT_CRASH] = {"setnx-expire-del", PROPERTY_ALWAYS_EXPIRES, 0},
    [FAULT_CLIENT_CLOCK] = {"stamp-getset", PROPERTY_LEASE_EXCLUSION, 0},
    [FAULT_SERVER_CLOCK] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, 0},
    /* A rate shows when time passes. */
    [FAULT_CLIENT_DRIFT] = {"redlock", PROPERTY_FRESH_GRANT, FAULT_LATE_REPLY + 1},
    [FAULT_SERVER_DRIFT] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, FAULT_SLOW_WORK + 1},
    [FAULT_RESTART] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, 0},
    [FAULT_FAILOVER] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, 0},
    [FAULT_EVICT] = {"set-nx-px-cad", PROPERTY_LEASE_EXCLUSION, 0},
    [FAULT_FLUSH_SCRIPTS] = {"set-nx-px-evalsha", PROPERTY_NO_ORPHAN, 0},
    [FAULT_SILENT_SERVER] = {"set-nx-px-cad", PROPERTY_FRESH_GRANT, 0},
    [FAULT_REFUSING_SERVER] = {"setnx-del", PROPERTY_PROGRESS, 0},
    [FAULT_SAME_TOKEN] = {"set-nx-px-cad-weak-token", PROPERTY_RELEASE_OWN, FAULT_SLOW_WORK + 1},
};

static enum verdict verdict_with(int fault, int row)
{
    struct explore_options options = options_of(broken_by[row].scheme, fault);
    struct explore_outcome outcome;
    if (broken_by[row].beside)
        options.budget[broken_by[row].beside - 1] = 1;
    run(&options, &outcome);
    enum verdict verdict = outcome.findings[broken_by[row].property].verdict;
    explore_outcome_free(&outcome);
    return verdict;
}

static void every_fault_breaks_what_holds_without(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_COUNT; i++) {
        const char *name = fault_name((enum fault)i);
        if (!broken_by[i].scheme)
            fail_msg("nothing shows what %s does", name);
        if (verdict_with(NONE, i) != VERDICT_HOLDS)
            fail_msg("%s is broken without %s", broken_by[i].scheme, name);
        if (verdict_with(i, i) != VERDICT_VIOLATED)
            fail_msg("%s does not break %s", name, broken_by[i].scheme);
    }
}

/* Of two clocks one runs fast: it finds a stamp past that lasts. Nothing else is needed, and the
 * clock is named for it. */
static void a_drifting_clock_breaks_stamps(void **state)
{
    (void)state;
    for (int fault = NONE;; fault = FAULT_CLIENT_DRIFT) {
        struct explore_options options = options_of("stamp-del-setnx", fault);
        struct explore_outcome outcome;
        int drifts = 0;
        run(&options, &outcome);
        const struct explore_finding *finding = &outcome.findings[PROPERTY_LEASE_EXCLUSION];
        for (int i = 0; i < finding->choices_count; i++)
            drifts += finding->choices[i].kind == CHOICE_CLIENT_DRIFT;
        assert_int_equal(outcome.end, END_COMPLETE);
        assert_int_equal(finding->verdict, fault == NONE ? VERDICT_HOLDS : VERDICT_VIOLATED);
        assert_int_equal(drifts > 0, fault != NONE);
        explore_outcome_free(&outcome);
        if (fault != NONE)
            break;
    }
}

/* The stalled loser's older stamp lets a third client in: it takes two faults, and that is what a
 * witness shows. */
static void finds_what_takes_two_faults(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_STALL);
    struct explore_outcome outcome;
    run(&options, &outcome);
    assert_int_equal(outcome.findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_HOLDS);
    explore_outcome_free(&outcome);
    options.budget[FAULT_CRASH] = 1;
    run(&options, &outcome);
    assert_int_equal(outcome.findings[PROPERTY_LEASE_EXCLUSION].verdict, VERDICT_VIOLATED);
    assert_int_equal(outcome.findings[PROPERTY_LEASE_EXCLUSION].faults, 2);
    explore_outcome_free(&outcome);
}

/* Counted by hand: A's SET (call, arrive, hear), its stall and two ticks, B's SET (call, arrive),
 * A's DEL (call, arrive). */
static void witness_is_the_shortest(void **state)
{
    (void)state;
    struct explore_options options = options_of("set-nx-ex-del", FAULT_STALL);
    struct explore_outcome outcome;
    run(&options, &outcome);
    const struct explore_finding *finding = &outcome.findings[PROPERTY_RELEASE_OWN];
    assert_int_equal(finding->faults, 1);
    assert_int_equal(finding->events, 10);
    assert_int_equal(finding->choices_count, 9); /* the stall is nothing but the time that passes */
    explore_outcome_free(&outcome);
}

/* Of three the committed matrix tells, which harness/test_explore.py makes again. */
static struct explore_options of_two_clients(const char *scheme, int fault)
{
    struct explore_options options = options_of(scheme, fault);
    options.clients = 2;
    return options;
}

/* A fault that is left over is not spent, and a fault's own step is no shorter than it is. */
static void no_fault_is_spent_in_vain(void **state)
{
    (void)state;
    for (int i = 0; i < schemes_count; i++) {
        if (schemes[i]->needs_quorum)
            continue;
        struct explore_outcome without, with;
        struct explore_options options = of_two_clients(schemes[i]->name, NONE);
        run(&options, &without);
        for (int fault = 0; fault < FAULT_COUNT; fault++) {
            if (!is_in_sample())
                continue;
            options = of_two_clients(schemes[i]->name, fault);
            options.leftovers = LEFTOVERS_TOO; /* else one waits for a graver one, at any price */
            run(&options, &with);
            for (int p = 0; p < PROPERTY_COUNT; p++) {
                const struct explore_finding *a = &without.findings[p], *b = &with.findings[p];
                if (a->verdict != VERDICT_VIOLATED ||
                    fault_blame((enum fault)fault) == FAULT_OF_RUN)
                    continue;
                assert_int_equal(b->faults, 0);
                assert_int_equal(b->events, a->events);
            }
            explore_outcome_free(&with);
        }
        explore_outcome_free(&without);
    }
}

/* It stops early, and with the witness that all states would have given. */
static void a_search_can_be_for_one_property(void **state)
{
    (void)state;
    int ended = 0;
    for (int i = 0; i < schemes_count; i++) {
        struct explore_options options = options_of(schemes[i]->name, FAULT_STALL);
        struct explore_outcome all, one;
        options.sought = 0;
        run(&options, &all);
        for (int p = 0; p < PROPERTY_COUNT; p++) {
            const struct explore_finding *full = &all.findings[p], *found;
            if (full->verdict != VERDICT_VIOLATED || p == PROPERTY_PROGRESS)
                continue;
            options.sought = 1u << p;
            run(&options, &one);
            found = &one.findings[p];
            assert_true(one.end == END_ENOUGH || one.states == all.states);
            assert_int_equal(found->verdict, VERDICT_VIOLATED);
            assert_int_equal(found->choices_count, full->choices_count);
            for (int k = 0; k < full->choices_count; k++)
                assert_memory_equal(&found->choices[k], &full->choices[k], sizeof(struct choice));
            ended += one.end == END_ENOUGH && one.states < all.states;
            explore_outcome_free(&one);
        }
        explore_outcome_free(&all);
    }
    assert_true(ended > 10);
    /* What is never found ends nothing. */
    struct explore_options options = options_of("set-nx-px-cad", FAULT_STALL);
    struct explore_outcome outcome;
    options.sought = 1u << PROPERTY_RELEASE_OWN | 1u << PROPERTY_MUTUAL_EXCLUSION;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_COMPLETE);
    assert_int_equal(outcome.findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_HOLDS);
    explore_outcome_free(&outcome);
}

/* --- witnesses --- */

static void witnesses_replay(void **state)
{
    (void)state;
    static struct finding findings[PROPERTY_COUNT];
    int replayed = 0, wrong = 0;
    for (int i = 0; i < schemes_count; i++) {
        for (int fault = 0; fault <= FAULT_COUNT; fault++) {
            struct explore_options options = of_two_clients(schemes[i]->name, fault);
            struct explore_outcome outcome;
            if (!is_in_sample())
                continue;
            run(&options, &outcome);
            const struct replay replay = {.scheme = schemes[i],
                                          .clients = options.clients,
                                          .servers = options.servers,
                                          .lease_us = outcome.lease_us,
                                          .same_token = outcome.same_token,
                                          .has_replica = outcome.has_replica};
            for (int p = 0; p < PROPERTY_COUNT; p++) {
                const struct explore_finding *finding = &outcome.findings[p];
                struct failure failure = {0};
                if (finding->verdict != VERDICT_VIOLATED)
                    continue;
                bool delayed = replay_choices(&replay, finding->choices, finding->choices_count,
                                              findings, &failure);
                replayed++;
                if (delayed && findings[p].verdict == VERDICT_VIOLATED)
                    continue;
                wrong++;
                print_error("%s with %s: %s: %s\n", schemes[i]->name,
                            fault == NONE ? "no fault" : fault_name((enum fault)fault),
                            property_name((enum property)p),
                            delayed ? "not seen by the checks" : failure.text);
            }
            explore_outcome_free(&outcome);
        }
    }
    assert_true(replayed > 100 / sample_every());
    assert_int_equal(wrong, 0);
}

static void same_search_same_witness(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_STALL);
    struct explore_outcome one, two;
    run(&options, &one);
    run(&options, &two);
    assert_int_equal(one.states, two.states);
    assert_int_equal(one.transitions, two.transitions);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        assert_int_equal(one.findings[i].choices_count, two.findings[i].choices_count);
        for (int k = 0; k < one.findings[i].choices_count; k++)
            assert_true(choice_is_same(&one.findings[i].choices[k], &two.findings[i].choices[k]));
    }
    explore_outcome_free(&one);
    explore_outcome_free(&two);
}

/* --- counting, hashing --- */

/* Counted by SPIN 6.5.2 on the same protocol written by hand; harness/test_spin.py runs it again
 * where SPIN is installed. */
static void counts_the_states_that_spin_counts(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        int fault;
        uint64_t states, transitions;
    } counted[] = {
        {"set-nx-ex-del", NONE, 2131, 5853},
        {"set-nx-ex-del", FAULT_STALL, 17400, 52253},
        {"set-nx-px-cad", NONE, 2131, 5853},
        {"set-nx-px-cad", FAULT_STALL, 15540, 47033},
    };
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        struct explore_options options = options_of(counted[i].scheme, counted[i].fault);
        struct explore_outcome outcome;
        options.reductions = 0;
        run(&options, &outcome);
        assert_int_equal(outcome.states, counted[i].states);
        assert_int_equal(outcome.transitions, counted[i].transitions);
        explore_outcome_free(&outcome);
    }
}

static void nothing_is_lost_to_hashing(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_CLIENT_CLOCK);
    struct explore_outcome plain, other;
    run(&options, &plain);
    assert_true(plain.lost > 0 && plain.lost < 1e-6);
    options.hash_seed = 0x5eed;
    run(&options, &other);
    assert_int_equal(plain.states, other.states);
    assert_int_equal(differences("another seed", &options, &plain, &other), 0);
    explore_outcome_free(&other);
    options.has_full_states = true;
    run(&options, &other);
    assert_int_equal(plain.states, other.states);
    assert_int_equal(plain.transitions, other.transitions);
    assert_true(other.lost == 0);
    explore_outcome_free(&other);
    explore_outcome_free(&plain);
}

/* Two ticks express every order: with more of them the verdicts are the same. */
static void a_lease_of_two_ticks_is_enough(void **state)
{
    (void)state;
    static const char *const names[] = {"set-nx-ex-del", "set-nx-ex-get-del", "set-nx-px-cad",
                                        "setnx-expire-del", "watch-multi-del"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct explore_options options = options_of(names[i], FAULT_STALL);
        struct explore_outcome two, more;
        run(&options, &two);
        for (int ticks = 3; ticks <= 4; ticks++) {
            options.lease_ticks = ticks;
            run(&options, &more);
            for (int p = 0; p < PROPERTY_COUNT; p++)
                assert_int_equal(two.findings[p].verdict, more.findings[p].verdict);
            explore_outcome_free(&more);
        }
        explore_outcome_free(&two);
    }
}

/* --- limits and bad input --- */

static void a_limit_leaves_what_is_not_known(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_STALL);
    struct explore_outcome outcome;
    options.states_max = 2000;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_STATES);
    assert_int_equal(outcome.findings[PROPERTY_RELEASE_OWN].verdict, VERDICT_UNKNOWN);
    assert_int_equal(outcome.findings[PROPERTY_NO_CRASH].verdict, VERDICT_VIOLATED);
    assert_int_equal(outcome.findings[PROPERTY_PROGRESS].verdict, VERDICT_UNKNOWN);
    explore_outcome_free(&outcome);
    options.states_max = 0;
    options.bytes_max = 1;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_BYTES);
    explore_outcome_free(&outcome);
}

static int64_t a_late_hour(void)
{
    return 1000;
}

static void time_that_is_up_ends_a_search(void **state)
{
    (void)state;
    struct explore_options options = options_of("stamp-getset", FAULT_STALL);
    struct explore_outcome outcome;
    options.now_us = a_late_hour;
    options.deadline_us = 1000;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_TIME);
    explore_outcome_free(&outcome);
}

static void what_a_server_lacks_is_not_explored(void **state)
{
    (void)state;
    struct explore_options options = options_of("set-ifeq-delex", NONE);
    struct scheme says_nothing = *options.scheme;
    struct explore_outcome outcome;
    says_nothing.needs_delex = false;
    options.scheme = &says_nothing;
    run(&options, &outcome);
    assert_int_equal(outcome.end, END_UNSUPPORTED);
    assert_int_equal(outcome.findings[PROPERTY_MUTUAL_EXCLUSION].verdict, VERDICT_UNKNOWN);
    explore_outcome_free(&outcome);
}

/* DELEX IFEQ does at once what the script does: the same verdicts, in as many steps. */
static void a_newer_server_is_there_for_who_needs_it(void **state)
{
    (void)state;
    for (int fault = 0; fault <= FAULT_COUNT; fault++) {
        struct explore_options newer = options_of("set-ifeq-delex", fault);
        struct explore_options older = options_of("set-nx-px-cad", fault);
        struct explore_outcome one, other;
        run(&newer, &one);
        run(&older, &other);
        assert_int_equal(one.end, END_COMPLETE);
        assert_int_equal(one.states, other.states);
        for (int p = 0; p < PROPERTY_COUNT; p++) {
            assert_int_equal(one.findings[p].verdict, other.findings[p].verdict);
            assert_int_equal(one.findings[p].events, other.findings[p].events);
        }
        explore_outcome_free(&one);
        explore_outcome_free(&other);
    }
}

static void bounds_are_told(void **state)
{
    (void)state;
    struct explore_options options = options_of("set-nx-px-cad", NONE);
    struct explore_outcome outcome;
    struct failure failure = {0};
    options.clients = EXPLORE_CLIENTS_MAX + 1;
    assert_int_equal(explore(&options, &outcome, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "clients wants 1 to 6, not 7"));
    options.clients = 2;
    options.budget[FAULT_STALL] = EXPLORE_FAULTS_MAX + 1;
    assert_int_equal(explore(&options, &outcome, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "faults"));
    options.budget[FAULT_STALL] = 0;
    options.rounds = 0;
    assert_int_equal(explore(&options, &outcome, &failure), FAIL_INPUT);
}

static void faults_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_COUNT; i++) {
        enum fault fault;
        assert_true(fault_read(fault_name((enum fault)i), &fault));
        assert_int_equal(fault, i);
        assert_true(*fault_words(fault));
    }
    enum fault fault;
    assert_false(fault_read("no-such-fault", &fault));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_known),
        cmocka_unit_test(every_fault_breaks_what_holds_without),
        cmocka_unit_test(a_drifting_clock_breaks_stamps),
        cmocka_unit_test(finds_what_takes_two_faults),
        cmocka_unit_test(witness_is_the_shortest),
        cmocka_unit_test(no_fault_is_spent_in_vain),
        cmocka_unit_test(a_search_can_be_for_one_property),
        cmocka_unit_test(witnesses_replay),
        cmocka_unit_test(same_search_same_witness),
        cmocka_unit_test(counts_the_states_that_spin_counts),
        cmocka_unit_test(nothing_is_lost_to_hashing),
        cmocka_unit_test(a_lease_of_two_ticks_is_enough),
        cmocka_unit_test(a_limit_leaves_what_is_not_known),
        cmocka_unit_test(time_that_is_up_ends_a_search),
        cmocka_unit_test(what_a_server_lacks_is_not_explored),
        cmocka_unit_test(a_newer_server_is_there_for_who_needs_it),
        cmocka_unit_test(bounds_are_told),
        cmocka_unit_test(faults_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
