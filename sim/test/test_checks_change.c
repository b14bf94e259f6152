/* test_checks_change.c - what a reply proves of a key, held to what the model of a server did with
 * it: every command, over every key that it can meet. A column of commands.def that is not so fails
 * here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "checks/change.h"
#include "redis/model.h"

#include <string.h>

enum { SECOND = 1000000, OWN = 7, FOREIGN = 8 };
#define NOW_US  (INT64_C(1767225600) * SECOND)
#define LEFT_US (INT64_C(50) * SECOND) /* what a key that is there already has left */

static const int64_t values[] = {VALUE_NIL, OWN, FOREIGN};
static const int64_t ttls[] = {10 * SECOND, 0, -SECOND};
static const enum reply_error errors[] = {ERROR_NONE, ERROR_OOM, ERROR_READONLY};

enum { VALUES = 3, TTLS = 3, ERRORS = 3 };

static struct model server_with(int64_t value, enum reply_error refuses)
{
    struct model model;
    model_init(&model, 1000);
    model.has_delex = model.has_delifeq = model.knows_script = true;
    model.refuses = refuses;
    if (value != VALUE_NIL)
        model.keys[KEY_LOCK] =
            (struct model_key){.type = MODEL_STRING, .value = value, .expire_us = NOW_US + LEFT_US};
    return model;
}

static bool is_there(const struct model_key *key)
{
    return key->type != MODEL_ABSENT;
}

/* What it says of the key as it was. */
static void says_what_was(const struct key_effect *effect, const struct model_key *before)
{
    if (effect->before != BEFORE_UNKNOWN)
        assert_int_equal(effect->before == BEFORE_PRESENT, is_there(before));
    if (change_knows_old(effect))
        assert_true(is_there(before) && before->value == effect->old_value);
    if (effect->is_unlike)
        assert_false(is_there(before) && before->value == effect->old_value);
}

/* What it says that has become of it. */
static void says_what_is(const struct key_effect *effect, const struct command *command,
                         const struct model_key *before, const struct model_key *after)
{
    bool is_half = effect->did == DID_CREATED && effect->before == BEFORE_UNKNOWN;
    bool is_written = change_is_write(effect) && !(is_half && is_there(before));
    bool is_set_anew = is_written || effect->did == DID_EXPIRY_SET;
    if (effect->did == DID_DELETED) {
        assert_true(is_there(before) && !is_there(after));
    } else if (is_written) {
        assert_true(is_there(after) || command->ttl_us <= 0);
        assert_true(!is_there(after) || after->value == command->value);
        assert_int_equal(effect->new_value, command->value);
    } else {
        assert_int_equal(is_there(before), is_there(after));
        assert_true(before->value == after->value);
    }
    if (!is_there(after))
        return;
    int64_t kept_us = is_written ? MODEL_NO_EXPIRY : before->expire_us;
    bool has_new = is_set_anew && effect->has_ttl;
    assert_true(after->expire_us == (has_new ? NOW_US + effect->ttl_us : kept_us));
}

/* Commands for what the lock guards: no scheme writes its lock key with one of these. */
static bool writes_other_keys(enum verb verb)
{
    return verb == VERB_INCR || verb == VERB_RPUSH || verb == VERB_FENCED_SET;
}

static void proves(enum verb verb, int64_t value, int64_t ttl_us, enum reply_error refuses)
{
    struct command command = {.verb = verb, .value = OWN, .number = OWN};
    struct model model = server_with(value, refuses);
    struct model_key before = model.keys[KEY_LOCK];
    struct model_watch watch = {0};
    if (command_ttl_unit_us(verb) != 0)
        command.ttl_us = ttl_us;
    struct reply reply = model_execute(&model, &watch, &command, NOW_US);
    struct key_effect effect = change_read(&command, &reply);
    assert_true(verb_answers(verb, reply.kind));
    says_what_was(&effect, &before);
    if (writes_other_keys(verb))
        assert_false(change_is_any(&effect));
    else
        says_what_is(&effect, &command, &before, &model.keys[KEY_LOCK]);
}

static void what_a_reply_proves_is_so(void **state)
{
    (void)state;
    for (int verb = 0; verb < VERB_COUNT; verb++)
        for (int value = 0; value < VALUES; value++)
            for (int ttl = 0; ttl < TTLS; ttl++)
                for (int error = 0; error < ERRORS; error++)
                    proves((enum verb)verb, values[value], ttls[ttl], errors[error]);
}

