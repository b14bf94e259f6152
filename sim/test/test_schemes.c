/* test_schemes.c - every scheme as an expected trace: what it asks for after each moment.
 *
 * The straight path of each, then every odd one that its source gets wrong. Quorum, fences and
 * watchdogs are in test_schemes_guarded.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/play.h"

/* --- the table --- */

static void test_every_row_is_complete(void **unused)
{
    (void)unused;
    assert_int_equal(schemes_count, 23);
    for (int i = 0; i < schemes_count; i++) {
        const struct scheme *scheme = schemes[i];
        assert_ptr_equal(scheme_named(scheme->name), scheme);
        assert_true(strlen(scheme->summary) > 0 && strlen(scheme->source) > 0);
        assert_int_equal(scheme->fields[0], FIELD_STEP);
        assert_in_range(scheme->fields_count, 1, SCHEME_FIELDS_MAX);
        assert_true(scheme->unit_us == SECOND || scheme->unit_us == MILLISECOND);
        assert_int_equal(scheme->is_naive, scheme->weakness != NULL);
        assert_true(!scheme->promises_token || scheme->token == TOKEN_UNIQUE ||
                    scheme->uses_client_clock);
    }
    assert_null(scheme_named("set-nx-px"));
    assert_null(scheme_named("skeleton"));
}

static void test_lease_is_rounded_up_to_the_unit(void **unused)
{
    (void)unused;
    const struct scheme *seconds = scheme_named("set-nx-ex-del");
    assert_int_equal(scheme_lease_us(seconds, 300 * MILLISECOND), SECOND);
    assert_int_equal(scheme_lease_us(seconds, SECOND), SECOND);
    assert_int_equal(scheme_lease_us(seconds, SECOND + 1), 2 * SECOND);
    assert_int_equal(scheme_lease_us(scheme_named("set-nx-px-cad"), 300 * MILLISECOND),
                     300 * MILLISECOND);
}

/* --- one command, a plain DEL --- */

static void test_setnx_del(void **unused)
{
    (void)unused;
    struct play a = play_of("setnx-del", SECOND);
    START(&a, "SETNX 7");
    NUMBER(&a, 1, "granted");
    RELEASE(&a, "DEL");
    NUMBER(&a, 0, "released"); /* nobody looks at the number */
    is_over(&a);

    struct play b = play_of("setnx-del", SECOND);
    START(&b, "SETNX 7");
    NUMBER(&b, 0, "refused");
    is_over(&b);

    struct play c = play_of("setnx-del", SECOND);
    START(&c, "SETNX 7");
    NUMBER(&c, 1, "granted");
    RELEASE(&c, "DEL");
    TIMEOUT(&c, "failed");
    is_over(&c);
}

static void test_setnx_expire_del(void **unused)
{
    (void)unused;
    struct play a = play_of("setnx-expire-del", SECOND);
    START(&a, "SETNX 7");
    NUMBER(&a, 1, "EXPIRE 1000ms");
    NUMBER(&a, 0, "granted"); /* the key is gone already: not noticed */
    RELEASE(&a, "DEL");
    NUMBER(&a, 1, "released");

    struct play loser = play_of("setnx-expire-del", SECOND);
    START(&loser, "SETNX 7");
    NUMBER(&loser, 0, "refused"); /* and no EXPIRE */

    struct play cut = play_of("setnx-expire-del", SECOND);
    START(&cut, "SETNX 7");
    NUMBER(&cut, 1, "EXPIRE 1000ms");
    LOST(&cut, "failed"); /* and no DEL: the key stays, without an expiry */
    is_over(&cut);
}

static void test_multi_setnx_expire_del(void **unused)
{
    (void)unused;
    struct play a = play_of("multi-setnx-expire-del", SECOND);
    START(&a, "MULTI_SETNX_EXPIRE 7 1000ms");
    EXPECT(&a, answer(a.sent, REPLY_TRANSACTION, 1), "granted");
    RELEASE(&a, "DEL");
    NUMBER(&a, 1, "released");

    struct play loser = play_of("multi-setnx-expire-del", SECOND);
    START(&loser, "MULTI_SETNX_EXPIRE 7 1000ms");
    EXPECT(&loser, answer(loser.sent, REPLY_TRANSACTION, 0), "refused");

    struct play aborted = play_of("multi-setnx-expire-del", SECOND);
    START(&aborted, "MULTI_SETNX_EXPIRE 7 1000ms");
    NIL(&aborted, "failed");
}

