/* test_checks.c - every property: a history in which it fires, and one in which it must stay
 * silent. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

/* --- fence-order --- */

static void writes(struct story *story, int client, int64_t fence, struct reply reply)
{
    struct command write = {.verb = fence ? VERB_FENCED_SET : VERB_SET,
                            .key = KEY_RESOURCE,
                            .value = fence ? fence : client + 1,
                            .number = fence};
    executes(story, client, OP_ACCESS, write, reply);
}

static void a_stale_holder_with_the_larger_token_fires(void **state)
{
    struct story *story = story_new(&minting, 1, 300);
    (void)state;
    is_granted(story, A); /* and stalls before its INCR */
    at(story, 310);
    is_granted(story, B);
    returns_fence(story, B, 1);
    writes(story, B, 1, INTEGER(1));
    returns_fence(story, A, 2);
    writes(story, A, 2, INTEGER(1)); /* stale, and accepted */
    writes(story, B, 1, INTEGER(0)); /* fresh, and refused */
    ends(story);
    assert_violated(story, PROPERTY_FENCE_ORDER, 3, CAUSE_FENCE_DISORDER);
    assert_says(&story->findings[PROPERTY_FENCE_ORDER], "carries the fencing token 2");
    story_free(story);
}

/* Of the grants long ago the highest token is kept. */
static void a_token_is_compared_with_the_highest_of_long_ago(void **state)
{
    enum { LATER = 40 };
    struct story *story = story_new(&minting, 1, 300);
    (void)state;
    for (int i = 0; i <= LATER; i++) {
        const int client = i == 0 ? A : B;
        is_granted(story, client);
        returns_fence(story, client, i == 0 ? 1000 : i);
        releases(story, client, 1);
    }
    ends(story);
    assert_violated(story, PROPERTY_FENCE_ORDER, LATER, CAUSE_FENCE_DISORDER);
    story_free(story);
}

static void tokens_that_grow_with_grants_are_silent_though_replies_cross(void **state)
{
    struct story *story = story_new(&minting, 1, 300);
    (void)state;
    is_granted(story, A);
    at(story, 310);
    is_granted(story, B);
    returns_fence(story, B, 2);
    returns_fence(story, A, 1);
    writes(story, A, 1, INTEGER(1)); /* nobody newer has written yet: the resource cannot know */
    writes(story, B, 2, INTEGER(1));
    writes(story, A, 1, INTEGER(0));
    ends(story);
    assert_holds(story, PROPERTY_FENCE_ORDER);
    story_free(story);
}

static void without_a_fence_a_stale_write_is_accepted(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    at(story, 310);
    acquires(story, B);
    writes(story, B, 0, OK);
    writes(story, A, 0, OK);
    ends(story);
    assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_STALE_WRITE);
    assert_says(&story->findings[PROPERTY_FENCE_ORDER], "B, granted later, wrote the resource");
    story_free(story);
}

/* A replica brings his lock back, and he has it once more: his write is none of a lock that is
 * over.
 */
static void who_has_his_lock_again_writes_nothing_stale(void **state)
{
    for (int is_back = 0; is_back <= 1; is_back++) {
        struct story *story = story_new(&expiring, 1, 300);
        (void)state;
        acquires(story, A);
        strikes(story, "cut-replica", -1, 0, 0);
        deletes(story, B, 1);
        acquires(story, B);
        if (is_back)
            strikes(story, "failover", -1, 0, 0);
        writes(story, B, 0, OK);
        writes(story, A, 0, OK);
        ends(story);
        if (is_back)
            assert_holds(story, PROPERTY_FENCE_ORDER);
        else
            assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_STALE_WRITE);
        story_free(story);
    }
}

static void a_write_before_the_newer_holder_writes_cannot_be_known_as_stale(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    writes(story, A, 0, OK);
    at(story, 310);
    acquires(story, B);
    writes(story, A, 0, OK);
    writes(story, B, 0, OK);
    ends(story);
    assert_holds(story, PROPERTY_FENCE_ORDER);
    story_free(story);
}

static void a_counter_that_a_restart_forgot_is_the_deployments(void **state)
{
    struct story *story = story_new(&minting, 1, 300);
    (void)state;
    is_granted(story, A);
    returns_fence(story, A, 1);
    releases(story, A, 1);
    strikes(story, "restart-empty", -1, 0, 0);
    is_granted(story, B);
    returns_fence(story, B, 1);
    ends(story);
    assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_LOST_GRANT);
    story_free(story);
}

