/* test_model.c - the rules of the model, one by one; differential.c holds the same model to a real
 * server. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "redis/model.h"

#include <string.h>

enum { ONE_MS = 1000, ONE_S = 1000000 };

/* A server with one connection (and a second one for WATCH) at some wall-clock time. */
static struct model model;
static struct model_watch mine, others;
static int64_t now_us;

static int before_each(void **state)
{
    (void)state;
    model_init(&model, ONE_MS);
    memset(&mine, 0, sizeof mine);
    memset(&others, 0, sizeof others);
    now_us = INT64_C(1767225600000000);
    return 0;
}

static struct reply says(struct command command)
{
    return model_execute(&model, &mine, &command, now_us);
}

static struct reply says_to_another(struct command command)
{
    return model_execute(&model, &others, &command, now_us);
}

static struct reply lock(int64_t value, int64_t ttl_us)
{
    return says((struct command){.verb = VERB_SET_NX_PX, .value = value, .ttl_us = ttl_us});
}

static struct reply get(enum key key)
{
    return says((struct command){.verb = VERB_GET, .key = key});
}

static void check_integer(struct reply reply, int64_t value)
{
    assert_int_equal(reply.kind, REPLY_INTEGER);
    assert_int_equal(reply.value, value);
}

static void check_value(struct reply reply, int64_t value)
{
    assert_int_equal(reply.kind, REPLY_VALUE);
    assert_true(reply.value == value);
}

static void check_error(struct reply reply, enum reply_error error)
{
    assert_int_equal(reply.kind, REPLY_ERROR);
    assert_int_equal(reply.error, error);
}

static int64_t ttl_ms(enum key key)
{
    int64_t ttl_us = model_ttl(&model, key, now_us);
    return ttl_us > 0 ? ttl_us / ONE_MS : ttl_us;
}

static void set_nx_keeps_what_is_there(void **state)
{
    (void)state;
    assert_int_equal(lock(1, 300 * ONE_MS).kind, REPLY_OK);
    now_us += 100 * ONE_MS;
    assert_int_equal(lock(2, 900 * ONE_MS).kind, REPLY_NIL);
    check_value(get(KEY_LOCK), 1);
    assert_int_equal(ttl_ms(KEY_LOCK), 200);
    check_integer(says((struct command){.verb = VERB_SETNX, .value = 3}), 0);
    check_integer(says((struct command){.verb = VERB_SETNX, .key = KEY_FENCE, .value = 3}), 1);
    assert_int_equal(ttl_ms(KEY_FENCE), -1);
    assert_int_equal(ttl_ms(KEY_COUNTER), -2);
}

static void set_wants_a_time_to_live_above_zero(void **state)
{
    (void)state;
    check_error(lock(1, 0), ERROR_EXPIRE);
    check_error(lock(1, -ONE_MS), ERROR_EXPIRE);
    assert_int_equal(lock(1, ONE_MS).kind, REPLY_OK);
    check_error(lock(1, 0), ERROR_EXPIRE); /* also when it would have kept what is there */
    check_error(says((struct command){.verb = VERB_SET_NX_EX, .ttl_us = 0}), ERROR_EXPIRE);
}

static void a_key_lives_through_the_millisecond_that_it_expires_in(void **state)
{
    (void)state;
    now_us += 700; /* the server's expiry does not see these */
    lock(1, 5 * ONE_MS);
    now_us += 5 * ONE_MS + 299; /* the last microsecond of the fifth */
    check_value(get(KEY_LOCK), 1);
    assert_int_equal(ttl_ms(KEY_LOCK), 0);
    now_us += 1;
    assert_int_equal(ttl_ms(KEY_LOCK), -2);
    assert_int_equal(get(KEY_LOCK).kind, REPLY_NIL);
}

static void a_model_of_ticks_counts_them_one_by_one(void **state)
{
    (void)state;
    model_init(&model, 1);
    now_us = -3; /* any origin will do */
    lock(1, 2);
    now_us = -1;
    check_value(get(KEY_LOCK), 1);
    now_us = 0;
    assert_int_equal(get(KEY_LOCK).kind, REPLY_NIL);
}

