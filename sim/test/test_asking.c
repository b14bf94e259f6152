/* Tests of a worker decided by asking once (ask/): schemes of the table, written as somebody's lock
 * programs (scheme_worker.py), come to exactly what the search of the scheme's own steps comes to;
 * and what cannot be decided so says why. */
#include "ask/answers.h"
#include "explore/search/explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/asked_worker.h"

static const char *const schemes_asked[] = {"setnx-del",
                                            "setnx-expire-del",
                                            "lua-setnx-expire-del",
                                            "set-nx-ex-del",
                                            "set-nx-ex-get-del",
                                            "set-nx-px-cad",
                                            "set-nx-px-cad-weak-token",
                                            "set-nx-px-cad-empty-token",
                                            "multi-setnx-expire-del",
                                            "watch-multi-del",
                                            "get-watch-multi-del",
                                            "fenced",
                                            "fenced-late-incr",
                                            "set-nx-px-evalsha",
                                            "set-nx-px-evalsha-eval"};

/* Four, of each ninth scheme (harness/test_worker_asking.py has cells of all); the others where
 * PICKLOCK_LONG is set. */
static const int faults_asked[] = {
    NONE, FAULT_STALL, FAULT_LOSE_REPLY, FAULT_RESTART,
    /* long: */
    FAULT_LATE_REQUEST, FAULT_CRASH, FAULT_SLOW_WORK, FAULT_LATE_REPLY, FAULT_LOSE_REQUEST,
    FAULT_DUPLICATE, FAULT_ANSWER_ERROR, FAULT_SERVER_CLOCK, FAULT_SERVER_DRIFT, FAULT_FAILOVER,
    FAULT_EVICT, FAULT_FLUSH_SCRIPTS, FAULT_SILENT_SERVER};
enum { FAULTS_ALL = sizeof faults_asked / sizeof *faults_asked, FAULTS_SHORT = 4 };

/* One cell: every property, with its fewest faults and events. */
static void compare_cell(struct worker_asked *asked, const struct explore_options *of, int fault)
{
    struct explore_options options, own = *of;
    struct explore_outcome by_asking, by_steps;
    char what[80];
    search(asked, &own, &options, &by_asking);
    if (asking_failure(asked->asking)->code)
        fail_msg("%s: %s", own.scheme->name, asking_failure(asked->asking)->text);
    own.lease_ticks = options.lease_ticks;
    run(&own, &by_steps);
    assert_int_equal(by_asking.end, END_COMPLETE);
    (void)snprintf(what, sizeof what, "%s, section %s",
                   fault == NONE ? "none" : fault_name((enum fault)fault),
                   section_name(own.section));
    assert_int_equal(differences(what, &own, &by_steps, &by_asking), 0);
    explore_outcome_free(&by_asking);
    explore_outcome_free(&by_steps);
}

/* program, as: the worker's. */
static void compare_programs(const char *name, const char *program, const char *as, int servers,
                             int faults)
{
    struct worker_asked asked;
    ask_for(&asked, program, as, servers);
    for (int i = 0; i < faults; i++) {
        struct explore_options own = options_of(name, faults_asked[i]);
        if (i > 0 && !is_in_sample())
            continue;
        own.servers = servers;
        compare_cell(&asked, &own, faults_asked[i]);
        own.section = SECTION_WRITE;
        if (own.scheme->mints_fence)
            compare_cell(&asked, &own, faults_asked[i]);
        own.section = SECTION_COUNTER;
        if (own.scheme->mints_fence || own.scheme->needs_script || is_long())
            compare_cell(&asked, &own, faults_asked[i]);
    }
    assert_null(asking_fence_doubt(asked.asking));
    assert_false(asking_audit(asked.asking, 5, 1)); /* its time was over long ago */
    assert_true(asking_audit(asked.asking, 5, 0));
    if (asking_failure(asked.asking)->code)
        fail_msg("%s: %s", name, asking_failure(asked.asking)->text);
    const struct asking_figures figures = asking_figures(asked.asking);
    assert_true(figures.audited * 100 >= figures.histories * 5);
    assert_true(figures.executions < (servers > 1 ? 2000 : 1000));
    print_message("%s: %llu executions, %llu histories, %llu questions, %llu asked again\n", name,
                  (unsigned long long)figures.executions, (unsigned long long)figures.histories,
                  (unsigned long long)figures.questions, (unsigned long long)figures.audited);
    asking_free(asked.asking);
}