static void counts_token(struct story *story, int client, int64_t number)
{
    executes(story, client, OP_ACQUIRE, (struct command){.verb = VERB_INCR, .key = KEY_FENCE},
             INTEGER(number));
}

/* B's token is A's again, or a lower one, and INCR said so. No server forgot anything: where nobody
 * else writes, that is no loss; where somebody may, a server that is not seen may have forgotten. A
 * restart explains it anywhere. */
static void a_token_that_is_told_again_is_a_loss_only_where_there_can_be_one(void **state)
{
    (void)state;
    for (int how = 0; how < 8; how++) {
        const bool is_closed = how & 1, has_restart = how & 2, is_wrong = how < 4 || has_restart;
        struct story *story = story_new(&minting, 1, 300);
        story->head.is_closed = is_closed;
        (void)story_begin(story, &minting);
        is_granted(story, A);
        counts_token(story, A, 5);
        returns_fence(story, A, 5);
        releases(story, A, 1);
        if (has_restart)
            strikes(story, "restart-empty", -1, 0, 0);
        is_granted(story, B);
        counts_token(story, B, is_wrong ? 5 - (how & 4) : 6);
        returns_fence(story, B, is_wrong ? 5 - (how & 4) : 6);
        ends(story);
        if (is_wrong)
            assert_violated(story, PROPERTY_FENCE_ORDER, 1,
                            is_closed && !has_restart ? CAUSE_FENCE_DISORDER : CAUSE_LOST_GRANT);
        else
            assert_holds(story, PROPERTY_FENCE_ORDER);
        story_free(story);
    }
}

/* The number that went back is nobody's token: nothing is out of order, and nothing is proved. */
static void a_counter_that_goes_back_where_nobody_else_writes_proves_nothing(void **state)
{
    (void)state;
    for (int is_closed = 0; is_closed <= 1; is_closed++) {
        struct story *story = story_new(&minting, 1, 300);
        story->head.is_closed = is_closed;
        (void)story_begin(story, &minting);
        is_granted(story, A);
        counts_token(story, A, 5);
        returns_fence(story, A, 5);
        calls(story, B, OP_ACQUIRE);
        counts_token(story, B, 5);
        returns(story, B, OP_ACQUIRE, RESULT_FAILED);
        ends(story);
        assert_verdict(story, PROPERTY_FENCE_ORDER, is_closed ? VERDICT_UNKNOWN : VERDICT_HOLDS);
        if (is_closed)
            assert_says(&story->findings[PROPERTY_FENCE_ORDER], "no server forgot its keys");
        story_free(story);
    }
}

/* B, newer, has written; then the resource takes A's smaller token, which no server does that has
 * forgotten nothing. */
static void a_smaller_token_that_is_taken_is_a_stale_write_where_nothing_was_forgotten(void **state)
{
    (void)state;
    for (int is_closed = 0; is_closed <= 1; is_closed++) {
        struct story *story = story_new(&minting, 1, 300);
        story->head.is_closed = is_closed;
        (void)story_begin(story, &minting);
        is_granted(story, A);
        returns_fence(story, A, 1);
        at(story, 310);
        is_granted(story, B);
        returns_fence(story, B, 2);
        writes(story, B, 2, INTEGER(1));
        writes(story, A, 1, INTEGER(1));
        ends(story);
        if (is_closed)
            assert_violated(story, PROPERTY_FENCE_ORDER, 1, CAUSE_STALE_WRITE);
        else
            assert_holds(story, PROPERTY_FENCE_ORDER);
        story_free(story);
    }
}

/* --- no-lost-update --- */

/* As a list answers that has so many entries by then. */
static void counts_in(struct story *story, int client, int64_t value, int entries)
{
    executes(story, client, OP_ACCESS,
             (struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = value}, OK);
    executes(story, client, OP_ACCESS,
             (struct command){.verb = VERB_RPUSH, .key = KEY_LIST, .value = story->index},
             INTEGER(entries));
}

static void counts(struct story *story, int client, int64_t value)
{
    counts_in(story, client, value, (int)value);
}

static void reads(struct story *story, int client, int64_t value)
{
    executes(story, client, OP_ACCESS, (struct command){.verb = VERB_GET, .key = KEY_COUNTER},
             value ? VALUE(value) : NIL);
}