static void test_lua_setnx_expire_del(void **unused)
{
    (void)unused;
    struct play a = play_of("lua-setnx-expire-del", SECOND);
    START(&a, "LUA_SETNX_EXPIRE 7 1000ms");
    NUMBER(&a, 1, "granted");
    RELEASE(&a, "DEL");
    NUMBER(&a, 1, "released");

    struct play loser = play_of("lua-setnx-expire-del", SECOND);
    START(&loser, "LUA_SETNX_EXPIRE 7 1000ms");
    NUMBER(&loser, 0, "refused");

    struct play cluster = play_of("lua-setnx-expire-del", SECOND);
    START(&cluster, "LUA_SETNX_EXPIRE 7 1000ms");
    ERROR(&cluster, ERROR_CROSSSLOT, "failed");
}

static void test_set_nx_ex_del(void **unused)
{
    (void)unused;
    struct play a = play_of("set-nx-ex-del", SECOND);
    START(&a, "SET_NX_EX 7 1000ms");
    OK(&a, "granted");
    a.now_us += 5 * SECOND; /* far behind its lease: it deletes all the same */
    RELEASE(&a, "DEL");
    NUMBER(&a, 1, "released");
    is_over(&a);

    struct play b = play_of("set-nx-ex-del", SECOND);
    START(&b, "SET_NX_EX 7 1000ms");
    NIL(&b, "refused");

    struct play c = play_of("set-nx-ex-del", SECOND);
    START(&c, "SET_NX_EX 7 1000ms");
    ERROR(&c, ERROR_OOM, "failed");

    struct play d = play_of("set-nx-ex-del", SECOND);
    START(&d, "SET_NX_EX 7 1000ms");
    ERROR(&d, ERROR_UNSUPPORTED, "unsupported");
}

/* --- tokens --- */

static void test_set_nx_ex_get_del(void **unused)
{
    (void)unused;
    struct play a = play_of("set-nx-ex-get-del", SECOND);
    START(&a, "SET_NX_EX 7 1000ms");
    OK(&a, "granted");
    RELEASE(&a, "GET");
    VALUE(&a, TOKEN, "DEL"); /* and what happens before it arrives, nobody knows */
    NUMBER(&a, 1, "released");

    struct play b = a;
    memset(b.state, 0, sizeof b.state);
    START(&b, "SET_NX_EX 7 1000ms");
    OK(&b, "granted");
    RELEASE(&b, "GET");
    struct play gone = b, cut = b;
    VALUE(&b, OTHER, "not mine");
    NIL(&gone, "not mine");
    TIMEOUT(&cut, "failed");
}

static void cad_trace(const char *name)
{
    struct play a = play_of(name, 300 * MILLISECOND);
    START(&a, "SET_NX_PX 7 300ms");
    struct play refused = a, timed_out = a, lost = a;
    NIL(&refused, "refused");
    TIMEOUT(&timed_out, "failed");
    LOST(&lost, "failed");
    is_over(&lost);
    OK(&a, "granted");
    RELEASE(&a, "COMPARE_DELETE 7");
    struct play foreign = a, cut = a;
    NUMBER(&a, 1, "released");
    NUMBER(&foreign, 0, "not mine");
    LOST(&cut, "failed");
    is_over(&a);
}

static void test_set_nx_px_cad(void **unused)
{
    (void)unused;
    cad_trace("set-nx-px-cad");
    cad_trace("set-nx-px-cad-weak-token");
    cad_trace("set-nx-px-cad-empty-token");
    assert_int_equal(scheme_named("set-nx-px-cad")->token, TOKEN_UNIQUE);
    assert_int_equal(scheme_named("set-nx-px-cad-weak-token")->token, TOKEN_WEAK);
    assert_int_equal(scheme_named("set-nx-px-cad-empty-token")->token, TOKEN_EMPTY);
}

static void test_late_answer_is_believed(void **unused)
{
    (void)unused;
    struct play a = play_of("set-nx-px-cad", 300 * MILLISECOND);
    START(&a, "SET_NX_PX 7 300ms");
    a.now_us += SECOND;
    OK(&a, "granted"); /* the late grant: it does not look at its clock */
}

static void test_watch_multi_del(void **unused)
{
    (void)unused;
    struct play a = play_of("watch-multi-del", 300 * MILLISECOND);
    START(&a, "SET_NX_PX 7 300ms");
    OK(&a, "granted");
    RELEASE(&a, "WATCH");
    struct play no_watch = a;
    OK(&a, "GET");
    struct play foreign = a, gone = a, silent = a;
    VALUE(&a, TOKEN, "MULTI_DEL");
    struct play aborted = a, empty = a, cut = a;
    EXPECT(&a, answer(a.sent, REPLY_TRANSACTION, 1), "released");
    is_over(&a);

    NIL(&aborted, "not mine");
    EXPECT(&empty, answer(empty.sent, REPLY_TRANSACTION, 0), "not mine");
    LOST(&cut, "failed");
    ERROR(&no_watch, ERROR_LOADING, "failed");
    VALUE(&foreign, OTHER, "UNWATCH");
    OK(&foreign, "not mine");
    NIL(&gone, "UNWATCH");
    TIMEOUT(&gone, "not mine"); /* the answer to UNWATCH changes nothing */
    TIMEOUT(&silent, "UNWATCH");
    OK(&silent, "failed");
}

