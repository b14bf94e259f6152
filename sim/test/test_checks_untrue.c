/* test_checks_untrue.c - what a client is told, held against what its servers did: a table of small
 * stories, those that are violated beside those that are not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test/foreign_story.h"

/* A row's story: "A acquire; A+created; A granted; @200; B crash", one after another.
 *   A acquire    a call, or what A is told by the operation that it called last
 *   A2 release   the same, in that attempt
 *   A+deleted    what a request of that operation did when it was executed; A*deleted: of an
 * acquire A+by-B       it was refused by B's key
 *   @200         the time, in milliseconds */
struct untrue_row {
    bool has_no_lease;
    enum cause cause; /* NONE: nothing is violated */
    const char *story;
};

/* The key of a lock without a lease has no time to live. */
static struct key_effect effect_named(const struct story *story, const char *word, int client)
{
    const bool is_by = strncmp(word, "by-", 3) == 0;
    struct key_effect effect = refused(EFFECT_SET, is_by ? word[3] - 'A' : client);
    if (is_by)
        return effect;
    if (strcmp(word, "created") == 0) {
        effect = created(client);
        effect.has_ttl = story->head.promises & PROMISE_EXPIRY;
        return effect;
    }
    if (strcmp(word, "deleted") == 0)
        return deleted(client);
    if (strcmp(word, "lengthened") == 0)
        return expiry(DID_LENGTHENED, LEASE_MS);
    if (strcmp(word, "read") == 0) {
        effect.did = DID_READ;
        effect.wanted = EFFECT_READ;
        return effect;
    }
    assert_string_equal(word, "none");
    effect = refused(EFFECT_DELETE, client);
    effect.before = BEFORE_ABSENT;
    effect.has_old = false;
    return effect;
}

static void play_step(struct story *story, const char *step, enum operation ops[STORY_CLIENTS])
{
    char name, how, word[16];
    int ms;
    enum result result;
    if (sscanf(step, "@%d", &ms) == 1) {
        at(story, ms);
        return;
    }
    assert_int_equal(sscanf(step, "%c%c", &name, &how), 2);
    const int client = name - 'A';
    const bool is_numbered = how >= '1' && how <= '9';
    assert_int_equal(sscanf(step + (is_numbered ? 3 : 2), "%15[A-Za-z-]", word), 1);
    if (is_numbered)
        story->attempts[client] = how - '0';
    if (how == '+' || how == '*')
        runs(story, client, how == '*' ? OP_ACQUIRE : ops[client],
             effect_named(story, word, client));
    else if (operation_read(word, &ops[client]))
        calls(story, client, ops[client]);
    else if (result_read(word, &result))
        returns(story, client, ops[client], result);
    else
        strikes(story, word, client, -1, 0);
}

static struct story *played(const struct untrue_row *row)
{
    struct story *story =
        foreign(row->has_no_lease ? PROMISE_EXTENDS | PROMISE_TOKEN : ALL_PROMISES, 1);
    enum operation ops[STORY_CLIENTS] = {0};
    const char *step = row->story;
    while (*step) {
        play_step(story, step, ops);
        step += strcspn(step, ";");
        step += strspn(step, "; ");
    }
    ends(story);
    return story;
}

static void assert_rows(enum property property, const struct untrue_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct story *story = played(&rows[i]);
        const struct finding *finding = &story->findings[property];
        const enum verdict wanted = rows[i].cause == CAUSE_NONE ? VERDICT_HOLDS : VERDICT_VIOLATED;
        if (finding->verdict != wanted || finding->cause != rows[i].cause) {
            witness_print(finding);
            fail_msg("%s: %s", rows[i].story, verdict_name(finding->verdict));
        }
        story_free(story);
    }
}

#define ASSERT_ROWS(property, rows) assert_rows((property), (rows), sizeof(rows) / sizeof *(rows))

#define AGAIN "A acquire; A+created; A granted; A release; "
#define HELD  "A acquire; A+created; A granted; B acquire; B+by-A; B refused; "

/* Its release removed its own lock, by whatever attempt it has that. */
static void not_mine_is_untrue_of_what_this_release_removed(void **state)
{
    static const struct untrue_row rows[] = {
        {true, CAUSE_UNTRUE_ANSWER, HELD "A release; A+deleted; A not-mine"},
        {true, CAUSE_UNTRUE_ANSWER,
         HELD "A acquire; A+read; A granted; A release; A+deleted; A not-mine"},
        {true, CAUSE_UNTRUE_ANSWER, HELD "A acquire; A failed; A release; A+deleted; A not-mine"},
        {true, CAUSE_UNTRUE_ANSWER,
         HELD "A acquire; A+by-A; A refused; A release; A+deleted; A not-mine"},
        {true, CAUSE_NONE, HELD "A acquire; A+read; A granted; A release; A+deleted; A released"},
        /* one before was not answered: that may have removed it, and this one have found none */
        {true, CAUSE_NONE, HELD "A release; A failed; A release; A+deleted; A+none; A not-mine"},
        {true, CAUSE_UNTRUE_ANSWER, HELD "A release; A failed; A release; A+deleted; A not-mine"},
        {true, CAUSE_UNTRUE_ANSWER, HELD "A release; A+deleted; A+none; A not-mine"},
        /* what its acquire tidies up its release does not find */
        {true, CAUSE_NONE,
         "A acquire; A+created; A cancelled; B acquire; B+by-A; B refused; A release; A*deleted; "
         "A+none; A not-mine"},
        {true, CAUSE_UNTRUE_ANSWER,
         "A acquire; A+created; A cancelled; B acquire; B+by-A; B refused; A release; A+deleted; "
         "A not-mine"},
    };
    (void)state;
    ASSERT_ROWS(PROPERTY_TRUTHFUL, rows);
}

