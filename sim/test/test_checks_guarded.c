/* test_checks_guarded.c - what the guarded counter and list were not seen to do: a write that is
 * told "done", and that no server executed; an append that is answered with other entries than
 * there can be; a read of what nobody has written. Nobody is blamed for it, and no-lost-update is
 * unknown. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/story.h"

/* What is told of an access: its request, its execution, and how it returned. */
struct access_told {
    bool is_sent, is_executed;
    enum result result;
};

static const struct access_told whole = {true, true, RESULT_DONE};

static void accesses(struct story *story, int client, struct command command, struct reply reply,
                     struct access_told told)
{
    calls(story, client, OP_ACCESS);
    if (told.is_sent)
        sends(story, client, 0, OP_ACCESS, command);
    if (told.is_executed)
        executes(story, client, OP_ACCESS, command, reply);
    if (told.result != RESULT_NONE)
        returns(story, client, OP_ACCESS, told.result);
}

static void reads(struct story *story, int client, int64_t value, struct access_told told)
{
    accesses(story, client, (struct command){.verb = VERB_GET, .key = KEY_COUNTER},
             value ? VALUE(value) : NIL, told);
}

static void writes(struct story *story, int client, int64_t value, struct access_told told)
{
    accesses(story, client, (struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = value},
             OK, told);
}

static void appends(struct story *story, int client, int entries, struct access_told told)
{
    accesses(story, client,
             (struct command){.verb = VERB_RPUSH, .key = KEY_LIST, .value = story->index},
             INTEGER(entries), told);
}

/* A's section, of which so much is told, and B's, of which all is. */
struct sections {
    struct access_told written, appended;
    int64_t found;     /* by B, in the counter */
    int before, after; /* entries that A and B are told of */
    int cut;           /* what A is told that deletes the list behind that; 0: it does not */
};

static const struct sections good = {
    {true, true, RESULT_DONE}, {true, true, RESULT_DONE}, .found = 1, .before = 1, .after = 2};

static struct story *judged(const struct sections *sections, bool is_closed, const char *strikes_by)
{
    struct story *story = story_new(&expiring, 1, 300);
    story->head.is_closed = is_closed;
    (void)story_begin(story, &expiring);
    acquires(story, A);
    reads(story, A, 0, whole);
    writes(story, A, 1, sections->written);
    appends(story, A, sections->before, sections->appended);
    if (sections->cut)
        accesses(story, A, (struct command){.verb = VERB_DEL, .key = KEY_LIST},
                 INTEGER(sections->cut > 0), whole);
    releases(story, A, 1);
    if (strikes_by)
        strikes(story, strikes_by, -1, 0, 0);
    acquires(story, B);
    reads(story, B, sections->found, whole);
    writes(story, B, sections->found + 1, whole);
    appends(story, B, sections->after, whole);
    releases(story, B, 1);
    ends(story);
    return story;
}

static void assert_unproved(const struct sections *sections, const char *words)
{
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        struct story *story = judged(sections, is_closed, NULL);
        assert_int_equal(story->findings[PROPERTY_NO_LOST_UPDATE].verdict, VERDICT_UNKNOWN);
        assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], words);
        story_free(story);
    }
}

static void assert_proved(const struct sections *sections, const char *strikes_by)
{
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        struct story *story = judged(sections, is_closed, strikes_by);
        assert_holds(story, PROPERTY_NO_LOST_UPDATE);
        story_free(story);
    }
}

static void what_all_was_seen_of_holds(void **state)
{
    (void)state;
    assert_proved(&good, NULL);
}

static void a_write_that_nobody_executed_proves_nothing(void **state)
{
    static const char words[] = "nobody saw a server execute it";
    (void)state;
    for (int is_sent = 0; is_sent < 2; is_sent++) {
        struct sections sections = good;
        sections.appended = (struct access_told){is_sent, false, RESULT_DONE};
        assert_unproved(&sections, words);
        sections.after = 1;
        assert_unproved(&sections, words);
        sections = good;
        sections.written = (struct access_told){is_sent, false, RESULT_DONE};
        assert_unproved(&sections, words); /* what B found the missing line may have written */
        sections.found = 0;
        assert_unproved(&sections, words);
    }
}

