/* model_says.h - for test_model*.c: a model of a server with a connection, and a second one for
 * WATCH. */
#ifndef PICKLOCK_TEST_MODEL_SAYS_H
#define PICKLOCK_TEST_MODEL_SAYS_H

#include "redis/model.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

enum { ONE_MS = 1000, ONE_S = 1000000 };

/* A server with one connection (and a second one for WATCH) at some wall-clock time. */
static struct model model;
static struct model_watch mine, others;
static int64_t now_us;

static const struct command watch = {.verb = VERB_WATCH}, multi_del = {.verb = VERB_MULTI_DEL};

static inline int before_each(void **state)
{
    (void)state;
    model_init(&model, ONE_MS);
    memset(&mine, 0, sizeof mine);
    memset(&others, 0, sizeof others);
    now_us = INT64_C(1767225600000000);
    return 0;
}

static inline struct reply says(struct command command)
{
    return model_execute(&model, &mine, &command, now_us);
}

static inline struct reply says_to_another(struct command command)
{
    return model_execute(&model, &others, &command, now_us);
}

static inline struct reply lock(int64_t value, int64_t ttl_us)
{
    return says((struct command){.verb = VERB_SET_NX_PX, .value = value, .ttl_us = ttl_us});
}

static inline struct reply get(enum key key)
{
    return says((struct command){.verb = VERB_GET, .key = key});
}

static inline void check_integer(struct reply reply, int64_t value)
{
    assert_int_equal(reply.kind, REPLY_INTEGER);
    assert_int_equal(reply.value, value);
}

static inline void check_value(struct reply reply, int64_t value)
{
    assert_int_equal(reply.kind, REPLY_VALUE);
    assert_true(reply.value == value);
}

static inline void check_error(struct reply reply, enum reply_error error)
{
    assert_int_equal(reply.kind, REPLY_ERROR);
    assert_int_equal(reply.error, error);
}

static inline int64_t ttl_ms(enum key key)
{
    int64_t ttl_us = model_ttl(&model, key, now_us);
    return ttl_us > 0 ? ttl_us / ONE_MS : ttl_us;
}

#endif