/* That no share is wanted does not mean that enough was asked: the clients are compared, too. */
static void an_audit_whose_time_is_up_has_not_compared_all_clients(void **state)
{
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "scheme_worker", "set-nx-px-cad", 1);
    assert_false(asking_audit(asked.asking, 0, 1)); /* its time was over long ago */
    assert_true(asking_audit(asked.asking, 0, 0));
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_NONE);
    asking_free(asked.asking);
}

static int faults_of(void)
{
    return is_long() ? FAULTS_ALL : FAULTS_SHORT;
}

static void compare_scheme(const char *name, const char *as)
{
    compare_programs(name, "scheme_worker", as, 1, faults_of());
}

static void a_quorum_as_a_worker_comes_to_what_its_steps_come_to(void **state)
{
    (void)state;
    compare_programs("redlock", "quorum_worker", "", 1, faults_of());
    if (is_long())
        compare_programs("redlock", "quorum_worker", "", 3, FAULTS_ALL);
}

static void schemes_as_workers_come_to_what_their_steps_come_to(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof schemes_asked / sizeof *schemes_asked; i++)
        if (is_long() || is_in_sample_of(9))
            compare_scheme(schemes_asked[i], schemes_asked[i]);
}

/* RESP3, a password, a database and a name make no difference. */
static void what_a_connection_says_first_changes_nothing(void **state)
{
    (void)state;
    LONG_ONLY(); /* harness/test_worker_asking.py */
    compare_scheme("set-nx-px-cad", "set-nx-px-cad set-up");
}

static void a_token_may_be_any_bytes(void **state)
{
    (void)state;
    compare_scheme("set-nx-px-cad", "bytes");
}

/* A hash with the token as a field is asked like a string; and keys beside it of all types, some
 * of which expire, change nothing. */
static void a_lock_may_be_a_hash(void **state)
{
    (void)state;
    compare_scheme("set-nx-px-cad", "hash");
}

/* The verdict in that cell; the cell is complete. */
static enum verdict asked_verdict(const char *name, int fault, enum property property)
{
    struct worker_asked asked;
    struct explore_options options;
    struct explore_outcome outcome;
    ask_for(&asked, "scheme_worker", name, 1);
    const struct explore_options own = options_of("set-nx-px-cad", fault);
    search(&asked, &own, &options, &outcome);
    if (asking_failure(asked.asking)->code)
        fail_msg("%s: %s", name, asking_failure(asked.asking)->text);
    assert_int_equal(outcome.end, END_COMPLETE);
    assert_true(asking_audit(asked.asking, 10, 0));
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_NONE);
    const enum verdict verdict = outcome.findings[property].verdict;
    explore_outcome_free(&outcome);
    asking_free(asked.asking);
    return verdict;
}

/* Who shuts a gate and crashes locks everybody out until the gate's time is over. */
static void keys_beside_a_lock_expire(void **state)
{
    (void)state;
    assert_int_equal(asked_verdict("gated", FAULT_CRASH, PROPERTY_PROGRESS), VERDICT_HOLDS);
    assert_int_equal(asked_verdict("gated-for-ever", FAULT_CRASH, PROPERTY_PROGRESS),
                     VERDICT_VIOLATED);
    if (!is_long())
        return;
    assert_int_equal(asked_verdict("marked", FAULT_SLOW_WORK, PROPERTY_RELEASE_OWN), VERDICT_HOLDS);
    assert_int_equal(asked_verdict("hash", FAULT_SLOW_WORK, PROPERTY_RELEASE_OWN), VERDICT_HOLDS);
    assert_int_equal(asked_verdict("hash-del", FAULT_SLOW_WORK, PROPERTY_RELEASE_OWN),
                     VERDICT_VIOLATED);
}