static void an_overlap_that_loses_an_update_gives_it_its_cause(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    acquires(story, A);
    reads(story, A, 0);
    at(story, 310);
    acquires(story, B);
    reads(story, B, 0);
    counts(story, B, 1);
    counts_in(story, A, 1, 2);
    ends(story);
    assert_violated(story, PROPERTY_NO_LOST_UPDATE, 1, CAUSE_OVERRUN);
    assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], "A wrote 1 at");
    assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], "(A,B): Overrun.");
    assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], "2 entries were appended to the list");
    assert_int_equal(story->counters.lost_updates, 1);
    assert_int_equal(story->counters.sections, 2);
    story_free(story);
}

static void sections_one_after_the_other_lose_nothing(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    for (int i = 0; i < 5; i++) {
        acquires(story, i % 2);
        reads(story, i % 2, i);
        counts(story, i % 2, i + 1);
        if (i == 3) /* its library sends the write again */
            executes(story, i % 2, OP_ACCESS,
                     (struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = i + 1}, OK);
        releases(story, i % 2, 1);
    }
    ends(story);
    assert_silent(story);
    assert_holds(story, PROPERTY_NO_LOST_UPDATE);
    assert_int_equal(story->counters.sections, 5);
    story_free(story);
}

/* B's write comes after A's, on top of what it had read before; in between a server forgets. */
static void loses_one_although_a_server_forgets(struct story *story, int server)
{
    acquires(story, A);
    reads(story, A, 0);
    at(story, 310);
    acquires(story, B);
    reads(story, B, 0);
    counts(story, A, 1);
    strikes(story, "restart-empty", -1, server, 0);
    counts(story, B, 1);
    ends(story);
}

static void what_another_server_forgets_is_not_the_counter(void **state)
{
    struct story *story = story_new(&expiring, 3, 300);
    (void)state;
    loses_one_although_a_server_forgets(story, 1);
    assert_int_equal(story->counters.lost_updates, 1);
    story_free(story);
}

static void what_its_own_server_forgets_is_no_lost_update(void **state)
{
    struct story *story = story_new(&expiring, 3, 300);
    (void)state;
    loses_one_although_a_server_forgets(story, 0);
    assert_int_equal(story->counters.sections, 2);
    assert_int_equal(story->counters.lost_updates, 0);
    story_free(story);
}

/* A had read 2; its server forgot that. Nothing is read there by a late copy of an attempt of A's
 * that is over, or by B; or B writes as well. A writes 3. */
static void a_late_read_behind_a_restart_does_not_make_a_write_a_loss(void **state)
{
    (void)state;
    enum { LATE, READS, WRITES };
    for (int how = LATE; how <= WRITES; how++) {
        struct story *story = story_new(&expiring, 3, 300);
        acquires(story, A);
        const int first = story->attempts[A];
        for (int i = 0; i < 2; i++) {
            reads(story, A, i);
            counts(story, A, i + 1);
            releases(story, A, 1);
            acquires(story, A);
        }
        reads(story, A, 2);
        strikes(story, "flush-all", -1, 0, 0);
        if (how == LATE) {
            happens(story, (struct event){.kind = EVENT_EXECUTE,
                                          .client = A,
                                          .attempt = first,
                                          .op = OP_ACCESS,
                                          .command = {.verb = VERB_GET, .key = KEY_COUNTER},
                                          .reply = NIL});
        } else {
            at(story, 310);
            acquires(story, B);
            reads(story, B, 0);
        }
        if (how == WRITES)
            counts(story, B, 1);
        counts_in(story, A, 3, how == WRITES ? 2 : 1);
        ends(story);
        assert_int_equal(story->counters.lost_updates, how != LATE);
        if (how != LATE)
            assert_violated(story, PROPERTY_NO_LOST_UPDATE, 1, CAUSE_LOST_GRANT);
        story_free(story);
    }
}

/* --- no-crash --- */

static void code_that_trips_fires(void **state)
{
    struct story *story = story_new(&stamping, 1, 1000);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    executes(story, A, OP_ACQUIRE, command(VERB_GET, 0, 0), NIL);
    hears(story, A, 0, OP_ACQUIRE, command(VERB_GET, 0, 0), NIL);
    returns(story, A, OP_ACQUIRE, RESULT_CRASHED);
    ends(story);
    assert_violated(story, PROPERTY_NO_CRASH, 1, CAUSE_UNEXPECTED_REPLY);
    assert_says(&story->findings[PROPERTY_NO_CRASH], "A sent GET lock and heard nil.");
    story_free(story);

    story = story_new(&stamping, 1, 1000); /* a crash of the machine is not the scheme's */
    calls(story, A, OP_ACQUIRE);
    crashes(story, A);
    ends(story);
    assert_holds(story, PROPERTY_NO_CRASH);
    story_free(story);
}

