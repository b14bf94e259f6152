/* test_schemes_guarded.c - the schemes with more than a key at a server, as expected traces: a
 * quorum, a fence, a watchdog. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/play.h"

/* --- redlock --- */

static struct play redlock_of(int servers)
{
    struct play play = play_of("redlock", 300 * MILLISECOND);
    play.lease.servers = servers;
    return play;
}

#define SET(n)    from(n, answer(VERB_SET_NX_PX, REPLY_OK, 0))
#define TAKEN(n)  from(n, answer(VERB_SET_NX_PX, REPLY_NIL, 0))
#define SILENT(n) from(n, no_answer(MOMENT_TIMEOUT, VERB_SET_NX_PX))
#define GONE(n)   from(n, answer(VERB_COMPARE_DELETE, REPLY_INTEGER, 1))
#define OTHERS(n) from(n, answer(VERB_COMPARE_DELETE, REPLY_INTEGER, 0))
#define CUT(n)    from(n, no_answer(MOMENT_LOST, VERB_COMPARE_DELETE))

#define ASK3    "SET_NX_PX 7 300ms; SET_NX_PX@1 7 300ms; SET_NX_PX@2 7 300ms"
#define DELETE3 "COMPARE_DELETE 7; COMPARE_DELETE@1 7; COMPARE_DELETE@2 7"

static struct play redlock_held(void)
{
    struct play a = redlock_of(3);
    START(&a, ASK3);
    EXPECT(&a, SET(2), ""); /* in any order */
    EXPECT(&a, SET(0), ""); /* a majority, but one server has not spoken yet */
    EXPECT(&a, SILENT(1), "granted");
    return a;
}

static void test_redlock(void **unused)
{
    (void)unused;
    struct play a = redlock_held();
    RELEASE(&a, DELETE3); /* the silent one too */
    struct play foreign = a, unsure = a;
    EXPECT(&a, GONE(0), "");
    EXPECT(&a, OTHERS(1), "");
    EXPECT(&a, GONE(2), "released");
    is_over(&a);

    EXPECT(&foreign, OTHERS(0), "");
    EXPECT(&foreign, OTHERS(1), "");
    EXPECT(&foreign, GONE(2), "not mine");

    EXPECT(&unsure, GONE(0), "");
    EXPECT(&unsure, OTHERS(1), "");
    EXPECT(&unsure, CUT(2), "failed");
}

static void test_redlock_without_a_majority(void **unused)
{
    (void)unused;
    struct play a = redlock_of(3);
    START(&a, ASK3);
    EXPECT(&a, SET(0), "");
    struct play silent = a;
    EXPECT(&a, TAKEN(1), "");
    EXPECT(&a, TAKEN(2), DELETE3);
    EXPECT(&a, GONE(0), "");
    EXPECT(&a, OTHERS(1), "");
    EXPECT(&a, CUT(2), "refused");
    is_over(&a);

    EXPECT(&silent, SILENT(1), "");
    EXPECT(&silent, SILENT(2), DELETE3);
    EXPECT(&silent, GONE(0), "");
    EXPECT(&silent, CUT(1), "");
    EXPECT(&silent, CUT(2), "failed"); /* nobody refused */
}

/* One server refused; of the others any two may have executed its SET. */
static void test_redlock_unsure_is_no_refusal(void **unused)
{
    (void)unused;
    struct play a = redlock_of(3);
    START(&a, ASK3);
    EXPECT(&a, TAKEN(0), "");
    EXPECT(&a, SILENT(1), "");
    struct play sure = a;
    EXPECT(&a, SILENT(2), DELETE3);
    EXPECT(&a, OTHERS(0), "");
    EXPECT(&a, CUT(1), "");
    EXPECT(&a, CUT(2), "failed");

    EXPECT(&sure, TAKEN(2), DELETE3);
    EXPECT(&sure, OTHERS(0), "");
    EXPECT(&sure, CUT(1), "");
    EXPECT(&sure, OTHERS(2), "refused"); /* no majority was left */
}