static uint64_t states_of(struct worker_asked *asked, int fault)
{
    struct explore_options options;
    struct explore_outcome outcome;
    const struct explore_options own = options_of("set-nx-px-cad", fault);
    search(asked, &own, &options, &outcome);
    if (asking_failure(asked->asking)->code)
        fail_msg("%s", asking_failure(asked->asking)->text);
    const uint64_t states = outcome.states;
    explore_outcome_free(&outcome);
    return states;
}

/* What it was answered about a clock that is set back is no answer about another time. */
static void one_cell_does_not_change_another(void **state)
{
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "scheme_worker", "watchful", 1);
    const uint64_t states = states_of(&asked, FAULT_STALL);
    assert_true(asking_figures(asked.asking).timed > 0);
    asking_free(asked.asking);
    ask_for(&asked, "scheme_worker", "watchful", 1);
    (void)states_of(&asked, FAULT_CLIENT_CLOCK);
    assert_int_equal(states_of(&asked, FAULT_STALL), states);
    asking_free(asked.asking);
}

/* In that cell: it is complete, and this alone is violated. */
static void decides(struct worker_asked *asked, int fault, unsigned violated)
{
    const struct explore_options own = options_of("set-nx-px-cad", fault);
    struct explore_options options;
    struct explore_outcome outcome;
    search(asked, &own, &options, &outcome);
    if (asking_failure(asked->asking)->code)
        fail_msg("%s", asking_failure(asked->asking)->text);
    assert_int_equal(outcome.end, END_COMPLETE);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if ((outcome.findings[i].verdict == VERDICT_VIOLATED) != (violated >> i & 1))
            fail_msg("%s: %s", fault == NONE ? "none" : fault_name((enum fault)fault),
                     property_name((enum property)i));
    explore_outcome_free(&outcome);
}

/* It leaves a connection by itself: what it sent there may still come, and nobody hears the reply.
 * So where it is late, a lock may be there that nobody knows of. */
static void what_a_worker_has_left_may_still_come(void **state)
{
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "scheme_worker", "impatient", 1);
    decides(&asked, NONE, 0);
    decides(&asked, FAULT_LATE_REQUEST, 1u << PROPERTY_NO_ORPHAN | 1u << PROPERTY_TRUTHFUL);
    ask_again_and_end(&asked);
}

/* Its lease counts from the request that won: in good time, however long it has waited by then.
 * Where that reply is late the grant is late; and another one counts from its first request. */
static void an_acquire_may_try_again_for_a_while(void **state)
{
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "scheme_worker", "retrying", 1);
    decides(&asked, FAULT_SLOW_WORK, 1u << PROPERTY_MUTUAL_EXCLUSION);
    decides(&asked, FAULT_STALL, 1u << PROPERTY_MUTUAL_EXCLUSION | 1u << PROPERTY_FRESH_GRANT);
    ask_again_and_end(&asked);
}

/* Each try has a token of its own: what an earlier one wrote, whose reply was lost, is not released
 * by the last one. */
static void each_try_may_draw_a_token(void **state)
{
    struct worker_asked asked;
    (void)state;
    ask_for(&asked, "scheme_worker", "retrying-anew", 1);
    decides(&asked, FAULT_LOSE_REPLY, 1u << PROPERTY_NO_ORPHAN | 1u << PROPERTY_TRUTHFUL);
    ask_again_and_end(&asked);
}

static void one_token_for_further_tries_is_found_out(void **state)
{
    struct worker_asked asked;
    const struct explore_options own = options_of("set-nx-px-cad", NONE);
    (void)state;
    ask_for(&asked, "scheme_worker", "retrying-alike", 1);
    assert_non_null(strstr(search_failure(&asked, &own, 5).text,
                           "two clients draw the same token for a further try"));
}

