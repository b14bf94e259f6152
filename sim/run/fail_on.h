/* fail_on.h - where nothing is expected: whose fault a violation must be to count as a failure.
 *
 * One policy for every command that has --fail-on. What is said about a run in results.json by
 * "fail_on". */
#ifndef PICKLOCK_RUN_FAIL_ON_H
#define PICKLOCK_RUN_FAIL_ON_H

#include "base/fail.h"
#include "checks/checks.h"

enum fail_on {
    FAIL_ON_UNSAID, /* nobody said, or an expectation judged */
    FAIL_ON_NEVER,
    FAIL_ON_SCHEME,     /* the scheme's own faults */
    FAIL_ON_DEPLOYMENT, /* what happened to its servers */
    FAIL_ON_BUG,        /* either */
    FAIL_ON_ANY,        /* what is nobody's fault, too: overruns, leftovers */
    FAIL_ON_COUNT
};

/* NULL: UNSAID. FAIL_INPUT: no such word; did you mean. */
enum fail fail_on_read(const char *text, enum fail_on *fail_on, struct failure *failure);

/* "scheme", ...; NULL: UNSAID. */
const char *fail_on_name(enum fail_on fail_on);

/* What counts where nobody said: of a user's scheme its own faults, of one of the table otherwise.
 * scheme NULL: one that is in no table and in no file. */
enum fail_on fail_on_for(enum fail_on said, const struct scheme *scheme, enum fail_on otherwise);

/* Does one of these (bit enum blame) count as a failure? */
bool fail_on_counts(enum fail_on fail_on, unsigned blames);

#endif
