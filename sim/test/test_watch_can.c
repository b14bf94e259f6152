/* test_watch_can.c - what a command can do to a key, with the answer that it got. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "watch/can.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_US = 3000 };
#define NO    ((struct reply){.kind = REPLY_INTEGER})
#define YES   ((struct reply){.kind = REPLY_INTEGER, .value = 1})
#define NIL   ((struct reply){.kind = REPLY_NIL})
#define VALUE ((struct reply){.kind = REPLY_VALUE})
#define DONE  ((struct reply){.kind = REPLY_OK})
#define CAD                                                                                        \
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "             \
    "else return 0 end"
/* As a server names CAD, and a script that reads; and one of redis-py, whose text is not here. */
#define CAD_SHA "e9f69f2beb755be68b5e456ee2ce9aadfbc4ebf4"
#define GET_SHA "620cd258c2c9c88c9d10db67812ccf663d96bdc6"
#define PY_SHA  "C3F8721CBB97F72BC19E972846BD7AAF91901658"
#define EXTEND                                                                                     \
    "if redis.call(\"GET\", KEYS[1]) == ARGV[1] then\n return redis.call(\"PEXPIRE\", "            \
    "KEYS[1], ARGV[2]) else return 0 end"

/* Until the next one. */
static struct command_said said(const char *const *args, const struct reply *reply)
{
    static const char *at[8];
    static size_t lengths[8];
    static struct scripts scripts;
    static struct request_words words;
    words = (struct request_words){.at = at, .lengths = lengths};
    for (; args[words.count]; words.count++) {
        at[words.count] = args[words.count];
        lengths[words.count] = strlen(args[words.count]);
    }
    const struct known_script *script = scripts_of_command(&scripts, args[0], &words);
    return (struct command_said){.name = args[0],
                                 .words = &words,
                                 .reply = reply,
                                 .script = script ? script->kind : SCRIPT_OTHER,
                                 .text = script,
                                 .window_us = WINDOW_US};
}

static unsigned can(const char *const *args, const struct reply *reply)
{
    const struct command_said its = said(args, reply);
    return command_can(&its);
}