/* A script that it loads while it begins is there until the server forgets it. */
static void scripts_that_are_loaded_at_first_are_there(void **state)
{
    struct worker_asked asked;
    struct explore_options options;
    struct explore_outcome outcome;
    (void)state;
    ask_for(&asked, "scheme_worker", "loaded-at-first", 1);
    const struct explore_options none = options_of("set-nx-px-cad", NONE);
    const struct explore_options flush = options_of("set-nx-px-cad", FAULT_FLUSH_SCRIPTS);
    search(&asked, &none, &options, &outcome);
    assert_int_equal(outcome.end, END_COMPLETE);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        assert_int_not_equal(outcome.findings[i].verdict, VERDICT_VIOLATED);
    explore_outcome_free(&outcome);
    search(&asked, &flush, &options, &outcome);
    assert_int_equal(outcome.end, END_COMPLETE);
    assert_int_equal(outcome.findings[PROPERTY_NO_ORPHAN].verdict, VERDICT_VIOLATED);
    explore_outcome_free(&outcome);
    if (asking_failure(asked.asking)->code)
        fail_msg("%s", asking_failure(asked.asking)->text);
    asking_free(asked.asking);
}

/* --- answers that are kept --- */

/* Whatever was read can be said, and grows older. */
static void say_all(struct asking *asking)
{
    const struct spoken_token own = {"own", 3}, other = {"other", 5};
    size_t length;
    asking->server.own = own;
    asking->server.other = other;
    for (uint32_t i = 1; i <= asking->book.table.count; i++) {
        free(phrase_say(&asking->book, i, &own, &other, &length));
        (void)server_command_kind(&asking->server, i);
    }
    for (uint32_t i = 1; i <= asking->server.others.count; i++)
        (void)keys_beside_age(&asking->server, i, 1);
    for (uint32_t i = 1; i <= asking->worker.questions.count; i++) {
        char text[200];
        (void)worker_asker_tell(&asking->worker, i, text, sizeof text);
    }
}

static bool can_read(const struct worker_asked *asked, const char *bytes, size_t size)
{
    struct asking *read = calloc(1, sizeof *read);
    struct answer_bytes again = {0};
    struct worker_program program = asked->program;
    assert_non_null(read);
    read->program = &program;
    intern_init(&read->book.table);
    server_asker_init(&read->server, &read->book, "lock", 1000);
    read->servers = 1;
    worker_asker_open(&read->worker, asked->asking->session, &read->book, read->server.key,
                      &read->server.knows_key, 1, 1000);
    const bool is_whole = answers_read(read, bytes, size);
    if (is_whole) {
        say_all(read);
        program.promises = read->kept_of.promises;
        answers_print(read, &again);
    }
    free(again.bytes);
    asking_free(read);
    return is_whole;
}

/* A byte that is another one, or missing, is found, or makes another answer that can be used. */
static void kept_answers_are_looked_at_before_they_are_taken(void **state)
{
    enum { TRIES = 600 };
    struct worker_asked asked;
    struct explore_options options;
    struct explore_outcome outcome;
    struct answer_bytes out;
    int refused = 0;
    (void)state;
    ask_for(&asked, "scheme_worker", "marked", 1);
    const struct explore_options own = options_of("set-nx-px-cad", NONE);
    search(&asked, &own, &options, &outcome);
    explore_outcome_free(&outcome);
    answers_print(asked.asking, &out);
    assert_true(can_read(&asked, out.bytes, out.used));
    for (uint64_t i = 0; i < TRIES; i++) {
        const size_t at = i * UINT64_C(2654435761) % out.used;
        const char was = out.bytes[at];
        out.bytes[at] = (char)(was ^ (i % 2 ? 1 << i % 8 : 0xff));
        refused += !can_read(&asked, out.bytes, out.used);
        out.bytes[at] = was;
        assert_false(can_read(&asked, out.bytes, at));
    }
    assert_true(refused > TRIES / 10);
    assert_false(can_read(&asked, "", 0));
    free(out.bytes);
    asking_free(asked.asking);
}

