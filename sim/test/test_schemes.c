/* test_schemes.c - every scheme as an expected trace: what it asks for after each moment.
 *
 * A pure driver: no world, no server. The straight path of each, then every odd one that its
 * article gets wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "schemes/scheme.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TOKEN = 7, OTHER = 8, SECOND = 1000000, MILLISECOND = 1000 };

/* Own clock at the start: a whole second and a bit, so that rounding down is seen. */
#define EPOCH (INT64_C(100) * SECOND + 900 * MILLISECOND)

static const char *const verbs[] = {
#define VERB(id, name, effect, requests, arguments) #id,
#include "redis/commands.def"
#undef VERB
};

static const char *const words[] = {
    [ASK_GRANTED] = "granted",   [ASK_REFUSED] = "refused",         [ASK_FAILED] = "failed",
    [ASK_RELEASED] = "released", [ASK_NOT_MINE] = "not mine",       [ASK_LOST] = "lost",
    [ASK_CRASHED] = "crashed",   [ASK_UNSUPPORTED] = "unsupported",
};

struct play {
    const struct scheme *scheme;
    struct lease lease;
    int64_t state[SCHEME_FIELDS_MAX];
    int64_t now_us;
    enum verb sent; /* the newest command on LANE_MAIN */
    char text[1024];
};

static struct play play_of(const char *name, int64_t lease_us)
{
    struct play play = {.scheme = scheme_named(name), .now_us = EPOCH};
    assert_non_null(play.scheme);
    play.lease = (struct lease){.ttl_us = scheme_lease_us(play.scheme, lease_us),
                                .unit_us = play.scheme->unit_us,
                                .token = TOKEN,
                                .servers = 1,
                                .server_kind = SERVER_REDIS};
    return play;
}

static void play_add(struct play *play, const char *text)
{
    size_t used = strlen(play->text);
    assert_true(used + strlen(text) + 3 < sizeof play->text);
    snprintf(play->text + used, sizeof play->text - used, "%s%s", used ? "; " : "", text);
}

static void play_command(struct play *play, const struct ask *ask)
{
    char text[256];
    int used = snprintf(text, sizeof text, "%s%s", ask->lane == LANE_RENEW ? "renew " : "",
                        verbs[ask->command.verb]);
    if (ask->server > 0)
        used += snprintf(text + used, sizeof text - (size_t)used, "@%d", ask->server);
    if (ask->command.key == KEY_FENCE)
        used += snprintf(text + used, sizeof text - (size_t)used, " fence");
    if (ask->command.value != 0)
        used += snprintf(text + used, sizeof text - (size_t)used, " %" PRId64, ask->command.value);
    if (ask->command.ttl_us != 0)
        snprintf(text + used, sizeof text - (size_t)used, " %" PRId64 "ms",
                 ask->command.ttl_us / MILLISECOND);
    if (ask->lane == LANE_MAIN)
        play->sent = ask->command.verb;
    play_add(play, text);
}

/* One moment; returns what was asked for, as text. */
static const char *play_step(struct play *play, struct moment moment)
{
    struct outbox out = {0};
    char text[64];
    moment.now_us = play->now_us;
    play->text[0] = '\0';
    play->scheme->step(play->state, &play->lease, &moment, &out);
    for (int i = 0; i < out.count; i++) {
        const struct ask *ask = &out.asks[i];
        if (ask->kind == ASK_SEND) {
            play_command(play, ask);
        } else if (ask->kind == ASK_SLEEP && ask->sleep_us == SLEEP_NEVER) {
            play_add(play, "timer off");
        } else if (ask->kind == ASK_SLEEP) {
            snprintf(text, sizeof text, "timer %" PRId64 "ms", ask->sleep_us / MILLISECOND);
            play_add(play, text);
        } else if (ask->kind == ASK_GRANTED && ask->fence != 0) {
            snprintf(text, sizeof text, "granted %" PRId64, ask->fence);
            play_add(play, text);
        } else {
            play_add(play, words[ask->kind]);
        }
    }
    return play->text;
}

