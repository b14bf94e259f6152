/* test_checks_answers_again.c - the black-box engine, and what a client may have of a lock by an
 * attempt before its last, or without an answer: it was not answered, or too late, or holds it and
 * asks again, or enters it again. The placements say the same, where the engine weighs in full. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "checks/answers.h"
#include "checks/placements.h"
#include "test/told.h"

enum told_lock {
    ATTEMPTS = PLACEMENTS_OWNED,
    CLIENTS = PLACEMENTS_CLIENTS,
    REENTRANT = PLACEMENTS_REENTRANT,
    ANYBODYS = PLACEMENTS_ANYBODYS,
};

struct told_row {
    enum told_lock lock;
    int64_t lease;
    bool contradicts;
    bool is_missed; /* the engine says itself that it was lenient */
    const char *story;
};

static void assert_row(const struct told_row *row)
{
    const struct answers_rules rules = {.lease_us = row->lease,
                                        .releases_former = row->lock != ATTEMPTS,
                                        .may_be_reentered = row->lock == REENTRANT,
                                        .anybody_releases = row->lock == ANYBODYS};
    struct told told;
    bool contradicts = false;
    read_story(row->story, &told);
    struct answers_engine *engine = answers_new(rules, TOLD_CLIENTS, 1);
    for (int i = 0; i < told.count; i++)
        contradicts |= answers_event(engine, &told.events[i]) == ANSWERS_CONTRADICT;
    const bool is_lenient = answers_are_lenient(engine);
    answers_free(engine);
    struct placements *placements = placements_new();
    const bool can_be = placements_exist(placements, told.events, told.count, row->lease,
                                         (enum placements_lock)row->lock);
    placements_free(placements);
    if (can_be == row->contradicts || contradicts != (row->contradicts && !row->is_missed) ||
        (row->is_missed && !is_lenient))
        fail_msg("%s: %d %d %d", row->story, contradicts, is_lenient, can_be);
}

#define ASSERT_ROWS(rows)                                                                          \
    for (size_t i = 0; i < sizeof(rows) / sizeof *(rows); i++)                                     \
    assert_row(&(rows)[i])

/* Who hears no answer tidies up: its acquire may have had the lock, once, and have given it back at
 * any time, before it returned, too. */
static void an_acquire_without_an_answer_may_have_given_the_lock_back(void **state)
{
#define TOLD "0 A acquire; 1 B acquire; 2 B refused; "
#define ROWS_OF(lock, lease)                                                                       \
    {lock, lease, false, false, TOLD "10 A failed; 11 B acquire; 12 B granted"},                   \
        {lock, lease, false, false, TOLD "3 B acquire; 4 B granted; 10 A failed"},                 \
        {lock, lease, true, false, TOLD "3 B acquire; 4 B granted; 10 A granted"},                 \
        {lock, lease, true, false, TOLD "3 A granted; 4 B acquire; 5 B granted"},                  \
    {                                                                                              \
        lock, lease, true, false,                                                                  \
            TOLD "10 A failed; 11 B acquire; 12 B granted; 13 B release; "                         \
                 "14 B released; 15 C acquire; 16 C refused"                                       \
    }
    static const struct told_row rows[] = {
        ROWS_OF(ATTEMPTS, 0),
        ROWS_OF(ATTEMPTS, 20),
        ROWS_OF(CLIENTS, 20),
        ROWS_OF(ANYBODYS, 0),
        /* what C released was B's, behind that */
        {ANYBODYS, 0, false, false,
         "0 A acquire; 1 B acquire; 2 C release; 3 B refused; 4 B acquire; 5 C released; "
         "6 B granted; 7 D acquire; 8 D granted"},
    };
    (void)state;
    ASSERT_ROWS(rows);
#undef TOLD
#undef ROWS_OF
}

/* Who hears that it was granted the lock when its lease is over gives it back, and refuses: it has
 * had it by then, or never. */
static void a_refusal_told_late_may_have_been_a_grant(void **state)
{
    static const struct told_row rows[] = {
        {ATTEMPTS, 7, false, false,
         "0 A acquire; 9 C acquire; 10 A refused; 11 B acquire; 11 B granted; 12 C refused"},
        {ATTEMPTS, 7, false, false,
         "0 A acquire; 6 C acquire; 10 A refused; 11 C refused; 12 B acquire; 12 B granted"},
        {ATTEMPTS, 5, false, false, "0 A acquire; 5 A refused"},
        {ATTEMPTS, 7, true, false, "0 A acquire; 6 A refused"},
        {ATTEMPTS, 7, true, false, "4 A acquire; 9 C acquire; 10 A refused; 11 C refused"},
        {ATTEMPTS, 7, true, false,
         "0 A acquire; 10 A refused; 11 B acquire; 11 B granted; 12 B release; 13 B released; "
         "14 C acquire; 15 C refused"},
    };
    (void)state;
    ASSERT_ROWS(rows);
}

/* B entered it twice. A was told late, which says nothing: B has it until A is told again, and
 * gives it back by an attempt that was refused. In time, A's first grant ends what B has. */
