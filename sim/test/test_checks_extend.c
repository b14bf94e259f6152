/* test_checks_extend.c - a holder that is asked to extend: its lease counts anew once it was told,
 * from the sending of what extended it; and "extended" means that so many servers did. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

enum { LEASE = 300 };

static struct command renewal(struct story *story, int client)
{
    return command(VERB_COMPARE_EXPIRE, token(story, client), LEASE);
}

/* Its request leaves on the lane of what it is asked to do: nothing that goes on by itself. */
static void asks(struct story *story, int client, int server)
{
    happens(story, (struct event){.kind = EVENT_SEND,
                                  .client = client,
                                  .server = server,
                                  .op = OP_EXTEND,
                                  .command = renewal(story, client)});
}

static void is_executed(struct story *story, int client, int server, int answer)
{
    executes_at(story, client, server, OP_EXTEND, renewal(story, client), INTEGER(answer));
    hears(story, client, server, OP_EXTEND, renewal(story, client), INTEGER(answer));
}

static void takes_at_all(struct story *story, int client)
{
    calls(story, client, OP_ACQUIRE);
    for (int s = 0; s < story->head.servers; s++)
        executes_at(story, client, s, OP_ACQUIRE, set(story, client), OK);
    returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
}

/* A holds from 0, asks at 200, the first servers extend, and it is told at that time. */
static struct story *extends(const struct scheme *scheme, int servers, int extending,
                             double told_ms, enum result result)
{
    struct story *story = story_whole(scheme, servers, LEASE);
    takes_at_all(story, A);
    at(story, 200);
    calls(story, A, OP_EXTEND);
    for (int s = 0; s < servers; s++)
        asks(story, A, s);
    for (int s = 0; s < extending; s++)
        is_executed(story, A, s, 1);
    at(story, told_ms);
    returns(story, A, OP_EXTEND, result);
    return story;
}

/* B gets the lock while A has not let go: whether that is within A's lease says how long that is.
 */
static void then_takes(struct story *story, double ms, bool is_within)
{
    at(story, ms);
    takes_at_all(story, B);
    at(story, ms + 10);
    ends(story);
    assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].count, is_within);
    assert_int_equal(story->findings[PROPERTY_MUTUAL_EXCLUSION].count, 1);
    story_free(story);
}

static void a_lease_counts_anew_once_it_was_told(void **state)
{
    (void)state;
    then_takes(extends(&expiring, 1, 1, 210, RESULT_DONE), 450, true);
    then_takes(extends(&expiring, 1, 1, 210, RESULT_DONE), 501, false);
    /* Nobody told it: what it may count on is the first lease. */
    then_takes(extends(&expiring, 1, 1, 210, RESULT_FAILED), 290, true);
    then_takes(extends(&expiring, 1, 1, 210, RESULT_FAILED), 450, false);
    /* Told when the second one is over, too. */
    then_takes(extends(&expiring, 1, 1, 600, RESULT_DONE), 610, false);
    /* Of three servers a majority did. */
    then_takes(extends(&majority, 3, 2, 210, RESULT_DONE), 450, true);
    then_takes(extends(&majority, 3, 1, 210, RESULT_DONE), 450, false);
}

/* Nobody wrote down when requests were sent: not before the call. */
static struct story *extends_unsent(void)
{
    struct story *story = story_whole(&expiring, 1, LEASE);
    takes_at_all(story, A);
    at(story, 200);
    calls(story, A, OP_EXTEND);
    at(story, 250);
    is_executed(story, A, 0, 1);
    returns(story, A, OP_EXTEND, RESULT_DONE);
    return story;
}

static void without_sends_a_lease_counts_from_the_call(void **state)
{
    (void)state;
    then_takes(extends_unsent(), 490, true);
    then_takes(extends_unsent(), 510, false);
}

/* It is told after somebody else got the lock, and within its second lease again. */
static void a_lease_that_comes_back_is_one(void **state)
{
    struct story *story = story_new(&expiring, 1, LEASE);
    (void)state;
    takes_at_all(story, A);
    at(story, 200);
    calls(story, A, OP_EXTEND);
    asks(story, A, 0);
    is_executed(story, A, 0, 1);
    at(story, 350); /* its first lease is over, and it has not been told */
    takes_at_all(story, B);
    at(story, 400);
    returns(story, A, OP_EXTEND, RESULT_DONE);
    ends(story);
    assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].count, 1);
    story_free(story);
}

