/* test_model.c - the rules of the model, one by one: keys, WATCH, and what a server forgets.
 * Scripts, and servers that refuse: test_model_scripts.c. differential.c holds the same model to a
 * real server. */
#include "test/model_says.h"

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

/* --- what a server forgets --- */

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

#define T(name) cmocka_unit_test_setup(name, before_each)
int main(void)
{
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
        T(a_restart_forgets_and_an_eviction_takes_one),
        T(a_failover_brings_back_what_the_replica_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