/* --- figures, names --- */

/* A clock at another rate strikes who holds later, too; but for a client's own, nobody else. */
static void a_drift_is_counted_when_somebody_holds_under_it(void **state)
{
    static const struct {
        int client, server, holder;
        int64_t in_hold;
    } rows[] = {{-1, 0, A, 1}, {A, -1, A, 1}, {B, -1, A, 0}, {A, -1, -1, 0}, {-1, 0, -1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = story_new(&expiring, 1, 300);
        strikes(story, rows[i].client < 0 ? "server-drift" : "client-drift", rows[i].client,
                rows[i].server, 100000);
        for (int times = 0; times < 2 && rows[i].holder >= 0; times++) {
            acquires(story, rows[i].holder);
            releases(story, rows[i].holder, 1);
        }
        ends(story);
        assert_int_equal(story->counters.faults, 1);
        assert_int_equal(story->counters.faults_in_hold, rows[i].in_hold);
        story_free(story);
    }
}

static void faults_are_counted_by_what_they_struck(void **state)
{
    struct story *story = story_new(&expiring, 1, 300);
    (void)state;
    strikes(story, "server-clock", -1, 0, 0);
    assert_int_equal(checks_holders(story->checks), 0);
    acquires(story, A);
    assert_int_equal(checks_holders(story->checks), 1);
    strikes(story, "server-clock", -1, 0, 0);
    assert_int_equal(checks_struck(story->checks), 2);
    strikes(story, "client-clock", B, -1, 1);
    crashes(story, A);
    assert_int_equal(checks_holders(story->checks), 0);
    strikes(story, "give-up", B, 0, 0); /* these two strike nobody */
    strikes(story, "reachable", -1, 0, 0);
    ends(story);
    assert_int_equal(story->counters.faults, 4);
    assert_int_equal(story->counters.struck[FAULT_SERVER_CLOCK], 2);
    assert_int_equal(story->counters.struck[FAULT_CRASH], 1);
    assert_int_equal(story->counters.struck[FAULT_GIVE_UP], 0);
    assert_int_equal(story->counters.faults_in_hold, 2); /* the second step, and the crash */
    story_free(story);
}

static void names_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        enum property property;
        assert_true(property_read(property_name((enum property)i), &property));
        assert_int_equal(property, i);
        assert_true(strlen(property_words(property)) > 10);
    }
    for (int i = 0; i < CAUSE_COUNT; i++) {
        enum cause cause;
        assert_true(cause_read(cause_name((enum cause)i), &cause));
        assert_int_equal(cause, i);
    }
    enum verdict verdict;
    assert_true(verdict_read("unknown", &verdict));
    assert_int_equal(verdict, VERDICT_UNKNOWN);
    assert_false(verdict_read("perhaps", &verdict));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stale_holder_with_the_larger_token_fires),
        cmocka_unit_test(a_token_is_compared_with_the_highest_of_long_ago),
        cmocka_unit_test(tokens_that_grow_with_grants_are_silent_though_replies_cross),
        cmocka_unit_test(without_a_fence_a_stale_write_is_accepted),
        cmocka_unit_test(who_has_his_lock_again_writes_nothing_stale),
        cmocka_unit_test(a_counter_that_a_restart_forgot_is_the_deployments),
        cmocka_unit_test(a_token_that_is_told_again_is_a_loss_only_where_there_can_be_one),
        cmocka_unit_test(a_counter_that_goes_back_where_nobody_else_writes_proves_nothing),
        cmocka_unit_test(
            a_smaller_token_that_is_taken_is_a_stale_write_where_nothing_was_forgotten),
        cmocka_unit_test(an_overlap_that_loses_an_update_gives_it_its_cause),
        cmocka_unit_test(sections_one_after_the_other_lose_nothing),
        cmocka_unit_test(what_another_server_forgets_is_not_the_counter),
        cmocka_unit_test(what_its_own_server_forgets_is_no_lost_update),
        cmocka_unit_test(a_late_read_behind_a_restart_does_not_make_a_write_a_loss),
        cmocka_unit_test(code_that_trips_fires),
        cmocka_unit_test(faults_are_counted_by_what_they_struck),
        cmocka_unit_test(a_drift_is_counted_when_somebody_holds_under_it),
        cmocka_unit_test(names_read_back),
        cmocka_unit_test(a_write_before_the_newer_holder_writes_cannot_be_known_as_stale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