static void test_redlock_five_servers(void **unused)
{
    (void)unused;
    struct play a = redlock_of(5);
    START(&a, ASK3 "; SET_NX_PX@3 7 300ms; SET_NX_PX@4 7 300ms");
    EXPECT(&a, SET(0), "");
    EXPECT(&a, TAKEN(1), "");
    EXPECT(&a, SET(2), "");
    EXPECT(&a, TAKEN(3), "");
    struct play two = a;
    EXPECT(&a, SET(4), "granted");
    EXPECT(&two, SILENT(4), DELETE3 "; COMPARE_DELETE@3 7; COMPARE_DELETE@4 7");
}

static void test_redlock_validity(void **unused)
{
    (void)unused;
    /* 300 ms - 1 % - 2 ms = 295 ms: less than that may have passed when the last server has spoken.
     */
    struct play a = redlock_of(1);
    START(&a, "SET_NX_PX 7 300ms");
    struct play late = a;
    a.now_us = EPOCH + 295 * MILLISECOND - 1;
    EXPECT(&a, SET(0), "granted");
    late.now_us = EPOCH + 295 * MILLISECOND;
    EXPECT(&late, SET(0), "COMPARE_DELETE 7");
    EXPECT(&late, GONE(0), "failed"); /* too late, but nobody else had it */
}

static void test_redlock_too_late_is_no_refusal(void **unused)
{
    (void)unused;
    struct play a = redlock_of(3);
    START(&a, ASK3);
    EXPECT(&a, SET(0), "");
    EXPECT(&a, TAKEN(1), "");
    a.now_us += SECOND;
    EXPECT(&a, SET(2), DELETE3);
    EXPECT(&a, OTHERS(0), "");
    EXPECT(&a, OTHERS(1), "");
    EXPECT(&a, OTHERS(2), "failed"); /* a majority said yes: nobody else can have held it */
}

/* --- fences --- */

static void test_fenced(void **unused)
{
    (void)unused;
    struct play a = play_of("fenced", 300 * MILLISECOND);
    START(&a, "SET_MINT 7 300ms");
    struct play refused = a, lost = a;
    NIL(&refused, "refused");
    LOST(&lost, "failed");
    NUMBER(&a, 33, "granted 33");
    RELEASE(&a, "COMPARE_DELETE 7");
    NUMBER(&a, 1, "released");
}

static void test_fenced_late_incr(void **unused)
{
    (void)unused;
    struct play a = play_of("fenced-late-incr", 300 * MILLISECOND);
    START(&a, "SET_NX_PX 7 300ms");
    struct play refused = a;
    NIL(&refused, "refused");
    OK(&a, "INCR fence");
    struct play lost = a;
    a.now_us += SECOND; /* the lock has long expired: the number is taken all the same */
    NUMBER(&a, 34, "granted 34");
    RELEASE(&a, "COMPARE_DELETE 7");
    NUMBER(&a, 0, "not mine");
    TIMEOUT(&lost, "failed");
}

/* --- watchdogs --- */

static struct play dog_held(const char *name)
{
    struct play a = play_of(name, 300 * MILLISECOND);
    START(&a, "SET_NX_PX 7 300ms");
    OK(&a, "granted; timer 100ms");
    return a;
}

#define RENEWAL "renew COMPARE_EXPIRE 7 300ms"

static void test_watchdog(void **unused)
{
    (void)unused;
    struct play a = dog_held("watchdog");
    a.now_us += 100 * MILLISECOND;
    WAKE(&a, RENEWAL);
    RENEWED(&a, 1, "timer 100ms");
    WAKE(&a, RENEWAL);
    RENEWED(&a, 0, "timer 100ms"); /* lost, and ignored */
    RELEASE(&a, "COMPARE_DELETE 7");
    NUMBER(&a, 1, "released; timer off");
    is_over(&a);

    struct play refused = play_of("watchdog", 300 * MILLISECOND);
    START(&refused, "SET_NX_PX 7 300ms");
    RENEWED(&refused, 0, ""); /* an answer to an earlier attempt's renewal */
    NIL(&refused, "refused");
}

static void test_watchdog_hangs(void **unused)
{
    (void)unused;
    struct play a = dog_held("watchdog");
    WAKE(&a, RENEWAL);
    a.now_us += 10 * SECOND;
    WAKE(&a, ""); /* still waiting; no notice, no second try */
    EXPECT(&a, no_answer(MOMENT_TIMEOUT, VERB_COMPARE_EXPIRE), "");
    WAKE(&a, "");
}

