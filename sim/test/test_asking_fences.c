/* test_asking_fences.c - fences of a worker that is asked once, whose order cannot be judged.
 * test_asking.c holds two schemes with fences to their own steps. */
#include "ask/asking.h"
#include "explore/search/explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/asked_worker.h"

/* Two clients whose sections write. */
static void ask_writing(struct worker_asked *asked, const char *name)
{
    struct explore_options options, own = options_of("fenced", NONE);
    struct explore_outcome outcome;
    own.clients = 2;
    own.section = SECTION_WRITE;
    ask_for(asked, "scheme_worker", name, 1);
    search(asked, &own, &options, &outcome);
    if (asking_failure(asked->asking)->code)
        fail_msg("%s: %s", name, asking_failure(asked->asking)->text);
    assert_int_equal(outcome.end, END_COMPLETE);
    explore_outcome_free(&outcome);
}

static void in_doubt(const char *name, const char *why)
{
    struct worker_asked asked;
    ask_writing(&asked, name);
    assert_true(asking_audit(asked.asking, 5, 0));
    assert_int_equal(asking_failure(asked.asking)->code, FAIL_NONE); /* all else is decided */
    const char *doubt = asking_fence_doubt(asked.asking);
    if (!doubt || !strstr(doubt, why))
        fail_msg("%s: \"%s\" is not in \"%s\"", name, why, doubt ? doubt : "");
    asking_free(asked.asking);
}

/* Its fence goes by more than what it heard; is not there. */
static void what_cannot_be_judged_of_fences_says_why(void **state)
{
    (void)state;
    in_doubt("fenced-by-itself", "its fence was once ");
    in_doubt("fenced-at-times", "it was granted the lock without a fence");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_judged_of_fences_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