static void getset_and_set_drop_the_time_to_live(void **state)
{
    (void)state;
    lock(1, ONE_S);
    check_value(says((struct command){.verb = VERB_GETSET, .value = 2}), 1);
    assert_int_equal(ttl_ms(KEY_LOCK), -1);
    check_integer(says((struct command){.verb = VERB_PEXPIRE, .ttl_us = ONE_S}), 1);
    assert_int_equal(ttl_ms(KEY_LOCK), 1000);
    assert_int_equal(says((struct command){.verb = VERB_SET, .value = 3}).kind, REPLY_OK);
    assert_int_equal(ttl_ms(KEY_LOCK), -1);
    assert_int_equal(says((struct command){.verb = VERB_GETSET, .key = KEY_FENCE}).kind, REPLY_NIL);
}

static void expire_in_the_past_deletes_and_says_one(void **state)
{
    (void)state;
    check_integer(says((struct command){.verb = VERB_EXPIRE, .ttl_us = ONE_S}), 0);
    lock(1, ONE_S);
    check_integer(says((struct command){.verb = VERB_EXPIRE, .ttl_us = 0}), 1);
    assert_int_equal(ttl_ms(KEY_LOCK), -2);
    lock(1, ONE_S);
    check_integer(says((struct command){.verb = VERB_PEXPIRE, .ttl_us = -ONE_MS}), 1);
    check_integer(says((struct command){.verb = VERB_DEL}), 0);
}

static void incr_and_rpush_want_their_type_and_keep_the_time_to_live(void **state)
{
    (void)state;
    struct command incr = {.verb = VERB_INCR}, push = {.verb = VERB_RPUSH, .key = KEY_LIST};
    check_integer(says(incr), 1);
    says((struct command){.verb = VERB_PEXPIRE, .ttl_us = ONE_S});
    check_integer(says(incr), 2);
    assert_int_equal(ttl_ms(KEY_LOCK), 1000);
    says((struct command){.verb = VERB_SET, .value = VALUE_EMPTY});
    check_error(says(incr), ERROR_OTHER);
    says((struct command){.verb = VERB_SET, .value = INT64_MAX});
    check_error(says(incr), ERROR_OTHER);

    check_integer(says(push), 1);
    check_integer(says(push), 2);
    check_error(get(KEY_LIST), ERROR_WRONGTYPE);
    check_error(says((struct command){.verb = VERB_GETSET, .key = KEY_LIST}), ERROR_WRONGTYPE);
    check_error(says((struct command){.verb = VERB_INCR, .key = KEY_LIST}), ERROR_WRONGTYPE);
    check_error(says((struct command){.verb = VERB_RPUSH}), ERROR_WRONGTYPE);
    check_integer(says((struct command){.verb = VERB_SETNX, .key = KEY_LIST}), 0);
    /* SET takes any type's place. */
    says((struct command){.verb = VERB_SET, .key = KEY_LIST, .value = 5});
    check_value(get(KEY_LIST), 5);
}

/* --- WATCH --- */

static const struct command watch = {.verb = VERB_WATCH}, multi_del = {.verb = VERB_MULTI_DEL};

static void a_transaction_runs_when_nothing_changed(void **state)
{
    (void)state;
    lock(1, ONE_S);
    assert_int_equal(says(watch).kind, REPLY_OK);
    says_to_another((struct command){.verb = VERB_GET});
    says_to_another((struct command){.verb = VERB_SETNX, .value = 9}); /* changes nothing */
    struct reply reply = says(multi_del);
    assert_int_equal(reply.kind, REPLY_TRANSACTION);
    assert_int_equal(reply.value, 1);
    assert_false(mine.active);
}

static void check_aborts(void)
{
    assert_int_equal(says(multi_del).kind, REPLY_NIL);
    /* EXEC ended the watch: the next one runs. */
    assert_int_equal(says(multi_del).kind, REPLY_TRANSACTION);
}

static void a_change_of_a_watched_key_aborts(void **state)
{
    (void)state;
    says(watch);
    says_to_another((struct command){.verb = VERB_SET, .value = 1});
    check_aborts();
    lock(1, ONE_S);
    says(watch);
    says_to_another((struct command){.verb = VERB_PEXPIRE, .ttl_us = 2 * ONE_S}); /* no new value */
    check_aborts();
    lock(1, ONE_S);
    says(watch);
    says((struct command){.verb = VERB_SET, .value = 1}); /* its own counts as well */
    check_aborts();
}