/* What a server that refuses nothing says tells whether the key was there, but a plain SET's OK;
 * and what writes, deletes or ends a key says so. */
static void what_can_be_known_is_told(void **state)
{
    (void)state;
    for (int row = 0; row < VERB_COUNT; row++) {
        const enum verb verb = (enum verb)row;
        if (verb_effect(verb) == EFFECT_READ && verb != VERB_GET)
            continue;
        for (int i = 0; i < VALUES; i++) {
            struct command command = {.verb = verb, .value = OWN, .ttl_us = 10 * SECOND};
            struct model model = server_with(values[i], ERROR_NONE);
            struct model_key before = model.keys[KEY_LOCK];
            struct model_watch watch = {0};
            struct reply reply = model_execute(&model, &watch, &command, NOW_US);
            struct key_effect effect = change_read(&command, &reply);
            bool has_changed = memcmp(&before, &model.keys[KEY_LOCK], sizeof before) != 0;
            assert_int_equal(change_is_any(&effect), has_changed);
            assert_true(effect.before != BEFORE_UNKNOWN || effect.is_unlike || verb == VERB_SET);
        }
    }
}

/* Two commands in one, the second of which failed: what stands there has no expiry. */
static void half_of_it_was_done(void **state)
{
    (void)state;
    static const enum verb verbs[] = {VERB_LUA_SETNX_EXPIRE, VERB_MULTI_SETNX_EXPIRE};
    const struct reply failed = {.kind = REPLY_ERROR, .error = ERROR_EXPIRE};
    for (int i = 0; i < 2; i++) {
        struct command command = {.verb = verbs[i], .value = OWN, .ttl_us = SECOND};
        struct key_effect effect = change_read(&command, &failed);
        assert_int_equal(effect.did, DID_CREATED);
        assert_int_equal(effect.before, BEFORE_UNKNOWN);
        assert_false(effect.has_ttl);
    }
    struct command whole = {.verb = VERB_SET_NX_PX, .value = OWN};
    assert_int_equal(change_read(&whole, &failed).did, DID_FAILED);
}

/* A reply that the command does not have, as in a history by another's hand, proves nothing. */
static void a_reply_of_another_command_proves_nothing(void **state)
{
    (void)state;
    static const struct reply replies[] = {{.kind = REPLY_NIL},
                                           {.kind = REPLY_OK},
                                           {.kind = REPLY_INTEGER, .value = 1},
                                           {.kind = REPLY_VALUE, .value = OWN},
                                           {.kind = REPLY_TRANSACTION, .value = 1, .second = 1}};
    int others = 0;
    for (int verb = 0; verb < VERB_COUNT; verb++)
        for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
            if (verb_answers((enum verb)verb, replies[i].kind))
                continue;
            struct command command = {.verb = (enum verb)verb, .value = OWN, .ttl_us = SECOND};
            struct key_effect effect = change_read(&command, &replies[i]);
            assert_false(change_is_any(&effect));
            assert_int_equal(effect.before, BEFORE_UNKNOWN);
            assert_false(effect.is_unlike);
            others++;
        }
    assert_true(others > VERB_COUNT);
}

/* An EXEC that a watched key has aborted tells nothing of the lock key. */
static void an_aborted_transaction_proves_nothing(void **state)
{
    (void)state;
    const struct reply nil = {.kind = REPLY_NIL};
    static const enum verb verbs[] = {VERB_MULTI_DEL, VERB_MULTI_SETNX_EXPIRE};
    for (int i = 0; i < 2; i++) {
        struct key_effect effect =
            change_read(&(struct command){.verb = verbs[i], .value = OWN}, &nil);
        assert_false(change_is_any(&effect));
        assert_int_equal(effect.before, BEFORE_UNKNOWN);
    }
}

/* A row has an expiry where its words carry one. */
static void columns_fit_each_other(void **state)
{
    (void)state;
    for (int verb = 0; verb < VERB_COUNT; verb++) {
        bool carries_ttl = command_ttl_unit_us((enum verb)verb) != 0;
        assert_int_equal(verb_expiry((enum verb)verb) != EXPIRY_NONE, carries_ttl);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_reply_proves_is_so),
        cmocka_unit_test(what_can_be_known_is_told),
        cmocka_unit_test(half_of_it_was_done),
        cmocka_unit_test(a_reply_of_another_command_proves_nothing),
        cmocka_unit_test(an_aborted_transaction_proves_nothing),
        cmocka_unit_test(columns_fit_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