static void test_get_watch_multi_del(void **unused)
{
    (void)unused;
    struct play a = play_of("get-watch-multi-del", 300 * MILLISECOND);
    START(&a, "SET_NX_PX 7 300ms");
    OK(&a, "granted");
    RELEASE(&a, "GET");
    struct play foreign = a;
    VALUE(&a, TOKEN, "WATCH"); /* the gap is in front of it */
    OK(&a, "MULTI_DEL");
    EXPECT(&a, answer(a.sent, REPLY_TRANSACTION, 1), "released");
    VALUE(&foreign, OTHER, "not mine");
}

static void test_set_nx_px_evalsha(void **unused)
{
    (void)unused;
    struct play a = play_of("set-nx-px-evalsha", 300 * MILLISECOND);
    START(&a, "SCRIPT_LOAD");
    struct play unloaded = a;
    ERROR(&unloaded, ERROR_LOADING, "failed"); /* no lock without the script */
    is_over(&unloaded);
    OK(&a, "SET_NX_PX 7 300ms");
    struct play refused = a;
    NIL(&refused, "refused");
    OK(&a, "granted");
    RELEASE(&a, "COMPARE_DELETE_SHA 7");
    struct play foreign = a, forgotten = a;
    NUMBER(&a, 1, "released");
    NUMBER(&foreign, 0, "not mine");
    ERROR(&forgotten, ERROR_NOSCRIPT, "failed");
    is_over(&forgotten);
}

static void test_set_nx_px_evalsha_eval(void **unused)
{
    (void)unused;
    struct play a = play_of("set-nx-px-evalsha-eval", 300 * MILLISECOND);
    START(&a, "SET_NX_PX 7 300ms");
    OK(&a, "granted");
    RELEASE(&a, "COMPARE_DELETE_SHA 7");
    struct play known = a, foreign = a, loading = a, cut = a;
    NUMBER(&known, 1, "released");
    NUMBER(&foreign, 0, "not mine");
    ERROR(&loading, ERROR_LOADING, "failed");
    LOST(&cut, "failed"); /* it may have been executed: not a case for the fallback */
    ERROR(&a, ERROR_NOSCRIPT, "COMPARE_DELETE 7");
    struct play later = a;
    NUMBER(&a, 1, "released");
    NUMBER(&later, 0, "not mine");
    is_over(&a);
}

static void test_set_ifeq_delex(void **unused)
{
    (void)unused;
    struct play a = play_of("set-ifeq-delex", 300 * MILLISECOND);
    START(&a, "SET_NX_PX 7 300ms");
    OK(&a, "granted");
    struct play valkey = a;
    valkey.lease.server_kind = SERVER_VALKEY;
    RELEASE(&valkey, "DELIFEQ 7");
    RELEASE(&a, "DELEX 7");
    struct play old = a, foreign = a;
    NUMBER(&a, 1, "released");
    NUMBER(&foreign, 0, "not mine");
    ERROR(&old, ERROR_UNSUPPORTED, "unsupported");
}

static void test_set_nx_px_wait(void **unused)
{
    (void)unused;
    struct play a = play_of("set-nx-px-wait", 300 * MILLISECOND);
    START(&a, "SET_NX_PX 7 300ms");
    struct play taken = a;
    NIL(&taken, "refused");
    is_over(&taken);
    OK(&a, "WAIT");
    struct play alone = a, silent = a, refused = a;
    NUMBER(&a, 1, "granted");
    RELEASE(&a, "COMPARE_DELETE 7");
    NUMBER(&a, 1, "released");
    is_over(&a);

    /* Given back, whatever became of that. */
    NUMBER(&alone, 0, "COMPARE_DELETE 7");
    struct play lost = alone;
    NUMBER(&alone, 1, "failed");
    is_over(&alone);
    TIMEOUT(&lost, "failed");
    TIMEOUT(&silent, "COMPARE_DELETE 7");
    NUMBER(&silent, 1, "failed");
    ERROR(&refused, ERROR_LOADING, "COMPARE_DELETE 7");
}