static void a_watched_key_that_expires_aborts(void **state)
{
    (void)state;
    lock(1, ONE_S);
    says(watch);
    now_us += ONE_S + ONE_MS;
    check_aborts();
    /* One that had expired before it was watched does not. */
    lock(1, ONE_S);
    now_us += ONE_S + ONE_MS;
    says(watch);
    assert_int_equal(says(multi_del).kind, REPLY_TRANSACTION);
}

static void watching_again_does_not_forget(void **state)
{
    (void)state;
    says(watch);
    says_to_another((struct command){.verb = VERB_SET, .value = 1});
    says(watch);
    check_aborts();
    says(watch);
    says_to_another((struct command){.verb = VERB_SET, .value = 1});
    says((struct command){.verb = VERB_UNWATCH});
    assert_int_equal(says(multi_del).kind, REPLY_TRANSACTION);
}

static void a_losers_transaction_refreshes_the_winners_expiry(void **state)
{
    (void)state;
    struct command both = {.verb = VERB_MULTI_SETNX_EXPIRE, .value = 1, .ttl_us = 10 * ONE_S};
    says(both);
    now_us += 9 * ONE_S;
    both.value = 2;
    struct reply reply = says(both);
    assert_int_equal(reply.kind, REPLY_TRANSACTION);
    assert_int_equal(reply.value, 0);  /* not set */
    assert_int_equal(reply.second, 1); /* but extended */
    check_value(get(KEY_LOCK), 1);
    assert_int_equal(ttl_ms(KEY_LOCK), 10000);
}

/* --- scripts --- */

static void compare_and_delete_only_what_is_equal(void **state)
{
    (void)state;
    struct command release = {.verb = VERB_COMPARE_DELETE, .value = 2};
    check_integer(says(release), 0);
    lock(1, ONE_S);
    check_integer(says(release), 0);
    check_value(get(KEY_LOCK), 1);
    release.value = 1;
    check_integer(says(release), 1);
    assert_int_equal(get(KEY_LOCK).kind, REPLY_NIL);
    says((struct command){.verb = VERB_RPUSH});
    check_error(says(release), ERROR_WRONGTYPE);
}

static void compare_and_expire_only_what_is_equal(void **state)
{
    (void)state;
    struct command extend = {.verb = VERB_COMPARE_EXPIRE, .value = 2, .ttl_us = 3 * ONE_S};
    lock(1, ONE_S);
    check_integer(says(extend), 0);
    assert_int_equal(ttl_ms(KEY_LOCK), 1000);
    extend.value = 1;
    check_integer(says(extend), 1);
    assert_int_equal(ttl_ms(KEY_LOCK), 3000);
}

static void setnx_expire_in_a_script_leaves_the_winner_alone(void **state)
{
    (void)state;
    struct command both = {.verb = VERB_LUA_SETNX_EXPIRE, .value = 1, .ttl_us = 10 * ONE_S};
    check_integer(says(both), 1);
    now_us += 9 * ONE_S;
    check_integer(says(both), 0);
    assert_int_equal(ttl_ms(KEY_LOCK), 1000);
}

static void minting_counts_grants(void **state)
{
    (void)state;
    struct command mint = {.verb = VERB_SET_MINT, .value = 1, .ttl_us = ONE_S};
    check_integer(says(mint), 1);
    assert_int_equal(says(mint).kind, REPLY_NIL);
    now_us += 2 * ONE_S;
    check_integer(says(mint), 2);
}

static void a_script_that_fails_half_way_is_not_rolled_back(void **state)
{
    (void)state;
    says((struct command){.verb = VERB_RPUSH, .key = KEY_FENCE});
    check_error(says((struct command){.verb = VERB_SET_MINT, .value = 7, .ttl_us = ONE_S}),
                ERROR_WRONGTYPE);
    check_value(get(KEY_LOCK), 7);
}

static void a_stale_fence_is_refused(void **state)
{
    (void)state;
    struct command write = {.verb = VERB_FENCED_SET, .key = KEY_RESOURCE, .number = 5};
    check_integer(says(write), 1);
    check_integer(says(write), 1); /* the same holder again */
    write.number = 4;
    check_integer(says(write), 0);
    check_value(get(KEY_RESOURCE), 5);
    write.number = 6;
    check_integer(says(write), 1);
    check_value(get(KEY_RESOURCE), 6);
}