static void who_has_entered_again_has_it_until_another_one_is_granted_it(void **state)
{
    static const struct told_row rows[] = {
        {REENTRANT, 5, false, false,
         "0 B acquire; 1 B granted; 2 B acquire; 2 B granted; 3 B release; 3 A acquire; "
         "5 B acquire; 9 A granted; 10 A acquire; 12 B refused; 13 B release; 13 A granted; "
         "14 B released"},
        {REENTRANT, 5, true, false,
         "0 B acquire; 1 B granted; 2 B acquire; 2 B granted; 3 B release; 4 B failed; "
         "7 A acquire; 8 A granted; 9 B acquire; 9 B refused; 10 B release; 10 B released"},
        {REENTRANT, 5, true, false,
         "0 B acquire; 1 B granted; 2 B acquire; 2 B granted; 4 A acquire; 5 A granted"},
        /* the release that was not answered may be executed late, and end both: not weighed */
        {REENTRANT, 0, true, true,
         "0 A acquire; 1 A failed; 2 A release; 3 A failed; 4 A acquire; 5 A granted; "
         "6 A extend; 7 A not-mine"},
        {REENTRANT, 0, true, false,
         "0 A acquire; 1 A failed; 4 A acquire; 5 A granted; 6 A extend; 7 A not-mine"},
        /* from the grant on that entered it again, and not from a refusal behind that */
        {REENTRANT, 5, false, false,
         "2 B acquire; 2 B granted; 3 B acquire; 5 A acquire; 5 A refused; 6 A acquire; "
         "6 B granted; 8 A granted"},
    };
    (void)state;
    ASSERT_ROWS(rows);
}

/* Of an attempt that was refused: a lock of which its client is the owner, by whatever attempt, is
 * released and renewed by it. Who has nothing by any attempt does neither. */
static void what_an_attempt_before_has_is_released_and_renewed(void **state)
{
    static const struct told_row rows[] = {
        {CLIENTS, 0, false, false,
         "0 A acquire; 1 A granted; 2 A acquire; 3 A refused; 4 A extend; 5 A done"},
        {CLIENTS, 0, false, false, "0 A acquire; 2 A acquire; 3 A refused; 4 A extend; 5 A done"},
        {CLIENTS, 0, false, false,
         "0 A acquire; 1 A granted; 2 A acquire; 3 A refused; 4 A release; 5 A released; "
         "6 B acquire; 7 B granted"},
        {CLIENTS, 0, true, false,
         "0 B acquire; 1 B granted; 2 A acquire; 3 A refused; 4 A extend; 5 A done"},
        {CLIENTS, 0, true, false,
         "0 A acquire; 1 A granted; 2 A release; 3 A released; 4 B acquire; 5 B granted; "
         "6 A acquire; 7 A refused; 8 A extend; 9 A done"},
        {ATTEMPTS, 0, true, false,
         "0 A acquire; 1 A granted; 2 A acquire; 3 A refused; 4 A extend; 5 A done"},
        /* who renews its own last one is told the truth of that */
        {CLIENTS, 9, true, false,
         "0 A acquire; 2 A acquire; 3 A granted; 4 A extend; 5 A not-mine"},
        {CLIENTS, 9, false, false,
         "0 A acquire; 2 A acquire; 3 A granted; 12 B acquire; 13 B granted; 14 B release; "
         "15 B released; 16 A extend; 17 A done"},
    };
    (void)state;
    ASSERT_ROWS(rows);
}

/* A release or a renewal without an acquire of its attempt. */
static void an_attempt_without_an_acquire_is_of_what_one_before_may_have(void **state)
{
    static const struct told_row rows[] = {
        {CLIENTS, 0, false, false, "0 A acquire; 1 A failed; 3 A2 release; 4 A2 released"},
        {CLIENTS, 0, false, false, "0 A acquire; 1 A granted; 3 A2 extend; 4 A2 done"},
        {CLIENTS, 0, true, false,
         "0 B acquire; 1 B granted; 2 A acquire; 3 A refused; 4 A2 release; 5 A2 released"},
        {CLIENTS, 0, true, false,
         "0 A acquire; 1 A granted; 2 A release; 3 A released; 4 A2 release; 5 A2 released"},
        {CLIENTS, 0, true, false, "0 A1 release; 1 A1 released"},
        {ATTEMPTS, 0, true, false, "0 A acquire; 1 A failed; 3 A2 release; 4 A2 released"},
    };
    (void)state;
    ASSERT_ROWS(rows);
}

