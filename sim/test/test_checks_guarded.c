/* test_checks_guarded.c - what the guarded counter and list were not seen to do: a write that is
 * told "done", and that no server executed; an append that is answered with other entries than
 * there can be. Nobody is blamed for it, and no-lost-update is unknown. */
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
};

static const struct sections good = {
    {true, true, RESULT_DONE}, {true, true, RESULT_DONE}, .found = 1, .before = 1, .after = 2};

static struct story *judged(const struct sections *sections, bool is_closed, const char *strikes_by)
{
    struct story *story = story_new(&expiring, 1, 300);
    checks_free(story->checks);
    story->head.is_closed = is_closed;
    story->checks = checks_new_for(&story->head, &expiring);
    acquires(story, A);
    reads(story, A, 0, whole);
    writes(story, A, 1, sections->written);
    appends(story, A, sections->before, sections->appended);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_all_was_seen_of_holds),
        cmocka_unit_test(a_write_that_nobody_executed_proves_nothing),
        cmocka_unit_test(a_write_without_an_answer_may_be_missing),
        cmocka_unit_test(a_list_that_is_told_wrong_proves_nothing),
        cmocka_unit_test(a_list_of_others_goes_on),
        cmocka_unit_test(a_list_that_its_server_forgot_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