static void servers_know_delex_and_delifeq_or_do_not(void **state)
{
    (void)state;
    struct command delex = {.verb = VERB_DELEX, .value = 1},
                   delifeq = {.verb = VERB_DELIFEQ, .value = 1};
    lock(1, ONE_S);
    check_error(says(delex), ERROR_UNSUPPORTED);
    check_error(says(delifeq), ERROR_UNSUPPORTED);
    model.has_delex = true;
    check_error(says(delifeq), ERROR_UNSUPPORTED);
    check_integer(says(delex), 1);
    check_integer(says(delex), 0);
    model.has_delifeq = true;
    lock(2, ONE_S);
    check_integer(says(delifeq), 0);
    check_value(get(KEY_LOCK), 2);
}

/* --- servers that refuse --- */

static void a_full_server_refuses_what_may_grow(void **state)
{
    (void)state;
    lock(1, ONE_S);
    model.refuses = ERROR_OOM;
    check_error(lock(2, ONE_S), ERROR_OOM);
    check_error(says((struct command){.verb = VERB_GETSET, .value = 2}), ERROR_OOM);
    check_error(says((struct command){.verb = VERB_SET_MINT, .ttl_us = ONE_S}), ERROR_OOM);
    check_error(says(multi_del), ERROR_OOM); /* a queue grows */
    check_value(get(KEY_LOCK), 1);
    check_integer(says((struct command){.verb = VERB_EXPIRE, .ttl_us = 2 * ONE_S}), 1);
    check_integer(says((struct command){.verb = VERB_COMPARE_DELETE, .value = 1}), 1);
    check_integer(says((struct command){.verb = VERB_DEL}), 0);
}

static void a_replica_refuses_writes_and_scripts_at_their_first_write(void **state)
{
    (void)state;
    lock(1, ONE_S);
    model.refuses = ERROR_READONLY;
    check_error(says((struct command){.verb = VERB_DEL}), ERROR_READONLY);
    check_error(says((struct command){.verb = VERB_PEXPIRE, .ttl_us = ONE_S}), ERROR_READONLY);
    check_value(get(KEY_LOCK), 1);
    check_integer(says((struct command){.verb = VERB_COMPARE_DELETE, .value = 2}), 0);
    check_error(says((struct command){.verb = VERB_COMPARE_DELETE, .value = 1}), ERROR_READONLY);
    says(watch);
    check_error(says(multi_del), ERROR_READONLY);
    assert_false(mine.active);
    model.refuses = ERROR_MISCONF;
    check_error(lock(1, ONE_S), ERROR_MISCONF);
}

/* Tried by hand on redis-server 7.0.15 with a large dump and key-load-delay. */
static void a_loading_server_lets_in_watch_only(void **state)
{
    (void)state;
    model.refuses = ERROR_LOADING;
    check_error(get(KEY_LOCK), ERROR_LOADING);
    check_error(says((struct command){.verb = VERB_COMPARE_DELETE}), ERROR_LOADING);
    check_error(says((struct command){.verb = VERB_DELEX}), ERROR_UNSUPPORTED);
    assert_int_equal(says(watch).kind, REPLY_OK);
    check_error(says(multi_del), ERROR_LOADING);
    assert_false(mine.active);
    assert_int_equal(says((struct command){.verb = VERB_UNWATCH}).kind, REPLY_OK);
}

static void scripts_can_be_refused_alone(void **state)
{
    (void)state;
    struct command release = {.verb = VERB_COMPARE_DELETE},
                   ttl_as_key = {.verb = VERB_LUA_SETNX_EXPIRE, .ttl_us = ONE_S};
    model.refuses = ERROR_NOSCRIPT;
    check_error(says(release), ERROR_NOSCRIPT);
    check_integer(says((struct command){.verb = VERB_DEL}), 0);
    model.refuses = ERROR_CROSSSLOT; /* the ttl among the keys */
    check_error(says(ttl_as_key), ERROR_CROSSSLOT);
    check_integer(says(release), 0);
    model.refuses = ERROR_NOAUTH;
    check_error(says(watch), ERROR_NOAUTH);
    assert_false(mine.active);
}

/* A script is known when it was loaded or has run whole; a flush, a restart and a failover forget
 * it. */