/* Nor is it so of a lock that was renewed, or that is there all along. */
static void not_mine_is_untrue_of_what_is_there(void **state)
{
    static const struct untrue_row rows[] = {
        {false, CAUSE_UNTRUE_ANSWER, HELD "A extend; A+lengthened; A not-mine"},
        {false, CAUSE_UNTRUE_ANSWER, HELD "A extend; A+read; A not-mine"},
        {false, CAUSE_NONE, HELD "A extend; A+lengthened; A done"},
        {false, CAUSE_UNTRUE_ANSWER,
         HELD "A acquire; A failed; A extend; A+lengthened; A not-mine"},
        {false, CAUSE_NONE, HELD "A acquire; A failed; A extend; A+lengthened; A done"},
        {false, CAUSE_NONE, HELD "A acquire; A+by-A; A refused; A extend; A not-mine"},
    };
    (void)state;
    ASSERT_ROWS(PROPERTY_TRUTHFUL, rows);
}

/* When the time of its key is over, a client may say so by its own clock. */
static void what_is_over_may_be_called_so(void **state)
{
    static const struct untrue_row rows[] = {
        {false, CAUSE_UNTRUE_ANSWER, HELD "A release; A+deleted; @200; A not-mine"},
        {false, CAUSE_NONE, HELD "A release; A+deleted; @400; A not-mine"},
        {true, CAUSE_UNTRUE_ANSWER, HELD "A release; A+deleted; @400; A not-mine"},
        {false, CAUSE_UNTRUE_ANSWER, "A acquire; A+created; @200; A refused"},
        {false, CAUSE_NONE, "A acquire; A+created; @400; A refused"},
        {true, CAUSE_UNTRUE_ANSWER, "A acquire; A+created; @400; A refused"},
        /* granted, and given back: nothing was gained */
        {false, CAUSE_NONE, "A acquire; A+created; A*deleted; A refused"},
    };
    (void)state;
    ASSERT_ROWS(PROPERTY_TRUTHFUL, rows);
}

/* What an acquire gave back before it was answered was an earlier try of its: it holds by the one
 * that succeeded. Behind its answer it deletes what it holds. */
static void what_was_given_back_is_no_grant(void **state)
{
    static const struct untrue_row rows[] = {
        {false, CAUSE_OVERRUN,
         "B acquire; B+created; B*deleted; A acquire; A+created; A granted; @400; B*created; "
         "B granted"},
        {false, CAUSE_UNLOCK_BUG,
         "B acquire; B+created; B*deleted; B*created; B granted; B*deleted; A acquire; A+created; "
         "A granted"},
        {false, CAUSE_NONE,
         "B acquire; B+created; B*deleted; A acquire; A+created; A granted; A release; A+deleted; "
         "A released; B*created; B granted"},
    };
    (void)state;
    ASSERT_ROWS(PROPERTY_MUTUAL_EXCLUSION, rows);
}

/* Who had been told that it does not have the lock, and releases nothing, has released nothing. */
static void released_is_untrue_of_who_had_been_told_so(void **state)
{
    static const struct untrue_row rows[] = {
        {true, CAUSE_UNTRUE_ANSWER,
         HELD "A release; A+deleted; A released; A release; A+none; A released"},
        {false, CAUSE_UNTRUE_ANSWER,
         HELD "A release; A+deleted; A released; A release; A+none; A released"},
        {true, CAUSE_UNTRUE_ANSWER,
         HELD "A release; A+deleted; A released; B acquire; B+created; B granted; B crash; "
              "A release; A+by-B; A released"},
        {true, CAUSE_UNTRUE_ANSWER, HELD "A release; A+deleted; A released; A release; A released"},
        {false, CAUSE_UNTRUE_ANSWER,
         HELD "@400; A extend; A+none; A not-mine; A release; A+none; A released"},
        {false, CAUSE_NONE, HELD "@400; A release; A+none; A released"},
        {true, CAUSE_NONE, HELD "A release; A+deleted; A failed; A release; A+none; A released"},
        {true, CAUSE_NONE, HELD "A release; A+deleted; A released; A release; A+none; A not-mine"},
        {true, CAUSE_NONE,
         HELD "A acquire; A+read; A granted; A release; A+read; A released; A release; A+deleted; "
              "A released"},
        /* entered twice, it has it yet behind one release, until its lease is over */
        {false, CAUSE_NONE,
         HELD "A acquire; A+lengthened; A granted; A release; A+read; A released; @400; A release; "
              "A+none; A released"},
        /* the next attempt was not entered again, and owes no release */
        {true, CAUSE_UNTRUE_ANSWER,
         HELD "A acquire; A+read; A granted; A release; A+deleted; A released; " AGAIN
              "A+deleted; A released; A release; A+none; A released"},
        {true, CAUSE_UNTRUE_ANSWER,
         HELD "A release; A failed; A release; A+deleted; A released; " AGAIN
              "A+deleted; A+none; A not-mine"},
    };
    (void)state;
    ASSERT_ROWS(PROPERTY_TRUTHFUL, rows);
    struct story *story = played(&rows[0]);
    assert_says(&story->findings[PROPERTY_TRUTHFUL], "A was told \"released\" at 0.8 ms.");
    story_free(story);
}