/* The second server was asked 50 ms later, and extended by as much: the first one counts. */
static void a_quorums_lease_counts_from_the_first_request(void **state)
{
    (void)state;
    for (int is_first_late = 0; is_first_late < 2; is_first_late++) {
        struct story *story = story_whole(&majority, 3, LEASE);
        takes_at_all(story, A);
        at(story, 200);
        calls(story, A, OP_EXTEND);
        asks(story, A, is_first_late);
        at(story, 250);
        asks(story, A, !is_first_late);
        is_executed(story, A, 0, 1);
        is_executed(story, A, 1, 1);
        returns(story, A, OP_EXTEND, RESULT_DONE);
        then_takes(story, 520, false);
    }
}

static void who_is_told_that_it_is_not_his_holds_no_more(void **state)
{
    struct story *story = extends(&expiring, 1, 0, 310, RESULT_NOT_MINE);
    (void)state;
    at(story, 320);
    takes_at_all(story, B);
    ends(story);
    assert_silent(story);
    story_free(story);
}

static void extended_means_that_a_server_did(void **state)
{
    static const struct {
        int servers, extending;
        enum result result;
        bool is_true;
    } rows[] = {{1, 1, RESULT_DONE, true},  {1, 0, RESULT_DONE, false}, {1, 0, RESULT_FAILED, true},
                {3, 2, RESULT_DONE, true},  {3, 3, RESULT_DONE, true},  {3, 1, RESULT_DONE, false},
                {3, 0, RESULT_DONE, false}, {3, 1, RESULT_FAILED, true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = extends(rows[i].servers > 1 ? &majority : &expiring, rows[i].servers,
                                      rows[i].extending, 210, rows[i].result);
        ends(story);
        if (rows[i].is_true)
            assert_silent(story);
        else
            assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
        story_free(story);
    }
}

/* What the first one did says nothing of the second; nor does another attempt's. */
static void each_is_asked_for_itself(void **state)
{
    (void)state;
    for (int is_done = 0; is_done < 2; is_done++) {
        struct story *story = extends(&expiring, 1, 1, 210, RESULT_DONE);
        at(story, 220);
        calls(story, A, OP_EXTEND);
        asks(story, A, 0);
        if (is_done)
            is_executed(story, A, 0, 1);
        returns(story, A, OP_EXTEND, RESULT_DONE);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, !is_done);
        story_free(story);
    }
}

/* Whose own key is gone extends another's: that is told by what it did, and what it heard is not
 * so. */
static void who_extends_anothers_lock_has_extended_nothing(void **state)
{
    struct story *story = story_new(&expiring, 1, LEASE);
    (void)state;
    takes_at_all(story, A);
    at(story, 310);
    takes_at_all(story, B);
    at(story, 320);
    calls(story, A, OP_EXTEND);
    asks(story, A, 0);
    executes(story, A, OP_EXTEND, command(VERB_PEXPIRE, 0, LEASE), INTEGER(1));
    returns(story, A, OP_EXTEND, RESULT_DONE);
    ends(story);
    assert_violated(story, PROPERTY_EXTEND_OWN, 1, CAUSE_FOREIGN_EXTEND);
    assert_violated(story, PROPERTY_TRUTHFUL, 1, CAUSE_UNTRUE_ANSWER);
    story_free(story);
}

/* Granted when its own lease was over, extended in time, and deleted by a stranger. */
static void who_has_extended_is_late_no_more(void **state)
{
    struct story *story = story_new(&expiring, 1, LEASE);
    (void)state;
    calls(story, A, OP_ACQUIRE);
    at(story, 250);
    executes(story, A, OP_ACQUIRE, set(story, A), OK);
    at(story, 310);
    returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
    at(story, 320);
    calls(story, A, OP_EXTEND);
    asks(story, A, 0);
    is_executed(story, A, 0, 1);
    returns(story, A, OP_EXTEND, RESULT_DONE);
    at(story, 400);
    deletes(story, C, 1);
    takes_at_all(story, B);
    ends(story);
    assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1, CAUSE_UNLOCK_BUG);
    story_free(story);
}