static void test_watchdog_outlives_a_failed_release(void **unused)
{
    (void)unused;
    struct play a = dog_held("watchdog");
    RELEASE(&a, "COMPARE_DELETE 7");
    WAKE(&a, RENEWAL); /* the timer runs on while the release is under way */
    RENEWED(&a, 1, "timer 100ms");
    EXPECT(&a, no_answer(MOMENT_TIMEOUT, VERB_COMPARE_DELETE), "failed");
    for (int i = 0; i < 100; i++) {
        WAKE(&a, RENEWAL);
        RENEWED(&a, 1, "timer 100ms");
    }
}

static void test_watchdog_guarded(void **unused)
{
    (void)unused;
    struct play a = dog_held("watchdog-guarded");
    a.now_us = EPOCH + 100 * MILLISECOND;
    WAKE(&a, RENEWAL "; timer 100ms");
    a.now_us += 10 * MILLISECOND;
    RENEWED(&a, 1, "timer 100ms"); /* the lease now ends 300 ms after the call, at 400 ms */
    RELEASE(&a, "timer off; COMPARE_DELETE 7");
    RENEWED(&a, 1, "");
    NUMBER(&a, 1, "released");
    is_over(&a);

    struct play foreign = dog_held("watchdog-guarded");
    WAKE(&foreign, RENEWAL "; timer 100ms");
    RENEWED(&foreign, 0, "timer off; lost");
    is_over(&foreign);
}

static void test_watchdog_guarded_tells_of_a_hanging_renewal(void **unused)
{
    (void)unused;
    struct play a = dog_held("watchdog-guarded");
    a.now_us = EPOCH + 100 * MILLISECOND;
    WAKE(&a, RENEWAL "; timer 100ms");
    a.now_us = EPOCH + 200 * MILLISECOND;
    WAKE(&a, "timer 100ms");
    a.now_us = EPOCH + 290 * MILLISECOND;
    WAKE(&a, "timer 10ms"); /* not behind the end of the lease */
    a.now_us = EPOCH + 300 * MILLISECOND;
    WAKE(&a, "timer off; lost");
    RENEWED(&a, 1, ""); /* too late */
}

static void test_watchdog_guarded_tries_again(void **unused)
{
    (void)unused;
    struct play a = dog_held("watchdog-guarded");
    a.now_us = EPOCH + 100 * MILLISECOND;
    WAKE(&a, RENEWAL "; timer 100ms");
    EXPECT(&a, no_answer(MOMENT_LOST, VERB_COMPARE_EXPIRE), "");
    a.now_us = EPOCH + 200 * MILLISECOND;
    WAKE(&a, RENEWAL "; timer 100ms");
    a.now_us = EPOCH + 320 * MILLISECOND;
    RENEWED(&a, 1,
            "timer 100ms"); /* called at 200 ms: the lease runs to 500 ms, it was never lost */
    a.now_us = EPOCH + 420 * MILLISECOND;
    WAKE(&a, RENEWAL "; timer 80ms");
}

static void test_watchdog_guarded_refuses_a_late_grant(void **unused)
{
    (void)unused;
    struct play a = play_of("watchdog-guarded", 300 * MILLISECOND);
    START(&a, "SET_NX_PX 7 300ms");
    a.now_us = EPOCH + 300 * MILLISECOND;
    OK(&a, "COMPARE_DELETE 7");
    NUMBER(&a, 0, "failed");
    is_over(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redlock),
        cmocka_unit_test(test_redlock_without_a_majority),
        cmocka_unit_test(test_redlock_unsure_is_no_refusal),
        cmocka_unit_test(test_redlock_five_servers),
        cmocka_unit_test(test_redlock_validity),
        cmocka_unit_test(test_redlock_too_late_is_no_refusal),
        cmocka_unit_test(test_fenced),
        cmocka_unit_test(test_fenced_late_incr),
        cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_watchdog_hangs),
        cmocka_unit_test(test_watchdog_outlives_a_failed_release),
        cmocka_unit_test(test_watchdog_guarded),
        cmocka_unit_test(test_watchdog_guarded_tells_of_a_hanging_renewal),
        cmocka_unit_test(test_watchdog_guarded_tries_again),
        cmocka_unit_test(test_watchdog_guarded_refuses_a_late_grant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