/* Entered twice, it takes two releases: behind one A knows that it has it. */
static void what_was_entered_again_is_left_by_its_last_release(void **state)
{
    static const struct untrue_row rows[] = {
#define ENTERED HELD "A acquire; A+lengthened; A granted; A release; A+read; A released; "
        {false, CAUSE_NONE, ENTERED "@700; B acquire; B+created; B granted"},
        {false, CAUSE_NONE, ENTERED "B acquire; B+by-A; B refused; A crash"},
        {false, CAUSE_NONE, ENTERED "A release; A+deleted; A released"},
        {false, CAUSE_UNTRUE_ANSWER, ENTERED "A release; A+read; A released"},
        {false, CAUSE_UNTRUE_ANSWER,
         ENTERED "A release; A+read; A released; @700; B acquire; B+created; B granted"},
        {false, CAUSE_UNTRUE_ANSWER,
         HELD "A acquire; A+lengthened; A granted; A release; A+read; A not-mine"},
        {false, CAUSE_UNTRUE_ANSWER, HELD "A release; A+read; A released"},
        /* one without an answer may be one of the two, or not */
        {false, CAUSE_NONE,
         HELD "A acquire; A+lengthened; A granted; A release; A failed; A release; A+read; "
              "A released"},
        {false, CAUSE_UNTRUE_ANSWER,
         HELD "A acquire; A+by-A; A refused; A1 release; A+read; A released"},
    };
    (void)state;
    ASSERT_ROWS(PROPERTY_NO_ORPHAN, rows);
}

/* A row that contradicts itself, and what the servers did says nothing of it: a fault may explain
 * it, or a stranger. By neither the engines disagree (test_checks_black_box.c). */
static void what_nobody_saw_explained_is_unknown(void **state)
{
    static const struct {
        const char *story, *said;
    } rows[] = {
        {"A acquire; A+by-Z; A refused", "somebody whom the history does not know"},
        {"A acquire; A+by-Z; A refused; B crash", "somebody whom the history does not know"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = played(&(struct untrue_row){.story = rows[i].story});
        assert_verdict(story, PROPERTY_TRUTHFUL, VERDICT_UNKNOWN);
        assert_says(&story->findings[PROPERTY_TRUTHFUL], rows[i].said);
        story_free(story);
    }
}

/* Of a client of whom no server is spoken nothing holds: it may know better, or not have been seen.
 */
static void who_asked_nobody_is_not_taken_at_its_word(void **state)
{
    static const struct {
        enum verdict verdict;
        const char *story;
    } rows[] = {
        {VERDICT_UNKNOWN, "B acquire; B release; B not-mine"},
        {VERDICT_UNKNOWN, "B acquire; B failed; B extend; B not-mine"},
        {VERDICT_UNKNOWN, HELD "C acquire; C release; C not-mine"},
        {VERDICT_UNKNOWN, "A acquire; B acquire"},
        {VERDICT_HOLDS, HELD "B release; B not-mine"},
        {VERDICT_HOLDS, HELD "C acquire"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct story *story = played(&(struct untrue_row){.story = rows[i].story});
        if (story->findings[PROPERTY_TRUTHFUL].verdict != rows[i].verdict)
            fail_msg("%s", rows[i].story);
        story_free(story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_mine_is_untrue_of_what_this_release_removed),
        cmocka_unit_test(not_mine_is_untrue_of_what_is_there),
        cmocka_unit_test(what_is_over_may_be_called_so),
        cmocka_unit_test(what_was_given_back_is_no_grant),
        cmocka_unit_test(released_is_untrue_of_who_had_been_told_so),
        cmocka_unit_test(what_was_entered_again_is_left_by_its_last_release),
        cmocka_unit_test(what_nobody_saw_explained_is_unknown),
        cmocka_unit_test(who_asked_nobody_is_not_taken_at_its_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