/* B made it shorter; what A gave it anew is A's, and that it is gone early is the server's. */
static void what_is_extended_is_touched_no_more(void **state)
{
    (void)state;
    for (int is_extended = 0; is_extended < 2; is_extended++) {
        struct story *story = story_whole(&expiring, 1, LEASE);
        takes_at_all(story, A);
        at(story, 50);
        executes(story, B, OP_ACQUIRE, command(VERB_PEXPIRE, 0, 100), INTEGER(1));
        at(story, 100);
        if (is_extended) {
            calls(story, A, OP_EXTEND);
            asks(story, A, 0);
            is_executed(story, A, 0, 1);
            returns(story, A, OP_EXTEND, RESULT_DONE);
        }
        at(story, 200);
        takes_at_all(story, C);
        ends(story);
        assert_violated(story, PROPERTY_LEASE_EXCLUSION, 1,
                        is_extended ? CAUSE_EARLY_EXPIRY : CAUSE_FOREIGN_EXTEND);
        story_free(story);
    }
}

/* Nobody said so: the wire showed it. */
static void what_was_inferred_is_no_answer(void **state)
{
    struct story *story = story_new(&expiring, 1, LEASE);
    (void)state;
    takes_at_all(story, A);
    happens(
        story,
        (struct event){
            .kind = EVENT_CALL, .client = A, .server = -1, .op = OP_EXTEND, .is_inferred = true});
    happens(story, (struct event){.kind = EVENT_RETURN,
                                  .client = A,
                                  .server = -1,
                                  .op = OP_EXTEND,
                                  .result = RESULT_DONE,
                                  .is_inferred = true});
    ends(story);
    assert_silent(story);
    story_free(story);
}

/* Without the servers' side: behind its own lease, beside another one, it may have a new lease from
 * then on. Who asks alone is with nobody. */
static void who_asks_for_a_lease_beside_another_may_have_one(void **state)
{
    (void)state;
    for (int is_beside = 0; is_beside < 2; is_beside++) {
        struct story *story = story_new(&expiring, 1, 300);
        calls(story, A, OP_ACQUIRE);
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        at(story, 400);
        if (is_beside) {
            calls(story, B, OP_ACQUIRE);
            returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        }
        at(story, 450);
        calls(story, A, OP_EXTEND);
        returns(story, A, OP_EXTEND, RESULT_FAILED);
        if (!is_beside) {
            calls(story, B, OP_ACQUIRE);
            returns(story, B, OP_ACQUIRE, RESULT_REFUSED);
        }
        ends(story);
        assert_verdict(story, PROPERTY_LEASE_EXCLUSION,
                       is_beside ? VERDICT_UNKNOWN : VERDICT_HOLDS);
        if (is_beside)
            assert_says(&story->findings[PROPERTY_LEASE_EXCLUSION],
                        "A asked for its lease anew at 450.0 ms, while another client believed to "
                        "hold the lock.");
        story_free(story);
    }
}

/* A asks again for what it holds, or was not told that it has; is refused by its own key, and
 * renews that in the second attempt: "extended" is so. It is not where the key was found no more.
 */
static void who_is_refused_by_its_own_lock_may_extend_that(void **state)
{
    (void)state;
    for (int row = 0; row < 4; row++) {
        const bool is_untold = row & 1, is_found = row < 2;
        struct story *story = story_new(&expiring, 1, LEASE);
        is_granted(story, A);
        const struct command renews = renewal(story, A);
        returns(story, A, OP_ACQUIRE, is_untold ? RESULT_FAILED : RESULT_GRANTED);
        is_refused(story, A);
        at(story, is_found ? 100 : LEASE + 10);
        calls(story, A, OP_EXTEND);
        executes(story, A, OP_EXTEND, renews, INTEGER(is_found));
        returns(story, A, OP_EXTEND, RESULT_DONE);
        at(story, LEASE + 200);
        acquires(story, B);
        releases(story, B, 1);
        ends(story);
        /* Who was not told that it has it, and left it, is not told the truth by that refusal. */
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, is_untold + !is_found);
        if (!is_found && !is_untold)
            assert_says(&story->findings[PROPERTY_TRUTHFUL], "no server had extended its lock");
        assert_holds(story, PROPERTY_EXTEND_OWN);
        assert_holds(story, PROPERTY_LEASE_EXCLUSION);
        story_free(story);
    }
}