/* --- stamps: the clock says 100.9 s, the lease is 10 s, so the stamp is 100 + 10 + 1 --- */

static void test_stamp_getset(void **unused)
{
    (void)unused;
    struct play a = play_of("stamp-getset", 10 * SECOND);
    START(&a, "SETNX 111");
    struct play b = a;
    NUMBER(&a, 1, "granted");
    struct play late = a;
    a.now_us = INT64_C(110) * SECOND + 999999;
    RELEASE(&a, "DEL"); /* int(now) = 110 < 111 */
    NUMBER(&a, 1, "released");
    late.now_us = INT64_C(111) * SECOND;
    RELEASE(&late, "released"); /* not mine any more, it thinks: nothing is sent */

    NUMBER(&b, 0, "GET");
    struct play live = b, equal = b, nil = b, cut = b;
    VALUE(&live, 101, "refused");
    VALUE(&equal, 100, "refused"); /* 100 > 100 is false */
    NIL(&nil, "crashed");
    is_over(&nil);
    TIMEOUT(&cut, "failed");

    VALUE(&b, 99, "GETSET 111");
    struct play loser = b, taken = b;
    VALUE(&b, 99, "granted"); /* got the dead stamp back: won */
    VALUE(&loser, 111, "refused");
    NIL(&taken, "crashed");
}

static void test_stamp_getset_keeps_the_clock_of_its_start(void **unused)
{
    (void)unused;
    struct play a = play_of("stamp-getset", 10 * SECOND);
    START(&a, "SETNX 111");
    NUMBER(&a, 0, "GET");
    a.now_us += 8 * SECOND;
    VALUE(&a, 99, "GETSET 111"); /* stalled for 8 s: an older stamp than anybody's now */
    VALUE(&a, 105, "refused");   /* past by now, but not when the attempt began */
}

static void test_stamp_getset_inverted(void **unused)
{
    (void)unused;
    struct play a = play_of("stamp-getset-inverted", 10 * SECOND);
    START(&a, "SETNX 111");
    NUMBER(&a, 1, "granted");
    struct play at_stamp = a, late = a;
    RELEASE(&a, "released"); /* in time: the key stays */
    at_stamp.now_us = INT64_C(111) * SECOND;
    RELEASE(&at_stamp, "released");
    late.now_us = INT64_C(112) * SECOND;
    RELEASE(&late, "DEL"); /* late: whoever has it now */
    NUMBER(&late, 1, "released");
}

static void test_stamp_del_setnx(void **unused)
{
    (void)unused;
    struct play a = play_of("stamp-del-setnx", 10 * SECOND);
    START(&a, "SETNX 111");
    NUMBER(&a, 0, "GET");
    struct play live = a, nil = a, cut = a;
    VALUE(&live, 100, "refused");
    NIL(&nil, "refused");
    LOST(&cut, "failed");
    VALUE(&a, 99, "DEL");
    a.now_us += 2 * SECOND;
    NUMBER(&a, 0, "SETNX 113"); /* DEL's number is not looked at */
    struct play beaten = a;
    NUMBER(&a, 1, "granted");
    a.now_us += 100 * SECOND;
    RELEASE(&a, "DEL");
    NUMBER(&a, 1, "released");
    NUMBER(&beaten, 0, "refused");

    struct play first = play_of("stamp-del-setnx", 10 * SECOND);
    START(&first, "SETNX 111");
    NUMBER(&first, 1, "granted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_complete),
        cmocka_unit_test(test_lease_is_rounded_up_to_the_unit),
        cmocka_unit_test(test_setnx_del),
        cmocka_unit_test(test_setnx_expire_del),
        cmocka_unit_test(test_multi_setnx_expire_del),
        cmocka_unit_test(test_lua_setnx_expire_del),
        cmocka_unit_test(test_set_nx_ex_del),
        cmocka_unit_test(test_set_nx_ex_get_del),
        cmocka_unit_test(test_set_nx_px_cad),
        cmocka_unit_test(test_late_answer_is_believed),
        cmocka_unit_test(test_watch_multi_del),
        cmocka_unit_test(test_get_watch_multi_del),
        cmocka_unit_test(test_set_nx_px_evalsha),
        cmocka_unit_test(test_set_nx_px_evalsha_eval),
        cmocka_unit_test(test_set_ifeq_delex),
        cmocka_unit_test(test_set_nx_px_wait),
        cmocka_unit_test(test_stamp_getset),
        cmocka_unit_test(test_stamp_getset_keeps_the_clock_of_its_start),
        cmocka_unit_test(test_stamp_getset_inverted),
        cmocka_unit_test(test_stamp_del_setnx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