/* Who is not answered has said nothing: it may have been done, or not. */
static void a_write_without_an_answer_may_be_missing(void **state)
{
    static const enum result results[] = {RESULT_NONE, RESULT_FAILED};
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int after = 1; after <= 2; after++) {
            struct sections sections = good;
            sections.appended = (struct access_told){true, false, results[i]};
            sections.after = after;
            assert_proved(&sections, NULL);
        }
}

static void a_list_that_is_told_wrong_proves_nothing(void **state)
{
    static const int wrong[] = {77, 3, 1, 0, -1};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sections sections = good;
        sections.after = wrong[i];
        assert_unproved(&sections, wrong[i] > 2 ? "appends were seen" : "and one before it");
    }
}

/* Others may have appended before; where there are none, no entry is theirs. */
static void a_list_of_others_goes_on(void **state)
{
    struct sections sections = good;
    (void)state;
    sections.before = 8;
    sections.after = 9;
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        struct story *story = judged(&sections, is_closed, NULL);
        assert_int_equal(story->findings[PROPERTY_NO_LOST_UPDATE].verdict,
                         is_closed ? VERDICT_UNKNOWN : VERDICT_HOLDS);
        story_free(story);
    }
}

static void a_list_that_its_server_forgot_begins_anew(void **state)
{
    struct sections sections = good;
    (void)state;
    sections.found = 0;
    sections.after = 1;
    assert_proved(&sections, "restart-empty");
}

/* What it had by then counts on, where it was there. */
static void a_list_that_a_section_deletes_begins_anew(void **state)
{
    struct sections sections = good;
    (void)state;
    sections.cut = 1;
    sections.after = 1;
    assert_proved(&sections, NULL);
    sections.after = 2;
    assert_unproved(&sections, "appends were seen");
    sections.cut = -1;
    assert_proved(&sections, NULL);
    sections.after = 1;
    assert_unproved(&sections, "and one before it");
}

/* --- what is read in the counter --- */

static void looks(struct story *story, int64_t value)
{
    happens(story, (struct event){.kind = EVENT_EXECUTE,
                                  .client = -1,
                                  .op = OP_ACCESS,
                                  .command = {.verb = VERB_GET, .key = KEY_COUNTER},
                                  .reply = value ? VALUE(value) : NIL});
}

/* A reads 0 and writes 1; B reads and writes that; and somebody looks behind both. */
static void counted(bool is_closed, const int64_t told[4], const char *strikes_by,
                    enum verdict verdict, enum cause cause)
{
    struct story *story = story_new(&expiring, 1, 300);
    story->head.is_closed = is_closed;
    (void)story_begin(story, &expiring);
    acquires(story, A);
    reads(story, A, told[0], whole);
    writes(story, A, 1, whole);
    releases(story, A, 1);
    if (strikes_by)
        strikes(story, strikes_by, -1, 0, 0);
    acquires(story, B);
    reads(story, B, told[1], whole);
    writes(story, B, told[2], whole);
    looks(story, told[3]);
    releases(story, B, 1);
    ends(story);
    if (verdict == VERDICT_VIOLATED)
        assert_violated(story, PROPERTY_NO_LOST_UPDATE, 1, cause);
    else
        assert_verdict(story, PROPERTY_NO_LOST_UPDATE, verdict);
    if (verdict == VERDICT_UNKNOWN)
        assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], "nobody was seen to leave it so");
    story_free(story);
}