/* It asks every 100 ms, as long as it holds, and each counts from when it left, be it told of
 * replies or not: A's own lease ends at 510. The server loses the key, and B gets it. */
static void each_of_many_counts_from_its_own_request(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool is_told = i & 1, is_within = i & 2;
        struct story *story = story_new(&expiring, 1, LEASE);
        takes_at_all(story, A);
        for (int ms = 10; ms <= 210; ms += 100) {
            at(story, ms);
            calls(story, A, OP_EXTEND);
            asks(story, A, 0);
            executes_at(story, A, 0, OP_EXTEND, renewal(story, A), INTEGER(1));
            if (is_told)
                hears(story, A, 0, OP_EXTEND, renewal(story, A), INTEGER(1));
            returns(story, A, OP_EXTEND, RESULT_DONE);
        }
        at(story, 400);
        strikes(story, "evict", -1, 0, 0);
        then_takes(story, is_within ? 505 : 511, is_within);
    }
}

/* The same of a watchdog, whose renewals nobody calls for. */
static void each_renewal_of_a_watchdog_counts_from_its_own_request(void **state)
{
    (void)state;
    for (int is_within = 0; is_within < 2; is_within++) {
        struct story *story = story_new(&expiring, 1, LEASE);
        takes_at_all(story, A);
        for (int ms = 10; ms <= 210; ms += 100) {
            at(story, ms);
            sends(story, A, 0, OP_EXTEND, renewal(story, A));
            executes_at(story, A, 0, OP_EXTEND, renewal(story, A), INTEGER(1));
        }
        at(story, 400);
        strikes(story, "evict", -1, 0, 0);
        then_takes(story, is_within ? 505 : 511, is_within);
    }
}

/* Its holder puts another value in the place of its own; where that has gone, it is no renewal. */
static void another_value_over_its_own_key_is_a_renewal(void **state)
{
    (void)state;
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        struct story *story = story_new(&expiring, 1, LEASE);
        const struct command anew = command(VERB_GETSET, token(story, A) + 7, 0);
        takes_at_all(story, A);
        at(story, is_gone ? 400 : 200);
        calls(story, A, OP_EXTEND);
        executes_at(story, A, 0, OP_EXTEND, anew, is_gone ? NIL : VALUE(token(story, A)));
        at(story, is_gone ? 410 : 210);
        returns(story, A, OP_EXTEND, RESULT_DONE);
        ends(story);
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].count, is_gone);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_counts_anew_once_it_was_told),
        cmocka_unit_test(another_value_over_its_own_key_is_a_renewal),
        cmocka_unit_test(without_sends_a_lease_counts_from_the_call),
        cmocka_unit_test(a_lease_that_comes_back_is_one),
        cmocka_unit_test(a_quorums_lease_counts_from_the_first_request),
        cmocka_unit_test(who_is_told_that_it_is_not_his_holds_no_more),
        cmocka_unit_test(extended_means_that_a_server_did),
        cmocka_unit_test(each_is_asked_for_itself),
        cmocka_unit_test(who_extends_anothers_lock_has_extended_nothing),
        cmocka_unit_test(who_has_extended_is_late_no_more),
        cmocka_unit_test(what_is_extended_is_touched_no_more),
        cmocka_unit_test(what_was_inferred_is_no_answer),
        cmocka_unit_test(who_asks_for_a_lease_beside_another_may_have_one),
        cmocka_unit_test(who_is_refused_by_its_own_lock_may_extend_that),
        cmocka_unit_test(each_of_many_counts_from_its_own_request),
        cmocka_unit_test(each_renewal_of_a_watchdog_counts_from_its_own_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