static void a_command_can_do_what_its_name_and_answer_say(void **state)
{
    const struct {
        const char *args[8];
        struct reply reply;
        unsigned can;
    } cases[] = {
        {{"PEXPIRE", "k", "30000"}, YES, CAN_EXPIRE},
        {{"PEXPIRE", "k", "30000", "GT"}, NO, 0},
        {{"PEXPIRE", "k", "2"}, YES, CAN_EXPIRE | CAN_DELETE},
        {{"PEXPIRE", "k", "-1"}, YES, CAN_EXPIRE | CAN_DELETE},
        {{"EXPIRE", "k", "0"}, YES, CAN_EXPIRE | CAN_DELETE},
        {{"EXPIRE", "k", "2"}, YES, CAN_EXPIRE},
        {{"PEXPIREAT", "k", "5"}, YES, CAN_EXPIRE | CAN_DELETE},
        {{"PERSIST", "k"}, YES, CAN_EXPIRE},
        {{"GETEX", "k", "PX", "30000"}, DONE, CAN_EXPIRE},
        {{"GETEX", "k", "PX", "1"}, DONE, CAN_EXPIRE | CAN_DELETE},
        {{"GETEX", "k", "PXAT", "5"}, DONE, CAN_EXPIRE | CAN_DELETE},
        {{"GETEX", "k", "PX", "30000"}, NIL, 0},
        {{"GET", "k"}, DONE, 0},
        {{"SET", "k", "t", "NX", "PX", "1"}, DONE, 0},
        {{"SET", "k", "t"}, DONE, CAN_BITS_ALL},
        {{"DEL", "k"}, YES, CAN_DELETE},
        {{"RENAME", "k", "l"}, DONE, CAN_BITS_ALL},
        {{"EVAL", CAD, "1", "k", "t"}, NO, 0},
        {{"EVAL", CAD, "1", "k", "t"}, YES, CAN_DELETE},
        {{"EVAL", EXTEND, "1", "k", "t", "30000"}, NO, 0},
        {{"EVAL", EXTEND, "1", "k", "t", "30000"}, YES, CAN_EXPIRE},
        {{"EVAL", EXTEND, "1", "k", "t", "0"}, YES, CAN_EXPIRE | CAN_DELETE},
        {{"EVAL", "return redis.call('GET',KEYS[1])", "1", "k"}, DONE, 0},
        {{"EVAL", "redis.pcall('persist', KEYS[1]) return 0", "1", "k"}, NO, CAN_EXPIRE},
        {{"EVAL", "redis.call('expire', KEYS[1], 0)", "1", "k"}, NIL, CAN_EXPIRE | CAN_DELETE},
        {{"EVAL", "redis.call('get', KEYS[1]) return redis.call('del', KEYS[1])", "1", "k"},
         NO,
         CAN_DELETE},
        {{"EVAL", "return redis.call('set', KEYS[1], 'x')", "1", "k"}, DONE, CAN_BITS_ALL},
        {{"EVAL", "local does = redis.call does('get', KEYS[1])", "1", "k"}, NIL, CAN_BITS_ALL},
        {{"EVAL", "return loadstring(ARGV[1])()", "1", "k", "t"}, NIL, CAN_BITS_ALL},
        {{"EVALSHA", "0123456789012345678901234567890123456789", "1", "k", "t"}, NO, CAN_BITS_ALL},
        {{"EVALSHA", CAD_SHA, "1", "k", "t"}, NO, 0},
        {{"EVALSHA", PY_SHA, "1", "k", "t"}, YES, CAN_DELETE},
        {{"EVALSHA", GET_SHA, "1", "k"}, NO, 0},
        {{"EVAL_RO", "return redis.call(ARGV[1], KEYS[1])", "1", "k", "del"}, YES, 0},
        {{"FCALL", "does", "1", "k"}, YES, CAN_BITS_ALL},
        {{"EXEC", "PEXPIRE", "k", "5"}, DONE, CAN_BITS_ALL},
        {{"EXEC", "PEXPIRE", "k", "5"}, NIL, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const unsigned found = can(cases[i].args, &cases[i].reply);
        if (found != cases[i].can)
            fail_msg("%s %s: %u", cases[i].args[0], cases[i].args[1], found);
    }
    assert_int_equal(can(cases[0].args, NULL), CAN_EXPIRE);
}

static void what_an_answer_confirms_was_given(void **state)
{
    enum { CLOCK_US = 7000000 };
    const struct {
        const char *args[8];
        struct reply reply;
        int64_t gave_us;
    } cases[] = {
        {{"PEXPIRE", "k", "30000"}, YES, 30000000},
        {{"EXPIRE", "k", "30", "NX"}, YES, 30000000},
        {{"PEXPIREAT", "k", "9000"}, YES, 2000000},
        {{"EXPIREAT", "k", "9"}, YES, 2000000},
        {{"SET", "k", "t", "XX", "EX", "5"}, DONE, 5000000},
        {{"GETEX", "k", "PX", "30000"}, VALUE, 30000000},
        /* It was not done, or nobody heard that it was. */
        {{"PEXPIRE", "k", "30000"}, NO, 0},
        {{"GETEX", "k", "PX", "30000"}, NIL, 0},
        {{"SET", "k", "t", "XX", "EX", "5"}, NIL, 0},
        /* It gives none, or so little that it may be over. */
        {{"PERSIST", "k"}, YES, 0},
        {{"DEL", "k"}, YES, 0},
        {{"SET", "k", "t", "XX"}, DONE, 0},
        {{"GETEX", "k", "PERSIST"}, VALUE, 0},
        {{"PEXPIRE", "k", "3"}, YES, 0},
        {{"PEXPIRE", "k", "-1"}, YES, 0},
        {{"PEXPIREAT", "k", "6000"}, YES, 0},
        /* A server cuts it. */
        {{"PEXPIRE", "k", "9000000000000000"}, YES, 0},
        {{"PEXPIRE", "k", "92233720368547758070"}, YES, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct command_said its = said(cases[i].args, &cases[i].reply);
        if (command_gave_us(&its, CLOCK_US) != cases[i].gave_us)
            fail_msg("%s %s, %zu", cases[i].args[0], cases[i].args[1], i);
    }
    const struct command_said its = said(cases[0].args, NULL);
    assert_int_equal(command_gave_us(&its, CLOCK_US), 0);
}

static void an_effect_is_of_what_can_be_done(void **state)
{
    (void)state;
    assert_true(can_have_done(0, DID_READ));
    assert_true(can_have_done(CAN_EXPIRE, DID_UNEXPIRED));
    assert_true(can_have_done(CAN_DELETE, DID_DELETED));
    assert_true(can_have_done(CAN_BITS_ALL, DID_OVERWRITTEN));
    assert_false(can_have_done(CAN_EXPIRE, DID_OVERWRITTEN));
    assert_false(can_have_done(CAN_EXPIRE, DID_DELETED));
    assert_false(can_have_done(CAN_DELETE, DID_SHORTENED));
}

/* What a script is known by is reckoned by a library. */
static int begin(void **state)
{
    (void)state;
    struct failure failure;
    return scripts_begin(&failure) ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_can_do_what_its_name_and_answer_say),
        cmocka_unit_test(what_an_answer_confirms_was_given),
        cmocka_unit_test(an_effect_is_of_what_can_be_done),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