static void what_is_read_was_written(void **state)
{
    static const struct {
        int64_t told[4];
        enum verdict open, closed;
    } tried[] = {
        {{0, 1, 2, 2}, VERDICT_HOLDS, VERDICT_HOLDS},
        {{0, 1, 2, 1}, VERDICT_UNKNOWN, VERDICT_UNKNOWN},
        {{0, 1, 2, 3}, VERDICT_UNKNOWN, VERDICT_UNKNOWN},
        {{0, 1, 2, 0}, VERDICT_UNKNOWN, VERDICT_UNKNOWN},
        {{0, 6, 2, 2}, VERDICT_UNKNOWN, VERDICT_UNKNOWN},
        {{0, 0, 2, 2}, VERDICT_UNKNOWN, VERDICT_UNKNOWN},
        {{0, 2, 3, 3}, VERDICT_UNKNOWN, VERDICT_UNKNOWN}, /* one more section, untold */
        {{0, 0, 1, 1}, VERDICT_VIOLATED, VERDICT_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        for (int is_closed = 0; is_closed < 2; is_closed++)
            counted(is_closed, tried[i].told, NULL, is_closed ? tried[i].closed : tried[i].open,
                    CAUSE_LOST_GRANT);
}

/* Others may have counted before; where there are none, it was 0. */
static void a_counter_of_others_goes_on(void **state)
{
    static const int64_t before[] = {7, 1, 2, 2};
    (void)state;
    counted(false, before, NULL, VERDICT_VIOLATED, CAUSE_STALE_WRITE);
    counted(true, before, NULL, VERDICT_UNKNOWN, CAUSE_NONE);
}

/* Whose server has lost its keys once may have done so again, closed or not. */
static void a_server_that_forgets_explains_what_is_read(void **state)
{
    static const int64_t anew[] = {0, 0, 1, 1}, again[] = {0, 1, 2, 1};
    (void)state;
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        counted(is_closed, anew, "restart-empty", VERDICT_HOLDS, CAUSE_NONE);
        counted(is_closed, again, "restart-empty", VERDICT_HOLDS, CAUSE_NONE);
        counted(is_closed, again, "flush-scripts", VERDICT_UNKNOWN, CAUSE_NONE);
    }
}

/* Replies cross: C's write, told behind what the run itself read, may have come before. */
static void what_is_told_behind_a_read_may_have_come_before(void **state)
{
    (void)state;
    for (int has_crossed = 0; has_crossed < 2; has_crossed++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        writes(story, A, 1, whole);
        looks(story, 2);
        happens(story,
                (struct event){.kind = EVENT_EXECUTE,
                               .client = A,
                               .op = OP_ACCESS,
                               .from_us = story->now_us - (has_crossed ? 1 : 0) * 2 * STORY_STEP_US,
                               .command = {.verb = VERB_SET, .key = KEY_COUNTER, .value = 2},
                               .reply = OK});
        is_refused(story, B);
        releases(story, A, 1);
        ends(story);
        assert_verdict(story, PROPERTY_NO_LOST_UPDATE,
                       has_crossed ? VERDICT_HOLDS : VERDICT_UNKNOWN);
        story_free(story);
    }
}

/* B hears 1, and is told to have written 5: somebody else's update is not what is lost. Where
 * nobody saw what it heard in that attempt, it is a stale write, as any. */
static void a_section_writes_what_it_heard_plus_one(void **state)
{
    static const struct command read = {.verb = VERB_GET, .key = KEY_COUNTER};
    enum { HEARD, HEARD_STALE, UNHEARD, HEARD_ERROR, HEARD_BEFORE, HEARD_OTHER, HEARD_LATE, WAYS };
    (void)state;
    for (int way = HEARD; way < WAYS; way++) {
        struct story *story = story_new(&expiring, 1, 300);
        const struct command list = {.verb = VERB_GET, .key = KEY_LIST};
        acquires(story, A);
        writes(story, A, 1, whole);
        releases(story, A, 1);
        acquires(story, B);
        calls(story, B, OP_ACCESS);
        sends(story, B, 0, OP_ACCESS, read);
        executes(story, B, OP_ACCESS, read, VALUE(1));
        if (way == HEARD || way == HEARD_STALE || way == HEARD_ERROR || way == HEARD_BEFORE)
            hears(story, B, 0, OP_ACCESS, read,
                  way == HEARD_ERROR ? (struct reply){.kind = REPLY_ERROR} : VALUE(1));
        if (way == HEARD_OTHER) {
            executes(story, B, OP_ACCESS, list, VALUE(1));
            hears(story, B, 0, OP_ACCESS, list, VALUE(1));
        }
        returns(story, B, OP_ACCESS, way == HEARD_ERROR ? RESULT_FAILED : RESULT_DONE);
        if (way == HEARD_BEFORE) {
            releases(story, B, 1);
            acquires(story, B);
        }
        if (way == HEARD_LATE)
            hears(story, B, 0, OP_ACCESS, read, VALUE(1));
        if (way == HEARD_STALE)
            executes(story, C, OP_ACCESS,
                     (struct command){.verb = VERB_SET, .key = KEY_COUNTER, .value = 2}, OK);
        writes(story, B, way == HEARD_STALE ? 2 : 5, whole);
        releases(story, B, 1);
        if (way == HEARD) { /* nor is known what stands there then */
            acquires(story, C);
            reads(story, C, 2, whole);
            writes(story, C, 3, whole);
        }
        ends(story);
        if (way == HEARD) {
            assert_verdict(story, PROPERTY_NO_LOST_UPDATE, VERDICT_UNKNOWN);
            assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE], "no section does that");
        } else {
            assert_violated(story, PROPERTY_NO_LOST_UPDATE, 1,
                            way == HEARD_STALE ? CAUSE_OVERRUN : CAUSE_STALE_WRITE);
        }
        story_free(story);
    }
}