/* --- what cannot be decided --- */

static void is_undecided(struct worker_asked *asked, int fault, const char *why)
{
    struct explore_options options;
    struct explore_outcome outcome;
    const struct explore_options own = options_of("set-nx-px-cad", fault);
    search(asked, &own, &options, &outcome);
    explore_outcome_free(&outcome);
    const struct failure *failure = asking_failure(asked->asking);
    assert_int_equal(failure->code, FAIL_UNKNOWN);
    if (!strstr(failure->text, why))
        fail_msg("\"%s\" is not in \"%s\"", why, failure->text);
}

/* What another search does not meet, it can decide; what it meets again is no answer by then. */
static void undecided(const char *name, int fault, const char *why)
{
    struct worker_asked asked;
    ask_for(&asked, "scheme_worker", name, 1);
    is_undecided(&asked, fault, why);
    const bool is_steady = strcmp(name, "erratic") != 0;
    assert_int_equal(asking_go_on(asked.asking), is_steady);
    if (is_steady && fault == FAULT_STALL)
        is_undecided(&asked, fault, why);
    if (fault == FAULT_RESTART)
        decides(&asked, FAULT_LOSE_REPLY, 1u << PROPERTY_NO_ORPHAN | 1u << PROPERTY_TRUTHFUL);
    asking_free(asked.asking);
}

static void what_cannot_be_decided_says_why(void **state)
{
    (void)state;
    undecided("erratic", FAULT_STALL, "two answers to one question");
    undecided("growing", FAULT_STALL, "it does not close");
    undecided("beside", FAULT_STALL,
              "it keeps a key 'releases' beside the lock's, which has a token in it");
    if (!is_long())
        return;
    undecided("trusting", FAULT_RESTART, "minds that its idle connection broke");
    undecided("second-late", FAULT_SLOW_WORK, "it does not close");
}

/* What does not follow from the keys: a script that asks for the time, a transaction that draws
 * lots, a moment, an order. */
static void commands_that_cannot_be_asked_once_are_told(void **state)
{
    (void)state;
    undecided("server-time", FAULT_STALL, "time: only commands whose answer follows from");
    undecided("moment", FAULT_STALL, "EXAT or PXAT: only commands");
    assert_int_equal(asked_verdict("publishing", FAULT_SLOW_WORK, PROPERTY_RELEASE_OWN),
                     VERDICT_HOLDS);
    if (!is_long())
        return;
    undecided("lottery", FAULT_STALL, "spop: only commands");
    undecided("stream", FAULT_STALL, "XADD: only commands");
    undecided("listening", FAULT_STALL, "SUBSCRIBE: only commands");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_audit_whose_time_is_up_has_not_compared_all_clients),
        cmocka_unit_test(a_quorum_as_a_worker_comes_to_what_its_steps_come_to),
        cmocka_unit_test(schemes_as_workers_come_to_what_their_steps_come_to),
        cmocka_unit_test(what_a_connection_says_first_changes_nothing),
        cmocka_unit_test(a_token_may_be_any_bytes),
        cmocka_unit_test(a_lock_may_be_a_hash),
        cmocka_unit_test(keys_beside_a_lock_expire),
        cmocka_unit_test(one_cell_does_not_change_another),
        cmocka_unit_test(what_a_worker_has_left_may_still_come),
        cmocka_unit_test(an_acquire_may_try_again_for_a_while),
        cmocka_unit_test(each_try_may_draw_a_token),
        cmocka_unit_test(one_token_for_further_tries_is_found_out),
        cmocka_unit_test(scripts_that_are_loaded_at_first_are_there),
        cmocka_unit_test(kept_answers_are_looked_at_before_they_are_taken),
        cmocka_unit_test(what_cannot_be_decided_says_why),
        cmocka_unit_test(commands_that_cannot_be_asked_once_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