static void scripts_are_known_until_they_are_forgotten(void **state)
{
    (void)state;
    const struct command by_sha = {.verb = VERB_COMPARE_DELETE_SHA, .value = 1},
                         whole = {.verb = VERB_COMPARE_DELETE, .value = 1},
                         load = {.verb = VERB_SCRIPT_LOAD};
    struct model replica;
    lock(1, ONE_S);
    check_error(says(by_sha), ERROR_NOSCRIPT);
    check_value(get(KEY_LOCK), 1);
    assert_int_equal(says(load).kind, REPLY_OK);
    check_integer(says(by_sha), 1);
    check_integer(says(by_sha), 0);
    model_flush_scripts(&model);
    check_error(says(by_sha), ERROR_NOSCRIPT);
    check_integer(says(whole), 0);
    check_integer(says(by_sha), 0);
    replica = model;
    model_failover(&model, &replica);
    check_error(says(by_sha), ERROR_NOSCRIPT);
    says(whole);
    model_restart_empty(&model);
    check_error(says(by_sha), ERROR_NOSCRIPT);
}

/* What it does not know is not refused for what it would do; SCRIPT LOAD writes nothing. */
static void an_unknown_script_is_unknown_to_a_server_that_refuses_too(void **state)
{
    (void)state;
    const struct command by_sha = {.verb = VERB_COMPARE_DELETE_SHA, .value = 1},
                         load = {.verb = VERB_SCRIPT_LOAD};
    lock(1, ONE_S);
    model.refuses = ERROR_READONLY;
    check_error(says(by_sha), ERROR_NOSCRIPT);
    assert_int_equal(says(load).kind, REPLY_OK);
    check_error(says(by_sha), ERROR_READONLY);
    model.refuses = ERROR_LOADING;
    check_error(says(load), ERROR_LOADING);
    check_error(says(by_sha), ERROR_LOADING);
}

static void a_restart_forgets_and_an_eviction_takes_one(void **state)
{
    (void)state;
    lock(1, ONE_S);
    says((struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = 4});
    says(watch);
    model_evict(&model, KEY_LOCK);
    assert_int_equal(get(KEY_LOCK).kind, REPLY_NIL);
    check_value(get(KEY_COUNTER), 4);
    check_aborts();
    model_restart_empty(&model);
    assert_int_equal(get(KEY_COUNTER).kind, REPLY_NIL);
}

static void a_failover_brings_back_what_the_replica_had(void **state)
{
    (void)state;
    lock(1, 5 * ONE_S);
    struct model replica = model;
    says((struct command){.verb = VERB_DEL});
    lock(2, 9 * ONE_S);
    says(watch);
    model_failover(&model, &replica);
    check_value(get(KEY_LOCK), 1);
    assert_int_equal(ttl_ms(KEY_LOCK), 5000);
    assert_int_equal(says(multi_del).kind, REPLY_NIL);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, before_each)
    const struct CMUnitTest tests[] = {
        T(set_nx_keeps_what_is_there),
        T(set_wants_a_time_to_live_above_zero),
        T(a_key_lives_through_the_millisecond_that_it_expires_in),
        T(a_model_of_ticks_counts_them_one_by_one),
        T(getset_and_set_drop_the_time_to_live),
        T(expire_in_the_past_deletes_and_says_one),
        T(incr_and_rpush_want_their_type_and_keep_the_time_to_live),
        T(a_transaction_runs_when_nothing_changed),
        T(a_change_of_a_watched_key_aborts),
        T(a_watched_key_that_expires_aborts),
        T(watching_again_does_not_forget),
        T(a_losers_transaction_refreshes_the_winners_expiry),
        T(compare_and_delete_only_what_is_equal),
        T(compare_and_expire_only_what_is_equal),
        T(setnx_expire_in_a_script_leaves_the_winner_alone),
        T(minting_counts_grants),
        T(a_script_that_fails_half_way_is_not_rolled_back),
        T(a_stale_fence_is_refused),
        T(servers_know_delex_and_delifeq_or_do_not),
        T(a_full_server_refuses_what_may_grow),
        T(a_replica_refuses_writes_and_scripts_at_their_first_write),
        T(a_loading_server_lets_in_watch_only),
        T(scripts_can_be_refused_alone),
        T(scripts_are_known_until_they_are_forgotten),
        T(an_unknown_script_is_unknown_to_a_server_that_refuses_too),
        T(a_restart_forgets_and_an_eviction_takes_one),
        T(a_failover_brings_back_what_the_replica_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