/* It may end what its client has left, or comes to be granted later, before its lease is over. */
static void a_release_without_an_answer_may_end_what_any_attempt_has(void **state)
{
    static const struct told_row rows[] = {
        {CLIENTS, 20, false, false,
         "0 A acquire; 1 A failed; 2 A acquire; 3 A failed; 4 A release; 5 A failed; 6 B acquire; "
         "7 B refused; 8 B acquire; 9 B granted"},
        {CLIENTS, 9, false, false,
         "0 B acquire; 1 B granted; 2 A acquire; 3 A failed; 4 A acquire; 5 A refused; "
         "6 A release; 7 A failed; 8 B release; 9 B released; 10 C acquire; 11 C refused; "
         "12 C acquire; 13 C granted"},
        {CLIENTS, 20, true, false,
         "0 A acquire; 1 A granted; 6 B acquire; 7 B refused; 8 B acquire; 9 B granted"},
        /* one that was asked for before a grant does not end that */
        {REENTRANT, 9, true, false,
         "0 A acquire; 1 A granted; 2 A release; 3 A failed; 4 A acquire; 5 A granted; "
         "6 B acquire; 7 B granted"},
        {REENTRANT, 9, false, false,
         "0 A acquire; 1 A granted; 2 A release; 3 A failed; 4 A acquire; 5 A granted; "
         "6 A release; 7 A released; 8 B acquire; 9 B granted"},
        /* what is known of A all the while: C has nothing, and A's lease is not over */
        {CLIENTS, 9, true, false,
         "0 A acquire; 1 A granted; 2 C acquire; 3 C refused; 4 C release; 5 C failed; "
         "6 C acquire; 7 C granted"},
        /* it ended nothing, says its answer, which is not weighed */
        {CLIENTS, 0, true, true,
         "0 A acquire; 1 A granted; 2 A acquire; 3 A refused; 4 A release; 5 A not-mine; "
         "6 B acquire; 7 B granted"},
    };
    (void)state;
    ASSERT_ROWS(rows);
}

static bool contradicts_of_a_quorum(const char *story, bool is_quorum)
{
    const struct answers_rules rules = {.lease_us = 10, .is_quorum = is_quorum};
    struct answers_engine *engine = answers_new(rules, TOLD_CLIENTS, 1);
    struct told told;
    bool contradicts = false;
    read_story(story, &told);
    for (int i = 0; i < told.count; i++)
        contradicts |= answers_event(engine, &told.events[i]) == ANSWERS_CONTRADICT;
    answers_free(engine);
    return contradicts;
}

/* Most of its keys may have been there long before the one that made it a majority. */
static void a_lease_of_several_servers_may_count_from_the_call(void **state)
{
    (void)state;
#define LATE "0 A acquire; 1 B acquire; 2 B granted; 5 B release; 6 B released; 9 A granted; "
    static const char over[] = LATE "10 C acquire; 11 C granted";
    static const char within[] = LATE "9 C acquire; 9 C granted";
    assert_true(contradicts_of_a_quorum(over, false));
    assert_false(contradicts_of_a_quorum(over, true));
    assert_true(contradicts_of_a_quorum(within, true));
#undef LATE
}

/* One of them may have missed what gave its key back: it is released now. */
static void of_several_servers_one_may_be_released_later(void **state)
{
    (void)state;
    static const char twice[] =
        "0 A acquire; 1 A granted; 2 A release; 3 A released; 4 A release; 5 A released";
    static const char refused[] = "0 A acquire; 1 A granted; 2 B acquire; 3 B refused; "
                                  "4 B release; 5 B released";
    static const char other[] = "0 A acquire; 1 A granted; 2 A release; 3 A released; "
                                "4 A release; 5 A released; 6 B acquire; 7 B granted; "
                                "8 C acquire; 9 C granted";
    assert_true(contradicts_of_a_quorum(twice, false));
    assert_false(contradicts_of_a_quorum(twice, true));
    assert_true(contradicts_of_a_quorum(refused, false));
    assert_false(contradicts_of_a_quorum(refused, true));
    assert_true(contradicts_of_a_quorum(other, true));
}

/* The placements reach 150000 states here, and have room for them: few histories need so many. */
static void the_placements_have_room_for_a_history_that_nothing_orders(void **state)
{
    static const struct told_row rows[] = {
        {REENTRANT, 1, true, false,
         "1 C acquire; 2 A acquire; 4 B acquire; 4 A acquire; 5 C granted; 6 C acquire; "
         "8 A failed; 8 B refused; 9 A acquire; 10 A granted; 12 A acquire; 16 C refused; "
         "18 A granted; 19 B2 release; 24 B2 released"},
    };
    (void)state;
    ASSERT_ROWS(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_several_servers_one_may_be_released_later),
        cmocka_unit_test(a_lease_of_several_servers_may_count_from_the_call),
        cmocka_unit_test(who_has_entered_again_has_it_until_another_one_is_granted_it),
        cmocka_unit_test(what_an_attempt_before_has_is_released_and_renewed),
        cmocka_unit_test(an_attempt_without_an_acquire_is_of_what_one_before_may_have),
        cmocka_unit_test(an_acquire_without_an_answer_may_have_given_the_lock_back),
        cmocka_unit_test(a_refusal_told_late_may_have_been_a_grant),
        cmocka_unit_test(a_release_without_an_answer_may_end_what_any_attempt_has),
        cmocka_unit_test(the_placements_have_room_for_a_history_that_nothing_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
