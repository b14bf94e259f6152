/* test_model_scripts.c - the rules of the model, one by one: scripts, and servers that refuse. */
#include "test/model_says.h"

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

/* --- WAIT --- */

static void wait_counts_by_what_the_connection_said_last(void **state)
{
    (void)state;
    const struct command wait = {.verb = VERB_WAIT};
    check_integer(says(wait), 0); /* nobody is there to acknowledge */
    model.replica = MODEL_REPLICA_IN_STEP;
    lock(1, ONE_S);
    check_integer(says(wait), 1);
    model.replica = MODEL_REPLICA_CUT;
    check_integer(says(wait), 1);
    lock(2, ONE_S);
    check_integer(says(wait), 0);
    check_integer(says_to_another(wait), 1); /* it has said nothing */
    check_integer(says_to_another(wait), 0);
}

/* A watch that ends is not what WAIT looks at. */
static void unwatch_acknowledges_nothing(void **state)
{
    (void)state;
    model.replica = MODEL_REPLICA_CUT;
    lock(1, ONE_S);
    says((struct command){.verb = VERB_UNWATCH});
    check_integer(says((struct command){.verb = VERB_WAIT}), 0);
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

#define T(name) cmocka_unit_test_setup(name, before_each)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(compare_and_delete_only_what_is_equal),
        T(compare_and_expire_only_what_is_equal),
        T(setnx_expire_in_a_script_leaves_the_winner_alone),
        T(minting_counts_grants),
        T(a_script_that_fails_half_way_is_not_rolled_back),
        T(a_stale_fence_is_refused),
        T(servers_know_delex_and_delifeq_or_do_not),
        T(wait_counts_by_what_the_connection_said_last),
        T(unwatch_acknowledges_nothing),
        T(a_full_server_refuses_what_may_grow),
        T(a_replica_refuses_writes_and_scripts_at_their_first_write),
        T(a_loading_server_lets_in_watch_only),
        T(scripts_can_be_refused_alone),
        T(scripts_are_known_until_they_are_forgotten),
        T(an_unknown_script_is_unknown_to_a_server_that_refuses_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