/* Told "done", and answered with an error: by the server, or by whoever is between. */
static void what_was_answered_with_an_error_was_not_done(void **state)
{
    static const struct command write = {.verb = VERB_SET, .key = KEY_COUNTER, .value = 1};
    static const struct reply error = {.kind = REPLY_ERROR};
    enum { DONE, REFUSED, REFUSED_BETWEEN, REFUSED_AND_FAILED, SENT_AGAIN, WAYS };
    (void)state;
    for (int way = DONE; way < WAYS; way++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        calls(story, A, OP_ACCESS);
        sends(story, A, 0, OP_ACCESS, write);
        if (way != DONE && way != REFUSED_BETWEEN)
            executes(story, A, OP_ACCESS, write, error);
        if (way != REFUSED && way != REFUSED_AND_FAILED)
            executes(story, A, OP_ACCESS, write, OK);
        hears(story, A, 0, OP_ACCESS, write, way == DONE || way == SENT_AGAIN ? OK : error);
        returns(story, A, OP_ACCESS, way == REFUSED_AND_FAILED ? RESULT_FAILED : RESULT_DONE);
        is_refused(story, B);
        releases(story, A, 1);
        ends(story);
        assert_verdict(story, PROPERTY_NO_LOST_UPDATE,
                       way == REFUSED || way == REFUSED_BETWEEN ? VERDICT_UNKNOWN : VERDICT_HOLDS);
        story_free(story);
    }
}

/* A's key is gone, and no command removed it: either its release is missing, or it works on. */
static void who_may_have_released_has_lost_no_update(void **state)
{
    (void)state;
    for (int works_on = 0; works_on < 2; works_on++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        reads(story, A, 0, whole);
        writes(story, A, 1, whole);
        acquires(story, B);
        if (works_on)
            reads(story, A, 1, whole);
        reads(story, B, 2, whole); /* C's section is missing, too */
        writes(story, B, 3, whole);
        ends(story);
        if (works_on)
            assert_violated(story, PROPERTY_NO_LOST_UPDATE, 1, CAUSE_EARLY_EXPIRY);
        else
            assert_silent(story);
        if (!works_on)
            assert_says(&story->findings[PROPERTY_NO_LOST_UPDATE],
                        "whether A held the lock still nobody saw");
        story_free(story);
    }
}

/* A section's own commands find numbers and lists; an error of another kind says nothing, nor does
 * one where the lock is asked for. */