static struct moment at_once(enum moment_kind kind)
{
    return (struct moment){.kind = kind};
}

static struct moment answer(enum verb verb, enum reply_kind kind, int64_t value)
{
    return (struct moment){
        .kind = MOMENT_REPLY, .verb = verb, .reply = {.kind = kind, .value = value}};
}

static struct moment refusal(enum verb verb, enum reply_error error)
{
    return (struct moment){
        .kind = MOMENT_REPLY, .verb = verb, .reply = {.kind = REPLY_ERROR, .error = error}};
}

static struct moment no_answer(enum moment_kind kind, enum verb verb)
{
    return (struct moment){.kind = kind, .verb = verb};
}

static struct moment from(int server, struct moment moment)
{
    moment.server = server;
    return moment;
}

/* The scheme's asks after a moment are exactly this text. */
#define EXPECT(play, moment, text) assert_string_equal(play_step((play), (moment)), (text))

#define START(play, text)      EXPECT(play, at_once(MOMENT_START), text)
#define RELEASE(play, text)    EXPECT(play, at_once(MOMENT_RELEASE), text)
#define WAKE(play, text)       EXPECT(play, at_once(MOMENT_WAKE), text)
#define OK(play, text)         EXPECT(play, answer((play)->sent, REPLY_OK, 0), text)
#define NIL(play, text)        EXPECT(play, answer((play)->sent, REPLY_NIL, 0), text)
#define NUMBER(play, n, text)  EXPECT(play, answer((play)->sent, REPLY_INTEGER, n), text)
#define VALUE(play, n, text)   EXPECT(play, answer((play)->sent, REPLY_VALUE, n), text)
#define ERROR(play, e, text)   EXPECT(play, refusal((play)->sent, e), text)
#define TIMEOUT(play, text)    EXPECT(play, no_answer(MOMENT_TIMEOUT, (play)->sent), text)
#define LOST(play, text)       EXPECT(play, no_answer(MOMENT_LOST, (play)->sent), text)
#define RENEWED(play, n, text) EXPECT(play, answer(VERB_COMPARE_EXPIRE, REPLY_INTEGER, n), text)

/* Whatever comes after the end changes nothing. */
static void is_over(struct play *play)
{
    WAKE(play, "");
    OK(play, "");
}

/* --- the table --- */

static void test_every_row_is_complete(void **unused)
{
    (void)unused;
    assert_int_equal(schemes_count, 20);
    for (int i = 0; i < schemes_count; i++) {
        const struct scheme *scheme = schemes[i];
        assert_ptr_equal(scheme_named(scheme->name), scheme);
        assert_true(strlen(scheme->summary) > 0 && strlen(scheme->source) > 0);
        assert_int_equal(scheme->fields[0], FIELD_STEP);
        assert_in_range(scheme->fields_count, 1, SCHEME_FIELDS_MAX);
        assert_true(scheme->unit_us == SECOND || scheme->unit_us == MILLISECOND);
        assert_int_equal(scheme->is_naive, scheme->weakness != NULL);
        assert_true(!scheme->promises_token || scheme->token == TOKEN_UNIQUE);
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
    struct play foreign = a, gone = a, trouble = a;
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
    TIMEOUT(&trouble, "UNWATCH");
    OK(&trouble, "failed");
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
        cmocka_unit_test(test_set_ifeq_delex),
        cmocka_unit_test(test_stamp_getset),
        cmocka_unit_test(test_stamp_getset_keeps_the_clock_of_its_start),
        cmocka_unit_test(test_stamp_getset_inverted),
        cmocka_unit_test(test_stamp_del_setnx),
        cmocka_unit_test(test_redlock),
        cmocka_unit_test(test_redlock_without_a_majority),
        cmocka_unit_test(test_redlock_five_servers),
        cmocka_unit_test(test_redlock_validity),
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
