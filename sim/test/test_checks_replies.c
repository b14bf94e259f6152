/* test_checks_replies.c - what a client hears is the reply of an execution of that very command,
 * and one that a server can give; and what it sent was executed, where nothing befell it. Else a
 * line was changed or is missing: all is unknown, and nobody is blamed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

/* A's release, executed once or twice, and heard. */
static void a_reply_that_was_not_the_servers_is_a_changed_line(void **state)
{
    const struct {
        struct reply first, second, heard;
        int64_t other; /* what it heard about is of another value, by so much */
        bool is_copied, is_never_heard, is_changed;
    } tried[] = {
        {.first = INTEGER(1), .heard = INTEGER(1)},
        {.first = INTEGER(1), .is_never_heard = true},
        {.first = INTEGER(1), .heard = {.kind = REPLY_ERROR}},
        {.first = INTEGER(1), .second = INTEGER(0), .heard = INTEGER(1), .is_copied = true},
        {.first = INTEGER(1), .second = INTEGER(0), .heard = INTEGER(0), .is_copied = true},
        {.first = {.kind = REPLY_ERROR}, .heard = INTEGER(1), .is_changed = true},
        {.first = INTEGER(0), .heard = INTEGER(1), .is_changed = true},
        {.first = INTEGER(1), .heard = INTEGER(1), .other = 1, .is_changed = true},
        {.first = INTEGER(6), .heard = INTEGER(6), .is_changed = true},
        {.first = OK, .is_never_heard = true, .is_changed = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct story *story = story_new(&expiring, 1, 20);
        acquires(story, A);
        is_refused(story, B);
        struct command compare = command(VERB_COMPARE_DELETE, token(story, A), 0);
        calls(story, A, OP_RELEASE);
        sends(story, A, 0, OP_RELEASE, compare);
        if (tried[i].is_copied)
            strikes_command(story, "duplicate", A, OP_RELEASE, compare);
        executes(story, A, OP_RELEASE, compare, tried[i].first);
        if (tried[i].is_copied)
            executes(story, A, OP_RELEASE, compare, tried[i].second);
        compare.value += tried[i].other;
        if (!tried[i].is_never_heard)
            hears(story, A, 0, OP_RELEASE, compare, tried[i].heard);
        returns(story, A, OP_RELEASE, RESULT_RELEASED);
        ends(story);
        if (tried[i].is_changed) {
            assert_silent(story);
            assert_says(&story->findings[PROPERTY_NO_ORPHAN], "a line was changed");
            assert_verdict(story, PROPERTY_NO_ORPHAN, VERDICT_UNKNOWN);
        } else {
            assert_holds(story, PROPERTY_NO_ORPHAN);
            assert_holds(story, PROPERTY_MUTUAL_EXCLUSION);
        }
        story_free(story);
    }
}

/* Of so many different commands of one attempt that not all are kept, nothing is concluded. */
static void what_is_not_kept_contradicts_nothing(void **state)
{
    (void)state;
    for (int writes = 2; writes < 40; writes += 37) {
        struct story *story = story_new(&expiring, 1, 20);
        struct command write = {.verb = VERB_RPUSH, .key = KEY_LIST};
        acquires(story, A);
        is_refused(story, B);
        for (write.value = 1; write.value <= writes; write.value++)
            executes(story, A, OP_ACCESS, write, INTEGER(write.value));
        write.value = 1;
        hears(story, A, 0, OP_ACCESS, write, INTEGER(writes == 2 ? 2 : 1));
        releases(story, A, 1);
        ends(story);
        assert_verdict(story, PROPERTY_MUTUAL_EXCLUSION, VERDICT_HOLDS);
        assert_verdict(story, PROPERTY_NO_ORPHAN, writes == 2 ? VERDICT_UNKNOWN : VERDICT_HOLDS);
        story_free(story);
    }
}

/* A's SETNX was executed, and its EXPIRE was sent. */
static void what_a_grant_sent_and_no_server_executed_is_missing(void **state)
{
    enum expire_way { EXECUTED, LATE, UNSEEN, UNSENT, LOST, REFUSED, STRUCK, SIMULATED, WAYS };
    (void)state;
    for (enum expire_way way = EXECUTED; way < WAYS; way++) {
        struct story *story = story_new(&expiring, 1, 20);
        story->head.has_all_commands = true;
        snprintf(story->head.world, sizeof story->head.world, way == SIMULATED ? "sim" : "redis");
        (void)story_begin(story, &expiring);
        calls(story, A, OP_ACQUIRE);
        const struct command write = command(VERB_SETNX, token(story, A), 0);
        const struct command expire = command(VERB_EXPIRE, 0, 20);
        sends(story, A, 0, OP_ACQUIRE, write);
        executes(story, A, OP_ACQUIRE, write, INTEGER(1));
        hears(story, A, 0, OP_ACQUIRE, write, INTEGER(1));
        if (way != UNSENT)
            sends(story, A, 0, OP_ACQUIRE, expire);
        if (way == LOST)
            strikes_command(story, "lose-request", A, OP_ACQUIRE, expire);
        if (way == STRUCK)
            strikes(story, "client-pause", -1, 0, 1);
        if (way == EXECUTED)
            executes(story, A, OP_ACQUIRE, expire, INTEGER(1));
        if (way == REFUSED)
            hears(story, A, 0, OP_ACQUIRE, expire, (struct reply){.kind = REPLY_ERROR});
        returns(story, A, OP_ACQUIRE, RESULT_GRANTED);
        if (way == LATE)
            executes(story, A, OP_ACQUIRE, expire, INTEGER(1));
        is_refused(story, B);
        releases(story, A, 1);
        ends(story);
        if (way == UNSEEN) {
            assert_silent(story);
            assert_says(&story->findings[PROPERTY_ALWAYS_EXPIRES],
                        "nobody saw the server do all that it asked");
        } else if (way == EXECUTED) {
            assert_holds(story, PROPERTY_ALWAYS_EXPIRES);
        } else {
            assert_violated(story, PROPERTY_ALWAYS_EXPIRES, 1, CAUSE_NO_EXPIRY);
        }
        story_free(story);
    }
}

/* A's hold is over, and B has written when A does. Each write is told in such a way. */
static void what_is_heard_was_executed_whatever_its_key_is(void **state)
{
    enum write_told { EXECUTED, UNEXECUTED, UNHEARD, HEARD_ERROR, WAYS };
    (void)state;
    for (enum write_told way = EXECUTED; way < WAYS; way++)
        for (int of = A; of <= B; of++)
            for (int is_whole = 0; is_whole < 2; is_whole++) {
                struct story *story = story_new(&expiring, 1, 300);
                story->head.has_all_commands = is_whole;
                (void)story_begin(story, &expiring);
                acquires(story, A);
                is_refused(story, B);
                at(story, 310);
                acquires(story, B);
                for (int client = B; client >= A; client--) {
                    const enum write_told told = client == of ? way : EXECUTED;
                    const struct command write = {
                        .verb = VERB_SET, .key = KEY_RESOURCE, .value = client + 1};
                    calls(story, client, OP_ACCESS);
                    sends(story, client, 0, OP_ACCESS, write);
                    if (told == EXECUTED || told == UNHEARD)
                        executes(story, client, OP_ACCESS, write, OK);
                    if (told != UNHEARD)
                        hears(story, client, 0, OP_ACCESS, write,
                              told == HEARD_ERROR ? (struct reply){.kind = REPLY_ERROR} : OK);
                    returns(story, client, OP_ACCESS,
                            told == EXECUTED || told == UNEXECUTED ? RESULT_DONE : RESULT_FAILED);
                }
                ends(story);
                if (way == UNEXECUTED)
                    assert_says(&story->findings[PROPERTY_FENCE_ORDER], "a line was changed");
                assert_verdict(story, PROPERTY_FENCE_ORDER,
                               way == UNEXECUTED    ? VERDICT_UNKNOWN
                               : way == HEARD_ERROR ? VERDICT_HOLDS
                                                    : VERDICT_VIOLATED);
                story_free(story);
            }
}

/* A SET that is refused says nil. One that says OK has written, or a line was changed: nobody is
 * blamed for what was told of it. What a script says is its own affair. */
static void a_set_is_not_refused_with_ok(void **state)
{
    static const struct opaque set = {
        .name = "SET", .text = "SET lock b NX", .keys = 1u << KEY_LOCK};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct effects effects = {.count = 1, .on = {refused(EFFECT_SET, A)}};
        struct story *story = foreign_whole(ALL_PROMISES, 1);
        takes(story, A);
        calls(story, B, OP_ACQUIRE);
        happens(story, (struct event){.kind = EVENT_EXECUTE,
                                      .client = B,
                                      .op = OP_ACQUIRE,
                                      .reply = {.kind = i == 1 ? REPLY_NIL : REPLY_OK},
                                      .opaque = i == 2 ? &script : &set,
                                      .effects = &effects});
        returns(story, B, OP_ACQUIRE, RESULT_GRANTED);
        ends(story);
        assert_true((story->findings[PROPERTY_TRUTHFUL].cause == CAUSE_UNTRUE_ANSWER) == (i > 0));
        assert_true(!!checks_gap(story->checks) == (i == 0));
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_not_refused_with_ok),
        cmocka_unit_test(a_reply_that_was_not_the_servers_is_a_changed_line),
        cmocka_unit_test(what_is_not_kept_contradicts_nothing),
        cmocka_unit_test(what_is_heard_was_executed_whatever_its_key_is),
        cmocka_unit_test(what_a_grant_sent_and_no_server_executed_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