static void what_is_of_another_type_somebody_else_wrote(void **state)
{
    static const struct {
        struct command command;
        enum reply_error error;
        enum operation op;
        const char *told;
    } rows[] = {
        {{.verb = VERB_RPUSH, .key = KEY_LIST}, ERROR_WRONGTYPE, OP_ACCESS, "the list is of"},
        {{.verb = VERB_GET, .key = KEY_COUNTER}, ERROR_WRONGTYPE, OP_ACCESS, "the counter is of"},
        {{.verb = VERB_GET, .key = KEY_RESOURCE}, ERROR_WRONGTYPE, OP_ACCESS, "the resource is of"},
        {{.verb = VERB_RPUSH, .key = KEY_LIST}, ERROR_LOADING, OP_ACCESS, NULL},
        {{.verb = VERB_GET, .key = KEY_COUNTER}, ERROR_WRONGTYPE, OP_ACQUIRE, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int is_closed = 0; is_closed < 2; is_closed++) {
            struct story *story = story_new(&expiring, 1, 300);
            const struct reply error = {.kind = REPLY_ERROR, .error = rows[i].error};
            story->head.is_closed = is_closed;
            (void)story_begin(story, &expiring);
            acquires(story, A);
            reads(story, A, 0, whole);
            writes(story, A, 1, whole);
            calls(story, A, rows[i].op);
            sends(story, A, 0, rows[i].op, rows[i].command);
            executes(story, A, rows[i].op, rows[i].command, error);
            returns(story, A, rows[i].op, RESULT_FAILED);
            ends(story);
            const char *found = checks_contradiction(story->checks);
            assert_true(!found == !rows[i].told);
            assert_true(!found || strstr(found, rows[i].told));
            assert_int_equal(story->findings[PROPERTY_NO_LOST_UPDATE].verdict,
                             found ? VERDICT_UNKNOWN : VERDICT_HOLDS);
            story_free(story);
        }
}

/* Where an update is lost by an overrun, which is nobody's fault, the list's doubt is told all the
 * same. */
static void a_lost_update_hides_no_doubt(void **state)
{
    (void)state;
    for (int entries = 2; entries <= 3; entries++) {
        struct story *story = story_new(&expiring, 1, 300);
        acquires(story, A);
        reads(story, A, 0, whole);
        at(story, 310);
        acquires(story, B);
        reads(story, B, 0, whole);
        writes(story, B, 1, whole);
        appends(story, B, 1, whole);
        writes(story, A, 1, whole);
        appends(story, A, entries, whole);
        ends(story);
        assert_violated(story, PROPERTY_NO_LOST_UPDATE, 1, CAUSE_OVERRUN);
        const char *found = checks_contradiction(story->checks);
        assert_true(!found == (entries == 2));
        assert_true(!found || strstr(found, "appends were seen"));
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_of_another_type_somebody_else_wrote),
        cmocka_unit_test(a_lost_update_hides_no_doubt),
        cmocka_unit_test(who_may_have_released_has_lost_no_update),
        cmocka_unit_test(what_all_was_seen_of_holds),
        cmocka_unit_test(a_write_that_nobody_executed_proves_nothing),
        cmocka_unit_test(a_write_without_an_answer_may_be_missing),
        cmocka_unit_test(a_list_that_is_told_wrong_proves_nothing),
        cmocka_unit_test(a_list_of_others_goes_on),
        cmocka_unit_test(a_list_that_its_server_forgot_begins_anew),
        cmocka_unit_test(a_list_that_a_section_deletes_begins_anew),
        cmocka_unit_test(what_is_read_was_written),
        cmocka_unit_test(a_counter_of_others_goes_on),
        cmocka_unit_test(a_server_that_forgets_explains_what_is_read),
        cmocka_unit_test(what_is_told_behind_a_read_may_have_come_before),
        cmocka_unit_test(a_section_writes_what_it_heard_plus_one),
        cmocka_unit_test(what_was_answered_with_an_error_was_not_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
